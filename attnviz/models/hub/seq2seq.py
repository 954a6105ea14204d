"""A Hugging Face encoder-decoder and its tokenizer, as a model that translates.

What it writes is decided by transformers' own `generate`, with the settings that the model's authors saved with it. How likely
each token was is read off a plain forward pass over what was written, with nothing forced or forbidden.

The decoder reads what `prompt.target` says, or the encoder's own text, shifted right behind the token that it starts with: as
BART does where nothing is to be written (Lewis et al. 2020, arXiv:1910.13461, section 3.1).
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attnviz.core.edits import HeadSet
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.base import DecodingStep, SearchTree, Translation
from attnviz.models.capabilities import no_languages
from attnviz.models.edit import Scorer, log_probability
from attnviz.models.hub.hub_model import (
    TracedModel,
    baseline_id,
    check_pieces,
    has_labels,
    label,
    label_names,
    n_written_pieces,
    start_of,
)
from attnviz.models.span_decoding import Answers
from attnviz.models.targets import AttentionSite, BoundTarget, Target, no_such_output, target_labels
from attnviz.models.translation import WrittenText, decoding_steps
from attnviz.models.write_on import WritesFromSource
from attnviz.nn import apply_edits
from attnviz.nn.decoding import Beam
from attnviz.text.tokens import Encoded, placed_ids


@dataclass(frozen=True, eq=False)
class ReadingPair(TracedModel):
    """Traces an encoder, a decoder, and the attention across; a row of the last two is the token that the decoder reads."""

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        source = self.encode_prompt(prompt)
        read = self.encode([prompt.target], target=True) if prompt.target and "target" in self.card.reads else source
        check_pieces(n_written_pieces(self.model), read.inputs["input_ids"])
        start = start_of(self.model) or 0
        with self.tokenizing():
            name = self.naming.convert_ids_to_tokens(start) or f"<{start}>"
        rows = (Token(name, 0, 0, special=True), *read.tokens[:-1])
        return _traced_pair(self, prompt, source, [start, *read.inputs["input_ids"][:-1]], rows)[0]

    def translator(self) -> WritesFromSource:
        """Refuse to translate."""
        raise PromptError(f"{self.card.name} has no layer that names what it writes: choose one that has, such as t5-small.")

    def answers(self, prompt: Prompt, n_best: int = 5) -> Answers:
        """Refuse to answer."""
        raise ModelError(
            f"{self.card.name} finds no answers here, for they are shown of encoders alone: choose one that was trained to "
            "answer, such as answer-en."
        )

    def default_target(self, prompt: Prompt) -> Target:
        """Choose the label, which is all that such a model gives."""
        return Target("label")

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List the labels."""
        return target_labels("label", "label", label_names(self)) if has_labels(self) else {}

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to a label."""
        if target.kind != "label":
            return super().bind_target(prompt, target)
        if not has_labels(self):
            raise no_such_output(self.card.name, "label")
        bound = label(self, prompt, target)
        size = len(bound.tokens)
        source, read = slice(0, size), slice(size, 2 * size)
        sites = [AttentionSite(source, source, "encoder", layer) for layer in self.layers("encoder")]
        for layer in self.layers("decoder"):
            sites += [AttentionSite(read, read, "decoder", layer), AttentionSite(read, source, "cross", layer)]
        # The label is read where the decoder ends, which reads the text once more.
        return replace(bound, sites=sites, n_positions=2 * size, readout={2 * size - 1: 1.0}, shifted=True)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind a classifier to its label, which it finds in the very pass of `trace`."""
        return self.bind_target(prompt, Target("label")) if has_labels(self) else super().bind_trace(prompt)


def _traced_pair(
    model: TracedModel, prompt: Prompt, source: Encoded, read: Sequence[int], rows: tuple[Token, ...], output: str = ""
) -> tuple[AttentionTrace, Float[Tensor, "step value"]]:
    """Trace a pass in which the decoder reads some pieces, the tokens of its rows; and return what the model gives for each."""
    ids = torch.tensor([list(read)], device=model.model.device)
    with model.computing():
        given, stacks = model.reader.read({**model.tensors(source), "decoder_input_ids": ids})
    axes = {"encoder": (source.tokens, source.tokens), "decoder": (rows, rows), "cross": (rows, source.tokens)}
    return model._traced(prompt, stacks, axes, source, output), given[0]


