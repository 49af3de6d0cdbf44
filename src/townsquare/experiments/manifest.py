"""``experiment.json``: what a comparison consists of and how far it is, written so that it is always whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from townsquare.analysis.contract import CachedRun
from townsquare.core import schema
from townsquare.core.arguments import checked
from townsquare.core.cards import html_of, text_of
from townsquare.core.documents import read_json
from townsquare.core.errors import RecordError
from townsquare.core.files import is_file, write_whole
from townsquare.core.former_names import FORMER_NAMES
from townsquare.core.identity import run_hash
from townsquare.core.registry import check_known
from townsquare.experiments.arms import Arm, shown
from townsquare.experiments.by_group import effects_by_group
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.experiments.extracts import COURSES_EXTRACT, Extract, read_extracts, write_extracts
from townsquare.experiments.paired import paired
from townsquare.record.run import Run

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

    def plain(self) -> dict[str, Any]:
        """Return what the manifest holds of it."""
        outcomes = {name: value if math.isfinite(value) else None for name, value in self.outcomes.items()}
        return {**asdict(self), "run_hash": self.run_hash, "outcomes": outcomes}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ArmRun:
        """Read back what the manifest holds of it."""
        given = {name: value for name, value in values.items() if name != "run_hash"}  # follows from the others
        former = FORMER_NAMES["measure"]
        outcomes = {
            former.get(name, name): math.nan if value is None else value
            for name, value in given.pop("outcomes").items()
        }
        return cls(**given, outcomes=outcomes)


_KINDS: dict[frozenset[type], Any] = {
    frozenset({bool}): pl.Boolean,
    frozenset({int}): pl.Int64,
    frozenset({float}): pl.Float64,
    frozenset({int, float}): pl.Float64,
}
"""Types of columns of varied settings, by those of their values; others become texts."""


class RunResult(NamedTuple):
    """What came of a finished run: its content hash, its outcomes, and by file what the comparison keeps of it."""

    content_hash: str
    outcomes: Mapping[str, float]
    extracts: Mapping[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A comparison: every arm with every seed. The first arm is the baseline.

    Attributes
    ----------
    folder : Path
        Folder of the comparison.
    vary : mapping of str to sequence
        Dotted path of a setting -> its values.
    arms, seeds, runs : tuples
        ``runs`` has one run for each arm and seed, ordered by arm.
    primary : str
        The primary outcome; "" in comparisons of earlier versions.
    """

    folder: Path
    vary: Mapping[str, Sequence[Any]]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    runs: tuple[ArmRun, ...]
    primary: str = ""

    def __repr__(self) -> str:
        done = f"{len(self.finished)} of {len(self.runs)} runs finished, {len(self.failed)} failed"
        varied = ", ".join(f"{key}={list(values)}" for key, values in self.vary.items())
        return f"<Experiment {varied or 'nothing varied'} x {len(self.seeds)} seeds: {done}, {self.folder}>"

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    @property
    def baseline(self) -> str:
        """Name of the first arm."""
        return self.arms[0].name

    @property
    def finished(self) -> tuple[ArmRun, ...]:
        """The finished runs."""
        return tuple(run for run in self.runs if run.state == FINISHED)

    @property
    def failed(self) -> tuple[ArmRun, ...]:
        """The runs that ended with an error."""
        return tuple(run for run in self.runs if run.state == FAILED)

    @property
    def errors(self) -> tuple[str, ...]:
        """Every distinct error of the failed runs: the number of runs, the folder of one of them, the error."""
        by_error: dict[str, list[ArmRun]] = {}
        for run in self.failed:
            by_error.setdefault(run.error.replace(run.folder, ""), []).append(run)
        total = len(self.runs)
        return tuple(f"{len(g)} of {total} runs, such as {g[0].folder}: {g[0].error}" for g in by_error.values())

    @property
    def outcomes(self) -> pl.DataFrame:
        """One row per finished run: ``arm``, ``seed`` and every outcome; null if the outcome is missing in the run."""
        names = list(dict.fromkeys(name for run in self.finished for name in run.outcomes))
        rows = [{"arm": run.arm, "seed": run.seed, **run.outcomes} for run in self.finished]
        return pl.DataFrame(rows, schema={"arm": pl.String, "seed": pl.Int64, **dict.fromkeys(names, pl.Float64)})

    @checked
    def table(self, name: str) -> pl.DataFrame:
        """Return a table over all finished runs.

        Parameters
        ----------
        name : str
            A table of the record, with words instead of codes as :meth:`townsquare.record.run.Run.words` gives it, or
            ``outcomes``.

        Returns
        -------
        DataFrame
            ``arm``, ``seed``, a column for each varied setting (null in arms that do not set it), and the columns
            of the table.

        Raises
        ------
        UnknownName
            There is no such table.
        """
        if name == "outcomes":
            return self._keys().join(self.outcomes, on=["arm", "seed"], maintain_order="left")
        check_known("table", name, [*schema.TABLES, "outcomes"])
        return self._over(lambda run: Run.open(self.folder / run.folder).words(name))

    def courses(self) -> pl.DataFrame:
        """Return reach and labels of false posts, belief in claims and change of stances over time, by finished run.

        Returns
        -------
        DataFrame
            ``arm``, ``seed``, a column for each varied setting, and the columns of
            :func:`townsquare.analysis.courses.courses`.
        """
        known = self.extracts(COURSES_EXTRACT)
        return self._over(lambda run: known[run.content_hash])

    def extracts(self, kind: Extract) -> dict[str, pl.DataFrame]:
        """Return a table of each finished run, such as its courses, by content hash; compute and store missing ones."""
        known = read_extracts(self.folder, kind)
        runs = {run.content_hash: self.folder / run.folder for run in self.finished}
        new = {content: kind.of(CachedRun(Run.open(runs[content]))) for content in runs.keys() - known.keys()}
        if new:
            self.store(kind, new)
        return known | new

    def store(self, kind: Extract, made: dict[str, pl.DataFrame]) -> None:
        """Store extracts of finished runs, by content hash, in addition to those already stored."""
        known = read_extracts(self.folder, kind) | made
        wanted = {run.content_hash: known[run.content_hash] for run in self.finished if run.content_hash in known}
        if wanted:
            write_extracts(self.folder, kind, wanted)

    def _keys(self) -> pl.DataFrame:
        """Return ``arm``, ``seed`` and the varied settings of each finished run; lists and mappings as JSON."""
        changes = {arm.name: arm.changes for arm in self.arms}
        rows: list[dict[str, Any]] = [{"arm": run.arm, "seed": run.seed, **changes[run.arm]} for run in self.finished]
        columns = {"arm": pl.String, "seed": pl.Int64}
        for key in self.vary:
            kinds = {type(row[key]) for row in rows if row.get(key) is not None}
            columns[key] = _KINDS.get(frozenset(kinds), pl.String)
            if columns[key] is pl.String:
                rows = [row | ({key: shown(row[key])} if row.get(key) is not None else {}) for row in rows]
        return pl.DataFrame(rows, schema=columns)

    def _over(self, frame_of: Callable[[ArmRun], pl.DataFrame]) -> pl.DataFrame:
        keys, parts = self._keys(), []
        for row, run in enumerate(self.finished):
            frame = frame_of(run)
            own = keys[row].rename({key: f"setting {key}" for key in keys.columns if key in frame.columns})
            parts.append(own.join(frame, how="cross"))
        return pl.concat(parts, how="vertical_relaxed") if parts else keys

    def paired(self, baseline: str | None = None) -> pl.DataFrame:
        """Compare each arm with ``baseline``, an arm by name (default: the first), by seed.

        See :func:`townsquare.experiments.paired.paired`.
        """
        return paired(self.outcomes, baseline or self.baseline)

    def effects_by_group(self, baseline: str | None = None) -> pl.DataFrame:
        """Measure the effect of each arm for each group of people with the same survey answer.

        See :mod:`townsquare.experiments.by_group`.
        """
        base = baseline or self.baseline
        check_known("baseline", base, [arm.name for arm in self.arms])
        return effects_by_group({(r.arm, r.seed): Run.open(self.folder / r.folder) for r in self.finished}, base)

    def record(self, run: ArmRun, result: RunResult | BaseException) -> Experiment:
        """Return a copy of the comparison to which the result of one run is added."""
        if isinstance(result, RunResult):
            content, outcomes = result.content_hash, result.outcomes
            ended = replace(run, state=FINISHED, error="", content_hash=content, outcomes=outcomes)
        elif isinstance(result, KeyboardInterrupt):
            ended = replace(run, state=STOPPED)
        else:
            ended = replace(run, state=FAILED, error=f"{type(result).__name__}: {result}")
        return replace(self, runs=tuple(ended if each.folder == run.folder else each for each in self.runs))

    def save(self, store: ObjectStore | None = None) -> None:
        """Write ``experiment.json`` to the folder and, if given, to a store, replacing the file in one operation.

        Raises
        ------
        RecordError
            The file cannot be written.
        """
        values = {"format": FORMAT, "vary": dict(self.vary), "baseline": self.baseline, "primary": self.primary}
        values |= {"seeds": list(self.seeds), "arms": [asdict(arm) for arm in self.arms]}
        values["runs"] = [run.plain() for run in self.runs]
        write_whole(self.folder / FILE, json.dumps(values, indent=1, allow_nan=False) + "\n")
        if store is not None:
            store.put_file(self.folder / FILE, FILE)

    @classmethod
    @checked
    def load(cls, folder: Path | str) -> Experiment:
        """Read the comparison in a folder.

        Raises
        ------
        RecordError
            The folder holds no comparison, or one that cannot be read.
        """
        folder = Path(folder)
        with manifest_values(folder, FILE, "a comparison") as values:
            arms = tuple(Arm(**arm) for arm in values["arms"])
            runs = tuple(ArmRun.of(run) for run in values["runs"])
            return cls(folder, values["vary"], arms, tuple(values["seeds"]), runs, str(values.get("primary", "")))


@contextmanager
def manifest_values(folder: Path, file: str, kind: str) -> Iterator[dict[str, Any]]:
    """Give the values of a manifest; inside the context, what is missing or wrong in them is a damaged file.

    Raises
    ------
    RecordError
        There is none, or it cannot be read.
    """
    path = folder / file
    if not is_file(path):
        raise RecordError(str(folder), got=f"no {file}", do=f"give the folder of {kind}")
    try:
        values = read_json(path, RecordError)
        if values.get("format", FORMAT) != FORMAT:
            raise RecordError(str(path), got=f"format {values['format']}", allowed=str(FORMAT))
        yield values
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(str(path), got=f"a damaged file ({error})", do="repeat the command") from None
