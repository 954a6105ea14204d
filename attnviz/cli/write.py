"""`attnviz write`: a model writes on, and keeps what it could have written; `parts`, `lens`, `patch`: why it writes a word."""

import argparse
import sys
from typing import Any

import attnviz
from attnviz.analysis.wording import cuts
from attnviz.cli.arguments import MODEL, add_command, as_json, natural, natural_to, output_path, positive, print_now
from attnviz.cli.progress_line import progress_line
from attnviz.cli.traces import STREAM, check_trace_name, typed_text
from attnviz.core import whole_files
from attnviz.core.edits import Edits
from attnviz.core.sampling import MOST_SEED, MOST_TOKENS, WritingOptions
from attnviz.core.trace import Prompt
from attnviz.core.why import WHATS
from attnviz.models import catalog

_EPILOG = """examples:
  attnviz write smollm2 "Once upon a time" --tokens 20
  attnviz write smollm2 "Once upon a time" --temperature 0.8 --top-p 0.9 --seed 7 -o story.attn
  attnviz write smollm2 "When Mary and John went to the store, John gave a drink to" --tokens 1 --edits d23.0z
  attnviz write transformer-en-fr "He has been to France." --top-k 3 --temperature 1
  attnviz show story.attn --next -o next.csv
  attnviz write smollm2 - --tokens 0 --json < text.txt    how likely each token is, and bits a byte"""


def add_write_command(commands: Any) -> None:
    """Add the command."""
    write = add_command(commands, write_text, "write", "let a language model write on", _EPILOG)
    write.add_argument("model", help=MODEL)
    write.add_argument("text", nargs="?", default=STREAM, help="the text; - or nothing: from stdin")
    write.add_argument(
        "--tokens", type=natural_to(MOST_TOKENS), default=20, metavar="N",
        help=f"how many tokens to write, at most {MOST_TOKENS:,} (default: 20)",
    )  # fmt: skip
    write.add_argument("--temperature", type=float, default=0.0, help="divides the logits; 0 takes the likeliest (default: 0)")
    write.add_argument("--top-k", type=natural, default=0, metavar="K", help="draw from the K likeliest (default: from all)")
    write.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="draw from the likeliest of this mass (default: 1)"
    )
    write.add_argument("--seed", type=natural_to(MOST_SEED), default=0, help="what chance begins with (default: 0)")
    write.add_argument("--edits", default="", help="what to change in the model's attention, such as d23.0z (L23·H0 off)")
    write.add_argument(
        "-o", "--out", metavar="FILE", help="save the trace with what could have come, such as x.attn; -: stdout"
    )
    write.add_argument("--json", action="store_true", help="print every token with its log p and its candidates, as JSON")


def write_text(arguments: argparse.Namespace) -> int:
    """Write on from a text, and print both; the trace goes to a file or a pipe."""
    from attnviz.models.tasks import run_task

    check_trace_name(arguments.out, arguments.json)
    text = typed_text() if arguments.text == STREAM else arguments.text
    names = ("tokens", "temperature", "top_k", "top_p", "seed")
    options = WritingOptions(**{name: getattr(arguments, name) for name in names})
    model = catalog.load(arguments.model, progress=progress_line)
    result = run_task(model, "write", Prompt(text), edits=Edits.parse(arguments.edits), options=options)
    for said in cuts(result.trace):
        progress_line(f"attnviz: warning: {result.trace.model} read only the beginning: {said}", None)
    if arguments.out == STREAM:
        from attnviz.files.trace_file import to_bytes

        sys.stdout.buffer.write(to_bytes(result.trace))
        return 0
    if arguments.out:
        attnviz.save(result.trace, arguments.out)
        progress_line(f"Saved {arguments.out}", None)
    if arguments.json:
        from attnviz.export.next_and_why import next_record

        print(as_json(next_record(result.trace)))
        return 0
    print(result.trace.output if "cross" in result.trace.kinds else text + result.trace.output)
    return 0


