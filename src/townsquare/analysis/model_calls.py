"""What a run asked of language models, and how it ended."""

from __future__ import annotations

from typing import Any

import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.code_words import CallOutcome


def model_calls(run: Reads) -> pl.DataFrame:
    """Calls by purpose and outcome.

    Returns
    -------
    DataFrame
        One row a purpose and outcome that occurred: ``purpose``, ``outcome`` (lower case), ``calls`` (count), ``share``
        of the calls of that purpose (0 to 1), ``agents`` (agent-steps concerned; calls of no agent count none),
        ``tokens_in``, ``tokens_out`` (of the calls whose server counted them), ``tries`` (requests sent), ``seconds``
        (summed). Empty for a run that asked none.
    """
    calls = run.table("model_calls")
    words = {int(one): one.name.lower() for one in CallOutcome}
    counted = (
        calls.with_columns(pl.col("outcome").replace_strict(words, return_dtype=pl.String))
        .group_by("purpose", "outcome")
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.struct("step", "agent").filter(pl.col("agent") >= 0).n_unique().cast(pl.Int64).alias("agents"),
            *(pl.col(name).filter(pl.col(name) >= 0).sum().cast(pl.Int64) for name in ("tokens_in", "tokens_out")),
            pl.col("tries").sum().cast(pl.Int64),
            pl.col("seconds").sum(),
        )
    )
    share = (pl.col("calls") / pl.col("calls").sum().over("purpose")).alias("share")
    columns = ["purpose", "outcome", "calls", "share", "agents", "tokens_in", "tokens_out", "tries", "seconds"]
    return counted.with_columns(share).select(columns).sort("purpose", "outcome")


def calls_in_short(run: Reads) -> dict[str, Any]:
    """What was asked of a language model, and how it ended; empty for a run that asked none.

    ``asked``, ``failed``, ``failed_by_outcome`` (counts); ``silent_agents``: agent-steps that said nothing because a
    question for a post or for reactions failed; ``tokens_in``, ``tokens_out`` as servers counted them.
    """
    found = model_calls(run)
    if found.is_empty():
        return {}
    failed = found.filter(found["outcome"] != "ok")
    silent = failed.filter(failed["purpose"].is_in(["react", "post"]))
    return {
        "asked": int(found["calls"].sum()),
        "failed": int(failed["calls"].sum()),
        "failed_by_outcome": dict(failed.select("outcome", "calls").group_by("outcome").sum().sort("outcome").rows()),
        "silent_agents": int(silent["agents"].sum()),
        "tokens_in": int(found["tokens_in"].sum()),
        "tokens_out": int(found["tokens_out"].sum()),
    }
