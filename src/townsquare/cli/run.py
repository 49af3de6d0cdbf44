"""``townsquare run`` and ``townsquare resume``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import complain, console, number, show_json, table
from townsquare.cli.progress import ProgressDisplay, mode
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
    agents: options.Agents = None,
    steps: options.Steps = None,
    seed: options.Seed = None,
    out: options.Out = None,
    record: options.Record = None,
    record_schema: options.RecordSchema = None,
    sets: options.Sets = None,
    no_copy: options.NoCopy = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Simulate a scenario and record everything.

    Settings come from, later ones winning: defaults, the scenario, a configuration file, the options, --set.
    """
    from townsquare.experiments.run_folders import check_unused, folder_for
    from townsquare.experiments.run_notes import facts_of_settings, setting_notes
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.settings import resolve_for
    from townsquare.settings.presets import preset_names
    from townsquare.simulation.scenario_copy import left_out

    scenario, file = options.split_target(target)
    settings = resolve_for(scenario, file, sets or (), agents=agents, steps=steps, seed=seed)
    loaded = load_scenario(settings.config.scenario)
    too_large = "" if no_copy or record else left_out(loaded, settings)
    notices = (*loaded.notices, *setting_notes(facts_of_settings(settings)), *([too_large] if too_large else []))
    for notice in () if quiet else notices:
        complain(notice, kind="note")
    name = scenario if scenario in preset_names() else Path(settings.config.scenario).stem
    with folder_for(out, f"{name}-seed{settings.config.seed}") as folder:
        check_unused(folder)
        address = _address(record, record_schema, folder)
        return _execute(folder, settings, quiet=quiet, as_json=as_json, address=address, with_copy=not no_copy)


def _address(record: str | None, schema: str | None, folder: Path) -> Address | None:
    """Where on a server a new run goes; None for the folder itself."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.run_folders import check_unused_address
    from townsquare.record.postgresql.address import Address, checked_schema, schema_for

    if record is None:
        if schema is not None:
            raise SettingError("--record-schema", got="without --record", do="say where: --record postgresql://…")
        return None
    address = Address.parse(record, schema_for(folder) if schema is None else checked_schema(schema))
    check_unused_address(address)
    return address


def resume(
    folder: options.Folder,
    /,
    *,
    sets: options.Sets = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Go on with a run that was stopped; its recorded steps are executed again and compared.

    --set takes settings of `budget` and `serving` only: the others make a run what it is. Servers, variables and files
    that the record of somebody else's run names are used only if they are given here, by --set.
    """
    from townsquare.cli.servers import approved_settings
    from townsquare.experiments.run_folders import check_single, settings_of
    from townsquare.record.run import Run
    from townsquare.record.sqlite import complete

    check_single(folder)
    recorded = Run.open(folder)
    if recorded.state == "finished" and complete(folder):
        complain(f"closing {folder} had been interrupted: run.db is one whole file now", kind="note")
    if recorded.state == "finished":
        settings_of(recorded, str(folder), sets or ())
        _show_result(recorded, folder, quiet=quiet, as_json=as_json)
        complain(f"{folder} is finished already: nothing to do", kind="note")
        return 0
    settings = approved_settings(recorded, folder, sets)
    return _execute(folder, settings, quiet=quiet, as_json=as_json)


def _execute(
    folder: Path,
    settings: Settings,
    *,
    quiet: bool,
    as_json: bool,
    address: Address | None = None,
    with_copy: bool = True,
) -> int:
    from townsquare.cli.calls import Calls
    from townsquare.cli.servers import show_servers_of
    from townsquare.core.errors import BudgetReached
    from townsquare.experiments.run_folders import go_on
    from townsquare.models.contract import Call
    from townsquare.record.contract import StepMark

    total = settings.config.steps
    title = f"{settings.config.scenario}, {settings.config.agents:,} agents"

    calls = Calls(settings.config.serving.prices)
    show_servers_of([settings])

    def on_step(mark: StepMark) -> None:
        calls.done(mark.step)
        progress.at(mark.step, calls.note(total))
        request.check()

    def on_call(call: Call) -> None:
        calls.add(call)
        progress.at(calls.step, calls.note(total))

    with StopRequest() as request, ProgressDisplay(total, mode(quiet=quiet, as_json=as_json), title) as progress:
        try:
            recorded = go_on(folder, settings, on_step, on_call, address, with_copy=with_copy)
        except BudgetReached as reached:
            progress.__exit__(None, None, None)
            setting = reached.where.partition(" ")[0]
            why = f"{reached.where}: {reached.got} of {reached.allowed} spent"
            complain(f"{why}\n{_what_is_safe(folder, total)} --set {setting}=...", kind="paused")
            return PAUSED
        except KeyboardInterrupt:
            progress.__exit__(None, None, None)
            complain(_what_is_safe(folder, total), kind="stopped")
            return 128 + (request.signal or 2)
        progress.__exit__(None, None, None)
        _show_result(recorded, folder, quiet=quiet, as_json=as_json)
    return UNHEALTHY if _complain_of_health(recorded) else 0


def _complain_of_health(recorded: Run) -> bool:
    if recorded.health:
        complain(f"{recorded.health}; see `townsquare inspect`", kind="unhealthy")
    return bool(recorded.health)


def _what_is_safe(folder: Path, total: int) -> str:
    from townsquare.experiments.run_folders import holds_run
    from townsquare.record.run import Run

    if not holds_run(folder):
        return "nothing is recorded yet: give the same command again"
    return f"{max(0, Run.open(folder).last_step)} of {total} steps are safe. Go on with:\n  townsquare resume {folder}"


def _show_result(recorded: Run, folder: Path, *, quiet: bool, as_json: bool) -> None:
    from townsquare.analysis import describe, outcomes
    from townsquare.analysis.model_calls import calls_in_short
    from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes
    from townsquare.pages.report import write_report

    page: Path | None = folder / "report.html"
    found: dict[str, float] = {}
    shown = int(recorded.steps["exposures"].sum())
    if shown > MOST_FOR_REPORT:
        page = None  # it reads every exposure several times: only who asks for it waits so long
    else:
        write_report(recorded, folder / "report.html")
    if quiet and not as_json:
        print(folder)
        return
    if page is not None:
        found = outcomes(recorded)
    calls, facts = calls_in_short(recorded), facts_of_run(recorded)
    if as_json:
        show_json(
            {
                "event": "result",
                "run": str(folder),
                "report": None if page is None else str(page),
                "content_hash": recorded.content_hash,
                "outcomes": found,
                "calls": calls,
                "unhealthy": recorded.health,
                "notes": [*answer_notes(facts), *setting_notes(facts)],
            }
        )
        return
    known = [(describe(name), value) for name, value in found.items()]
    rows = [(what.title, number(value), what.unit) for what, value in known]
    if rows:
        console().print(table("", ("outcome", "value", "unit"), rows, right=("value",)))
    if calls:
        asked = f"{calls['asked']:,} asked of a model, {calls['failed']:,} failed"
        print(f"calls   {asked}; {calls['silent_agents']:,} times an agent had no answer")
    for sentence in answer_notes(facts):
        print(f"note    {sentence}")
    print(f"run     {folder}")
    if page is None:
        print(f"report  not yet, of {shown:,} exposures it takes long: `townsquare report {folder}`")
    else:
        print(f"report  {page}")
