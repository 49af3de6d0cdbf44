"""The debate view: the transcript of one trial, with the stances around each turn and what it did to whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from townsquare.core.errors import SettingError
from townsquare.debate.record import Plain
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.pages.debates.turns import turns_of
from townsquare.pages.view.query_string import Asked

_KEYS = ("uptake", "anchoring", "persona", "wanted", "attained", "prior")


def debate(results: DebateResults, name: str, asked: Asked) -> dict[str, Any]:
    """Return one trial of one arm; texts are untrusted. Without ``arm`` or ``trial``, the first that was held.

    Raises
    ------
    SettingError
        There is no such arm or trial.
    RecordError
        The trial cannot be read.
    """
    arm = arm_of(results, asked.word("arm"))
    records = {int(record["trial"]): record for record in results.records(arm)}
    answer: dict[str, Any] = {
        "id": name,
        "arms": [{"slug": other.slug, "name": other.name} for other in results.arms],
        "arm": arm.slug,
        "statement": arm.statement,
        "trials": sorted(records),
        "wanted": results.trials,
        "settings": {key: _name(arm.settings[key]) for key in ("debater", "speaker", "judge", "opponent")},
        "failed": [{"arm": other, "trial": trial, "error": message} for other, trial, message in results.failed],
        "trial": None,
        "agents": [],
        "turns": [],
    }
    if not records:
        return answer
    trial = asked.whole("trial", min(records))
    if trial not in records:
        raise SettingError("trial", got=str(trial), allowed=", ".join(str(other) for other in sorted(records)))
    record = records[trial]
    return {**answer, "trial": trial, "agents": _agents(record), "turns": turns_of(record)}


def _agents(record: Plain) -> list[dict[str, Any]]:
    """Return who debated in a trial, and from where they started."""
    return [{"side": side, **{key: agent[key] for key in _KEYS}} for side, agent in record["agents"].items()]


def arm_of(results: DebateResults, slug: str) -> DebateArm:
    """Return the arm with this folder; the first for the empty name."""
    slugs = [arm.slug for arm in results.arms]
    if slug and slug not in slugs:
        raise SettingError("arm", got=repr(slug), allowed=", ".join(slugs))
    return results.arms[slugs.index(slug) if slug else 0]


def _of_arm(table: Callable[[DebateResults], pl.DataFrame]) -> Callable[[DebateResults, Asked], pl.DataFrame]:
    """Return a question for the rows of one arm in a table of all, for the CSV."""
    return lambda results, asked: table(results).filter(arm=arm_of(results, asked.word("arm")).name)


def side_table(results: DebateResults, asked: Asked) -> pl.DataFrame:
    """Return who debated in each trial of an arm, and from where they started, for the CSV."""
    arm = arm_of(results, asked.word("arm"))
    agents = [(record["trial"], agent) for record in results.records(arm) for agent in _agents(record)]
    rows = [{"arm": arm.name, "trial": trial, **agent} for trial, agent in agents]
    return pl.DataFrame(rows, infer_schema_length=None)


def _name(member: Any) -> str:
    return str(member["name"]) if isinstance(member, dict) else str(member)


TABLES: Mapping[str, Callable[[DebateResults, Asked], pl.DataFrame]] = {
    "turns": _of_arm(DebateResults.turns),
    "sides": side_table,
    "moves": _of_arm(DebateResults.moves),
}
"""The table behind each part of the view, by the last part of its address."""
