"""``townsquare run`` and ``townsquare resume``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, number, show, show_lines
from townsquare.cli.signals import StopRequest

UNHEALTHY = 3
"""Exit code of a run that ended, but in which too many calls of a language model failed."""
PAUSED = 4
"""Exit code of a run that has spent its budget, and can go on with more."""
MOST_FOR_REPORT = 50_000_000
"""Exposures up to which a run is reported as it ends; above, only when its report is asked for."""

if TYPE_CHECKING:
    from townsquare.record.postgresql.address import Address
    from townsquare.record.run import Run
    from townsquare.settings.resolve import Settings


def run(
    target: options.Target = None,
    /,
    *,
    chosen: options.SeededSize = options.SEEDED,
    out: options.Out = None,
    recorded: options.Recorded = options.RECORDED,
    no_copy: options.NoCopy = False,
    shown: options.Shown = options.SHOWN,
    every: Annotated[bool, Parameter(name="--all")] = False,
    no_report: bool = False,
) -> int:
    """Simulate a scenario and record everything.

    Settings come from defaults, the scenario, a configuration file, the options and --set; later ones win.

    Parameters
    ----------
    every
        Print all outcomes, not only the answer.
    no_report
        Write no report.
    """
    from townsquare.experiments.run_folders import check_unused, check_unused_address, folder_for
    from townsquare.experiments.run_notes import facts_of_settings, setting_notes, unused_settings
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.population.sample import people_notes
    from townsquare.settings.presets import preset_names
    from townsquare.simulation.scenario_copy import left_out

    settings = chosen.settings(target)
    loaded = load_scenario(settings.config.scenario)
    too_large = "" if no_copy or recorded.record else left_out(loaded, settings)
    people = people_notes(settings.config.population, loaded.folder)
    of_settings = *setting_notes(facts_of_settings(settings)), *unused_settings([settings], chosen.given())
    notices = (*loaded.notices, *people, *of_settings, too_large)
    for notice in () if shown.quiet else filter(None, notices):
        complain(notice, kind="note")
    name = target if target in preset_names() else Path(settings.config.scenario).stem
    with folder_for(out, f"{name}-seed{settings.config.seed}") as folder:
        check_unused(folder)
        address = recorded.address(folder)
        if address is not None:
            check_unused_address(address)
        return _execute(folder, settings, shown, address, with_copy=not no_copy, every=every, with_page=not no_report)


def resume(folder: options.Folder, /, *, sets: options.ResumeSets = None, shown: options.Shown = options.SHOWN) -> int:
    """Resume a stopped run; its recorded steps are executed again and compared.

    --set changes only settings of `budget` and `serving`; others would make another run. Servers, variables and files
    named by someone else's run are used only if you repeat them with --set, such as model.base_url=ADDRESS.
    """
    from townsquare.cli.calls import approved_settings
    from townsquare.experiments.run_folders import check_single, settings_of
    from townsquare.record.run import Run
    from townsquare.record.sqlite import complete

    check_single(folder)
    recorded = Run.open(folder)
    if recorded.state == "finished" and complete(folder):
        complain(f"completed the interrupted closing of {folder}: run.db is a single file now", kind="note")
    if recorded.state == "finished":
        settings_of(recorded, str(folder), sets or ())
        _show_result(recorded, folder, shown)
        complain(f"{folder} is already finished", kind="note")
        return 0
    return _execute(folder, approved_settings(recorded, folder, sets), shown, None, with_copy=True)


def _execute(
    folder: Path, settings: Settings, shown: options.Shown, address: Address | None, *, with_copy: bool, **asked: bool
) -> int:
    """Execute a run with progress, and show its result as ``asked`` of :func:`_show_result`; the exit code."""
    from townsquare.cli.calls import Calls, show_servers_of
    from townsquare.core.errors import BudgetReached
    from townsquare.experiments.run_folders import go_on
    from townsquare.models.contract import Call
    from townsquare.record.contract import StepSummary

    total = settings.config.steps
    title = f"{settings.config.scenario}, {settings.config.agents:,} agents"

    calls = Calls(settings.config.serving.prices)
    show_servers_of([settings])

    def on_step(summary: StepSummary) -> None:
        calls.done(summary.step)
        progress.at(summary.step, calls.note(total))
        request.check()

    def on_call(call: Call) -> None:
        calls.add(call)
        progress.at(calls.step, calls.note(total))

    with StopRequest() as request:
        try:
            with shown.progress(total, title) as progress:
                recorded = go_on(folder, settings, on_step, on_call, address, with_copy=with_copy)
        except BudgetReached as reached:
            setting = reached.where.partition(" ")[0]
            why = f"{reached.where}: {reached.got} of {reached.allowed} used"
            complain(f"{why}\n{_what_is_safe(folder, total)} --set {setting}=...", kind="paused")
            return PAUSED
        except KeyboardInterrupt:
            complain(_what_is_safe(folder, total), kind="stopped")
            return 128 + (request.signal or 2)
        _show_result(recorded, folder, shown, **asked)
    if recorded.health:
        complain(f"{recorded.health}; see `townsquare inspect`", kind="unhealthy")
        return UNHEALTHY
    return 0


def _what_is_safe(folder: Path, total: int) -> str:
    from townsquare.experiments.run_folders import holds_run
    from townsquare.record.run import Run

    if not holds_run(folder):
        return "nothing is recorded yet; give the same command again"
    return f"{max(0, Run.open(folder).last_step)} of {total} steps are saved. To resume:\n  townsquare resume {folder}"


def _show_result(
    recorded: Run, folder: Path, shown: options.Shown, *, every: bool = False, with_page: bool = True
) -> None:
    from townsquare.analysis import outcomes
    from townsquare.analysis.contract import CachedRun
    from townsquare.analysis.model_calls import calls_in_short
    from townsquare.experiments.run_answer import answer_run
    from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes

    exposures = int(recorded.steps["exposures"].sum())
    # A report of a large run takes long: only who asks for it waits.
    is_small = exposures <= MOST_FOR_REPORT
    cached = CachedRun(recorded, large=True)
    page = None
    if is_small and with_page:
        from townsquare.pages.report import write_report

        page = write_report(cached, folder / "report.html")
    if shown.quiet and not shown.as_json:
        print(folder)
        return
    values = outcomes(cached) if is_small else {}
    answer = cached.once("answer", lambda: answer_run(cached, values)) if is_small else None
    calls, facts = calls_in_short(recorded), facts_of_run(recorded)
    facts_shown = {
        "run": str(folder),
        "report": None if page is None else str(page),
        "content_hash": recorded.content_hash,
        "answer": answer.lines if answer else [],
        "outcomes": values,
        "calls": calls,
        "unhealthy": recorded.health,
        "notes": [*answer_notes(facts), *setting_notes(facts)],
    }
    if shown.is_told(folder, facts_shown):
        return
    if answer is not None:
        show_lines(answer.lines)
    if every:
        _show_outcomes(values)
    if calls:
        asked = f"{calls['asked']:,} calls to a model, {calls['failed']:,} failed"
        print(f"Calls: {asked}; agents missed {calls['silent_agents']:,} turns")
    why = "" if is_small else f": a report on {exposures:,} exposures takes long"
    late = f"not written{why}; run `townsquare report {folder}`"
    print(f"Run: {folder}\nReport: {late if page is None else page}")


def _show_outcomes(values: Mapping[str, float]) -> None:
    """Print every outcome that is defined."""
    from townsquare.analysis import describe

    defined = [(describe(name), value) for name, value in values.items() if not math.isnan(value)]
    rows = [(what.title, value, what.unit, what.direction) for what, value in defined]
    show("", rows, (str, "outcome"), (number, "value"), (str, "unit", "direction"))
    if len(defined) < len(values):
        print(f"{len(values) - len(defined)} outcomes are undefined in this run.")
