"""`attnviz faithful`: how far each way of asking what matters is to be believed, over a data set."""

import argparse
from pathlib import Path
from typing import Any

FAST = "frozen-gradient,attention,last-layer,received,rollout,value-norms,norms,gradient-attention,gradient-norm,gradient-input"
DEFAULT = f"{FAST},integrated-gradients,leave-one-out,random"


def add(commands: Any) -> None:
    """Add the command `attnviz faithful`."""
    faithful = commands.add_parser("faithful", help="measure how far attention and other ways tell what matters to a model")
    faithful.add_argument("model", help="the model, such as answer-en")
    faithful.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="the texts: .jsonl or .tsv, packed by gzip or not"
    )
    faithful.add_argument("--ways", default=DEFAULT, help=f"which ways, by commas (default: {DEFAULT})")
    faithful.add_argument(
        "--target",
        default="",
        help="what is asked about, such as token:0 or sentence:1 (default: what the model is for)",
    )
    faithful.add_argument("--limit", type=int, default=500, metavar="N", help="how many texts (default: 500)")
    faithful.add_argument("--max-tokens", type=int, default=170, metavar="N", help="leave out longer texts (default: 170)")
    faithful.add_argument(
        "--out", type=Path, metavar="CSV", help="each text's figures (default: faithful-MODEL.csv); a run goes on from it"
    )
    faithful.add_argument("--save", action="store_true", help="put the table on the card of a model that was trained here")
    faithful.set_defaults(command=measure)


def measure(arguments: argparse.Namespace) -> int:
    """Print the table of a survey; what is in its file already is not measured again."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.analysis.matters.methods import method_named
    from attnviz.attribution.dataset import SurveyOptions, kept_figures, read_prompts, survey
    from attnviz.models.catalog import load

    ways = [method_named(name.strip()) for name in arguments.ways.split(",")]
    prompts = read_prompts(arguments.data)
    model = load(arguments.model)
    out = arguments.out or Path(f"faithful-{Path(arguments.model).name}.csv")
    options = SurveyOptions(arguments.limit, arguments.max_tokens, arguments.target)
    figures = survey(model, prompts, ways, out, options, lambda line: print(line, flush=True))
    print(f"\n{'way':22} {'comprehensiveness':>24} {'sufficiency':>24} {'over chance':>24} {'tau':>6} {'ms':>7} {'texts':>6}")
    for each in sorted(figures, key=lambda one: one.comprehensiveness.mean):
        over = _interval(each.over_random) if each.over_random else ""
        tau = "" if each.tau is None else f"{each.tau:.3f}"
        print(
            f"{each.way:22} {_interval(each.comprehensiveness):>24} {_interval(each.sufficiency):>24} {over:>24} {tau:>6} "
            f"{each.milliseconds:7.0f} {each.n_texts:6}"
        )
    if arguments.save:
        from recipes.commands import folder_of, save_figures
        from recipes.faithfulness_table import FAITHFULNESS

        save_figures(folder_of(arguments.model), {FAITHFULNESS: kept_figures(figures, arguments.data.name)})
    return 0


def _interval(interval: Any) -> str:
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
