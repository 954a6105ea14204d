"""Greedy and beam decoding, on tables of probabilities that can be searched by hand, and on every kind of model."""

import itertools
import math
from dataclasses import dataclass, replace

import pytest
import torch

from attnviz.nn.decoding import END, START, Beam, Hypothesis, Node, beam_search, greedy
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.transformer_translator import Translator, TranslatorConfig
from tests.tiny import first_now

SOURCE, TARGET = 17, 19
KINDS = ["dot", "scaled", "additive", "transformer"]


@dataclass(frozen=True)
class Table:
    """A decoder that forgets: p(next | last) stands in a table."""

    probabilities: torch.Tensor
    calls: tuple[int, ...] = ()

    def next(self, tokens):
        return self.probabilities[tokens].log(), replace(self, calls=(*self.calls, len(tokens)))

    def select(self, rows):
        return self


def build(kind: str):
    if kind == "transformer":
        block = BlockConfig(dim=22, n_heads=2, hidden=13, norm="before")
        return Translator(TranslatorConfig(SOURCE, TARGET, 3, block, max_tokens=41)).eval()
    return Seq2Seq(Seq2SeqConfig(SOURCE, TARGET, kind, RecurrentConfig(dim=5, hidden=7, n_layers=2))).eval()


@pytest.fixture
def garden_path():
    """Token 3 looks better at first (0.6), but whatever follows it is unlikely; 4 ends well."""
    table = torch.full((7, 7), 1e-9)
    table[START, 3], table[START, 4] = 0.6, 0.4
    table[3, 5], table[3, 6], table[3, END] = 0.34, 0.33, 0.33
    table[4, END] = 1.0
    table[5:, END] = 1.0
    return Table(table)


def test_greedy_takes_the_likeliest_at_every_step(garden_path):
    assert greedy(garden_path, 2, 11) == [(3, 5, END)] * 2


def test_a_beam_finds_what_greedy_misses(garden_path):
    best = beam_search(garden_path, Beam(width=2, length_penalty=0.0)).hypotheses[0]
    assert best.tokens == (4, END)
    assert best.log_probability == pytest.approx(math.log(0.4), abs=1e-6)


def test_a_length_penalty_helps_the_long(garden_path):
    short, long = Hypothesis((4, END), math.log(0.4)), Hypothesis((3, 5, END), math.log(0.6 * 0.34))
    assert short.score(0.0) > long.score(0.0)
    assert long.score(2.0) > short.score(2.0)
    actual = beam_search(garden_path, Beam(width=3, length_penalty=2.0)).hypotheses
    assert actual[0].tokens == (3, 5, END)
    assert [row.score(2.0) for row in actual] == sorted((row.score(2.0) for row in actual), reverse=True)


def test_a_wide_beam_is_the_exhaustive_search():
    probabilities = torch.rand(5, 5).double()
    probabilities[:, START] = 1e-12
    probabilities /= probabilities.sum(-1, keepdim=True)
    longest = 4
    everything = []
    for length in range(1, longest + 1):
        for tokens in itertools.product((0, 3, 4), repeat=length - 1):
            path = (START, *tokens, END)
            everything.append((sum(math.log(probabilities[a, b]) for a, b in itertools.pairwise(path)), path[1:]))
    want = sorted(everything, reverse=True)[:7]
    got = beam_search(Table(probabilities), Beam(width=400, length_penalty=0.0, longest=longest)).hypotheses
    ended = [row for row in got if row.tokens[-1] == END and START not in row.tokens][:7]
    for row, (log_probability, tokens) in zip(ended, want, strict=True):
        assert row.tokens == tokens
        assert row.log_probability == pytest.approx(log_probability, abs=1e-5)


def test_the_limit_stops_what_does_not_end():
    table = torch.full((5, 5), 1e-9)
    table[:, 4] = 1.0
    assert greedy(Table(table), 1, 3) == [(4, 4, 4)]
    assert beam_search(Table(table), Beam(width=1, longest=3)).hypotheses[0].tokens == (4, 4, 4)


@pytest.mark.parametrize("kind", first_now(KINDS, 2))
def test_a_beam_of_one_is_greedy(kind):
    model = build(kind)
    for _ in range(5):
        source = torch.randint(1, SOURCE, (1, 7))
        (written,) = greedy(model.begin(source), 1, 23)
        (best,) = beam_search(model.begin(source), Beam(width=1, longest=23)).hypotheses
        assert best.tokens == written


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_decoded_as_one_by_one(kind):
    model = build(kind)
    source = torch.randint(1, SOURCE, (3, 7)).masked_fill(torch.arange(7) >= torch.tensor([7, 5, 2])[:, None], 0)
    together = greedy(model.begin(source), 3, 23)
    alone = [greedy(model.begin(source[row : row + 1, :length]), 1, 23)[0] for row, length in enumerate((7, 5, 2))]
    assert together == alone


