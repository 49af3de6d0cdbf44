"""Rows of the moderation log, and joining what several parts of a strategy log in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.simulation.world import World


def logged(
    world: World, posts: npt.ArrayLike, kind: npt.ArrayLike, reasons: Sequence[str], value: npt.ArrayLike
) -> schema.ByTable:
    """Log rows of step ``world.step + 1``, one a reason; no table for none."""
    if not reasons:
        return {}
    columns = {"post": posts, "kind": kind, "reason": reasons, "value": value}
    return {"moderation_log": schema.rows("moderation_log", len(reasons), step=world.step + 1, **columns)}


def joined(*parts: Mapping[str, schema.Columns]) -> schema.ByTable:
    """Return the rows of all parts; logs follow one another, other tables are in one part only."""
    out: schema.ByTable = {}
    for part in parts:
        for name, rows in part.items():
            out[name] = {key: _after(out[name][key], rows[key]) for key in rows} if name in out else rows
    return out


def _after(first: Any, second: Any) -> Any:
    return [*first, *second] if isinstance(first, list) else np.concatenate([first, second])
