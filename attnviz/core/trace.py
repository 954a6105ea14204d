"""The values that cross every border: what was typed, its tokens, and who attended to whom.

Models make an `AttentionTrace`; analysis, figures, export and pages read it. Every value here is immutable and is checked
when it is built, so that a bad one cannot exist. Query stands before key, layer before head, everywhere.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ArgumentError, PromptError, TraceError, described, is_unicode, shortened
from attnviz.core.sampling import Continuation
from attnviz.core.weights import (
    KINDS,
    ROW_SUM_TOLERANCE,
    DenseWeights,
    Kind,
    LayerWeights,
    QueryKeyWeights,
    Slab,
    Weights,
    WeightStore,
    frozen,
    layers_of_heads,
    rounding_of,
)

# Of a chat, each with its "role" and its "content".
Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Prompt:
    """What a person typed. The model's card says which of the optional fields it reads.

    language  the one of many that a model is to write, as its card names it, such as "deu_Latn"; None: the model's own choice

    Raises:
        PromptError: the text is blank, or a field holds something that is not text.

    >>> Prompt("The cat sat.").text
    'The cat sat.'
    """

    text: str
    pair: str | None = None
    question: str | None = None
    target: str | None = None
    language: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("text", "pair", "question", "target", "language"):
            value = getattr(self, name)
            if value is None and name != "text":
                continue
            if not isinstance(value, str):
                raise PromptError(f"The {name} of a Prompt is a str, not {described(value)}: give it the text itself.")
            if not value.strip():
                if name == "text":
                    raise PromptError("There is nothing to read yet: type a sentence first.")
                object.__setattr__(self, name, None)
            elif "\x00" in value:
                raise PromptError(f"The {name} holds a NUL byte, which is not text: delete it and run again.")
            elif not is_unicode(value):
                raise PromptError(f"The {name} holds half of a character: delete it and run again.")

    @staticmethod
    def of(given: object, chat: Callable[[Messages], str] | None = None) -> "Prompt":
        """Return a prompt as it is, or a text as a prompt: what `trace` of every model takes.

        `chat` writes messages as one text, such as [{"role": "user", "content": "Hello"}], for a model that reads them.

        Raises:
            PromptError: it is neither, or the text is blank.

        >>> Prompt.of("The cat sat.") == Prompt.of(Prompt("The cat sat."))
        True
        """
        if isinstance(given, Prompt):
            return given
        if chat and isinstance(given, list) and given and all(isinstance(each, dict) and "role" in each for each in given):
            return Prompt(chat(given))
        if not isinstance(given, str):
            raise PromptError(f"A model traces a str or a Prompt, not {described(given)}: give it one text at a time.")
        return Prompt(given)


@dataclass(frozen=True)
class Token:
    """One token: a row or a column of a map.

    text     as it stands in the text it came from; of a special token, its name
    start    start:end are character offsets into that text; equal for special tokens
    special  added by the model ([CLS], </s>, …), not typed by the person
    segment  which text it came from: 0 is the first, 1 the second of a pair
    word     number of the word it is part of, within its segment; None: it is a word of its own
    piece    as the model's vocabulary writes it ("##ing", "▁the", "[UNK]"), where that is another text

    Raises:
        TraceError: the text is no text, or the offsets are negative, or end before they start.
    """

    text: str
    start: int
    end: int
    special: bool = False
    segment: int = 0
    word: int | None = None
    piece: str = ""

    def __post_init__(self) -> None:
        if not (is_unicode(self.text) and is_unicode(self.piece)):
            raise TraceError(f"A token's text is whole characters of Unicode, not {described(self.text)}.")
        if not 0 <= self.start <= self.end:
            raise TraceError(f"Token {self.text!r} has the offsets {self.start}:{self.end}.")


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """One stack of heads over one pair of token sequences: queries are the rows, keys the columns.

    Raises:
        TraceError: lengths and axes differ, or causal weights look ahead.

    >>> token = Token("hi", 0, 2)
    >>> AttentionMap("encoder", (token,), (token,), DenseWeights((np.ones((1, 1, 1)),))).weights(0, 0)
    array([[1.]], dtype=float32)
    """

    kind: Kind
    queries: tuple[Token, ...]
    keys: tuple[Token, ...]
    store: WeightStore
    causal: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TraceError(f"A map is of kind {', '.join(KINDS)}, not {self.kind!r}.")
        for axis, tokens, size in zip(("query", "key"), (self.queries, self.keys), self.store.shape, strict=True):
            if len(tokens) != size:
                raise TraceError(
                    f"{self.kind} attention has {size} {axis} positions but {len(tokens)} {axis} tokens; "
                    "keep special tokens when building the map."
                )
        if self.causal:
            self._check_causal()

    def __repr__(self) -> str:
        return f"<AttentionMap {self.kind}: {_sizes(self)}>"

    @property
    def n_layers(self) -> int:
        return self.store.n_layers

    @property
    def n_heads(self) -> int:
        return self.store.n_heads

    @property
    def nbytes(self) -> int:
        """Bytes that the stored weights, or queries and keys, take."""
        return self.store.nbytes

    def weights(self, layer: int, head: int) -> Weights:
        """Read the attention of one head: rows sum to 1, or to 0 where all is masked; masked cells are exactly 0.

        Raises:
            TraceError: there is no such layer or head.
        """
        self._check_index("layer", layer, self.n_layers)
        self._check_index("head", head, self.n_heads)
        return self.store.head(layer, head)

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        """Read the attention of one head, some rows at a time.

        Raises:
            TraceError: there is no such layer or head.
        """
        self._check_index("layer", layer, self.n_layers)
        self._check_index("head", head, self.n_heads)
        return self.store.slabs(layer, head)

    def layer_weights(self, layer: int) -> LayerWeights:
        """Read the attention of all heads of a layer.

        Raises:
            TraceError: there is no such layer.
        """
        self._check_index("layer", layer, self.n_layers)
        return self.store.layer(layer)

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"]:
        """Mark where a query may look at a key; a masked key is not the same as a weight of 0.

        Raises:
            TraceError: there is no such layer.
        """
        self._check_index("layer", layer, self.n_layers)
        visible = self.store.visible(layer)
        if visible is None:
            n_queries, n_keys = self.store.shape
            visible = np.tri(n_queries, n_keys, n_keys - n_queries if self.causal else n_keys, dtype=bool)
        return visible

    @property
    def without_attention(self) -> tuple[int, ...]:
        """Number the layers that mix tokens in another way, such as by a convolution: nothing is visible in them."""
        some = [layer for layer in range(self.n_layers) if (seen := self.store.visible(layer)) is not None and not seen.any()]
        return tuple(some)

    def check_place(self, layer: int, head: int | None) -> None:
        """Check that there is such a layer, and such a head in it; None stands for all of its heads.

        Raises:
            TraceError: there is none.
        """
        self._check_index("layer", layer, self.n_layers)
        if head is not None:
            self._check_index("head", head, self.n_heads)

    def _check_index(self, axis: str, index: int, size: int) -> None:
        if not hasattr(index, "__index__") or isinstance(index, bool):
            raise TraceError(f"A {axis} is a whole number, 0 to {size - 1}, not {described(index)}.")
        if not 0 <= index < size:
            there = f"{size} {axis}s, 0 to {size - 1}" if size > 1 else f"one {axis}, 0"
            raise TraceError(f"{self.kind} attention has {there}; there is no {axis} {index}.")

    def _check_causal(self) -> None:
        # A store of queries and keys masks by construction; given weights have to prove it.
        if not isinstance(self.store, DenseWeights):
            return
        if any(np.triu(layer, k=1 + len(self.keys) - len(self.queries)).any() for layer in self.store.layers):
            raise TraceError("A causal map has weight on a later token.")


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """All that one forward pass of a model showed about one prompt.

    output  the translation, the answer, the kept text, what was written behind the prompt; empty for a plain encoder
    cut     the character at which `prompt.text` was cut because the model reads no more; None: it was read whole
    cut_pair  the same for `prompt.pair`; `is_cut`: either was
    revision  which version of the model it was; empty where it has none
    versions  of the packages that computed a trace that comes from a file, by name; empty: those installed here
    edits    what was changed in the attention while the model read: the weights are those it had then
    continuation  of a language model that wrote on: what comes next at every position; None: it was not asked

    Raises:
        TraceError: there is no map, or two of one kind, a name or the output is no text, or what comes next is of other tokens.
        EditError: something is edited that the maps do not have.
    """

    model: str
    prompt: Prompt
    maps: tuple[AttentionMap, ...]
    output: str = ""
    cut: int | None = None
    cut_pair: int | None = None
    revision: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    edits: Edits = NO_EDITS
    continuation: Continuation | None = None
    # How a notebook shows a trace: attnviz/__init__.py sets it, for the values know of no picture.
    _repr_html_: ClassVar[Callable[..., str]]

    def __post_init__(self) -> None:
        kinds = [attention.kind for attention in self.maps]
        if not kinds or len(set(kinds)) != len(kinds):
            raise TraceError(f"A trace has one map a kind, at least one; got {kinds}.")
        for text in (self.model, self.output, self.revision, *(part for version in self.versions for part in version)):
            if not is_unicode(text):
                raise TraceError(f"Names and output of a trace are whole characters of Unicode, not {described(text)}.")
        if self.continuation and len(self.continuation.pieces) != len(self.maps[-1].queries):
            raise TraceError(f"What comes next is said of {len(self.continuation.pieces)} tokens, not of the last map's.")
        self.edits.check_heads({each.kind: (each.n_layers, each.n_heads) for each in self.maps}, self.model)
        self.edits.check_tokens({each.kind: each.store.shape for each in self.maps})

    def __repr__(self) -> str:
        maps = "; ".join(f"{each.kind}: {_sizes(each)}" for each in self.maps)
        facts = f"{', cut' if self.is_cut else ''}{f', edited {self.edits.text:.80}' if self.edits else ''}"
        return f"<AttentionTrace of {self.model!r:.80}, {shortened(self.prompt.text)}{facts}; {maps}>"

    @property
    def is_cut(self) -> bool:
        """Whether the model read only the beginning of what it was given."""
        return self.cut is not None or self.cut_pair is not None

    @property
    def encoder(self) -> AttentionMap:
        return self.map("encoder")

    @property
    def decoder(self) -> AttentionMap:
        return self.map("decoder")

    @property
    def cross(self) -> AttentionMap:
        return self.map("cross")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(attention.kind for attention in self.maps)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (*self.maps, *filter(None, [self.continuation])))

    def map(self, kind: str) -> AttentionMap:
        """Find the map of that kind.

        Raises:
            TraceError: the trace has no such map; the message names those it has.
        """
        for attention in self.maps:
            if attention.kind == kind:
                return attention
        raise TraceError(f"{self.model} has no {kind} attention; it has {', '.join(self.kinds)}.")


def _sizes(attention: AttentionMap) -> str:
    n_queries, n_keys = attention.store.shape
    sizes = f"{n_queries} quer{'y' if n_queries == 1 else 'ies'}, {n_keys} key{'s' * (n_keys != 1)}"
    return f"{layers_of_heads(attention.n_layers, attention.n_heads)}, {sizes}"


__all__ = [
    "KINDS", "AttentionMap", "AttentionTrace", "DenseWeights", "Kind", "LayerWeights", "Prompt", "QueryKeyWeights", "Token",
    "WeightStore", "Weights",
]  # fmt: skip


Head = tuple[Kind, int, int]
Unit = Literal["nats", "cosine"]


@dataclass(frozen=True, eq=False)
class Shares:
    """One share a token, by one attribution method: positive where the token speaks for the output, negative where against it.

    method  the name of the method, such as "frozen-gradient"
    target  the explained part of the output, in words
    rest    what the model adds whatever was typed (its biases), where shares and rest sum to the score; None: they do not sum

    Raises:
        TraceError: there is not one finite share a token.

    >>> Shares("random", "the answer", (Token("hi", 0, 2),), np.array([0.5])).values
    array([0.5])
    """

    method: str
    target: str
    tokens: tuple[Token, ...]
    values: Float[np.ndarray, " token"]
    rest: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values, np.float64))
        if self.values.shape != (len(self.tokens),):
            raise TraceError(f"{self.method} has shares of shape {self.values.shape} for {len(self.tokens)} tokens.")
        if not np.isfinite(self.values).all():
            raise TraceError(f"{self.method} has shares that are not finite.")


@dataclass(frozen=True, eq=False)
class HeadCosts:
    """What each head's absence costs one output.

    unit    "nats": by how much ln p of the output falls; "cosine": how far the last states turn, 1 - cosine
    before  the score without edits: ln p, or 0
    costs   by kind, of each layer and head; below 0 where the output becomes likelier, NaN where a layer has no attention
    """

    unit: Unit
    before: float
    costs: dict[Kind, Float[np.ndarray, "layer head"]]

    @property
    def ranked(self) -> tuple[Head, ...]:
        """List all heads, the least costly first."""
        heads: list[Head] = [
            (kind, layer, head) for kind, costs in self.costs.items() for layer, head in np.argwhere(~np.isnan(costs)).tolist()
        ]
        return tuple(sorted(heads, key=self.of))

    def of(self, head: Head) -> float:
        """Look up what a head costs."""
        return float(self.costs[head[0]][head[1:]])


@dataclass(frozen=True, eq=False)
class RemovalCurve:
    """What it costs when k heads are off at once, for each k of `counts`.

    least, most  the k heads that cost least, or most, when each is off alone
    random       k heads by chance, draw by draw: a claim about k heads means nothing without it
    """

    counts: tuple[int, ...]
    least: Float[np.ndarray, " count"]
    most: Float[np.ndarray, " count"]
    random: Float[np.ndarray, "draw count"]


# Weights that were printed have so many decimals. Rows that sum to 1 again may not move by more than this share.
_DECIMALS, _MOST_ROUNDED = (2, 3, 4), 0.1
_ASK = 'load it with attn_implementation="eager", and call it with output_attentions=True'
_OUTPUTS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
_SHAPES = {2: "query key", 3: "head query key", 4: "layer head query key", 5: "layer batch head query key"}


def check_trace(value: object) -> None:
    """Stops at what is no trace, such as the result that holds one.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(value, AttentionTrace):
        hint = ": give its `trace`" if isinstance(getattr(value, "trace", None), AttentionTrace) else ""
        raise ArgumentError(f"This takes an attention trace, not {described(value)}{hint}.")


