"""Links of the app, opened on the app and on a site: the same sentences, and the same numbers drawn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Error as PageError

from attnviz.live.graphs.models import BOUND
from benchmarks.harness import Row, context_of, none
from tests.browser.harness import WINDOW, Watch
from tests.browser.pages import settle

KEYS = "The keys to the old wooden cabinet in the hall are missing."
DOG = "A dog that barked at the cats ran home."
ELM = "The old bridge over the Elm was opened in 1887 by the mayor. Repairs will cost three million."
PASSAGE = {"question": "When was the bridge opened?", "passage": ELM}
TOWN = "The council met on Monday. It closed the old bridge, which engineers had found to be unsafe. Repairs begin in May."
ALL = ["bahdanau-en-fr", "dot-lstm-en-fr", "bilstm-en-fr"]
Query = dict[str, Any]
ASKED_OF_THE_APP = {"edits", "between", "begins2"}
APP_ONLY = "only the app can do"
# A page, and what its address says: texts, heads, words, links, edits, layers, beams.
LINKS: tuple[tuple[str, Query], ...] = (
    ("translate", {"target": "Un chien court.", "models": "dot-lstm-en-fr"}),
    ("translate", {"text": DOG, "models": "dot-lstm-en-fr"}),
    ("translate", {}),
    ("encode", {}),
    ("encode", {"layer": 2, "head": 5}),
    ("encode", {"layer": 4, "mean": "true"}),
    ("encode", {"query": 13, "key": 8}),
    ("encode", {"query": 13}),
    ("encode", {"query": 10, "queries": "13", "key": 2}),
    ("encode", {"hide_special": "true", "layer": 1, "head": 0}),
    ("encode", {"words": "true", "query": 3}),
    ("encode", {"text": KEYS, "layer": 3, "head": 1, "query": 11, "key": 2}),
    ("encode", {"text": DOG}),
    ("encode", {"text": DOG, "words": "true", "layer": 5, "head": 11}),
    ("encode", {"text": DOG, "pair": "It was loud.", "layer": 2, "head": 9}),
    ("encode", {"text": DOG, "layer": 99, "head": 99}),
    ("encode", {"text": "Zaphod’s naïve café — 東京 <b>x</b>"}),
    ("encode", {"edits": "e3.1z", "layer": 3, "head": 1}),
    ("encode", {"text": DOG, "view": "matrix", "scale": "Fit to this head", "layer": 0, "head": 3}),
    ("encode", {"text": DOG, "view": "text", "look": "zoom_x", "query": 2}),
    ("encode", {"text": DOG, "pair": "It was loud.", "between": "first-second"}),
    ("translate", {"begins2": "Un"}),
    ("translate", {"into": "German"}),
    ("translate", {"models": ALL}),
    ("translate", {"text": DOG}),
    ("translate", {"text": DOG, "models": "transformer-en-fr"}),
    ("translate", {"text": DOG, "models": "transformer-en-fr", "layer": 2, "head": 3}),
    ("translate", {"text": DOG, "models": "transformer-en-fr", "query1": 3}),
    ("translate", {"text": DOG, "models": "transformer-en-fr", "query1": 4, "key1": 5, "hide_special": "true"}),
    ("translate", {"hero": 4, "query4": 5}),
    ("translate", {"text": DOG, "models": "transformer-en-fr", "decoding": "Beam"}),
    ("translate", {"text": DOG, "models": "bahdanau-en-fr", "decoding": "Beam", "width": 3}),
    ("translate", {"text": DOG, "models": ALL, "hero": 2, "query2": 1, "key2": 2}),
    ("translate", {"text": DOG, "into": "German", "models": "transformer-en-de"}),
    ("translate", {"text": DOG, "target": "Un chien court.", "models": "dot-lstm-en-fr"}),
    ("answer", {}),
    ("answer", {"asked1": 3}),
    ("answer", {"side": "cross"}),
    ("answer", {"picture": "matrix"}),
    ("answer", {"picture": "spans"}),
    ("answer", {**PASSAGE, "picture": "matrix", "layer": 2, "head": 4, "side": "question"}),
    ("answer", {**PASSAGE, "picture": "spans"}),
    ("answer", {"side": "question", "layer": 1, "head": 2}),
    ("answer", PASSAGE),
    ("answer", {**PASSAGE, "asked1": 1, "all1": "open"}),
    ("answer", {**PASSAGE, "whole_words": "false", "hide_special": "true", "layer": 3, "head": 4}),
    ("answer", {"question": "Who walks on the moon?", "passage": ELM}),
    ("summarize", {}),
    ("summarize", {"text": TOWN, "sentences_kept": 2, "words_kept": 6}),
    ("summarize", {"text": TOWN, "unit": "Share", "share_kept": 40}),
    ("summarize", {"way": "mean"}),
    ("summarize", {"way": "head", "layer": 2, "head": 3, "all_heads": "false"}),
    ("summarize", {"text": TOWN, "way": "rollout"}),
    ("summarize", {"text": TOWN, "way": "first", "sentences_kept": 2}),
    ("summarize", {"all": "open"}),
    ("summarize", {"all": "open", "whole_words": "false"}),
    ("compute", {}),
    ("compute", {"source": "model"}),
    ("compute", {"source": "model", "layer": 2, "head": 3, "query": 4, "key": 1}),
)
# What is said on a page, as a text each; and the numbers of its pictures: of heads, of alignments, of words.
READ = """() => {
  const below = (root) => [...root.querySelectorAll("*")].flatMap((each) => [each, ...inside(each)]);
  const inside = ({ shadowRoot }) => (shadowRoot ? below(shadowRoot) : []);
  const every = below(document);
  const isSeen = (each) => each.checkVisibility();
  const plain = (each) => each.innerText.replace(/\\s+/g, " ").trim();
  const seen = (selector) => every.filter((each) => each.matches(selector) && isSeen(each)).map(plain).filter(Boolean);
  const drawn = (name, holds) => every.find((each) => each[name] && holds(each[name].state) && isSeen(each))?.[name].state;
  const head = drawn("explorer", ({ current }) => current)?.current;
  const { models = [] } = drawn("alignment", () => true) ?? {};
  const titles = every.filter((each) => each.matches(".compared rect > title")).map(({ textContent }) => textContent);
  const weights = head ? Array.from(head.codes, (code) => (code === 65535 ? 0 : code / head.one)) : [];
  return {
    sentences: seen(".explorer .headline, .story p, #story p"),
    where: seen(".explorer .where"),
    notice: seen("#notice").join(),
    output: seen(".answer, #answer"),
    heads: seen(".first-heads li, .ranked li"),
    question: seen(".asked .word"),
    kept: seen(".unit.kept bdi"),
    selector: seen(".ways tr.chosen"),
    cells: titles.map((each) => each.replace(/: [^:]*$/, "")),
    translations: models.map(({ said }) => `${said.name}: ${said.place.join(".")}: ${said.translation}`),
    steps: seen(".compute"),
    head: head ? [head.layer, head.head] : [],
    numbers: [weights, titles.map((each) => Number(each.split(": ").pop()) || 0), ...models.map((each) => [...each.weights])],
  };
}"""
# Of these the site says less than the app, which has sentences on its models and its history besides.
EXACT = ("where", "heads", "question", "kept", "selector", "cells", "translations", "head")


def compared(browser: Browser, site: str, app: str, folder: Path, n: int) -> Iterator[Row]:
    """Open each link on both, of the pages that the site has with a picture for it."""
    links = [(page, query) for page, query in LINKS if (folder / page / "index.html").is_file()][:n]
    differences = [each for link in links if (each := difference(browser, site, app, *link))]
    yield none(f"of {len(links)} links those that say or draw something else than in the app", differences)


def difference(browser: Browser, site: str, app: str, page: str, query: Query) -> str:
    """Say how a link differs on the site; empty where it does not."""
    address = f"{page}?{urlencode(query, doseq=True)}"
    try:
        with context_of(browser, viewport=WINDOW, service_workers="block") as context:
            watch = Watch(context)
            wanted, actual = read_both(context, f"{app}/{address}", f"{site}/{page}/?{urlencode(query, doseq=True)}")
    except (PageError, AssertionError) as error:
        return f"{address}: {str(error)[:300]}"
    if ASKED_OF_THE_APP & query.keys():
        return "" if APP_ONLY in actual["notice"] else f"{address}: it does not say what only the app can do"
    return "; ".join(f"{address}: {each}" for each in [*watch.problems, *differences(wanted, actual)])


def read_both(context: BrowserContext, app: str, site: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what stands on a page of the app and on that of the site; a picture of either may still be on its way."""
    on_app, on_site = context.new_page(), context.new_page()
    on_app.goto(app)
    settle(on_app)
    on_site.goto(site)
    on_site.wait_for_selector("#hero[data-drawn], #notice:not([hidden])")
    for _ in range(40):
        on_site.wait_for_timeout(100)
        wanted, actual = on_app.evaluate(READ), on_site.evaluate(READ)
        if not differences(wanted, actual):
            break
    return wanted, actual


def differences(wanted: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """List what differs in what is said, and in numbers that are drawn."""
    found = [f"{name}: {actual[name]} for {wanted[name]}" for name in EXACT if actual[name] != wanted[name]]
    missing = [each for each in wanted["sentences"] if each not in actual["sentences"]]
    found += [f"sentence {each!r} is not among {actual['sentences']}" for each in missing]
    if [len(each) for each in wanted["numbers"]] != [len(each) for each in actual["numbers"]]:
        return [*found, "pictures of other sizes"]
    for one, other in zip(wanted["numbers"], actual["numbers"], strict=True):
        if len(one) and (far := float(np.nanmax(np.abs(np.array(one, float) - np.array(other, float))))) > BOUND:
            found.append(f"a number that is {far:.4f} away")
    return found
