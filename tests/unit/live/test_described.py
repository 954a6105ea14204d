"""Answers, translations and selections as the site describes them, made in Node, against the app's own."""

import base64
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.answer_attention import (
    Side,
    describe_answer,
    describe_confidence,
    describe_question_words,
    head_shares,
    question_attention,
    strongest_heads,
    window_notices,
)
from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import HeadMatrix, Lens, View, head_matrix, word_groups, word_names
from attnviz.analysis.next_and_why import copied_link, describe_given, describe_next
from attnviz.analysis.summary_selection import read_passage
from attnviz.analysis.translation_alignment import (
    describe_likelihood,
    describe_score,
    differences,
    opening_cell,
    ranked_step,
    read_as,
    translation_notices,
    truer,
)
from attnviz.analysis.wording import Sentence, power_of_ten, signed, text_notices, two_digits, whole_percent
from attnviz.core.errors import PromptError
from attnviz.core.sampling import TEMPERATURES, Continuation
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, Token
from attnviz.figures.answer_spans import AnswerPlace, describe_head_of
from attnviz.figures.explorer.overview import unpack_chunks
from attnviz.figures.html import sentence_parts
from attnviz.figures.matrix import labels
from attnviz.figures.translate.alignments import Aligned, alignments
from attnviz.live.pictures import (
    AMOUNT,
    KEYS,
    PicturePage,
    describe_selection,
    describe_selectors,
    describe_translations,
    pictures,
    writing,
)
from attnviz.models.base import DecodingStep, Draft, ModelCard, Translation
from attnviz.models.catalog import load
from attnviz.models.result import Result
from attnviz.text.sentences import Sentences
from attnviz.text.spans import Span, Window
from attnviz.text.words import seems_english
from tests.factories import make_map, pair, sentence, special, typed
from tests.javascript import run
from tests.unit.live.graphs.test_algorithms import call

Place = tuple[int, int | None]
RUNNER = Path(__file__).with_name("described.js")
TEXTS = pair("who ate it", "the old cat 's kitt|en ate it , they say")
PASSAGE = tuple(token for token in TEXTS if token.segment == 1 and not token.special)
QUESTION = tuple(token for token in TEXTS if token.segment == 0)
# Numbers: small and large ones, ties between two digits, what is rounded to nothing, and what has no digits.
SMALL = [0.0, 4.6e-8, 1e-16, 0.00099, 0.001, 0.0123, 0.125, 0.24, 0.0625, 1.0]
LARGE = [-0.0, -1e-7, -0.004, -0.005, -0.125, -0.375, -0.5, -2.5, 2.5, -340.625, 1234.5, 99999.5, 1e21, -1.5e22]
NOT_FINITE = [math.inf, -math.inf, math.nan]
# Words that are alike but for case, and others that are not, however their capitals look.
NAMED = [each.split() for each in ("Straße STRASSE STRAẞE", "ΟΔΟΣ οδος οδοσ", "sinir sınır SINIR", "İl il", "ﬁn FIN fin")]
# An answer that ends in a word of two tokens.
PLACE = PASSAGE[2].start, PASSAGE[5].end
ANSWER = "cat 's kitten"
MAPS = (make_map(TEXTS, layers=3, heads=5), make_map(PASSAGE, QUESTION, layers=2, heads=3))
# Of each: whether there is a cross-attention, the best spans, whether the model declines, and above which p(no answer).
ANSWERS = [
    (MAPS, (Span(1, 4, 0.81), Span(9, 9, 0.004)), False, None),
    (MAPS[:1], (Span(0, 0, 0.3),), False, None),
    (MAPS, (Span(2, 2, 0.125), Span(5, 6, 0.1)), True, 0.5),
    (MAPS[:1], (Span(2, 2, 0.2), Span(5, 6, 0.1)), True, None),
]
# Of a head that is asked for: the side, layer and head (None: the mean), the chosen word of the question, and the view.
HEADS: list[tuple[Side, int, int | None, int | None, View]] = [
    ("cross", 1, 2, None, View(words=True)),
    ("cross", 0, None, 1, View()),
    ("passage", 2, 4, 0, View(words=True, hide_special=True)),
    ("question", 1, 3, None, View(words=True)),
    ("question", 0, None, 2, View()),
]
WRITTEN = (*typed("le chat|on mange"), special("</s>"))
READ = (special("<s>"), *WRITTEN[:-1])
CROSS = make_map(READ, typed("the kitt|en eat|s"), layers=2, heads=3)
MEASURED = {"AER in domain L1·H2 naive": 0.1, "AER in domain L1·H2 shifted": 0.4, "AER in domain L0·H1 naive": 0.4,
            "AER in domain L0·H1 shifted": 0.1}  # fmt: skip
