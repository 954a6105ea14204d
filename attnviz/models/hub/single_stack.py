"""A Hugging Face model of one stack, an encoder or a decoder, with all that it declares; and how a decoder writes on.

Its layers of attention hold all that question and passage have to do with each other; the blocks between the two are told
apart by the tokens' segments: 0 is the question, 1 the passage. No answer is what the model says by pointing at its first
special token (Rajpurkar et al. 2018, arXiv:1806.03822; Devlin et al. 2019, section 4.3).

A decoder writes token by token, and one pass over all of it says what its heads did. Where a step with the keys and values of
earlier ones (a cache) gives what a whole pass gives, which is measured once, steps are made so; else each is a whole pass.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.pytorch_utils import Conv1D

from attnviz.core.edits import HeadSet
from attnviz.core.errors import ArgumentError, ModelError, PromptError, described
from attnviz.core.sampling import Candidate, WritingOptions
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.base import EncoderReading
from attnviz.models.capabilities import writes_nothing
from attnviz.models.edit import Outputs, Scorer, can_enter, cosine_distance, entering
from attnviz.models.hub.attention_readers import quiet_options, takes
from attnviz.models.hub.hub_model import (
    BINDERS,
    LIKELIEST,
    Rows,
    TracedModel,
    has_labels,
    label_log_probabilities,
    label_names,
    n_pieces,
    next_targets,
    next_token,
    piece_name,
    piece_of,
    trace_batches,
    whole_text,
    without_end,
)
from attnviz.models.question_answering import ANSWER, NO_ANSWER, QuestionAndPassage, SpanFinder, span_facts, span_outcome
from attnviz.models.span_decoding import Logits, SpanDecoding
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, Target, no_such_output, target_labels
from attnviz.models.write_on import WordLogits, Written, continuation, write_on
from attnviz.nn import apply_edits
from attnviz.nn.attention import Attended
from attnviz.text.spans import Window
from attnviz.text.tokens import Encoded, in_words, placed_ids
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
            head = model.model.get_output_embeddings()
            # Some cap or scale what the layer on top gives; between ELECTRA's and the states lies another, of another size.
            self._plain_head = states.shape[-1] == head.weight.shape[-1] and _same(head(states)[0], whole)
            # With the keys and values of earlier tokens, one is read at a time, or several: Jamba's layers read one alone.
            self.caches = self._gives_same_with_cache(probe, whole, [1] * 3)
            self.continues = self.caches and self._gives_same_with_cache(probe, whole, [3])

    def _gives_same_with_cache(self, probe: Int[Tensor, "one token"], whole: WordLogits, steps: Sequence[int]) -> bool:
        try:
            rows, cache = [], None
            for ids in probe.split([probe.shape[1] - sum(steps), *steps], dim=1):
                step = self.model.model(input_ids=ids, past_key_values=cache, use_cache=True)
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
            PromptError: this is no text, or nothing in it can be read.
        """
        return without_end(self.model.encode([Prompt.of(text).text]))

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
            ArgumentError: it is neither a candidate nor a word.
        """
        if not isinstance(word, str | Candidate):
            raise ArgumentError(f"A word that may come next is a text or a candidate, not {described(word)}.")
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
        edits = apply_edits.current()
        # The mean over the text so far needs the rows of earlier steps, which no cache holds.
        means = any(isinstance(edit, HeadSet) and edit.to == "mean" for edit in edits.each)
        while True:
            read = [*given, *written]
            with model.computing(), torch.inference_mode():
                ids = torch.tensor([read[n_read:]], device=model.model.device)
                if self.caches and not means:
                    output = model.model(input_ids=ids, past_key_values=cache, use_cache=True, **self.last_alone(ids))
                    cache, n_read = output.past_key_values, len(read)
                    if edits.by_position and any(getattr(cache, "is_sliding", ())):
                        # A cache of a window does not say at which places of the text its tokens stand.
                        cache, n_read = None, 0
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
            with torch.inference_mode():
                logits = self._logits(encoded, states[0])
                behind = continuation(len(source), encoded.inputs["input_ids"], logits, self.names, self.spelled)
        rows: Rows = {model.kind: (tokens, tokens)}
        output = text[len(prompt.text) :]
        trace = model._traced(replace(prompt, text=text), {model.kind: stacks["encoder"]}, rows, encoded, output)
        return replace(trace, continuation=behind)

    def _laid_out(self, typed: str, source: Encoded, pieces: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
        """Lay what is written behind what was typed: the text of both, and their tokens in it."""
        model, given = self.model, source.inputs["input_ids"]
        if not pieces:
            return typed, source.tokens
        behind = self._behind(given, pieces)
        with model.tokenizing():
            placed = placed_ids(model.tokenizer, pieces, behind)
            spelled = [model.tokenizer.decode([piece], clean_up_tokenization_spaces=False) for piece in pieces]
        # Spaces that are a token of their own are shown, as where they are typed.
        placed = [
            replace(each, text=own, piece="") if own.isspace() else each for each, own in zip(placed, spelled, strict=True)
        ]
        text, shift = typed + behind, len(typed)
        words = Words.of(text)
        tokens = [*source.tokens, *(replace(each, start=each.start + shift, end=each.end + shift) for each in placed)]
        # A piece may go on with the last word.
        tokens = [each if each.special else replace(each, word=words.at(each.start)) for each in tokens]
        return text, (*in_words(tokens[: len(source.tokens)]), *tokens[len(source.tokens) :])

    def _behind(self, given: Sequence[int], pieces: Sequence[int]) -> str:
        """Spell pieces that stand behind others: some write the space before a word only there."""
        with self.model.tokenizing():
            before, whole = (
                self.model.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
                for ids in (given, [*given, *pieces])
            )
        return whole.removeprefix(before)

    def _logits(self, encoded: Encoded, states: Float[Tensor, "token dim"]) -> Iterator[tuple[int, WordLogits]]:
        """Give the logits of all positions, some at a time, with the place of the first of them."""
        whole = None if self._plain_head else self.model.model(**self.model.tensors(encoded), **self.uncached).logits[0]
        head = self.model.model.get_output_embeddings()
        for first in range(0, len(states), CHUNK):
            rows = slice(first, first + CHUNK)
            yield first, head(states[rows]) if whole is None else whole[rows]


def _same(one: WordLogits, other: WordLogits) -> bool:
    spread = float((other.float().amax() - other.float().amin()).clamp(min=1))
    return one.shape == other.shape and float((one.float() - other.float()).abs().amax()) <= SAME * spread


# W_Q, W_K and W_V as BERT names them, and as DistilBERT does.
_NAMES = (("query", "key", "value"), ("q_lin", "k_lin", "v_lin"))

# Tokens that show whether a pass can begin at any layer.
FEW = 16


@dataclass(frozen=True, eq=False)
class StackModel(TracedModel):
    """An encoder or a decoder."""

    can_read = True

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        source = self.encode_prompt(prompt)
        with self.computing():
            _, stacks = self.reader.read(self.tensors(source))
        return self._traced(prompt, {self.kind: stacks["encoder"]}, {self.kind: (source.tokens, source.tokens)}, source)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, by kind; nothing where `attended_in` finds nothing."""
        return {self.kind: layers} if (layers := self.attended_in(self.encode_prompt(prompt))) else {}

    def attended_in(self, encoded: Encoded) -> tuple[Attended, ...]:
        """Return what the attention of each layer reads; nothing where it is unknown which layers are W_Q, W_K and W_V."""
        layers = qkv_layers(self.model)
        if len(layers) != self.card.n_layers or not self.reader.records:
            return ()
        with self.computing(), torch.inference_mode():
            states = self.body(**self.tensors(encoded), output_hidden_states=True).hidden_states
            entered = [layer.enter(read) for layer, read in zip(layers, states[:-1], strict=True)]
        return tuple(Attended(layer.attention, read, read) for layer, read in zip(layers, entered, strict=True))

    def states(self, encoded: Encoded) -> tuple[Float[Tensor, "one token state"], tuple[QueryKeyLayer, ...]]:
        """Compute an encoder's last states, which other layers can stand on, and the queries and keys of its own layers.

        Raises:
            ModelError: the model does not show its queries and keys.
        """
        with self.computing():
            states, stacks = self.reader.read(self.tensors(encoded))
        store = stacks["encoder"].store
        if not isinstance(store, QueryKeyWeights):
            raise ModelError(f"{self.card.name} does not show its queries and keys: no other layers can stand on it.")
        return states, tuple(store.layers)

    def says_more(self, prompt: Prompt) -> bool:
        """Say whether there is a pair, or a layer on top that finds something likeliest."""
        return bool(prompt.pair) or self.body is not self.model

    def reading(self, prompt: Prompt) -> EncoderReading:
        """Read a text, or a pair of them: last states, and what layers on top find likeliest."""
        source = self.encode_prompt(prompt)
        with self.computing(), torch.inference_mode():
            outputs: Any = self.model(**self.tensors(source), output_hidden_states=True)
        states = outputs.hidden_states[-1][0].float().cpu().numpy()
        logits = getattr(outputs, "logits", None)
        likeliest = () if logits is None else _likeliest(self, source, logits[0].float())
        return EncoderReading(source.tokens, states, likeliest, _similarity(source.tokens, states))

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self)

    def writer(self) -> Writer:
        """Return what knows the model's pieces and reads what it is to write on from."""
        return self._writer

    def write(self, prompt: Prompt, options: WritingOptions) -> AttentionTrace:
        """Write on from a text, token by token, and trace all of it."""
        return self._writer.write(prompt, options)

    def write_pieces(self, prompt: Prompt, options: WritingOptions, report: Written) -> tuple[str, ...]:
        """Do as `write`, for the pieces alone."""
        return self._writer.pieces(prompt, options, report)

    def last_states(self, inputs: dict[str, Tensor]) -> Float[Tensor, "row token state"]:
        """Compute the last states of inputs, in float32."""
        with self.computing():
            outputs: Any = self.body(**inputs, **quiet_options(self.body), output_hidden_states=True)
        return outputs.hidden_states[-1].float()

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score the next token, or the target that is typed; of other models how far the last states turn.

        That is minus the mean over tokens of 1 - cosine.
        """
        self.edit_points()
        if self.default_target(prompt).kind == "next" and self.model.get_output_embeddings() is not None:
            return self._next_scorer(prompt)
        source = self.tensors(self.encode_prompt(prompt))
        few = {name: ids[:, :FEW] for name, ids in source.items()}
        outputs: Outputs | None = {} if can_enter(self.body, self.card.n_layers, lambda: self.last_states(few)) else None
        with torch.inference_mode(), entering(self.card.n_layers, 1, outputs):
            before = self.last_states(source)

        def forward(n_rows: int) -> Tensor:
            whole = {name: ids.expand(n_rows, -1) for name, ids in source.items()}
            after = self.last_states(whole if outputs is None else source)
            return -cosine_distance(before, after).mean(dim=1)

        return Scorer(self, "cosine", 1, forward, source["input_ids"].shape[1], outputs)

    def _next_scorer(self, prompt: Prompt) -> Scorer:
        typed = (prompt.target or "").strip() or "next"
        target = Target.of(typed if typed.partition(":")[0] in ("next", "rather") else f"next:{typed.split()[0]}")
        bound = next_token(self, prompt, target)
        few = {"input_ids": bound.ids[None, :FEW]}
        outputs: Outputs | None = {} if can_enter(self.body, self.card.n_layers, lambda: self.last_states(few)) else None

        def forward(n_rows: int) -> Tensor:
            ids = bound.ids[None]
            made = bound.run(ids.expand(n_rows, -1) if outputs is None else ids)
            # Of two words ln p(one) - ln p(other), which is the difference of their logits.
            return made.score if target.kind == "rather" else made.log_probability

        # What layers give without edits is not noted in a pass that has some.
        with torch.inference_mode(), entering(self.card.n_layers, 1, outputs):
            forward(1)
        return Scorer(self, "nats", 1, forward, len(bound.ids), outputs)

    def default_target(self, prompt: Prompt) -> Target:
        """Choose what the layer on top is there for; of an encoder that has none, how alike two texts are."""
        target = super().default_target(prompt)
        if target.kind in ("similarity", "next") and has_labels(self):
            return Target("label")
        return Target("masked") if target.kind == "similarity" and "ForMaskedLM" in type(self.model).__name__ else target

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List what can be explained: of a classifier each label."""
        kind = self.default_target(prompt).kind
        if kind == "label":
            return target_labels(kind, kind, label_names(self))
        if kind == "next":
            return target_labels(kind) | next_targets(self, prompt)
        return target_labels(kind) | (target_labels("similarity") if kind == "masked" and prompt.pair else {})

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to likeness, the next or masked token, or a label."""
        binder = BINDERS.get(target.kind)
        return binder(self, prompt, target) if binder else super().bind_target(prompt, target)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to a text alone, where nothing about an output is explained."""
        return whole_text(self, self.encode_prompt(prompt))

    def trace_all(self, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
        """Trace texts of like length together, where queries and keys can be recorded, and padding changes nothing."""
        return trace_batches(self, texts) if self.reader.records else super().trace_all(texts)


def _likeliest(model: TracedModel, source: Encoded, logits: Tensor) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    if has_labels(model):
        shares = label_log_probabilities(model, logits).exp().tolist()
        return (("label", tuple(sorted(zip(label_names(model), shares, strict=True), key=lambda row: -row[1]))),)
    if model.model.get_output_embeddings() is None:
        return ()  # such as labels of tokens
    if model.card.architecture == "decoder":
        return (("next token", _best_pieces(model, logits[-1])),)
    masks = [place for place, piece in enumerate(source.inputs["input_ids"]) if piece == model.tokenizer.mask_token_id]
    return tuple((f"{model.tokenizer.mask_token} {place}", _best_pieces(model, logits[place])) for place in masks)


def _best_pieces(model: TracedModel, logits: Tensor) -> tuple[tuple[str, float], ...]:
    shares = F.softmax(logits, dim=-1).topk(min(LIKELIEST, len(logits)))
    names = [piece_name(model, piece) for piece in shares.indices.tolist()]
    return tuple(zip(names, shares.values.tolist(), strict=True))


def _similarity(tokens: Sequence[Token], states: np.ndarray) -> float | None:
    sides = [[place for place, token in enumerate(tokens) if token.segment == side and not token.special] for side in (0, 1)]
    if not all(sides):
        return None
    one, other = (states[side].mean(axis=0) for side in sides)
    return float(one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), np.finfo(np.float32).tiny))


