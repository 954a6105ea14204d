"""How long it takes to switch every head off in turn, and what one edited layer adds to a forward pass.

python benchmarks/bench_edits.py            seconds, and seconds of the processor over the cores; exits 1 where a bar is missed

The processor's seconds tell more than the clock's on a machine that does other things, too; bars are those of the clock where
nothing else ran, and of the processor's otherwise. The load average of the minute before is printed last.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers

import attnviz
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.models.ablate.head_costs import head_costs
from attnviz.models.base import AttentionModel
from attnviz.models.edit.points import intervention, points_of
from attnviz.models.hub.encoder import TracedModel
from attnviz.nn.edit.edited_pass import intervening

CORES = 2
SIXTEEN = "The animal didn't cross the street because it was too tired ."
TEN_WORDS = "I saw the two old dogs near the house today."
RUNS, WARM_UP = 15, 3
# Seconds for every head; and how many plain passes one with an edited layer may take.
MINILM, TRANSLATOR, GPT2, EDITED = 1.0, 0.8, 20.0, 1.3


def seconds(work: Callable[[], object], runs: int = 3) -> tuple[float, float]:
    """The median of some runs: by the clock, and of the processor, shared by the cores."""
    clock, processor = [], []
    for _ in range(runs):
        begun, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - begun)
        processor.append((time.process_time() - used) / CORES)
    return statistics.median(clock), statistics.median(processor)


def gpt2() -> TracedModel:
    """A model of the size of GPT-2 small, with random weights: what it takes does not depend on them."""
    torch.manual_seed(7)
    words = {f"w{number}": number for number in range(50_257)}
    inner = Tokenizer(models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="w0", model_max_length=1024)
    return attnviz.wrap(hf.GPT2LMHeadModel(hf.GPT2Config()), tokenizer)


def every_head(name: str, model: AttentionModel, text: str, limit: float, runs: int) -> bool:
    """Print how long all heads of a model take; whether that is too long."""
    if runs > 1:
        head_costs(model, text)
    clock, processor = seconds(lambda: head_costs(model, text), runs)
    print(f"{name:44}{clock:>9.2f} s{processor:>9.2f} s{limit:>8.1f}", flush=True)
    return min(clock, processor) > limit


def one_layer(model: TracedModel, text: str, edits: str) -> bool:
    """Print how many plain passes one with an edited layer takes; whether that is too many."""
    source, points = model.tensors(model.encode([text])), points_of(model)

    def forward(asked: Edits) -> float:
        begun = time.process_time()
        with intervening(intervention(model, points, (asked,))), torch.inference_mode():
            model.body(**source)
        return time.process_time() - begun

    # One after the other, so that whatever else runs slows both.
    pairs = [(forward(NO_EDITS), forward(Edits.parse(edits))) for _ in range(WARM_UP + RUNS)][WARM_UP:]
    ratio = statistics.median(after for _, after in pairs) / statistics.median(before for before, _ in pairs)
    name = f"{model.card.name}: a pass with {edits}"
    print(f"{name:44}{ratio:>9.2f} ×{'':11}{EDITED:>8.1f}", flush=True)
    return ratio > EDITED


def main() -> int:
    """Print the table; 1 if any bar is missed."""
    torch.set_num_threads(CORES)
    print(f"{'':44}{'clock':>11}{'processor':>11}{'bar':>8}")
    minilm, translator = attnviz.load("minilm"), attnviz.load("transformer-en-fr")
    large = gpt2()
    missed = [
        every_head("minilm, 72 heads, 16 tokens", minilm, SIXTEEN, MINILM, 5),
        every_head("transformer-en-fr, 36 heads, ten words", translator, TEN_WORDS, TRANSLATOR, 5),
        *(one_layer(minilm, SIXTEEN, edits) for edits in ("e3.1z", "e3.1m", "e3.1c4.7")),
        one_layer(large, " ".join(["w5"] * 128), "d3.1z"),
        every_head("as large as GPT-2 small, 144 heads, 128 tokens", large, " ".join(["w5 w7"] * 64), GPT2, 1),
    ]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
