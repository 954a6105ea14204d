"""`attnviz trace`, `attnviz show`, `attnviz compare` and `attnviz rank`: traces in a shell, from files or through pipes."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import attnviz
from attnviz import export
from attnviz.analysis.head_ranking import has_two_rows
from attnviz.analysis.head_view import View, default_map
from attnviz.analysis.wording import counted, cuts, join_names, plain
from attnviz.cli.arguments import MODEL, add_command, aligned, as_json, check_can_write, positive
from attnviz.cli.progress_line import progress_line
from attnviz.core import whole_files
from attnviz.core.edits import Edits
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.core.weights import layers_of_heads
from attnviz.export.next_and_why import next_file
from attnviz.files.trace_file import installed
from attnviz.models import catalog

STREAM = "-"
# Of weights and of bits, in JSON: the sixth depends on how a processor rounds (docs/limits.md).
DECIMALS = 5
# What chooses heads to draw, and how.
_OF_HEADS = ("kind", "layer", "head", "words", "hide_special")
_TRACE = """examples:
  attnviz trace minilm "The cat sat." -o cat.attn
  attnviz trace bahdanau-en-fr "I am tired." -o - | attnviz show - -o tired.svg
  echo "The cat sat." | attnviz trace minilm - -o cat.attn"""
_SHOW = """examples:
  attnviz show cat.attn                                  what is in it
  attnviz show cat.attn -o cat.svg --layer 3 --head 1    one head, for a paper
  attnviz show cat.attn -o cat.html                      every head, to be explored in a browser
  attnviz show cat.attn -o cat.csv                       every weight of every head
  attnviz show story.attn --next -o next.svg             what could come next, of a trace of `attnviz write`
  attnviz show cat.attn -o - --format json --layer 3     to a pipe"""
_COMPARE = """examples:
  attnviz compare tired.attn wide.attn
  attnviz compare before.attn after.attn --json"""
_RANK = """examples:
  attnviz rank trophy.attn it trophy            the heads that send "it" to "trophy", the strongest first
  attnviz rank trophy.attn it                   the heads that look hardest from "it", and at which word
  attnviz rank trophy.attn "the(2)" trophy,suitcase --json

