"""The explorer as a Streamlit page mounts it: it shows the last package that it was given, and nothing else."""

import base64

import pytest
from playwright.sync_api import Page

from attnviz import AttentionMap
from attnviz.figures.explorer import STYLE, heads_package, overview, script
from attnviz.figures.explorer.overview import pack_chunks, unpack_chunks
from tests.browser.pages import settle
from tests.factories import make_map, numbered, typed

WORDS = "the cat sat on the mat because it was tired of all the running"
MOUNT = """async ([script, style]) => {
  const { default: mount } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  document.body.innerHTML = '<style></style><div><i class="explorer"></i></div><main><div class="explorer"></div></main>';
  document.querySelector("style").textContent = style;
  window.sent = [];
  window.receive = (place, message) => mount({
    data: Uint8Array.from(atob(message), (character) => character.charCodeAt(0)),
    parentElement: document.querySelector(place),
    setTriggerValue: (name, value) => sent.push([name, value]),
  });
}"""
SEEN = """() => [...document.querySelectorAll("canvas")].filter((each) => each.checkVisibility())
  .map((each) => [each.className, each.width, each.height, each.toDataURL()])"""
ATTENTION, OTHER = make_map(typed(WORDS), layers=3, heads=5), make_map(numbered(11), layers=3, heads=5, causal=True)


def begin(page: Page) -> None:
    page.set_content("")
    page.evaluate(MOUNT, [script("streamlit"), STYLE])


def receive(
    page: Page,
    attention: AttentionMap,
    *,
    limit: int = 2**20,
    heads: tuple[tuple[int, int | None], ...] = ((0, 0),),
    **settings,
) -> None:
    """Hands the page both messages of a map: its overview, and what is to be looked at."""
    shown = overview(attention, limit=limit)
    layer, head = heads[0]
    look = {"layer": layer, "head": head, "query": 1, "key": 0, "view": "grid", "fullScale": True, "theme": "light", **settings}
    package = heads_package(shown, attention, dict.fromkeys(heads), **look)
    for place, data in (("div", shown.data), ("main", package)):
        page.evaluate("([place, message]) => void receive(place, message)", [place, base64.b64encode(data).decode()])


def seen(page: Page) -> list[object]:
    page.locator(".explorer[data-head*=':']").wait_for()
    settle(page)
    return page.evaluate(SEEN)


def afresh(page: Page, attention: AttentionMap, **settings) -> list[object]:
    begin(page)
    receive(page, attention, **settings)
    return seen(page)


def events(page: Page, name: str) -> list:
    return [value for each, value in page.evaluate("sent") if each == name]


@pytest.mark.parametrize("view", ["grid", "matrix", "arcs"])
def test_after_another_map_nothing_is_left_of_the_one_before(page: Page, view: str) -> None:
    expected = afresh(page, OTHER, view=view)
    begin(page)
    receive(page, ATTENTION, view=view)
    seen(page)
    receive(page, OTHER, view=view)
    assert seen(page) == expected


def test_what_comes_late_for_the_map_before_is_dropped(page: Page) -> None:
    expected = afresh(page, OTHER)
    begin(page)
    page.evaluate(
        """() => {
          const unpack = Response.prototype.arrayBuffer;
          let isFirst = true;
          Response.prototype.arrayBuffer = async function () {
            if (isFirst) { isFirst = false; await new Promise((done) => setTimeout(done, 300)); }
            return unpack.call(this);
          };
        }"""
    )
    receive(page, ATTENTION)
    receive(page, OTHER)
    assert seen(page) == expected


