"""Pages that are made while the site is built: a page for the card of every model that travels with attnviz, and their list."""

import json
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "assets" / "models"
LIST = "models/index.md"
# What a metrics.json may have, in the order in which the list has it, and what it is called there.
FIGURES = {
    "parameters": "parameters", "BLEU": "BLEU", "chrF": "chrF", "EM": "EM", "F1": "F1", "Trained selector: ROUGE-1": "ROUGE-1",
}  # fmt: skip


def cards() -> list[Path]:
    """The cards, by the names of their models."""
    return sorted(MODELS.glob("*/card.md"))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts every card below the list of models."""
    for entry in config.nav or []:
        if "Models" in entry:
            entry["Models"] += [{card.parent.name: f"models/{card.parent.name}.md"} for card in cards()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the cards as they stand beside the weights, and the app's icon."""
    for card in cards():
        text = card.read_text(encoding="utf-8")
        files.append(File.generated(config, f"models/{card.parent.name}.md", content=text))
    files.append(File.generated(config, "icon.svg", content=(ROOT / "assets" / "icon.svg").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Ends the list of models with a table of them."""
    return f"{markdown}\n{table()}" if page.file.src_uri == LIST else markdown


def table() -> str:
    """A row for every card: its model, what it does, and the figures that were measured."""
    rows = ["| model | what it does | measured |", "|---|---|---|"]
    for card in cards():
        name = card.parent.name
        first = card.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ")
        told = first.partition(": http")[0].partition(". ")[0].rstrip(".")
        measured = json.loads((card.parent / "metrics.json").read_text(encoding="utf-8"))
        figures = ", ".join(f"{name} {_told(measured[key])}" for key, name in FIGURES.items() if key in measured)
        rows.append(f"| [{name}]({name}.md) | {told} | {figures} |")
    return "\n".join(rows)


def _told(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
