"""The colours of a dark page: bright enough, distinct, and in the order of the light ones."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from plotly.colors import diverging, hex_to_rgb, sequential

import nmtlab
from nmtlab.figures.scheme import DARK, DARK_COLOURS, DARK_SHADES, DARK_SIGNED, GROUND, as_hex
from nmtlab.figures.theme import COLOURS, FAINT

# How a colour is seen without one kind of cone, in linear RGB (Viénot, Brettel and Mollon 1999).
BLIND = {
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "normal": np.eye(3).tolist(),
}


def linear(colour: str) -> np.ndarray:
    parts = np.array(hex_to_rgb(colour)) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Return CIELAB of linear sRGB, D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.clip(to_xyz @ rgb, 0, None) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_lines_and_text_stand_out_on_a_dark_page():
    assert all(contrast(colour, GROUND) >= 3 for colour in (*DARK_COLOURS, DARK[FAINT]))
    assert all(contrast(DARK[colour], GROUND) >= 4.5 for colour in ("#222222", "#444444"))


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("colours", [COLOURS, DARK_COLOURS], ids=["light", "dark"])
def test_colours_differ_for_the_colour_blind(kind, colours):
    seen = [lab(np.array(BLIND[kind]) @ linear(colour)) for colour in colours]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 9


def test_scales_rise_from_the_background_as_the_light_ones_fall():
    light, dark = map(as_hex, sequential.Blues), DARK_SHADES
    assert np.all(np.diff([luminance(colour) for colour in light]) < 0)
    assert np.all(np.diff([luminance(colour) for colour in dark]) > 0)
    middle = len(DARK_SIGNED) // 2
    assert len(DARK_SIGNED) == len(diverging.RdBu)
    signed = [luminance(colour) for colour in DARK_SIGNED]
    assert np.all(np.diff(signed[: middle + 1]) < 0)
    assert np.all(np.diff(signed[middle:]) > 0)


def test_every_colour_that_a_figure_names_has_a_partner_on_dark_pages():
    folder = Path(nmtlab.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "scheme.py"]
    named = {colour for source in sources for colour in re.findall(r'"(#[0-9a-f]{6})"', source)}
    assert named <= DARK.keys()
