"""Records made by chance, for measures of published facts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl

from handwritten_runs import FrameRun, frame_of, settings
from townsquare.core.enums import AgentKind, LogKind, PostKind, Slot, Veracity

PEOPLE, SOURCES, LAST, WARM, FOLLOWED = 60, 6, 240, 24, 48
Rows = list[dict[str, Any]]
SHARE, ORIGINAL, COMMENT, INJECTED = PostKind.SHARE, PostKind.ORIGINAL, PostKind.COMMENT, PostKind.INJECTED


@cache
def record(seed: int) -> dict[str, Rows]:
    """A record by chance: hourly steps, unequal people, cascades of 1 to 60 posts."""
    chance = random.Random(seed)
    agents = [
        {"agent": a, "kind": AgentKind.PERSON if a < PEOPLE else AgentKind.SOURCE} for a in range(PEOPLE + SOURCES)
    ]
    posts: Rows = []

    def person() -> int:
        return min(int(chance.expovariate(1 / 8)), PEOPLE - 1)

    def post(kind: PostKind, author: int, step: int, **more: Any) -> int:
        row = {"post": len(posts), "root": len(posts), "key": len(posts) + 1000, "kind": kind, "author": author}
        posts.append(row | {"step": step} | more)
        return len(posts) - 1

    for _ in range(300):
        step, kind = chance.randint(1, LAST - 10), chance.choice([ORIGINAL, COMMENT, INJECTED, INJECTED])
        truth = (
            chance.choice([Veracity.TRUE, Veracity.FALSE, Veracity.UNKNOWN]) if kind == INJECTED else Veracity.UNKNOWN
        )
        author = PEOPLE + chance.randrange(SOURCES) if kind == INJECTED else person()
        root = post(kind, author, step, veracity=truth)
        tree = [root]
        for _ in range(min(60, int(chance.paretovariate(0.7)) - 1)):
            parent = chance.choice(tree)
            at = min(LAST, posts[parent]["step"] + 1 + int(chance.expovariate(1 / 12)))
            if chance.random() < 0.1:
                tree.append(post(COMMENT, person(), at, parent=parent, veracity=Veracity.UNKNOWN))
            else:
                of = posts[parent]["root"]
                tree.append(post(SHARE, person(), at, root=of, parent=parent, veracity=posts[of]["veracity"]))
    exposures = []
    for agent in range(PEOPLE):
        for shown in chance.sample(range(len(posts)), chance.randint(5, len(posts) // 2)):
            of, came = posts[shown]["root"], posts[shown]["step"]
            step = min(LAST, came + 1 + int(chance.expovariate(1 / 10)))
            slot = chance.choice([Slot.FOLLOWED, Slot.OTHER])
            exposures.append({"step": step, "agent": agent, "post": shown, "root": of, "slot": slot})
    seen: set[tuple[int, int]] = set()
    for row in sorted(exposures, key=lambda row: row["step"]):
        row["first_seen"] = (row["agent"], row["root"]) not in seen
        seen.add((row["agent"], row["root"]))
    pairs = {(chance.randrange(PEOPLE), chance.randrange(PEOPLE + SOURCES)) for _ in range(500)}
    follows = [{"follower": a, "followed": b, "change": 1} for a, b in sorted(pairs) if a != b]
    follows += [{**row, "step": 5, "change": -1} for row in follows[:20]]
    beliefs = []
    for agent in range(PEOPLE):
        for proposition in range(2):
            stance = chance.uniform(-1, 1)
            for step in (0, WARM, LAST):
                beliefs.append({"step": step, "agent": agent, "proposition": proposition, "stance": stance})
                stance = max(-1.0, min(1.0, 0.9 * stance + chance.gauss(0, 0.1)))
    injected = [row["post"] for row in posts if row["kind"] == INJECTED]
    noted = [{"note": n, "post": chance.choice(injected), "step": 1, "author": n % 30 - 3} for n in range(40)]
    log = []
    for row in noted:
        for event in chance.sample([LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN], chance.randint(0, 2)):
            step = min(LAST, posts[row["post"]]["step"] + chance.randint(1, 20))
            log.append({"step": step, "post": row["post"], "kind": event, "value": row["note"]})
    return {
        "agents": agents, "posts": posts, "exposures": exposures, "follows": follows, "beliefs": beliefs,
        "notes": noted, "moderation_log": log,
        "propositions": [{"proposition": p, "name": f"p{p}", "text": f"P{p}."} for p in range(2)],
    }  # fmt: skip


@cache
def _frames(seed: int) -> dict[str, pl.DataFrame]:
    return {table: frame_of(table, rows) for table, rows in record(seed).items()}


TIME = {"step_minutes": 60, "warm_up_hours": 24.0}


SAY_WHAT_THEY_THINK = {"rule": "exposure-bounded", "answers": {"noise": 0.0, "repeat": 0.0}}


def run_of(
    seed: int, time: Mapping[str, Any] = TIME, beliefs: Mapping[str, Any] = SAY_WHAT_THEY_THINK, **tables: Rows
) -> FrameRun:
    return FrameRun({**_frames(seed), **tables}, settings(time=dict(time), beliefs=dict(beliefs)), last_step=LAST)
