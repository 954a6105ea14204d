"""How every alignment of the page is drawn, and which of its cells is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_metrics import Link, is_word
from attnviz.analysis.head_ranking import Step
from attnviz.analysis.head_view import HeadMatrix, HeadView, Lens
from attnviz.analysis.translate.alignment import (
    Reading,
    balanced_links,
    clearest_link,
    links_from,
    origin_of,
    ranked_step,
    read_as,
    strongest_links,
    truer,
    word_weights,
)
from attnviz.analysis.wording import Part, Sentence, head_words, quoted
from attnviz.core.trace import AttentionMap, Token
from attnviz.export import Picture
from attnviz.export.translate import links
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import publish, value
from attnviz.ui.download import Download, source_of


@dataclass(frozen=True)
class AlignmentView(HeadView):
    """Which head is drawn of the cross-attention, and how.

    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     "Off", "Strongest", "Balanced" or "Threshold": how the hard links are found; `threshold` is the least weight of one
    word     the target word that is looked at where none was chosen, if it is there
    """

    reading: Reading | None
    hard: str
    threshold: float
    word: str = ""

    def of(self, result: Result) -> "AlignmentView":
        """The same of one model: the head it has, or of heads that are mixed their layer; and the reading of that head."""
        own = self.within(result.trace.cross, mean=result.quantity == "mixing")
        return replace(own, reading=self.reading or truer(result.card.metrics, own.layer, own.head))

    def attention(self, result: Result) -> AttentionMap:
        """The cross-attention of a model, its rows read as they are drawn."""
        draft, attention = result.draft, result.trace.cross
        reading = self.of(result).reading
        return read_as(attention, draft.written, reading) if draft.reads_its_rows and reading else attention

    def first_row(self, result: Result) -> int:
        """The number that the address has for the first row: a word keeps its own in both readings, the start mark has 0."""
        return int(result.draft.reads_its_rows and self.of(result).reading == "naive")

    def given_weights(self, result: Result, position: int) -> Float[np.ndarray, "layer head key"]:
        """What the word at a position of the address gives to each column, in every head, as `attnviz.rank_heads` has it.

        A decoder that reads what it wrote has two rows of a word: unasked it is the one that writes it, in every head.
        """
        return word_weights(result.trace.cross, result.draft.written, self.view, position, self.step)

    @property
    def step(self) -> Step:
        """The step that stands for a word where heads are ranked."""
        return "reads" if self.reading == "shifted" else "writes"

    def followed(self, result: Result, slot: int) -> tuple[int, int] | None:
        """The head that gives most to the link that was asked, or of a word to another; None where there is nothing to follow.

        Only heads whose picture has the row that counts are followed.

        Raises:
            TraceError: the view leaves no token.
        """
        query, key = (value(f"{name}{slot}") for name in ("query", "key"))
        cross = result.trace.cross
        shape = cross.n_layers, cross.n_heads
        if query is None or shape == (1, 1):
            return None
        is_drawn = np.reshape([self._draws(result, query, place) for place in np.ndindex(shape)], shape)
        if not is_drawn.any():
            return None
        lens = Lens(cross, self.view)
        columns = [column for column, part in enumerate(lens.column_parts) if key in part]
        columns = columns or telling_columns(self.token_at(result, query), lens.keys)
        weights = np.where(is_drawn[..., None], self.given_weights(result, query)[..., columns], -1)
        layer, head, _ = np.unravel_index(int(weights.argmax()), weights.shape)
        return int(layer), int(head)

    def _draws(self, result: Result, position: int, place: tuple[int, int]) -> bool:
        """Whether a head is drawn with the row by which the word at a position is ranked."""
        if not result.draft.reads_its_rows:
            return True
        drawn = "naive" if replace(self, layer=place[0], head=place[1]).first_row(result) else "shifted"
        count = len(result.trace.cross.queries)
        return 0 <= position <= count and "not" not in ranked_step(position, count, self.step, drawn)

    def token_at(self, result: Result, position: int) -> Token:
        """The target token that the address calls so."""
        return (*result.trace.cross.queries, *result.draft.written[-1:])[position]

    def alignment(self, result: Result) -> HeadMatrix:
        """The alignment of a model as it is drawn."""
        return self.of(result).matrix(self.attention(result))

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """The hard links of a matrix, None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def alignment_download(result: Result, view: AlignmentView) -> Download:
    """The alignment of a model as it is drawn."""
    own = view.of(result)

    def picture() -> Picture:
        return Picture(result.trace, "cross", own.layer, own.head, view.alignment(result), own.view, own.full_scale)

    source = source_of(result, naive=result.draft.reads_its_rows and own.reading == "naive")
    sheets = {"Word links": lambda: links.draw_links(picture(), view.links(view.alignment(result)))}
    return Download(result.name, picture, source, sheets)


def telling_columns(query: Token, keys: Sequence[Token]) -> list[int]:
    """The columns that tell something when a token looks at them: of a word the words, if there are any."""
    words = [column for column, token in enumerate(keys) if is_word(token)] if is_word(query) else []
    return words or list(range(len(keys)))


def chosen_cell(result: Result, view: AlignmentView, slot: int) -> tuple[int, int]:
    """The (row, column) asked in the picture at `slot`, else the strongest of `view.word`, else the surest between two words.

    Of a word that was asked without another it is the one that it looks at most. What was asked stays in the address, where
    this view hides it, too. An edit does not move what was not asked: it is chosen as without edits, where both wrote the same.
    """
    matrix, asked = view.alignment(result), {name: value(f"{name}{slot}") for name in ("query", "key")}
    for name, place in asked.items():
        publish(f"{name}{slot}", place, None)
    before = view.alignment(result.unedited)
    first = before if (before.queries, before.keys) == (matrix.queries, matrix.keys) else matrix
    query, key = asked["query"], asked["key"]
    if query is not None and (row := query - view.first_row(result)) in matrix.rows:
        row = matrix.rows.index(row)
        if key in matrix.columns:
            return row, matrix.columns.index(key)
        if key is None:
            looks = matrix if matrix.weights[row].any() else first
            return row, max(telling_columns(looks.queries[row], looks.keys), key=lambda column: looks.weights[row, column])
    link = origin_of(first, view.word) or clearest_link(first)
    return (link.query, link.key) if link else (0, int(first.weights[0].argmax()))


def missing_row(result: Result, view: AlignmentView, slot: int) -> tuple[Sentence, ...]:
    """Say that the word which was asked has no row in the head that is drawn; nothing where it has one."""
    query = value(f"query{slot}")
    if (
        query is None
        or not result.draft.reads_its_rows
        or 0 <= query - view.first_row(result) < len(result.trace.cross.queries)
    ):
        return ()
    if not 0 <= query <= len(result.trace.cross.queries):
        return ()
    name, own = quoted(view.token_at(result, query).text), view.of(result)
    only, drawn = ("reads", "writes") if query == 0 else ("writes", "reads")
    where = head_words(own.layer, own.head)
    lead = (Part(f"The translator only {only} "), name)
    return ((*lead, Part(f": {where} is drawn by the steps that {drawn.removesuffix('s')} a word, and has no row of it.")),)
