"""What stands on the screen is what its address shows, whatever a person did; `benchmarks/bench_walk.py` walks for long."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.walking import Difference, Step, Walk, Walker


@pytest.fixture
def walker(page: Page, app_url: str) -> Iterator[Walker]:
    walker = Walker(page.context, app_url)
    yield walker
    walker.close()


def test_a_walk_at_random_ends_with_what_a_fresh_load_shows_and_a_false_picture_is_found(walker: Walker) -> None:
    _, actual = walker.stroll(8, 6)
    assert actual is None, str(walker.shrink(actual))
    # The grid after a click on an example, in a page whose grid is made to keep what it has drawn.
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
