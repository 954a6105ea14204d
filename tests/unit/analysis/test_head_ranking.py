"""Heads ranked by a link or by a word, against plain loops over the weights."""

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.analysis.head_ranking import elsewhere, rank_heads, strongest_places, word_columns
from attnviz.analysis.head_view import Lens, View, word_names
from attnviz.cli import main
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.files.trace_file import save
from tests.factories import make_map, sentence, special, typed

TOKENS = sentence("the cat saw un|believ|able dogs near the barn")
ATTENTION = make_map(TOKENS, layers=3, heads=5)
TRACE = AttentionTrace("one", Prompt("the cat saw unbelievable dogs near the barn"), (ATTENTION,), "")
# Where each word stands among the tokens.
WORDS = {
    "the(1)": [1],
    "cat": [2],
    "saw": [3],
    "unbelievable": [4, 5, 6],
    "dogs": [7],
    "near": [8],
    "the(2)": [9],
    "barn": [10],
}


def weight(layer: int, head: int, query: str, key: str) -> float:
    weights = ATTENTION.weights(layer, head)
    return float(np.mean([sum(weights[row, column] for column in WORDS[key]) for row in WORDS[query]]))


@pytest.mark.parametrize(
    ("query", "key"),
    [("cat", "barn"), ("unbelievable", "cat"), ("cat", "unbelievable"), (("cat", "dogs"), ("saw", "the(2)"))],
)
def test_a_links_heads_are_ranked_by_its_weight(query: str | tuple, key: str | tuple) -> None:
    queries, keys = ((each,) if isinstance(each, str) else each for each in (query, key))
    wanted = {
        (layer, head): np.mean([sum(weight(layer, head, one, other) for other in keys) for one in queries])
        for layer, head in np.ndindex(3, 5)
    }
    ranked = rank_heads(TRACE, query, key)
    assert [(each.layer, each.head) for each in ranked] == sorted(wanted, key=wanted.__getitem__, reverse=True)
    np.testing.assert_allclose([each.weight for each in ranked], sorted(wanted.values(), reverse=True), atol=1e-6)


def test_a_words_heads_are_ranked_by_where_they_look_besides_its_neighbours() -> None:
    far = [word for word in WORDS if word not in ("cat", "saw", "unbelievable")]
    for each in rank_heads(TRACE, "saw"):
        weights = {word: weight(each.layer, each.head, "saw", word) for word in far}
        assert each.key == max(weights, key=weights.__getitem__)
        assert each.weight == pytest.approx(weights[each.key], abs=1e-6)


@pytest.mark.parametrize(("query", "names"), [("mouse", "cat"), ("the", r"the\(2\)"), ("", "no word"), ((), "no word")])
def test_a_word_that_is_not_there_is_named_with_those_that_are(query: str, names: str) -> None:
    with pytest.raises(TraceError, match=names):
        rank_heads(TRACE, query)


def test_words_that_differ_by_capitals_alone_have_numbers_too() -> None:
    tokens = sentence("It rained so it was The wet")
    trace = AttentionTrace("one", Prompt("It rained so it was The wet"), (make_map(tokens),), "")
    assert [name for name in word_names(tokens) if "(" in name] == ["It(1)", "it(2)"]
    for name in ("it(2)", "IT(2)", "the"):
        assert rank_heads(trace, name)
    with pytest.raises(TraceError, match=r"write It\(1\) or it\(2\)\."):
        rank_heads(trace, "it")


def test_a_word_that_has_only_neighbours_says_so() -> None:
    tokens = sentence("two words")
    trace = AttentionTrace("one", Prompt("two words"), (make_map(tokens),), "")
    with pytest.raises(TraceError, match="longer"):
        rank_heads(trace, "two")


