"""Held-out folds of whole conversations or whole topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from townsquare.core.array_types import Int64
from townsquare.core.draws import chain, text_key
from townsquare.core.errors import DataError
from townsquare.humans.trajectories import Trajectories

FOLDS = 5
SEED = 42
"""The paper's (appendix E)."""
KINDS = ("group", "topic")


def fold_of(people: Trajectories, kind: str, seed: int = SEED, folds: int = FOLDS) -> Int64:
    """Return the fold of each trajectory, (n,) from 0.

    Groups come in an order drawn by seed and name; each goes to the fold that holds the fewest trajectories so far. So
    the folds do not depend on the order of the file, and are of like size unless one group is most of the data.

    Parameters
    ----------
    people : Trajectories
    kind : str
        ``"group"``: conversations; ``"topic"``: topics.
    seed, folds : int
        Fewer groups than folds make fewer folds.

    Raises
    ------
    UnknownName
        Another kind.
    DataError
        One group only.
    """
    return folds_by(people.conversation if kind == "group" else people.topic, kind, people.name, seed, folds)


def folds_by(names: Sequence[str], kind: str, where: str, seed: int = SEED, folds: int = FOLDS) -> Int64:
    """Return folds of rows that bear the name of their group.

    >>> folds_by(["a", "a", "b", "c"], "group", "made", folds=2).tolist()
    [1, 1, 0, 0]
    """
    sizes = Counter(names)
    if len(sizes) < 2:
        other = "group" if kind == "topic" else "topic"
        got, do = f"one {kind} in all trajectories", f"give --folds {other}"
        raise DataError(where, got=got, allowed="at least two, because some are held out", do=do)
    load = [0] * min(folds, len(sizes))
    fold: dict[str, int] = {}
    for name in sorted(sizes, key=lambda name: (chain(seed, text_key(name)), name)):
        fold[name] = load.index(min(load))
        load[fold[name]] += sizes[name]
    return np.array([fold[name] for name in names], np.int64)
