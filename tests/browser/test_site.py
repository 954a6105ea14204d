"""The page without a server: a site is built once, given out as files, and used with and without its network."""

import base64
import itertools
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest
import streamlit
from playwright.sync_api import Browser, Page, PdfMargins, Route, expect
from pypdf import PdfReader

from attnviz.analysis.compute import ROUNDED
from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.verdict import describe_label
from attnviz.analysis.wording import CLICK_WORDS, HOW_WEIGHTS
from attnviz.lessons.hand_in import read_hand_in
from attnviz.live import pictures
from attnviz.live.pictures import examples_of
from attnviz.live.site import build
from attnviz.settings import assets_folder
from tests import shared
from tests.browser.harness import watched
from tests.browser.pages import BEAMER, COMPOSED, TABLET, serious, settle
from tests.factories import HOSTILE

FIRST = "L3·H1 sends “it” to “animal” with weight 68\xa0%: its strongest link between different words."
LESSON = assets_folder() / "lessons" / "what-is-it.md"
STORY, NOTICE, HERO = "#story p:first-child", "#notice", "#hero[data-drawn]"
WIDTH = "({ clientWidth }) => clientWidth"
# What an address may say that no page ever wrote.
ADDRESSES = [
    f"text={quote(' '.join(HOSTILE))}&layer=99&head=-3",
    "layer=1e9&head=NaN&view=%3Cscript%3E&look=zoom_x~chips_%3Cb%3E&query=99999&key=99999",
    "text=~z~nonsense", "scale=javascript:alert(1)&words=maybe&hide_special=true&mean=true", "model=../../etc&text=a",
]  # fmt: skip


# Stands in for a model, whose own tests hold it: words for tokens, and each looks at the second one before it.
RUNNER = """
import { Source } from "./model_files.js";
export async function load(base, manifest, { ort, Tokenizer }, onProgress) {
  await new Source(base, (url) => fetch(url), onProgress).all(manifest.parts ?? []);
  if (!ort.InferenceSession || !Tokenizer) throw new Error("no runtime");
  onProgress(1, 1);
  return { card: { name: "minilm", max_tokens: 512 }, left: () => 1e6, complete: async () => {}, trace: async ({ text }) => {
    const words = [...text.matchAll(/\\w+|[^\\w\\s]/g)].map(({ 0: word, index }, at) =>
      ({ text: word, start: index, end: index + word.length, special: false, segment: 0, word: at, piece: "" }));
    const [layers, heads, size] = [6, 12, words.length];
    const weights = () => Float32Array.from({ length: size * size }, (_, at) =>
      Number(at % size === Math.max(Math.floor(at / size) - 2, 0)));
    const map = { kind: "encoder", queries: words, keys: words, layers, heads, causal: false, weights };
    return { output: "", extra: null, cut: null, cutPair: null, isEnglish: true, maps: [map] };
  } };
}
"""


def stand_in(name: str, folder: Path) -> dict[str, str]:
    (folder / name).mkdir(parents=True)
    (folder / name / "model.json").write_text("{}", encoding="utf-8")
    return {"name": name, "task": "encode" if name == "minilm" else "answer"}


# Counts what the page asks of its worker.
ASKED = """
window.asked = 0;
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (...given) { asked += 1; return post.apply(this, given); };
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of what was asked."""


