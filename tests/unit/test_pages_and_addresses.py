"""Addresses: texts come back whole, nothing that a stranger writes does harm, and features offer what an address holds."""

import base64
import random
import zlib
from typing import get_args
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.answer_attention import SIDES
from attnviz.analysis.head_view import BETWEEN
from attnviz.core.edits import HEAD_VALUES, LONGEST
from attnviz.core.head_inputs import MOST_TOKENS, Mask
from attnviz.core.sampling import CANDIDATES
from attnviz.core.weights import QUANTITIES
from attnviz.core.why import WHATS, LensNumber
from attnviz.figures.compute.steps import Predict
from attnviz.pages_and_addresses import LARGEST, MARK, PARAMETERS, Choice, Number, pack, unpack
from attnviz.text.toy_tasks import TOYS

WORDS = "the cat dog house river bank because never always sat ran was is on red old"


@given(st.text() | st.text(min_size=200, max_size=900) | st.text().map(MARK.__add__))
def test_a_text_comes_back(text: str) -> None:
    assert unpack(pack(text)) == text


@pytest.mark.parametrize(("language", "most"), [("en", 3_000), ("zh", 13_000)])
def test_four_thousand_characters_fit_into_an_address(language: str, most: int) -> None:
    draw = random.Random(2017)
    english = " ".join(draw.choices(WORDS.split(), k=1_200))
    text = (english if language == "en" else "".join(chr(draw.randrange(0x4E00, 0x5800)) for _ in range(4_000)))[:4_000]
    assert len(quote(pack(text))) <= most
    assert unpack(pack(text)) == text


@pytest.mark.parametrize("written", ["", "~", "AAAA", "é", "====", base64.urlsafe_b64encode(b"\xff" * 40).decode()])
def test_what_is_no_text_is_none(written: str) -> None:
    assert unpack(MARK + written) is None


def test_a_few_bytes_that_stand_for_very_many_are_none() -> None:
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(b"a" * (LARGEST * 1_000)) + packer.flush()
    assert unpack(MARK + base64.urlsafe_b64encode(data).decode()) is None


def test_an_address_holds_no_text_that_takes_a_server_long() -> None:
    # Of 150 letters in an address, sixty thousand came.
    assert len(pack("Who has it? " * 5_000)) < 300
    assert unpack(pack("Who has it? " * 5_000)) is None


@pytest.mark.parametrize(
    ("page", "name", "options"),
    [
        ("encode", "weighing", QUANTITIES),
        ("encode", "between", BETWEEN),
        ("answer", "side", SIDES),
        ("write", "lens", get_args(LensNumber)),
        ("whatif", "to", HEAD_VALUES),
        ("whatif", "part", WHATS),
        ("compute", "mask", get_args(Mask)),
        ("compute", "predict", get_args(Predict)),
        ("train", "task", tuple(TOYS)),
    ],
)
def test_an_address_holds_every_choice_that_a_feature_has(page: str, name: str, options: tuple[str, ...]) -> None:
    assert PARAMETERS[page][name] == Choice(options)


def test_an_address_holds_as_much_as_a_feature_takes() -> None:
    for page, name, most in (("write", "top_k", CANDIDATES), ("compute", "padded", MOST_TOKENS), ("whatif", "edits", LONGEST)):
        kind = PARAMETERS[page][name]
        assert (kind.most if isinstance(kind, Number) else getattr(kind, "most", None)) == most
