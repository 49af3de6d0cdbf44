"""The network view: which agents are drawn, where, how large, and the stance of each after a step."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.core.array_types import Int64
from townsquare.pages.view import layout, queries
from townsquare.pages.view.answers import from_file
from townsquare.pages.view.library import Snapshot

MOST_AGENTS = 20_000
"""Agents drawn at most: those with the most followers, and an even sample of the others."""
MOST_FOLLOWS = 12_000
"""Follows drawn at most, evenly sampled; those of a chosen agent are always drawn."""
NOT_THERE = -128
"""Code of an agent without a stance after a step: not yet there, or a source."""


def network(of: Snapshot) -> dict[str, Any]:
    """Return nodes as columns (agent, x, y, followers, kind, born, who), and a sample of follows as rows of nodes."""
    agents, followers, follows = _graph(of)
    drawn = _drawn(agents["agent"].to_numpy(), followers)
    places = _places(of, drawn, follows)
    ends = _between(drawn, follows)
    chosen = np.unique(np.linspace(0, max(ends.shape[0] - 1, 0), min(MOST_FOLLOWS, ends.shape[0])).astype(np.int64))
    shown = agents[drawn.tolist()]
    return {
        "agents": agents.height,
        "follows": int(follows.shape[0]),
        "agent": drawn.tolist(),
        "x": np.round(places[:, 0], 4).tolist(),
        "y": np.round(places[:, 1], 4).tolist(),
        "followers": followers[drawn].tolist(),
        "source": (shown["kind"] == "source").to_list(),
        "born": shown["born"].to_list(),
        "who": shown["who"].to_list(),
        "edges": ends[chosen].ravel().tolist(),
    }


def influence(of: Snapshot) -> dict[str, Any]:
    """Return how far each agent moved others in total, by row of agents, in the unit of the rule."""
    moved = np.zeros(of.cached.table("agents").height)
    frame = queries.influence(of).filter(pl.col("agent").is_between(0, moved.size - 1))
    moved[frame["agent"].to_numpy()] = frame["moved"].to_numpy()
    return {"moved": np.round(moved, 6).tolist()}


def neighbors(of: Snapshot, agent: int) -> dict[str, Any]:
    """Return whom an agent follows and who follows it, after the last step."""
    rows = queries.follows_at_end(of)
    return {
        "follows": rows.filter(pl.col("follower") == agent)["followed"].to_list(),
        "followed_by": rows.filter(pl.col("followed") == agent)["follower"].to_list(),
    }


def stance_codes(of: Snapshot, step: int, proposition: int) -> bytes:
    """Return the stance of every agent, one signed byte by row of agents: -127 to 127 for -1 to 1, or ``NOT_THERE``.

    A record may hold what no rule may give: what lies beyond a bound is shown there, what is no number is not there.
    """
    codes = np.full(of.cached.table("agents").height, NOT_THERE, np.int8)
    known = pl.col("stance").is_not_nan() & pl.col("agent").is_between(0, codes.size - 1)
    frame = queries.stances_at(of.run, step, proposition).filter(known)
    codes[frame["agent"].to_numpy()] = np.round(frame["stance"].clip(-1.0, 1.0).to_numpy() * 127).astype(np.int8)
    return codes.tobytes()


def node_table(of: Snapshot, step: int, proposition: int) -> pl.DataFrame:
    """Return what the picture shows, for the CSV: agent, name, place, sizes, stance and confidence after the step."""
    made = network(of)
    names = ("agent", "who", "x", "y", "followers", "source", "born")
    nodes = pl.DataFrame({name: made[name] for name in names}).with_columns(pl.col("agent").cast(pl.Int32))
    stances = queries.stances_at(of.run, step, proposition)
    moved = queries.influence(of).rename({"moved": "moved_others"})
    for part in (moved, stances):
        nodes = nodes.join(part, on="agent", how="left", maintain_order="left")
    return nodes.with_columns(pl.col("moved_others").fill_null(0.0), pl.lit(step).alias("step"))


def _graph(of: Snapshot) -> tuple[pl.DataFrame, Int64, Int64]:
    agents = queries.agent_names(of.cached).sort("agent")
    follows = queries.follows_at_end(of).to_numpy().astype(np.int64).reshape(-1, 2)
    follows = follows[((follows >= 0) & (follows < agents.height)).all(axis=1)]  # a record may name others
    return agents, np.bincount(follows[:, 1], minlength=agents.height), follows


def _drawn(agent: npt.NDArray[np.int32], followers: Int64) -> Int64:
    """Return agents to draw, ascending: all, or half the most followed and half an even sample of the rest."""
    if agent.size <= MOST_AGENTS:
        return np.arange(agent.size)
    order = np.argsort(-followers, kind="stable")
    top, rest = order[: MOST_AGENTS // 2], np.sort(order[MOST_AGENTS // 2 :])
    even = rest[np.linspace(0, rest.size - 1, MOST_AGENTS - top.size).astype(np.int64)]
    return np.sort(np.r_[top, even])


def _between(drawn: Int64, follows: Int64) -> Int64:
    """Return follows between agents that are drawn, as rows of these."""
    row = np.full(int(follows.max(initial=drawn.max(initial=0))) + 1, -1, np.int64)
    row[drawn] = np.arange(drawn.size)
    ends = row[follows]
    return ends[(ends >= 0).all(axis=1)]


def _places(of: Snapshot, drawn: Int64, follows: Int64) -> npt.NDArray[np.float64]:
    def placed() -> dict[str, Any]:
        ends = _between(drawn, follows)
        return {"places": layout.positions(ends[:, 0], ends[:, 1], drawn.size).tolist()}

    key = f"{layout.FORMAT}:{of.run.header.settings_hash}:{sha256(drawn.tobytes()).hexdigest()}"
    places = from_file(of.run.folder, "layout", key, placed)["places"]
    return np.array(places, np.float64).reshape(-1, 2)
