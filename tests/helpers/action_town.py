"""A small town in which everything that can be acted on is shown, for tests of actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from small_worlds import act, choices, feed_of, follow, note, post, row_of, show, town
from townsquare.core import schema
from townsquare.core.actions import SPECS, ActionKind, On
from townsquare.core.enums import PostKind, PostType, Veracity
from townsquare.simulation.feed.build import Feed

K = ActionKind


class Square:
    """A small town with a feed: 0 follows 1, who shared the injected ``root``; 3 commented and 4 annotated it."""

    def __init__(self) -> None:
        self.world = world = town(8, 1, propositions=2)
        follow(world, (0, 1))
        self.root = post(
            world, 8, kind=PostKind.INJECTED, veracity=Veracity.FALSE, plausibility=0.3, type=PostType.NEWS,
            topic=0, stances={0: 0.8},
        )  # fmt: skip
        self.other = post(world, 2, stances={1: -0.4})
        self.share = post(world, 1, share_of=self.root, veracity=Veracity.FALSE)
        self.comment = post(world, 3, under=self.root)
        self.note = note(world, 4, self.root)
        self.see()

    def see(self) -> Feed:
        """Show everybody a new feed."""
        self.feed = feed_of(self.world)
        show(self.world, self.feed)
        return self.feed

    def on(self, agent: int, kind: ActionKind, shown: int, **more: Any) -> dict[str, Any]:
        """An action on the row in which ``agent`` is shown a post."""
        at = row_of(self.feed, agent, shown)
        column = {On.AUTHOR: "author", On.NOTE: "offered"}.get(SPECS[kind].on, "root")
        target = int(np.asarray(self.feed.exposures[column])[at])
        return {"agent": agent, "kind": kind, "row": at, "target": target} | more

    def act(self, *actions: dict[str, Any], texts: tuple[str, ...] = (), **more: Any) -> schema.Columns:
        """Resolve and apply."""
        return act(self.world, self.feed, choices(*actions, texts=texts), **more)

    @property
    def new_text(self) -> int:
        """The row that the first new text gets."""
        return len(self.world.texts)


def column(rows: schema.Columns, name: str) -> list[Any]:
    return np.asarray(rows[name]).tolist()  # type: ignore[no-any-return]
