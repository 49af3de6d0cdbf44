"""What each record of one agent counts for under ``social_log_odds``, again from what was recorded.

The exposure that brought a record gives social proof and novelty, the trail of that step the trust that was read, the
last exposure to the claim its label weight (:mod:`townsquare.beliefs.social_log_odds`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.beliefs.arrays import settings
from townsquare.beliefs.contract import per_agent
from townsquare.beliefs.social_kernels import worth_of
from townsquare.beliefs.social_log_odds import SETTINGS, Params
from townsquare.core.enums import HoldingChange, Origin, TrailKind
from townsquare.core.frames import collected

_SHOWING = ["step", "rank", "post"]


def weights_of(run: Reads, agent: int, step: int, params: object, records: pl.DataFrame) -> dict[int, float]:
    """Return factor on the strength of each peer record, by claim; empty under rules that do not weigh records.

    Parameters
    ----------
    run : Reads
    agent, step : int
        As after this step.
    params : MemberParams
        Of the rule.
    held : DataFrame
        ``claim`` and ``origin`` of its records.
    """
    if not isinstance(params, Params):
        return {}
    shown = _claim_exposures(run, agent, step)
    labels = dict(zip(shown["claim"].to_list(), shown["weight"].to_list(), strict=True))  # the last one stays
    peers = set(records.filter(pl.col("origin") == Origin.PEER)["claim"].to_list())
    (p,) = settings(per_agent(params, 1), SETTINGS, 1)
    out = {}
    for row in _acceptances(run, agent, step, shown):
        if row["claim"] in peers:
            label = labels.get(row["claim"], 1.0) if params.weigh_labels else 1.0
            trust = math.nan if row["trust"] is None else row["trust"]
            out[row["claim"]] = worth_of(p, trust, row["likes"], row["first_seen"]) * label
    return out


def _claim_exposures(run: Reads, agent: int, step: int) -> pl.DataFrame:
    """Return every claim shown to the agent in order: claim (first of its kind), step, rank, post, likes and so on."""
    claims = run.table("claims").select(pl.col("post").alias("root"), pl.col("same_as").alias("claim"))
    shown = run.lazy("exposures").filter(pl.col("agent") == agent, pl.col("step") <= step)
    rows = shown.select(*_SHOWING, "root", "likes", "first_seen", "weight").with_row_index("order")
    return rows.pipe(collected).join(claims, on="root").sort("order", maintain_order=True)


def _acceptances(run: Reads, agent: int, step: int, shown: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Return the first acceptance of each record: the exposure, and the trust that the trail recorded."""
    here = [pl.col("agent") == agent, pl.col("step") <= step]
    is_accepted = [pl.col("change") == HoldingChange.ACCEPTED, pl.col("rank") >= 0]
    accepted = run.lazy("holdings").filter(*here, *is_accepted).pipe(collected)
    trail = run.lazy("trail").filter(*here, pl.col("kind") == TrailKind.EXPOSURE).select(*_SHOWING, "trust")
    trust = trail.pipe(collected).unique(_SHOWING, keep="first")
    once = shown.unique([*_SHOWING, "claim"], keep="first", maintain_order=True)
    both = accepted.join(once.select(*_SHOWING, "claim", "likes", "first_seen"), on=[*_SHOWING, "claim"])
    yield from both.join(trust, on=_SHOWING, how="left").iter_rows(named=True)
