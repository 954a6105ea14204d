"""A Hugging Face model and its tokenizer, as an `AttentionModel`."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnviz.errors import PromptError
from attnviz.models.protocol import ModelCard
from attnviz.models.reading import Reader, Stacks
from attnviz.text.tokens import Encoded, encode, placed_ids
from attnviz.trace import AttentionMap, AttentionTrace, Prompt, Token

Rows = dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]
# A translation longer than this is a model that repeats itself.
MAX_WRITTEN = 256
SINK = Token("sink", 0, 0, special=True)


@dataclass(frozen=True, eq=False)
class TracedModel:
    """Traces any Hugging Face model: its encoder, its decoder, or both and the attention across."""

    card: ModelCard
    model: Any
    tokenizer: Any
    reader: Reader
    # The inputs that the model's forward pass takes, and further options for its writing.
    accepts: frozenset[str]
    writing: dict[str, Any]
    # Tokenizers are not safe to share: some switch language or truncation within a call.
    lock: Any = field(default_factory=threading.Lock)

    def trace(self, prompt: Prompt | str) -> AttentionTrace:
        """One forward pass over the prompt, with the attention of every head.

        Raises:
            PromptError: the tokenizer finds nothing in the text that the model could read.
        """
        prompt = Prompt(prompt) if isinstance(prompt, str) else prompt
        texts = [prompt.text] + ([prompt.pair] if prompt.pair and "pair" in self.card.reads else [])
        source = self._encode(texts)
        inputs = self._tensors(source)
        if self.card.architecture != "encoder-decoder":
            _, stacks = self.reader.read(inputs)
            kind = self.card.architecture
            return self._traced(prompt, {kind: stacks["encoder"]}, {kind: (source.tokens, source.tokens)}, source)
        ids, written, output = self._target(prompt, inputs)
        _, stacks = self.reader.read({**inputs, "decoder_input_ids": ids})
        tokens = {"encoder": (source.tokens, source.tokens), "decoder": (written, written), "cross": (written, source.tokens)}
        return self._traced(prompt, stacks, tokens, source, output)

    def _encode(self, texts: Sequence[str], *, target: bool = False) -> Encoded:
        with self.lock:
            encoded = encode(self.tokenizer, texts, limit=self.card.max_tokens, target=target)
        if not encoded.tokens:
            raise PromptError(f"{self.card.name} finds nothing to read in this text: type a word.")
        return encoded

    def _tensors(self, encoded: Encoded) -> dict[str, Tensor]:
        inputs = {name: ids for name, ids in encoded.inputs.items() if name in self.accepts}
        return {name: torch.tensor([ids], device=self.model.device) for name, ids in inputs.items()}

    def _target(self, prompt: Prompt, inputs: dict[str, Tensor]) -> tuple[Tensor, tuple[Token, ...], str]:
        """What the decoder reads: its ids, their tokens, and the whole text; written by the model where none is given."""
        if prompt.target:
            encoded = self._encode([prompt.target], target=True)
            # Shifted right by one: the decoder reads the start token first, and its own last token never.
            start = self.model.generation_config.decoder_start_token_id
            ids = [start, *encoded.inputs["input_ids"][:-1]]
            first = Token(self.tokenizer.convert_ids_to_tokens(start), 0, 0, special=True)
            return torch.tensor([ids], device=self.model.device), (first, *encoded.tokens[:-1]), prompt.target
        ids = self._written(inputs)[:, :-1]
        with self.lock:
            output = self.tokenizer.decode(ids[0], skip_special_tokens=True, clean_up_tokenization_spaces=False).strip()
            return ids, placed_ids(self.tokenizer, ids[0].tolist(), output), output

    def _written(self, inputs: dict[str, Tensor]) -> Tensor:
        length = min(MAX_WRITTEN, self.card.max_tokens - 1)
        options = {"num_beams": 1, "do_sample": False, "max_new_tokens": length, "max_length": None}
        with torch.inference_mode():
            return self.model.generate(**inputs, **options, **self.writing)

    def _traced(self, prompt: Prompt, stacks: Stacks, tokens: Rows, source: Encoded, output: str = "") -> AttentionTrace:
        maps = []
        for kind, stack in stacks.items():
            queries, keys = tokens[kind]
            if stack.store.shape[1] == len(keys) + 1:
                keys = (*keys, SINK)
            maps.append(AttentionMap(kind, queries, keys, stack.store, stack.causal))
        return AttentionTrace(self.card.name, prompt, tuple(maps), output, *source.cuts, revision=self.card.revision)
