"""Heads that were planted are found, heads that do nothing are not, and the numbers equal plain loops."""

import time
from collections.abc import Set
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attnviz.analysis.heads import claim
from attnviz.analysis.heads.atlas import (
    NOTHING,
    OFFSETS,
    AtlasExample,
    ClaimFacts,
    Counts,
    Strongest,
    WordAttention,
    claimed_cells,
    count,
    examples_of,
    strongest,
)
from attnviz.analysis.heads.claim import REGEX_SECONDS, Clock, parse, sources, targets
from attnviz.analysis.heads.verdict import (
    SEED,
    Evidence,
    Half,
    choose,
    compare_with_rivals,
    describe_verdict,
    holm,
    judge_claims,
    one_sided_p,
    supported,
)
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.core.errors import ClaimError
from attnviz.text.data_files import ParsedSentence, ParsedWord

RELATIONS = ("det", "nsubj", "obj", "root")
LAYERS, HEADS = 2, 3
PLANTED = {"obj -> head": (1, 2), "any -> previous": (0, 1), "any -> after same": (0, 0)}


def sentence(generator: np.random.Generator) -> ParsedSentence:
    """Words with random relations and heads, some of them twice."""
    n = int(generator.integers(5, 11))
    root, words, position = int(generator.integers(n)), [], 0
    for index in range(n):
        head = None if index == root else int(generator.choice([place for place in range(n) if place != index]))
        text = "abcdefg"[int(generator.integers(7))]
        relation = "root" if head is None else RELATIONS[int(generator.integers(3))]
        words.append(ParsedWord(text, position, position + 1, "NOUN", relation, head))
        position += 2
    return ParsedSentence(" ".join(word.text for word in words), tuple(words))


def weights(each: ParsedSentence, generator: np.random.Generator, planted: bool) -> WordAttention:
    n = len(each.words)
    values = generator.random((LAYERS, HEADS, n + 1, n + 1)).astype(np.float32)
    for i, word in enumerate(each.words) if planted else ():
        if word.head is not None:
            values[1, 2, i, word.head] += 5
        if i:
            values[0, 1, i, i - 1] += 5
        same = [j for j in range(i) if each.words[j].text == word.text and j + 1 < i]
        for j in same[-1:]:
            values[0, 0, i, j + 1] += 5
    values /= values.sum(axis=3, keepdims=True)
    return WordAttention(np.concatenate([values, values.mean(axis=1, keepdims=True)], axis=1), n)


def without(word: int, looks: Strongest) -> Strongest:
    """Let no unit look at a word, nor the word at anything."""
    places = {name: getattr(looks, name).copy() for name in ("other", "top")}
    for each in places.values():
        each[each == word] = NOTHING
        each[:, :, word] = NOTHING
    return replace(looks, **places)


def corpus(seed: int, *, planted: bool = True, size: int = 120):
    generator = np.random.default_rng(seed)
    sentences = [sentence(generator) for _ in range(size)]
    return sentences, [strongest(weights(each, generator, planted)) for each in sentences]


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_head_is_found_and_its_claim_holds(text):
    sentences, looked = corpus(1)
    claim = parse(text)
    evidence = Evidence(count(claim, sentences, looked), count(claim, sentences, corpus(1, planted=False)[1]))
    (tested,) = judge_claims([claim], [evidence])
    assert (tested.layer, tested.head) == PLANTED[text]
    assert tested.holds, describe_verdict(tested)
    assert "It holds" in describe_verdict(tested)
    # The best head of the untrained model is chosen on even sentences, and has its rate on odd ones.
    untrained = evidence.untrained
    assert untrained is not None
    even = untrained.hits[::2, :, :-1].sum(axis=0)
    layer, head = np.unravel_index(even.argmax(), even.shape)
    rate = untrained.hits[1::2, layer, head].sum() / untrained.queries[1::2].sum()
    assert tested.rival("untrained") == pytest.approx(rate)


