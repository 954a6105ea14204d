"""What every model that answers must keep, ours and the hub's: the answer is text[start:end], found among all legal pairs."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering

import attnviz
from attnviz.core.edits import Edits
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import silent
from attnviz.models.capabilities import bind_target
from attnviz.models.hub.single_stack import HubAnswerer
from attnviz.models.question_answering import SpanFinder, span_outcome
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.shipped_models import load_trained
from attnviz.models.span_decoding import SpanDecoding
from tests.answerers import tiny_answerer, tiny_hub_answerer
from tests.tiny import first_now, tokenizer

MAKERS: dict[str, Callable[[Path], object]] = {
    "joint": lambda folder: tiny_answerer(folder),
    "dual": lambda folder: tiny_answerer(folder, joint=False),
    **{name: (lambda folder, name=name: tiny_hub_answerer(folder, name)) for name in ("bert", "distilbert", "mpnet", "xlnet")},
}
OURS = ("joint", "dual")
QUESTION = "What was too tired?"
PASSAGES = (
    "The animal ran to the street because it was tired.",
    "the cat, the cat and the cat 😀👩‍👩‍👧 ran 😀",
    "نام القط على الحصيرة. the dog ran.",
    "the mat\r\nwas\r\n\r\non   the street\tand tired.",
)
LONG = "the cat sat on the mat . a dog ran to the street because it was too tired ! " * 7


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SpanFinder]:
    actual = {}
    for name, make in MAKERS.items():
        folder = tmp_path_factory.mktemp("models") / name
        make(folder)
        actual[name] = load_trained(folder, silent) if name in OURS else attnviz.load(str(folder))
    return actual


by_name = pytest.mark.parametrize("name", MAKERS)


@by_name
@pytest.mark.parametrize("passage", first_now(PASSAGES, 2))
def test_the_answer_is_the_text_between_its_offsets(name: str, passage: str, models: dict[str, SpanFinder]) -> None:
    model = models[name]
    assert isinstance(model, SpanFinder)
    actual = model.answers(Prompt(passage, question=QUESTION))
    places = [(actual.tokens[span.start].start, actual.tokens[span.end].end) for span in actual.result.spans]
    assert [actual.text(span) for span in actual.result.spans] == [passage[start:end] for start, end in places]
    # Repeated words are told apart by where they stand.
    assert all(one[1] <= two[0] or two[1] <= one[0] for one, two in itertools.combinations(places, 2))
    assert actual.trace.output == ("" if actual.declined else passage[slice(*places[0])])
    for attention in actual.trace.maps:
        for layer in range(attention.n_layers):
            weights = attention.layer_weights(layer)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
            assert not weights[:, ~attention.visible(layer)].any()


@by_name
def test_probabilities_are_those_of_all_legal_pairs_tried_one_by_one(name: str, models: dict[str, SpanFinder]) -> None:
    actual = models[name].answers(Prompt(PASSAGES[0], question=QUESTION))
    logits, n_tokens = actual.result.logits, len(actual.tokens)
    limit, penalty = actual.decoding.limit, actual.decoding.length_penalty
    pairs = {
        (start, end): float(logits.start[start]) + float(logits.end[end]) - penalty * (end - start)
        for start in range(n_tokens)
        for end in range(start, min(start + limit + 1, n_tokens))
    }
    total = sum(np.exp(value) for value in pairs.values()) + np.exp(logits.nothing)
    best = actual.result.spans[0]
    assert (best.start, best.end) == max(pairs, key=lambda pair: pairs[pair])
    assert best.probability == pytest.approx(np.exp(pairs[best.start, best.end]) / total)
    for index in range(n_tokens):
        starts = sum(np.exp(value) for (start, _), value in pairs.items() if start == index)
        ends = sum(np.exp(value) for (_, end), value in pairs.items() if end == index)
        assert actual.result.start[index] == pytest.approx(starts / total)
        assert actual.result.end[index] == pytest.approx(ends / total)
    assert actual.result.start.sum() + actual.result.nothing == pytest.approx(1)
    assert actual.result.nothing == pytest.approx(np.exp(logits.nothing) / total)


@by_name
@pytest.mark.parametrize("passage", first_now(PASSAGES[:3]))
def test_no_answer_can_be_explained_and_is_what_is_explained_where_a_model_declines(
    name: str, passage: str, models: dict[str, SpanFinder]
) -> None:
    prompt = Prompt(passage, question=QUESTION)
    model = models[name]
    result = model.answers(prompt)
    assert list(model.targets(prompt)) == (["unanswered", "answer"] if result.declined else ["answer", "unanswered"])
    assert bind_target(model, prompt).target.startswith("the passage" if result.declined else "the answer")
    bound = bind_target(model, prompt, "unanswered")
    outcome = bound.outcome(bound.ids[None])
    nothing = result.result.nothing
    assert float(outcome.log_probability) == pytest.approx(np.log(nothing), abs=1e-4)
    assert float(outcome.score) == pytest.approx(np.log(nothing) - np.log1p(-nothing), abs=1e-4)
    # No word belongs to it: each can be taken.
    assert bound.fixed == {place for place, token in enumerate(bound.tokens) if token.special}
    assert sum(bound.readout.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in OURS])
def test_a_model_of_the_hub_says_what_transformers_says(name: str, tmp_path: Path) -> None:
    model = tiny_hub_answerer(tmp_path, name)
    traced = attnviz.load(str(tmp_path))
    assert isinstance(traced, HubAnswerer)
    actual = traced.answers(Prompt(PASSAGES[0], question=QUESTION))
    encoded = tokenizer()(QUESTION, PASSAGES[0], return_tensors="pt")
    accepted = {key: ids for key, ids in encoded.items() if key in traced.accepts}
    with torch.no_grad():
        outputs = model(**accepted, output_attentions=True)
    mine = [index for index, owner in enumerate(encoded.encodings[0].sequence_ids) if owner == 1]
    np.testing.assert_allclose(actual.result.logits.start, outputs.start_logits[0, mine], atol=1e-5)
    np.testing.assert_allclose(actual.result.logits.end, outputs.end_logits[0, mine], atol=1e-5)
    assert actual.result.logits.nothing == pytest.approx(float(outputs.start_logits[0, 0] + outputs.end_logits[0, 0]), abs=1e-5)
    encoder = actual.trace.encoder
    for layer, wanted in enumerate(outputs.attentions or ()):
        np.testing.assert_allclose(encoder.layer_weights(layer), wanted[0], atol=1e-5)
    assert [index for index, token in enumerate(encoder.keys) if token.segment == 1 and not token.special] == mine
    # In hand, it answers the same.
    wrapped = attnviz.wrap(AutoModelForQuestionAnswering.from_pretrained(tmp_path), tokenizer())
    assert wrapped.trace(Prompt(PASSAGES[0], question=QUESTION)).output == actual.trace.output


def test_a_tokenizer_without_a_token_for_no_answer_leaves_answers_that_can_be_explained(tmp_path: Path) -> None:
    read = tokenizer()
    read.cls_token = None
    model = attnviz.wrap(tiny_hub_answerer(tmp_path), read)
    prompt = Prompt(PASSAGES[0], question=QUESTION)
    assert isinstance(model, HubAnswerer)
    assert list(model.targets(prompt)) == ["answer"]
    bound, best = bind_target(model, prompt), model.answers(prompt).result.spans[0]
    assert float(bound.outcome(bound.ids[None]).log_probability.exp()) == pytest.approx(best.probability, abs=1e-5)
    with pytest.raises(ModelError, match="no answer that the passage does not say"):
        bind_target(model, prompt, "unanswered")


@pytest.mark.parametrize("name", OURS)
def test_a_model_of_ours_shows_the_weights_of_its_forward_pass(name: str, models: dict[str, SpanFinder]) -> None:
    model = models[name]
    assert isinstance(model, AnswerModel)
    read = model.encoder.tokenizer
    actual = model.answers(Prompt(PASSAGES[0], question=QUESTION))
    question, context = (torch.tensor([read(text)["input_ids"]]) for text in (QUESTION, PASSAGES[0]))
    skip = 0 if name == "dual" else 1
    context = context[:, skip:]
    with torch.no_grad():
        start, _, weights = model.answerer(question, context, question_visible=question > 0, context_visible=context > 0)
    np.testing.assert_allclose(actual.result.logits.start, start[0, 1 - skip : -1], atol=1e-5)
    cross = actual.trace.cross
    for layer, wanted in enumerate(weights):
        np.testing.assert_allclose(cross.layer_weights(layer), wanted[0], atol=1e-5)
    assert [token.text for token in cross.keys] == ["[CLS]", "What", "was", "too", "tired", "?", "[SEP]"]
    assert all(token.segment == 1 for token in cross.queries)


def test_read_apart_the_two_texts_cannot_look_at_each_other(models: dict[str, SpanFinder]) -> None:
    prompt = Prompt(PASSAGES[0], question=QUESTION)
    apart, together = (models[name].trace(prompt).encoder for name in ("dual", "joint"))
    own = np.array([token.segment for token in apart.keys])
    across = own[:, None] != own[None, :]
    assert not apart.visible(0)[across].any()
    assert not apart.layer_weights(5)[:, across].any()
    assert together.visible(0).all()
    # Each side is what the encoder makes of it alone.
    alone = models["dual"].trace(Prompt(PASSAGES[0])).encoder
    n_asking = int((own == 0).sum())
    np.testing.assert_allclose(apart.layer_weights(5)[:, n_asking:, n_asking:], alone.layer_weights(5), atol=1e-5)


@by_name
def test_a_long_passage_is_found_in_its_windows(name: str, models: dict[str, SpanFinder]) -> None:
    """A token's logits are those of the window, read alone, in which it stands farthest from an edge."""
    model, prompt = models[name], Prompt(LONG, question=QUESTION)
    if isinstance(model, HubAnswerer):
        # XLNet reads a text of any length.
        model = replace(model, card=replace(model.card, max_tokens=min(61, model.card.max_tokens)))
    actual = model.answers(prompt)
    windows = actual.result.windows
    assert len(windows) > 3
    assert windows[-1].stop == len(actual.tokens)
    place = windows[1].start + windows[1].size // 2
    window = max(windows, key=lambda each: min(place - each.start, each.stop - 1 - place))
    part = LONG[actual.tokens[window.start].start : actual.tokens[window.stop - 1].end]
    alone = model.answers(Prompt(part, question=QUESTION))
    assert len(alone.result.windows) == 1
    assert actual.result.logits.start[place] == pytest.approx(float(alone.result.logits.start[place - window.start]), abs=1e-4)
    best, shown = actual.result.spans[0], actual.trace.maps[-1].queries
    offsets = [token.start for token in shown if not token.special and token.segment == 1]
    assert actual.tokens[best.start].start in offsets
    assert actual.trace.prompt.text == LONG


