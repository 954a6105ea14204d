"""`attnviz claim`, `attnviz survey`, `attnviz roles` and `attnviz atlas`: what heads do, over many sentences."""

import argparse
from pathlib import Path
from typing import Any

from attnviz.analysis.heads.atlas import to_json
from attnviz.analysis.heads.claim import Claim, parse
from attnviz.analysis.heads.verdict import ClaimResult, check_head, describe_verdict, unit_name
from attnviz.cli.arguments import MODEL, add_command, natural, output_path, positive
from attnviz.cli.progress_line import progress_line
from attnviz.core import whole_files
from attnviz.core.errors import ClaimError, CorpusError, shortened
from attnviz.export.head_claims import claims_csv, roles_csv
from attnviz.models import catalog
from attnviz.text.data_files import text_lines

_CLAIM = """examples:
  attnviz claim minilm "L2·H0: obj -> head"              does layer 2 head 0 link objects to their verbs?
  attnviz claim minilm "any: det -> head"                which head does it best, and does it hold?
  attnviz claim minilm "L2·mean: NOUN | PROPN -> previous"
  attnviz claim minilm 'any: "he" | "she" -> "her" | /^m[ae]n$/' --text mine.txt
  attnviz claim minilm --file homework.txt -o homework.csv

a claim: [where:] source -> target
  where   L2·H0, L2·mean, or any (chosen on half of the sentences, reported on the other half)
  source  a relation (obj, nsubj:pass), a part of speech (NOUN), "a word", /a regular expression/, any, first, last, special,
          pronoun; several with | between
  target  the same, or head, its obj, previous, next, +2, -3, self, same, after same, antecedent"""
_SURVEY = """examples:
  attnviz survey minilm --text corpus.txt -o survey      one text a line; several files, .gz too
  attnviz survey minilm --text *.txt -o part3 --shard 3/8
  attnviz survey --merge part1 part2 part3 -o whole
  attnviz survey gpt2 --text corpus.txt -o survey --ray auto

A run that was stopped goes on where it was. FOLDER/heads.parquet has one row a head and measure."""


def add_heads_commands(commands: Any) -> None:
    """Add the commands."""
    claim = add_command(commands, test_claims, "claim", "test a claim about what a head does", _CLAIM)
    claim.add_argument("model", help=MODEL)
    claim.add_argument("claim", nargs="?", help='such as "L2·H0: obj -> head"')
    claim.add_argument("--file", type=Path, help="a file of claims, one a line, instead; # begins a comment")
    claim.add_argument("--text", default="ewt", metavar="CORPUS", help="ewt, winogender, CoNLL-U, or a text (default: ewt)")
    claim.add_argument("--first", type=positive, metavar="N", help="read the first N sentences only")
    claim.add_argument("--examples", type=natural, default=3, help="how many examples to show (default: 3)")
    claim.add_argument("-o", "--out", type=output_path, metavar="FILE", help="write a table of the results, as CSV")
    claim.set_defaults(wrong=claim.error)
    survey = add_command(commands, run_survey, "survey", "measure every head over a corpus", _SURVEY)
    survey.add_argument("model", nargs="?", help=MODEL)
    survey.add_argument("--text", nargs="+", type=Path, metavar="FILE", help="texts, one a line")
    survey.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where the results are written")
    survey.add_argument("--shard", default="1/1", metavar="K/N", help="read every N-th part only, beginning with the K-th")
    survey.add_argument("--merge", nargs="+", type=Path, metavar="FOLDER", help="add up surveys instead of reading")
    survey.add_argument("--ray", metavar="ADDRESS", help="read on a Ray cluster; auto: the one that is here; local: start one")
    survey.add_argument("--workers", type=positive, default=2, help="on Ray: how many hold the model at once (default: 2)")
    survey.set_defaults(wrong=survey.error)
    roles = add_command(
        commands, score_roles, "roles", "score the heads of a decoder as previous-token, induction, name-mover heads, …"
    )
    roles.add_argument("model", help=MODEL)
    roles.add_argument("--most", type=positive, default=5, metavar="N", help="so many heads of each role (default: 5)")
    roles.add_argument("-o", "--out", type=output_path, metavar="FILE", help="write all heads as CSV")
    atlas = add_command(commands, make_atlas, "atlas", "test every obvious claim of every head")
    atlas.add_argument("model", help=MODEL)
    atlas.add_argument("-o", "--out", type=output_path, required=True, metavar="FILE", help="the file to write, as JSON")
    atlas.add_argument("--first", type=positive, metavar="N", help="read the first N sentences only")


