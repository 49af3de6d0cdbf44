"""Reading debates that were held: a folder of arms and trials, as arrays, frames and measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from townsquare.analysis.contract import columns
from townsquare.core.array_types import Float
from townsquare.core.errors import UnknownName, WrongVersion
from townsquare.core.registry import did_you_mean
from townsquare.debate.measures import Estimate, judged_course, pair_measures, single_measures
from townsquare.debate.record import Plain, read_trial, write_json
from townsquare.debate.resolve import ResolvedDebate
from townsquare.debate.settings import CON, PRO, SIDES
from townsquare.experiments.arms import Arm
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.experiments.manifest import FORMAT, manifest_values
from townsquare.models.contract import Call
from townsquare.models.store import FILE as CALLS
from townsquare.models.store import SqliteCalls

FILE = "debates.json"
TRANSCRIPT = "transcript.html"


@dataclass(frozen=True, slots=True)
class DebateArm(Arm):
    """One arm, with its complete settings, its proposition, and its digest."""

    settings: Mapping[str, Any]
    statement: str
    digest: str

    @classmethod
    def of(cls, arm: Arm, resolved: ResolvedDebate) -> DebateArm:
        """Return an arm with what its settings come to."""
        statement = resolved.bank.statement
        return cls(**asdict(arm), settings=resolved.plain(), statement=statement, digest=resolved.digest)

    @property
    def is_pair(self) -> bool:
        """Whether con is an agent."""
        return bool(self.settings["opponent"] == "agent")


class TrialResult(NamedTuple):
    """What came of a trial: its record or the error that ended it, and calls of language models to be recorded."""

    record: Plain | None
    calls: Sequence[Call] = ()
    error: BaseException | None = None


@dataclass(frozen=True)
class DebateResults:
    """Debates in a folder.

    Attributes
    ----------
    folder : Path
        ``debates.json`` says what it consists of; each trial is ``<arm>/trial-<n>.json``.
    arms : tuple of DebateArm
        In the order they were asked for.
    trials : int
        Trials of each arm that were asked for.
    failed : tuple of (arm, trial, error)
        Those that ended with an error.
    """

    folder: Path
    arms: tuple[DebateArm, ...]
    trials: int
    failed: tuple[tuple[str, int, str], ...] = ()
    _known: dict[Path, Plain] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def open(cls, folder: Path) -> DebateResults:
        """Read the debates in a folder.

        Raises
        ------
        RecordError
            There are none, or they cannot be read.
        """
        with manifest_values(folder, FILE, "a debate or sweep") as values:
            arms = tuple(DebateArm(**arm) for arm in values["arms"])
            failed = tuple((str(arm), int(trial), str(error)) for arm, trial, error in values["failed"])
            return cls(folder, arms, int(values["trials"]), failed)

    def save(self, store: ObjectStore | None = None) -> None:
        """Write ``debates.json``, also to a store if there is one."""
        arms = [asdict(arm) for arm in self.arms]
        values = {"format": FORMAT, "trials": self.trials, "arms": arms, "failed": [list(row) for row in self.failed]}
        write_json(self.folder / FILE, values)
        if store is not None:
            store.put_file(self.folder / FILE, FILE)

    def has(self, arm: DebateArm, trial: int) -> bool:
        """Return whether a trial is recorded.

        Raises
        ------
        WrongVersion
            Another one is in its place.
        """
        path = self.trial_file(arm, trial)
        if path.is_file() and read_trial(path)["digest"] != arm.digest:
            got, do = "a trial of other settings, arguments or version", "choose another folder, or delete it"
            raise WrongVersion(str(path), got=got, do=do)
        return path.is_file()

    def record(
        self, arm: DebateArm, trial: int, result: TrialResult | BaseException, store: ObjectStore | None = None
    ) -> DebateResults:
        """Write the result of a trial into the folder, and to a store; return the debates with this result added."""
        result = TrialResult(None, error=result) if isinstance(result, BaseException) else result
        if result.calls:
            with closing(SqliteCalls(self.folder / CALLS)) as calls:
                calls.put_all(result.calls)
        if result.record is not None:
            write_json(self.trial_file(arm, trial), result.record)
        for file, is_new in ((self.folder / CALLS, result.calls), (self.trial_file(arm, trial), result.record)):
            if is_new and store is not None:
                store.put_file(file, file.relative_to(self.folder).as_posix())
        if not isinstance(result.error, Exception):
            return self
        row = (arm.name, trial, f"{type(result.error).__name__}: {result.error}")
        return replace(self, failed=tuple(sorted((*self.failed, row))))

    def arm(self, name: str) -> DebateArm:
        """Return the arm of a name.

        Raises
        ------
        UnknownName
            There is none.
        """
        names = [arm.name for arm in self.arms]
        if name not in names:
            raise UnknownName("arm", got=repr(name), allowed="; ".join(names), do=did_you_mean(name, names))
        return self.arms[names.index(name)]

    def trial_file(self, arm: DebateArm, trial: int) -> Path:
        """Return the path of a trial."""
        return self.folder / arm.slug / f"trial-{trial:03d}.json"

    def records(self, arm: DebateArm) -> list[Plain]:
        """Return the recorded trials of an arm, in order."""
        files = [file for trial in range(1, self.trials + 1) if (file := self.trial_file(arm, trial)).is_file()]
        self._known.update((file, read_trial(file)) for file in files if file not in self._known)
        return [self._known[file] for file in files]

    def stances(self, arm: DebateArm) -> Float:
        """Return (t, r + 1, 2) stances of pro and con at the start and after each round; NaN for a fixed opponent."""
        rows = [_course(record) for record in self.records(arm)]
        return np.array(rows, np.float64) if rows else np.empty((0, 1, 2))

    def judged(self, arm: DebateArm) -> Float:
        """Return (t, r, 2) readings of the messages of pro and con in each round; NaN where none was read."""
        rows = [_readings(record) for record in self.records(arm)]
        return np.array(rows, np.float64) if rows else np.empty((0, 0, 2))

    def measures(self, arm: DebateArm, *, judged: bool = False) -> dict[str, Estimate]:
        """Return measures over the trials of an arm, of internal stances or of judged ones."""
        course = self.stances(arm)
        sides = (PRO, CON) if arm.is_pair else (PRO,)
        courses = [course[:, :, side] for side in sides]
        if judged:
            readings = self.judged(arm)
            courses = [judged_course(course[:, 0, side], readings[:, :, side]) for side in sides]
        return pair_measures(*courses) if arm.is_pair else single_measures(*courses)

    def measures_frame(self) -> pl.DataFrame:
        """Return ``arm``, ``stance`` (internal or judged), ``measure``, ``mean``, ``low``, ``high``, ``n``."""
        rows = [
            (arm.name, "judged" if judged else "internal", name, it.mean, it.low, it.high, len(it.values))
            for arm in self.arms
            for judged in (False, True)
            for name, it in self.measures(arm, judged=judged).items()
        ]
        columns = ["arm", "stance", "measure", "mean", "low", "high", "n"]
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def turns(self) -> pl.DataFrame:
        """Return one row per turn: arm, trial, turn, round, speaker, text, stances before and after, judged stance."""
        rows = [
            (*key, turn["round"], SIDES[turn["seat"]], turn["text"], *turn["before"], *turn["after"], turn["judged"])
            for key, _, turn in self._turns()
        ]
        return pl.DataFrame(rows, schema=_TURNS, orient="row")

    def moves(self) -> pl.DataFrame:
        """Return one row per change of a record or revision: arm, trial, turn, agent, kind, claim, other, amount."""
        rows = [
            (*key, SIDES[move["seat"]], move["kind"], *(_text(record, move[name]) for name in ("claim", "other")),
             move["amount"])
            for key, record, turn in self._turns()
            for move in turn["moves"]
        ]  # fmt: skip
        return pl.DataFrame(rows, schema=_MOVES, orient="row")

    def _turns(self) -> Iterator[tuple[tuple[str, int, int], Plain, Plain]]:
        """Give each turn with arm, trial and number, and the record it stands in."""
        for arm in self.arms:
            for record in self.records(arm):
                for number, turn in enumerate(record["turns"], 1):
                    yield (arm.name, record["trial"], number), record, turn


_KEY = columns("arm:str trial:int turn:int")
_TURNS = _KEY | columns("round:int speaker:str text:str pro_before con_before pro_after con_after judged")
_MOVES = _KEY | columns("agent:str kind:str claim:str other:str amount")


def _text(record: Plain, claim: int) -> str | None:
    return None if claim < 0 else str(record["claims"][claim]["text"])


def _course(record: Plain) -> list[list[float | None]]:
    """Return stances at the start and at the end of each round."""
    ends = {turn["round"]: turn["after"] for turn in record["turns"]}
    return [record["turns"][0]["before"], *ends.values()]


def _readings(record: Plain) -> list[list[float | None]]:
    rounds: dict[int, list[float | None]] = {}
    for turn in record["turns"]:
        rounds.setdefault(turn["round"], [None, None])[turn["seat"]] = turn["judged"]
    return list(rounds.values())
