"""Joining what several parts of a strategy log in one step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from townsquare.core import schema


def joined(*parts: Mapping[str, schema.Columns]) -> dict[str, schema.Columns]:
    """The rows of all parts; logs follow one another, other tables stand in one part only."""
    out: dict[str, schema.Columns] = {}
    for part in parts:
        for name, rows in part.items():
            out[name] = _after(out[name], rows) if name in out else rows
    return out


def _after(one: schema.Columns, two: schema.Columns) -> schema.Columns:
    return {
        name: [*one[name], *two[name]] if isinstance(one[name], list) else np.concatenate([one[name], two[name]])
        for name in one
    }
