"""What a language model says comes next, and what its parts add to a word, in words and as a table."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from attnviz.analysis.wording import LONGEST_NAME, Part, Sentence, cut, head_name, percent, quoted, signed, whole_percent
from attnviz.core.errors import TraceError
from attnviz.core.sampling import Candidate, Continuation
from attnviz.core.trace import AttentionTrace, Token
from attnviz.core.why import LogitLens, Parts, PatchCurve, Patches
from attnviz.text.words import Words, named_bytes, piece_label, visible_text

# Candidates that a table, or a file, lists for each token.
LISTED = 10

# How it comes about: a title, and Markdown.
HOW_WRITTEN = (
    "How the next word comes about",
    """
A language model reads a text token by token (a token is a word, or a part of one) and gives every token of its vocabulary a
probability to come next. One of them is taken, stands in the text from then on, and all of it begins anew.

- **Likeliest** takes the token at the top each time, which often ends in repeating itself (Holtzman et al. 2020).
- **By chance** draws one: *temperature* T makes of each p what p^(1/T) has of the sum of these; *top-k* and *top-p* leave out
  the unlikely ones first. The bars show what is drawn from; the sentence above says what the model itself gives.
- A word is what the model finds **likely** in a text, not what is true: it can be fluent and wrong.
""",
)


def continuation_of(trace: AttentionTrace) -> Continuation:
    """Find what a trace says comes next.

    Raises:
        TraceError: it says nothing of it.
    """
    if trace.continuation is None:
        raise TraceError(f"This trace of {trace.model} does not say what comes next: make one with `attnviz write`.")
    return trace.continuation


def text_written_on(trace: AttentionTrace) -> str:
    """Return the text that the tokens of a continuation stand in: of a model that reads a source, what it wrote."""
    return trace.output if "cross" in trace.kinds else trace.prompt.text


def copied_link(trace: AttentionTrace, place: int) -> tuple[int, int | None]:
    """Find the position that foretells the token at a place, and the last one before it where the same token stands, if any.

    A `place` behind the last token stands for the likeliest one to come. Of a source no word is named.
    """
    if "cross" in trace.kinds:
        return place - 1, None
    continuation = continuation_of(trace)
    pieces = (*continuation.pieces, continuation.next_tokens(len(continuation.pieces) - 1)[0].piece)
    places = [each for each in range(place) if pieces[each] == pieces[place]]
    return place - 1, places[-1] if places else None


def _label(candidate: Candidate, before: str) -> str:
    """Name a token that could stand behind a text; what would go on with the text's last word begins with an ellipsis.

    >>> [_label(Candidate(text, text, 1.0), "The cats") for text in (" sat", "and", ".", "\\n")]
    ['sat', '…and', '.', '↵']
    >>> _label(Candidate("Ø", "\N{REPLACEMENT CHARACTER}", 1.0), "The cats")
    'part of a letter (D8)'
    """
    label = piece_label(candidate.piece, candidate.text)
    if not candidate.text or "\ufffd" in candidate.text:
        return label
    bare = candidate.text.strip(" ")
    joins = bare == candidate.text and _is_one_word(before[-1:], bare[:1])
    return ("…" if joins else "") + cut(label, LONGEST_NAME)


def candidate_labels(candidates: Sequence[Candidate], before: str) -> list[str]:
    """Name tokens that could stand behind a text, each by a name of its own: spaces are seen where two would read alike.

    >>> texts = ("(", " (", " sat", "\\n", "\\n   ")
    >>> candidate_labels([Candidate(text, text, 0.2) for text in texts], "The cats")
    ['(', '␣(', 'sat', '↵', '↵␣×3']
    """
    names = [_label(each, before) for each in candidates]
    times = Counter(names)
    names = [_spaced(each, name) if times[name] > 1 else name for each, name in zip(candidates, names, strict=True)]
    # What still reads as a likelier one is named by its piece.
    return [each.piece if name in names[:at] else name for at, (each, name) in enumerate(zip(candidates, names, strict=True))]


def _spaced(candidate: Candidate, name: str) -> str:
    """Name a token with its spaces."""
    if "\ufffd" in candidate.text:
        return "␣ " * candidate.text.startswith(" ") + name
    seen = re.sub(" +", lambda run: "␣" if len(run[0]) == 1 else f"␣×{len(run[0])}", candidate.text)
    return cut(visible_text(seen), LONGEST_NAME)


@lru_cache(4096)
def _is_one_word(end: str, start: str) -> bool:
    """Say whether two characters that stand side by side, if any, belong to one word."""
    return end.isalnum() and start.isalnum() and len(Words.of(end + start).spans) == 1


def describe_next(candidates: Sequence[Candidate], before: str, *, first: bool = True) -> Sentence:
    """Say what comes next: the likeliest token with its probability, and the one after it.

    `first`: nothing is written yet; else these could have stood where a token stands.

    >>> from attnviz.analysis.wording import plain
    >>> plain(describe_next([Candidate("a", " Mary", 0.923), Candidate("b", " the", 0.022)], "to"))
    'Next comes “Mary” (92\\xa0%), or else “the” (2\\xa0%)'
    """
    labels = candidate_labels(candidates, before)[:2]
    names = [(quoted(label), Part(f" ({_rough(each.probability)})")) for label, each in zip(labels, candidates, strict=False)]
    lead = (Part("Next comes "),) if first else (Part("Here the model expects "),)
    return (*lead, *names[0], *((Part(", or else "), *names[1]) if len(names) > 1 else ()))


def describe_given(token: Token, probability: float, place: int) -> Sentence:
    """Say how likely a token was where it stands; `place` counts the candidates before it, -1: it is not among them.

    >>> from attnviz.analysis.wording import plain
    >>> plain(describe_given(Token("Mary", 0, 4), 0.923, 0)), plain(describe_given(Token("Bo", 0, 2), 1e-5, -1))
    ('“Mary” had 92\\xa0%, the likeliest of all', '“Bo” had less than 0.1\\xa0%')
    """
    rank = (
        "" if place < 0 else ", the likeliest of all" if place == 0 else f", {place} {'was' if place == 1 else 'were'} likelier"
    )
    return (quoted(token.text), Part(f" had {_rough(probability)}{rank}"))


def _rough(probability: float) -> str:
    """Write a probability in percent, as exactly as one says it."""
    if probability < 0.001:
        return "less than 0.1\xa0%"
    return f"{100 * probability:.0f}\xa0%" if 0.01 <= probability < 0.995 else percent(probability)


@dataclass(frozen=True)
class NextChange:
    """A word that could come next: its label, and p of it on two sides; 0 where it is not among the candidates."""

    name: str
    before: float
    after: float


def next_changes(before: AttentionTrace, after: AttentionTrace, listed: int = 2) -> list[NextChange]:
    """List the likeliest next words of two traces of one model, each with p of it in both, the likeliest of either first."""
    sides = []
    for trace in (before, after):
        continuation = continuation_of(trace)
        candidates = continuation.next_tokens(len(continuation.pieces) - 1)
        labels = candidate_labels(candidates, text_written_on(trace))
        sides.append({each.piece: (label, each.probability) for each, label in zip(candidates, labels, strict=True)})
    one, other = sides
    pieces = dict.fromkeys((*list(one)[:listed], *list(other)[:listed]))
    nothing = "", 0.0
    rows = [
        NextChange((one.get(piece) or other[piece])[0], one.get(piece, nothing)[1], other.get(piece, nothing)[1])
        for piece in pieces
    ]
    return sorted(rows, key=lambda row: -max(row.before, row.after))


def describe_next_change(rows: Sequence[NextChange]) -> Sentence:
    """Say what becomes of the likeliest next word, by what `next_changes` gives.

    >>> from attnviz.analysis.wording import plain
    >>> plain(describe_next_change([NextChange("Mary", 0.92, 0.03), NextChange("John", 0.01, 0.9)]))
    'The next word becomes “John” (90\xa0%): “Mary” falls from 92\xa0% to 3\xa0%'
    >>> plain(describe_next_change([NextChange("Mary", 0.92, 0.95)]))
    'The next word is still “Mary”: it rises from 92\xa0% to 95\xa0%'
    """
    first, now = (max(rows, key=lambda row, side=side: getattr(row, side)) for side in ("before", "after"))
    was, becomes = _rough(first.before), _rough(first.after)
    verb = "rises" if first.after > first.before else "falls"
    change = f"stays at {was}" if was == becomes else f"{verb} from {was} to {becomes}"
    if first is now:
        return Part("The next word is still "), quoted(first.name), Part(f": it {change}")
    return (
        Part("The next word becomes "),
        quoted(now.name),
        Part(f" ({_rough(now.after)}): "),
        quoted(first.name),
        Part(f" {change}"),
    )


def bits_per_byte(trace: AttentionTrace) -> float | None:
    """Compute how well the model foretells the text behind its first token: -log2 p a byte of UTF-8.

    A mark that is no text, such as an end mark, counts for nothing. None of a single token, and of a source's translation.
    """
    if "cross" in trace.kinds:
        return None
    text, (first, *others), continuation = trace.prompt.text, trace.maps[-1].queries, continuation_of(trace)
    # Of a letter that two pieces share, the first has as many bytes as its name tells.
    shared = any(token.start < first.end for token in others[:1])
    end, part = (first.start, len(named_bytes(continuation.pieces[0]).split())) if shared else (first.end, 0)
    n_bytes = len(text[end:].encode("utf-8")) - part
    is_text = [token.end > token.start or not token.special for token in others]
    return -float(continuation.given[1:][is_text].sum()) / math.log(2) / n_bytes if n_bytes else None


def next_table(
    trace: AttentionTrace, listed: int = LISTED
) -> Iterator[tuple[int, str, bool, float | None, float, int, str, float]]:
    """List what could come behind every token.

    A row is the token's place, its text, whether the model wrote it, ln p of it behind those before (None of the first), the
    mass of what is not listed, and of each candidate its rank from 1, its text and ln p.
    """
    continuation, tokens = continuation_of(trace), trace.maps[-1].queries
    for place, token in enumerate(tokens):
        given = float(continuation.given[place]) if place else None
        candidates = continuation.next_tokens(place)[:listed]
        rest = max(0.0, 1 - sum(each.probability for each in candidates))
        for rank, each in enumerate(candidates, start=1):
            log = math.log(each.probability)
            yield place, token.text, place >= continuation.start, given, rest, rank, each.text or each.piece, log


def why_title(value: Parts) -> Sentence:
    """Name what is explained: a word, or one rather than another."""
    rather = value.words.rather_than
    more = () if rather is None else (Part(" rather than "), quoted(rather.strip()))
    return (Part("Why "), quoted(value.words.word.strip()), *more)


def describe_sum(parts: Parts) -> str:
    """Write the sum out: what embedding, heads, MLPs and biases add, and the logit that they give.

    >>> import numpy as np
    >>> from attnviz.core.trace import Token
    >>> from attnviz.core.why import ComparedWords
    >>> nothing = np.zeros((1, 1, 1))
    >>> words = ComparedWords(" Mary", " John")
    >>> describe_sum(Parts("m", words, 1, (Token("to", 0, 2),), 2.5, 0.5, nothing[0], nothing, np.array([2.0])))
    'embedding +0.50, heads 0.00, MLPs +2.00 = 2.50, the logit of “Mary” less that of “John”'
    >>> words = ComparedWords("\\n", " ")
    >>> describe_sum(Parts("m", words, 1, (Token("to", 0, 2),), 2.5, 0.5, nothing[0], nothing, np.array([2.0])))[-33:]
    'the logit of “↵” less that of “␣”'
    """
    added = ", ".join(
        f"{name} {signed(value, '+.2f') if abs(value) >= 0.005 else '0.00'}" for name, value in parts.sums.items()
    )
    rather = parts.words.rather_than
    less = "" if rather is None else f" less that of “{visible_text(rather.strip(' '))}”"
    logit = f"the logit of “{visible_text(parts.words.word.strip(' '))}”{less}"
    return f"{added} = {signed(parts.logit)}, {logit}"


def describe_direct(parts: Parts, layer: int, head: int) -> Sentence:
    """Say what a head adds by itself, and the value of which word carries most of it."""
    value, keys = float(parts.heads[layer, head]), parts.keys[layer, head]
    place = int((keys if value >= 0 else -keys).argmax())
    through = [Part(f": {signed(keys[place], '+.2f')} from what it read at "), quoted(parts.tokens[place].text)]
    if abs(rest := value - keys[place]) >= 0.005:
        through.append(Part(f", {signed(rest, '+.2f')} from all other words"))
    verb = f"takes {-value:.2f} away" if value <= -0.005 else f"adds {abs(value):.2f}"
    name = (Part(head_name(layer, head), True), Part(f" itself {verb}"))
    return (*name, *(through if abs(value) >= 0.005 else ()), Part("."))


def describe_effect(parts: Parts, layer: int, head: int, without: float) -> Sentence:
    """Say what the logit, or the difference, becomes with a head switched off."""
    change = without - parts.logit
    verb = "stays" if abs(change) < 0.005 else "falls to" if change < 0 else "rises to"
    name = "difference" if parts.words.rather_than is not None else "logit"
    return (
        Part(f"With {head_name(layer, head)} off, and all that reads it run again, the {name} "),
        Part(f"{verb} {signed(without)}", True),
        Part(f" ({signed(change, '+.2f')})."),
    )


def row_name(row: int) -> str:
    """Name a row of a stream by the layer that added to it last.

    >>> row_name(0), row_name(3)
    ('embedding', 'L2')
    """
    return f"L{row - 1}" if row else "embedding"


def describe_lens(lens: LogitLens, place: int) -> Sentence:
    """Say from which layer on the model's own word is the likeliest behind a token, and how likely it is in the end."""
    ranks, word = lens.rank[:, place], quoted(lens.words[place].strip() or lens.words[place])
    first = len(ranks) - 1
    while first and ranks[first - 1] == 1:
        first -= 1
    end = Part(f" ({percent(float(lens.probability[-1, place]))} in the end)")
    if first == 0:
        return (word, Part(" is the likeliest from the token's own vector on"), end)
    if first == len(ranks) - 1:
        return (word, Part(" becomes the likeliest in the last layer alone"), end)
    return (word, Part(" is the likeliest from "), Part(row_name(first), True), Part(" on"), end)


