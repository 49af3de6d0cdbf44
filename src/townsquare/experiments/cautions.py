"""What can mislead a reader of a run or of a comparison: sentences with the numbers behind them."""

from __future__ import annotations

from collections.abc import Container, Mapping

import polars as pl

from townsquare.analysis.beliefs import names, statements
from townsquare.analysis.clock import Clock, clock_of
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.courses import judged_posts, validity
from townsquare.analysis.health import CHECKS, rule_health, run_health
from townsquare.analysis.posts import roots
from townsquare.core.enums import AgentKind
from townsquare.core.frames import collected
from townsquare.core.words import number, percent, printable, significant
from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes

MOST_REFUSED = 0.2
"""Share of actions above which a page warns."""
SATURATED, EARLY, BACK, LITTLE = 0.85, 0.25, 0.25, 0.1
"""Shares from which, or below which, a reader is warned: of agents reached, of reach in the step of injection, of the
variance of belief change explained by initial stances, and of belief movement by moderated posts."""
FAST, MOSTLY = 0.01, 0.5
"""Mean absolute change of stance per day from which belief moves as in a sitting of a laboratory (panels: 0.04 to 0.08
in months), and share of belief change from which it lies in the warm-up."""


def warnings(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Return the reasons to doubt this run, worst first; empty for a healthy run.

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
        *answer_notes(facts),
        *_flagged(run),
        *_refused(outcome),
        *_labels_ignored(run),
        *setting_notes(facts),
    ]


def misleading(run: Reads, where: str = "", varied: Container[str] = (), *, second_rule: bool = False) -> list[str]:
    """Return what could mislead in outcomes that are right as numbers, each with the number behind it.

    Parameters
    ----------
    run : Reads
    where : str
        Which run this is, where a page is about several.
    varied : container of str
        Settings that a comparison varies.
    second_rule : bool
        Whether an effect is given under a second belief rule as well.
    """
    known = validity(run)
    of_false = "a false post" if "false" in judged_posts(run)["veracity"] else "a post"
    pull = setting(run, "beliefs", "pull")
    reached, first, back = (percent(known[name]) for name in ("reached", "first_step", "regression"))
    rule, clock = str(setting(run, "beliefs", "rule", default="")), clock_of(run)
    believes = names(run).height > 0
    cases = [
        (
            known["shift_per_day"] >= FAST,
            "Steps of belief as large as in a laboratory: on average, stances move by "
            f"{significant(known['shift_per_day'], 2)} a day{where}; in panels, stances move by less than "
            "0.1 in months. Lower the weight of an exposure.",
        ),
        (
            ends_in_warm_up(clock),
            f"The run ends within its warm-up{where}: outcomes describe only the time after it.",
        ),
        (
            known["warm_up_movement"] >= MOSTLY and clock.warm_up < clock.last,
            f"{percent(known['warm_up_movement'])} of all belief change comes in the warm-up{where}, which outcomes "
            "and published facts leave out.",
        ),
        *((True, sentence) for sentence in _in_warm_up(run, clock)),
        (
            known["reached"] >= SATURATED,
            f"Reach is near its ceiling, so that no arm can raise it much: {of_false} reaches {reached} of all "
            f"people{where}.",
        ),
        (
            known["first_step"] >= EARLY,
            f"{first} of the reach of {of_false} comes in the step in which it is published, before any moderation "
            f"could act{where}.",
        ),
        (
            known["regression"] >= BACK,
            f"Regression to the mean: initial stances explain {back} of the variance of belief change{where}. "
            "Compare arms, not changes within an arm.",
        ),
        (
            pull is not None and believes and "beliefs.pull" not in varied,
            f"The size of every belief change depends on one assumed setting (beliefs.pull = {pull}): try other "
            "values, and other belief rules by “townsquare compare --multiverse”.",
        ),
        (
            not second_rule
            and pull is None
            and believes
            and rule not in ("", "no_change")
            and "beliefs.rule" not in varied,
            f"All belief change comes from one rule ({printable(rule)}). “townsquare compare --multiverse” repeats it "
            "with other belief rules.",
        ),
    ]
    return [sentence for holds, sentence in cases if holds]