A word that stands twice has a number, such as "the(2)"; several are written with commas."""


def add_trace_commands(commands: Any) -> None:
    """Add the commands."""
    trace = add_command(commands, trace_text, "trace", "trace a text and save it", _TRACE)
    trace.add_argument("model", help=MODEL)
    trace.add_argument("text", nargs="?", default=STREAM, help="the text; - or nothing: from stdin")
    trace.add_argument("--pair", help="a second text, for models that read two at once")
    trace.add_argument("--question", help="a question about the text, for models that answer")
    trace.add_argument("--target", help="what an encoder-decoder is to write, instead of what it would")
    trace.add_argument("--language", help="which of its many languages a model is to write, such as deu_Latn of NLLB")
    trace.add_argument("--edits", default="", help="what to change in the model's attention, such as e3.1z (L3·H1 off)")
    trace.add_argument("-o", "--out", metavar="FILE", help="the file to write, such as x.attn; -: stdout")
    trace.add_argument("--exact", action="store_true", help="keep every bit, in a file of twice the size")
    trace.add_argument("--json", action="store_true", help="say on stdout, as JSON, what was traced")
    show = add_command(commands, show_trace, "show", "what is in a trace, or its picture or table", _SHOW)
    show.add_argument("file", help="a trace file; -: from stdin")
    show.add_argument("-o", "--out", metavar="FILE", help=f"write a file: {', '.join(export.FORMATS)}; -: stdout")
    show.add_argument("--format", choices=export.FORMATS, help="the format, if the name of FILE has no ending")
    show.add_argument("--layer", type=int, help="from 0 (default: the last in a picture, all in a table)")
    show.add_argument("--head", type=int, help="from 0 (default: the mean in a picture, all in a table)")
    show.add_argument("--words", action="store_true", help="merge subwords to words")
    show.add_argument("--hide-special", action="store_true", help="leave out tokens that the model added")
    show.add_argument("--next", action="store_true", help="what a language model says comes next, instead of its heads")
    show.add_argument("--json", action="store_true", help="say what is in it as JSON")
    both = add_command(commands, compare_traces, "compare", "two traces, head by head", _COMPARE)
    both.add_argument("before", help="a trace file")
    both.add_argument("after", help="another, of the same model or one of the same shape")
    both.add_argument("--json", action="store_true", help="as JSON")
    rank = _add_rank_command(commands)
    for each in (show, both, rank):
        each.add_argument(
            "--kind", choices=("encoder", "decoder", "cross"), help="which attention (default: the last there is)"
        )


def _add_rank_command(commands: Any) -> argparse.ArgumentParser:
    rank = add_command(commands, rank_trace, "rank", "the heads that link two words", _RANK)
    rank.add_argument("file", help="a trace file; -: from stdin")
    rank.add_argument("query", help="the word that looks")
    rank.add_argument("key", nargs="?", help="the word that is looked at (default: whichever the head looks at hardest)")
    rank.add_argument("--first", type=positive, default=5, metavar="N", help="how many heads to list (default: 5)")
    rank.add_argument(
        "--step",
        choices=("writes", "reads"),
        default="writes",
        help="of a translator: the step that writes the word, or the next, which reads it (default: writes)",
    )
    rank.add_argument("--json", action="store_true", help="as JSON")
    return rank


def trace_text(arguments: argparse.Namespace) -> int:
    """Trace a text; the trace goes to a file or a pipe, what it is to the person."""
    if not arguments.out and sys.stdout.isatty() and not arguments.json:
        raise AttnvizError("Say where to save the trace, such as -o x.attn; or -o - for a pipe.")
    check_trace_name(arguments.out, arguments.json)
    text = typed_text() if arguments.text == STREAM else arguments.text
    given = {each.name: getattr(arguments, each.name) for each in fields(Prompt)[1:]}
    prompt = Prompt(text, **given)
    edits = Edits.parse(arguments.edits)
    model = catalog.load(arguments.model, progress=progress_line)
    if unread := [name for name, text in given.items() if text and name not in (*model.card.reads, "language")]:
        options = join_names([f"--{name}" for name in unread])
        raise AttnvizError(f"{arguments.model} does not read {options}: run it without, or choose a model that does.")
    trace = model.trace(prompt, edits)
    for said in cuts(trace):
        progress_line(f"attnviz: warning: {trace.model} read only the beginning: {said}", None)
    if arguments.out == STREAM or not (arguments.out or arguments.json):
        from attnviz.files.trace_file import to_bytes

        sys.stdout.buffer.write(to_bytes(trace, exact=arguments.exact))
        return 0
    if arguments.out:
        attnviz.save(trace, arguments.out, exact=arguments.exact)
        progress_line(f"Saved {arguments.out}", None)
    if arguments.json:
        print(as_json(summary(trace)))
    return 0


def check_trace_name(name: str | None, as_json: bool) -> None:
    """Keep a trace from the name of a picture or a table, from where nothing can be written, and from stdout beside JSON.

    Raises:
        AttnvizError: it would be; the message says what to do.
    """
    if name == STREAM and as_json:
        raise AttnvizError("-o - and --json both write to stdout: save the trace in a file, such as -o x.attn.")
    if name and name.lower().endswith(tuple(f".{each}" for each in export.FORMATS)):
        trace = Path(name).with_suffix(".attn")
        raise AttnvizError(f"A trace is no {Path(name).suffix} file: say -o {trace}, and then attnviz show {trace} -o {name}")
    if name and name != STREAM:
        check_can_write(Path(name))


def show_trace(arguments: argparse.Namespace) -> int:
    """Tell what is in a trace, or write its picture or table."""
    drawn = arguments.out or arguments.format
    if arguments.json and drawn:
        raise AttnvizError("--json says what is in a trace, and no picture or table is written then: leave one of them out.")
    if arguments.next or not drawn:
        given = {name.replace("_", "-"): getattr(arguments, name) for name in _OF_HEADS}
        if unread := join_names([f"--{name}" for name, value in given.items() if value is not None and value is not False]):
            instead = "leave out --next" if arguments.next else "say where that goes, such as -o x.svg"
            raise AttnvizError(f"No picture or table of heads is made here, which {unread} would choose: {instead}.")
    trace = _opened(arguments.file)
    if arguments.next and not arguments.out and not arguments.format:
        arguments.format = "json" if arguments.json else "csv"
    if not arguments.out and not arguments.format:
        print(as_json(summary(trace)) if arguments.json else _described(trace))
        return 0
    to = arguments.format or Path(arguments.out).suffix.lstrip(".").lower()
    if to not in export.FORMATS:
        raise AttnvizError(f"Name a file that ends in .{', .'.join(export.FORMATS)}, or say --format.")
    data = next_file(trace, to) if arguments.next else _drawn(trace, arguments, to)
    if arguments.out in (None, STREAM):
        sys.stdout.buffer.write(data)
        return 0
    try:
        whole_files.write(arguments.out, data)
    except OSError as error:
        raise AttnvizError(f"{arguments.out} cannot be written ({error.strerror}): choose another place.") from error
    return 0


def _drawn(trace: AttentionTrace, arguments: argparse.Namespace, to: str) -> bytes:
    """Write the picture or table of a trace's heads."""
    choice = {"kind": arguments.kind, "layer": arguments.layer, "head": arguments.head}
    view = View(arguments.words, arguments.hide_special)
    several = export.FORMATS[to].several
    shown = list(export.pictures(trace, **choice, view=view)) if several else export.picture(trace, **choice, view=view)
    return export.export(shown, to)


