"""What a treatment that was drawn within one run did: to those who got it, and to those who follow them.

Assignments are independent draws, so people who got a treatment differ from the others by chance alone. But what the
treated do is seen by others, and a plain difference of means then compares two groups that are both touched. With e
the share of treated persons among those whom an agent follows, the model

    y = a + direct · z + spillover · e

tells what being treated does, what it does to have everybody one follows treated, and by their sum what it would do to
treat all rather than none (linear in means: Manski 1993, Review of Economic Studies 60; exposure of neighbors: Aronow
and Samii 2017, Annals of Applied Statistics 11). Given whom one follows, z and e are as good as random. Intervals are
robust to unequal variances (HC1); p values come from drawing the assignment again, which needs no model at all. Effects
that travel further than one follow are not told apart from chance, and lie outside both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from townsquare.analysis.beliefs import names, person_beliefs
from townsquare.analysis.contract import Reads, columns, setting
from townsquare.analysis.follow_graph import standing_follows
from townsquare.analysis.posts import accepted, roots
from townsquare.analysis.statistics import Estimate, difference, tidy
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Float
from townsquare.core.enums import AgentKind
from townsquare.core.errors import SettingError
from townsquare.core.frames import ORDERED, collected
from townsquare.core.registry import check_known

DRAWS = 499
"""Re-randomized assignments for a p value; the smallest it can be is 1 / (draws + 1)."""
FEWEST, MOST_WORK = 99, 100_000_000
"""Draws at least; and follows and persons gone through in all, to which larger runs cut the number of draws."""
LEAST = 10
"""Persons in each group below which nothing is estimated."""
ESTIMATES = ("difference", "direct", "spillover", "total")
EFFECTS = columns("outcome:str estimate:str value low high p persons:int treated:int")
BY_GROUP = columns("grouping:str group:str outcome:str value low high persons:int treated:int")


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who got a treatment, and whom they follow.

    ``agents`` (n,) persons who were there before it began; ``treated`` (n,) bool; ``follows`` (n, n) sparse 0 and 1,
    row follows column, as of the step before it began; ``share`` the chance of being assigned; ``start`` its first
    step.
    """

    name: str
    agents: npt.NDArray[np.int32]
    treated: npt.NDArray[np.bool_]
    follows: scipy.sparse.csr_array
    share: float
    start: int = 1

    @property
    def exposure(self) -> Float:
        """Share of treated persons among those each follows, (n,); NaN for who follows no person."""
        return shares(self.follows, self.treated)


def shares(follows: scipy.sparse.csr_array, treated: npt.NDArray[np.bool_]) -> Float:
    """Return share of treated ones among those each row follows; NaN where it follows nobody."""
    degree = np.asarray(follows.sum(axis=1), np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(follows @ treated.astype(np.float64) / degree, np.float64)


def assignment(run: Reads, treatment: str | int = 0) -> Assignment:
    """Return a treatment of a run, by its name or its place in the settings.

    Raises
    ------
    UnknownName, SettingError
        The run has no such treatment.
    """
    listed = list(setting(run, "treatments", default=()))
    number = _number(listed, treatment)
    start = int(listed[number].get("start", 1))
    persons = run.table("agents").filter((pl.col("kind") == AgentKind.PERSON) & (pl.col("born") < start))
    rows = run.table("treatments").filter(pl.col("treatment") == number).select("agent", "assigned")
    there = persons.select("agent").join(rows, on="agent").sort("agent")
    agents = there["agent"].to_numpy().astype(np.int32)
    return Assignment(
        str(listed[number]["name"]), agents, there["assigned"].to_numpy().astype(bool),
        _follows(run, agents, start), float(listed[number]["share"]), start,
    )  # fmt: skip


def _number(listed: list[Any], treatment: str | int) -> int:
    called = [str(treatment_of["name"]) for treatment_of in listed]
    if isinstance(treatment, int):
        if not 0 <= treatment < len(listed):
            allowed = f"0 to {len(listed) - 1}" if listed else "none: this run has no treatments"
            raise SettingError("treatment", got=str(treatment), allowed=allowed)
        return treatment
    check_known("treatment", treatment, called)
    return called.index(treatment)


def _follows(run: Reads, agents: npt.NDArray[np.int32], start: int) -> scipy.sparse.csr_array:
    """Return follows among ``agents`` that stood before ``start``."""
    standing = standing_follows(run, start - 1).filter(pl.all_horizontal(pl.col("follower", "followed").is_in(agents)))
    row, column = (np.searchsorted(agents, standing[name].to_numpy()) for name in ("follower", "followed"))
    return scipy.sparse.csr_array((np.ones(row.size), (row, column)), shape=(agents.size, agents.size))


def person_outcomes(run: Reads, since: int = 0) -> pl.DataFrame:
    """Return what each person came to: numbers to compare treated and untreated persons by.

    Parameters
    ----------
    run : Reads
    since : int
        Steps after this one count; moves are from the stance after it.

    Returns
    -------
    DataFrame
        One row per person: ``agent``; for each proposition ``move.<name>`` (stance); ``actions`` (accepted, other than
        ignoring), ``false_engagement`` (likes and shares of false roots).
    """
    frame = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).select("agent").sort("agent")
    ends = person_beliefs(run).filter(pl.col("step").is_in([since, run.last_step])).sort("step")
    move = (pl.col("stance").last() - pl.col("stance").first()).alias("move")
    both = ends.group_by("agent", "proposition").agg(move, pl.len().alias("ends")).filter(pl.col("ends") == 2)
    moves = both.pipe(collected, ORDERED)
    for proposition, name in names(run).select("proposition", "name").rows():
        about = moves.filter(pl.col("proposition") == proposition).select("agent", pl.col("move").alias(f"move.{name}"))
        frame = frame.join(about, on="agent", how="left")
    false = roots(run).lazy().filter(pl.col("veracity") == "false").select(pl.col("root").alias("target"))
    spreading = accepted(run, (ActionKind.LIKE, ActionKind.LIKE_COMMENT, ActionKind.SHARE)).join(false, on="target")
    for name, actions in (("actions", accepted(run)), ("false_engagement", spreading)):
        counts = actions.filter(pl.col("step") > since).group_by("agent").agg(pl.len().cast(pl.Float64).alias(name))
        frame = frame.join(counts.pipe(collected), on="agent", how="left").with_columns(pl.col(name).fill_null(0.0))
    return frame


