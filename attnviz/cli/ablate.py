"""`attnviz ablate`: which heads matter, over a file of texts; a killed run goes on where it stopped."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.cli.arguments import MODEL, ONE_TEXT, add_command, output_path, positive
from attnviz.cli.progress_line import progress_line
from attnviz.core import whole_files
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError
from attnviz.core.journal import Journal, model_facts
from attnviz.core.trace import Prompt
from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.models import catalog
from attnviz.text.data_files import FORMATS, find_format, read_prompts

_EPILOG = f"""examples:
  attnviz ablate transformer-en-fr --data pairs.tsv --limit 300 --out heads.csv
  attnviz ablate minilm --data sentences.txt
  attnviz ablate transformer-en-fr --data pairs.tsv --edits c1.0z c1.0m "c0.0z,c1.0z"

{FORMATS}
Each row of the table is the mean over the file: what it costs, in nats a piece of the output, or as the cosine distance of the
last states, with a 95 % interval (bootstrap over texts)."""
COLUMNS = ("condition", "edits", "cost", "low", "high")
Conditions = dict[str, Edits]


def add_ablate_command(commands: Any) -> None:
    """Add the command."""
    ablate = add_command(commands, ablate_file, "ablate", "which heads matter for your texts", _EPILOG)
    ablate.add_argument("model", help=MODEL)
    ablate.add_argument("--data", type=Path, required=True, metavar="FILE", help="the texts")
    ablate.add_argument("--limit", type=positive, metavar="N", help="read the first N texts (default: all)")
    ablate.add_argument("--to", choices=("zero", "mean", "uniform"), default="zero", help="what a head is set to")
    ablate.add_argument("--edits", nargs="+", metavar="EDITS", help="measure these instead of every head, layer and kind")
    ablate.add_argument("--out", type=output_path, metavar="CSV", help="write the table here too; CSV.jsonl keeps what is done")


def ablate_file(arguments: argparse.Namespace) -> int:
    """Measure every condition on every text, and print the table."""
    print(find_format(arguments.data).description, file=sys.stderr)
    prompts = list(islice(read_prompts(arguments.data), arguments.limit))
    if not prompts:
        raise AttnvizError(f"There is no text in {arguments.data}: give a file with one a line.")
    model = catalog.load(arguments.model, progress=progress_line)
    conditions = {text: Edits.parse(text) for text in arguments.edits} if arguments.edits else _conditions(model, arguments.to)
    measured = list(_measure(model, prompts, [NO_EDITS, *conditions.values()], arguments))
    if not measured:
        raise AttnvizError(f"No text of {arguments.data} has finite scores: choose other edits, or another file.")
    table = _table(conditions, np.array([scores for _, scores in measured]), np.array([float(count) for count, _ in measured]))
    if arguments.out:
        whole_files.write(arguments.out, csv_table(COLUMNS, table))
    print("\n".join(_lines(table)))
    return 0


def _measure(model: Any, prompts: list[Prompt], rows: list[Edits], arguments: argparse.Namespace) -> Iterator[list[Any]]:
    """Score each text under all edits, in a journal beside the table: how many pieces its output has, and its scores."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.models.capabilities import capabilities

    def fits(count: float, scores: list[object]) -> bool:
        return count > 0 and len(scores) == len(rows) and all(isinstance(number, int | float) for number in scores)

    out, data = arguments.out, arguments.data.name
    header = {**model_facts(model.card.name, model.card.revision), "edits": [edits.text for edits in rows]}
    journal = Journal(out and out.with_name(f"{out.name}.jsonl"), header, lambda line: progress_line(line, None), fits)
    with journal:
        for number, prompt in enumerate(prompts, 1):
            key = json.dumps([prompt.text, prompt.question, prompt.target])
            if key not in journal.done:
                scorer = capabilities(model).scorer(prompt)
                journal.note(key, scorer.n_pieces, scorer.scores(rows).tolist())
            if key in journal.done:
                yield journal.done[key]
            else:
                progress_line(f"Text {number} of {data} is left out: a score of it is not finite.", None)
            progress_line(f"{data}: {number} of {len(prompts)}", number / len(prompts))


def _conditions(model: Any, to: Any) -> Conditions:
    """List every head alone, all heads of a layer, all of a kind, and all of a kind but one."""
    from attnviz.models.whatif import every_head, without

    heads = every_head(model)
    conditions: Conditions = {f"{kind} L{layer}·H{head}": without([(kind, layer, head)], to) for kind, layer, head in heads}
    for kind in dict.fromkeys(kind for kind, _, _ in heads):
        mine = [place for place in heads if place[0] == kind]
        for layer in sorted({place[1] for place in mine}):
            conditions[f"{kind} L{layer}, all heads"] = without([place for place in mine if place[1] == layer], to)
        conditions[f"{kind}, all heads"] = without(mine, to)
        for one in mine:
            conditions[f"{kind}, all heads but L{one[1]}·H{one[2]}"] = without([place for place in mine if place != one], to)
    return {name: edits for name, edits in conditions.items() if edits}


def _table(conditions: Conditions, scores: np.ndarray, counts: np.ndarray) -> list[tuple[str, ...]]:
    """Compute what each condition costs a piece, the dearest first; before them what the model has without edits."""
    totals = np.concatenate([-scores[:, :1], scores[:, :1] - scores[:, 1:]], axis=1)
    means, (low, high) = totals.sum(axis=0) / counts.sum(), bootstrap(totals, counts)
    named = [("as it is", ""), *((name, edits.text) for name, edits in conditions.items())]
    order = [0, *(1 + np.argsort(-means[1:], kind="stable"))]
    # One text that is drawn again and again is always itself: that is no interval.
    numbers = (means, low, high) if len(counts) > 1 else (means,)
    empty = ("",) * (3 - len(numbers))
    return [(*named[place], *(NumberCell(each[place], "z.4f") for each in numbers), *empty) for place in order]


def _lines(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    width = max(len(row[0]) for row in table) + 2
    yield f"{'':<{width}}{'cost':>9}   {'95 % of texts like these' if table[0][-1] else ONE_TEXT}"
    for number, (name, _, cost, low, high) in enumerate(table):
        sign = "" if number == 0 or cost.startswith("-") else "+"
        yield f"{name:<{width}}{sign + cost:>9}" + (f"   {low} to {high}" if low else "")
