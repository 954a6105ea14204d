"""The explorer against BertViz: the same weights, the same Chromium, one run.

    python benchmarks/bench_explorer.py            some minutes; exits 1 where a bar is missed
    python benchmarks/bench_explorer.py file       only the file of 12 x 12 heads over 128 tokens
    python benchmarks/bench_explorer.py page       only the Streamlit page, 512 and 2,048 tokens

At 128 tokens the weights are MiniLM's own over two texts, one above the other: 12 layers of 12 heads. The longer ones are those
of queries and keys drawn at random, of the size of BERT-base (512 tokens) and GPT-2 small (2,048, causal). BertViz draws more
than 512 tokens nowhere, and its model view no more than 128 here.
"""

import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bertviz as bertviz_package
import numpy as np
import torch
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import attnviz
from attnviz.analysis.view import View
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.figures.bertviz import views as bertviz
from attnviz.figures.explorer import page as explorer_page
from tests.browser import chromium
from tests.browser.harness import ROOT, serving

MIB = 2**20
LAYERS = HEADS = 12
SWITCHES = 20
WINDOW: ViewportSize = {"width": 1400, "height": 1000}
LONGEST = 180_000
TRACE_LIMIT = 300
TEXT = "the animal did not cross the street because it was too tired to walk and so they went home"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-precise-memory-info"]
# Milliseconds from an act to the second frame after its picture stands.
AFTER_FRAMES = "await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));"


@dataclass(frozen=True)
class Row:
    """One measured thing, and whether it is within its bar."""

    what: str
    ours: str
    theirs: str = ""
    bar: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        verdict = {None: "", True: "met", False: "MISSED"}[self.met]
        return f"| {self.what} | {self.ours} | {self.theirs} | {self.bar} | {verdict} |"


def real_heads(tokens: int) -> AttentionTrace:
    """MiniLM's heads over two texts as one stack of 12 layers; the tokens are those of the first text."""
    model = attnviz.load("minilm")
    words = TEXT.split()
    maps = [model.trace(" ".join((order * 40)[: tokens - 2])).encoder for order in (words, words[::-1])]
    layers = tuple(each.layer_weights(layer) for each in maps for layer in range(each.n_layers))
    attention = AttentionMap("encoder", maps[0].queries, maps[0].keys, DenseWeights(layers))
    assert (attention.n_layers, attention.n_heads, len(attention.queries)) == (LAYERS, HEADS, tokens)
    return AttentionTrace("minilm, twice", Prompt("two texts"), (attention,))


def random_heads(tokens: int, *, causal: bool) -> AttentionMap:
    """Queries and keys of 64 numbers, peaked enough that heads differ."""
    generator = np.random.default_rng(2017)
    names = tuple(Token(f"w{index}", 0, 1) for index in range(tokens))
    stack = []
    for _ in range(LAYERS):
        query, key = (generator.normal(size=(HEADS, tokens, 64)).astype(np.float32) for _ in range(2))
        stack.append(QueryKeyLayer(query, key, scaling=0.3, causal=causal))
    return AttentionMap("decoder" if causal else "encoder", names, names, QueryKeyWeights(tuple(stack)), causal=causal)


def opened(browser: Browser) -> Page:
    """A window. The policy of our files forbids what Playwright waits with."""
    return browser.new_page(viewport=WINDOW, bypass_csp=True)


def opening(page: Page, path: Path, drawn: str) -> float:
    """Seconds from opening a file until its first picture can be seen, on the browser's own clock."""
    page.goto(path.as_uri(), wait_until="commit", timeout=LONGEST)
    page.wait_for_function(drawn, timeout=LONGEST, polling="raf")
    return page.evaluate(f"async () => {{ {AFTER_FRAMES} return performance.now(); }}") / 1000


def bertviz_size(attention: AttentionMap) -> int:
    """Bytes of the file that BertViz itself writes: `figures.bertviz` gives its script four digits of a weight, not all."""
    weights = [torch.tensor(attention.layer_weights(layer))[None] for layer in range(LAYERS)]
    written = bertviz_package.head_view(weights, [token.text for token in attention.queries], html_action="return")
    return len(written.data)  # pyright: ignore[reportOptionalMemberAccess, reportArgumentType]


