"""The alignment of a translation: which word comes from which, as links and in words, rescaled by Sinkhorn or by spelling."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Literal

import numpy as np
import regex
from jaxtyping import Bool, Float

from attnviz.analysis.head_metrics import Link, is_word
from attnviz.analysis.head_ranking import Step, rows_weights, step_rows, strongest_places
from attnviz.analysis.head_view import HeadMatrix, Lens, View, word_groups
from attnviz.analysis.wording import (
    LONGEST_NAME,
    MOSTLY,
    Part,
    Sentence,
    counted,
    cut,
    head_name,
    isolated,
    join_names,
    quoted,
    raised,
    signed,
)
from attnviz.core.trace import AttentionMap, AttentionTrace, Token
from attnviz.text.words import has_letters

ROUNDS = 20
# A key that no query looks at has no share that could grow: every weight begins at least this large.
LEAST = 1e-3


def same_class(queries: Sequence[str], keys: Sequence[str]) -> Bool[np.ndarray, "query key"]:
    """Mark where a word, with a letter or a digit in it, meets a word, or punctuation punctuation.

    A decoder's small words often look at the full stop, which costs the translation nothing; no aligner would link them.

    >>> same_class(["chat", "."], ["the", "cat", "!"])
    array([[ True,  True, False],
           [False, False,  True]])
    """
    query_is_word, key_is_word = (np.array([has_letters(text) for text in side], dtype=bool) for side in (queries, keys))
    return query_is_word[:, None] == key_is_word


def balanced(
    weights: Float[np.ndarray, "query key"], allowed: Bool[np.ndarray, "query key"] | None = None
) -> Float[np.ndarray, "query key"]:
    """Scale the weights until rows sum to 1 and columns sum alike: Sinkhorn & Knopp 1967, as in optimal transport.

    All rows of an attention may look at one popular key. In an alignment each source word is translated somewhere.
    Rows of zeros (masked queries) stay so. A cell that is not `allowed` becomes 0, and so does a row of no others.

    >>> popular = np.array([[0.6, 0.4], [0.9, 0.1]])
    >>> popular.argmax(axis=1), balanced(popular).argmax(axis=1)
    (array([0, 0]), array([1, 0]))
    """
    allowed = np.ones_like(weights, dtype=bool) if allowed is None else allowed
    seen = (weights.sum(axis=1, keepdims=True) > 0) & allowed.any(axis=1, keepdims=True)
    balanced_weights = np.where(seen & allowed, weights + LEAST, 0).astype(np.float64)
    share = seen.sum() / balanced_weights.shape[1]
    for _ in range(ROUNDS):
        balanced_weights *= share / np.maximum(balanced_weights.sum(axis=0, keepdims=True), 1e-12)
        balanced_weights /= np.where(seen, balanced_weights.sum(axis=1, keepdims=True), 1)
    return balanced_weights


# "un·believ·ably" is three pieces that mean something; "Z·b·ign·iew" is spelled.
PIECES = 3
LETTERS = 3.0


def spelled_out(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    """List the words of three pieces or more with fewer than three letters each, on average: each as its pieces, once.

    >>> pieces = [Token("Z", 0, 1, word=0), Token("b", 1, 2, word=0), Token("ig", 2, 4, word=0), Token("sat", 5, 8, word=1)]
    >>> spelled_out(pieces)
    (('Z', 'b', 'ig'),)
    """
    tokens = tuple(tokens)
    spellings: dict[tuple[str, ...], None] = {}
    for group in word_groups(tokens):
        # The mark before a word may be a piece of its own, and covers nothing.
        pieces = tuple(tokens[index].text for index in group if tokens[index].end > tokens[index].start)
        letters = sum(map(len, pieces))
        if len(pieces) >= PIECES and letters < LETTERS * len(pieces) and any(is_word(tokens[index]) for index in group):
            spellings[pieces] = None
    return tuple(spellings)


# Tokens of the longest pairs that our translators learned from: recipes.translate.recipe.Corpus leaves out longer ones.
TRAINED_TOKENS = 40


def translation_notices(
    trace: AttentionTrace, *, languages: Sequence[str], written: Sequence[Token]
) -> Iterator[tuple[str, str, str]]:
    """Yield what speaks against a translation, as `attnviz.analysis.wording.text_notices`.

    languages  of the model, as its card has them: what is known of length is known of ours alone, which read English
    written    what the model wrote by itself; empty where it was given
    """
    is_own, keys = tuple(languages[:1]) == ("en",), trace.cross.keys
    if is_own and len(keys) > TRAINED_TOKENS:
        more = "" if trace.cut is None else "more than "
        learned = f" learned from {TRAINED_TOKENS} at most: expect its end to suffer."
        yield f"This text has {more}{len(keys)} tokens, and ", learned, learned
    if is_own and written and not written[-1].special:
        after = f"after {counted(len(written), 'token')}"
        yield (
            "",
            f" had not ended its translation {after}: it was stopped there.",
            f" had not ended their translations {after}: they were stopped there.",
        )
    if words := spelled_out(keys):
        names = join_names([_spelling(pieces) for pieces in words[:3]] + ["others"] * (len(words) > 3))
        out, guesses = f" spelled out {names}, which ", " vocabulary does not have: expect guesses there."
        yield "", f"{out}its{guesses}", f"{out}their{guesses}"


def _spelling(pieces: Sequence[str]) -> str:
    return "“{}” ({})".format(*(isolated(cut(joint.join(pieces), LONGEST_NAME)) for joint in ("", "·")))


Reading = Literal["shifted", "naive"]
# From this weight on a link counts as the source of a word; below it the attention is split between several.
SURE = 0.4
# Small words are often off by one: only stronger links show that the order changed.
FIRM = 0.5
# Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
LONGER = 4


def read_as(attention: AttentionMap, written: tuple[Token, ...], reading: Reading) -> AttentionMap:
    """Name each row of the cross-attention after one of the two target tokens that it belongs to, where it has two.

    At step t a decoder reads one token and writes the next. `naive` names the row after the token that is written, one of
    `written`; `shifted` after the token that is read, which aligns better, since it is known by then (Chen et al. 2020,
    arXiv:2004.14837, section 3). The weights are the same.

    Raises:
        TraceError: there are not as many tokens written as there are rows.
    """
    return attention if reading == "shifted" or attention.queries == written else replace(attention, queries=written)


def first_row(cross: AttentionMap, written: tuple[Token, ...], reading: Reading) -> int:
    """Return the address's number of the first row: a word keeps its own in both readings, the start mark has 0."""
    return int(cross.queries != written and reading == "naive")