def part_name(patches: Patches, row: int, column: int) -> str:
    """Name a part: a head, an MLP, or the stream behind a layer at a token."""
    if patches.what == "heads":
        return head_name(row, column)
    return f"L{row}·MLP" if patches.what == "mlps" else f"{row_name(row)} at “{patches.tokens[0][column].text}”"


def describe_range(ends: tuple[float, float]) -> str:
    """Write between which changes something lies.

    >>> describe_range((-0.5, 0.25))
    '−0.50 to +0.25'
    """
    return " to ".join(signed(end, "+.2f") for end in ends)


def describe_patch(patches: Patches, row: int, column: int) -> list[Sentence]:
    """Say what becomes of the difference with a part of the other text, and what parts of random texts do there."""
    was, now, apart = patches.one, float(patches.difference[row, column]), patches.other - patches.one
    first, second = (quoted(each.strip()) for each in (patches.words.word, patches.words.rather_than or ""))
    change = float(patches.change[row, column])
    way = f": {percent(change / apart)} of the way to the {signed(patches.other)} of the other text" if apart else ""
    about = (Part("The logit of "), first, Part(", which its probability is made of, less that of "), second)
    verb = "it is about " if patches.patched is None else "it is "
    said = (Part(f"with {part_name(patches, row, column)} of the other text {verb}{signed(now)}", True), Part(f"{way}."))
    lines: list[Sentence] = [(*about, Part(f" is {signed(was)}; "), *said)]
    if (spread := patches.random_change(row, column)) is not None and patches.random is not None:
        count = patches.random.shape[1]
        beyond = not min(spread[0], 0) <= change <= max(spread[1], 0)
        end = "this text does more than any of them." if beyond else "no more than chance."
        lines.append((Part(f"The same part of {count} random texts changes it by {describe_range(spread)}: {end}"),))
    return lines


