"""Edits in words, with the tokens that they act on."""

from collections.abc import Mapping

from attnviz.analysis.wording import head_name
from attnviz.core.arrays import Kind
from attnviz.core.edits import Edit, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditedRowError, EditError
from attnviz.core.trace import AttentionMap, AttentionTrace, Token

_SET = {"zero": "off", "mean": "at its mean", "uniform": "uniform"}
_KIND: dict[Kind, str] = {"encoder": "encoder ", "decoder": "decoder ", "cross": "cross "}


def describe_edit(edit: Edit, maps: Mapping[Kind, AttentionMap]) -> str:
    """Say what an edit does; where the text has several maps, also in which. A token that is not there is called by its number.

    >>> describe_edit(HeadSet("encoder", 3, 1), {}), describe_edit(LinkCut("encoder", 0, 2, 4, 7), {})
    ('L3·H1 off', 'L0·H2: 4 → 7 cut')
    """
    kind = _KIND[edit.kind] if len(maps) > 1 else ""
    attention = maps.get(edit.kind)
    queries, keys = (attention.queries, attention.keys) if attention else ((), ())
    if isinstance(edit, WordHidden):
        return (
            f"{kind}{_named(keys, edit.key)} hidden in {'every layer' if edit.layer is None else head_name(edit.layer, None)}"
        )
    head = f"{kind}{head_name(edit.layer, edit.head)}"
    if isinstance(edit, HeadSet):
        return f"{head} {_SET[edit.to]}"
    if isinstance(edit, HeadPatched):
        return f"{head} patched from “{edit.text:.40}”"
    link = f"{head}: {_named(queries, edit.query)} → {_named(keys, edit.key)}"
    return f"{link} set to {edit.weight:.3g}" if isinstance(edit, WeightSet) else f"{link} cut"


def _named(tokens: tuple[Token, ...], place: int) -> str:
    return f"“{tokens[place].text}”" if place < len(tokens) else str(place)


def describe_refusal(error: EditError, trace: AttentionTrace) -> str:
    """Say why an edit of a trace cannot be made, with words in the place of numbers where it is about one row."""
    maps = {each.kind: each for each in trace.maps}
    if not isinstance(error, EditedRowError) or error.kind not in maps:
        return str(error)
    return error.named(_named(maps[error.kind].queries, error.query), _named(maps[error.kind].keys, error.key))


def describe_edits(edits: Edits, trace: AttentionTrace) -> dict[str, str]:
    """Say what each edit of a trace does, by its text; the heads of a layer that are all set to the same together.

    >>> import numpy as np
    >>> from attnviz.core.trace import DenseWeights, Prompt
    >>> a = (Token("a", 0, 1),)
    >>> weights = DenseWeights((np.ones((2, 1, 1)),))
    >>> trace = AttentionTrace("mine", Prompt("a"), (AttentionMap("encoder", a, a, weights),))
    >>> describe_edits(Edits.parse("e0.0z,e0.1z,e0k0"), trace)
    {'e0.0z,e0.1z': 'L0 off', 'e0k0': '“a” hidden in L0'}
    """
    maps = {each.kind: each for each in trace.maps}
    layers: dict[tuple, list[HeadSet]] = {}
    for edit in edits.each:
        if isinstance(edit, HeadSet):
            layers.setdefault((edit.kind, edit.layer, edit.to), []).append(edit)
    whole = {key: heads for key, heads in layers.items() if key[0] in maps and 1 < maps[key[0]].n_heads == len(heads)}
    groups = {}
    for (kind, layer, to), heads in whole.items():
        groups[Edits(tuple(heads)).text] = f"{_KIND[kind] if len(maps) > 1 else ''}{head_name(layer, None)} {_SET[to]}"
    alone = [edit for edit in edits.each if edit not in {head for heads in whole.values() for head in heads}]
    return groups | {Edits((edit,)).text: describe_edit(edit, maps) for edit in alone}


def toggled(edits: tuple[Edit, ...], more: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Remove these edits if all of them are there; else add them, each in place of one that it contradicts.

    >>> off = HeadSet("encoder", 3, 1)
    >>> toggled((), (off,)) == (off,), toggled((off,), (off,))
    (True, ())
    """
    if set(more) <= set(edits):
        return tuple(edit for edit in edits if edit not in more)
    changed = {_target(edit) for edit in more}
    return (*(edit for edit in edits if _target(edit) not in changed), *more)


def _target(edit: Edit) -> tuple:
    """Name the head, link or word that an edit changes: two edits of the same one contradict each other."""
    if isinstance(edit, LinkCut | WeightSet):
        return edit.kind, edit.layer, edit.head, edit.query, edit.key
    if isinstance(edit, WordHidden):
        return edit.kind, edit.layer, edit.key
    return edit.kind, edit.layer, edit.head, "head"
