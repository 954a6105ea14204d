"""Claims are read as they are meant, and what is none gets one sentence that says why."""

import itertools
import re

import pytest
import regex

from attnviz.analysis.heads.claim import ClaimTerm, Where, parse
from attnviz.analysis.heads.verdict import describe_claim, short_claim
from attnviz.core.errors import ClaimError

SOURCES = ("obj", "nsubj:pass", "NOUN", '"the"', "/ing$/", "special", "any", "first", "last", "pronoun", 'DET | "a|b" | obl')
TARGETS = ("head", "its det", "previous", "next", "+2", "-3", "self", "same", "after same", "antecedent", "obj", "VERB | AUX")
WHERES = ("", "L2·H0: ", "l2h0: ", "L2 H0: ", "any: ", "L3·mean: ", "L2·H0:")


@pytest.mark.parametrize("where", WHERES)
def test_every_claim_of_the_language_is_read(where):
    for source, target in itertools.product(SOURCES, TARGETS):
        claim = parse(f"{where}{source} -> {target}")
        assert claim.where.layer == (None if where in ("", "any: ") else 3 if "mean" in where else 2), claim
        assert describe_claim(claim), claim
        assert "→" in short_claim(claim.text), claim


def test_the_parts_of_a_claim():
    claim = parse('L10·mean: nsubj:pass | "a -> b: c|d" → -2 | its obj')
    assert claim.where == Where(10, None)
    assert claim.source == (ClaimTerm("relation", "nsubj:pass"), ClaimTerm("word", "a -> b: c|d"))
    assert claim.target == (ClaimTerm("offset", "-2"), ClaimTerm("dependent", "obj"))


NONSENSE = ("", " ", "objj", "noun", "Noun", "head head", "its", "its foo", "+0", "+99", "-", "+", "1", "NOUN,VERB", "H3",
            "the", "#", "?!",
            '"open', "open'", "/open", '""', '" "', "//", "/(/", "/[/", "/*/", "obj |", "| obj", "obj || det", "obj det",
            "nsubj: pass", "nsubj:pass:x", "ключ", "a" * 50, "*", "DET NOUN", "its its obj", "previous next", "\\")  # fmt: skip
MALFORMED = [
    *(f"{nonsense} -> head" for nonsense in NONSENSE),
    *(f"obj -> {nonsense}" for nonsense in NONSENSE),
    *(f"L2·H0: {nonsense} -> head" for nonsense in NONSENSE),
    *(f"any: obj -> {nonsense}" for nonsense in NONSENSE),
    *(f"{nonsense}: obj -> head" for nonsense in NONSENSE if nonsense.strip() and '"' not in nonsense and "/" not in nonsense),
    *(f"{target} -> obj" for target in ("head", "previous", "next", "self", "same", "antecedent", "+1", "its obj")),
    *("obj", "->", "obj ->", "-> head", "obj -> head -> det", "obj => head", "obj - > head", "L2·H0", "L2·H0:", "obj > head"),
    *("obj -> pronoun", "L2H: obj -> head", "LxH0: obj -> head", "L99999·H0: obj -> head", "any any: obj -> head", "x" * 401),
]


def _refusal(text):
    try:
        parse(text)
    except ClaimError as error:
        return str(error)
    return ""


def test_a_malformed_claim_gets_one_clear_sentence():
    # One sentence: a full stop inside is one of a quotation, an example or an abbreviation.
    refused = re.compile(r"(?!.*[a-z]\. [A-Z]).{20,498}[.?]")
    assert {text: said for text in MALFORMED if not refused.fullmatch(said := _refusal(text))} == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("obj head", "this one has no arrow"),
        ("any -> next -> head", "this one has 2 arrows"),
        ('"' + "a" * 391 + '" -> head', "has 401 characters, and at most 400"),
        ("any -> +21", r"from -20 to \+20 without 0"),
        ("any -> -21", r"from -20 to \+20 without 0"),
        ("+1 -> head", r"only a target can be: write any -> \+1"),
        ("same -> head", "only be the target of a claim, not its source"),
        ("any -> pronoun", "only be the source of a claim, not its target"),
        (" -> head", "The source of this claim is missing"),
        ("any -> ", "The target of this claim is missing"),
        ("obj | -> head", "bar stands at the end of the source"),
        ("any -> obj |", "bar stands at the end of the target"),
        ("obj det -> head", '"obj det" is no relation|put a bar between terms'),
        ('"a" "b" -> head', "put a bar between terms"),
        ("'a' -> head", 'or a word in "double quotes"'),
        ('"a -> head', "The word in quotes .* is not closed: write . at its end"),
        ("/a -> head", "The regular expression .* is not closed: write / at its end"),
        ('"  " -> head', 'nothing between " and "'),
        ("L2: obj -> head", '"L2" names no head'),
        ("/a{251}{200}/ -> head", "may come to 50,000"),
    ],
)
def test_what_is_wrong_with_a_claim_is_named(text: str, says: str) -> None:
    with pytest.raises(ClaimError, match=says):
        parse(text)