@by_name
@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Prompt("the cat sat"), "There is no question yet"),
        (Prompt("the cat sat", question="\u200b\ufeff"), "There is no question yet"),
        (Prompt("\u200d", question=QUESTION), "finds nothing to read in this passage|no word in this passage"),
        (Prompt("the cat", question="what was the cat " * 99), "ask in fewer words"),
        (Prompt("word " * 100_000, question=QUESTION), "paste the part that the question is about"),
    ],
    ids=["no question", "invisible", "no passage", "long question", "long passage"],
)
def test_what_cannot_be_answered_is_one_sentence(
    name: str, prompt: Prompt, message: str, models: dict[str, SpanFinder]
) -> None:
    model = models[name]
    assert isinstance(model, SpanFinder)
    with pytest.raises(PromptError, match=message) as caught:
        model.answers(prompt)
    assert "\n" not in str(caught.value)


@by_name
def test_a_question_may_be_longer_than_the_passage_and_a_text_needs_none(name: str, models: dict[str, SpanFinder]) -> None:
    actual = models[name].answers(Prompt("tired", question=f"{QUESTION} {QUESTION}"))
    assert actual.text(actual.result.spans[0]) in "tired"
    assert models[name].trace("the cat sat").kinds == ("encoder",)


def test_a_threshold_decides_whether_the_passage_says(models: dict[str, SpanFinder]) -> None:
    model, prompt = models["joint"], Prompt(PASSAGES[0], question=QUESTION)
    assert isinstance(model, AnswerModel)
    nothing = model.answers(prompt).result.nothing
    for threshold, declined in ((nothing + 1e-3, False), (nothing - 1e-3, True)):
        actual = replace(model, decoding=replace(model.decoding, declines_above=threshold)).answers(prompt)
        assert actual.declined is declined
        assert bool(actual.trace.output) is not declined
        assert actual.result.spans
        # What is scored under edits is what the model says.
        scorer = replace(model, decoding=replace(model.decoding, declines_above=threshold)).scorer(prompt)
        said = nothing if declined else actual.result.spans[0].probability
        assert scorer.scores([Edits()])[0] == pytest.approx(np.log(said), abs=1e-5)


