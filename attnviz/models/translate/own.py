"""The translators that travel with attnviz, each as an `AttentionModel`; they can also be asked for more than a trace.

A row of an LSTM's map is the token that its step writes, `</s>` last: attention decides it before the token is known. A row of
the Transformer's maps is the token that its step reads, `<s>` first, as in every Transformer here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Kind, Prompt, Token
from attnviz.models.base import ModelCard
from attnviz.models.edit.points import EditPoints, edited
from attnviz.models.translate.base import Branch, DecodingStep, SearchTree, Translation
from attnviz.nn.decoding import (
    END,
    START,
    Beam,
    BeamSearchResult,
    Decoder,
    Hypothesis,
    RereadingDecoder,
    beam_search,
    greedy,
)
from attnviz.nn.edit.edited_pass import current as current_edits
from attnviz.nn.seq2seq import Seq2Seq
from attnviz.nn.translator import Translator

# Padding, the start mark and the unknown mark: they are read, never written.
UNWRITABLE = (0, START, 3)
_ENDED = Token("</s>", 0, 0, special=True)
_BEGUN = Token("<s>", 0, 0, special=True)


@dataclass(frozen=True, eq=False)
class _Speaking:
    """A decoder that cannot write what is no text."""

    decoder: Decoder

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "_Speaking"]:
        scores, after = self.decoder.next(tokens)
        # The scores are this call's own: nothing else sees them change.
        scores[:, list(UNWRITABLE)] = -torch.inf
        return scores, _Speaking(after)

    def select(self, rows: Int[Tensor, " row"]) -> "_Speaking":
        return _Speaking(self.decoder.select(rows))


@dataclass(frozen=True, eq=False)
class TranslationModel:
    """One translator of its own kind, with the subwords of both languages."""

    card: ModelCard
    model: Seq2Seq | Translator
    source: Tokenizer
    target: Tokenizer

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace the translation, or `prompt.target` where it is given, with the edits, and the attention of every head.

        Raises:
            PromptError: nothing in the text can be read, or the target is longer than the model writes.
            EditError: the model does not have what is edited.
        """
        prompt = Prompt.of(prompt)
        with edited(self, prompt, Edits.of(edits)):
            return self.steps(prompt)[0]

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit."""
        if isinstance(self.model, Seq2Seq):
            return EditPoints({"cross": (1, 1)}, {id(self.model.attention): "cross"}, writes=True)
        size = self.card.n_layers, self.card.n_heads
        encoder: Any = self.model.encoder.blocks
        places: dict[int, Kind] = {id(block.attention): "encoder" for block in encoder}
        for block in self.model.blocks:
            places |= {id(block.attention): "decoder", id(block.cross): "cross"}
        return EditPoints(dict.fromkeys(("encoder", "decoder", "cross"), size), places, writes=True)

    def steps(self, prompt: Prompt | str, n_alternatives: int = 5) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the prompt, and tell how likely the model found every token that is written.

        Raises:
            PromptError: as of `trace`.
        """
        prompt = Prompt.of(prompt)
        if prompt.target:
            written = self._tokens(self.target.encode(prompt.target), prompt.target)
            return self._followed(prompt, self.forced(prompt.target), (prompt.target, written), n_alternatives)
        read, _, _ = self.read(prompt.text)
        (pieces,) = greedy(self.speaking(read), 1, self.longest(read.shape[1]), read.device)
        return self.follow(prompt, pieces, n_alternatives)

    def follow(
        self, prompt: Prompt, pieces: Sequence[int], n_alternatives: int = 5
    ) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found.

        Raises:
            PromptError: nothing in the text can be read.
        """
        output = self._text(pieces)
        return self._followed(prompt, pieces, (output, self._placed(pieces, output)), n_alternatives)

    def _followed(
        self, prompt: Prompt, pieces: Sequence[int], output: tuple[str, tuple[Token, ...]], n_alternatives: int
    ) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        text, written = output
        read, keys, cut = self.read(prompt.text)
        inputs = torch.tensor([[START, *pieces[:-1]]], device=read.device)
        with torch.inference_mode():
            scores, attention = self.model(read, inputs)
        # An end mark is a row too, unless the limit came before it.
        rows = (*written, _ENDED) if pieces[-1] == END else written
        maps = self._maps(attention, rows, (_BEGUN, *rows[:-1]), keys)
        trace = AttentionTrace(self.card.name, prompt, maps, text, cut, revision=self.card.revision, edits=current_edits())
        return trace, self._likely(scores[0], pieces, rows, n_alternatives)

    def translate(self, text: str, beam: Beam | None = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam.

        Raises:
            PromptError: nothing in the text can be read.
        """
        return self.search(text, beam or Beam(width=1), prefix)[0]

    def search(self, text: str, beam: Beam, prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree]:
        """Translate, and return the tree that the search walked after the prefix.

        Raises:
            PromptError: nothing in the text can be read.
        """
        read, _, _ = self.read(text)
        decoder, given = self._begin(read, prefix)
        longest = max(1, self.longest(read.shape[1]) - len(prefix))
        result = beam_search(decoder, replace(beam, longest=longest), read.device)
        return tuple(self._translation(row, tuple(prefix), given) for row in result.hypotheses), self._tree(result)

    @property
    def closed(self) -> frozenset[str]:
        """The names of what cannot be written."""
        return frozenset(self.names(UNWRITABLE))

    def ended(self, pieces: Sequence[int]) -> bool:
        """Whether the end mark is among the pieces."""
        return END in pieces

    def speaking(self, source: Int[Tensor, "batch key"]) -> Decoder:
        """Sentences that have been read and wait to be translated; what is no text cannot be written."""
        if current_edits():
            # Row by row as in the trace of what it writes: with a cache, no step would know its place.
            return _Speaking(RereadingDecoder(self.model.forward, source, source[:, :0]))
        return _Speaking(self.model.begin(source))

    def longest(self, n_keys: int) -> int:
        """Limit how many tokens a source of `n_keys` may become; what is longer is a model that repeats itself."""
        return min(self.card.max_tokens - 1, 3 * n_keys + 10)

    def read(self, text: str) -> tuple[Int[Tensor, "one key"], tuple[Token, ...], int | None]:
        """Tokenize a text: its ids, its tokens, and where it was cut to fit."""
        encoding = self.source.encode(text)
        if not encoding.ids:
            raise PromptError(f"{self.card.name} finds nothing to read in this text: type a word.")
        ids = encoding.ids[: self.card.max_tokens]
        tokens = self._tokens(encoding, text)[: len(ids)]
        cut = tokens[-1].end if len(ids) < len(encoding.ids) else None
        return torch.tensor([ids], device=next(self.model.parameters()).device), tokens, cut

    def forced(self, target: str) -> tuple[int, ...]:
        ids = self.target.encode(target).ids
        most = self.card.max_tokens - 1
        if not 0 < len(ids) <= most:
            raise PromptError(f"{self.card.name} writes at most {most} tokens, and this target has {len(ids)}: type less.")
        return (*ids, END)

    def _begin(self, read: Int[Tensor, "one key"], prefix: Sequence[int]) -> tuple[Decoder, float]:
        """Begin a decoder that has written the prefix and waits for its last token; also ln p of what it was given."""
        decoder: Decoder = self.speaking(read)
        if not prefix:
            return decoder, 0.0
        given, last = 0.0, START
        with torch.inference_mode():
            for piece in prefix:
                scores, decoder = decoder.next(torch.tensor([last], device=read.device))
                given += float(scores[0].log_softmax(-1)[piece])
                last = piece
        return _Resumed(decoder, last), given

    def _translation(self, row: Hypothesis, prefix: tuple[int, ...], given: float) -> Translation:
        pieces = (*prefix, *row.tokens)
        return Translation(self._text(pieces), pieces, given + row.log_probability)

    def _tree(self, result: BeamSearchResult) -> SearchTree:
        branches = (
            Branch(self._piece(node.token), node.parent, math.exp(node.log_probability), node.kept) for node in result.nodes
        )
        return SearchTree(tuple(branches), result.leaves)

    def _text(self, pieces: Sequence[int]) -> str:
        return self.target.decode([piece for piece in pieces if piece != END]).strip()

    def _piece(self, index: int) -> str:
        # Every output of the model is a piece of its vocabulary: there is always one.
        return self.target.id_to_token(index) or f"<{index}>"

    def _tokens(self, encoding: Encoding, text: str) -> tuple[Token, ...]:
        """Make tokens of an encoding; a space before a piece is not part of its token."""
        tokens = []
        for piece, (start, end), word in zip(encoding.tokens, encoding.offsets, encoding.word_ids, strict=True):
            typed = text[start:end]
            start += len(typed) - len(typed.lstrip())
            label = typed.strip() or piece
            tokens.append(Token(label, start, max(start, end), word=word, piece="" if piece == label else piece))
        return tuple(tokens)

    def _placed(self, pieces: Sequence[int], text: str) -> tuple[Token, ...]:
        """Pieces that the model wrote, laid over the text that they spell."""
        encoding = self.target.encode(text)
        words = {at: word for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True)
                 for at in range(start, end)}  # fmt: skip
        tokens, end = [], 0
        for index in pieces:
            if index == END:
                continue
            piece = self._piece(index)
            label = piece.replace("▁", " ").strip()
            start = text.find(label, end) if label else end
            end = start + len(label)
            tokens.append(Token(label or piece, start, end, word=words.get(start), piece="" if piece == label else piece))
        return tuple(tokens)

    def _maps(
        self, attention: Any, rows: tuple[Token, ...], inputs: tuple[Token, ...], keys: tuple[Token, ...]
    ) -> tuple[AttentionMap, ...]:
        if isinstance(self.model, Seq2Seq):
            return (AttentionMap("cross", rows, keys, DenseWeights((attention.cpu().numpy(),))),)
        axes: dict[Kind, tuple[tuple[Token, ...], tuple[Token, ...]]] = {
            "encoder": (keys, keys),
            "decoder": (inputs, inputs),
            "cross": (inputs, keys),
        }
        maps = []
        for kind, tokens in axes.items():
            store = DenseWeights(tuple(layer[0].cpu().numpy() for layer in getattr(attention, kind)))
            maps.append(AttentionMap(kind, *tokens, store, causal=kind == "decoder"))
        return tuple(maps)

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Pieces of the target's vocabulary by their names, such as those of `DecodingStep.alternatives`.

        Raises:
            PromptError: one of them is no piece that this model writes.
        """
        numbers = [self.target.token_to_id(name) for name in names]
        for name, piece in zip(names, numbers, strict=True):
            if piece is None or piece in UNWRITABLE:
                raise PromptError(f"{self.card.name} has no piece {name!r} to go on from: choose one of its alternatives.")
        return tuple(piece for piece in numbers if piece is not None)

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        return tuple(self._piece(piece) for piece in pieces)

    def _likely(
        self, scores: Float[Tensor, "query vocabulary"], pieces: Sequence[int], rows: Sequence[Token], n_alternatives: int
    ) -> tuple[DecodingStep, ...]:
        probabilities = scores.float().softmax(dim=-1).cpu()
        best = probabilities.topk(min(n_alternatives, probabilities.shape[-1]))
        return tuple(
            DecodingStep(row, float(own[piece]), tuple(zip(map(self._piece, places), values, strict=True)))
            for row, own, piece, values, places in zip(
                rows, probabilities, pieces, best.values.tolist(), best.indices.tolist(), strict=True
            )
        )


@dataclass(frozen=True, eq=False)
class _Resumed:
    """A decoder in the middle of a sentence: the search begins with a start mark, and this one's last token was another."""

    decoder: Decoder
    last: int

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], Decoder]:
        return self.decoder.next(torch.full_like(tokens, self.last))

    def select(self, rows: Int[Tensor, " row"]) -> "_Resumed":
        return _Resumed(self.decoder.select(rows), self.last)
