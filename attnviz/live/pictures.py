"""The pictures that come with a site, as files: their maps, their outputs, and sentences made of numbers for its script.

A picture is a JSON file that says what was read, what came out and which maps there are; and of each map a package as
`attnviz.figures.explorer.overview` writes it, its header with `places` besides: of each query and each key where it stands
(start, end, segment, word). Of a map too large for one package it has the small pictures and the first head, and its heads
are in one further file a layer.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from attnviz.analysis.answer_attention import (
    SIDES,
    Side,
    describe_answer,
    describe_confidence,
    describe_measured_answers,
    describe_question_words,
    joint,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.compute import QueryKey, first_place, link_steps, worked_steps
from attnviz.analysis.head_ranking import WordLink, WordLinks, first_link
from attnviz.analysis.head_view import HeadMatrix, View, head_matrix
from attnviz.analysis.next_and_why import candidate_labels, continuation_of, copied_link, text_written_on
from attnviz.analysis.summary_selection import (
    NO_LOOK,
    Amount,
    choose,
    describe_choice,
    describe_measured,
    describe_rouge,
    describe_sentences,
    read_passage,
    selectors,
    shares_of_heads,
)
from attnviz.analysis.translation_alignment import (
    Reading,
    describe_alignment,
    describe_likelihood,
    describe_score,
    differences,
    first_row,
    opening_cell,
    rank_for_cell,
    read_as,
    translation_notices,
    truer,
)
from attnviz.analysis.wording import (
    Sentence,
    describe_head,
    describe_link,
    head_name,
    join_notices,
    percent,
    power_of_ten,
    text_notices,
)
from attnviz.core.edits import NO_EDITS
from attnviz.core.head_inputs import Tables
from attnviz.core.sampling import READING
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.figures.answer_spans import WHOLE_WORDS, AnswerPlace, describe_head_of, describe_passage
from attnviz.figures.compute.steps import computation
from attnviz.figures.explorer.overview import (
    chunk_name,
    head_chunk,
    heads_package,
    overview,
    pack_chunks,
    unpack_chunks,
)
from attnviz.figures.html import sentence_parts
from attnviz.figures.matrix import labels
from attnviz.figures.summary_passage import kept_passage
from attnviz.figures.translate.alignments import LEAST_WEIGHT, Aligned, alignments
from attnviz.figures.written_text import text_tokens
from attnviz.files.shipped import find_example
from attnviz.models.base import GREEDY, AttentionModel, ModelCard
from attnviz.models.catalog import Task
from attnviz.models.head_inputs import inspect_result, run_inspectable
from attnviz.models.hub.smollm2 import packaged
from attnviz.models.result import Result
from attnviz.models.tasks import run_task
from attnviz.models.worked_examples import TABLES, WorkedExample, compute, mask_of, worked_examples
from attnviz.settings import assets_folder


@dataclass(frozen=True)
class Described:
    """What a page says of its results.

    first  of each kind of map the layer and the head (None: the mean) that are looked at first, or of which an address names
           one half
    story  the sentences, the most telling one first
    more   what else the page draws
    files  packages by the end of their names
    tables what words give in every head, by their names in a package
    """

    first: Mapping[str, tuple[int, int | None]]
    story: tuple[Sentence, ...]
    more: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    tables: Mapping[str, bytes] = field(default_factory=dict)


# As the page Answer says it, and draws it unasked.
DECLINES = "The passage does not say."


def describe_answers(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe the answer of the first model to the question of a prompt."""
    result = results[0]
    answers, trace = result.answers, result.trace
    strongest = strongest_heads(trace, *answers.place)
    asking: list[Side] = [side for side in sides(trace) if side != "question"]
    side = max(asking, key=lambda each: strongest[each].share)
    layer, head = strongest[side].layer, strongest[side].head
    spans, text = answers.result.spans, answers.text(answers.result.spans[0])
    nothing = answers.result.nothing if answers.declined else None
    likely = describe_answer(
        [answers.text(span) for span in spans], spans, nothing=nothing, threshold=answers.decoding.declines_above
    )
    seen = describe_head_of(trace, AnswerPlace(text, answers.place), side, layer=layer, head=head)
    kind = "cross" if side == SIDES[0] else "encoder"
    shown = question_attention(trace, side, layer=layer, head=head, view=WHOLE_WORDS)
    story = (describe_question_words(shown, text, answers.place), likely)
    more = {"answer": _headline(result), "passage": _passage(result), "seen": seen, "joint": _joint(result)}
    more |= {"measured": describe_measured_answers(result.card.name, result.card.metrics)}
    return Described({kind: (layer, head)}, story, more)