def score_roles(arguments: argparse.Namespace) -> int:
    """Score every head in the roles that papers name; print the best of each, or write all of them to a file."""
    from attnviz.analysis.heads.roles import role_lines
    from attnviz.attribution.head_roles import head_roles

    roles = head_roles(catalog.load(arguments.model, progress=progress_line), progress_line)
    if arguments.out:
        whole_files.write(arguments.out, roles_csv(roles))
        progress_line(f"Saved {arguments.out}", None)
        return 0
    print("\n".join(role_lines(roles, arguments.most)))
    return 0


def test_claims(arguments: argparse.Namespace) -> int:
    """Test one claim, or a file of them: what is wrong with one of a file stands in its row."""
    if (arguments.claim is None) == (arguments.file is None):
        arguments.wrong("give one claim, or --file with one a line")
    # Imported here: the command's help must not wait for torch.
    from attnviz.survey.treebank_attention import look
    from attnviz.text.corpora import corpus

    texts = [arguments.claim] if arguments.file is None else _lines(arguments.file)
    claims = [_parsed(text) for text in texts]
    if not any(isinstance(claim, Claim) for claim in claims):
        raise (
            claims[0]
            if len(claims) == 1 and isinstance(claims[0], ClaimError)
            else ClaimError(f"{arguments.file} holds no claim that can be read: write one a line, such as obj -> head.")
        )
    sentences = corpus(arguments.text)[: arguments.first]
    model = catalog.load(arguments.model, progress=progress_line)
    if arguments.file is None and isinstance(claims[0], Claim):
        check_head(claims[0], model.card.n_layers, model.card.n_heads)
    looks = look(model, sentences, progress=progress_line)
    results = looks.test_each(claims)
    if arguments.file is None and not arguments.out:
        if isinstance(results[0], ClaimError):
            raise results[0]
        print(describe_verdict(results[0]))
        print("\n".join(_examples(looks, results[0], arguments)))
        return 0
    table = claims_csv(texts, results)
    if arguments.out:
        whole_files.write(arguments.out, table)
        progress_line(f"Saved {arguments.out}", None)
    else:
        print(table.decode("utf-8"), end="")
    return 0


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in text_lines(path) if line.strip() and not line.lstrip().startswith("#")]


def _parsed(text: str) -> Claim | ClaimError:
    try:
        return parse(text)
    except ClaimError as error:
        return error


def _examples(attention: Any, tested: ClaimResult, arguments: argparse.Namespace) -> list[str]:
    """List sentences where the claim fails, then some where it holds, with where the head looks; of ours those for a school."""
    from attnviz.figures.head_claims import suitable
    from attnviz.text.corpora import SHIPPED

    report = attention.report(tested, arguments.examples)
    cases = suitable(report.sentences, report.cases) if arguments.text in SHIPPED else report.cases
    lines = []
    for example in cases:
        sentence = report.sentences[example.sentence]
        source, looked = (unit_name(sentence, unit) for unit in (example.word, example.looks))
        lines.append(f"{'holds' if example.holds else 'fails'}: {source} → {looked}   in: {sentence.text}")
    return lines


def run_survey(arguments: argparse.Namespace) -> int:
    """Measure a corpus, or add up measurements."""
    from attnviz.survey.corpus_survey import SurveyJob, merge_folders, survey, survey_on_ray

    if arguments.merge:
        merge_folders(arguments.merge, arguments.out)
    elif not (arguments.model and arguments.text):
        arguments.wrong("name a model, and the texts with --text; or --merge folders")
    else:
        job = SurveyJob(arguments.model, tuple(arguments.text), _shard(arguments.shard))
        if arguments.ray:
            survey_on_ray(job, arguments.out, arguments.ray, arguments.workers, progress_line)
        else:
            survey(catalog.load(arguments.model, progress=progress_line), job, arguments.out, progress_line)
    progress_line(f"Saved {arguments.out / 'heads.parquet'}", None)
    return 0


def _shard(text: str) -> tuple[int, int]:
    """Parse the shard K of N, as typed."""
    try:
        number, total = map(positive, text.split("/"))
    except (argparse.ArgumentTypeError, ValueError):
        number, total = 1, 0
    if number > total:
        raise CorpusError(f"--shard {shortened(text)} is none: write K/N, such as 3/8, with K from 1 to N.")
    return number, total


def make_atlas(arguments: argparse.Namespace) -> int:
    """Test every claim of an atlas, and save what came of it."""
    from attnviz.survey.make_atlas import make

    model = catalog.load(arguments.model, progress=progress_line)
    whole_files.write(arguments.out, to_json(make(model, most=arguments.first, progress=progress_line)))
    progress_line(f"Saved {arguments.out}", None)
    return 0
