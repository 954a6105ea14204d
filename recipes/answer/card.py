"""From a trained answerer to the folder that travels, and what its card says of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from attnviz.models import shipped_answerer
from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.span_decoding import SpanDecoding
from recipes.answer.calibrate import ASKED, Calibration, calibrate
from recipes.answer.development import FOLDS
from recipes.answer.evaluate import EVERY, MEASURES
from recipes.answer.recipe import TEACHERS, AnswerRecipe
from recipes.answer.teacher import TEMPERATURE
from recipes.card import FACTS, command, counted, faithfulness_section, figures, shown, table
from recipes.export import load_trained_as, save_weights
from recipes.loop import Run

LICENCE = "CC-BY-SA-4.0"
SOURCES = (
    "https://arxiv.org/abs/1606.05250",
    "https://github.com/google-research-datasets/QED",
    "https://github.com/uci-soe/FairytaleQAData",
    "https://github.com/uwnlp/qamr",
    "https://arxiv.org/abs/2004.14444",
)


_DATA = (
    "Trained on questions with passages: SQuAD 1.1 (Rajpurkar et al. 2016, CC BY-SA 4.0), {shifts}QED on Natural Questions "
    "(Lamm et al. 2021, Wikipedia text, CC BY-SA 3.0), FairytaleQA (Xu et al. 2022, Apache-2.0) and QAMR (Michael et al. 2018, "
    "MIT), as often as the recipe in config.json says. Half of SQuAD 1.1's development questions, by article, are among them, "
    "and the other half is what is measured here: no figure below can be compared with a published one."
)
_SHIFTS = "the new Wikipedia articles, Reddit posts and Amazon reviews of SQuADShifts (Miller et al. 2020, CC BY 4.0), "
_MEASURED = (
    "EM and F1 with SQuAD's own normalization against all accepted answers, where it must answer. It declines where "
    "p(no answer) exceeds {threshold}: how many of the answerable questions, and of every {every}th of them how many with a "
    "passage of another article or post (mismatched), and with their own passage without the sentences that hold an accepted "
    "answer (removed); all in percent. The expected calibration error, 0 to 1, is that of its confidence: how often a best "
    "span as likely as this one is right; beside it the error that a perfectly calibrated model shows by chance, of so few "
    "questions. These five are of the development passages that did not decide them. None of the passages is in the "
    "training data."
)


def configuration(recipe: AnswerRecipe, decoding: SpanDecoding) -> dict[str, Any]:
    """Make config.json: what `attnviz.models.shipped_answerer` builds the model from, and the recipe beside it."""
    return {
        **shipped_answerer.configuration(recipe.model, decoding),
        "card": {
            "name": recipe.name,
            "task": f"finds the answer to a question in a passage; {recipe.about}",
            "languages": ["en"],
            "licence": LICENCE,
            "sources": [recipe.paper, *SOURCES],
        },
        "recipe": json.loads(recipe.as_json()),
    }


def answerer_facts(run: Run) -> dict[str, Any]:
    """Record how these weights came about, for metrics.json."""
    return {
        **counted(run, "questions to train on"),
        "parameters trained": sum(parameter.numel() for parameter in run.model.parameters() if parameter.requires_grad),
        "epoch kept": " and ".join(map(str, run.recipe.schedule.kept)) or run.progress.best_epoch,
    }


def export_answerer(recipe: AnswerRecipe, run: Run, folder: Path, data: Path, report: Callable[[str], None]) -> None:
    """Write a folder for `attnviz.models.shipped_models`, without what is still the embedded encoder's, calibrated by `data`.

    Raises:
        DataError: `data` lacks the development files: the folder holds the model as it was trained.
    """
    embedded = {f"encoder.{name}": value.cpu() for name, value in minilm(silent).model.state_dict().items()}
    # By value: a layer that was not trained here may have begun as another answerer's.
    kept = {name: value for name, value in run.best.items() if name not in embedded or not value.cpu().equal(embedded[name])}
    _save(recipe, kept, Calibration(), folder)
    _save(recipe, kept, calibrate(load_trained_as(AnswerModel, folder), data, report), folder)


def _save(recipe: AnswerRecipe, weights: dict[str, Tensor], calibration: Calibration, folder: Path) -> None:
    """Write weights and configuration. The temperature divides all logits: what they are compared with is divided, too."""
    temperature = calibration.temperature
    decoding = SpanDecoding(
        declines_above=None if calibration.declines_above is None else round(calibration.declines_above, 3),
        length_penalty=round(recipe.length_penalty / temperature, 3),
        slope=round(calibration.slope, 3),
        slope_nothing=round(calibration.slope_nothing, 3),
        intercept=round(calibration.intercept, 3),
    )
    divided = {name: weights[name] / temperature for name in ("output.weight", "output.bias")}
    save_weights(weights | divided, {**configuration(recipe, decoding), "temperature": round(temperature, 3)}, folder)


def answerer_card(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Write the card as Markdown, from config.json and metrics.json alone."""
    about, recipe = config["card"], config["recipe"]
    noted = ("parameters trained", "questions to train on", "epoch kept")
    parts = [
        f"# {about['name']}",
        f"It {about['task']}: {about['sources'][0]}. {_beginning(recipe)}".rstrip(),
        "## Data",
        _DATA.format(shifts=_SHIFTS if "qa-shifts" in recipe["corpora"] else ""),
        "## Training",
        command(config),
        figures({name: metrics[name] for name in (*FACTS, *noted) if name in metrics}),
        f"Passages are cropped at random around the answer; {_unanswered(recipe)} {_kept(recipe)} {_calibrated(config)}"
        f"{_shorter(config['decoding'])}{_taught(recipe)} The hours are wall-clock, on a machine that did other work.",
        "## Measured",
        _MEASURED.format(threshold=_threshold(config["decoding"]), every=EVERY),
        table([("source", *MEASURES), *_rows(metrics)]),
        *faithfulness_section(metrics),
        "## What it is bad at",
        "\n".join(f"- {line}" for line in recipe["weak"]),
    ]
    return "\n\n".join(parts) + "\n"


