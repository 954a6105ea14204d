"""Running models with the edits of the page: each without them first, and with them where there are any."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from attnviz.core.errors import EditError
from attnviz.core.trace import Prompt
from attnviz.models.catalog import Task
from attnviz.models.result import Options, Result
from attnviz.models.translate.draft import GREEDY, DecodingOptions
from attnviz.ui.background.results import run
from attnviz.ui.edit.edits_in_address import Editor, accept, editor, refuse, show_refused


def run_edited(
    name: str, task: Task, prompt: Prompt, *, options: Options = GREEDY, slot: str = ""
) -> tuple[Result, Editor] | None:
    """What the model of that name makes of a prompt with the page's edits, and those; None after the page has said why not.

    A change that the model cannot make is taken back. Where edits of an address cannot be made the model stands as it is, after
    the page has said so.
    """
    if (before := run(name, task, prompt, options=options)) is None:
        return None
    editing = editor(slot, name, prompt)
    try:
        after = run(name, task, prompt, edits=editing.edits, options=options) if editing.edits else None
    except EditError as error:
        if refuse(error, slot, before.trace):
            st.rerun()
        show_refused(error, slot)
        return before, replace(editing, applied=False)
    if after or not editing.edits:
        accept(slot)
    return after or before, replace(editing, applied=after is not None)


def run_side_by_side(
    names: Sequence[str], task: Task, prompt: Prompt, options: Mapping[int, DecodingOptions] | None = None
) -> tuple[dict[int, Result], dict[int, Editor]]:
    """The same for several models, by their slots, which count from 1; without those that make nothing of the prompt."""
    results, editors = {}, {}
    for slot, name in enumerate(names, start=1):
        how = options[slot] if options else GREEDY
        if ran := run_edited(name, task, prompt, options=how, slot=str(slot)):
            results[slot], editors[slot] = ran
    return results, editors
