"""CoNLL-U is read as it is written, and what is wrong with it is said with the number of its line."""

import pytest

from attnviz.core.errors import CorpusError
from attnviz.text.conllu import read_conllu
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


@pytest.mark.parametrize(
    "line", ["clerk.txt\tNo.", "clerk.visitor.1.female.txt\t", "clerk.visitor.1.female.txt\tThe clerk sat."]
)
def test_what_is_no_sentence_of_winogender_is_said_with_its_line(line):
    with pytest.raises(CorpusError, match="line 1"):
        read_winogender(line)
