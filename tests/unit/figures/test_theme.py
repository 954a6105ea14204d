"""The colours: even steps of lightness, text that can be read, the same colours in every picture."""

import numpy as np
import pytest

from attnviz.figures.theme import DARK, HEAD_COLOURS, LIGHT, Theme, ink_on, relative_luminance, rgb

by_theme = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
WEIGHTS = np.linspace(0, 1, 256)


def luminance(colour: str) -> float:
    """Y of sRGB, IEC 61966-2-1."""
    total = 0.0
    for share, digits in zip((0.2126, 0.7152, 0.0722), (colour[1:3], colour[3:5], colour[5:7]), strict=True):
        channel = int(digits, 16) / 255
        total += share * (channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
    return total


def lightness(colour: str) -> float:
    """L* of CIE 1976, 0 to 100."""
    y = luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > (6 / 29) ** 3 else y * (29 / 3) ** 3


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio"."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def simulated(colour: str, matrix: list[list[float]]) -> str:
    """A colour as it is seen with a missing kind of cone (Machado, Oliveira & Fernandes 2009, severity 1)."""
    channels = np.array(rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    encoded = np.where(seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in encoded)


BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@by_theme
def test_lightness_runs_evenly_from_weak_to_strong(theme: Theme):
    values = np.array([lightness(theme.colour(weight)) for weight in WEIGHTS])
    direction = -1 if theme is LIGHT else 1
    # A step of one level in 256 may be lost to rounding; over any twenty-fifth of the scale it shows.
    assert (direction * (values[10:] - values[:-10]) > 0).all()
    assert (direction * np.diff(values) > -0.5).all()
    straight = np.linspace(values[0], values[-1], 256)
    assert abs(values - straight).max() < 2.5
    assert abs(values[-1] - values[0]) > 75


@by_theme
@pytest.mark.parametrize("matrix", BLINDNESS.values(), ids=BLINDNESS)
def test_colour_blind_eyes_see_the_same_order(theme: Theme, matrix):
    values = np.array([lightness(simulated(theme.colour(weight), matrix)) for weight in WEIGHTS])
    direction = -1 if theme is LIGHT else 1
    assert (direction * (values[13:] - values[:-13]) > 0).all()


@by_theme
def test_text_can_be_read_on_every_weight(theme: Theme):
    assert min(contrast(theme.ink(weight), theme.colour(weight)) for weight in WEIGHTS) >= 4.5


@by_theme
@pytest.mark.parametrize("ground", ["background", "panel"])
def test_text_and_marks_can_be_read_on_the_page(theme: Theme, ground: str):
    for name, least in (("text", 7), ("faint", 4.5), ("accent", 3)):
        assert contrast(getattr(theme, name), getattr(theme, ground)) >= least, name


def test_ink_can_be_read_on_every_grey():
    for level in range(256):
        grey = f"#{level:02x}{level:02x}{level:02x}"
        assert contrast(ink_on(grey), grey) >= 4.5


@by_theme
def test_a_masked_cell_is_no_colour_of_the_scale(theme: Theme):
    distances = [np.abs(np.subtract(rgb(theme.masked), rgb(theme.colour(weight)))).sum() for weight in WEIGHTS]
    assert min(distances) > 20
    assert contrast(theme.masked, theme.colour(0.0)) > 1.2


@by_theme
def test_the_colours_of_a_weight_are_those_of_plotly(theme: Theme):
    scale = theme.plotly_scale
    assert [colour for _, colour in scale] == list(theme.scale)
    np.testing.assert_allclose([stop for stop, _ in scale], np.linspace(0, 1, len(theme.scale)))
    assert theme.lookup.shape == (256, 3)
    for stop, colour in scale:
        # 256 levels meet the stops within half a level.
        assert np.abs(np.subtract(rgb(theme.colour(stop)), rgb(colour))).max() <= 1
    assert (theme.colour(-0.5), theme.colour(1.5)) == (theme.scale[0], theme.scale[-1])


@pytest.mark.parametrize("colour", ["#000000", "#ffffff", "#0a0b0c", "#4f46e5", "#f0e442"])
def test_luminance_is_that_of_the_standard(colour):
    assert relative_luminance(colour) == pytest.approx(luminance(colour), abs=1e-9)


def test_the_heads_have_the_colours_of_okabe_and_ito():
    assert len(set(HEAD_COLOURS)) == 8
    assert {rgb(colour) for colour in HEAD_COLOURS} == {
        (0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167),
    }  # fmt: skip