# A translation longer than this is a model that repeats itself.
MAX_WRITTEN = 256
# Vocabularies are padded to a round size: a model may write a number that stands for nothing.
_NAMELESS = re.compile(r"<(\d{1,7})>", re.ASCII)
Inputs = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class WritingModel(WritesFromSource, TracedModel):
    """Traces an encoder, a decoder, and the cross-attention; a row of the last two is the token that the decoder reads.

    writing    options of `generate` besides the text
    languages  the marks of the languages that it writes, with their pieces; empty: there is no choice
    language   the one that it writes; empty: there is no choice
    starts_with_language  whether its decoder begins with the mark, as mBART's does; later models write it behind their start
    """

    writing: dict[str, Any] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    language: str = ""
    starts_with_language: bool = False

    def in_language(self, language: str | None) -> "WritingModel":
        """Return the model as it writes a language; weights, tokenizer and lock are the same."""
        if language is None:
            return self
        if not self.languages:
            raise no_languages(self.card.name, language)
        if language not in self.languages:
            nearest = difflib.get_close_matches(language, self.languages, 3, 0.3) or sorted(self.languages)[:3]
            raise PromptError(
                f"{self.card.name} does not write {language!r}: choose one of its {len(self.languages)} languages, such as "
                f"{', '.join(nearest)}."
            )
        return replace(self, language=language)

    @contextmanager
    def tokenizing(self) -> Iterator[None]:
        """Let this thread alone use the tokenizer, which puts the mark of this language before what is written."""
        with super().tokenizing():
            if self.language:
                self.tokenizer.tgt_lang = self.language
            yield

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        return self.steps(prompt)[0]

    def task_prefix(self, task: str) -> str:
        """Return what the model's configuration says must stand before a text for that task; empty where it says nothing."""
        tasks: dict[str, Any] = getattr(self.model.config, "task_specific_params", None) or {}
        return str(tasks.get(task, {}).get("prefix", ""))

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score ln p of `prompt.target`, or of what the model writes by itself."""
        self.edit_points()
        prompt = self.prefixed(prompt)
        source = self._inputs(prompt.text)
        pieces, start = self.pieces_of(prompt), self.in_language(prompt.language)._start
        read, labels = (torch.tensor([ids], device=self.model.device) for ids in ((start, *pieces[:-1]), pieces))

        def forward(n_rows: int) -> Tensor:
            inputs = {name: ids.expand(n_rows, -1) for name, ids in source.items()}
            return log_probability(self._scores(inputs, read.expand(n_rows, -1)), labels)

        return Scorer(self, "nats", len(pieces), forward, source["input_ids"].shape[1] + len(pieces))

    def _scores(self, inputs: Inputs, read: Int[Tensor, "row step"]) -> Float[Tensor, "row step vocabulary"]:
        with self.computing():
            return self.model(**inputs, decoder_input_ids=read, use_cache=False).logits

    def _bind(self, prompt: Prompt, pieces: Sequence[int], step: int | None) -> BoundTarget:
        prompt, start = self.prefixed(prompt), self.in_language(prompt.language)._start
        source = self.encode([prompt.text])
        given = self.tensors(source)
        others = {name: value for name, value in given.items() if name != "input_ids"}

        def logits(ids: Int[Tensor, "batch token"], read: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocabulary"]:
            beside = {name: value.expand(len(ids), -1) for name, value in others.items()}
            return self._scores({"input_ids": ids, **beside}, read)

        written = WrittenText(source.tokens, given["input_ids"][0], pieces or self.pieces_of(prompt), start, logits)
        return written.bind(
            step,
            self.names,
            embedding=self.model.get_input_embeddings().weight,
            baseline_id=baseline_id(self),
            fixed=frozenset(place for place, each in enumerate(source.tokens) if each.special),
            sites=written.layer_sites(self.sizes["encoder"][0], self.sizes["decoder"][0]),
        )

    def steps(self, prompt: Prompt | str) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the prompt, and tell how likely the model found every token that is written."""
        prompt = self.prompt(prompt)
        writer = self.in_language(prompt.language)
        if not prompt.target:
            (pieces,) = writer._generated(self._inputs(prompt.text), Beam(width=1))
            return writer.follow(prompt, pieces)
        encoded = writer._target(prompt.target)
        if encoded.cuts[0] is not None:
            most = self.card.max_tokens
            raise PromptError(f"{self.card.name} writes at most {most} tokens, and this target has more: type less.")
        (start,) = self.names([writer._start])
        tokens = (Token(start, 0, 0, special=True), *encoded.tokens)
        return writer._followed(prompt, encoded.inputs["input_ids"], (prompt.target, tokens))

    def pieces_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Pieces of what is written: of `prompt.target`, or of what the model writes by itself.

        Raises:
            PromptError: as of `trace`.
        """
        writer = self.in_language(prompt.language)
        if prompt.target:
            return tuple(writer._target(prompt.target).inputs["input_ids"])
        return writer._generated(self._inputs(prompt.text), Beam(width=1))[0]

    def _target(self, text: str) -> Encoded:
        encoded = self.encode([text], target=True)
        check_pieces(n_written_pieces(self.model), encoded.inputs["input_ids"])
        return encoded

    def follow(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found."""
        writer, output = self.in_language(prompt.language), self.spell(pieces)
        with self.tokenizing():
            tokens = placed_ids(self.naming, [writer._start, *pieces], output)
        return writer._followed(prompt, pieces, (output, tokens))

    def _followed(
        self, prompt: Prompt, pieces: Sequence[int], output: tuple[str, tuple[Token, ...]]
    ) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        text, tokens = output
        # Shifted right by one: the decoder reads the start token first, and its own last token never.
        read = [self._start, *pieces[:-1]]
        trace, scores = _traced_pair(self, prompt, self.encode([prompt.text]), read, tokens[:-1], text)
        return trace, decoding_steps(scores, tuple(zip(tokens[1:], pieces, strict=True)), self.names)

    def translate(self, text: str, beam: Beam | None = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam."""
        inputs = self._inputs(text)
        written = self._generated(inputs, beam or Beam(width=1), prefix)
        return tuple(Translation(self.spell(pieces), pieces, self._log_probability(inputs, pieces)) for pieces in written)

    def search(self, text: str, beam: Beam, prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree | None]:
        """Translate; transformers does not show the tree that its search walks."""
        return self.translate(text, beam, prefix), None

    @property
    def begun(self) -> tuple[int, ...]:
        """The decoder's start, and the piece that its authors let it begin with, such as the mark of the language."""
        settings = self.model.generation_config
        first = self.languages[self.language] if self.language else settings.forced_bos_token_id
        return (self._start,) if first is None or self.starts_with_language else (self._start, first)

    @property
    def never_written(self) -> tuple[int, ...]:
        """The pieces that the model's authors suppress."""
        settings = self.model.generation_config
        single = [row[0] for row in settings.bad_words_ids or [] if len(row) == 1]
        return (*single, *(settings.suppress_tokens or []))

    @property
    def most_written(self) -> int:
        """Pieces that the decoder reads at most."""
        return min(MAX_WRITTEN, self.card.max_tokens)

    def known_pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Look up pieces by their names, those that stand for no text too."""
        pieces = tuple(map(self._piece, names))
        for name, own in zip(names, self.names(pieces), strict=True):
            if name != own:
                raise PromptError(f"{self.card.name} has no piece {name!r} to go on from: this is another model's text.")
        return pieces

    def next_scores(self, prompt: Prompt) -> Callable[[Sequence[int]], Float[Tensor, " vocabulary"]]:
        """Read a source once, and return what scores the piece behind some pieces of the decoder."""
        inputs = self._inputs(prompt.text)
        with self.computing(), torch.inference_mode():
            encoded = self.model.get_encoder()(**inputs)
        mask = {name: value for name, value in inputs.items() if name == "attention_mask"}

        def score(pieces: Sequence[int]) -> Float[Tensor, " vocabulary"]:
            read = torch.tensor([list(pieces)], device=self.model.device)
            with self.computing(), torch.inference_mode():
                given = {"encoder_outputs": encoded, "decoder_input_ids": read, "use_cache": False}
                return self.model(**given, **mask).logits[0, -1]

        return score

    def reread(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, Float[Tensor, "step vocabulary"]]:
        """Trace a pass in which the decoder reads these pieces, the last one too."""
        text = self.spell(pieces)
        with self.tokenizing():
            tokens = placed_ids(self.naming, pieces, text)
        return _traced_pair(self, prompt, self.encode([prompt.text]), pieces, tokens, text)

    def spell(self, pieces: Sequence[int]) -> str:
        """Spell pieces as text."""
        with self.tokenizing():
            text = self.naming.decode(list(pieces), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip()

    def spell_alone(self, piece: int) -> str:
        """Spell one piece; what decodes a text of SentencePiece takes its first space away."""
        (name,) = self.names([piece])
        if "▁" in name:
            return name.replace("▁", " ")
        with self.tokenizing():
            return self.naming.decode([piece], clean_up_tokenization_spaces=False)

    @property
    def closed(self) -> frozenset[str]:
        """The names of the pieces that stand for no text."""
        special = {self.naming.pad_token_id, self.naming.unk_token_id} - {None, *self._ends}
        return frozenset(self.names(sorted(special)))

    def ended(self, pieces: Sequence[int]) -> bool:
        """Say whether an end mark is among the pieces."""
        return not self._ends.isdisjoint(pieces)

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Pieces of the vocabulary by their names, such as those of `DecodingStep.alternatives`."""
        pieces = tuple(map(self._piece, names))
        # What stands before the last the model may have written itself, such as the mark of what it does not know.
        closed = self.closed.intersection(names[-1:])
        if closed or self.names(pieces) != tuple(names):
            wrong = next(name for name in names if name in closed or self.names([self._piece(name)]) != (name,))
            raise PromptError(f"{self.card.name} has no piece {wrong!r} to go on from: choose one of its alternatives.")
        return pieces

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        with self.tokenizing():
            tokens = self.naming.convert_ids_to_tokens(list(pieces))
        return tuple(name or f"<{piece}>" for piece, name in zip(pieces, tokens, strict=True))

    def _piece(self, name: str) -> int:
        """Look up the piece of that name; where there is none, return one that has another."""
        nameless = _NAMELESS.fullmatch(name)
        if nameless and int(nameless[1]) < self.model.get_output_embeddings().out_features:
            return int(nameless[1])
        with self.tokenizing():
            return self.naming.convert_tokens_to_ids(name) or 0

    @property
    def _start(self) -> int:
        if self.starts_with_language:
            return self.languages[self.language]
        return start_of(self.model) or 0

    @property
    def _ends(self) -> frozenset[int]:
        ends = self.model.generation_config.eos_token_id
        return frozenset(ends if isinstance(ends, list) else [ends] if ends is not None else [])

    def _inputs(self, text: str) -> Inputs:
        return self.tensors(self.encode([text]))

    def _generated(self, inputs: Inputs, beam: Beam, prefix: Sequence[int] = ()) -> list[tuple[int, ...]]:
        """Generate what comes after the prefix, with the prefix, as many as the beam is wide, best first."""
        longest = max(1, min(MAX_WRITTEN, self.card.max_tokens - 1) - len(prefix))
        options: dict[str, Any] = {"do_sample": False, "max_new_tokens": longest, "max_length": None, "num_beams": beam.width}
        # Whatever the model's authors saved.
        options |= {"return_dict_in_generate": False, "num_return_sequences": beam.width}
        if beam.width > 1:
            options["length_penalty"] = beam.length_penalty
        if prefix:
            options["decoder_input_ids"] = torch.tensor([[self._start, *prefix]], device=self.model.device)
        if any(isinstance(edit, HeadSet) and edit.to == "mean" for edit in apply_edits.current().each):
            # The mean over the text so far needs the rows of earlier steps, which no cache holds.
            options["use_cache"] = False
        if self.language:
            options["decoder_start_token_id" if self.starts_with_language else "forced_bos_token_id"] = self.languages[
                self.language
            ]
        settings = self.model.generation_config
        if settings.encoder_no_repeat_ngram_size or settings.encoder_repetition_penalty not in (None, 1.0):
            # These count the source's pieces among those that are written.
            check_pieces(n_written_pieces(self.model), inputs["input_ids"][0].tolist())
        with self.computing(), torch.inference_mode():
            written = self.model.generate(**inputs, **{**self.writing, **options})
        return [self._until_end(row[1:]) for row in written.tolist()]

    def _until_end(self, pieces: list[int]) -> tuple[int, ...]:
        """Cut a row after its end mark: the shorter of several are padded."""
        end = next((place + 1 for place, piece in enumerate(pieces) if piece in self._ends), len(pieces))
        return tuple(pieces[:end])

    def _log_probability(self, inputs: Inputs, pieces: Sequence[int]) -> float:
        """ln p of it; read alone, for a large vocabulary's scores of many at once would not fit into memory."""
        read = torch.tensor([[self._start, *pieces[:-1]]], device=self.model.device)
        target = torch.tensor(pieces, device=self.model.device)
        with torch.inference_mode():
            scores = self._scores(inputs, read)[0]
        return -float(F.cross_entropy(scores.float(), target, reduction="sum"))