def truer(metrics: Mapping[str, float], layer: int, head: int | None) -> Reading:
    """Choose the reading of a head, or of a layer's mean, with the lower alignment error rate on a model's card; else naive.

    Where nothing was measured it is the row that writes a word, as in `attnviz.rank_heads`.

    >>> figures = {"AER in domain L1·H0 naive": 0.77, "AER in domain L1·H0 shifted": 0.12}
    >>> truer(figures, 1, 0), truer(figures, 0, None)
    ('shifted', 'naive')
    """
    name = f"{head_name(layer, head)}{' mean' if head is None else ''}"
    naive, shifted = (metrics.get(f"AER in domain {name} {reading}") for reading in ("naive", "shifted"))
    return "shifted" if naive is not None and shifted is not None and shifted <= naive else "naive"


def word_weights(
    cross: AttentionMap, written: tuple[Token, ...], view: View, position: int, step: Step = "writes"
) -> Float[np.ndarray, "layer head key"]:
    """Read what a target word gives to each column of a picture, in every head, as `attnviz.rank_heads` does.

    position  of the word as an address numbers it: the start mark has 0, what is written last the number of steps; where rows
              are named after what is written there, that of its row
    step      which of the two rows of a word counts, where rows are named after what is read
    """
    reads = cross.queries != written
    tokens = (*cross.queries, *written[-1:]) if reads else cross.queries
    groups = word_groups(tokens) if view.words else [[place] for place in range(len(tokens))]
    rows = next(group for group in groups if position in group)
    return rows_weights(cross, Lens(cross, view), step_rows(rows, len(cross.queries), step) if reads else rows)


def ranked_step(position: int, count: int, step: Step, drawn: Reading) -> str:
    """Say which row of a word, at a position of `word_weights`, heads are ranked by, and whether it is the drawn one.

    >>> ranked_step(2, 6, "writes", "naive"), ranked_step(2, 6, "writes", "shifted"), ranked_step(0, 6, "writes", "shifted")
    ('writes', 'writes, not drawn', 'reads')
    """
    used = {0: "reads", count: "writes"}.get(position, step)
    return used if used == ("writes" if drawn == "naive" else "reads") else f"{used}, not drawn"


