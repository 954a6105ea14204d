"""Pages of a site that are written whole: what is in their files is what the app draws, and every click leads somewhere."""

import gzip
import html
import json
import re
from functools import cache
from urllib.parse import parse_qsl

import pytest

from attnviz.figures.blocks import Pick, PictureBlock, SentencesBlock
from attnviz.figures.theme import DARK, LIGHT
from attnviz.live.block_pages import STATES, WrittenPage, block_html, both_themes, write_states
from tests.tiny import first_now

MODELS = ("minilm",)
BY_COST = first_now(sorted(STATES, key=lambda name: name != "matters"))


@cache
def written(name: str) -> WrittenPage:
    return write_states(STATES[name](MODELS, ()), ("encode",), MODELS)


def nowhere(pick: Pick) -> str:
    return ""


@pytest.mark.parametrize("name", BY_COST)
def test_every_click_of_a_page_leads_to_a_picture_of_the_site(name: str):
    page = written(name)
    states = {number: json.loads(gzip.decompress(data)) for number, data in enumerate(page.files)}
    assert page.config["opening"]["values"] == states[0]["states"][0][0]
    for group in states.values():
        for text in group["texts"]:
            assert "data-pick" not in text
            assert " style=" not in text
            for leads in map(html.unescape, re.findall(r'data-go="([^"]*)"', text)):
                is_away = leads.startswith("../encode/?")
                assert is_away or page.has(dict(parse_qsl(leads)))


@pytest.mark.parametrize("name", BY_COST)
def test_a_page_says_what_the_app_draws_and_each_address_is_there_once(name: str):
    page, drawn = written(name), STATES[name](MODELS, ())
    for group, data in zip(drawn.groups, page.files, strict=True):
        content = json.loads(gzip.decompress(data))
        assert len({json.dumps(values) for values, *_ in content["states"]}) == len(group.states)
        for state, (values, places, pressed) in list(zip(group.states, content["states"], strict=True))[::29]:
            assert values == dict(state.values)
            assert all(f'data-go="{html.escape(leads)}"' in "".join(content["texts"]) for leads in pressed)
            said = [block for part in state.parts(LIGHT) for block in part if isinstance(block, SentencesBlock)]
            texts = "".join(content["texts"][at] for place in places for at in place)
            assert said
            assert all(block_html(block, nowhere) in texts for block in said)


def test_what_leads_nowhere_is_no_button():
    drawn = '<button class="a" data-pick="x&amp;y" aria-pressed="true" style="color:#123456">one</button>'
    block = PictureBlock("k", drawn, {"x&y": Pick({"layer": 1, "mean": None})})
    assert block_html(block, nowhere) == '<div class="markup"><span class="a" data-style="color:#123456">one</span></div>'
    linked = block_html(block, lambda pick: f"layer={pick.values['layer']}&b")
    assert '<button type="button" class="a" data-go="layer=1&amp;b" aria-pressed="true" data-style=' in linked


def test_both_themes_are_one_text():
    assert both_themes(f"a:{LIGHT.accent};", f"a:{DARK.accent};") == f"a:light-dark({LIGHT.accent},{DARK.accent});"
    with pytest.raises(ValueError, match="more than its colours"):
        both_themes("a#000000", "b#ffffff")
