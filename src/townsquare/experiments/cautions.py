"""What can mislead a reader of a run or of a comparison: sentences with the numbers behind them."""

from __future__ import annotations

from collections.abc import Container, Mapping

import polars as pl

from townsquare.analysis.beliefs import names, statements
from townsquare.analysis.clock import Clock, clock_of
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.courses import judged_posts, moderation_validity, validity
from townsquare.analysis.health import CHECKS, rule_health, run_health
from townsquare.analysis.posts import roots
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import AgentKind
from townsquare.core.frames import collected
from townsquare.core.words import listed, number, percent, printable, significant
from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes

MOST_REFUSED = 0.2
"""Share of actions above which a page warns."""
SATURATED, EARLY, BACK, LITTLE = 0.85, 0.25, 0.25, 0.1
"""Shares from which, or below which, a reader is warned: of agents reached, of reach in the step of injection, of the
variance of belief change explained by initial stances, and of belief movement by moderated posts."""
UNCHECKED, OF_PEOPLE = 0.1, 0.25
"""Share of injected posts without a review, and share of reviews of people's posts, from which both are stated."""
FAST, MOSTLY = 0.01, 0.5
"""Mean absolute change of stance per day from which belief moves as in a sitting of a laboratory (panels: 0.04 to 0.08
in months), and share of belief change from which it lies in the warm-up."""
MOST_NAMED = 3
"""Propositions that a warning names, if there are at least two more."""


def warnings(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Return the reasons to doubt this run, worst first; empty for a healthy run.

    Parameters
    ----------
    run : Reads
    outcome : mapping
        Of :func:`~townsquare.analysis.outcomes.outcomes`.
    """
    facts, share = facts_of_run(run), outcome["refused_share"]
    least = float(str(setting(run, "evidence", "archive_weight", default=0.0)))
    holds = {"refused": share > MOST_REFUSED, "labels_ignored": _ignores_labels(run, least)}
    wrong, notes = [*_unfinished(run), *_missing(run, outcome), *answer_notes(facts)], setting_notes(facts)
    return [*wrong, *_flagged(run), *_sentences(holds, share=percent(share), least=number(least, 2)), *notes]


def _sentences(holds: Mapping[str, bool], **values: object) -> list[str]:
    """Return the sentences of ``data/labels.yaml`` that hold, with their values."""
    texts = bundled_labels("cautions")
    return [texts[name].format(**values) for name, it_holds in holds.items() if it_holds]


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
    known, clock = validity(run), clock_of(run)
    pull, rule = setting(run, "beliefs", "pull"), str(setting(run, "beliefs", "rule", default=""))
    believes, early = names(run).height > 0, _begun_in_warm_up(run, clock)
    is_one_rule = not second_rule and pull is None and rule not in ("", "no_change") and "beliefs.rule" not in varied
    holds = {
        "fast": known["shift_per_day"] >= FAST,
        "ends_in_warm_up": ends_in_warm_up(clock),
        "mostly_in_warm_up": known["warm_up_movement"] >= MOSTLY and clock.warm_up < clock.last,
        "begins_in_warm_up": early > 0,
        "saturated": known["reached"] >= SATURATED,
        "before_moderation": known["first_step"] >= EARLY,
        "regression": known["regression"] >= BACK,
        "one_pull": pull is not None and believes and "beliefs.pull" not in varied,
        "one_rule": is_one_rule and believes,
    }
    return _sentences(
        holds,
        where=where,
        post="a false post" if "false" in judged_posts(run)["veracity"] else "a post",
        begun="An event or treatment begins" if early == 1 else f"{early} events or treatments begin",
        pull=pull,
        rule=printable(rule),
        per_day=significant(known["shift_per_day"], 2),
        **{name: percent(known[name]) for name in ("warm_up_movement", "reached", "first_step", "regression")},
    )


def ends_in_warm_up(clock: Clock) -> bool:
    """Return whether a run has no step after its warm-up."""
    return clock.hours is not None and 0 < clock.last <= clock.warm_up


def _begun_in_warm_up(run: Reads, clock: Clock) -> int:
    begun = [int(event["step"]) for event in setting(run, "events", default=())]
    begun += [int(treatment["start"]) for treatment in setting(run, "treatments", default=())]
    return sum(step <= clock.warm_up for step in begun)


def of_moderation(run: Reads, where: str = "") -> list[str]:
    """Return what could mislead about moderation: a checker that keeps up or does not, posts that move few beliefs."""
    known = moderation_validity(run)
    checks, posts, part = (known[name] for name in ("checks_per_step", "posts_per_step", "moderated_movement"))
    people, unchecked = known["checks_of_people"], known["unchecked"]
    holds = {
        "never_behind": checks >= posts > 0,
        "far_behind": checks > 0 and people >= OF_PEOPLE and unchecked >= UNCHECKED,
        "little_moderated": part < LITTLE,
    }
    values = {"checks": number(checks, 0), "posts": number(posts, 0)}
    values |= {"part": percent(part), "people": percent(people), "unchecked": percent(unchecked)}
    return _sentences(holds, where=where, **values)


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
    holds = {
        "only_configured": run.last_step < 0,
        "one_person": people == 1,
        "nothing_injected": not injected,
        "no_proposition": not names(run).height,
        "idle": run.last_step > 0 and not active and not ends_in_warm_up(clock_of(run)),
    }
    return _sentences(holds)


def _flagged(run: Reads) -> list[str]:
    """Return a warning for each flagged check of the belief rule, worst first; it names the propositions."""
    flagged, by_name, texts = rule_health(run).filter("flagged"), statements(run), []
    for name, check in sorted(CHECKS.items(), key=lambda item: int(item[1]["order"])):
        rows = flagged.filter(check=name).select("name", "value").rows()
        if rows:
            quoted = [f"“{printable(by_name[each], 90 if len(rows) == 1 else 60)}”" for each, _ in rows]
            values = [f"{significant(value)} ({of})" for of, (_, value) in zip(quoted, rows, strict=True)]
            shares = [f"{percent(value)} ({of})" for of, (_, value) in zip(quoted, rows, strict=True)]
            texts.append(check["warning"].format(names=_some(quoted), values=_some(values), shares=_some(shares)))
    return texts


def _some(items: list[str]) -> str:
    left = len(items) - MOST_NAMED
    return listed(items if left < 2 else [*items[:MOST_NAMED], f"{left} more"])


def _ignores_labels(run: Reads, least: float) -> bool:
    """Return whether labels had weights without effect: plain log odds archive a record only below a weight."""
    if str(setting(run, "beliefs", "rule", default="")) != "log_odds":
        return False
    between = (pl.col("weight") > least) & (pl.col("weight") < 1.0)
    return not run.lazy("exposures").filter(between).select("weight").head(1).pipe(collected).is_empty()
