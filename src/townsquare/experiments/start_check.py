"""Whether the arms of a comparison start alike: a rule in log odds may start elsewhere than at the stance drawn."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from townsquare.core.errors import SettingError
from townsquare.scenario.load import load_scenario
from townsquare.settings.resolve import Settings
from townsquare.simulation.arrivals import Arrivals

SAMPLE = 1000
"""Persons that are compared: the first of each arm, who are the same persons in all."""


def check_starts(arms: Mapping[str, Settings]) -> None:
    """Refuse arms whose persons start further apart than ``evidence.start_tolerance``, the least of the arms'.

    The distance of two arms is the mean, over persons, of how far apart one and the same person starts, on the
    proposition where that is most. Arms of which none counts in log odds start alike and are not looked at, nor are
    those with other people or other propositions.

    Parameters
    ----------
    arms : mapping of str to Settings
        By name, all of one seed.

    Raises
    ------
    SettingError
        The two arms, how far they are apart, and what brings them together.
    """
    if not any(settings.members["beliefs"].unit == "log odds" for settings in arms.values()):
        return
    starts = {name: attained(settings) for name, settings in arms.items()}
    tolerance = min(settings.config.evidence.start_tolerance for settings in arms.values())
    for (first, here), (second, there) in itertools.combinations(starts.items(), 2):
        same_people = arms[first].config.population == arms[second].config.population and here.shape == there.shape
        if not same_people or arms[first].scenario_digest != arms[second].scenario_digest or not here.size:
            continue
        apart = float(np.abs(here - there).mean(axis=0).max())
        if apart > tolerance:
            got = f"initial stances that differ by {apart:.3f} on average"
            keeps = "beliefs.anchoring 1 keeps stated stances; beliefs.seed_records, beliefs.prior_scale"
            do = f"match the initial stances ({keeps}) or raise the tolerance"
            allowed = f"at most evidence.start_tolerance = {tolerance:g}"
            raise SettingError(f"arms {first} and {second}", got=got, allowed=allowed, do=do)


def attained(settings: Settings) -> npt.NDArray[np.float64]:
    """Return the initial stances of the first persons of a run, (n, P), for up to :data:`SAMPLE` persons."""
    scenario = load_scenario(settings.config.scenario)
    return Arrivals.plan(settings, scenario).starts(min(settings.config.agents, SAMPLE))