@dataclass(frozen=True, eq=False)
class QKVLayer:
    """One layer: its three linear layers by the names `query`, `key` and `value`, and what it makes of its states first."""

    attention: nn.Module
    enter: Callable[[Tensor], Tensor]


class QKVProjection(nn.Module):
    """Three linear layers under the names that attnviz gives them, of the attention that has them."""

    def __init__(self, attention: nn.Module, query: nn.Linear, key: nn.Linear, value: nn.Linear) -> None:
        super().__init__()
        self.query, self.key, self.value = query, key, value
        self.scaling = getattr(attention, "scaling", None)


def qkv_layers(model: nn.Module) -> tuple[QKVLayer, ...]:
    """List the layers of a model of one stack, lowest first; none of a family that is not known here."""
    return tuple(reads for module in model.modules() if (reads := _layer(module)) is not None)


def _layer(module: Any) -> QKVLayer | None:
    for names in _NAMES:
        linears = [each for name in names if isinstance(each := getattr(module, name, None), nn.Linear)]
        if len(linears) == len(names):
            return QKVLayer(QKVProjection(module, *linears), lambda states: states)
    joined = getattr(getattr(module, "attn", None), "c_attn", None)
    if isinstance(joined, Conv1D) and joined.weight.shape[1] == 3 * joined.weight.shape[0]:
        return QKVLayer(_divided(module.attn, joined), module.ln_1)
    return None


