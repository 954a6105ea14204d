"""Writing a translation, one token at a time: greedily, or with a beam. It serves every encoder-decoder here.

A model that can be decoded reads a sentence once (`begin`) and is then asked for one more token at a time (`next`). What it
carries from step to step is its own; decoding only reorders the rows of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.errors import cancellation_point

START, END = 1, 2


@runtime_checkable
class Decoder(Protocol):
    """A sentence that has been read and is being translated; each row is one unfinished translation."""

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "Decoder"]:
        """Return the scores of the token after these, and the decoder after this step. This decoder stays as it was."""
        ...

    def select(self, rows: Int[Tensor, " row"]) -> "Decoder":
        """Return some of the rows, in another order or more than once."""
        ...


@dataclass(frozen=True, eq=False)
class RereadingDecoder:
    """Writes without memory: each step reads the source and all that is written, as one pass over the whole output does.

    forward  the scores of every next token, of sources and of what is written; the first of what it returns
    """

    forward: Callable[..., tuple[Any, ...]]
    source: Int[Tensor, "row key"]
    written: Int[Tensor, "row past"]

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "RereadingDecoder"]:
        """Return the scores of the token after these, and the decoder after this step."""
        written = torch.cat([self.written, tokens[:, None]], dim=1)
        return self.forward(self.source, written)[0][:, -1], replace(self, written=written)

    def select(self, rows: Int[Tensor, " row"]) -> "RereadingDecoder":
        """Return some of the rows, in another order or more than once."""
        return replace(self, source=self.source[rows], written=self.written[rows])


@dataclass(frozen=True, eq=False)
class ResumedDecoder:
    """A decoder in the middle of a sentence: a search begins with a start mark, and this one's last token was another."""

    decoder: Decoder
    last: int

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], Decoder]:
        """Return the scores of the token after the last one, and the decoder after this step."""
        return self.decoder.next(torch.full_like(tokens, self.last))

    def select(self, rows: Int[Tensor, " row"]) -> "ResumedDecoder":
        """Return some of the rows, in another order or more than once."""
        return replace(self, decoder=self.decoder.select(rows))


@torch.no_grad()
def resume(decoder: Decoder, prefix: Sequence[int], device: torch.device | None = None) -> tuple[Decoder, float]:
    """Let a decoder write a prefix and wait for its last token; also return ln p of the prefix."""
    given, last = 0.0, START
    for token in prefix:
        scores, decoder = decoder.next(torch.tensor([last], device=device))
        given += float(scores[0].log_softmax(-1)[token])
        last = token
    return ResumedDecoder(decoder, last), given


@dataclass(frozen=True)
class Hypothesis:
    """A translation and ln p of it; `tokens` end with the end mark, unless the limit came first.

    >>> Hypothesis((5, 2), -1.2).score(length_penalty=0.0)
    -1.2
    """

    tokens: tuple[int, ...]
    log_probability: float

    def score(self, length_penalty: float) -> float:
        """ln p / length^α: without a penalty (α = 0) every further token costs, so that short translations win."""
        return self.log_probability / max(1, len(self.tokens)) ** length_penalty


@dataclass(frozen=True)
class Node:
    """One token that a beam search weighed.

    parent           the place, among all nodes, of the token before it; None: it is a first one
    log_probability  ln p of this token after those before it
    kept             it was among the likeliest of its step; else the best of what its parent lost
    """

    token: int
    parent: int | None
    log_probability: float
    kept: bool


@dataclass(frozen=True)
class BeamSearchResult:
    """What a beam search found, best first, and the tree it walked, step by step; `leaves` are the hypotheses' last nodes."""

    hypotheses: tuple[Hypothesis, ...]
    nodes: tuple[Node, ...]
    leaves: tuple[int, ...]


@dataclass(frozen=True)
class Beam:
    """How far to search: `width` hypotheses are kept at every step, at most `longest` tokens are written.

    >>> Beam(width=5).length_penalty
    1.0
    """

    width: int = 5
    length_penalty: float = 1.0
    longest: int = 60


