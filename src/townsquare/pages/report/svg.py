"""Figures as inline SVG that follows the page: its colors in both schemes, its type, its policy on styles.

What matplotlib writes is meant to stand alone. Inside a page its style sheet would hold for everything, its
identifiers would meet those of the next figure, its colors would stay light, and its ``style`` attributes
would be refused by a strict content security policy. So they become presentation attributes and classes by
role.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas

from townsquare.pages.report.theme import SHADES, style
from townsquare.pages.report.words import printable

POINTS = 72.0
WIDTH = 420.0
LEGEND_COLUMN, LETTER = 140, 6.5
"""Points that a name in the legend takes at least, and that a letter takes."""

_ROLE = {shade.light: role for role, shade in SHADES.items()}
_DROPPED = {"metadata", "style"}
_PLACES = {"d", "x", "y", "transform"}
_LONG = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"font(-family|-style|-weight|-variant|-stretch)?$")


@dataclass(frozen=True)
class Figure:
    """A figure as a value: its data, how they are drawn, and what is said of them.

    Attributes
    ----------
    key : str
        Prefix of all identifiers and name of the files, unlike that of any other figure of the page; letters, digits
        and ``-``.
    caption : str
        What stands above it; untrusted text is escaped by the page.
    data : DataFrame or any
        What is drawn. A frame is also written as CSV where figures become files.
    draw : callable
        Draws ``data`` on the axes that it is given first; where there is a ``grid``, on an array of them. Colors
        must be those of :func:`~townsquare.pages.report.theme.color`.
    label : str
        What a screen reader says; by default the caption.
    width, height : float
        Size of the view box; the page scales it between about 0.85 and 1.2.
    grid : (int, int), optional
        Rows and columns of several sets of axes.
    """

    key: str
    caption: str
    data: Any
    draw: Callable[[Any, Any], None]
    label: str = ""
    height: float = 260
    width: float = WIDTH
    grid: tuple[int, int] | None = None

    @cached_property
    def svg(self) -> str:
        """The figure by itself, a whole document; equal data give equal text."""
        return self._saved("svg", metadata={"Date": None, "Creator": None}).decode()

    def png(self) -> bytes:
        """Return the figure in pixels, 180 to an inch."""
        return self._saved("png", dpi=2.5 * POINTS, metadata={"Software": None})

    def inline(self) -> str:
        """Return one ``<svg>`` element for a page."""
        return inline(self.svg, self.key, self.label or self.caption)

    @cached_property
    def _canvas(self) -> Canvas:
        made = Canvas(figsize=(self.width / POINTS, self.height / POINTS), dpi=POINTS, layout="constrained")
        axes = made.add_subplot() if self.grid is None else made.subplots(*self.grid, squeeze=False)
        self.draw(axes, self.data)
        handles, names = made.axes[0].get_legend_handles_labels()
        if handles:
            column = max(LEGEND_COLUMN, 50 + LETTER * max(map(len, names)))
            columns = max(1, min(int(self.width // column), len(handles)))
            made.legend(handles, names, loc="outside upper left", ncols=columns)
        return made

    def _saved(self, kind: str, **options: Any) -> bytes:
        file = io.BytesIO()
        with rc_context(style()):  # type: ignore[arg-type]  # its stub wants the literal name of every setting
            self._canvas.savefig(file, format=kind, **options)
        return file.getvalue()


def inline(text: str, key: str, label: str) -> str:
    """Return Matplotlib's SVG, made fit to stand in a page; see the module."""
    svg = ElementTree.fromstring(text)
    _prune(svg)
    for element in svg.iter():
        element.tag = _local(element.tag)
        _restyle(element)
        _rename(element, key)
    for name in ("width", "height", "version"):
        svg.attrib.pop(name, None)
    svg.attrib |= {"class": "figure", "role": "img", "aria-label": printable(label)}
    return ElementTree.tostring(svg, encoding="unicode")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _prune(parent: ElementTree.Element) -> None:
    for child in list(parent):
        if _local(child.tag) in _DROPPED:
            parent.remove(child)
        else:
            _prune(child)


def _restyle(element: ElementTree.Element) -> None:
    """Turn ``style`` into attributes, add classes for colors with a role, and round coordinates to hundredths."""
    declared = element.attrib.pop("style", "")
    classes = []
    for declaration in filter(None, (part.strip() for part in declared.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in ("fill", "stroke") and value in _ROLE:
            classes.append(f"{name}-{_ROLE[value]}")
        if not _FONT.match(name):
            element.attrib[name] = value
    for name in _PLACES & element.attrib.keys():
        element.attrib[name] = _LONG.sub(lambda number: f"{float(number[0]):.2f}", element.attrib[name])
    if classes:
        element.attrib["class"] = " ".join(classes)


def _rename(element: ElementTree.Element, key: str) -> None:
    """Prefix identifiers and references to them with the key of the figure."""
    for name, value in list(element.attrib.items()):
        if name == "id":
            element.attrib["id"] = f"{key}-{value}"
        elif _local(name) == "href":
            del element.attrib[name]
            element.attrib["href"] = f"#{key}-{value.removeprefix('#')}"
        elif value.startswith("url(#"):
            element.attrib[name] = f"url(#{key}-{value[5:]}"