def _threshold(decoding: dict[str, Any]) -> str:
    above = decoding.get("declines_above")
    return "that of every span" if above is None else f"{above:.3g}"


def _rows(metrics: dict[str, Any]) -> list[tuple[str, ...]]:
    by_source = metrics.get("by source", {})
    return [(name, *(_figure(row, measure) for measure in MEASURES)) for name, row in by_source.items() if row]


def _figure(row: dict[str, Any], measure: str) -> str:
    if measure not in row:
        return "not measured"
    return f"{row[measure]:.3f}" if measure in MEASURES[-2:] else shown(row[measure])


_KINDS = {
    "window": "a part of their own passage beside the answer",
    "sentence": "their own passage without the sentence that answers",
    "beside": "one that stands beside it",
    "words": "one that shares the question's rarer words",
    "elsewhere": "any other",
}


def _unanswered(recipe: dict[str, Any]) -> str:
    shares = recipe["diets"][-1]["unanswered"]
    listed = ", ".join(f"{100 * share:.3g}% {_KINDS[kind]}" for kind, share in shares.items())
    return f"of the questions {listed}, so that none answers." if shares else "every one answers."


def _calibrated(config: dict[str, Any]) -> str:
    held_out = _held_out(config["recipe"])
    if "temperature" not in config:
        return (
            f"Questions held out of training, {held_out}, chose the epoch and the p(no answer) above which the passage is "
            "taken not to say; how sure it is was not calibrated."
        )
    mixture = " and the mixture" if config["recipe"].get("alpha", 1) < 1 else ""
    return (
        f"Held out of training, to choose the epoch{mixture}: {held_out}. The questions of every {FOLDS}th "
        f"development passage decided what the logits are divided by, {shown(config['temperature'])}, and the "
        "p(no answer) above which the passage is taken not to say: on the source where it does worst against "
        f"{_asked()}, it does as well as it can."
        f"{_line(config['decoding'])}"
    )


def _line(decoding: dict[str, Any]) -> str:
    if "slope" not in decoding:
        return ""
    return (
        " So did they how often a best span is right: its log odds are "
        f"{decoding['slope']} × those of the span among all spans {_added(decoding['slope_nothing'])} × those of no answer "
        f"{_added(decoding['intercept'])} (Platt 1999)."
    )


def _added(number: float) -> str:
    """Write a number as it is added, with its sign before a space."""
    return f"{'−' if number < 0 else '+'} {abs(number)}"


def _asked() -> str:
    own, strange, without = (f"{100 * share:.0f}%" for share in ASKED.values())
    return f"{own} answered, {strange} of mismatched and {without} of removed declined"


def _held_out(recipe: dict[str, Any]) -> str:
    return ", ".join(f"{number} of {source}" for source, number in recipe["held_out"].items())


def _beginning(recipe: dict[str, Any]) -> str:
    if recipe["base"] == recipe["name"]:
        return ""
    if recipe["base"]:
        return f"It began with the weights of {recipe['base']}, its blocks with those of that model's upper layers."
    layers = f"all but the lowest {recipe['frozen']} layers" if recipe["frozen"] else "all layers, but not the embeddings,"
    return f"The encoder is all-MiniLM-L6-v2, of which {layers} were trained further."


def _taught(recipe: dict[str, Any]) -> str:
    if not recipe.get("teacher"):
        return ""
    teacher = TEACHERS[recipe["teacher"]]
    questions = sum(teacher.diets[-1].shares.values()) * teacher.schedule.epochs
    return (
        f" {100 * recipe['soft']:.0f}% of its loss are how far its distributions over start and end, at temperature "
        f"{TEMPERATURE:.0f}, are from a teacher's of the same passage (Hinton et al. 2015, arXiv:1503.02531): "
        f"{teacher.pretrained} ({teacher.paper}), which learned from {questions:,} questions of the same sources, and whose "
        f"training is in the hours. It does not travel. {teacher.noted}".rstrip()
    )


def _shorter(decoding: dict[str, Any]) -> str:
    penalty = decoding.get("length_penalty", 0)
    return f" Each token of an answer after its first takes {penalty} from the span's logit." if penalty else ""


def _kept(recipe: dict[str, Any]) -> str:
    kept = recipe["schedule"]["kept"]
    which = (
        f"are the mean of those after epochs {' and '.join(map(str, kept))} (Izmailov et al. 2018, arXiv:1803.05407)"
        if kept
        else "are those of the epoch that was best, by questions held out of the training file"
    )
    mixed = ""
    if (alpha := recipe.get("alpha", 1)) < 1:
        mixed = (
            f", mixed with those it began with, {100 * alpha:.0f}% to {100 - 100 * alpha:.0f}% (Wortsman et al. 2022, "
            "arXiv:2109.01903)"
        )
    return f"The weights {which}{mixed}. {recipe['noted']}".rstrip()
