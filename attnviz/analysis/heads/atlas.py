"""The obvious claims about heads, tested of every head of a model: what an atlas holds, as a value and as JSON."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.heads.measures import MEASURES
from attnviz.core.errors import CorpusError

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
VERSION = 1


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
        if facts["version"] != VERSION:
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
            **shares,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise error if isinstance(error, CorpusError) else CorpusError(f"{name} is no atlas: choose another file.") from error
