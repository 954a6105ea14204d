"""The interface of every model: a card that describes it, and `trace`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionTrace, Prompt

Architecture = Literal["encoder", "decoder", "encoder-decoder"]
# Called as work goes on with what is being done and how much of it is done, 0 to 1 (None: not known).
Progress = Callable[[str, float | None], None]


def silent(stage: str, fraction: float | None) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class ModelCard:
    """What a person should know about a model before trusting its pictures.

    reads       the optional fields of a Prompt that this model uses besides `text`
    max_tokens  how many tokens it reads at once, special tokens counted; longer text is cut
    device      where it computes: "cpu", "cuda:0", "mps"
    weights     in which format its weights were read, and who made them so, such as "safetensors"; before it their type if it
                is not float32, such as "bfloat16 weights, safetensors"; empty for a model in hand in float32
    metrics     measured figures by name, such as {"BLEU": 50.1}
    supervised_head  the cross-attention head (layer, head) that was trained to align, on the links that a statistical aligner
                found in the training pairs (Garg et al. 2019, arXiv:1909.02074); None: no head was
    selects     the layers whose received attention is trained to choose words, and sentences; None: none is
    """

    name: str
    task: str
    architecture: Architecture
    n_layers: int
    n_heads: int
    parameters: int
    max_tokens: int
    device: str
    revision: str = ""
    reads: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    licence: str = ""
    sources: tuple[str, ...] = ()
    weights: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    supervised_head: tuple[int, int] | None = None
    selects: tuple[int, int] | None = None


@runtime_checkable
class AttentionModel(Protocol):
    """A model whose attention can be traced. It keeps nothing from a call, so one instance serves every thread at once."""

    @property
    def card(self) -> ModelCard: ...

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Run one forward pass over the prompt, with the edits, and keep the attention of every head.

        Raises:
            AttnvizError: the prompt is not one this model can read; the message says why and what to do.
            EditError: the model cannot be edited in this way.
        """
        ...
