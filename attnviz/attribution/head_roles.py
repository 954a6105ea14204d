"""What heads of a decoder are known to do, measured on random tokens that stand twice and sentences that ask for a name."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.roles import PERIOD, ROLES, HeadRoles, random_scores
from attnviz.attribution.why import copied
from attnviz.core.errors import cancellation_point
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.models.hub.hub_model import n_pieces
from attnviz.models.hub.single_stack import Writer

SEED, SEQUENCES = 0, 8
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
        yield weights, len(attention.keys) - 2 * period


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
