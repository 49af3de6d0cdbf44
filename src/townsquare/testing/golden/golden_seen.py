"""Posts that the agents of a golden file have seen, stored as in a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from townsquare.core import schema
from townsquare.core.draws import Stage, StageDraws, text_key
from townsquare.core.enums import AgentKind, PostKind, PostType, Veracity
from townsquare.core.pairs import BLOCK
from townsquare.simulation.change import Change
from townsquare.simulation.world import World

SEEN_CAP = 2000


class SeenStore:
    """A world of agents who do nothing but see: a key of the file is a post, a call is a step.

    Parameters
    ----------
    before : sequence of sequences
        What each agent has seen when the file begins, by row of agents; all of it, also beyond the cap.
    """

    def __init__(self, before: Sequence[Sequence[object]]) -> None:
        self._world = World(n_propositions=1, ring=1)
        self._rows: dict[object, int] = {}
        agents = schema.rows(
            "agents", len(before), agent=np.arange(len(before)), kind=AgentKind.PERSON, born=0, activity=1.0, policy=0,
            credibility=np.nan, name=schema.NONE,
        )  # fmt: skip
        self._world.append(Change({"agents": agents}))
        self.show(range(len(before)), before)
        self.end_step(max((len(some) for some in before), default=0))

    def show(self, agents: Sequence[int], keys: Sequence[Sequence[object]]) -> list[list[bool]]:
        """Show each agent, in ascending order, its keys, and return whether each is new; of two equal, the first is."""
        self._publish(key for some in keys for key in some)
        distinct = [list(dict.fromkeys(some)) for some in keys]
        reader = np.repeat(np.asarray(agents, np.int32), [len(some) for some in distinct])
        root = np.array([self._rows[key] for some in distinct for key in some], np.int32)
        new = ~self._world.has(self._world.seen, reader, root)
        exposures = schema.rows(
            "exposures", root.size, step=self._world.step + 1, agent=reader, rank=0, post=root, root=root, author=0,
            under=schema.NONE, slot=0, likes=0, dislikes=0, shares=0, comments=0, flags=0, verdict=0,
            note=schema.NONE, offered=schema.NONE, first_seen=new, weight=1.0,
        )  # fmt: skip
        self._world.append(Change({"exposures": exposures}))
        unseen = set(zip(reader[new].tolist(), root[new].tolist(), strict=True))
        return [self._first_sights(agent, some, unseen) for agent, some in zip(agents, keys, strict=True)]

    def _first_sights(self, agent: int, keys: Sequence[object], unseen: set[tuple[int, int]]) -> list[bool]:
        out = []
        for key in keys:
            pair = (agent, self._rows[key])
            out.append(pair in unseen)
            unseen.discard(pair)
        return out

    def _publish(self, keys: Iterable[object]) -> None:
        """Add a post for each key that has none."""
        first = len(self._rows)
        for key in keys:
            self._rows.setdefault(key, len(self._rows))
        row = np.arange(first, len(self._rows))
        posts = schema.rows(
            "posts", row.size, post=row, key=np.array([text_key(f"golden {k}") for k in row.tolist()], np.uint64),
            kind=PostKind.INJECTED, author=0, root=row, parent=schema.NONE, step=self._world.step + 1,
            text=schema.NONE, type=PostType.POST, topic=schema.NONE, veracity=Veracity.UNKNOWN, plausibility=0.5,
        )  # fmt: skip
        self._world.append(Change({"posts": posts}))

    def end_step(self, cap: int = SEEN_CAP) -> None:
        """End the step as a simulation does: of what each agent has seen, all but the newest is forgotten."""
        step = self._world.step + 1
        self._world.finish(step, cap, StageDraws(0, Stage.FEED, step))

    def of(self, agents: Sequence[int]) -> list[set[object]]:
        """Return the keys that each agent has seen and not forgotten."""
        names, out = list(self._rows), []
        for agent in agents:
            block, local = self._world.seen.blocks[agent // BLOCK], agent % BLOCK
            lo, hi = block.indptr[local : local + 2].tolist()
            out.append({names[row] for row in block.key[lo:hi].tolist()})
        return out
