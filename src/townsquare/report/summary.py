"""The head of a run's page: what was run, a summary in plain words, and what a reader must know first."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.moderation import strategy
from townsquare.analysis.posts import roots
from townsquare.report.words import count, number, percent
from townsquare.schema import AgentKind

MOST_AT_BOUNDS = 0.2
MOST_REFUSED = 0.2
LEAST_SPREAD = 0.5
"""Below this, beliefs count as collapsed."""

STRATEGIES = {
    "none": "without moderation",
    "community": "moderated by community notes",
    "third_party": "moderated by a fact-checker",
    "hybrid": "moderated by community notes and a fact-checker",
}


def facts(run: Reads) -> list[tuple[str, str]]:
    """What identifies a run, as names and values."""
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)
    first = persons.filter(pl.col("born") == 0).height
    grown = f"{number(first)}, at the end {number(persons.height)}" if persons.height > first else number(first)
    return [
        ("scenario", str(setting(run, "scenario", default="unnamed"))),
        ("seed", str(setting(run, "seed", default="–"))),
        ("people", grown),
        ("steps", f"{number(max(run.last_step, 0))} of {number(planned_steps(run))}"),
        ("state", run.state),
        ("moderation", strategy(run)),
        ("belief rule", str(setting(run, "beliefs", "rule", default="–"))),
        ("policy", str(setting(run, "policy", "name", default="–"))),
        ("Townsquare", run.version),
        ("content hash", run.content_hash[:16]),
    ]


def planned_steps(run: Reads) -> int:
    """Steps that the configuration asks for."""
    return int(setting(run, "steps", default=max(run.last_step, 0)))


def summary(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Some sentences for somebody who reads nothing else."""
    injected = roots(run).filter("injected")
    false = injected.filter(pl.col("veracity") == "false").height
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    steps = max(run.last_step, 0)
    how = STRATEGIES.get(strategy(run), f"moderated by {strategy(run)}")
    told = f"{count(people, 'simulated person', 'simulated people')} read, posted and reacted for {count(steps, 'step')}, {how}."
    posts = (
        "No posts were injected."
        if not injected.height
        else f"{count(injected.height, 'post')} {'was' if injected.height == 1 else 'were'} injected, {number(false)} of them false."
    )
    return [told, posts, *_outcome_sentences(run, outcome)]


def _outcome_sentences(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    said = []
    true, false = outcome["engagement_true_per_post"], outcome["engagement_false_per_post"]
    if not math.isnan(true) and not math.isnan(false):
        more = "more" if false > true else "less" if false < true else "as much"
        than = "as" if more == "as much" else "than"
        said.append(
            f"A false post drew {more} engagement {than} a true one ({number(false, 1)} against {number(true, 1)} actions) and reached "
            f"{number(outcome['reach_false_mean'], 0)} people against {number(outcome['reach_true_mean'], 0)}."
        )
    if not math.isnan(outcome["recall"]):
        said.append(
            f"Moderation marked {percent(outcome['recall'])} of the false posts; {count(int(outcome['true_labelled']), 'true post')} got a label too."
        )
    shifts = [(row["name"], outcome[f"absolute_shift.{row['name']}"]) for row in names(run).iter_rows(named=True)]
    moved = [(name, size) for name, size in shifts if not math.isnan(size)]
    if moved:
        name, size = max(moved, key=lambda pair: pair[1])
        said.append(
            f"People's stances moved most on {name}: by {number(size, 3)} on average, on a scale from −1 to +1."
        )
    return said


def warnings(run: Reads, outcome: Mapping[str, float], course: pl.DataFrame) -> list[str]:
    """What stands in the way of believing this run, worst first; empty for a healthy one."""
    return [*_unfinished(run), *_bare(run, outcome), *_beliefs(run, outcome, course), *_refusals(outcome)]


def _unfinished(run: Reads) -> list[str]:
    done, planned = max(run.last_step, 0), planned_steps(run)
    if run.state == "finished" and done >= planned:
        return []
    going = "is still running" if run.state == "running" else "stopped early"
    return [f"This run {going}: {number(done)} of {number(planned)} steps are recorded, and all numbers are of these."]


def _bare(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    said = []
    if run.last_step < 0:
        said.append("Nothing was recorded but the configuration.")
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    if people == 1:
        said.append("There was one person only: nobody to follow, to read or to persuade.")
    if not roots(run).filter("injected").height:
        said.append("No posts were injected: measures that need posts of known truth are undefined.")
    if not names(run).height:
        said.append("The scenario has no proposition: there are no beliefs to measure.")
    if run.last_step > 0 and not outcome["actions_per_agent_step"] > 0:
        said.append("Nobody did anything: engagement is zero throughout.")
    return said


def _beliefs(run: Reads, outcome: Mapping[str, float], course: pl.DataFrame) -> list[str]:
    said: list[str] = []
    for row in names(run).iter_rows(named=True):
        kept = outcome[f"spread_kept.{row['name']}"]
        if kept < LEAST_SPREAD:
            said.append(
                f"Beliefs about {row['name']} collapsed: only {percent(kept)} of their spread is left. Real opinions do not do "
                "that in so few steps; look for a smaller pull or an anchor."
            )
    for name, share in course.filter(pl.col("step") == run.last_step).select("name", "share_at_bounds").rows():
        if share > MOST_AT_BOUNDS:
            said.append(f"{percent(share)} of people stand at the very ends of the scale for {name}.")
    return said


def _refusals(outcome: Mapping[str, float]) -> list[str]:
    share = outcome["refused_share"]
    return [f"{percent(share)} of all actions were refused; see why under Health."] if share > MOST_REFUSED else []


def limits(run: Reads) -> list[str]:
    """What this page cannot say."""
    said = [
        "This is one run with one seed. A difference to another run means something only over several seeds, paired: "
        "`townsquare compare` does that."
    ]
    policy = str(setting(run, "policy", "name", default=""))
    if policy in ("statistical", "mix", "blind"):
        said.append(
            "People act by the embedded statistical policy. Some of its parameters were fitted to published counts of human "
            "behaviour, the others are assumptions; it reads no text. Its results show what follows from these assumptions, "
            "not what people would do."
        )
    said += [
        "Plausibility, stances and truth of posts are as the scenario gives them; accuracy is measured against the side that "
        "its true posts take, not against the world.",
        "Beliefs move by the stated rule and by nothing else. That it fits people is not shown here.",
    ]
    return said
