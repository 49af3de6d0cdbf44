"""The return value of a stage: rows of tables, and the new belief state if beliefs moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from townsquare.beliefs.contract import BeliefState
from townsquare.core import schema


@dataclass(frozen=True, slots=True)
class Change:
    """The result of a stage, which :meth:`townsquare.simulation.world.World.append` applies and records.

    Attributes
    ----------
    rows : mapping of table name to columns
        As from :func:`townsquare.core.schema.rows`. All current values of the world (counts, statuses, the follow
        graph, seen posts) follow from these rows.
    newborn : BeliefState, optional
        Beliefs of the agents in ``rows["agents"]``, in that order.
    belief : sequence of BeliefState
        The new state of every block of agents, in order; empty if beliefs did not change.
    """

    rows: Mapping[str, schema.Columns] = field(default_factory=dict)
    newborn: BeliefState | None = None
    belief: tuple[BeliefState, ...] = ()


NOTHING = Change()
