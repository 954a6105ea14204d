"""Whatever an address says, the page works: what cannot be read is what stands there unasked, or one sentence."""

import itertools

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.core.trace import Prompt
from attnviz.pages_and_addresses import MOST_SEED, PARAMETERS, Choice, Names, Number, Text
from tests import visits
from tests.tiny import first_now

# Half of a character, packed.
SURROGATE = "~z~c1RITixReLugQaE4sUQPAA"
TEXTS = ("\0", SURROGATE, "~x", "x" * 256)
BAD = (*TEXTS, "", "inf", "-inf", "nan", "-1", "1e999", "9" * 4301, "٧", "None", "~z~", "[]", "1,2")
# What is computed follows from these: they have tests of their own.
MODELS = {"model", "models", "second"}
SAID = {
    "text",
    "pair",
    "target",
    "question",
    "passage",
    "tokens",
    "begins",
    "written",
    "begins1",
    "reference",
    "toy_input_reverse",
    "claim",
    "sentences",
    "other",
    "about",
    "seen",
    "edits",
    *(f"edits{slot}" for slot in range(1, 5)),
}
BEGUN = {
    "translate": {"models": "transformer-en-fr"},
    "compute": {"source": "model"},
    "encode": {"model": "transformer-en-fr"},
    # Some texts take a pass of the model for every word, or for every head.
    "matters": {"text": "Ada wrote it.", "pair": "Who wrote it?"},
    "whatif": {"change": "head", "text": "It ran."},
}
each_page = pytest.mark.parametrize("page", [page for page, actual in PARAMETERS.items() if actual])
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(autouse=True)
def _few_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each method computes changes nothing of what an address may say."""
    monkeypatch.setattr("attnviz.ui.matters.FAST", ("attention", "random"))
    monkeypatch.setattr("attnviz.ui.matters.SLOW", ())


def open_page(page: str, address: dict[str, str]) -> AppTest:
    """A page at an address, which it must survive: at most one sentence says what is wrong."""
    app = visits.open_page(page, **BEGUN.get(page, {}) | address)
    assert len(app.error) <= 1
    return app


@each_page
# The first turn gives each setting of a page one of the values, the others give it the rest.
@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.gate) for turn in range(6, len(BAD), 6))])
def test_no_value_of_a_setting_breaks_its_page(page: str, turn: int) -> None:
    # A lesson that there is not is named in one sentence, as a model is.
    names = [name for name in PARAMETERS[page] if name not in MODELS | SAID | {"source", "survey", "change", "lesson"}]
    app = open_page(page, {name: BAD[(place + turn) % len(BAD)] for place, name in enumerate(names)})
    assert not app.error


@each_page
@pytest.mark.parametrize("bad", first_now(TEXTS), ids=ascii)
def test_no_name_and_no_text_breaks_a_page(page: str, bad: str) -> None:
    for given in (MODELS, SAID):
        if names := given & PARAMETERS[page].keys():
            open_page(page, dict.fromkeys(names, bad))


@each_page
def test_every_parameter_reads_only_what_it_may_be(page: str) -> None:
    for kind, bad in itertools.product(PARAMETERS[page].values(), BAD):
        if isinstance(kind, Names):
            assert all(name.encode() for name in kind.read_all([bad]) or ())
        elif isinstance(kind, Number):
            actual = kind.read(bad)
            assert actual is None or kind.least <= actual <= kind.most
        elif isinstance(kind, Choice):
            assert kind.read(bad) in (None, *kind.options)
        else:
            str(kind.read(bad)).encode()


@pytest.mark.parametrize(("written", "shown"), [("-1", "0"), ("007", "7"), ("99999999", "11"), ("+3", "3"), ("5", "5")])
def test_a_number_stands_in_the_address_as_it_is_read(written: str, shown: str) -> None:
    app = open_page("encode", {"model": "minilm", "text": "The cat sat.", "layer": "1", "head": written})
    assert app.query_params["head"] == shown


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("whatif", {"layer": "99", "head": "99"}),
        ("whatif", {"layer": "abc", "head": "1"}),
        ("encode", {"scale": "abc", "query": "99", "key": "99", "queries": "-1", "present": "maybe"}),
        ("encode", {"key": "2", "keys": "3", "queries": "1"}),
        ("home", {"query": "99", "key": "2", "keys": "3"}),
        ("answer", {"query1": "999", "key1": "999", "asked2": "1", "query2": "1", "look2": "kind_cells"}),
        ("summarize", {"query": "999", "key": "999", "word": "1"}),
        ("translate", {"query1": "999", "key1": "999", "query2": "999", "candidate1": "3"}),
    ],
)
def test_what_is_not_drawn_leaves_the_address(page: str, address: dict[str, str]) -> None:
    assert not dict(visits.open_page(page, **address).query_params)


@pytest.mark.parametrize(
    ("page", "address", "shown"),
    [
        ("encode", {"query": "2", "key": "3", "queries": "1.99.4", "keys": "99"}, {"query": "2", "key": "3", "queries": "1.4"}),
        ("encode", {"query": "2", "key": "99", "keys": "1"}, {"query": "2"}),
        (
            "translate",
            {"models": "transformer-en-fr", "query1": "2", "key1": "99"},
            {"models": "transformer-en-fr", "query1": "2"},
        ),
    ],
)
def test_what_is_drawn_in_part_stays_in_part(page: str, address: dict[str, str], shown: dict[str, str]) -> None:
    app = visits.open_page(page, **address)
    assert dict(app.query_params) == shown
    assert app.session_state.shown_picture == visits.open_page(page, **shown).session_state.shown_picture


def test_a_forged_number_is_bounded_at_the_server() -> None:
    app = open_page("compute", {"source": "worked"})
    # Only a browser checks the range.
    app.number_input(key="seed").set_value(10**9)
    app.run()
    assert not app.exception
    assert app.number_input(key="seed").value <= MOST_SEED


LIMIT = 2_003
LONG = "word " * (LIMIT // 5) + "word"
# What brings every box of a page.
BOXES = {
    "encode": {"model": "transformer-en-fr", "text": "It ran.", "pair": "He sat.", "attention": "cross"},
    "translate": {"models": "transformer-en-fr", "text": "It ran."},
    "whatif": {"model": "transformer-en-fr", "text": "It ran.", "other": "He sat."},
    "summarize": {"text": "It ran. He sat."},
    "matters": {"model": "transformer-en-fr", "text": "It ran."},
    "heads": {"claim": "any -> next"},
    "compute": {"source": "model"},
}


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the texts are that anything was made of."""
    monkeypatch.setenv("ATTNVIZ_MAX_CHARACTERS", str(LIMIT))
    made: list[int] = []
    check = Prompt.__post_init__

    def noted(self: Prompt) -> None:
        made.extend(len(text) for text in (self.text, self.pair, self.question, self.target) if text)
        check(self)

    monkeypatch.setattr(Prompt, "__post_init__", noted)
    return made


