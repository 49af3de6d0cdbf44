"""Claims before they have rows, as columns: words are places in a list, so that claims cost no loop each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.schema import NONE

Array = npt.NDArray[Any]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Made:
    """Claims before they have rows; (c,) each, those of one post together and in order of posts.

    ``post`` is -1 for arguments of the bank, ``strength`` NaN where nobody said. ``text``, ``snippet`` and ``tag`` are
    places in ``words``, in which each text stands once or more; -1 for none.
    """

    words: Sequence[str]
    post: Int64
    proposition: npt.NDArray[np.int16]
    polarity: npt.NDArray[np.int8]
    strength: npt.NDArray[np.float64]
    text: Int64
    snippet: Int64
    tag: Int64

    def texts(self, at: Array) -> list[str]:
        """The claims at these places, in their own words."""
        return [self.words[k] for k in self.text[at].tolist()]


def together(one: Made, two: Made) -> Made:
    """Both, by post; of one post, those of ``one`` first."""
    order = np.argsort(np.r_[one.post, two.post], kind="stable")

    def column(name: str) -> Array:
        return np.concatenate([getattr(one, name), getattr(two, name)])[order]

    def places(name: str) -> Int64:
        later: Int64 = getattr(two, name)
        moved = np.where(later >= 0, later + len(one.words), NONE)
        return np.concatenate([getattr(one, name), moved])[order].astype(np.int64)

    return Made(
        [*one.words, *two.words],
        *(column(name) for name in ("post", "proposition", "polarity", "strength")),
        *(places(name) for name in ("text", "snippet", "tag")),
    )


def text_rows(made: Made, known: Mapping[str, int], n_texts: int) -> tuple[tuple[Int64, Int64, Int64], dict[str, int]]:
    """Rows of texts of ``text``, ``snippet`` and ``tag``, and the texts that are new.

    These are numbered from ``n_texts`` on in the order in which the columns, one after the other, meet them.
    """
    used = np.concatenate([made.text, made.snippet, made.tag])
    used = used[used >= 0]
    row = np.full(len(made.words) + 1, NONE, np.int64)  # the last one stands for no text
    fresh: dict[str, int] = {}
    for place in used[first_places(used)].tolist():
        word = made.words[place]
        row[place] = known[word] if word in known else fresh.setdefault(word, n_texts + len(fresh))
    return (row[made.text], row[made.snippet], row[made.tag]), fresh


def first_places(*columns: Array) -> Int64:
    """Where each different row of columns of one length stands first, ascending.

    Real numbers are compared bit by bit.

    >>> first_places(np.array([3, 1, 3, 1]), np.array([0.5, 0.5, 0.5, 0.25])).tolist()
    [0, 1, 3]
    """
    return np.sort(_unique(columns)[0])


def kinds_of(*columns: Array) -> tuple[Int64, Int64]:
    """:func:`first_places`, and for each row the number, among them, of the row that is equal to it.

    >>> [part.tolist() for part in kinds_of(np.array([7, 2, 7]))]
    [[0, 1], [0, 1, 0]]
    """
    first, inverse = _unique(columns)
    order = np.argsort(first)
    rank = np.empty(first.size, np.int64)
    rank[order] = np.arange(first.size)
    return first[order], rank[inverse]


def _unique(columns: Sequence[Array]) -> tuple[Int64, Int64]:
    """Where each different row stands first, in any order, and the number of each row's own."""
    code, size = np.zeros(columns[0].shape[0], np.int64), 1
    for column in columns:
        part, width = _dense(column)
        code, size = _dense(code * width + part)  # never above the number of rows times a few
    first = np.full(size, NONE, np.int64)
    first[code[::-1]] = np.arange(code.size - 1, -1, -1)  # the earliest is written last
    used = np.flatnonzero(first >= 0)
    number = np.empty(size, np.int64)
    number[used] = np.arange(used.size)
    return first[used], number[code]


def _dense(column: Array) -> tuple[Int64, int]:
    """Numbers from 0 that are equal where the values are, and how many there can be: by a shift, else by a sort."""
    if not column.size:
        return np.empty(0, np.int64), 1
    if column.dtype != np.float64:
        low, high = int(column.min()), int(column.max())
        if high - low <= 4 * column.size + 1024:
            return column.astype(np.int64) - low, high - low + 1
    values, code = np.unique(column.view(np.int64) if column.dtype == np.float64 else column, return_inverse=True)
    return code.astype(np.int64), values.size
