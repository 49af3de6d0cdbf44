"""Colors and type of the pages, in light and in dark, for HTML and figures alike.

A color has a role. Figures are drawn in the light colors; :mod:`townsquare.pages.report.svg` marks each one with
its role, and the style sheet gives the role its color in the reader's scheme. Blue and vermilion are told
apart by color-blind readers (Okabe and Ito 2008, "Color universal design"), and no figure tells true from
false by color alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib import rc_params_from_file


@dataclass(frozen=True, slots=True)
class Shade:
    """One role's color as ``#rrggbb``, on light paper and on dark."""

    light: str
    dark: str


SHADES: dict[str, Shade] = {
    "paper": Shade("#ffffff", "#15181c"),
    "ink": Shade("#1b1f24", "#e7eaee"),
    "muted": Shade("#59636e", "#a3adb8"),
    "line": Shade("#d4dae1", "#39414b"),
    "soft": Shade("#f3f5f8", "#1e2329"),
    "true": Shade("#0b69a3", "#62b5ee"),
    "false": Shade("#c2410c", "#ff9566"),
    "unknown": Shade("#6e7781", "#8d97a3"),
    "first": Shade("#0e7490", "#4fc3d9"),
    "second": Shade("#a21caf", "#e07bea"),
    "third": Shade("#4d7c0f", "#9fd356"),
    "fourth": Shade("#b45309", "#f5b14c"),
    "fifth": Shade("#4338ca", "#9d97ff"),
    "sixth": Shade("#be123c", "#ff7d95"),
    "warn": Shade("#8a5a00", "#f0c05a"),
    "warn-paper": Shade("#fff7e0", "#2b2412"),
}

SERIES = ("first", "second", "third", "fourth", "fifth", "sixth")
"""Roles of things without a meaning of their own: propositions, arms."""

_SETTINGS_OF_COLOR = {
    "paper": ("figure.facecolor", "savefig.facecolor", "axes.facecolor"),
    "ink": ("axes.labelcolor", "text.color", "xtick.labelcolor", "ytick.labelcolor"),
    "muted": ("axes.edgecolor", "xtick.color", "ytick.color"),
    "line": ("grid.color",),
}


def color(role: str) -> str:
    """The light color of a role, ``#rrggbb``: what figures are drawn in."""
    return SHADES[role].light


@cache
def style() -> dict[str, object]:
    """Settings of matplotlib for every figure: those of ``templates/figure.mplstyle``, and the colors."""
    path = Path(__file__).parent / "templates" / "figure.mplstyle"
    settings: Any = rc_params_from_file(path, use_default_template=False)
    return {**settings, **{name: color(role) for role, names in _SETTINGS_OF_COLOR.items() for name in names}}


def custom_properties(scheme: str) -> str:
    """CSS declarations ``--role: #rrggbb`` of one scheme, ``"light"`` or ``"dark"``."""
    return " ".join(f"--{role}: {getattr(shade, scheme)};" for role, shade in SHADES.items())