CARDS: list[dict[str, Any]] = [
    {"name": "t", "supervised_head": None, "metrics": {"BLEU": 44.04}},
    {"name": "t", "supervised_head": [1, 2], "metrics": MEASURED},
    {"name": "t", "supervised_head": [0, 1], "metrics": {}},
]
# Of a head that is asked for: layer and head (None: the mean), and the view.
DRAWN: list[tuple[Place, View]] = [((1, None), View(words=True)), ((1, 2), View(words=True)), ((0, 1), View(words=True))]
ASKED: list[tuple[dict[str, Any], Place, View]] = [
    ({"layer": 0, "head": 2, "isMean": False, "words": False}, (0, 2), View()),
    ({"layer": 9, "isMean": True, "hideSpecial": True}, (1, None), View(words=True, hide_special=True)),
    # The word "chat", and the head that a click on it leads to.
    ({"query": 2, "followed": [0, 1]}, (0, 1), View(words=True)),
    ({"query": 2, "key": 0, "layer": 1, "head": 2}, (1, 2), View(words=True)),
    # Beyond the source there is no word.
    ({"query": 2, "key": 99, "layer": 1, "head": 2}, (1, 2), View(words=True)),
    # The word of an example.
    ({"word": "le"}, (1, 2), View(words=True)),
]
# Translations of one text: equal ones, of other words, in another order, and letters that take two places.
DIFFERENT = [
    ["Elle ne mange jamais de viande."],
    ["ses vieilles amis", "ses vieux amis", "ses vieux amis"],
    ["a b a b c a", "b a b a c", "c a b"],
    ["L'été 𝒳 a, b_1!", "l'été a 𝒳 b_1", ""],
]
# Of a translation: what was read, where that was cut, and what was written.
SPOKEN: list[tuple[tuple[Token, ...], int | None, tuple[Token, ...]]] = [
    (typed("the cat"), None, (*typed("le chat"), special("</s>"))),
    (typed("Z|b|ig|n see|s Z|b|ig|n , 3|{0}|7 — …|…|…"), None, typed("le chat")),
    (typed("a|b|c d|e|f g|h|i j|k|l no"), None, ()),
    (typed("a " * 41), None, ()),
    (typed("un|believ|ably " * 20), 99, typed("on")),
    (typed("ا|ل|ق|ط ي|ن|ا|م"), None, ()),
]
# A text and a second one, where each was cut, what a model reads at most, and its tokens: special ones, known and unknown ones.
_EDGE, _WORD, *_ODD = (
    Token(text, at, at + 1, piece=piece, special=not text.isalpha() and not piece)
    for at, (text, piece) in enumerate(
        [("[CLS]", ""), ("a", ""), *((letter, "[UNK]") for letter in "🙂🙂𓀀ᚠᚢ𝒳ゐ"), ("ø", "<unk>")]
    )
)
NOTICED: list[tuple[dict[str, str], int | None, int | None, int, list[Token]]] = [
    ({"text": "𝒳" * 2600}, 2549, None, 2048, [_WORD]),
    ({"text": "a b", "pair": "c d " * 400}, None, 1021, 512, [_EDGE, _WORD]),
    ({"text": "a " * 300, "pair": "b " * 300}, 509, 508, 512, [_WORD, _ODD[0], _ODD[1], _ODD[-1]]),
    ({"text": "ich bin"}, None, None, 512, [_EDGE, *_ODD]),
    ({"text": "\u200b"}, None, None, 512, [_EDGE, _EDGE]),
    ({"text": "a"}, None, None, 512, [_WORD]),
    ({"text": "the القط"}, None, None, 512, [Token(text, 4, 8, piece="[UNK]") for text in ("القط", "ينام", "؟")]),
]
# ln p of a given translation and of the model's own.
LIKELY = [(-9.2, -2.3), (-2.3, -2.304), (-1.0, -40.0), (-40.0, -1.0), (-13.92, -14.63), (0.0, -12.0),
          (-math.inf, -2.125), (-0.125, -math.inf)]  # fmt: skip