def from_weights(
    weights: Any,
    queries: Sequence[str | Token],
    keys: Sequence[str | Token] | None = None,
    *,
    kind: Kind | None = None,
    model: str = "your model",
) -> AttentionTrace:
    """Make a trace of the weights of any model: after the softmax, one row a query.

    `weights` is (query, key), (head, query, key) or (layer, head, query, key), or a list of layers, each of which may have
    a batch of one before its heads, as Hugging Face models give them. `keys` are the tokens of another text; without them,
    queries look at each other. `kind`, where it is not given, is "cross" where there are keys, else "decoder" where no query
    looks ahead, else "encoder". Weights of sixteen bits, and those printed with two decimals or more, may be off by what
    rounding explains: in the trace their rows sum to 1.

    Raises:
        TraceError: the shape does not fit the tokens, or a row sums neither to 1 nor to 0; the message says which, and why.

    >>> trace = from_weights([[0.25, 0.75], [1.0, 0.0]], queries=["la", "voiture"], keys=["the", "car"])
    >>> trace.cross.weights(0, 0)[0].tolist(), trace.kinds
    ([0.25, 0.75], ('cross',))
    """
    if kind is not None and kind not in KINDS:
        raise TraceError(f"kind is one of {', '.join(KINDS)}, or None, not {described(kind)}.")
    layers, rounding = _layers(weights)
    rows = _tokens(queries)
    columns = rows if keys is None else _tokens(keys)
    if (sizes := layers.shape[2:]) != (len(rows), len(columns)):
        raise TraceError(
            f"The weights are of {sizes[0]} queries and {sizes[1]} keys (the last two axes of their shape), but there are "
            f"{len(rows)} query tokens and {len(columns)} key tokens; keep special tokens, leave padding out of both, and give "
            "the keys of another text."
        )
    layers = _whole_rows(layers, rounding)
    looks_ahead = bool(np.triu(layers, k=1 + len(columns) - len(rows)).any())
    kind = kind or ("cross" if keys is not None else "encoder" if looks_ahead else "decoder")
    causal = kind == "decoder" and not looks_ahead
    attention = AttentionMap(kind, rows, columns, DenseWeights(tuple(layers)), causal=causal)
    output = " ".join(token.text for token in rows) if keys is not None else ""
    return AttentionTrace(model, Prompt(" ".join(token.text for token in columns)), (attention,), output)


