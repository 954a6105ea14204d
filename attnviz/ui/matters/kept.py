"""What can be taken along from the page Matters."""

import re

from attnviz.analysis.report import Report
from attnviz.core.trace import Prompt
from attnviz.export import report as exported
from attnviz.export.python import prompt_expression
from attnviz.ui.download import KeptFiles


def kept_report(model: str, prompt: Prompt, target: str, report: Report, way: str) -> KeptFiles:
    """The text by the way that is looked at, all ways under each other, and their numbers."""
    about = f", target={target!r}" if target else ""
    python = "\n".join([
        "import attnviz as av",
        "from attnviz.attribution.ways import attribute",
        "",
        f"shares = attribute(av.load({model!r}), {_prompt(prompt)}, {way!r}{about})",
        "for token, share in zip(shares.tokens, shares.values):",
        '    print(f"{token.text:20} {share:+.3f}")',
        "",
    ])  # fmt: skip
    return KeptFiles(
        re.sub(r"[^\w.-]+", "-", f"{model}-matters").strip("-."),
        {"The text, and all ways under each other": lambda: exported.draw(report, way)},
        {"csv": lambda: exported.to_csv(report), "json": lambda: exported.to_json(report)},
        python,
    )


def _prompt(prompt: Prompt) -> str:
    written = prompt_expression(prompt)
    return written if written.startswith("av.") else f"av.Prompt({written})"
