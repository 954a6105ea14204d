"""What stands on the page What matters: what becomes of the output without each word, and the methods that foretell it."""

import html
import re
from collections.abc import Collection, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.matters import (
    BLANKS,
    FIRST_PAIR,
    AttributionReport,
    MaskedOutput,
    Removals,
    WordRemovals,
    in_sentence,
    verdict,
)
from attnviz.analysis.wording import Part, Sentence, counted, quoted
from attnviz.attribution.methods import METHODS, HeadMethod, method_named, titles_of
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.export import matters_report as exported
from attnviz.export.picture import prompt_expression
from attnviz.figures import html as shared
from attnviz.figures.curve import STYLE as CURVE_STYLE
from attnviz.figures.html import sentence_html
from attnviz.figures.matters_text import (
    LOOKED,
    STYLE,
    WordMarks,
    deletion_figure,
    experiment_blocks,
    methods_table,
    shaded_text,
)
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.catalog import CATALOG, HUB
from attnviz.ui.address.address_sync import forget, one_shown, publish, remember, remembered, url_value, value
from attnviz.ui.background.results import computed, is_known
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.frame.sidebar import target_picker, written_language
from attnviz.ui.layout import Markup, checked, escaped, theme
from attnviz.ui.prompt_box import TextBox, examples, long_notice, run_texts, text_box, unrun_notice

FAST = tuple(method.name for method in METHODS.values() if method.speed == "fast")
SLOW = tuple(method.name for method in METHODS.values() if method.speed != "fast")
# What the second box is for, by what the model does.
_SECOND = {"answer": "Question", "encode": "Second text", "translate": "Translation to explain; empty: the model's own"}


def text_boxes(model: str) -> Prompt | None:
    """Ask for what a model reads, a text and what may go with it; None after the page has said what is wrong."""
    known = CATALOG[model].reading_task if model in CATALOG else "translate" if model in HUB["encoder-decoder"] else "encode"
    text, pair = _first_texts(known)
    boxes = [text_box("Text", "Type a text", text)]
    if known in _SECOND:
        # Beside another text the usual one would mean nothing.
        first = pair if remembered("text", text) == text else ""
        boxes.append(TextBox("pair", _SECOND[known], _SECOND[known], first, one_line=True))

    def forget_text() -> None:
        remove_words([])
        forget("about")

    texts = run_texts(boxes, forget_text)
    unrun_notice()
    given, second = texts["text"], texts.get("pair", "")
    long_notice(**{"text": given, {"answer": "question", "translate": "translation"}.get(known, "second_text"): second})
    if known in _SECOND:
        remember("pair", second, pair if given == text else "")
    language = written_language(model)
    if known == "translate":
        return checked(lambda: Prompt(given, target=second or None, language=language), given, second)
    return checked(lambda: Prompt(given, question=second or None, pair=second or None, language=language), given, second)


def _first_texts(task: str) -> tuple[str, str]:
    """Return the texts of a first visit, by what the model does."""
    if task == "answer":
        shown = examples("answer")[0]
        return shown.text, shown.question
    if task == "encode":
        return FIRST_PAIR
    shown = examples("translate" if task == "translate" else "summarize")[0]
    return shown.text, ""


def method_of_seen_head() -> str:
    """Return the head from which somebody came, as an attribution method; "" where there is none."""
    seen = value("seen", "")
    try:
        known = seen if seen and isinstance(method_named(seen), HeadMethod) else ""
    except ModelError:
        known = ""
    publish("seen", known, "")
    return known


def chosen_target(model: str) -> str:
    """Return the part of the output to explain, as the address has it; "" for the first of the model.

    That of another model is forgotten.
    """
    state = st.session_state
    if state.get("about_of", model) != model:
        forget("about", "taken")
    state.about_of = model
    chosen = str(value("about", ""))
    return "" if chosen == state.get("about_first") else chosen


def show_targets(report: AttributionReport) -> None:
    """Offer the parts of the output that can be explained, in the sidebar, once they are known."""
    if report.targets:
        st.session_state.about_first = next(iter(report.targets))
        target_picker(report.targets, "Part of the output", lambda: remove_words([]))


def default_target_button() -> None:
    """Offer the way back from a part that the output does not have."""
    if url_value("about", ""):
        st.button("Back to the default question", icon=":material/undo:", on_click=forget, args=("about",))


def removed_words(report: AttributionReport) -> tuple[int, ...]:
    """Return the places of the words that the person has removed, as the address has them."""
    written = str(value("taken", ""))
    places = {int(part) for part in written.split(".") if part.isdecimal() and len(part) < 6}
    removed = tuple(sorted(place for place in places if place < len(report.words) and place not in report.own))
    publish("taken", ".".join(map(str, removed)), "")
    return removed


