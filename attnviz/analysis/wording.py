"""A picture's numbers in words: the chosen link, and what its head does as a whole."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import regex

from attnviz.analysis.head_metrics import strongest_link, summarize
from attnviz.analysis.head_view import HeadMatrix
from attnviz.core.edits import Edit, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditedRowError, EditError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.core.weights import Kind, Quantity
from attnviz.text.words import seems_english, visible_text

# A share of the attention from which on a head is called by it.
MOSTLY = 0.5

# What is drawn as one: a flag, or a character with its marks, and what is joined to it.
_LETTER = regex.compile(r"(?s)\p{RI}\p{RI}|.(?:[\p{M}\p{Emoji_Modifier}\u200d]|(?<=\u200d).)*")
_RIGHT_TO_LEFT = regex.compile(r"[\p{scx=Arabic}\p{scx=Hebrew}\p{scx=Syriac}\p{scx=Thaana}\p{scx=Nko}]")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Characters of a word, or of a text, that a sentence names.
LONGEST_NAME = 60
WEIGHT = "weight"
# Of each quantity its title, and what a single number of it is called in a sentence.
TITLES: dict[Quantity, str] = {"weights": "Weights", "norms": "Weights × value norms", "mixing": "Mixing with the residual"}
NUMBERS: dict[Quantity, str] = {"weights": WEIGHT, "norms": "norm share", "mixing": "mixing share"}
# What the boxes called so are about.
ABOUT = {
    "Layer": "A model reads a text in layers: each starts from what the one before made of it. The first is 0.",
    "Head": "Each layer has several heads, and each looks at the text in its own way. The first is 0.",
}
# How much to trust what is shown, in Markdown.
TRUST_WEIGHTS = """
- The numbers are the model's own: they come from its forward pass over this very text, and attnviz's tests compare them with
  the model's own report of its attention.
- A large weight says where a head **looked**, not what the model **concluded** from it: values, other heads and later layers
  decide what becomes of it (Jain & Wallace 2019, *Attention is not Explanation*; Wiegreffe & Pinter 2019, *Attention is not
  not Explanation*).
- Much attention on [CLS], [SEP] or the first token usually means that a head found nothing to do (Clark et al. 2019).
- One sentence is an anecdote. Change a word and see whether the pattern stays.
"""
# How it comes about: a title, and Markdown.
HOW_WEIGHTS = (
    "How this number comes about · softmax(q·k / √d)",
    """
