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
from townsquare.analysis.moderation import marks
from townsquare.core import registry
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import PostKind, Veracity, word_of
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.frames import ORDERED, collected
from townsquare.core.words import count, printable

PARTS: dict[str, str] = bundled_labels("parts_of_beliefs")
"""Parts of the log odds of a claim at an exposure, which sum to them, in words."""
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
        Log odds of the claim, with the label and the note beside it: the sum of the parts.
    start, sources, readings, label, note : float
        Log odds; see :data:`PARTS`.
    remembered : float
        Log odds of the claim afterwards, when neither stands beside it.
    """

    step: int
    when: str
    by: str
    shown_label: str
    judged: float
    start: float
    sources: float
    readings: float
    label: float
    note: float
    remembered: float

    @property
    def counted(self) -> tuple[str, ...]:
        """What counts for or against the claim beside its prior, largest first, in words with log odds."""
        named = {
            "sources": PARTS["sources"], "readings": PARTS["readings"],
            "label": self._mark("label", "verdict true" if self.label > 0 else "verdict false"),
            "note": self._mark("community note", "note"),
        }  # fmt: skip
        sizes = {name: getattr(self, name) for name in sorted(named, key=lambda name: -abs(getattr(self, name)))}
        return tuple(f"{named[name]} {size:+.2f}" for name, size in sizes.items() if abs(size) >= 0.005)

    def _mark(self, what: str, word: str) -> str:
        where = "shown with it" if word in self.shown_label.split(", ") else "seen earlier"
        return f"a {what} {where} that says it is {'true' if word == 'verdict true' else 'false'}"


@dataclass(frozen=True, slots=True)
class ClaimBelief:
    """What one person believed of one claim at each exposure.

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
        """The last exposure."""
        return self.meetings[-1]

    @property
    def change(self) -> float:
        """Log odds at the last exposure less those before the first."""
        return self.last.judged - self.last.start

    @property
    def turned(self) -> Meeting | None:
        """The exposure at which the person began or stopped believing the claim; None if it never did."""
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
        truth = "of unknown veracity" if self.truth == "unknown" else f"which is {self.truth}"
        out = [
            f"{opening} was shown the claim “{printable(self.text)}”, {truth}, in {times}, first in {first.when} by "
            f"{printable(first.by)}.",
            f"{opening} gave it a probability of being true of {share(last.start)} before the first exposure and of "
            f"{share(last.judged)} at the last one, in {last.when}.",
        ]
        if turned is None:
            how = "believed it (above 50%) at every" if last.judged > 0 else "did not believe it (50% or less) at any"
            out.append(f"{opening} {how} exposure.")
        else:
            label = turned.shown_label
            words = "without a label or note" if label == "none" else f"with {_in_words(label)} shown"
            shown = f"when {printable(turned.by)} showed it {words}"
            if turned is first and last.judged <= 0:
                out.append(f"{opening} would have believed it, but did not {shown}.")
            else:
                verb = "came to believe it (above 50%)" if last.judged > 0 else "stopped believing it (50% or less)"
                out.append(f"{opening} {verb} in {turned.when}, {shown}.")
        if last.shown_label not in ("none", "verdict unverified") and not last.label and not last.note:
            out.append(f"{opening} did not heed {_in_words(last.shown_label)}, which was shown with it.")
        parts = ", ".join([f"{PARTS['start']} {last.start:+.2f}", *last.counted])
        scale = "in log odds (0: as likely true as false)"
        return (*out, f"Parts of the belief at the last exposure, {scale}: {parts}; in all {last.judged:+.2f}.")


def share(log_odds: float) -> str:
    """Return log odds as the percentage of certainty that a claim is true.

    >>> share(0.0), share(-3.0)
    ('50%', '5%')
    """
    return f"{100 / (1 + math.exp(-log_odds)):.0f}%"


