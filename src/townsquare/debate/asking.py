"""Debates that ask a language model: whether they do, and the door that their members ask through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from townsquare.debate.resolve import Resolved
from townsquare.debate.start import trial_seed
from townsquare.models.binding import member_asks
from townsquare.models.calls import FILE, kept_at
from townsquare.models.door import Door
from townsquare.models.open import open_door


def asks(found: Resolved) -> bool:
    """Whether any member of a debate asks a language model."""
    return any(member_asks(member, params) for member, params in found.members.values())


@contextmanager
def door_of(found: Resolved, trial: int, folder: Path) -> Iterator[Door]:
    """The door of one trial. Calls are kept in ``calls.db`` of ``folder``; trials have draws of their own."""
    store = kept_at(folder / FILE, found.settings.serving.calls)
    try:
        with open_door(found.settings, store, trial_seed(found.settings.seed, trial)) as door:
            yield door
    finally:
        store.close()
