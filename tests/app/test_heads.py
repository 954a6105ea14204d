"""A survey's folder on the page Heads: it shows the survey's numbers, its address holds it, and no visitor reads the disk."""

import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.measures import measure, merge
from attnviz.cli import main
from attnviz.survey.corpus_survey import STATE, State, save
from attnviz.ui import heads
from attnviz.ui import heads as page
from attnviz.ui.background import corpus_results
from tests.factories import make_map, numbered
from tests.tiny import save_writer
from tests.visits import open_page, pictures, said

MAPS = [make_map(numbered(size)) for size in (5, 7)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    statistics = merge(*(measure(each, "a text") for each in MAPS))
    save(tmp_path / "survey", State("tiny-model", "encoder", "abc", ("1/1",), 1, statistics))
    return tmp_path / "survey"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    bodies: dict[str, str] = {}
    monkeypatch.setattr(page, "_survey_markup", lambda key, body, on_pick=None: bodies.update({key: body}))
    return bodies


def test_an_open_survey_is_of_its_own_model(folder):
    app = open_page("heads", survey=str(folder), model="answer-en")
    assert not [each for each in app.selectbox if each.label == "Model"]
    assert not app.error


def previous(layer: int, head: int) -> float:
    """Average what every token gives to the one before it, in plain loops."""
    return float(np.mean([each.weights(layer, head)[row, row - 1] for each in MAPS for row in range(1, len(each.queries))]))


def test_a_survey_shows_its_numbers_and_a_fresh_load_shows_them_again(folder: Path, drawn: dict[str, str]) -> None:
    app = open_page("heads")
    app.text_input(key="survey").set_value(str(folder)).run()
    assert not app.error
    for layer, head in np.ndindex(2, 3):
        cell = drawn["measured"].split(f'data-pick="{layer}.{head}"')[1].split("</button>")[0]
        assert f">{100 * previous(layer, head):.1f}\xa0%<" in cell
    app.selectbox(key="measure").set_value("entropy").run()
    app.number_input(key="layer").set_value(1).run()
    first = dict(drawn)
    assert "bits" in first["measured"]
    drawn.clear()
    again = open_page("heads", **app.query_params)
    assert drawn == first
    assert again.query_params == app.query_params


@pytest.mark.parametrize("allowed", ["0", ""], ids=["forbidden", "public"])
def test_nobody_reads_the_disk_of_a_public_server(folder: Path, drawn: dict[str, str], monkeypatch, allowed: str) -> None:
    if allowed:
        monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", allowed)
    else:
        monkeypatch.delenv("ATTNVIZ_ALLOW_FOLDERS")
    monkeypatch.setattr(page, "opened", lambda folder: pytest.fail("read"))
    for path in (str(folder), "/etc", str(folder / "none")):
        app = open_page("heads", survey=path)
        assert [each.value for each in app.error] == [
            "Surveys are not opened on this server: start attnviz on your own machine, where the folder is."
        ]
        assert not [each for each in app.text_input if each.key == "survey"]
    assert not drawn


def test_a_bad_folder_gets_one_sentence(folder: Path, drawn: dict[str, str]) -> None:
    state = (folder / STATE).read_bytes()
    arrays = dict(np.load(folder / STATE))
    np.savez(narrow := io.BytesIO(), **arrays | {"sums": arrays["sums"][:, :, :2]})
    wrong = {"cut": state[:200], "other": b"no survey", "narrow": narrow.getvalue(), "changed": state[:-300] + bytes(300)}
    for name, written in wrong.items():
        (folder / STATE).write_bytes(written)
        assert "survey the corpus again" in refusal(folder), name
    (folder / STATE).unlink()
    assert "holds no survey" in refusal(folder)
    assert "There is no folder" in refusal(folder / "none")
    assert "There is no folder" in refusal(Path("a\0b")) or "cannot be read" in refusal(Path("a\0b"))
    assert "cannot be read" in refusal(Path("x" * 300)) or "There is no folder" in refusal(Path("x" * 300))
    assert not drawn


def refusal(folder: Path) -> str:
    with pytest.raises(page.CorpusError) as error:
        page.opened(folder)
    assert str(error.value).count(". ") == 0
    return str(error.value)


def labels(app) -> list[str]:
    return [button.label for button in app.get("download_button")]


@pytest.mark.parametrize("address", [{}, {"find": "obj -> head"}])
def test_all_heads_can_be_downloaded_as_drawing_and_numbers(address):
    assert labels(open_page("heads", {"keep": True}, **address)) == ["SVG", "PNG", "PDF", "CSV"]


def test_a_survey_can_be_downloaded_as_drawing_and_numbers(folder):
    assert labels(open_page("heads", {"keep": True}, survey=str(folder))) == ["SVG", "PNG", "PDF", "CSV"]


def test_a_verdict_can_be_downloaded_beside_them(monkeypatch):
    report = SimpleNamespace(result=SimpleNamespace())
    for module in (heads, corpus_results):
        monkeypatch.setattr(module, "claim_verdict", lambda *_: report)
    monkeypatch.setattr(heads, "show_verdict", lambda *_, **__: None)
    app = open_page("heads", {"keep": True}, claim="obj -> head")
    assert labels(app) == ["SVG", "PNG", "PDF", "CSV"] * 2


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [("objj -> head", "is no relation"), ("obj -> head", "their syntax"), ("L9·H0: obj -> head", "no layer 9")],
)
def test_a_claim_that_cannot_be_tested_says_why(claim: str, wrong: str) -> None:
    app = open_page("heads", claim=claim, sentences="The cat sat.")
    assert [wrong in each.value for each in app.error] == [True]


