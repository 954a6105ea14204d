"""`python -m recipes NAME`: train a model that travels with attnviz, measure it, and write its card."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attnviz.cli import run_command
from attnviz.cli.arguments import PLAIN, print_now

EXAMPLES = """examples:
  python -m recipes bahdanau-en-fr --data DATA               train a model; a killed run goes on where it stopped
  python -m recipes evaluate runs/bahdanau-en-fr --data DATA
  python -m recipes link transformer-en-fr --data DATA
  python -m recipes pack transformer-en-fr --data DATA
  python -m recipes faithful answer-en faithful-answer-en.csv --data qa.dev.jsonl.gz
  python -m recipes examples                                 when weights have changed: what pages show at first, anew
"""
COMMANDS = ("train", "evaluate", "link", "pack", "faithful", "examples")


def parser() -> argparse.ArgumentParser:
    """All commands and options. A command is a subparser with a default `command`: args -> exit status."""
    top = argparse.ArgumentParser(
        prog="python -m recipes",
        description="Train the models that travel with attnviz, and measure them. A name alone trains the model of that name.",
        epilog=EXAMPLES,
        formatter_class=PLAIN,
    )
    commands = top.add_subparsers(title="commands", metavar="", required=True)
    train = _command(commands, "train", _train, "train a model by its recipe", "the folder of the training data")
    train.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="RUNS", help="where checkpoints are kept (default: runs)"
    )
    train.add_argument("--out", type=Path, metavar="FOLDER", help="where the model is saved (default: RUNS/NAME)")
    train.add_argument("--epochs", type=int, help="passes over the data (default: the recipe's)")
    evaluate = _command(commands, "evaluate", _evaluate, "measure BLEU and AER, EM and F1, or ROUGE", "the folder of the data")
    evaluate.add_argument("--save", action="store_true", help="write the figures into metrics.json, and onto the card")
    evaluate.add_argument(
        "--control", type=Path, metavar="RUN", help="the same recipe without its supervised head, measured: for the card"
    )
    link = _command(commands, "link", _link, "link the words of the training pairs, with eflomal", "their folder")
    link.add_argument("--out", type=Path, metavar="FOLDER", help="where the links are written (default: beside the data)")
    _command(commands, "pack", _pack, "save weights in half precision in fewer bits, and measure", "the folder of the data")
    table = _command(commands, "faithful", _faithful, "put a table of attnviz faithful on a card", "the texts that it measured")
    table.add_argument("table", type=Path, metavar="CSV", help="the table, such as faithful-answer-en.csv")
    first = commands.add_parser("examples", help="compute what every page shows at first, for assets/examples/")
    first.set_defaults(command=_examples)
    return top


def _command(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], about: str, data: str
) -> argparse.ArgumentParser:
    """Add a command that takes a model and data."""
    added = commands.add_parser(name, help=about)
    added.add_argument("name", help="the model, such as bahdanau-en-fr; to measure it, its folder will do, too")
    added.add_argument("--data", type=Path, required=True, help=data)
    added.set_defaults(command=command)
    return added


def _train(arguments: argparse.Namespace) -> int:
    # Imported here, as below: help must not wait for torch.
    from recipes import commands

    wished = {"out": arguments.out, "epochs": arguments.epochs}
    commands.train(arguments.name, arguments.data, arguments.runs, **wished, report=print_now)
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    from recipes import commands

    commands.evaluate(arguments.name, arguments.data, save=arguments.save, control=arguments.control, report=print_now)
    return 0


def _link(arguments: argparse.Namespace) -> int:
    from recipes import commands

    commands.link(arguments.name, arguments.data, arguments.out or arguments.data, report=print_now)
    return 0


def _pack(arguments: argparse.Namespace) -> int:
    from recipes import commands

    commands.pack(arguments.name, arguments.data, report=print_now)
    return 0


def _faithful(arguments: argparse.Namespace) -> int:
    from recipes import commands

    commands.faithful(arguments.name, arguments.table, arguments.data)
    return 0


def _examples(arguments: argparse.Namespace) -> int:
    from recipes import first_results

    first_results.make_shipped(print_now)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a name alone is to be trained."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] not in (*COMMANDS, "-h", "--help"):
        arguments.insert(0, "train")
    return run_command(parser(), arguments)


if __name__ == "__main__":
    sys.exit(main())
