"""What a run asked of language models, and how it ended."""

from __future__ import annotations

from typing import Any

import polars as pl

from townsquare.analysis.contract import Reads, int_sum, row_count, setting
from townsquare.core.enums import CallOutcome
from townsquare.core.frames import as_words
from townsquare.models.usage import too_many_failed

TURNS = ("react", "post")
"""Purposes of the questions by which an agent takes its turn in a step."""
_TOKENS = [int_sum(pl.col(name).filter(pl.col(name) >= 0), name) for name in ("tokens_in", "tokens_out")]
"""Tokens, of the calls whose server counted them."""


def model_calls(run: Reads) -> pl.DataFrame:
    """Calls of language models by purpose and outcome.

    Returns
    -------
    DataFrame
        One row per purpose and outcome that occurred: ``purpose``, ``outcome`` (lower case), ``calls`` (count),
        ``share`` of the calls of that purpose (0 to 1), ``agents`` (pairs of agent and step; calls of no agent count
        none), ``tokens_in``, ``tokens_out`` (of the calls whose server counted them), ``tries`` (requests sent),
        ``seconds`` (summed). Empty for a run that asked none.
    """
    calls = run.table("model_calls")
    words = {int(outcome): outcome.name.lower() for outcome in CallOutcome}
    of_agents = pl.struct("step", "agent").filter(pl.col("agent") >= 0).n_unique().cast(pl.Int64).alias("agents")
    sums = [row_count("calls"), of_agents, *_TOKENS, int_sum(pl.col("tries"), "tries"), pl.col("seconds").sum()]
    counted = calls.with_columns(as_words("outcome", words)).group_by("purpose", "outcome").agg(sums)
    share = (pl.col("calls") / pl.col("calls").sum().over("purpose")).alias("share")
    columns = ["purpose", "outcome", "calls", share, "agents", "tokens_in", "tokens_out", "tries", "seconds"]
    return counted.select(columns).sort("purpose", "outcome")


def calls_by_server(run: Reads) -> pl.DataFrame:
    """Calls, failures and response times by server.

    Returns
    -------
    DataFrame
        One row per server that calls ended at, most calls first: ``server`` (base URL), ``calls`` (count), ``share`` of
        all calls (0 to 1), ``failed`` (calls that ended there without an answer to use), ``again`` (requests beyond the
        first of each, at whatever server), ``tokens_in``, ``tokens_out`` (of the calls whose server counted them),
        ``median`` and ``p95`` of the seconds a call took, waits and tries included. Calls that another request had
        paid for are in none. Wall times and servers are no part of the content hash.
    """
    calls = run.table("model_calls").filter(pl.col("tries") > 0)
    failed, again = int_sum(pl.col("outcome") != CallOutcome.OK, "failed"), int_sum(pl.col("tries") - 1, "again")
    seconds = pl.col("seconds")
    times = seconds.median().alias("median"), seconds.quantile(0.95, "nearest").alias("p95")
    counted = calls.group_by("server").agg(row_count("calls"), failed, again, *_TOKENS, *times)
    share = (pl.col("calls") / pl.col("calls").sum()).alias("share")
    columns = ["server", "calls", share, "failed", "again", "tokens_in", "tokens_out", "median", "p95"]
    return counted.select(columns).sort(["calls", "server"], descending=[True, False])


def tokens_of_turns(run: Reads) -> pl.DataFrame:
    """Return the tokens of agents' prompts, and what was truncated or omitted to make them fit.

    Returns
    -------
    DataFrame
        One row per step: ``step``, ``agents`` (that were told their feed), ``counted`` and ``most`` (mean and largest
        count beforehand, characters / ``policy.characters_per_token``), ``tokens_in``, ``tokens_out`` (mean of what
        servers counted, over calls that took one request; null where none said), ``shown`` (rows of the feed, mean),
        ``shortened`` (texts), ``memories_out``, ``comments_out``, ``posts_out`` (means an agent). Empty for a run that
        told nobody anything.
    """
    answered = pl.col("tokens_in") >= 0, pl.col("tries") == 1
    calls = run.table("model_calls").filter(pl.col("purpose").is_in(TURNS), *answered)
    tokens = calls.select("step", "agent", "tokens_in", "tokens_out")
    counted = pl.col("tokens").mean().alias("counted"), pl.col("tokens").max().cast(pl.Int64).alias("most")
    means = ["tokens_in", "tokens_out", "shown", "shortened", "memories_out", "comments_out", "posts_out"]
    rows = run.table("prompts").join(tokens, on=["step", "agent"], how="left").group_by("step")
    return rows.agg(row_count("agents"), *counted, pl.col(means).mean()).sort("step")


def calls_in_short(run: Reads) -> dict[str, Any]:
    """Return what was asked of a language model, and how it ended; empty for a run that asked none.

    ``asked``, ``failed``, ``failed_by_outcome`` (counts); ``unhealthy``: whether too many failed; ``silent_agents``:
    pairs of agent and step without an answer because a question for a post or for reactions failed; ``tokens_in``,
    ``tokens_out`` as servers counted them; ``by_server``: calls that ended at each; ``agent_step``: means of
    :func:`tokens_of_turns` over all turns, and ``most``, the largest count.
    """
    calls = model_calls(run)
    if calls.is_empty():
        return {}
    failed = calls.filter(calls["outcome"] != "ok")
    silent = failed.filter(failed["purpose"].is_in(TURNS))
    turns = tokens_of_turns(run)
    counts = int(calls["calls"].sum()), int(failed["calls"].sum())
    return {
        "asked": counts[0], "failed": counts[1],
        "unhealthy": too_many_failed(*counts, float(setting(run, "serving", "unhealthy_above", default=0.1))),
        "failed_by_outcome": dict(failed.select("outcome", "calls").group_by("outcome").sum().sort("outcome").rows()),
        "silent_agents": int(silent["agents"].sum()),
        "tokens_in": int(calls["tokens_in"].sum()), "tokens_out": int(calls["tokens_out"].sum()),
        "by_server": dict(calls_by_server(run).select("server", "calls").rows()), "agent_step": _of_a_turn(turns),
    }  # fmt: skip


def _of_a_turn(turns: pl.DataFrame) -> dict[str, float | None]:
    """Return means over agents and steps."""
    if turns.is_empty():
        return {}
    agents = pl.col("agents")
    means = turns.select(
        (pl.col(name) * agents).sum() / agents.filter(pl.col(name).is_not_null()).sum()
        for name in ("counted", "tokens_in", "tokens_out", "shown", "comments_out")
    ).row(0, named=True)
    known = {name: None if value is None or value != value else round(float(value), 1) for name, value in means.items()}
    return {**known, "most": float(turns["most"].max())}  # type: ignore[arg-type]
