"""CoNLL-U is read as it is written, and what is wrong with it is said with the number of its line."""

import gzip

import pytest

from attnviz.core.errors import CorpusError
from attnviz.text.corpora import corpus, own_sentences
from attnviz.text.data_files import read_conllu
from attnviz.text.winogender import read_winogender

GOOD = """# sent_id = one
# text = I don't see it.
1\tI\tI\tPRON\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_
4\tsee\tsee\tVERB\t_\t_\t0\troot\t_\t_
4.1\tseen\tsee\tVERB\t_\t_\t_\t_\t_\t_
5\tit\tit\tPRON\t_\t_\t4\tobj\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_
"""


def test_words_know_where_they_stand_and_which_word_is_their_head():
    (sentence,) = read_conllu(GOOD)
    assert sentence.name == "one"
    assert [sentence.text[word.start : word.end] for word in sentence.words] == ["I", "do", "n't", "see", "it", "."]
    assert [(word.relation, word.head) for word in sentence.words][:4] == [
        ("nsubj", 3),
        ("aux", 3),
        ("advmod", 3),
        ("root", None),
    ]


def test_a_contraction_that_is_written_otherwise_gives_its_parts_one_place():
    text = GOOD.replace("don't see", "cannae see").replace("2-3\tdon't", "2-3\tcannae")
    (sentence,) = read_conllu(text)
    assert [sentence.text[word.start : word.end] for word in sentence.words] == ["I", "cannae", "cannae", "see", "it", "."]


def test_without_its_text_a_sentence_is_spelt_from_its_words():
    lines = [line for line in GOOD.splitlines() if not line.startswith("# text")]
    (sentence,) = read_conllu("\n".join(lines))
    assert sentence.text == "I don't see it."


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("1\tI\tI\tPRON", "line 1: a word has 10 columns"),
        ("2\tI\tI\tPRON\t_\t_\t0\troot\t_\t_", "line 1: this is word 1"),
        ("1\t \tI\tPRON\t_\t_\t0\troot\t_\t_", "line 1: the word itself"),
        ("1\tI\tI\tPRON\t_\t_\tx\troot\t_\t_", "line 1: a head"),
        ("1\tI\tI\tPRON\t_\t_\t7\troot\t_\t_", "line 1: the head of this word is word 7"),
        ("1\tI\tI\tPRON\t_\t_\t1\troot\t_\t_", "line 1: the head of this word is itself"),
        ("1\tI\tI\tPRON\t_\t_\t0\troots\t_\t_", "line 1: 'roots' is no relation"),
        ("1\tI\tI\tPROMISE\t_\t_\t0\troot\t_\t_", "line 1: 'PROMISE' is no part of speech"),
        ("2-1\tI\tI\tPRON\t_\t_\t0\troot\t_\t_", "line 1: 2-1 is no range"),
        ("1\ta\ta\tX\t_\t_\t2\tdep\t_\t_\n2\tb\tb\tX\t_\t_\t1\tdep\t_\t_", "line 1: this sentence has no root"),
        ("# text = nothing", "line 1: a sentence without a word"),
        ("", "holds no sentence"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line, wrong):
    with pytest.raises(CorpusError) as raised:
        read_conllu(line, "dev.conllu")
    assert wrong in str(raised.value)
    assert str(raised.value).startswith("dev.conllu")


@pytest.mark.parametrize("space", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_only_a_line_feed_ends_a_line(space, end, name, tmp_path):
    """Each column that is somebody's text holds a sign that Python's splitlines takes for a line's end."""
    text = f"# text = Stop{space}now{end}1\tStop{space}now\tst{space}op\tVERB\t_\t_\t0\troot\t_\tSpacesAfter={space}\\n{end}"
    second = text.partition(end)[2]
    path = tmp_path / name
    path.write_bytes((gzip.compress if name.endswith("gz") else bytes)(f"{text}{end}{second}{end}".encode()))
    for sentence in corpus(str(path)):
        assert [(word.text, word.start, word.end) for word in sentence.words] == [(f"Stop{space}now", 0, 8)]
        assert sentence.text[:8] == f"Stop{space}now"
    assert len(corpus(str(path))) == 2


@pytest.mark.parametrize("space", ["\u2028", "\u0085", "\x0c", "\r"])
def test_only_a_line_feed_ends_a_sentence_of_ones_own(space, tmp_path):
    lines = [f"It rains,{space}and it pours.", "It stops."]
    (tmp_path / "own.txt").write_bytes("\n".join(lines).encode())
    assert [each.text for each in corpus(str(tmp_path / "own.txt"))] == lines
    assert [each.text for each in own_sentences("\r\n".join(lines))] == lines
    sentence = f"clerk.visitor.1.female.txt\tThe clerk told{space} the visitor that she could pay."
    assert len(read_winogender(f"{sentence}\n{sentence}")) == 2


@pytest.mark.parametrize(
    ("heads", "wrong"),
    [
        ((2, 1, 0), "line 1: the heads of words 1, 2 lead in a circle"),
        ((0, 3, 4, 2), "line 2: the heads of words 2, 3, 4 lead in a circle"),
        ((0, 3, 4, 3), "line 3: the heads of words 3, 4 lead in a circle"),
    ],
)
def test_a_circle_of_heads_is_noticed(heads, wrong):
    rows = [f"{index}\ta\ta\tX\t_\t_\t{head}\tdep\t_\t_" for index, head in enumerate(heads, start=1)]
    with pytest.raises(CorpusError, match=wrong):
        read_conllu("\n".join(rows))


@pytest.mark.parametrize(
    "line", ["clerk.txt\tNo.", "clerk.visitor.1.female.txt\t", "clerk.visitor.1.female.txt\tThe clerk sat."]
)
def test_what_is_no_sentence_of_winogender_is_said_with_its_line(line):
    with pytest.raises(CorpusError, match="line 1"):
        read_winogender(line)
