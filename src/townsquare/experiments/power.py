"""How many seeds a comparison needs: from the spread of paired differences in a pilot."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from scipy import integrate, special

from townsquare.analysis.contract import columns
from townsquare.core.errors import SettingError
from townsquare.core.registry import check_known
from townsquare.experiments.paired import beside_baseline

LEVEL, POWER = 0.05, 0.8
UPPER = 0.8
"""The cautious number of seeds takes the spread that the true one is below with this confidence."""
MOST = 1_000_000
"""More seeds than this are not looked for."""
_REACH = 12.0
"""Standard normal draws beyond this are left out; they have a chance of 1e-33."""
_SCHEMA = columns("outcome:str arm:str pairs:int difference sd effect seeds:int seeds_cautious:int note:str")


def seeds_needed(
    outcomes: pl.DataFrame,
    baseline: str,
    names: Sequence[str] | None = None,
    effect: float | None = None,
    power: float = POWER,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Return the number of seeds with which a paired t test detects an effect.

    The spread of the differences between an arm and the baseline, seed by seed, is that of the pilot. A pilot of few
    seeds knows it badly, so a second, cautious number takes the upper 80% bound of the spread (chi-square).

    Parameters
    ----------
    outcomes : DataFrame
        One row per run, as :attr:`townsquare.experiments.manifest.Experiment.outcomes`.
    baseline : str
        The arm that the others are compared with.
    names : sequence of str, optional
        Outcomes; by default all.
    effect : float, optional
        The smallest difference that should be found, in the unit of the outcome, other than 0; by default the one the
        pilot shows, which tends to be too large where it is the reason for asking.
    power, level : float
        Chance to find it, and two-sided level of the test; between 0 and 1.

    Returns
    -------
    DataFrame
        One row per outcome and other arm: ``outcome``, ``arm``, ``pairs`` (of the pilot), ``difference`` (its mean),
        ``sd`` (of its differences), ``effect``, ``seeds``, ``seeds_cautious`` (null where they cannot be told),
        ``note`` (why).

    Raises
    ------
    SettingError, UnknownName
        An outcome, the baseline, the effect or a chance is none.
    """
    for name in names or ():
        check_known("outcome", name, outcomes.columns)
    if effect is not None and (effect == 0 or not math.isfinite(effect)):
        raise SettingError("--effect", got=str(effect), allowed="a number other than 0, in the unit of the outcome")
    for name, chance in {"power": power, "level": level}.items():
        if not 0 < chance < 1:
            raise SettingError(f"--{name}", got=str(chance), allowed="a number between 0 and 1")
    rows = []
    for name, arm, here, base in beside_baseline(outcomes, baseline, names):
        if arm != baseline:
            differences = np.array([here[seed] - base[seed] for seed in sorted(here.keys() & base.keys())])
            rows.append({"outcome": name, "arm": arm, **_needed(differences, effect, power, level)})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _needed(differences: np.ndarray, effect: float | None, power: float, level: float) -> dict[str, object]:
    n = len(differences)
    mean = float(differences.mean()) if n else math.nan
    sd = float(differences.std(ddof=1)) if n > 1 else math.nan
    wanted = mean if effect is None else effect
    row: dict[str, object] = {"pairs": n, "difference": mean, "sd": sd, "effect": wanted, "note": ""}
    if n < 2:
        return {**row, "note": "fewer than two pairs of pilot runs in which both are defined"}
    if not (math.isfinite(wanted) and math.isfinite(sd)):
        return {**row, "note": "an outcome of the pilot is not finite"}
    if wanted == 0:
        return {**row, "note": "the pilot shows no difference: set --effect"}
    if sd == 0:
        return {**row, "seeds": 2, "seeds_cautious": 2, "note": "the same difference with every seed"}
    upper = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, UPPER)))
    seeds, cautious = (_seeds(abs(wanted) / spread, power, level) for spread in (sd, upper))
    note = "" if seeds and cautious else f"more than {MOST:,} seeds"
    return {**row, "seeds": seeds, "seeds_cautious": cautious, "note": note}


def _seeds(size: float, power: float, level: float) -> int | None:
    """Return the least number of pairs, at least 2, at which the test has this power for a standardized effect."""
    numbers = range(2, MOST + 1)
    at = bisect_left(numbers, True, key=lambda n: _chance_missed(n, size, level) <= 1 - power)
    return numbers[at] if at < len(numbers) else None


def _chance_missed(n: int, size: float, level: float) -> float:
    """Return the type II error of a two-sided paired t test of ``n`` pairs, with relative error 1e-9.

    The test misses where (Z + shift)² < bound² S²/(n - 1), with Z standard normal and S² chi-square on n - 1 degrees
    of freedom. The chance is the mean over Z of the chi-square's upper tail, an integral of a bounded function.
    ``scipy.stats.nct`` is no way to it: it returns NaN where the shift is large.
    """
    critical, shift = -float(special.stdtrit(n - 1, level / 2)), size * math.sqrt(n)

    def missed(z: float) -> float:
        scaled = (z + shift) / critical
        return math.exp(-z * z / 2) * float(special.chdtrc(n - 1, (n - 1) * scaled * scaled))

    # The tail falls from 1 to 0 around z = ±bound - shift and peaks at -shift: no integrand may skip over that.
    corners = (-_REACH, -shift - critical, -shift, critical - shift, _REACH)
    ends = sorted({min(max(corner, -_REACH), _REACH) for corner in corners})
    parts = [integrate.quad(missed, a, b, epsabs=0.0, epsrel=1e-10, limit=200)[0] for a, b in pairwise(ends)]
    return math.fsum(parts) / math.sqrt(2 * math.pi)
