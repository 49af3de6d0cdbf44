"""Reading debates that were held: a folder of arms and trials, as arrays, frames and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.core.documents import read_json
from townsquare.core.errors import RecordError, UnknownName
from townsquare.core.files import is_file
from townsquare.core.registry import did_you_mean
from townsquare.debate.measures import Estimate, judged_course, pair_measures, single_measures
from townsquare.debate.record import Plain, read_trial
from townsquare.debate.settings import CON, PRO, SIDES

Float = npt.NDArray[np.float64]

FILE = "debates.json"
FORMAT = 1
TRANSCRIPT = "transcript.html"


@dataclass(frozen=True, slots=True)
class ArmOfDebates:
    """One arm: its name and folder, what it changes, its complete settings, its proposition, and its digest."""

    name: str
    slug: str
    changes: Mapping[str, Any]
    settings: Mapping[str, Any]
    statement: str
    digest: str

    @property
    def is_pair(self) -> bool:
        """Whether con is an agent."""
        return bool(self.settings["opponent"] == "agent")


@dataclass(frozen=True)
class HeldDebates:
    """Debates in a folder.

    Attributes
    ----------
    folder : Path
        ``debates.json`` says what it consists of; each trial is ``<arm>/trial-<n>.json``.
    arms : tuple of ArmOfDebates
        In the order they were asked for.
    trials : int
        Trials of each arm that were asked for.
    failed : tuple of (arm, trial, error)
        Those that ended with an error.
    """

    folder: Path
    arms: tuple[ArmOfDebates, ...]
    trials: int
    failed: tuple[tuple[str, int, str], ...] = ()

    @classmethod
    def open(cls, folder: Path) -> HeldDebates:
        """The debates in a folder.

        Raises
        ------
        RecordError
            There are none, or they cannot be read.
        """
        path = folder / FILE
        if not is_file(path):
            raise RecordError(str(folder), got=f"no {FILE}", do="name the folder of a debate or sweep")
        try:
            values = read_json(path, RecordError)
            if values["format"] != FORMAT:
                raise RecordError(str(path), got=f"format {values['format']}", allowed=str(FORMAT))
            arms = tuple(ArmOfDebates(**arm) for arm in values["arms"])
            failed = tuple((str(arm), int(trial), str(error)) for arm, trial, error in values["failed"])
            return cls(folder, arms, int(values["trials"]), failed)
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(str(path), got=f"a damaged file ({error})", do="give the command again") from None

    def plain(self) -> Plain:
        """What ``debates.json`` holds."""
        arms = [{name: getattr(arm, name) for name in ArmOfDebates.__slots__} for arm in self.arms]
        return {"format": FORMAT, "trials": self.trials, "arms": arms, "failed": [list(row) for row in self.failed]}

    def arm(self, name: str) -> ArmOfDebates:
        """The arm of a name.

        Raises
        ------
        UnknownName
            There is none.
        """
        names = [arm.name for arm in self.arms]
        if name not in names:
            raise UnknownName("arm", got=repr(name), allowed="; ".join(names), do=did_you_mean(name, names))
        return self.arms[names.index(name)]

    def trial_file(self, arm: ArmOfDebates, trial: int) -> Path:
        """Where a trial is recorded."""
        return self.folder / arm.slug / f"trial-{trial:03d}.json"

    def records(self, arm: ArmOfDebates) -> list[Plain]:
        """The trials of an arm that were held, in order."""
        files = [self.trial_file(arm, trial) for trial in range(1, self.trials + 1)]
        return [self._record(file) for file in files if file.is_file()]

    @cached_property
    def _known(self) -> dict[Path, Plain]:
        return {}

    def _record(self, file: Path) -> Plain:
        if file not in self._known:
            self._known[file] = read_trial(file)
        return self._known[file]

    def stances(self, arm: ArmOfDebates) -> Float:
        """(t, r + 1, 2) float64: stances of pro and con at the start and after each round; NaN for a fixed opponent."""
        rows = [_course(record) for record in self.records(arm)]
        return np.array(rows, np.float64) if rows else np.empty((0, 1, 2))

    def judged(self, arm: ArmOfDebates) -> Float:
        """(t, r, 2) float64: the judge's reading of what pro and con said in each round; NaN where it took none."""
        rows = [_readings(record) for record in self.records(arm)]
        return np.array(rows, np.float64) if rows else np.empty((0, 0, 2))

    def measures(self, arm: ArmOfDebates, *, judged: bool = False) -> dict[str, Estimate]:
        """Measures over the trials of an arm, of internal stances or of those that the judge reads."""
        course = self.stances(arm)
        seats = (PRO, CON) if arm.is_pair else (PRO,)
        courses = [course[:, :, seat] for seat in seats]
        if judged:
            readings = self.judged(arm)
            courses = [judged_course(one[:, 0], readings[:, :, seat]) for seat, one in zip(seats, courses, strict=True)]
        return pair_measures(*courses) if arm.is_pair else single_measures(*courses)

    def measures_frame(self) -> pl.DataFrame:
        """All measures: ``arm``, ``stance`` (internal or judged), ``measure``, ``mean``, ``low``, ``high``, ``n``."""
        rows = [
            (arm.name, "judged" if judged else "internal", name, one.mean, one.low, one.high, len(one.values))
            for arm in self.arms
            for judged in (False, True)
            for name, one in self.measures(arm, judged=judged).items()
        ]
        columns = ["arm", "stance", "measure", "mean", "low", "high", "n"]
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def turns(self) -> pl.DataFrame:
        """One row a turn: arm, trial, turn, round, speaker, text, stances before and after, the judge's reading."""
        return _frame(self._turn_rows(), _TURNS)

    def moves(self) -> pl.DataFrame:
        """One row a change of a record or revision: arm, trial, turn, whom it moved, kind, claim, other, amount."""
        return _frame(self._move_rows(), _MOVES)

    def _turn_rows(self) -> list[tuple[Any, ...]]:
        return [
            (
                arm.name, record["trial"], number, turn["round"], SIDES[turn["seat"]], turn["text"], *turn["before"],
                *turn["after"], turn["judged"],
            )
            for arm in self.arms
            for record in self.records(arm)
            for number, turn in enumerate(record["turns"], 1)
        ]  # fmt: skip

    def _move_rows(self) -> list[tuple[Any, ...]]:
        return [
            (
                arm.name, record["trial"], number, SIDES[move["seat"]], move["kind"],
                _text(record, move["claim"]), _text(record, move["other"]), move["amount"],
            )
            for arm in self.arms
            for record in self.records(arm)
            for number, turn in enumerate(record["turns"], 1)
            for move in turn["moves"]
        ]  # fmt: skip


