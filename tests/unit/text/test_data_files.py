"""Files of prompts: every format, packed or not; and what is wrong with one, in one sentence."""

import gzip
from pathlib import Path

import pytest

from attnviz.core.errors import CorpusError
from attnviz.core.trace import Prompt
from attnviz.text.data_files import read_prompts, text_lines


@pytest.mark.parametrize(
    ("name", "content", "prompt"),
    [
        ("a.tsv", "A dog.\tUn chien.\tmore", Prompt("A dog.", target="Un chien.")),
        ("a.txt", "A\tdog.", Prompt("A\tdog.")),
        ("a.jsonl", '{"text": "A dog.", "target": "Un chien."}', Prompt("A dog.", target="Un chien.")),
        ("a.jsonl", '{"context": "A dog sat.", "question": "Who?"}', Prompt("A dog sat.", question="Who?")),
        ("a.dev.jsonl", '{"sentences": ["A dog.", "It sat."]}', Prompt("A dog. It sat.")),
    ],
)
def test_files_of_every_kind_are_read_packed_or_not(name, content, prompt, tmp_path):
    (tmp_path / name).write_text(f"\n{content}\n\n", encoding="utf-8")
    with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8-sig") as file:
        file.write(f"{content}\n")
    assert list(read_prompts(tmp_path / name)) == list(read_prompts(tmp_path / f"{name}.gz")) == [prompt]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", b"A dog.\tUn chien.\nno tab here\n", "Line 2 of a.tsv"),
        ("a.jsonl", b"{broken", "Line 1 of a.jsonl"),
        ("a.jsonl", b'{"question": "Who?"}', "Line 1 of a.jsonl"),
        ("a.jsonl", b"[1, 2]", "Line 1 of a.jsonl"),
        ("a.jsonl", b"[" * 100_000, "Line 1 of a.jsonl"),
        ("a.txt", b"fine\n\xff\xfe\x00", "no text in UTF-8"),
        ("a.txt.gz", b"this is not packed", "cannot be read"),
        ("a.txt.gz", gzip.compress(b"cut short, and so on", mtime=0)[:-12], "cannot be read"),
        ("nowhere.txt", None, "cannot be read"),
    ],
)
def test_a_bad_file_is_one_sentence(name, content, words, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=words):
        list(read_prompts(tmp_path / name))


def test_lines_come_as_they_stand(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\n two\n", encoding="utf-8")
    assert list(text_lines(tmp_path / "a.txt")) == ["one\n", "\n", " two\n"]


def test_a_line_without_an_end_takes_no_memory():
    with pytest.raises(CorpusError, match="Line 1 of zero has more than"):
        next(text_lines(Path("/dev/zero")))
