"""Calibrate an embedder's thresholds on paraphrase pairs: precision and recall of "near-duplicate".

A file has one argument a row with a paraphrase of it, and perhaps a near miss: a text in much the same words that says
something else. Pairs of one row are paraphrases; any other two texts of one topic and side, and each argument with its
near miss, are not. Half of the topics chooses the thresholds, the other half says what they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.near import Vectors, cosines
from townsquare.core.array_types import Float
from townsquare.core.cells import Column, read_columns, texts, words
from townsquare.core.tabular import read_table

CALIBRATE, HELD_OUT = "calibrate", "held out"
LEVELS = tuple(k / 100 for k in range(5, 100, 5))
"""Thresholds that are tried."""
PRECISION_FIRST, RECALL_FIRST = 0.5, 2.0
"""β of the F measure that chooses θ, which must not merge what others say of their own, and θ_self.

An own claim that is merged wrongly is one that the agent speaks for anyway; one that is missed lets it persuade itself
by saying a thing twice. So recall counts double for θ_self, and precision for θ.
"""
COLUMNS = (
    *(Column(name, texts(), needed=True) for name in ("topic", "side", "text", "paraphrase")),
    *(Column(name, texts(required=False)) for name in ("near_miss", "kind")),
    Column("split", words({CALIBRATE: False, HELD_OUT: True, "": None})),
)


class Pairs(NamedTuple):
    """Pairs of texts of one topic and side; p of them.

    ``first`` and ``second`` (p,) are rows of ``texts``; ``same`` (p,) says whether they are paraphrases; ``kind`` (p,)
    is what the file calls the paraphrase, "near miss", or "" for any other pair; ``held_out`` (p,) says whether the
    pair is left out of the choice.
    """

    texts: tuple[str, ...]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    same: npt.NDArray[np.bool_]
    kind: npt.NDArray[np.str_]
    held_out: npt.NDArray[np.bool_]


class Level(NamedTuple):
    """Counts at a threshold: pairs that reach it, paraphrases among them, and all paraphrases."""

    theta: float
    reached: int
    right: int
    paraphrases: int

    @property
    def precision(self) -> float:
        """Return share of the pairs that reach the threshold that are paraphrases; NaN if none does."""
        return self.right / self.reached if self.reached else float("nan")

    @property
    def recall(self) -> float:
        """Return share of the paraphrases that reach the threshold; NaN if none exist."""
        return self.right / self.paraphrases if self.paraphrases else float("nan")

    def f(self, beta: float) -> float:
        """Return the F measure, in which recall counts ``beta`` times as much as precision; 0 if nothing is right.

        >>> Level(0.5, reached=10, right=8, paraphrases=16).f(1.0)
        0.6153846153846154
        """
        weighed = beta * beta * self.paraphrases + self.reached
        return (1.0 + beta * beta) * self.right / weighed if weighed else 0.0


class Calibration(NamedTuple):
    """Measurements at every threshold, and the chosen ones.

    ``chosen_on`` and ``held_out`` hold a level a threshold, ascending; the second is empty for a file of one topic.
    ``recall_by_kind`` has the recall of each kind at θ and at θ_self, over all pairs, with how many there are.
    """

    theta: float
    theta_self: float
    chosen_on: tuple[Level, ...]
    held_out: tuple[Level, ...]
    recall_by_kind: dict[str, tuple[int, float, float]]


def bundled_pairs() -> Path:
    """Return the file of paraphrases written for this project."""
    return Path(str(package_files("townsquare"))) / "data" / "paraphrases.csv"


def read_pairs(path: Path) -> Pairs:
    """Read pairs from the columns topic, side, text, paraphrase and, where present, near_miss, kind, split.

    ``split`` is ``calibrate`` or ``held out``. Without it, every other topic is held out.

    Raises
    ------
    DataError
        A column is missing or not known, a cell is empty or not what it can be; no rows.
    """
    sheet = read_columns(read_table(path), COLUMNS, least="at least one argument with a paraphrase")
    topics = list(dict.fromkeys(sheet["topic"]))
    cells = [sheet[column.name] for column in COLUMNS]
    rows: list[tuple[str, int, tuple[str, str, bool], bool, str]] = []
    for number, (topic, side, text, paraphrase, near_miss, name, split) in enumerate(zip(*cells, strict=True)):
        group = (topic, side, topics.index(topic) % 2 == 1 if split is None else split)
        variants = ((text, False), (paraphrase, False), (near_miss, True))
        rows += [(words, number, group, missed, name or "paraphrase") for words, missed in variants if words]
    return _pairs(*zip(*rows, strict=True))


def calibrated(pairs: Pairs, vectors: Vectors) -> Calibration:
    """Measure every threshold, and choose θ and θ_self on the pairs that are not held out; ties go to the higher."""
    near = cosines(vectors.of(pairs.texts), pairs.first, pairs.second)
    chosen_on = _levels(near[~pairs.held_out], pairs.same[~pairs.held_out])
    held_out = _levels(near[pairs.held_out], pairs.same[pairs.held_out]) if pairs.held_out.any() else ()
    theta, theta_self = (
        max(chosen_on, key=lambda level: (level.f(beta), level.theta)).theta for beta in (PRECISION_FIRST, RECALL_FIRST)
    )
    by_kind = {}
    for kind in dict.fromkeys(pairs.kind[pairs.same].tolist()):
        of_kind = near[pairs.same & (pairs.kind == kind)]
        by_kind[kind] = (of_kind.size, float((of_kind >= theta).mean()), float((of_kind >= theta_self).mean()))
    return Calibration(theta, theta_self, chosen_on, held_out, by_kind)


def _levels(near: Float, same: npt.NDArray[np.bool_]) -> tuple[Level, ...]:
    return tuple(
        Level(theta, int((near >= theta).sum()), int((near[same] >= theta).sum()), int(same.sum())) for theta in LEVELS
    )


def _pairs(
    texts: tuple[str, ...], rows: Sequence[int], groups: Sequence[tuple[str, str, bool]], *kinds: Sequence[bool | str]
) -> Pairs:
    """Return all pairs within a group; a near miss is paired with its own argument alone."""
    row, spare, kind = np.array(rows), *map(np.array, kinds)
    _, of = np.unique([f"{group}" for group in groups], return_inverse=True)
    left, right = np.triu_indices(len(texts), 1)
    same_group = of[left] == of[right]
    left, right = left[same_group], right[same_group]
    first = np.r_[True, row[1:] != row[:-1]]  # the argument itself
    missed = spare[left] | spare[right]
    same_row = row[left] == row[right]
    selected = ~missed | (same_row & first[left])
    left, right, missed, same = left[selected], right[selected], missed[selected], (same_row & ~missed)[selected]
    words = np.where(same, kind[left], np.where(missed, "near miss", ""))
    return Pairs(texts, left, right, same, words, np.array([is_held_out for *_, is_held_out in groups])[left])