def _layers(weights: Any) -> tuple[np.ndarray, float]:
    """Stack the weights as (layer, head, query, key), in float32, with the relative rounding of the type they came in."""
    if outputs := [name for name in _OUTPUTS if hasattr(weights, name)]:
        raise TraceError(f"These are all outputs of a model: give its weights alone, outputs.{' or outputs.'.join(outputs)}.")
    rounding = rounding_of(getattr(weights, "dtype", ""))
    if isinstance(weights, Sequence) and not isinstance(weights, str | bytes | bytearray):
        if steps := _steps(weights):
            raise TraceError(
                f"These are {steps} steps of generate(), each with its layers, and a trace is of one pass: give those of "
                "model(sequences, output_attentions=True) over all that was written, or trace that text by wrap."
            )
        rounding = max((rounding_of(getattr(layer, "dtype", "")) for layer in weights), default=0.0)
        weights = [_array(layer) for layer in weights]
        if len(shapes := sorted({layer.shape for layer in weights})) > 1:
            raise TraceError(f"Every layer must have the same shape (head, query, key), got {shapes}.")
    array = _array(weights)
    if array.ndim == 5 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 5:
        raise TraceError(
            f"These are weights of {array.shape[1]} texts, and a trace is of one: give those of the first alone, "
            "[layer[:1] for layer in weights], without what fills it up to the length of the longest."
        )
    if array.ndim not in (2, 3, 4) or not array.size:
        wanted = ", ".join(f"({axes.replace(' ', ', ')})" for axes in _SHAPES.values())
        raise TraceError(f"Weights of the shape {array.shape} are not of one of {wanted}; batches must be of one.")
    return array.reshape((1,) * (4 - array.ndim) + array.shape), rounding