# Windows of a passage, the one that is drawn, and tokens of the passage.
CUT_PASSAGES: list[tuple[list[dict[str, int]], int, int]] = [
    ([{"start": 0, "stop": 300}], 0, 300),
    ([{"start": 0, "stop": 370}, {"start": 200, "stop": 570}, {"start": 800, "stop": 1170}], 2, 1170),
]
SCORES = [(-2.345, None), (-0.004, 44.05), (-13.0, 50.25), (-0.125, None), (-math.inf, 44.0)]
OUTPUT = "le chaton mange"

# One sentence, several, words that are cut and what is no word.
SUMMARIZED = (
    "It rained .",
    "The old mayor open|ed a bridge in Elm . Engineers found 3.5 cracks . — … — The ferry carr|ies those who walk !",
)
# Passages by their tokens, with the first span at so many places, and another one.
DRAWN_PASSAGES = (
    (7, (2, 3), (5, 5)),
    (2_400, (9, 9), (2_399, 2_399)),
    (5_000, (2_500, 2_501), (1_298, 1_305)),
    (2_500, (0, 0), (2_395, 2_405)),
)
SUMMARIZER = ModelCard("s", "selects", "encoder", 4, 3, 5, 99, "cpu", selects=(3, 1))


def plain_tokens(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    return [*map(dataclasses.asdict, tokens)]


def plain(attention: AttentionMap) -> dict[str, Any]:
    weights = np.stack([attention.layer_weights(layer) for layer in range(attention.n_layers)])
    tokens = {name: [dataclasses.asdict(each) for each in getattr(attention, name)] for name in ("queries", "keys")}
    shape = {"layers": attention.n_layers, "heads": attention.n_heads, "kind": attention.kind, "causal": attention.causal}
    return {**tokens, **shape, "weights": base64.b64encode(weights.astype("<f4").tobytes()).decode()}


def as_text(number: float) -> str:
    """Write a number for a script: JSON has no infinity."""
    return str(number).replace("inf", "Infinity").replace("nan", "NaN")


def text_of(span: Span) -> str:
    return "the old cat 's kitten ate it , they say"[PASSAGE[span.start].start : PASSAGE[span.end].end]


def made_by_the_site() -> dict[str, Any]:
    shares = np.linspace(0, 1, len(PASSAGE)).tolist()
    tokens = [dataclasses.asdict(token) for token in PASSAGE]
    answers = []
    for maps, spans, declined, limit in ANSWERS:
        listed = [
            {"start": each.start, "end": each.end, "probability": each.probability, "text": text_of(each)} for each in spans
        ]
        found = {"spans": listed, "tokens": tokens, "start": shares, "end": shares, "nothing": 0.62, "declined": declined}
        found |= {"limit": limit, "confidence": None if declined else 0.953, "joint": {"starts": [2], "ends": [4, 5]}}
        answers.append({"maps": [plain(each) for each in maps], "found": found})
    heads = [asked_of(*each) for each in HEADS]
    heads.append({**heads[1], "asked": {**heads[1]["asked"], "layer": None, "head": None, "isMean": None}})
    draft = {"steps": [{"token": dataclasses.asdict(token)} for token in WRITTEN], "logProbability": -2.345}
    asked = [*((card, {}) for card in CARDS), *((CARDS[1], each[0]) for each in ASKED)]
    translations = [
        {"output": OUTPUT, "draft": draft, "cross": plain(CROSS), "card": card, "asked": each} for card, each in asked
    ]
    selections = [selected(text) for text in SUMMARIZED]
    drawn = [(count, spans) for count, *spans in DRAWN_PASSAGES]
    return run(
        RUNNER,
        {
            "answers": answers,
            "heads": heads,
            "typed": [
                [
                    prompt,
                    {"cut": cut, "cutPair": cut_pair, "isEnglish": all(map(seems_english, prompt.values()))},
                    [*map(dataclasses.asdict, keys)],
                    most,
                ]
                for prompt, cut, cut_pair, most, keys in NOTICED
            ],
            "likely": [[*map(as_text, each)] for each in LIKELY],
            "scores": [[as_text(number), bleu] for number, bleu in SCORES],
            "cutPassages": CUT_PASSAGES,
            "spoken": [[plain_tokens(keys), cut, plain_tokens(written)] for keys, cut, written in SPOKEN],
            "small": SMALL,
            "numbers": [*map(as_text, (*SMALL, *LARGE, *NOT_FINITE))],
            "named": NAMED,
            "translations": translations,
            "selections": selections,
            "drawn": drawn,
            "different": DIFFERENT,
        },
    )


def asked_of(side: Side, layer: int, head: int | None, word: int | None, view: View) -> dict[str, Any]:
    units = [[token.start, token.end] for token in PASSAGE]
    asked = {"side": side, "layer": layer, "head": head, "isMean": head is None, "word": word}
    asked |= {"view": {"words": view.words, "hideSpecial": view.hide_special}}
    return {"maps": [plain(each) for each in MAPS], "answer": {"text": ANSWER, "place": PLACE, "units": units}, "asked": asked}


def selected(written: str) -> dict[str, Any]:
    text = written.replace("|", "")
    amount = {"words": AMOUNT.words, "wanted": AMOUNT.sentences, "share": AMOUNT.share}
    card = {"name": SUMMARIZER.name, "selects": SUMMARIZER.selects}
    spans = Sentences.of(text).spans
    attention = make_map(sentence(written), layers=4, heads=3)
    return {"text": text, "map": plain(attention), "sentences": spans, "amount": amount, "card": card}


def test_a_browser_describes_what_the_app_does():
    made = made_by_the_site()
    for actual, (maps, spans, declined, limit) in zip(made["found"], ANSWERS, strict=True):
        assert_answer(actual, AttentionTrace("m", Prompt("t", question="q"), maps), spans, declined=declined, limit=limit)
        assert (actual["joint"]["rows"], actual["joint"]["columns"]) == (["cat"], ["kitt", "en"])
    trace, answer = AttentionTrace("m", Prompt("t", question="q"), MAPS), AnswerPlace(ANSWER, PLACE, PASSAGE)
    unasked = strongest_places(head_shares(trace, "cross", View(), PLACE, 1))[0]
    for actual, (side, layer, head, word, view) in zip(made["seen"], [*HEADS, ("cross", *unasked, 1, View())], strict=True):
        wanted = describe_head_of(trace, answer, side, layer=layer, head=head, word=word, view=view)
        assert_head(actual, wanted)
    for actual, (side, layer, head, _, view) in zip(made["matrices"], HEADS, strict=False):
        assert_matrix(actual, question_attention(trace, side, layer=layer, head=head, view=view).around(*PLACE))
    expected = [(card, place, view, {}) for card, (place, view) in zip(CARDS, DRAWN, strict=True)]
    expected += [(CARDS[1], place, view, asked) for asked, place, view in ASKED]
    for actual, (card, place, view, asked) in zip(made["written"], expected, strict=True):
        assert_translation(actual, card, place, view, asked)
    assert made["small"] == [[power_of_ten(each), two_digits(each)] for each in SMALL]
    assert made["named"] == [word_names([Token(text, 0, 1) for text in texts]) for texts in NAMED]
    assert made["numbers"] == [written_as(each) for each in (*SMALL, *LARGE, *NOT_FINITE)]
    for told, (prompt, cut, cut_pair, most, keys) in zip(made["notices"], NOTICED, strict=True):
        tokens = AttentionMap("encoder", tuple(keys), tuple(keys), DenseWeights((np.eye(len(keys))[None],)))
        trace = AttentionTrace("t", Prompt(**prompt), (tokens,), cut=cut, cut_pair=cut_pair)
        assert told == [[*each] for each in text_notices(trace, languages=("en", "fr"), most=most, reads=("text", "pair"))]
    assert [len(told) for told in made["notices"]] == [2, 1, 3, 2, 1, 0, 2]
    assert " do not know “\u2068القط\u2069”, “\u2068ينام\u2069”, “\u2068؟\u2069”:" in made["notices"][-1][-1][2]
    for told, (keys, cut, written) in zip(made["spoken"], SPOKEN, strict=True):
        weights = DenseWeights((np.full((1, 1, len(keys)), 1 / len(keys)),))
        cross = AttentionMap("cross", (special("<s>"),), keys, weights)
        trace = AttentionTrace("t", Prompt("a"), (cross,), cut=cut)
        assert told == [[*each] for each in translation_notices(trace, languages=("en", "fr"), written=written)]
    assert [len(told) for told in made["spoken"]] == [0, 2, 1, 1, 2, 1]
    assert made["likely"] == [sentence_parts(describe_likelihood(*each)) for each in LIKELY]
    windows = [[[*each] for each in window_notices([Window(**part) for part in parts], *rest)] for parts, *rest in CUT_PASSAGES]
    assert (made["windows"], len(windows[0]), len(windows[1])) == (windows, 0, 1)
    assert made["scores"] == [describe_score(*each) for each in SCORES]
    for actual, text in zip(made["kept"], SUMMARIZED, strict=True):
        assert_selection(actual, text)
    assert made["different"] == json.loads(json.dumps([differences(each) for each in DIFFERENT]))
    assert [each[-30:] for each in made["further"]] == [
        "",
        "model finds the two sentences.",
        "",
        "s of the search, and its tree.",
    ]
    assert made["drawn"] == [[0, 7], [0, 2_400], [1_306, 3_700], [0, 2_395]]


def written_as(number: float) -> list[str]:
    whole = whole_percent(number) if abs(number) < 1e18 else ""
    return [
        signed(number),
        *(f"{number:.{digits}f}" for digits in (0, 1, 2, 4)),
        *(f"{number or 0:.{n}g}" for n in (2, 9)),
        whole,
    ]


def test_an_example_with_a_given_translation_says_how_likely_that_is():
    trace = AttentionTrace("t", Prompt("a", target=OUTPUT), (CROSS,), output=OUTPUT)
    draft = Draft(trace, tuple(DecodingStep(token, 0.5, ()) for token in WRITTEN), -9.2, own=Translation("", (), -2.3))
    card = ModelCard("t", "translates", "encoder-decoder", 2, 3, 5, 99, "cpu")
    header, _ = unpack_chunks(describe_translations([Result(trace, card, 0.0, output=draft)], {}).files["align"])
    assert header["scores"] == {"1": "log p of this translation: −9.20"}
    assert header["likely"] == {"1": json.loads(json.dumps(sentence_parts(describe_likelihood(-9.2, -2.3))))}


def test_an_example_says_what_speaks_against_its_translation():
    *_, picture = pictures(PicturePage("translate", "translate", ("dot-lstm-en-fr",)), load)
    assert picture.said["notice"].startswith("dot-lstm-en-fr spelled out “Economic” (E·conom·ic) and “August”")
    assert picture.said["notice"].endswith("expect guesses there.")
    assert picture.said["remark"].startswith("Bahdanau's own example, its translation given.")
    assert picture.said["word"] == "accord"


def assert_answer(
    actual: dict[str, Any], trace: AttentionTrace, spans: tuple[Span, ...], *, declined: bool, limit: float | None
) -> None:
    place = PASSAGE[spans[0].start].start, PASSAGE[spans[0].end].end
    strongest = strongest_heads(trace, *place)
    side = max((each for each in strongest if each != "question"), key=lambda each: strongest[each].share)
    layer, head = strongest[side].layer, strongest[side].head
    assert actual["first"] == {"cross" if side == "cross" else "encoder": [layer, head]}
    shown = question_attention(trace, side, layer=layer, head=head, view=View(words=True))
    likely = describe_answer([text_of(each) for each in spans], spans, nothing=0.62 if declined else None, threshold=limit)
    expected = describe_question_words(shown, text_of(spans[0]), place), likely
    assert actual["story"] == [sentence_parts(each) for each in expected]
    assert_head(actual["seen"], describe_head_of(trace, AnswerPlace(text_of(spans[0]), place), side, layer=layer, head=head))
    assert actual["answer"]["text"] == text_of(spans[0])
    assert actual["answer"]["facts"][2:] == ([] if declined else [describe_confidence(0.953)])


def test_weights_that_travel_in_four_digits_say_of_an_answer_what_all_digits_say():
    """Heads that differ in the fifth digit are alike, and a weight without a digit is some all the same."""
    size, words = len(TEXTS), [at for at, token in enumerate(TEXTS) if token.segment == 0 and not token.special]
    weights = np.full((1, 2, size, size), 2e-5, np.float32)
    weights[0, 0, :, words[:2]], weights[0, 1, :, words[:2]] = [[0.30001], [0.30003]], [[0.30004], [0.30002]]
    # The rest goes to the last token, which is special.
    weights[..., -1] += 1 - weights.sum(axis=-1)
    trace = AttentionTrace(
        "m", Prompt("t", question="q"), (AttentionMap("encoder", TEXTS, TEXTS, DenseWeights(tuple(weights))),)
    )
    sent = base64.b64encode(weights.round(4).tobytes()).decode()
    asked = [asked_of("passage", 0, head, word, View()) for head in (0, 1) for word in (None, 0, 2)]
    given = [{**each, "maps": [{**plain(trace.encoder), "weights": sent}]} for each in asked]
    for made, each in zip(run(RUNNER, {"heads": given})["seen"], asked, strict=True):
        head, word = each["asked"]["head"], each["asked"]["word"]
        answer = AnswerPlace(ANSWER, PLACE, PASSAGE)
        wanted = describe_head_of(trace, answer, "passage", layer=0, head=head, word=word, view=View())
        assert made["story"] == wanted["story"]
        assert (made["name"], [place[:2] for place in made["heads"]]) == (
            wanted["name"],
            [place[:2] for place in wanted["heads"]],
        )


def assert_head(actual: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in ("shares", "bars"):
        assert actual.pop(name) == pytest.approx(wanted.pop(name), abs=6e-5)
    made, expected = actual.pop("heads"), wanted.pop("heads")
    assert [each[:2] for each in made] == [each[:2] for each in expected]
    assert [each[2] for each in made] == pytest.approx([each[2] for each in expected], abs=6e-5)
    assert actual == wanted


def assert_matrix(actual: dict[str, Any], expected: HeadMatrix) -> None:
    assert (actual["rows"], actual["columns"]) == tuple(map(list, map(labels, (expected.queries, expected.keys))))
    assert actual["at"] == [list(expected.rows), list(expected.columns)]
    np.testing.assert_allclose(actual["weights"], expected.weights.ravel(), atol=1e-6)


def weights_given(position: int, view: View) -> np.ndarray:
    """What the word at a position of the address gives in every head, by the steps that write it; the start mark by its own."""
    tokens = (*CROSS.queries, WRITTEN[-1])
    groups = word_groups(tokens) if view.words else [[at] for at in range(len(tokens))]
    rows = [max(at - 1, 0) for at in next(group for group in groups if position in group)]
    weights = np.stack([CROSS.layer_weights(layer)[:, rows].mean(axis=1) for layer in range(CROSS.n_layers)])
    return np.stack([weights[..., list(part)].sum(axis=-1) for part in Lens(CROSS, view).column_parts], axis=-1)


def assert_translation(actual: dict[str, Any], card: dict[str, Any], place: Place, view: View, asked: dict[str, Any]) -> None:
    layer, head = place
    attention = read_as(CROSS, WRITTEN, truer(card["metrics"], layer, head))
    matrix = head_matrix(attention, layer=layer, head=head, view=view)
    first = int(truer(card["metrics"], layer, head) == "naive")
    given = asked.get("key")
    key = given if given is not None and given < len(CROSS.keys) else None
    if asked.get("query") is None:
        assert tuple(actual["cell"]) == opening_cell(matrix, asked.get("word", ""))
    else:
        row = next(row for row, at in enumerate(matrix.rows) if at == asked["query"] - first)
        words = [column for column, each in enumerate(matrix.keys) if not each.special]
        column = max(words, key=lambda column: matrix.weights[row, column])
        assert actual["cell"] == [row, column if key is None else matrix.columns.index(key)]
    assert actual["firstRow"] == first
    weights = weights_given(matrix.rows[actual["cell"][0]] + first, view)
    assert actual["ranked"]["mean"] == pytest.approx(weights[..., actual["cell"][1]].mean(), abs=1e-6)
    ranked = [(each["layer"], each["head"]) for each in actual["ranked"]["first"]]
    assert ranked == strongest_places(weights[..., actual["cell"][1]])
    position = matrix.rows[actual["cell"][0]] + first
    assert actual["ranked"]["step"] == ranked_step(position, len(READ), "writes", "naive" if first else "shifted")
    aligned = Aligned(
        slot=1, name="t", translation=OUTPUT, matrix=matrix, cell=(0, 0), place=(layer, head), shape=(2, 3),
        is_trained=[layer, head] == card["supervised_head"],
    )  # fmt: skip
    header, chunks = unpack_chunks(alignments([aligned])[1])
    expected = header["models"][0]
    assert actual["described"] == {name: value for name, value in expected.items() if name not in ("slot", "unlike")}
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(actual["weights"]), "<f4"), np.frombuffer(chunks["1"], "<f4"))
    if "query" not in asked:
        assert actual["followed"] is None
        return
    keys = [column for column, each in enumerate(matrix.keys) if not each.special] if key is None else [key]
    drawn = [[truer(card["metrics"], layer, head) == "naive" for head in range(3)] for layer in range(2)]
    followed = np.where(drawn, weights[..., keys].max(axis=-1), -1)
    assert tuple(actual["followed"]) == strongest_places(followed)[0]


