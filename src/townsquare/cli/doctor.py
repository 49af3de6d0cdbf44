"""``townsquare doctor``: what is here, what is missing, and whether a planned run fits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import console, show_json, table

if TYPE_CHECKING:
    from townsquare.doctor import Finding
    from townsquare.planned_size import PlannedSize


def doctor(
    target: options.Target = None,
    /,
    *,
    agents: options.Agents = None,
    steps: options.Steps = None,
    out: options.Out = None,
    sets: options.Sets = None,
    as_json: options.AsJson = False,
) -> int:
    """Show what is installed and what is missing; with a scenario or configuration, also what its run would need.

    Exit code 1 if something that a run needs is missing.
    """
    from townsquare.doctor import State, examine, fits
    from townsquare.planned_size import planned_size
    from townsquare.resolve import resolve_for
    from townsquare.scenario import load_scenario

    folder = out or Path("runs")
    found, size = examine(folder), None
    if target is not None or agents is not None or steps is not None or sets:
        scenario, file = options.split_target(target)
        config = resolve_for(scenario, file, sets or (), agents=agents, steps=steps).config
        size = planned_size(config, load_scenario(config.scenario))
        found += fits(size, folder)
    whole = not any(one.state == State.MISSING for one in found)
    if as_json:
        planned = None if size is None else asdict(size)
        show_json({"ok": whole, "findings": [asdict(one) for one in found], "planned": planned})
    else:
        _show(found, size)
    return 0 if whole else 1


def _show(found: list[Finding], size: PlannedSize | None) -> None:
    rows = [(one.what, one.state.value, one.found) for one in found]
    console().print(table("", ("what", "state", "found"), rows))
    for one in found:
        if one.do:
            print(f"{one.what}: {one.do}")
    if size is not None:
        where = "Parquet" if size.in_parquet else "SQLite"
        rows_said = f"{size.exposures:,} exposures, {size.trail:,} rows of trail, {size.beliefs:,} of beliefs"
        print(f"The run would record up to {rows_said}, in {where}.")
        print(
            "These are upper estimates from measured bytes a row, with every feed full: docs/cli.md says how measured."
        )
