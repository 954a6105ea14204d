"""What translators share: their pieces, how likely each token of a translation was, and their targets."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from attnviz.core.errors import ModelError
from attnviz.core.trace import Token
from attnviz.models.base import Branch, DecodingStep, SearchTree
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome
from attnviz.nn.decoding import END, BeamSearchResult
from attnviz.text.tokens import covering, own_span
from attnviz.text.words import Words, has_letters

# What else was likely in the place of each token: so many pieces.
ALTERNATIVES = 5


def decoding_steps(
    scores: Float[Tensor, "step vocabulary"],
    written: Sequence[tuple[Token, int]],
    names: Callable[[Sequence[int]], Sequence[str]],
) -> tuple[DecodingStep, ...]:
    """Tell how likely each token with its piece was by the scores of its step, and what else was likely there."""
    probabilities = scores.float().softmax(dim=-1).cpu()
    best = probabilities.topk(min(ALTERNATIVES, probabilities.shape[-1]))
    rows = zip(written, probabilities, best.values.tolist(), best.indices.tolist(), strict=True)
    return tuple(
        DecodingStep(token, float(own[piece]), tuple(zip(names(places), values, strict=True)))
        for (token, piece), own, values, places in rows
    )


def piece_name(vocabulary: Tokenizer, piece: int) -> str:
    """Name a piece. Every output of a model is one of its vocabulary: there is always a name."""
    return vocabulary.id_to_token(piece) or f"<{piece}>"


def encoded_tokens(encoding: Encoding, text: str) -> tuple[Token, ...]:
    """Make tokens of an encoding; a space before a piece is not part of its token. Signs that are drawn as one are one word."""
    tokens: list[Token] = []
    words = Words.of(text)
    own = [own_span(piece, span, text) for piece, span in zip(encoding.tokens, encoding.offsets, strict=True)]
    spans = covering(own, text, whole=False)
    for piece, (start, end), word in zip(encoding.tokens, spans, encoding.word_ids, strict=True):
        typed = text[start:end]
        start += len(typed) - len(typed.lstrip())
        label = typed.strip() or piece
        # To the vocabulary each part of an emoji is a word.
        if tokens and (place := words.at(start)) is not None and place == words.at(tokens[-1].start):
            word = word if has_letters(text[slice(*words.spans[place])]) else tokens[-1].word
        tokens.append(Token(label, start, max(start, end), word=word, piece="" if piece == label else piece))
    return tuple(tokens)


def written_tokens(vocabulary: Tokenizer, pieces: Sequence[int], text: str) -> tuple[Token, ...]:
    """Lay pieces that a model wrote over the text that they spell."""
    encoding = vocabulary.encode(text)
    words = {at: word for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True)
             for at in range(start, end)}  # fmt: skip
    tokens, end = [], 0
    for index in pieces:
        if index == END:
            continue
        piece = piece_name(vocabulary, index)
        label = piece.replace("▁", " ").strip()
        start = text.find(label, end) if label else end
        end = start + len(label)
        tokens.append(Token(label or piece, start, end, word=words.get(start), piece="" if piece == label else piece))
    return tuple(tokens)


def search_tree(vocabulary: Tokenizer, result: BeamSearchResult) -> SearchTree:
    """Name all that a search weighed."""
    branches = (
        Branch(piece_name(vocabulary, node.token), node.parent, math.exp(node.log_probability), node.kept)
        for node in result.nodes
    )
    return SearchTree(tuple(branches), result.leaves)


# As models' configurations name the task.
TRANSLATE = "translation_en_to_fr"
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
            # Of a model in sixteen bits, ln p would be rounded once more.
            scores = self.logits(ids, inputs)[:, steps].float()
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