def _headline(result: Result) -> dict[str, object]:
    answers, best = result.answers, result.answers.result.spans[0]
    sure = f"{percent(answers.result.nothing)} for no answer" if answers.declined else f"{percent(best.probability)} sure"
    facts = [result.card.name, sure]
    if (confidence := answers.confidence) is not None:
        facts.append(describe_confidence(confidence))
    return {"text": answers.text(best), "declined": DECLINES if answers.declined else "", "facts": facts}


def _passage(result: Result) -> dict[str, Any]:
    answers, found = result.answers, result.answers.result
    return describe_passage(answers.tokens, found.spans, found.start, found.end, declined=answers.declined)


def _joint(result: Result) -> dict[str, object]:
    """Write start × end, where the answer is found."""
    answers = result.answers
    logits, decoding = answers.result.logits, answers.decoding
    table = joint(
        answers.tokens,
        logits.start,
        logits.end,
        answers.result.spans,
        limit=decoding.limit,
        length_penalty=decoding.length_penalty,
    )
    return {
        "rows": labels(table.starts),
        "columns": labels(table.ends),
        "weights": [float(f"{each:.6g}") for each in table.probabilities.ravel().tolist()],
        "masked": (~table.legal).ravel().tolist(),
        "ranks": table.marks,
    }


# What stands below the steps of a weight; the site's script says the same of a text that was typed.
AGREES = "{name} of {model} has {weight:.4f} in the heatmap; these steps agree with it to {difference}."

_OWN_NUMBERS = "Your own numbers, masks and guesses are in the app."
# What notices of examples ask a person to do with what only the app has.
_IN_THE_APP = {
    "below the picture, type": "in the app, type",
    "Switch the division off": "Switch the division off in the app",
    "Set Stream in the sidebar": "Set Stream in the app",
    "Compare the two.": "Compare the two in the app.",
}


def notice_on_site(notice: str) -> str:
    """Say what to notice of an example, and of what a site lacks that it is in the app.

    >>> notice_on_site("Set Stream in the sidebar: up to L22 …")
    'Set Stream in the app: up to L22 …'
    """
    for here, in_the_app in _IN_THE_APP.items():
        notice = notice.replace(here, in_the_app)
    return notice


