"""The network view: which agents are drawn, whom they follow, and what each is colored by after a step.

Where each agent stands is computed in the browser, from all follows between agents that are drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.analysis.contract import row_count, setting
from townsquare.core.array_types import Int64
from townsquare.core.frames import ORDERED, collected
from townsquare.pages.view import post_queries, queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.library import Snapshot

MOST_AGENTS = 20_000
"""Agents drawn at most: those with the most followers, and an even sample of the others."""
MOST_FOLLOWS = 400_000
"""Follows of which the browser makes communities at most, evenly sampled; those of a chosen agent are always drawn."""
NOT_THERE = -128
"""Code of an agent without a stance after a step: not yet there, or a source."""


def network(of: Snapshot) -> dict[str, Any]:
    """Return nodes as columns (agent, followers, source, born, who), and the communities that the run recorded.

    ``blocks`` has the trait ``by`` that blocks of the graph were made of and the answer ``of`` each node (null for
    none); it is null for other graphs.
    """
    agents, followers, follows = _graph(of)
    drawn = _drawn(agents["agent"].to_numpy(), followers)
    shown = agents[drawn.tolist()]
    return {
        "agents": agents.height,
        "follows": int(follows.shape[0]),
        "agent": drawn.tolist(),
        "followers": followers[drawn].tolist(),
        "source": (shown["kind"] == "source").to_list(),
        "born": shown["born"].to_list(),
        "who": shown["who"].to_list(),
        "blocks": _blocks(of, shown),
    }


def follow_ends(of: Snapshot) -> bytes:
    """Return both ends of each follow between agents that are drawn, as rows of these: pairs of uint16."""
    agents, followers, follows = _graph(of)
    ends = _between(_drawn(agents["agent"].to_numpy(), followers), follows)
    chosen = np.unique(np.linspace(0, max(ends.shape[0] - 1, 0), min(MOST_FOLLOWS, ends.shape[0])).astype(np.int64))
    return ends[chosen].astype("<u2").tobytes()


def reached(of: Snapshot, root: int) -> dict[str, Any]:
    """Return what :func:`reach_table` has, as columns without nulls, with author, text and veracity of the post."""
    rows = reach_table(of, root)
    text = queries.post_texts(of.cached).filter(pl.col("post") == root)
    first = {name: columns(rows.select("agent", step=name).drop_nulls()) for name in ("seen", "shared")}
    author = int(of.cached.table("posts").filter(pl.col("post") == root)["author"][0])
    return {"post": root, "author": author, "content": text["content"][0], "veracity": text["veracity"][0], **first}


def reach_table(of: Snapshot, root: int) -> pl.DataFrame:
    """Return ``agent`` with the steps in which it first saw a post (``seen``) and shared it (``shared``), or null."""
    posts = of.cached.table("posts")
    seen = post_queries.shown_to(of, root).group_by("agent").agg(seen=pl.col("step").min())
    passed_on = posts.filter((pl.col("root") == root) & (pl.col("post") != root) & (pl.col("step") <= of.last_step))
    shared = passed_on.group_by(agent=pl.col("author")).agg(shared=pl.col("step").min())
    return seen.join(shared, on="agent", how="full", coalesce=True).sort("agent")


def false_share(of: Snapshot, step: int, proposition: int) -> bytes:
    """Return the share of false posts of :func:`claim_table`, one byte an agent.

    -127 to 127 stands for only true to only false, ``NOT_THERE`` for an agent that saw none.
    """
    return _codes(of, claim_table(of, step, proposition), 2 * pl.col("false") / pl.col("posts") - 1)


def _codes(of: Snapshot, frame: pl.DataFrame, value: pl.Expr) -> bytes:
    """Return values from -1 to 1, one signed byte by row of agents, else ``NOT_THERE``; a record may lack agents."""
    codes = np.full(of.cached.table("agents").height, NOT_THERE, np.int8)
    rows = frame.filter(pl.col("agent").is_between(0, codes.size - 1)).select("agent", value.alias("value"))
    codes[rows["agent"].to_numpy()] = np.round(rows["value"].to_numpy() * 127).astype(np.int8)
    return codes.tobytes()


def claim_table(of: Snapshot, step: int, proposition: int) -> pl.DataFrame:
    """Return how often each agent saw posts on a claim up to a step: ``agent``, ``posts`` and, of these, ``false``.

    Posts on a claim are true and false ones that take a stance on the proposition.
    """
    rows = of.cached.once(f"veracity of {proposition}", lambda: _judged(of, proposition)).filter(pl.col("step") <= step)
    return rows.group_by("agent").agg(pl.col("posts", "false").sum()).sort("agent")


def _judged(of: Snapshot, proposition: int) -> pl.DataFrame:
    """Return ``agent``, ``step``, ``posts`` and ``false``: exposures to true and false posts on a proposition."""
    on = of.cached.table("post_stances").filter(proposition=proposition).select(root="post")
    known = queries.post_texts(of.cached).filter(pl.col("veracity").is_in(["true", "false"]))
    judged = known.filter(pl.col("post") == pl.col("root")).join(on, on="root", how="semi")
    rows = of.cached.lazy("exposures").select("agent", "step", "root")
    false = judged.select("root", false=(pl.col("veracity") == "false").cast(pl.Int64))
    sums = row_count("posts"), pl.col("false").sum()
    return collected(rows.join(false.lazy(), on="root").group_by("agent", "step").agg(*sums), ORDERED)


def influence(of: Snapshot) -> dict[str, Any]:
    """Return how far each agent moved others in total, by row of agents, in the unit of the rule."""
    moved = np.zeros(of.cached.table("agents").height)
    frame = queries.influence(of).filter(pl.col("agent").is_between(0, moved.size - 1))
    moved[frame["agent"].to_numpy()] = frame["moved"].to_numpy()
    return {"moved": np.round(moved, 6).tolist()}


def neighbors(of: Snapshot, agent: int) -> dict[str, Any]:
    """Return whom an agent follows and who follows it, after the last step."""
    rows = queries.follows_at_end(of)
    follows, followed_by = rows.filter(follower=agent)["followed"], rows.filter(followed=agent)["follower"]
    return {"follows": follows.to_list(), "followed_by": followed_by.to_list()}


def stance_codes(of: Snapshot, step: int, proposition: int) -> bytes:
    """Return the stance of every agent, one signed byte by row of agents: -127 to 127 for -1 to 1, or ``NOT_THERE``.

    A record may hold what no rule may give: what lies beyond a bound is shown there, what is no number is not there.
    """
    stances = queries.stances_at(of.run, step, proposition).filter(pl.col("stance").is_not_nan())
    return _codes(of, stances, pl.col("stance").clip(-1.0, 1.0))


def node_table(of: Snapshot, step: int, proposition: int) -> pl.DataFrame:
    """Return what the picture shows, for the CSV: agent, name, sizes, stance and confidence after the step."""
    made = network(of)
    names = ("agent", "who", "followers", "source", "born")
    nodes = pl.DataFrame({name: made[name] for name in names}).with_columns(pl.col("agent").cast(pl.Int32))
    stances = queries.stances_at(of.run, step, proposition)
    moved = queries.influence(of).rename({"moved": "moved_others"})
    rows = queries.joined(nodes, "agent", moved, stances)
    return rows.with_columns(pl.col("moved_others").fill_null(0.0), step=pl.lit(step))


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


def _blocks(of: Snapshot, shown: pl.DataFrame) -> dict[str, Any] | None:
    trait = setting(of.run, "graph", "by", default="") if setting(of.run, "graph", "kind") == "block" else ""
    values = of.cached.table("trait_values").filter(pl.col("label") == trait)
    if values.is_empty():
        return None
    answers = of.cached.table("traits").join(values, on=["trait", "value"]).select("agent", "answer")
    return {"by": trait, "of": queries.joined(shown, "agent", answers)["answer"].to_list()}
