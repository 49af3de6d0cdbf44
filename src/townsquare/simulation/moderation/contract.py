"""The contract of a moderator: its inputs and its output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from townsquare.core.actions import ActionKind
from townsquare.models.contract import Asker
from townsquare.settings.base import FamilyMember
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
class Moderator(FamilyMember):
    """A member of the family ``moderation``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in its own file.
    adds : frozenset of ActionKind
        Kinds of action that only this strategy gives to agents.
    review : callable
        ``review(world, draws, params, takedown) -> Change``: reads the world after the actions of step
        ``world.step + 1`` and writes nothing; what it decides is seen from the next feed on. ``takedown`` says whether
        posts may be taken down.
    asks : callable, optional
        ``asks(params)``: whether it asks a language model under these settings.
    bind : callable, optional
        ``bind(asker)`` gives the same moderator with a language model to ask.
    scores_notes : bool
        Whether ``review`` takes ``scorer=`` too: the note scorer that the settings choose, with its parameters
        (:class:`townsquare.simulation.moderation.note_scorers.contract.ChosenNoteScorer`).
    takes_context : bool
        Whether ``review`` takes ``context=`` too, a :class:`ReviewContext`.
    """

    adds: frozenset[ActionKind]
    review: Callable[..., Change]
    asks: Callable[[Any], bool] | None = None
    bind: Callable[[Asker], Moderator] | None = None
    scores_notes: bool = False
    takes_context: bool = False
