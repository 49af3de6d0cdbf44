"""The contract of recorders: three methods, the header of a run and the summary of a step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from townsquare.core import schema
from townsquare.core.errors import HashMismatch, WrongVersion
from townsquare.core.identity import canonical_json, settings_digest
from townsquare.record.batches import Batches

STATES = ("running", "finished", "stopped")
_MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The identity of a run, written once and compared when the run is opened again.

    Attributes
    ----------
    version : str
        Version of Townsquare.
    settings : mapping
        The complete resolved configuration, as values for JSON.
    settings_hash : str
        :func:`townsquare.core.identity.settings_digest` of the settings at the start of the run.
    bulky : bool
        Whether tables that ``schema`` marks ``bulky`` are stored as Parquet, as in large runs.
    environment : mapping of str to str
        Versions of packages, machine and the like: recorded, never compared.
    record_version : int
        Version of the record (:data:`townsquare.core.schema.RECORD_VERSION`); tables have the columns of this version
        and of earlier ones.
    digest_of : callable
        Computes the hash of recorded settings after adding the defaults of newer settings.
    """

    version: str
    settings: Mapping[str, Any]
    settings_hash: str
    bulky: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    record_version: int = schema.RECORD_VERSION
    digest_of: Callable[[Mapping[str, Any]], str] = field(default=settings_digest, compare=False, repr=False)

    @property
    def settings_unchanged(self) -> bool:
        """Whether the settings match their recorded hash."""
        return settings_digest(self.settings) == self.settings_hash

    def check(self, where: str) -> None:
        """Raise ``HashMismatch`` if the settings were changed after they were recorded."""
        if not self.settings_unchanged:
            got = f"settings with the hash {settings_digest(self.settings)}"
            allowed = f"{self.settings_hash}, as recorded"
            do = "the settings were changed after recording: restore the recorded ones"
            raise HashMismatch(f"{where}: settings", got=got, allowed=allowed, do=do)


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One row of the table ``steps``, which marks a step as committed.

    Attributes
    ----------
    step : int
        The step, 0 for the start.
    hash : str
        Content hash of all steps up to this one; "" until the step is written.
    values : mapping of str to number
        The other columns of the table by name. Columns added after version 1 of the record may be left out.
    """

    step: int
    hash: str
    values: Mapping[str, float]


class Recorder(Protocol):
    """An object that records a run.

    A simulation executes every run from step 0, also if it is resumed, and passes every step to :meth:`save_step`,
    which compares committed steps and writes new ones.
    """

    def open(self, header: RunHeader) -> int:
        """Start a run, or continue one; return its last committed step, -1 for none.

        Raises
        ------
        RunBusy
            Another recorder is writing the run.
        WrongVersion
            The run was recorded by another version, under other settings or in another layout.
        RecordError
            The record cannot be read or written.
        """

    def save_step(self, out: Batches, summary: StepSummary) -> None:
        """Commit all rows of a new step, or none; compare the hash of a committed step.

        Raises
        ------
        HashMismatch
            The step was recorded with another hash; the error names the first difference.
        RecordError
            The step could not be written; earlier steps are safe.
        ValueError
            The step does not follow the last one.
        """

    def close(self, state: str, health: str = "") -> None:
        """End the recording as ``"finished"`` or ``"stopped"``; do nothing if no recording is open.

        ``health`` states why the run is unhealthy, "" if it is not.
        """


def summary_rows(summaries: Sequence[StepSummary]) -> schema.Columns:
    """Return summaries of steps as rows of the table ``steps``."""
    if not summaries:
        return schema.empty("steps")
    columns = {name: [summary.values[name] for summary in summaries] for name in summaries[0].values}
    steps, hashes = [summary.step for summary in summaries], [summary.hash for summary in summaries]
    return schema.rows("steps", len(summaries), step=steps, hash=hashes, **columns)


def check_same_run(where: str, recorded: RunHeader, now: RunHeader) -> None:
    """Refuse to go on with a run that is another one.

    A setting that is newer than the recorded run counts as set to its default. Every step is executed again and
    compared, so that a default under which the run would go otherwise shows at the first step that differs.

    Raises
    ------
    WrongVersion
        Naming the version, layout or first settings that differ.
    """
    new_run = "record into a new folder instead"
    if recorded.version != now.version:
        do = f"install that version, or {new_run}"
        raise WrongVersion(f"{where}: version", got=now.version, allowed=recorded.version, do=do)
    if now.settings_hash not in (recorded.settings_hash, now.digest_of(recorded.settings)):
        plain = json.loads(canonical_json(dict(now.settings)))  # recorded settings have been through JSON too
        changes = "; ".join(_changes(recorded.settings, plain)[:_MAX_SHOWN])
        got = changes or f"settings hash {now.settings_hash}, recorded {recorded.settings_hash}"
        raise WrongVersion(f"{where}: settings", got=got, do=f"use the recorded settings, or {new_run}")
    if recorded.bulky != now.bulky:
        raise WrongVersion(f"{where}: bulky", got=str(now.bulky), allowed=str(recorded.bulky), do=new_run)


def _changes(recorded: object, now: object, path: str = "") -> list[str]:
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        keys = {key: f"{path}.{key}" if path else str(key) for key in sorted({*recorded, *now})}
        return [change for key, at in keys.items() for change in _changes(recorded.get(key), now.get(key), at)]
    return [] if recorded == now else [f"{path} is {now!r}, recorded {recorded!r}"]
