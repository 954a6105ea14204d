"""The address is the state: whatever a person does on a page, its address opens the same trace and the same view elsewhere."""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

import pytest

from attnviz.analysis.answer_attention import SIDES
from attnviz.analysis.head_view import BETWEEN
from attnviz.core.edits import Edits, HeadSet, WeightSet, WordHidden
from attnviz.core.head_inputs import Mask
from attnviz.core.trace import AttentionMap
from attnviz.core.weights import QUANTITIES
from attnviz.figures.compute.steps import Predict
from attnviz.models.worked_examples import mask_text, random_numbers
from attnviz.text.toy_tasks import TOYS
from attnviz.ui.address.address_sync import LINK_CHARACTERS, Going
from attnviz.ui.background import results as models
from attnviz.ui.explorer import VIEWS
from attnviz.ui.matters import FAST
from attnviz.ui.summarize import SELECTORS
from tests.visits import Visit, differences, open_page

# Of each page at least; between two of them a person does two things.
STATES = 4
TEXTS = (
    "I like this & that=one; <script>alert('x')</script> 100 % #1 + 1",
    "J'ai vu 🦊 et 👩‍👩‍👧 hier: “çà et là”.",
    "",
    "القط على السجادة، and the dog לא.",
    "He has never been to France with his old friends. " * 2,
    "~z~ looks like a packed one",
    "First line. Second line; is it a line?   Third.",
)
# What a widget offers, where its labels are not its values, or where not all can be had without a network.
OFFERED: dict[str, tuple[Any, ...]] = {
    "between": BETWEEN, "weighing": QUANTITIES, "side": SIDES, "way": tuple(SELECTORS), "mask": get_args(Mask),
    "predict": get_args(Predict),
    "toy_task": tuple(TOYS), "toy_kind": ("additive", "dot", "transformer"),
    "toy_padding": ("masked", "read"), "toy_divided": ("on", "off"), "topic": ("alignment",),
    "hard": ("Strongest", "Threshold", "Balanced"), "decoding": ("Greedy", "Beam"),
}  # fmt: skip
MODELS = {
    "encode": ("minilm", "transformer-en-fr"),
    "translate": ("bahdanau-en-fr", "transformer-en-fr"),
    "answer": ("answer-en", "answer-en-dual"),
    "summarize": ("summarize-en", "minilm"),
    "write": ("smollm2", "distilgpt2"),
    "heads": ("minilm", "transformer-en-fr"),
    "matters": ("answer-en", "transformer-en-fr"),
}
CLAIMS = ("L0·H2: any -> previous", 'any: "the" -> next', "obj -> head", "objj -> head", "L9·H9: any -> self")
# What a person uses, by the parameter that holds it or comes with it, where that is called something else.
PARAMETERS = {
    "typed": "text", "typed_pair": "pair", "typed_other": "other", "typed_question": "question",
    "typed_passage": "passage", "example": "layer", "typed_claim": "claim", "example_claim": "claim",
    "cell": "query", "cell1": "query1", "chip": "worked", "dim": "numbers", "model": "target", "edit-weight": "editing",
    "unit": "words_kept", "decoding": "candidate1", "toy_kind": "divided", "toy_head": "toy_head", "preset": "task",
}  # fmt: skip
# Every parameter that the address of a page may have: each has to be there in one of the states.
HELD = {
    "encode": "model text pair layer head mean words hide_special renormalize between weighing scale attention target query "
    "key view edits editing edit_view",
    "translate": "models text target layer head all_heads reading whole_words hide_special weighing hard threshold scale "
    "decoding width penalty query1 key1 begins1 candidate1 all1 hero alternatives edits1 editing edit_view",
    "answer": "models question passage side layer head all_heads whole_words hide_special weighing scale asked1 query1 key1 "
    "all1 edits1 editing edit_view",
    "summarize": "model text way layer head all_heads unit words_kept share_kept sentences_kept whole_words punctuation "
    "reference all edits editing edit_view",
    "write": "model text written more chat choose temperature top_p top_k seed layer head mean words hide_special scale "
    "query key view edits editing edit_view",
    "heads": "model layer head claim find sentences",
    "compute": "worked tokens heads head divide mask padded seed numbers own predict at",
    "compute a head": "source model text pair attention target layer head query key words predict at",
    "train": "task kind layers n_heads divided forcing padding steps first pace toy_head",
}
# Where a page takes long, chance is drawn so that all of it was used soon.
CHANCE = {
    "encode": "encode 6", "translate": "translate 10", "answer": "answer 10", "summarize": "summarize 6", "train": "train 14",
    "write": "write 2",
}  # fmt: skip
# Where a person begins.
BEGUN = {
    "matters": {"text": "Ada wrote it.", "pair": "Who wrote it?"},
    # What is of use with two models, with hard links or with an edit can be reached at once.
    "translate": {"models": ["bahdanau-en-fr", "transformer-en-fr"], "hard": "true", "edits1": "c0.0z"},
    "compute a head": {"source": "model"},
    "summarize": {"words_kept": "3"},
    "compute": {"mask": "padding", "padded": "1"},
}


