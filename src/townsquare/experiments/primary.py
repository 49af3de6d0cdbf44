"""The primary outcome of a study: named by the user, else by the scenario, else the one that its posts suggest."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from townsquare.analysis.outcomes import outcome_names
from townsquare.core.enums import Veracity
from townsquare.core.former_names import current_name
from townsquare.core.registry import check_known
from townsquare.scenario.contents import Scenario

OF_FALSE_POSTS, OF_POSTS, OF_BELIEFS = "reach_false_mean", "reach_true_mean", "absolute_shift"


def primary_outcome(scenario: Scenario, asked: str | None = None) -> str:
    """Return the primary outcome of runs of a scenario.

    Where neither the user nor the scenario (``primary_outcome``) names one, it is the mean reach of a false post; in a
    scenario without false posts the mean absolute shift of its first proposition; without propositions the mean
    reach of a true post.

    Raises
    ------
    UnknownName
        There is no such outcome in runs of this scenario.
    """
    propositions = scenario.proposition_names
    if asked or scenario.primary_outcome:
        where = "--outcome" if asked else f"primary_outcome of {scenario.name}"
        return check_outcome(asked or scenario.primary_outcome, outcome_names(propositions), where)
    if (scenario.posts.veracity == Veracity.FALSE).any():
        return OF_FALSE_POSTS
    return f"{OF_BELIEFS}.{propositions[0]}" if propositions else OF_POSTS


def check_outcome(name: str, known: Sequence[str], where: str = "--outcome") -> str:
    """Return the present name of an outcome.

    Raises
    ------
    UnknownName
        It is none of the known ones, which the error lists.
    """
    name = current_name("measure", name)
    check_known(where, name, list(known))
    return name


def suggested(outcomes: pl.DataFrame) -> str:
    """Return the primary outcome of recorded runs that name none, as comparisons of earlier versions; "" without any.

    Parameters
    ----------
    outcomes : DataFrame
        As :attr:`townsquare.experiments.manifest.Experiment.outcomes`.
    """
    known = [each.name for each in outcomes.drop("arm", "seed").fill_nan(None) if each.null_count() < each.len()]
    beliefs = [name for name in known if name.startswith(f"{OF_BELIEFS}.")]
    preferred = [name for name in (OF_FALSE_POSTS, *beliefs, OF_POSTS) if name in known]
    return next(iter([*preferred, *known]), "")