@torch.no_grad()
def greedy(
    decoder: Decoder, n_rows: int, longest: int, device: torch.device | None = None, never: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    """Write for every row the likeliest token at each step but those of `never`, until the end mark or `longest` tokens."""
    tokens = torch.full((n_rows,), START, device=device)
    ended = torch.zeros(n_rows, dtype=torch.bool, device=device)
    written = []
    for _ in range(longest):
        cancellation_point()
        scores, decoder = decoder.next(tokens)
        # The scores are this call's own: nothing else sees them change.
        scores[:, list(never)] = -torch.inf
        tokens = scores.argmax(dim=-1)
        written.append(tokens)
        ended = ended | (tokens == END)
        if bool(ended.all()):
            break
    return [_until_end(row) for row in torch.stack(written, dim=1).tolist()]


@torch.no_grad()
def beam_search(
    decoder: Decoder, beam: Beam, device: torch.device | None = None, never: Sequence[int] = ()
) -> BeamSearchResult:
    """Find the best hypotheses for one sentence, best first, as many as the beam is wide, and keep the tree of the search.

    At every step each open hypothesis is extended by every token and the likeliest `width` are kept; those that end are set
    aside (Graves 2012, arXiv:1211.3711; length penalty as in Wu et al. 2016, arXiv:1609.08144, section 7, with lp = length^α).
    Tokens of `never` are not written; what the model gives them nobody else gets, so that p of a hypothesis is the model's.
    """
    open_rows, finished, nodes = [_Tip(Hypothesis((), 0.0), None)], [], []
    decoder = decoder.select(torch.zeros(1, dtype=torch.long, device=device))
    for _ in range(beam.longest):
        cancellation_point()
        last = torch.tensor([tip.hypothesis.tokens[-1] if tip.hypothesis.tokens else START for tip in open_rows], device=device)
        scores, after = decoder.next(last)
        log_probabilities = scores.float().log_softmax(dim=-1).cpu()
        log_probabilities[:, list(never)] = -torch.inf
        # The ended share the beam with the open: a beam of one must stop where greedy decoding stops.
        kept = _best(log_probabilities, [tip.hypothesis.log_probability for tip in open_rows], beam.width - len(finished))
        rows, following = [], []
        for row, token, value in kept:
            nodes.append(Node(token, open_rows[row].node, float(log_probabilities[row, token]), kept=True))
            tip = _Tip(Hypothesis((*open_rows[row].hypothesis.tokens, token), value), len(nodes) - 1)
            if token == END:
                finished.append(tip)
            else:
                rows.append(row)
                following.append(tip)
        nodes += _dropped(log_probabilities, open_rows, kept)
        open_rows = following
        if not open_rows:
            break
        decoder = after.select(torch.tensor(rows, device=device))
    # What the limit cut short comes after all that ended by itself.
    order = lambda tip: tip.hypothesis.score(beam.length_penalty)
    tips = [*sorted(finished, key=order, reverse=True), *sorted(open_rows, key=order, reverse=True)]
    leaves = tuple(tip.node for tip in tips if tip.node is not None)
    return BeamSearchResult(tuple(tip.hypothesis for tip in tips), tuple(nodes), leaves)


@dataclass(frozen=True)
class _Tip:
    """A hypothesis, and the node of its last token; None before the first."""

    hypothesis: Hypothesis
    node: int | None


def _best(log_probabilities: Float[Tensor, "row vocabulary"], before: list[float], width: int) -> list[tuple[int, int, float]]:
    """Find the likeliest extensions of all rows together: row, token, and ln p of the whole."""
    total = (log_probabilities + torch.tensor(before)[:, None]).flatten()
    values, places = total.topk(min(width, total.shape[0]))
    vocabulary, best = log_probabilities.shape[1], zip(values.tolist(), places.tolist(), strict=True)
    return [(place // vocabulary, place % vocabulary, value) for value, place in best]


def _dropped(
    log_probabilities: Float[Tensor, "row vocabulary"], tips: list[_Tip], extensions: list[tuple[int, int, float]]
) -> list[Node]:
    """Find in each row the likeliest token that the search dropped: where it did not go."""
    best = log_probabilities.topk(min(len(extensions) + 1, log_probabilities.shape[1]))
    taken = {(row, token) for row, token, _ in extensions}
    nodes = []
    for row, (tip, values, tokens) in enumerate(zip(tips, best.values.tolist(), best.indices.tolist(), strict=True)):
        for value, token in zip(values, tokens, strict=True):
            if (row, token) not in taken and value > -math.inf:
                nodes.append(Node(token, tip.node, value, kept=False))
                break
    return nodes


def _until_end(tokens: list[int]) -> tuple[int, ...]:
    return tuple(tokens[: tokens.index(END) + 1]) if END in tokens else tuple(tokens)
