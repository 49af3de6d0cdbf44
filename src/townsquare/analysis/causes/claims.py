"""How far people believe claims, under a belief rule that holds it, and which part of it changed when."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.moderation import labels
from townsquare.core import registry
from townsquare.core.enums import PostKind, Veracity, word_of
from townsquare.core.errors import UnknownName
from townsquare.core.frames import collected

PARTS = ("source", "verdict", "repetition")
"""Parts of the log odds of a claim that change; the rest is the prior at the first meeting."""


@dataclass(frozen=True, slots=True)
class ClaimBelief:
    """What one person believed of one claim, after each step in which it met the claim.

    Attributes
    ----------
    claim : int
        Row of texts.
    text : str
        The claim, untrusted.
    truth : str
        ``true``, ``false`` or ``unknown``.
    prior : float
        Log odds at the first meeting.
    steps : tuple of int
        Steps of meetings, ascending.
    judged : tuple of float
        Log odds of the claim at each of them, with the label beside it.
    veracity : tuple of float
        Log odds of the claim in memory after each of them: the sum of the prior and the parts.
    parts : tuple of dict
        Part -> log odds, after each of them.
    """

    claim: int
    text: str
    truth: str
    prior: float
    steps: tuple[int, ...]
    judged: tuple[float, ...]
    veracity: tuple[float, ...]
    parts: tuple[dict[str, float], ...]

    @property
    def change(self) -> float:
        """Log odds after the last meeting less the prior."""
        return self.veracity[-1] - self.prior


def share(log_odds: float) -> str:
    """Return log odds as the percentage of certainty that a claim is true.

    >>> share(0.0), share(-3.0)
    ('50%', '5%')
    """
    return f"{100 / (1 + math.exp(-log_odds)):.0f}%"


def holds_claims(run: Reads) -> bool:
    """Return whether the run's belief rule holds how far people believe claims."""
    with suppress(UnknownName, ImportError):
        return registry.get("beliefs", str(setting(run, "beliefs", "rule", default=""))).veracities is not None
    return False


def truth_of_claims(run: Reads) -> pl.DataFrame:
    """Return ``claim`` (row of texts) and ``truth`` (a word) of injected posts, each claim once.

    A text that posts of different truth share is ``unknown``.
    """
    injected = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    words = [word_of(Veracity, code) for code in injected["veracity"].to_list()]
    named = injected.select(claim="text").with_columns(truth=pl.Series(words, dtype=pl.String))
    same = pl.col("truth").n_unique() == 1
    truth = pl.when(same).then(pl.col("truth").first()).otherwise(pl.lit("unknown"))
    return named.group_by("claim", maintain_order=True).agg(truth)


def last_beliefs(run: Reads) -> pl.DataFrame:
    """Return what people believed of each claim at its last showing: ``agent``, ``claim``, ``step``, ``judged``."""
    last = run.lazy("veracities").group_by("agent", "claim").agg(pl.col("step", "judged").sort_by("step").last())
    return collected(last)


MOST_PERIODS = 14
"""Of a run without days, or with too many of them."""


def claim_courses(run: Reads) -> pl.DataFrame:
    """Measure how many people believe each claim of injected posts, day by day.

    Returns
    -------
    DataFrame
        One row per claim and period (a day; a fourteenth of the run where that is longer or steps have no length) in
        which somebody met it, claims met by most people first: ``claim`` (row of texts), ``text`` (untrusted),
        ``truth``, ``marked`` (first step with a verdict "false" or a note on a post of it, null without),
        ``people_in_all`` (who met it in the run), ``step`` (last of the period), ``people`` (who met it in the period),
        ``believe`` (mean probability of being true that they gave it when they last met it in the period: the share who
        would call it true) and ``labeled`` (share of them with a verdict or note in memory).
    """
    hours = clock_of(run).hours
    day = 1 if hours is None else max(1, round(24 / hours))
    long = max(day, math.ceil(run.last_step / MOST_PERIODS))
    period = ((pl.col("step") - 1) // long + 1) * long
    last = run.lazy("veracities").with_columns(period=pl.min_horizontal(period, pl.lit(run.last_step)))
    last = last.group_by("claim", "period", "agent").agg(pl.col("judged", "verdict").sort_by("step").last())
    shares = last.group_by("claim", step="period").agg(
        people=pl.len(), believe=(1 / (1 + (-pl.col("judged")).exp())).mean(), labeled=(pl.col("verdict") != 0).mean()
    )
    met = run.lazy("veracities").group_by("claim").agg(people_in_all=pl.col("agent").n_unique())
    posts = run.table("posts").select(claim="text", root="post")
    marked = labels(run).join(posts, on="root").group_by("claim").agg(marked=pl.col("label_step").min())
    texts = run.table("texts").select(claim="text", text="content")
    made = collected(shares.join(met, on="claim")).join(truth_of_claims(run), on="claim")
    made = made.join(marked, on="claim", how="left").join(texts, on="claim", how="left")
    return made.sort(["people_in_all", "claim", "step"], descending=[True, False, False]).select(
        "claim", "text", "truth", "marked", "people_in_all", "step", "people", "believe", "labeled"
    )


def claims_of(run: Reads, agent: int) -> tuple[ClaimBelief, ...]:
    """Return what one person believed of the claims it met, the largest change first; empty under other rules."""
    if not holds_claims(run):
        return ()
    met = collected(run.lazy("veracities").filter(pl.col("agent") == agent)).sort("claim", "step")
    met = met.join(truth_of_claims(run), on="claim", how="left", maintain_order="left")
    texts = dict(run.table("texts").join(met.select(text="claim").unique(), on="text").select("text", "content").rows())
    beliefs = []
    for (claim,), rows in met.group_by("claim", maintain_order=True):
        parts = tuple(rows.select(PARTS).iter_rows(named=True))
        prior = rows["veracity"][0] - sum(parts[0].values())
        steps, judged, veracity = (tuple(rows[name].to_list()) for name in ("step", "judged", "veracity"))
        truth = rows["truth"][0] or "unknown"
        beliefs.append(ClaimBelief(int(str(claim)), texts.get(claim, ""), truth, prior, steps, judged, veracity, parts))
    return tuple(sorted(beliefs, key=lambda belief: -abs(belief.change)))
