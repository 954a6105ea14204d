"""Maps made by hand, for tests that need no model."""

from collections.abc import Sequence

import numpy as np

from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Kind, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer

# What a person may type that a picture must show as typed.
HOSTILE = (
    "<script>x()</script>", "</script>", "</span>", "'><img src=x onerror=x>", "<!--", "<s>", "a&b",
    "&lt;", '"', "\\", "'", "مرحبا", "🙂", "中文", "%{z}", "$x$", "PYTHON_PARAMS", "the", "the",
)  # fmt: skip


def typed(text: str, *, segment: int = 0) -> tuple[Token, ...]:
    """The tokens of a text, its words cut where it has a bar: "un|believ|able cat"."""
    tokens, position = [], 0
    for number, word in enumerate(text.split()):
        for part in word.split("|"):
            tokens.append(Token(part, position, position + len(part), segment=segment, word=number))
            position += len(part)
        position += 1
    return tuple(tokens)


def special(name: str, *, segment: int = 0) -> Token:
    return Token(name, 0, 0, special=True, segment=segment)


def sentence(text: str) -> tuple[Token, ...]:
    """[CLS] text [SEP]"""
    return (special("[CLS]"), *typed(text), special("[SEP]"))


def pair(first: str, second: str) -> tuple[Token, ...]:
    """[CLS] first [SEP] second [SEP]"""
    return (*sentence(first), *typed(second, segment=1), special("[SEP]", segment=1))


def numbered(count: int) -> tuple[Token, ...]:
    return typed(" ".join(f"t{index}" for index in range(count)))


def make_map(
    queries: Sequence[Token], keys: Sequence[Token] | None = None, *, layers: int = 2, heads: int = 3, causal: bool = False
) -> AttentionMap:
    """Random weights; with keys of their own, between two texts."""
    kind: Kind = "decoder" if causal else "encoder" if keys is None else "cross"
    shape = (layers, heads, len(queries), len(keys or queries))
    weights = np.random.default_rng(7).random(shape) ** 3 * (np.tri(*shape[2:]) if causal else 1)
    weights /= weights.sum(axis=-1, keepdims=True)
    return AttentionMap(kind, tuple(queries), tuple(keys or queries), DenseWeights(tuple(weights)), causal=causal)


def given_map(weights: Sequence, queries: Sequence[Token], keys: Sequence[Token] | None = None) -> AttentionMap:
    """One head with these weights; with keys of their own, between two texts."""
    kind: Kind = "encoder" if keys is None else "cross"
    return AttentionMap(kind, tuple(queries), tuple(keys or queries), DenseWeights((np.array([weights], dtype=float),)))


def dot_product_map(
    queries: Sequence[Token],
    *,
    heads: int = 6,
    key_heads: int = 3,
    dim: int = 5,
    layers: int = 2,
    kind: Kind = "decoder",
    **options,
) -> AttentionMap:
    """Random queries and keys; options are those of a `QueryKeyLayer`. A sink gets a key of its own."""
    generator = np.random.default_rng(11)
    stack = []
    for _ in range(layers):
        query = generator.normal(size=(heads, len(queries), dim))
        key = generator.normal(size=(key_heads, len(queries), dim))
        stack.append(QueryKeyLayer(query, key, **({"scaling": 0.7} | options)))
    keys = (*queries, special("sink")) if options.get("sink") is not None else tuple(queries)
    return AttentionMap(kind, tuple(queries), keys, QueryKeyWeights(tuple(stack)), causal=options.get("causal", False))


def assert_same(got: AttentionTrace, want: AttentionTrace, *, tolerance: float = 0.0) -> None:
    """Hold all that a trace says, and its weights, against another's."""
    for name in ("model", "revision", "prompt", "output", "cut", "cut_pair", "kinds"):
        assert getattr(got, name) == getattr(want, name), name
    for one, other in zip(got.maps, want.maps, strict=True):
        assert (one.queries, one.keys, one.causal) == (other.queries, other.keys, other.causal)
        for layer in range(other.n_layers):
            np.testing.assert_array_equal(one.visible(layer), other.visible(layer))
            np.testing.assert_allclose(one.layer_weights(layer), other.layer_weights(layer), rtol=0, atol=tolerance)
