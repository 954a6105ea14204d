"""What a trace costs: against the eager forward that keeps all weights (MiniLM), and at length (GPT-2 and Llama sizes).

Run `python benchmarks/bench_trace.py`. Medians of 20 after a warm-up, taken in turns so that both
sides meet the same machine.
On a GPU a second table follows; both are printed as Markdown. Exits 1 if a bar is missed.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers as hf

from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.hub import capture as reading
from attnviz.models.hub import hf_attention as tape
from attnviz.models.hub.minilm import packaged

ROUNDS, WARM_UP = 20, 5
MIB = 2**20
WORDS = ["the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired", "to", "walk"]


@dataclass(frozen=True)
class Row:
    """One measured thing, and whether it is within its bar."""

    what: str
    measured: str
    bar: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        verdict = {None: "", True: "met", False: "MISSED"}[self.met]
        return f"| {self.what} | {self.measured} | {self.bar} | {verdict} |"


def medians(*works: Callable[[], Any]) -> list[float]:
    """Median seconds of each work, taken in turns."""
    taken: list[list[float]] = [[] for _ in works]
    for round_ in range(WARM_UP + ROUNDS):
        for work, seconds in zip(works, taken, strict=True):
            start = time.perf_counter()
            work()
            if round_ >= WARM_UP:
                seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in taken]


def minilm() -> Iterator[Row]:
    """Bar 3: a trace against tokenizer and eager forward with `output_attentions=True`."""
    traced = catalog.load("minilm")
    folder = packaged()
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    eager = hf.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval().to(traced.card.device)
    for tokens, limit in ((16, 1.05), (256, 0.9), (512, 0.9)):
        prompt = Prompt(" ".join((WORDS * 40)[: tokens - 2]))

        def forward(text: str = prompt.text) -> Any:
            with torch.inference_mode():
                return eager(**tokenizer(text, return_tensors="pt").to(eager.device), output_attentions=True)

        assert len(traced.trace(prompt).encoder.queries) == tokens
        ours, theirs = medians(lambda prompt=prompt: traced.trace(prompt), forward)
        ratio = ours / theirs
        measured = f"{ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms: {ratio:.2f} ×"
        yield Row(f"trace() of MiniLM, {tokens} tokens", measured, f"≤ {limit} ×", ratio <= limit)


def random_reader(config: Any, device: str) -> tuple[reading.AttentionFunctionReader, Any]:
    """A model of a size, with random weights, under the seam."""
    with torch.device(device):
        model = hf.AutoModel.from_config(config, attn_implementation="eager").eval()
    model.set_attn_implementation(tape.NAME)
    return reading.AttentionFunctionReader(model), model


def gpt2(device: str) -> Iterator[Row]:
    """Bar 4: what a long trace holds, and how soon a head is there."""
    reader, _ = random_reader(hf.GPT2Config(), device)
    ids = torch.randint(0, 50257, (1, 1024), device=device)
    store = reader.read({"input_ids": ids})[1]["encoder"].store
    [seconds, head] = [medians(lambda: reader.read({"input_ids": ids}))[0], medians(lambda: store.head(7, 5))[0]]
    held = f"{store.nbytes / 1e6:.1f} MB; all weights would be {12 * 12 * 1024**2 * 4 / 1e6:.0f} MB"
    yield Row("GPT-2 size, 1,024 tokens: trace holds", held, "≤ 120 MB", store.nbytes <= 120e6)
    yield Row("GPT-2 size, 1,024 tokens: one head", f"{head * 1e3:.1f} ms", "≤ 50 ms", head <= 0.05)
    yield Row("GPT-2 size, 1,024 tokens: forward and trace", f"{seconds:.3f} s{peak(device)}")


def llama() -> Iterator[Row]:
    """A model of Llama 3.2 1B's size at 4,096 tokens, on a GPU."""
    config = hf.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
    )  # fmt: skip
    reader, model = random_reader(config, "cuda")
    ids = torch.randint(0, config.vocab_size, (1, 4096), device="cuda")
    torch.cuda.reset_peak_memory_stats()
    store = reader.read({"input_ids": ids})[1]["encoder"].store
    [seconds] = medians(lambda: reader.read({"input_ids": ids}))
    [head] = medians(lambda: store.head(7, 5))
    weights = sum(parameter.nbytes for parameter in model.parameters()) / MIB
    dense = 16 * 32 * 4096**2 * 4 / 1e6
    yield Row(
        "Llama-1B size, 4,096 tokens: forward and trace", f"{seconds:.3f} s{peak('cuda')}, of which weights {weights:.0f} MiB"
    )
    yield Row("Llama-1B size, 4,096 tokens: trace holds", f"{store.nbytes / 1e6:.0f} MB; all weights would be {dense:.0f} MB")
    yield Row("Llama-1B size, 4,096 tokens: one head", f"{head * 1e3:.0f} ms")


def peak(device: str) -> str:
    return f", peak {torch.cuda.max_memory_allocated() / MIB:.0f} MiB on the GPU" if device == "cuda" else ""


def table(title: str, rows: Iterator[Row]) -> bool:
    """Prints the rows as they come; whether all bars are met."""
    print(f"\n### {title}\n\n| what | measured | bar | |\n|---|---|---|---|")
    met = True
    for row in rows:
        print(row, flush=True)
        met &= row.met is not False
    return met


def main() -> int:
    hf.logging.set_verbosity_error()
    met = True
    if not os.environ.get("ATTNVIZ_DEVICE"):
        os.environ["ATTNVIZ_DEVICE"] = "cpu"
    met &= table(f"Trace on {torch.get_num_threads()} CPU threads, torch {torch.__version__}", (*minilm(), *gpt2("cpu")))
    if torch.cuda.is_available():
        met &= table(f"Trace on {torch.cuda.get_device_name()}", (*gpt2("cuda"), *llama()))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
