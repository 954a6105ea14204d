"""Every claim of the examples of Translate, measured on the translator of ours that they are told of."""

import re

import pytest

import attnviz
from attnviz.analysis.head_view import HeadMatrix, View, head_matrix
from attnviz.analysis.translation_alignment import origin_of, strongest_links
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.ui.prompt_box import Example, examples

EXAMPLES = {example.label: example for example in examples("translate")}
GERMAN = {example.label: example for example in examples("translate-german")}
MEASURED = {"bahdanau-en-fr": EXAMPLES, "bahdanau-en-de": GERMAN}


def alignment(model: AttentionModel, text: str, target: str = "") -> HeadMatrix:
    trace = model.trace(Prompt(text, target=target or None))
    return head_matrix(trace.cross, layer=0, head=0, view=View(words=True))


def origins(matrix: HeadMatrix) -> dict[str, str]:
    """For each target word the source word that it looks at most; of a repeated word, the last."""
    return {matrix.queries[link.query].text: matrix.keys[link.key].text for link in strongest_links(matrix)}


@pytest.mark.parametrize("example", [*EXAMPLES.values(), *GERMAN.values()], ids=lambda example: example.label)
def test_an_example_names_words_of_its_own(example: Example):
    assert example.origin in re.findall(r"\w+", example.text)
    assert not example.has_link
    assert example.notice.endswith(".")
    if example.target:
        assert example.word in re.findall(r"\w+", example.target)


@pytest.mark.parametrize("name", MEASURED)
def test_every_word_comes_from_where_it_is_said_to(name: str):
    model = attnviz.load(name)
    for example in MEASURED[name].values():
        matrix = alignment(model, example.text, example.target)
        link = origin_of(matrix, example.word)
        assert link, example.label
        assert matrix.keys[link.key].text == example.origin


def test_what_the_notices_say_of_french():
    model = attnviz.load("bahdanau-en-fr")
    never = origins(alignment(model, EXAMPLES["ne … jamais"].text))
    assert never["n'"] == never["jamais"] == "never"
    red = EXAMPLES["Adjective after noun"].text
    assert origins(alignment(model, red)).items() >= {"voiture": "car", "rouge": "red"}.items()
    big = [token.text for token in alignment(model, red.replace("red", "big")).queries]
    assert big.index("grande") < big.index("voiture")
    pas = alignment(model, EXAMPLES["ne … pas"].text)
    words = [token.text for token in pas.queries]
    assert words.index("ne") < words.index("mange") < words.index("pas")
    assert origins(pas)["ne"] == origins(pas)["pas"] == "not"
    nobody = origins(alignment(model, EXAMPLES["One word becomes two"].text))
    assert nobody["Personne"] == nobody["ne"] == "Nobody"
    book = origins(alignment(model, EXAMPLES["Reordering"].text))
    assert (book["lui"], book["ai"], book["donné"]) == ("him", "gave", "gave")


def test_what_the_notices_say_of_german():
    model = attnviz.load("bahdanau-en-de")
    pictures = {label: alignment(model, example.text) for label, example in GERMAN.items()}
    words = {label: [token.text for token in matrix.queries if not token.special] for label, matrix in pictures.items()}
    assert words["The verb at the end"][-3:] == ["gekauft", "hat", "."]
    lengths = {link.query: abs(link.query - link.key) for link in strongest_links(pictures["The verb at the end"])}
    assert words["The verb at the end"][max(lengths, key=lambda place: lengths[place])] == "gekauft"
    apart = words["Two verbs apart"]
    assert (apart.index("habe"), apart[-2:]) == (1, ["gesehen", "."])
    parts = words["A verb in two parts"]
    assert (parts[1], parts[-2:]) == ("steht", ["auf", "."])
    second = words["The verb comes second"]
    assert second.index("gingen") + 1 == second.index("wir")
    assert origins(pictures["The verb comes second"]).items() >= {"gingen": "went", "wir": "we"}.items()
    because = words["Because …"]
    assert because.index("weil") < because.index("krank") < because.index("war") == len(because) - 2
