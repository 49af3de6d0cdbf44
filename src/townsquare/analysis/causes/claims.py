"""How far people believe claims, under a belief rule that holds it, and which part of it changed when."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from townsquare.analysis.causes.contributions import agent_names, called, label_of
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, columns, setting
from townsquare.analysis.moderation import labels
from townsquare.core import registry
from townsquare.core.enums import PostKind, Veracity, word_of
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.frames import collected
from townsquare.core.words import count, printable

PARTS = {
    "start": "how likely the claim seemed before",
    "sources": "who passed it on before",
    "memory": "what is remembered of earlier readings and labels",
    "label": "the label beside it",
}
"""Parts of the log odds of a claim at a showing, which sum to them, in words."""
_VERDICT = 3.0  # log odds of a verdict, where settings do not say
_PAIR = ["agent", "claim"]


@dataclass(frozen=True, slots=True)
class Meeting:
    """One step in which a person was shown a claim.

    Attributes
    ----------
    step : int
    when : str
        The step in words, with the time since the start where steps have a length.
    by : str
        Who passed it on, the first of them in the feed, untrusted; ``agent 17`` for persons.
    shown_label : str
        The label beside it: ``verdict false``, ``note``, both, or ``none``.
    judged : float
        Log odds of the claim, with the label beside it: the sum of the parts.
    start, sources, memory, label : float
        Log odds; see :data:`PARTS`.
    remembered : float
        Log odds of the claim afterwards, when no label stands beside it.
    """

    step: int
    when: str
    by: str
    shown_label: str
    judged: float
    start: float
    sources: float
    memory: float
    label: float
    remembered: float


@dataclass(frozen=True, slots=True)
class ClaimBelief:
    """What one person believed of one claim at each showing.

    Attributes
    ----------
    agent : int
    who : str
        The person's name, untrusted, or ``agent 17``.
    claim : int
        Row of texts.
    text : str
        The claim, untrusted.
    truth : str
        ``true``, ``false`` or ``unknown``.
    meetings : tuple of Meeting
        In order of steps.
    """

    agent: int
    who: str
    claim: int
    text: str
    truth: str
    meetings: tuple[Meeting, ...]

    @property
    def last(self) -> Meeting:
        """The last showing."""
        return self.meetings[-1]

    @property
    def change(self) -> float:
        """Log odds at the last showing less those before the first."""
        return self.last.judged - self.last.start

    @property
    def turned(self) -> Meeting | None:
        """The showing since which the person holds the claim true, or not, other than before; None if it never did."""
        other = [meeting for meeting in self.meetings if (meeting.judged > 0) != (self.last.judged > 0)]
        if other:
            return self.meetings[self.meetings.index(other[-1]) + 1]
        return self.meetings[0] if (self.last.start > 0) != (self.last.judged > 0) else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What happened, for a reader who knows nothing of belief rules."""
        first, last, turned = self.meetings[0], self.last, self.turned
        who, times = printable(self.who), count(len(self.meetings), "step")
        opening = f"A{who[1:]}" if who == f"agent {self.agent}" else who
        ends = "calls it true" if last.judged > 0 else "does not call it true"
        out = [
            f"{opening} was shown “{printable(self.text)}” ({self.truth}) in {times}, first in {first.when} by "
            f"{printable(first.by)}.",
            f"Before it met the claim, the chance that {who} would have called it true was "
            f"{share(last.start)}. At the last showing, in {last.when}, it was {share(last.judged)}.",
        ]
        if turned is None:
            out.append(f"{opening} {ends}, as from the start.")
        else:
            label = turned.shown_label
            words = "without a label" if label == "none" else f"with {_in_words(label)} beside it"
            verb = "came to believe" if last.judged > 0 else "stopped believing"
            out.append(f"{opening} {verb} it in {turned.when}, when {printable(turned.by)} showed it {words}.")
        moves = sorted((name for name in PARTS if name != "start"), key=lambda name: -abs(getattr(last, name)))
        named = [f"{PARTS[name]} {getattr(last, name):+.2f}" for name in moves if abs(getattr(last, name)) >= 0.005]
        out.append(
            f"What counts at the last showing, in log odds: {PARTS['start']} {last.start:+.2f}"
            + "".join(f", {part}" for part in named) + f"; in all {last.judged:+.2f}."
        )  # fmt: skip
        return tuple(out)


def share(log_odds: float) -> str:
    """Return log odds as the percentage of certainty that a claim is true.

    >>> share(0.0), share(-3.0)
    ('50%', '5%')
    """
    return f"{100 / (1 + math.exp(-log_odds)):.0f}%"


def _in_words(label: str) -> str:
    """Return a label as a sentence has it.

    >>> _in_words("verdict false, note"), _in_words("note")
    ('the verdict “false” and a note', 'a note')
    """
    parts = label.split(", ")
    return " and ".join(
        "a note" if part == "note" else f"the verdict “{part.removeprefix('verdict ')}”" for part in parts
    )


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