def _steps(weights: Sequence[Any]) -> int:
    """Count the steps, where there is a sequence of layers for each; 0: these are layers."""
    steps = [each for each in weights if isinstance(each, Sequence) and len(getattr(next(iter(each), None), "shape", ())) == 4]
    return len(steps) if len(steps) == len(weights) else 0


def _whole_rows(layers: np.ndarray, rounding: float) -> np.ndarray:
    """Let rows sum to 1 again that rounding has changed.

    Raises:
        TraceError: rows sum to something else, for a reason that shows in them.
    """
    if not np.isfinite(layers).all():
        return layers
    sums = layers.sum(axis=-1, dtype=np.float64)
    off = float(np.abs(sums - 1).max(initial=0, where=sums != 0))
    if off <= ROW_SUM_TOLERANCE and not rounding:
        return layers
    n_keys = layers.shape[-1]
    decimals = next((each for each in _DECIMALS if _has_decimals(layers, each)), None)
    explained = 0.0 if decimals is None else n_keys * 0.5 * 10.0**-decimals
    if layers.min() >= 0 and off <= ROW_SUM_TOLERANCE + max(rounding, min(explained, _MOST_ROUNDED)):
        return (layers / np.where(sums, sums, 1)[..., None]).astype(np.float32)
    if layers.min() >= 0 and off <= explained:
        raise TraceError(
            f"The weights have {decimals} decimals, and a row of {n_keys} keys is {off:.2f} away from a sum of 1, too much is "
            "lost by rounding; give more decimals."
        )
    if reason := _reason(layers, sums):
        raise TraceError(reason)
    return layers


