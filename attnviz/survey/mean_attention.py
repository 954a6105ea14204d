"""The mean attention of every head among the first words of the treebank's sentences: what drawings are compared with."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.pattern import WORDS
from attnviz.analysis.heads.word_attention import word_attention
from attnviz.core.errors import CorpusError
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.survey.batches import trace_all
from attnviz.survey.corpora import TREEBANK, shipped

# Means of eight by eight cells do not ask for more, nor for long sentences.
MOST_SENTENCES, MOST_WORDS = 400, 24


@dataclass(frozen=True, eq=False)
class FirstWords:
    """The mean attention of each head among the first words of so many sentences, of which special tokens take their part."""

    means: Float[np.ndarray, "layer head query key"]
    sentences: int

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self.means.nbytes


def first_words(model: AttentionModel, progress: Progress = silent) -> FirstWords:
    """Average over the treebank's sentences that are long enough, and no longer than they need be.

    Raises:
        CorpusError: the model can read none of them.
        ModelError: it has no attention of a text to itself.
    """
    fitting = [sentence for sentence in shipped(TREEBANK) if WORDS <= len(sentence.words) <= MOST_WORDS][:MOST_SENTENCES]
    total, n_read = None, 0
    for surveyed in trace_all(model, [sentence.text for sentence in fitting]):
        among = word_attention(surveyed.attention, fitting[surveyed.index]).weights[:, :-1, :WORDS, :WORDS]
        total = among.astype(np.float64) if total is None else total + among
        n_read += 1
        progress(f"{model.card.name} reads {len(fitting)} sentences", n_read / len(fitting))
    if total is None:
        raise CorpusError(f"{model.card.name} can read none of these sentences: choose another model.")
    return FirstWords(total / n_read, n_read)