def test_a_shallow_encoder_has_only_its_own_layers(tmp_path: Path) -> None:
    model = load_trained(tiny_answerer(tmp_path / "it", joint=False, depth=3), silent)
    trace = model.trace(Prompt(PASSAGES[0], question=QUESTION))
    assert (model.card.n_layers, trace.encoder.n_layers, trace.cross.n_layers) == (3, 3, 2)


def test_only_what_training_changed_is_in_a_folder(tmp_path: Path) -> None:
    model = load_trained(tiny_answerer(tmp_path / "it"), silent)
    changed = model.encoder.model.encoder.layer[2].output.LayerNorm.bias
    assert float(changed.abs().max()) > 0.1
    assert model.card.parameters == sum(parameter.numel() for parameter in model.answerer.parameters())
    assert model.card.metrics == {"EM": 12.5, "F1": 25.0}


def test_no_answer_has_a_gradient_in_a_passage_that_is_shorter_than_an_answer_may_be():
    never = -torch.inf
    start = torch.tensor([[never, never, 0.5, -1.0]], requires_grad=True)
    end = torch.tensor([[never, never, 0.2, 1.5]])
    outcome = span_outcome(start, end, None, SpanDecoding(), torch.zeros(1))
    (gradient,) = torch.autograd.grad(outcome.score.sum(), start)
    # Of the three legal spans each start's part of the probability, which no answer loses.
    odds = {(2, 2): np.exp(0.7), (2, 3): np.exp(2.0), (3, 3): np.exp(0.5)}
    parts = [sum(each for (first, _), each in odds.items() if first == place) / sum(odds.values()) for place in range(4)]
    np.testing.assert_allclose(gradient[0], [-part for part in parts], atol=1e-6)
    assert outcome.score.item() == pytest.approx(-np.log(sum(odds.values())))
