"""Executes a run, step by step, and records it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from townsquare.core.enums import ActionStatus, AgentKind
from townsquare.core.errors import BudgetReached, WrongVersion
from townsquare.core.identity import settings_digest
from townsquare.core.member_errors import in_step
from townsquare.core.runtime import held_memory
from townsquare.core.threads import threads_for
from townsquare.models.client import ModelClient, OnCall, nothing
from townsquare.models.open import check_model, model_client
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import Recorder, RunHeader, StepSummary
from townsquare.record.memory import MemoryRecorder
from townsquare.record.places import recorder_of
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.recorder import DatabaseRecorder
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder
from townsquare.scenario.contents import Scenario
from townsquare.scenario.settings import contents_now
from townsquare.settings.config import Budget
from townsquare.settings.named_files import check_contents
from townsquare.settings.resolve import IDENTITY, Settings, resolve
from townsquare.settings.trust import approve, named_by
from townsquare.simulation.model_calls import CALLS_FILE, asks
from townsquare.simulation.scenario_copy import copy_scenario, recorded_scenario
from townsquare.simulation.step import begin, step
from townsquare.simulation.world import World

OnStep = Callable[[StepSummary], None]


def simulate(
    settings: Settings,
    recorder: MemoryRecorder | FolderRecorder | PostgresRecorder | Path | str | None = None,
    *,
    scenario: Scenario | None = None,
    on_step: OnStep | None = None,
    client: ModelClient | None = None,
    on_call: OnCall | None = None,
    with_copy: bool = True,
) -> Run:
    """Execute a run, record it, and return it.

    ``recorder`` is a folder or any recorder; by default the run stays in memory. If the recorder holds steps of the
    same run, they are executed again and compared, and the missing steps are added. ``client`` calls language models;
    by default, the settings name the model, and calls are stored with the run, so that no call is made twice.
    ``on_call`` gets each call as it ends, from another thread. ``with_copy``: the folder of a new run gets a copy of
    its scenario, unless the scenario is large or comes with Townsquare. ``scenario`` is by default the one that the
    settings name, or its copy in the folder.

    ``on_step`` is called after each committed step; if it raises an error, the run ends and committed steps are safe.
    With 1,000 agents or more, several steps may be committed together, or while the next step is computed: calls of
    ``on_step`` then come later and, if an error ends the run, may be missing for the last committed steps.

    Raises
    ------
    RunBusy, WrongVersion, HashMismatch, RecordError
        See :class:`townsquare.record.contract.Recorder`.
    BudgetReached
        A limit of the section ``budget`` is reached; committed steps are safe. Resume the run with a higher limit.
    """
    if recorder is None or isinstance(recorder, Path | str):
        recorder = MemoryRecorder() if recorder is None else recorder_of(Path(recorder))
    scenario = scenario or recorded_scenario(settings, getattr(recorder, "folder", None))
    if settings.scenario_digest not in ("", scenario.digest):
        raise WrongVersion(f"scenario {scenario.name}", got="contents that changed after the settings were resolved")
    check_contents(settings.file_contents, contents_now(settings, scenario.folder))
    if client is None and asks(settings):
        check_model(settings.config)  # said before a folder is made
    last = recorder.open(header(settings))
    state, health = "stopped", ""
    if isinstance(recorder, FolderRecorder | PostgresRecorder):
        approve(recorder.folder, named_by(settings.config))  # whoever goes on with this run chose these
    try:
        with ExitStack() as stack:
            if with_copy and last < 0 and isinstance(recorder, FolderRecorder):
                copy_scenario(scenario, [settings], recorder.folder)
            if client is None and asks(settings):
                folder: Path | None = getattr(recorder, "folder", None)
                calls = folder and folder / CALLS_FILE
                opened = model_client(settings.config, settings.config.seed, calls, on_call=on_call)
                client = stack.enter_context(opened)
            stack.enter_context(held_memory(settings.config.agents))
            stack.enter_context(threads_for(settings.config.agents))
            _execute(settings, scenario, recorder, on_step or (lambda summary: None), client, last)
            state = "finished"
    finally:
        if client is not None:
            health = client.spent.health(settings.config.serving.unhealthy_above)
        recorder.close(state, health)
    return Run.of(recorder) if isinstance(recorder, MemoryRecorder) else Run.open(recorder.folder)


def _execute(
    settings: Settings, scenario: Scenario, recorder: Recorder, on_step: OnStep, client: ModelClient | None, last: int
) -> None:
    """Take, hash, record and report every step; its rows are freed when the next step is written."""
    agents = settings.config.agents
    behind = agents >= LARGE if client is None else agents >= MANY and client.concurrency > 1
    grouped = client is None and agents >= MANY
    with Committer(recorder, on_step, behind=behind, aside=client is None, grouped=grouped) as committer:
        try:
            _take_steps(settings, scenario, committer, client, last)
        finally:
            if client is not None:
                client.meanwhile = nothing


def _take_steps(
    settings: Settings, scenario: Scenario, committer: Committer, client: ModelClient | None, last: int
) -> None:
    began, n_online = time.perf_counter(), 0
    with in_step(0):
        setup, world, out = begin(settings, scenario, client)
    while True:
        summary = _summary(world, out, n_online, time.perf_counter() - began)
        committer.commit(out, summary)
        del out
        if world.step == settings.config.steps:
            return
        if client is not None:
            _may_ask(client, settings.config.budget, committer, summary.step, last)
        began = time.perf_counter()
        with in_step(world.step + 1):
            out, n_online = step(setup, world)


def _may_ask(client: ModelClient, budget: Budget, committer: Committer, step: int, last: int) -> None:
    """Check, before another step makes calls, that earlier steps are as recorded and that the budget is not spent."""
    client.meanwhile = committer.report
    if step <= last:
        committer.wait()
    if step >= last:
        try:
            client.spent.check(budget, step)
        except BudgetReached:
            committer.wait()
            raise


def header(settings: Settings) -> RunHeader:
    """Return the header of the run; bulky tables go to Parquet if agents x feed rows x steps are many."""
    config = settings.config
    plain, bulky = settings.plain(), config.feed_rows * config.steps > config.record.parquet_above
    return RunHeader(plain["version"], plain, settings.digest, bulky=bulky, digest_of=_digest_today)


def _digest_today(recorded: Mapping[str, Any]) -> str:
    """Return the digest of recorded settings, with defaults for settings that were added later."""
    identity = {key: recorded[key] for key in IDENTITY if key in recorded}
    return settings_digest({**resolve(recorded).plain(), **identity})


def _summary(world: World, out: Batches, n_online: int, seconds: float) -> StepSummary:
    """Sum up a step: a value for each column of the table ``steps``, each on its line; the hash follows."""
    status, first_seen = np.asarray(out.get("actions")["status"]), np.asarray(out.get("exposures")["first_seen"])
    values: dict[str, float] = {
        "seconds": seconds,
        "agents": int(np.count_nonzero(world.agents["kind"] == AgentKind.PERSON)),
        "online": n_online,
        "exposures": out.count("exposures"),
        "actions": out.count("actions"),
        "refused": int(np.count_nonzero(status == ActionStatus.REFUSED)),
        "first_sights": np.count_nonzero(first_seen) / first_seen.size if first_seen.size else np.nan,
    }
    return StepSummary(out.step, "", values)


# Hashing and recording steps: at once, or while the next step is taken.
#
# A step of a million agents is half computing and half writing, and each leaves processors idle that the other can use.
# Where a language model is asked, its servers would stand idle until a step is written.


LARGE = 100_000
"""Agents from which on steps are written meanwhile."""
MANY = 1_000
"""Agents from which on steps are written meanwhile where a model's servers would wait, and else several at once."""
GROUP, SECONDS = 12, 0.5
"""Steps that are written at once at most, and the time after which those taken are written."""
_NICE = 10  # of a thread; a tenth of the weight of the others


