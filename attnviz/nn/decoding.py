"""Writing a translation, one token at a time: greedily, or with a beam. It serves every encoder-decoder here.

A model that can be decoded reads a sentence once (`begin`) and is then asked for one more token at a time (`next`). What it
carries from step to step is its own; decoding only reorders the rows of it.
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

START, END = 1, 2


@runtime_checkable
class Decoder(Protocol):
    """A sentence that has been read and is being translated; each row is one unfinished translation."""

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "Decoder"]:
        """The scores of the token after these, and the decoder after this step. What it was called on stays as it was."""
        ...

    def select(self, rows: Int[Tensor, " row"]) -> "Decoder":
        """Some of the rows, in another order or more than once."""
        ...


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
class Beam:
    """How far to search: `width` hypotheses are kept at every step, at most `longest` tokens are written.

    >>> Beam(width=5).length_penalty
    1.0
    """

    width: int = 5
    length_penalty: float = 1.0
    longest: int = 60


@torch.no_grad()
def greedy(decoder: Decoder, n_rows: int, longest: int, device: torch.device | None = None) -> list[tuple[int, ...]]:
    """For every row the likeliest token at each step, until the end mark or `longest` tokens."""
    tokens = torch.full((n_rows,), START, device=device)
    ended = torch.zeros(n_rows, dtype=torch.bool, device=device)
    written = []
    for _ in range(longest):
        scores, decoder = decoder.next(tokens)
        tokens = scores.argmax(dim=-1)
        written.append(tokens)
        ended = ended | (tokens == END)
        if bool(ended.all()):
            break
    return [_until_end(row) for row in torch.stack(written, dim=1).tolist()]


@torch.no_grad()
def beam_search(decoder: Decoder, beam: Beam, device: torch.device | None = None) -> list[Hypothesis]:
    """The best hypotheses for one sentence, best first, as many as the beam is wide.

    At every step each open hypothesis is extended by every token and the likeliest `width` are kept; those that end are set
    aside (Graves 2012, arXiv:1211.3711; length penalty as in Wu et al. 2016, arXiv:1609.08144, section 7, with lp = length^α).
    """
    open_rows, finished = [Hypothesis((), 0.0)], []
    decoder = decoder.select(torch.zeros(1, dtype=torch.long, device=device))
    for _ in range(beam.longest):
        last = torch.tensor([row.tokens[-1] if row.tokens else START for row in open_rows], device=device)
        scores, after = decoder.next(last)
        log_probabilities = scores.float().log_softmax(dim=-1).cpu()
        before = torch.tensor([row.log_probability for row in open_rows])
        total = (log_probabilities + before[:, None]).flatten()
        # The ended share the beam with the open: a beam of one must stop where greedy decoding stops.
        width = beam.width - len(finished)
        values, places = total.topk(min(width, total.shape[0]))
        rows, following = [], []
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            row, token = divmod(place, log_probabilities.shape[1])
            longer = replace(open_rows[row], tokens=(*open_rows[row].tokens, token), log_probability=value)
            if token == END:
                finished.append(longer)
            else:
                rows.append(row)
                following.append(longer)
        open_rows = following
        if not open_rows:
            break
        decoder = after.select(torch.tensor(rows, device=device))
    # What the limit cut short comes after all that ended by itself.
    order = lambda row: row.score(beam.length_penalty)
    return [*sorted(finished, key=order, reverse=True), *sorted(open_rows, key=order, reverse=True)][: beam.width]


def _until_end(tokens: list[int]) -> tuple[int, ...]:
    return tuple(tokens[: tokens.index(END) + 1]) if END in tokens else tuple(tokens)
