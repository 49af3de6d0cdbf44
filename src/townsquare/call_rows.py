"""Calls of language models as rows of a step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from townsquare import schema
from townsquare.models.contract import Call

_AS_THEY_ARE = (
    "identity", "purpose", "agent", "turn", "outcome", "error", "server", "tokens_in", "tokens_out", "seconds", "tries",
)  # fmt: skip


def call_rows(calls: Sequence[Call], step: int) -> dict[str, schema.Columns]:
    """Rows of ``model_calls`` in the order of asking; none for no calls."""
    if not calls:
        return {}
    said = [hashlib.sha256(call.text.encode()).hexdigest() if call.text else "" for call in calls]
    columns = {name: [getattr(call, name) for call in calls] for name in _AS_THEY_ARE}
    rows = schema.rows(
        "model_calls", len(calls), step=step, call=np.arange(len(calls)), reply=said,
        model=[call.reported for call in calls], **columns,
    )  # fmt: skip
    return {"model_calls": rows}
