"""Faithfulness over a data set: one line a text and way in a CSV file, so that a run that was stopped goes on where it was."""

import csv
import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from attnviz.analysis.matters.faithfulness import MEASURES, Faithfulness, Interval, bootstrap
from attnviz.analysis.matters.methods import Method
from attnviz.attribution.bind import Target, bind_target
from attnviz.attribution.token_removal import ask, faithfulness
from attnviz.core.errors import AttnvizError, ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel

COLUMNS = ("text", "tokens", "way", "comprehensiveness", "sufficiency", "tau", "milliseconds")
# Texts of one data set are drawn in this order, so that the first hundred of a run are a fair sample of all.
SEED = 0


@dataclass(frozen=True)
class SurveyOptions:
    """How much of a data set is measured: so many texts, each of at most so many tokens.

    target  what about each output is asked, as in `Target`; empty: what the model is there for
    """

    limit: int = 500
    max_tokens: int = 170
    target: str = ""


@dataclass(frozen=True)
class WayFigures:
    """One way over a data set: means, and 95 % intervals by bootstrap; `over_random` is the difference from chance."""

    way: str
    n_texts: int
    comprehensiveness: Interval
    sufficiency: Interval
    over_random: Interval | None
    tau: float | None
    milliseconds: float


def survey(
    model: AttentionModel, prompts: Sequence[Prompt], ways: Sequence[Method], out: Path, options: SurveyOptions,
    report: Callable[[str], None],
) -> list[WayFigures]:  # fmt: skip
    """Measure ways on the texts of a data set, and write each text's figures as soon as they are there.

    Raises:
        ModelError: no text of it can be read, there is no such target, or the file that is there is no table of such figures.
        OSError: the file cannot be written.
    """
    target = Target.of(options.target) if options.target else None
    order = list(range(len(prompts)))
    random.Random(SEED).shuffle(order)
    known = read_table(out)
    done = {int(row["text"]) for row in known}
    n_texts = len(done)
    for index in order:
        if n_texts >= options.limit:
            break
        if index in done:
            continue
        try:
            bound = bind_target(model, prompts[index], target)
            if len(bound.tokens) > options.max_tokens:
                continue
            asked = ask(bound, ways)
            figures = faithfulness(bound, asked)
        except (PromptError, ModelError) as error:
            report(f"text {index} is left out: {error}")
            continue
        if not done and n_texts == 0:
            for name, reason in asked.refused.items():
                report(f"{name} does not apply: {reason}")
        append_rows(out, index, len(bound.tokens), figures)
        n_texts += 1
        report(f"{n_texts} of {options.limit} texts")
    if not (rows := read_table(out)):
        raise ModelError("No text of this file could be measured: name a file that the model reads, or allow more tokens.")
    return summarized(rows)


def kept_figures(figures: Sequence[WayFigures], data: str) -> dict[str, Any]:
    """Make what a model's metrics.json keeps: by way and measure the mean and its interval, the least way first."""
    ways = {}
    for each in sorted(figures, key=lambda one: one.comprehensiveness.mean):
        measured = zip(MEASURES, (each.comprehensiveness, each.sufficiency, each.over_random), strict=True)
        ways[each.way] = {name: [round(value, 3) for value in astuple(interval)] for name, interval in measured if interval}
    return {"data": data, "texts": max(each.n_texts for each in figures), "ways": ways}


def append_rows(out: Path, text: int, n_tokens: int, figures: Mapping[str, Faithfulness]) -> None:
    """Add one text's figures to the table, all of them in one write."""
    new = not out.is_file()
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        lines = [COLUMNS] if new else []
        lines += [
            (text, n_tokens, way, f"{each.comprehensiveness:.6f}", f"{each.sufficiency:.6f}",
             "" if each.tau is None else f"{each.tau:.6f}", f"{each.milliseconds:.1f}")
            for way, each in figures.items()
        ]  # fmt: skip
        writer.writerows(lines)


def read_table(path: Path) -> list[dict[str, str]]:
    """Read the table that `append_rows` writes; nothing where there is none yet.

    Raises:
        ModelError: it is another kind of file.
    """
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ModelError(f"{path} is no table of attnviz faithful: name another file with --out.")
        return list(reader)


def summarized(rows: Sequence[Mapping[str, str]]) -> list[WayFigures]:
    """Average a table by way, in the order in which the ways stand in it."""
    by_way: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in rows:
        by_way.setdefault(row["way"], {})[row["text"]] = row
    chance = by_way.get("random", {})
    figures = []
    for way, own in by_way.items():

        def column(name: str, own: Mapping[str, Mapping[str, str]] = own) -> list[float]:
            return [float(row[name]) for row in own.values() if row[name]]

        over = [
            float(own[text]["comprehensiveness"]) - float(chance[text]["comprehensiveness"]) for text in own if text in chance
        ]
        taus, times = column("tau"), column("milliseconds")
        figures.append(WayFigures(
            way, len(own), bootstrap(column("comprehensiveness")), bootstrap(column("sufficiency")),
            bootstrap(over) if over and way != "random" else None,
            sum(taus) / len(taus) if taus else None, sum(times) / len(times),
        ))  # fmt: skip
    return figures


def read_prompts(path: Path) -> list[Prompt]:
    """Read a data set: JSON lines with a question and a context, or with sentences; or lines of one text, or a tab between two.

    A file that ends in .gz is unpacked. Of two texts on a line the second is a translation, and only the first is read.

    Raises:
        ModelError: a line of it holds none of these.
        OSError: it cannot be read.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file]
        return list(_prompts(lines, json_lines=".jsonl" in path.suffixes))
    except (ValueError, KeyError, TypeError, EOFError, AttnvizError) as error:
        raise ModelError(
            f"{path} cannot be read as a data set: give JSON lines with a question and a context, or one text a line."
        ) from error


def _prompts(lines: Sequence[str], *, json_lines: bool) -> Iterator[Prompt]:
    for line in filter(str.strip, lines):
        if not json_lines:
            yield Prompt(line.split("\t")[0])
            continue
        record: dict[str, Any] = json.loads(line)
        if "question" in record:
            yield Prompt(record["context"], question=record["question"], pair=record["question"])
        else:
            yield Prompt(" ".join(record["sentences"]))
