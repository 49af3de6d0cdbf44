"""Writes a feed for a language model: one JSON object for each row, with short ids that hold on this page only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from townsquare.core.coded_rows import column_at
from townsquare.core.enums import PostType, Slot, Verdict
from townsquare.core.schema import NONE
from townsquare.models.prompts.filling import quoted
from townsquare.simulation.policies.llm_prompt_limit import KEPT, LEAST, Size, longest_texts
from townsquare.simulation.views import Views

_STEP = 4
"""Lengths to which texts are cut are multiples of it, so that what was cut for one agent serves another."""
_READ = ("author", "slot", "offered", "root", "likes", "shares", "comments", "flags", "verdict", "note")
_BLOCK = 256
"""Agents whose rows are looked up together: a column of a feed is made when it is asked for."""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """The part of an agent's feed that is in its prompt.

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
        Rows of ``Views.rows`` that did not fit: the agent has not seen them.
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
        """Return ids of posts (``p``) or comments (``c``)."""
        return [name for name in self.ids if name[0] == letter]


class RootText(NamedTuple):
    """What a row says of its root: the same for all readers who see it with the same counts and labels.

    Attributes
    ----------
    author : int
        Who wrote it.
    by : str
        JSON of the author's name.
    texts : tuple of (str, int)
        Keys, and rows of texts.
    tail : str
        JSON of what follows them.
    size : Size
        Of all of it, with the end of its line.
    """

    author: int
    by: str
    texts: tuple[tuple[str, int], ...]
    tail: str
    size: Size


class Row(NamedTuple):
    """A row of a feed before its texts are cut; ``head`` is its JSON up to the texts."""

    at: int
    name: str
    author: int
    note: str
    head: str
    root: RootText

    @property
    def is_comment(self) -> bool:
        return self.name[0] == "c"

    @property
    def size(self) -> Size:
        return Size(len(self.head) + self.root.size.bare, self.root.size.texts)


def fits(rows: Sequence[Row], limit: int) -> bool:
    """Return whether all rows fit into ``limit`` characters with texts as long as the settings allow."""
    return sum(row.size.bare + sum(row.size.texts) for row in rows) <= limit


def _selected(rows: list[Row], limit: int) -> list[Row]:
    """Return all posts, and the first comments that fit next to them with no text longer than ``KEPT``."""
    left = limit - sum(row.size.at(KEPT) for row in rows if not row.is_comment)
    comments = [row for row in rows if row.is_comment]
    used = accumulate(row.size.at(KEPT) for row in comments)
    last = max((row.at for row, size in zip(comments, used, strict=True) if size <= left), default=-1)
    return [row for row in rows if not row.is_comment or row.at <= last]


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
        self._block: tuple[int, list[tuple[int, int, tuple[int, ...]]]] = (-1, [])
        self._follows = views.followed_authors()
        self._root_text = cache(self._make_root_text)
        self._called = cache(lambda agent: quoted(views.called(agent)))
        self._text = cache(lambda row, longest: _cut(views.text(row), longest))

    def rows(self, k: int) -> list[Row]:
        """Return the rows of the feed of the agent at position ``k``, in order."""
        first = k - k % _BLOCK
        if self._block[0] != first:
            self._block = first, self._columns(first, min(first + _BLOCK, len(self._indptr) - 1))
        lo, hi, start = self._indptr[k], self._indptr[k + 1], self._indptr[first]
        rows, n_notes = list[Row](), 0
        for i, (author, slot, key) in enumerate(self._block[1][lo - start : hi - start]):
            n_notes += key[-1] != NONE
            note = f"n{n_notes}" if key[-1] != NONE else ""
            root = self._root_text(key, note)
            name = f"{'c' if slot == Slot.COMMENT else 'p'}{i + 1}"
            passed_on = f',"passed_on_by":{self._called(author)}' if author != root.author else ""
            rows.append(Row(lo + i, name, author, note, f'{{"id":"{name}","by":{root.by}{passed_on}', root))
        return rows

    def page(self, rows: list[Row], limit: int | None) -> FeedPage:
        """Return as much of these rows as fits ``limit`` characters; all of them for None."""
        shown, longest, posts_out = rows, self._longest, list[int]()
        if limit is not None:
            shown = _selected(rows, limit)
            longest = self._length(shown, limit)
        comments_out = [row.at for row in rows if row.is_comment][sum(row.is_comment for row in shown) :]
        while limit is not None and shown and longest < LEAST:
            shown, posts_out = shown[:-1], [shown[-1].at, *posts_out]
            longest = self._length(shown, limit)
        authors: dict[int, Row] = {}
        for row in shown:
            authors.setdefault(row.author, row)
        friends = {row.name for row in authors.values() if self._follows[row.at]}
        return FeedPage(
            text="\n".join([self._line(row, longest) for row in shown]),
            ids={row.name: row.at for row in shown},
            notes={row.note: row.at for row in shown if row.note},
            strangers=[row.name for row in authors.values() if row.name not in friends],
            friends=[row.name for row in authors.values() if row.name in friends],
            shortened=sum([length > longest for row in shown for length in row.root.size.texts]),
            comments_out=comments_out,
            posts_out=posts_out,
        )

    def _columns(self, first: int, stop: int) -> list[tuple[int, int, tuple[int, ...]]]:
        """Return author, slot, and all that decides what a row says, of the rows of agents ``first`` to ``stop``."""
        rows = np.arange(self._indptr[first], self._indptr[stop])
        author, slot, offered, *key = (column_at(self._views.rows, name, rows).tolist() for name in _READ)
        return list(zip(author, slot, zip(*key, offered, strict=True), strict=True))

    def _length(self, rows: list[Row], limit: int) -> int:
        length = longest_texts([row.size for row in rows], limit, self._longest)
        return length if length >= self._longest else length - length % _STEP

    def _make_root_text(self, key: tuple[int, ...], name: str) -> RootText:
        """Put a root into words; ``name`` is the id of the note that is offered with it, "" for none."""
        root, likes, shares, comments, flags, verdict, note, offered = key
        texts = [("text", int(self._views.post("text")[root]))]
        tail = ',"news":true' if self._views.post("type")[root] == PostType.NEWS else ""
        if likes or shares or comments:
            tail += f',"counts":[{likes},{shares},{comments}]'
        if flags and self._views.context.show_flags:
            tail += f',"flags":{flags}'
        if verdict != Verdict.NONE:
            tail += f',"fact_check":"{Verdict(verdict).name.lower()}"'
        if note != NONE:
            texts.append(("note", int(self._views.note("text")[note])))
        if name:
            tail += f',"note_id":"{name}"'
            texts.append(("note_to_judge", int(self._views.note("text")[offered])))
        lengths = tuple(len(self._text(row, self._longest)) for _, row in texts)
        size = Size(len(tail) + 2 + sum(len(text) + 6 for text, _ in texts), lengths)
        author = int(self._views.post("author")[root])
        return RootText(author, self._called(author), tuple(texts), tail, size)

    def _line(self, row: Row, longest: int) -> str:
        texts = [f',"{key}":"{self._text(text, longest)}"' for key, text in row.root.texts]
        return f"{row.head}{''.join(texts)}{row.root.tail}}}"


def _cut(text: str, longest: int) -> str:
    """Return the beginning of a text, of at most so many characters once it is quoted."""
    whole = quoted(text)[1:-1]
    keep = longest
    while len(whole) > longest and keep > 1:
        keep -= max(1, len(whole) - longest) if keep < longest else 1
        whole = quoted(text[: max(0, keep)] + "…")[1:-1]
    return whole if len(whole) <= longest else "…"
