"""Making a bundle: what is frozen, and the file that holds it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from townsquare.analysis.outcomes import describe, numbered
from townsquare.core.documents import read_json, read_yaml
from townsquare.core.errors import RecordError, SettingError
from townsquare.core.files import read_text, write_whole
from townsquare.core.former_names import current_name
from townsquare.core.registry import check_known
from townsquare.experiments.arms import arms_of
from townsquare.experiments.manifest import FILE, Experiment
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.layers import Layer
from townsquare.settings.resolve import Settings, current_version, resolve

FORMAT = 2
"""Format 2 brought ``run_hash``; bundles of format 1 are read and checked as they are."""
PACKAGES = ("numpy", "numba", "scipy", "polars", "pydantic")
"""Packages that can change numbers; the lock pins them all."""
MAX_NOTES = 1_000_000
DIRECTIONS = ("higher", "lower", "no difference")
_ALL_OF_IT = ConfigDict(extra="forbid", strict=True)
_Whole = Annotated[int, Field(ge=0, lt=2**63)]
_FolderName = Annotated[str, Field(pattern=r"^[^\x00]*$")]


def _says_enough(hypothesis: Mapping[str, str]) -> Mapping[str, str]:
    if missing := _NEEDED - hypothesis.keys():
        raise ValueError(f"with {', '.join(sorted(missing))}")
    return hypothesis


_NEEDED = {"outcome", "arm", "expect"}
_Hypothesis = Annotated[Mapping[str, str], AfterValidator(_says_enough)]


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
    run_hash : str
        Of its settings and all its steps; "" for a planned one, and in a bundle of format 1.
    """

    state: str
    arm: str
    seed: _Whole
    steps: _Whole
    settings: Mapping[str, Any]
    settings_digest: str
    scenario_digest: str
    folder: _FolderName = ""
    content_hash: str = ""
    run_hash: str = ""
    __pydantic_config__ = _ALL_OF_IT


@dataclass(frozen=True, slots=True)
class Bundle:
    """A frozen study; ``digest`` is the SHA-256 of the canonical JSON of all the rest."""

    made: str
    version: str
    environment: Mapping[str, str]
    entries: tuple[Entry, ...]
    measures: Mapping[str, Mapping[str, str]]
    hypotheses: tuple[_Hypothesis, ...] = ()
    notes: str = ""
    baseline: str = ""
    format: int = FORMAT
    digest: str = field(default="")
    __pydantic_config__ = _ALL_OF_IT

    @property
    def preregistration(self) -> bool:
        """Whether nothing of it had been run when it was made."""
        return all(entry.state == "planned" for entry in self.entries)

    def computed_digest(self) -> str:
        """Compute the digest of the present content."""
        values = {key: value for key, value in self._plain().items() if key != "digest"}
        return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _plain(self) -> dict[str, Any]:
        """Return plain values for JSON, without what the format of the bundle lacks."""
        values = asdict(self)
        if values["format"] == 1:
            del values["format"]
            values["entries"] = [{k: v for k, v in entry.items() if k != "run_hash"} for entry in values["entries"]]
        return values

    def save(self, path: Path) -> None:
        """Write it; the old file or the new one is there at every moment.

        Raises
        ------
        RecordError
            It cannot be written there.
        """
        text = json.dumps({"format": self.format, **self._plain()}, indent=1) + "\n"
        write_whole(path, text, "choose a writable file")

    @classmethod
    def load(cls, path: Path) -> Bundle:
        """Read one.

        Raises
        ------
        RecordError
            It is none, or cannot be read.
        """
        do = "make one with `townsquare bundle`"
        if path.is_dir():
            do = "to verify a recorded run: `townsquare inspect RUN --verify`"
            raise RecordError(str(path), got="a folder", allowed="a file that `townsquare bundle` wrote", do=do)
        values = read_json(path, RecordError)
        if not isinstance(values, dict) or repr(values.get("format")) not in map(repr, range(1, FORMAT + 1)):
            raise RecordError(str(path), got="no bundle", allowed=f"a bundle of format 1 to {FORMAT}", do=do)
        try:
            made = _BUNDLE.validate_json(json.dumps(values))  # in which lists may stand for tuples
        except ValidationError as error:
            first = error.errors()[0]
            where = ", ".join([str(path), *(str(part) for part in first["loc"])])
            got = "nothing" if first["type"] == "missing" else repr(first["input"])[:80]
            raise RecordError(where, got=got, allowed=first["msg"].removeprefix("Input should be "), do=do) from None
        for number, entry in enumerate(made.entries):
            if not isinstance(entry.settings.get("scenario"), str):
                where, allowed = f"{path}, entries, {number}, settings", "a complete configuration with its scenario"
                raise RecordError(where, got="no scenario name", allowed=allowed, do=do)
        return made


_BUNDLE = TypeAdapter(Bundle)


