"""The return value of a stage: rows of tables, and the new belief state if beliefs moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from townsquare.beliefs.contract import BeliefState
from townsquare.core import schema


@dataclass(frozen=True, slots=True)
class Change:
    """What :meth:`townsquare.simulation.world.World.append` applies and hands on to the record.

    Attributes
    ----------
    rows : mapping of table name to columns
        As :func:`townsquare.core.schema.rows` gives them. Everything the world keeps current (counts, statuses, the
        graph, what was seen) follows from these rows.
    newborn : BeliefState, optional
        Beliefs of the agents in ``rows["agents"]``, in that order.
    belief : sequence of BeliefState
        The new state of every block of agents, in order; empty if beliefs did not move.
    """

    rows: Mapping[str, schema.Columns] = field(default_factory=dict)
    newborn: BeliefState | None = None
    belief: tuple[BeliefState, ...] = ()


NOTHING = Change()
