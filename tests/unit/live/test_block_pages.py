"""Pages of a site that are written whole: what is in their files is what the app draws, and every click leads somewhere."""

import gzip
import html
import json
import re
import tomllib
from functools import cache
from itertools import combinations
from typing import Any
from urllib.parse import parse_qsl

import pytest

from attnviz.figures.blocks import Pick, PictureBlock, SentencesBlock
from attnviz.figures.theme import DARK, LIGHT
from attnviz.live.block_pages import STATES, WrittenPage, block_html, both_themes, write_states
from attnviz.live.pictures import notice_on_site
from attnviz.settings import assets_folder
from tests.tiny import first_now
from tests.unit.live.graphs.test_algorithms import call

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


@pytest.mark.parametrize("name", BY_COST)
def test_an_address_means_what_it_means_in_the_app(name: str):
    page, config = STATES[name](MODELS, ()), written(name).config
    asked: list[dict[str, Any]] = [
        {each: values[each] for each in names}
        for values in config["groups"]
        for count in range(len(values) + 1)
        for names in combinations(values, count)
    ]
    found = call(*(["../address", "groupAt", config, given] for given in asked))
    for given, each in zip(asked, found, strict=True):
        meant = next((at for at, values in enumerate(config["groups"]) if values == page.whole(given)), -1)
        assert (each["found"], each["asked"]) == (meant, {}), given


def test_what_an_address_leaves_out_is_not_of_the_first_picture_that_fits():
    page = STATES["whatif"](MODELS, ())
    changes = [(each.values["change"], bool(each.values["edits"])) for each in page.groups]
    assert changes == [("word", False), ("head", False), ("head", True)]
    text = page.groups[0].values["text"]
    asked = [
        {},
        {"change": "head"},
        {"change": "head", "text": text, "other": text},
        {"change": "head", "edits": "e0.2z"},
        {"edits": "e0.2z"},
        {"text": text, "other": text},
    ]
    found = call(*(["../address", "groupAt", written("whatif").config, given] for given in asked))
    assert [each["found"] for each in found] == [0, 1, 1, 2, -1, -1]
    assert page.whole({"change": "none of them"}) == page.whole({})


def test_what_leads_nowhere_is_no_button():
    drawn = '<button class="a" data-pick="x&amp;y" aria-pressed="true" style="color:#123456">one</button>'
    block = PictureBlock("k", drawn, {"x&y": Pick({"layer": 1, "mean": None})})
    assert block_html(block, nowhere) == '<div class="markup"><span class="a" data-style="color:#123456">one</span></div>'
    # What was typed is no part of a tag.
    typed = PictureBlock("k", "<i title='a style=&quot;b' style='c'>no style='d' and style=1</i>", {})
    assert ">no style='d' and style=1</i>" in block_html(typed, nowhere)
    assert "title='a style=&quot;b' data-style='c'" in block_html(typed, nowhere)
    linked = block_html(block, lambda pick: f"layer={pick.values['layer']}&b")
    assert '<button type="button" class="a" data-go="layer=1&amp;b" aria-pressed="true" data-style=' in linked


def test_both_themes_are_one_text():
    assert both_themes(f"a:{LIGHT.accent};", f"a:{DARK.accent};") == f"a:light-dark({LIGHT.accent},{DARK.accent});"
    with pytest.raises(ValueError, match="more than its colours"):
        both_themes("a#000000", "b#ffffff")


def test_what_to_notice_of_an_example_names_no_control_that_a_site_lacks():
    examples = tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))
    said = [notice_on_site(each["notice"]) for section in examples.values() for each in section]
    assert len(said) > 30
    lacking = ("in the sidebar", "below the picture", "Switch the division off and")
    assert not [each for each in said if any(each.count(words) for words in lacking)]
