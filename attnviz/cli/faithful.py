"""`attnviz faithful`: how far each attribution method is to be believed, over a data set."""

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnviz.attribution.methods import USUAL, method_named
from attnviz.cli.arguments import MODEL, ONE_TEXT, add_command, output_path, positive, print_now
from attnviz.cli.progress_line import progress_line
from attnviz.core import whole_files
from attnviz.core.errors import AttnvizError
from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.models import catalog
from attnviz.text.data_files import FORMATS, find_format, read_prompts

COLUMNS = ("text", "tokens", "method", "comprehensiveness", "sufficiency", "tau", "milliseconds")
DEFAULT = ",".join(method.name for method in USUAL)
_EPILOG = f"""examples:
  attnviz faithful answer-en --data qa.dev.jsonl.gz
  attnviz faithful transformer-en-fr --data pairs.tsv --methods rollout,leave-one-out,random --limit 100

{FORMATS}
A target is left out: what is explained is the model's own output.
CSV.jsonl keeps what is done; with another model, other data, methods or another target everything is measured anew."""


def add_faithful_command(commands: Any) -> None:
    """Add the command."""
    faithful = add_command(
        commands, measure_faithfulness, "faithful", "how well attribution methods find the words that matter", _EPILOG
    )
    faithful.add_argument("model", help=MODEL)
    faithful.add_argument("--data", type=Path, required=True, metavar="FILE", help="the texts")
    faithful.add_argument(
        "--methods", "--ways", default=DEFAULT, help=f"which attribution methods, by commas (default: {DEFAULT})"
    )
    faithful.add_argument("--target", default="", help="what to explain, such as token:0 or sentence:1 (default: the output)")
    faithful.add_argument("--limit", type=positive, default=500, metavar="N", help="how many texts (default: 500)")
    faithful.add_argument("--max-tokens", type=positive, default=170, metavar="N", help="leave out longer texts (default: 170)")
    faithful.add_argument("--out", type=output_path, metavar="CSV", help="each text's figures (default: faithful-MODEL.csv)")


def measure_faithfulness(arguments: argparse.Namespace) -> int:
    """Print the table of a data set; what is in its journal already is not measured again."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.attribution.dataset import DatasetOptions, measure_dataset, method_figures

    print(find_format(arguments.data).description, file=sys.stderr)
    methods = [method_named(name.strip()) for name in arguments.methods.split(",")]
    # A question is read beside its context by a model that reads two texts.
    prompts = [
        replace(prompt, pair=prompt.question, target=None) if prompt.question else replace(prompt, target=None)
        for prompt in read_prompts(arguments.data)
    ]
    if not prompts:
        raise AttnvizError(f"There is no text in {arguments.data}: give a file with one a line.")
    out = arguments.out or Path(f"faithful-{Path(arguments.model).name}.csv")
    _check_table(out)
    model = catalog.load(arguments.model, progress=progress_line)
    options = DatasetOptions(arguments.limit, arguments.max_tokens, arguments.target)
    rows = measure_dataset(model, prompts, methods, out.with_name(f"{out.name}.jsonl"), options, print_now)
    whole_files.write(out, csv_table(COLUMNS, map(_cells, rows)))
    figures = method_figures(rows)
    print(
        f"\n{'method':22} {'comprehensiveness':>24} {'sufficiency':>24} {'over chance':>24} {'tau':>6} {'ms':>7} {'texts':>6}"
    )
    for each in sorted(figures, key=lambda one: one.comprehensiveness.mean):
        intervals = (each.comprehensiveness, each.sufficiency, each.over_random)
        means = " ".join(f"{_interval(one, each.n_texts) if one else '':>24}" for one in intervals)
        tau = "" if each.tau is None else f"{each.tau:.3f}"
        print(f"{each.method:22} {means} {tau:>6} {each.milliseconds:7.0f} {each.n_texts:6}")
    if any(each.n_texts < 2 for each in figures):
        print(f"\n{ONE_TEXT}")
    return 0


def _check_table(path: Path) -> None:
    """Keep another table from being written over."""
    if path.is_file() and path.stat().st_size:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            if tuple(next(csv.reader(file), ())) != COLUMNS:
                raise AttnvizError(f"{path} is no table of attnviz faithful: name another file with --out.")


def _cells(row: Any) -> Sequence[object]:
    tau = "" if row.tau is None else NumberCell(row.tau, ".6f")
    shares = (NumberCell(row.comprehensiveness, ".6f"), NumberCell(row.sufficiency, ".6f"))
    return (row.text, row.tokens, row.method, *shares, tau, NumberCell(row.milliseconds, ".1f"))


def _interval(interval: Any, n_texts: int) -> str:
    return f"{interval.mean:.3f}" + (f" [{interval.low:.3f}, {interval.high:.3f}]" if n_texts > 1 else "")
