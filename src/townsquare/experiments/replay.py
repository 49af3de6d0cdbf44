"""Runs again: from recorded calls alone, or from a step on under other settings (replay and branch)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from townsquare.core.errors import SettingError
from townsquare.core.private_files import make_folder
from townsquare.models.client import OnCall
from townsquare.models.open import check_model, model_client
from townsquare.record.contract import StepSummary
from townsquare.record.places import reader_of
from townsquare.record.reader import rows_of_step
from townsquare.record.replay import ReplayEnded, ReplayRecorder, first_difference
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.resolve import Settings
from townsquare.simulation.model_calls import CALLS_FILE, asks
from townsquare.simulation.run import simulate
from townsquare.simulation.scenario_copy import recorded_scenario

OnStep = Callable[[StepSummary], None]


def replay(folder: Path, settings: Settings, on_step: OnStep | None = None) -> int:
    """Execute a recorded run again, offline, and compare it step by step; the number of steps compared.

    What it asked of a language model is answered from its recorded calls alone.

    Raises
    ------
    NotRecorded
        At the first request that was never recorded.
    HashMismatch
        At the first step that differs, with what differs in it.
    """
    recorder: Any = ReplayRecorder(reader_of(folder))
    with ExitStack() as stack, suppress(ReplayEnded):
        client = None
        if asks(settings):
            calls = folder / CALLS_FILE
            client = stack.enter_context(model_client(settings.config, settings.config.seed, calls, offline=True))
        simulate(settings, recorder, scenario=recorded_scenario(settings, folder), on_step=on_step, client=client)
    return int(recorder.compared)


class Branch(NamedTuple):
    """A branch: its run, the first step that differs from the old run (None if none does), and what differs in it."""

    run: Run
    step: int | None
    difference: str


def branch_settings(settings: Settings, at: int, layer: dict[str, Any], old: Path | None = None) -> Settings:
    """Return the settings of a run with changes from step ``at`` on; ``old`` is its folder, if there is one.

    Raises
    ------
    SettingError
        ``at`` is no step of the run, or an event cannot set one of the settings.
    """
    if not 1 <= at <= settings.config.steps:
        raise SettingError("--at", got=str(at), allowed=f"a step from 1 to {settings.config.steps}")
    plain = settings.plain()
    events = [*plain.get("events", ()), {"step": at, "set": layer}]
    return resolve_with_scenario(plain | {"events": events}, scenario=recorded_scenario(settings, old))


def branch(
    old: Path, new: Path, settings: Settings, on_step: OnStep | None = None, on_call: OnCall | None = None
) -> Branch:
    """Record a branch of ``old`` into ``new``; ``settings`` are those of :func:`branch_settings`.

    Calls that the old run recorded are not asked again; what differs is, and is recorded with the branch.
    """
    with ExitStack() as stack:
        client = None
        if asks(settings):
            check_model(settings.config)
            make_folder(new)
            past = old / CALLS_FILE if (old / CALLS_FILE).is_file() else None
            opened = model_client(settings.config, settings.config.seed, new / CALLS_FILE, past=past, on_call=on_call)
            client = stack.enter_context(opened)
        run = simulate(settings, new, scenario=recorded_scenario(settings, old), on_step=on_step, client=client)
    return Branch(run, *_first_difference(old, new))


def _first_difference(old: Path, new: Path) -> tuple[int | None, str]:
    was, now = reader_of(old), reader_of(new)
    hashes = zip(was.summaries()["hash"].to_list(), now.summaries()["hash"].to_list(), strict=False)
    for step, (before, after) in enumerate(hashes):
        if before != after:
            return step, first_difference(rows_of_step(was, step), rows_of_step(now, step))
    return None, ""
