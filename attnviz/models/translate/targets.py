"""A translation, or one of its tokens, as a target: what a model that writes is made to write, given a source."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.errors import ModelError
from attnviz.core.trace import Token
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome

Logits = Callable[[Int[Tensor, "batch token"], Int[Tensor, "batch step"]], Float[Tensor, "batch step vocabulary"]]


@dataclass(frozen=True, eq=False)
class WrittenText:
    """A source, and what a model is made to write of it.

    tokens  of the source; ids: their numbers
    pieces  that are written, an end mark among them; start: what the decoder reads before the first
    logits  the scores of every next piece, of sources and of what a decoder reads
    """

    tokens: tuple[Token, ...]
    ids: Int[Tensor, " token"]
    pieces: Sequence[int]
    start: int
    logits: Logits

    def bind(self, step: int | None, name: Callable[[Sequence[int]], tuple[str, ...]], **facts: Any) -> BoundTarget:
        """Bind the piece that a step writes, or all pieces: the score is their mean logit, p their geometric mean.

        `name` names pieces; `facts` are those of a `BoundTarget` that each model has of its own.

        Raises:
            ModelError: there are not so many pieces.
        """
        pieces, n_source = self.pieces, len(self.tokens)
        if step is not None and step >= len(pieces):
            raise ModelError(f"This translation has {len(pieces)} tokens, 0 to {len(pieces) - 1}; there is no token {step}.")
        steps = list(range(len(pieces))) if step is None else [step]

        def run(ids: Int[Tensor, "batch token"]) -> Outcome:
            inputs = torch.tensor([[self.start, *pieces[:-1]]], device=ids.device).expand(len(ids), -1)
            scores = self.logits(ids, inputs)[:, steps]
            chosen = torch.tensor([pieces[each] for each in steps], device=ids.device).expand(len(ids), -1)[..., None]
            score, likely = (each.gather(2, chosen)[..., 0].mean(dim=1) for each in (scores, scores.log_softmax(dim=-1)))
            return Outcome(score, likely)

        return BoundTarget(
            target="the translation" if step is None else f"the word piece “{name([pieces[step]])[0]}”",
            tokens=self.tokens,
            ids=self.ids,
            # A row's step reads one token and writes the next.
            readout={n_source + each: 1 / len(steps) for each in steps},
            run=run,
            n_positions=n_source + len(pieces),
            **facts,
        )

    def layer_sites(self, encoder_layers: int, decoder_layers: int) -> list[AttentionSite]:
        """List the attentions of a Transformer in the order of a pass."""
        n_source = len(self.tokens)
        source, written = slice(0, n_source), slice(n_source, n_source + len(self.pieces))
        sites = [AttentionSite(source, source, "encoder", layer) for layer in range(encoder_layers)]
        for layer in range(decoder_layers):
            sites += [AttentionSite(written, written, "decoder", layer), AttentionSite(written, source, "cross", layer)]
        return sites

    def step_sites(self) -> list[AttentionSite]:
        """List the attentions of a recurrent decoder, which looks at the source once a step."""
        source = slice(0, len(self.tokens))
        steps = range(source.stop, source.stop + len(self.pieces))
        return [AttentionSite(slice(step, step + 1), source, "cross", 0) for step in steps]