def file_rows(browser: Browser, folder: Path) -> Iterator[Row]:
    """Bar 1, and the arcs' half of bar 4."""
    trace = real_heads(128)
    attention = trace.encoder
    ours = folder / "explorer.html"
    ours.write_text(explorer_page(trace), encoding="utf-8")
    bertviz.TOKEN_LIMIT, bertviz.WEIGHT_LIMIT = 512, 10**9
    theirs = {name: folder / f"{name}.html" for name in ("head_view", "model_view")}
    theirs["head_view"].write_text(bertviz.head_view(attention, view=View()), encoding="utf-8")
    theirs["model_view"].write_text(bertviz.model_view(attention, view=View()), encoding="utf-8")
    size, their_size = ours.stat().st_size / 1e6, bertviz_size(attention) / 1e6
    yield Row("file, 128 tokens", f"{size:.2f} MB", f"{their_size:.1f} MB", "≤ 3.5 MB", size <= 3.5)

    page = opened(browser)
    first = statistics.median(opening(page, ours, "document.querySelector('.explorer[data-view]')") for _ in range(5))
    whole = page.evaluate("document.querySelectorAll('*').length")
    switched = statistics.median(page.evaluate(SWITCH_OURS, index) for index in range(SWITCHES))
    slowest = {name: page.evaluate(MOVE, [name, 5000]) for name in ("arcs",)}
    page.close()

    page = opened(browser)
    model = opening(page, theirs["model_view"], f"document.querySelectorAll('line').length >= {LAYERS * HEADS * 128**2}")
    nodes = page.evaluate("document.querySelectorAll('*').length")
    page.close()
    page = opened(browser)
    head = opening(page, theirs["head_view"], f"document.querySelectorAll('line').length >= {HEADS * 128**2}")
    their_switch = statistics.median(page.evaluate(SWITCH_THEIRS, index % LAYERS) for index in range(1, 6))
    page.close()

    ratio = model / first
    met = first <= 0.4 and ratio >= 25
    yield Row("opened to all heads drawn", f"{first:.2f} s", f"{model:.1f} s ({ratio:.0f} ×)", "≤ 0.4 s, ≥ 25 ×", met)
    yield Row("opened to one layer drawn", "the same picture", f"{head:.1f} s")
    ratio = their_switch / switched
    measured = f"{their_switch:.0f} ms ({ratio:.0f} ×)"
    yield Row(
        "another head or layer, median", f"{switched:.0f} ms", measured, "≤ 50 ms, ≥ 25 ×", switched <= 50 and ratio >= 25
    )
    yield Row("DOM nodes", f"{whole:,}", f"{nodes:,}")
    yield Row("longest frame, 5 s over arcs", f"{slowest['arcs']:.0f} ms", "", "≤ 50 ms", slowest["arcs"] <= 50)


def heap_of(page: Page) -> float:
    """Bytes that the page's scripts hold: objects, and the arrays behind them, which are not on the heap itself."""
    used = page.context.new_cdp_session(page).send("Runtime.getHeapUsage")
    return used["usedSize"] + used["backingStorageSize"]


