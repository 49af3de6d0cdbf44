"""Actions of people on fixed feeds, from a folder in the format of MOSAIC's human study.

``submissions.json`` lists everybody, also who did nothing. ``human_actions_rule_parsed.csv`` has a row an action
(``submission``, ``action``, ``post_id``); ``feed_posts.csv`` a row a post (``post_id``, ``feed``, ``text``, and where
known ``is_false``, ``plausibility``, ``fact_check_shown``). ``agent_actions_normalised.csv``, if there, has the actions
of language-model agents made from the same people. Everybody was shown every feed, one after the other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Bool, Float
from townsquare.core.cells import Column, numbers, read_columns, texts
from townsquare.core.documents import read_json
from townsquare.core.enums import Verdict
from townsquare.core.errors import DataError
from townsquare.core.files import is_file
from townsquare.core.tabular import Record, read_csv
from townsquare.humans.trajectories import codes_of

KINDS = (ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.ADD_NOTE)
"""Kinds of action that such a study records, in the order of the last axis of ``Panel.did``."""
WORDS = {"like": 0, "share": 1, "comment": 2, "add-note": 3, "add_note": 3}
PEOPLE, POSTS = "submissions.json", "feed_posts.csv"
HUMANS, AGENTS = "human_actions_rule_parsed.csv", "agent_actions_normalised.csv"
SKIP = "leave the row out by hand, or give --skip-bad"
_VERDICTS = {"true": Verdict.TRUE, "false": Verdict.FALSE, "unverified": Verdict.UNVERIFIED}


def _verdict(row: Record, column: str) -> int:
    """Return the first verdict that the text of a fact check names; none where no fact check was shown."""
    words = str(row.cells.get(column) or "").lower().replace(":", " ").split()
    return int(next((_VERDICTS[word] for word in words if word in _VERDICTS), Verdict.NONE))


def _as_written(row: Record, column: str) -> str:
    return str(row.cells[column])


_SHARE = numbers(0, 1)
_POSTS = (
    Column("post_id", texts(), needed=True, unique=True),
    Column("feed", _as_written, needed=True),
    Column("text", _as_written, needed=True),
    Column("is_false", _SHARE),
    Column("plausibility", _SHARE),
    Column("fact_check_shown", _verdict),
)


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
        :class:`townsquare.core.enums.Verdict` shown with it.
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
        """Return people."""
        return len(self.people)

    @property
    def shown(self) -> Float:
        """Return (J,) how many posts the feed of each post has."""
        return np.bincount(self.feed)[self.feed].astype(np.float64)


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
    sheet = read_columns(read_csv(folder / POSTS), _POSTS, strict=False, least="at least one post")
    posts, feeds, text = tuple(sheet["post_id"]), sheet["feed"], tuple(sheet["text"])
    false, plausibility, verdict = (np.array(sheet[name]) for name in ("is_false", "plausibility", "fact_check_shown"))
    known = {"submission": _numbers(people), "post_id": _numbers(posts), "action": WORDS}
    left_out: list[str] = []
    did = _actions(folder / HUMANS, known, left_out, skip_bad=skip_bad)
    agents = None
    if is_file(folder / AGENTS):
        agents = _actions(folder / AGENTS, known, left_out, skip_bad=skip_bad, lenient=True)
    feed, _ = codes_of(feeds)
    shown = verdict.astype(np.uint8)
    return Panel(people, posts, feed, text, false, plausibility, shown, did, agents, tuple(left_out))


def _numbers(names: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _people(path: Path) -> tuple[str, ...]:
    people = read_json(path)
    if not isinstance(people, list) or not people or not all(isinstance(name, str) for name in people):
        allowed = "a JSON list of the ids of all people, also of those who never acted"
        raise DataError(str(path), got="something else", allowed=allowed)
    twice = [name for name, times in Counter(people).items() if times > 1]
    if twice:
        raise DataError(str(path), got=f"{twice[0]!r} twice", allowed="each person once")
    return tuple(people)


def _actions(
    path: Path, known: dict[str, dict[str, int]], left_out: list[str], *, skip_bad: bool, lenient: bool = False
) -> Bool:
    """Return (N, J, 4) actions; ``lenient`` drops agents' other kinds of action, and counts them."""
    columns = [Column(name, partial(_place, known=rows), needed=True) for name, rows in known.items()]
    sheet = read_columns(read_csv(path), columns, strict=False, least="at least one action")
    did = np.zeros((len(known["submission"]), len(known["post_id"]), len(KINDS)), np.bool_)
    dropped: Counter[str] = Counter()
    for row in sheet.table.records:
        word = str(row.cells["action"]).strip().lower()
        if lenient and (word not in WORDS or str(row.cells.get("action_string_valid", "1")).strip() == "0"):
            dropped["another kind of action, or none that can be read"] += 1
            continue
        try:
            at = tuple(sheet.cell(row, name) for name in known)
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


def _place(row: Record, column: str, known: dict[str, int]) -> int:
    name = str(row.cells[column] or "").strip()
    if name not in known and name.lower() not in known:
        shown = ", ".join(list(known)[:4])
        raise DataError(row.where(column), got=repr(name)[:80], allowed=f"one of {len(known)}, as {shown}", do=SKIP)
    return known[name] if name in known else known[name.lower()]
