"""The style sheets that stand together on a page of the site."""

import re
from collections import Counter

from attnviz.live.site import STYLES

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# What stands before a block, but neither a condition on blocks nor a moment of an animation.
SELECTORS = re.compile(r"([^{};]+)\{")
OUTER_COMMA = re.compile(r",(?![^(]*\))")
# Every page's markup may stand in a `.markup`: the class behind it is what a rule is about.
FIRST_CLASS = re.compile(r"(?:\.markup )?\.([\w-]+)")
CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")


def classes_twice(page: str, *figures: str) -> set[str]:
    """The classes that two sheets have rules for: one that begins a selector of a sheet is that sheet's own, and no figure has
    it in another; the page's rules may name a figure's parts behind a place of its own."""
    sheets = [selectors_of(each) for each in figures]
    named = [{name for each in sheet for name in CLASS.findall(each)} for sheet in sheets]
    # Of the page's rules the place counts, which stands first.
    sheets.append(selectors_of(page))
    named.append({name for each in sheets[-1] for name in CLASS.findall(each.split()[0])})
    own = [{match[1] for each in sheet if (match := FIRST_CLASS.match(each))} - {"markup"} for sheet in sheets]
    holders = Counter(name for names in named for name in names)
    return {name for names in own for name in names if holders[name] > 1}


def selectors_of(sheet: str) -> list[str]:
    heads = (head.strip() for head in SELECTORS.findall(COMMENT.sub("", sheet)))
    return [each.strip() for head in heads if not head.startswith("@") for each in OUTER_COMMA.split(head)]


def test_no_sheet_can_reach_what_another_draws():
    *figures, page = STYLES
    assert classes_twice(page, *figures) == set()
    assert "".join(STYLES).count("{") == "".join(STYLES).count("}") > 300


def test_a_class_of_two_sheets_is_found():
    assert not classes_twice("main { margin: 0 }", ".bar { width: 2px }", ".links .line { color: red }")
    assert classes_twice(".note { margin: 0 }", ".text .note { margin: 1px }") == {"note"}
