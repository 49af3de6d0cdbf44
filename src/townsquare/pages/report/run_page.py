"""The page of one run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl
import yaml

from townsquare.analysis.beliefs import statements
from townsquare.analysis.contract import CachedRun, Reads, setting
from townsquare.analysis.health import run_health
from townsquare.analysis.moderation import strategy
from townsquare.analysis.outcomes import describe, outcomes
from townsquare.core import registry
from townsquare.core.enums import AgentKind
from townsquare.core.text_table import Table, table
from townsquare.core.words import number, percent, printable, significant
from townsquare.experiments.run_answer import answer_run
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import FAMILY, section
from townsquare.pages.report.top_posts import top_posts


def write_report(run: Reads, path: Path | str) -> Path:
    """Write the report of a run as one self-contained HTML page.

    Raises
    ------
    RecordError
        If the run cannot be read or the page not be written.
    """
    return run_page(run).write(path)


def run_page(run: Reads) -> Page:
    """Make the page of a recorded run: finished, stopped or still running."""
    cached = run if isinstance(run, CachedRun) else CachedRun(run, large=True)
    values = outcomes(cached)
    most, false = top_posts(cached)
    answer = cached.once("answer", lambda: answer_run(cached, values))
    return Page(
        "run.html",
        title=answer.title,
        facts=[(name, printable(value)) for name, value in _facts(cached)],
        content_hash=cached.content_hash,
        summary=answer.sentences,
        mover=answer.mover,
        warnings=answer.cautions,
        sections=[made for name in registry.names(FAMILY) if (made := section(name, cached))],
        most_posts=most,
        false_posts=false,
        outcomes=outcome_table(values, statements(cached)),
        is_statistical=_policies(cached) <= {"statistical", "propensity", "blind"},
        configuration=yaml.safe_dump(dict(cached.settings), sort_keys=False, allow_unicode=True),
    )


def _policies(run: Reads) -> set[str]:
    """Return the policies that people act by: the members of a mix, or the one policy."""
    members = setting(run, "policy", "members", default=())
    return {str(member["name"]) for member in members} or {str(setting(run, "policy", "name", default=""))}


def _facts(run: Reads) -> list[tuple[str, str]]:
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


def outcome_table(values: Mapping[str, float], by_name: Mapping[str, str]) -> Table:
    """Return all outcomes of a run, with which values are better and what a higher value means."""
    described = [(describe(name, by_name), value) for name, value in values.items()]
    rows = [(what.title, significant(value), what.unit, what.direction, what.higher) for what, value in described]
    columns = (partial(printable, longest=110), "outcome", "value", "unit", "direction", "higher means")
    return table("Outcomes", rows, columns, words=("outcome", "unit", "direction", "higher means"))
