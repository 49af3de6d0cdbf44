"""``townsquare inspect``: what a folder holds and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, number, picked, safe, show, show_json

if TYPE_CHECKING:
    from townsquare.experiments.manifest import ArmRun
    from townsquare.record.run import Run

RunOrComparison = Annotated[Path, Parameter(name="RUN", help="The folder of a run or a comparison.")]


def inspect(folder: RunOrComparison, /, *, verify: bool = False, as_json: options.AsJson = False) -> int:
    """Show the state, row counts, health and content hash of a run or a comparison.

    Parameters
    ----------
    verify
        Recompute all hashes and compare them.
    """
    from townsquare.experiments.manifest import FILE
    from townsquare.record.run import Run

    if (folder / FILE).is_file():
        return _inspect_comparison(folder, verify=verify, as_json=as_json)
    run = Run.open(folder)
    facts = _facts(run, folder)
    if verify:
        facts["verified"] = run.verify() == run.content_hash
    (show_json if as_json else _show)(facts)
    return 0 if facts["settings_as_recorded"] else 1


def _facts(run: Run, folder: Path) -> dict[str, Any]:
    import polars as pl

    from townsquare.core import schema
    from townsquare.core.frames import collected

    settings = run.header.settings
    counts = {name: int(run.lazy(name).select(pl.len()).pipe(collected).item()) for name in schema.TABLES}
    stored = {name: run.stored(name) for name in schema.TABLES}
    return {
        "run": str(folder),
        **{name: settings.get(name) for name in ("scenario", "seed")},
        **picked(run, "state", "version", "content_hash", "run_hash"),
        **picked(run.header, "settings_digest=settings_hash", "settings_as_recorded=settings_unchanged"),
        "steps": {"committed": run.last_step, "wanted": settings.get("steps")},
        "bulky_tables": stored["exposures"],
        "rows": counts,
        "stored_in": stored,
        "in_parquet": sorted(name for name, where in stored.items() if where == "Parquet"),
        "health": _health(run) if run.header.settings_unchanged else {},  # measures read the settings
    }


def _health(run: Run) -> dict[str, Any]:
    import polars as pl

    from townsquare.analysis import participation, refusals
    from townsquare.analysis.health import activity, rule_health
    from townsquare.analysis.model_calls import calls_in_short
    from townsquare.core.actions import ActionKind
    from townsquare.core.enums import ActionStatus, word_of
    from townsquare.core.frames import collected

    steps = participation(run)
    if steps.is_empty():
        return {}
    accepted = run.lazy("actions").filter(pl.col("status") == ActionStatus.ACCEPTED)
    done = accepted.group_by("kind").len().pipe(collected).sort("len", "kind", descending=[True, False])
    return {
        "persons": int(steps["agents"][-1]),
        "actions": {word_of(ActionKind, kind): count for kind, count in done.rows()},
        **{name: activity(steps)[name] for name in ("silent_share", "refused_share")},
        "refused_because": {row["reason"]: row["actions"] for row in refusals(run).iter_rows(named=True)},
        "rule": rule_health(run).to_dicts(),
        "seconds_per_step": steps.select(pl.col("seconds").mean()).item(),
        "unhealthy": run.health,
        "calls": calls_in_short(run),
    }


def _show(facts: dict[str, Any]) -> None:
    from townsquare.analysis.health import REASONS
    from townsquare.core.words import percent

    steps, health = facts["steps"], facts["health"]
    scenario = f"{facts['scenario']}, seed {facts['seed']}"
    state = f"{facts['state']}, {max(0, steps['committed'])} of {steps['wanted']} steps"
    lines = [("run", facts["run"]), ("scenario", scenario), ("state", state), ("version", facts["version"])]
    hashes = {"settings hash": "settings_digest", "content hash": "content_hash", "run hash": "run_hash"}
    lines += [(title, facts[name]) for title, name in hashes.items()]
    if not facts["settings_as_recorded"]:
        lines.append(("CHANGED", "the settings were changed after recording: their hash differs"))
    if "verified" in facts:
        lines.append(("verified", "all steps and settings match their hashes"))
    if health:
        silent = f"{percent(health['silent_share'])} of the people online in a step do nothing (all steps together)"
        lines += [("people", number(health["persons"])), ("inactive", silent)]
        done = ", ".join(f"{word.replace('_', ' ')} {count:,}" for word, count in health["actions"].items())
        lines.append(("actions", done or "none"))
        refused = health["refused_because"].items()
        because = ", ".join(f"{REASONS.get(reason, reason)} {count:,}" for reason, count in refused)
        tried = f"{percent(health['refused_share'])} of attempted actions"
        lines.append(("refused", tried + (f" ({because})" if because else "")))
        if health["unhealthy"]:
            lines.append(("UNHEALTHY", health["unhealthy"]))
        if calls := health["calls"]:
            tokens = f"{calls['tokens_in']:,} tokens in, {calls['tokens_out']:,} out"
            lines.append(("calls", f"{calls['asked']:,} calls to a model, {calls['failed']:,} failed; {tokens}"))
            if len(calls["by_server"]) > 1:
                lines.append(("servers", ", ".join(f"{url} {count:,}" for url, count in calls["by_server"].items())))
            if turn := calls["agent_step"]:
                counted = f"{turn['counted']:,.0f} tokens in (estimated from characters), {turn['most']:,.0f} at most"
                by_server = f"; {turn['tokens_in']:,.0f} counted by servers" if turn["tokens_in"] is not None else ""
                lines.append(("per agent", f"{counted}{by_server}, per step"))
        pace = f"{health['seconds_per_step']:.3g} s per step (mean; the first step may compile kernels)"
        lines.append(("pace", pace))
        lines += _flags(health["rule"])
    for name, value in lines:
        print(f"{name:13} {safe(value)}")
    rows = [(name, count, facts["stored_in"][name]) for name, count in facts["rows"].items()]
    show("", rows, (str, "table"), (number, "rows"), (str, "stored in"))


def _flags(checks: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the checks that the belief rule fails, or that it passes all."""
    text = "WARNING: {check} of {name} is {value:.4g}, limit {limit:.4g}; {meaning}"
    flagged = [("rule", text.format(**check)) for check in checks if check["flagged"]]
    kinds = len({check["check"] for check in checks})
    return flagged or ([("rule", f"all {kinds} checks of the belief rule passed")] if checks else [])


