"""What heads of a decoder are known to do, measured on random tokens that stand twice and sentences that ask for a name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnviz.analysis.heads.roles import PERIOD, ROLES, HeadRoles, random_scores
from attnviz.attribution.decoder_layers import (
    Reading,
    Streams,
    Watch,
    noted,
    stream_given,
    tensor_of,
    watching_pass,
    with_states,
    with_tensor,
)
from attnviz.attribution.recorded_pass import as_array
from attnviz.core.errors import cancellation_point
from attnviz.core.trace import Token
from attnviz.core.why import ComparedWords
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.models.hub.hub_model import TracedModel, n_pieces
from attnviz.models.hub.single_stack import Writer
from attnviz.text.tokens import Encoded

# As many as sentences with names: of fewer texts a sign test is not sure enough among all heads of a large model.
SEED, SEQUENCES = 0, 20
# A head copies a token that is among so many likeliest ones.
TOP = 5
_NAMES = (
    "Mary", "John", "James", "Anna", "Tom", "Sarah", "Paul", "Laura", "David", "Emma", "Mark", "Lisa", "Peter", "Kate",
    "George", "Alice", "Henry", "Jane", "Robert", "Susan",
)  # fmt: skip
# The indirect object's name stands once, the subject's twice (Wang et al. 2023, section 2).
SENTENCES = (
    "When {io} and {s} went to the store, {s} gave a drink to",
    "After {s} and {io} had lunch at school, {s} handed the book to",
    "While {io} and {s} were working at the office, {s} sent a letter to",
    "Then {s} and {io} had a long talk, and {s} gave a ring to",
    "Friends {io} and {s} found a ball in the garden, and {s} threw it to",
)


def head_roles(model: AttentionModel, progress: Progress = silent) -> HeadRoles:
    """Score every head of a decoder as the papers do: previous token, duplicate token, induction, name mover, sink.

    A head is named after a role where its score is .3 or more, and five points above the best head of the same model untrained,
    in a test corrected for multiple tests (Holm 1979).

    Raises:
        ModelError: the model is no decoder that names the next token, or its layers are no list.
    """
    writer = capabilities(model).writer()
    scores = []
    for weights, start in _on_random_tokens(writer):
        scores.append(weights_scores(weights, start))
        progress(f"{model.card.name} reads random tokens", len(scores) / SEQUENCES)
    # The roles that random tokens ask for, and the one that sentences ask for.
    mover = ROLES.index("name mover")
    for each in scores:
        each[mover] = np.nan
    sentences = list(_sentences())
    encoded = [writer.read(text) for text, _ in sentences]
    places = [_place_of(each.tokens, text.index(name)) for each, (text, name) in zip(encoded, sentences, strict=True)]
    made = copied(writer.model, encoded, places, progress)
    for number in range(len(sentences)):
        asked = np.full_like(scores[0], np.nan)
        asked[mover] = made.looks[..., number] * made.copies[..., number]
        scores.append(asked)
    return HeadRoles(model.card.name, np.stack(scores), _untrained(model), made.copies.mean(axis=2))


def weights_scores(weights: Float[np.ndarray, "layer head query key"], start: int) -> Float[np.ndarray, "role layer head"]:
    """Score every head of every layer on random tokens that stand twice."""
    return np.stack([random_scores(layer, start) for layer in weights], axis=1)


def _on_random_tokens(writer: Writer) -> Iterator[tuple[Float[np.ndarray, "layer head query key"], int]]:
    """Give the weights over random tokens that stand twice, and how many special ones stand before them."""
    model, dice = writer.model, np.random.default_rng(SEED)
    count = n_pieces(model.model) or len(model.tokenizer)
    # Of a vocabulary that training made, the first pieces are the commonest and the last hardly ever read.
    known = np.setdiff1d(np.arange(count // 20, count // 2), model.tokenizer.all_special_ids)
    period = min(PERIOD, len(known), (model.card.max_tokens - 2) // 2)
    for _ in range(SEQUENCES):
        cancellation_point()
        ids = dice.choice(known, period, replace=False).tolist()
        attention = writer.attention_of([*ids, *ids])
        weights = np.stack([attention.layer_weights(layer) for layer in range(attention.n_layers)])
        yield weights, len(attention.queries) - 2 * period


def _untrained(model: AttentionModel) -> Float[np.ndarray, "role layer head"] | None:
    """Score the same model with random weights; it copies nothing."""
    blank = capabilities(model).untrained(SEED)
    if blank is None:
        return None
    return np.mean([weights_scores(*each) for each in _on_random_tokens(capabilities(blank).writer())], axis=0)


def _sentences() -> Iterator[tuple[str, str]]:
    """Give sentences that ask for a name, with that name; each name is asked for once."""
    for number, name in enumerate(_NAMES):
        other = _NAMES[number ^ 1]
        yield SENTENCES[number // 2 % len(SENTENCES)].format(io=name, s=other), name


def _place_of(tokens: tuple, character: int) -> int:
    """Find the token that a character is in."""
    return next(place for place, each in enumerate(tokens) if not each.special and each.start <= character < each.end)


# ---- what heads copy


@dataclass(frozen=True, eq=False)
class Copied:
    """Of a token of each text: the weight that the last token gives it, and whether what a head would write of it is it."""

    looks: Float[np.ndarray, "layer head text"]
    copies: Bool[np.ndarray, "layer head text"]


def copied(model: TracedModel, texts: Sequence[Encoded], places: Sequence[int], progress: Progress = silent) -> Copied:
    """Find what each head would write of a token of each text if it looked at that alone, and how the last one looks at it.

    What is written is taken from the stream behind the first layer, through the head's value and output matrices, the last
    norm and the layer on top: the head copies a token that is among the five likeliest then (Wang et al. 2023, section 3.1).

    Raises:
        ModelError: the model's layers are not a list of their own, or it names no next token.
    """
    writer, layers, n_heads = capabilities(model).writer(), model.layers(model.kind), model.card.n_heads
    readings = [Reading(writer, tuple(each.inputs["input_ids"]), each.tokens, (0,), ComparedWords("")) for each in texts]
    targets = [reading.ids[place] for reading, place in zip(readings, places, strict=True)]
    looks, copies = (np.zeros((model.card.n_layers, n_heads, len(texts)), dtype) for dtype in (float, bool))
    values: list[list[Tensor]] = [[] for _ in layers]
    for number, (reading, place) in enumerate(zip(readings, places, strict=True)):
        cancellation_point()
        streams, _ = noted(reading)
        started = _Started(streams.stream(min(1, len(streams.entered) - 1)))
        with model.computing(), torch.inference_mode():
            with watching_pass(Watch(), n_heads) as tape:
                reading.logits()
            with watching_pass(started, n_heads) as restarted:
                reading.logits()
        for index, layer in enumerate(layers):
            looks[layer, :, number] = as_array(tape.last_row(index)[0][:, place])
            values[index].append(restarted.last_row(index)[1][:, place])
    # What is written does not depend on where: the tokens of all texts stand one behind another.
    row = Reading(writer, tuple(targets), tuple(Token("", 0, 0) for _ in targets), (0,), ComparedWords(""))
    streams, _ = noted(row)
    for index, layer in enumerate(layers):
        cancellation_point()
        alone = _Alone(streams, layer, torch.stack(values[index], dim=1))
        with model.computing(), torch.inference_mode(), watching_pass(alone, n_heads):
            logits = model.model(**row.inputs(n_heads + 1)).logits[:-1]
        ids = torch.tensor(targets, device=logits.device).expand(n_heads, -1)[..., None]
        copies[layer] = ((logits > logits.gather(2, ids)).sum(dim=-1) < TOP).cpu().numpy()
        progress(f"{model.card.name}: what heads of layer {layer} copy", (index + 1) / len(values))
    return Copied(looks, copies)


@dataclass(eq=False)
class _Started(Watch):
    """Lets every layer but the first read one stream, so that its values are those of that stream."""

    stream: Tensor

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute a layer of the stream."""
        if number:
            given, named = with_states(self.stream, given, named)
        return forward(*given, **named)


@dataclass(eq=False)
class _Alone(Watch):
    """Ends with what the heads of a layer write of each value, one head a row; less what the last row has, which has none."""

    streams: Streams
    number: int
    values: Float[Tensor, "head key dim"]
    written: Tensor | None = None

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute that layer alone; put what was written in the place of what the last one gives."""
        output = self.streams.left[number]
        if number == self.number:
            states = self.streams.entered[number].expand(len(self.values) + 1, -1, -1)
            given, named = with_states(states, given, named)
            made = tensor_of(forward(*given, **named))
            self.written = made - made[-1:]
        if number == len(self.streams.left) - 1 and self.written is not None:
            return with_tensor(self.written, output)
        return output

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Add nothing."""
        output = forward(*given, **named)
        stream = stream_given(tensor_of(output), given, named)
        return with_tensor(torch.zeros_like(tensor_of(output)) if stream is None else stream, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Let each row have the values of one head, as if every token looked at itself alone."""
        alone = torch.zeros_like(context)
        for head, value in enumerate(self.values):
            alone[head, head] = value
        return alone