def rank_for_cell(
    cross: AttentionMap,
    written: tuple[Token, ...],
    view: View,
    position: int,
    cell: tuple[int, int],
    drawn: Reading,
    step: Step = "writes",
) -> dict[str, object] | None:
    """Rank the heads by what they give to a cell of a picture, with the mean over all; None where there is but one.

    position, step  as of `word_weights`; `drawn` is how the rows of the picture are read
    """
    if cross.n_layers * cross.n_heads == 1:
        return None
    weights = word_weights(cross, written, view, position, step)[..., cell[1]]
    listed = [{"layer": at[0], "head": at[1], "weight": float(weights[at])} for at in strongest_places(weights)]
    row = ranked_step(position, len(cross.queries), step, drawn) if cross.queries != written else ""
    return {"cell": cell, "mean": float(weights.mean()), "first": listed, "step": row}


def strongest_links(matrix: HeadMatrix) -> tuple[Link, ...]:
    """Find for each target token the source token that it looks at most; special tokens have none.

    >>> from attnviz.analysis.head_view import head_matrix
    >>> from attnviz.core.trace import AttentionMap, DenseWeights
    >>> source, target = (Token("red", 0, 3), Token("car", 4, 7)), (Token("voiture", 0, 7), Token("rouge", 8, 13))
    >>> attention = AttentionMap("cross", target, source, DenseWeights((np.array([[[0.25, 0.75], [1, 0]]]),)))
    >>> strongest_links(head_matrix(attention, layer=0, head=0))
    (Link(query=0, key=1, weight=0.75), Link(query=1, key=0, weight=1.0))
    """
    rows = [index for index, token in enumerate(matrix.queries) if not token.special]
    best = matrix.weights.argmax(axis=1)
    links = (Link(row, int(best[row]), float(matrix.weights[row, best[row]])) for row in rows)
    return tuple(link for link in links if link.weight > 0)


def balanced_links(matrix: HeadMatrix) -> tuple[Link, ...]:
    """Find the strongest links between words, and between punctuation, after every source word has the same total weight.

    `attnviz.analysis.translation_alignment` says how; the weights of the links are the model's.
    """
    rows = [index for index, token in enumerate(matrix.queries) if not token.special]
    columns = [index for index, token in enumerate(matrix.keys) if not token.special]
    if not rows or not columns:
        return ()
    allowed = same_class([matrix.queries[row].text for row in rows], [matrix.keys[column].text for column in columns])
    shares = balanced(matrix.weights[np.ix_(rows, columns)], allowed)
    cells = ((row, columns[int(share.argmax())]) for row, share in zip(rows, shares, strict=True) if share.any())
    return tuple(Link(row, column, float(matrix.weights[row, column])) for row, column in cells)


def links_from(matrix: HeadMatrix, threshold: float) -> tuple[Link, ...]:
    """List every link of at least that weight, 0 to 1, row by row; special tokens have none."""
    rows, columns = np.nonzero((matrix.weights >= threshold) & (matrix.weights > 0))
    return tuple(
        Link(int(row), int(column), float(matrix.weights[row, column]))
        for row, column in zip(rows, columns, strict=True)
        if not matrix.queries[row].special
    )


def origin_of(matrix: HeadMatrix, word: str) -> Link | None:
    """Find the strongest link of the first target token that is this word; None where there is none."""
    links = strongest_links(matrix)
    return next((link for link in links if matrix.queries[link.query].text == word), None)


def clearest_link(matrix: HeadMatrix) -> Link | None:
    """Find the link to show first: the strongest between two longer words that are spelt differently; else the strongest.

    Names are spelt alike, and articles and prepositions often look at the noun that they go with.
    """
    links = [link for link in strongest_links(matrix) if is_word(matrix.queries[link.query])]
    links = [link for link in links if is_word(matrix.keys[link.key])] or links
    texts = [(matrix.queries[link.query].text.lower(), matrix.keys[link.key].text.lower()) for link in links]
    content_links = [
        link for link, (target, source) in zip(links, texts, strict=True)
        if min(len(target), len(source)) >= LONGER and target != source
    ]  # fmt: skip
    return max(content_links or links, key=lambda link: link.weight, default=None)


