"""What people did to the posts of fixed feeds: a folder in the form of MOSAIC's human study.

``submissions.json`` lists everybody, also who did nothing. ``human_actions_rule_parsed.csv`` has a row an action
(``submission``, ``action``, ``post_id``); ``feed_posts.csv`` a row a post (``post_id``, ``feed``, ``text``, and where
known ``is_false``, ``plausibility``, ``fact_check_shown``). ``agent_actions_normalised.csv``, if there, has the actions
of language-model agents made from the same people. Everybody was shown every feed, one after the other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from townsquare.core.documents import read_json
from townsquare.core.errors import DataError
from townsquare.core.files import is_file
from townsquare.core.schema import ActionKind, Verdict
from townsquare.core.tabular import Record, Records, read_csv

Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
KINDS = (ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)
"""Kinds of action that such a study records, in the order of the last axis of ``Panel.did``."""
WORDS = {"like": 0, "share": 1, "comment": 2, "add-note": 3, "add_note": 3}
PEOPLE, POSTS = "submissions.json", "feed_posts.csv"
HUMANS, AGENTS = "human_actions_rule_parsed.csv", "agent_actions_normalised.csv"
SKIP = "leave the row out by hand, or give --skip-bad"
_VERDICTS = {"true": Verdict.TRUE, "false": Verdict.FALSE, "unverified": Verdict.UNVERIFIED}


@dataclass(frozen=True, slots=True)
class Panel:
    """``N`` people, ``J`` posts, 4 kinds of action.

    Attributes
    ----------
    people, posts : tuple of str
        Their ids.
    feed : (J,) int64
        Number of the feed that a post stands in, from 0.
    text : tuple of str
    false : (J,) float64
        1 false, 0 true, NaN where nobody said. Never an input of a policy.
    plausibility : (J,) float64
        As given, in [0, 1]; NaN where nobody said.
    verdict : (J,) uint8
        :class:`townsquare.core.schema.Verdict` shown with it.
    did : (N, J, 4) bool
        Whether a person did that kind to that post at all.
    agents : (N, J, 4) bool, optional
        The same for the agents made from these people.
    left_out : tuple of str
        What could not be used and why, one sentence each.
    """

    people: tuple[str, ...]
    posts: tuple[str, ...]
    feed: npt.NDArray[np.int64]
    text: tuple[str, ...]
    false: Float
    plausibility: Float
    verdict: npt.NDArray[np.uint8]
    did: Bool
    agents: Bool | None
    left_out: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """People."""
        return len(self.people)

    @property
    def shown(self) -> Float:
        """(J,): how many posts stand in the feed of each post."""
        return np.bincount(self.feed)[self.feed].astype(np.float64)

    def of_people(self, rows: npt.NDArray[np.int64]) -> Panel:
        """The same posts and some of the people; rows may repeat."""
        agents = None if self.agents is None else self.agents[rows]
        return replace(self, people=tuple(self.people[k] for k in rows), did=self.did[rows], agents=agents)


def read_panel(folder: Path, *, skip_bad: bool = False) -> Panel:
    """Read a folder.

    Parameters
    ----------
    folder : Path
    skip_bad : bool
        Leave out rows that cannot be used, and count them, instead of stopping at the first.

    Raises
    ------
    DataError
        A file, column or cell that is missing or wrong, with its row: a person or post that no list has, an action of
        an unknown kind, a post twice.
    """
    people = _people(folder / PEOPLE)
    table = _table(folder / POSTS, ("post_id", "feed", "text"))
    rows, posts = table.records, _posts(table)
    feeds = [str(row.cells["feed"]) for row in rows]
    known = {name: k for k, name in enumerate(dict.fromkeys(feeds))}
    false = np.array([_number(row, "is_false") for row in rows])
    plausibility = np.array([_number(row, "plausibility") for row in rows])
    left_out: list[str] = []
    did = _actions(folder / HUMANS, people, posts, left_out, skip_bad=skip_bad)
    agents = None
    if is_file(folder / AGENTS):
        agents = _actions(folder / AGENTS, people, posts, left_out, skip_bad=skip_bad, lenient=True)
    return Panel(
        people,
        posts,
        np.array([known[name] for name in feeds], np.int64),
        tuple(str(row.cells["text"]) for row in rows),
        false,
        plausibility,
        np.array([_verdict(row) for row in rows], np.uint8),
        did,
        agents,
        tuple(left_out),
    )


def _people(path: Path) -> tuple[str, ...]:
    people = read_json(path)
    if not isinstance(people, list) or not people or not all(isinstance(one, str) for one in people):
        raise DataError(
            str(path), got="something else", allowed="a JSON list of the ids of all people, also the silent"
        )
    twice = [name for name, times in Counter(people).items() if times > 1]
    if twice:
        raise DataError(str(path), got=f"{twice[0]!r} twice", allowed="each person once")
    return tuple(people)


def _table(path: Path, needed: tuple[str, ...]) -> Records:
    table = read_csv(path)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        do = f"it has {', '.join(table.columns)}"
        raise DataError(str(path), got=f"no column {missing[0]!r}", allowed=f"columns {', '.join(needed)}", do=do)
    if not table.records:
        raise DataError(str(path), got="no row", allowed="at least one")
    return table


def _posts(table: Records) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for row in table.records:
        name = str(row.cells["post_id"]).strip()
        if not name or name in found:
            got = f"{name!r} twice" if name else "nothing"
            raise DataError(row.where("post_id"), got=got, allowed="an id of its own for each post")
        found[name] = None
    return tuple(found)


def _number(row: Record, column: str) -> float:
    """A number in [0, 1]; NaN where the cell is empty or the column is not there."""
    text = str(row.cells.get(column) or "").strip()
    try:
        value = float(text) if text else np.nan
    except ValueError:
        value = 2.0
    if value < 0 or value > 1:
        raise DataError(row.where(column), got=repr(text)[:80], allowed="a number from 0 to 1, or nothing")
    return value


def _verdict(row: Record) -> int:
    """The first verdict that the text of a fact check names; none where no fact check was shown."""
    said = str(row.cells.get("fact_check_shown") or "").lower().replace(":", " ").split()
    return int(next((_VERDICTS[word] for word in said if word in _VERDICTS), Verdict.NONE))


def _actions(
    path: Path,
    people: tuple[str, ...],
    posts: tuple[str, ...],
    left_out: list[str],
    *,
    skip_bad: bool,
    lenient: bool = False,
) -> Bool:
    """(N, J, 4); ``lenient`` drops what agents did beyond the four kinds, and counts it."""
    table = _table(path, ("submission", "action", "post_id"))
    person = {name: k for k, name in enumerate(people)}
    post = {name: k for k, name in enumerate(posts)}
    did = np.zeros((len(people), len(posts), len(KINDS)), np.bool_)
    dropped: Counter[str] = Counter()
    for row in table.records:
        word = str(row.cells["action"]).strip().lower()
        if lenient and (word not in WORDS or str(row.cells.get("action_string_valid", "1")).strip() == "0"):
            dropped["another kind of action, or none that can be read"] += 1
            continue
        try:
            at = _found(row, "submission", person), _found(row, "post_id", post), _found(row, "action", WORDS)
        except DataError as error:
            if not skip_bad and not (lenient and word in WORDS):
                raise
            dropped[f"{error.got} as {error.where.rpartition(', ')[2]}"] += 1
            continue
        dropped["the same action on the same post again"] += bool(did[at])
        did[at] = True
    for why, times in sorted(dropped.items()):
        if times:
            left_out.append(f"{path.name}: {times} rows left out: {why}")
    return did


def _found(row: Record, column: str, known: dict[str, int]) -> int:
    name = str(row.cells[column] or "").strip()
    if name not in known and name.lower() not in known:
        shown = ", ".join(list(known)[:4])
        allowed = f"one of {len(known)}, as {shown}"
        raise DataError(row.where(column), got=repr(name)[:80], allowed=allowed, do=SKIP)
    return known[name] if name in known else known[name.lower()]
