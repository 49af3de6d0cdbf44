"""Figures as inline SVG that follows the page: its colours in both schemes, its type, its policy on styles.

What matplotlib writes is meant to stand alone. Inside a page its style sheet would hold for everything, its
identifiers would meet those of the next figure, its colours would stay light, and its ``style`` attributes
would be refused by a strict content security policy. So they become presentation attributes and classes by
role.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from townsquare.pages.report.theme import SHADES, style

POINTS = 72.0
WIDTH = 420
"""Width of a panel's view box; the page scales it between about 0.85 and 1.2."""

_ROLE = {shade.light: role for role, shade in SHADES.items()}
_DROPPED = {"metadata", "style"}
_PLACES = {"d", "x", "y", "transform"}
_LONG = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"font(-family|-style|-weight|-variant|-stretch)?$")


def panel(draw: Callable[[Axes], None], key: str, label: str, height: int = 260) -> str:
    """One set of axes as inline SVG.

    Parameters
    ----------
    draw : callable
        Draws on the axes it is given; colours must be those of :func:`~townsquare.pages.report.theme.colour`.
    key : str
        Prefix of all identifiers, unlike that of any other panel of the page; letters, digits and ``-``.
    label : str
        What a screen reader says; untrusted text is escaped.
    height : int
        Height of the view box; its width is ``WIDTH``.

    Returns
    -------
    str
        One ``<svg>`` element; equal input gives equal text.
    """
    with rc_context(style()):  # type: ignore[arg-type]  # its stub wants the literal name of every setting
        figure = Figure(figsize=(WIDTH / POINTS, height / POINTS), dpi=POINTS, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes = figure.axes[0]  # a drawing may have put several in its place
        handles, names = axes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, names, loc="outside upper left", ncols=min(3, len(handles)))
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata=_NO_DATE)
        kept = _KEPT.get()
        if kept is not None:
            pixels = io.BytesIO()
            figure.savefig(pixels, format="png", dpi=2.5 * POINTS, metadata={"Software": None})
            kept[key] = Drawn(text.getvalue(), pixels.getvalue())
    return inline(text.getvalue(), key, label)


_NO_DATE = {"Date": None, "Creator": None}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure by itself: ``svg``, a whole document, and ``png``."""

    svg: str
    png: bytes


_KEPT: ContextVar[dict[str, Drawn] | None] = ContextVar("figures", default=None)


@contextmanager
def kept_figures() -> Iterator[dict[str, Drawn]]:
    """Keep every panel that is drawn meanwhile as a figure by itself, by its key."""
    kept: dict[str, Drawn] = {}
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def inline(text: str, key: str, label: str) -> str:
    """Matplotlib's SVG, made fit to stand in a page; see the module."""
    svg = ElementTree.fromstring(text)
    _prune(svg)
    for element in svg.iter():
        element.tag = _local(element.tag)
        _restyle(element)
        _rename(element, key)
    for name in ("width", "height", "version"):
        svg.attrib.pop(name, None)
    svg.attrib |= {"class": "figure", "role": "img", "aria-label": clean(label)}
    return ElementTree.tostring(svg, encoding="unicode")


def clean(text: str, longest: int = 200) -> str:
    """Text without control characters, which XML may not hold, and cut to a length."""
    kept = "".join(character if character.isprintable() else " " for character in text)
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _prune(parent: ElementTree.Element) -> None:
    for child in list(parent):
        if _local(child.tag) in _DROPPED:
            parent.remove(child)
        else:
            _prune(child)


def _restyle(element: ElementTree.Element) -> None:
    """``style`` to attributes, colours that have a role to classes beside them, places to hundredths of a point."""
    declared = element.attrib.pop("style", "")
    classes = []
    for declaration in filter(None, (part.strip() for part in declared.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in ("fill", "stroke") and value in _ROLE:
            classes.append(f"{name}-{_ROLE[value]}")
        if not _FONT.match(name):
            element.attrib[name] = value
    for name in _PLACES & element.attrib.keys():
        element.attrib[name] = _LONG.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[name])
    if classes:
        element.attrib["class"] = " ".join(classes)


def _rename(element: ElementTree.Element, key: str) -> None:
    """Identifiers, and what points at them, get the panel's key in front."""
    for name, value in list(element.attrib.items()):
        if name == "id":
            element.attrib["id"] = f"{key}-{value}"
        elif _local(name) == "href":
            del element.attrib[name]
            element.attrib["href"] = f"#{key}-{value.removeprefix('#')}"
        elif value.startswith("url(#"):
            element.attrib[name] = f"url(#{key}-{value[5:]}"
