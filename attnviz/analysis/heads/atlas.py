"""The obvious claims about heads, tested of every head of a model: what an atlas holds, as a value and as JSON.

Where heads look is kept in constant size, as a pattern: the mean attention of each head among the first eight words of
sentences that are as long.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.heads.claim import Claim, Clock, sources, targets
from attnviz.analysis.heads.measures import MEASURES
from attnviz.core.errors import CorpusError
from attnviz.core.trace import AttentionMap, Token
from attnviz.settings import assets_folder
from attnviz.text.data_files import ParsedSentence
from attnviz.text.words import has_letters

WORDS = 8
Drawn = Bool[np.ndarray, "query key"]
_WRITTEN = re.compile(r"[0-9a-f]{16}")


def _pattern(is_drawn: Callable[[int, int], bool]) -> Drawn:
    return np.array([[is_drawn(query, key) for key in range(WORDS)] for query in range(WORDS)])


# What heads are known to do, to begin with.
PATTERNS: dict[str, Drawn] = {
    "Previous word": _pattern(lambda query, key: key == query - 1),
    "Next word": _pattern(lambda query, key: key == query + 1),
    "Itself": _pattern(lambda query, key: key == query),
    "Neighbours": _pattern(lambda query, key: abs(key - query) == 1),
    "First word": _pattern(lambda _, key: not key),
    "All before": _pattern(lambda query, key: key < query),
}


def pattern_text(drawn: Drawn) -> str:
    """Write a drawing as 16 hexadecimal digits, two a row.

    >>> pattern_text(PATTERNS["First word"])
    '8080808080808080'
    """
    return np.packbits(drawn).tobytes().hex()


def read_pattern(written: str) -> Drawn | None:
    """Read a drawing that `pattern_text` wrote; None: it is none.

    >>> bool((read_pattern("8080808080808080") == PATTERNS["First word"]).all()), read_pattern("80")
    (True, None)
    """
    if not _WRITTEN.fullmatch(written):
        return None
    return np.unpackbits(np.frombuffer(bytes.fromhex(written), dtype=np.uint8)).reshape(WORDS, WORDS).astype(bool)


def likeness(means: Float[np.ndarray, "layer head query key"], drawn: Drawn) -> Float[np.ndarray, "layer head"]:
    """Correlate (Pearson) each head's mean attention with a drawing, over all cells: -1 to 1, 0 for a head that looks evenly.

    >>> means = np.array([[np.eye(WORDS), np.ones((WORDS, WORDS))]])
    >>> likeness(means, PATTERNS["Itself"]).round(3).tolist()
    [[1.0, 0.0]]
    """
    cells = means.reshape(*means.shape[:2], -1).astype(np.float64)
    cells = cells - cells.mean(axis=-1, keepdims=True)
    pattern = drawn.ravel() - drawn.mean()
    scale = np.linalg.norm(cells, axis=-1) * np.linalg.norm(pattern)
    return np.divide(cells @ pattern, scale, out=np.zeros(scale.shape), where=scale > 1e-9)


# Stands for a word that looks at nothing: it was not read, or there is no other.
NOTHING = -1


@dataclass(frozen=True, eq=False)
class WordAttention:
    """The attention of every head of a map between units: the words of a sentence first, then its special tokens.

    weights  the last head of a layer is the mean of its heads; keys are summed and queries averaged over the tokens of a unit
    parks    words that heads with nothing to do look at: punctuation (Clark et al. 2019, section 3.2), and the first word that
             a decoder reads (Xiao et al. 2023)
    """

    weights: Float[np.ndarray, "layer head unit unit"]
    n_words: int
    parks: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Strongest:
    """Where each unit looks most, by head: the number of the unit that receives the largest weight; -1 where there is none.

    other  among the words, itself and special tokens left out
    top    among all units, itself and special tokens too; a number from `n_words` on is a special token
    other_weight, top_weight  the weights that these receive
    """

    other: Int[np.ndarray, "layer head unit"]
    top: Int[np.ndarray, "layer head unit"]
    other_weight: Float[np.ndarray, "layer head unit"]
    top_weight: Float[np.ndarray, "layer head unit"]
    n_words: int

    @property
    def nbytes(self) -> int:
        return 2 * (self.other.nbytes + self.other_weight.nbytes)

    @cached_property
    def read(self) -> Bool[np.ndarray, " unit"]:
        """Mark the units that the model could read: the others look at nothing."""
        return (self.top != NOTHING).any(axis=(0, 1))


def word_attention(attention: AttentionMap, sentence: ParsedSentence) -> WordAttention:
    """Merge the tokens of each word of `sentence`, whose text the map's model has read.

    >>> from attnviz.core.trace import DenseWeights
    >>> from attnviz.text.data_files import ParsedWord
    >>> tokens = (Token("[CLS]", 0, 0, special=True), Token("sit", 0, 3), Token("s", 3, 4))
    >>> rows = [[1, 0, 0], [0.5, 0.25, 0.25], [0, 0.5, 0.5]]
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[rows]])[0],)))
    >>> word_attention(attention, ParsedSentence("sits", (ParsedWord("sits", 0, 4),))).weights[0, 0].tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    units = unit_of(attention.queries, sentence)
    starts = np.flatnonzero(np.diff(units, prepend=-2))
    placed, n_units = units[starts], max(units.max(initial=-1) + 1, len(sentence.words))
    sizes = np.diff(starts, append=len(units)).astype(np.float32)
    kept, read = placed >= 0, attention.layer_weights
    merged = np.zeros((attention.n_layers, attention.n_heads + 1, n_units, n_units), dtype=np.float32)
    for layer in range(attention.n_layers):
        weights = np.add.reduceat(read(layer)[..., : len(units)], starts, axis=2)
        weights = np.add.reduceat(weights, starts, axis=1) / sizes[:, None]
        merged[layer, :-1, placed[kept][:, None], placed[kept]] = weights[:, kept][..., kept].transpose(1, 2, 0)
    merged[:, -1] = merged[:, :-1].mean(axis=1)
    parks = {place for place, word in enumerate(sentence.words) if not has_letters(word.text)}
    if attention.kind == "decoder":
        parks |= {place for place in placed[:1].tolist() if 0 <= place < len(sentence.words)}
    return WordAttention(merged, len(sentence.words), tuple(sorted(parks)))


