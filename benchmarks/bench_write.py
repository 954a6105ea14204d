"""What a language model writes: what `generate` writes, drawn as its warpers draw, with ln p of the file's own numbers; speed.

Greedy continuations of smollm2 and of a tiny model of every family are compared token by token with `generate`. The last row
needs Chromium. When the first picture of this page stands is a line of bench_page.
"""

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers.generation import logits_process as warpers

import attnviz
from attnviz.core.sampling import WritingOptions, sampling_probabilities
from attnviz.core.trace import Prompt
from attnviz.models.hub.smollm2 import GgufFile, packaged
from attnviz.text.corpora import random_passages
from benchmarks.harness import SCRIPT, Row, at_most, browsing, none, page_of, run, serving
from tests.browser.pages import open_page, settle
from tests.contract.test_write import DECODERS, writer
from tests.unit.models.hub.test_smollm2 import log_probabilities

SIZES = {"texts": (200, 1), "families": (99, 1), "readings": (20, 0), "clicks": (15, 2), "model": ("smollm2", "")}
TOKENS, LENGTH = 50, 16
SAMPLING = [(0.3, 0, 1.0), (1.0, 5, 1.0), (1.7, 0, 0.9), (0.8, 11, 0.6), (1.0, 0, 0.05)]
CLICKED = f"""async (place) => {{
  {SCRIPT}
  const parts = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((part) => part.shadowRoot);
  const find = (selector) => parts().flatMap((part) => [...(part?.querySelectorAll(selector) ?? [])]);
  const bars = () => find(".bars").map((part) => part.innerText).join();
  const before = bars();
  const began = performance.now();
  const token = () => find(".text.long [data-pick]")[place];
  token().click();
  const isShown = () => token()?.matches(".chosen") && bars() !== before;
  await until(isShown, `the bars of token ${{place}}`);
  await drawn();
  return (performance.now() - began) / 1000;
}}"""


def written_otherwise(model: Any, wrapped: Any, texts: Sequence[str]) -> list[str]:
    """Texts behind which `generate` writes other tokens than attnviz."""
    return [text for text in texts if own_tokens(wrapped, text) != generated(model, wrapped, text)]


def own_tokens(wrapped: Any, text: str) -> list[int]:
    own = wrapped.writer()
    return own.ids(own.pieces(Prompt(text), WritingOptions(TOKENS), lambda pieces, text: None))


def generated(model: Any, wrapped: Any, text: str) -> list[int]:
    ids = torch.tensor([wrapped.writer().read(text).inputs["input_ids"]])
    ends = model.generation_config.eos_token_id
    made = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS, eos_token_id=ends, pad_token_id=0
    )
    return made[0, ids.shape[1] :].tolist()


def drawn_otherwise(logits: torch.Tensor) -> list[str]:
    """Ways of sampling whose distribution is further than 1e-6 from that of transformers' warpers."""
    wrong = []
    for temperature, top_k, top_p in SAMPLING:
        warped = warpers.TemperatureLogitsWarper(temperature)(None, logits.double())
        warped = warpers.TopKLogitsWarper(top_k)(None, warped) if top_k else warped
        warped = warpers.TopPLogitsWarper(top_p)(None, warped) if top_p < 1 else warped
        options = WritingOptions(temperature=temperature, top_k=top_k, top_p=top_p)
        for row, want in zip(logits.numpy(), warped.softmax(dim=-1).numpy(), strict=True):
            if (apart := np.abs(sampling_probabilities(row, options) - want).max()) > 1e-6:
                wrong.append(f"temperature {temperature}, top-k {top_k}, top-p {top_p}: {apart:.1e}")
    return wrong


def own_numbers(wrapped: Any, file: GgufFile, texts: Sequence[str]) -> Iterator[Row]:
    """How far ln p of likely tokens is from what the file's own numbers give."""
    apart = []
    for text in texts:
        ids = wrapped.writer().read(text).inputs["input_ids"]
        want = log_probabilities(file, ids)
        with torch.inference_mode():
            got = wrapped.model(torch.tensor([ids])).logits[0].log_softmax(dim=-1).numpy()
        apart.append(float(np.abs(got - want)[want > np.log(1e-3)].max()))
    yield at_most(f"{len(texts)} texts: ln p of likely tokens, beside the file's own numbers", max(apart), 1e-4, "")


def speeds(wrapped: Any, text: str) -> Iterator[Row]:
    """Tokens a second, and the first of them."""
    own, moments = wrapped.writer(), [time.perf_counter()]
    own.pieces(Prompt(text), WritingOptions(TOKENS), lambda pieces, text: moments.append(time.perf_counter()))
    steps = np.diff(moments)
    yield at_most("the first written token", float(steps[0]), 0.5)
    yield at_most("each further one (15 a second)", float(np.median(steps[1:])), 1 / 15)


def clicks(server: str, count: int) -> Iterator[Row]:
    """A click on a token, until the bars of what could have stood there are drawn."""
    with serving(server) as app, browsing() as browser, page_of(browser) as page:
        open_page(page, app.url, "write")
        settle(page)
        seconds = []
        for place in range(1, 1 + min(count, page.locator(".text.long [data-pick]").count() - 2)):
            seconds.append(page.evaluate(CLICKED, place))
            settle(page)
        yield at_most("a click on a token, until its bars are drawn", float(np.median(seconds)), 0.1)


def rows(given: Namespace) -> Iterator[Row]:
    """Every table of this benchmark."""
    for family in DECODERS[: given.families]:
        wrong = written_otherwise(*writer(family), ["the cat sat on", "a dog ran"][: given.texts])
        yield none(f"{family.name}, tiny: texts that `generate` continues otherwise", wrong)
    wrapped: Any = attnviz.load(given.model) if given.model else writer(DECODERS[0])[1]
    model = wrapped.model
    texts = random_passages(given.texts, LENGTH) if given.model else ["the cat sat on"]
    if given.model:
        wrong = written_otherwise(model, wrapped, texts)
        yield none(f"{given.model}: of {len(texts)} texts, those that `generate` continues otherwise in {TOKENS} tokens", wrong)
    ids = wrapped.writer().read(texts[0]).inputs["input_ids"]
    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0].clone()
    yield none("distributions further than 1e-6 from those of the warpers of transformers", drawn_otherwise(logits))
    if given.readings and (path := packaged()):
        yield from own_numbers(wrapped, GgufFile.read(path), texts[: given.readings])
    yield from speeds(wrapped, texts[0])
    yield from clicks(given.server, given.clicks)


if __name__ == "__main__":
    run(rows, minutes=60, sizes=SIZES)
