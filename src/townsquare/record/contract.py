"""What writes a run: three methods, the header of a run and the mark of a step (DESIGN §3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from townsquare.errors import WrongVersion
from townsquare.record.batches import Batches

STATES = ("running", "finished", "stopped")
_MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What identifies a run, written once and compared when it is opened again.

    Attributes
    ----------
    version : str
        Version of Townsquare.
    settings : mapping
        The whole resolved configuration, JSON-able.
    settings_hash : str
        Hash of the settings that make the run what it is (:func:`hash_settings` of those, by default of all).
    bulky : bool
        Whether tables that ``schema`` marks ``bulky`` go to Parquet, as they should in large runs.
    environment : mapping of str to str
        Versions of packages, kind of machine and the like: recorded, never compared.
    """

    version: str
    settings: Mapping[str, Any]
    settings_hash: str
    bulky: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepMark:
    """One row of ``schema.TABLES["steps"]``: the commit of a step. Attributes are its columns, in its units."""

    step: int
    hash: str
    seconds: float
    agents: int
    online: int
    exposures: int
    actions: int
    refused: int


class Recorder(Protocol):
    """Where a run is recorded. One test suite runs over all recorders.

    A simulation executes every run from step 0 and hands over every step, resumed or not: for steps that are already
    committed, :meth:`save_step` compares and writes nothing.
    """

    def open(self, header: RunHeader) -> int:
        """Start a run, or go on with one, and return its last committed step; -1 for none.

        Raises
        ------
        RunBusy
            Another recorder is writing it.
        WrongVersion
            It was recorded by another version, under other settings or in another layout.
        RecordError
            What is there cannot be read or written.
        """

    def save_step(self, out: Batches, mark: StepMark) -> None:
        """Commit all rows of a step, or none; of a committed step, compare the hash.

        Raises
        ------
        HashMismatch
            The step was recorded with another hash; says what differs first.
        RecordError
            It could not be written; the steps before it are safe.
        ValueError
            The step does not follow the last one: a fault of the calling code.
        """

    def close(self, state: str, health: str = "") -> None:
        """End the recording as ``"finished"`` or ``"stopped"``. Harmless where nothing is open.

        ``health`` says in words why the run is unhealthy, "" if it is not.
        """


def canonical_json(value: object) -> str:
    """JSON of one value in one form: keys sorted, no spaces, ASCII, no NaN.

    >>> canonical_json({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_settings(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings as :func:`canonical_json`, 64 hexadecimal digits; independent of the order of keys.

    >>> hash_settings({"a": 1, "b": 2}) == hash_settings({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical_json(dict(settings)).encode()).hexdigest()


def check_same_run(where: str, recorded: RunHeader, now: RunHeader) -> None:
    """Refuse to go on with a run that is another one.

    Raises
    ------
    WrongVersion
        Naming the version, layout or first settings that differ.
    """
    new_run = "record into a new folder instead"
    if recorded.version != now.version:
        raise WrongVersion(
            f"{where}: version", got=now.version, allowed=recorded.version, do=f"install that version, or {new_run}"
        )
    if recorded.settings_hash != now.settings_hash:
        plain = json.loads(canonical_json(dict(now.settings)))  # recorded settings have been through JSON too
        changes = "; ".join(_changes(recorded.settings, plain)[:_MAX_SHOWN])
        got = changes or f"settings hash {now.settings_hash}, recorded {recorded.settings_hash}"
        raise WrongVersion(f"{where}: settings", got=got, do=f"use the recorded settings, or {new_run}")
    if recorded.bulky != now.bulky:
        raise WrongVersion(f"{where}: bulky", got=str(now.bulky), allowed=str(recorded.bulky), do=new_run)


def _changes(recorded: object, now: object, path: str = "") -> list[str]:
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        return [
            change
            for key in sorted({*recorded, *now})
            for change in _changes(recorded.get(key), now.get(key), f"{path}.{key}" if path else str(key))
        ]
    return [] if recorded == now else [f"{path} is {now!r}, recorded {recorded!r}"]
