"""Edits as text: whatever they are, reading what was written gives the same again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.edits import Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditError

kinds = st.sampled_from(["encoder", "decoder", "cross"])
numbers = st.integers(0, 99_999)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=23).filter(str.strip)
edits = st.one_of(
    st.builds(HeadSet, kinds, numbers, numbers, st.sampled_from(["zero", "mean", "uniform"])),
    st.builds(HeadPatched, kinds, numbers, numbers, texts),
    st.builds(LinkCut, kinds, numbers, numbers, numbers, numbers),
    st.builds(WordHidden, kinds, numbers, st.none() | numbers),
    st.builds(WeightSet, kinds, numbers, numbers, numbers, numbers, st.floats(0, 1)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(edits, max_size=11))
def test_what_is_written_is_read_as_it_was(several):
    try:
        given_edits = Edits(tuple(several))
    except EditError:
        return  # two of them contradict each other
    written = given_edits.text
    assert Edits.parse(written) == given_edits
    assert Edits.parse(written).text == written
    assert written.isascii()


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("edczmukpw.,-0123456789%"), max_size=29))
def test_any_text_is_edits_or_one_sentence(text):
    try:
        read = Edits.parse(text)
    except EditError:
        return
    assert Edits.parse(read.text) == read