def _has_decimals(layers: np.ndarray, decimals: int) -> bool:
    scaled = layers.astype(np.float64) * 10**decimals
    # What float32 leaves of a number with so many decimals.
    return bool(np.abs(scaled - scaled.round()).max() <= 10**decimals * 1e-7)


def _reason(layers: np.ndarray, sums: np.ndarray) -> str:
    """Say why rows do not sum to 1, where their numbers tell; empty where they do not."""
    first = f"A row sums to {sums[np.abs(sums - 1) > ROW_SUM_TOLERANCE][0]:.4g} instead of 1"
    some = sums[sums != 0]
    if layers.max() <= 0 and np.allclose(np.exp(layers.astype(np.float64)).sum(axis=-1), 1, atol=1e-3):
        return "These are logarithms of weights: give their exponentials, such as np.exp(weights)."
    if layers.min() < 0:
        return ""
    if np.allclose(some, 100, atol=1):
        return f"{first}, so these are percent: divide them by 100."
    if np.allclose(layers.sum(axis=-2), 1, atol=1e-3):
        return f"{first}, and each column does: keys stand where queries belong; swap the last two axes."
    zeros = (layers == 0) & ~np.triu(np.ones(layers.shape[-2:], bool), k=1)
    if some.min() < 1 - ROW_SUM_TOLERANCE and some.max() > 1 + ROW_SUM_TOLERANCE and zeros.any() and abs(some.mean() - 1) < 0.2:
        return f"{first}, others to less or more, as dropout leaves them in training: call model.eval(), compute them again."
    if some.max() <= 1 + ROW_SUM_TOLERANCE:
        return f"{first}: columns are missing, such as that of the end mark; give a column for each key, special tokens too."
    return ""


