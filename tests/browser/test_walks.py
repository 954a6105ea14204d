"""What stands on the screen is what its address shows, whatever a person did; `benchmarks/bench_walk.py` walks for long."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.pages import open_page, run, settle
from tests.browser.walking import Difference, Step, Walk, Walker

TEXT = "A kitten naps on the couch near the old wooden door."


def test_a_walk_at_random_ends_with_what_a_fresh_load_shows(context: BrowserContext, app_url: str) -> None:
    walker = Walker(context, app_url)
    _, actual = walker.stroll(8, 8)
    assert actual is None, str(walker.shrink(actual))


def test_a_false_picture_is_found(context: BrowserContext, app_url: str) -> None:
    """The grid after a click on an example, in a page whose grid is made to keep what it has drawn."""
    walker = Walker(context, app_url)
    falsify = """() => {
      const draw = OffscreenCanvasRenderingContext2D.prototype.putImageData;
      let count = 0;
      OffscreenCanvasRenderingContext2D.prototype.putImageData = function (...all) { if (count++ < 72) draw.apply(this, all); };
    }"""
    walker.page.add_init_script(f"({falsify})()")
    actual = walker.follow(Walk("encode?look=kind_cells", "light", 1440, (Step("example", "Bank and bank"),)))
    assert "canvas heads" in str(actual)


def test_a_walk_is_shrunk_to_the_steps_that_it_needs() -> None:
    """Two steps of eleven: one that does it, and one that has to come before."""
    steps = tuple(Step("toggle", str(number)) for number in range(11))

    class Remembered(Walker):
        def __init__(self) -> None:
            self.followed: list[Walk] = []

        def follow(self, walk: Walk) -> Difference | None:
            self.followed.append(walk)
            names = [step.name for step in walk.steps]
            return Difference(walk, "/", ("other",)) if "7" in names and "3" in names[: names.index("7")] else None

    walker = Remembered()
    shrunk = walker.shrink(Difference(Walk("encode", "light", 1440, steps), "/", ("other",)))
    assert [step.name for step in shrunk.walk.steps] == ["3", "7"]
    assert len(walker.followed) < 30


def test_figures_follow_the_theme(page: Page, app_url: str) -> None:
    open_page(page, app_url, "answer")
    asked = page.locator(".asked")
    light = asked.get_attribute("style")
    page.emulate_media(color_scheme="dark")
    settle(page)
    expect(asked).not_to_have_attribute("style", light or "")


def test_the_grid_after_run_is_that_of_a_fresh_load(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    drawn = """() => {
      const roots = [...document.querySelectorAll("*")].map(({ shadowRoot }) => shadowRoot).filter(Boolean);
      return roots.flatMap((root) => [...root.querySelectorAll("canvas.heads")]).map((canvas) => canvas.toDataURL());
    }"""
    run(page, TEXT)
    walked = page.evaluate(drawn)
    page.goto("about:blank")
    page.go_back()
    expect(page.locator("canvas.heads")).to_be_visible()
    settle(page)
    assert walked
    assert page.evaluate(drawn) == walked
