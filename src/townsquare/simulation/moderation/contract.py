"""The contract of a moderator: its inputs and its output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from townsquare.core.actions import ActionKind
from townsquare.models.contract import AskingMember
from townsquare.simulation.change import Change
from townsquare.simulation.views import Bank


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Inputs of a moderator besides the world.

    ``step_hours`` is the length of a step in hours, 1 if a step has no length. ``bank`` has the scenario's texts of
    notes (``bank.notes``, rows of texts) and their stances.
    """

    step_hours: float = 1.0
    bank: Bank | None = None


@dataclass(frozen=True, slots=True)
class Moderator(AskingMember):
    """A member of the family ``moderation``.

    Attributes
    ----------
    adds : frozenset of ActionKind
        Kinds of action that agents have under this strategy in addition.
    review : callable
        ``review(world, draws, params, takedown) -> Change``: reads the world after the actions of the current step
        (``world.step + 1``) and does not change it. Agents see its decisions from the next feed on. ``takedown`` says
        whether posts may be taken down.
    scores_notes : bool
        Whether ``review`` also takes ``scorer=``: the note scorer that the settings choose, with its parameters
        (:class:`townsquare.simulation.moderation.note_scorers.contract.ChosenNoteScorer`).
    takes_context : bool
        Whether ``review`` also takes ``context=``, a :class:`ReviewContext`.
    """

    adds: frozenset[ActionKind]
    review: Callable[..., Change]
    scores_notes: bool = False
    takes_context: bool = False
