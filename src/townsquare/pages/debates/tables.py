"""Measures of debates as tables of a page, with intervals over trials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from townsquare.core.documents import bundled_labels
from townsquare.core.text_table import Table, table
from townsquare.core.words import number, percent, signed_three, with_interval
from townsquare.debate.measures import Estimate
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import ALIASES

TITLES: dict[str, str] = bundled_labels("debate_measures")
"""What each measure is called; see :mod:`townsquare.debate.measures`."""
SIGNED = frozenset({"initial", "final", "shift", "final_pro", "final_con", "center_shift", "gap_reduction"})
NOTE = "95% CIs: Student's t over trials."
PAIR_MEASURES = (
    "Gap: distance of the two stances. Center shift: mean shift of a debater toward the other's side. "
    "Crossing: share of trials that end with pro below con."
)


def shown(name: str, estimate: Estimate) -> str:
    """Return a mean with its interval.

    >>> shown("final_gap", Estimate(0.5, 0.25, 0.75, (0.25, 0.75)))
    '0.50 [0.25, 0.75]'
    """
    if name == "crossing":
        return percent(estimate.mean)
    as_shown = partial(number, signed=name in SIGNED)
    if estimate.low == estimate.high:
        return as_shown(estimate.mean)
    return with_interval(estimate.mean, estimate.low, estimate.high, as_shown)


def measure_table(results: DebateResults, arm: DebateArm) -> Table:
    """Return measures of one arm: internal stances, and what the judge reads, side by side."""
    own, judged = results.measures(arm), results.measures(arm, judged=True)
    rows = [[TITLES[name], shown(name, own[name]), shown(name, judged[name])] for name in own]
    return Table("Measures over trials", ["measure", "reported", "judged"], rows, note=NOTE)


def arms_table(results: DebateResults, arms: Sequence[DebateArm], *, judged: bool = False) -> Table:
    """Return measures of all arms, one row each; arms are of one kind."""
    measures = [results.measures(arm, judged=judged) for arm in arms]
    names = list(measures[0])
    pairs = zip(arms, measures, strict=True)
    rows = [[arm.name, str(len(results.records(arm))), *(shown(name, of[name]) for name in names)] for arm, of in pairs]
    caption = "Measures of judged stances" if judged else "Measures of reported stances"
    return Table(caption, ["arm", "trials", *(TITLES[name] for name in names)], rows, note=NOTE)


def starts_table(results: DebateResults) -> Table:
    """Return how each agent started: the stance wanted, the stance attained, and its settings."""
    rows = [
        (arm.name, side, first["uptake"], first["anchoring"], first["wanted"],
         " to ".join(signed_three(float(end([agent["attained"] for agent in agents]))) for end in (min, max)),
         len(first["seeds"]), float(first["prior_scale"]))
        for arm in results.arms
        for records in [results.records(arm)]
        for side, first in (records[0]["agents"].items() if records else ())
        for agents in [[record["agents"][side] for record in records]]
    ]  # fmt: skip
    return table(
        "Starting conditions", rows, (str, "arm", "agent"), (number, "uptake u=u", "anchoring a=a"),
        (partial(number, signed=True), "target stance=wanted"), (str, "attained stance=attained"),
        (number, "seed records=seeds", "prior scale"),
        words=("arm", "agent"),
    )  # fmt: skip


def cross_table(results: DebateResults, measure: str) -> Table | None:
    """Return one measure by two settings, rows by columns; None unless exactly two vary."""
    keys = list(results.arms[0].changes)
    if len(keys) != 2 or any(list(arm.changes) != keys for arm in results.arms):
        return None
    first, second = (list(dict.fromkeys(str(arm.changes[key]) for arm in results.arms)) for key in keys)
    cells = {tuple(str(value) for value in arm.changes.values()): results.measures(arm) for arm in results.arms}
    if any(measure not in measures for measures in cells.values()):
        return None
    rows = []
    for value in first:
        here = [cells[value, other][measure] for other in second]
        mean = sum(estimate.mean for estimate in here) / len(here)
        rows.append([value, *(shown(measure, estimate) for estimate in here), number(mean, signed=measure in SIGNED)])
    columns = [[cells[value, other][measure].mean for value in first] for other in second]
    means = [sum(column) / len(column) for column in columns]
    rows.append(["mean", *(number(mean, signed=measure in SIGNED) for mean in (*means, sum(means) / len(means)))])
    return Table(TITLES[measure], [keys[0], *second, "mean"], rows, note=NOTE)


def varied(results: DebateResults) -> dict[str, list[tuple[float, DebateArm]]]:
    """Return numeric settings that vary alone: name -> (level, arm), ascending; empty where arms differ in several."""
    levels: dict[str, list[tuple[float, DebateArm]]] = {}
    for arm in results.arms:
        if len(arm.changes) != 1:
            return {}
        key, value = next(iter(arm.changes.items()))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return {}
        levels.setdefault(ALIASES.get(key, key), []).append((float(value), arm))
    return {key: sorted(rows, key=lambda row: row[0]) for key, rows in levels.items() if len(rows) > 1}
