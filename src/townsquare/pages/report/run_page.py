"""The page of one run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import yaml

from townsquare.analysis.beliefs import statements
from townsquare.analysis.contract import CachedRun, Reads, setting
from townsquare.analysis.outcomes import describe, outcomes
from townsquare.core import registry
from townsquare.core.text_table import Table, table
from townsquare.pages.report.cautions import warnings
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import FAMILY, section
from townsquare.pages.report.summary import facts, summary
from townsquare.pages.report.top_posts import top_posts
from townsquare.pages.report.words import number, printable


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
    cached = CachedRun(run, large=True)
    values = outcomes(cached)
    most, false = top_posts(cached)
    scenario = printable(Path(str(cached.settings.get("scenario", "a run"))).name, 80)
    return Page.of(
        "run.html",
        title=scenario,
        facts=[(name, printable(value)) for name, value in facts(cached)],
        content_hash=cached.content_hash,
        summary=summary(cached, values),
        warnings=warnings(cached, values),
        sections=[made for name in registry.names(FAMILY) if (made := section(name, cached))],
        most_posts=most,
        false_posts=false,
        outcomes=outcome_table(values, statements(cached)),
        is_statistical=str(setting(cached, "policy", "name", default="")) in ("statistical", "mix", "blind"),
        configuration=yaml.safe_dump(dict(cached.settings), sort_keys=False, allow_unicode=True),
    )


def outcome_table(values: Mapping[str, float], by_name: Mapping[str, str]) -> Table:
    """Return all outcomes of a run, with which values are better and what a higher value means."""
    rows = [
        (what.title, number(value, _DIGITS.get(what.unit, 3)), what.unit, what.direction, what.higher)
        for name, value in values.items()
        for what in [describe(name, by_name)]
    ]
    columns = (partial(printable, longest=110), "outcome", "value", "unit", "direction", "higher means")
    return table("Outcomes", rows, columns, words=("outcome", "unit", "direction", "higher means"))


_DIGITS = {"posts": 0, "exposures": 0, "0 or 1": 0, "agents": 1, "steps": 1, "actions per post": 1}