def test_the_shell_lists_the_first_heads(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    save(TRACE, tmp_path / "a.attn", exact=True)
    first = attnviz.rank_heads(TRACE, ["cat", "dogs"], "barn")
    assert main(["rank", str(tmp_path / "a.attn"), "cat,dogs", "barn", "--first", "2", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    weights = [(each["layer"], each["head"], each["weight"]) for each in listed]
    assert weights == [(each.layer, each.head, round(each.weight, 5)) for each in first[:2]]
    assert main(["rank", str(tmp_path / "a.attn"), "cat"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert main(["rank", str(tmp_path / "a.attn"), "mouse"]) == 1
    assert "mouse" in capsys.readouterr().err


READ = (special("<s>"), *typed("un|believ|able chat"))
SOURCE = typed("the cat")
WRITES = AttentionTrace(
    "t",
    Prompt("the cat"),
    (make_map(READ, layers=2, heads=3, causal=True), make_map(READ, SOURCE, layers=2, heads=3)),
    "unbelievable chat",
)


@pytest.mark.parametrize(
    ("step", "rows"),
    [("writes", {"<s>": [0], "unbelievable": [0, 1, 2], "chat": [3], "</s>": [4]}),
     ("reads", {"<s>": [0], "unbelievable": [1, 2, 3], "chat": [4], "</s>": [4]})],
)  # fmt: skip
def test_of_a_words_two_rows_the_one_that_is_named_counts(step: str, rows: dict[str, list[int]]) -> None:
    cross = WRITES.cross
    for (word, own), (column, key) in itertools.product(rows.items(), enumerate(("the", "cat"))):
        wanted = {place: float(cross.weights(*place)[own, column].mean()) for place in np.ndindex(2, 3)}
        ranked = rank_heads(WRITES, word, key, step=step)
        assert {(each.layer, each.head): each.weight for each in ranked} == pytest.approx(wanted, abs=1e-6)
    # A decoder's own attention has one row a word, and so has a model that knows what it writes.
    decoder = WRITES.decoder.weights(1, 2)
    ranked = {each.name: each.weight for each in rank_heads(WRITES, "chat", "<s>", kind="decoder", step=step)}
    assert ranked["L1·H2"] == pytest.approx(float(decoder[4, 0]), abs=1e-6)
    alone = replace(WRITES, maps=WRITES.maps[1:])
    assert rank_heads(alone, "chat", "cat", step=step)[0].weight == max(
        float(cross.weights(*at)[4, 1]) for at in np.ndindex(2, 3)
    )


def test_a_step_that_there_is_not_is_refused() -> None:
    with pytest.raises(TraceError, match="“writes” a word or “reads” it, not str 'naive'"):
        rank_heads(WRITES, "chat", step="naive")


def test_the_shell_says_by_which_step_it_ranks(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    save(WRITES, tmp_path / "a.attn", exact=True)
    for more, wanted in (([], "By the step that writes a word; --step reads"), (["--step", "reads"], "By the step that reads")):
        assert main(["rank", str(tmp_path / "a.attn"), "chat", "cat", *more]) == 0
        lines = capsys.readouterr().out.splitlines()
        first = rank_heads(WRITES, "chat", "cat", step=more[-1] if more else "writes")[0]
        assert lines[0].startswith(f"{first.name:<9}{100 * first.weight:5.1f} %")
        assert lines[-1].startswith(wanted)


def test_the_largest_come_first_and_of_equal_ones_the_first() -> None:
    weights = np.array([[0.25, 0.5, 0.125], [0.5, 0.0, 0.75]])
    assert strongest_places(weights) == [(1, 2), (0, 1), (1, 0), (0, 0), (0, 2)]
    assert strongest_places(weights, 2) == [(1, 2), (0, 1)]


@pytest.mark.parametrize(
    ("text", "row", "causal", "want"),
    [("a b c d e f", 2, False, [0, 4, 5]), ("a b c d e f", 2, True, [4, 5]), ("a b , d it f", 4, False, [0, 1]),
     ("it b c d e f", 0, False, [2, 3, 4, 5]), ("a it c d e f", 1, True, [3, 4, 5])],
)  # fmt: skip
def test_where_a_word_can_look_that_tells_something(text: str, row: int, causal: bool, want: list[int]) -> None:
    lens = Lens(make_map(typed(text)), View(words=True))
    assert elsewhere(row, lens, word_columns(lens), causal=causal) == want
    across = Lens(make_map(typed(text), typed(text)), View(words=True))
    words = [at for at, word in enumerate(text.split()) if word != ","]
    assert elsewhere(row, across, word_columns(across), causal=False) == words


def test_words_without_spaces_are_tokens_that_touch_and_a_repeated_one_has_its_number():
    tokens = (special("[CLS]"), *(Token(text, place, place + 1) for place, text in enumerate("東京と東京の人")))
    attention = make_map(tokens, layers=2, heads=3)
    trace = AttentionTrace("one", Prompt("東京と東京の人"), (attention,), "")
    for ranked in rank_heads(trace, "人", "東京(2)"):
        assert ranked.weight == pytest.approx(float(attention.weights(ranked.layer, ranked.head)[7, 4:6].sum()), abs=1e-6)
    for ranked in rank_heads(trace, "東京(1)", "人"):
        assert ranked.weight == pytest.approx(float(attention.weights(ranked.layer, ranked.head)[1:3, 7].mean()), abs=1e-6)
    with pytest.raises(TraceError, match=r"stands 2 times in the text: write 東京\(1\) or 東京\(2\)"):
        rank_heads(trace, "人", "東京")
    with pytest.raises(TraceError, match="no word “京東”"):
        rank_heads(trace, "人", "京東")
    # Words that spaces part do not touch, and are named with a space.
    with pytest.raises(TraceError, match="no word “catsaw”"):
        rank_heads(TRACE, "barn", "catsaw")
    for ranked in rank_heads(TRACE, "cat saw", "near  the"):
        assert ranked.weight == pytest.approx(
            float(np.mean([weight(ranked.layer, ranked.head, one, "near") for one in ("cat", "saw")]))
            + float(np.mean([weight(ranked.layer, ranked.head, one, "the(2)") for one in ("cat", "saw")])),
            abs=1e-6,
        )
    with pytest.raises(TraceError, match="no word “東 京”"):
        rank_heads(trace, "人", "東 京")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [3, ["cat", 3]])
def test_what_is_no_word_is_told(given: Any) -> None:
    with pytest.raises(TraceError, match="A word is a str, as it stands in the text, not int 3"):
        rank_heads(TRACE, given)
