"""`attnviz train`: a toy, as the page Train trains it, without a page."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from attnviz.cli.arguments import add_command, check_can_write, file_path, print_now
from attnviz.core.errors import ModelNotFoundError, SettingError


def add_train_command(commands: Any) -> None:
    """Add the command `attnviz train`."""
    train = add_command(commands, train_toy, "train", "train a toy, a small model that learns in seconds")
    train.add_argument("name", help="the toy, such as toy-reverse")
    train.add_argument("--runs", type=Path, default=Path("runs"), metavar="RUNS", help="the folder to save in (default: runs)")
    train.add_argument(
        "--out", type=file_path, metavar="PATH", help="the file to save the toy in (default: RUNS/NAME.safetensors)"
    )
    train.add_argument("--steps", type=int, help="batches that it learns from (default: the toy's)")
    train.add_argument("--seed", type=int, help="decides its first weights and all examples (default: 1)")
    # Of a model that is no toy: what to type instead is said of all that was typed.
    train.add_argument("--data", help=argparse.SUPPRESS)


def train_toy(arguments: argparse.Namespace) -> int:
    """Train a toy, and save it in one file.

    Raises:
        ModelNotFoundError: there is no such toy.
        SettingError: the steps or the seed are no number that a toy has.
    """
    # Imported here: the command's help must not wait for torch.
    from attnviz.core import whole_files
    from attnviz.models import device
    from attnviz.models.catalog import CATALOG
    from attnviz.models.toy_config import MOST, preset
    from attnviz.training.toy_training import Training, to_file

    if (known := CATALOG.get(arguments.name)) and not known.loader:
        raise ModelNotFoundError(
            f"{arguments.name} is no toy: in a checkout of attnviz, python -m recipes {arguments.name} --data FOLDER trains it."
        )
    wished = {name: value for name in ("steps", "seed") if (value := getattr(arguments, name)) is not None}
    for option, value in wished.items():
        if not 1 <= value <= MOST:
            raise SettingError(f"--{option} is a whole number from 1 to {MOST:,}, not {value}.")
    recipe = dataclasses.replace(preset(arguments.name).recipe, **wished)
    path = arguments.out or arguments.runs / f"{arguments.name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    check_can_write(path)
    device.use_one_core()
    training, every = Training(recipe), max(1, recipe.steps // 20)
    print_now(training.look())
    while not training.ended:
        training.step()
        if training.taken % every == 0 or training.ended:
            print_now(training.look())
    whole_files.write(path, to_file(recipe, training.look()))
    print_now(f"saved in {path}; look at it with: attnviz trace {path} {recipe.task.example!r} -o trace.attn")
    return 0
