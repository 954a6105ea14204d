"""The pages and their addresses: every parameter that one may hold, declared once, and long texts in it, which are compressed.

A type reads what stands in an address, whoever wrote it there, and gives None for what it cannot read: the page then shows what
it would show unasked. What depends on a model, such as how many layers it has, is bounded where the model is known.
"""

import base64
import binascii
import math
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

# Pages that have become part of another: their addresses go on opening what they opened.
MOVED = {"ablate": "whatif?change=head", "compare": "whatif"}
_COMPARED = re.compile(r"(^|&)other=[^&]")


def current_address(address: str) -> str:
    """Rewrite the address of a page that has become part of another; any other stays as it is.

    >>> current_address("/ablate?text=a"), current_address("app/compare"), current_address("/encode?text=a")
    ('/whatif?change=head&text=a', 'app/whatif', '/encode?text=a')
    >>> current_address("/encode?text=a&other=b")
    '/whatif?text=a&other=b'
    """
    path, _, query = address.partition("?")
    above, slash, page = path.rpartition("/")
    # Two sentences were compared on Encode, too.
    moved_to = "whatif" if page == "encode" and _COMPARED.search(query) else MOVED.get(page)
    if moved_to is None:
        return address
    moved, _, chosen = moved_to.partition("?")
    parameters = "&".join(filter(None, (chosen, query)))
    return f"{above}{slash}{moved}{'?' if parameters else ''}{parameters}"


MARK = "~z~"
# Shorter ones can be read, and changed, by a person.
READABLE = 300
# Bytes: no page puts more into its address, and a few bytes of it could stand for hours of work.
LARGEST = 16_000


def pack(text: str) -> str:
    """Write a text for an address: compressed (DEFLATE, RFC 1951, in URL-safe base64) where that is shorter.

    >>> pack("The cat sat.")
    'The cat sat.'
    >>> len(pack("The cat sat. " * 300)) < 100
    True
    """
    written = len(quote(text))
    if written <= READABLE and not text.startswith(MARK):
        return text
    compressor = zlib.compressobj(level=9, wbits=-15)
    data = compressor.compress(text.encode("utf-8", "surrogatepass")) + compressor.flush()
    packed = MARK + base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
    return packed if len(packed) < written or text.startswith(MARK) else text


def unpack(written: str) -> str | None:
    """Read the text that `pack` was given; None where it cannot be one.

    >>> unpack(pack("Le chat. " * 99)) == "Le chat. " * 99, unpack("The cat sat."), unpack("~z~nonsense")
    (True, 'The cat sat.', None)
    """
    if not written.startswith(MARK):
        return written
    data = written.removeprefix(MARK)
    try:
        compressed = base64.b64decode(data + "=" * (-len(data) % 4), altchars=b"-_", validate=True)
        # A few bytes can stand for gigabytes.
        opener = zlib.decompressobj(wbits=-15)
        text = opener.decompress(compressed, LARGEST)
        is_whole = opener.eof and not opener.unused_data
        return text.decode("utf-8", "surrogatepass") if is_whole else None
    except (binascii.Error, zlib.error, ValueError):
        return None


# Models that stand side by side at most. What a person chose in one of them has the model's number, from 1, in its name.
SLOTS = 4
# No model has as many layers, heads or tokens.
MOST = 99_999
MOST_SEED = 9_999
# Of a lesson.
MOST_STEPS = 40
Written = str | list[str]


@dataclass(frozen=True)
class Text:
    """A text, packed or not, but none that no browser can show; all of it matches the pattern, where there is one.

    >>> Text().read("a b"), Text().read("~z~nonsense"), Text(most=3).read("four"), Text(pattern="a+").read("ab")
    ('a b', None, None, None)
    """

    most: int | None = None
    pattern: str | None = None

    def read(self, written: str) -> str | None:
        text = unpack(written)
        if text is None or (self.most and len(text) > self.most) or (self.pattern and not re.fullmatch(self.pattern, text)):
            return None
        # Half of a character that takes two.
        return None if re.search(r"[\ud800-\udfff]", text) else text


@dataclass(frozen=True)
class Flag:
    """On or off."""

    default: bool = False

    def read(self, written: str) -> bool | None:
        return {"true": True, "false": False}.get(written.lower())


