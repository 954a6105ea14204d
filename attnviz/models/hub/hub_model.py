"""A Hugging Face model and its tokenizer, as an `AttentionModel`: what models of one stack and of two have in common."""

import copy
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import EditError, ModelError, PromptError, cancellation_point, failing_as
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Kind, Messages, Prompt, Token
from attnviz.models import device
from attnviz.models.base import ModelCard
from attnviz.models.capabilities import Capabilities
from attnviz.models.edit import EditPoints, edited
from attnviz.models.hub import attention_readers
from attnviz.models.hub.attention_readers import AttentionFunctionReader, Reader, Stacks
from attnviz.models.hub.checkpoint import BUILDING
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, Target, no_such_output
from attnviz.nn import apply_edits
from attnviz.text.tokens import Encoded, encode
from attnviz.text.words import piece_label

Rows = dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]
# Alternatives that are listed: as many as Translate shows of each token.
LIKELIEST = 5
SINK = Token("sink", 0, 0, special=True)
# So many weights of all heads are held at a time, and so many tokens are read: with four times as many weights a survey of
# 100,000 sentences took 1.4 GB and was no faster.
MOST_WEIGHTS, MOST_TOKENS = 2**22, 2048


@dataclass(frozen=True, eq=False)
class TracedModel(Capabilities):
    """A Hugging Face model, its tokenizer, and the way in which its attention shows."""

    card: ModelCard
    model: Any
    tokenizer: Any
    reader: Reader
    # The inputs that the model's forward pass takes.
    accepts: frozenset[str]
    # Layers and heads of each kind of attention.
    sizes: Mapping[Kind, tuple[int, int]]
    # Where other layers mix tokens without attention, the numbers of those that attend.
    attending: Mapping[Kind, tuple[int, ...]] = field(default_factory=dict)
    # Where the decoder has pieces of its own, the tokenizer that names them.
    target_tokenizer: Any = None
    # Tokenizers are not safe to share: some switch language or truncation within a call.
    _lock: Any = field(default_factory=threading.Lock)

    def __copy__(self) -> "TracedModel":
        return self  # it keeps nothing of a call

    def __reduce__(self) -> Any:
        # transformers leaves hooks in a model that has shown its attention once, which cannot be pickled.
        raise ModelError(f"{self.card.name} cannot be pickled: load or wrap it in each process.")

    def trace(self, prompt: Prompt | str | Messages, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Run one forward pass over the prompt, with the edits, and keep the attention of every head.

        The messages of a chat are read by the tokenizer's template. A model that writes traces what it writes, or
        `prompt.target` where it is given; one that answers, with a question, the window of the passage that holds the best
        answer.

        Raises:
            PromptError: nothing in the text can be read, or there is too much; the message says which.
            EditError: the model does not have what is edited, or cannot be edited.
        """
        prompt = self.prompt(prompt)
        with edited(self, prompt, Edits.of(edits)):
            return self._trace(prompt)

    def prompt(self, given: object) -> Prompt:
        """Make a prompt of a text, or of a chat's messages by the tokenizer's template, up to where the model answers."""
        return self._checked(Prompt.of(given, self._chat))

    def _chat(self, messages: Messages) -> str:
        if not self.tokenizer.chat_template:
            raise PromptError(f"The tokenizer of {self.card.name} has no template for the messages of a chat: give it a text.")
        sentence = f"The chat template of {self.card.name} cannot write these messages; give each its role and its content."
        with failing_as(PromptError, sentence), self._lock:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit."""
        if (kinds := self.reader.kinds) is None:
            raise EditError(
                f"{self.card.name} computes its attention in code of its own ({self.model.config.model_type}), so it can be "
                "looked at but not edited: choose another, such as bert-base-uncased."
            )
        writes = self.card.architecture == "encoder-decoder"
        return EditPoints(self.sizes, kinds, self.kind, writes, self.attending)

    def layers(self, kind: Kind) -> Sequence[int]:
        """Number the layers that attend."""
        return self.attending.get(kind) or range(self.sizes[kind][0])

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        raise NotImplementedError

    def untrained(self, seed: int) -> "TracedModel | None":
        """Make the same model with weights as its class initializes them; None where it computes its attention by itself."""
        if not self.reader.records:
            return None
        with BUILDING, device.seeded(seed):
            fresh = type(self.model)._from_config(copy.deepcopy(self.model.config)).to(self.model.device).eval()
        device.guard_lookups(fresh)
        attention_readers.set_whole_attention(fresh)
        fresh.set_attn_implementation(attention_readers.NAME)
        return replace(self, model=fresh, reader=AttentionFunctionReader(body_of(fresh)))

    @contextmanager
    def tokenizing(self) -> Iterator[None]:
        """Let this thread alone use the tokenizer; whatever its files make it do wrong is one sentence."""
        sentence = f"The tokenizer of {self.card.name} fails at this text; type another one, or choose another model."
        with failing_as(ModelError, sentence), self._lock:
            yield

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let the model compute; whatever its files make it do wrong is one sentence."""
        with device.computing(f"{self.card.name} fails at this text: type another one, or choose another model."):
            yield

    def encode(self, texts: Sequence[str], *, whole: bool = False, target: bool = False) -> Encoded:
        """Tokenize one text or a pair, cut to what the model reads at once unless `whole`; `target`: as text that it writes.

        Raises:
            PromptError: the tokenizer finds nothing in the text that the model could read.
        """
        with self.tokenizing():
            own = self.target_tokenizer if target else None
            limit = None if whole else self.card.max_tokens
            encoded = encode(own or self.tokenizer, texts, limit=limit, target=target and own is None)
        if not any(whole or target or not token.special for token in encoded.tokens):
            raise PromptError(f"{self.card.name} finds nothing to read in this text: type a word.")
        return encoded

    @property
    def naming(self) -> Any:
        """The tokenizer that names the pieces of the decoder."""
        return self.target_tokenizer or self.tokenizer

    @property
    def body(self) -> Any:
        """The model without the layer on its top that names pieces or labels."""
        return body_of(self.model)

    @property
    def kind(self) -> Kind:
        """The kind of a stack that stands alone."""
        # A model of one stack has its attention under "encoder", whether it looks ahead or not.
        return "decoder" if self.card.architecture == "decoder" else "encoder"

    def encode_prompt(self, prompt: Prompt) -> Encoded:
        """Tokenize a text, or the pair that a model reads.

        Raises:
            PromptError: the tokenizer finds nothing in the text that the model could read.
        """
        return self.encode([prompt.text] + ([prompt.pair] if prompt.pair and "pair" in self.card.reads else []))

    def tensors(self, encoded: Encoded) -> dict[str, Tensor]:
        """Return what the model is called with, as a batch of one.

        Raises:
            ModelError: the tokenizer has pieces that the model does not have.
        """
        inputs = {name: ids for name, ids in encoded.inputs.items() if name in self.accepts}
        check_pieces(n_pieces(self.model), encoded.inputs["input_ids"])
        return {name: torch.tensor([ids], device=self.model.device) for name, ids in inputs.items()}

    def _traced(self, prompt: Prompt, stacks: Stacks, tokens: Rows, source: Encoded, output: str = "") -> AttentionTrace:
        maps = []
        for kind, stack in stacks.items():
            queries, keys = tokens[kind]
            if stack.store.shape[1] == len(keys) + 1:
                keys = (*keys, SINK)
            maps.append(AttentionMap(kind, queries, keys, stack.store, stack.causal))
        cut, cut_pair = (*source.cuts, None)[:2]
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": apply_edits.current()}
        return AttentionTrace(self.card.name, prompt, tuple(maps), output, cut, cut_pair, **facts)


def body_of(model: Any) -> Any:
    """Find the layers that attend: all of a model that writes, which needs its top to go on."""
    if writes(model):
        return model
    # Llama4ForCausalLM takes itself for its layers; FSMTModel is its layers, and still names output embeddings.
    itself = model.base_model is model and model.get_output_embeddings()
    return getattr(model, "model", model) if itself else model.base_model


def writes(model: Any) -> bool:
    """Say whether a model is an encoder-decoder that can write text."""
    return bool(model.config.is_encoder_decoder) and model.can_generate()


def start_of(model: Any) -> int | None:
    """Find the token that an encoder-decoder's decoder reads first; None where it does not say so."""
    if writes(model):
        return model.generation_config.decoder_start_token_id
    places = (model.config, model.config.get_text_config(decoder=True))
    # Of one that writes nothing, it is what begins a text, or what fills one up, as T5 does.
    names = [f"{name}_token_id" for name in ("decoder_start", "bos", "pad")]
    known = (getattr(config, name, None) for name in names for config in places)
    return next((piece for piece in known if piece is not None), None)


def n_pieces(model: Any) -> int | None:
    """Count the pieces that a model can read; None: transformers does not know where it keeps them."""
    try:
        weight = getattr(model.get_input_embeddings(), "weight", None)
    except (NotImplementedError, AttributeError):
        return None
    return len(weight) if isinstance(weight, Tensor) else None


def n_written_pieces(model: Any) -> int | None:
    """Count the pieces that a decoder can both read and write."""
    head = model.get_output_embeddings() if writes(model) else None
    known = (n_pieces(model.get_decoder()), getattr(head, "out_features", None))
    return min((each for each in known if each is not None), default=None)


def own_piece(model: Any, pieces: Sequence[int | None]) -> int:
    """Find the first of some pieces that a model has; 0 where it has none of them."""
    known = n_pieces(model)
    return next((piece for piece in pieces if piece is not None and (known is None or piece < known)), 0)


def check_pieces(known: int | None, ids: Sequence[int]) -> None:
    """Stops before a model looks for a piece that it does not have, where it has so many.

    Raises:
        ModelError: the tokenizer has more pieces than the model.
    """
    if known is not None and (unknown := [piece for piece in ids if piece >= known]):
        raise ModelError(
            f"The tokenizer gives piece number {unknown[0]}, and the model has {known:,} pieces only: the two do not belong "
            "together; choose another model."
        )


def trace_batches(model: TracedModel, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
    """Trace every text, each with its place, texts of like length together; texts that the model cannot read are left out.

    The order is that of the lengths, not that of `texts`. Once padding has changed what a text reads, each is read by itself.
    """
    encoded, together = dict(_encoded(model, texts)), True
    for batch in _batches(encoded, model.card.n_layers * model.card.n_heads):
        cancellation_point()
        read = [encoded[index] for index in batch]
        layers = _weights_together(model, read) if together else None
        if together := layers is not None:
            yield from _traced(model, texts, batch, read, layers)
        else:
            yield from ((index, model.trace(Prompt(texts[index]))) for index in batch)


def _encoded(model: TracedModel, texts: Sequence[str]) -> Iterator[tuple[int, Encoded]]:
    for index, text in enumerate(texts):
        try:
            yield index, model.encode([Prompt(text).text])
        except PromptError:
            continue


def _batches(encoded: dict[int, Encoded], n_heads: int) -> Iterator[list[int]]:
    """Cut the texts, shortest first, into batches that the memory holds."""
    batch: list[int] = []
    for index in sorted(encoded, key=lambda index: (len(encoded[index]), index)):
        length = len(encoded[index])
        size = len(batch) + 1
        if batch and (size * n_heads * length**2 > MOST_WEIGHTS or size * length > MOST_TOKENS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _weights_together(model: TracedModel, encoded: list[Encoded]) -> list[np.ndarray] | None:
    """Compute the weights of each layer for texts in one batch, shortest first; None where padding changes the shortest.

    MobileBERT mixes into each token the embedding of the next one; Phi-3 turns positions otherwise where a text is long.
    """
    quiet, shortest = attention_readers.quiet_options(model.body), encoded[0]
    with model.computing(), torch.inference_mode():
        with attention_readers.recording() as recorded:
            states = model.body(**_padded(model, encoded), **quiet)[0]
        if len(shortest) < len(encoded[-1]):
            alone = model.body(**_padded(model, [shortest]), **quiet)[0]
            if not attention_readers.same_states(states[:1, : len(shortest)], alone):
                return None
        return device.to_host([attention_readers.weights_of(call) for call in recorded.calls])


def _traced(
    model: TracedModel, texts: Sequence[str], batch: list[int], encoded: list[Encoded], layers: list[np.ndarray]
) -> Iterator[tuple[int, AttentionTrace]]:
    longest = max(map(len, encoded))
    for row, (index, read) in enumerate(zip(batch, encoded, strict=True)):
        # Behind the keys of the longest text stands a sink, where there is one.
        rows = [layer[row, :, : len(read)] for layer in layers]
        weights = [np.concatenate([each[..., : len(read)], each[..., longest:]], axis=2) for each in rows]
        if attending := model.attending.get(model.kind):
            own, unseen = dict(zip(attending, weights, strict=True)), np.zeros_like(weights[0])
            weights = [own.get(layer, unseen) for layer in range(model.card.n_layers)]
        store = DenseWeights(tuple(weights))
        keys = (*read.tokens, SINK)[: store.shape[1]]
        # Beside a sink, which stands behind all tokens, weights alone cannot show that none looks ahead.
        causal = model.kind == "decoder" and len(keys) == len(read)
        attention = AttentionMap(model.kind, read.tokens, keys, store, causal)
        yield index, AttentionTrace(model.card.name, Prompt(texts[index]), (attention,), cut=read.cuts[0])


def _padded(model: TracedModel, encoded: list[Encoded]) -> dict[str, Tensor]:
    """Lay texts of several lengths one under another, each filled up at its end with what nobody may look at."""
    longest = max(map(len, encoded))
    # Nobody looks at padding: where the model does not have the tokenizer's, any other piece will do.
    fill = {"input_ids": own_piece(model.model, [model.tokenizer.pad_token_id])}
    for each in encoded:
        check_pieces(n_pieces(model.model), each.inputs["input_ids"])
    names = [name for name in encoded[0].inputs if name in model.accepts]
    rows = {name: [[*each.inputs[name], *[fill.get(name, 0)] * (longest - len(each))] for each in encoded] for name in names}
    rows["attention_mask"] = [[1] * len(each) + [0] * (longest - len(each)) for each in encoded]
    return {name: torch.tensor(values, device=model.model.device) for name, values in rows.items()}


# A likeness of nothing or less has no logarithm.
LEAST = 1e-6


def similarity(model: TracedModel, prompt: Prompt, target: Target) -> BoundTarget:
    """Bind an encoder to the cosine between the mean states of two texts, each read on its own; p of it is the cosine itself.

    Words are taken from the first text alone: two texts that lose all their words become the same.

    Raises:
        ModelError: this is no encoder.
        PromptError: there is no second text.
    """
    if model.card.architecture != "encoder":
        raise no_such_output(model.card.name, "likeness of two texts")
    if not prompt.pair:
        raise PromptError("There is no second text to compare with: type one.")
    sides = [model.encode([text]) for text in (prompt.text, prompt.pair)]
    tokens = (*sides[0].tokens, *(replace(token, segment=1) for token in sides[1].tokens))
    first = len(sides[0])

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        parts = [ids[:, :first], ids[:, first:]]
        one, other = (_states(model, side, part).float().mean(dim=1) for side, part in zip(sides, parts, strict=True))
        # Lengths by way of their squares, so that what holds them fixed can see them.
        lengths = ((one * one).sum(dim=1) * (other * other).sum(dim=1)).rsqrt()
        cosine = (one * other).sum(dim=1) * lengths
        return Outcome(cosine, cosine.clamp(min=LEAST).log())

    readout = {
        at: 0.5 / len(side) for side, start in zip(sides, (0, first), strict=True) for at in range(start, start + len(side))
    }
    ranges = (slice(0, first), slice(first, len(tokens)))
    return BoundTarget(
        **_common(model, tokens, [index for side in sides for index in side.inputs["input_ids"]]),
        target="how alike the two texts are",
        fixed=_special(tokens) | frozenset(range(first, len(tokens))),
        readout=readout,
        run=run,
        sites=[AttentionSite(side, side, "encoder", layer) for side in ranges for layer in model.layers("encoder")],
    )


def next_token(model: TracedModel, prompt: Prompt, target: Target) -> BoundTarget:
    """Bind a decoder to the token to come next: to the likeliest, to that of the target, or to one rather than another.

    Raises:
        ModelError: the model names no next token, or not that one.
    """
    if model.card.architecture != "decoder":
        raise no_such_output(model.card.name, "next token")
    encoded = without_end(model.encode([prompt.text]))
    pieces = [piece_of(model, word) for word in target.words]
    return _vocabulary(model, encoded, len(encoded) - 1, "next token", pieces)


def piece_of(model: TracedModel, word: str) -> int:
    """Look up the piece that a word begins with behind another word; `#` and a number is the piece of that number.

    Raises:
        ModelError: the model has no such piece.
    """
    if re.fullmatch(r"#\d{1,7}", word, re.ASCII):
        piece = int(word[1:])
    else:
        with model.tokenizing():
            before, whole = (model.tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", f"a {word}"))
            # Some write the space before a word as a piece of its own.
            named = [each for each in whole[len(before) :] if model.tokenizer.decode([each]).strip()]
        piece = named[0] if named else sys.maxsize
    if piece >= (n_pieces(model.model) or sys.maxsize):
        raise ModelError(f"{model.card.name} has no piece {word!r}: name another word.")
    return piece


def word_of(model: TracedModel, piece: int) -> str:
    """Write a piece so that `piece_of` finds it: as a word, where that is the piece."""
    word = piece_name(model, piece)
    if word and not re.search(r"\s|\ufffd", word):
        with suppress(ModelError):
            if piece_of(model, word) == piece:
                return word
    return f"#{piece}"


def piece_name(model: TracedModel, piece: int) -> str:
    """Name a piece by its text; one without any by its number."""
    with model.tokenizing():
        text = model.tokenizer.decode([piece])
        return piece_label(str(model.tokenizer.convert_ids_to_tokens(piece)) if text else f"#{piece}", text)


def next_targets(model: TracedModel, prompt: Prompt) -> dict[str, str]:
    """List what else of the next token can be explained: the likeliest rather than each of the following, and each of these.

    Raises:
        ModelError: the model names no next token.
        PromptError: it cannot read the prompt.
    """
    encoded = without_end(model.encode([prompt.text]))
    with torch.no_grad():
        logits = _logits(model, encoded, len(encoded) - 1, "next token")(_ids(model, encoded)[None])[0]
    first, *others = [
        (word_of(model, piece), piece_name(model, piece)) for piece in logits.topk(min(LIKELIEST, len(logits))).indices.tolist()
    ]
    rather = {f"rather:{first[0]} {word}": f"“{first[1]}” rather than “{name}”" for word, name in others}
    return rather | {f"next:{word}": f"The next token “{name}”" for word, name in others}


def without_end(encoded: Encoded) -> Encoded:
    """Leave out the marks that a tokenizer puts behind a text: the model goes on from its last word."""
    last = max((place for place, token in enumerate(encoded.tokens) if not token.special), default=len(encoded) - 1)
    inputs = {name: ids[: last + 1] for name, ids in encoded.inputs.items()}
    return replace(encoded, inputs=inputs, tokens=encoded.tokens[: last + 1])


def masked_token(model: TracedModel, prompt: Prompt, target: Target) -> BoundTarget:
    """Bind an encoder to the token that it finds likeliest behind the text's mask.

    Raises:
        ModelError: the model names no masked token, or does not have the tokenizer's mask.
        PromptError: nothing in the text is masked.
    """
    mask = model.tokenizer.mask_token_id
    if mask is None or model.model.get_output_embeddings() is None:
        raise no_such_output(model.card.name, "masked token")
    check_pieces(n_pieces(model.model), [mask])
    encoded = model.encode([prompt.text])
    if mask not in encoded.inputs["input_ids"]:
        raise PromptError(f"Nothing in this text is masked: put {model.tokenizer.mask_token} in the place of a word.")
    return _vocabulary(model, encoded, encoded.inputs["input_ids"].index(mask), "masked token")


def label(model: TracedModel, prompt: Prompt, target: Target) -> BoundTarget:
    """Bind a classifier to a label, by default the likeliest.

    Raises:
        ModelError: the model gives no labels, or not so many.
    """
    if not has_labels(model):
        raise no_such_output(model.card.name, "label")
    encoded = model.encode([prompt.text] + ([prompt.pair] if prompt.pair else []))

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch label"]:
        return _run(model, model.model, encoded, ids).logits.float()

    with torch.no_grad():
        given = logits(_ids(model, encoded)[None])[0]
    place = target.place
    if place is not None and place >= len(given):
        raise ModelError(f"{model.card.name} gives {len(given)} labels, 0 to {len(given) - 1}; there is no label {place}.")
    chosen = int(given.argmax()) if place is None else place
    name = model.model.config.id2label.get(chosen, str(chosen))
    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the label “{name}”",
        fixed=_special(encoded.tokens),
        readout=_label_readout(model, len(encoded)),
        run=lambda ids: Outcome((given := logits(ids))[:, chosen], label_log_probabilities(model, given)[:, chosen]),
        output_text=lambda ids: label_names(model)[int(logits(ids)[0].argmax())],
        sites=_stack(model, encoded),
    )


def _label_readout(model: TracedModel, n_tokens: int) -> dict[int, float]:
    """Tell from which tokens a label is read: the first or the last one, or from all alike, as most of ModernBERT's are."""
    if getattr(model.model.config, "classifier_pooling", None) in ("mean", "late"):
        return dict.fromkeys(range(n_tokens), 1 / n_tokens)
    return {0 if model.card.architecture == "encoder" else n_tokens - 1: 1.0}


def label_log_probabilities(model: TracedModel, logits: Float[Tensor, "*batch label"]) -> Float[Tensor, "*batch label"]:
    """Compute ln p of each label: of one of several, or where there is one alone, or any may hold, of each by itself."""
    if logits.shape[-1] == 1 or model.model.config.problem_type == "multi_label_classification":
        return logsigmoid(logits)
    return logits.log_softmax(dim=-1)


def has_labels(model: TracedModel) -> bool:
    """Say whether a layer on top gives labels to a text."""
    return "ForSequenceClassification" in type(model.model).__name__


def label_names(model: TracedModel) -> list[str]:
    """Name the labels of a classifier."""
    names = model.model.config.id2label
    return [str(names.get(place, place)) for place in range(len(names))]


def whole_text(model: TracedModel, encoded: Encoded) -> BoundTarget:
    """Bind an encoder or decoder to a text alone, whatever its output: the score is the mean of its states."""

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        mean = _states(model, encoded, ids).mean(dim=(1, 2))
        return Outcome(mean, mean)

    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target="the text",
        fixed=_special(encoded.tokens),
        readout={at: 1 / len(encoded) for at in range(len(encoded))},
        run=run,
        sites=_stack(model, encoded),
    )


def _vocabulary(model: TracedModel, encoded: Encoded, row: int, what: str, pieces: Sequence[int] = ()) -> BoundTarget:
    """Bind a model to a piece at one of its positions, by default the likeliest; of two to one rather than the other."""
    logits = _logits(model, encoded, row, what)
    if not pieces:
        with torch.no_grad():
            pieces = (int(logits(_ids(model, encoded)[None])[0].argmax()),)
    names = [f"“{piece_name(model, piece)}”" for piece in pieces]
    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the {what} {names[0]}" if len(pieces) == 1 else f"the {what} {names[0]} rather than {names[1]}",
        fixed=_special(encoded.tokens) | {row},
        readout={row: 1.0},
        run=lambda ids: _chosen(logits(ids), *pieces),
        output_text=lambda ids: piece_name(model, int(logits(ids)[0].argmax())),
        sites=_stack(model, encoded),
    )


def _logits(
    model: TracedModel, encoded: Encoded, row: int, what: str
) -> Callable[[Int[Tensor, "batch token"]], Float[Tensor, "row vocabulary"]]:
    """Make the function that gives the logits at one position, a row a text; of edits in one batch a row each."""
    head, table = model.model.get_output_embeddings(), model.model.get_input_embeddings()
    if head is None and not getattr(model.model.config.get_text_config(), "tie_word_embeddings", False):
        raise ModelError(f"{model.card.name} was loaded without the layer that names its {what}; wrap the model that has it.")
    # Of a large vocabulary the logits of every position fill the memory.
    is_last = row == len(encoded) - 1 and "logits_to_keep" in model.accepts

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "row vocabulary"]:
        if head is not None:
            outputs = _run(model, partial(model.model, logits_to_keep=1) if is_last else model.model, encoded, ids)
            return outputs.logits[:, -1 if is_last else row]
        # Of a model of which only the stack is here, the words that it reads are the words that it names.
        return _states(model, encoded, ids)[:, row] @ table.weight.T

    return logits


