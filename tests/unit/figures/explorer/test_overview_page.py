"""The explorer's file: tokens are text in it, its policy lets its own script run alone, and what is too large is told."""

import base64
import hashlib
import html
import importlib
import re

import pytest

import attnviz
from attnviz import AttentionTrace, Prompt, Token
from attnviz.figures.explorer import TooLargeError, frame, overview, page
from attnviz.figures.theme import DARK
from tests.factories import make_map, numbered
from tests.markup import elements

HOSTILE = "</script></title></style><script>x</script><img src=x onerror=x>&\"'"


def hostile() -> AttentionTrace:
    maps = make_map((Token(HOSTILE, 0, 1), Token("مرحبا", 0, 1))), make_map(numbered(3), numbered(2))
    return AttentionTrace(HOSTILE, Prompt(HOSTILE, pair=HOSTILE), maps, output=HOSTILE)


def test_what_a_person_typed_is_text():
    read = elements(page(hostile()))
    tags = [each.tag for each in read]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert [each.text for each in read if each.tag == "h1"] == [HOSTILE]
    assert [each.text.strip() for each in read if each.tag == "p"].count(HOSTILE) == 3


def test_every_map_is_whole():
    packages = re.findall(r"data-package>([^<]+)<", page(hostile()))
    assert [base64.b64decode(each) for each in packages] == [overview(each).data for each in hostile().maps]


def test_the_policy_lets_its_own_script_run_alone():
    document = page(hostile())
    (code,) = re.findall(r'<script type="module">(.*?)</script>', document, re.S)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in document


def test_a_theme_can_be_chosen():
    assert 'data-theme="auto"' in page(hostile())
    chosen = page(hostile(), theme=DARK)
    assert 'data-theme="dark"' in chosen
    assert chosen.count(f"--light:{DARK.background}") == 1


def test_what_is_too_large_is_told(monkeypatch):
    monkeypatch.setattr(importlib.import_module("attnviz.figures.explorer.exported_file"), "PAGE_BYTES", 100)
    with pytest.raises(TooLargeError, match="too many for one file: shorten the text"):
        page(hostile())
    assert frame(hostile()).startswith("<p>&lt;/script&gt;")
    assert "iframe" not in frame(hostile())


def test_a_frame_holds_the_document():
    (inner,) = re.findall(r'<iframe [^>]*srcdoc="([^"]*)"', frame(hostile()))
    assert html.unescape(inner) == page(hostile()) == attnviz.explore(hostile())
    assert hostile()._repr_html_() == frame(hostile())
