"""Follow graphs from a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from townsquare import files
from townsquare.errors import DataError
from townsquare.registry import did_you_mean

COLUMNS = ("follower", "followed")
MAX_LINES = 2**31 - 1

Int32 = npt.NDArray[np.int32]


def read_edges(path: str, n: int, *, folder: Path | None = None, names: Sequence[str] = ()) -> tuple[Int32, Int32]:
    """Follows among agents 0 to ``n`` - 1 from an edge list.

    Parameters
    ----------
    path : str
        Text with one follow a line, cells separated by comma, semicolon, tab or blank; lines that start with ``#`` are
        skipped. With a header, the columns ``follower`` and ``followed`` are read and others ignored; without one
        there are two columns of row numbers, the follower first.
    n : int
        Number of agents.
    folder : Path, optional
        Looked in before the working directory.
    names : sequence of str, optional
        Names of the agents, row by row; a cell that is none of them must be a row number. Where agents have no names
        and the first cell is a word, all cells are words, and each word is given a row at its first appearance.

    Returns
    -------
    (e,) int32, (e,) int32
        Followers and followed, in the order of the file.

    Raises
    ------
    DataError
        With file, line and column: no such agent, a follow of oneself, a follow twice, a line of another length.
    """
    where = files.find(path, folder)
    rows = _Rows(n, names)
    follower, followed, lines = array("i"), array("i"), array("q")
    for line, pair in _pairs(where):
        a, b = rows.of(pair[0]), rows.of(pair[1])
        if a < 0 or b < 0:
            at = 0 if a < 0 else 1
            place = f"{where}, line {line}, column {COLUMNS[at]!r}"
            raise DataError(place, got=repr(pair[at]), allowed=rows.allowed, do=rows.hint(pair[at]))
        follower.append(a)
        followed.append(b)
        lines.append(line)
    edges = np.array(follower, np.int32), np.array(followed, np.int32)
    _check_distinct(where, *edges, lines, n)
    return edges


def _pairs(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    """(line, (follower, followed)) of every follow in the file."""
    text = files.read_text(path)
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    split = files.separator(first, ",;\t ")
    columns: tuple[int, ...] = ()
    width = 0
    for _, line, raw in files.csv_rows(path, text, split, limit=MAX_LINES):
        if raw[0].startswith("#"):
            continue
        cells = [cell for cell in raw if cell] if split == " " else raw
        if not columns:
            width = len(cells)
            if width == 2 and all(_is_row_number(cell) for cell in cells):
                columns = (0, 1)
            else:
                columns = _header(f"{path}, line {line}", cells)
                continue
        if len(cells) != width:
            raise DataError(f"{path}, line {line}", got=f"{len(cells)} cells", allowed=f"{width} cells")
        yield line, (cells[columns[0]].strip(), cells[columns[1]].strip())
    if not columns:
        raise DataError(str(path), got="no follows", allowed="at least a header")


def _is_row_number(cell: str) -> bool:
    return cell.strip().isdecimal()


def _header(place: str, cells: list[str]) -> tuple[int, int]:
    have = [cell.strip().lower() for cell in cells]
    missing = [column for column in COLUMNS if have.count(column) != 1]
    if missing:
        allowed = "a header with the columns follower and followed, or two columns of row numbers"
        raise DataError(place, got=", ".join(have)[:200], allowed=allowed, do=did_you_mean(missing[0], have))
    return have.index("follower"), have.index("followed")


class _Rows:
    """Rows of agents by what a file calls them."""

    def __init__(self, n: int, names: Sequence[str]) -> None:
        self.n = n
        self.row_of = {name: row for row, name in enumerate(names)}
        self.learns: bool | None = False if names else None

    def of(self, cell: str) -> int:
        """The row, or -1 if there is none."""
        if self.learns is None:
            self.learns = not _is_row_number(cell)
        row = self.row_of.get(cell, -1)
        if row >= 0:
            return row
        if self.learns:
            row = len(self.row_of)
            if not cell or row == self.n:
                return -1
            self.row_of[cell] = row
            return row
        number = int(cell) if cell.isdecimal() and len(cell) < 11 else -1
        return number if number < self.n else -1

    @property
    def allowed(self) -> str:
        """What a cell may be, for errors."""
        if self.learns:
            return f"at most {self.n} different names, as there are {self.n} agents"
        numbers = f"a row number from 0 to {self.n - 1}"
        return f"the name of an agent or {numbers}" if self.row_of else numbers

    def hint(self, cell: str) -> str:
        """The nearest name, looked for among the first 10,000."""
        return "" if self.learns else did_you_mean(cell, list(self.row_of)[:10_000])


def _check_distinct(path: Path, follower: Int32, followed: Int32, lines: array[int], n: int) -> None:
    own = np.flatnonzero(follower == followed)
    if own.size:
        line = lines[int(own[0])]
        raise DataError(f"{path}, line {line}", got="an agent that follows itself", allowed="follows of others")
    pair = follower.astype(np.int64) * n + followed
    order = np.argsort(pair, kind="stable")
    again = order[1:][pair[order][1:] == pair[order][:-1]]
    if again.size:
        at = int(again.min())
        before = int(np.flatnonzero(pair[:at] == pair[at])[0])
        got = f"the follow of line {lines[before]} again"
        do = "remove one of the two lines"
        raise DataError(f"{path}, line {lines[at]}", got=got, allowed="each follow once", do=do)
