"""Why one agent changed its mind: what it was shown, by whom, and how much each row moved it.

Reads the trail of a recorded run next to the recorded beliefs, and checks that the one explains the
other. Contributions of rules that count in log odds are shown in stance units, c·ΔS/ΔL; they then sum to the move by
construction, so that there is nothing to check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from townsquare.analysis.beliefs import names, of_proposition, statements
from townsquare.analysis.causes.attribution import check_person
from townsquare.analysis.causes.contributions import agent_names, called, check_trail, stance_per_log_odds, unit_of
from townsquare.analysis.contract import Reads, setting
from townsquare.core.cards import bars, card
from townsquare.core.enums import TrailKind, Verdict, word_of
from townsquare.core.errors import SettingError
from townsquare.core.frames import collected
from townsquare.core.words import count, printable

TOLERANCE = 1e-9
"""Largest difference, in stance, at which a sum of contributions still agrees with a recorded move."""
_SHOWN = ("verdict", "note", "weight", "first_seen")
_WITHOUT_AUTHOR = {"anchor": "anchor (pull toward initial stance)", "clip": "clipping to the allowed range"}
_NAMED = 3  # contributors that a sentence names
_DRAWN = 8  # contributors in the figure of a notebook


def total_of(amounts: Iterable[float]) -> float:
    """Return the exact sum; NaN if none exists, as of infinities of both signs, which only an odd record holds."""
    try:
        return math.fsum(amounts)
    except (ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True, slots=True)
class Cause:
    """One contribution to the change of a belief in a step.

    Attributes
    ----------
    kind : str
        ``exposure``, ``own``, ``anchor``, ``archived``, ``restored``, ``clip`` or ``retracted``.
    amount : float
        The contribution in stance.
    recorded : float
        The contribution as in the trail, in the unit of the rule.
    rank : int or None
        Place in the feed, from 0.
    post, author : int or None
        The row of posts that was shown, and the row of agents of the account that posted or shared it.
    name : str
        The name of the author; ``agent 17`` for persons; for other causes, words such as ``own posts``.
    text : str
        The text of the root; empty if none exists.
    stance : float or None
        The stance of the root on the proposition, -1 to 1.
    trust : float or None
        Trust of the agent in the author at this exposure, 0 to 1.
    label : str
        The label shown with the post: the verdict, ``note``, both, or "".
    weight : float or None
        The label weight, 0 to 1.
    first_seen : bool or None
        Whether this was the agent's first exposure to the root.
    """

    kind: str
    amount: float
    recorded: float
    rank: int | None = None
    post: int | None = None
    author: int | None = None
    name: str = ""
    text: str = ""
    stance: float | None = None
    trust: float | None = None
    label: str = ""
    weight: float | None = None
    first_seen: bool | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """The change of one belief in one step; ``causes`` are sorted by size, largest first.

    ``before`` and ``after`` are recorded stances in [-1, 1]; ``before`` is None for the step in which an agent joined.
    """

    step: int
    proposition: str
    before: float | None
    after: float
    causes: tuple[Cause, ...]

    @property
    def explained(self) -> float:
        """Sum of the contributions, in stance."""
        return total_of(cause.amount for cause in self.causes)

    @property
    def change(self) -> float:
        """The recorded change; for the step in which the agent joined, the sum of the contributions."""
        return self.explained if self.before is None else self.after - self.before

    @property
    def main_cause(self) -> Cause | None:
        """The largest contribution in the direction of the change; None if nothing changed."""
        return next((cause for cause in self.causes if cause.amount * self.change > 0), None)

    @property
    def agrees(self) -> bool | None:
        """Whether the contributions sum to the recorded change; None if no earlier stance is recorded."""
        return None if self.before is None else abs(self.explained - self.change) <= TOLERANCE


@dataclass(frozen=True, slots=True)
class Contributor:
    """The sum of the contributions of one author, or of one other cause, to a belief.

    ``amount`` is in stance, ``rows`` the number of contributions; ``author`` is None for causes without an author.
    """

    author: int | None
    name: str
    proposition: str
    amount: float
    rows: int


@dataclass(frozen=True, slots=True)
class Why:
    """The changes of one agent's beliefs (``moves``), by step and proposition; ``contributors`` has sums by author.

    ``who`` is the name of the agent, or ``agent 17``. ``unit`` is the unit of the rule, ``stance`` or ``log odds``,
    and of ``Cause.recorded``; ``Cause.amount`` is always in stance. ``statements`` maps the name of each proposition
    to its wording.
    """

    agent: int
    who: str
    rule: str
    unit: str
    moves: tuple[Move, ...]
    contributors: tuple[Contributor, ...]
    statements: Mapping[str, str]

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        rows = [(printable(part.name), part.amount, math.nan, math.nan) for part in self.contributors[:_DRAWN]]
        facts = {"rule": self.rule, "moves": len(self.moves), "all moves explained": "yes" if self.agrees else "no"}
        return card(f"Why {printable(self.who)} changed", self.sentences, facts, bars("Contributions to stance", rows))

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence per proposition: where the stance started and ended, and what contributed most."""
        return tuple(
            self._sentence(printable(statement), [move for move in self.moves if move.proposition == name])
            for name, statement in self.statements.items()
        )

    def _sentence(self, statement: str, moves: list[Move]) -> str:
        if not any(move.change for move in moves):
            when = f" in step {moves[0].step}" if len(moves) == 1 else ""
            return f"On “{statement}” the stance of {printable(self.who)} did not change{when}."
        change = total_of(move.change for move in moves)
        steps = f"step {moves[0].step}" if len(moves) == 1 else f"steps {moves[0].step} to {moves[-1].step}"
        parts = [part for part in self.contributors if part.proposition == moves[0].proposition and part.amount]
        named = [f"{printable(part.name)} {_short(part.amount)}" for part in parts[:_NAMED]]
        if rest := parts[_NAMED:]:
            named.append(f"{count(len(rest), 'other')} {_short(total_of(part.amount for part in rest))}")
        return (
            f"On “{statement}” the stance of {printable(self.who)} went from {moves[-1].after - change:+.3f} to "
            f"{moves[-1].after:+.3f} ({_short(change)}) in {steps}: {', '.join(named)}."
        )

    def largest(self, n: int) -> tuple[Move, ...]:
        """Return the ``n`` largest moves, largest first."""
        return tuple(sorted(self.moves, key=lambda move: (-abs(move.change), move.step, move.proposition))[:n])

    @property
    def agrees(self) -> bool:
        """Whether the contributions to each change sum to the change (to 1e-9)."""
        return all(move.agrees is not False for move in self.moves)