def compute_pictures(model: AttentionModel, opened: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Describe each worked example, then the link of the model that `opened`, an example of Encode, opens."""
    for example in worked_examples():
        yield worked_picture(example)
    yield _weight(model, opened)


def worked_picture(example: WorkedExample) -> dict[str, Any]:
    """Describe a worked example."""
    tokens = tuple(example.tokens.split())
    visible = mask_of(example.mask, len(tokens), padded=1)
    x, w_q, w_k, w_v, w_o = (example.numbers()[name] for name in TABLES)
    tables = Tables(tokens, x, w_q, w_k, w_v, w_o, visible, example.heads)
    computed = compute(tables)
    said = {
        "source": "worked",
        "models": [],
        "label": example.label,
        "notice": f"{notice_on_site(example.notice.replace('$', ''))} {_OWN_NUMBERS}",
    }
    checked = f"Checked: NumPy computes the same numbers, to {power_of_ten(computed.difference)}."
    steps = worked_steps(tables, computed, 0, example.columns)
    at = first_place(steps.places, example.step, example.cell)
    drawn = computation(replace(steps, known={**steps.known, "where": "in the app"}))
    return {**said, "prompt": {"text": example.tokens}, "maps": [], "checked": checked, "at": at, "computation": drawn}


def _weight(model: AttentionModel, example: dict[str, Any]) -> dict[str, Any]:
    inspected = inspect_result(model, run_inspectable(model, Prompt(example["text"])))
    attention, place = inspected.trace.encoder, (example["layer"], example["head"])
    inputs = inspected.head("encoder", *place)
    assert inputs is not None
    tokens = tuple(token.text for token in attention.keys)
    link = QueryKey(tokens, tokens, example["query"], example["key"])
    computed = link_steps(inputs, attention, place, link, words=False)
    said = {"source": "model", "models": [model.card.name], "label": f"Model: {example['label']}", "notice": ""}
    checked = AGREES.format(
        name=head_name(*place), model=model.card.name, weight=computed.weight, difference=power_of_ten(computed.difference)
    )
    maps = [{"kind": "encoder", "shape": (attention.n_layers, attention.n_heads)}]
    opened = {"tokens": tokens, "maps": maps, "checked": checked}
    chosen = {name: example[name] for name in ("layer", "head", "query", "key")}
    drawn = {"at": first_place(computed.steps.places), "computation": computation(computed.steps)}
    return {**said, "prompt": {"text": example["text"]}, **opened, "place": chosen, **drawn}


# What the page keeps unasked (`attnviz.pages_and_addresses`).
AMOUNT = Amount(words=15, sentences=1)


# What the address calls the selectors, in their order.
KEYS = ("trained", "last", "mean", "head", "rollout", "first", "random")
OWN = "summarize-en"


def describe_selection(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what the trained selector keeps of a text, and what each of the others would."""
    result = results[0]
    selects = result.card.selects or (result.card.n_layers - 1,) * 2
    described = describe_selectors(result, layer=selects[0], head=None)
    story, more = described[0]
    passage = read_passage(result.prompt.text, result.trace.encoder.keys)
    read = {"sentences": passage.sentences, "selects": selects, "name": result.card.name}
    more |= {"read": read, "rows": [each["row"] for _, each in described]}
    return Described({"encoder": (selects[0], None)}, story, more)


def describe_selectors(result: Result, *, layer: int, head: int | None) -> list[tuple[tuple[Sentence, ...], dict[str, Any]]]:
    """Say and draw what each selector keeps; `layer` and `head` are those chosen."""
    card, described = result.card, []
    passage = read_passage(result.prompt.text, result.trace.encoder.keys)
    rows = selectors(passage, result.trace, selects=card.selects, layer=layer, head=head)
    for key, selector in zip(KEYS, rows, strict=True):
        kept = choose(passage, selector.units, selector.sentences, AMOUNT)
        extract = passage.extract(kept.sentences)
        scores = selector.units - min(float(selector.units.min()), 0.0)
        drawn = kept_passage(passage, kept, scores, None if selector.tokens is None else selector.sentences)
        row = {"key": key, "name": selector.name, "sentences": extract, "words": passage.words(kept.units)}
        shares = [float(f"{each:.6f}") for each in shares_of_heads(result.trace.encoder, passage, kept.units).ravel()]
        facts = ["The summary", card.name, selector.name]
        more = {"answer": {"text": extract, "declined": "", "facts": facts}, "passage": drawn, "row": row, "shares": shares}
        story: tuple[Sentence, ...] = (NO_LOOK,)
        if selector.tokens is not None:
            story = (describe_sentences(passage, kept, selector.sentences), describe_choice(passage, kept, selector.units))
        described.append((story, more))
    return described


def measured_selectors() -> dict[str, Any]:
    """Read the ROUGE-1 of selectors on held-out abstracts, as it was measured, and say what it is."""
    figures = json.loads((assets_folder() / "models" / OWN / "metrics.json").read_text(encoding="utf-8"))
    end = ": ROUGE-1"
    more = "The app also compares a summary of your own: pip install attnviz."
    note = f"{describe_rouge(figures['abstracts'])} {describe_measured(figures)} {more}"
    return {"rouge": {name.removesuffix(end): value for name, value in figures.items() if name.endswith(end)}, "note": note}


def describe_translations(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe the translations of a text, the first of them large."""
    unlike = differences([each.trace.output for each in results])
    matrices = [alignment(each) for each in results]
    aligned = [
        _aligned(slot, result, matrix, opening_cell(matrix, example.get("word", "")), marked)
        for slot, (result, matrix, marked) in enumerate(zip(results, matrices, unlike, strict=True), 1)
    ]
    settings = {"seq": 0, "hero": 1, "open": False, "least": LEAST_WEIGHT, "theme": "auto", "fullScale": True}
    first_rows = [first_row(each.trace.cross, each.draft.written, _reading(each.card)) for each in results]
    ranked = [
        rank_for_cell(
            each.trace.cross,
            each.draft.written,
            WHOLE_WORDS,
            drawn.matrix.rows[drawn.cell[0]] + first,
            drawn.cell,
            _reading(each.card),
        )
        for each, drawn, first in zip(results, aligned, first_rows, strict=True)
    ]
    likely = [
        sentence_parts(describe_likelihood(draft.log_probability, draft.own.log_probability)) if draft.own else None
        for draft in (each.draft for each in results)
    ]
    scores = [describe_score(each.draft.log_probability, each.card.metrics.get("BLEU")) for each in results]
    rows = {"ranked": _by_slot(ranked), "firstRows": _by_slot(first_rows)}
    _, package = alignments(aligned, **settings, **rows, likely=_by_slot(likely), scores=_by_slot(scores))
    story = (describe_alignment(matrices[0]),)
    shapes = [(each.card.n_layers, each.card.n_heads) for each in results]
    return Described({"cross": first_head(results[0].card)}, story, {"shapes": shapes}, {"align": package})


def _by_slot(values: Sequence[Any]) -> dict[int, Any]:
    return {slot: value for slot, value in enumerate(values, 1) if value is not None}


def first_head(card: ModelCard) -> tuple[int, int | None]:
    """Choose the head that is drawn unasked: the supervised one, else the mean of the last layer."""
    return card.supervised_head or (card.n_layers - 1, None)


def alignment(result: Result) -> HeadMatrix:
    """Make the matrix that is drawn unasked: whole words, in the reading of its rows that was measured to be truer."""
    (layer, head), attention = first_head(result.card), read_as(result.trace.cross, result.draft.written, _reading(result.card))
    return head_matrix(attention, layer=layer, head=head, view=WHOLE_WORDS)


def _reading(card: ModelCard) -> Reading:
    return truer(card.metrics, *first_head(card))


def _aligned(
    slot: int, result: Result, matrix: HeadMatrix, cell: tuple[int, int], unlike: tuple[tuple[int, int], ...]
) -> Aligned:
    card = result.card
    return Aligned(
        slot=slot,
        name=card.name,
        translation=result.trace.output,
        matrix=matrix,
        cell=cell,
        place=first_head(card),
        shape=(card.n_layers, card.n_heads),
        is_trained=first_head(card) == card.supervised_head,
        is_given=bool(result.prompt.target),
        unlike=unlike,
    )


Load = Callable[[str], AttentionModel]
# A package that takes more is cut: what a visitor waits for is its first part.
WHOLE_BYTES = 100_000


@dataclass(frozen=True)
class PicturePage:
    """A page whose examples travel: its task, the section of examples.toml, and the models that it asks, side by side."""

    task: Task | Literal["compute"]
    examples: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class SitePicture:
    """An example as it travels: what its JSON file says, and its packages by file name."""

    said: Mapping[str, Any]
    files: Mapping[str, bytes]


def picture_pages(models: tuple[str, ...]) -> tuple[PicturePage, ...]:
    """List the pages with the models of a site that they ask."""
    french = tuple(name for name in models if name.endswith("-en-fr"))
    german = tuple(name for name in models if name.endswith("-en-de"))
    # Its pictures are on every site that is built where the model is installed; to have the model on a site is asked for.
    writers = tuple(name for name in ("smollm2",) if name in models or packaged())
    pages = (
        PicturePage("encode", "encode", tuple(name for name in models if name == "minilm")),
        PicturePage("translate", "translate", french),
        PicturePage("translate", "translate-german", german),
        PicturePage("answer", "answer", tuple(name for name in models if name == "answer-en")),
        PicturePage("compute", "compute", tuple(name for name in models if name == "minilm")),
        PicturePage("summarize", "summarize", tuple(name for name in models if name == "summarize-en")),
        PicturePage("write", "write", writers),
    )
    return tuple(page for page in pages if page.models)


def examples_of(section: str) -> list[dict[str, Any]]:
    """Read a section of assets/examples.toml."""
    return tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))[section]


def pictures(page: PicturePage, load: Load) -> Iterator[SitePicture]:
    """Compute every example of a page."""
    if page.task == "compute":
        said = enumerate(compute_pictures(load(page.models[0]), examples_of("encode")[0]))
        yield from (SitePicture({**_COMPUTED, "name": f"compute-{number}", **each}, {}) for number, each in said)
        return
    for number, example in enumerate(examples_of(page.examples)):
        given = {name: example.get(name) for name in ("pair", "question", "target")}
        results = [shown_result(load, name, page.task, Prompt(example["text"], **given)) for name in page.models]
        yield _picture(f"{page.examples}-{number}", page.task, results, example)


def shown_result(load: Load, name: str, task: Task, prompt: Prompt) -> Result:
    """Return what the app shows of a prompt: the result that travels with it, else what the model computes here."""
    found = find_example("_run", name, prompt, task, NO_EDITS, READING if task == "write" else GREEDY)
    return run_task(load(name), task, prompt) if found is None else found


def _picture(name: str, task: Task, results: Sequence[Result], example: Mapping[str, Any]) -> SitePicture:
    described, trace, maps = _DESCRIBE[task](results, example), results[0].trace, []
    files = {f"{name}.{end}": data for end, data in described.files.items()}
    link = described.more.get("link")
    for attention in trace.maps:
        first = described.first.get(attention.kind, (attention.n_layers - 1, 0))
        opened = (link["layer"], link["head"]) if link else first
        found, packages = map_files(attention, opened, f"{name}-{attention.kind}", described.tables)
        tokens = len(attention.queries), len(attention.keys)
        maps.append(found | {"first": first, "shape": (attention.n_layers, attention.n_heads), "tokens": tokens})
        files |= packages
    models = tuple(result.card.name for result in results)
    said = {
        "name": name,
        "page": task,
        "models": models,
        "label": example["label"],
        "notice": " ".join(_text_notices(task, results)),
        "remark": example["notice"].replace("**", ""),
        **{name: example[name] for name in ("model", "word") if name in example},
        "prompt": _prompt(trace.prompt),
        "output": trace.output,
        "shown": next(iter(described.first)),
        "story": [sentence_parts(each) for each in described.story],
        "maps": maps,
        **described.more,
    }
    return SitePicture(said, files)


def _text_notices(task: Task, results: Sequence[Result]) -> Iterator[str]:
    """Yield what the app says of a text before its picture, as the site's script does of a text that was typed."""
    spoken = []
    for result in results:
        card, trace = result.card, result.trace
        notices = [*text_notices(trace, languages=card.languages, most=card.max_tokens, reads=card.reads)]
        if task == "translate":
            written = () if trace.prompt.target else result.draft.written
            notices += translation_notices(trace, languages=card.languages, written=written)
        spoken.append((card.name, notices))
    return join_notices(spoken)


def map_files(
    attention: AttentionMap, opened: tuple[int, int | None], name: str, tables: Mapping[str, bytes]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Pack a map: how it is found, and its files by name."""
    shown = overview(attention)
    if len(shown.data) <= WHOLE_BYTES:
        return {"kind": attention.kind, "file": f"{name}.pack"}, {f"{name}.pack": _placed(shown.data, attention)}
    shown = overview(attention, limit=0)
    matrix = head_matrix(attention, layer=opened[0], head=opened[1])
    first = {chunk_name(*opened): head_chunk(matrix), **tables}
    files = {f"{name}.pack": _placed(shown.data, attention, first)}
    layers = [f"{name}-{layer}.heads" for layer in range(attention.n_layers)]
    return {"kind": attention.kind, "file": f"{name}.pack", "layers": layers}, files | {
        file: heads_package(shown, attention, {(layer, head): None for head in (*range(attention.n_heads), None)})
        for layer, file in enumerate(layers)
    }


def _placed(package: bytes, attention: AttentionMap, chunks: Mapping[str, bytes] | None = None) -> bytes:
    """Add to a package where its tokens stand, and chunks."""
    header, own = unpack_chunks(package)
    places = {"queries": [_place(each) for each in attention.queries], "keys": [_place(each) for each in attention.keys]}
    return pack_chunks({**header, "places": places, "causal": attention.causal}, {**own, **(chunks or {})})


def _place(token: Token) -> tuple[int, int, int, int | None]:
    return token.start, token.end, token.segment, token.word


def _prompt(prompt: Prompt) -> dict[str, str]:
    given = {name: getattr(prompt, name) for name in ("text", "pair", "question", "target")}
    return {name: text for name, text in given.items() if text}


def _describe_head(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what an example of Encode opens: the link of its most telling word, and the sentences of that head."""
    links = WordLinks(results[0].trace.encoder, View())
    described = _describe_link(links, first_link(links))
    opens = {name: example[name] for name in ("layer", "head", "query", "key")}
    return replace(described, first={"encoder": (opens["layer"], opens["head"])}, more={**described.more, "opens": opens})


def _describe_link(links: WordLinks, link: WordLink, at: tuple[int | None, int | None] = (None, None)) -> Described:
    """Describe a link between words: the cell that stands for it, and the sentences of its head; `at`: its positions."""
    attention = links.attention
    matrix = head_matrix(attention, layer=link.layer, head=link.head, view=View())
    query = links.lens.row_parts[link.query][0] if at[0] is None else at[0]
    columns = range(len(matrix.keys)) if link.key is None else links.lens.column_parts[link.key]
    columns = columns if at[1] is None else [at[1]]
    key = max(columns, key=lambda column: float(matrix.weights[query, column]))
    story = (describe_link(matrix, head_name(link.layer, link.head), (query, key)), describe_head(matrix))
    opened = {"layer": link.layer, "head": link.head, "query": query, "key": key, "isAsked": False, "isLink": False}
    return Described({attention.kind: (link.layer, link.head)}, story, {"link": opened})


def _describe_writing(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what comes next behind every token, and the link from the last one to where the next one stands already."""
    trace = results[0].trace
    links = WordLinks(trace.decoder, View())
    position, earlier = copied_link(trace, len(trace.decoder.queries))
    query, key = links.query_at(position), links.key_at(earlier)
    found = first_link(links, query=query, key=key)
    described = _describe_link(links, found, (position, earlier))
    link = described.more["link"] | {"isAsked": query is not None, "isLink": key is not None}
    # Of so many heads not all travel with the first package: what the word gives in each of them does.
    table = links.row(found.query).astype("<f4").tobytes()
    first: Mapping[str, tuple[int, int | None]] = {trace.decoder.kind: (example.get("layer", 0), example.get("head", 0))}
    more = {"link": link, "writing": writing(trace)}
    return replace(described, first=first, more=more, tables={f"row:{link['query']}": table})


def writing(trace: AttentionTrace) -> dict[str, Any]:
    """Write what a language model says of a text, as models/write.js does: tokens, and what could come behind each of them.

    A candidate is its piece, its text, its label and ln p.
    """
    continuation, tokens, following = continuation_of(trace), text_tokens(trace), []
    for place, scores in enumerate(continuation.log_probabilities.astype(float).round(4).tolist()):
        last = place == len(tokens) - 1
        before = text_written_on(trace)[: None if last else trace.maps[-1].queries[place + 1].start]
        candidates = continuation.next_tokens(place)
        labelled = zip(candidates, candidate_labels(candidates, before), scores, strict=True)
        following.append([(each.piece, each.text, label, score) for each, label, score in labelled])
    return {
        "start": continuation.start,
        "pieces": continuation.pieces,
        "starts": [token.start for token in trace.maps[-1].queries],
        "tokens": [(gap, name, round(share, 5)) for gap, name, share in tokens],
        "next": following,
        "rest": continuation.rest.astype(float).round(4).tolist(),
    }


# Steps have no map that the explorer draws.
_COMPUTED: Mapping[str, Any] = {"page": "compute", "output": "", "shown": "", "story": []}
_DESCRIBE: dict[Task, Callable[[Sequence[Result], Mapping[str, Any]], Described]] = {
    "encode": _describe_head,
    "translate": describe_translations,
    "answer": describe_answers,
    "summarize": describe_selection,
    "write": _describe_writing,
}
