"""The links of a translation on paper: every word once, in the order of its sentence, and no two texts over each other."""

from xml.etree import ElementTree

import pytest

from attnviz.analysis.head_metrics import Link
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.export import svg_png_pdf, translation_links
from attnviz.export.paper import LINE, Arc, Label, Sheet, width_of
from attnviz.export.picture import picture
from tests.factories import make_map, numbered, special

SVG = "{http://www.w3.org/2000/svg}"


def drawn(written: int, read: int, decided: tuple[Link, ...] | None = None) -> Sheet:
    attention = make_map((*numbered(written - 1), special("</s>")), numbered(read))
    return translation_links.draw_links(
        picture(AttentionTrace("m", Prompt("t0"), (attention,), "t0"), layer=0, head=0), decided
    )


@pytest.mark.parametrize(("written", "read"), [(11, 10), (37, 40), (150, 149)])
def test_no_two_texts_touch(written: int, read: int) -> None:
    boxes = []
    for each in drawn(written, read).labels:
        width = width_of(each.text) * each.size
        left = each.x - width if each.anchor == "end" else each.x
        boxes.append((left, left + width, each.y - LINE * each.size / 2, each.y + LINE * each.size / 2))
    assert len(boxes) == 2 * written + read
    for place, (left, right, top, bottom) in enumerate(boxes):
        for other_left, other_right, other_top, other_bottom in boxes[place + 1 :]:
            assert right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top


def test_the_file_has_every_word_as_text_and_every_link_with_its_weight() -> None:
    sheet = drawn(5, 7)
    tree = ElementTree.fromstring(svg_png_pdf.sheet_svg(sheet))
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert texts[:7] == [token.text for token in numbered(7)]
    assert texts[7:12] == [*(token.text for token in numbered(4)), "</s>"]
    arcs = [item for item in sheet.items if isinstance(item, Arc)]
    assert arcs
    # A link runs from the line of its source word to that of its target word.
    labels = [item for item in sheet.items if isinstance(item, Label)]
    for arc in arcs:
        data = dict(arc.data)
        assert (arc.y, arc.to_y) == (labels[int(data["key"])].y, labels[7 + int(data["query"])].y)


def test_links_that_were_decided_stand_out() -> None:
    arcs = [item for item in drawn(5, 7, (Link(2, 3, 0.0),)).items if isinstance(item, Arc)]
    assert [arc.opacity for arc in arcs if dict(arc.data)["query"] == "2" and dict(arc.data)["key"] == "3"] == [1.0]
    assert {arc.opacity for arc in arcs[:-1]} == {translation_links.FADED}
