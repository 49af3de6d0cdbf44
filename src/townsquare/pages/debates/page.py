"""The page of a folder of debates: stances of every arm, levels of sweeps, reported and judged measures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from pathlib import Path

import numpy as np

from townsquare.core.text_table import Table
from townsquare.core.words import count, printable
from townsquare.debate.measures import Estimate, steps_between
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import PRO
from townsquare.pages.debates.figures import course_figure, finals_figure, key_of, levels_figure
from townsquare.pages.debates.tables import (
    PAIR_MEASURES,
    arms_table,
    cross_table,
    shown,
    starts_table,
    varied,
)
from townsquare.pages.debates.transcript import write_transcript
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import Section

REPORT = "report.html"
MOST_PANELS = 60
MOST_JUDGED = 12
"""Arms that get a panel; those of judged courses are left out where there are more."""


def write_pages(results: DebateResults) -> Path:
    """Write ``report.html``, and the transcript of each arm next to its trials; the path of the report.

    Raises
    ------
    RecordError
        A trial cannot be read, or a page not be written.
    """
    for arm in results.arms:
        if results.records(arm):
            write_transcript(results, arm, figures=len(results.arms) <= MOST_JUDGED)
    return write_debates(results)


def write_debates(results: DebateResults) -> Path:
    """Write ``report.html`` into a folder of debates: one self-contained file.

    Raises
    ------
    RecordError
        A trial cannot be read, or the page not be written.
    """
    arms = [arm for arm in results.arms if results.records(arm)]
    recorded = DebateResults(results.folder, tuple(arms), results.trials, results.failed)
    sections = [*_levels(recorded), *_courses(recorded), *_measured(recorded)] if arms else []
    failed = [f"trial {at} of {printable(arm, 120)}: {printable(error, 300)}" for arm, at, error in results.failed]
    page = Page("debates.html", title=_title(results), facts=_facts(results), warnings=failed, sections=sections)
    return page.write(results.folder / REPORT)


def _title(results: DebateResults) -> str:
    statements = list(dict.fromkeys(arm.statement for arm in results.arms))
    return printable(statements[0], 160) if len(statements) == 1 else count(len(statements), "proposition")


def _facts(results: DebateResults) -> list[tuple[str, str]]:
    done = sum(len(results.records(arm)) for arm in results.arms)

    def each(*path: str) -> str:
        values = (reduce(lambda value, name: value[name], path, arm.settings) for arm in results.arms)
        return printable(", ".join(dict.fromkeys(map(str, values))), 160)

    return [
        ("arms", str(len(results.arms))),
        ("debates", f"{done} of {len(results.arms) * results.trials}"),
        ("rounds", each("rounds")),
        *((name, each(name, "name")) for name in ("debater", "speaker", "judge")),
    ]


def _levels(results: DebateResults) -> list[Section]:
    """Return a section for each setting whose levels vary alone (Figure 2, left)."""
    return [_level_section(results, name, *zip(*rows, strict=True)) for name, rows in varied(results).items()]


def _level_section(results: DebateResults, name: str, levels: Sequence[float], arms: Sequence[DebateArm]) -> Section:
    figures, says, tables = [levels_figure(results, arms, levels, name)], [], []
    ends = [_ends(results, arm) for arm in arms]
    if shared := sorted(set.intersection(*map(set, ends))):
        figures.append(finals_figure(results, arms, levels, name))
        steps = steps_between(np.array(levels), np.array([[of_arm[trial] for trial in shared] for of_arm in ends]))
        says = [_ordering(name, steps)]
        rows = [[f"{low:g} to {high:g}", shown("shift", change)] for low, high, change in steps]
        tables = [Table(f"Change in final stance between successive levels of {name}", [name, "change"], rows)]
    return Section(f"levels-{key_of(name)}", f"Levels of {name}", says=says, figures=figures, open_tables=tables)


def _ends(results: DebateResults, arm: DebateArm) -> dict[int, float]:
    """Return the final stance of pro by the number of the trial: one that failed leaves a gap."""
    trials = [int(record["trial"]) for record in results.records(arm)]
    return dict(zip(trials, results.stances(arm)[:, -1, PRO].tolist(), strict=True))


def _ordering(name: str, steps: list[tuple[float, float, Estimate]]) -> str:
    """Say whether final stances are ordered by level, and how many changes have a 95% CI that excludes zero."""
    means = [change.mean for _, _, change in steps]
    clear = sum(change.low > 0 or change.high < 0 for _, _, change in steps)
    changes = f"{clear} of {count(len(steps), 'change')} between levels"
    of = f"{changes} {'has' if clear == 1 else 'have'} a 95% CI that excludes zero"
    way = "falls" if all(mean < 0 for mean in means) else "rises" if all(mean > 0 for mean in means) else ""
    if way:
        return f"The mean final stance of pro {way} from each level of {name} to the next; {of}."
    return f"Final stances are not ordered by {name}: {of}."


def _courses(results: DebateResults) -> list[Section]:
    """Return kept and judged courses of each arm (Figures 2 right, 3, A1 to A5)."""
    arms = results.arms[:MOST_PANELS]
    notes = [f"The first {MOST_PANELS} of {len(results.arms)} arms."] if len(arms) < len(results.arms) else []
    own = [course_figure(results, arm, f"k{at}", _caption(results, arm)) for at, arm in enumerate(arms)]
    says = ["One panel per arm: stance over rounds, from −1 (against the proposition) to +1 (for it)."]
    sections = [Section("courses", "Reported stances", says=says, notes=notes, figures=own)]
    if len(arms) <= MOST_JUDGED:
        draw = partial(course_figure, results, judged=True)
        judged = [draw(arm, f"j{at}", _caption(results, arm)) for at, arm in enumerate(arms)]
        note = "One judge rates every message of every arm from its text alone."
        sections.append(Section("judged", "Judged stances", says=[note], figures=judged))
    return sections


def _caption(results: DebateResults, arm: DebateArm) -> str:
    several = len({other.statement for other in results.arms}) > 1
    return printable(f"{arm.statement} · {arm.name}" if several and "topic" not in arm.changes else arm.name, 120)


def _measured(results: DebateResults) -> list[Section]:
    tables = []
    for is_pair in (True, False):
        arms = [arm for arm in results.arms if arm.is_pair is is_pair]
        if arms:
            tables += [arms_table(results, arms), arms_table(results, arms, judged=True)]
    crossed = [table for measure in ("gap_reduction", "final") if (table := cross_table(results, measure))]
    says = [
        "A reported stance is computed from the debater's argument records (belief_engine) or stated by the debater "
        "itself (prompt_self_update, rag_self_update). Compare these two kinds of debaters by judged stances, which "
        "one judge rates from a debater's last three messages."
    ]
    if any(arm.is_pair for arm in results.arms):
        says.append(PAIR_MEASURES)
    starts = ["Prior scale: factor on the contribution of each seed record to the initial stance."]
    summary = Section("measures", "Summary", says=says, open_tables=[*crossed, *tables])
    return [summary, Section("starts", "Starting conditions", says=starts, open_tables=[starts_table(results)])]
