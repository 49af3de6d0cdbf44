"""A feed as a language model reads it: one JSON object a row, with short ids that only hold on this page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from townsquare.core.coded_rows import column_at
from townsquare.core.schema import NONE, PostType, Slot, Verdict
from townsquare.models.prompts.filling import quoted
from townsquare.simulation.policies.llm_room import KEPT, LEAST, Size, longest_texts
from townsquare.simulation.views import Views

_STEP = 4
"""Lengths to which texts are cut are multiples of it, so that what was cut for one agent serves another."""
_READ = ("author", "slot", "offered", "root", "likes", "shares", "comments", "flags", "verdict", "note")
_BLOCK = 256
"""Agents whose rows are looked up together: a column of a feed is made when it is asked for."""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """One agent's feed, as much of it as stands in its prompt.

    Attributes
    ----------
    text : str
        The rows, one a line.
    ids : dict of str to int
        Id on the page -> row of ``Views.rows``: ``p3`` a post, ``c4`` a comment.
    notes : dict of str to int
        ``n1`` -> row of ``Views.rows`` whose offered note it is.
    strangers, friends : list of str
        Ids of rows whose author the agent does not follow, and follows; of each author the first.
    shortened : int
        Texts that were cut.
    comments_out, posts_out : list of int
        Rows of ``Views.rows`` that found no room: the agent has not seen them.
    """

    text: str
    ids: dict[str, int]
    notes: dict[str, int]
    strangers: list[str]
    friends: list[str]
    shortened: int = 0
    comments_out: list[int] = field(default_factory=list)
    posts_out: list[int] = field(default_factory=list)

    def ids_of(self, letter: str) -> list[str]:
        """Ids of posts (``p``) or comments (``c``)."""
        return [name for name in self.ids if name[0] == letter]


class Said(NamedTuple):
    """What a row says of its root: the same for all who are shown it, with the same counts and labels.

    Attributes
    ----------
    author : int
        Who wrote it.
    by : str
        JSON of that.
    texts : tuple of (str, int)
        Keys, and rows of texts.
    tail : str
        JSON of what follows them.
    whole : str
        JSON of texts and tail, where texts are as long as they may be.
    whole_from : int
        Length of texts from which on they stand as in ``whole``.
    size : Size
        Of all of it, with the end of its line.
    kept : int
        The size where no text is longer than ``KEPT``.
    """

    author: int
    by: str
    texts: tuple[tuple[str, int], ...]
    tail: str
    whole: str
    whole_from: int
    size: Size
    kept: int


class Row(NamedTuple):
    """A row of a feed before its texts are cut; ``head`` is its JSON up to the texts."""

    at: int
    name: str
    author: int
    note: str
    head: str
    said: Said

    @property
    def is_comment(self) -> bool:
        return self.name[0] == "c"

    @property
    def size(self) -> Size:
        return Size(len(self.head) + self.said.size.bare, self.said.size.texts)


class Shown(NamedTuple):
    """Columns of the rows of some agents: author, slot, note offered, and all that decides what a row says."""

    author: list[int]
    slot: list[int]
    offered: list[int]
    key: list[tuple[int, ...]]

    def part(self, lo: int, hi: int) -> Shown:
        """Some of the rows."""
        return Shown(self.author[lo:hi], self.slot[lo:hi], self.offered[lo:hi], self.key[lo:hi])


class Rows:
    """The rows of one agent's feed, in its order. Comments are put into words only as far as there is room for them."""

    def __init__(self, lo: int, shown: Shown, make: Callable[[int, int, str, Shown], Row]) -> None:
        self._lo, self._shown, self._make = lo, shown, make
        self._posts = [i for i, slot in enumerate(shown.slot) if slot != Slot.COMMENT]
        self._comments = [i for i, slot in enumerate(shown.slot) if slot == Slot.COMMENT]
        offers = accumulate(offered != NONE for offered in shown.offered)
        self._notes = [f"n{n}" if of != NONE else "" for n, of in zip(offers, shown.offered, strict=True)]
        self._made: list[Row | None] = [None] * len(shown.slot)

    def __bool__(self) -> bool:
        return bool(self._made)

    def fit(self, room: int) -> bool:
        """Whether all of them fit with texts as long as they may be."""
        for i in (*self._posts, *self._comments):
            row = self._row(i)
            room -= len(row.head) + len(row.said.whole) + 1
            if room < 0:
                return False
        return True

    def first(self, room: int | None) -> list[Row]:
        """All posts, and the first comments that fit beside them where no text is longer than ``KEPT``."""
        if room is None:
            return [self._row(i) for i in range(len(self._made))]
        kept = list(self._posts)
        left = room - sum(self._kept(i) for i in kept)
        for i in self._comments if left > 0 else ():
            left -= self._kept(i)
            if left < 0:
                break
            kept.append(i)
        return [self._row(i) for i in sorted(kept)]

    def comments_beyond(self, kept: list[Row]) -> list[int]:
        """Rows of ``Views.rows`` of the comments that are not kept."""
        return [self._lo + i for i in self._comments[sum(row.is_comment for row in kept) :]]

    def _kept(self, i: int) -> int:
        row = self._row(i)
        return len(row.head) + row.said.kept

    def _row(self, i: int) -> Row:
        row = self._made[i]
        if row is None:
            row = self._made[i] = self._make(self._lo, i, self._notes[i], self._shown)
        return row


