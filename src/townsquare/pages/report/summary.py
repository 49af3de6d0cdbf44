"""Facts and summary at the head of a run's page."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import run_health
from townsquare.analysis.moderation import strategy
from townsquare.analysis.posts import roots
from townsquare.core.enums import AgentKind
from townsquare.pages.report.words import count, number, percent, printable

STRATEGIES = {
    "none": "without moderation",
    "community": "moderated by community notes",
    "third_party": "moderated by a fact-checker",
    "hybrid": "moderated by community notes and a fact-checker",
}


def facts(run: Reads) -> list[tuple[str, str]]:
    """Return what identifies a run besides its scenario, as names and values."""
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)
    first = persons.filter(pl.col("born") == 0).height
    grew = persons.height > first
    people = f"{number(first)} at the start, {number(persons.height)} at the end" if grew else number(first)
    return [
        ("seed", str(setting(run, "seed", default="–"))),
        ("people", people),
        ("steps", f"{number(max(run.last_step, 0))} of {number(run_health(run).planned)}"),
        ("state", run.state),
        ("moderation", strategy(run)),
        ("belief rule", str(setting(run, "beliefs", "rule", default="–"))),
        ("policy", str(setting(run, "policy", "name", default="–"))),
        *_interventions(run),
        ("Townsquare", run.version),
        ("content hash", run.content_hash[:16]),
    ]


def _interventions(run: Reads) -> list[tuple[str, str]]:
    """Return events by step and treatments by name, where the run has any."""
    events = [
        f"step {event['step']}: {next(kind for kind in ('set', 'inject', 'message') if event.get(kind) is not None)}"
        for event in setting(run, "events", default=())
    ]
    listed = setting(run, "treatments", default=())
    treatments = [f"{treatment['name']} ({percent(treatment['share'])})" for treatment in listed]
    return [(name, ", ".join(words)) for name, words in (("events", events), ("treatments", treatments)) if words]


def summary(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Return the sentences that answer first: what was run, engagement, moderation, belief change."""
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    how = STRATEGIES.get(strategy(run), f"moderated by {strategy(run)}")
    who, steps = count(people, "simulated person", "simulated people"), count(max(run.last_step, 0), "step")
    sentences = [f"{who} read, posted and reacted over {steps}, {how}.".capitalize(), _injected(run)]
    sentences += [_engagement(outcome), _marked(outcome), _moved(run, outcome)]
    return [sentence for sentence in sentences if sentence]


def _injected(run: Reads) -> str:
    injected = roots(run).filter("injected")
    if not injected.height:
        return "No posts were injected."
    false = number(injected.filter(pl.col("veracity") == "false").height)
    return (
        f"{count(injected.height, 'post')} {'was' if injected.height == 1 else 'were'} injected, {false} of them false."
    )


def _engagement(outcome: Mapping[str, float]) -> str:
    true, false = outcome["engagement_true_per_post"], outcome["engagement_false_per_post"]
    if math.isnan(true) or math.isnan(false):
        return ""
    compared = "more engagement than" if false > true else "less engagement than"
    compared = compared if false != true else "as much engagement as"
    reached = [number(outcome[f"reach_{word}_mean"], 0) for word in ("false", "true")]
    return (
        f"A false post drew {compared} a true post ({number(false, 1)} vs. {number(true, 1)} actions) "
        f"and reached {reached[0]} vs. {reached[1]} people on average."
    )


def _marked(outcome: Mapping[str, float]) -> str:
    if math.isnan(outcome["recall"]):
        return ""
    true = count(int(outcome["true_labeled"]), "true post")
    return f"Moderation marked {percent(outcome['recall'])} of the false posts as misleading; {true} received a label."


def _moved(run: Reads, outcome: Mapping[str, float]) -> str:
    sizes = {statement: outcome[f"absolute_shift.{name}"] for name, statement in statements(run).items()}
    known = {statement: size for statement, size in sizes.items() if not math.isnan(size)}
    if not known:
        return ""
    statement = max(known, key=lambda text: known[text])
    which = ", largest for" if len(known) > 1 else " for"
    shift = f"{number(known[statement], 3)} on the scale from −1 to +1"
    return f"Belief change{which} “{printable(statement, 90)}”: a mean absolute shift of {shift}."
