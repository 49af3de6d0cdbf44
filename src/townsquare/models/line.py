"""What all calls to one model share: its servers, the transport, and how often to try."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, field

from townsquare.models.endpoints import Endpoints
from townsquare.models.transport import Transport

_LOG = logging.getLogger(__name__)


@dataclass
class Line:
    """The line to a model.

    Attributes
    ----------
    name : str
        As it is asked for, such as ``openai/gpt-4o-mini``.
    model : str
        As the servers call it.
    endpoints : Endpoints
    transport : Transport
    tries : int
        Requests for one call at most; those by which the ways of a server are learnt do not count.
    key_hint : str
        What to do about a key that a server refuses.
    notes : list of str
        What was learnt of servers that a user should know.
    dice : random.Random
        Of waits only; nothing that is recorded depends on it.
    """

    name: str
    model: str
    endpoints: Endpoints
    transport: Transport
    tries: int
    key_hint: str = ""
    notes: list[str] = field(default_factory=list)
    dice: random.Random = field(default_factory=random.Random)

    def note(self, url: str, learnt: str) -> None:
        """Keep what was learnt of a server, once."""
        text = f"{self.name} at {url}: {learnt}"
        if text not in self.notes:
            self.notes.append(text)
            _LOG.warning("%s", text)