Every token has a **query** (what it looks for) and a **key** (what it offers). A head compares each query with all keys by
their dot product, and a softmax turns each row of scores into shares that sum to 1
(Vaswani et al. 2017, *Attention Is All You Need*, section 3.2.1).
""",
)
CLICK_WORDS = "Click a word to see where it looks. Click another to link the two."
# Each with what is known of weights that go there. Of two that are alike the one that stands first gives the name: a first
# token that is special is called special.
_PATTERNS = {
    "previous": ("the token before", ", wherever it stands: a previous-token head"),
    "following": ("the token after", ", wherever it stands: a next-token head"),
    "itself": ("the token itself", ""),
    "special": ("special tokens", ", usually a sign that it finds nothing to do here (Clark et al. 2019)"),
    "first": ("the very first token", ", where a decoder parks attention that it has no other use for (Xiao et al. 2023)"),
}


@dataclass(frozen=True)
class Part:
    """A piece of a sentence; a strong one is a token, which stands in quotes, or the name of a head.

    A hint says what to click, and is not shown to a class.
    """

    text: str
    strong: bool = False
    quoted: bool = False
    hint: bool = False


Sentence = tuple[Part, ...]


def quoted(text: str, most: int = LONGEST_NAME) -> Part:
    """Name a token, or a text, in a sentence, by so many characters at most."""
    return Part(cut(visible_text(text), most) if text else "", strong=True, quoted=True)


def plain(sentence: Sentence) -> str:
    """Write the sentence as text, its tokens in quotes.

    >>> plain((Part("L0·H1", strong=True), Part(" looks at "), Part("it", strong=True, quoted=True)))
    'L0·H1 looks at “it”'
    """
    return "".join(map(written, sentence))


def written(part: Part) -> str:
    """Write a piece of a sentence, a token in quotes."""
    return f"“{isolated(part.text)}”" if part.quoted else part.text


def isolated(text: str) -> str:
    """Keep what is read from right to left apart from the signs around it (Unicode annex 9): two would trade places."""
    return f"\u2068{text}\u2069" if _RIGHT_TO_LEFT.search(text) else text


def signed(value: float | int, form: str = ".2f") -> str:
    """Write a number with a true minus sign, which is as wide as a digit, and what is rounded to nothing without one.

    >>> signed(-0.5), signed(0.5, "+.1f"), signed(-0.001), signed(-2, "+d"), signed(float("-inf"))
    ('−0.50', '+0.5', '0.00', '−2', '−∞')
    """
    return format(value, form.replace(".", "z.")).replace("-", "−").replace("inf", "∞")


def raised(number: int) -> str:
    """Write a whole number as an exponent.

    >>> "10" + raised(-12)
    '10⁻¹²'
    """
    return str(number).translate(_RAISED)


def power_of_ten(value: float) -> str:
    """Write a small number as a digit and a power of ten.

    >>> power_of_ten(5.2e-8), power_of_ten(0.0)
    ('5 × 10⁻⁸', '0')
    """
    digit, _, exponent = f"{value:.0e}".partition("e")
    return f"{digit} × 10{raised(int(exponent))}" if value else "0"


def two_digits(value: float) -> str:
    """Write a number of 0 or more with two digits, a very small one as a power of ten.

    >>> two_digits(0.0123), two_digits(7.1e-5), two_digits(0.0)
    ('0.012', '7 × 10⁻⁵', '0')
    """
    return power_of_ten(value) if value < 0.001 else f"{value:.2g}"


def join_names(names: Sequence[str]) -> str:
    """Join names as one says them.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def cut(text: str, most: int) -> str:
    """Cut a text to so many characters, the last of them an ellipsis, but none within what is drawn as one letter.

    >>> cut("attention", 5), cut("at", 5), cut("a\N{WOMAN}\u200d\N{GIRL}bc", 4)
    ('atte…', 'at', 'a…')
    """
    if len(text) <= most:
        return text
    letters = _LETTER.findall(text[:most])[:-1]
    return f"{''.join(letters) or text[: most - 1]}…"


def cuts(trace: AttentionTrace) -> list[str]:
    """Say where each text was cut because the model reads no more; nothing where it read all."""
    texts = (("text", trace.prompt.text, trace.cut), ("second sentence", trace.prompt.pair, trace.cut_pair))
    return [
        f"the {name} was cut after character {at:,} of {len(text):,}"
        for name, text, at in texts
        if text is not None and at is not None
    ]