def assert_selection(actual: dict[str, Any], written: str) -> None:
    trace = AttentionTrace("s", Prompt(written.replace("|", "")), (make_map(sentence(written), layers=4, heads=3),))
    expected = describe_selection([Result(trace, SUMMARIZER, 0.0)], {})
    assert actual["first"] == {"encoder": [3, None]}
    assert_described(actual, expected.story, expected.more)
    described = describe_selectors(Result(trace, SUMMARIZER, 0.0), layer=1, head=2)
    assert [each["key"] for each in actual["all"]] == list(KEYS)
    cut = read_passage(trace.prompt.text, trace.encoder.keys, words=False)
    assert actual["cut"] == [[unit.start, unit.end] for unit in cut.units]
    for made, (story, more) in zip(actual["all"], described, strict=True):
        assert_described(made, story, more)


def assert_described(actual: dict[str, Any], story: tuple[Sentence, ...], more: dict[str, Any]) -> None:
    assert actual["story"] == [sentence_parts(each) for each in story]
    assert (actual["answer"], actual["row"]) == (more["answer"], more["row"])
    assert actual["shares"] == pytest.approx(more["shares"], abs=0.6e-4)
    wanted = json.loads(json.dumps(more["passage"]))
    for name in ("scores", "highest"):
        assert actual["passage"].pop(name) == pytest.approx(wanted.pop(name), abs=1.1e-6)
    shares = [dict(each.pop("sentences")) for each in (actual["passage"], wanted)]
    assert shares[0].keys() == shares[1].keys()
    assert [share for share in shares[0].values() if share is not None] == pytest.approx(
        [share for share in shares[1].values() if share is not None], abs=1.1e-6
    )
    assert actual["passage"] == wanted


