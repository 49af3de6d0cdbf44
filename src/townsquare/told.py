"""What agents have read: their feeds, but for rows that found no room in what a language model was told."""

from __future__ import annotations

import numpy as np

from townsquare import schema
from townsquare.change import Change
from townsquare.feed import Feed
from townsquare.large_rows import CodedRows
from townsquare.views import Chosen


def read(feed: Feed, chosen: Chosen, step: int) -> Change:
    """Rows of exposures, and of prompts where agents were told their feed in words.

    A row that was left out of a prompt is no exposure: it moves no belief, and the agent can still see it for the first
    time later on.
    """
    rows: dict[str, schema.Columns] = {"exposures": feed.exposures}
    if chosen.unread.size:
        keep = np.ones(int(feed.indptr[-1]), np.bool_)
        keep[chosen.unread] = False
        rows["exposures"] = CodedRows.of(feed.exposures).take(keep)
    if chosen.told:
        rows["prompts"] = schema.rows("prompts", chosen.told["agent"].size, step=step, **chosen.told)
    return Change(rows)
