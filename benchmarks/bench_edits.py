"""How long it takes to switch every head off in turn, and what one edited layer adds to a forward pass.

Seconds of the processor, shared by the cores, tell more than the clock's on a machine that does other things, too: a bar is met
where either is within it.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers

import attnviz
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.models.base import AttentionModel
from attnviz.models.edit import intervention
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.whatif import head_costs
from attnviz.nn.apply_edits import intervening
from benchmarks.harness import Row, at_most, run

CORES = 2
SIXTEEN = "The animal didn't cross the street because it was too tired ."
TEN_WORDS = "I saw the two old dogs near the house today."
WARM_UP = 3
# Seconds for every head; and how many plain passes one with an edited layer may take.
MINILM, TRANSLATOR, LARGE, EDITED = 1.0, 0.8, 8.0, 1.3


def seconds(work: Callable[[], object], runs: int = 3) -> tuple[float, float]:
    """The median of some runs: by the clock, and of the processor, shared by the cores."""
    clock, processor = [], []
    for _ in range(runs):
        begun, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - begun)
        processor.append((time.process_time() - used) / CORES)
    return statistics.median(clock), statistics.median(processor)


def traced(model: AttentionModel) -> TracedModel:
    assert isinstance(model, TracedModel)
    return model


def random_gpt2(layers: int, words: int) -> TracedModel:
    """A model of the size of GPT-2 small, with random weights: what it takes does not depend on them."""
    torch.manual_seed(7)
    vocabulary = {f"w{number}": number for number in range(words)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="w0", model_max_length=1024)
    return traced(attnviz.wrap(hf.GPT2LMHeadModel(hf.GPT2Config(n_layer=layers, vocab_size=words)), tokenizer))


def every_head(what: str, model: AttentionModel, text: str, limit: float, runs: int) -> Row:
    """How long it takes to switch off all heads of a model in turn."""
    if runs > 1:
        head_costs(model, text)
    clock, processor = seconds(lambda: head_costs(model, text), runs)
    n_heads = model.card.n_layers * model.card.n_heads
    told = f"{clock:.2f} s, processor {processor:.2f} s"
    return Row(f"{model.card.name}, {n_heads} heads, {what}", told, f"≤ {limit} s", min(clock, processor) <= limit)


def one_layer(model: TracedModel, text: str, edits: str, runs: int) -> Row:
    """How many plain passes one with an edited layer takes, on one core: threads that wait would be counted as work."""
    torch.set_num_threads(1)
    source, points = model.tensors(model.encode([text])), model.edit_points()

    def forward(asked: Edits) -> float:
        begun = time.process_time()
        with intervening(intervention(model, points, (asked,))), torch.inference_mode():
            model.body(**source)
        return time.process_time() - begun

    # One after the other, so that whatever else runs slows both.
    pairs = [(forward(NO_EDITS), forward(Edits.parse(edits))) for _ in range(runs + min(runs, WARM_UP))][-runs:]
    torch.set_num_threads(CORES)
    ratio = statistics.median(after for _, after in pairs) / statistics.median(before for before, _ in pairs)
    return at_most(f"{model.card.name}: a pass with {edits}, against a plain one", ratio, EDITED, "×")


def rows(given: Namespace) -> Iterator[Row]:
    """Every head off in turn, and one edited layer, of small models and of one as large as GPT-2 small."""
    torch.set_num_threads(CORES)
    minilm, large = traced(attnviz.load("minilm")), random_gpt2(given.layers, given.words)
    if not given.smoke:
        yield every_head("16 tokens", minilm, SIXTEEN, MINILM, min(5, given.runs))
        yield every_head("ten words", attnviz.load("transformer-en-fr"), TEN_WORDS, TRANSLATOR, min(5, given.runs))
    yield from (one_layer(minilm, SIXTEEN, edits, given.runs) for edits in ("e3.1z", "e3.1m", "e3.1c4.7"))
    yield one_layer(large, " ".join(["w5"] * given.tokens), "d1.1z", given.runs)
    yield every_head(f"{given.tokens} tokens", large, " ".join(["w5 w7"] * (given.tokens // 2)), LARGE, 1)


if __name__ == "__main__":
    run(rows, minutes=10, sizes={"runs": (15, 1), "layers": (12, 2), "tokens": (128, 8), "words": (50_257, 99)})