def test_what_is_typed_is_read_and_refused_as_in_the_app() -> None:
    fields, typed_there = ("text", "pair", "question", "target"), ("a\x00b", "\x00", " \n ", "a b")
    given = [{"text": "the cat", field: each} for field in fields for each in typed_there]
    wanted: list[object] = []
    for each in given:
        try:
            prompt = Prompt(**each)
            wanted.append({field: getattr(prompt, field) for field in fields})
        except PromptError as error:
            wanted.append(str(error))
    assert sum(isinstance(each, str) for each in wanted) == 9
    assert run(RUNNER, {"prompts": given})["prompts"] == wanted


def continued() -> AttentionTrace:
    """A text of which the last two tokens were written: a token that stands there twice, one that nobody expected."""
    tokens = [token for token in sentence("the cat sat on the cat") if not token.special]
    # As of a letter that takes two tokens.
    tokens[3] = tokens[2]
    logs = np.log(np.array([[0.6, 0.3, 0.0005]] * 6, np.float32))
    logs[3] = np.log([0.9965, 0.002, 0.0005])
    candidates = np.array([[1, 2, 3]] * 6, np.int32)
    candidates[4] = [3, 1, 2]
    pieces = ("the", "cat", "sat", "on", "the", "cat")
    names = {1: ("the", " the"), 2: ("cat", "cat"), 3: ("Ø", "\N{REPLACEMENT CHARACTER}")}
    mass = 1 - np.exp(logs.astype(np.float64)).sum(axis=1, keepdims=True)
    given = np.log(np.array([1, 0.3, 1e-5, 0.02, 0.9965, 0.3], np.float32))
    continuation = Continuation(
        4, pieces, candidates, logs, np.log(np.repeat(mass, len(TEMPERATURES), 1).astype(np.float32)), given, names
    )
    decoder = make_map(tokens, causal=True)
    return AttentionTrace("m", Prompt("the cat sat on the cat"), (decoder,), continuation=continuation)