@dataclass(frozen=True)
class Number:
    """A whole number, or where the bounds have a fraction any; what lies outside becomes the nearest.

    >>> whole = Number(1, 9)
    >>> whole.read("7"), whole.read("-7"), whole.read("9" * 4000), whole.read("9" * 4301), whole.read("inf"), whole.read("٧")
    (7, 1, 9, None, None, None)
    >>> Number(0.0, 2.0).read("0.5"), Number(0.0, 2.0).read("1e9"), Number(0.0, 2.0).read("nan")
    (0.5, 2.0, None)
    """

    least: int | float = 0
    most: int | float = MOST
    default: int | float = 0
    step: int | float = 1

    def read(self, written: str) -> Any:
        if isinstance(self.least, int):
            # Python refuses to read more digits.
            return self.bound(int(written)) if re.fullmatch(r"[+-]?[0-9]{1,4000}", written) else None
        value = float(written) if re.fullmatch(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?(e[+-]?[0-9]{1,3})?", written) else math.inf
        return self.bound(value) if math.isfinite(value) else None

    def bound(self, value: Any) -> Any:
        return min(max(value, self.least), self.most)


@dataclass(frozen=True)
class Choice:
    """One of several; the first is what is shown unasked, where the page knows no better."""

    options: tuple[str, ...]

    @property
    def default(self) -> str:
        return self.options[0]

    def read(self, written: str) -> str | None:
        return written if written in self.options else None


@dataclass(frozen=True)
class Names:
    """Some names, none of them twice; a single empty one says that none is chosen.

    >>> Names(2).read_all(["a", "b", "a", "c"]), Names(2).read_all([""]), Names(2).read_all(["~z~nonsense"])
    (['a', 'b'], [], None)
    """

    most: int

    def read_all(self, written: list[str]) -> list[str] | None:
        if written == [""]:
            return []
        return list(dict.fromkeys(name for each in written if (name := NAME.read(each))))[: self.most] or None


Type = Text | Flag | Number | Choice | Names

# File systems and the hub end before.
NAME = Text(most=255)
# What people type, bounded where pages read it (`attnviz.ui.visitor_limits.check_length`), and what pages write.
_TEXT, _WRITTEN, _OPEN = Text(), Text(most=LARGEST), Choice(("", "open"))
# How a model's authors mark a language: deu_Latn, de_DE, de.
_LANGUAGE = Text(most=40, pattern=r"\w+")
_HEAD: dict[str, Type] = {"layer": Number(), "head": Number()}
_CELL: dict[str, Type] = {"query": Number(), "key": Number()}
# Further words of a link than those of its cell: positions, "3.5".
_LINK: dict[str, Type] = {**_CELL, "queries": Text(most=120), "keys": Text(most=120)}
_SCALE: dict[str, Type] = {"scale": Choice(("0 to 1", "Fit to this head"))}
_WORDS: dict[str, Type] = {"words": Flag()}
_MERGED: dict[str, Type] = {"whole_words": Flag(default=True)}
_HIDDEN: dict[str, Type] = {"hide_special": Flag()}
# Which map of an encoder-decoder, the text that its decoder reads, and the language that it writes.
_MAP: dict[str, Type] = {"attention": Choice(("encoder", "decoder", "cross")), "target": _TEXT, "language": _LANGUAGE}
_NUMBERS: dict[str, Type] = {"weighing": Choice(("weights", "norms", "mixing"))}
_MEAN: dict[str, Type] = {"all_heads": Flag(default=True)}
# How the explorer is looked at, as it writes it itself: the order of heads, the part of the matrix, and so on.
_VIEW: dict[str, Type] = {"view": Choice(("grid", "matrix", "arcs", "text", "BertViz")), "look": Text(most=600)}


# What is changed in a model's attention (`attnviz.core.edits`), whether clicks change it, and which of both is shown.
_EDITING: dict[str, Type] = {"editing": Flag(), "edit_view": Choice(("After", "Before", "Difference"))}
_EDITED: dict[str, Type] = {"edits": _WRITTEN, **_EDITING}


def _each(slots: int, **types: Type) -> dict[str, Type]:
    """Declare the parameters that each of the models side by side has of its own."""
    return {f"{name}{slot}": each for slot in range(1, slots + 1) for name, each in types.items()}


_SIDE_BY_SIDE: dict[str, Type] = {"query": Number(), "key": Number(), "all": _OPEN, **_VIEW}
# Between which of two sentences.
_BETWEEN = ("all", "first-first", "first-second", "second-first", "second-second")
_TOYS = ("reverse", "copy", "sort", "dates", "numbers")
# Of an answer: question and passage with their bars, the head as a matrix, how likely each span is.
ANSWER_PICTURES = ("passage", "matrix", "spans")


@dataclass(frozen=True)
class AppPage:
    """A page: what app and site call it, and what its address may say.

    name       of its file in pages/, and in an address
    section    of the menu; empty: above all of them
    icon       a name of Material Symbols
    promise    one line that says what somebody will see
    boxes      what is typed on the site, each box by the name that the address gives its text
    on_site    the parameters that the site reads
    in_app     what of the page needs the app, in a sentence; of one that the site does not have, why
    """

    name: str
    title: str
    section: str
    icon: str
    promise: str
    parameters: Mapping[str, Type]
    boxes: Mapping[str, str] = field(default_factory=dict)
    on_site: str = ""
    in_app: str = ""


_SITE_HEAD, _SITE_VIEW = "layer head scale present", "view look query key"
_SITE_WORDS = "words hide_special queries keys"
# The pages, in the order of the menu.
PAGES = (
    AppPage(
        "home", "Home", "", "home",
        "Type a sentence, then click a word. See which other words a real model looks at when it reads that word.",
        {"text": _TEXT, **_HEAD, **_LINK, "look": _VIEW["look"]},
    ),
    AppPage(
        "encode", "Encode", "Look", "grid_on",
        "A model reads a sentence by letting every word look at the others. Click a word to see where it looks.",
        {
            **{"model": NAME, "text": _TEXT, "pair": _TEXT, "question": _TEXT}, **_MAP, **_HEAD, "mean": Flag(), **_WORDS,
            **_HIDDEN, "renormalize": Flag(), "between": Choice(_BETWEEN), **_NUMBERS, **_SCALE, **_LINK, **_VIEW,
            "bertviz": Choice(("Head view", "Model view")), **_EDITED,
        },
        boxes={"text": "Sentence", "pair": "Second sentence"},
        on_site=f"model text pair attention mean {_SITE_WORDS} {_SITE_HEAD} {_SITE_VIEW}",
    ),
    AppPage(
        "translate", "Translate", "Look", "translate",
        "Type an English sentence. See which of its words each word of the translation came from.",
        {
            **{"models": Names(SLOTS), "text": _TEXT, "target": _TEXT, "question": _TEXT}, **_HEAD, **_MEAN, **_MERGED,
            **_HIDDEN, **_SCALE, **_NUMBERS,
            "into": Choice(("French", "German")),
            "reading": Choice(("Truer", "Shifted", "Naive")),
            "hard": Choice(("Off", "Strongest", "Balanced", "Threshold")),
            "threshold": Number(0.05, 0.95, default=0.3, step=0.05),
            "decoding": Choice(("Greedy", "Beam")),
            "hero": Number(1, SLOTS, default=1), "alternatives": _OPEN,
            "width": Number(2, 10, default=5), "penalty": Number(0.0, 2.0, default=1.0, step=0.1),
            **_each(SLOTS, language=_LANGUAGE, begins=_WRITTEN, candidate=Number(), edits=_WRITTEN, **_SIDE_BY_SIDE),
            **_EDITING,
        },
        boxes={"text": "English sentence"},
        on_site="models text target into decoding width hero all_heads whole_words hide_special "
        f"{_SITE_HEAD} query1 key1 query2 key2 query3 key3 query4 key4",
    ),
    AppPage(
        "answer", "Answer", "Look", "quiz",
        "Ask a question about a passage. See the answer, and which words it looks at.",
        {
            **{"models": Names(2), "question": _TEXT, "passage": _TEXT, "side": Choice(("cross", "passage", "question"))},
            "picture": Choice(ANSWER_PICTURES), **_HEAD, **_MEAN, **_MERGED,
            **_HIDDEN, **_SCALE, **_NUMBERS, **_each(2, asked=Number(), edits=_WRITTEN, **_SIDE_BY_SIDE), **_EDITING,
        },
        boxes={"question": "Question", "passage": "Passage"},
        on_site="models question passage picture side all_heads whole_words hide_special "
        f"{_SITE_HEAD} asked1 all1 view1 look1 query1 key1",
    ),
    AppPage(
        "summarize", "Summarize", "Look", "short_text",
        "Type a text. See which sentence a model keeps as its summary, and which words it looks at most.",
        {
            **{"model": NAME, "text": _TEXT, "way": NAME}, **_HEAD, **_MEAN, **_MERGED, **_NUMBERS,
            "unit": Choice(("Count", "Share")),
            "words_kept": Number(1, 100, default=15), "share_kept": Number(1, 100, default=20),
            "sentences_kept": Number(1, 6, default=1), "punctuation": Flag(), "word": Number(), "reference": _TEXT,
            **{"all": _OPEN}, **_CELL, **_VIEW, **_EDITED,
        },
        boxes={"text": "Text"},
        on_site="model text unit words_kept share_kept sentences_kept way all_heads whole_words all "
        f"{_SITE_HEAD} {_SITE_VIEW}",
    ),
    AppPage(
        "write", "Write", "Look", "edit_note",
        "A language model guesses the next word, again and again. See what it guesses, and where it looked.",
        {
            **{"model": NAME, "text": _TEXT, "written": _WRITTEN, "more": Number(1, 200, default=20), "chat": Flag()},
            "language": _LANGUAGE,
            # Under edits the model writes anew what stands behind so many tokens.
            "held": Number(),
            "choose": Choice(("Likeliest", "By chance")), "temperature": Number(0.1, 2.0, default=1.0, step=0.1),
            "top_p": Number(0.05, 1.0, default=1.0, step=0.05), "top_k": Number(0, 50),
            "seed": Number(0, MOST_SEED, default=1), "why": Flag(), "rather": NAME,
            "positions": Flag(), "lens": Choice(("probability", "log p", "rank", "entropy")),
            **_HEAD, "mean": Flag(), **_WORDS, **_HIDDEN, "renormalize": Flag(), **_SCALE, **_LINK, **_VIEW, **_EDITED,
        },
        boxes={"text": "Text"},
        on_site="model text written more choose temperature top_p top_k seed mean "
        f"{_SITE_WORDS} {_SITE_HEAD} {_SITE_VIEW}",
    ),
    AppPage(
        "whatif", "What if", "Ask", "tune",
        "Change a word, switch a head off, or choose another model. See what changes.",
        {
            "change": Choice(("word", "head", "model", "patch")),
            **{"model": NAME, "text": _TEXT, "pair": _TEXT, "question": _TEXT, "passage": _TEXT}, **_MAP, **_HEAD,
            "other": _TEXT, "second": NAME, "edits": Text(most=8000), "trained": Text(most=200),
            "about": NAME, "to": Choice(("zero", "mean", "uniform")), "order": Choice(("layer", "cost")),
            "stopped": Choice(("", "costs", "curve", "patches")),
            # Of parts of another text: which, two next words, and of the stream the position.
            "part": Choice(("heads", "mlps", "stream")), "next": NAME, "rather": NAME, "query": Number(),
        },
        on_site="change model text other second edits to question passage next rather part attention layer head query order "
        "present",
        in_app="Texts of your own, other pairs of models and other edits take a model that is run again with its attention "
        "changed, which the app does.",
    ),
    AppPage(
        "matters", "What matters", "Ask", "balance",
        "Take a word away, and see whether the model still says the same.",
        {
            **{"model": NAME, "text": _TEXT, "pair": _TEXT, "taken": Text(most=400), "about": NAME, "seen": NAME},
            "language": _LANGUAGE,
            # The methods are compared where they are open, as they are where an address names one.
            **{"methods": Choice(("", "open", "closed")), "way": NAME},
        },
        on_site="model text pair taken present",
        in_app="Texts of your own, several words taken away at once, another part of the output, and the methods that are "
        "compared with this take hundreds of passes of a model, which the app does.",
    ),
    AppPage(
        "heads", "What heads do", "Ask", "manage_search",
        "A head decides which words look where. Each square is one: what it does, and how often. Click a square.",
        {
            **{"model": NAME, "claim": Text(most=600), "find": NAME, "sentences": _TEXT}, **_HEAD,
            "survey": Text(most=400), "measure": NAME, "drawing": Flag(), "drawn": Text(most=16),
            "roles": Flag(), "role": NAME,
        },
        on_site="model claim layer head present",
        in_app="To test a claim of your own, to look for heads by a claim or a drawing, and for other models, a model reads "
        "1,500 sentences with every head, which the app does.",
    ),
    AppPage(
        "lessons", "Lessons", "Learn", "school",
        "New here? Begin with the first. You guess, then see what the model says.",
        {},
    ),
    AppPage(
        "class", "Class", "Learn", "groups",
        "Ask your class what a head looks at. Their guesses come back onto the picture.",
        # The code of a class, the lesson that is asked, and the teacher's link.
        {"class": Text(most=40), "teaches": NAME, "teach": Text(most=300), "plan": _OPEN},
    ),
    AppPage(
        "compute", "Compute", "Learn", "calculate",
        "How attention is computed, step by step. Press Next, or click a number to see where it comes from.",
        {
            "source": Choice(("worked", "model")),
            **{"worked": NAME, "tokens": Text(most=120), "numbers": _WRITTEN, "heads": NAME, "own": NAME},
            "mask": Choice(("none", "causal", "padding", "own")),
            "padded": Number(1, 8, default=1), "divide": Choice(("on", "off")), "seed": Number(1, MOST_SEED),
            "predict": Choice(("off", "most", "weight")), "at": NAME, "revealed": NAME, "why": _OPEN,
            **{"model": NAME, "text": _TEXT, "pair": _TEXT, "question": _TEXT, "begins": _WRITTEN},
            **_MAP, **_HEAD, **_CELL, **_WORDS,
        },
        boxes={"text": "Sentence"},
        on_site="source worked model text layer head query key words at present",
    ),
    AppPage(
        "train", "Train", "Learn", "model_training",
        "Press Start: a small model learns a task, and its attention learns where to look.",
        {
            "topic": Choice(("alignment", "induction")),
            "task": Choice(_TOYS), "kind": Choice(("additive", "dot", "transformer")),
            "layers": Choice(("1", "2")), "n_heads": Choice(("1", "4")), "divided": Choice(("on", "off")),
            "forcing": Choice(("1", "0.5", "0")), "padding": Choice(("masked", "read")),
            "steps": Number(20, 5000, step=50), "first": Number(1, MOST_SEED, default=1),
            "pace": Choice(("Full", "Slow", "Slower")), "truth": Flag(),
            "toy_head": NAME, **{f"toy_input_{task}": _WRITTEN for task in _TOYS},
            **_each(1, query=Number(), key=Number()),
        },
        in_app="It trains a model with PyTorch, which no browser runs.",
    ),
)  # fmt: skip
# Beside every page a lesson can run: its name, the step, from 1, and the answers (`attnviz.lessons.hand_in`).
LESSON: dict[str, Type] = {"lesson": NAME, "step": Number(1, MOST_STEPS + 1, default=1), "answers": _WRITTEN}
# Every page can be opened in its present mode.
PARAMETERS: dict[str, Mapping[str, Type]] = {each.name: {**each.parameters, "present": Flag(), **LESSON} for each in PAGES}
# What a page called its own by the names of `LESSON`: an address without a step means that.
RENAMED = {"compute": {"lesson": "worked"}, "train": {"lesson": "topic"}}
# Names that pages have for the same: an address that is carried to another page still means it there.
SAME = (("model", "models"), ("text", "passage"), ("pair", "question"), ("words", "whole_words"), ("mean", "all_heads"))


def read_parameter(page: str, name: str, written: Written | None) -> Any:
    """Read a parameter of a page from the address; None where it says nothing, or nothing that can be read."""
    kind = PARAMETERS[page].get(name)
    if written is None or kind is None:
        return None
    several = [written] if isinstance(written, str) else written
    return kind.read_all(several) if isinstance(kind, Names) else kind.read(several[-1] if several else "")


def renamed(page: str, names: Collection[str]) -> Mapping[str, str]:
    """Find the parameters of an address that this page has by another name: an old one, or that of another page.

    >>> renamed("compute", ["lesson", "seed"]), renamed("compute", ["lesson", "step"])
    ({'lesson': 'worked'}, {})
    >>> renamed("matters", ["passage", "question"]), renamed("matters", ["question", "pair"])
    ({'passage': 'text', 'question': 'pair'}, {})
    >>> renamed("translate", ["model", "layer", "key"]), renamed("encode", ["models", "layer", "key1"])
    ({'model': 'models', 'key': 'key1'}, {'models': 'model', 'key1': 'key'})
    """
    before = {} if "step" in names else RENAMED.get(page, {})
    new = {old: name for old, name in before.items() if old in names}
    for name in names:
        # Of models side by side the first one's have a number.
        others = [other for same in SAME if name in same for other in same] + [f"{name}1", name.removesuffix("1")]
        own = [other for other in others if other in PARAMETERS[page]]
        if name not in PARAMETERS[page] and name not in new and own and own[0] not in names:
            new[name] = own[0]
    return new


def write_parameter(value: Any) -> Written:
    """Write a value as it stands in an address.

    >>> write_parameter(True), write_parameter(0.5), write_parameter(7), write_parameter("The cat sat.")
    ('true', '0.5', '7', 'The cat sat.')
    >>> write_parameter(["a", "b"]), write_parameter([])
    (['a', 'b'], [''])
    """
    if isinstance(value, list | tuple):
        return [str(each) for each in value] or [""]
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else pack(str(value))