def test_a_language_model_s_heads_are_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.models.catalog._listed", lambda name: pytest.fail(f"{name} is loaded"))
    app = open_page("heads", model="smollm2")
    assert not app.error
    (grid,) = (each for each in pictures(app) if 'data-pick="29.8"' in each)
    assert grid.count("data-pick") == 30 * 9
    assert shipped_atlas("smollm2").shape == (30, 9)
    # An induction head looks at what followed the same word before; one sentence is none for a school's projector.
    app = open_page("heads", model="smollm2", layer="18", head="6")
    (links,) = (each for each in pictures(app) if 'class="cases"' in each and "<em>96" in each)
    assert "BP shut <mark>its</mark> 460,000 barrels per day refinery and Marathon <b>shut</b> its 72,000" in links
    assert links.count("data-pick") == len(shipped_atlas("smollm2").links["18.6"]) - 1


@pytest.fixture
def tiny_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    return save_writer(tmp_path, "llama")


def test_roles_of_a_decoder_s_heads_are_shown_with_their_verdict_and_stand_in_the_address(tiny_writer, monkeypatch):
    app = open_page("heads", model=tiny_writer, roles="true", role="sink", layer="1", head="3")
    assert [each.value for each in app.error] == []
    assert "Does not hold: L1·H3 rests on the first token" in said(app)
    assert "Of 12 heads: previous token 0, duplicate token 0, induction 0, name mover 0, sink 0." in said(app)
    (grid,) = (each for each in pictures(app) if "measured" in each)
    assert grid.count("data-pick") == 12
    assert {"roles": "true", "role": "sink", "layer": "1", "head": "3"}.items() <= app.session_state.address.items()


def test_no_roles_are_offered_of_an_encoder():
    assert "Known roles of heads" not in [each.label for each in open_page("heads").toggle]


@pytest.mark.gate
def test_the_shell_lists_roles_and_writes_them(tiny_writer, tmp_path, capsys):
    assert main(["roles", tiny_writer, "--most", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 * 3
    assert lines[0] == "Previous token: to beat 30\xa0%"
    assert main(["roles", tiny_writer, "-o", str(tmp_path / "roles.csv")]) == 0
    assert len((tmp_path / "roles.csv").read_text(encoding="utf-8-sig").splitlines()) == 1 + 5 * 12
    assert main(["roles", "minilm"]) == 1
    assert "choose a decoder" in capsys.readouterr().err
