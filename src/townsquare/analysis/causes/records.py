"""The argument records of one agent after a step, what each counts for, and the belief without one of them.

Everything is computed again from what was recorded: the claims, what happened to them, the start, the settings. So
:attr:`Evidence.agrees` says whether Equation 1 over the records gives the stance that is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.causes.record_weights import weights_of
from townsquare.analysis.contract import Reads, setting
from townsquare.beliefs import log_odds, social_log_odds
from townsquare.beliefs.arrays import settings
from townsquare.beliefs.contract import per_agent
from townsquare.beliefs.equation import stances_of, start_log_odds, sum_of
from townsquare.beliefs.log_odds_kernels import SETTINGS, amount
from townsquare.core import registry
from townsquare.core.enums import HoldingChange, Origin, word_of
from townsquare.core.errors import SettingError
from townsquare.core.frames import collected
from townsquare.settings.resolve import resolve

TOLERANCE = 1e-9
"""Largest difference, in stance, at which the records still agree with the recorded stance."""
RULES = {"log_odds": log_odds.Params, "social_log_odds": social_log_odds.Params}
"""Rules whose beliefs can be computed again from their records."""


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """One argument record.

    Attributes
    ----------
    claim : int
        Row of claims: what it is called by.
    text : str
        The claim, untrusted.
    polarity : int
        +1 for the proposition, -1 against it.
    strength : float
        [0, 1].
    origin : str
        ``seed``, ``self`` or ``peer``.
    active : bool
        Whether it counts.
    since : int
        Step of the last change.
    change : str
        What that was: ``accepted``, ``archived``, ``restored`` or ``refused``.
    by : int or None
        The near-duplicate that replaced or stopped it; None where a label did, or nothing.
    post, author : int or None
        The row that first brought it, and who passed it on; None for seeds.
    name : str
        The author's, untrusted; ``agent 17`` for persons.
    weight : float
        Factor on its strength, by who passed it on and how; 1 under ``log_odds``.
    amount : float
        What it adds to the log odds; 0 while it is archived.
    """

    claim: int
    text: str
    polarity: int
    strength: float
    origin: str
    active: bool
    since: int
    change: str
    by: int | None
    post: int | None
    author: int | None
    name: str
    weight: float
    amount: float


@dataclass(frozen=True, slots=True)
class CounterfactualBelief:
    """The belief that is left without one record, the others staying as they are."""

    claim: int
    log_odds: float
    stance: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records of one agent on one proposition after a step, by claim, and the belief that they make.

    ``prior`` and ``log_odds`` are in log odds; ``stance`` is computed from the records, ``recorded`` is on record.
    ``uptake`` and ``anchoring`` are the agent's, of the ``profile`` that it drew, or the run's where that is "".
    """

    agent: int
    step: int
    proposition: str
    prior: float
    log_odds: float
    stance: float
    recorded: float
    uptake: float
    anchoring: float
    profile: str
    records: tuple[HeldRecord, ...]

    @property
    def agrees(self) -> bool:
        """Whether the records explain the recorded stance."""
        return abs(self.stance - self.recorded) <= TOLERANCE

    def without(self, claim: int) -> CounterfactualBelief:
        """Return the belief if the agent did not hold a record.

        What the record had archived stays archived.

        Raises
        ------
        SettingError
            The agent holds no such record on this proposition.
        """
        if claim not in [record.claim for record in self.records]:
            allowed = ", ".join(str(record.claim) for record in self.records) or "none: it holds no records"
            raise SettingError(f"record of agent {self.agent} on {self.proposition}", got=str(claim), allowed=allowed)
        left = [record.amount for record in self.records if record.active and record.claim != claim]
        total = sum_of(left, self.prior)
        return CounterfactualBelief(claim, total, float(stances_of([total])[0]))


def has_records(run: Reads) -> bool:
    """Return whether beliefs of a run come from argument records that can be counted again."""
    return str(setting(run, "beliefs", "rule", default="")) in RULES