def refusals(app: AppTest) -> list[str]:
    return [each.value for each in app.error if " characters" in each.value]


@pytest.mark.parametrize("page", first_now(sorted(PARAMETERS, key=lambda page: page == "heads"), 4))
def test_every_box_refuses_a_text_that_is_too_long(page: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    app = visits.open_page(page, **BOXES.get(page, {}))
    for key in [box.key for box in (*app.text_input, *app.text_area)]:
        app = visits.open_page(page, **BOXES.get(page, {}))
        box = next(box for box in (*app.text_input, *app.text_area) if box.key == key)
        box.set_value(LONG)
        for run in (each for each in app.button if each.key == "run-prompt"):
            run.click()
        app.run()
        assert not app.exception
        assert refusals(app) or box.max_chars, key
    assert max(lengths, default=0) <= LIMIT


UNBOUNDED = [(page, name) for page, own in PARAMETERS.items() for name, kind in own.items() if kind == Text()]


@pytest.mark.parametrize(("page", "name"), first_now(UNBOUNDED, 7))
def test_every_parameter_refuses_a_text_that_is_too_long(page: str, name: str, lengths: list[int]) -> None:
    model = {"pair": "minilm", "passage": "answer-en", "question": "answer-en"}.get(name)
    heads_off = {"change": "head", "model": model} if page == "whatif" and model else {}
    app = visits.open_page(page, **BOXES.get(page, {}) | {name: LONG} | heads_off)
    assert refusals(app)
    assert max(lengths, default=0) <= LIMIT
