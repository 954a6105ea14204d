"""The Summarize page's script without a browser: what it keeps, and what it says when there is nothing to keep."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.summary_selection import Amount, choose, read_passage, selectors
from tests.tiny import FAMILY
from tests.visits import described, open_page

PAGE = "summarize"
TEXT = "Cats sleep all day. Dogs bark at the moon, and nobody knows why. The end."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("bart")
    FAMILY["bart"].save(made)
    return str(made)


def answer(app: AppTest) -> str:
    """The summary in large type."""
    bodies = (each.proto.body for each in app.get("html"))
    (actual,) = (match[1] for body in bodies if (match := re.search(r'<p class="answer"><bdi>(.*?)</bdi>', body, re.S)))
    return actual


def kept_words(app: AppTest) -> str:
    (actual,) = (caption.value for caption in app.caption if caption.value.startswith("**The kept words"))
    return actual.split("**")[2].strip()


def heads(app: AppTest) -> dict[tuple[int, int], float]:
    """What each head gives to the kept words, in percent."""
    (drawn,) = (each for each in described(app) if each["part"] == "shares")
    return {place: 100 * share for place, share in zip(np.ndindex(*drawn["shape"]), drawn["shares"], strict=True)}


def test_every_head_shows_what_it_gives_to_kept_words(app: AppTest) -> None:
    open_page(app, model="minilm", text=TEXT, words_kept="3", way="last")
    trace = attnviz.load("minilm").trace(TEXT)
    kept = {word.strip(".,") for word in kept_words(app).split()}
    typed = [at for at, token in enumerate(trace.encoder.keys) if not token.special]
    words = [at for at in typed if trace.encoder.keys[at].text not in ".,"]
    on = [at for at in words if trace.encoder.keys[at].text in kept]
    assert len(on) == len(kept) == 3
    for (layer, head), percent in heads(app).items():
        weights = trace.encoder.weights(layer, head)[typed]
        assert percent == pytest.approx(100 * weights[:, on].sum() / weights[:, words].sum(), abs=0.06)
    assert len(heads(app)) == 72


def test_what_is_kept_is_what_the_model_chooses(app: AppTest) -> None:
    open_page(app, model="minilm", text=TEXT, words_kept="3", way="last")
    trace = attnviz.load("minilm").trace(TEXT)
    actual = read_passage(TEXT, trace.encoder.keys)
    way = selectors(actual, trace, selects=None, layer=5, head=None)[0]
    kept = choose(actual, way.units, way.sentences, Amount(3))
    assert answer(app) == actual.extract(kept.sentences)
    assert kept_words(app) == actual.words(kept.units)
    assert len(kept_words(app).split()) == 3


def test_every_control_changes_what_is_kept(app: AppTest) -> None:
    open_page(app, model="minilm", text=TEXT, way="first")
    assert any("looks at no attention" in each.proto.body for each in app.get("html"))
    assert answer(app) == "Cats sleep all day."
    app.slider(key="words_kept").set_value(2).run()
    assert kept_words(app) == "Cats sleep"
    app.segmented_control[0].set_value("Share").run()
    app.slider(key="share_kept").set_value(100).run()
    assert len(kept_words(app).split()) == 15
    app.slider(key="sentences_kept").set_value(2).run()
    assert answer(app) == "Cats sleep all day. Dogs bark at the moon, and nobody knows why."
    app.selectbox(key="way").set_value("rollout").run()
    assert not app.exception
    assert app.query_params["way"] == "rollout"
    assert not [button for button in app.button if button.label.startswith("Explain")]
    app.toggle(key="all_heads").set_value(False).run()
    # The strongest link between different words of the chosen head is the way into Compute.
    attention = attnviz.load("minilm").trace(TEXT).encoder
    weights = attention.weights(5, 0).copy()
    for side in (0, 1):
        np.moveaxis(weights, side, 0)[[token.special for token in attention.keys]] = 0
    np.fill_diagonal(weights, 0)
    query, key = np.unravel_index(weights.argmax(), weights.shape)
    label = f"Explain L5·H0: {attention.queries[query].text} → {attention.keys[key].text}"
    assert label in [button.label for button in app.button]


def test_a_model_that_writes_shows_what_it_wrote(app: AppTest, folder: str) -> None:
    text = "the cat sat on the mat . the dog ran ."
    open_page(app, model=folder, text=text)
    assert not app.error
    message = " ".join(body for each in app.get("html") if "story" in (body := each.proto.body))
    assert "in the text; new is" in message
    assert "trained" not in app.selectbox(key="way").options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "There is nothing to read yet: type a sentence first."),
        ("a\x00b", "NUL byte"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_nothing_is_lost(app: AppTest, text: str, message: str) -> None:
    open_page(app, model="minilm", text=text)
    assert [message in error.value for error in app.error] == [True]
    assert app.text_area(key="typed").value == text


def test_a_text_without_a_word_is_one_sentence(app: AppTest) -> None:
    open_page(app, model="minilm", text="… !!! ?")
    assert ["no word in this text" in info.value for info in app.info] == [True]


@pytest.mark.parametrize("text", ["word", "😀 مرحبا بك. نعم؟ 中文字\r\n<script>alert(1)</script> a&b. End"])
def test_any_text_with_a_word_has_a_summary(app: AppTest, text: str) -> None:
    open_page(app, model="minilm", text=text)
    assert not app.error
    assert kept_words(app)
    assert "<script>" not in answer(app)


@pytest.mark.gate
def test_two_thousand_words_are_cut_and_told(app: AppTest) -> None:
    open_page(app, model="minilm", text="A word or two. " * 500)
    assert ["512 tokens at most" in warning.value for warning in app.warning] == [True]
    assert answer(app) == "A word or two."


def test_an_address_that_makes_no_sense_still_opens(app: AppTest) -> None:
    open_page(
        app, model="minilm", text=TEXT, layer="99", head="x", way="nonsense", word="-4", words_kept="zz", all_heads="false"
    )
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (5, 0)
    assert app.selectbox(key="way").value == "last"
    assert answer(app)


def test_heads_may_show_what_they_move_and_what_is_kept_is_chosen_by_weights_all_the_same(app: AppTest) -> None:
    open_page(app, way="last", layer="2", head="3", all_heads="false")
    by_weights = answer(app), kept_words(app)
    shares = heads(app)
    app.session_state.weighing = "norms"
    app.run()
    assert not app.exception
    assert (answer(app), kept_words(app)) == by_weights
    assert heads(app) != shares
    assert any("This layer changes a token by" in each.value for each in app.markdown)