def test_what_comes_next_is_said_as_in_the_app():
    trace = continued()
    record, text, tokens = json.loads(json.dumps(writing(trace))), trace.prompt.text, trace.decoder.queries
    places = range(1, 7)
    said = call(*(["../write_panel", "describePlace", record, place] for place in places))
    links = call(*(["../write_panel", "copiedLink", record, place] for place in places))
    for place, sentences, link in zip(places, said, links, strict=True):
        candidates = trace.continuation.next_tokens(place - 1)
        before = text if place == 6 else text[: tokens[place].start]
        wanted = [sentence_parts(describe_next(candidates, before, first=place == 6))]
        if place < 6:
            named = [each.piece for each in candidates]
            rank = named.index(trace.continuation.pieces[place]) if trace.continuation.pieces[place] in named else -1
            wanted.append(sentence_parts(describe_given(tokens[place], math.exp(trace.continuation.given[place]), rank)))
        assert sentences == wanted
        assert tuple(link) == copied_link(trace, place)
    assert [link[1] for link in links] == [None, None, None, 0, 1, 4]
    # A picture that came with the site knows its link as it is shown unasked, and in no other view.
    views = [{}, {"words": True}, {"hide_special": True}, {"query": 3}]
    picture = {"said": {"writing": record, "link": {}}}
    looked_at = call(*(["../write_panel", "unaskedLink", picture, view, False] for view in views))
    assert looked_at == [{}, *({**view, "query": 5, "key": 4} for view in views[1:3]), {"query": 3}]