def chosen_method(report: AttributionReport, seen: str) -> str:
    """Return the method to show: the chosen one, else the head from which somebody came, else the most faithful fast one."""
    # Chance is there where no method can follow the model.
    ready = [name for name in report.shares if name != "random"] or ["random"]
    # Those that come later do not change what is shown unasked.
    first = [name for name in ready if name in FAST and name in report.figures] or ready
    best = max(first, key=lambda name: report.figures[name].comprehensiveness if name in report.figures else 0.0)
    return one_shown("way", ready, seen if seen in ready else best)


def compared_methods(model: str, prompt: Prompt, target: str, seen: str) -> tuple[AttributionReport | None, bool]:
    """Test the methods, and say whether the slow ones are still to come; None after the page has said why there are none.

    `seen` is the head from which somebody came, one more method. For the slow ones the page waits only if one is chosen.
    """
    fast = (seen, *FAST) if seen else FAST
    if (report := matters(model, prompt, target, fast)) is None:
        return None, False
    has_fast = bool(set(report.shares) - {"random"})
    if SLOW and (value("way") in SLOW or not has_fast or is_known(_matters, model, prompt, target, SLOW)):
        return with_slow_methods(model, prompt, target, report), False
    return report, bool(SLOW)


def with_slow_methods(model: str, prompt: Prompt, target: str, report: AttributionReport) -> AttributionReport:
    """Add the slow methods, for which the page waits, to the report."""
    more = matters_slowly(model, prompt, target, SLOW)
    return report.joined(more) if more else report


def remove_words(places: Sequence[int]) -> None:
    """Removes words, and restores all others; for a callback."""
    st.session_state.taken = ".".join(map(str, places))


# By which name the downloads have what p of the output loses without each word.
DROP = "p-lost"
_REMOVALS = Markup("removals", shared.STYLE + STYLE)
_SHADED = Markup("shaded", STYLE)
_CURVE = Markup("deletion", shared.STYLE + CURVE_STYLE)
_WAYS = Markup("ways", shared.STYLE + STYLE)
_HOW = f"""
- **Drop without its top words**: how far the probability of the output falls without the most important 1, 5, 10, 20
  and 50 % of the words, on average; more is better, and the upright line is chance.
- **Drop with only its top words**: how far it falls when only they stay; less is better (DeYoung et al. 2020).
- **Agreement with removal**: how far the order agrees with leaving one word out, −1 to 1 (Kendall's tau).
- {BLANKS}
- One text proves little, and a text of many blanks is unlike what the model has learned from. `attnviz faithful` measures the
  same over a data set; the page Limits of the documentation has what it found.
"""


def show_experiment(
    report: AttributionReport,
    removals: WordRemovals,
    removed: tuple[int, ...],
    after: MaskedOutput | None,
    looked: str,
    place: DeltaGenerator,
) -> None:
    """Say and draw what the output loses without each word; beside it where attention looked, by the method `looked`."""
    named = LOOKED if looked == "attention" else (looked, f"Where {method_named(looked).title}, looked")
    blocks = experiment_blocks(report, removals, removed, after, looked=named, theme=theme())
    show_blocks(blocks, _REMOVALS, place)
    if removed:
        with st.container(key="desk-taken"):
            st.button("Restore all words", icon=":material/undo:", on_click=remove_words, args=([],))


def show_verdict(report: AttributionReport, method: str) -> None:
    """Say which words the output depends on most by the chosen method, and how faithful that is."""
    sentence = f"{sentence_html(_top_words(report, method))} {html.escape(_tested(report, method))}"
    st.html(f'<p class="verdict" style="--accent:{theme().accent}">{sentence}</p>')


def _tested(report: AttributionReport, method: str) -> str:
    """Say how faithful a method is, compared with chance and with the best other one."""
    figures = report.figures
    # The slow ones come later, unless one of them is looked at: the sentence must not change when they do.
    is_slow = method_named(method).speed != "fast"
    others = [name for name in figures if name != "random" and (is_slow or method_named(name).speed == "fast")]
    best = max(others, key=lambda name: figures[name].comprehensiveness, default="random")
    looked_at = method if method in figures else best
    named = {name: _quoted(in_sentence(method_named(name).title)) for name in figures}
    named[looked_at] = "This method" if looked_at == method else _quoted(method_named(looked_at).title)
    renamed = {named[name]: figure for name, figure in figures.items()}
    return verdict(renamed, named[looked_at], named[best], figures["random"])


def _top_words(report: AttributionReport, method: str) -> Sentence:
    """Say which words the output depends on most, by one method."""
    if method == "random":
        return (Part("No method that was tested can follow this model over this text."),)
    by = _quoted(in_sentence(method_named(method).title))
    words = dict.fromkeys(
        report.words[place]
        for place in report.ranked(method)
        if place not in report.own and report.shares[method][place] > 0 and any(map(str.isalnum, report.words[place]))
    )
    if not words:
        return (Part(f"By {by} it depends on none of the words."),)
    first, *others = [quoted(word) for word in list(words)[:3]]
    rest = [part for place, word in enumerate(others, 2) for part in (Part(" and " if place > len(others) else ", "), word)]
    return Part(f"By {by} it depends most on "), first, *rest, Part(".")