def _verified(run: Run, listed: ArmRun) -> bool:
    """Return whether a run is as it was recorded, and the one that the comparison lists; raises ``HashMismatch``."""
    from townsquare.core.errors import HashMismatch

    run.verify()
    wanted = listed.run_hash
    if run.run_hash != wanted:
        do = "restore the recorded run"
        raise HashMismatch(f"{run.folder}: run hash", got=run.run_hash, allowed=f"{wanted}, of the comparison", do=do)
    return True


def _inspect_comparison(folder: Path, *, verify: bool, as_json: bool) -> int:
    from townsquare.experiments.manifest import FINISHED, Experiment
    from townsquare.record.run import Run

    experiment = Experiment.load(folder)
    verified = {run.folder for run in experiment.finished if verify and _verified(Run.open(folder / run.folder), run)}
    runs = [
        picked(run, "arm", "seed", "state", "error")
        | {"verified": "yes" if run.folder in verified else "", "content_hash": run.content_hash[:16]}
        for run in experiment.runs
    ]
    if as_json:
        show_json({"comparison": str(folder), "runs": runs})
    else:
        done = f"{len(experiment.finished)} of {len(experiment.runs)} runs {FINISHED}"
        checked = ("verified",) if verify else ()
        show(f"{folder}: {done}", runs, (str, "arm", "seed", "state", *checked, "content=content_hash"))
    for error in experiment.errors:
        complain(error, kind="failed")
    return 0 if experiment.finished else 1
