"""Files of prompts: every format, packed or not; and what is wrong with one, in one sentence."""

import gzip
import json
from pathlib import Path

import pytest

from attnviz.core.errors import CorpusError
from attnviz.core.trace import Prompt
from attnviz.text.corpora import corpus
from attnviz.text.data_files import find_format, read_prompts, text_lines


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


SQUAD = {"version": "v2.0", "data": [{"title": "A", "paragraphs": [{"context": "A dog sat.", "qas": [
    {"id": "1", "question": "Who?", "answers": []}, {"id": "2", "question": "What?", "answers": []}]}]}]}  # fmt: skip
WORDS = "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("name", "content", "said", "prompts"),
    [
        ("dev-v2.0.json", json.dumps(SQUAD), "SQuAD", [Prompt("A dog sat.", question=q) for q in ("Who?", "What?")]),
        ("dev.txt", json.dumps(SQUAD, indent=1), "SQuAD", [Prompt("A dog sat.", question=q) for q in ("Who?", "What?")]),
        ("a.txt", '{"text": "A dog."}\n{"sentence": "It sat."}', "JSON object a line", [Prompt("A dog."), Prompt("It sat.")]),
        ("a.csv", 'id,text,label\n1,"A dog, he said",0\n2,It sat.,1', "column “text”",
         [Prompt("A dog, he said"), Prompt("It sat.")]),
        ("a.csv", 'sentence;target\n"A ""dog""\nsat.";Un', "“target”", [Prompt('A "dog"\nsat.', target="Un")]),
        ("a.tsv", 'en\ttranslation\nA dog.\tUn chien.', "column “en”", [Prompt("A dog.", target="Un chien.")]),
        ("a.tsv", '"A dog."\t"Un ""chien"""', "a tab", [Prompt("A dog.", target='Un "chien"')]),
        ("a.tsv", '"Stop!" he said.\tNon', "a tab", [Prompt('"Stop!" he said.', target="Non")]),
        ("a.tsv", "1\tA dog.\tUn chien.\n2\tIt sat.\tAssis.", "a number",
         [Prompt("A dog.", target="Un chien."), Prompt("It sat.", target="Assis.")]),
        ("a.csv", "text\nA dog.", "column “text”", [Prompt("A dog.")]),
        ("a.csv", " \n\ntext\n\nA dog.", "column “text”", [Prompt("A dog.")]),
        ("a.json", '["A dog.", "It sat."]', "list of texts", [Prompt("A dog."), Prompt("It sat.")]),
        ("a.txt", '[\n {"text": "A dog."},\n {"text": "It sat."}\n]', "list of objects", [Prompt("A dog."), Prompt("It sat.")]),
        ("a.txt", "[The dog] sat, and it slept.", "one text a line", [Prompt("[The dog] sat, and it slept.")]),
        ("a.txt", "id, text, and target\nA dog.", "one text a line", [Prompt("id, text, and target"), Prompt("A dog.")]),
    ],
)  # fmt: skip
def test_a_format_is_known_by_what_is_in_it(name, content, said, prompts, tmp_path):
    path = tmp_path / name
    path.write_text(content + "\n", encoding="utf-8")
    assert said in find_format(path).description
    assert list(read_prompts(path)) == prompts


def test_what_is_not_there_is_not_said_to_be_read(tmp_path):
    for path in (tmp_path / "nowhere.txt", tmp_path):
        with pytest.raises(CorpusError, match="cannot be read"):
            find_format(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,500\nA dog.\n", "write one sentence a line, without times"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.500\nA dog.\n", "write one sentence a line, without times"),
        ("a.json", '["A dog.", 3]\n', "one object a line"),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "A dog."}]}\n', "it is a conversation"),
        ("a.json", '[{"text": "A dog."}, {"id": 1}]\n', "Entry 2 of a.json"),
        ("page.txt", "<!DOCTYPE html>\n<html><body>A dog.</body></html>\n", "a page of HTML"),
        ("a.csv", "text,label,Text\nA dog.,0,A cat.\n", "has several columns “text”"),
        ("a.csv", "id,label\n1,0\n", "name the column of the texts “text”"),
        ("a.txt", WORDS, "is CoNLL-U"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_with_the_format_that_is(name, content, words, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=words):
        list(read_prompts(tmp_path / name))


@pytest.mark.parametrize("name", ["a.conllu.txt", "a.conll", "a.txt"])
def test_a_corpus_is_conllu_by_what_is_in_it(name, tmp_path):
    (tmp_path / name).write_text(f"# text = Dogs bark\n{WORDS}\n", encoding="utf-8")
    (sentence,) = corpus(str(tmp_path / name))
    assert [word.relation for word in sentence.words] == ["nsubj", "root"]
    (tmp_path / "a.json").write_text(json.dumps(SQUAD), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"SQuAD's JSON.*one sentence a line is wanted"):
        corpus(str(tmp_path / "a.json"))


def test_lines_come_as_they_stand(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\n two\n", encoding="utf-8")
    assert list(text_lines(tmp_path / "a.txt")) == ["one\n", "\n", " two\n"]


def test_a_line_without_an_end_takes_no_memory():
    with pytest.raises(CorpusError, match="Line 1 of zero has more than"):
        next(text_lines(Path("/dev/zero")))
