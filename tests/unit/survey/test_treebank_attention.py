"""Sentences that an invented model reads: what is kept of each, what rivals read, and how far it says that it is."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import count, strongest, word_attention
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.measures import FIELDS, measure, merge
from attnviz.core.errors import ArgumentError, ClaimError, CorpusError, ModelError, PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.models.base import ModelCard
from attnviz.models.capabilities import Capabilities
from attnviz.survey import corpus_survey, make_atlas, treebank_attention
from attnviz.survey.corpus_survey import SurveyJob
from attnviz.survey.treebank_attention import CorpusAttention, look, shuffled
from attnviz.text import corpora
from attnviz.text.corpora import corpus, plain
from attnviz.text.data_files import ParsedSentence, ParsedWord
from tests.factories import make_map, sentence, typed

TEXTS = [f"the cat number {at} saw {'unread' if at in (2, 5) else 'it'} twice" for at in range(40)]


class Reader(Capabilities):
    """Reads every text but those with a word that it does not know; untrained, it looks at everything alike."""

    card: ModelCard

    def __init__(self, blank: bool = False, kind: str = "encoder") -> None:
        self.card, self.blank, self.kind = ModelCard("reader", "reads", "encoder", 2, 3, 7, 61, "cpu"), blank, kind

    def trace(self, prompt: Any, edits: Any = None) -> AttentionTrace:
        if "unread" in prompt.text:
            raise PromptError("This word is not known.")
        tokens = sentence(prompt.text)
        attention = make_map(tokens, tokens if self.kind == "cross" else None, layers=3 if self.blank else 2)
        return AttentionTrace("reader", prompt, (attention,))

    def untrained(self, seed: int) -> "Reader | None":
        return None if self.blank else Reader(blank=True)


def same(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("top", "other", "top_weight", "other_weight")
    )


def test_the_end_of_a_stage_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treebank_attention, "RIVAL_SENTENCES", 16)
    told: list[tuple[str, float | None]] = []
    look(Reader(), plain(TEXTS), progress=lambda *stage: told.append(stage))
    assert len(set(told)) == len(told)


def test_what_can_be_read_is_kept_and_the_first_sentences_of_it_are_read_by_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treebank_attention, "RIVAL_SENTENCES", 10)
    told: list[tuple[str, float]] = []
    model, sentences = Reader(), plain(TEXTS)
    looks = look(model, sentences, progress=lambda stage, share: told.append((stage, share or 0)))
    kept = [each for each in sentences if "unread" not in each.text]
    assert looks.sentences == tuple(kept)
    for reader, some, found in ((model, kept, looks.model), (Reader(blank=True), kept[:10], looks.untrained or ())):
        want = [strongest(word_attention(reader.trace(Prompt(each.text)).encoder, each)) for each in some]
        assert len(want) == len(found)
        assert all(map(same, want, found))
    assert looks.shuffled is not None
    assert looks.shuffled[0] == tuple(shuffled(each, at) for at, each in enumerate(kept[:10]))
    stacks = [*looks.model, *(looks.untrained or ()), *looks.shuffled[1]]
    assert looks.nbytes == sum(each.nbytes for each in stacks)
    assert CorpusAttention(looks.sentences, looks.model).nbytes == sum(each.nbytes for each in looks.model)
    stages = ["reader reads 40 sentences", "reader, untrained, reads 10", "reader reads the words of 10 shuffled"]
    reads = zip((*[stages[0]] * 4, *[stages[1]] * 2, *[stages[2]] * 2), (0, 16, 32, 40, 40, 50, 50, 60), strict=True)
    assert told == [(stage, done / 60) for stage, done in reads]
    evidence = looks.evidence(claim := parse("any -> previous"))
    wants = (
        (evidence.model, kept, looks.model),
        (evidence.untrained, kept[:10], looks.untrained),
        (evidence.shuffled, *looks.shuffled),
    )
    for got, some, found in wants:
        np.testing.assert_array_equal(getattr(got, "hits", None), count(claim, some, found or ()).hits)
    alone = look(model, sentences, rivals=frozenset())
    assert (alone.untrained, alone.shuffled) == (None, None)
    assert look(Reader(blank=True), sentences, rivals=frozenset({"untrained"})).untrained is None
    with pytest.raises(ClaimError, match="reader can read none"):
        look(model, plain([TEXTS[2]]))
    with pytest.raises(ModelError, match="no attention of a text to itself"):
        look(Reader(kind="cross"), sentences)


def test_a_report_has_the_words_where_a_claim_fails_and_holds() -> None:
    looks = look(Reader(), plain(TEXTS), rivals=frozenset())
    for text, head in (("L1·H2: any -> previous", 2), ("L1·mean: any -> previous", 3)):
        (tested,) = looks.test([parse(text)])
        report = looks.report(tested, 3)
        cases = treebank_attention.examples_of(tested.claim, looks.sentences, looks.model, (1, head), 3)
        assert [(case.word, case.looks, case.holds) for case in report.cases] == [
            (each.word, each.looks, each.holds) for each in cases
        ]
        assert [report.sentences[case.sentence] for case in report.cases] == [looks.sentences[each.sentence] for each in cases]
        assert len(report.sentences) == len({each.sentence for each in cases})
    results = looks.test_each(
        [parse("any -> next"), ClaimError("no claim"), parse("L9·H0: any -> next"), parse("any -> first")]
    )
    assert [getattr(each, "claim", None) and each.claim.text for each in results] == ["any -> next", None, None, "any -> first"]
    assert [str(each)[:14] for each in results if isinstance(each, ClaimError)] == ["no claim", "This model has"]


def test_a_claim_that_the_sentences_cannot_show_is_refused() -> None:
    words = (ParsedWord("a", 0, 1, "DET", "det", 1), ParsedWord("b", 2, 3, "NOUN", "root"))
    bare, parsed = (ParsedSentence("a b", tuple(replace(word, pos="") for word in words)), ParsedSentence("a b", words))
    resolved = replace(bare, pronoun=1, antecedent=0)
    for text, each, says in (
        ("det -> head", bare, "needs sentences with their syntax"), ("det -> head", parsed, ""), ("any -> next", bare, ""),
        ("pronoun -> next", parsed, "choose winogender"), ("pronoun -> next", resolved, ""),
    ):  # fmt: skip
        looks = look(Reader(), [each, each], rivals=frozenset())
        if says:
            with pytest.raises(ClaimError, match=says):
                looks.evidence(parse(text))
        else:
            assert len(looks.evidence(parse(text)).model.queries) == 2


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_corpus_no_sentence_and_no_claim_is_one_sentence() -> None:
    sentences, text, name = plain(["a b"] * 2), ["a b"], "reader"
    with pytest.raises(ClaimError, match="reader can read none of these sentences"):
        look(Reader(), [])
    for work, words in (
        (lambda: look(Reader(), text), "Sentences are what .* reads, not str 'a b'"),
        (lambda: look(name, sentences), "A model comes from"),
        (lambda: look(Reader(), sentences, rivals=frozenset()).test(text), "A claim is what .* reads, not str 'a b'"),
        (lambda: parse(5), "A claim is a text, not int 5"),
    ):
        with pytest.raises(ArgumentError, match=words):
            work()
    with pytest.raises(CorpusError, match="choose ewt or winogender"):
        corpora.shipped(name)


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_words_are_laid_out_one_space_apart(seed: int) -> None:
    words = tuple(ParsedWord(text, 0, 1, head=head) for text, head in (("a", 1), ("bcd", None), ("ef", 0), ("g", 2)))
    mixed = shuffled(ParsedSentence("?", words, "it", pronoun=3, antecedent=0), seed)
    order = np.random.default_rng(seed).permutation(4).tolist()
    assert [word.text for word in mixed.words] == [words[at].text for at in order]
    assert mixed.text == " ".join(words[at].text for at in order)
    assert [mixed.text[word.start : word.end] for word in mixed.words] == [word.text for word in mixed.words]
    heads = [words[at].head for at in order]
    assert [word.head for word in mixed.words] == [None if head is None else order.index(head) for head in heads]
    assert (mixed.name, mixed.pronoun, mixed.antecedent) == ("it", order.index(3), order.index(0))


def test_first_words_are_averaged_over_sentences_that_are_long_enough_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(["word"] * n) for n in (7, 8, 24, 25, 9, 10)]
    monkeypatch.setattr(treebank_attention, "shipped", lambda _: plain(texts))
    monkeypatch.setattr(treebank_attention, "MOST_SENTENCES", 3)
    told: list[Any] = []
    got = treebank_attention.first_words(Reader(), lambda *each: told.append(each))
    maps = [Reader().trace(Prompt(texts[at])).encoder for at in (1, 2, 4)]
    for layer, head in np.ndindex(2, 3):
        want = np.mean([each.weights(layer, head)[1:9, 1:9] for each in maps], axis=0)
        np.testing.assert_allclose(got.means[layer, head], want, atol=1e-6)
    assert (got.sentences, got.means.shape) == (3, (2, 3, 8, 8))
    assert told == [("reader reads 3 sentences", at / 3) for at in (1, 2, 3)]
    monkeypatch.setattr(treebank_attention, "shipped", lambda _: plain(["unread " * 8]))
    with pytest.raises(CorpusError, match="reader can read none"):
        treebank_attention.first_words(Reader())


def test_lines_are_sentences_and_a_bad_one_is_named(tmp_path: Any) -> None:
    assert [each.text for each in plain(["", " a b ", "\t", "c"])] == ["a b", "c"]
    with pytest.raises(CorpusError, match=r"it, line 3: .*NUL"):
        plain(["a", "", "b\x00"], "it")
    with pytest.raises(CorpusError, match="it holds no sentence"):
        plain([" ", ""], "it")
    (tmp_path / "a.txt").write_text("one two\n\nthree\n", encoding="utf-8")
    assert [each.text for each in corpus(str(tmp_path / "a.txt"))] == ["one two", "three"]
    assert corpus(corpora.TREEBANK) is corpora.shipped("ewt")


def test_of_a_head_that_gives_nothing_no_share_goes_anywhere() -> None:
    weights = np.stack([np.eye(4), np.zeros((4, 4))])[None]
    still = AttentionMap("encoder", typed("a b c d"), typed("a b c d"), DenseWeights(tuple(weights)))
    shares = make_atlas._shares(measure(still))
    np.testing.assert_allclose(shares.sum(axis=2), [[1, 0]])


def test_a_corpus_is_read_part_by_part_and_goes_on_where_it_was_stopped(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_survey, "PART", 3)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("".join(f" {text}\n\n" for text in TEXTS[:8]), encoding="utf-8")
    files[1].write_text("unread\n" * 5 + "\n".join(TEXTS[8:12]), encoding="utf-8")
    texts = [*TEXTS[:8], *["unread"] * 5, *TEXTS[8:12]]
    parts = [tuple(texts[at : at + 3]) for at in range(0, 17, 3)]
    job = SurveyJob("reader", tuple(files))
    assert list(job.parts()) == list(enumerate(parts))
    for number in (1, 2):
        of_two = replace(job, shard=(number, 2))
        assert list(of_two.parts()) == list(enumerate(parts))[number - 1 :: 2]
        assert of_two.shard_name == f"{number}/2"
    told: list[str] = []
    state = corpus_survey.survey(Reader(), job, tmp_path / "out", lambda stage, _: told.append(stage))
    read = [text for text in texts if "unread" not in text]
    want = merge(*(measure(Reader().trace(Prompt(text)).encoder, text) for text in read))
    for field in FIELDS:
        np.testing.assert_allclose(getattr(state.statistics, field), getattr(want, field))
    assert state.statistics.examples == want.examples
    assert (state.model, state.kind, state.corpus, state.shards, state.parts) == ("reader", "encoder", job.corpus, ("1/1",), 6)
    n_tokens = len(read[0].split()) + 2
    # The fourth part is none that can be read.
    assert told == [f"{n} texts, {n * n_tokens} tokens" for n in (2, 4, 6, 8, 10)]
    # What is read already is not read again.
    assert corpus_survey.survey(Reader(blank=True), job, tmp_path / "out", lambda *_: pytest.fail("read again")).parts == 6
    with pytest.raises(CorpusError, match="another model, corpus or shard"):
        corpus_survey.survey(Reader(), replace(job, shard=(1, 2)), tmp_path / "out")
    with pytest.raises(CorpusError, match="can read in part 9/9 of these files"):
        corpus_survey.survey(Reader(), replace(job, shard=(9, 9)), tmp_path / "none" / "deep")
    listing = "\n".join(f"{path.name} {len(path.read_bytes())}" for path in files)
    assert job.corpus == hashlib.sha256(listing.encode()).hexdigest()[:16]
    assert replace(job, files=(files[0],)).corpus != job.corpus == SurveyJob("other", tuple(files)).corpus
    with pytest.raises(CorpusError, match=r"There is no file .*c\.txt"):
        _ = SurveyJob("reader", (tmp_path / "c.txt",)).corpus
