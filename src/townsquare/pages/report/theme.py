"""Colours and type of the pages, in light and in dark, for HTML and figures alike.

A colour has a role. Figures are drawn in the light colours; :mod:`townsquare.pages.report.svg` marks each one with
its role, and the style sheet gives the role its colour in the reader's scheme. Blue and vermilion are told
apart by colour-blind readers (Okabe and Ito 2008, "Color universal design"), and no figure tells true from
false by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shade:
    """One role's colour as ``#rrggbb``, on light paper and on dark."""

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

FIGURE_STYLE: dict[str, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "townsquare",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 12.0,
    "axes.labelsize": 12.0,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "legend.fontsize": 12.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.linewidth": 0.7,
    "lines.linewidth": 2.0,
    "lines.markersize": 4.5,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "legend.frameon": False,
    "legend.borderaxespad": 0.0,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.4,
}
"""Settings of matplotlib for every figure; those with colours are added by :func:`style`."""

_COLOUR_OF_SETTING = {
    "figure.facecolor": "paper",
    "savefig.facecolor": "paper",
    "axes.facecolor": "paper",
    "axes.edgecolor": "muted",
    "axes.labelcolor": "ink",
    "text.color": "ink",
    "xtick.color": "muted",
    "ytick.color": "muted",
    "xtick.labelcolor": "ink",
    "ytick.labelcolor": "ink",
    "grid.color": "line",
}


def colour(role: str) -> str:
    """The light colour of a role, ``#rrggbb``: what figures are drawn in."""
    return SHADES[role].light


def style() -> dict[str, object]:
    """Settings of matplotlib, colours included."""
    return FIGURE_STYLE | {setting: colour(role) for setting, role in _COLOUR_OF_SETTING.items()}


def custom_properties(scheme: str) -> str:
    """CSS declarations ``--role: #rrggbb`` of one scheme, ``"light"`` or ``"dark"``."""
    return " ".join(f"--{role}: {getattr(shade, scheme)};" for role, shade in SHADES.items())