def opening_cell(matrix: HeadMatrix, word: str = "") -> tuple[int, int]:
    """Choose the cell to show first: the strongest link of a word, where it is there; else the clearest."""
    link = origin_of(matrix, word) or clearest_link(matrix)
    return (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))


def describe_origin(matrix: HeadMatrix, row: int, column: int) -> Sentence:
    """Say where one target token comes from, or how much it takes from a source token that is not its strongest."""
    target, source = quoted(matrix.queries[row].text), quoted(matrix.keys[column].text)
    weight, best = float(matrix.weights[row, column]), int(matrix.weights[row].argmax())
    if column == best:
        verb = " comes from " if weight >= SURE else " has no clear source; it looks most at "
        return (target, Part(verb), source, Part(f" ({weight:.2f})."))
    strongest = (quoted(matrix.keys[best].text), Part(f" ({matrix.weights[row, best]:.2f})."))
    return (target, Part(" takes "), Part(f"{weight:.2f}", True), Part(" from "), source, Part(", and most from "), *strongest)


def describe_alignment(matrix: HeadMatrix) -> Sentence:
    """Say what the alignment shows: words that changed their order, one word that became several, or that order was kept."""
    links = [
        link
        for link in strongest_links(matrix)
        if link.weight >= SURE and _has_meaning(matrix.queries[link.query]) and _has_meaning(matrix.keys[link.key])
    ]
    if not links:
        return (Part("No word of the translation looks mainly at one word of the source."),)
    if sentence := (*_order_sentence(matrix, links), *_split_sentence(matrix, links)):
        return sentence
    if sum(link.weight >= FIRM for link in links) > 1:
        return (Part("The clearly linked words stand in the same order in both languages."),)
    # One word has no order.
    clearest = max(links, key=lambda link: link.weight)
    target, source = quoted(matrix.queries[clearest.query].text), quoted(matrix.keys[clearest.key].text)
    return (Part("The clearest link is from "), target, Part(" to "), source, Part("."))


def _has_meaning(token: Token) -> bool:
    """Tell words and emoji from punctuation and special tokens."""
    return is_word(token) or (not token.special and bool(_EMOJI.search(token.text)))


_EMOJI = regex.compile(r"[\p{Extended_Pictographic}\p{RI}]")


def _order_sentence(matrix: HeadMatrix, links: list[Link]) -> Sentence:
    """Name the two neighbours, in the translation, that are furthest apart in the other order of the source."""
    firm = [link for link in links if link.weight >= FIRM]
    crossing = [(one, two) for one, two in itertools.pairwise(firm) if two.key < one.key]
    if not crossing:
        return ()
    one, two = max(crossing, key=lambda pair: min(pair[0].weight, pair[1].weight))
    return (
        quoted(matrix.queries[one.query].text), Part(" stands before "), quoted(matrix.queries[two.query].text), Part(", but "),
        quoted(matrix.keys[one.key].text), Part(" after "), quoted(matrix.keys[two.key].text), Part(": the order changed. "),
    )  # fmt: skip


def _split_sentence(matrix: HeadMatrix, links: list[Link]) -> Sentence:
    """Name the source word that most words of the translation look at, if they are several."""
    becomes: dict[int, list[Link]] = {}
    for link in links:
        becomes.setdefault(link.key, []).append(link)
    key, several = max(becomes.items(), key=lambda item: len(item[1]))
    if len(several) < 2:
        return ()
    names: list[Part] = []
    for index, link in enumerate(several):
        joint = "" if index == 0 else " and " if index == len(several) - 1 else ", "
        names += [Part(joint), quoted(matrix.queries[link.query].text)]
    return (
        *names[1:],
        Part(" both" if len(several) == 2 else " all"),
        Part(f" look {'mostly' if all(link.weight >= MOSTLY for link in several) else 'most'} at "),
        quoted(matrix.keys[key].text),
        Part("."),
    )


