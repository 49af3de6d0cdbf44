"""Values on the page of a comparison: arms, outcomes of every run, paired differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.contract import setting
from townsquare.analysis.outcomes import is_outcome
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report.words import count, printable
from townsquare.record.run import Run


@dataclass(frozen=True, slots=True)
class Comparison:
    """Arms compared with a baseline over the same seeds.

    Attributes
    ----------
    title : str
        Heading of the page.
    arms : sequence of (str, mapping)
        Name of each arm and the settings in which it differs; the first is the baseline.
    outcomes : DataFrame
        One row per run and outcome: ``arm`` (str), ``seed`` (int), ``outcome`` (str, see
        :func:`townsquare.analysis.describe`), ``value`` (float64; NaN or null where undefined).
    paired : DataFrame
        One row per arm and outcome: ``arm``, ``outcome``, ``mean``, ``difference`` to the baseline (mean over seeds),
        ``low`` and ``high`` (bounds of its 95 % interval; NaN where there is none), ``n`` (seeds), ``p``; it may have
        ``p_holm`` and ``p_fdr``, corrected over all outcomes.
    notes : sequence of str
        What a reader must know first: runs that failed, for example.
    shared : mapping of str to str
        Settings that all runs share and a reader should see.
    statements : mapping of str to str
        The statement of each proposition by name.
    """

    title: str
    arms: Sequence[tuple[str, Mapping[str, Any]]]
    outcomes: pl.DataFrame
    paired: pl.DataFrame
    notes: Sequence[str] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """Name of the first arm."""
        return self.arms[0][0]

    @property
    def others(self) -> list[str]:
        """Names of the other arms, in order."""
        return [name for name, _ in self.arms[1:]]

    @property
    def labels(self) -> dict[str, str]:
        """A short name of each arm: the values of its settings, where these tell the arms apart."""
        short = {name: ", ".join(str(value) for value in settings.values()) for name, settings in self.arms}
        told_apart = all(short.values()) and len(set(short.values())) == len(short)
        return {name: printable(short[name] if told_apart else name, 60) for name in short}

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

    @property
    def rows(self) -> pl.DataFrame:
        """:attr:`paired` with NaN for every number that is missing."""
        known = self.paired.columns
        numbers = [pl.col(name).cast(pl.Float64).fill_null(math.nan) for name in _NUMBERS if name in known]
        missing = [pl.lit(math.nan).alias(name) for name in _NUMBERS if name not in known]
        return self.paired.with_columns(*numbers, *missing)

    @classmethod
    def of(cls, experiment: Experiment) -> Comparison:
        """Make a comparison of an experiment; shared settings come from the first finished run."""
        wide = experiment.outcomes
        unknown = [name for name in wide.columns[2:] if not is_outcome(name)]
        long = wide.drop(unknown).unpivot(index=["arm", "seed"], variable_name="outcome", value_name="value")
        failed = len(experiment.failed)
        failures = f"{count(failed, 'run')} failed, excluded here; see the folder of the experiment."
        notes = [failures] if failed else []
        if unknown:
            notes.append(f"Excluded, because their measures are not installed: {', '.join(unknown)}.")
        arms = [(arm.name, dict(arm.changes)) for arm in experiment.arms]
        varied = {key for _, changes in arms for key in changes}
        shared, by_name = {}, {}
        if experiment.finished:
            run = Run.open(experiment.folder / experiment.finished[0].folder)
            main = {name: path for path, name in _MAIN.items() if path not in varied}
            shared, by_name = {name: str(setting(run, *main[name].split("."))) for name in main}, statements(run)
        paired = experiment.paired().filter(~pl.col("outcome").is_in(unknown))
        title = f"{shared.get('scenario', 'A comparison')}: {len(arms)} arms compared"
        return cls(title, arms, long, paired, notes, shared, by_name)


_MAIN = {
    "scenario": "scenario",
    "agents": "people at the start",
    "steps": "steps",
    "moderation.strategy": "moderation",
    "beliefs.rule": "belief rule",
    "policy.name": "policy",
}
_NUMBERS = ("mean", "difference", "low", "high", "p", "p_holm", "p_fdr")
