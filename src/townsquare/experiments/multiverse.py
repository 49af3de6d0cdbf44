"""One question under every defensible choice of model: does the answer hold, and which choice does it hang on?

A *universe* is one combination of modeling choices, such as a belief rule with a ranker and a policy. In each of them
the same contrast is run with the same seeds. The specification curve shows the effect in every universe, sorted; the
variance shares say how much of the variation of the effect goes with each choice, with the seed, and with neither
(Steegen and others 2016, Perspectives on Psychological Science 11; Simonsohn, Simmons and Nelson 2020, Nature Human
Behavior 4).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.contract import columns
from townsquare.core import registry
from townsquare.core.errors import SettingError
from townsquare.core.files import write_whole
from townsquare.experiments.arms import shown
from townsquare.experiments.manifest import Experiment, manifest_values
from townsquare.experiments.paired import t_interval
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.layers import Layer
from townsquare.settings.resolve import Settings
from townsquare.settings.schema import declared, params_of

FILE = "multiverse.json"
MOST = 3
"""Values of a choice that are gone through if none are named: every choice multiplies the universes."""
SEED, REST = "seed", "interactions and chance"


def choices_for(layers: Sequence[Layer]) -> dict[str, list[Any]]:
    """Return the default modeling choices of a multiverse, with their values.

    Each begins with what the settings have, so that the first universe is the run as it was set, and goes on with the
    bundled members that can be in its place, in the order of the registry, ``MOST`` in all:

    - belief rules that count in the same unit, are moved by something, and have other parameters than those before;
    - rankers;
    - policies that ask no language model and have the same parameters, or some of them;
    - scorers of stances, and half the rate of activation, or half the sessions a day where steps have a length.

    Left out are values that these settings do not allow, choices with one value, and all about beliefs in a scenario
    without propositions.

    Parameters
    ----------
    layers : sequence of mapping
        Settings that all universes share, as :func:`townsquare.scenario.settings.resolve_with_scenario` takes them.

    Raises
    ------
    SettingError, UnknownName, DataError
        The layers by themselves cannot be resolved.
    """
    base = resolve_with_scenario(*layers)
    rate = "rate" if base.config.time.step_minutes is None else "sessions_per_day"
    usual = getattr(base.config.activation, rate)
    choices: dict[str, list[Any]] = {"feed.ranker": _members("ranker", base), f"activation.{rate}": [usual, usual / 2]}
    choices["policy.name"] = [name for name in _members("policy", base) if _has_same_rates(name, base)]
    if load_scenario(base.config.scenario).propositions:
        scorer = base.config.beliefs.stance_scorer
        choices["beliefs.rule"] = _rules(base)
        choices["beliefs.stance_scorer"] = list(dict.fromkeys([scorer, "declared", *registry.bundled("stance")]))
    allowed = {
        key: [value for value in values if _is_allowed(layers, key, value)][:MOST] for key, values in choices.items()
    }
    return {key: values for key, values in allowed.items() if len(values) > 1}


def _members(family: str, base: Settings) -> list[str]:
    return list(dict.fromkeys([base.member(family), *registry.bundled(family)]))


def _rules(base: Settings) -> list[str]:
    rules: dict[frozenset[str], str] = {}  # by their parameters: variants of one rule are no two choices
    for name in _members("beliefs", base):
        rule = registry.get("beliefs", name)
        can_stand = bool(rule.needs) and rule.unit == base.members["beliefs"].unit
        if can_stand or name == base.member("beliefs"):
            rules.setdefault(frozenset(declared(rule.params)), name)
    return list(rules.values())


def _has_same_rates(name: str, base: Settings) -> bool:
    """Return whether the parameters of a policy are those of the chosen policy, or some of them."""
    if name == base.member("policy"):
        return True
    here, there = (set(declared(params_of("policy", policy))) for policy in (base.member("policy"), name))
    asks = registry.get("policy", name).bind is not None
    return bool(here and there) and not asks and (there <= here or here <= there)


def _is_allowed(layers: Sequence[Layer], key: str, value: Any) -> bool:
    try:
        resolve_with_scenario(*layers, {key: value})
    except SettingError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Multiverse:
    """A comparison whose arms are universes times the two or more sides of a contrast.

    Attributes
    ----------
    experiment : Experiment
        All runs.
    across : tuple of str
        Settings that are modeling choices.
    contrast : tuple of str
        Settings whose effect is in question; empty if levels themselves are.
    """

    experiment: Experiment
    across: tuple[str, ...]
    contrast: tuple[str, ...]

    def save(self) -> None:
        """Record which settings are which, in the folder of the comparison."""
        text = json.dumps({"across": self.across, "contrast": self.contrast})
        write_whole(self.experiment.folder / FILE, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> Multiverse:
        """Read the multiverse in a folder.

        Raises
        ------
        RecordError
            There is none, or it cannot be read.
        """
        with manifest_values(folder, FILE, "a multiverse") as values:
            across, contrast = (tuple(map(str, values[key])) for key in ("across", "contrast"))
        return cls(Experiment.load(folder), across, contrast)

    @property
    def sides(self) -> list[str]:
        """What is compared with the first side, in words; the one word ``level`` without a contrast."""
        words = [_words(arm.changes, self.contrast) for arm in self.experiment.arms]
        return list(dict.fromkeys(words))[1:] if self.contrast else ["level"]

    def effects(self, outcome: str) -> pl.DataFrame:
        """Return the effect in every universe and with every seed.

        Returns
        -------
        DataFrame
            ``side``, ``seed``, a column of words for each setting of ``across``, ``effect`` (float64; runs in which
            the outcome is undefined are left out).
        """
        changes = {arm.name: arm.changes for arm in self.experiment.arms}
        frame = self.experiment.outcomes
        if outcome not in frame.columns:
            raise SettingError("outcome", got=repr(outcome), allowed="an outcome of these runs")
        known = frame.select("arm", "seed", pl.col(outcome).fill_nan(None).alias("value")).drop_nulls()
        rows = [
            {"side": _words(changes[arm], self.contrast), "seed": seed, "value": value}
            | {key: shown(changes[arm][key]) for key in self.across}
            for arm, seed, value in known.rows()
        ]
        schema = {"side": pl.String, "seed": pl.Int64, "value": pl.Float64, **dict.fromkeys(self.across, pl.String)}
        made = pl.DataFrame(rows, schema=schema)
        if not self.contrast:
            return made.with_columns(pl.lit("level").alias("side")).rename({"value": "effect"})
        first = _words(self.experiment.arms[0].changes, self.contrast)
        base = made.filter(pl.col("side") == first).drop("side").rename({"value": "base"})
        both = made.filter(pl.col("side") != first).join(base, on=["seed", *self.across])
        return both.with_columns((pl.col("value") - pl.col("base")).alias("effect")).drop("value", "base")


def _words(changes: Mapping[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(shown(changes[key]) for key in keys)


def specifications(effects: pl.DataFrame, across: Sequence[str]) -> pl.DataFrame:
    """Return the specification curve: the effect in each universe over its seeds, in ascending order.

    Returns
    -------
    DataFrame
        One row per side and universe: ``side``, the settings, ``effect`` (mean), ``low``, ``high`` (95% t; NaN with
        one seed), ``p``, ``seeds``; ``place`` (from 0, by effect within a side).
    """
    rows = []
    for key, part in effects.group_by(["side", *across], maintain_order=True):
        mean, low, high, p, _ = t_interval(part.sort("seed")["effect"].to_numpy())
        rows.append((*key, mean, low, high, p, part.height))
    schema = dict.fromkeys(["side", *across], pl.String) | columns("effect low high p seeds:int")
    frame = pl.DataFrame(rows, schema=schema, orient="row").sort("side", "effect", *across)
    return frame.with_columns(pl.int_range(pl.len()).over("side").alias("place"))


def variance_shares(effects: pl.DataFrame, across: Sequence[str]) -> pl.DataFrame:
    """Return the share of the variance of an effect, over universes and seeds, due to each choice.

    Shares of the sum of squares in an analysis of variance with the main effects of the choices and of the seed (type
    II, so that runs which are missing do not matter for the order). The rest is interactions and what is left.

    Returns
    -------
    DataFrame
        One row per side and source: ``side``, ``source`` (a setting, ``seed``, ``interactions and chance``), ``share``
        (0 to 1; NaN where the effect does not vary), ``low_mean`` and ``high_mean`` (smallest and largest mean effect
        over its values; NaN for the last).
    """
    parts = [_shares(str(side[0]), part, across) for side, part in effects.group_by("side", maintain_order=True)]
    rows = [row for part in parts for row in part]
    return pl.DataFrame(rows, schema=columns("side:str source:str share low_mean high_mean"), orient="row")


def _shares(side: str, part: pl.DataFrame, across: Sequence[str]) -> list[tuple[object, ...]]:
    sources = [*across, SEED]
    varied = [name for name in sources if part[name].n_unique() > 1]
    total = float(((part["effect"] - part["effect"].mean()) ** 2).sum())
    squares = _sums_of_squares(part, varied) if total > 1e-24 and varied else {}
    shares = {name: squares.get(name, 0.0) / total if total > 1e-24 else math.nan for name in sources}
    rows: list[tuple[object, ...]] = []
    for name, share in shares.items():
        means = part.group_by(name).agg(pl.col("effect").mean())["effect"]
        rows.append((side, name, share, means.min(), means.max()))
    rest = max(0.0, 1.0 - sum(shares.values())) if total > 1e-24 else math.nan
    return [*rows, (side, REST, rest, math.nan, math.nan)]


def _sums_of_squares(part: pl.DataFrame, varied: Sequence[str]) -> dict[str, float]:
    """Return the sum of squares of each main effect given the others."""
    blocks = {name: _indicators(part[name]) for name in varied}
    y = part["effect"].to_numpy()

    def left(names: Sequence[str]) -> float:
        design = np.column_stack([np.ones(y.size), *(blocks[name] for name in names)])
        coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
        return float(((y - design @ coefficients) ** 2).sum())

    every = left(varied)
    return {name: max(0.0, left([other for other in varied if other != name]) - every) for name in varied}


def _indicators(values: pl.Series) -> np.ndarray:
    """Return an indicator column for each value but the first."""
    known = values.unique(maintain_order=True).to_list()[1:]
    return np.column_stack([(values == value).to_numpy().astype(np.float64) for value in known])
