"""Published facts held against the run: which of them are inside their interval."""

from __future__ import annotations

from townsquare.analysis.contract import Reads
from townsquare.analysis.facts.check import FactCheck, check_run
from townsquare.analysis.facts.table import short_number
from townsquare.core.text_table import table
from townsquare.pages.report.section import Section


def fact_section(run: Reads) -> Section | None:
    """Return the section on published facts; None for a run whose steps have no length."""
    report = check_run(run)
    if report is None:
        return None
    measured = [check for check in report.checks if check.measured]
    missing = [check for check in report.checks if not check.measured and check.fact.scope == "run"]
    columns = (str, "fact", "value", "target", "inside", "unit", "certainty", "definition")
    words = ("fact", "inside", "unit", "certainty", "definition")
    tables = [table("Facts of this run", map(_row, measured), columns, words=words)]
    if missing:
        reasons = [(check.fact.statement, check.reason) for check in missing]
        tables.append(table("Facts that this run does not show", reasons, (str, "fact", "why")))
    return Section(
        "facts",
        "Published facts",
        says=[report.answer, *([report.left_out] if report.left_out else [])],
        notes=[
            "One run has no interval: “townsquare check facts” takes the runs of a comparison together, and adds facts "
            "of a sitting. No default was set from facts marked “not used for defaults”. Facts whose published range "
            "was not checked against its source are not scored."
        ],
        tables=tables,
    )


def _row(check: FactCheck) -> tuple[str, ...]:
    """Return the cells of a measured fact."""
    fact = check.fact
    statement = f"{fact.statement} (not used for defaults)" if fact.left_out else fact.statement
    return statement, short_number(check.value), fact.target, check.verdict, fact.unit, fact.certainty, fact.definition