def belief_parts(run: Reads, *, agent: int | None = None, claim: int | None = None) -> pl.DataFrame:
    """Return how far a claim was believed at each showing, in parts that sum.

    Parameters
    ----------
    run : Reads
        Of a rule that holds how far claims are believed.
    agent, claim : int, optional
        Only this person's, only this claim's (row of texts).

    Returns
    -------
    DataFrame
        One row per person, claim and step with a showing: ``agent``, ``claim``, ``step``, ``author`` (who passed it on,
        the first in the feed), ``shown_label``, ``judged`` = ``start`` + ``sources`` + ``memory`` + ``label`` and
        ``remembered`` (log odds). A label beside a claim counts in full or, for those who do not heed it, not at all.
    """
    asked = [pl.col(name) == value for name, value in (("agent", agent), ("claim", claim)) if value is not None]
    met = run.lazy("veracities").filter(*asked).pipe(collected).sort(*_PAIR, "step")
    roots = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    roots = roots.join(met.select(text="claim").unique(), on="text").select(pl.col("text").alias("claim"), root="post")
    of_agent = pl.lit(True) if agent is None else pl.col("agent") == agent
    seen = run.lazy("exposures").filter(of_agent).join(roots.lazy(), on="root").sort("rank")
    shown_label = label_of().sort_by(label_of() == "none").first()
    shown = seen.group_by(*_PAIR, "step").agg(pl.col("author").first(), shown_label=shown_label).pipe(collected)
    verdict = float(setting(run, "beliefs", "verdict", default=_VERDICT) or _VERDICT)
    now = pl.col("veracity") - pl.col("source") - pl.col("verdict") - pl.col("repetition")
    rest = pl.col("judged") - pl.col("start") - pl.col("sources")
    counts = ~pl.col("shown_label").is_in(["none", "verdict unverified"])
    label = pl.when(counts).then((rest / verdict + 1e-9).floor() * verdict).otherwise(0.0)  # what is left is memory
    return (
        met.with_columns(start=now.first().over(_PAIR), sources=pl.col("source").shift(1, fill_value=0.0).over(_PAIR))
        .join(shown, on=[*_PAIR, "step"], how="left", maintain_order="left")
        .with_columns(pl.col("shown_label").fill_null("none"))
        .with_columns(label=label)
        .with_columns(memory=rest - pl.col("label"))
        .select(*_PAIR, "step", "author", "shown_label", "judged", *PARTS, remembered="veracity")
    )


def claims_of(run: Reads, agent: int) -> tuple[ClaimBelief, ...]:
    """Return what one person believed of the claims it met; empty under other rules.

    Those that it came to believe or stopped believing are first, then the largest changes.
    """
    if not holds_claims(run):
        return ()
    met = belief_parts(run, agent=agent).join(truth_of_claims(run), on="claim", how="left", maintain_order="left")
    authors = agent_names(run).select(author="agent", by="name")
    met = met.join(authors, on="author", how="left", maintain_order="left")
    met = met.with_columns(pl.coalesce("by", pl.format("agent {}", "author"), pl.lit("an account")).alias("by"))
    who = called(run, agent)
    texts = dict(run.table("texts").join(met.select(text="claim").unique(), on="text").select("text", "content").rows())
    clock = clock_of(run)
    steps = [f"step {step}" + ("" if clock.hours is None else f" ({clock.says(step)})") for step in met["step"]]
    met = met.with_columns(when=pl.Series(steps, dtype=pl.String))
    names = [field.name for field in fields(Meeting)]
    beliefs = []
    for (claim,), rows in met.group_by("claim", maintain_order=True):
        shown = tuple(Meeting(**row) for row in rows.select(names).iter_rows(named=True))
        text, truth = texts.get(claim, ""), rows["truth"][0] or "unknown"
        beliefs.append(ClaimBelief(agent, who, int(str(claim)), text, truth, shown))
    return tuple(sorted(beliefs, key=lambda belief: (belief.turned is None, -abs(belief.change))))


@dataclass(frozen=True, slots=True)
class ClaimAttribution:
    """What belief in one claim rests on, at the last showing of everybody who met it.

    Attributes
    ----------
    claim : int
    text, truth : str
        As in :class:`ClaimBelief`.
    people : int
        Who met it.
    parts : DataFrame
        One row per part: ``part``, ``meaning``, ``mean`` (log odds a person) and ``gross`` (mean size).
    judged : float
        Mean log odds as recorded: the sum of the parts.
    believe_before, believe_last : float
        Mean probability of being true that people give it before they met it, and at the last showing.
    stopped, began : tuple of int
        Persons who called it true before and no longer do, and the reverse; those whose belief changed most first.
    """

    claim: int
    text: str
    truth: str
    people: int
    parts: pl.DataFrame
    judged: float
    believe_before: float
    believe_last: float
    stopped: tuple[int, ...]
    began: tuple[int, ...]


def claim_attribution(run: Reads, claim: int) -> ClaimAttribution:
    """Sum what moved belief in one claim over the persons who met it.

    Raises
    ------
    SettingError
        Nobody met such a claim, or the belief rule does not hold how far claims are believed.
    """
    met: list[int] = []
    if holds_claims(run):
        met = run.lazy("veracities").select("claim").unique().pipe(collected)["claim"].sort().to_list()
    if claim not in met:
        known = ", ".join(map(str, met[:10])) or "none: the belief rule of this run holds no belief in claims"
        raise SettingError("claim", got=str(claim), allowed=known)
    last = belief_parts(run, claim=claim).unique("agent", keep="last", maintain_order=True)
    rows = [(name, meaning, last[name].mean(), last[name].abs().mean()) for name, meaning in PARTS.items()]
    turned = last.filter((pl.col("start") > 0) != (pl.col("judged") > 0))
    turned = turned.sort((pl.col("judged") - pl.col("start")).abs(), descending=True)
    stopped, began = (tuple(turned.filter(side)["agent"]) for side in (pl.col("judged") <= 0, pl.col("judged") > 0))
    before, at_last = (float(np.mean(1 / (1 + np.exp(-last[name].to_numpy())))) for name in ("start", "judged"))
    text = run.table("texts").filter(text=claim)["content"][0]
    truth = truth_of_claims(run).filter(claim=claim)["truth"][0]
    parts = pl.DataFrame(rows, schema=columns("part:str meaning:str mean gross"), orient="row")
    mean = float(np.mean(last["judged"].to_numpy()))
    return ClaimAttribution(claim, text, truth, last.height, parts, mean, before, at_last, stopped, began)
