"""A class as a page that one can keep: each question with its picture, what was guessed, and what is true."""

import html
from collections.abc import Iterator, Sequence

from attnviz.analysis.wording import whole_percent
from attnviz.figures.theme import LIGHT
from attnviz.lessons.classroom.class_values import ClassRound

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = f"""
:root {{ font: 16px/1.5 "Source Sans 3", system-ui, sans-serif; color: {LIGHT.text}; background: {LIGHT.background}; }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
section {{ break-inside: avoid; margin: 2rem 0; border-top: 1px solid {LIGHT.border}; }}
.word {{ display: inline-block; padding: .2em .5em; margin: .15em; border-radius: .3em; text-align: center; }}
.word small {{ display: block; }}
table {{ border-collapse: collapse; width: 100%; }} td {{ padding: .2em .8em .2em 0; vertical-align: middle; }}
td:last-child {{ width: 40%; }} i {{ display: block; height: .8em; border-radius: .2em; background: #b85c00; }}
"""


def class_report(code: str, rounds: Sequence[ClassRound]) -> bytes:
    """Write the questions of a class as one HTML file that fetches nothing; what is not revealed has no answers in it."""
    title = f"Class {html.escape(code)}"
    lines = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>',
        *(part for each in rounds for part in _round(each)),
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def _round(asked: ClassRound) -> Iterator[str]:
    yield f'<section>\n<h2 dir="auto">{asked.number}. {html.escape(asked.question.ask)}</h2>'
    if asked.key is None:
        yield f"<p>{asked.answered} answered; not revealed.</p>\n</section>"
        return
    if len(asked.key.weights) == len(asked.question.words):
        yield f"<p>{''.join(map(_word, asked.question.words, asked.key.weights))}</p>"
    right = f"Right: {', '.join(asked.key.right[:5])}. " if asked.key.right and asked.key.tolerance is None else ""
    yield f'<p dir="auto">{html.escape(right + asked.key.sentence)}</p>\n<table>'
    for guess in asked.results:
        mark = {True: "right", False: "wrong", None: ""}[guess.is_right]
        bar = f'<i style="width:{100 * guess.count / asked.answered:.0f}%"></i>'
        yield f'<tr><td dir="auto">{html.escape(guess.answer)}</td><td>{guess.count}</td><td>{mark}</td><td>{bar}</td></tr>'
    yield "</table>\n</section>"


def _word(name: str, weight: float) -> str:
    place = min(int(weight * len(LIGHT.scale)), len(LIGHT.scale) - 1)
    colour = "#fff" if place > len(LIGHT.scale) / 2 else "#000"
    shown = html.escape(name)
    return (
        f'<span class="word" style="background:{LIGHT.scale[place]};color:{colour}"><bdi>{shown}</bdi>'
        f"<small>{whole_percent(weight)}</small></span>"
    )
