"""What a reader must know before believing a run's page."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import CHECKS, rule_health, run_health
from townsquare.analysis.posts import roots
from townsquare.core.frames import collected
from townsquare.core.schema import AgentKind
from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes
from townsquare.pages.report.words import number, percent, printable

MOST_REFUSED = 0.2
"""Share of actions above which a page warns."""


def warnings(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """What stands in the way of believing this run, worst first; empty for a healthy one.

    Parameters
    ----------
    run : Reads
    outcome : mapping
        Of :func:`~townsquare.analysis.outcomes.outcomes`.
    """
    facts = facts_of_run(run)
    return [
        *_unfinished(run),
        *_missing(run, outcome),
        *_flagged(run),
        *_refused(outcome),
        *_labels_ignored(run),
        *answer_notes(facts),
        *setting_notes(facts),
    ]


def _unfinished(run: Reads) -> list[str]:
    health = run_health(run)
    if not health.unfinished:
        return []
    going = "is still running" if run.state == "running" else "stopped early"
    steps = f"{number(health.done)} of {number(health.planned)} steps"
    return [f"This run {going}: {steps} are recorded, and all numbers are of these."]


def _missing(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    active, injected = outcome["actions_per_agent_step"] > 0, roots(run)["injected"].any()
    cases = [
        (run.last_step < 0, "Nothing was recorded but the configuration."),
        (people == 1, "There was one person only: nobody to follow, to read or to persuade."),
        (not injected, "No posts were injected: measures that need posts of known truth are undefined."),
        (not names(run).height, "The scenario has no proposition: there are no beliefs to measure."),
        (run.last_step > 0 and not active, "Nobody did anything: engagement is zero throughout."),
    ]
    return [sentence for holds, sentence in cases if holds]


def _flagged(run: Reads) -> list[str]:
    """What the checks of the rule flag, worst first."""
    flagged = rule_health(run).filter("flagged")
    worst_first = sorted(CHECKS.items(), key=lambda item: int(item[1]["order"]))
    return [
        check["warning"].format(
            name=printable(row["name"], 60), value=number(row["value"], 3), share=percent(row["value"])
        )
        for name, check in worst_first
        for row in flagged.filter(pl.col("check") == name).iter_rows(named=True)
    ]


def _refused(outcome: Mapping[str, float]) -> list[str]:
    share = outcome["refused_share"]
    return [f"{percent(share)} of all actions were refused; Health says why."] if share > MOST_REFUSED else []


def _labels_ignored(run: Reads) -> list[str]:
    """Plain log odds archive records by labels of a small weight; a weight above that does nothing."""
    if str(setting(run, "beliefs", "rule", default="")) != "log_odds":
        return []
    least = float(str(setting(run, "evidence", "archive_weight", default=0.0)))
    between = (pl.col("weight") > least) & (pl.col("weight") < 1.0)
    if run.lazy("exposures").filter(between).select("weight").head(1).pipe(collected).is_empty():
        return []
    return [
        "Labels were shown whose weight does nothing under the rule log_odds: it archives a record at a weight of at "
        f"most {number(least, 2)} (`evidence.archive_weight`) and takes no notice of a larger one. Set the weight of a "
        "label to 0, or take `social_log_odds`, in which it counts."
    ]
