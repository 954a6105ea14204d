"""What a trace costs: against the eager forward that keeps all weights (MiniLM), and at length (GPT-2 and Llama sizes).

Medians after a warm-up, taken in turns so that both sides meet the same machine. On a GPU the long ones follow there, too.
"""

import os
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ.setdefault("ATTNVIZ_DEVICE", "cpu")

import torch
import transformers as hf

from attnviz.core.trace import Prompt
from attnviz.files.trace_file import from_bytes, to_bytes
from attnviz.models import catalog
from attnviz.models.hub import attention_readers as reading
from attnviz.models.hub import attention_readers as tape
from attnviz.models.hub.minilm import packaged
from benchmarks.harness import Row, at_most, run

WARM_UP = 5
MIB = 2**20
# How long a trace may take, by the number of tokens: times the eager forward.
LIMITS = {16: 1.05, 256: 0.9, 512: 0.9}
WORDS = ["the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired", "to", "walk"]


def medians(rounds: int, *works: Callable[[], Any]) -> list[float]:
    """Median seconds of each work, taken in turns."""
    taken: list[list[float]] = [[] for _ in works]
    warm_up = min(WARM_UP, rounds)
    for round_ in range(warm_up + rounds):
        for work, seconds in zip(works, taken, strict=True):
            start = time.perf_counter()
            work()
            if torch.accelerator.is_available():
                torch.accelerator.synchronize()
            if round_ >= warm_up:
                seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in taken]


def minilm(rounds: int, lengths: Sequence[int]) -> Iterator[Row]:
    """A trace against tokenizer and eager forward with `output_attentions=True`."""
    traced, folder = catalog.load("minilm"), packaged()
    assert folder is not None
    tokenizer: Any = hf.AutoTokenizer.from_pretrained(folder)
    eager = hf.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval().to(traced.card.device)
    prompts = {tokens: Prompt(" ".join((WORDS * 40)[: tokens - 2])) for tokens in lengths}
    for tokens, prompt in prompts.items():

        def forward(text: str = prompt.text) -> Any:
            with torch.inference_mode():
                return eager(**tokenizer(text, return_tensors="pt").to(eager.device), output_attentions=True)

        assert len(traced.trace(prompt).encoder.queries) == tokens
        ours, theirs = medians(rounds, lambda prompt=prompt: traced.trace(prompt), forward)
        told = f": {ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms"
        yield at_most(f"trace() of MiniLM, {tokens} tokens", ours / theirs, LIMITS[tokens], "×", told)
    trace = traced.trace(prompts[lengths[-1]])
    [seconds] = medians(rounds, lambda: from_bytes(to_bytes(trace)))
    yield at_most(f"its file written and read again, {lengths[-1]} tokens", seconds, 0.5, "s")


def random_reader(config: Any, device: str) -> tuple[reading.AttentionFunctionReader, Any]:
    """A model of a size, with random weights, that calls the attention function."""
    with torch.device(device):
        model = hf.AutoModel.from_config(config, attn_implementation="eager").eval()
    model.set_attn_implementation(tape.NAME)
    return reading.AttentionFunctionReader(model), model


def gpt2(device: str, given: Namespace) -> Iterator[Row]:
    """What a long trace holds, and how soon a head is there."""
    reader, _ = random_reader(hf.GPT2Config(n_layer=given.layers), device)
    ids = torch.randint(0, 50257, (1, given.tokens), device=device)
    store = reader.read({"input_ids": ids})[1]["encoder"].store
    [seconds] = medians(given.rounds, lambda: reader.read({"input_ids": ids}))
    [head] = medians(given.rounds, lambda: store.head(given.layers // 2, 5))
    name = f"GPT-2 size on {device}, {given.tokens:,} tokens"
    dense = f"; all weights would be {given.layers * 12 * given.tokens**2 * 4 / 1e6:.0f} MB"
    yield at_most(f"{name}: trace holds", store.nbytes / 1e6, 120, "MB", dense)
    yield at_most(f"{name}: one head", head * 1e3, 50, "ms")
    yield Row(f"{name}: forward and trace", f"{seconds:.3f} s{peak(device)}")


def llama(rounds: int) -> Iterator[Row]:
    """A model of Llama 3.2 1B's size at 4,096 tokens, on a GPU."""
    config = hf.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
    )  # fmt: skip
    reader, model = random_reader(config, "cuda")
    ids = torch.randint(0, config.vocab_size, (1, 4096), device="cuda")
    torch.cuda.reset_peak_memory_stats()
    store = reader.read({"input_ids": ids})[1]["encoder"].store
    [seconds] = medians(rounds, lambda: reader.read({"input_ids": ids}))
    [head] = medians(rounds, lambda: store.head(7, 5))
    weights = sum(parameter.nbytes for parameter in model.parameters()) / MIB
    dense = 16 * 32 * 4096**2 * 4 / 1e6
    yield Row(
        "Llama-1B size, 4,096 tokens: forward and trace", f"{seconds:.3f} s{peak('cuda')}, of which weights {weights:.0f} MiB"
    )
    yield Row("Llama-1B size, 4,096 tokens: trace holds", f"{store.nbytes / 1e6:.0f} MB; all weights would be {dense:.0f} MB")
    yield Row("Llama-1B size, 4,096 tokens: one head", f"{head * 1e3:.0f} ms")


def peak(device: str) -> str:
    return f", peak {torch.cuda.max_memory_allocated() / MIB:.0f} MiB on the GPU" if device == "cuda" else ""


def rows(given: Namespace) -> Iterator[Row]:
    """On the processor, then on a GPU where there is one."""
    hf.logging.set_verbosity_error()
    yield Row("threads, torch", f"{torch.get_num_threads()}, {torch.__version__}")
    yield from minilm(given.rounds, given.lengths)
    yield from gpt2("cpu", given)
    if torch.cuda.is_available() and not given.smoke:
        yield Row("GPU", torch.cuda.get_device_name())
        yield from (*gpt2("cuda", given), *llama(given.rounds))


if __name__ == "__main__":
    sizes = {"rounds": (20, 1), "lengths": ([*LIMITS], [16]), "layers": (12, 2), "tokens": (1024, 31)}
    run(rows, minutes=10, sizes=sizes)
