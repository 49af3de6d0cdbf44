"""Printing: results on stdout, progress and messages on stderr, untrusted text escaped."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from townsquare.core.errors import TownsquareError
from townsquare.core.redact import redacted
from townsquare.core.text_table import Columns, Format, Table, table

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 5
"""Maximum number of skipped rows that a command lists."""
PIPE_WIDTH = 160  # characters: a table that goes into a file is not cut to a terminal that is not there


def safe(text: object, longest: int | None = None) -> str:
    """Return text that cannot control a terminal: on one line, with escapes for unprintable characters.

    >>> safe("red \\x1b[31m alert\\n")
    'red \\\\x1b[31m alert'
    """
    words = " ".join(str(text).split())
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)
    return shown if longest is None or len(shown) <= longest else f"{shown[: longest - 1]}…"


def complain(text: str, kind: str = "error") -> None:
    """Print a message on stderr, without keys and passwords."""
    lines = [safe(line) if not line.startswith(" ") else f"  {safe(line)}" for line in redacted(text).splitlines()]
    print(f"{kind}: " + "\n".join(lines), file=sys.stderr)


def explain(error: TownsquareError) -> None:
    """Print an error: where, what came, what is allowed and what to do, one per line."""
    parts = (("got: ", error.got), ("allowed: ", error.allowed), ("", error.do))
    complain("\n".join([error.where, *(f"  {name}{text}" for name, text in parts if text)]))


def show_json(value: object) -> int:
    """Print one line of JSON on stdout, with null for undefined numbers, and return the exit code 0."""
    from townsquare.core.documents import finite

    print(json.dumps(finite(value)), flush=True)
    return 0


def picked(record: object, *columns: str) -> dict[str, Any]:
    """Return values of a record by name; ``"people=n"`` is its ``n`` under the name ``people``."""
    return {name: getattr(record, value or name) for name, _, value in (text.partition("=") for text in columns)}


def console(*, errors: bool = False) -> Console:
    """Return the console for tables (stdout) or progress (stderr), with markup off."""
    from rich.console import Console

    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def answer(facts: Mapping[str, object], *lines: object, as_json: bool) -> int:
    """Print a result: its facts as JSON, or its lines; return the exit code 0."""
    if as_json:
        return show_json(facts)
    for line in lines:
        print(line)
    return 0


def asked(question: str) -> str:
    """Return the line that a user answers to a question at the terminal."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def show_lines(lines: Sequence[str]) -> None:
    """Print the sentences of an answer, one a line; those that follow from another are indented."""
    for line in lines:
        print(("  " if line.startswith("  ") else "") + safe(line))


def show(caption: str, rows: Any, *columns: Columns, words: Collection[str] | None = None) -> None:
    """Print a table; the parameters are those of :func:`townsquare.core.text_table.table`."""
    show_table(table(caption, rows, *columns, words=words))


def show_table(shown: Table, *, with_note: bool = False) -> None:
    """Print a table of escaped cells, words left and numbers right; narrow terminals cut no word."""
    from rich import box, table
    from rich.text import Text

    title = Text(safe(shown.caption)) if shown.caption else None
    made = table.Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for at, heading in enumerate(shown.head):
        is_number = at not in shown.words
        side: Any = "right" if is_number else "left"
        made.add_column(Text(safe(heading)), justify=side, no_wrap=is_number, overflow="fold")
    for row in shown.rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    console().print(made)
    if with_note and shown.note:
        print(f"{shown.note}\n")


def list_some(lines: Sequence[str], kind: str, most: int, more: str) -> None:
    """Print the first lines as messages, and the number of ``more``."""
    for line in lines[:most]:
        complain(line, kind=kind)
    if len(lines) > most:
        complain(f"{len(lines) - most:,} {more}", kind=kind)


def cut(longest: int) -> Format:
    """Return a format that cuts texts."""
    return partial(safe, longest=longest)


def digits(most: int, *, sign: bool = False) -> Format:
    """Return a format for numbers with a maximum number of digits."""
    return partial(signed if sign else number, digits=most)


def known(format_: Format) -> Format:
    """Return a format that leaves cells without a value empty."""
    return lambda value: "" if value is None else format_(value)


exact = "{:+.6f}".format
"""A format for contributions to a stance."""


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as tables show it, with a dash for undefined.

    >>> number(1234.5678), number(0.00012345), number(float("nan")), number(3.0)
    ('1,235', '0.0001234', '–', '3')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def signed(value: float | None, digits: int = 4) -> str:
    """Return a number with a plus sign if positive."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 else text
