"""The explorer against BertViz: the same weights, the same Chromium, one run.

At 128 tokens the weights are MiniLM's own over two texts, one above the other: 12 layers of 12 heads. The longer ones are those
of queries and keys drawn at random, of the size of BERT-base (512 tokens) and GPT-2 small (2,048 and 4,096 tokens, causal).
BertViz draws more than 512 tokens nowhere, and its model view no more than 128 here.
"""

import re
import statistics
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bertviz as bertviz_package
import torch
from playwright.sync_api import Browser, Page

import attnviz
from attnviz.analysis.head_view import View
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.figures import bertviz_views as bertviz
from attnviz.figures.explorer import page as explorer_page
from benchmarks.harness import ROOT, SCRIPT, Row, at_most, browsing, page_of, run, serving

LAYERS = HEADS = 12
LONGEST = 180_000
# Seconds to all heads and to another head, and megabytes of the browser's heap, by the number of tokens.
PAGE_LIMITS = {128: (1.0, 0.25, 150), 512: (1.0, 0.25, 150), 2048: (2.0, 0.5, 300), 4096: (4.0, 0.6, 300)}
TRACE_MB, FRAME_MS = 310, 50
TEXT = "the animal did not cross the street because it was too tired to walk and so they went home"


def real_heads(tokens: int) -> AttentionTrace:
    """MiniLM's heads over two texts as one stack of 12 layers; the tokens are those of the first text."""
    model = attnviz.load("minilm")
    words = TEXT.split()
    maps = [model.trace(" ".join((order * 40)[: tokens - 2])).encoder for order in (words, words[::-1])]
    layers = tuple(each.layer_weights(layer) for each in maps for layer in range(each.n_layers))
    attention = AttentionMap("encoder", maps[0].queries, maps[0].keys, DenseWeights(layers))
    assert (attention.n_layers, attention.n_heads, len(attention.queries)) == (LAYERS, HEADS, tokens)
    return AttentionTrace("minilm, twice", Prompt("two texts"), (attention,))


def opening(page: Page, path: Path, drawn: str) -> float:
    """Seconds from opening a file until its first picture can be seen, on the browser's own clock."""
    page.goto(path.as_uri(), wait_until="commit", timeout=LONGEST)
    page.wait_for_function(drawn, timeout=LONGEST, polling="raf")
    return page.evaluate(f"async () => {{ {SCRIPT} await drawn(); return performance.now(); }}") / 1000


def bertviz_size(attention: AttentionMap) -> int:
    """Bytes of the file that BertViz itself writes: `figures.bertviz` gives its script four digits of a weight, not all."""
    weights = [torch.tensor(attention.layer_weights(layer))[None] for layer in range(LAYERS)]
    written: Any = bertviz_package.head_view(weights, [token.text for token in attention.queries], html_action="return")
    return len(written.data)


def files(folder: Path, tokens: int) -> tuple[Iterator[Row], dict[str, Path]]:
    """What our file and BertViz's take on the disk, and both, and BertViz's other one."""
    trace = real_heads(tokens)
    paths = {name: folder / f"{name}.html" for name in ("explorer", "head_view", "model_view")}
    paths["explorer"].write_text(explorer_page(trace), encoding="utf-8")
    bertviz.TOKEN_LIMIT, bertviz.WEIGHT_LIMIT = 512, 10**9
    paths["head_view"].write_text(bertviz.head_view(trace.encoder, view=View()), encoding="utf-8")
    paths["model_view"].write_text(bertviz.model_view(trace.encoder, view=View()), encoding="utf-8")
    theirs = f"; BertViz {bertviz_size(trace.encoder) / 1e6:.1f} MB"
    row = at_most(f"file, {tokens} tokens", paths["explorer"].stat().st_size / 1e6, 3.5, "MB", theirs)
    return iter([row]), paths


def file_rows(browser: Browser, given: Namespace) -> Iterator[Row]:
    """Our file of 12 x 12 heads against BertViz's of the same weights."""
    with tempfile.TemporaryDirectory() as folder:
        sizes, paths = files(Path(folder), given.tokens)
        yield from sizes
        with page_of(browser) as page:
            drawn = "document.querySelector('.explorer[data-view]')"
            first = statistics.median(opening(page, paths["explorer"], drawn) for _ in range(min(5, given.rounds)))
            nodes = page.evaluate("document.querySelectorAll('*').length")
            switched = statistics.median(page.evaluate(SWITCH, [index, 0]) for index in range(given.rounds))
            slowest = page.evaluate(MOVE, ["arcs", given.wander])
        squares = HEADS * given.tokens**2
        with page_of(browser) as page:
            model = opening(page, paths["model_view"], f"document.querySelectorAll('line').length >= {LAYERS * squares}")
            their_nodes = page.evaluate("document.querySelectorAll('*').length")
        with page_of(browser) as page:
            head = opening(page, paths["head_view"], f"document.querySelectorAll('line').length >= {squares}")
            places = range(1, 1 + min(5, given.rounds))
            theirs = statistics.median(page.evaluate(SWITCH_BERTVIZ, index % LAYERS) for index in places)
    yield at_most("opened to all heads drawn", first, 0.4, note=f"; BertViz {model:.1f} s, one layer {head:.1f} s")
    yield Row("… how many times as fast", f"{model / first:.0f} ×", "≥ 25 ×", model / first >= 25)
    yield at_most("another head or layer, median", switched, 50, "ms", f"; BertViz {theirs:.0f} ms")
    yield Row("… how many times as fast", f"{theirs / switched:.0f} ×", "≥ 25 ×", theirs / switched >= 25)
    yield Row("DOM nodes", f"{nodes:,}; BertViz {their_nodes:,}")
    yield at_most(f"longest frame, {given.wander / 1000:g} s over arcs", slowest, FRAME_MS, "ms")


