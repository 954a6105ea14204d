"""Why a language model writes a word, in sentences."""

from attnviz.analysis.wording import Part, Sentence, head_name, percent, quoted, signed
from attnviz.core.why import LogitLens, Parts, Patches


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
    'embedding +0.50, heads 0.00, MLPs +2.00 = 2.50, the logit of Mary less that of John'
    """
    added = ", ".join(
        f"{name} {signed(value, '+.2f') if abs(value) >= 0.005 else '0.00'}" for name, value in parts.sums.items()
    )
    rather = parts.words.rather_than
    logit = f"the logit of {parts.words.word.strip()}" + (f" less that of {rather.strip()}" if rather is not None else "")
    return f"{added} = {signed(parts.logit)}, {logit}"


def describe_direct(parts: Parts, layer: int, head: int) -> Sentence:
    """Say what a head adds by itself, and the value of which word carries most of it."""
    value, keys = float(parts.heads[layer, head]), parts.keys[layer, head]
    place = int((keys if value >= 0 else -keys).argmax())
    through = (
        Part(", most of it through the value of "),
        quoted(parts.tokens[place].text),
        Part(f" ({signed(keys[place], '+.2f')})"),
    )
    name = (Part(head_name(layer, head), True), Part(f" itself adds {signed(value, '+.2f')}"))
    return (*name, *(through if abs(value) >= 0.005 else ()), Part("."))


def describe_effect(parts: Parts, layer: int, head: int, without: float) -> Sentence:
    """Say what the logit, or the difference, becomes with a head switched off."""
    change = without - parts.logit
    verb = "stays" if abs(change) < 0.005 else "falls to" if change < 0 else "rises to"
    name = "difference" if parts.words.rather_than is not None else "logit"
    return (
        Part(f"With {head_name(layer, head)} off, and the rest of the model run again, the {name} "),
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


def describe_correlation(patches: Patches) -> str:
    """Say whether the numbers are estimates, and how well estimates go with what passes give."""
    if patches.patched is None:
        return "Estimated: gradient × difference, which takes three passes for all parts."
    if patches.correlation is None:
        return "Each part is set in a pass of its own."
    return f"Each part is set in a pass of its own; the quick estimate correlates with them by {signed(patches.correlation)}."
