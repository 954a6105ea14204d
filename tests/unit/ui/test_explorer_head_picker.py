"""Which head a click names."""

import pytest

from attnviz.ui import explorer


@pytest.mark.parametrize(
    ("picked", "expected"),
    [
        ("3.11", {"layer": 3, "head": 11}),
        ("cross.2.5", {"attention": "cross", "layer": 2, "head": 5}),
        ("3", {}),
        ("-1.2", {}),
        ("3.11.x", {}),
        ("99999.1", {}),
        ("", {}),
    ],
)
def test_a_click_names_a_head_or_changes_nothing(monkeypatch: pytest.MonkeyPatch, picked: str, expected: dict) -> None:
    state: dict = {}
    monkeypatch.setattr(explorer.st, "session_state", state)
    explorer.pick_head(picked)
    assert state == expected
