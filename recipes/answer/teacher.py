"""A larger answerer that a small one learns from: MPNet, which reads the same tokens under other ids.

The student is asked for its teacher's distributions over start and end, not for the right tokens alone: which others would
nearly do says more of a passage than one answer does (Hinton et al. 2015, arXiv:1503.02531; for answer spans Sanh et al. 2019,
arXiv:1910.01108, section 3). Both read the same crop (Beyer et al. 2022, arXiv:2106.05237, section 3.1).
"""

from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.models.hub.download import load

# How MPNet calls what BERT calls otherwise.
_SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
# Divides the logits of both: what is unlikely says something, too.
TEMPERATURE = 2.0


class MPNetReader(nn.Module):
    """MPNet (Song et al. 2020, arXiv:2004.09297), called as BERT is, with the ids of BERT's vocabulary.

    ids  of MPNet's vocabulary, by those of BERT's
    """

    ids: Int[Tensor, " vocabulary"]

    def __init__(self, model: Any, ids: Int[Tensor, " vocabulary"]) -> None:
        super().__init__()
        self.embeddings, self.encoder = model.embeddings, model.encoder
        self.register_buffer("ids", ids, persistent=False)

    def forward(
        self,
        input_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"],
        token_type_ids: Int[Tensor, "batch token"] | None = None,
        position_ids: Int[Tensor, "batch token"] | None = None,
    ) -> Any:
        """Read texts; MPNet knows no segments, and counts positions from 2."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None] if position_ids is None else position_ids
        states = self.embeddings(self.ids[input_ids], position_ids=positions + 2)
        hidden = torch.zeros_like(attention_mask, dtype=states.dtype).masked_fill(attention_mask == 0, -torch.inf)
        (states,) = self.encoder(states, attention_mask=hidden[:, None, None, :])
        return SimpleNamespace(last_hidden_state=states)


def read_pretrained(name: str, tokenizer: Any) -> MPNetReader:
    """Load an MPNet of the hub, or out of a folder, to read what BERT's tokenizer has cut.

    Raises:
        ModelError: it cannot be found or downloaded.
    """
    pretrained = load(name, allow_pickles=False)
    own, vocabulary = tokenizer.get_vocab(), pretrained.tokenizer.get_vocab()
    ids = torch.full((len(own),), vocabulary["[UNK]"])
    for token, place in own.items():
        ids[place] = vocabulary.get(_SPECIAL.get(token, ""), vocabulary.get(token, vocabulary["[UNK]"]))
    return MPNetReader(pretrained.model, ids)


def soft_loss(
    logits: Float[Tensor, "batch choice"], taught: Float[Tensor, "batch choice"], temperature: float = TEMPERATURE
) -> Float[Tensor, ""]:
    """Average how far a student's distribution is from its teacher's, as Kullback-Leibler divergence × temperature².

    >>> soft_loss(torch.tensor([[1.0, 2.0, -torch.inf]]), torch.tensor([[1.0, 2.0, -torch.inf]])).item()
    0.0
    """
    # What neither can choose is -inf in both, and would be 0 × inf.
    student, teacher = (F.log_softmax(each.float().clamp(min=-1e4) / temperature, dim=1) for each in (logits, taught))
    return temperature**2 * F.kl_div(student, teacher, reduction="batchmean", log_target=True)
