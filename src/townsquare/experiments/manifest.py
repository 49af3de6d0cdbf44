"""``experiment.json``: what a comparison consists of and how far it is, written so that it is always whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.core.documents import read_json
from townsquare.core.errors import RecordError
from townsquare.core.files import is_file, write_whole
from townsquare.core.identity import run_hash
from townsquare.experiments.arms import Arm
from townsquare.experiments.paired import paired

FILE = "experiment.json"
FORMAT = 1
WAITING, FINISHED, FAILED, STOPPED = "waiting", "finished", "failed", "stopped"


@dataclass(frozen=True, slots=True)
class ArmRun:
    """One run of a comparison.

    Attributes
    ----------
    arm : str
        Name of its arm.
    seed : int
        Its seed.
    folder : str
        Relative to that of the comparison, with ``/``.
    digest : str
        Digest of its settings, hexadecimal.
    state : str
        ``waiting``, ``finished``, ``failed`` or ``stopped``.
    error : str
        Of a failed run.
    content_hash : str
        Of a finished run.
    outcomes : mapping of str to float
        Of a finished run, as :func:`townsquare.analysis.outcomes` gives them; NaN where one is undefined.
    """

    arm: str
    seed: int
    folder: str
    digest: str
    state: str = WAITING
    error: str = ""
    content_hash: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)

    @property
    def run_hash(self) -> str:
        """Of a finished run: the hash of its settings and its content."""
        return run_hash(self.digest, self.content_hash) if self.content_hash else ""

    def ended(
        self, state: str, *, error: str = "", content_hash: str = "", outcomes: Mapping[str, float] | None = None
    ) -> ArmRun:
        """The same run, ended."""
        return replace(self, state=state, error=error, content_hash=content_hash, outcomes=dict(outcomes or {}))


@dataclass(frozen=True, slots=True)
class Experiment:
    """A comparison: arms, of which the first is the baseline, times seeds.

    Attributes
    ----------
    folder : Path
        Where it stands.
    vary : mapping of str to sequence
        Dotted path of a setting -> its values.
    arms, seeds, runs : tuples
        ``runs`` has one for each arm and seed, arm by arm.
    """

    folder: Path
    vary: Mapping[str, Sequence[Any]]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    runs: tuple[ArmRun, ...]

    @property
    def baseline(self) -> str:
        """Name of the first arm."""
        return self.arms[0].name

    @property
    def finished(self) -> tuple[ArmRun, ...]:
        """The runs that are done."""
        return tuple(run for run in self.runs if run.state == FINISHED)

    @property
    def failed(self) -> tuple[ArmRun, ...]:
        """The runs that ended with an error."""
        return tuple(run for run in self.runs if run.state == FAILED)

    @property
    def errors(self) -> tuple[str, ...]:
        """Every distinct error of the failed runs, in words: of how many runs, the folder of one, the error."""
        alike: dict[str, list[ArmRun]] = {}
        for run in self.failed:
            alike.setdefault(run.error.replace(run.folder, ""), []).append(run)
        total = len(self.runs)
        return tuple(f"{len(g)} of {total} runs, such as {g[0].folder}: {g[0].error}" for g in alike.values())

    @property
    def outcomes(self) -> pl.DataFrame:
        """One row a finished run: ``arm``, ``seed``, and each outcome as float64, null where a run has none."""
        names = list(dict.fromkeys(name for run in self.finished for name in run.outcomes))
        rows = [{"arm": run.arm, "seed": run.seed, **run.outcomes} for run in self.finished]
        return pl.DataFrame(rows, schema={"arm": pl.String, "seed": pl.Int64, **dict.fromkeys(names, pl.Float64)})

    def paired(self, baseline: str | None = None) -> pl.DataFrame:
        """Each arm against the baseline, by seed: see :func:`townsquare.experiments.paired.paired`."""
        return paired(self.outcomes, baseline or self.baseline)

    def with_runs(self, runs: Sequence[ArmRun]) -> Experiment:
        """The same comparison, further on."""
        return replace(self, runs=tuple(runs))

    def save(self) -> None:
        """Write ``experiment.json``: the old one or the new one is there at every moment.

        Raises
        ------
        RecordError
            It cannot be written there.
        """
        values = {
            "format": FORMAT,
            "vary": dict(self.vary),
            "baseline": self.baseline,
            "seeds": list(self.seeds),
            "arms": [asdict(arm) for arm in self.arms],
            "runs": [_as_written(run) for run in self.runs],
        }
        write_whole(self.folder / FILE, json.dumps(values, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Experiment:
        """The comparison in a folder.

        Raises
        ------
        RecordError
            There is none, or it cannot be read.
        """
        path = folder / FILE
        if not is_file(path):
            raise RecordError(str(folder), got=f"no {FILE}", do="name the folder of a comparison")
        try:
            values = read_json(path, RecordError)
            if values["format"] != FORMAT:
                raise RecordError(str(path), got=f"format {values['format']}", allowed=str(FORMAT))
            arms = tuple(Arm(**arm) for arm in values["arms"])
            runs = [_as_read(run) for run in values["runs"]]
            return cls(folder, values["vary"], arms, tuple(values["seeds"]), tuple(runs))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordError(str(path), got=f"a damaged file ({error})", do="run the comparison again") from None


def _as_written(run: ArmRun) -> dict[str, Any]:
    return {**asdict(run), "run_hash": run.run_hash, "outcomes": _nan_to_null(run.outcomes)}


def _as_read(values: Mapping[str, Any]) -> ArmRun:
    given = {name: value for name, value in values.items() if name != "run_hash"}  # follows from the other two
    return ArmRun(**{**given, "outcomes": _null_to_nan(values["outcomes"])})


def _nan_to_null(outcomes: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in outcomes.items()}


def _null_to_nan(outcomes: Mapping[str, float | None]) -> dict[str, float]:
    return {name: math.nan if value is None else value for name, value in outcomes.items()}