def freeze(entries: Sequence[Entry], hypotheses: Path | None = None, baseline: str = "") -> Bundle:
    """Make a bundle of runs, planned or recorded.

    Parameters
    ----------
    entries : sequence of Entry
        Of :func:`planned` and :func:`recorded`; at least one.
    hypotheses : Path, optional
        A YAML file with a list ``hypotheses``, or a text of at most 1,000,000 bytes. An item of the list says
        ``outcome``, ``arm`` and ``expect`` (higher, lower, no difference; against the baseline), and
        what else one wants to say.
    baseline : str
        Arm that the others are compared with.

    Raises
    ------
    SettingError, UnknownName, DataError
        Nothing to freeze; or a hypothesis names an outcome, an arm or an expectation that there is not, or an arm that
        two studies have.
    """
    if not entries:
        raise SettingError("bundle", got="no run", allowed="at least one run, recorded or planned")
    listed, notes = _hypotheses(hypotheses, {entry.arm for entry in entries})
    if listed and len({(entry.arm, entry.seed) for entry in entries}) < len(entries):
        do = "make a bundle of each study"
        raise SettingError(str(hypotheses), got="hypotheses about several runs of one arm and seed", do=do)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    measures = {
        each.name: {"title": each.heading, "definition": each.definition, "unit": each.unit, "higher": each.higher}
        for each in numbered()
    }
    draft = Bundle(made, current_version(), environment(), tuple(entries), measures, tuple(listed), notes, baseline)
    return replace(draft, digest=draft.computed_digest())


def environment() -> dict[str, str]:
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system(), **packages}


def _hypotheses(path: Path | None, arms: set[str]) -> tuple[list[dict[str, str]], str]:
    if path is None:
        return [], ""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return [], read_text(path, MAX_NOTES, SettingError)
    document = read_yaml(path)
    given = document["hypotheses"] if isinstance(document, dict) and list(document) == ["hypotheses"] else None
    if not isinstance(given, list):
        allowed = "one key, `hypotheses`, with a list of {outcome, arm, expect}"
        raise SettingError(str(path), got=repr(document)[:80], allowed=allowed)
    return [_hypothesis(item, f"{path}: hypothesis {number}", arms) for number, item in enumerate(given, 1)], ""


def _hypothesis(given: object, where: str, arms: set[str]) -> dict[str, str]:
    if not isinstance(given, Mapping) or not given.keys() >= _NEEDED:
        raise SettingError(where, got=repr(given)[:80], allowed="outcome, arm and expect")
    hypothesis = {str(key): str(value) for key, value in given.items()}
    hypothesis["outcome"] = current_name("measure", hypothesis["outcome"])
    describe(hypothesis["outcome"])
    for key, allowed in (("arm", sorted(arms)), ("expect", list(DIRECTIONS))):
        check_known(f"{where}, {key}", hypothesis[key], allowed, SettingError)
    return hypothesis


def planned(
    settings: Settings, vary: Mapping[str, Sequence[Any]], seeds: Sequence[int], layers: Sequence[Layer] = ()
) -> list[Entry]:
    """Return planned runs: every combination of the settings that vary, with every seed.

    ``layers`` are those that ``settings`` come from: the members that an arm does not choose then leave no settings in
    it, as in a comparison.
    """
    below = layers or (settings.plain(),)
    arms = [(arm.name if vary else "", resolve_with_scenario(*below, arm.changes)) for arm in arms_of(vary)]
    pairs = itertools.product(arms, seeds)
    runs = [(name, seed, resolve(arm.plain(), {"seed": seed})) for (name, arm), seed in pairs]
    return [
        Entry("planned", arm, seed, run.config.steps, run.plain(), run.digest, run.scenario_digest)
        for arm, seed, run in runs
    ]


def recorded(folder: Path, parent: Path) -> list[Entry]:
    """Return the runs that are recorded in a folder: one, or all of a comparison.

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
        return [_recorded(folder, "", parent)]
    experiment = Experiment.load(folder)
    if len(experiment.finished) < len(experiment.runs):
        undone = len(experiment.runs) - len(experiment.finished)
        raise RecordError(str(folder), got=f"{undone} unfinished runs", do="complete the comparison first")
    return [_recorded(folder / run.folder, run.arm, parent) for run in experiment.runs]


def _recorded(folder: Path, arm: str, parent: Path) -> Entry:
    run = Run.open(folder)
    settings = dict(run.settings)
    there, near = folder.resolve(), parent.resolve()
    path = there.relative_to(near).as_posix() if there.is_relative_to(near) else str(there)
    return Entry(
        run.state, arm, int(settings["seed"]), int(settings["steps"]), settings, run.header.settings_hash,
        str(settings.get("scenario_digest", "")), path, run.content_hash, run.run_hash,
    )  # fmt: skip