def unit_of(tokens: tuple[Token, ...], sentence: ParsedSentence) -> Int[np.ndarray, " token"]:
    """Number the unit of each token: the word that holds its first character, or one of its own for a special token."""
    characters = np.full(len(sentence.text) + 1, NOTHING)
    for index, word in enumerate(sentence.words):
        characters[word.start : word.end] = index
    n_special, units = 0, np.empty(len(tokens), dtype=int)
    for index, token in enumerate(tokens):
        units[index] = len(sentence.words) + n_special if token.special else characters[min(token.start, len(sentence.text))]
        n_special += token.special
    return units


def strongest(attention: WordAttention) -> Strongest:
    """Find where each unit looks most."""
    weights, n_words = attention.weights, attention.n_words
    others = weights[..., :n_words].copy()
    diagonal = np.arange(n_words)
    others[:, :, diagonal, diagonal] = 0
    (other, other_weight), (top, top_weight) = _largest(others), _largest(weights)
    return Strongest(other, top, other_weight, top_weight, n_words)


def _largest(weights: Float[np.ndarray, "layer head unit key"]) -> tuple[np.ndarray, np.ndarray]:
    """Find the largest weight of each row and where it stands; half precision is enough to put rows in order."""
    if not weights.shape[3]:
        return np.full(weights.shape[:3], NOTHING, dtype=np.int16), np.zeros(weights.shape[:3], dtype=np.float16)
    places = weights.argmax(axis=3)
    largest = np.take_along_axis(weights, places[..., None], axis=3)[..., 0]
    return np.where(largest > 0, places, NOTHING).astype(np.int16), largest.astype(np.float16)