def evidence(run: Reads, agent: int, step: int | None = None, proposition: str | None = None) -> tuple[Evidence, ...]:
    """Return the records of an agent after a step, proposition by proposition.

    Parameters
    ----------
    run : Reads
        A recorded run of one of :data:`RULES`.
    agent : int
        Row of agents; a person.
    step : int, optional
        The last by default; 0 is the start.
    proposition : str, optional
        One proposition, by name; else all.

    Raises
    ------
    SettingError
        The rule keeps no records, or the agent was not there.
    """
    rule = str(setting(run, "beliefs", "rule", default=""))
    if rule not in RULES:
        allowed = ", ".join(name for name in RULES if name in registry.names("beliefs"))
        raise SettingError("argument records", got=f"a run of the rule {rule!r}", allowed=f"a run of {allowed}")
    last = run.last_step if step is None else step
    beliefs = run.lazy("beliefs").filter(pl.col("agent") == agent, pl.col("step") == last).pipe(collected)
    if beliefs.is_empty():
        raise SettingError("step", got=f"{last} of agent {agent}", allowed="a step after which it existed")
    params = _params(run, agent, last)
    changes = _held(run, agent, last)
    weights = weights_of(run, agent, last, params, changes)
    names = run.table("propositions")
    chosen = names if proposition is None else names.filter(pl.col("name") == proposition)
    stances = dict(beliefs.select("proposition", "stance").rows())
    of_agent = params.uptake, params.anchoring, _own(run, agent).get("content", "")
    made = []
    for number, name in chosen.select("proposition", "name").rows():
        rows = changes.filter(pl.col("proposition") == number).iter_rows(named=True)
        records = tuple(_record(row, weights.get(row["claim"], 1.0), params) for row in rows)
        prior = _prior(run, agent, number)
        total = sum_of([record.amount for record in records if record.active], prior)
        stance = float(stances_of([total])[0])
        made.append(Evidence(agent, last, name, prior, total, stance, stances[number], *of_agent, records))
    return tuple(made)


def _record(row: Mapping[str, Any], weight: float, params: log_odds.Params) -> HeldRecord:
    active = row["change"] in (HoldingChange.ACCEPTED, HoldingChange.RESTORED)
    (p,) = settings(per_agent(params, 1), SETTINGS, 1)
    added = amount(p, row["polarity"], row["strength"] * weight, row["origin"], row["agreed"])
    author = row["author"]
    return HeldRecord(
        claim=row["claim"], text=row["content"] or "", polarity=row["polarity"], strength=row["strength"],
        origin=word_of(Origin, row["origin"]), active=active, since=row["step"],
        change=word_of(HoldingChange, row["change"]), by=row["by"] if row["by"] >= 0 else None,
        post=row["first_post"] if row["first_post"] >= 0 else None, author=author,
        name=row["name"] or ("" if author is None else f"agent {author}"), weight=weight,
        amount=float(added) if active else 0.0,
    )  # fmt: skip


def _params(run: Reads, agent: int, step: int) -> Any:
    """Return the settings of the rule in a step, with what the agent has of its own."""
    params = resolve(run.settings).at(step).params["beliefs"]
    own = _own(run, agent)
    return params.model_copy(update={name: own[name] for name in ("uptake", "anchoring")}) if own else params


def _own(run: Reads, agent: int) -> dict[str, Any]:
    """Return what the agent has of its own: ``uptake``, ``anchoring``, and ``content`` (the name of its profile)."""
    rows = run.lazy("profiles").filter(pl.col("agent") == agent).pipe(collected)
    named = rows.join(run.table("texts"), left_on="profile", right_on="text", how="left") if rows.height else rows
    return named.row(0, named=True) if named.height else {}


def _prior(run: Reads, agent: int, proposition: int) -> float:
    """Return the prior in log odds, from the stated start and the settings in force when the agent joined."""
    of_belief = (pl.col("agent") == agent) & (pl.col("proposition") == proposition)
    start = run.lazy("starts").filter(of_belief).pipe(collected).row(0, named=True)
    params = _params(run, agent, start["step"])
    if params.start == "records":
        return 0.0
    return float(start_log_odds([start["wanted"]], params.anchoring, params.stance_margin)[0])


def _held(run: Reads, agent: int, step: int) -> pl.DataFrame:
    """Return one row per record, by claim: its last change, and with what it first came.

    Origin and ``agreed`` are those of its acceptance, which is what counts from then on.
    """
    changes = run.lazy("holdings").filter(pl.col("agent") == agent, pl.col("step") <= step)
    rows = changes.with_row_index("order").pipe(collected).sort("order")
    posts = run.table("posts").select(pl.col("post").alias("first_post"), "author")
    claims = run.table("claims").select("claim", "proposition", "text", "polarity", "strength")
    state, first = pl.last("step", "change", "by", "origin", "agreed"), pl.first("post").alias("first_post")
    records = rows.group_by("claim", maintain_order=True).agg(state, first).join(claims, on="claim")
    records = records.join(run.table("texts"), on="text", how="left").join(posts, on="first_post", how="left")
    return records.join(agent_names(run), left_on="author", right_on="agent", how="left").sort("claim")
