"""Human trajectories: initial and final stances, received messages, and readings in between.

Every adapter of :mod:`townsquare.humans.read` ends here, and everything that fits or replays begins here. A trajectory
is one person in one conversation with one proposition. What a person said itself is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import gather
from townsquare.core.array_types import Bool, Float, Int64


class Message(NamedTuple):
    """One message that a person received.

    Attributes
    ----------
    author : str
        Who wrote it; never the person itself.
    side : float
        Stance toward the proposition in [-1, 1]; NaN where the data do not say.
    strength : float
        [0, 1]; NaN where the data do not say.
    text : str
        What was said; "" where the data have no text.
    tie : float
        How strongly the person is tied to the author, [0, 1]: 1 for one that it follows; NaN where the data do not say.
    group : str
        Of the author; "" for none.
    """

    author: str
    side: float = float("nan")
    strength: float = float("nan")
    text: str = ""
    tie: float = float("nan")
    group: str = ""


class Reading(NamedTuple):
    """A person's answer after the first ``after`` received messages; stance in [-1, 1]."""

    after: int
    stance: float


@dataclass(frozen=True, slots=True)
class Row:
    """One trajectory as an adapter reads it, before it is checked; see :func:`townsquare.humans.checked.joined`.

    Attributes
    ----------
    place : str
        File and row, for errors.
    participant, conversation, proposition : str
        What identifies it.
    initial, final : float
        Stances in [-1, 1]; NaN where the data have none.
    messages : sequence of Message
        Received ones, in order.
    readings : sequence of Reading
        Those between the two, in order.
    topic : str
        What held-out topics are made of; the proposition where the data have none.
    option : str
        What messages may call the thing that the proposition is about (a card, a candidate); "" for none.
    control : bool
        Whether the conversation was about something else.
    group : str
        Of the person; "" for none.
    alone : bool
        Whether the person was asked again without any message, as the study meant it.
    """

    location: str
    participant: str
    conversation: str
    proposition: str
    initial: float
    final: float
    messages: Sequence[Message]
    readings: Sequence[Reading] = ()
    topic: str = ""
    option: str = ""
    control: bool = False
    group: str = ""
    alone: bool = False


WORDS = ("participant", "conversation", "proposition", "topic", "option")
NUMBERS = ("control", "initial", "final", "group")
OF_MESSAGES = ("author", "side", "strength", "tie", "author_group", "text")
"""Columns of trajectories by person, in words and in numbers, and by message."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectories:
    """n trajectories with m received messages and r readings in between.

    Attributes
    ----------
    name : str
        Of the data set.
    participant, conversation, proposition, topic, option : tuple of str
        (n,); see :class:`Row`.
    control : (n,) bool
        Conversations about something else: the noise floor.
    initial, final : (n,) float64
        Stances in [-1, 1].
    indptr : (n + 1,) int64
        Messages of each, a CSR.
    author : (m,) int64
        Row of ``authors``.
    side, strength : (m,) float64
        [-1, 1] and [0, 1]; NaN where the data do not say.
    tie : (m,) float64
        Of each message's author to the person, [0, 1]; NaN where the data do not say.
    group, author_group : (n,) and (m,) int64
        Number of the person's and of the author's group; -1 for none.
    text : (m,) int64
        Row of ``texts``.
    reading_indptr : (n + 1,) int64
        Readings of each, a CSR.
    reading_after : (r,) int64
        How many messages came before each; ascending, from 1 to one less than all.
    reading : (r,) float64
        Stances in [-1, 1].
    authors, texts : tuple of str
        Distinct names and texts.
    left_out : tuple of str
        What was left out by ``skip_bad``, each with its place and reason.
    """

    name: str
    participant: tuple[str, ...]
    conversation: tuple[str, ...]
    proposition: tuple[str, ...]
    topic: tuple[str, ...]
    option: tuple[str, ...]
    control: Bool
    initial: Float
    final: Float
    indptr: Int64
    author: Int64
    side: Float
    strength: Float
    tie: Float
    group: Int64
    author_group: Int64
    text: Int64
    reading_indptr: Int64
    reading_after: Int64
    reading: Float
    authors: tuple[str, ...]
    texts: tuple[str, ...]
    left_out: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.participant)

    def take(self, rows: npt.ArrayLike) -> Trajectories:
        """Return some of the trajectories, in the order of ``rows`` (int, or bool of length n)."""
        at = np.asarray(rows)
        at = np.flatnonzero(at) if at.dtype == np.bool_ else at.astype(np.int64)
        indptr, messages = gather(self.indptr, at)
        reading_indptr, readings = gather(self.reading_indptr, at)
        changed: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in at.tolist()) for name in WORDS}
        for names, part in ((NUMBERS, at), (OF_MESSAGES, messages), (("reading_after", "reading"), readings)):
            changed |= {name: getattr(self, name)[part] for name in names}
        return replace(self, **changed, indptr=indptr, reading_indptr=reading_indptr)


def codes_of(words: Sequence[str]) -> tuple[Int64, tuple[str, ...]]:
    """Return numbers of words in order of first appearance, and the distinct words.

    >>> codes_of(["b", "a", "b"])
    (array([0, 1, 0]), ('b', 'a'))
    """
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(word, len(known)) for word in words], np.int64)
    return codes, tuple(known)
