"""Making a bundle: what is frozen, and the file that holds it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from townsquare.analysis.outcome_words import OUTCOMES, describe
from townsquare.errors import RecordError, SettingError
from townsquare.experiments.arms import arms_of
from townsquare.experiments.manifest import FILE, Experiment
from townsquare.record.run import Run
from townsquare.resolve import Settings, current_version, resolve
from townsquare.settings.layers import read_yaml
from townsquare.writing import write_whole

FORMAT = 1
PACKAGES = ("numpy", "numba", "scipy", "polars", "pydantic")
"""Packages that can change numbers; the lock pins them all."""
DIRECTIONS = ("higher", "lower", "no difference")


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of a study.

    Attributes
    ----------
    state : str
        ``planned``, or as recorded: ``finished``, ``stopped``.
    arm, seed, steps
        Name of its arm ("" for a run by itself), seed, steps asked for.
    settings : mapping
        The whole configuration, scenario digest included.
    settings_digest, scenario_digest : str
        SHA-256, hexadecimal.
    folder : str
        Where it was recorded, relative to the bundle if it stands below its folder; "" for a planned one.
    content_hash : str
        Of all its steps; "" for a planned one.
    """

    state: str
    arm: str
    seed: int
    steps: int
    settings: Mapping[str, Any]
    settings_digest: str
    scenario_digest: str
    folder: str = ""
    content_hash: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A frozen study; ``digest`` is the SHA-256 of the canonical JSON of all the rest."""

    made: str
    version: str
    environment: Mapping[str, str]
    entries: tuple[Entry, ...]
    measures: Mapping[str, Mapping[str, str]]
    hypotheses: tuple[Mapping[str, str], ...] = ()
    notes: str = ""
    baseline: str = ""
    digest: str = field(default="")

    @property
    def preregistration(self) -> bool:
        """Whether nothing of it had been run when it was made."""
        return all(entry.state == "planned" for entry in self.entries)

    def computed_digest(self) -> str:
        """The digest of what it holds now."""
        values = {key: value for key, value in asdict(self).items() if key != "digest"}
        return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def save(self, path: Path) -> None:
        """Write it; the old file or the new one is there at every moment.

        Raises
        ------
        RecordError
            It cannot be written there.
        """
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"
        write_whole(path, text, "name a file that can be written")

    @classmethod
    def load(cls, path: Path) -> Bundle:
        """Read one.

        Raises
        ------
        RecordError
            It is none, or cannot be read.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values.pop("format") != FORMAT:
                raise RecordError(str(path), got="another format", allowed=f"format {FORMAT}")
            entries = tuple(Entry(**one) for one in values.pop("entries"))
            return cls(entries=entries, hypotheses=tuple(values.pop("hypotheses")), **values)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordError(str(path), got=f"no bundle ({error})", do="make one with `townsquare bundle`") from None


def freeze(
    entries: Sequence[Entry], hypotheses: Path | None = None, baseline: str = "", now: datetime | None = None
) -> Bundle:
    """A bundle of runs, planned or recorded.

    Parameters
    ----------
    entries : sequence of Entry
        Of :func:`planned` and :func:`recorded`; at least one.
    hypotheses : Path, optional
        A YAML list, or a text that is kept as it is. An item of the list says ``outcome``, ``arm`` and ``expect``
        (higher, lower, no difference; against the baseline), and what else one wants to say.
    baseline : str
        Arm that the others are compared with.
    now : datetime, optional
        When; by default the clock of this machine.

    Raises
    ------
    SettingError, UnknownName, DataError
        Nothing to freeze; or a hypothesis names an outcome, an arm or an expectation that there is not.
    """
    if not entries:
        raise SettingError("bundle", got="no run", allowed="at least one run, recorded or planned")
    listed, notes = _hypotheses(hypotheses, {entry.arm for entry in entries})
    made = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    measures = {name: {"title": one.title, "unit": one.unit, "higher": one.higher} for name, one in OUTCOMES.items()}
    draft = Bundle(made, current_version(), environment(), tuple(entries), measures, tuple(listed), notes, baseline)
    return Bundle(**{**_fields(draft), "digest": draft.computed_digest()})


def _fields(bundle: Bundle) -> dict[str, Any]:
    return {name: getattr(bundle, name) for name in Bundle.__dataclass_fields__}


def environment() -> dict[str, str]:
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system(), **packages}


def _hypotheses(path: Path | None, arms: set[str]) -> tuple[list[dict[str, str]], str]:
    if path is None:
        return [], ""
    if path.suffix.lower() not in (".yaml", ".yml"):
        try:
            return [], path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError("--hypotheses", got=f"{path}: {error}", allowed="a text in UTF-8, or YAML") from None
    given = read_yaml(path)[0].get("hypotheses", [])
    if not isinstance(given, list):
        raise SettingError(f"{path}: hypotheses", got=type(given).__name__, allowed="a list")
    return [_hypothesis(one, f"{path}: hypothesis {number}", arms) for number, one in enumerate(given, 1)], ""


def _hypothesis(given: object, where: str, arms: set[str]) -> dict[str, str]:
    if not isinstance(given, Mapping) or not {"outcome", "arm", "expect"} <= given.keys():
        raise SettingError(where, got=repr(given)[:80], allowed="outcome, arm and expect")
    one = {str(key): str(value) for key, value in given.items()}
    describe(one["outcome"])
    for key, allowed in (("arm", sorted(arms)), ("expect", list(DIRECTIONS))):
        if one[key] not in allowed:
            raise SettingError(f"{where}, {key}", got=repr(one[key]), allowed=", ".join(allowed))
    return one


def planned(settings: Settings, vary: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> list[Entry]:
    """Runs that are still to be made: every combination of the settings that vary, with every seed."""
    plain, entries = settings.plain(), []
    for arm in arms_of(vary):
        for seed in seeds:
            made = resolve(plain, arm.changes, {"seed": seed})
            entries.append(
                Entry(
                    "planned", arm.name if vary else "", seed, made.config.steps, made.plain(), made.digest,
                    made.scenario_digest,
                )
            )  # fmt: skip
    return entries


def recorded(folder: Path, beside: Path) -> list[Entry]:
    """Runs that are recorded in a folder: one, or all of a comparison.

    Parameters
    ----------
    folder : Path
        Of a run or a comparison.
    beside : Path
        Folder of the bundle: runs below it are named relative to it.

    Raises
    ------
    RecordError
        There is none, or a run of the comparison is not finished.
    """
    if not (folder / FILE).is_file():
        return [_recorded(folder, "", beside)]
    experiment = Experiment.load(folder)
    if len(experiment.finished) < len(experiment.runs):
        undone = len(experiment.runs) - len(experiment.finished)
        raise RecordError(str(folder), got=f"{undone} runs that are not finished", do="go on with the comparison first")
    return [_recorded(folder / run.folder, run.arm, beside) for run in experiment.runs]


def _recorded(folder: Path, arm: str, beside: Path) -> Entry:
    run = Run.open(folder)
    settings = dict(run.settings)
    there = folder.resolve()
    near = beside.resolve()
    place = there.relative_to(near).as_posix() if there.is_relative_to(near) else str(there)
    return Entry(
        run.state, arm, int(settings["seed"]), int(settings["steps"]), settings, run.header.settings_hash,
        str(settings.get("scenario_digest", "")), place, run.content_hash,
    )  # fmt: skip


def folders_of(entries: Iterable[Entry], beside: Path) -> list[Path]:
    """Where recorded entries stand."""
    return [beside / entry.folder for entry in entries if entry.folder]
