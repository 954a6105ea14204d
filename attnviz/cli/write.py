"""`attnviz write`: a language model writes on, or a translator writes; what it could have written instead is kept."""

import argparse
import json
import sys
from typing import Any

import attnviz
from attnviz.cli.arguments import EXIT_CODES, MODEL, PLAIN, natural
from attnviz.cli.traces import STREAM, check_trace_name, cuts, progress_line, typed_text
from attnviz.core.edits import Edits
from attnviz.core.trace import Prompt
from attnviz.core.write import WritingOptions
from attnviz.models import catalog

_EPILOG = f"""examples:
  attnviz write smollm2 "Once upon a time" --tokens 20
  attnviz write smollm2 "Once upon a time" --temperature 0.8 --top-p 0.9 --seed 7 -o story.attn
  attnviz write smollm2 "When Mary and John went to the store, John gave a drink to" --tokens 1 --edits d23.0z
  attnviz write transformer-en-fr "He has been to France." --top-k 3 --temperature 1
  attnviz show story.attn --next -o next.csv
  attnviz write smollm2 - --tokens 0 --json < text.txt    how likely each token is, and bits a byte

{EXIT_CODES}"""


def add_write_command(commands: Any) -> None:
    """Add the command."""
    write = commands.add_parser("write", help="let a language model write on", epilog=_EPILOG, formatter_class=PLAIN)
    write.add_argument("model", help=MODEL)
    write.add_argument("text", nargs="?", default=STREAM, help="the text; - or nothing: from stdin")
    write.add_argument("--tokens", type=natural, default=20, metavar="N", help="how many tokens to write (default: 20)")
    write.add_argument("--temperature", type=float, default=0.0, help="divides the logits; 0 takes the likeliest (default: 0)")
    write.add_argument("--top-k", type=natural, default=0, metavar="K", help="draw from the K likeliest (default: from all)")
    write.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="draw from the likeliest of this mass (default: 1)"
    )
    write.add_argument("--seed", type=natural, default=0, help="what chance begins with (default: 0)")
    write.add_argument("--edits", default="", help="what to change in the model's attention, such as d23.0z (L23·H0 off)")
    write.add_argument(
        "-o", "--out", metavar="FILE", help="save the trace with what could have come, such as x.attn; -: stdout"
    )
    write.add_argument("--json", action="store_true", help="print every token with its log p and its candidates, as JSON")
    write.set_defaults(command=write_text)


def write_text(arguments: argparse.Namespace) -> int:
    """Write on from a text, and print both; the trace goes to a file or a pipe."""
    from attnviz.models.tasks import run_task

    check_trace_name(arguments.out)
    text = typed_text() if arguments.text == STREAM else arguments.text
    names = ("tokens", "temperature", "top_k", "top_p", "seed")
    options = WritingOptions(**{name: getattr(arguments, name) for name in names})
    model = catalog.load(arguments.model, progress=progress_line)
    result = run_task(model, "write", Prompt(text), edits=Edits.parse(arguments.edits), options=options)
    for said in cuts(result.trace):
        progress_line(f"attnviz: warning: {result.trace.model} read only the beginning: {said}", None)
    if arguments.out == STREAM:
        from attnviz.files import to_bytes

        sys.stdout.buffer.write(to_bytes(result.trace))
        return 0
    if arguments.out:
        attnviz.save(result.trace, arguments.out)
        progress_line(f"Saved {arguments.out}", None)
    if arguments.json:
        from attnviz.export.write import next_record

        print(json.dumps(next_record(result.trace), ensure_ascii=False))
        return 0
    print(result.trace.output if "cross" in result.trace.kinds else text + result.trace.output)
    return 0
