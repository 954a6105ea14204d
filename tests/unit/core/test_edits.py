"""Edits as a value: in one order, written and read without loss, and refused in one sentence where they cannot be."""

import pytest

from attnviz.core.edits import LONGEST, MOST, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditError


def test_the_order_in_which_edits_are_given_does_not_matter():
    one, other = HeadSet("encoder", 3, 1), WeightSet("cross", 0, 2, 4, 7, 0.25)
    assert Edits((one, other)) == Edits((other, one, other)) == Edits((other,)) | Edits((one,))
    assert hash(Edits((one, other))) == hash(Edits((other, one)))
    assert Edits((one, other)).text == "e3.1z,c0.2w4.7-0.25"


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (lambda: (WeightSet("encoder", 0, 0, 1, 2, 2.0),), "0 to 1"),
        (lambda: (WeightSet("encoder", 0, 0, 1, 2, float("nan")),), "0 to 1"),
        (lambda: (WeightSet("encoder", 0, 0, 1, 2, 0.6), WeightSet("encoder", 0, 0, 1, 3, 0.6)), "sum to 1.20"),
        (lambda: (WeightSet("encoder", 0, 0, 1, 2, 0.6), WeightSet("encoder", 0, 0, 1, 2, 0.5)), "two numbers at once"),
        (lambda: (HeadSet("encoder", 3, 1), HeadSet("encoder", 3, 1, "mean")), "two things at once"),
        (lambda: (HeadSet("encoder", 3, 1), HeadPatched("encoder", 3, 1, "a")), "two things at once"),
        (lambda: (HeadSet("encoder", True, 1),), "whole number"),
        (lambda: (HeadSet("encoder", -1, 1),), "whole number"),
        (lambda: (HeadSet("both", 1, 1),), "of kind encoder, decoder, cross"),
        (lambda: (HeadSet("encoder", 1, 1, "half"),), "zero, mean, uniform"),
        (lambda: (HeadPatched("encoder", 1, 1, " "),), "text that can be read"),
        (lambda: (LinkCut("encoder", 1, 1, 0, None),), "whole number"),
        (lambda: ("e3.1z",), "An edit is one of"),
        (lambda: "e3.1z", r"Edits\.parse reads a text such as e3\.1z"),
        (lambda: 5, "a tuple of edits"),
        (lambda: tuple(LinkCut("encoder", 0, 0, 0, key) for key in range(MOST + 1)), "make fewer"),
        (lambda: (HeadPatched("encoder", 1, 1, "a" * LONGEST),), "longer than an address"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(edits, says, unchecked):
    with pytest.raises(EditError, match=says) as raised:
        Edits(edits())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "e999999.1z",
        "e٣.1z",
        "e3.1z e3.2z",
        "e3",
        "e3.1",
        "x3.1z",
        "e3.1z,",
        "e3.1w1.2",
        "e3.1w1.2-",
        "e3.1w1.2-1e-",
        "e3.1p%ff",
        "e3.1c1",
        "e3.1w1.2-nan",
    ],
)
def test_a_text_that_no_edits_write_is_refused(text):
    with pytest.raises(EditError):
        Edits.parse(text)


def test_ten_thousand_edits_in_an_address_are_refused():
    with pytest.raises(EditError, match="longer than an address"):
        Edits.parse(",".join(f"e0.0c0.{key}" for key in range(10_000)))


def test_a_model_says_what_it_has():
    edits = Edits((HeadSet("encoder", 3, 1), WordHidden("cross", 2)))
    edits.check_heads({"encoder": (4, 2), "cross": (1, 1)}, "tiny")
    with pytest.raises(EditError, match=r"tiny has 3 layers of 2 heads in its encoder attention, .* no L3·H1"):
        edits.check_heads({"encoder": (3, 2), "cross": (1, 1)}, "tiny")
    with pytest.raises(EditError, match="tiny has no cross attention to edit; it has encoder"):
        edits.check_heads({"encoder": (4, 2)}, "tiny")
    with pytest.raises(EditError, match="no key 2 in the cross attention over this text: it has 2"):
        edits.check_tokens({"encoder": (5, 5), "cross": (3, 2)})


def test_as_many_edits_as_may_be_are_taken():
    assert len(Edits(tuple(WordHidden("encoder", key) for key in range(MOST))).each) == MOST
    text = "a" * (LONGEST - len("e1.1p"))
    assert len(Edits((HeadPatched("encoder", 1, 1, text),)).text) == LONGEST
    with pytest.raises(EditError, match="longer than an address"):
        Edits((HeadPatched("encoder", 1, 1, text + "a"),))
    assert Edits((WeightSet("encoder", 0, 0, 1, 2, 0.75), WeightSet("encoder", 0, 0, 1, 3, 0.25))).text.count(",") == 1


def test_a_prefix_stands_before_the_texts_that_heads_are_patched_from():
    edits = Edits((HeadPatched("encoder", 3, 1, "a b"), LinkCut("encoder", 0, 0, 1, 2)))
    assert edits.after("summarize: ") == Edits((HeadPatched("encoder", 3, 1, "summarize: a b"), LinkCut("encoder", 0, 0, 1, 2)))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (HeadSet("encoder", 1, 2), "no L1·H2"),
        (HeadSet("encoder", 2, 0), "no L2·H0"),
        (WordHidden("encoder", 0, 2), "no L2:"),
    ],
)
def test_what_a_model_has_not_is_named(edit, says):
    with pytest.raises(EditError, match=says):
        Edits((edit,)).check_heads({"encoder": (2, 2)}, "tiny")
    Edits((HeadSet("encoder", 1, 1), WordHidden("encoder", 0, 1), WordHidden("encoder", 0))).check_heads(
        {"encoder": (2, 2)}, "t"
    )


@pytest.mark.parametrize(
    ("edit", "says"), [(LinkCut("encoder", 0, 0, 4, 2), "no query 4"), (WordHidden("encoder", 3), "no key 3")]
)
def test_a_token_that_is_not_there_is_named(edit, says):
    with pytest.raises(EditError, match=says):
        Edits((edit,)).check_tokens({"encoder": (4, 3)})
    Edits((LinkCut("encoder", 0, 0, 3, 2), WordHidden("encoder", 2))).check_tokens({"encoder": (4, 3)})


def test_of_one_head_over_one_token_all_can_be_edited():
    edits = Edits(
        (WordHidden("encoder", 0), WordHidden("encoder", 0, 0), HeadSet("encoder", 0, 0), LinkCut("encoder", 0, 0, 0, 0))
    )
    edits.check_tokens({"encoder": (1, 1)})
    edits.check_heads({"encoder": (1, 1)}, "tiny")


def test_what_is_hidden_everywhere_comes_before_what_is_in_one_layer():
    assert Edits((WordHidden("encoder", 2, 0), WordHidden("encoder", 2))).text == "ek2,e0k2"
