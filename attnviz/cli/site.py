"""`attnviz site`: write a folder of static files that shows the pictures without a server."""

import argparse
from pathlib import Path
from typing import Any

from attnviz.cli.arguments import add_command
from attnviz.cli.progress_line import progress_line

# What travels with attnviz and runs in a browser.
MODELS = (
    "minilm", "dot-lstm-en-fr", "bilstm-en-fr", "bahdanau-en-fr", "transformer-en-fr", "bahdanau-en-de", "transformer-en-de",
    "answer-en", "summarize-en",
)  # fmt: skip
# A visitor who types fetches 93 MB of it: who wants it on a site asks for it.
LARGE = ("smollm2",)
_EPILOG = """examples:
  attnviz site -o public                   a site with every model; any web server can give it out
  attnviz site -o public --models minilm   Encode alone
  attnviz site -o public --models minilm smollm2   with the model of Write, 93 MB
  attnviz site -o public --lessons mine.md   with a lesson of your own

docs/live.md says what it costs a visitor, and how to publish it."""


def add_site_command(commands: Any) -> None:
    """Add the command."""
    site = add_command(commands, write_site, "site", "write the pictures as a folder of static files", _EPILOG)
    site.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    site.add_argument(
        "--models", nargs="+", default=MODELS, choices=(*MODELS, *LARGE), metavar="NAME", help=f"default: all but {LARGE[0]}"
    )
    site.add_argument("--lessons", nargs="+", default=[], type=Path, metavar="FILE", help="default: ours whose pages are there")


def write_site(arguments: argparse.Namespace) -> int:
    """Write the site."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.live.site import build

    build(arguments.out, arguments.models, arguments.lessons, lambda line: progress_line(line, None))
    return 0
