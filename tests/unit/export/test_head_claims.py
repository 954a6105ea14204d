"""Claims on paper and as tables have the numbers of the atlas and of the verdict, and no cell of them is a formula."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.verdict import ClaimResult, Rival
from attnviz.analysis.wording import whole_percent
from attnviz.core.errors import ClaimError
from attnviz.export import draw_sheet
from attnviz.export.head_claims import atlas_csv, claims_csv, draw_atlas, draw_measure, draw_verdict, measure_csv

RIVALS = (Rival("chance", 0.125), Rival("offset -2", 0.25), Rival("untrained", 0.375), Rival("shuffled", 0.0625, False))
TESTED = ClaimResult(parse('L2·H3: obj | "<b>" -> head'), 2, 3, 0.71, 0.61, 0.79, 0.7, 113, 97, RIVALS, 0.001, True)


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_a_claim_that_is_a_formula_stays_a_text():
    formula = '=HYPERLINK("http://evil.example","click")'
    first, second = rows(claims_csv([formula, TESTED.claim.text], [ClaimError("no"), TESTED]))
    assert first["claim"] == f"'{formula}"
    assert (second["rate"], second["untrained"], second["best offset"]) == ("0.7100", "0.3750", "-2")


def test_an_atlas_has_a_row_for_every_claim_of_every_head():
    atlas = shipped_atlas("minilm")
    table = rows(atlas_csv(atlas))
    n_layers, n_heads = atlas.shape
    assert len(table) == n_layers * n_heads * len(atlas.claims)
    claim = next(number for number, facts in enumerate(atlas.claims) if facts.text == "obj -> head")
    row = next(row for row in table if (row["layer"], row["head"], row["claim"]) == ("2", "0", "obj -> head"))
    assert float(row["rate"]) == atlas.rates[claim, 2, 0]
    assert float(row["high"]) == atlas.high[claim, 2, 0]
    assert row["holds"] == str(int(atlas.supported[claim, 2, 0]))


def test_a_drawing_of_all_heads_has_the_figure_of_each():
    atlas = shipped_atlas("minilm")
    claim = next(number for number, facts in enumerate(atlas.claims) if facts.text == "obj -> head")
    texts = [label.text for label in draw_atlas(atlas, claim).labels]
    assert texts.count("object") == atlas.rates[claim].size
    assert sorted(text for text in texts if text.endswith("%")) == sorted(
        whole_percent(rate) for rate in atlas.rates[claim].flat
    )
    assert "nothing found" in [label.text for label in draw_atlas(atlas).labels]


def test_a_verdict_shows_every_rate_at_its_length():
    sheet = draw_verdict(TESTED, "mine")
    lengths = {rate: item.width for item in sheet.items for _, rate in getattr(item, "data", ())}
    assert set(lengths) == {"0.71", "0.125", "0.25", "0.375", "0.0625"}
    assert lengths["0.71"] / lengths["0.25"] == pytest.approx(0.71 / 0.25)
    drawn = draw_sheet(sheet, "svg").decode("utf-8")
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert draw_sheet(draw_verdict(replace(TESTED, head=None, holds=False), "mine"), "png").startswith(b"\x89PNG")


def test_a_measure_of_all_heads_is_drawn_and_written_where_it_is_known():
    values = np.array([[0.25, np.nan, 0.5], [0.0, 0.125, 1.0]])
    texts = [label.text for label in draw_measure(values, lambda each: f"<{each:.3f}>", "mean").labels]
    assert [text for text in texts if text.startswith("<")] == [f"<{each:.3f}>" for each in values.flat]
    assert [row["previous"] for row in rows(measure_csv(values, "previous"))] == ["0.25", "nan", "0.5", "0", "0.125", "1"]
