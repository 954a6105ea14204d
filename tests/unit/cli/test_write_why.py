"""`attnviz parts`, `lens` and `patch`: what they print, and the files that they write."""

import json

import pytest

from attnviz.cli import main
from tests import tiny

TEXT, OTHER = "The capital of France is", "The capital of Italy is"


@pytest.fixture(scope="module")
def tiny_decoder(tmp_path_factory) -> str:
    """Of two layers of six heads: what a file holds does not depend on how many there are."""
    return tiny.save_writer(tmp_path_factory.mktemp("decoder"), "llama")


@pytest.mark.gate
def test_parts_prints_the_sum_and_what_is_strongest(capsys):
    assert main(["parts", "smollm2", TEXT, "--word", "Paris", "--rather-than", "London", "--most", "3"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("= 4.13, the logit of “Paris” less that of “London”")
    assert len(lines) == 3


@pytest.mark.gate
def test_lens_ends_with_the_next_word(capsys):
    assert main(["lens", "smollm2", TEXT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 31
    assert lines[-1].startswith("      L29  ' Paris' 77")


@pytest.mark.parametrize(
    ("name", "to", "begins"),
    tiny.first_now([
        ("parts", "svg", b"<?xml"), ("lens", "png", b"\x89PNG"), ("patch", "pdf", b"%PDF"),
        ("patch", "html", b"<!doctype html>"),
        ("parts", "csv", b"\xef\xbb\xbfpart,layer,head"), ("lens", "csv", b"\xef\xbb\xbflayers,position,token"),
        ("parts", "json", b'{"model"'), ("lens", "json", b'{"model"'), ("patch", "json", b'{"model"'),
    ], 3),
)  # fmt: skip
def test_each_is_written_to_a_file(name, to, begins, tiny_decoder, tmp_path):
    path, more = (
        tmp_path / f"x.{to}",
        ["the dog sat on", "--word", "mat", "--rather-than", "dog", "--what", "mlps", "--estimate"] if name == "patch" else [],
    )
    assert main([name, tiny_decoder, "the cat sat on", *more, "-o", str(path)]) == 0
    assert path.read_bytes().startswith(begins)
    if to == "json":
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        assert len(rows) == {"parts": 1 + 2 * 7, "lens": 3 * 4, "patch": 2}[name]


def test_a_full_disk_is_said_of_the_file(tiny_decoder, tmp_path, capsys):
    (path := tmp_path / "x.csv").symlink_to("/dev/full")
    texts = ["the cat sat on", "the dog sat on", "--word", "mat", "--rather-than", "dog", "--what", "mlps"]
    for option in ("-o", "--together"):
        assert main(["patch", tiny_decoder, *texts, option, str(path)]) == 1
        assert f"attnviz: {path} cannot be read or written (No space left on device)" in capsys.readouterr().err


@pytest.mark.gate
def test_patches_are_printed_with_their_estimate(capsys):
    words = ["--word", "Paris", "--rather-than", "Rome"]
    assert main(["patch", "smollm2", TEXT, OTHER, *words, "--what", "mlps", "--most", "2"]) == 0
    title, correlation, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("smollm2: Paris − Rome with an MLP of the other text; ")
    assert correlation.startswith("correlation with the estimate: ")
    assert len(lines) == 2


def test_parts_that_are_set_together_are_a_table(tiny_decoder, tmp_path, capsys):
    path = tmp_path / "curve.csv"
    words = ["--word", "mat", "--rather-than", "dog", "--what", "mlps", "--together", str(path)]
    assert main(["patch", tiny_decoder, "the cat sat on", "the dog sat on", *words]) == 0
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("parts,best,draw_1,draw_2,")
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2"]
    assert "of 2 MLPs" in capsys.readouterr().err


def test_what_cannot_be_is_one_line(capsys, tmp_path):
    assert main(["patch", "smollm2", TEXT, "Italy"]) == 1
    assert "as many tokens" in capsys.readouterr().err
    assert main(["parts", "minilm", TEXT]) == 1
    assert "choose a decoder" in capsys.readouterr().err
    assert main(["parts", "smollm2", TEXT, "-o", str(tmp_path / "x.doc")]) == 1
    assert "choose svg, png, pdf, html, csv or json" in capsys.readouterr().err
