"""Says whether a run asks a language model and whether its agents remember; turns calls into rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from townsquare.core import schema
from townsquare.models.contract import Call, member_asks
from townsquare.settings.resolve import Settings
from townsquare.simulation.policies import mix

CALLS_FILE = "calls.db"
"""Beside ``run.db``: every request and reply, written as each call ends."""


def asks(settings: Settings) -> bool:
    """Return whether any member of the run, from the start or from a later step on, asks a language model."""
    return any(_asks_now(now) for now in (settings, *(later for _, later in settings.changes)))


def _asks_now(settings: Settings) -> bool:
    families = ("policy", "moderation", "extractor")
    members = ((settings.members[family], settings.params[family]) for family in families)
    return settings.config.memory.reflection == "model" or any(member_asks(*member) for member in members)


def reads_memory(settings: Settings) -> bool:
    """Return whether the policy reads memories, so that recalling them counts as an access."""
    return "memory" in mix.reads(settings.members["policy"], settings.params["policy"])


def remembers(settings: Settings) -> bool:
    """Return whether agents remember in this run."""
    enabled = settings.config.memory.enabled
    return reads_memory(settings) if enabled is None else enabled


# Calls of language models as rows of a step.


_AS_THEY_ARE = (
    "identity", "purpose", "agent", "turn", "outcome", "error", "server", "tokens_in", "tokens_out", "seconds", "tries",
)  # fmt: skip


def call_rows(calls: Sequence[Call], step: int) -> schema.ByTable:
    """Return rows of ``model_calls`` in the order of asking; none for no calls."""
    if not calls:
        return {}
    replies = [hashlib.sha256(call.text.encode()).hexdigest() if call.text else "" for call in calls]
    columns = {name: [getattr(call, name) for call in calls] for name in _AS_THEY_ARE}
    rows = schema.rows(
        "model_calls", len(calls), step=step, call=np.arange(len(calls)), reply=replies,
        model=[call.reported for call in calls], **columns,
    )  # fmt: skip
    return {"model_calls": rows}
