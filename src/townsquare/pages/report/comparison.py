"""Values on the page of a comparison: the answer, arms, outcomes of every run, courses over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.clock import clock_of, in_words
from townsquare.analysis.contract import setting
from townsquare.analysis.groups import persons
from townsquare.analysis.notes import effects_of_pairs
from townsquare.analysis.outcomes import is_outcome
from townsquare.core.errors import RecordError
from townsquare.core.words import number, printable
from townsquare.experiments.answer import Answer, answer
from townsquare.experiments.arms import Arm, labels
from townsquare.experiments.by_group import TABLE
from townsquare.experiments.courses import bands
from townsquare.experiments.extracts import POSTS_EXTRACT
from townsquare.experiments.manifest import Experiment
from townsquare.record.run import Run


@dataclass(frozen=True, slots=True)
class Comparison:
    """Arms compared with a baseline over the same seeds.

    Attributes
    ----------
    answer : Answer
        What the comparison says, with its effects.
    arms : sequence of Arm
        The first is the baseline.
    outcomes : DataFrame
        One row per run and outcome: ``arm`` (str), ``seed`` (int), ``outcome`` (str, see
        :func:`townsquare.analysis.describe`), ``value`` (float64; NaN or null where undefined).
    courses : DataFrame
        Of :func:`townsquare.experiments.courses.bands`; empty where runs were not read.
    notes : sequence of str
        What a reader must know first: runs that failed, for example.
    shared : mapping of str to str
        Settings that all runs share and a reader should see.
    statements : mapping of str to str
        The statement of each proposition by name.
    note_effects : DataFrame
        ``arm``, and the columns of :func:`townsquare.analysis.notes.note_effects`, added up over seeds, of each arm
        with notes beside a baseline without; empty where there is none.
    by_group : DataFrame
        Of :func:`townsquare.experiments.by_group.effects_by_group`; empty where people come from no survey.
    """

    answer: Answer
    arms: Sequence[Arm]
    outcomes: pl.DataFrame
    courses: pl.DataFrame = field(default_factory=pl.DataFrame)
    notes: Sequence[str] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)
    note_effects: pl.DataFrame = field(default_factory=pl.DataFrame)
    by_group: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLE))

    @property
    def baseline(self) -> str:
        """Name of the first arm."""
        return self.arms[0].name

    @property
    def others(self) -> list[str]:
        """Names of the other arms, in order."""
        return [arm.name for arm in self.arms[1:]]

    @property
    def labels(self) -> dict[str, str]:
        """A short name of each arm."""
        return {name: printable(label, 40) for name, label in labels(self.arms).items()}

    def called(self, proposition: str) -> str:
        """Return the statement of a proposition, or else its name."""
        return printable(self.statements.get(proposition, proposition).removesuffix("."), 80)

    @property
    def seeds(self) -> list[int]:
        """Every seed that some run had."""
        return sorted(self.outcomes["seed"].unique().to_list())

    @property
    def differences(self) -> pl.DataFrame:
        """Each seed's difference to the baseline: ``outcome``, ``arm``, ``seed``, ``difference``; defined ones only."""
        known = self.outcomes.drop_nulls("value").drop_nans("value")
        base = known.filter(pl.col("arm") == self.baseline).select("seed", "outcome", pl.col("value").alias("base"))
        both = known.filter(pl.col("arm") != self.baseline).join(base, on=["seed", "outcome"], maintain_order="left")
        return both.select("outcome", "arm", "seed", (pl.col("value") - pl.col("base")).alias("difference"))

    @classmethod
    def of(cls, experiment: Experiment, made: Answer | None = None) -> Comparison:
        """Make a comparison of an experiment with finished runs, and of its answer if that is there already.

        Shared settings come from the first finished run.

        Raises
        ------
        RecordError
            No run is finished.
        """
        if not experiment.finished:
            raise RecordError(str(experiment.folder), got="no finished run", do="repeat the comparison")
        wide = experiment.outcomes
        unknown = [name for name in wide.columns[2:] if not is_outcome(name)]
        long = wide.drop(unknown).unpivot(index=["arm", "seed"], variable_name="outcome", value_name="value")
        notes = [f"Excluded, because their measures are not installed: {', '.join(unknown)}."] if unknown else []
        run = Run.open(experiment.folder / experiment.finished[0].folder)
        main = {name: path for path, name in _MAIN.items() if path not in experiment.vary}
        shared = {name: _in_words(setting(run, *path.split("."))) for name, path in main.items()}
        if "people" in shared and (people := persons(run).height) != setting(run, "agents"):
            shared["people"] += f" at the start ({number(people)} at the end of the first run)"
        if (hours := clock_of(run).hours) and "steps" in shared:
            shared["steps"] += f" ({in_words(hours * setting(run, 'steps'))})"
        if hours and (steps := clock_of(run).warm_up):
            length = in_words(hours * steps)
            shared["warm-up"] = f"{length}, left out of outcomes; initial stances are measured at its end"
        drawn = bands(experiment.courses())
        within = (_note_effects(experiment), experiment.effects_by_group())
        return cls(made or answer(experiment), experiment.arms, long, drawn, notes, shared, statements(run), *within)


def _in_words(value: Any) -> str:
    return number(value) if isinstance(value, int) else str(value)


def _note_effects(experiment: Experiment) -> pl.DataFrame:
    """Return what notes averted in each arm that has some, beside a baseline that has none."""
    counted = experiment.outcomes.select(pl.col("arm", "seed", "^notes_written$"))  # none where an older version ran
    noted = counted.drop_nulls().drop_nans() if counted.width == 3 else counted.clear()
    base, runs = experiment.baseline, {(run.arm, run.seed): run.content_hash for run in experiment.finished}
    pairs = [pair for pair in noted.select("arm", "seed").rows() if (base, pair[1]) in runs]
    if not pairs or base in noted["arm"]:
        return pl.DataFrame()
    extracts = experiment.extracts(POSTS_EXTRACT)
    posts = {pair: extracts[content] for pair, content in runs.items()}
    arms = {arm: [(posts[arm, seed], posts[base, seed]) for name, seed in pairs if name == arm] for arm, _ in pairs}
    return pl.concat(effects_of_pairs(of).with_columns(arm=pl.lit(arm)) for arm, of in arms.items())


_MAIN = {
    "scenario": "scenario", "agents": "people", "steps": "steps", "moderation.strategy": "moderation",
    "beliefs.rule": "belief rule", "policy.name": "policy of agents",
}  # fmt: skip