def _step_back() -> None:
    """Lower the priority of this thread and of those it starts: the next step has precedence."""
    if sys.platform == "linux":  # elsewhere a priority is a process's
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


class Committer:
    """Commits steps in order; leaving the context waits until the last step is written.

    Parameters
    ----------
    recorder : Recorder
        Open.
    on_step : callable
        Called with the summary of each step once it is committed, in the calling thread.
    behind : bool
        Whether steps are written while the next one is taken. Only one writing waits at a time, because the rows of
        more would not fit into memory.
    aside : bool
        Whether writing has a lower priority than taking the next step.
    grouped : bool
        Whether up to :data:`GROUP` steps of :data:`SECONDS` are written together, where the recorder can.
    """

    def __init__(
        self,
        recorder: Recorder,
        on_step: Callable[[StepSummary], None],
        *,
        behind: bool,
        aside: bool = False,
        grouped: bool = False,
    ) -> None:
        self._recorder, self._on_step = recorder, on_step
        self._chain = HashChain()
        self._pool = ThreadPoolExecutor(1, "townsquare-record", _step_back if aside else None) if behind else None
        self._writing: Future[list[StepSummary]] | None = None
        self._grouped = grouped and isinstance(recorder, DatabaseRecorder)
        self._taken: list[tuple[Batches, StepSummary]] = []
        self._since = time.perf_counter()

    def commit(self, out: Batches, summary: StepSummary) -> None:
        """Hash and record the rows of a step, now or until later; ``summary`` is still without its hash."""
        self._taken.append((out, summary))
        if self._grouped and (out.step + 1) % GROUP and time.perf_counter() - self._since < SECONDS:
            return
        self._report(self._hand_over())

    def report(self) -> None:
        """Call ``on_step`` for steps that were committed meanwhile, if any; raise what went wrong with them."""
        if self._writing is not None and self._writing.done():
            self._report(self._written())

    def wait(self) -> None:
        """Wait until everything is committed; raise what went wrong."""
        if self._taken:
            self._report(self._hand_over())
        self._report(self._written())

    def _report(self, written: list[StepSummary]) -> None:
        for summary in written:
            self._on_step(summary)  # which may end the run: these steps are recorded all the same

    def _hand_over(self) -> list[StepSummary]:
        """Write the steps taken, now or behind; return the summaries of what was written."""
        written = self._written()
        taken, self._taken = self._taken, []
        self._since = time.perf_counter()
        if self._pool is None:
            return self._write(taken)
        self._writing = self._pool.submit(self._write, taken)
        return written

    def _written(self) -> list[StepSummary]:
        """Return the summaries of the steps that were being written, once they are."""
        writing = self._writing
        if writing is None:
            return []
        written = writing.result()  # a second Ctrl-C leaves it to be waited for
        self._writing = None
        return written

    def _write(self, taken: list[tuple[Batches, StepSummary]]) -> list[StepSummary]:
        taken = [(out, replace(summary, hash=self._chain.add(out.step, out.get))) for out, summary in taken]
        if isinstance(self._recorder, DatabaseRecorder):
            self._recorder.save_steps(taken)
        else:
            for out, summary in taken:
                self._recorder.save_step(out, summary)
        return [summary for _, summary in taken]

    def __enter__(self) -> Committer:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            written = self._hand_over() if self._taken else []
        finally:
            stopped = self._finish_writing()
        if stopped is not None:
            raise stopped
        if kind is None:
            self._report(written)
            self._report(self._written())

    def _finish_writing(self) -> KeyboardInterrupt | None:
        """Wait until the last step is written, also after Ctrl-C: the recorder is closed next."""
        stopped, pool = None, self._pool
        while pool is not None:
            try:
                pool.shutdown(wait=True)
                pool = None
            except KeyboardInterrupt as again:
                stopped = again
        return stopped