def _divided(attention: nn.Module, joined: Conv1D) -> QKVProjection:
    """GPT-2 has W_Q, W_K and W_V side by side in one matrix, which stands the other way round than a linear layer's."""
    pieces = zip(joined.weight.T.chunk(3), joined.bias.chunk(3), strict=True)
    return QKVProjection(attention, *(_linear(weight, bias) for weight, bias in pieces))


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Make a linear layer of these very numbers, without a copy."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False)
    return layer


@dataclass(frozen=True, eq=False)
class HubAnswerer(SpanFinder, StackModel):
    """An encoder with a start and an end logit for every token."""

    @property
    def can_decline(self) -> bool:
        """Whether its tokenizer has the special token that means no answer."""
        return self.tokenizer.cls_token_id is not None

    def span_decoding(self) -> SpanDecoding:
        """Say how logits become an answer, in windows of what the model reads at once."""
        return SpanDecoding(window=min(SpanDecoding().window, self.card.max_tokens))

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        return self.answers(prompt).trace if prompt.question else super()._trace(prompt)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention reads, as of any encoder; of a question and a passage, over the window of `trace`."""
        if not prompt.question:
            return super().attended(prompt)
        located = self.located(prompt)
        return {"encoder": self.attended_in(located.pair.cut(located.window))}

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score the best span; of a text without a question, its last states."""
        self.edit_points()
        return self.span_scorer(prompt) if prompt.question else super().scorer(prompt)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to the window of `trace`, or to a text alone."""
        return self._bind_answer(prompt) if prompt.question else super().bind_trace(prompt)

    def _bind_answer(self, prompt: Prompt, kind: str = ANSWER) -> BoundTarget:
        located = self.located(prompt, kind)
        pair, read = located.pair, located.pair.cut(located.window)
        inputs = {name: ids for name, ids in self.tensors(read).items() if name != "input_ids"}
        if (mark := self._mark(read.inputs["input_ids"])) is None and kind == NO_ANSWER:
            raise no_such_output(self.card.name, "answer that the passage does not say")
        passage = slice(pair.first, pair.first + located.window.size)

        def run(ids: Int[Tensor, "batch token"]) -> Outcome:
            others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
            with self.computing():
                outputs = self.model(input_ids=ids, **others)
            start, end = outputs.start_logits.float(), outputs.end_logits.float()
            nothing = torch.full_like(start[:, 0], -torch.inf) if mark is None else start[:, mark] + end[:, mark]
            return span_outcome(start[:, passage], end[:, passage], located.span, SpanDecoding(), nothing)

        facts = span_facts(located, prompt.text, self, run)
        if located.span is None and mark is not None:
            # No answer has two logits of its own, which are read from the mark.
            facts["readout"] = {mark: 0.5} | {place: weight / 2 for place, weight in facts["readout"].items()}
        size = slice(0, len(read))
        return BoundTarget(**facts, sites=[AttentionSite(size, size, "encoder", layer) for layer in self.layers("encoder")])

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        return QuestionAndPassage.of(self.encode([question, passage], whole=True), self.card.name)

    def _window_trace(self, prompt: Prompt, pair: QuestionAndPassage, window: Window, output: str) -> AttentionTrace:
        read = pair.cut(window)
        with self.computing():
            _, stacks = self.reader.read(self.tensors(read))
        return self._traced(prompt, {"encoder": stacks["encoder"]}, {"encoder": (read.tokens, read.tokens)}, read, output)

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        cut = [self.tensors(pair.cut(window)) for window in windows]
        with self.computing(), torch.inference_mode():
            outputs = self.model(**{name: torch.cat([each[name] for each in cut]) for name in cut[0]})
        return [self._window(pair, *row) for row in zip(outputs.start_logits, outputs.end_logits, strict=True)]

    def _window(self, pair: QuestionAndPassage, start: Tensor, end: Tensor) -> Logits:
        begins, ends = (logits.float().cpu().numpy() for logits in (start, end))
        stop = len(begins) - (len(pair.whole) - pair.stop)
        place = self._mark(pair.whole.inputs["input_ids"])
        if place is not None and place >= pair.stop:
            place -= len(pair.whole) - len(begins)
        nothing = -np.inf if place is None else float(begins[place] + ends[place])
        return Logits(begins[pair.first : stop], ends[pair.first : stop], nothing)

    def _mark(self, ids: Sequence[int]) -> int | None:
        """Find the token whose logits are those of no answer; None: the model cannot say that there is none."""
        return ids.index(self.tokenizer.cls_token_id) if self.can_decline and self.tokenizer.cls_token_id in ids else None