_MARY = "When Mary and John went to the store, John gave a drink to"
_EPILOGS = {
    "parts": f"""examples:
  attnviz parts smollm2 "{_MARY}" --word Mary --rather-than John
  attnviz parts smollm2 "The capital of France is" -o parts.csv""",
    "lens": """examples:
  attnviz lens smollm2 "The capital of France is"
  attnviz lens smollm2 "The capital of France is" -o lens.svg""",
    "patch": f"""examples:
  attnviz patch smollm2 "{_MARY}" \\
      "When Mary and John went to the store, Mary gave a drink to" --word Mary --rather-than John -o heads.csv
  attnviz patch smollm2 "The capital of France is" "The capital of Italy is" --what stream --estimate
  attnviz patch smollm2 "The capital of France is" "The capital of Italy is" --random 5 --together curve.csv""",
}


def add_why_commands(commands: Any) -> None:
    """Add the commands."""
    parts = _command(commands, "parts", "what each part of a language model adds to the word that it writes")
    parts.add_argument("text", nargs="?", default=STREAM, help="the text; - or nothing: from stdin")
    parts.add_argument("--position", type=positive, metavar="N", help="explain the token at this place (default: the next one)")
    lens = _command(commands, "lens", "what each layer of a language model would have said")
    lens.add_argument("text", nargs="?", default=STREAM, help="the text; - or nothing: from stdin")
    patch = _command(commands, "patch", "set parts of a language model to what they are in another text")
    patch.add_argument("text", metavar="one", help="the text whose next word is looked at")
    patch.add_argument("other", help="the text that parts are taken from, of as many tokens")
    patch.add_argument("--what", choices=WHATS, default="heads", help="what is set (default: heads)")
    patch.add_argument("--estimate", action="store_true", help="only estimate, by gradient times difference")
    patch.add_argument(
        "--random", type=natural, default=0, metavar="N", help="set the strongest parts also to what they are in N random texts"
    )
    patch.add_argument(
        "--together", type=output_path, metavar="FILE", help="also set the k best parts together, k = 1, 2, 4, …: a CSV table"
    )
    for command in (parts, patch):
        command.add_argument("--word", metavar="W", help="the word (default: the likeliest)")
        command.add_argument("--rather-than", metavar="W", help="a word that it is compared with")
    for command in (parts, lens, patch):
        command.add_argument("--most", type=natural, default=10, metavar="N", help="so many are printed (default: 10)")
        command.add_argument("-o", "--out", type=output_path, metavar="FILE", help="x.svg, .png, .pdf, .html, .csv or .json")


def _command(commands: Any, name: str, help: str) -> argparse.ArgumentParser:
    command = add_command(commands, explain, name, help, _EPILOGS[name])
    command.add_argument("model", help=MODEL)
    command.set_defaults(why=name)
    return command


def explain(arguments: argparse.Namespace) -> int:
    """Compute why a word is written, and print what is strongest or write all of it to a file."""
    from attnviz.analysis.next_and_why import describe_together
    from attnviz.analysis.wording import plain
    from attnviz.attribution import parts_and_lens, patching
    from attnviz.attribution.quantity_maps import run
    from attnviz.export.next_and_why import check_format, together_csv, why_file, why_lines
    from attnviz.text.corpora import random_passages

    to = arguments.out.suffix.lstrip(".").lower() if arguments.out else "csv"
    check_format(to)
    text = typed_text() if arguments.text == STREAM else arguments.text
    model = catalog.load(arguments.model, progress=progress_line)
    if arguments.why == "patch":
        asked = (model, text, arguments.other, arguments.word, arguments.rather_than, arguments.what)
        made = patching.estimate_patches(*asked) if arguments.estimate else patching.patch(*asked, progress_line)
        if arguments.random:
            passages = random_passages(arguments.random, len(made.tokens[0]))
            made = patching.patch_at_random(model, made, passages, progress_line)
        if arguments.together:
            curve = patching.patch_together(model, made, progress_line)
            whole_files.write(arguments.together, together_csv(curve))
            progress_line(f"Saved {arguments.together}. {plain(describe_together(made, curve))}", None)
    else:
        result = run(model, "write", text, tokens=0)
        made = (
            parts_and_lens.lens(result)
            if arguments.why == "lens"
            else parts_and_lens.parts(result, arguments.word, arguments.rather_than, position=arguments.position)
        )
    if arguments.out:
        whole_files.write(arguments.out, why_file(made, to))
        progress_line(f"Saved {arguments.out}", None)
        return 0
    for line in why_lines(made, arguments.most):
        print_now(line)
    return 0