def test_one_half_chooses_the_rival_and_the_other_reports():
    claim = parse("obj -> head")
    counts = count(claim, *corpus(2, size=24))
    even, odd = counts.by_offset[::2].sum(axis=0), counts.by_offset[1::2].sum(axis=0)
    assert even.argmax() != odd.argmax()
    half = compare_with_rivals(claim, Evidence(counts))
    assert (half.reported.queries == counts.queries[1::2]).all()
    assert (half.reported.hits == counts.hits[1::2]).all()
    rivals = {rival.name: rival.rate for rival, _ in half.rivals}
    assert rivals[f"offset {OFFSETS[even.argmax()]:+d}"] == odd[even.argmax()] / counts.queries[1::2].sum()


@pytest.mark.parametrize(("is_place", "untrained", "want"), [(False, None, 0.5), (True, None, 0.1), (True, 0.2, 0.2)])
def test_a_fixed_offset_is_no_rival_of_a_claim_about_a_place(is_place, untrained, want):
    assert ClaimFacts("any -> previous", 9, 0.1, -1, 0.5, is_place, untrained).strongest_rival == want


def test_heads_that_do_nothing_hold_no_claim():
    sentences, looked = corpus(5, planted=False)
    claims = [
        parse(f"{source} -> {target}") for source in ("det", "obj", "any") for target in ("head", "previous", "NOUN", "+2")
    ]
    halves = [compare_with_rivals(claim, Evidence(count(claim, sentences, looked))) for claim in claims]
    assert np.mean(supported(halves)) <= 0.05


@pytest.mark.parametrize(
    "text",
    ["obj -> head", "det | nsubj -> its obj", "any -> -2", "any -> special", "special -> first", "any -> self", "any -> same",
     "any -> after same", "NOUN -> first | last", '/[ab]/ -> "c"', "last | special -> any", "nsubj -> det | obj"],
)  # fmt: skip
def test_counts_equal_plain_loops(text):
    sentences, looked = corpus(3, size=17)
    # In every other sentence no token begins in the second word, as in "not" of "cannot".
    unread = [{1} if row % 2 else set() for row in range(17)]
    looked[1::2] = [without(1, looks) for looks in looked[1::2]]
    claim = parse(text)
    counts, listed = count(claim, sentences, looked), []
    of_all = "special" in text.split(" -> ")[1] or "self" in text
    for row, (each, looks) in enumerate(zip(sentences, looked, strict=True)):
        n = len(each.words)
        queries, chance, hits = 0, 0.0, np.zeros((LAYERS, HEADS + 1))
        by_offset = np.zeros(len(OFFSETS))
        for i in range(n + 1):
            right = (should(text, each, i) or set()) - unread[row]
            if i in unread[row] or not right:
                continue
            queries += 1
            for layer in range(LAYERS):
                for head in range(HEADS + 1):
                    place = int((looks.top if of_all else looks.other)[layer, head, i])
                    hits[layer, head] += place in right
                    if (layer, head) == (1, 2):
                        weight = float((looks.top_weight if of_all else looks.other_weight)[layer, head, i])
                        listed.append((AtlasExample(row, i, place, place in right), weight))
            by_offset += [i < n and 0 <= i + k < n and i + k in right for k in OFFSETS]
            chance += len(right) / (n - len(unread[row]) + (1 if of_all else -(i < n)))
        assert counts.queries[row] == queries
        assert counts.chance[row] == pytest.approx(chance)
        np.testing.assert_array_equal(counts.hits[row], hits)
        np.testing.assert_array_equal(counts.by_offset[row], by_offset)
    examples = examples_of(claim, sentences, looked, (1, 2), most=2)
    for holds in (False, True):
        # The word with the most weight of each sentence, and of those the two with most.
        strongest_first = sorted(((case, weight) for case, weight in listed if case.holds == holds), key=lambda each: each[1])[
            ::-1
        ]
        of_each = {case.sentence: case for case, _ in strongest_first[::-1]}
        wanted = [case for case, _ in strongest_first if of_each[case.sentence] is case][:2]
        assert [(each.sentence, each.word, each.looks) for each in examples if each.holds == holds] == [
            (case.sentence, case.word, case.looks) for case in wanted
        ]


