"""Figures as values: written into pages as SVG, and as files in formats for papers."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from townsquare.core.words import printable
from townsquare.pages.report.chart import figure_svg, tick
from townsquare.pages.report.theme import color, style

POINTS = 72.0
WIDTH = 420.0
PRINT = 300
"""Dots to an inch in files for print."""
TITLE_LINE = 17.0
"""Points of a line of the title of a figure that stands alone."""
LEGEND_COLUMN, LETTER, BOLD = 140, 6.5, 7.8
"""Points that a name in the legend takes at least, and that a letter takes, there and in a title."""
_UNDATED: dict[str, dict[str, None]] = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
_ALONE = 'xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, Verdana, sans-serif"'


@dataclass(frozen=True)
class Figure:
    """A figure as a value: its data, how they are drawn, and what is said of them.

    Attributes
    ----------
    key : str
        Name of the files, unlike that of any other figure of the page; letters, digits and ``-``.
    caption : str
        What stands above it; untrusted text is escaped by the page.
    data : DataFrame or any
        What is drawn. A frame is also written as CSV where figures become files.
    draw : callable
        Draws ``data`` on the :class:`~townsquare.pages.report.chart.Chart` that it is given first; where there is a
        ``grid``, on an array of them. Colors must be those of :func:`~townsquare.pages.report.theme.color`.
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

    @property
    def svg(self) -> str:
        """The figure by itself, a whole document with its caption as title; equal data give equal text."""
        width, top = f"{self.width:g}", TITLE_LINE * len(self._title) + 4
        whole = f'width="{width}pt" height="{self.height + top:g}pt" viewBox="0 0 {width} {self.height + top:g}"'
        title = "".join(
            f'<text x="4" y="{TITLE_LINE * row - 5:g}" font-size="12" font-weight="bold">{escape(line)}</text>'
            for row, line in enumerate(self._title, 1)
        )
        inner = self._svg(f'y="{top:g}" width="{width}" height="{self.height:g}"')
        return f'<svg {_ALONE} {whole}><rect width="100%" height="100%" fill="{color("paper")}"/>{title}{inner}</svg>'

    @property
    def _title(self) -> list[str]:
        return wrap(printable(self.caption), int(self.width / BOLD)) or [""]

    def inline(self) -> str:
        """Return one ``<svg>`` element for a page, which has its colors and type from there."""
        return self._svg(f'id="{self.key}-figure" class="figure"')

    def _svg(self, attributes: str) -> str:
        label = escape(printable(self.label or self.caption))
        attributes += f' role="img" aria-label="{label}"'
        return figure_svg(lambda axes: self.draw(axes, self.data), self.width, self.height, self.grid, attributes)

    def drawn(self, *kinds: str) -> list[bytes]:
        """Return the figure by itself as ``png`` (300 dots to an inch) or ``pdf``."""
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas

        files = [io.BytesIO() for _ in kinds]
        with rc_context(style()):  # type: ignore[arg-type]  # its stub wants the literal name of every setting
            size = (self.width / POINTS, (self.height + TITLE_LINE * len(self._title)) / POINTS)
            whole = Canvas(figsize=size, dpi=POINTS, layout="constrained")
            heights = [TITLE_LINE * len(self._title), self.height]
            rows: Any = whole.subfigures(2, 1, height_ratios=heights)
            head, made = rows
            head.text(0.01, 0.5, "\n".join(self._title), va="center", fontsize=12, fontweight="bold")
            panels = made.subplots(*(self.grid or (1, 1)), squeeze=False)
            for axes in panels.flat:
                axes.xaxis.set_major_formatter(tick)
                axes.yaxis.set_major_formatter(tick)
            self.draw(panels if self.grid else panels[0, 0], self.data)
            handles, names = panels[0, 0].get_legend_handles_labels()
            if handles:
                column = max(LEGEND_COLUMN, 50 + LETTER * max(map(len, names)))
                columns = max(1, min(int(self.width // column), len(handles)))
                made.legend(handles, names, loc="outside upper left", ncols=columns)
            for kind, file in zip(kinds, files, strict=True):
                whole.savefig(file, format=kind, dpi=PRINT, metadata=_UNDATED[kind])
        return [file.getvalue() for file in files]
