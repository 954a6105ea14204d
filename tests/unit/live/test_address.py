"""The address of a site's page, read and written in Node, against the app's own reading of the same address."""

import base64
import random
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from attnviz.live.block_pages import WrittenPage
from attnviz.live.page_html import APP_PAGES, SITE_PAGES, site_parameters
from attnviz.live.site import Folders, _write_pages
from attnviz.pages_and_addresses import (
    LARGEST,
    LESSON,
    MARK,
    PARAMETERS,
    Choice,
    Flag,
    Names,
    Number,
    Type,
    pack,
    read_parameter,
    renamed,
    unpack,
    write_parameter,
)
from tests.factories import HOSTILE
from tests.tiny import first_now
from tests.unit.live.graphs.test_algorithms import call

OF_SITE = {page.name: page for page in SITE_PAGES}
# Choices of which the site has some alone.
SOME = {"way", "view", "view1"}
# The explorer below a summary, which the app draws from 0 to 1, has a control on a site.
OF_THE_SITE = {"summarize": {"scale"}}


def test_every_page_that_the_navigation_names_is_there_whatever_the_models(tmp_path: Path) -> None:
    needed = _write_pages(tmp_path, Folders("files", "models"), [], {}, {})
    first = (tmp_path / "index.html").read_text(encoding="utf-8")
    named = [page.name for page in (*SITE_PAGES, *APP_PAGES)]
    for name in named:
        assert f'href="{name}/"' in first
        assert f"{name}/" in needed
        assert 'id="elsewhere"' in (tmp_path / name / "index.html").read_text(encoding="utf-8")
    assert "This site was made without a model for this page." in first


def test_pages_without_a_model_stand_behind_those_that_have_one(tmp_path: Path) -> None:
    _write_pages(tmp_path, Folders("files", "models"), [], {}, {"whatif": WrittenPage({}, [], [])})
    top = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<h1>What if</h1>" in top
    own, others = (re.findall('href="([a-z]+)/"', each) for each in top.split("<span>In the app</span>"))
    assert own == ["whatif", "lessons"]
    assert others == [page.name for page in (*SITE_PAGES, *APP_PAGES) if page.name != "whatif"]


def parameters_of(page: str) -> dict[str, Any]:
    """The parameters that a page of the site knows, but those that it has alone; choices as lists."""
    known, own = site_parameters(OF_SITE[page])["parameters"], OF_THE_SITE.get(page, set())
    assert set(known) - set(PARAMETERS[page]) == own
    return {name: kind for name, kind in known.items() if name not in own}


DRAW = random.Random(54)
SEVERAL = ["", "a", "b", "a", "~z~nonsense", pack("~z~c"), "n" * 255, "n" * 256, "d", "e"]
TEXTS = [
    *HOSTILE, "a/b" * 100, "it's (so) good*! " * 18, "x" * 299, "x" * 300, "x" * 301, "é" * 50, "é" * 51, "The cat sat. " * 300,
    "".join(chr(DRAW.randrange(0x4E00, 0x9000)) for _ in range(2_000)), "~z~", "~z~ is a mark",
    "👩\u200d👩\u200d👧 " * 40, "a\x00b", "\n",
]  # fmt: skip


def packed(data: bytes) -> str:
    return MARK + base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


# What a stranger may write where a text stands.
STRANGE = [
    "~z~", "~z~nonsense", "~z~é", "~z~====", "~z~A", packed(b""), packed(deflated(b"")),
    packed(deflated(b"a cat") + b"and more"), packed(deflated(b"a cat")[:-1]), packed(deflated(b"\xff")),
    packed(deflated("\ud800".encode("utf-8", "surrogatepass"))), packed(deflated(b"\xef\xbb\xbfa cat")),
    packed(deflated(b"a" * LARGEST)), packed(deflated(b"a" * (LARGEST + 1))), packed(deflated(b"a" * LARGEST * 1_000)),
    packed(deflated(b"a cat")) + "=",
]  # fmt: skip


def test_texts_are_packed_as_in_the_app():
    for text, written in zip(TEXTS, call(*(["../address", "packText", each] for each in TEXTS)), strict=True):
        own = pack(text)
        # The bytes of a compressor are its own business; what is compressed, and what comes back, is not.
        assert (written.startswith(MARK), written == own) == (own.startswith(MARK), written == own), text
        assert written == own or written.startswith(MARK), text
        assert unpack(written) == text
    back = call(*(["../address", "unpackText", pack(text)] for text in TEXTS))
    assert back == TEXTS


def test_what_a_stranger_writes_is_the_same_text_or_none():
    read = call(*(["../address", "unpackText", each] for each in STRANGE))
    # What no browser can show is refused where it is read, in the app.
    wanted = [None if (text := unpack(each)) and "\ud800" in text else text for each in STRANGE]
    assert read == wanted
    assert [each is None for each in wanted].count(False) == 4