_TURNS = {
    "arm": pl.String, "trial": pl.Int64, "turn": pl.Int64, "round": pl.Int64, "speaker": pl.String, "text": pl.String,
    "pro_before": pl.Float64, "con_before": pl.Float64, "pro_after": pl.Float64, "con_after": pl.Float64,
    "judged": pl.Float64,
}  # fmt: skip
_MOVES = {
    "arm": pl.String, "trial": pl.Int64, "turn": pl.Int64, "agent": pl.String, "kind": pl.String,
    "claim": pl.String, "other": pl.String, "amount": pl.Float64,
}  # fmt: skip


def _frame(rows: Sequence[tuple[Any, ...]], columns: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns, orient="row")


def _text(record: Plain, claim: int) -> str | None:
    return None if claim < 0 else str(record["claims"][claim]["text"])


def _course(record: Plain) -> list[list[float | None]]:
    """Stances at the start and at the end of each round."""
    ends = {turn["round"]: turn["after"] for turn in record["turns"]}
    return [record["turns"][0]["before"], *ends.values()]


def _readings(record: Plain) -> list[list[float | None]]:
    rounds: dict[int, list[float | None]] = {}
    for turn in record["turns"]:
        rounds.setdefault(turn["round"], [None, None])[turn["seat"]] = turn["judged"]
    return list(rounds.values())