def text_notices(
    trace: AttentionTrace, *, languages: Sequence[str], most: int, reads: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield what happened to a text before the model read it: what stands before the names of models, what follows one or more.

    languages  of the model, as its card has them
    most       tokens that it reads
    reads      fields of a prompt that it reads
    """
    prompt, keys = trace.prompt, trace.maps[0].keys
    yield from foreign_notice(prompt, languages)
    if all(token.special for token in keys):
        shown = " in this text: the picture shows only the tokens that"
        yield "", f" finds no word{shown} it adds to every text.", f" find no word{shown} they add to every text."
    for each in cuts(trace):
        limit = f"{most:,} tokens at most: {each}."
        yield "", f" reads {limit}", f" read {limit}"
    if prompt.pair and "pair" not in reads:
        once = "one text at a time: the second sentence was not used."
        yield "", f" reads {once}", f" read {once}"
    for attention in trace.maps:
        if others := attention.without_attention:
            numbers = ", ".join(map(str, others[:8])) + (" and others" if len(others) > 8 else "")
            layers = f"{counted(attention.n_layers, 'layer')} ({numbers}): the picture is empty there."
            parts = f"words without attention in {len(others)} of"
            yield "", f" mixes {parts} its {layers}", f" mix {parts} their {layers}"
    yield from unknown_notice(keys)


def foreign_notice(prompt: Prompt, languages: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Say, as `text_notices` does, where a model of English alone reads what does not look like it."""
    if tuple(languages[:1]) == ("en",) and not all(
        map(seems_english, filter(None, (prompt.text, prompt.pair, prompt.question)))
    ):
        can = " can read: expect guesses."
        yield "This does not look like English, the only language that ", can, can


def unknown_notice(tokens: Iterable[Token]) -> Iterator[tuple[str, str, str]]:
    """Name, as `text_notices` does, what a vocabulary has no piece for but one that stands for any text."""
    texts = dict.fromkeys(token.text for token in tokens if not token.special and token.piece in ("[UNK]", "<unk>"))
    if names := [written(quoted(text)) for text in texts]:
        unknown = ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")
        yield (
            "",
            f" does not know {unknown}: it reads a placeholder instead.",
            f" do not know {unknown}: they read a placeholder instead.",
        )


def join_notices(spoken: Iterable[tuple[str, Iterable[tuple[str, str, str]]]]) -> Iterator[str]:
    """Yield what models, each by its name, say of their texts; several that say the same say it together.

    >>> alike = [("", " does not know “x”.", " do not know “x”.")]
    >>> [*join_notices([("a", alike), ("b", [*alike, ("", " is slow.", " are slow.")])])]
    ['a and b do not know “x”.', 'b is slow.']
    """
    speakers: dict[tuple[str, str, str], list[str]] = {}
    for name, notices in spoken:
        for notice in notices:
            speakers.setdefault(notice, []).append(name)
    for (before, one, several), all_names in speakers.items():
        names = list(dict.fromkeys(all_names))
        yield f"{before}{join_names(names)}{one if len(names) == 1 else several}"


def head_name(layer: int, head: int | None) -> str:
    """Name a head L3·H1, or L3 for the mean of a layer. Layers and heads count from 0.

    >>> head_name(3, 1), head_name(3, None)
    ('L3·H1', 'L3')
    """
    return f"L{layer}" if head is None else f"L{layer}·H{head}"


def head_words(layer: int, head: int | None, kind: str = "", *, capital: bool = False) -> str:
    """Name a head in a sentence, or with None the mean of a layer.

    >>> head_words(3, 1), head_words(3, None)
    ('head 1 of layer 3', 'the mean of layer 3')
    >>> head_words(3, 1, "cross", capital=True)
    'Cross head 1 of layer 3'
    """
    name = f"the mean of layer {layer}" if head is None else f"{kind} head {head} of layer {layer}".strip()
    return f"{name[0].upper()}{name[1:]}" if capital else name


def head_place(layer: int, head: int | None, count: int) -> str:
    """Say which head it is of how many; with None for the head the mean of a layer.

    >>> head_place(1, 0, 8), head_place(0, None, 8), head_place(0, None, 1)
    ('head 0 of layer 1, one of 8', 'the mean of layer 0', "the model's only head")
    """
    if count == 1:
        return "the model's only head"
    return f"{head_words(layer, head)}{'' if head is None else f', one of {count}'}"


def head_title(quantity: Quantity, layer: int, head: int | None) -> str:
    """Name a head as its numbers stand; where heads are mixed, the layer.

    >>> head_title("mixing", 3, None), head_title("norms", 3, 1)
    ('Layer 3', 'L3·H1')
    """
    return f"Layer {layer}" if quantity == "mixing" else head_name(layer, head)


def describe_mixing(ratios: Mapping[tuple[str, int], float], kind: str, layer: int) -> str:
    """Say how much a layer changes a token, by its mixing ratio; empty where that is not known.

    >>> describe_mixing({("encoder", 3): 0.19}, "encoder", 3), describe_mixing({}, "encoder", 3)
    ('This layer changes a token by 19\xa0%: the rest is what the token was before.', '')
    """
    if (ratio := ratios.get((kind, layer))) is None:
        return ""
    return f"This layer changes a token by {whole_percent(ratio)}: the rest is what the token was before."


def describe_link(matrix: HeadMatrix, name: str, cell: tuple[int, int], number: str = WEIGHT) -> Sentence:
    """Say how large one weight is, and which link between words is the head's strongest.

    `number` is what the numbers of the matrix are, where they are no weights.

    Raises:
        IndexError: the matrix has no such cell.
    """
    query, key = cell
    weight = float(matrix.weights[cell])
    subject, object_ = quoted(matrix.queries[query].text), quoted(matrix.keys[key].text)
    if not matrix.visible[cell]:
        return (subject, Part(" cannot look at "), object_, Part(": this cell is masked."))
    link = _link_of(matrix, query, key)
    lead = (Part(name, True), Part(" sends "), *link, Part(f" with {number} {percent(weight)}"))
    strongest = strongest_link(matrix)
    if strongest is None:
        return (*lead, Part("."))
    if (strongest.query, strongest.key) == cell:
        return (*lead, Part(": its strongest link between different words."))
    best = _link_of(matrix, strongest.query, strongest.key)
    return (*lead, Part("; its strongest link between different words is "), *best, Part(f" ({percent(strongest.weight)})."))


def _link_of(matrix: HeadMatrix, query: int, key: int) -> Sentence:
    return (*_of_token(matrix.queries, query), Part(" to "), *_of_token(matrix.keys, key))


def _of_token(tokens: Sequence[Token], place: int) -> Sentence:
    """Name a token in a sentence; one of several of a word is called a token, for a headline counts the whole word."""
    own = tokens[place]
    parts = [each for each in tokens if own.word is not None and (each.segment, each.word) == (own.segment, own.word)]
    return (*[Part("the token ")] * (len(parts) > 1), quoted(own.text))


def describe_head(matrix: HeadMatrix, number: str = WEIGHT) -> Sentence:
    """Say where most of a head's attention goes, or how far it is spread; of norms or mixing, what it moves."""
    summary = summarize(matrix)
    name = max(_PATTERNS, key=lambda each: getattr(summary, each))
    (tokens, remark), share = _PATTERNS[name], getattr(summary, name)
    if share >= MOSTLY:
        where = f"its attention goes to {tokens}{remark}" if number == WEIGHT else f"what it moves comes from {tokens}"
        return (Part(f"{percent(share).capitalize()} of {where}."),)
    width, what = 2**summary.entropy, "Its attention" if number == WEIGHT else "What it moves"
    return (Part(f"{what} has the entropy of an even spread over {width:.1f} tokens ({summary.entropy:.1f} bits)."),)


def describe_hidden(matrix: HeadMatrix, renormalized: bool, number: str = WEIGHT) -> str:
    """Say how much attention goes to hidden tokens; empty where it is nothing."""
    if matrix.hidden < 0.0005:
        return ""
    scaling = "rows are scaled up to sum to 1" if renormalized else "rows sum to the rest"
    whole = "the attention" if number == WEIGHT else "what is moved"
    return f"Hidden tokens hold {percent(matrix.hidden)} of {whole}; {scaling}."


def counted(number: int, one: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> counted(1, "step"), counted(5000, "step"), counted(0, "query", "queries")
    ('1 step', '5,000 steps', '0 queries')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def percent(share: float) -> str:
    r"""Write a share in whole percent, but never as none or all of it where that is not so.

    >>> percent(0.5), percent(0.001), percent(0.999)
    ('50\xa0%', 'under 1\xa0%', 'over 99\xa0%')
    """
    if 0.995 <= share < 0.9995:
        return "over 99\xa0%"
    return "under 1\xa0%" if 0 < share < 0.005 else whole_percent(share)


def points(change: SupportsFloat) -> str:
    r"""Write a change of a share in percentage points.

    >>> points(0.683), points(-0.01), points(0.004), points(-0.0004)
    ('+68\xa0points', '−1\xa0point', '+0.4\xa0points', '0\xa0points')
    """
    hundredfold = 100 * float(change)
    number = signed(hundredfold, "+.0f" if abs(hundredfold) >= 0.95 else "+.1f").replace("+0.0", "0")
    return f"{number}\xa0point{'' if number[1:] == '1' else 's'}"


def whole_percent(share: SupportsFloat) -> str:
    r"""Write a share in whole percent, whose sign is not parted from it; a half goes up, as in a browser (elements.js).

    >>> whole_percent(0.571), whole_percent(0.125), whole_percent(-0.02), whole_percent(-0.001)
    ('57\xa0%', '13\xa0%', '−2\xa0%', '0\xa0%')
    """
    rounded = math.floor(100 * float(share) + 0.5)
    return f"{'−' if rounded < 0 else ''}{abs(rounded)}\xa0%"


_SET = {"zero": "off", "mean": "at its mean", "uniform": "uniform"}
_KIND: dict[Kind, str] = {"encoder": "encoder ", "decoder": "decoder ", "cross": "cross "}


def describe_edit(edit: Edit, maps: Mapping[Kind, AttentionMap]) -> str:
    """Say what an edit does; where the text has several maps, also in which. A token that is not there is called by its number.

    >>> describe_edit(HeadSet("encoder", 3, 1), {}), describe_edit(LinkCut("encoder", 0, 2, 4, 7), {})
    ('L3·H1 off', 'L0·H2: 4 → 7 cut')
    """
    kind = _KIND[edit.kind] if len(maps) > 1 else ""
    attention = maps.get(edit.kind)
    queries, keys = (attention.queries, attention.keys) if attention else ((), ())
    if isinstance(edit, WordHidden):
        return (
            f"{kind}{_named(keys, edit.key)} hidden in {'every layer' if edit.layer is None else head_name(edit.layer, None)}"
        )
    head = f"{kind}{head_name(edit.layer, edit.head)}"
    if isinstance(edit, HeadSet):
        return f"{head} {_SET[edit.to]}"
    if isinstance(edit, HeadPatched):
        return f"{head} patched from “{edit.text:.40}”"
    link = f"{head}: {_named(queries, edit.query)} → {_named(keys, edit.key)}"
    return f"{link} set to {edit.weight:.3g}" if isinstance(edit, WeightSet) else f"{link} cut"


def _named(tokens: tuple[Token, ...], place: int) -> str:
    return written(quoted(tokens[place].text)) if place < len(tokens) else str(place)


def describe_refusal(error: EditError, trace: AttentionTrace) -> str:
    """Say why an edit of a trace cannot be made, with words in the place of numbers where it is about one row."""
    maps = {each.kind: each for each in trace.maps}
    if not isinstance(error, EditedRowError) or error.kind not in maps:
        return str(error)
    return error.named(_named(maps[error.kind].queries, error.query), _named(maps[error.kind].keys, error.key))


def describe_edits(edits: Edits, trace: AttentionTrace) -> dict[str, str]:
    """Say what each edit of a trace does, by its text; the heads of a layer that are all set to the same together.

    >>> import numpy as np
    >>> from attnviz.core.trace import DenseWeights, Prompt
    >>> a = (Token("a", 0, 1),)
    >>> weights = DenseWeights((np.ones((2, 1, 1)),))
    >>> trace = AttentionTrace("mine", Prompt("a"), (AttentionMap("encoder", a, a, weights),))
    >>> describe_edits(Edits.parse("e0.0z,e0.1z,e0k0"), trace)
    {'e0.0z,e0.1z': 'L0 off', 'e0k0': '“a” hidden in L0'}
    """
    maps = {each.kind: each for each in trace.maps}
    layers: dict[tuple, list[HeadSet]] = {}
    for edit in edits.each:
        if isinstance(edit, HeadSet):
            layers.setdefault((edit.kind, edit.layer, edit.to), []).append(edit)
    whole = {key: heads for key, heads in layers.items() if key[0] in maps and 1 < maps[key[0]].n_heads == len(heads)}
    groups = {}
    for (kind, layer, to), heads in whole.items():
        groups[Edits(tuple(heads)).text] = f"{_KIND[kind] if len(maps) > 1 else ''}{head_name(layer, None)} {_SET[to]}"
    alone = [edit for edit in edits.each if edit not in {head for heads in whole.values() for head in heads}]
    return groups | {Edits((edit,)).text: describe_edit(edit, maps) for edit in alone}


def toggled(edits: tuple[Edit, ...], more: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Remove these edits if all of them are there; else add them, each in place of one that it contradicts.

    >>> off = HeadSet("encoder", 3, 1)
    >>> toggled((), (off,)) == (off,), toggled((off,), (off,))
    (True, ())
    """
    if set(more) <= set(edits):
        return tuple(edit for edit in edits if edit not in more)
    changed = {_target(edit) for edit in more}
    return (*(edit for edit in edits if _target(edit) not in changed), *more)


def _target(edit: Edit) -> tuple:
    """Name the head, link or word that an edit changes: two edits of the same one contradict each other."""
    if isinstance(edit, LinkCut | WeightSet):
        return edit.kind, edit.layer, edit.head, edit.query, edit.key
    if isinstance(edit, WordHidden):
        return edit.kind, edit.layer, edit.key
    return edit.kind, edit.layer, edit.head, "head"
