"""Short HTML of results for notebooks: a heading, sentences, facts and one small figure, with all texts escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from html import escape

WIDTH, ROW, LABEL = 460, 20, 190
COLORS = "#2f6f9f", "#b5651d", "#4b7f52", "#8a4f7d", "#6b6b6b"
"""Each line also has its name at its end."""


@singledispatch
def html_of(value: object) -> str:
    """Return a result as HTML. :mod:`townsquare.experiments.verbs` registers runs and comparisons."""
    return f"<pre>{escape(repr(value))}</pre>"


@singledispatch
def text_of(value: object) -> str:
    """Return a result as lines of text."""
    return repr(value)


def card(title: str, sentences: Sequence[str], facts: Mapping[str, object], figure: str = "") -> str:
    """Return the HTML of a result; ``figure`` is SVG, everything else is escaped.

    >>> card("A <run>", ["It moved."], {"seed": 1})
    '<div><b>A &lt;run&gt;</b><p>It moved.</p><small>seed 1</small></div>'
    """
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    known = " · ".join(escape(f"{name} {value}") for name, value in facts.items())
    return f"<div><b>{escape(title)}</b>{paragraphs}{figure}<small>{known}</small></div>"


def bars(label: str, rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Draw one row per ``(name, value, low, high)``: a point, and a line from low to high, around a line at 0.

    NaN ends draw a line from 0 to the value.
    """
    if not rows:
        return ""
    ends = [(low, high) if low == low and high == high else (0.0, value) for _, value, low, high in rows]
    largest = max((abs(end) for pair in ends for end in pair), default=0.0) or 1.0
    middle, scale = (LABEL + WIDTH - 60) / 2, (WIDTH - LABEL - 80) / 2 / largest
    drawn = [f'<line x1="{middle}" x2="{middle}" y1="0" y2="{ROW * len(rows)}" stroke="#999"/>']
    for at, ((name, value, *_), (low, high)) in enumerate(zip(rows, ends, strict=True)):
        y = ROW * at + ROW / 2
        left, right, point = (middle + scale * x for x in (low, high, value))
        drawn += [
            _text(LABEL - 8, y + 4, name if len(name) <= 30 else f"{name[:29]}…", anchor="end"),
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{COLORS[0]}" stroke-width="2"/>',
            f'<circle cx="{point:.1f}" cy="{y}" r="4" fill="{COLORS[0]}"/>',
            _text(WIDTH - 56, y + 4, f"{value:+.3g}"),
        ]
    return _svg(label, ROW * len(rows), drawn)


def lines(label: str, courses: Mapping[str, Sequence[float]]) -> str:
    """Draw one line per course, from its first value to its last, with its name and last value at its end."""
    courses = {name: course for name, course in courses.items() if course and math.isfinite(course[-1])}
    values = [value for course in courses.values() for value in course if value == value]
    if not values:
        return ""
    low, high = min(values), max(values)
    height = max(60, ROW * len(courses))
    across, up = (WIDTH - LABEL - 20), (height - 20) / ((high - low) or 1.0)
    drawn, taken = [], -float(ROW)
    for at, (name, course) in enumerate(sorted(courses.items(), key=lambda item: -item[1][-1])):
        color = COLORS[at % len(COLORS)]
        points = [(10 + across * k / max(1, len(course) - 1), 10 + up * (high - y)) for k, y in enumerate(course)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points if y == y)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        taken = max(points[-1][1] + 4, taken + 14)
        drawn.append(_text(across + 16, taken, f"{name} {course[-1]:+.3g}", color=color))
    return _svg(label, max(height, int(taken) + 6), drawn)


def _text(x: float, y: float, text: str, anchor: str = "start", color: str = "currentColor") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


def _svg(label: str, height: int, drawn: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
    return f'<figure style="margin:0">{head} aria-label="{escape(label)}">{"".join(drawn)}</svg></figure>'