def _in_words(label: str) -> str:
    """Return a label as a sentence has it.

    >>> _in_words("verdict false, note"), _in_words("note")
    ('the label “false” and a community note', 'a community note')
    """
    parts = label.split(", ")
    return " and ".join(
        "a community note" if part == "note" else f"the label “{part.removeprefix('verdict ')}”" for part in parts
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
    truth = pl.when(pl.col("truth").n_unique() == 1).then(pl.col("truth").first()).otherwise(pl.lit("unknown"))
    return named.group_by("claim", maintain_order=True).agg(truth)


def last_beliefs(run: Reads) -> pl.DataFrame:
    """Return what people believed of each claim at its last exposure: ``agent``, ``claim``, ``step``, ``judged``."""
    last = run.lazy("veracities").group_by("agent", "claim").agg(pl.col("step", "judged").sort_by("step").last())
    return collected(last)


def claim_beliefs(run: Reads) -> pl.DataFrame:
    """Return the mean probability that people gave each claim at their first and at their last exposure to it.

    Returns
    -------
    DataFrame
        One row per claim that somebody met: ``claim`` (row of texts), ``believe_first``, ``believe_last`` (means over
        all people who met it in the run).
    """
    judged = pl.col("judged").sort_by("step")
    met = run.lazy("veracities").group_by("claim", "agent").agg(first=judged.first(), last=judged.last())
    in_order = collected(met).sort("claim", "agent").lazy()  # means are then equal to the last digit
    means = {f"believe_{end}": (1 / (1 + (-pl.col(end)).exp())).mean() for end in ("first", "last")}
    return collected(in_order.group_by("claim").agg(**means), ORDERED)


MOST_PERIODS = 14
"""Of a run without days, or with too many of them."""


def claim_courses(run: Reads) -> pl.DataFrame:
    """Measure how many people believe each claim of injected posts, day by day.

    Returns
    -------
    DataFrame
        One row per claim and period (a day; a fourteenth of the run where that is longer or steps have no length) in
        which somebody met it, claims met by most people first: ``claim`` (row of texts), ``text`` (untrusted),
        ``truth``, ``label_step`` and ``note_step`` (first step with a verdict "false" and with a note on a post of it,
        null without), ``people_in_all`` (who met it in the run), ``step`` (last of the period), ``people`` (who met it
        in the period), ``believe`` (mean probability of being true that they gave it when they last met it in the
        period: the share who would call it true), ``labeled`` and ``noted`` (shares of them in whose memory a verdict
        and a note count; in records before version 4, ``labeled`` is of both).
    """
    hours = clock_of(run).hours
    day = 1 if hours is None else max(1, round(24 / hours))
    long = max(day, math.ceil(run.last_step / MOST_PERIODS))
    period = ((pl.col("step") - 1) // long + 1) * long
    last = run.lazy("veracities").with_columns(period=pl.min_horizontal(period, pl.lit(run.last_step)))
    last = last.group_by("claim", "period", "agent").agg(pl.col("judged", "verdict", "note").sort_by("step").last())
    in_order = collected(last).sort("claim", "period", "agent").lazy()  # means are then equal to the last digit
    shares = in_order.group_by("claim", step="period").agg(
        people=pl.len(), believe=(1 / (1 + (-pl.col("judged")).exp())).mean(), labeled=(pl.col("verdict") != 0).mean(),
        noted=(pl.col("note").fill_nan(0.0) != 0).mean(),
    )  # fmt: skip
    met = run.lazy("veracities").group_by("claim").agg(people_in_all=pl.col("agent").n_unique())
    posts = run.table("posts").select(claim="text", root="post")
    first = pl.col("false_verdict_step").min().alias("label_step"), pl.col("note_step").min()
    marked = marks(run).join(posts, on="root").group_by("claim").agg(*first)
    texts = run.table("texts").select(claim="text", text="content")
    made = collected(shares.join(met, on="claim"), ORDERED).join(truth_of_claims(run), on="claim")
    made = made.join(marked, on="claim", how="left").join(texts, on="claim", how="left")
    return made.sort(["people_in_all", "claim", "step"], descending=[True, False, False]).select(
        "claim", "text", "truth", "label_step", "note_step", "people_in_all", "step", "people", "believe", "labeled",
        "noted",
    )  # fmt: skip


def belief_parts(run: Reads, *, agent: int | None = None, claim: int | None = None) -> pl.DataFrame:
    """Return how far a claim was believed at each exposure, in parts that sum.

    Parameters
    ----------
    run : Reads
        Of a rule that holds how far claims are believed.
    agent, claim : int, optional
        Only this person's, only this claim's (row of texts).

    Returns
    -------
    DataFrame
        One row per person, claim and step with an exposure: ``agent``, ``claim``, ``step``, ``author`` (who shared it,
        the first in the feed), ``shown_label``, ``judged`` = ``start`` + ``sources`` + ``readings`` + ``label`` +
        ``note`` and ``remembered`` (log odds). A label or note beside a claim counts in full or, for those who do not
        heed it, not at all. In records before version 4, ``label`` is of both, where one stands beside the claim; else
        ``readings`` has what was remembered of them.
    """
    asked = [pl.col(name) == value for name, value in (("agent", agent), ("claim", claim)) if value is not None]
    met = run.lazy("veracities").filter(*asked).pipe(collected).sort(*_PAIR, "step")
    roots = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    roots = roots.join(met.select(text="claim").unique(), on="text").select(pl.col("text").alias("claim"), root="post")
    of_agent = pl.lit(True) if agent is None else pl.col("agent") == agent
    seen = run.lazy("exposures").filter(of_agent).join(roots.lazy(), on="root").sort("rank")
    shown_label = label_of().sort_by(label_of() == "none").first()
    shown = seen.group_by(*_PAIR, "step").agg(pl.col("author").first(), shown_label=shown_label).pipe(collected)
    note, later = pl.col("note", "judged_note").fill_nan(0.0), pl.col("judged_verdict").fill_nan(None)
    prior = pl.col("veracity") - pl.col("source") - pl.col("verdict") - pl.col("note") - pl.col("repetition")
    before = [pl.col(name).shift(1, fill_value=0.0).over(_PAIR) for name in ("source", "repetition")]
    rest = pl.col("judged") - pl.col("start") - pl.col("sources")
    marked = ~pl.col("shown_label").is_in(["none", "verdict unverified"])
    without = pl.when(marked).then(rest - pl.col("read")).otherwise(0.0)  # of a record that does not tell them apart
    parts = met.with_columns(note, later)
    parts = parts.with_columns(start=prior.first().over(_PAIR), sources=before[0], read=before[1])
    parts = parts.join(shown, on=[*_PAIR, "step"], how="left", maintain_order="left")
    parts = parts.with_columns(pl.col("shown_label").fill_null("none"), note="judged_note")
    parts = parts.with_columns(label=pl.coalesce("judged_verdict", without))
    parts = parts.with_columns(readings=rest - pl.col("label") - pl.col("note"))
    return parts.select(*_PAIR, "step", "author", "shown_label", "judged", *PARTS, remembered="veracity")


def claims_of(run: Reads, agent: int) -> tuple[ClaimBelief, ...]:
    """Return what one person believed of the claims it met; empty under other rules.

    Those that it came to believe or stopped believing are first, then the largest changes.
    """
    if not holds_claims(run):
        return ()
    met = belief_parts(run, agent=agent).join(truth_of_claims(run), on="claim", how="left", maintain_order="left")
    met = met.join(agent_names(run).select(author="agent", by="name"), on="author", how="left", maintain_order="left")
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
    """What belief in one claim rests on, at the last exposure of everybody who met it.

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
        Mean probability of being true that people give it before they met it, and at the last exposure.
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
        known = ", ".join(map(str, met[:10])) + (f" and {len(met) - 10} more" if len(met) > 10 else "")
        none = "none: the belief rule of this run holds no belief in claims"
        raise SettingError("claim", got=str(claim), allowed=known or none)
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
