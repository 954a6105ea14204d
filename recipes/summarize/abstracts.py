"""Abstracts and their one-sentence summaries (SciTLDR: Cachola et al. 2020, arXiv:2004.15011), as targets for attention."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnviz.analysis.summary_selection import read_passage, rouge, stems
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.shipped_summarizer import read, sentence_numbers
from attnviz.text.sentences import Sentences
from attnviz.text.words import has_letters
from recipes.data import read_records

# Words that carry grammar, not matter: what a summary is about is told by the others.
_GRAMMAR = (
    "a about above after again against all also although am among an and another any are as at be became because been "
    "before being below between both but by can cannot could did do does doing down during each either else et al etc even "
    "ever every few for from further had has have having he hence her here hers herself him himself his how however i if in "
    "instead into is it its itself just many may me might mine more moreover most much must my myself neither no nor not "
    "now of off often on once one only or other others otherwise our ours ourselves out over own per rather same she should "
    "since so some still such than that the their theirs them themselves then there thereby therefore these they this those "
    "though through thus to together too toward towards under until up upon us very via was we well were what when where "
    "whereas whether which while who whom whose why will with within without would yet you your yours yourself"
)
_GRAMMAR_WORDS = frozenset(_GRAMMAR.split())


def is_content_word(word: str) -> bool:
    """Tell content words from English grammar's small ones, and from punctuation.

    >>> [is_content_word(word) for word in ("We", "propose", "3.5", "…", "However")]
    [False, True, True, False, False]
    """
    return has_letters(word) and word.casefold() not in _GRAMMAR_WORDS


@dataclass(frozen=True)
class Abstract:
    """The sentences of an abstract, and one-sentence summaries of its paper.

    >>> Abstract(("We do it.", "It works."), ("It is done.",)).text
    'We do it. It works.'
    """

    sentences: tuple[str, ...]
    references: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def spans(self) -> Sentences:
        return Sentences.joined(self.sentences)


@dataclass(frozen=True, eq=False)
class AbstractExample:
    """An abstract as an encoder has read it, and what its attention should receive.

    states   last states of the encoder, in half precision: a thousand abstracts have to fit into memory
    numbers  each token's sentence; `typed` False for special tokens
    content  tokens of content words; `importance`: the share of the references that have the word, 0 to 1
    target   probability of each sentence to be the summary
    """

    states: Float[Tensor, "token state"]
    numbers: Int[Tensor, " token"]
    typed: Bool[Tensor, " token"]
    content: Bool[Tensor, " token"]
    importance: Float[Tensor, " token"]
    target: Float[Tensor, " sentence"]


def read_abstracts(folder: Path, name: str) -> list[Abstract]:
    """`name`.jsonl.gz of a folder, one abstract a line with its `sentences` and `references`.

    Raises:
        DataError: there is no such file, or a line is no abstract.
    """

    def made(row: dict[str, Any]) -> Abstract:
        return Abstract(tuple(row["sentences"]), tuple(row["references"]))

    abstracts = read_records(folder, name, made, "abstract with sentences and references")
    return [abstract for abstract in abstracts if abstract.text.strip() and abstract.references]


def in_references(word: str, references: Sequence[frozenset[str]]) -> float:
    """Compute the share of the references, each as its stems, that have a word.

    >>> in_references("Networks", [frozenset({"network", "deep"}), frozenset({"tree"})])
    0.5
    """
    mine = stems(word)
    return sum(bool(mine) and all(stem in reference for stem in mine) for reference in references) / len(references)


def example(abstract: Abstract, encoder: StackModel, temperature: float) -> AbstractExample:
    """Compute an abstract's targets: sentences by their mean ROUGE, sharpened by `temperature`; words by the references."""
    encoded, states, _ = read(encoder, abstract.text)
    numbers = sentence_numbers(encoded.tokens, abstract.spans)
    text = read_passage(abstract.text, encoded.tokens, sentences=abstract.spans)
    references = [frozenset(stems(reference)) for reference in abstract.references]
    content, importance = torch.zeros(len(encoded), dtype=torch.bool), torch.zeros(len(encoded))
    for unit, parts in zip(text.units, text.parts, strict=True):
        if is_content_word(unit.text):
            content[list(parts)], importance[list(parts)] = True, in_references(unit.text, references)
    worth = torch.tensor([rouge(sentence, abstract.references).mean for sentence in abstract.sentences])
    seen = torch.tensor(text.read)
    target = (worth / temperature).masked_fill(~seen, -torch.inf).softmax(0)[: int(numbers.max()) + 1]
    typed = torch.tensor([not token.special for token in encoded.tokens])
    return AbstractExample(states[0].half().cpu().clone(), numbers, typed, content, importance, target)


def examples(
    abstracts: Sequence[Abstract], encoder: StackModel, temperature: float, report: Callable[[object], None]
) -> list[AbstractExample]:
    """Compute the targets of all abstracts, each read alone as it will be read on a page."""
    rows = []
    for number, abstract in enumerate(abstracts, 1):
        rows.append(example(abstract, encoder, temperature))
        if number % 200 == 0:
            report(f"read {number} of {len(abstracts)} abstracts")
    return rows


@dataclass(frozen=True, eq=False)
class AbstractBatch:
    """Examples padded to the longest; padding is of sentence 0, and neither typed nor content, and of importance 0."""

    states: Float[Tensor, "batch token state"]
    numbers: Int[Tensor, "batch token"]
    real: Bool[Tensor, "batch token"]
    typed: Bool[Tensor, "batch token"]
    content: Bool[Tensor, "batch token"]
    importance: Float[Tensor, "batch token"]
    target: Float[Tensor, "batch sentence"]

    def to(self, device: torch.device) -> "AbstractBatch":
        """Move the batch to a device."""
        return AbstractBatch(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))


def collate(rows: Sequence[AbstractExample]) -> AbstractBatch:
    """Examples as one batch."""

    def padded(name: str) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence([getattr(row, name) for row in rows], batch_first=True)

    real = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row.typed) for row in rows], batch_first=True)
    fields = (padded(name) for name in ("typed", "content", "importance", "target"))
    return AbstractBatch(padded("states").float(), padded("numbers"), real, *fields)