def _chosen(logits: Float[Tensor, "batch choice"], choice: int, other: int | None = None) -> Outcome:
    """Score one choice: its logit, and ln p of it; rather than another, by how much its logit is larger, and ln p of the two.

    ln p(one) - ln p(other) is the difference of their logits: what they are divided by is the same.
    """
    logits = logits.float()
    if other is not None:
        score = logits[:, choice] - logits[:, other]
        return Outcome(score, logsigmoid(score.double()))
    # A head's cost is the difference of two nearly equal ones.
    return Outcome(logits[:, choice], logits.double().log_softmax(dim=-1)[:, choice])


def _states(model: TracedModel, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token state"]:
    return _run(model, model.body, encoded, ids)[0]


def _run(model: TracedModel, part: Any, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Any:
    others = {name: value.expand(len(ids), -1) for name, value in model.tensors(encoded).items() if name != "input_ids"}
    with model.computing():
        return part(input_ids=ids, **others, **attention_readers.quiet_options(getattr(part, "func", part)))


def _ids(model: TracedModel, encoded: Encoded) -> Int[Tensor, " token"]:
    return model.tensors(encoded)["input_ids"][0]


def _common(model: TracedModel, tokens: Any, ids: Any) -> dict[str, Any]:
    check_pieces(n_pieces(model.model), ids)
    return {
        "tokens": tuple(tokens),
        "ids": torch.tensor(ids, device=model.model.device),
        "embedding": model.model.get_input_embeddings().weight,
        "baseline_id": baseline_id(model),
        "n_positions": len(tokens),
    }


def baseline_id(model: TracedModel) -> int:
    """Return what a model of the hub reads in the place of a removed word: its mask, or what is nearest to one."""
    known = model.tokenizer
    return own_piece(model.model, (known.mask_token_id, known.unk_token_id, known.pad_token_id, known.eos_token_id))


def _stack(model: TracedModel, encoded: Encoded) -> list[AttentionSite]:
    whole = slice(0, len(encoded))
    return [AttentionSite(whole, whole, model.kind, layer) for layer in model.layers(model.kind)]


def _special(tokens: Any) -> frozenset[int]:
    return frozenset(place for place, token in enumerate(tokens) if token.special)


BINDERS = {"similarity": similarity, "next": next_token, "rather": next_token, "masked": masked_token, "label": label}