def _short(amount: float) -> str:
    """Return a contribution with three decimals, or with one significant digit where it is smaller."""
    return f"{amount:+.3f}" if not amount or abs(amount) >= 0.0005 else f"{amount:+.1g}"


class Belief(NamedTuple):
    """The key of one belief of the agent: after a step, about a proposition by its row."""

    step: int
    proposition: int


def why(run: Reads, agent: int, step: int | None = None, proposition: str | None = None) -> Why:
    """Return what moved one agent.

    Parameters
    ----------
    run : Reads
        A recorded run.
    agent : int
        Row of agents; a person.
    step : int, optional
        One step, from 1; else all.
    proposition : str, optional
        One proposition, by name; else all.

    Raises
    ------
    SettingError
        The agent is none, or a source, or the step is not one of its steps.
    UnknownName
        There is no such proposition.
    RecordError
        The run was recorded without a trail.
    """
    _check_agent(run, agent, step)
    check_trail(run)
    propositions = dict(of_proposition(run, names(run), proposition).select("proposition", "name").rows())
    agent_rows = [pl.col("agent") == agent, pl.col("proposition").is_in(list(propositions))]
    step_rows = [*agent_rows, pl.col("step") >= 1 if step is None else pl.col("step") == step]
    around = agent_rows if step is None else [*agent_rows, pl.col("step").is_in([step - 1, step])]
    beliefs = run.lazy("beliefs").filter(*around).select("step", "proposition", "stance").pipe(collected)
    stances = {Belief(at, number): stance for at, number, stance in beliefs.iter_rows()}
    causes: dict[Belief, list[Cause]] = {}
    for row in _with_posts(run, run.lazy("trail").filter(*step_rows).pipe(collected), agent).iter_rows(named=True):
        causes.setdefault(Belief(row["step"], row["proposition"]), []).append(_cause(row, agent))
    unit = unit_of(run)
    moves = tuple(
        _move(belief, propositions[belief.proposition], stances, causes.get(belief, []), unit)
        for belief in sorted(stances)
        if belief.step >= 1 and step in (None, belief.step)
    )
    rule, texts = str(setting(run, "beliefs", "rule", default="")), statements(run)
    about = {name: texts[name] for name in propositions.values()}
    return Why(agent, called(run, agent), rule, unit, moves, _contributors(moves), about)


