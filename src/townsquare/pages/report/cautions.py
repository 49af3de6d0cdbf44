"""What a reader must know before believing a run's page, and what no page of this kind can say."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import rule_health, run_health
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
    cases = [
        (run.last_step < 0, "Nothing was recorded but the configuration."),
        (people == 1, "There was one person only: nobody to follow, to read or to persuade."),
        (
            not roots(run).filter("injected").height,
            "No posts were injected: measures that need posts of known truth are undefined.",
        ),
        (not names(run).height, "The scenario has no proposition: there are no beliefs to measure."),
        (
            run.last_step > 0 and not outcome["actions_per_agent_step"] > 0,
            "Nobody did anything: engagement is zero throughout.",
        ),
    ]
    return [said for holds, said in cases if holds]


def _flagged(run: Reads) -> list[str]:
    """What the checks of the rule flag, worst first."""
    flagged = rule_health(run).filter("flagged")
    return [
        said.format(name=printable(row["name"], 60), value=number(row["value"], 3), share=percent(row["value"]))
        for check, said in _FLAGS.items()
        for row in flagged.filter(pl.col("check") == check).iter_rows(named=True)
    ]


_FLAGS = {
    "collapse": "Beliefs about {name} collapsed: {share} of their spread is left. Opinions of real people do not do "
    "that so soon; look for a smaller pull, or an anchor.",
    "at_bounds": "{share} of people stand at the very ends of the scale for {name}.",
    "overshoot": "{share} of moves of belief overshot in {name}: they went beyond everything the person had seen, "
    "which is the arithmetic of the rule and not persuasion. Look for a smaller pull, or a bounded rule.",
    "gain": "In one step people moved by {value} on average in {name}: that is much for a day. Look for a smaller "
    "pull.",
    "flips": "People went back and forth over the middle of {name}, {value} times each beyond their first crossing: a "
    "rule that goes too far does that. Look for a smaller pull, or a bounded rule.",
    "trust_saturated": "Trust is saturated: {share} of what was read late in the run about {name} stood at 0 or at 1, "
    "where it learns no more. Look for a smaller `trust_rate`.",
    "frozen": "Nobody's stance toward {name} ever moved, though people were shown posts that take one.",
}
"""What a flag of each check means, worst first."""


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


def limits(run: Reads) -> list[str]:
    """What this page cannot say."""
    said = [
        "This is one run with one seed. A difference to another run means something only over several seeds, paired, "
        "as “townsquare compare” makes them."
    ]
    if str(setting(run, "policy", "name", default="")) in ("statistical", "mix", "blind"):
        said.append(
            "People act by an embedded statistical policy. Its mean rates of liking, sharing, commenting and noting "
            "come from a human study; its other parameters, among them everything that makes people prefer one post "
            "to another, are assumptions. It does not read. The results show what follows from that, not what people "
            "would do."
        )
    return [
        *said,
        "Truth, plausibility and stance of injected posts are as the scenario gives them; accuracy is measured against "
        "the side that its true posts take, not against the world.",
        "Beliefs move by the stated rule and by nothing else. That it fits people is not shown here.",
    ]
