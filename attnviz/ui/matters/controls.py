"""What is chosen on the page Matters: the text, the part of its output to explain, a method, and the words that are removed."""

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.matters.faithfulness import AttributionReport
from attnviz.attribution.methods import METHODS, HeadMethod, method_named
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.catalog import CATALOG, HUB
from attnviz.ui.address.address_sync import forget, publish, remember, remembered, url_value, value
from attnviz.ui.address.widgets import dropdown, one_shown
from attnviz.ui.background.shares_and_costs import matters, matters_known, matters_slowly
from attnviz.ui.examples import examples
from attnviz.ui.text_boxes import TextBox, checked_prompt, long_notice, run_texts, text_box, unrun_notice

FAST = tuple(method.name for method in METHODS.values() if method.speed == "fast")
SLOW = tuple(method.name for method in METHODS.values() if method.speed != "fast")
# What the second box is for, by what the model does.
_SECOND = {"answer": "Question", "encode": "Second text", "translate": "Translation to explain; empty: the model's own"}


def text_boxes(model: str) -> Prompt | None:
    """What is typed for a model: a text, and what else it reads; None after the page has said what is wrong."""
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
    long_notice("text", given)
    if known in _SECOND:
        remember("pair", second, pair if given == text else "")
    if known == "translate":
        return checked_prompt(lambda: Prompt(given, target=second or None), given, second)
    return checked_prompt(lambda: Prompt(given, question=second or None, pair=second or None), given, second)


def _first_texts(task: str) -> tuple[str, str]:
    """What stands in the boxes unasked, by what the model does."""
    if task == "answer":
        shown = examples("answer")[0]
        return shown.text, shown.question
    if task == "encode":
        return "A man is playing a guitar on the stage.", "Somebody plays music in front of people."
    shown = examples("translate" if task == "translate" else "summarize")[0]
    return shown.text, ""


def method_of_seen_head() -> str:
    """The head from which somebody came, as an attribution method; "" where there is none."""
    seen = value("seen", "")
    try:
        known = seen if seen and isinstance(method_named(seen), HeadMethod) else ""
    except ModelError:
        known = ""
    publish("seen", known, "")
    return known


def chosen_target(model: str) -> str:
    """The part of the output to explain, as the address has it; "" for the first of the model.

    That of another model is forgotten.
    """
    state = st.session_state
    if state.get("about_of", model) != model:
        forget("about", "taken")
    state.about_of = model
    chosen = str(value("about", ""))
    return "" if chosen == state.get("about_first") else chosen


def target_picker(report: AttributionReport) -> None:
    """The parts of the output that can be explained, in the sidebar, once they are known."""
    if not (options := list(report.targets)):
        return
    st.session_state.about_first = options[0]
    dropdown(
        st.sidebar, "Part of the output", "about", options=options, format_func=lambda name: report.targets[name],
        on_change=remove_words, args=([],), help="Which part of the output to explain.",
    )  # fmt: skip


def default_target_button() -> None:
    """The way back from a part of the output that there is not."""
    if url_value("about", ""):
        st.button("Back to the default question", icon=":material/undo:", on_click=forget, args=("about",))


def removed_words(report: AttributionReport) -> tuple[int, ...]:
    """The places of the words that the person has removed, as the address has them."""
    written = str(value("taken", ""))
    places = {int(part) for part in written.split(".") if part.isdecimal() and len(part) < 6}
    removed = tuple(sorted(place for place in places if place < len(report.words) and place not in report.own))
    publish("taken", ".".join(map(str, removed)), "")
    return removed


def chosen_method(report: AttributionReport, seen: str) -> str:
    """The method whose shares the text has: chosen, else the head from which somebody came, else the most faithful fast one."""
    # Chance is there where no method can follow the model.
    ready = [name for name in report.shares if name != "random"] or ["random"]
    # Those that come later do not change what is shown unasked.
    first = [name for name in ready if name in FAST and name in report.figures] or ready
    best = max(first, key=lambda name: report.figures[name].comprehensiveness if name in report.figures else 0.0)
    return one_shown("way", ready, seen if seen in ready else best)


def compared_methods(model: str, prompt: Prompt, target: str, seen: str) -> tuple[AttributionReport | None, bool]:
    """The methods, tested, and whether the slow ones are still to come; None after the page has said why there are none.

    `seen` is the head from which somebody came, one more method. For the slow ones the page waits only if one is chosen.
    """
    fast = (seen, *FAST) if seen else FAST
    if (report := matters(model, prompt, target, fast)) is None:
        return None, False
    has_fast = bool(set(report.shares) - {"random"})
    if SLOW and (value("way") in SLOW or not has_fast or matters_known(model, prompt, target, SLOW)):
        return with_slow_methods(model, prompt, target, report), False
    return report, bool(SLOW)


def with_slow_methods(model: str, prompt: Prompt, target: str, report: AttributionReport) -> AttributionReport:
    """The report with the slow methods, for which the page waits."""
    more = matters_slowly(model, prompt, target, SLOW)
    return report.joined(more) if more else report


def remove_words(places: Sequence[int]) -> None:
    """Removes words, and restores all others; for a callback."""
    st.session_state.taken = ".".join(map(str, places))
