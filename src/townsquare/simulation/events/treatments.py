"""Assigns agents to treatments, and applies the effects.

An assignment is a lasting draw by agent and name of the treatment: it is the same in every arm of a comparison, does
not change when treatments or agents are added, and is there for agents that join later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Array
from townsquare.core.draws import Draws, Stage
from townsquare.settings.config import Config
from townsquare.settings.events import Treatment


def assigned(agents: npt.ArrayLike, treatment: Treatment, seed: int) -> npt.NDArray[np.bool_]:
    """Return whether each of ``agents`` (n,), rows of agents, is assigned to the treatment."""
    draw = Draws(seed, 0)(Stage.POPULATION)
    return draw.uniform(f"treatment:{treatment.name}", agents, lasting=True) < treatment.share


def treatment_rows(agents: npt.ArrayLike, config: Config) -> dict[str, schema.Columns]:
    """Return rows of the table ``treatments`` for new persons, by agent and treatment; nothing without treatments."""
    born, treatments = np.asarray(agents), config.treatments
    if not treatments or not born.size:
        return {}
    given = np.stack([assigned(born, treatment, config.seed) for treatment in treatments], axis=1)
    n, many = given.shape
    columns = schema.rows(
        "treatments", n * many, agent=np.repeat(born, many), treatment=np.tile(np.arange(many), n),
        assigned=given.ravel(),
    )  # fmt: skip
    return {"treatments": columns}


def _effects(agents: Array, config: Config, step: int, name: str) -> Iterator[tuple[npt.NDArray[np.bool_], Any]]:
    """Yield who is assigned to each treatment that has this effect in ``step``, and the effect."""
    for treatment in config.treatments:
        effect = getattr(treatment.effects, name)
        if effect not in (None, {}) and step >= treatment.start:
            yield assigned(agents, treatment, config.seed), effect


def shows_labels(agents: Array, config: Config, step: int) -> npt.NDArray[np.bool_]:
    """Return whether each agent is shown labels; where two treatments disagree, the later one in the list holds."""
    out = np.full(agents.shape[0], config.feed.show_labels)
    for treated, labels in _effects(agents, config, step, "labels"):
        out[treated] = labels == "shown"
    return out


def rows_of_others(agents: Array, config: Config, step: int) -> npt.NDArray[np.int64]:
    """Return how many rows from other accounts each agent is shown at most; the later treatment of two holds."""
    out = np.full(agents.shape[0], config.feed.others, np.int64)
    for treated, others in _effects(agents, config, step, "others"):
        out[treated] = others
    return out


def friction(agents: Array, config: Config, step: int) -> npt.NDArray[np.float64] | None:
    """Return the chance that an action of each kind is given up, (n, kinds); None without any friction."""
    given = list(_effects(agents, config, step, "friction"))
    if not config.actions.friction and not given:
        return None
    out = np.zeros((agents.shape[0], len(ActionKind)))
    for word, chance in config.actions.friction.items():
        out[:, ActionKind[word.upper()]] = chance
    for treated, chances in given:
        for word, chance in chances.items():
            kind = ActionKind[word.upper()]
            out[treated, kind] = np.maximum(out[treated, kind], chance)
    return out
