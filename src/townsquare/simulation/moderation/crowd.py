"""Takedown by the crowd: a post comes down once it has enough flags, or enough notes (MOSAIC's two thresholds).

MOSAIC's code logs such a takedown again in every step and leaves shares up; here it is logged once and covers them.
"""

from __future__ import annotations

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Int32
from townsquare.core.enums import LogKind, PostKind, PostStatus
from townsquare.settings.base import MemberParams, setting
from townsquare.simulation.moderation.log import joined, logged
from townsquare.simulation.world import World


class CrowdParams(MemberParams):
    """When readers alone take a post down; by default never."""

    takedown_flags: int | None = setting(None, "flags at which a post is taken down; unset: never", ge=1)
    takedown_notes: int | None = setting(
        None, "notes, of any status, at which a post is taken down; unset: never", ge=1
    )


def crowd_takedowns(world: World, params: CrowdParams, without: Int32 | None = None) -> schema.ByTable:
    """Log rows of posts that reach a threshold in this step, with the count that did it; flags go before notes.

    ``without`` (k,) are posts that come down in this step for another reason.
    """
    posts = world.posts
    up = (posts["status"] == PostStatus.ACTIVE) & (posts["kind"] != PostKind.SHARE)
    if without is not None:
        up[without] = False
    taken: list[schema.ByTable] = []
    for name, limit in (("flags", params.takedown_flags), ("notes", params.takedown_notes)):
        if limit is not None:
            rows = np.flatnonzero(up & (posts[name] >= limit))
            up[rows] = False
            count = posts[name][rows]
            taken.append(logged(world, rows, LogKind.TAKEDOWN, [f"{n} {name}, at least {limit}" for n in count], count))
    return joined(*taken)
