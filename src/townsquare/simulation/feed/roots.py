"""What stands beside each root in the feeds of a step, once a root: its counts, its labels, its notes to rate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.schema import NONE, NoteStatus, PostKind, Verdict
from townsquare.settings.config import LabelWeight
from townsquare.simulation.feed.candidates import Cards, post_of, root_of
from townsquare.simulation.world import World

Array = npt.NDArray[Any]
_SHOWN = int(NoteStatus.SHOWN)
_COUNTS = ("likes", "dislikes", "shares", "comments", "flags")


class Comments(NamedTuple):
    """Live comments by post, ``ptr`` (posts + 1,) int64, the best first; and how many stand under a post at most."""

    ptr: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    per_post: int


class Roots(NamedTuple):
    """The roots that feeds of this step can show, comments among them, by number.

    ``row`` (k,) int32 is the row of posts of each; ``number`` (posts,) int32 the other way round, -1 for a post that
    can be in no feed.
    """

    row: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]


class Notes(NamedTuple):
    """Notes by root, those that are not shown yet first.

    ``note`` (notes, 2) int32 is the row of each, and its author. ``record`` (k, 6) int32, by number of the root: where
    its notes begin, how many of them are pending, how many there are; ``key`` (k, 3) uint64 is the same memory, the key
    of the root its column 2. Both are empty where there are no notes.
    """

    note: npt.NDArray[np.int32]
    record: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]


@nb.njit(cache=True)
def _number(words: Array, more: Array, comments: Comments, number: Array) -> npt.NDArray[np.int32]:
    n = 0
    for c in range(words.shape[0]):
        r = root_of(words[c, 1])
        if number[r] < 0:
            number[r] = n
            n += 1
        words[c, 1] = np.uint64(post_of(words[c, 1])) | np.uint64(number[r]) << np.uint64(32)
    for x in range(more.shape[0]):
        if number[more[x]] < 0:
            number[more[x]] = n
            n += 1
    if comments.per_post > 0:
        above = n
        for r in range(number.shape[0]):
            if 0 <= number[r] < above:
                for y in range(comments.ptr[r], comments.ptr[r + 1]):
                    if number[comments.row[y]] < 0:
                        number[comments.row[y]] = n
                        n += 1
    out = np.empty(n, np.int32)
    for r in range(number.shape[0]):
        if number[r] >= 0:
            out[number[r]] = r
    return out


def number_roots(deck: Cards, more: npt.NDArray[np.int32], comments: Comments, n_posts: int) -> Roots:
    """Number the roots of cards, ``more`` roots, and the comments that stand under any of them.

    ``deck`` is changed: where a card had the row of its root, it has the number.
    """
    number = np.full(n_posts, NONE, np.int32)
    return Roots(_number(deck.words, more, comments, number), number)


def beside(world: World, roots: Roots, shows_labels: npt.NDArray[np.bool_], weights: LabelWeight) -> dict[str, Array]:
    """Columns of exposures that are functions of the root, and of whether labels are shown with it.

    (k,) each; or (2k,), the first k without labels, where ``shows_labels`` (agents,) says that some are shown them and
    others are not.
    """
    posts, row = world.posts, roots.row
    is_comment = posts["kind"][row] == PostKind.COMMENT
    columns = {"root": row, "under": np.where(is_comment, posts["parent"][row], np.int32(NONE))}
    columns |= {name: posts[name][row] for name in _COUNTS}
    note, verdict = posts["note"][row], posts["verdict"][row]
    weight = np.where(note >= 0, weights.noted, 1.0)
    weight = np.where(verdict == Verdict.FALSE, np.minimum(weight, weights.false), weight)
    labeled = {"verdict": verdict, "note": note, "weight": weight}
    plain = {"verdict": np.zeros_like(verdict), "note": np.full_like(note, NONE), "weight": np.ones_like(weight)}
    if both_kinds(shows_labels):
        twice = {name: np.concatenate([column, column]) for name, column in columns.items()}
        return twice | {name: np.concatenate([plain[name], labeled[name]]) for name in plain}
    return columns | (labeled if shows_labels.any() else plain)


def both_kinds(shows_labels: npt.NDArray[np.bool_]) -> bool:
    """Whether some are shown labels and others are not."""
    return bool(shows_labels.any() and not shows_labels.all())


@nb.njit(cache=True)
def _by_root(post: Array, author: Array, status: Array, number: Array, record: Array, note: Array) -> int:
    """Put the notes of roots that can be shown in the order of these, pending ones first; returns how many."""
    for x in range(post.shape[0]):
        k = number[post[x]]
        if k >= 0:
            record[k, 1] += status[x] != _SHOWN
            record[k, 2] += 1
    at = 0
    for k in range(record.shape[0]):
        record[k, 0] = at
        at += record[k, 2]
    done = np.zeros((record.shape[0], 2), np.int32)  # pending, shown
    for x in range(post.shape[0]):
        k = number[post[x]]
        if k < 0:
            continue
        shown = np.int64(status[x] == _SHOWN)
        place = record[k, 0] + shown * record[k, 1] + done[k, shown]
        done[k, shown] += 1
        note[place, 0], note[place, 1] = x, author[x]
    return at


def notes_of(world: World, roots: Roots) -> Notes:
    """The notes of the roots that feeds can show."""
    post, author, status = (world.notes[name] for name in ("post", "author", "status"))
    k = roots.row.size if post.size else 0
    record, note = np.zeros((k, 6), np.int32), np.empty((post.size, 2), np.int32)
    key = record.view(np.uint64)
    key[:, 2] = world.posts["key"][roots.row[:k]]
    n = _by_root(post, author, status, roots.number, record, note) if k else 0
    return Notes(note[:n], record, key)