def should(text: str, each: ParsedSentence, i: int) -> Set[int | None] | None:
    """Where a claim says that unit i looks; None where it is not about it."""
    n, words = len(each.words), [word.text for word in each.words]
    if text == "special -> first":
        return {0} if i == n else None
    if text == "last | special -> any":
        return {*range(n)} - {i} if i >= n - 1 else None
    if i == n:
        return None
    word = each.words[i]
    earlier = {j for j in range(i) if words[j] == words[i]}
    if text in ("any -> same", "any -> after same"):
        return earlier if text == "any -> same" else {j + 1 for j in earlier} - {i}
    if text == '/[ab]/ -> "c"':
        return {j for j in range(n) if words[j] == "c"} if words[i] in "ab" else None
    if text == "nsubj -> det | obj":
        return {j for j in range(n) if each.words[j].relation in ("det", "obj")} if word.relation == "nsubj" else None
    if text == "obj -> head":
        return None if word.relation != "obj" else {word.head}
    if text == "det | nsubj -> its obj":
        mine = {j for j, other in enumerate(each.words) if other.head == i and other.relation == "obj"}
        return mine if word.relation in ("det", "nsubj") else None
    places = {"any -> -2": {i - 2} if i >= 2 else set(), "any -> special": {n}, "any -> self": {i}}
    return (places | {"NOUN -> first | last": {0, n - 1} - {i}})[text]


def test_a_word_that_no_head_read_is_not_counted_and_one_that_looks_at_the_first_is():
    words = tuple(ParsedWord(text, 2 * at, 2 * at + 1) for at, text in enumerate("abc"))
    top = np.array([[[0, 0, -1, 1]] * 2], np.int16)
    looked = Strongest(top, top, np.ones_like(top, np.float16), np.ones_like(top, np.float16), 3)
    for text, rows in (("any -> any", [0, 1]), ("any -> special", [0, 1]), ("special -> any", [3]), ("special -> special", [])):
        claimed, about = claimed_cells(parse(text), ParsedSentence("a b c", words), looked, Clock())
        assert about.tolist() == rows
        assert claimed[:, 3].tolist() == ([True, True, True, False] if text.endswith("special") else [False] * 4)
    nothing = count(parse("any -> any"), [], [])
    assert (nothing.hits.shape, nothing.queries.shape) == ((0, 0, 0), (0,))


@pytest.mark.parametrize("queries", [[1, 0], [0, 1], [3, 2], [4, 0]])
def test_rates_are_of_the_words_that_there_are(queries):
    """Of each sentence of two halves: the reported one may have no word at all."""
    n = np.array(queries, float)
    counts = Counts(n, np.array([[[0.5, 0.25]]]) * n[:, None, None], np.zeros((2, len(OFFSETS))), n / 4)
    rivals = {rival.name: rival.rate for rival, _ in compare_with_rivals(parse("obj -> head"), Evidence(counts, counts)).rivals}
    told = n[1] > 0
    assert (rivals["chance"], rivals["untrained"], rivals["offset -12"]) == (0.25 * told, 0.5 * told, 0)
    (tested,) = judge_claims([parse("obj -> head")], [Evidence(counts, None, counts)])
    assert (tested.rate, tested.rival("shuffled"), tested.queries) == (0.5 * told, 0.5 * told, queries[1])


def test_an_interval_and_a_test_are_those_of_drawing_sentences_again():
    generator = np.random.default_rng(0)
    queries = generator.integers(1, 6, 300).astype(float)
    hits = generator.binomial(queries.astype(int), 0.6).astype(float)
    low, high = bootstrap(hits, queries, seed=SEED)
    assert low < hits.sum() / queries.sum() < high
    assert 0.03 < high - low < 0.12
    # A difference that is noise has a p of any size, a large one a small p.
    assert one_sided_p(hits - 0.6 * queries, queries) > 0.01
    assert one_sided_p(hits - 0.4 * queries, queries) < 1e-6
    rates = [generator.choice(300, 300) for _ in range(2000)]
    drawn = [hits[rows].sum() / queries[rows].sum() for rows in rates]
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.01)


def test_holm_is_stricter_the_more_is_tested():
    p_values = np.array([0.02, 0.5, 0.6])
    assert holm(p_values[:1]).tolist() == [True]
    assert not holm(p_values).any()


def test_a_claim_that_cannot_be_tested_says_why():
    sentences, looked = corpus(4, size=40)
    for text, wrong in (
        ("L7·H0: obj -> head", "no layer 7"),
        ("L1·H9: obj -> head", "no head 9"),
        ('"zebra" -> head', "No word"),
    ):
        claim = parse(text)
        with pytest.raises(ClaimError, match=wrong):
            judge_claims([claim], [Evidence(count(claim, sentences, looked))])


