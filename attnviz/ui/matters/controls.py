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
from attnviz.ui.background.shares_and_costs import matters, matters_known, matters_slowly, untested
from attnviz.ui.examples import examples
from attnviz.ui.text_boxes import TextBox, checked_prompt, long_notice, run_texts, text_box, unrun_notice

FAST = tuple(method.name for method in METHODS.values() if method.speed == "fast")
SLOW = tuple(method.name for method in METHODS.values() if method.speed != "fast")
# Of a longer text every pass of a model takes long.
LONG_CHARACTERS = 1_500
# What the second box is for, by what the model does.
_SECOND = {"answer": "Question", "encode": "Second text", "translate": "Translation to explain; empty: the model's own"}


def text_boxes(model: str) -> Prompt | None:
    """What is typed for a model: a text, and what else it reads; None after the page has said what is wrong."""
    known = CATALOG[model].task if model in CATALOG else "translate" if model in HUB["encoder-decoder"] else "encode"
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


def chosen_method(report: AttributionReport) -> str:
    """The method whose shares the text has: chosen, else the head from which somebody came, else attention."""
    # Chance is there where no method can follow the model.
    ready = [name for name in report.shares if name != "random"] or ["random"]
    heads = [name for name in ready if name not in METHODS]
    first = next(name for name in (*heads, "attention", ready[0]) if name in ready)
    return one_shown("way", ready, first)


def is_long(text: str) -> bool:
    """Whether so much is computed for a text that two methods are shown before the others are run."""
    return len(text) > LONG_CHARACTERS


def method_groups(text: str, seen: str) -> list[tuple[str, ...]]:
    """The methods in the order in which they are run: of a long text two of them alone come first, the slow ones last.

    `seen` is the head from which somebody came.
    """
    fast = (seen, *FAST) if seen else FAST
    first = tuple(name for name in fast if name in (seen, "attention", "random")) if is_long(text) else fast
    return [group for group in (first, tuple(name for name in fast if name not in first), SLOW) if group]


def first_report(
    model: str, prompt: Prompt, target: str, groups: list[tuple[str, ...]]
) -> tuple[AttributionReport | None, list[tuple[str, ...]]]:
    """What the page shows before it waits for more methods, and the groups of those; None after the page has said why not.

    A group that has been run is shown at once, and one is waited for if the chosen method is in it. Of a long text the
    shares of the first methods come before any test of them.
    """
    first, *others = groups
    if is_long(prompt.text) and value("way") in (None, "", *first) and not matters_known(model, prompt, target, first):
        shares = untested(model, prompt, target, first)
        if shares is None or set(shares.shares) - {"random"}:
            return shares, groups
    if (report := matters(model, prompt, target, first)) is None:
        return None, []
    way, left = value("way"), []
    # Where attention cannot be the first choice, the others say which is.
    is_enough = "attention" in report.shares
    for group in others:
        is_due = way in group or (group is not SLOW and not is_enough) or matters_known(model, prompt, target, group)
        if not is_due:
            left.append(group)
        elif more := matters_slowly(model, prompt, target, group):
            report = report.joined(more)
    return report, left


def next_report(
    model: str, prompt: Prompt, target: str, report: AttributionReport, left: list[tuple[str, ...]]
) -> tuple[AttributionReport, list[tuple[str, ...]]]:
    """The report with the next group of methods, which is waited for, and the groups that are left then."""
    group, *left = left
    more = matters_slowly(model, prompt, target, group)
    return (report.joined(more) if more else report), left


def remove_words(places: Sequence[int]) -> None:
    """Removes words, and restores all others; for a callback."""
    st.session_state.taken = ".".join(map(str, places))