class Person:
    """Somebody who uses what was not used yet, in random order and in random ways."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.draw = random.Random(CHANCE.get(page, page))
        self.used: Counter[str] = Counter()
        self.held: set[str] = set()

    def pick(self, names: Iterable[str]) -> str:
        """What is not in the address yet, else what was used least."""
        # The box of a weight has another name for every cell.
        kinds = {name: "edit-weight" if name.startswith("edit-weight") else name for name in names}
        order = {name: (self.holds(kind), self.used[kind]) for name, kind in kinds.items()}
        name = min(sorted(order), key=lambda each: (order[each], self.draw.random()))
        self.used[kinds[name]] += 1
        return name

    def holds(self, name: str) -> bool:
        return PARAMETERS.get(name, name.removeprefix("toy_")) in self.held

    def use(self, visit: Visit) -> None:
        """Changes two widgets of the page, and clicks in a picture."""
        used = {"with_pair", "source"}
        for _ in range(2):
            used.add(key := self.pick(visit.widgets.keys() - used))
            widget = visit.widgets[key]
            widget.set_value(self.wish(widget))
            if key.startswith("typed"):
                next(button for button in visit.app.button if button.label == "Run").click()
        # Another text lets go of what was clicked in the picture of the last.
        if not any(key.startswith(("typed", "example", "chip", "models")) for key in used):
            self.click(visit)
        visit.run()
        self.held |= visit.address.keys()

    def wish(self, widget: Any) -> Any:
        """Something that a person may choose or type."""
        draw, key = self.draw, str(widget.key)
        if widget.type == "toggle":
            return not widget.value
        if key == "typed_claim":
            return CLAIMS[self.used[key] % len(CLAIMS)]
        if key == "way" and self.page == "matters":
            return draw.choice([each for each in FAST[:5] if each != widget.value])
        if widget.type == "multiselect":
            return draw.sample(MODELS[self.page], draw.randint(1, 2))
        if widget.type in ("number_input", "slider"):
            # What is bounded in words alone has no bounds of its own.
            values = [round((widget.min or 0) + step * widget.step, 2) for step in range(12)]
            return type(widget.value)(
                draw.choice([each for each in values if each <= (widget.max or 1) and each != widget.value])
            )
        if widget.type in ("text_area", "text_input"):
            return TEXTS[(self.used[key] + len(key)) % len(TEXTS)] or TEXTS[0 if key == "typed_pair" else 2]
        if key == "model":
            return draw.choice([each for each in MODELS.get(self.page, MODELS["encode"]) if each != widget.value])
        if key in ("query", "key"):
            return draw.randrange(len(widget.options))
        if key in OFFERED:
            return OFFERED[key][self.used[key] % len(OFFERED[key])]
        return draw.choice([each for each in widget.options if each != widget.value])

    def edits(self, attention: AttentionMap) -> Edits:
        """Something that a person may change in a map."""
        draw, kind = self.draw, attention.kind
        layer, head = draw.randrange(attention.n_layers), draw.randrange(attention.n_heads)
        hidden = WordHidden(kind, draw.randrange(1, len(attention.keys)))
        weight = WeightSet(kind, layer, head, len(attention.queries) - 1, 0, 0.25)
        off, even = HeadSet(kind, layer, head), HeadSet(kind, layer, head, "uniform")
        return Edits(draw.choice([(off,), (hidden, weight), (even, hidden)]))

    def click(self, visit: Visit) -> None:
        """Does to the session what a click in a picture of the page does."""
        draw, state = self.draw, visit.app.session_state
        traces = [each.trace for each in visit.actual if hasattr(each, "trace")]
        clicks = {"encode": {"cell", "view", "pair", "edits", "editing"},
                  "translate": {"cell1", "all1", "begins1", "candidate1", "hero", "alternatives", "edits1"},
                  "heads": set[str](), "matters": {"taken"},
                  "answer": {"cell1", "all1", "asked1", "edits1"}, "summarize": {"all", "edits"},
                  "write": {"cell", "view", "edits", "editing", "written"},
                  "compute": {"at", "numbers", "own"},
                  "compute a head": {"at", "pair"}, "train": set[str]()}[self.page]  # fmt: skip
        there = {name for name in clicks if name in state or not name.startswith("all")}
        if not there or (self.page in ("encode", "translate", "answer", "write") and not traces):
            return
        name = self.pick(there)
        if name.startswith("cell"):
            attention, slot = traces[0].maps[-1], name.removeprefix("cell")
            for name, tokens in ((f"query{slot}", attention.queries), (f"key{slot}", attention.keys)):
                visit.app.query_params.pop(name, None)
                state[name] = draw.randrange(len(tokens))
        elif name.startswith("edits"):
            state[name] = self.edits(draw.choice(traces[0].maps)).text
        elif name == "editing":
            state[name] = not state.get(name)
        elif name == "pair":
            state["pair"] = state["typed_pair"] = draw.choice([text for text in TEXTS if text])
        elif name.startswith("all"):
            state[name] = not state[name]
        elif name == "hero":
            state[name] = len(traces)
        elif name == "alternatives":
            state[name] = "" if state.get(name) else "open"
        elif name == "taken":
            state[name] = ".".join(map(str, sorted(draw.sample(range(6), 2))))
        elif name == "view":
            state[name] = draw.choice((*VIEWS, "BertViz"))
        elif name == "written":
            written = visit.actual[0].continuation
            taken = draw.choice(written.next_tokens(len(written.pieces) - 1)).piece
            state[name] = " ".join((*written.written, taken))
            # As of a word that is taken while heads are off.
            state["held"] = draw.randint(0, len(written.written) + 1)
        elif name == "at":
            state[name] = f"{draw.randrange(5)},0,0"
        elif name in ("asked1", "candidate1"):
            state[name] = draw.randint(1, 2)
        elif name == "begins1" and (pieces := visit.actual[0].draft.pieces):
            step = draw.randrange(len(pieces))
            state[name] = " ".join((*pieces[:step], visit.actual[0].draft.steps[step].alternatives[-1][0]))
        elif name in ("numbers", "own"):
            n_tokens, dim = state["numbers"]["x"].shape
            state["numbers"] = state["edited"] = random_numbers(n_tokens, dim, draw.randrange(99))
            state["edition"] += 1
            ticked = random_numbers(n_tokens, n_tokens, draw.randrange(99))["x"] > 0
            state["mask"], state["own"] = "own", mask_text(ticked)


def forget_traces() -> None:
    """Another machine computes for itself."""
    models.traces_kept().clear()


@pytest.mark.gate
@pytest.mark.parametrize("page", list(HELD))
@pytest.mark.usefixtures("unchecked")
def test_an_address_opens_the_same_trace_and_the_same_view(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = page.split()[0]
    visit, person, wanted = Visit(monkeypatch, file, BEGUN.get(page)), Person(page), set(HELD[page].split())
    for state in range(5 * STATES):
        if state >= STATES and person.held >= wanted:
            break
        for _ in range(2):
            person.use(visit)
        forget_traces()
        other = Visit(monkeypatch, file, visit.address)
        assert other.hashes == visit.hashes
        assert not differences(visit, other)
        assert other.address == visit.address
        assert visit.link.items() >= visit.address.items()
    assert person.held >= wanted


def test_a_browser_is_told_the_address_of_a_visit_once() -> None:
    """A page is drawn later than its address changes: told again, an address would undo what was done meanwhile."""
    app = open_page("compute", seed="7")
    assert app.session_state.standing == "seed=7"
    assert app.run().session_state.standing is None


@pytest.mark.parametrize(("page", "refused"), [("home", "trace_file_refused"), ("lessons", "lesson-file_refused")])
def test_what_was_wrong_with_a_file_is_not_said_at_the_next_visit(page: str, refused: str) -> None:
    app = open_page(page)
    app.session_state[refused] = "This file is damaged."
    assert app.run().error
    assert not open_page(page, {"page": "write", "address": {}, refused: "This file is damaged."}).error


def test_a_page_that_is_left_draws_no_part_of_itself_again() -> None:
    app = open_page("compute")
    assert app._fragment_storage.registration_sequence()
    app.session_state.going = Going("encode", "")
    assert not app.run().title
    assert not app._fragment_storage.ids_registered_after(0)


@pytest.mark.gate
def test_a_text_as_long_as_an_address_holds_travels_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    visit = Visit(monkeypatch, "encode")
    words = " ".join(TEXTS).split()
    text = " ".join(random.Random(7).choice(words) for _ in range(LINK_CHARACTERS))[:LINK_CHARACTERS]
    visit.app.text_area(key="typed").set_value(text)
    visit.app.button[0].click()
    visit.run()
    assert len(visit.address["text"]) < LINK_CHARACTERS
    other = Visit(monkeypatch, "encode", visit.address)
    assert other.app.session_state["text"] == text
    assert other.hashes == visit.hashes
    assert not differences(visit, other)
