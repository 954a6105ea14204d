"""The tree of a beam search: twigs in their columns, what was dropped faint, the chosen path marked, hostile names escaped."""

import re

import pytest

from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.translate.alignments import LEAST, Grown, Twig, beam_tree

HOSTILE = '</title><img src=x onerror="alert(1)">'
TWIGS = (
    Twig("▁le", None, 0.5, True),  # 0
    Twig("▁la", None, 0.375, True),  # 1
    Twig(HOSTILE, None, 0.125, False),  # 2
    Twig("▁chat", 0, 0.75, True),  # 3
    Twig("▁chien", 0, 0.25, True),  # 4
    Twig("▁chatte", 1, 0.0, False),  # 5: all that 1 could become was lost
    Twig("▁chaton", 0, LEAST / 2, False),  # 6: too unlikely to show
    Twig("</s>", 3, 0.5, True),  # 7
    Twig("s", 4, 1.0, True),  # 8
)
LABEL = re.compile(r'<g class="twig (\w+)"( data-pick="(\d)")?><title>(.*?)</title><text x="(\d+)" y="(\d+)">\u2068(.*?)\u2069')
CURVE = re.compile(r'<path class="(\w+)" d="M\d+ (\d+)H\d+C\d+ \d+ \d+ (\d+) \d+ (\d+)"/>')


def drawn(**options) -> dict[str, tuple[str, str, int, int]]:
    """name -> kind, pick, x, y"""
    html = beam_tree(TWIGS, Grown(leaves=(7, 8), **options))
    return {name: (kind, pick, int(x), int(y)) for kind, _, pick, _, x, y, name in LABEL.findall(html)}


def test_what_was_kept_left_dropped_and_chosen_is_told_apart():
    kinds = {name: (kind, pick) for name, (kind, pick, _, _) in drawn(chosen=1).items()}
    assert kinds.pop(next(name for name in kinds if name.startswith("&lt;/title"))) == ("dropped", "")
    assert kinds == {
        "le": ("chosen", ""),
        "la": ("left", ""),
        "chat": ("alive", ""),
        "chien": ("chosen", ""),
        "chatte": ("dropped", ""),
        "&lt;/s&gt;": ("alive", "0"),
        "s": ("chosen", "1"),
    }


def test_a_column_is_a_step_and_no_two_labels_overlap():
    labels = drawn()
    columns: dict[int, list[int]] = {}
    for _, _, x, y in labels.values():
        columns.setdefault(x, []).append(y)
    assert [len(rows) for _, rows in sorted(columns.items())] == [3, 3, 2]
    for rows in columns.values():
        assert min(b - a for a, b in zip(sorted(rows), sorted(rows)[1:], strict=False)) >= 20


def test_every_twig_hangs_on_its_parent_and_no_two_curves_cross():
    html = beam_tree(TWIGS, Grown(leaves=(7, 8)))
    rows = {name: y - 5 for name, (_, _, _, y) in drawn().items()}
    curves = {(int(start), int(end)) for _, start, end, *_ in ((k, a, c) for k, a, _, c in CURVE.findall(html))}
    for parent, child in (("le", "chat"), ("le", "chien"), ("la", "chatte"), ("chat", "&lt;/s&gt;"), ("chien", "s")):
        assert (rows[parent], rows[child]) in curves
    steps = (("chat", "chien", "chatte"), ("le", "le", "la")), (("&lt;/s&gt;", "s"), ("chat", "chien"))
    for children, parents in steps:
        assert [rows[name] for name in children] == sorted(rows[name] for name in children)
        assert [rows[name] for name in parents] == sorted(rows[name] for name in parents)


def test_the_chosen_path_is_drawn_over_the_others():
    kinds = [kind for kind, *_ in CURVE.findall(beam_tree(TWIGS, Grown(leaves=(7, 8))))]
    assert kinds[-3:] == ["chosen"] * 3
    assert "chosen" not in kinds[:-3]


def test_hostile_names_and_beginnings_are_escaped():
    html = beam_tree(TWIGS, Grown(leaves=(7, 8), begins="<b>le"))
    assert "<img" not in html
    assert "<b>" not in html
    assert "\u2068&lt;b&gt;le\u2069" in html
    assert html.count("</title>") == len(LABEL.findall(html))


def test_a_long_name_is_cut_and_whole_in_its_title():
    html = beam_tree((Twig("▁" + "a" * 40, None, 1.0, True),), Grown(leaves=(0,)))
    assert f"<title>{'a' * 40} 1.00</title>" in html
    assert "…" in html


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_it_has_the_colours_of_the_theme(theme):
    html = beam_tree(TWIGS, Grown(leaves=(7, 8), theme=theme))
    assert theme.accent in html
    assert theme.faint in html


def test_nothing_grown_is_an_empty_tree():
    assert "<path" not in beam_tree((), Grown(leaves=()))
