"""The menu: every page, whatever the order of the table."""

import pytest

from attnviz.pages_and_addresses import PAGES, AppPage
from attnviz.ui.frame import router


class MenuError(Exception):
    """Ends the drawing of a page once its menu is there."""


def test_a_page_that_stands_apart_from_its_section_takes_no_other_from_the_menu(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(menu: dict[str, list[AppPage]], **_: object) -> None:
        raise MenuError(menu)

    for name in ("set_page_config", "logo", "Page"):
        monkeypatch.setattr(router.st, name, lambda *_, **__: None)
    monkeypatch.setattr(router.st, "navigation", draw)
    monkeypatch.setattr(router, "_page", lambda page: page)
    monkeypatch.setattr(router, "PAGES", (*PAGES, PAGES[1]))
    with pytest.raises(MenuError) as drawn:
        router.draw()
    menu = drawn.value.args[0]
    assert list(menu) == ["", "Look", "Ask", "Learn"]
    assert menu["Look"] == [*(page for page in PAGES if page.section == "Look"), PAGES[1]]
