"""`attnviz write`, and what `attnviz show --next` makes of its files."""

import json
import math

import pytest

import attnviz
from attnviz.cli import main

TEXT = "Once upon a time"


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("write") / "story.attn")
    assert (
        main(["write", "smollm2", TEXT, "--tokens", "5", "--temperature", "0.8", "--top-p", "0.9", "--seed", "7", "-o", path])
        == 0
    )
    return path


def test_it_prints_what_is_written_and_saves_what_could_have_been(story, capsys):
    trace = attnviz.open(story)
    assert main(["write", "smollm2", TEXT, "--tokens", "5", "--temperature", "0.8", "--top-p", "0.9", "--seed", "7"]) == 0
    assert capsys.readouterr().out == f"{TEXT}{trace.output}\n"
    assert len(trace.continuation.written) == 5
    assert trace.prompt.text == TEXT + trace.output


def test_json_has_every_token_with_what_could_have_stood_there(capsys):
    assert main(["write", "smollm2", TEXT, "--tokens", "0", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [each["token"] for each in made["tokens"]] == ["Once", "upon", "a", "time"]
    assert made["tokens"][0]["log_p"] is None
    assert made["written"] == ""
    assert made["tokens"][2]["next"][0][0] == " time"
    assert 0 < made["bits_per_byte"] < 8
    for each in made["tokens"]:
        # Ten numbers are rounded to five digits.
        assert each["rest"] == pytest.approx(1 - sum(math.exp(log) for _, log in each["next"]), abs=1e-4)


@pytest.mark.parametrize(
    ("to", "begins"),
    [("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!doctype html>"), ("csv", b"\xef\xbb\xbfposition,token")],
)
def test_show_draws_what_comes_next(story, tmp_path, to, begins):
    path = tmp_path / f"next.{to}"
    assert main(["show", story, "--next", "-o", str(path)]) == 0
    assert path.read_bytes().startswith(begins)
    if to == "csv":
        rows = path.read_text(encoding="utf-8-sig").split("\n")
        assert len([row for row in rows if ",1," in row]) >= 9


def test_a_trace_that_says_nothing_of_it_is_named(tmp_path, capsys):
    path = str(tmp_path / "cat.attn")
    attnviz.save(attnviz.load("minilm").trace("The cat sat."), path)
    assert main(["show", path, "--next"]) == 1
    assert "attnviz write" in capsys.readouterr().err


def test_options_out_of_range_are_one_line(capsys):
    assert main(["write", "smollm2", TEXT, "--temperature", "-1"]) == 1
    assert "temperature is a number from 0 to 100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["write", "smollm2", "a", "--tokens", "1025"], "from 0 to 1,024, not '1025'"),
        (["write", "smollm2", "a", "--seed", "-1"], "from 0 to 2,147,483,647, not '-1'"),
        (["write", "smollm2", "a", "cat"], "unrecognized arguments: cat. Put a text of several words in quotes\n"),
        (["trace", "minilm", "a", "cat"], "in quotes; a second text stands behind --pair\n"),
        (["trace", "minilm", "a", "--pairs=b"], "unrecognized arguments: --pairs=b\n"),
    ],
)
def test_what_is_typed_wrongly_is_refused_with_what_to_type(command, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
