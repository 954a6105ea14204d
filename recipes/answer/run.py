"""Training runs of answerers: what is read and held out, which weights they begin with, and who teaches them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.nn.encoder import Answerer
from attnviz.settings import assets_folder
from recipes.answer.questions import EncodedQuestion, encode_questions, plain_question, read_questions
from recipes.answer.recipe import TEACHERS, AnswerRecipe
from recipes.answer.task import Answering, untrained_answerer
from recipes.answer.teacher import read_pretrained
from recipes.export import load_trained_as
from recipes.loop import Run, TrainingReport
from recipes.schedule import all_in_bfloat16


def encode_and_hold_out(
    recipe: AnswerRecipe, data: Path, tokenizer: Any
) -> tuple[list[EncodedQuestion], list[EncodedQuestion]]:
    """Tokenize the training files, and hold out the last questions of some sources, on passages of their own."""
    files = [read_questions(data, f"{corpus}.train") for corpus in recipe.corpora]
    encoded = encode_questions([plain_question(question) for questions in files for question in questions], tokenizer)
    held_out = [
        question
        for source, number in recipe.held_out.items()
        for question in [one for one in encoded if one.source == source][-number:]
    ]
    kept = {question.context for question in held_out}
    return [question for question in encoded if question.context not in kept], held_out


def train_answerer(recipe: AnswerRecipe, data: Path, folder: Path | None, report: Callable[[TrainingReport], None]) -> Run:
    """Train by a recipe, or go on where a killed run in `folder` stopped; the weights to keep are the run's `best`.

    A teacher is trained first, in a folder of its own; the run's seconds are those of both.

    Raises:
        ModelNotFoundError: the model that it begins with has not been trained.
        DataError: `data` lacks what the recipe reads, or the folder holds a run of another recipe.
    """
    base = load_trained_as(AnswerModel, assets_folder() / "models" / recipe.base).answerer if recipe.base else None
    taught = _taught(TEACHERS[recipe.teacher], data, folder, report) if recipe.teacher else None
    run = _trained(recipe, base, taught.model if taught else None, data, folder, report)
    run.progress.seconds += taught.progress.seconds if taught else 0
    if base is not None and recipe.alpha < 1:
        run.best = interpolated(base.state_dict(), run.best, recipe.alpha)
    return run


def interpolated(start: dict[str, Tensor], end: dict[str, Tensor], alpha: float) -> dict[str, Tensor]:
    """Go a share `alpha` of the way from some weights to others; what is no fraction, such as a count, is the others'.

    >>> interpolated({"w": torch.tensor(1.0)}, {"w": torch.tensor(3.0)}, 0.25)
    {'w': tensor(1.5000)}
    """
    return {
        name: start[name].to(value.device).lerp(value, alpha) if value.is_floating_point() else value
        for name, value in end.items()
    }


def _taught(recipe: AnswerRecipe, data: Path, folder: Path | None, report: Callable[[TrainingReport], None]) -> Run:
    """Train a teacher in a folder of its own, or take it from there; its model is ready to be asked."""
    run = _trained(recipe, None, None, data, folder and folder / recipe.name, report)
    run.model.load_state_dict(run.best)
    run.model.eval()
    return run


def _trained(
    recipe: AnswerRecipe,
    base: Answerer | None,
    teacher: nn.Module | None,
    data: Path,
    folder: Path | None,
    report: Callable[[TrainingReport], None],
) -> Run:
    """Train one run to its end."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    embedded = minilm(silent)
    # Nobody looks at the weights while they are trained: what is fastest there and back will do.
    embedded.model.set_attn_implementation("eager" if all_in_bfloat16(recipe.schedule, device) else "sdpa")
    encoder = read_pretrained(recipe.pretrained, embedded.tokenizer) if recipe.pretrained else embedded.model
    questions, held_out = encode_and_hold_out(recipe, data, embedded.tokenizer)
    torch.manual_seed(recipe.schedule.seed)
    model = untrained_answerer(recipe, encoder, base)
    model.to(device)
    run = Run(recipe, model, Answering(recipe, questions, held_out, teacher), folder)
    run.train(report)
    return run
