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
    """What a moderator may know besides the world.

    ``step_hours`` is the length of a step, 1 where a step has no length: a delay of 8 hours is then one of 8 steps.
    ``bank`` has the scenario's texts of notes (``bank.notes``, rows of texts) and what they say.
    """

    step_hours: float = 1.0
    bank: Bank | None = None


@dataclass(frozen=True, slots=True)
class Moderator(AskingMember):
    """A member of the family ``moderation``.

    Attributes
    ----------
    adds : frozenset of ActionKind
        Kinds of action that only this strategy gives to agents.
    review : callable
        ``review(world, draws, params, takedown) -> Change``: reads the world after the actions of step
        ``world.step + 1`` and writes nothing; what it decides is seen from the next feed on. ``takedown`` says whether
        posts may be taken down.
    scores_notes : bool
        Whether ``review`` takes ``scorer=`` too: the note scorer that the settings choose, with its parameters
        (:class:`townsquare.simulation.moderation.note_scorers.contract.ChosenNoteScorer`).
    takes_context : bool
        Whether ``review`` takes ``context=`` too, a :class:`ReviewContext`.
    """

    adds: frozenset[ActionKind]
    review: Callable[..., Change]
    scores_notes: bool = False
    takes_context: bool = False