@pytest.mark.parametrize("never", [(), (0, START, 3, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_log_probability_of_a_hypothesis_is_the_models(kind, never):
    model = build(kind)
    source = torch.randint(1, SOURCE, (1, 7))
    for row in beam_search(model.begin(source), Beam(width=5, longest=11), never=never).hypotheses:
        assert set(row.tokens).isdisjoint(never)
        with torch.no_grad():
            scores, _ = model(source, torch.tensor([(START, *row.tokens[:-1])]))
        chosen = scores.log_softmax(-1)[0, torch.arange(len(row.tokens)), list(row.tokens)]
        assert row.log_probability == pytest.approx(float(chosen.sum()), abs=1e-4)


def path(nodes: tuple[Node, ...], leaf: int) -> list[Node]:
    """The nodes from the first token to a leaf."""
    parent = nodes[leaf].parent
    return [*([] if parent is None else path(nodes, parent)), nodes[leaf]]


def test_the_tree_of_a_search_that_can_be_followed_by_hand(garden_path):
    actual = beam_search(garden_path, Beam(width=2, length_penalty=0.0))
    drawn = [(node.token, node.parent, round(math.exp(node.log_probability), 2), node.kept) for node in actual.nodes]
    nothing = drawn[2][0]
    assert drawn[:3] == [(3, None, 0.6, True), (4, None, 0.4, True), (nothing, None, 0.0, False)]
    assert drawn[3:5] == [(END, 1, 1.0, True), (5, 0, 0.34, True)]
    # What 3 lost by a hair, and what 4 never meant to say.
    assert drawn[5][1:] == (0, 0.33, False)
    assert drawn[6][1:] == (1, 0.0, False)
    assert actual.leaves == (3, next(place for place, node in enumerate(actual.nodes) if node.parent == 4 and node.kept))


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_the_leaves_of_the_tree_are_what_was_found(kind, width):
    model = build(kind)
    source = torch.randint(1, SOURCE, (1, 7))
    actual = beam_search(model.begin(source), Beam(width=width, longest=11))
    assert actual.hypotheses == beam_search(model.begin(source), Beam(width=width, longest=11)).hypotheses
    for row, leaf in zip(actual.hypotheses, actual.leaves, strict=True):
        steps = path(actual.nodes, leaf)
        assert tuple(node.token for node in steps) == row.tokens
        assert all(node.kept for node in steps)
        assert sum(node.log_probability for node in steps) == pytest.approx(row.log_probability, abs=1e-4)
    parents = {node.parent for node in actual.nodes if node.kept}
    ends = {
        place
        for place, node in enumerate(actual.nodes)
        if node.kept and (node.token == END or len(path(actual.nodes, place)) == 11)
    }
    assert ends == set(actual.leaves)
    # Whatever was kept and has no successor that was kept fell out, and the best that it lost is there.
    for place, node in enumerate(actual.nodes):
        children = [one for one in actual.nodes if one.parent == place]
        if not node.kept:
            assert not children
        elif place not in parents and place not in ends:
            assert [one.kept for one in children] == [False]
    if width == 1:
        assert [len(path(actual.nodes, place)) for place, node in enumerate(actual.nodes) if node.kept] == list(
            range(1, len(actual.hypotheses[0].tokens) + 1)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_tree_dropped_is_the_best_that_was_lost(kind):
    model = build(kind)
    source = torch.randint(1, SOURCE, (1, 7))
    actual = beam_search(model.begin(source), Beam(width=3, longest=5))
    for place, node in enumerate(actual.nodes):
        if node.kept:
            continue
        before = [] if node.parent is None else [each.token for each in path(actual.nodes, node.parent)]
        with torch.no_grad():
            scores, _ = model(source, torch.tensor([(START, *before)]))
        likely = scores[0, -1].log_softmax(-1)
        taken = [each.token for each in actual.nodes if each.parent == node.parent and each.kept]
        likely[taken] = -torch.inf
        assert node.token == int(likely.argmax()), place
        assert node.log_probability == pytest.approx(float(likely.max()), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_leaves_the_decoder_it_was_asked_of_alone(kind, same):
    decoder = build(kind).begin(torch.randint(1, SOURCE, (3, 7)))
    tokens = torch.tensor([3, 5, 7])
    first, later = decoder.next(tokens)
    later.next(tokens)
    same(decoder.next(tokens)[0], first)
    rows = torch.tensor([2, 2, 0])
    same(decoder.select(rows).next(tokens[rows])[0], first[rows])
