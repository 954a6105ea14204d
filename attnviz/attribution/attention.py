"""Ways that ask the attention weights: what the output's positions looked at, straight or through the layers."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from attnviz.attribution.bound_target import Place, Reading
from attnviz.attribution.flow import max_flow
from attnviz.attribution.passes.tape import Attention, AttentionTape
from attnviz.core.errors import ModelError

# Attentions differ in size: no two of a list need have as many queries.
Matrix = np.ndarray
Relevance = Float[np.ndarray, " position"]
# Abnar & Zuidema 2020, section 3: half of each step is the residual connection.
RESIDUAL = 0.5
MOST_FLOW_TOKENS = 64


@dataclass(frozen=True, eq=False)
class Mixing:
    """How one attention mixes positions: each row of `rows` says of what an asking position then consists, and sums to 1."""

    place: Place
    rows: Float[np.ndarray, "query position"]


def recorded(reading: Reading) -> tuple[Attention, ...]:
    """Run the model once, and keep what its attentions did.

    Raises:
        ModelError: the model computes its attention in a way that cannot be followed.
    """
    with AttentionTape() as tape, torch.no_grad():
        reading.run(reading.ids[None])
    return checked(tape, reading)


def checked(tape: AttentionTape, reading: Reading) -> tuple[Attention, ...]:
    """Hold what was recorded against where the attentions are known to stand.

    Raises:
        ModelError: the model computes its attention in a way that cannot be followed.
    """
    shapes = [(place.queries.stop - place.queries.start, place.keys.stop - place.keys.start) for place in reading.places]
    if shapes != [tuple(each.weights.shape[2:]) for each in tape.attentions]:
        raise ModelError("This model computes its attention in a way that cannot be followed: choose another way of asking.")
    return tuple(tape.attentions)


def head_weights(reading: Reading, kind: str, layer: int, head: int) -> np.ndarray:
    """What one head gives each token, seen from the output's positions.

    Raises:
        ModelError: there is no such head.
    """
    pairs = [
        (place, _array(attention.weights[0, head]))
        for attention, place in zip(recorded(reading), reading.places, strict=True)
        if (place.kind, place.layer) == (kind, layer) and _asks(reading, place) and head < attention.weights.shape[1]
    ]
    if pairs:
        return _seen(reading, pairs)
    raise ModelError(f"The output is not read from a head L{layer}·H{head} of the {kind} attention: choose another head.")


def last_layer(reading: Reading) -> np.ndarray:
    """The mean over heads of the last layer through which the output's positions look at the whole text."""
    pairs = [pair for pair in _means(reading) if _asks(reading, pair[0])]
    if not pairs:
        raise ModelError("The output's positions look at no token of the text: choose another way of asking.")
    widest = max(place.keys.stop - place.keys.start for place, _ in pairs)
    wide = [pair for pair in pairs if pair[0].keys.stop - pair[0].keys.start == widest]
    # An LSTM's steps are all of one layer.
    return _seen(reading, [pair for pair in wide if pair[0].layer == wide[-1][0].layer and pair[0].kind == wide[-1][0].kind])


def mean_of_layers(reading: Reading) -> np.ndarray:
    """The mean over heads and layers of what the output's positions look at."""
    return _seen(reading, [pair for pair in _means(reading) if _asks(reading, pair[0])])


def received(reading: Reading) -> np.ndarray:
    """Attention that a token receives: the mean over queries, heads and layers."""
    total, count = np.zeros(reading.n_positions), np.zeros(reading.n_positions)
    for place, weights in _means(reading):
        total[place.keys] += weights.sum(axis=0)
        count[place.keys] += len(weights)
    return (total / np.maximum(count, 1))[: len(reading.tokens)]