def test_too_few_words_are_no_verdict():
    sentences, looked = corpus(4, size=6)
    claim = parse("obj -> head")
    (tested,) = judge_claims([claim], [Evidence(count(claim, sentences, looked))])
    assert tested.is_small
    assert [replace(tested, queries=count).is_small for count in (29, 30)] == [True, False]
    assert not tested.holds
    assert "Too few words" in describe_verdict(tested)


def test_two_sentences_that_are_right_throughout_may_be_luck():
    claim, (sentences, looked) = parse("L0·H1: any -> previous"), corpus(6, size=40)
    counts = count(claim, sentences, looked)
    # As many words, in sentences of which none is wrong.
    for n, holds, read in ((2, False, "1 held-out sentence)"), (4, False, "2 held-out sentences)"), (12, True, "6 held-out")):
        queries, some = np.full(n, 30.0), slice(0, n)
        hits = np.broadcast_to(queries[:, None, None], counts.hits[some].shape)
        right = Counts(queries, hits, counts.by_offset[some], 0.1 * queries)
        (tested,) = judge_claims([claim], [Evidence(right)])
        assert (tested.rate, tested.holds) == (1, holds)
        assert read in describe_verdict(tested)


def test_a_regular_expression_that_never_ends_is_stopped():
    text = "a" * 40 + "!"
    each = ParsedSentence(text, (ParsedWord(text, 0, len(text)), ParsedWord("b", 0, 1)))
    looked = strongest(WordAttention(np.full((1, 1, 2, 2), 0.5, dtype=np.float32), 2))
    with pytest.raises(ClaimError, match=f"longer than {REGEX_SECONDS:g} seconds"):
        count(parse("/(a|aa)+$/ -> next"), [each], [looked])


def test_regular_expressions_share_the_time_of_a_claim():
    clock = Clock(1.0)
    assert [clock.search("^B+$", text) for text in ("bb", "bc")] == [True, False]
    assert 0.5 < clock.left < 1
    for seconds in (0.0, -1.0):
        with pytest.raises(ClaimError, match=r"longer than 2 seconds, or 0\.2 for"):
            Clock(seconds).search("a", "a")


def test_on_a_busy_server_a_simple_expression_is_looked_for_once_a_word_however_long_it_waits(monkeypatch):
    searched: list[str] = []

    class Waits:
        def search(self, text: str, **_: object) -> None:
            searched.append(text)
            time.sleep(0.02)

    monkeypatch.setattr(claim, "compiled", lambda _: Waits())
    clock = Clock(0.05)
    assert not any(clock.search("a", word) for word in ["b", "c", "d", "e", "f", "g", "b", "c", "d"])
    assert searched == list("bcdefg")


def test_a_head_that_is_not_there_is_told_with_those_there_are():
    counts = count(parse("obj -> head"), *corpus(4, size=20))
    with pytest.raises(ClaimError, match=r"has 2 layers, 0 to 1, and no layer 2"):
        choose(parse("L2·H0: obj -> head"), counts)
    with pytest.raises(ClaimError, match=r"has 3 heads, 0 to 2, and no head 3"):
        choose(parse("L1·H3: obj -> head"), counts)
    assert choose(parse("L1·H2: obj -> head"), counts) == (1, 2)
    assert choose(parse("L1·mean: obj -> head"), counts) == (1, HEADS)


def test_the_best_head_is_that_of_the_even_sentences():
    counts = count(parse("obj -> head"), *corpus(4, size=20))
    hits = np.zeros_like(counts.hits)
    hits[::2, 0, 1], hits[1::2, 1, 0] = counts.queries[::2], 2 * counts.queries[1::2]
    assert choose(parse("obj -> head"), replace(counts, hits=hits)) == (0, 1)


