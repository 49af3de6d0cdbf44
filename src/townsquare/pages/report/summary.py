"""The head of a run's page: what was run, and a summary in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import run_health
from townsquare.analysis.moderation import strategy
from townsquare.analysis.posts import roots
from townsquare.core.schema import AgentKind
from townsquare.pages.report.words import count, number, percent, printable

STRATEGIES = {
    "none": "without moderation",
    "community": "moderated by community notes",
    "third_party": "moderated by a fact-checker",
    "hybrid": "moderated by community notes and a fact-checker",
}


def facts(run: Reads) -> list[tuple[str, str]]:
    """What identifies a run beside its scenario, as names and values."""
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)
    first = persons.filter(pl.col("born") == 0).height
    grown = f"{number(first)}, at the end {number(persons.height)}" if persons.height > first else number(first)
    return [
        ("seed", str(setting(run, "seed", default="–"))),
        ("people", grown),
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
    """Events by step and treatments by name, if there are any."""
    events = [
        f"step {event['step']}: {next(kind for kind in ('set', 'inject', 'message') if event.get(kind) is not None)}"
        for event in setting(run, "events", default=())
    ]
    treatments = [
        f"{treatment['name']} ({percent(treatment['share'])})" for treatment in setting(run, "treatments", default=())
    ]
    return [(name, ", ".join(words)) for name, words in (("events", events), ("treatments", treatments)) if words]


def summary(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Some sentences for somebody who reads nothing else."""
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    how = STRATEGIES.get(strategy(run), f"moderated by {strategy(run)}")
    who, steps = count(people, "simulated person", "simulated people"), count(max(run.last_step, 0), "step")
    sentences = [f"{who} read, posted and reacted for {steps}, {how}.".capitalize(), _injected(run)]
    return [
        sentence for sentence in [*sentences, _engagement(outcome), _marked(outcome), _moved(run, outcome)] if sentence
    ]


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
    compared = "more engagement than" if false > true else "less engagement than" if false < true else "as much as"
    reached = [number(outcome[f"reach_{word}_mean"], 0) for word in ("false", "true")]
    return (
        f"A false post drew {compared} a true one ({number(false, 1)} against {number(true, 1)} actions) "
        f"and reached {reached[0]} people against {reached[1]}."
    )


def _marked(outcome: Mapping[str, float]) -> str:
    if math.isnan(outcome["recall"]):
        return ""
    true = count(int(outcome["true_labeled"]), "true post")
    return f"Moderation marked {percent(outcome['recall'])} of the false posts; {true} got a label too."


def _moved(run: Reads, outcome: Mapping[str, float]) -> str:
    sizes = {name: outcome[f"absolute_shift.{name}"] for name in names(run)["name"]}
    known = {name: size for name, size in sizes.items() if not math.isnan(size)}
    if not known:
        return ""
    name = max(known, key=lambda proposition: known[proposition])
    most = f" most on {printable(name, 60)}:" if len(known) > 1 else f" on {printable(name, 60)}"
    return f"Stances moved{most} by {number(known[name], 3)} on average, on a scale from −1 to +1."
