"""What a browser sends late, to a page that has drawn something else, is nothing."""

from attnviz.ui.address.address_sync import sent
from attnviz.ui.layout import Markup


def test_of_a_component_that_is_gone_nothing_was_sent(monkeypatch) -> None:
    assert sent("gone", "picked") is None
    picks, callbacks = [], []
    markup = Markup("late", "")
    monkeypatch.setattr(markup, "_mount", lambda **given: callbacks.append(given["on_picked_change"]))
    markup("gone", "<p>", on_pick=picks.append)
    callbacks[0]()
    assert not picks
