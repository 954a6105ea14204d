"""The heads' shares of what is kept."""

import re

import numpy as np

from attnviz.figures.summary_passage import heads_agreement
from attnviz.figures.theme import DARK


def test_every_head_has_its_share_and_a_place_to_click():
    shares = np.linspace(0, 1, 15).reshape(3, 5)
    drawn = heads_agreement(shares, selected=(2, 1), theme=DARK)
    cells = re.findall(r'data-pick="(\d)\.(\d)" aria-pressed="(\w+)" title="([^"]*)".*?background:(#\w+).*?<span>(\d+)<', drawn)
    assert [(int(layer), int(head)) for layer, head, *_ in cells] == [*np.ndindex(3, 5)]
    for layer, head, pressed, title, colour, figure in cells:
        share = shares[int(layer), int(head)]
        assert title == f"L{layer}·H{head}: {100 * share:.1f}\xa0% to kept words"
        assert (figure, colour) == (f"{100 * share:.0f}", DARK.colour(share))
        assert pressed == str((layer, head) == ("2", "1")).lower()
    # Of the mean of a layer, all of its heads.
    assert re.findall(r'data-pick="([^"]*)" aria-pressed="true"', heads_agreement(shares, selected=(0, None))) == [
        f"0.{head}" for head in range(5)
    ]