def _check_agent(run: Reads, agent: int, step: int | None) -> None:
    check_person(run, agent)
    first = max(1, run.table("agents").filter(pl.col("agent") == agent)["born"].item())
    if step is not None and not first <= step <= run.last_step:
        allowed = f"{first} to {run.last_step}" if first <= run.last_step else "none: the run has no such step yet"
        raise SettingError(f"step of agent {agent}", got=str(step), allowed=allowed)


def _move(belief: Belief, proposition: str, stances: Mapping[Belief, float], causes: list[Cause], unit: str) -> Move:
    after, before = stances[belief], stances.get(belief._replace(step=belief.step - 1))
    if unit != "stance":
        total = total_of(cause.recorded for cause in causes)
        scale = 0.0 if before is None else stance_per_log_odds(total, before, after - before)
        causes = [replace(cause, amount=cause.recorded * scale) for cause in causes]
    return Move(belief.step, proposition, before, after, tuple(sorted(causes, key=lambda cause: -abs(cause.amount))))


def _cause(row: Mapping[str, Any], agent: int) -> Cause:
    own, kind = row["kind"] == TrailKind.OWN, word_of(TrailKind, row["kind"])
    author = agent if own else row["shown_author"]
    other = _WITHOUT_AUTHOR.get(kind, kind) if author is None else f"agent {author}"
    trust = row["trust"]
    return Cause(
        kind=kind, amount=row["amount"], recorded=row["amount"], rank=row["rank"] if row["rank"] >= 0 else None,
        post=row["post"] if row["post"] >= 0 else None, author=author,
        name="own posts" if own else row["name"] or other, text=row["content"] or "", stance=row["stance"],
        trust=None if trust is None or math.isnan(trust) else trust, label=_label(row["verdict"], row["note"]),
        weight=row["weight"], first_seen=row["first_seen"],
    )  # fmt: skip


def _label(verdict: int | None, note: int | None) -> str:
    words = [word_of(Verdict, verdict)] if verdict else []
    return ", ".join([*words, *(["note"] if note is not None and note >= 0 else [])])


def _with_posts(run: Reads, trail: pl.DataFrame, agent: int) -> pl.DataFrame:
    """Return the trail with what was shown: exposure, root, text, stance, and the name of who passed it on."""
    columns = "step", "rank", "post", pl.col("author").alias("shown_author"), *_SHOWN
    shown = run.lazy("exposures").filter(pl.col("agent") == agent).select(columns).pipe(collected)
    posts = run.table("posts").select("post", "root")
    texts = run.table("posts").select(pl.col("post").alias("root"), "text").join(run.table("texts"), on="text")
    stances = run.table("post_stances").select(pl.col("post").alias("root"), "proposition", "stance")
    authors = agent_names(run).rename({"agent": "shown_author"})
    rows = trail.with_row_index("order").join(shown, on=["step", "rank", "post"], how="left")
    rows = rows.join(posts, on="post", how="left").join(texts, on="root", how="left")
    rows = rows.join(stances, on=["root", "proposition"], how="left")
    return rows.join(authors, on="shown_author", how="left").sort("order")


def _contributors(moves: tuple[Move, ...]) -> tuple[Contributor, ...]:
    totals: dict[tuple[int | None, str, str], Contributor] = {}
    for move in moves:
        for cause in move.causes:
            key = cause.author, cause.name, move.proposition
            old = totals.get(key, Contributor(cause.author, cause.name, move.proposition, 0.0, 0))
            totals[key] = replace(old, amount=old.amount + cause.amount, rows=old.rows + 1)
    return tuple(sorted(totals.values(), key=lambda total: (-abs(total.amount), total.name, total.proposition)))