class FeedPages:
    """The pages of one batch of agents; each is made when it is asked for.

    Parameters
    ----------
    views : Views
    longest : int
        Characters of a text at most.
    """

    def __init__(self, views: Views, longest: int) -> None:
        self._views, self._longest = views, longest
        self._indptr: list[int] = views.indptr.tolist()
        self._block: tuple[int, Shown] = (-1, Shown([], [], [], []))
        self._follows = views.followed_authors()
        self._said = cache(self._say)
        self._called = cache(lambda agent: quoted(views.called(agent)))
        self._text = cache(lambda row, longest: _cut(views.text(row), longest))

    def rows(self, k: int) -> Rows:
        """The rows of the agent at place ``k``."""
        first = k - k % _BLOCK
        if self._block[0] != first:
            self._block = first, self._shown(first, min(first + _BLOCK, len(self._indptr) - 1))
        lo, hi, start = self._indptr[k], self._indptr[k + 1], self._indptr[first]
        return Rows(lo, self._block[1].part(lo - start, hi - start), self._row)

    def page(self, rows: Rows, room: int | None) -> FeedPage:
        """As much of these rows as fits ``room`` characters; all of them for None."""
        longest, comments_out, posts_out = self._longest, list[int](), list[int]()
        if room is None:
            kept = rows.first(None)
        else:
            kept = rows.first(room)
            comments_out = rows.comments_beyond(kept)
            longest = self._length(kept, room)
            while kept and longest < LEAST:
                kept, posts_out = kept[:-1], [kept[-1].at, *posts_out]
                longest = self._length(kept, room)
        authors: dict[int, Row] = {}
        for row in kept:
            authors.setdefault(row.author, row)
        friends = {row.name for row in authors.values() if self._follows[row.at]}
        return FeedPage(
            text="\n".join([self._line(row, longest) for row in kept]),
            ids={row.name: row.at for row in kept},
            notes={row.note: row.at for row in kept if row.note},
            strangers=[row.name for row in authors.values() if row.name not in friends],
            friends=[row.name for row in authors.values() if row.name in friends],
            shortened=sum([length > longest for row in kept for length in row.said.size.texts]),
            comments_out=comments_out,
            posts_out=posts_out,
        )

    def _shown(self, first: int, stop: int) -> Shown:
        """The rows of the agents at the places from ``first`` to ``stop``."""
        places = np.arange(self._indptr[first], self._indptr[stop])
        author, slot, offered, *key = (column_at(self._views.rows, name, places).tolist() for name in _READ)
        return Shown(author, slot, offered, list(zip(*key, offered, strict=True)))

    def _length(self, rows: list[Row], room: int) -> int:
        found = longest_texts([row.size for row in rows], room, self._longest)
        return found if found >= self._longest else found - found % _STEP

    def _row(self, lo: int, i: int, note: str, shown: Shown) -> Row:
        """What the agent sees of one row; ``note`` is the id of the note that it is offered with it, "" for none."""
        said = self._said(shown.key[i], note)
        name = f"{'c' if shown.slot[i] == Slot.COMMENT else 'p'}{i + 1}"
        brought = shown.author[i]
        passed_on = f',"passed_on_by":{self._called(brought)}' if brought != said.author else ""
        return Row(lo + i, name, brought, note, f'{{"id":"{name}","by":{said.by}{passed_on}', said)

    def _say(self, key: tuple[int, ...], name: str) -> Said:
        """What is said of a root; ``name`` is the id of the note that is offered with it, "" for none."""
        root, likes, shares, comments, flags, verdict, note, offered = key
        texts = [("text", int(self._views.post("text")[root]))]
        tail = ',"news":true' if self._views.post("type")[root] == PostType.NEWS else ""
        if likes or shares or comments:
            tail += f',"counts":[{likes},{shares},{comments}]'
        if flags and self._views.about.show_flags:
            tail += f',"flags":{flags}'
        if verdict != Verdict.NONE:
            tail += f',"fact_check":"{Verdict(verdict).name.lower()}"'
        if note != NONE:
            texts.append(("note", int(self._views.note("text")[note])))
        if name:
            tail += f',"note_id":"{name}"'
            texts.append(("note_to_judge", int(self._views.note("text")[offered])))
        lengths = tuple(len(self._text(row, self._longest)) for _, row in texts)
        is_cut = any(len(quoted(self._views.text(row))) - 2 > self._longest for _, row in texts)
        size = Size(len(tail) + 2 + sum(len(text) + 6 for text, _ in texts), lengths)
        author = int(self._views.post("author")[root])
        whole_from = self._longest if is_cut else max(lengths)
        whole = self._body(texts, tail, self._longest)
        return Said(author, self._called(author), tuple(texts), tail, whole, whole_from, size, size.at(KEPT))

    def _line(self, row: Row, longest: int) -> str:
        said = row.said
        return row.head + (said.whole if longest >= said.whole_from else self._body(said.texts, said.tail, longest))

    def _body(self, texts: Sequence[tuple[str, int]], tail: str, longest: int) -> str:
        return "".join([f',"{key}":"{self._text(text, longest)}"' for key, text in texts]) + tail + "}"


def _cut(text: str, longest: int) -> str:
    """The beginning of a text, of at most so many characters once it is quoted."""
    whole = quoted(text)[1:-1]
    keep = longest
    while len(whole) > longest and keep > 1:
        keep -= max(1, len(whole) - longest) if keep < longest else 1
        whole = quoted(text[: max(0, keep)] + "…")[1:-1]
    return whole if len(whole) <= longest else "…"
