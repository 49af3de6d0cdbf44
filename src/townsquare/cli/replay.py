"""``townsquare replay`` and ``townsquare branch``: a recorded run again, from its recorded calls."""

from __future__ import annotations

from townsquare.cli import options
from townsquare.cli.calls import Calls
from townsquare.cli.console import complain, show_json


def replay(folder: options.Folder, /, *, shown: options.Shown = options.SHOWN) -> int:
    """Re-run a recorded run offline, and compare every step with the record.

    Language model answers come only from recorded calls; a request that was not recorded stops the replay.
    """
    from townsquare.experiments.run_folders import check_single
    from townsquare.experiments.verbs import replay as again
    from townsquare.record.run import Run

    check_single(folder)
    run = Run.open(folder)
    with shown.progress(run.last_step, f"replay of {folder}") as progress:
        compared = again(folder, on_step=lambda summary: progress.at(summary.step))
    if shown.as_json:
        show_json({"event": "result", "run": str(folder), "steps": compared, "content_hash": run.content_hash})
    elif not shown.quiet:
        print(f"{compared} steps are identical\ncontent  {run.content_hash}")
    return 0


def branch(
    folder: options.Folder,
    /,
    *,
    at: options.Whole,
    sets: options.Sets = None,
    out: options.Out = None,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Re-run a recorded run with other settings from a given step, in a folder of its own.

    Recorded calls are reused where the request is the same; other requests go to the language model.
    Reports the first step that differs.

    Parameters
    ----------
    at
        First step with the new settings.
    """
    from townsquare.cli.calls import approved_settings, show_servers_of
    from townsquare.core.errors import SettingError
    from townsquare.experiments.replay import branch as record
    from townsquare.experiments.replay import branch_settings
    from townsquare.experiments.run_folders import check_single, check_unused, folder_for
    from townsquare.pages.report import write_report
    from townsquare.record.contract import StepSummary
    from townsquare.record.run import Run
    from townsquare.settings.resolve import layer_of

    check_single(folder)
    if not sets:
        do = "give a new setting, such as `--set moderation.strategy=hybrid`"
        raise SettingError("--set", got="nothing", do=do)
    old = Run.open(folder)
    settings = branch_settings(approved_settings(old, folder), at, layer_of(sets), folder)
    show_servers_of([settings])
    calls = Calls(settings.config.serving.prices)
    total = settings.config.steps

    def on_step(summary: StepSummary) -> None:
        calls.done(summary.step)
        progress.at(summary.step, calls.note(total))

    with folder_for(out, f"{folder.name}-branch-{at}") as new:
        check_unused(new)
        with shown.progress(total, f"branch of {folder} at step {at}") as progress:
            result = record(folder, new, settings, on_step, calls.add)
        write_report(result.run, new / "report.html")
    facts = {"content_hash": result.run.content_hash, "first_step": result.step, "difference": result.difference}
    if not shown.is_told(new, {"run": str(new), **facts}):
        same = "no step differs"
        print(f"run      {new}\nreport   {new / 'report.html'}")
        print(f"differs  {f'from step {result.step} on; {result.difference}' if result.step is not None else same}")
    if result.run.health:
        complain(result.run.health, kind="unhealthy")
        return 3
    return 0