def _opened(file: str) -> AttentionTrace:
    return attnviz.open(_stdin("trace").buffer if file == STREAM else file)


def compare_traces(arguments: argparse.Namespace) -> int:
    """Print how far each head of two traces is apart, in bits, and what changed most."""
    comparison = attnviz.compare(attnviz.open(arguments.before), attnviz.open(arguments.after), kind=arguments.kind)
    said = plain(comparison.sentence())
    if arguments.json:
        bits = comparison.divergence.round(DECIMALS).tolist()
        print(as_json({"kind": comparison.before.kind, "bits": bits, "sentence": said}))
        return 0
    print(said)
    print("".join(f"{f'H{head}':>7}" for head in range(comparison.before.n_heads)).rjust(7 * comparison.before.n_heads + 5))
    for layer, row in enumerate(comparison.divergence):
        print(f"{f'L{layer}':<5}" + "".join(f"{bits:7.3f}" for bits in row))
    return 0


def rank_trace(arguments: argparse.Namespace) -> int:
    """Print the heads that link two words, or that look hardest from one, the strongest first."""
    several = [each.split(",") if each else None for each in (arguments.query, arguments.key)]
    trace = _opened(arguments.file)
    ranked = attnviz.rank_heads(trace, several[0] or (), several[1], kind=arguments.kind, step=arguments.step)
    ranked = ranked[: arguments.first]
    if arguments.json:
        print(as_json([{**vars(each), "weight": round(each.weight, DECIMALS)} for each in ranked]))
        return 0
    for each in ranked:
        print(f"{each.name:<9}{100 * each.weight:5.1f} %  {arguments.query} → {arguments.key or each.key}")
    if has_two_rows(trace, default_map(trace, arguments.kind)):
        verb, other = ("writes", "reads") if arguments.step == "writes" else ("reads", "writes")
        print(f"By the step that {verb} a word; --step {other}: by the one that {other} it.")
    return 0


def _stdin(what: str) -> Any:
    """Return the stream that `what` comes from where no name is given."""
    if sys.stdin is None:
        raise AttnvizError(f"There is no {what}, and stdin is closed: name it, or send it through a pipe.")
    return sys.stdin


def typed_text() -> str:
    """Read the text on stdin, without the end of its last line."""
    stdin = _stdin("text")
    if stdin.isatty():
        progress_line("Type the text, then Ctrl-D on a line of its own.", None)
    try:
        return stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise AttnvizError("What came on stdin is no text in UTF-8: convert it first.") from error


def summary(trace: AttentionTrace) -> dict[str, Any]:
    """List what is in a trace, without its weights."""
    maps = {
        each.kind: {
            "layers": each.n_layers,
            "heads": each.n_heads,
            "queries": [token.text for token in each.queries],
            "keys": [token.text for token in each.keys],
        }
        for each in trace.maps
    }
    return {
        "model": trace.model,
        "revision": trace.revision,
        "prompt": {name: value for name, value in vars(trace.prompt).items() if value is not None},
        "output": trace.output,
        "cut": trace.cut,
        "cut_pair": trace.cut_pair,
        "versions": dict(trace.versions or installed()),
        "edits": trace.edits.text,
        "maps": maps,
    }


def _described(trace: AttentionTrace) -> str:
    summarized = summary(trace)
    facts = {"model": trace.model, "revision": trace.revision, **summarized["prompt"]}
    facts |= {"cut": "; ".join(cuts(trace)), "output": trace.output, "edits": trace.edits.text}
    for kind, each in summarized["maps"].items():
        heads = layers_of_heads(each["layers"], each["heads"])
        facts[kind] = f"{heads}, {counted(len(each['queries']), 'query', 'queries')}, {counted(len(each['keys']), 'key')}"
    facts["versions"] = ", ".join(f"{name} {version}" for name, version in trace.versions)
    return aligned({name: value for name, value in facts.items() if value})