# Sentences that are kept of each head.
LINKS = 5


@dataclass(frozen=True)
class HeadLink:
    """A word of a sentence of the treebank, another word of it that a head looks at from there, and with how much weight."""

    sentence: int
    word: int
    looks: int
    weight: float


def strongest_links(
    attention: WordAttention,
) -> tuple[Int[np.ndarray, "layer head 2"], Float[np.ndarray, "layer head"]]:
    """Find the largest weight of every head from one word of a sentence on another: both words, and the weight.

    Where heads park attention that they have no use for does not count: special tokens, the word itself, and `parks`.

    >>> weights = np.array([[0.0, 0.9, 0.1], [0.75, 0.1, 0.15], [0.5, 0.3, 0.2]], np.float32)
    >>> words, weight = strongest_links(WordAttention(np.stack([weights, weights])[None], 3, parks=(1,)))
    >>> words.tolist(), weight.tolist()
    ([[[1, 0]]], [[0.75]])
    """
    n_words = attention.n_words
    weights = attention.weights[:, :-1, :n_words, :n_words].copy()
    weights[..., np.arange(n_words), np.arange(n_words)] = 0
    weights[..., list(attention.parks)] = 0
    cells = weights.reshape(*weights.shape[:2], -1)
    if not cells.shape[2]:
        return np.zeros((*cells.shape[:2], 2), np.int16), np.zeros(cells.shape[:2], np.float32)
    best = cells.argmax(axis=2)
    words = np.stack(np.divmod(best, n_words), axis=2).astype(np.int16)
    return words, np.take_along_axis(cells, best[..., None], axis=2)[..., 0]


def sentences_of_head(
    words: Int[np.ndarray, "sentence 2"],
    weights: Float[np.ndarray, " sentence"],
    sentences: Mapping[int, ParsedSentence],
) -> tuple[HeadLink, ...]:
    """Choose the sentences in which a head acts most strongly, no two with the same two words; `sentences` by their number."""
    chosen: dict[tuple[str, ...], HeadLink] = {}
    numbers = list(sentences)
    for row in np.argsort(-weights, kind="stable").tolist():
        if len(chosen) == LINKS or not weights[row]:
            break
        number, (word, looks) = numbers[row], words[row].tolist()
        texts = tuple(sentences[number].words[place].text.casefold() for place in (word, looks))
        chosen.setdefault(texts, HeadLink(number, word, looks, float(weights[row])))
    return tuple(chosen.values())


# Relations with 60 words or more in the shipped sample: 30 are left to report on.
RELATIONS = (
    "acl", "acl:relcl", "advcl", "advmod", "amod", "appos", "aux", "aux:pass", "case", "cc", "ccomp", "compound",
    "compound:prt", "conj", "cop", "det", "discourse",
    "expl", "flat", "iobj", "list", "mark", "nmod", "nmod:poss", "nsubj", "nsubj:pass",
    "nummod", "obj", "obl", "parataxis", "punct", "xcomp",
)  # fmt: skip
PARTS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB")
PLACES = ("previous", "next", "-2", "+2", "first", "last", "self", "special")
CLAIMS = (
    *(f"any -> {place}" for place in PLACES),
    "any -> same",
    "any -> after same",
    *(f"{relation} -> head" for relation in RELATIONS),
    *(f"any -> its {relation}" for relation in RELATIONS),
    *(f"{part} -> head" for part in PARTS),
    *(f"any -> {part}" for part in PARTS),
)
# A name for what a head does in fewer cases than these would mislead.
LEAST_RATE = 0.3
PARKED = "any -> special"
ANTECEDENT = "pronoun -> antecedent"
VERSION = 2


