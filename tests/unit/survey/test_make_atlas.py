"""An atlas of an invented model: each number in it against the counts, the bootstrap and the measures that it is made of."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.heads import verdict
from attnviz.analysis.heads.atlas import count, examples_of, strongest, strongest_links, word_attention
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.measures import measure, merge
from attnviz.analysis.heads.verdict import Evidence, compare_with_rivals, supported
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.core.errors import CorpusError, PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights
from attnviz.models.base import ModelCard
from attnviz.models.capabilities import Capabilities
from attnviz.survey import make_atlas
from attnviz.text.data_files import ParsedSentence, ParsedWord
from tests.factories import sentence

TREEBANK = [f"s{at} the big dog {'unread' if at == 3 else 'ran'}{' home' * (at % 3)}" for at in range(31)]
RESOLVED = [f"r{at} told her{' when' * (at % 3)} she {'unread' if at == 2 else 'came'}" for at in range(23)]
CLAIMS = ("any -> previous", "any -> special", "det -> head", "advmod -> head")


def parsed(text: str) -> ParsedSentence:
    """The second word is a determiner of one further on, and the last but one is a pronoun that stands for one of the first."""
    words, number = text.split(), int(text.split()[0][1:])
    starts = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
    placed = [ParsedWord(word, start, start + len(word)) for word, start in zip(words, starts, strict=False)]
    placed[1] = ParsedWord(words[1], starts[1], starts[1] + len(words[1]), "DET", "det", 2 + number % 2)
    about = (len(words) - 2, number % 2) if text.startswith("r") else (None, None)
    return ParsedSentence(text, tuple(placed), text, *about)


class Reader(Capabilities):
    """Two layers of three heads: of the word before, of [SEP], of chance; of a noun, of chance again, of an antecedent."""

    card = ModelCard("reader", "reads", "encoder", 2, 3, 7, 61, "cpu")

    def __init__(self, blank: bool = False) -> None:
        self.blank = blank

    def trace(self, prompt: Any, edits: Any = None) -> AttentionTrace:
        if "unread" in prompt.text:
            raise PromptError("This word is not known.")
        tokens, number = sentence(prompt.text), int(prompt.text.split()[0][1:])
        n, dice = len(tokens), np.random.default_rng([number, len(prompt.text), self.blank])
        weights = dice.random((2, 3, n, n)) / 5
        if not self.blank:
            places = np.arange(n)
            # At every fifth word it forgets to look at the one before.
            looks = np.where((places + number) % 5, places - 1, (places + 1) % n)
            weights[0, 0, places, looks] += 1 + dice.random(n)
            weights[0, 1, :, -1] += 1
            weights[1, 0, :, 3 + number % 2] += 1 + dice.random(n)
            weights[1, 2, :, 1 + number % 2] += 1
        weights /= weights.sum(axis=-1, keepdims=True)
        return AttentionTrace("reader", prompt, (AttentionMap("encoder", tokens, tokens, DenseWeights(tuple(weights))),))

    def untrained(self, seed: int) -> "Reader":
        return Reader(blank=True)


def test_an_atlas_has_the_rates_rivals_and_examples_of_every_claim(monkeypatch: pytest.MonkeyPatch, unchecked: None) -> None:
    corpora = {"ewt": tuple(map(parsed, TREEBANK)), "winogender": tuple(map(parsed, RESOLVED))}
    monkeypatch.setattr(make_atlas, "shipped", corpora.get)
    monkeypatch.setattr(make_atlas, "CLAIMS", CLAIMS)
    monkeypatch.setattr(verdict, "LEAST_QUERIES", 7)
    told = list[tuple[str, float]]()
    model, most = Reader(), 29
    atlas = make_atlas.make(model, most=most, progress=lambda stage, share: told.append((stage, share or 0)))
    assert len(told) == len({*told}) > 4
    treebank, resolved = ([each for each in corpus[:most] if "unread" not in each.text] for corpus in corpora.values())
    # Of the third sentence nothing is read, and those behind it keep their numbers.
    numbers = [at for at, each in enumerate(corpora["ewt"][:most]) if "unread" not in each.text]
    looked: dict[tuple[str, bool], list] = {
        (name, blank): [strongest(word_attention(Reader(blank).trace(each).encoder, each)) for each in some]
        for name, some in (("ewt", treebank), ("winogender", resolved))
        for blank in (False, True)
    }
    halves = []
    for at, text in enumerate((*CLAIMS, "pronoun -> antecedent")):
        claim, name, some = parse(text), *(("winogender", resolved) if at == len(CLAIMS) else ("ewt", treebank))
        counts, blank = (count(claim, some, looked[name, each]) for each in (False, True))
        half = compare_with_rivals(claim, Evidence(counts, blank))
        halves.append(half)
        facts, (chance, offset, untrained) = atlas.claims[at], (rival for rival, _ in half.rivals)
        assert (facts.text, facts.queries, facts.place) == (text, counts.queries[1::2].sum(), at < 2)
        assert (facts.chance, facts.offset_rate, facts.untrained) == (chance.rate, offset.rate, untrained.rate)
        assert f"offset {facts.offset:+d}" == offset.name
        hits, queries = counts.hits[1::2, :, :-1], counts.queries[1::2]
        np.testing.assert_array_equal(atlas.rates[at], hits.sum(axis=0) / max(queries.sum(), 1))
        np.testing.assert_array_equal([atlas.low[at], atlas.high[at]], bootstrap(hits, queries, seed=0))
    np.testing.assert_array_equal(atlas.supported, supported(halves))
    # The word before, what most do, a noun: and an antecedent, of which no example is told.
    best = {(layer, head): atlas.best(layer, head) for layer, head in np.ndindex(2, 3)}
    assert best == {(0, 0): 0, (0, 1): 1, (0, 2): None, (1, 0): 2, (1, 1): None, (1, 2): 4}
    assert atlas.examples == {
        f"{layer}.{head}": tuple(
            replace(case, sentence=numbers[case.sentence])
            for case in examples_of(parse(CLAIMS[claim]), treebank, looked["ewt", False], (layer, head))
        )
        for (layer, head), claim in best.items()
        if claim is not None and claim < len(CLAIMS)
    }
    for place, links in atlas.links.items():
        layer, head = map(int, place.split("."))
        assert len(links) == 5
        assert sorted(links, key=lambda link: -link.weight) == list(links)
        for link in links:
            words, weight = strongest_links(
                word_attention(model.trace(corpora["ewt"][link.sentence]).encoder, corpora["ewt"][link.sentence])
            )
            assert (*words[layer, head].tolist(), weight[layer, head]) == (link.word, link.looks, link.weight)
    assert len(atlas.links) == 6
    measured = merge(*(measure(model.trace(each).encoder) for each in corpora["ewt"][:most:5]))
    np.testing.assert_allclose(atlas.means, measured.means)
    np.testing.assert_allclose(atlas.histogram, measured.histogram / measured.histogram.sum(axis=2)[..., None])
    assert (atlas.model, atlas.corpus, atlas.sentences) == ("reader", "ewt", 28)
    assert atlas.command == "attnviz atlas reader -o reader.json --first 29"


def test_an_atlas_of_all_sentences_says_so_and_one_of_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = {"ewt": tuple(map(parsed, TREEBANK[:2])), "winogender": (parsed(RESOLVED[0]),)}
    monkeypatch.setattr(make_atlas, "shipped", corpora.get)
    monkeypatch.setattr(make_atlas, "CLAIMS", ["det -> head"])
    atlas = make_atlas.make(Reader())
    assert (atlas.command, atlas.sentences, atlas.examples) == ("attnviz atlas reader -o reader.json", 2, {})
    # One determiner is reported on, and of one sentence no pronoun.
    assert [(facts.queries, facts.untrained) for facts in atlas.claims] == [(1, 0), (0, 0)]
    for place in ((0, 0), (1, 0)):
        assert [values[0][place] for values in (atlas.rates, atlas.low, atlas.high)] == [place[0]] * 3
        assert [values[1][place] for values in (atlas.rates, atlas.low, atlas.high)] == [0, 0, 1]
    # Of every fifth sentence none can be read.
    monkeypatch.setitem(corpora, "ewt", tuple(parsed(TREEBANK[at]) for at in (3, 0)))
    with pytest.raises(CorpusError, match="reader can read none"):
        make_atlas.make(Reader())