def treatment_effect(run: Reads, treatment: str | int = 0, draws: int = DRAWS) -> pl.DataFrame:
    """Return the effects of a treatment on every outcome of :func:`person_outcomes`.

    Returns
    -------
    DataFrame
        One row per outcome and estimate: ``outcome``; ``estimate``: ``difference`` (plain, treated less untreated),
        ``direct``, ``spillover`` (all against none of the followed treated) and ``total``; ``value``, ``low``,
        ``high`` (95%), ``p`` (by drawing the assignment again, of no effect of any kind on anybody), ``persons`` and
        ``treated`` (who count). Empty where a group has under ten persons; without rows of ``direct``, ``spillover``
        and ``total`` where nobody follows anybody.

    Raises
    ------
    UnknownName, SettingError
        The run has no such treatment.
    """
    given = assignment(run, treatment)
    fewer = max(FEWEST, MOST_WORK // max(1, given.follows.nnz + given.agents.size))
    return effects_of(given, person_outcomes(run, given.start - 1), min(draws, fewer))


def effects_by_group(run: Reads, treatment: str | int, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the difference between treated and untreated persons within each group, for every outcome.

    Parameters
    ----------
    groups : DataFrame
        Of :func:`townsquare.analysis.groups.trait_groups`.

    Returns
    -------
    DataFrame
        One row per group and outcome: ``grouping``, ``group``, ``outcome``, ``value`` (treated minus untreated),
        ``low`` and ``high`` (95%), ``persons``, ``treated``. Groups with under ten treated or untreated persons are
        left out.
    """
    given = assignment(run, treatment)
    outcomes = person_outcomes(run, given.start - 1)
    z = pl.DataFrame({"agent": given.agents, "treated": given.treated})
    there = groups.join(z, on="agent").join(outcomes, on="agent", how="left").sort("grouping", "group", "agent")
    rows: list[tuple[object, ...]] = []
    for (grouping, group), part in there.group_by("grouping", "group", maintain_order=True):
        for outcome in outcomes.columns[1:]:
            known = part.filter(pl.col(outcome).is_not_null())
            y, treated = known[outcome].cast(pl.Float64).to_numpy(), known["treated"].to_numpy()
            if min(int(treated.sum()), int((~treated).sum())) >= LEAST:
                effect = difference(y[treated], y[~treated])
                counts = (y.size, int(treated.sum()))
                rows.append((grouping, group, outcome, effect.value, effect.low, effect.high, *counts))
    return tidy(rows, BY_GROUP)


def effects_of(given: Assignment, outcomes: pl.DataFrame, draws: int = DRAWS) -> pl.DataFrame:
    """Return the effects of an assignment on outcomes by person: see :func:`treatment_effect`.

    Parameters
    ----------
    given : Assignment
    outcomes : DataFrame
        ``agent``, and a float column for each outcome.
    draws : int
        Assignments drawn again; 0 for none, and then no p values.
    """
    values = _values(given, outcomes).items()
    return tidy([(name, *row) for name, y in values for row in _effects(given, y, draws)], EFFECTS)


def _values(given: Assignment, outcomes: pl.DataFrame) -> dict[str, Float]:
    """Return each outcome of the assigned persons, NaN where it is unknown."""
    there = pl.DataFrame({"agent": given.agents}).join(outcomes, on="agent", how="left", maintain_order="left")
    return {column.name: column.to_numpy() for column in there.drop("agent").cast(pl.Float64).fill_null(float("nan"))}


def _effects(given: Assignment, y: Float, draws: int) -> list[tuple[object, ...]]:
    """Return rows of :data:`EFFECTS` of one outcome, without its name."""
    known = ~np.isnan(y)
    z = given.treated
    n, treated = int(known.sum()), int((known & z).sum())
    if min(treated, n - treated) < LEAST:
        return []
    drawn, linked = _drawn(given, y, known, draws), int((known & ~np.isnan(given.exposure)).sum())
    estimates = {"difference": (difference(y[known & z], y[known & ~z]), n)}
    estimates |= {name: (effect, linked) for name, effect in _fit(y, z, given.exposure, known).items()}
    return [
        (name, *effect, _chance(effect.value, drawn.get(name)), persons, treated)
        for name, (effect, persons) in estimates.items()
    ]


def _fit(y: Float, z: npt.NDArray[np.bool_], e: Float, known: npt.NDArray[np.bool_]) -> dict[str, Estimate]:
    """Return direct effect, spillover and their sum by least squares with robust errors; none where e is constant."""
    use = known & ~np.isnan(e)
    if use.sum() < 2 * LEAST or np.ptp(e[use]) < 1e-12 or z[use].all() or not z[use].any():
        return {}
    coefficients, covariance = _least_squares(_design(z[use], e[use]), y[use])
    reach = float(scipy.stats.t.ppf(0.975, use.sum() - coefficients.size))
    effects = {}
    for name, given in (("direct", (0.0, 1.0, 0.0)), ("spillover", (0.0, 0.0, 1.0)), ("total", (0.0, 1.0, 1.0))):
        contrast = np.array(given)
        value, margin = float(contrast @ coefficients), reach * float(np.sqrt(contrast @ covariance @ contrast))
        effects[name] = Estimate(value, value - margin, value + margin)
    return effects


def _least_squares(design: Float, y: Float) -> tuple[Float, Float]:
    """Return coefficients and their HC1 covariance (MacKinnon and White 1985, Journal of Econometrics 29)."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ y)
    scores = design * (y - design @ coefficients)[:, None]
    n, k = design.shape
    return coefficients, n / (n - k) * inverse @ (scores.T @ scores) @ inverse


def _design(z: npt.NDArray[np.bool_], e: Float) -> Float:
    return np.column_stack([np.ones(z.shape[0]), z.astype(np.float64), e])


def _drawn(given: Assignment, y: Float, known: npt.NDArray[np.bool_], draws: int) -> dict[str, Float]:
    """Compute every estimate under re-randomized assignments, with fixed outcomes: what chance alone would give."""
    rng = np.random.default_rng(20)
    linked = np.asarray(given.follows.sum(axis=1)) > 0
    use = known & linked
    out = {name: np.full(draws, np.nan) for name in ESTIMATES}
    for k in range(draws):
        z = rng.random(given.agents.size) < given.share
        here = known & z
        if 0 < here.sum() < known.sum():
            out["difference"][k] = y[here].mean() - y[known & ~z].mean()
        if use.sum() >= 2 * LEAST:
            coefficients, *_ = np.linalg.lstsq(_design(z[use], shares(given.follows, z)[use]), y[use], rcond=None)
            _, direct, spillover = coefficients
            out["direct"][k], out["spillover"][k], out["total"][k] = direct, spillover, direct + spillover
    return out


def _chance(value: float, drawn: Float | None) -> float:
    """Return a two-sided p value: the share of draws at least as large, the observed value included."""
    if drawn is None or np.isnan(drawn).all():
        return float("nan")
    known = drawn[~np.isnan(drawn)]
    return float((1 + np.count_nonzero(np.abs(known) >= abs(value) - 1e-15)) / (known.size + 1))


def exposure_cells(given: Assignment, outcomes: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Return mean outcomes by own treatment and by how many of the followed are treated, without a model.

    Each person is weighted by one over the chance that it came into its cell, given whom it follows (Hájek's
    estimator in Aronow and Samii 2017): who follows few is often in an extreme cell, and must not represent all.

    Returns
    -------
    DataFrame
        One row per cell that has persons: ``treated`` (bool), ``followed`` (``under half treated``, ``half or more``),
        ``persons``, ``mean``. Persons who could not have come into every cell are left out.
    """
    y = _values(given, outcomes)[outcome]
    degree = np.asarray(given.follows.sum(axis=1), np.float64)
    least = np.ceil(degree / 2)
    many = given.exposure >= 0.5
    chance_many = scipy.stats.binom.sf(least - 1, degree, given.share)
    use = ~np.isnan(y) & (degree > 0)
    rows = []
    for treated, high in product((False, True), repeat=2):
        cell = use & (given.treated == treated) & (many == high)
        chance = (given.share if treated else 1 - given.share) * np.where(high, chance_many, 1 - chance_many)
        if cell.any():
            followed = "half or more" if high else "under half treated"
            rows.append((treated, followed, int(cell.sum()), float(np.average(y[cell], weights=1 / chance[cell]))))
    return tidy(rows, {"treated": pl.Boolean()} | columns("followed:str persons:int mean"))