def test_a_damaged_package_is_said_in_the_picture_and_the_next_one_is_drawn(page: Page) -> None:
    expected = afresh(page, OTHER)
    begin(page)
    shown = overview(ATTENTION)
    header, chunks = unpack_chunks(shown.data)
    header.pop("chunks")
    broken = pack_chunks(header, {**chunks, "thumbs": b"no zlib stream"})
    page.evaluate("([place, message]) => void receive(place, message)", ["div", base64.b64encode(broken).decode()])
    package = heads_package(shown, ATTENTION, {}, layer=0, head=0, query=1, key=0, view="grid", fullScale=True, theme="light")
    page.evaluate("([place, message]) => void receive(place, message)", ["main", base64.b64encode(package).decode()])
    page.get_by_text("This picture could not be drawn: reload the page to try again.").wait_for()
    receive(page, OTHER)
    assert seen(page) == expected
    assert page.locator(".problem").is_hidden()


def test_a_damaged_head_is_said_in_the_picture_and_drawn_once_it_comes_whole(page: Page) -> None:
    expected = afresh(page, OTHER, limit=0)
    begin(page)
    shown = overview(OTHER, limit=0)
    whole = heads_package(
        shown, OTHER, {(0, 0): None}, layer=0, head=0, query=1, key=0, view="grid", fullScale=True, theme="light"
    )
    header, chunks = unpack_chunks(whole)
    header.pop("chunks")
    broken = pack_chunks(header, {name: chunk[:1] + b"no zlib stream" for name, chunk in chunks.items()})
    for place, data in (("div", shown.data), ("main", broken)):
        page.evaluate("([place, message]) => void receive(place, message)", [place, base64.b64encode(data).decode()])
    page.get_by_text("This picture could not be drawn: reload the page to try again.").wait_for()
    page.evaluate("([place, message]) => void receive(place, message)", ["main", base64.b64encode(whole).decode()])
    assert seen(page) == expected


def test_heads_that_are_missing_are_asked_for_together_until_they_have_come(page: Page) -> None:
    look = "chips_1.2_2.0-0.1-4.2"
    begin(page)
    receive(page, ATTENTION, limit=0, heads=((1, 2),), view="arcs", look=look)
    settle(page)
    asked = events(page, "wanted")[-1]
    assert asked == {"of": overview(ATTENTION, limit=0).name, "heads": [[1, 0], [1, 4]]}
    # The answer is lost: it is asked again.
    receive(page, ATTENTION, limit=0, heads=((1, 2),), view="arcs", look=look)
    assert events(page, "wanted")[-1] == asked
    receive(page, ATTENTION, limit=0, heads=((1, 2), (1, 0), (1, 4)), view="arcs", look=look)
    assert seen(page) == afresh(page, ATTENTION, heads=((1, 2),), view="arcs", look=look)


def test_how_a_map_is_looked_at_is_told_and_opens_the_same(page: Page) -> None:
    begin(page)
    receive(page, ATTENTION, heads=((1, 2),))
    first = seen(page)
    page.locator(".order select").first.select_option("entropy")
    page.get_by_label("Heads drawn").select_option("arcs")
    page.get_by_role("tab", name="Arcs").click()
    page.get_by_role("button", name="L1·H4").click()
    page.get_by_label("Show links").fill("0.1")
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("button", name="receives").click()
    page.get_by_role("tab", name="Matrix").click()
    page.locator("canvas.cells").focus()
    page.keyboard.press("+")
    name = overview(ATTENTION).name
    page.wait_for_function(f"sent.some(([, value]) => value.look?.includes('~zoom_{name[:6]}_1.5_'))")
    picked = events(page, "picked")[-1]
    assert picked["of"] == name
    assert picked["look"].startswith(f"order_entropy~kind_arcs~links_0.1~gives_no~chips_1.2_2.0-4.1~zoom_{name[:6]}_1.5_")
    other = page.context.new_page()
    for view in ("grid", "matrix", "arcs", "text"):
        page.get_by_role("tab", name=view.title()).click()
        shown = seen(page)
        assert afresh(other, ATTENTION, heads=((1, 2),), view=view, look=picked["look"]) == shown != first
        assert (
            other.locator(".text .token").evaluate_all("all => all.map(({ title }) => title)")
            == page.locator(".text .token").evaluate_all("all => all.map(({ title }) => title)")
            or view != "text"
        )
    other.close()