def test_numbers_of_a_head_are_those_of_the_odd_sentences():
    sentences, looked = corpus(1)
    claim = parse("L1·H0: obj -> head")
    counts, mixed = count(claim, sentences, looked), count(claim, sentences, corpus(1, planted=False)[1])
    evidence = Evidence(counts, None, mixed)
    (tested,) = judge_claims([claim], [evidence])
    hits, queries = counts.hits[1::2, 1, 0], counts.queries[1::2]
    assert tested.rate == pytest.approx(hits.sum() / queries.sum())
    assert tested.overall == pytest.approx(counts.hits[:, 1, 0].sum() / counts.queries.sum())
    assert (tested.queries, tested.sentences) == (queries.sum(), (queries > 0).sum())
    assert [tested.low, tested.high] == bootstrap(hits[queries > 0], queries[queries > 0], seed=0).tolist()
    assert tested.rival("chance") == pytest.approx(counts.chance[1::2].sum() / queries.sum())
    assert tested.rival("shuffled") == pytest.approx(mixed.hits[1::2, 1, 0].sum() / mixed.queries[1::2].sum())
    ranked = [rival.rate for rival in tested.rivals if rival.counts]
    best = [rate * queries for rate in ranked if rate == max(ranked)]
    assert len(best) == 1
    assert 0.5 < tested.p <= 1
    assert compare_with_rivals(claim, evidence).ahead[1, 0] == pytest.approx(tested.rate - max(ranked))
    (mean,) = judge_claims([parse("L1·mean: obj -> head")], [evidence])
    assert mean.head is None


@pytest.mark.parametrize("n", [0, 1])
def test_of_one_sentence_nothing_is_more_likely_than_chance(n):
    queries = np.array([2.0, 0, 0])[: 3 * n]
    assert one_sided_p(np.ones((len(queries), 4)), queries).tolist() == [1, 1, 1, 1]


def test_p_is_that_of_the_normal_distribution_and_the_ratios_error():
    dice = np.random.default_rng(2)
    queries, differences = dice.integers(0, 4, 30).astype(float), dice.normal(0.1, 1, (30, 2))
    differences[queries == 0] = 0
    n = (queries > 0).sum()
    for head in range(2):
        ratio = differences[:, head].sum() / queries.sum()
        residuals = [(d - ratio * q) ** 2 for d, q in zip(differences[:, head], queries, strict=True)]
        error = np.sqrt(sum(residuals) * n / (n - 1)) / queries.sum()
        assert one_sided_p(differences, queries)[head] == pytest.approx(stats.norm.sf(ratio / error))
    # Were each as likely to be above as below, three alike would be above one time in eight.
    assert one_sided_p(np.ones((3, 1)), np.ones(3)).item() == 1 / 8
    assert one_sided_p(-np.ones((3, 1)), np.ones(3)).item() == 1
    assert one_sided_p(np.zeros((3, 1)), np.ones(3)).item() == 1


def test_a_pronoun_looks_at_what_it_stands_for_and_nothing_else_does():
    words = tuple(ParsedWord(text, 2 * at, 2 * at + 1) for at, text in enumerate("abcd"))
    resolved = ParsedSentence("a b c d", words, pronoun=3, antecedent=1)
    claim = parse("pronoun -> antecedent")
    for each, cells in ((resolved, [(3, 1)]), (replace(resolved, antecedent=None), []), (replace(resolved, pronoun=None), [])):
        assert np.argwhere(targets(claim, each, 5, Clock())).tolist() == [list(cell) for cell in cells]
    assert sources(claim, resolved, 5, Clock()).tolist() == [False, False, False, True, False]
    members = {"first": [0], "last": [3], "special": [4], '"B"': [1], "/[cd]/": [2, 3], "any": [0, 1, 2, 3]}
    for text, units in members.items():
        assert np.flatnonzero(sources(parse(f"{text} -> self"), resolved, 5, Clock())).tolist() == units


def test_what_is_kept_of_a_sentence_weighs_what_its_arrays_do():
    (looked,) = corpus(3, size=1)[1]
    assert looked.nbytes == sum(each.nbytes for each in (looked.other, looked.top, looked.other_weight, looked.top_weight))


@pytest.mark.parametrize("queries", [29, 30])
def test_a_head_is_far_enough_ahead_on_enough_words(queries):
    n, ahead = np.array([queries - 1.0, 1.0]), np.array([[0.06, 0.05, 0.049, -0.05]])
    counts = Counts(n, np.zeros((2, 1, 4)), np.zeros((2, len(OFFSETS))), n)
    assert Half(counts, (), np.zeros((1, 4)), ahead).enough.tolist() == [[queries == 30, queries == 30, False, False]]