def make_site(folder: Path) -> None:
    """A site with two models, of one lesson."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnviz.live.site.export", stand_in)
        # One example of Answer is enough.
        patch.setattr(pictures, "examples_of", lambda section: examples_of(section)[: 1 if section == "answer" else None])
        build(folder, ("minilm", "answer-en"), (LESSON,), report=lambda _: None)
    (runner,) = folder.glob("models-*/runner/load_model.js")
    runner.write_text(RUNNER, encoding="utf-8")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=shared.once("site", make_site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_selector(HERO)
    return page


def typed(page: Page, text: str) -> None:
    page.locator("#box-text").fill(text)
    page.get_by_role("button", name="Run", exact=True).click()


def test_the_picture_is_a_function_of_its_address(page: Page, site: str):
    opened(page, f"{site}/encode/")
    expect(page.locator(STORY)).to_have_text(FIRST)
    expect(page.locator("#hint")).to_have_text(examples_of("encode")[0]["notice"])
    expect(page.locator("#hidden")).to_have_text(describe_label(shipped_atlas("minilm"), 3, 1))
    page.get_by_text("How much to trust this").click()
    expect(page.get_by_text("One sentence is an anecdote.")).to_be_visible()
    page.get_by_text(HOW_WEIGHTS[0]).click()
    expect(page.get_by_text("A head compares each query with all keys")).to_be_visible()
    expect(page.get_by_text(CLICK_WORDS)).to_be_visible()
    # A site edits no head: nothing says so to a screen reader.
    expect(page.get_by_role("application", name="plus and minus zoom.")).to_be_visible()
    expect(page.get_by_role("application", name="Enter opens one.")).to_be_visible()
    page.get_by_role("spinbutton", name="Layer").fill("0")
    page.get_by_role("spinbutton", name="Layer").press("Enter")
    expect(page.locator(STORY)).to_contain_text("L0·H1")
    page.get_by_label("Hide special tokens").check()
    expect(page.locator("#hidden")).to_contain_text("Hidden tokens hold")
    shown = page.locator("#story").inner_text(), page.locator("#hidden").inner_text()
    assert "hide_special=true" in page.url
    opened(page, page.url)
    expect(page.locator("#hidden")).to_contain_text("Hidden tokens hold")
    assert (page.locator("#story").inner_text(), page.locator("#hidden").inner_text()) == shown
    page.get_by_role("button", name="Garden path").click()
    expect(page.locator(STORY)).to_contain_text("horse")
    page.go_back()
    expect(page.locator(STORY)).to_contain_text("L0·H1")
    page.locator("#hidden a").click()
    expect(page.locator(".story").first).to_contain_text("in head 1 of layer 0")


def test_behind_the_mean_stands_the_head_that_the_app_has_there(page: Page, site: str):
    head, mean = page.get_by_role("spinbutton", name="Head", exact=True), page.get_by_label("Mean over heads")
    opened(page, f"{site}/encode/?layer=4&mean=true")
    expect(head).to_have_value("1")
    mean.uncheck()
    page.wait_for_url("**/?layer=4&head=1")
    opened(page, f"{site}/encode/?layer=4&head=7")
    mean.check()
    page.wait_for_url("**/?mean=true&layer=4&head=7")
    mean.uncheck()
    page.wait_for_url("**/?layer=4&head=7")


def test_a_second_sentence_has_a_box_and_stays_when_the_first_is_changed(page: Page, site: str):
    opened(page, f"{site}/encode/?text=A+cat+slept.&pair=It+was+tired.")
    second = page.get_by_role("textbox", name="Second sentence")
    expect(second).to_have_value("It was tired.")
    assert second.evaluate(COMPOSED)
    further = page.locator("#hint", has_text="how alike the model finds the two sentences")
    expect(further).to_be_visible()
    typed(page, "A dog slept.")
    page.wait_for_url("**/?text=A+dog+slept.&pair=It+was+tired.")
    expect(second).to_have_value("It was tired.")
    second.fill("")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/?text=A+dog+slept.")
    expect(further).to_have_count(0)
    opened(page, f"{site}/encode/")
    expect(second).to_be_hidden()
    page.get_by_text("Second sentence").press("Enter")
    expect(second).to_be_visible()


# Of each page parts that the app draws, too; and how large all in them is where its panel is so wide.
PANELS = {
    "answer": ".asked, .answer-legend, .first", "compute/?at=4,1,1&text=a+b&model=minilm": ".compute",
    "encode": ".explorer .words, .explorer .bar .fact", "heads": ".atlas", "matters": ".removals",
    "encode/?words=true&hide_special=true": ".explorer .words, .explorer .bar .fact",
}  # fmt: skip
SIZES = """async (parts) => {
  for (const part of parts) part.closest(".markup, .compute, .explorer").style.width = "900px";
  await document.fonts.ready;
  await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const sizeOf = (each) => [each.tagName, ...["width", "height"].map((side) => Math.round(each.getBoundingClientRect()[side]))];
  return parts.map((part) => [sizeOf(part), part.innerText, [...part.querySelectorAll("*")].map(sizeOf)]);
}"""


def test_a_panel_is_laid_out_as_in_the_app(browser: Browser, site: str, app_url: str):
    # The letters of a site are the reader's own: here they are the app's.
    (letters,) = Path(streamlit.__file__).parent.glob("static/static/media/SourceSansVF-Upright*.woff2")
    data = base64.b64encode(letters.read_bytes()).decode()
    font = f'@font-face {{ font-family: "Source Sans"; font-weight: 200 900; src: url("data:font/woff2;base64,{data}"); }}'
    with watched(browser, bypass_csp=True) as context:
        page, own = context.new_page(), context.new_page()
        for address, parts in PANELS.items():
            opened(page, f"{site}/{address}")
            page.add_style_tag(content=font)
            own.goto(f"{app_url}/{address.replace('/?', '?')}")
            settle(own)
            sizes = page.locator(parts).evaluate_all(SIZES)
            assert sizes
            assert sizes == own.locator(parts).evaluate_all(SIZES), address


def test_words_that_are_clicked_are_in_the_address_and_axe_finds_nothing_on_a_phone(browser: Browser, site: str):
    # What axe is made of is no script of the site.
    with watched(browser, viewport={"width": 390, "height": 844}, has_touch=True, bypass_csp=True) as context:
        page = opened(context.new_page(), f"{site}/encode/")
        headline, where = page.locator(".explorer .headline"), page.locator(".explorer .where")
        expect(headline).to_have_text("it looks mostly at animal (68 %), then at street (5 %); 10 % goes to [CLS]")
        page.locator(".explorer .token", has_text="tired").tap()
        page.locator(".explorer .token", has_text="street").tap()
        expect(headline).to_contain_text("tired looks at street")
        shown = headline.inner_text(), where.inner_text()
        page.wait_for_url("**/?query=13&key=8")
        opened(page, page.url)
        expect(headline).to_have_text(shown[0])
        expect(where).to_have_text(shown[1])
        page.get_by_role("button", name="Options").tap()
        page.get_by_role("spinbutton", name="Layer").fill("4")
        page.get_by_role("spinbutton", name="Layer").press("Enter")
        expect(where).to_contain_text("of layer 4")
        expect(headline).to_contain_text("tired looks at street")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for path in ("encode/", "answer/", "compute/?source=model"):
                opened(page, f"{site}/{path}").get_by_role("button", name="Options").click()
                assert serious(page, scheme) == []
        expect(page.locator("#hidden")).to_contain_text(ROUNDED)


# Pages whose pictures were all written when the site was built, each at addresses of the app's own.
WRITTEN = {
    "heads": ("", "claim=L2%C2%B7H0%3A+obj+-%3E+head&layer=1&head=9"),
    "matters": ("", "taken=10", "taken=3.99", "model=minilm"),
    "whatif": (
        *("", "layer=3&head=1", "layer=99&head=1", "model=answer-en", "change=head&model=answer-en"),
        "change=head&order=cost&attention=encoder&layer=2&head=5",
        f"change=head&edits=e0.2z&text={(TIRED := quote(examples_of('whatif')[1]['text']))}&other={TIRED}",
        f"change=head&text={TIRED}&other={TIRED}",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_that_was_written_whole_says_what_the_app_says_and_axe_finds_nothing(
    browser: Browser, site: str, app_url: str, name: str
):
    with watched(browser, viewport={"width": 1440, "height": 900}, bypass_csp=True) as context:
        page, own = context.new_page(), context.new_page()
        for query in WRITTEN[name]:
            opened(page, f"{site}/{name}/?{query}")
            expect(page.locator(NOTICE)).to_be_hidden()
            own.goto(f"{app_url}/{name}?{query}")
            expect(own.locator(".story").first).to_be_visible()
            settle(own)
            assert page.locator(".story p").all_inner_texts() == own.locator(".story p").all_inner_texts()
        for width, scheme in itertools.product((1440, 390), ("light", "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            for query in WRITTEN[name]:
                opened(page, f"{site}/{name}/?{query}")
                assert serious(page, scheme) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["encode", "answer", "whatif", "matters"])
def test_a_page_is_printed_on_one_sheet_as_it_stands_on_the_screen_without_the_menu(page: Page, site: str, name: str):
    """In the width of a sheet the matrix, measured for the screen, would be cut, and would lie on the sentences below it."""
    opened(page, f"{site}/{name}/")
    columns = page.locator("#hero").evaluate(WIDTH)
    margin: PdfMargins = {"top": "10mm", "right": "10mm", "bottom": "10mm", "left": "10mm"}
    sheets = PdfReader(BytesIO(page.pdf(format="A4", margin=margin))).pages
    assert len(sheets) == 1
    words = sheets[0].extract_text()
    assert page.locator("h1").inner_text() in words
    assert "Copy link" not in words
    assert "Lessons" not in words
    page.emulate_media(media="print")
    assert page.locator("#hero").evaluate(WIDTH) == columns


@pytest.mark.parametrize("name", ["write", "heads", "whatif", "matters"])
def test_presented_the_picture_is_on_the_screen(browser: Browser, site: str, name: str):
    with watched(browser, viewport=BEAMER) as context:
        page = opened(context.new_page(), f"{site}/{name}/?present=true")
        expect(page.locator("html.presenting")).to_be_visible()
        # Letters are the reader's own: where they are wide, the names of heads take a line more.
        assert page.evaluate("document.documentElement.scrollHeight") <= BEAMER["height"] * (1.2 if name == "heads" else 1)


def test_presented_the_matrix_has_the_room_of_what_a_head_says_of_itself(browser: Browser, site: str):
    with watched(browser, viewport=BEAMER) as context:
        page = opened(context.new_page(), f"{site}/encode/?present=true")
        expect(page.locator("html.presenting")).to_be_visible()
        expect(page.locator("#story")).to_be_hidden()
        for zoom in (1.5, 2):
            page.set_viewport_size({"width": int(960 * zoom), "height": int(540 * zoom)})
            expect(page.locator("html")).to_have_attribute("style", re.compile(f"--zoom: ?{zoom};"))


def test_a_control_keeps_the_keyboard_and_over_plain_http_a_link_is_copied_by_hand(page: Page, site: str):
    page.add_init_script("delete Navigator.prototype.clipboard")
    opened(page, f"{site}/compute/")
    source = page.get_by_label("Numbers from")
    source.focus()
    source.select_option("A model")
    page.wait_for_url("**/?source=model")
    expect(page.get_by_label("Layer")).to_be_visible()
    expect(source).to_be_focused()
    head, address = page.get_by_label("Head"), page.url
    number = head.input_value()
    assert number != "0"
    head.fill("")
    head.press("Enter")
    expect(head).to_have_value(number)
    assert page.url == address
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copy it from the address bar")).to_be_visible()


def test_what_is_pointed_at_is_not_printed(page: Page, site: str):
    """Chromium prints again what is drawn as a dark page turns light; cleared in it, the overlay would wipe out the matrix."""
    opened(page, f"{site}/encode/")
    overlay = page.locator(".matrix .overlay")
    expect(overlay).to_be_visible()
    page.emulate_media(media="print")
    expect(overlay).to_be_hidden()


def test_a_head_that_is_clicked_is_in_the_address_and_the_way_back_leads_back(page: Page, site: str):
    opened(page, f"{site}/heads/")
    story = page.locator("#picture .story p").first
    before = story.inner_text()
    page.locator("#picture [data-go='layer=1&head=9']").click()
    expect(story).to_contain_text("A word looks at the word before it")
    assert page.url.endswith("/heads/?layer=1&head=9")
    opened(page, f"{site}/heads/?layer=1&head=9")
    expect(story).to_contain_text("A word looks at the word before it")
    page.go_back()
    expect(story).to_have_text(before)
    page.get_by_role("button", name="compound → its noun").click()
    expect(page.locator("#above .story p").first).to_contain_text("compound")
    opened(page, f"{site}/heads/?layer=99&head=9")
    expect(page.locator("#below h2").first).to_contain_text("What L5·H9 does")
    expect(page.locator(NOTICE)).to_be_hidden()
    opened(page, f"{site}/heads/?find=any")
    expect(page.locator(NOTICE)).to_contain_text("only the app can do")


def test_a_picture_that_does_not_come_is_no_model(browser: Browser, site: str):
    with browser.new_context(service_workers="block") as context:
        page = opened(context.new_page(), f"{site}/whatif/")
        context.route("**/pictures/whatif-*.gz", lambda route: route.abort())
        page.get_by_role("button", name="A head off", exact=True).click()
        expect(page.locator(NOTICE)).to_have_text(
            "This picture could not be fetched: check the connection, and reload the page."
        )


def test_what_changes_is_chosen_on_what_if_and_a_head_of_it_is_in_the_address(page: Page, site: str):
    opened(page, f"{site}/whatif/")
    story, texts = page.locator("#picture .story p").first, page.locator("#above .read")
    expect(texts).to_have_text(["First text The animal didn't cross the street because it was too tired.", re.compile("wide")])
    page.get_by_role("button", name="A head off", exact=True).click()
    expect(texts).to_have_count(1)
    expect(story).to_contain_text("Without head")
    cells, order = page.locator("#picture .costs button"), page.get_by_role("button", name="By importance")
    order.click()
    expect(cells.first).to_have_attribute("aria-pressed", "true")
    cells.nth(1).click()
    expect(cells.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#picture [aria-pressed=true]")).to_have_count(1)
    said = story.inner_text()
    opened(page, page.url)
    expect(order).to_have_attribute("aria-pressed", "true")
    expect(story).to_have_text(said)
    page.get_by_role("button", name="With a head off").click()
    expect(texts.nth(1)).to_contain_text("L0·H2")
    opened(page, f"{site}/whatif/?text=A+cat+slept.")
    expect(page.locator(NOTICE)).to_contain_text("only the app can do")


# Where the links of the navigation stand, what of them fades at the edge, and where the line was moved to.
NAVIGATION = """() => {
  const nav = document.querySelector("nav"), { right } = nav.getBoundingClientRect();
  const { maskImage, paddingInlineEnd } = getComputedStyle(nav);
  const [links, open] = ["a", "[aria-current]"].map((each) =>
    [...nav.querySelectorAll(each)].map((link) => link.getBoundingClientRect()).map(({ left, right }) => [left, right]));
  return { links, current: open[0], fades: maskImage !== "none", clear: right - parseFloat(paddingInlineEnd), right };
}"""


def test_on_a_tablet_the_toolbar_takes_no_room_from_the_answer(browser: Browser, site: str):
    with watched(browser, viewport=TABLET) as context:
        page = opened(context.new_page(), f"{site}/answer/")
        answer, toolbar = (page.locator(place).bounding_box() for place in ("#answer", "#toolbar"))
        assert answer
        assert toolbar
        assert toolbar["y"] >= answer["y"] + answer["height"]


def test_the_navigation_fades_at_the_edge_of_a_phone_and_goes_on(browser: Browser, site: str):
    with watched(browser, viewport={"width": 390, "height": 844}, has_touch=True) as context:
        page = opened(context.new_page(), f"{site}/encode/")
        seen = page.evaluate(NAVIGATION)
        assert seen["fades"]
        # Something is in the fade, and something beyond it, so that the line shows that it goes on.
        assert any(left < seen["right"] and right > seen["clear"] for left, right in seen["links"])
        page.evaluate("() => document.querySelector('nav').scrollTo({ left: 9999 })")
        seen = page.evaluate(NAVIGATION)
        assert seen["links"][-1][1] <= seen["clear"] + 1
        # The page that is open is not behind the edge.
        page.goto(f"{site}/lessons/")
        page.wait_for_selector("nav [aria-current]")
        expect(page.locator(".about").first).to_have_text(
            "12 minutes · 5 steps · minilm. For people who have never seen attention."
        )
        seen = page.evaluate(NAVIGATION)
        left, right = seen["current"]
        assert left >= 0
        assert right <= seen["clear"] + 1
        page.set_viewport_size({"width": 1280, "height": 720})
        assert not page.evaluate(NAVIGATION)["fades"]


def test_words_of_a_question_are_clicked(page: Page, site: str):
    opened(page, f"{site}/answer/")
    page.get_by_text("How much to trust this").click()
    expect(page.get_by_text("answer-en: F1 81 on held-out questions of SQuAD.")).to_be_visible()
    looks, note = page.locator(STORY), page.locator("#passage .note").first
    where = "“three million” looks mostly at “How” (53\xa0%), then at “much” (18\xa0%); 11\xa0% goes to its special tokens."
    expect(looks).to_have_text(where)
    page.locator(".asked .word", has_text="cost").click()
    expect(note).to_contain_text("Bars show attention with “cost”")
    page.locator("#passage .first-heads button").nth(1).click()
    page.get_by_text("All heads, any of them at full size").click()
    expect(page.locator("#picture .explorer .headline")).to_contain_text("looks")
    shown = looks.inner_text(), note.inner_text(), page.locator("#passage .first-heads").inner_text()
    page.wait_for_url("**/?*asked1=6*")
    opened(page, page.url)
    expect(page.locator("#picture .explorer .headline")).to_contain_text("looks")
    assert (looks.inner_text(), note.inner_text(), page.locator("#passage .first-heads").inner_text()) == shown
    page.locator(".asked .chosen").click()
    expect(note).to_contain_text("Click a word.")


def test_what_comes_next_is_seen_without_the_model(page: Page, site: str):
    opened(page, f"{site}/write/")
    expect(page.locator(STORY)).to_have_text("Next comes “Mary” (92\xa0%), or else “the” (2\xa0%)")
    expect(page.locator(".next .bar")).to_have_count(9)
    expect(page.locator(".next .bar").first).to_have_text("Mary92.3\xa0%")
    expect(page.locator("#said p:first-child")).to_contain_text("sends “to” to “Mary”")
    # A head that is named is looked at from there, too.
    opened(page, f"{site}/write/?layer=23&head=0")
    expect(page.locator("#said p:first-child")).to_contain_text("L23·H0 sends “to” to “Mary”")
    opened(page, f"{site}/write/")
    # Bars are drawn anew as sampling has it, and no word is further away than a click.
    page.get_by_role("button", name="By chance").click()
    page.get_by_role("slider", name="Temperature").fill("2")
    expect(page.locator(".next .bar").first).not_to_have_text("Mary92.3\xa0%")
    page.get_by_role("spinbutton", name="Top-k").fill("2")
    page.get_by_role("spinbutton", name="Top-k").press("Enter")
    expect(page.locator(".next .bar")).to_have_count(2)
    # Of an emptied box the last number stays.
    page.get_by_role("spinbutton", name="Top-k").fill("")
    page.get_by_role("spinbutton", name="Top-k").press("Enter")
    expect(page.get_by_role("spinbutton", name="Top-k")).to_have_value("2")
    expect(page.locator(".next .bar")).to_have_count(2)
    shaped = page.locator(".next .bars").inner_text()
    page.locator("button[data-pick='9']").click()
    expect(page.locator(STORY)).to_contain_text("Here the model expects")
    expect(page.locator("#said p:first-child")).to_contain_text("“,”")
    page.locator("button[data-pick='14']").click()
    expect(page.locator(".next .bars")).to_have_text(shaped.replace("\n", ""))
    opened(page, page.url)
    expect(page.locator(".next .bars")).to_have_text(shaped.replace("\n", ""))
    assert not serious(page)
    # To go on takes the model, which this site does not have.
    page.locator(".next .bar").first.click()
    expect(page.locator(NOTICE)).to_contain_text("This page of the site does not run this model")
    page.get_by_role("button", name="Who gets the drink?").click()
    page.get_by_role("button", name="Write on").click()
    expect(page.locator(NOTICE)).to_contain_text("This page of the site does not run this model")


def test_no_address_and_no_text_breaks_it(page: Page, site: str):
    for address in ADDRESSES:
        page.goto(f"{site}/encode/?{address}")
        page.wait_for_selector(f"{HERO}, {NOTICE}:not([hidden])")
    # As in the app, a text that is given and empty is no first example.
    nothing = {"encode/?text=": "nothing to read", "answer/?question=": "no question", "answer/?passage=+": "no passage"}
    for empty, said in nothing.items():
        page.goto(f"{site}/{empty}")
        expect(page.locator(NOTICE)).to_contain_text(said)
        expect(page.locator("#hero")).to_be_hidden()
        # A bar without a picture would choose from nothing.
        assert page.locator(".explorer .bar:not([hidden])").count() == 0
    page.goto(f"{site}/compute/?text=")
    expect(page.locator(HERO)).to_be_visible()
    # What is beyond the last layer is the last one.
    expect(opened(page, f"{site}/encode/?layer=99&head=99").locator(".explorer .where")).to_contain_text("head 11 of layer 5")
    typed(page, f"{'a' * 400} b c")
    expect(page.locator(STORY)).to_contain_text("aaa")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_text_is_run_here_in_a_full_browser_and_without_a_network(browser: Browser, site: str):
    with watched(browser, service_workers="allow") as context:
        context.add_init_script(ASKED)
        page = opened(context.new_page(), f"{site}/encode/")
        keeps_nothing_where_there_is_no_room(page, site)
        opened(page, f"{site}/encode/")
        typed(page, "The keys to the old cabinet are missing.")
        expect(page.locator(STORY)).to_contain_text("“cabinet”")
        expect(page.locator(".explorer .where")).to_contain_text(re.compile(r"Mean of all \d+ heads from .+ to .+: "))
        assert page.evaluate("() => asked") < 20
        # What a first visit keeps is kept behind the page; it is whole when another text runs.
        typed(page, "A dog that barked at cats was loud.")
        expect(page.locator(STORY)).to_contain_text("“that”")
        page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
        page.wait_for_load_state("networkidle")
        context.set_offline(True)
        opened(page, f"{site}/encode/?text=The+keys+to+the+old+cabinet+are+missing.&layer=3&head=1")
        expect(page.locator(STORY)).to_contain_text("“keys”")


def keeps_nothing_where_there_is_no_room(page: Page, site: str) -> None:
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    session = page.context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": site, "quotaSize": 1})
    typed(page, "A dog that barked at cats was loud.")
    expect(page.locator(STORY)).to_contain_text("“that”")
    expect(page.locator(NOTICE)).to_contain_text("no room left to keep the model")
    session.send("Storage.overrideQuotaForOrigin", {"origin": site})
    session.detach()


def test_nothing_is_promised_for_later_where_a_browser_keeps_nothing(browser: Browser, site: str):
    for script, buttons in (("", 1), ("delete Navigator.prototype.serviceWorker", 0)):
        with watched(browser) as context:
            context.add_init_script(script)
            page = opened(context.new_page(), f"{site}/encode/")
            typed(page, "A dog that barked at cats was loud.")
            expect(page.locator(STORY)).to_contain_text("“that”")
            expect(page.get_by_role("button", name="Keep the whole model")).to_have_count(buttons)


# What goes wrong, by a script of the page or the answer of the server, and what is said of it.
WRONG = [
    ("", None, "could not be fetched: check the connection"),
    ("delete globalThis.WebAssembly", "{}", "This browser has no WebAssembly"),
    (
        "",
        '{"parts": [{"file": "minilm/model.json", "bytes": 3, "size": 3, "sha256": ""}]}',
        "is of another version than this page",
    ),
]


def test_what_goes_wrong_is_one_sentence(browser: Browser, site: str):
    with browser.new_context(service_workers="block") as context:
        page = context.new_page()
        for script, answer, said in WRONG:
            opened(page, f"{site}/encode/").evaluate(f"() => {{ {script} }}")
            context.route("**/models-*/*/model.json", partial(answers, answer))
            typed(page, "The cat sat.")
            expect(page.locator(NOTICE)).to_contain_text(said)
            # What was noticed in the picture before is gone with it.
            expect(page.locator("#hint")).to_be_empty()
            page.get_by_role("button", name="What is “it”?").click()
            expect(page.locator(STORY)).to_have_text(FIRST)
            context.unroute_all()


def answers(body: str | None, route: Route) -> None:
    route.abort() if body is None else route.fulfill(body=body)


def test_a_lesson_is_graded_where_it_is_read(page: Page, site: str):
    page.goto(f"{site}/lessons/")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.partition("/lessons/what-is-it/")[2]))
    page.get_by_role("link", name="What is “it”?").click()
    expect(page.locator("#points")).to_contain_text("0 of 6 points. 7 questions are still open.")
    assert not any(fetched)
    word, share = (page.locator(f'[data-question="{number}"]') for number in ("1.1", "1.2"))
    expect(word.get_by_role("button", name="Answer")).to_be_disabled()
    word.locator("[data-answer=animal]").click()
    # The word that the second asks about is the answer to the first.
    expect(share).to_be_hidden()
    expect(page.locator('[data-question="2.1"]')).to_be_hidden()
    word.get_by_role("button", name="Answer").press("Enter")
    # What had the focus is gone.
    expect(word.locator(".verdict")).to_be_focused()
    share.get_by_role("spinbutton").fill("12")
    assert serious(page) == []
    share.get_by_role("button", name="Answer").click()
    expect(word.locator(".verdict")).to_contain_text("Right: animal.")
    expect(share.locator(".verdict")).to_contain_text("You said “12 %”. The answer is 68\N{NO-BREAK SPACE}%.")
    expect(page.locator("#points")).to_contain_text("1 of 6 points.")
    expect(page.locator(".step").first.locator("a.open")).to_be_visible()
    expect(page.locator('[data-question="2.1"]')).to_be_visible()
    # Of what was answered, and nothing else; the link to the picture comes when both are.
    assert {*filter(None, fetched)} == {"1.1.json", "1.2.json", "step-1.json"}
    with page.expect_download() as download:
        page.get_by_role("button", name="Hand in").click()
    handed_in = read_hand_in(Path(download.value.path()).read_bytes(), "it.json")
    expect(page.locator(".step").first.locator("a.open")).to_be_visible()
    # The picture of the next step waits for its answers; those that were given are there after a reload.
    expect(page.locator(".step").nth(1).locator("a.open")).to_be_hidden()
    page.reload()
    expect(page.locator("#points")).to_contain_text("1 of 6 points.")
    expect(page.locator('[data-question="1.2"] .verdict')).to_contain_text("You said “12 %”.")
    expect(page.locator(".step").first.locator("a.open")).to_be_visible()
    assert (handed_in.lesson, handed_in.answers) == ("what-is-it", {"1.1": "animal", "1.2": "12 %"})
    near = page.locator('[data-question="2.1"]')
    near.get_by_role("spinbutton").fill("30")
    near.get_by_role("button", name="Answer").click()
    expect(near.locator(".verdict")).to_contain_text("Right: you said “30 %”, and it is 28\N{NO-BREAK SPACE}%. Less")
    lesson = page.url
    address = page.get_by_role("link", name="Open the picture").first.get_attribute("href")
    expect(opened(page, f"{lesson}{address}").locator(STORY)).to_have_text(FIRST)
    # Somebody else sits down at this computer, where another tab has the lesson, too.
    page.goto(lesson)
    other = page.context.new_page()
    other.goto(lesson)
    expect(other.locator("#points")).not_to_contain_text("0 of 6 points.")
    page.get_by_text("Start again").click()
    page.get_by_role("button", name="Delete all answers").click()
    for tab in (page, other):
        expect(tab.locator("#points")).to_contain_text("0 of 6 points. 7 questions are still open.")
    expect(page.get_by_text("Start again")).to_be_hidden()
    other.close()