@dataclass(frozen=True)
class ClaimFacts:
    """What is known of a claim besides its heads: words reported on, and how often each rival is right."""

    text: str
    queries: int
    chance: float
    offset: int
    offset_rate: float
    place: bool
    untrained: float | None = None

    @property
    def strongest_rival(self) -> float:
        """The rate that a head has to beat."""
        return max(self.chance, 0.0 if self.place else self.offset_rate, self.untrained or 0.0)


@dataclass(frozen=True)
class AtlasExample:
    """A word of a sentence of the treebank, and where a head looks from it: the place, and whether the claim is right."""

    sentence: int
    word: int
    looks: int
    holds: bool


@dataclass(frozen=True, eq=False)
class Atlas:
    """Every claim of every head.

    rates, low, high  of each claim by head, on the reported sentences, 0 to 1
    supported         which stand, with Holm over all heads × claims
    means             of every measure of `analysis.heads.measures`, by head
    histogram         share of the weight that goes so many tokens further on, by head
    examples          of each head's best claim: the strongest words where it holds, then those where it fails
    links             of each head the sentences in which it acts most strongly, whatever it does
    """

    model: str
    corpus: str
    sentences: int
    command: str
    claims: tuple[ClaimFacts, ...]
    rates: Float[np.ndarray, "claim layer head"]
    low: Float[np.ndarray, "claim layer head"]
    high: Float[np.ndarray, "claim layer head"]
    supported: Bool[np.ndarray, "claim layer head"]
    means: Float[np.ndarray, "measure layer head"]
    histogram: Float[np.ndarray, "layer head bin"]
    examples: dict[str, tuple[AtlasExample, ...]]
    links: dict[str, tuple[HeadLink, ...]]

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and heads."""
        return self.rates.shape[1], self.rates.shape[2]

    @cached_property
    def ahead(self) -> Float[np.ndarray, "claim layer head"]:
        """How far each rate is above that of the claim's strongest rival."""
        return self.rates - np.array([claim.strongest_rival for claim in self.claims])[:, None, None]

    def best(self, layer: int, head: int) -> int | None:
        """Choose the supported claim that is furthest above its rivals; None: none holds in three of ten cases or more.

        Most heads look at special tokens most of the time, which often means that they have nothing to do (Clark et al. 2019,
        section 3.2): that is what a head is said to do only where nothing else holds.
        """
        names = self.supported[:, layer, head] & (self.rates[:, layer, head] >= LEAST_RATE)
        stands = [claim for claim in self._ordered(layer, head) if names[claim]]
        return next((claim for claim in stands if self.claims[claim].text != PARKED), stands[0] if stands else None)

    def ranked(self, layer: int, head: int) -> list[int]:
        """Order the claims of a head: its best, then those that hold, each furthest above its rivals first."""
        best = self.best(layer, head)
        return sorted(self._ordered(layer, head), key=lambda claim: claim != best)

    def _ordered(self, layer: int, head: int) -> list[int]:
        return np.lexsort((-self.ahead[:, layer, head], ~self.supported[:, layer, head])).tolist()

    def holding(self, claim: int) -> list[tuple[int, int]]:
        """List the heads that a claim holds of, the best first."""
        heads = [(int(layer), int(head)) for layer, head in np.argwhere(self.supported[claim])]
        return sorted(heads, key=lambda place: -self.rates[claim][place])


_SHARES = ("rates", "low", "high", "histogram")


def to_json(atlas: Atlas) -> str:
    """Write an atlas: shares in thousandths, measures with four digits."""
    facts: dict[str, Any] = {
        "version": VERSION, "model": atlas.model, "corpus": atlas.corpus, "sentences": atlas.sentences,
        "command": atlas.command,
        "claims": [{name: _rounded(value) for name, value in asdict(claim).items()} for claim in atlas.claims],
        "measures": list(MEASURES),
        "means": [[[_rounded(float(value)) for value in row] for row in rows] for rows in atlas.means],
        "supported": np.argwhere(atlas.supported).tolist(),
        **{name: np.rint(1000 * getattr(atlas, name)).astype(int).tolist() for name in _SHARES},
        "examples": {
            name: [[case.sentence, case.word, case.looks, int(case.holds)] for case in cases]
            for name, cases in atlas.examples.items()
        },
        "links": {
            name: [[link.sentence, link.word, link.looks, round(1000 * link.weight)] for link in links]
            for name, links in atlas.links.items()
        },
    }  # fmt: skip
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    """Round a number; what was not measured is null."""
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else round(value, 4)


