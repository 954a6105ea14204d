"""What is said and kept of a class: its guesses beside what is true, and nothing of what is not revealed."""

import pytest

from attnviz.lessons.classroom.class_values import (
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    ClassRound,
    Guess,
    class_report,
    class_sentence,
)

WORDS = ClassQuestion("token", "Which word, <b>?", ("it", "cat"), choices=("it", "cat"))
KEY = AnswerKey(("cat",), sentence="“it” gives “cat” 57 %.", weights=(0.1, 0.57))
GUESSES = (Guess("it", 2, False), Guess("cat", 1, True))
NUMBER, TRUE = ClassQuestion("number", "How much?"), AnswerKey(("0.57",), 0.1, "57 %.")


@pytest.mark.parametrize(
    ("question", "key", "results", "said"),
    [
        (WORDS, KEY, GUESSES, "2 of 3 chose “it”; 1 found “cat”. “it” gives “cat” 57 %."),
        (WORDS, KEY, GUESSES[::-1], "1 of 3 chose “cat”, and so does the head: 57\N{NO-BREAK SPACE}%. “it” gives “cat” 57 %."),
        (WORDS, KEY, (), "“it” gives “cat” 57 %."),
        (WORDS, KEY, (Guess("it", 1, False), Guess("cat", 1, True)),
         "“it” and “cat” were chosen most, by 1 of 3 each; 1 found “cat”. “it” gives “cat” 57 %."),
        (WORDS, KEY, (Guess("it", 1, False), Guess("a", 1, False), Guess("b", 1, False)),
         "3 answers were chosen most, by 1 of 3 each; 0 found “cat”. “it” gives “cat” 57 %."),
        (WORDS, AnswerKey(("قطة",), sentence=".", weights=(0.1, 0.57)), (Guess("كلب", 2, False),),
         "2 of 3 chose “\u2068كلب\u2069”; 0 found “\u2068قطة\u2069”. ."),
        (NUMBER, TRUE, (Guess("0.2", 2, False), Guess("0.6", 1, True)),
         "Half of the class guessed 20\N{NO-BREAK SPACE}% or less; 1 of 3 came near. 57 %."),
        (ClassQuestion("choice", "?", choices=("a", "b")), AnswerKey(("a",)), (Guess("b", 2, False), Guess("a", 1, True)),
         "1 of 3 is right."),
        (ClassQuestion("text", "?"), AnswerKey(), (Guess("a", 3, None),), ""),
    ],
)  # fmt: skip
def test_a_sentence_compares_the_class_with_the_model(question, key, results, said) -> None:
    shown = ClassOverview("KRTF", 1, "revealed", False, 1, question, answered=3, results=results, key=key)
    assert class_sentence(shown) == said


def test_nothing_is_said_before_the_reveal() -> None:
    assert class_sentence(ClassOverview("KRTF", 1, "open", False, 1, WORDS, answered=3)) == ""


def test_a_report_has_what_was_revealed_and_no_markup_of_anybody() -> None:
    revealed = ClassRound(1, WORDS, "revealed", 3, (*GUESSES, Guess("<script>", 1, False)), KEY)
    page = class_report("KRTF", [revealed, ClassRound(2, NUMBER, "open", 4)]).decode()
    first, second = page.split("<h2")[1:]
    assert "Which word, &lt;b&gt;?" in first
    assert "&lt;script&gt;" in first
    assert "<script" not in page
    assert first.count("<tr>") == 3
    assert "57 %" in first
    assert "width:67%" in first
    assert "4 answered; not revealed" in second
    assert "57 %" not in second
