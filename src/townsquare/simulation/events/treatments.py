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
from townsquare.core.array_types import Array, Bool, Float, Int16, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.scenario.population.question_bank import QuestionBank
from townsquare.settings.config import Config
from townsquare.settings.events import Treatment
from townsquare.simulation.world import World


def assigned(agents: npt.ArrayLike, treatment: Treatment, seed: int) -> Bool:
    """Return the draw of each of ``agents`` (n,), rows of agents, for a treatment: whether it is assigned."""
    draw = Draws(seed, 0)(Stage.POPULATION)
    return draw.uniform(f"treatment:{treatment.name}", agents, lasting=True) < treatment.share


def takes_part(treatment: Treatment, traits: Int16, bank: QuestionBank) -> Bool:
    """Return whether each of some people, with codes ``traits`` (n, T), takes part in a treatment.

    Raises
    ------
    UnknownName
        ``among`` names an unknown trait or answer.
    """
    out = np.ones(traits.shape[0], np.bool_)
    for label, answers in treatment.among.items():
        where = f"treatments.{treatment.name}.among"
        codes, any_of = traits[:, bank.number_of(label, where)], np.zeros(traits.shape[0], np.bool_)
        for answer in answers:
            low, high = bank.span(label, answer, f"{where}.{label}")
            any_of |= (codes >= low) & (codes <= high)
        out &= any_of
    return out


def treatment_rows(agents: npt.ArrayLike, config: Config, traits: Int16, bank: QuestionBank) -> schema.ByTable:
    """Return rows of the table ``treatments`` for new persons, by agent and treatment; nothing without treatments.

    Persons who do not take part in a treatment have no row of it.
    """
    born, treatments = np.asarray(agents), config.treatments
    if not treatments or not born.size:
        return {}
    given = np.stack([assigned(born, treatment, config.seed) for treatment in treatments], axis=1)
    part = np.stack([takes_part(treatment, traits, bank) for treatment in treatments], axis=1).ravel()
    n, many = given.shape
    columns = schema.rows(
        "treatments", int(part.sum()), agent=np.repeat(born, many)[part], treatment=np.tile(np.arange(many), n)[part],
        assigned=given.ravel()[part],
    )  # fmt: skip
    return {"treatments": columns}


def part_of(world: World, number: int) -> Bool:
    """Return who takes part in a treatment by its number, (n_agents,): who has a row of it."""
    out, rows = np.zeros(world.n_agents, np.bool_), world.treatments
    out[rows["agent"][rows["treatment"] == number]] = True
    return out


def given_to(world: World, agents: Array, config: Config, number: int) -> Bool:
    """Return whether each agent is assigned to a treatment by its number, and takes part in it."""
    treatment = config.treatments[number]
    out = assigned(agents, treatment, config.seed)
    return out & part_of(world, number)[agents] if treatment.among else out


def _effects(world: World, agents: Array, config: Config, step: int, name: str) -> Iterator[tuple[Bool, Any]]:
    """Yield who is assigned to each treatment that has this effect in ``step``, and the effect."""
    for number, treatment in enumerate(config.treatments):
        effect = getattr(treatment.effects, name)
        if effect not in (None, {}) and step >= treatment.start:
            yield given_to(world, agents, config, number), effect


def shows_labels(world: World, agents: Array, config: Config, step: int) -> Bool:
    """Return whether each agent is shown labels; where two treatments disagree, the later one in the list holds."""
    out = np.full(agents.shape[0], config.feed.show_labels)
    for treated, labels in _effects(world, agents, config, step, "labels"):
        out[treated] = labels == "shown"
    return out


def rows_of_others(world: World, agents: Array, config: Config, step: int) -> Int64:
    """Return how many rows from other accounts each agent is shown at most; the later treatment of two holds."""
    out = np.full(agents.shape[0], config.feed.others, np.int64)
    for treated, others in _effects(world, agents, config, step, "others"):
        out[treated] = others
    return out


def friction(world: World, agents: Array, config: Config, step: int) -> Float | None:
    """Return the chance that an action of each kind is given up, (n, kinds); None without any friction."""
    given = list(_effects(world, agents, config, step, "friction"))
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
