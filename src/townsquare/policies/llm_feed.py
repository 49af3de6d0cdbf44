"""A feed as a language model reads it: one JSON object a row, with short ids that only hold on this page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from townsquare.policies.llm_room import KEPT, LEAST, Size, longest_texts
from townsquare.prompts.filling import quoted
from townsquare.schema import NONE, PostType, Slot, Verdict
from townsquare.views import Views

_STEP = 4
"""Lengths to which texts are cut are multiples of it, so that what was cut for one agent serves another."""


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
        return [name for name in self.ids if name.startswith(letter)]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a feed before its texts are cut.

    ``head`` is its JSON up to the texts, ``texts`` their keys and rows of texts, ``tail`` what follows them.
    """

    at: int
    name: str
    author: int
    note: str
    head: str
    texts: tuple[tuple[str, int], ...]
    tail: str
    size: Size

    @property
    def is_comment(self) -> bool:
        return self.name.startswith("c")


class Rows:
    """The rows of one agent's feed, in its order. Comments are put into words only as far as there is room for them."""

    def __init__(
        self, lo: int, shown: dict[str, list[Any]], make: Callable[[int, int, str, dict[str, list[Any]]], Row]
    ) -> None:
        is_comment = [slot == Slot.COMMENT for slot in shown["slot"]]
        self._lo, self._shown, self._make = lo, shown, make
        self._posts = [i for i, comment in enumerate(is_comment) if not comment]
        self._comments = [i for i, comment in enumerate(is_comment) if comment]
        offers = accumulate(offered != NONE for offered in shown["offered"])
        self._notes = [f"n{n}" if of != NONE else "" for n, of in zip(offers, shown["offered"], strict=True)]
        self._made: dict[int, Row] = {}

    def __bool__(self) -> bool:
        return bool(self._posts or self._comments)

    def fit(self, longest: int, room: int) -> bool:
        """Whether all of them fit if no text is longer than that."""
        for i in (*self._posts, *self._comments):
            room -= self._row(i).size.at(longest)
            if room < 0:
                return False
        return True

    def first(self, room: int | None) -> list[Row]:
        """All posts, and the first comments that fit beside them where no text is longer than ``KEPT``."""
        if room is None:
            return [self._row(i) for i in sorted((*self._posts, *self._comments))]
        left = room - sum(self._row(i).size.at(KEPT) for i in self._posts)
        kept = list(self._posts)
        for i in self._comments if left > 0 else ():
            left -= self._row(i).size.at(KEPT)
            if left < 0:
                break
            kept.append(i)
        return [self._row(i) for i in sorted(kept)]

    def comments_beyond(self, kept: list[Row]) -> list[int]:
        """Rows of ``Views.rows`` of the comments that are not kept."""
        return [self._lo + i for i in self._comments[sum(row.is_comment for row in kept) :]]

    def _row(self, i: int) -> Row:
        if i not in self._made:
            self._made[i] = self._make(self._lo, i, self._notes[i], self._shown)
        return self._made[i]


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
        self._bounds = list(pairwise(views.indptr.tolist()))
        self._follows = views.followed_authors()
        self._texts: dict[tuple[int, int], str] = {}
        self._names: dict[int, str] = {}

    def rows(self, k: int) -> Rows:
        """The rows of the agent at place ``k``."""
        lo, hi = self._bounds[k]
        shown: dict[str, list[Any]] = {name: np.asarray(self._views.rows[name])[lo:hi].tolist() for name in _READ}
        roots = np.asarray(self._views.rows["root"][lo:hi], np.int64)
        shown |= {f"root_{name}": self._views.post(name)[roots].tolist() for name in ("type", "text", "author")}
        return Rows(lo, shown, self._row)

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
        lines = [self._line(row, longest) for row in kept]
        authors: dict[int, Row] = {}
        for row in kept:
            authors.setdefault(row.author, row)
        friends = {row.name for row in authors.values() if self._follows[row.at]}
        return FeedPage(
            text="\n".join(lines),
            ids={row.name: row.at for row in kept},
            notes={row.note: row.at for row in kept if row.note},
            strangers=[row.name for row in authors.values() if row.name not in friends],
            friends=[row.name for row in authors.values() if row.name in friends],
            shortened=sum(length > longest for row in kept for length in row.size.texts),
            comments_out=comments_out,
            posts_out=posts_out,
        )

    def _length(self, rows: list[Row], room: int) -> int:
        found = longest_texts([row.size for row in rows], room, self._longest)
        return found if found >= self._longest else found - found % _STEP

    def _row(self, lo: int, i: int, note: str, shown: dict[str, list[Any]]) -> Row:
        """What the agent sees of one row; ``note`` is the id of the note that it is offered with it, "" for none."""
        name = f"{'c' if shown['slot'][i] == Slot.COMMENT else 'p'}{i + 1}"
        wrote, brought = shown["root_author"][i], shown["author"][i]
        head = f'{{"id":"{name}","by":{self._called(wrote)}'
        if brought != wrote:
            head += f',"passed_on_by":{self._called(brought)}'
        texts = [("text", shown["root_text"][i])]
        tail = ',"news":true' if shown["root_type"][i] == PostType.NEWS else ""
        if shown["likes"][i] or shown["shares"][i] or shown["comments"][i]:
            tail += f',"counts":[{shown["likes"][i]},{shown["shares"][i]},{shown["comments"][i]}]'
        if shown["verdict"][i] != Verdict.NONE:
            tail += f',"fact_check":"{Verdict(shown["verdict"][i]).name.lower()}"'
        if shown["note"][i] != NONE:
            texts.append(("note", int(self._views.note("text")[shown["note"][i]])))
        if note:
            tail += f',"note_id":"{note}"'
            texts.append(("note_to_judge", int(self._views.note("text")[shown["offered"][i]])))
        bare, lengths = len(head) + len(tail) + 2, []
        for key, row in texts:
            bare += len(key) + 6
            lengths.append(len(self._text(row, self._longest)))
        return Row(lo + i, name, brought, note, head, tuple(texts), tail, Size(bare, tuple(lengths)))

    def _line(self, row: Row, longest: int) -> str:
        texts = "".join(f',"{key}":"{self._text(text, longest)}"' for key, text in row.texts)
        return f"{row.head}{texts}{row.tail}}}"

    def _called(self, agent: int) -> str:
        if agent not in self._names:
            self._names[agent] = quoted(self._views.called(agent))
        return self._names[agent]

    def _text(self, row: int, longest: int) -> str:
        """A text as it stands within quotation marks, ``longest`` characters at most."""
        if (row, longest) not in self._texts:
            self._texts[row, longest] = _cut(self._views.text(row), longest)
        return self._texts[row, longest]


_READ = ("author", "slot", "likes", "shares", "comments", "verdict", "note", "offered")


def _cut(text: str, longest: int) -> str:
    """The beginning of a text, of at most so many characters once it is quoted."""
    whole = quoted(text)[1:-1]
    keep = longest
    while len(whole) > longest and keep > 1:
        keep -= max(1, len(whole) - longest) if keep < longest else 1
        whole = quoted(text[: max(0, keep)] + "…")[1:-1]
    return whole if len(whole) <= longest else "…"