def describe_likelihood(given: float, own: float) -> Sentence:
    """Compare the probabilities of a given translation and of the model's own, of which these are ln p.

    >>> "".join(part.text for part in describe_likelihood(-9.2, -2.3))
    'To this model the given text is 992 times less likely than its own: log p −9.20 against −2.30.'
    """
    worse = own - given
    figures = Part(f"log p {signed(given)} against {signed(own)}.")
    if abs(worse) < 0.01:
        return (Part("The given text is as likely to this model as its own: "), figures)
    factor = Part(f"{_times(abs(worse))} {'less' if worse > 0 else 'more'} likely", True)
    return (Part("To this model the given text is "), factor, Part(" than its own: "), figures)


# How much to trust what is shown, in Markdown.
TRUST_ALIGNMENTS = """
- The weights are the model's own, from the very pass that wrote the translation.
- A weight says where the decoder **looked**, not that the words mean the same: to write *ne* it must know of *not*, and may
  have read that at the verb.
- Each source token's vector has already seen its neighbours, so a link may be off by one and still be used rightly.
- A Transformer's step reads one word and writes the next, so a word has two rows. By the time it is **read** it is known, and
  its row is the better alignment; the row that **writes** it is what the model had to go by.
- Subwords merged to words: a word receives the sum over its pieces, and gives their mean.
"""
# How it comes about: a title, and Markdown.
HOW_ALIGNED = (
    "How these numbers come about",
    """
Before it writes token *i*, the decoder compares its state with every source token *j*. The softmax of these scores is the
alignment: a row that sums to 1. The weighted mean of the source is what the decoder reads next
(Bahdanau, Cho & Bengio 2014, *Neural Machine Translation by Jointly Learning to Align and Translate*, section 3.1).
""",
)
HOW_SCORED = """
The generations differ in the score. Bahdanau's is a small network; Luong et al. 2015 made it a dot product of query and key,
which Vaswani et al. 2017 divide by √d; a Transformer computes it in every head of every layer.
"""
HOW_LIKELY = "*log p* is the sum of the logarithms of the tokens' probabilities: 0 would be certainty."
CLICK_TRANSLATION = "Click a word of the translation to see where it looks."
# What is to be known of a head that was trained to align.
SUPERVISED = (
    "**{} was told where to look.** Beside translating, it was trained to agree with the links that a statistical aligner "
    "found in the training pairs (Garg et al. 2019). This picture is taught, not discovered; the other heads found their own."
)


def describe_score(log_probability: float, bleu: float | None) -> str:
    """Say how likely a translation is to its model, of which this is ln p, and how well the model translates.

    >>> describe_score(-2.345, 50.58)
    'log p of this translation: −2.35 · BLEU on held-out sentences: 50.6'
    """
    figures = [f"log p of this translation: {signed(log_probability)}"]
    return " · ".join(figures if bleu is None else [*figures, f"BLEU on held-out sentences: {bleu:.1f}"])


def _times(difference: float) -> str:
    """Write e^difference, as one says it."""
    if np.isinf(difference):
        return "infinitely"
    if difference > np.log(1e6):
        return f"10{raised(round(difference / np.log(10)))} times"
    times = np.exp(difference)
    return f"{times:,.0f} times" if times >= 10 else f"{times:.1f} times"


_WORD = re.compile(r"\w+|[^\w\s]")


def differences(translations: Sequence[str]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Find in each translation the words that most of the others do not have at that place, as (start, end).

    Two translations are laid side by side along the longest runs of words that they share (Ratcliff & Metzener 1988).

    >>> differences(["ses vieilles amis", "ses vieux amis", "ses vieux amis"])
    (((4, 12),), (), ())
    >>> differences(["ses vieux amis"])
    ((),)
    """
    matches = [list(_WORD.finditer(text)) for text in translations]
    words = [[word[0] for word in each] for each in matches]
    unlike = [[0] * len(each) for each in words]
    for one, mine in enumerate(words):
        for other, theirs in enumerate(words):
            if one != other:
                for place in _unmatched(mine, theirs):
                    unlike[one][place] += 1
    others = len(words) - 1
    return tuple(
        tuple(word.span() for word, count in zip(each, counts, strict=True) if 2 * count > others)
        for each, counts in zip(matches, unlike, strict=True)
    )


def _unmatched(mine: list[str], theirs: list[str]) -> set[int]:
    """List the places of the words that the other translation does not have there."""
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    matched = {place for block in blocks for place in range(block.a, block.a + block.size)}
    return set(range(len(mine))) - matched