def show_text(report: AttributionReport, method: str, removed: tuple[int, ...]) -> None:
    """Shade the text by one method. A click removes a word, another restores it."""

    def pick(picked: str) -> None:
        if picked.isdecimal():
            remove_words(sorted({*removed} ^ {int(picked)}))

    _SHADED(
        "shaded", shaded_text(report.words, report.shares[method], WordMarks(report.own, removed), theme=theme()), on_pick=pick
    )


def show_methods(place: DeltaGenerator, report: AttributionReport, method: str, waiting: Collection[str]) -> None:
    """List all methods, the most faithful first; a click chooses one. Those `waiting` have their rows already."""

    def pick(picked: str) -> None:
        if picked.startswith("way:"):
            st.session_state.way = picked[4:]

    every = {*report.figures, *report.refused, *waiting}
    # First the head from which somebody came.
    names = [*(every - METHODS.keys()), *(name for name in METHODS if name in every)]
    # One stands in the place of the other: a name stands once in a run.
    with place.container():
        drawn = methods_table(report, titles_of(names), chosen=method, waiting=waiting, theme=theme())
        _WAYS(f"ways-{len(waiting)}", drawn, on_pick=pick)


def show_curve(curve: Removals, method: str) -> None:
    """Draw how p(output) falls as words are removed in the order of the chosen method."""
    title = in_sentence(method_named(method).title)
    st.subheader("Probability of the output as words are removed", anchor=False)
    st.caption(f"Removed in the order of {escaped(title)}; the further apart the two lines are, the better the order.")
    _CURVE("curve", deletion_figure(curve, title, theme=theme()))


def explain_numbers() -> None:
    """Explain what the numbers are, and how much to trust them."""
    st.subheader("How to read this", anchor=False)
    st.markdown(_HOW)


def download_buttons(
    model: str, prompt: Prompt, target: str, report: AttributionReport, method: str, curve: Removals | None
) -> None:
    """Offer the text by the chosen method and all methods as a drawing, their numbers, and the Python.

    `method` is one of the report's, or `DROP`: what p of the output loses without each word.
    """
    about = f", target={target!r}" if target else ""
    if method == DROP:
        lines = [
            f"removals = av.word_removals(av.load({model!r}), {prompt_expression(prompt)}{about})",
            "print(removals.before, removals.without)",
        ]
    else:
        lines = [
            f"shares = av.attribute(av.load({model!r}), {prompt_expression(prompt)}, {method!r}{about})",
            "for token, share in zip(shares.tokens, shares.values):",
            '    print(f"{token.text:20} {share:+.3f}")',
        ]
    python = "\n".join(["import attnviz as av", "", *lines, ""])
    name = re.sub(r"[^\w.-]+", "-", f"{model}-matters").strip("-.")
    titles = {DROP: "p lost without each word"} | titles_of({method, *report.figures} - {DROP})
    st.caption("The text, and below it the methods that are compared")
    with st.container(horizontal=True):
        drawing_buttons(name, lambda: exported.draw_attribution(report, method, titles))
        file_button(f"{name}.csv", lambda: exported.shares_csv(report))
        file_button(f"{name}.json", lambda: exported.attribution_json(report, method, curve))
    with st.expander("The same in Python", icon=":material/code:"):
        st.code(python, language="python", wrap_lines=True)


def _quoted(title: str) -> str:
    # In a sentence a comma of its own would end the name.
    return f"“{title}”" if "," in title else title


def _matters(
    model: AttentionModel, progress: Progress, prompt: Prompt, target: str, methods: tuple[str, ...]
) -> AttributionReport:
    """Measure what each word was worth to a target, by these methods."""
    from attnviz.attribution.token_removal import attribution_report

    return attribution_report(model, prompt, target, methods, progress)


# The methods of Matters that take few passes of the model, and those that take many.
matters, matters_slowly = computed(_matters, passes=15), computed(_matters, passes=45)


@partial(computed, passes=45)
def word_removals(model: AttentionModel, progress: Progress, prompt: Prompt, target: str) -> WordRemovals:
    """Measure what becomes of the output without each word."""
    from attnviz.attribution.token_removal import word_removals

    return word_removals(model, prompt, target, progress)


@computed
def without(model: AttentionModel, progress: Progress, prompt: Prompt, target: str, removed: tuple[int, ...]) -> MaskedOutput:
    """Run the model over the text without some words."""
    from attnviz.attribution.token_removal import without_words

    progress(f"Asking {model.card.name} again without {counted(len(removed), 'word')}", None)
    return without_words(model, prompt, target, removed)


@partial(computed, passes=5)
def deletion(
    model: AttentionModel, progress: Progress, prompt: Prompt, target: str, method: str, *, ranked: tuple[int, ...]
) -> Removals:
    """Measure how p of the output falls as words go in the order of a method, which `ranked` has."""
    from attnviz.attribution.token_removal import deletion

    progress(f"Asking {model.card.name} while words go", None)
    return deletion(model, prompt, target, ranked)