def page_rows(browser: Browser, folder: Path) -> Iterator[Row]:
    """Bars 2 and 3, and the matrix's half of bar 4: from a ready trace, on a Streamlit page that shows nothing else."""
    for tokens, grid_limit, head_limit, heap_limit in ((512, 1.0, 0.25, 150), (2048, 6.0, 0.5, 300)):
        command = [sys.executable, "-c", START, str(tokens)]
        with serving(command, folder=ROOT, log=folder / "log.txt", PYTHONPATH=str(ROOT)) as address:
            page = opened(browser)
            page.goto(address)
            page.get_by_role("button", name="Show").wait_for(timeout=120_000)
            held = float(page.get_by_text(re.compile(r"^\d+ MB$")).inner_text().split()[0])
            page.wait_for_timeout(1000)
            grid = page.evaluate(SHOW) / 1000
            switched = statistics.median(page.evaluate(SWITCH_PAGE, index) for index in range(SWITCHES)) / 1000
            slowest = page.evaluate(MOVE, ["matrix", 5000])
            heap = heap_of(page) / 1e6
            page.close()
        name = f"page, {tokens:,} tokens"
        yield Row(f"{name}: ready trace to all heads drawn", f"{grid:.2f} s", "", f"≤ {grid_limit} s", grid <= grid_limit)
        yield Row(f"{name}: another head, median", f"{switched * 1e3:.0f} ms", "", f"≤ {head_limit} s", switched <= head_limit)
        yield Row(f"{name}: browser heap", f"{heap:.0f} MB", "", f"≤ {heap_limit} MB", heap <= heap_limit)
        yield Row(f"{name}: the trace holds", f"{held:.0f} MB", "", f"≤ {TRACE_LIMIT} MB", held <= TRACE_LIMIT)
        if tokens == 512:
            yield Row("longest frame, 5 s over a matrix of 512", f"{slowest:.0f} ms", "", "≤ 50 ms", slowest <= 50)


# Streamlit's own command, on the port that `serving` chooses.
START = """
import sys
from streamlit.web.cli import main
_, tokens, _, port = sys.argv
app = "benchmarks/explorer_app.py"
sys.argv = ["streamlit", "run", app, "--server.headless", "true", "--server.port", port, "--", tokens]
main()
"""
FIND = """
  const find = (root) => root.querySelector(".explorer[data-view]") ??
    [...root.querySelectorAll("*")].map(({ shadowRoot }) => shadowRoot && find(shadowRoot)).find(Boolean);
"""
SHOW = f"""async () => {{
  {FIND}
  const began = performance.now();
  [...document.querySelectorAll("button")].find((button) => button.innerText.trim() === "Show").click();
  while (!find(document)?.explorer.views) await new Promise((done) => setTimeout(done, 20));
  {AFTER_FRAMES}
  return performance.now() - began;
}}"""
SWITCH_PAGE = f"""async (index) => {{
  {FIND}
  const {{ explorer }} = find(document);
  await new Promise((done) => setTimeout(done, 700));
  const began = performance.now();
  explorer.actions.openHead((7 * index + 3) % 12, (5 * index + 1) % 12);
  while (!explorer.state.current) await new Promise((done) => setTimeout(done, 2));
  {AFTER_FRAMES}
  return performance.now() - began;
}}"""
SWITCH_OURS = f"""async (index) => {{
  const {{ explorer }} = document.querySelector(".explorer");
  const began = performance.now();
  explorer.actions.openHead((7 * index + 3) % 12, (5 * index + 1) % 12);
  while (!explorer.state.current) await new Promise((done) => setTimeout(done));
  {AFTER_FRAMES}
  return performance.now() - began;
}}"""
SWITCH_THEIRS = f"""async (layer) => {{
  const menu = document.querySelector("#layer");
  const began = performance.now();
  menu.value = layer;
  $(menu).trigger("change");
  {AFTER_FRAMES}
  return performance.now() - began;
}}"""
# The longest time between two frames while the pointer wanders over a view.
MOVE = (
    "async ([view, milliseconds]) => {"
    + FIND
    + """
  const { explorer } = find(document);
  explorer.actions.show(view);
  await new Promise((done) => setTimeout(done, 1500));
  const { canvas } = explorer.views[view];
  const box = canvas.getBoundingClientRect();
  let [longest, last, began] = [0, performance.now(), performance.now()];
  for (let step = 0; last - began < milliseconds; step++) {
    const x = box.x + box.width * (0.55 + 0.4 * Math.sin(step / 7));
    const y = box.y + box.height * (0.55 + 0.4 * Math.sin(step / 11));
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    const now = await new Promise((done) => requestAnimationFrame(done));
    if (step > 2) longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}"""
)


def main() -> int:
    which = sys.argv[1:] or ["file", "page"]
    met = True
    print("| what | attnviz | BertViz | bar | |\n|---|---|---|---|---|")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        for name in which:
            for row in {"file": file_rows, "page": page_rows}[name](browser, Path(folder)):
                print(row, flush=True)
                met &= row.met is not False
        browser.close()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