def ends_in_warm_up(clock: Clock) -> bool:
    """Return whether a run has no step after its warm-up."""
    return clock.hours is not None and 0 < clock.last <= clock.warm_up


def _in_warm_up(run: Reads, clock: Clock) -> list[str]:
    """Return a sentence for interventions that begin in the warm-up."""
    begun = [int(event["step"]) for event in setting(run, "events", default=())]
    begun += [int(treatment["start"]) for treatment in setting(run, "treatments", default=())]
    early = sum(step <= clock.warm_up for step in begun)
    if not early:
        return []
    what = "An event or treatment begins" if early == 1 else f"{early} events or treatments begin"
    return [f"{what} in the warm-up: measures that leave the warm-up out miss part of the effect."]


def of_moderation(run: Reads, where: str = "") -> list[str]:
    """Return what could mislead about moderation: a checker that never falls behind, posts that move few beliefs."""
    known = validity(run)
    checks, injected, part = (known[name] for name in ("checks_per_step", "injected_per_step", "moderated_movement"))
    cases = [
        (
            checks >= injected > 0,
            f"The fact-checker never falls behind: it reviews {number(checks, 0)} posts a step, and at most "
            f"{number(injected, 0)} are injected in one.",
        ),
        (
            part < LITTLE,
            f"Posts that moderation labeled or removed at some time cause {percent(part)} of all changes of "
            f"stances, added up without their signs{where}.",
        ),
    ]
    return [sentence for holds, sentence in cases if holds]


def _unfinished(run: Reads) -> list[str]:
    health = run_health(run)
    if not health.unfinished:
        return []
    going = "is still running" if run.state == "running" else "stopped early"
    steps = f"{number(health.done)} of {number(health.planned)} steps"
    return [f"This run {going}: {steps} are recorded. All numbers refer to these steps."]


def _missing(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    active, injected = outcome["actions_per_agent_step"] > 0, roots(run)["injected"].any()
    cases = [
        (run.last_step < 0, "Only the configuration was recorded."),
        (people == 1, "The run has one person only: nobody to follow, read or persuade."),
        (not injected, "No posts were injected: measures of true and false posts are undefined."),
        (not names(run).height, "The scenario has no proposition, so there are no beliefs to measure."),
        (
            run.last_step > 0 and not active and not ends_in_warm_up(clock_of(run)),
            "No agent took any action: engagement is zero throughout.",
        ),
    ]
    return [sentence for holds, sentence in cases if holds]


def _flagged(run: Reads) -> list[str]:
    """Return a warning for each flagged check of the belief rule, worst first."""
    flagged, by_name = rule_health(run).filter("flagged"), statements(run)
    worst_first = sorted(CHECKS.items(), key=lambda item: int(item[1]["order"]))
    return [
        check["warning"].format(
            name=f"“{printable(by_name[row['name']], 90)}”",
            value=significant(row["value"]),
            share=percent(row["value"]),
        )
        for name, check in worst_first
        for row in flagged.filter(pl.col("check") == name).iter_rows(named=True)
    ]


def _refused(outcome: Mapping[str, float]) -> list[str]:
    share = outcome["refused_share"]
    sentence = f"{percent(share)} of all attempted actions were refused; the section Health lists the reasons."
    return [sentence] if share > MOST_REFUSED else []


def _labels_ignored(run: Reads) -> list[str]:
    """Warn of label weights without effect: plain log odds archive a record only below a weight."""
    if str(setting(run, "beliefs", "rule", default="")) != "log_odds":
        return []
    least = float(str(setting(run, "evidence", "archive_weight", default=0.0)))
    between = (pl.col("weight") > least) & (pl.col("weight") < 1.0)
    if run.lazy("exposures").filter(between).select("weight").head(1).pipe(collected).is_empty():
        return []
    return [
        "Labels had no effect on beliefs. Under the rule log_odds, a label counts only if its weight is at most "
        f"{number(least, 2)} (`evidence.archive_weight`). Set the weight of the label to 0, or use `social_log_odds`."
    ]
