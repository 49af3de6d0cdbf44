"""Follow graphs from an edge list: text with one follow a line."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from townsquare.core import files, tabular
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.scenario.graphs.agent_rows import SOURCE, AgentRows, check_distinct, is_row_number
from townsquare.scenario.graphs.contract import Edges

COLUMNS = ("follower", "followed")
KIND = "followed_kind"
MAX_LINES = 2**31 - 1


def read_edge_list(path: Path, n: int, names: Sequence[str] = ()) -> Edges:
    """Return follows among agents 0 to ``n`` - 1 from an edge list.

    Parameters
    ----------
    path : Path
        Text with one follow a line, cells separated by comma, semicolon, tab or blank; lines that start with ``#`` are
        skipped. With a header, the columns ``follower`` and ``followed`` are read and others ignored, as are lines
        with ``source`` in a column ``followed_kind``; without one there are two columns of row numbers, the follower
        first.
    n : int
        Number of agents.
    names : sequence of str, optional
        Names of the agents, row by row; a cell that is none of them must be a row number. Where agents have no names
        and the first cell is a word, all cells are words, and each word is given a row at its first appearance.

    Returns
    -------
    Edges
        In the order of the file.

    Raises
    ------
    DataError
        With file, line and column: no such agent, a follow of oneself, a follow twice, a line of another length.
    """
    rows = AgentRows(n, names)
    follower, followed, lines = array("i"), array("i"), array("q")
    for line, pair in _pairs(path):
        a, b = rows.of(pair[0]), rows.of(pair[1])
        if a < 0 or b < 0:
            at = 0 if a < 0 else 1
            where = f"{path}, line {line}, column {COLUMNS[at]!r}"
            raise DataError(where, got=repr(pair[at]), allowed=rows.allowed, do=rows.hint(pair[at]))
        follower.append(a)
        followed.append(b)
        lines.append(line)
    edges = Edges(np.array(follower, np.int32), np.array(followed, np.int32))
    check_distinct(edges, n, lambda i: f"{path}, line {lines[i]}", lambda i: f"line {lines[i]}")
    return edges


def _pairs(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield (line, (follower, followed)) of every follow in the file."""
    text = files.read_text(path)
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    split = tabular.separator(first, ",;\t ")
    columns: tuple[int, ...] = ()
    width = 0
    for _, line, raw in tabular.csv_rows(path, text, split, limit=MAX_LINES):
        if raw[0].startswith("#"):
            continue
        cells = [cell for cell in raw if cell] if split == " " else raw
        if not columns:
            width = len(cells)
            if width == 2 and all(is_row_number(cell) for cell in cells):
                columns = (0, 1)
            else:
                columns = _header(f"{path}, line {line}", cells)
                continue
        if len(cells) != width:
            raise DataError(f"{path}, line {line}", got=f"{len(cells)} cells", allowed=f"{width} cells")
        follower, followed, *kind = (cells[at].strip() for at in columns)
        if kind != [SOURCE]:
            yield line, (follower, followed)
    if not columns:
        raise DataError(str(path), got="no follows", allowed="at least a header")


def _header(where: str, cells: list[str]) -> tuple[int, ...]:
    """Return the places of the columns that are read; the kind of the followed account is the third, if it is there."""
    have = [cell.strip().lower() for cell in cells]
    missing = [column for column in COLUMNS if have.count(column) != 1]
    if missing:
        allowed = "a header with the columns follower and followed, or two columns of row numbers"
        raise DataError(where, got=", ".join(have)[:200], allowed=allowed, do=did_you_mean(missing[0], have))
    return tuple(have.index(column) for column in (*COLUMNS, KIND) if column in have)
