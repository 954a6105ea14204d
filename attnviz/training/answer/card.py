"""From a trained answerer to the folder that travels, and what its card says of it."""

import json
from pathlib import Path
from typing import Any

from attnviz.models.answer import shipped
from attnviz.models.answer.base import SpanDecoding
from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.training.answer.evaluate import EVERY, KEPT
from attnviz.training.answer.recipe import AnswerRecipe
from attnviz.training.answer.task import threshold
from attnviz.training.card import FACTS, counted, figures, shown, table
from attnviz.training.export import save_weights
from attnviz.training.loop import Run

# Share of the questions held out of training that are answered at the threshold.
ANSWERED = 0.99
LICENCE = "CC-BY-SA-4.0"
SOURCES = (
    "https://arxiv.org/abs/1606.05250",
    "https://github.com/google-research-datasets/QED",
    "https://github.com/uci-soe/FairytaleQAData",
    "https://github.com/uwnlp/qamr",
)


def configuration(recipe: AnswerRecipe, decoding: SpanDecoding) -> dict[str, Any]:
    """Make config.json: what `attnviz.models.answer.shipped` builds the model from, and the recipe beside it."""
    return {
        **shipped.configuration(recipe.model, decoding),
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


def export_answerer(recipe: AnswerRecipe, run: Run, folder: Path) -> None:
    """Write a folder that `attnviz.models.shipped` loads, without what is still the embedded encoder's."""
    decoding = SpanDecoding(threshold=round(threshold(run, ANSWERED), 2), length_penalty=recipe.length_penalty)
    embedded = {f"encoder.{name}": value.cpu() for name, value in minilm(silent).model.state_dict().items()}
    # By value: a layer that was not trained here may have begun as another answerer's.
    kept = {name: value for name, value in run.best.items() if name not in embedded or not value.cpu().equal(embedded[name])}
    save_weights(kept, configuration(recipe, decoding), folder)


def answerer_card(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Write the card as Markdown, from config.json and metrics.json alone."""
    about, recipe = config["card"], config["recipe"]
    noted = ("parameters trained", "questions to train on", "epoch kept")
    curve = [(f"{share}%", shown(metrics.get(f"declined where {share}% stay", "not measured"))) for share in KEPT]
    parts = [
        f"# {about['name']}",
        f"It {about['task']}: {about['sources'][0]}. {_beginning(recipe)}",
        "## Data",
        "Trained on 55,405 questions with passages: 9,156 of SQuAD 1.1 (Rajpurkar et al. 2016, CC BY-SA 4.0), 7,071 of QED on "
        "Natural Questions (Lamm et al. 2021, Wikipedia text, CC BY-SA 3.0), 5,750 of FairytaleQA (Xu et al. 2022, Apache-2.0) "
        "and 33,428 of QAMR (Michael et al. 2018, MIT), as often as the recipe in config.json says. Half of SQuAD 1.1's "
        "development questions, by article, are among them, and the other half is what is measured here: no figure below can "
        "be compared with a published one.",
        "## Training",
        figures({name: metrics[name] for name in (*FACTS, *noted) if name in metrics}),
        f"Passages are cropped at random around the answer; some are replaced by ones that do not answer. {_kept(recipe)} "
        f"{_held_out(recipe)} questions held out of the training file decided the threshold below which the passage is taken "
        f"not to say: {100 * ANSWERED:.0f}% of them are answered.{_shorter(config['decoding'])} The hours are wall-clock, on a "
        "machine that did other work.",
        "## Measured",
        f"On all {metrics.get('questions', 0)} development questions, with SQuAD's own normalization against all accepted "
        f"answers: EM {shown(metrics.get('EM', 'not measured'))}, F1 {shown(metrics.get('F1', 'not measured'))}, in percent. "
        "Their passages are in no training data.",
        f"Every {EVERY}th of these questions was also asked of a passage of another article. Of the best spans' margins over "
        "no answer, the threshold that so many of the true pairs exceed declines so many of the mismatched ones:",
        table([("true pairs that stay", "mismatched that are declined, %"), *curve]),
        f"At the threshold it ships with, {shown(metrics.get('threshold', 'not measured'))}, "
        f"{shown(metrics.get('answered that stay', 'not measured'))}% of the true pairs stay and "
        f"{shown(metrics.get('mismatched that are declined', 'not measured'))}% of the mismatched are declined.",
        "## What it is bad at",
        "\n".join(f"- {line}" for line in recipe["weak"]),
    ]
    return "\n\n".join(parts) + "\n"


def _beginning(recipe: dict[str, Any]) -> str:
    if recipe["base"]:
        return f"It began with the weights of {recipe['base']}, its blocks with those of that model's upper layers."
    layers = f"all but the lowest {recipe['frozen']} layers" if recipe["frozen"] else "all layers, but not the embeddings,"
    return f"The encoder is all-MiniLM-L6-v2, of which {layers} were trained further."


def _held_out(recipe: dict[str, Any]) -> int:
    held_out = recipe["held_out"]
    return sum(held_out.values()) if isinstance(held_out, dict) else held_out


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
    return f"The weights {which}. {recipe['noted']}".rstrip()