def mixings(reading: Reading) -> list[Mixing]:
    """0.5 A + 0.5 I of every attention, heads averaged (Abnar & Zuidema 2020, arXiv:2005.00928, section 3).

    Raises:
        ModelError: its attentions do not stand on each other in layers.
    """
    check_layered(reading)
    made = []
    for place, weights in _means(reading):
        rows = np.zeros((len(weights), reading.n_positions))
        rows[:, place.keys] = (1 - RESIDUAL) * weights
        rows[np.arange(len(weights)), np.arange(place.queries.start, place.queries.stop)] += RESIDUAL
        made.append(Mixing(place, rows))
    return made


def rolled_out(reading: Reading, steps: list[Mixing]) -> np.ndarray:
    """Follow the output's positions down through all layers: the product of the layers' mixings."""
    relevance = asked(reading)
    for step in reversed(steps):
        asking = relevance[step.place.queries].copy()
        relevance[step.place.queries] = 0
        relevance += asking @ step.rows
    return relevance[: len(reading.tokens)]


def rollout(reading: Reading) -> np.ndarray:
    """Attention rollout: Π_l (0.5 A_l + 0.5 I), Abnar & Zuidema 2020, section 3."""
    return rolled_out(reading, mixings(reading))


def flow(reading: Reading) -> np.ndarray:
    """Attention flow: the most that can flow from the output's positions down to a token, weights being the pipes' widths.

    Raises:
        ModelError: the text is too long for it.
    """
    if reading.n_positions > MOST_FLOW_TOKENS:
        raise ModelError(
            f"Flow is computed for at most {MOST_FLOW_TOKENS} tokens, and here are {reading.n_positions}: type less."
        )
    steps = [(step.place.queries, step.rows) for step in mixings(reading)]
    return max_flow(steps, asked(reading))[: len(reading.tokens)]


def gradient_weighted(reading: Reading) -> np.ndarray:
    """R ← R + E_h[(∇A ⊙ A)⁺] R, layer by layer (Chefer et al. 2021, arXiv:2103.15679, equations 5 and 6)."""
    vectors = reading.embedded()[None].requires_grad_()
    with torch.enable_grad():
        with AttentionTape() as tape:
            score = reading.outcome_of(vectors).score.sum()
        attentions = checked(tape, reading)
        gradients = torch.autograd.grad(score, [each.given for each in attentions], allow_unused=True)
    relevance = np.eye(reading.n_positions)
    for attention, gradient, place in zip(attentions, gradients, reading.places, strict=True):
        if gradient is None:
            continue  # the last layer's rows that the output does not read
        weighted = _array((attention.weights * gradient.view_as(attention.weights))[0].clamp(min=0).mean(dim=0))
        relevance[place.queries] += weighted @ relevance[place.keys]
    return (asked(reading) @ (relevance - np.eye(reading.n_positions)))[: len(reading.tokens)]


def check_layered(reading: Reading) -> None:
    """Stop where there are no layers of attention to follow.

    Raises:
        ModelError: its attentions do not stand on each other in layers.
    """
    if not reading.layered:
        raise ModelError(
            "This model reads word after word with an LSTM below its attention: there are no layers of it to follow."
        )


def _means(reading: Reading) -> list[tuple[Place, Matrix]]:
    return [
        (place, _array(attention.weights[0].mean(dim=0)))
        for place, attention in zip(reading.places, recorded(reading), strict=True)
    ]


def asked(reading: Reading) -> Relevance:
    """The positions from which the output is read, with their weight; 0 elsewhere."""
    relevance = np.zeros(reading.n_positions)
    for position, weight in reading.asking.items():
        relevance[position] = weight
    return relevance


def _asks(reading: Reading, place: Place) -> bool:
    inside = range(place.queries.start, place.queries.stop)
    return any(position in inside for position in reading.asking) and place.keys.start < len(reading.tokens)


def _seen(reading: Reading, pairs: list[tuple[Place, Matrix]]) -> np.ndarray:
    """The mean over some attentions of the rows from which the output is read."""
    asking, total, weight = asked(reading), np.zeros(reading.n_positions), 0.0
    for place, weights in pairs:
        total[place.keys] += asking[place.queries] @ weights
        weight += asking[place.queries].sum()
    return total[: len(reading.tokens)] / weight


def _array(values: torch.Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()