def values_of(kind: Type) -> list[list[str]]:
    """What may stand in an address for a parameter, good and bad."""
    numbers = ["7", "-7", "+7", "0", "007", "9" * 4000, "9" * 4001, "1e3", "٧", "", "inf", "3.5", " 7"]
    flags = ["true", "True", "FALSE", "yes", "1", ""]
    single: list[str] = [
        *numbers,
        *flags,
        "a b",
        "é" * 41,
        "x" * 119,
        "y" * 121,
        "z" * 256,
        "w" * 601,
        pack("The cat sat. " * 99),
        *STRANGE[:10],
    ]
    if isinstance(kind, Choice):
        single += [*kind.options, kind.options[-1].upper()]
    if isinstance(kind, Names):
        return [[each] for each in single] + [SEVERAL, SEVERAL[::-1], [""]]
    return [[each] for each in single] + [["1", "true"], ["true", "2"]]


@pytest.mark.parametrize("page", first_now(OF_SITE, 3))
def test_an_address_says_the_same_as_in_the_app(page: str):
    known = parameters_of(page)
    cases = [(name, written) for name in known for written in values_of(PARAMETERS[page][name])]
    site = {"parameters": known, "renamed": {}}
    read = call(
        *(["../address", "readAddress", site, "?" + urlencode([(name, each) for each in written])] for name, written in cases)
    )
    for (name, written), values in zip(cases, read, strict=True):
        wanted = read_parameter(page, name, written)
        if name in SOME and wanted not in known[name]:
            wanted = None
        # That none is chosen of several, and that nothing is said, are the same to a page of the site.
        assert (values.get(name) or None) == (wanted or None) or values.get(name) is wanted, (name, written)


@pytest.mark.parametrize("page", first_now(OF_SITE, 3))
def test_what_a_page_writes_the_app_reads(page: str):
    known = parameters_of(page)
    values: dict[str, Any] = {}
    for name in known:
        kind = PARAMETERS[page][name]
        if isinstance(kind, Choice):
            values[name] = known[name][-1]
        elif isinstance(kind, Names):
            values[name] = ["minilm", "a/b c"][: kind.most]
        elif isinstance(kind, Flag):
            values[name] = True
        else:
            values[name] = kind.most if isinstance(kind, Number) else "Is 1 + 1 > 2 & “so”? 👧"
        if name == "way":
            values[name] = "rollout"
    (query,) = call(["../address", "writeAddress", known, values])
    written = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    assert {name: read_parameter(page, name, each) for name, each in written.items()} == values
    again = urlencode({name: write_parameter(value) for name, value in values.items()}, doseq=True)
    assert call(["../address", "readAddress", {"parameters": known, "renamed": {}}, f"?{again}"]) == [values]


@pytest.mark.parametrize("page", OF_SITE)
def test_another_name_means_here_what_it_means_in_the_app(page: str):
    site = site_parameters(OF_SITE[page])
    others = sorted({name for each in PARAMETERS.values() for name in each} - PARAMETERS[page].keys() - LESSON.keys())
    new = {name: renamed(page, [name]).get(name) for name in others}
    assert site["renamed"] == {name: own for name, own in new.items() if own in site["parameters"]}


def test_a_name_of_another_page_is_read_where_the_own_one_is_missing():
    site = site_parameters(OF_SITE["answer"])
    read = call(
        *(["../address", "readAddress", site, search] for search in ("?text=a&mean=true", "?text=a&passage=b", "?key=3"))
    )
    assert read == [{"passage": "a", "all_heads": True}, {"passage": "b"}, {"key1": 3}]


def test_on_summarize_a_head_is_one_only_where_its_mean_is_off():
    picture = {"said": {"shown": "encoder"}, "maps": [{"kind": "encoder", "first": [7, None], "shape": [8, 12]}]}
    asked: list[dict[str, Any]] = [{}, {"layer": 1, "head": 2}, {"layer": 1, "head": 2, "all_heads": False}]
    shown = call(*(["../controls", "shownOn", "summarize", picture, values] for values in asked))
    assert [(each["layer"], each["head"]) for each in shown] == [(7, None), (1, None), (1, 2)]


def test_what_only_the_app_can_do_is_known():
    asked = [
        ("encode", "edits=e0.1"),
        ("encode", "text=a&layer=1"),
        ("write", "seed=3"),
        ("compute", "seed=3"),
        ("encode", "edits="),
        ("summarize", "way=random"),
        ("translate", "begins4=le"),
        ("answer", "lesson=first-look"),
        ("encode", "view=BertViz"),
        ("encode", "view=matrix"),
    ]
    said = call(*(["../address", "isOfTheApp", site_parameters(OF_SITE[page]), f"?{search}"] for page, search in asked))
    assert said == [True, False, False, True, False, False, True, False, True, False]
