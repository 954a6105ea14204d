"""The script and its style: whole, and asking nobody for anything."""

import re

import numpy as np
import pytest

from attnviz.figures.explorer import STYLE, overview, script
from attnviz.figures.explorer.overview import unpack_chunks
from attnviz.figures.theme import DARK, LIGHT
from tests.factories import make_map, numbered

FOLDERS = ("streamlit", "exported_file")


@pytest.mark.parametrize("source", [*map(script, FOLDERS), STYLE], ids=[*FOLDERS, "style"])
def test_nothing_is_fetched_and_no_token_becomes_markup(source):
    # A namespace is a name, and no address.
    own = source.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|^import\s|import\(|fetch\(|url\(|innerHTML|outerHTML|insertAdjacentHTML|eval\(", own, re.M)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_colours_are_the_themes(theme):
    assert f'"accent": "{theme.accent}"' in script("streamlit")
    scale = re.search(rf'"name": "{theme.name}".*?"scale": "([0-9a-f]+)"', script("streamlit"))
    assert scale
    np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(scale[1]), np.uint8).reshape(256, 3), theme.lookup)


def test_the_script_reads_what_the_header_has():
    header, _ = unpack_chunks(overview(make_map(numbered(3))).data)
    read = set(re.findall(r"\boverview\.(\w+)", script("streamlit")))
    # A plain one is made in a browser, without a server.
    assert read - {"chunks", "plain"} <= set(header)
