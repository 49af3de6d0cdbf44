"""A feed as a language model reads it: one JSON object a row, with short ids that only hold on this page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from townsquare.prompts.filling import quoted
from townsquare.schema import NONE, PostType, Slot, Verdict
from townsquare.views import Views


@dataclass(frozen=True, slots=True)
class FeedPage:
    """One agent's feed.

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
    """

    text: str
    ids: dict[str, int]
    notes: dict[str, int]
    strangers: list[str]
    friends: list[str]

    def ids_of(self, letter: str) -> list[str]:
        """Ids of posts (``p``) or comments (``c``)."""
        return [name for name in self.ids if name.startswith(letter)]


def feed_pages(views: Views, longest: int) -> list[FeedPage]:
    """One page an agent, in the order of ``views.agents``; texts are cut at ``longest`` characters."""
    rows = {name: np.asarray(views.rows[name]).tolist() for name in _READ}
    roots = np.asarray(views.rows["root"], np.int64)
    rows |= {f"root_{name}": views.post(name)[roots].tolist() for name in ("type", "text", "author")}
    return [
        _page(views, int(agent), lo, hi, rows, longest)
        for agent, (lo, hi) in zip(views.agents, pairwise(views.indptr.tolist()), strict=True)
    ]


def _page(views: Views, agent: int, lo: int, hi: int, rows: dict[str, list[int]], longest: int) -> FeedPage:
    lines: list[str] = []
    ids: dict[str, int] = {}
    notes: dict[str, int] = {}
    name_of: dict[int, str] = {}
    authors: dict[int, str] = {}
    for at in range(lo, hi):
        is_comment = rows["slot"][at] == Slot.COMMENT
        name = f"{'c' if is_comment else 'p'}{at - lo + 1}"
        ids[name] = at
        authors.setdefault(rows["author"][at], name)
        line: dict[str, Any] = {"id": name}
        if is_comment:
            line["under"] = name_of.get(rows["under"][at], "")
        else:
            name_of[rows["root"][at]] = name
        line |= _row(views, at, rows, longest)
        if rows["offered"][at] != NONE:
            notes[f"n{len(notes) + 1}"] = at
            line |= {"note_id": f"n{len(notes)}", "note_to_judge": _note(views, rows["offered"][at], longest)}
        lines.append(quoted(line))
    followed = {name: views.follows(agent, author) for author, name in authors.items()}
    strangers = [name for name, is_friend in followed.items() if not is_friend]
    return FeedPage(
        "\n".join(lines), ids, notes, strangers, [name for name, is_friend in followed.items() if is_friend]
    )


def _row(views: Views, at: int, rows: dict[str, list[int]], longest: int) -> dict[str, Any]:
    """What the agent sees of one row."""
    wrote, brought = rows["root_author"][at], rows["author"][at]
    line: dict[str, Any] = {"by": views.called(wrote), "text": _cut(views.text(rows["root_text"][at]), longest)}
    if brought != wrote:
        line["passed_on_by"] = views.called(brought)
    if rows["root_type"][at] == PostType.NEWS:
        line["news"] = True
    line |= {word: rows[word][at] for word in ("likes", "shares", "comments") if rows[word][at]}
    if rows["verdict"][at] != Verdict.NONE:
        line["fact_check"] = Verdict(rows["verdict"][at]).name.lower()
    if rows["note"][at] != NONE:
        line["note"] = _note(views, rows["note"][at], longest)
    return line


def _note(views: Views, note: int, longest: int) -> str:
    return _cut(views.text(int(views.note("text")[note])), longest)


_READ = ("post", "root", "author", "under", "slot", "likes", "shares", "comments", "verdict", "note", "offered")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