def from_json(text: str, name: str = "this atlas") -> Atlas:
    """Read an atlas.

    Raises:
        CorpusError: it is none, or of another version.
    """
    try:
        facts = json.loads(text)
        # The first version had no sentences of heads.
        if facts["version"] not in (1, VERSION):
            raise CorpusError(f"{name} is an atlas of another version of attnviz: make it again.")
        shares = {field: np.array(facts[field]) / 1000 for field in _SHARES}
        supported = np.zeros(shares["rates"].shape, dtype=bool)
        supported[tuple(np.array(facts["supported"], dtype=int).reshape(-1, 3).T)] = True
        return Atlas(
            model=facts["model"],
            corpus=facts["corpus"],
            sentences=facts["sentences"],
            command=facts["command"],
            claims=tuple(ClaimFacts(**claim) for claim in facts["claims"]),
            supported=supported,
            means=np.array(facts["means"], dtype=float),
            examples={
                head: tuple(AtlasExample(sentence, word, looks, bool(holds)) for sentence, word, looks, holds in cases)
                for head, cases in facts["examples"].items()
            },
            links={
                head: tuple(HeadLink(number, word, looks, weight / 1000) for number, word, looks, weight in links)
                for head, links in (facts["links"] if facts["version"] > 1 else {}).items()
            },
            **shares,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise error if isinstance(error, CorpusError) else CorpusError(f"{name} is no atlas: choose another file.") from error


# "Always the word k further on", for each of these k: the rival that needs no attention (Clark et al. 2019, section 4.2).
OFFSETS = tuple(k for k in range(-12, 13) if k)


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted for one claim; one row a sentence.

    queries    words that the claim is about, and for which it names a place to look
    hits       of these, how many look where the claim says, by layer and head; the last head is the mean of its layer
    by_offset  how many would be right if each looked a fixed offset further on
    chance     how many would be right on average if each looked anywhere
    """

    queries: Float[np.ndarray, " sentence"]
    hits: Float[np.ndarray, "sentence layer head"]
    by_offset: Float[np.ndarray, "sentence offset"]
    chance: Float[np.ndarray, " sentence"]

    def of(self, rows: "slice | np.ndarray") -> "Counts":
        """Keep some of the sentences."""
        return Counts(self.queries[rows], self.hits[rows], self.by_offset[rows], self.chance[rows])


# Of a sentence: where a claim says that each unit looks, and the units that it is about and that were read.
ClaimedCells = tuple[Bool[np.ndarray, "unit unit"], Int[np.ndarray, " row"]]


def claimed(claim: Claim, sentences: Sequence[ParsedSentence], looked: Sequence[Strongest]) -> list[ClaimedCells]:
    """Find what a claim says of each sentence, which is the same for all heads and for the model untrained.

    Raises:
        ClaimError: a regular expression takes too long.
    """
    clock = Clock()
    return [claimed_cells(claim, *each, clock) for each in zip(sentences, looked, strict=True)]


def count(
    claim: Claim,
    sentences: Sequence[ParsedSentence],
    looked: Sequence[Strongest],
    cells: Sequence[ClaimedCells] | None = None,
) -> Counts:
    """Count in all sentences, where `claimed` has not been computed yet with it.

    Raises:
        ClaimError: a regular expression takes too long.
    """
    n_layers, n_heads, _ = looked[0].top.shape if looked else (0, 0, 0)
    counts = Counts(
        np.zeros(len(looked)),
        np.zeros((len(looked), n_layers, n_heads)),
        np.zeros((len(looked), len(OFFSETS))),
        np.zeros(len(looked)),
    )
    cells = claimed(claim, sentences, looked) if cells is None else cells
    for index, (strongest, (where, rows)) in enumerate(zip(looked, cells, strict=True)):
        if not len(rows):
            continue
        places = (strongest.top if claim.among_all else strongest.other)[:, :, rows]
        right = where[rows]
        counts.queries[index] = len(rows)
        counts.hits[index] = (right[np.arange(len(rows)), places] & (places != NOTHING)).sum(axis=2)
        counts.by_offset[index] = _by_offset(right, rows, strongest.n_words)
        read = strongest.read[: None if claim.among_all else strongest.n_words].sum()
        candidates = read if claim.among_all else read - (rows < strongest.n_words)
        counts.chance[index] = (right.sum(axis=1) / np.maximum(candidates, 1)).sum()
    return counts


def claimed_cells(claim: Claim, sentence: ParsedSentence, strongest: Strongest, clock: Clock) -> ClaimedCells:
    """Mark where the claim says that each unit looks, and list the units that it is about; of both, what was read.

    A word in which no token begins ("not" of "cannot") neither looks nor is looked at.
    """
    n_units = strongest.top.shape[2]
    about = sources(claim, sentence, n_units, clock)
    where = targets(claim, sentence, n_units, clock)
    if not claim.among_all:
        where[:, strongest.n_words :] = False
    where[:, ~strongest.read] = False
    return where, np.flatnonzero(about & strongest.read & where.any(axis=1))


def _by_offset(right: np.ndarray, rows: np.ndarray, n_words: int) -> Int[np.ndarray, " offset"]:
    places = rows[:, None] + np.array(OFFSETS)
    inside = (places >= 0) & (places < n_words) & (rows < n_words)[:, None]
    return (np.take_along_axis(right, np.where(inside, places, rows[:, None]), axis=1) & inside).sum(axis=0)


# So many words where a claim fails, and where it holds.
EXAMPLES = 4


def examples_of(
    claim: Claim,
    sentences: Sequence[ParsedSentence],
    looked: Sequence[Strongest],
    place: tuple[int, int],
    most: int = EXAMPLES,
    cells: Sequence[ClaimedCells] | None = None,
) -> tuple[AtlasExample, ...]:
    """Find the words where a head looks most strongly and a claim fails, and those where it holds; one a sentence.

    The head after the last is the layer's mean.

    Raises:
        ClaimError: a regular expression takes too long.
    """
    cells = claimed(claim, sentences, looked) if cells is None else cells
    # Of the words of a sentence for which the claim holds, and of those for which it fails, the strongest stands for all.
    ranked: dict[bool, list[tuple[float, AtlasExample]]] = {False: [], True: []}
    for index, (strongest, (where, rows)) in enumerate(zip(looked, cells, strict=True)):
        units = (strongest.top if claim.among_all else strongest.other)[place][rows]
        weights = (strongest.top_weight if claim.among_all else strongest.other_weight)[place][rows]
        holding = (units != NOTHING) & where[rows, units]
        for holds in (False, True):
            if len(own := np.flatnonzero(holding == holds)):
                best = own[weights[own].argmax()]
                example = AtlasExample(index, int(rows[best]), int(units[best]), holds)
                ranked[holds].append((float(weights[best]), example))
    return tuple(example for each in ranked.values() for _, example in sorted(each, key=lambda pair: -pair[0])[:most])


@cache
def shipped_atlas(model: str) -> Atlas:
    """Read the atlas of a model that travels with attnviz.

    Raises:
        CorpusError: there is none.
    """
    folder = assets_folder() / "atlas"
    path = folder / f"{model}.json"
    if path.parent != folder or not path.is_file():
        raise CorpusError(f"No atlas of {model} travels with attnviz: make one with `attnviz atlas {model} -o {model}.json`.")
    return from_json(path.read_text(encoding="utf-8"), path.name)