# So much of the way between two texts is nearly all of it.
NEARLY = 0.9
_PARTS = {"heads": "heads", "mlps": "MLPs", "stream": "places of the stream"}


def describe_together(patches: Patches, curve: PatchCurve) -> Sentence:
    """Say how far the fewest parts go that go nearly all of the way to the other text together, and as many random ones.

    >>> from attnviz.analysis.wording import plain
    >>> import numpy as np
    >>> from attnviz.core.why import ComparedWords
    >>> both, nothing = ("a", "b"), np.zeros((2, 3))
    >>> patches = Patches("m", "mlps", ComparedWords(" a", " b"), both, ((), ()), 4.0, -4.0, None, nothing)
    >>> said = plain(describe_together(patches, PatchCurve((1, 2), np.array([1.0, -1]), np.array([[4.0, 3], [4, 2]]))))
    >>> said.split("; ")[0]
    'The 2 best of 2 MLPs together go 63\xa0% of the way to the other text'
    >>> said.split("; ")[1]
    '2 random ones 19\xa0% (13\xa0% to 25\xa0% in 2 draws).'
    """
    apart = patches.other - patches.one
    if not apart or not len(curve.counts):
        return (Part("No part moves the difference towards the other text."),)
    best, draws = (curve.best - patches.one) / apart, (curve.random - patches.one) / apart
    far = best >= NEARLY
    place = int((far if far.any() else best).argmax())
    count, kind = curve.counts[place], _PARTS[patches.what]
    chosen = f"The {count} best of" if count > 1 else "The best of"
    others = f"{count} random ones" if count > 1 else "a random one"
    low, mean, high = (
        whole_percent(float(value)) for value in (draws[:, place].min(), draws[:, place].mean(), draws[:, place].max())
    )
    return (
        Part(f"{chosen} {curve.counts[-1]} {kind} {'together go' if count > 1 else 'goes'} "),
        Part(f"{whole_percent(float(best[place]))} of the way", True),
        Part(f" to the other text; {others} {mean} ({low} to {high} in {len(draws)} draws)."),
    )


def describe_correlation(patches: Patches) -> str:
    """Say whether the numbers are estimates, and how well estimates go with what passes give."""
    if patches.patched is None:
        return "Estimated: gradient × difference, which takes three passes for all parts."
    if patches.correlation is None:
        return "Each part is set in a pass of its own."
    return f"Each part is set in a pass of its own; the quick estimate correlates with them by {signed(patches.correlation)}."
