"""A Hugging Face encoder-decoder that writes nothing: a bare one, or one whose top gives labels. Both its halves read a text.

The decoder reads what `prompt.target` says, or the encoder's own text, shifted right behind the token that it starts with: as
BART does where nothing is to be written (Lewis et al. 2020, arXiv:1910.13461, section 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.answer.answers import Answers
from attnviz.models.hub.hub_model import TracedModel, check_pieces, n_written_pieces, start_of
from attnviz.models.hub.targets import has_labels, label, label_names
from attnviz.models.targets import AttentionSite, BoundTarget, Target, no_such_output, target_labels
from attnviz.models.translate.translator_interface import TranslatingModel
from attnviz.text.tokens import Encoded


@dataclass(frozen=True, eq=False)
class ReadingPair(TracedModel):
    """Traces an encoder, a decoder, and the attention across; a row of the last two is the token that the decoder reads."""

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        source = self._source(prompt)
        read = self.encode([prompt.target], target=True) if prompt.target and "target" in self.card.reads else source
        check_pieces(n_written_pieces(self.model), read.inputs["input_ids"])
        start = start_of(self.model) or 0
        ids = torch.tensor([[start, *read.inputs["input_ids"][:-1]]], device=self.model.device)
        with self.computing():
            _, stacks = self.reader.read({**self.tensors(source), "decoder_input_ids": ids})
        with self.tokenizing():
            name = self.tokenizer.convert_ids_to_tokens(start) or f"<{start}>"
        rows = (Token(name, 0, 0, special=True), *read.tokens[:-1])
        axes = {"encoder": (source.tokens, source.tokens), "decoder": (rows, rows), "cross": (rows, source.tokens)}
        return self._traced(prompt, stacks, axes, source)

    def _source(self, prompt: Prompt) -> Encoded:
        return self.encode([prompt.text] + ([prompt.pair] if prompt.pair and "pair" in self.card.reads else []))

    def translator(self) -> TranslatingModel:
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
        bound = label(self, prompt, target.place)
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
