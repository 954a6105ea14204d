"""A Hugging Face decoder that writes on: token by token, then one pass over all of it for what its heads did.

Where a step with the keys and values of earlier ones (a cache) gives what a whole pass gives, which is measured once, steps are
made so; else each is a whole pass.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.edits import HeadSet
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.core.write import Candidate, Continuation, WritingOptions
from attnviz.models.capabilities import writes_nothing
from attnviz.models.hub.attention_readers import quiet_options, takes
from attnviz.models.hub.hub_model import Rows, TracedModel, n_pieces, piece_of, without_end
from attnviz.models.write import Logits, Written, continuation, write_on
from attnviz.nn import edited_pass
from attnviz.text.tokens import Encoded, placed_ids
from attnviz.text.words import Words

# Positions whose logits are computed at once: a large vocabulary's, of a long text, would not fit into memory.
CHUNK = 64
# Two ways to the same logits differ by rounding: as a share of their spread.
SAME = 1e-3
# Vocabularies are padded to a round size: a model may write a number that stands for nothing.
_NAMELESS = re.compile(r"<(\d{1,7})>", re.ASCII)


class Writer:
    """Writes with one model; what is measured of it once is kept here.

    Raises:
        ModelError: the model names no next token.
    """

    def __init__(self, model: TracedModel) -> None:
        if model.card.architecture != "decoder" or model.model.get_output_embeddings() is None:
            raise writes_nothing(model.card.name)
        self.model = model
        with model.computing(), torch.inference_mode():
            probe = torch.arange(6, device=model.model.device)[None] % (n_pieces(model.model) or 6)
            whole = model.model(input_ids=probe, **self.uncached).logits[0]
            states = model.body(input_ids=probe, **self.uncached)[0]
            # Some cap or scale what the layer on top gives.
            self._plain_head = _same(model.model.get_output_embeddings()(states)[0], whole)
            self._caches = self._gives_same_with_cache(probe, whole)

    def _gives_same_with_cache(self, probe: Int[Tensor, "one token"], whole: Logits) -> bool:
        try:
            first = self.model.model(input_ids=probe[:, :3], use_cache=True)
            rows, cache = [first.logits[0]], first.past_key_values
            for place in range(3, probe.shape[1]):
                step = self.model.model(input_ids=probe[:, place : place + 1], past_key_values=cache, use_cache=True)
                rows, cache = [*rows, step.logits[0]], step.past_key_values
        except (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError):
            return False  # of whatever its authors' code does with a cache
        return _same(torch.cat(rows), whole)

    def pieces(self, prompt: Prompt, options: WritingOptions, report: Written) -> tuple[str, ...]:
        """Write on from a text: the names of all pieces behind it.

        Raises:
            PromptError: nothing in the text can be read, or a piece that it begins with is none of the model's.
        """
        return self.names(self._pieces(self.read(prompt.text), options, report))

    def write(self, prompt: Prompt, options: WritingOptions) -> AttentionTrace:
        """Write on from a text, and trace all of it; the trace has what the model says comes next.

        Raises:
            PromptError: as of `pieces`.
        """
        source = self.read(prompt.text)
        return self._traced(prompt, source, self._pieces(source, options))

    def _pieces(self, source: Encoded, options: WritingOptions, report: Written = lambda pieces, text: None) -> list[int]:
        given = source.inputs["input_ids"]
        room = max(self.model.card.max_tokens - len(given), 0)
        begins = self.ids(options.begins)[:room]
        written: list[int] = []
        write_on(
            self._steps([*given, *begins], written), written,
            range(len(begins), min(len(begins) + options.tokens, room)), options,
            ended=lambda last: last[0] in self._ends,
            report=lambda: report(self.names(written), self._behind(given, [*begins, *written])),
        )  # fmt: skip
        return [*begins, *written]

    def ids(self, names: Sequence[str]) -> list[int]:
        """Look up pieces by their names: the reverse of `names`."""
        with self.model.tokenizing():
            known = [self.model.tokenizer.convert_tokens_to_ids(name) or 0 for name in names]
        own = self.names(known)
        nameless = [_NAMELESS.fullmatch(name) for name in names]
        ids = [
            int(match[1]) if match and name != same else index
            for index, name, same, match in zip(known, names, own, nameless, strict=True)
        ]
        known_ids = n_pieces(self.model.model) or max(ids, default=0) + 1
        for name, index in zip(names, ids, strict=True):
            if index >= known_ids or self.names([index]) != (name,):
                raise PromptError(f"{self.model.card.name} has no piece {name!r} to go on from: this is another model's text.")
        return ids

    def names(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does; one that stands for nothing by its number."""
        with self.model.tokenizing():
            names = self.model.tokenizer.convert_ids_to_tokens(list(ids))
        return tuple(name or f"<{index}>" for index, name in zip(ids, names, strict=True))

    def read(self, text: str) -> Encoded:
        """Tokenize a text that is to be written on.

        Raises:
            PromptError: nothing in it can be read.
        """
        return without_end(self.model.encode([text]))

    def text_of(self, index: int) -> str:
        """Spell one piece as it would stand in a text, a space before it included; a mark by its name."""
        return self.spelled(index) or self.names([index])[0]

    def spelled(self, index: int) -> str:
        """Spell one piece; a mark is no text."""
        with self.model.tokenizing():
            return self.model.tokenizer.decode([index], clean_up_tokenization_spaces=False)

    def piece_of(self, word: str | Candidate) -> int:
        """Find the piece that a candidate is, or that a word begins with behind another one.

        Raises:
            PromptError, ModelError: the model has no such piece.
        """
        return self.ids((word.piece,))[0] if isinstance(word, Candidate) else piece_of(self.model, word)

    @property
    def uncached(self) -> dict[str, Any]:
        """What a pass is given so that it keeps no keys and values for a next one."""
        return quiet_options(self.model.model)

    @property
    def _ends(self) -> set[int]:
        ends = self.model.model.generation_config.eos_token_id
        return set(ends if isinstance(ends, list) else [ends]) - {None}

    def _steps(self, given: Sequence[int], written: Sequence[int]) -> Iterator[Tensor]:
        """Give the logits of the next token, again and again, while `written` grows by one token in between."""
        model, cache, n_read = self.model, None, 0
        # The mean over the text so far needs the rows of earlier steps, which no cache holds.
        means = any(isinstance(edit, HeadSet) and edit.to == "mean" for edit in edited_pass.current().each)
        while True:
            read = [*given, *written]
            with model.computing(), torch.inference_mode():
                ids = torch.tensor([read[n_read:]], device=model.model.device)
                if self._caches and not means:
                    output = model.model(input_ids=ids, past_key_values=cache, use_cache=True, **self.last_alone(ids))
                    cache, n_read = output.past_key_values, len(read)
                else:
                    output = model.model(input_ids=ids, **self.uncached, **self.last_alone(ids))
            yield output.logits[0, -1]

    def last_alone(self, ids: Int[Tensor, "one token"]) -> dict[str, int]:
        """Ask for the logits of the last position alone, where the model can give these."""
        return {"logits_to_keep": 1} if ids.shape[1] > 1 and takes(self.model.model, "logits_to_keep") else {}

    def attention_of(self, ids: Sequence[int]) -> AttentionMap:
        """Compute where heads look in pieces that stand in no text, behind the special tokens that a text begins with."""
        model, opening = self.model, self._opening
        pieces = [*opening, *ids]
        names = self.names(pieces)
        tokens = tuple(Token(name, place, place + 1, special=place < len(opening)) for place, name in enumerate(names))
        source = self.read("a").inputs
        inputs = {name: [*([row[-1]] * len(pieces))] for name, row in source.items()} | {"input_ids": pieces}
        encoded = Encoded(inputs, tokens, (None,))
        with model.computing():
            _, stacks = model.reader.read(model.tensors(encoded))
        rows: Rows = {model.kind: (tokens, tokens)}
        prompt = Prompt("a" * len(pieces))
        return model._traced(prompt, {model.kind: stacks["encoder"]}, rows, encoded, "").maps[-1]

    @property
    def _opening(self) -> list[int]:
        """List the special pieces that stand before every text."""
        encoded = self.read("a")
        first = next((place for place, each in enumerate(encoded.tokens) if not each.special), 0)
        return encoded.inputs["input_ids"][:first]

    def _traced(self, prompt: Prompt, source: Encoded, pieces: Sequence[int]) -> AttentionTrace:
        model = self.model
        text, tokens = self._laid_out(prompt.text, source, pieces)
        inputs = {name: [*ids, *([ids[-1]] * len(pieces))] for name, ids in source.inputs.items()}
        inputs["input_ids"] = [*source.inputs["input_ids"], *pieces]
        encoded = Encoded(inputs, tokens, source.cuts)
        with model.computing():
            states, stacks = model.reader.read(model.tensors(encoded))
            continuation = self._continuation(encoded, len(source), states[0])
        rows: Rows = {model.kind: (tokens, tokens)}
        output = text[len(prompt.text) :]
        trace = model._traced(replace(prompt, text=text), {model.kind: stacks["encoder"]}, rows, encoded, output)
        return replace(trace, continuation=continuation)

    def _laid_out(self, typed: str, source: Encoded, pieces: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
        """Lay what is written behind what was typed: the text of both, and their tokens in it."""
        model, given = self.model, source.inputs["input_ids"]
        if not pieces:
            return typed, source.tokens
        behind = self._behind(given, pieces)
        with model.tokenizing():
            placed = placed_ids(model.tokenizer, pieces, behind)
            spelled = [model.tokenizer.decode([piece], clean_up_tokenization_spaces=False) for piece in pieces]
        # A line feed that is a token of its own is shown as one, as where it is typed.
        placed = [
            replace(each, text=own, piece="") if own.isspace() else each for each, own in zip(placed, spelled, strict=True)
        ]
        text, shift = typed + behind, len(typed)
        words = Words.of(text)
        tokens = [*source.tokens, *(replace(each, start=each.start + shift, end=each.end + shift) for each in placed)]
        # A piece may go on with the last word.
        return text, tuple(each if each.special else replace(each, word=words.at(each.start)) for each in tokens)

    def _behind(self, given: Sequence[int], pieces: Sequence[int]) -> str:
        """Spell pieces that stand behind others: some write the space before a word only there."""
        with self.model.tokenizing():
            before, whole = (
                self.model.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
                for ids in (given, [*given, *pieces])
            )
        return whole.removeprefix(before)

    def _continuation(self, encoded: Encoded, start: int, states: Float[Tensor, "token dim"]) -> Continuation:
        ids = encoded.inputs["input_ids"]
        with torch.inference_mode():
            return continuation(start, ids, self._logits(encoded, states), self.names, self.spelled)

    def _logits(self, encoded: Encoded, states: Float[Tensor, "token dim"]) -> Iterator[tuple[int, Logits]]:
        """Give the logits of all positions, some at a time, with the place of the first of them."""
        whole = None if self._plain_head else self.model.model(**self.model.tensors(encoded), **self.uncached).logits[0]
        head = self.model.model.get_output_embeddings()
        for first in range(0, len(states), CHUNK):
            rows = slice(first, first + CHUNK)
            yield first, head(states[rows]) if whole is None else whole[rows]


def _same(one: Logits, other: Logits) -> bool:
    spread = float((other.float().amax() - other.float().amin()).clamp(min=1))
    return one.shape == other.shape and float((one.float() - other.float()).abs().amax()) <= SAME * spread