def test_what_is_just_within_bounds_is_read() -> None:
    assert parse('"' + "a" * 390 + '" -> head').source[0].value == "a" * 390
    assert [parse(f"any -> {far}").target[0].offset for far in ("+20", "-20", "+1", "previous", "next")] == [20, -20, 1, -1, 1]
    assert parse("OBJ | Nsubj:PASS -> Its Det").target == (ClaimTerm("dependent", "det"),)
    assert [term.value for term in parse("OBJ | Nsubj:PASS -> head").source] == ["obj", "nsubj:pass"]
    assert parse(r'"A \" b" -> FIRST | Special').source == (ClaimTerm("word", 'a " b'),)
    claims = {"any -> first | last": (True, False), "any -> self | +1": (True, True), "any -> special": (True, True),
              "any -> head": (False, False), "any -> previous | same": (False, False)}  # fmt: skip
    assert {text: (parse(text).is_place, parse(text).among_all) for text in claims} == claims
    needs = {"obj -> next": (True, False), "NOUN -> next": (True, False), "any -> head": (True, False),
             "any -> its det": (True, False), "pronoun -> next": (False, True),
             "any -> antecedent": (False, True), "any -> same": (False, False)}  # fmt: skip
    assert {text: (parse(text).needs_syntax, parse(text).needs_antecedent) for text in needs} == needs


def test_a_wrong_name_gets_the_nearest_right_one():
    for written, name in {
        "nsubjj -> head": "nsubj", "obj -> headd": "head", "pronounn -> head": "pronoun", "obj -> antecedant": "antecedent"
    }.items():  # fmt: skip
        with pytest.raises(ClaimError, match=f"write {name}"):
            parse(written)


HOSTILE = (
    "(?:a{3000}){3000}", "(?:(?:a{31}){37}){41}", "a{50001}", "(?:a{0,3000}){3000,}", "(?x:(?:a{3 000}){3 0 0 0})",
    "(?:[)]a{3000}){3000}", rf"(?:{'ab' * 100}){{307}}",
)  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_regular_expression_that_expands_is_refused_before_it_is_compiled(
    hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regex, "compile", lambda *_, **__: pytest.fail("It was compiled."))
    with pytest.raises(ClaimError, match="repeats too much"):
        parse(f"/{hostile}/ -> head")


@pytest.mark.parametrize("calling", ["(?R)?a", "(?<x>a(?&x)?)", "(a(?1)?)", "(?<x>a(?P>x)?)", "(a(?-1)?)", "(?x)a( ?R)?"])
def test_a_regular_expression_may_not_call_itself(calling: str) -> None:
    with pytest.raises(ClaimError, match="calls a part of itself"):
        parse(f"/{calling}/ -> head")


@pytest.mark.parametrize(
    "usual", [r"\d{4}-\d{2}-\d{2}", r"^\p{Lu}{2,5}$", "[a-z]{1,30}(ing|ed)", r"\{3000\}", "(?-i:A)", "(a+)+"]
)
def test_usual_regular_expressions_are_read_and_none_is_kept(usual: str) -> None:
    kept = dict(regex._main._cache)
    assert parse(f"/{usual}/ -> head").source == (ClaimTerm("regex", usual),)
    assert regex._main._cache == kept


@pytest.mark.parametrize(
    ("name", "tag"),
    [("adverb", "ADV"), ("Verbs", "VERB"), ("the noun", "NOUN"), ("subject", "nsubj"), ("determiner", "DET"), ("object", "obj"),
     ("pronouns", "PRON")],
)  # fmt: skip
def test_a_name_of_the_grammar_lesson_gets_its_tag_first(name, tag):
    with pytest.raises(ClaimError, match=f"write {tag}"):
        parse(f"any: {name} -> head")


@pytest.mark.parametrize(
    "hidden", ["\u2060", "\u200b", "\ufeff", "\u00ad", "\u200e", "\u200d", "\ufe0f", "\x00", "\x1b", "\udcff"]
)
def test_what_is_invisible_in_a_claim_is_ignored(hidden):
    seen = 'L2·H0: obj | "a bit" -> its det'
    assert parse(hidden + hidden.join(seen.split('"a bit"')[0]) + '"a bit"' + hidden.join(seen.split('"a bit"')[1])) == parse(
        seen
    )
    with pytest.raises(ClaimError, match="no claim yet"):
        parse(hidden * 3)


def test_curly_quotes_are_quotes_but_within_quotes():
    assert parse("L2·H0: “a -> b” | „c“ -> “head” | head") == parse('L2·H0: "a -> b" | "c" -> "head" | head')
    assert parse('"“a”" -> /“b”/').source[0].value == "“a”"


def test_a_joiner_within_a_word_belongs_to_it():
    assert parse('"می\u200cخواهم" -> head').source[0].value == "می\u200cخواهم"
