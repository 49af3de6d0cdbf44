"""One trial of a debate as a job: held, and recorded where it was ordered, also if another machine holds it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.debate.asking import asks, door_of
from townsquare.debate.record import Plain, trial_record, write_json
from townsquare.debate.resolve import Resolved, resolve_debates
from townsquare.debate.trial import debate
from townsquare.errors import TownsquareError
from townsquare.experiments.scratch import scratch_folder
from townsquare.experiments.workers import Report
from townsquare.models.calls import FILE, SqliteCalls
from townsquare.models.contract import Call


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One trial for another process, as plain values.

    ``away`` is "" if that process writes to ``path`` itself, else what the trial is called whoever holds it where.
    """

    path: Path
    settings: Mapping[str, Any]
    trial: int
    away: str = ""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A trial that was held away: its record, or the error that ended it, and the calls of language models it made."""

    record: Plain | None
    calls: Sequence[Call] = ()
    error: BaseException | None = None


def hold(job: TrialJob, report: Report) -> TrialResult | None:
    """Hold one trial; record it, or, where it is held away, give it back."""
    found = resolve_debates(job.settings)
    if not job.away:
        write_json(job.path, _held(found, job, report, job.path.parent.parent))
        return None
    name = hashlib.sha256(f"{job.away}\n{found.digest}\n{job.trial}".encode()).hexdigest()[:24]
    folder = scratch_folder() / name
    folder.mkdir(exist_ok=True)
    record, ended = None, None
    try:
        record = _held(found, job, report, folder)
    except (TownsquareError, KeyboardInterrupt) as error:
        ended = error
    result = TrialResult(record, _calls_in(folder), ended)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def record_result(result: TrialResult, path: Path) -> list[Path]:
    """Record in its folder what was held away; the files that changed, of which that of the trial is the last."""
    changed = []
    if result.calls:
        with closing(SqliteCalls(path.parent.parent / FILE)) as store:
            store.put_all(result.calls)
        changed.append(path.parent.parent / FILE)
    if result.record is not None:
        write_json(path, result.record)
        changed.append(path)
    return changed


def _held(found: Resolved, job: TrialJob, report: Report, folder: Path) -> Plain:
    with ExitStack() as stack:
        asker = stack.enter_context(door_of(found, job.trial, folder)) if asks(found) else None
        return trial_record(found, job.trial, debate(found, job.trial, report, asker))


def _calls_in(folder: Path) -> Sequence[Call]:
    if not (folder / FILE).is_file():
        return ()
    with closing(SqliteCalls(folder / FILE, read_only=True)) as store:
        return tuple(store)