def heap_of(page: Page) -> float:
    """Bytes that the page's scripts hold: objects, and the arrays behind them, which are not on the heap itself."""
    used = page.context.new_cdp_session(page).send("Runtime.getHeapUsage")
    return used["usedSize"] + used["backingStorageSize"]


def page_rows(browser: Browser, given: Namespace, tokens: int) -> Iterator[Row]:
    """From a ready trace, on a Streamlit page that shows nothing else."""
    grid_limit, head_limit, heap_limit = PAGE_LIMITS[tokens]
    command = [sys.executable, "-c", START, str(tokens)]
    with serving(command=command, environment={"PYTHONPATH": str(ROOT)}) as app, page_of(browser) as page:
        page.goto(app.url)
        page.get_by_role("button", name="Show").wait_for()
        held = float(page.get_by_text(re.compile(r"^\d+ MB$")).inner_text().split()[0])
        page.wait_for_timeout(1000)
        grid = page.evaluate(SHOW) / 1000
        switched = statistics.median(page.evaluate(SWITCH, [index, 700]) for index in range(given.rounds)) / 1000
        slowest = page.evaluate(MOVE, ["matrix", given.wander])
        heap = heap_of(page) / 1e6
    name = f"page, {tokens:,} tokens"
    yield at_most(f"{name}: ready trace to all heads drawn", grid, grid_limit)
    yield at_most(f"{name}: another head, median", switched, head_limit)
    yield at_most(f"{name}: browser heap", heap, heap_limit, "MB")
    yield at_most(f"{name}: the trace holds", held, TRACE_MB, "MB")
    if tokens <= 512:
        yield at_most(f"{name}: longest frame, {given.wander / 1000:g} s over a matrix", slowest, FRAME_MS, "ms")


# Streamlit's own command, on the port that `serving` chooses.
START = """
import sys
from streamlit.web.cli import main
_, tokens, _, port = sys.argv
app = "benchmarks/explorer_app.py"
sys.argv = ["streamlit", "run", app, "--server.headless", "true", "--server.port", port, "--", tokens]
main()
"""
FIND = (
    SCRIPT
    + """
  const find = (root) => root.querySelector(".explorer[data-view]") ??
    [...root.querySelectorAll("*")].map(({ shadowRoot }) => shadowRoot && find(shadowRoot)).find(Boolean);
"""
)
SHOW = f"""async () => {{
  {FIND}
  const began = performance.now();
  button("Show").click();
  await until(() => find(document)?.dataset.head?.includes(":"), "the pictures of all heads", tick);
  await drawn();
  return performance.now() - began;
}}"""
SWITCH = f"""async ([index, rest]) => {{
  {FIND}
  const {{ explorer }} = find(document);
  await new Promise((go) => setTimeout(go, rest));
  const began = performance.now();
  explorer.actions.openHead((7 * index + 3) % 12, (5 * index + 1) % 12);
  await until(() => explorer.state.current, "another head", tick);
  await drawn();
  return performance.now() - began;
}}"""
SWITCH_BERTVIZ = f"""async (layer) => {{
  {SCRIPT}
  const menu = document.querySelector("#layer");
  const began = performance.now();
  menu.value = layer;
  $(menu).trigger("change");
  await drawn();
  return performance.now() - began;
}}"""
# The longest time between two frames while the pointer wanders over a view.
MOVE = f"""async ([view, milliseconds]) => {{
  {FIND}
  const {{ explorer }} = find(document);
  explorer.actions.show(view);
  await new Promise((go) => setTimeout(go, Math.min(1500, milliseconds)));
  const {{ canvas }} = explorer.views[view];
  const box = canvas.getBoundingClientRect();
  let [longest, last, began] = [0, performance.now(), performance.now()];
  for (let step = 0; last - began < milliseconds; step++) {{
    const clientX = box.x + box.width * (0.55 + 0.4 * Math.sin(step / 7));
    const clientY = box.y + box.height * (0.55 + 0.4 * Math.sin(step / 11));
    canvas.dispatchEvent(new PointerEvent("pointermove", {{ clientX, clientY, bubbles: true }}));
    const now = await frame();
    if (step > 2) longest = Math.max(longest, now - last);
    last = now;
  }}
  return longest;
}}"""


def rows(given: Namespace) -> Iterator[Row]:
    """The file against BertViz, then the page at each length; --only chooses."""
    with browsing("--enable-precise-memory-info") as browser:
        if "file" in given.only:
            yield from file_rows(browser, given)
        if "page" in given.only:
            yield from (row for tokens in given.lengths for row in page_rows(browser, given, tokens))


if __name__ == "__main__":
    parts, lengths = ["file", "page"], [512, 2048, 4096]
    sizes = {"only": (parts, parts), "tokens": (128, 7), "lengths": (lengths, [128]), "rounds": (20, 1), "wander": (5000, 50)}
    run(rows, minutes=20, sizes=sizes)