def _array(values: Any) -> np.ndarray:
    """Convert any array to NumPy's; torch's is converted without importing torch."""
    if values is None or isinstance(values, str | bytes | bytearray):
        given = f"None, which a model gives that computes without them: {_ASK}" if values is None else described(values)
        raise TraceError(f"Weights are an array of numbers, or lists of them, not {given}.")
    try:
        if hasattr(values, "detach"):
            values = values.detach().to_dense().cpu()
            values = values.numpy() if values.is_complex() else values.float().numpy()
        if np.iscomplexobj(values):
            raise TypeError("complex numbers are no weights")
        return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, RuntimeError) as error:  # the last: a tensor of torch that has no numbers to give
        raise TraceError(f"The weights cannot be read as an array of numbers: {error}") from error


def _tokens(tokens: Sequence[str | Token]) -> tuple[Token, ...]:
    """Keep tokens as they are; lay words out as tokens of a text that has one space between them."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        named = f"the text {shortened(tokens)}" if isinstance(tokens, str) else described(tokens)
        raise TraceError(f"Queries and keys are lists of tokens, not {named}; split it as the model does.")
    placed, position = [], 0
    for each in tokens:
        if not isinstance(each, str | Token):
            numbers = "; tokenizer.convert_ids_to_tokens(ids) names those of ids" if hasattr(each, "__index__") else ""
            raise TraceError(f"A token is a str or a Token, not {described(each)}{numbers}.")
        token = each if isinstance(each, Token) else Token(each, position, position + len(each))
        placed.append(token)
        position += len(token.text) + 1
    return tuple(placed)
