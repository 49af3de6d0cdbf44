"""``townsquare check facts``: published facts about people and platforms, and what a run shows of each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import picked, safe, show, show_json

if TYPE_CHECKING:
    from townsquare.analysis.facts.check import FactCheck, FactReport

LEGEND = """\
Class: runs, sittings (random posts shown once to random people of the run, as in a survey), notes (of the arm or, if
it has none, of the first arm with notes), or rules: the belief rules credence and averaging, whatever the run uses.
Value: mean over runs [95% CI]; of rules: with the fitted value of a parameter [over its interval].
Target: the published range. Inside, uncertain: the interval in brackets contains an end of the target.
Certainty of the target: computed from public data, read on a page, or from memory (then not scored).
Not for defaults: a fact drawn by lot; since then, no default was set to meet it.
"""
FACT = "id statement unit certainty scope left_out verify direction definition drives source interval_from"


def facts(
    folder: Annotated[Path | None, Parameter(name="RUN")] = None,
    /,
    *,
    arm: str | None = None,
    file: Annotated[Path | None, Parameter(name="--facts")] = None,
    list_them: Annotated[bool, Parameter(name="--list")] = False,
    markdown: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """Compare a run, or the runs of a comparison, with published facts about people and platforms.

    Parameters
    ----------
    folder
        The folder of a run or of a comparison.
    arm
        An arm, as the report names it, such as labels; default: the arm without moderation, or else the first.
    file
        A table of facts of your own (YAML); default: the bundled one, see docs/realism.md.
    list_them
        List the facts with published ranges and sources; measure nothing.
    markdown
        With --list: print the page docs/realism.md.
    """
    from townsquare.experiments.facts import check_facts

    if list_them:
        return _list(file, as_json=as_json, markdown=markdown)
    folder = options.required("RUN", folder, "the folder of a run or of a comparison, or --list")
    report = check_facts(folder, arm=arm, facts=file)
    if as_json:
        whole = picked(report, "answer", "left_out", "of_rules", "by_class", "runs", "arm")
        return show_json({"event": "result", **whole, "facts": [_plain(check) for check in report.checks]})
    _show(report)
    return 0


def _plain(check: FactCheck) -> dict[str, Any]:
    fact = picked(check.fact, *FACT.split(), "target=interval")
    interval = [check.low, check.high] if math.isfinite(check.low) else None
    shown = picked(check, "value", "inside", "measured", "scored", "reason", "runs", "also")
    return {**fact, **shown, "interval": interval, "published": check.fact.value}


def _show(report: FactReport) -> None:
    from townsquare.analysis.facts.check import CLASSES
    from townsquare.analysis.facts.table import short_number
    from townsquare.core.words import count, with_interval

    for line in str(report).splitlines():
        print(safe(line))
    of_arm = f" of the arm {report.arm}" if report.arm else ""
    print(safe(f"{count(report.runs, 'run')}{of_arm}. Definitions and sources: docs/realism.md\n"))

    def row(check: FactCheck) -> tuple[str, ...]:
        fact, left = check.fact, "yes" if check.fact.left_out else ""
        scope = CLASSES.get(fact.scope, fact.scope)
        value = with_interval(check.value, check.low, check.high, short_number)
        return fact.id, scope, value, fact.target, check.verdict, fact.unit, fact.certainty, left

    measured = [check for check in report.checks if check.measured]
    heads = ("fact", "class", "value", "target", "inside", "unit", "certainty", "not for defaults")
    numbers = ("value", "target")
    show("", map(row, measured), (str, *heads), words=[head for head in heads if head not in numbers])
    print(LEGEND)
    driven = [(check.fact.id, check.fact.drives) for check in measured if not check.inside and check.fact.drives]
    _listed("Facts outside the target, and what determines them", driven, "determined by")
    also = [(check.fact.id, name, short_number(value)) for check in measured for name, value in check.also.items()]
    _listed("Related measurements (*the same*: what the fact measures)", also, "measurement", "value")
    missing = [check for check in report.checks if not check.measured]
    reasons = [(check.fact.id, check.reason) for check in missing if check.fact.measure]
    _listed("Not measured", reasons, "why")
    print(f"{count(len(missing) - len(reasons), 'further fact')} that no run shows: docs/realism.md says why.")


def _listed(title: str, rows: list[Any], *heads: str) -> None:
    """Print rows of a fact and what is said of it, if there are any."""
    if rows:
        show(title, rows, (str, "fact", *heads), words=["fact", *(head for head in heads if head != "value")])


def _list(file: Path | None, *, as_json: bool, markdown: bool) -> int:
    from townsquare.analysis.facts.table import facts_page, read_facts

    listed = read_facts(file)
    if as_json:
        return show_json({"facts": [fact.model_dump() for fact in listed]})
    if markdown:
        print(facts_page(listed))
    else:
        rows = [(fact.id, fact.scope, fact.statement, fact.target, fact.unit, fact.certainty) for fact in listed]
        show("", rows, (str, "fact", "scope", "statement", "target", "unit", "certainty"))
    return 0
