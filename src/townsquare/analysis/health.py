"""Whether a run can be believed: how much beliefs moved, where they ended, who acted, what was refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from townsquare.analysis.belief_paths import crossing_counts
from townsquare.analysis.beliefs import (
    answers_to,
    belief_change,
    belief_course,
    belief_moves,
    names,
    starts_and_ends,
)
from townsquare.analysis.causes.contributions import unit_of
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, columns, int_sum, once_a_run, ratio, row_count, setting
from townsquare.analysis.posts import accepted
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import ActionStatus, Reason, TrailKind
from townsquare.core.files import bundled_folder
from townsquare.core.frames import ORDERED, as_words, collected
from townsquare.core.schema import TABLES
from townsquare.settings.config import Answers
from townsquare.settings.layers import read_yaml

ROWS_AT_ONCE = 4_000_000
"""Rows of beliefs held in memory at a time; windows of steps are cut to it."""
_BELIEF = ["step", "agent", "proposition"]


class RunHealth(NamedTuple):
    """How far a run came, and what became of its actions: from its settings and its table of steps alone.

    Attributes
    ----------
    state : str
        ``finished``, ``running`` or ``stopped``.
    done, planned : int
        Steps that are recorded, and that the settings ask for.
    tried, refused : int
        All actions, ignoring and refused ones included; refused actions.
    """

    state: str
    done: int
    planned: int
    tried: int
    refused: int

    @property
    def unfinished(self) -> bool:
        """Whether steps are missing."""
        return self.state != "finished" or self.done < self.planned

    @property
    def idle(self) -> bool:
        """Whether nobody did anything."""
        return self.done > 0 and not self.tried

    @property
    def refused_share(self) -> float:
        """Refused actions over all actions, ignoring included; 0 without actions."""
        return self.refused / self.tried if self.tried else 0.0


def run_health(run: Reads) -> RunHealth:
    """Return what can be said of the health of a run without a look at its large tables."""
    steps, planned = run.table("steps"), setting(run, "steps")
    done = max(run.last_step, 0)
    tried, refused = int(steps["actions"].sum()), int(steps["refused"].sum())
    return RunHealth(run.state, done, planned if isinstance(planned, int) else done, tried, refused)


def _windows(run: Reads) -> Iterator[tuple[int, int]]:
    """Return first and last steps, both included, that together cover 1 to the last, in pieces that fit in memory."""
    width = max(1, ROWS_AT_ONCE // max(1, run.table("agents").height * names(run).height) - 1)
    for first in range(1, run.last_step + 1, width):
        yield first, min(first + width - 1, run.last_step)


@once_a_run
def belief_movement(run: Reads) -> pl.DataFrame:
    """Belief change in each step, and how many changes overshoot: go beyond the previous stance and all stances shown.

    A move *overshoots* when the exposures alone carry a person beyond its own stance and everything it was shown: the
    sum of their contributions leaves the hull of the stance before and the stances of the posts that moved it. A rule
    that averages never does; one that adds unbounded pulls may, and then flips signs step by step.

    Returns
    -------
    DataFrame
        One row per step from 1 and proposition: ``step``, ``proposition``, ``name``; ``moved`` (persons whose
        stance changed), ``gain`` = sum of the sizes of all moves (stance), ``gain_per_person`` (stance);
        ``overshoots`` (int64 count; null where the run has no trail in stance units).
    """
    parts = [_moves_in(run, first, last) for first, last in _windows(run)]
    moves = pl.concat(parts or [_moves_in(run, 1, 0)]).join(names(run).select("proposition", "name"), on="proposition")
    columns = ["step", "proposition", "name", "moved", "gain", "gain_per_person", "overshoots"]
    return moves.select(columns).sort("step", "proposition")


def _moves_in(run: Reads, first: int, last: int) -> pl.DataFrame:
    both = belief_moves(run, first, last)
    size = (pl.col("stance") - pl.col("before")).abs()
    by = both.group_by("step", "proposition")
    moves = by.agg(int_sum(size > 0, "moved"), gain=size.sum(), gain_per_person=size.mean())
    if not _stance_trail(run):
        return moves.with_columns(pl.lit(None, pl.Int64).alias("overshoots")).pipe(collected, ORDERED)
    together = moves.join(_overshoots(run, both.drop("stance"), first, last), on=["step", "proposition"], how="left")
    return together.with_columns(pl.col("overshoots").fill_null(0)).pipe(collected, ORDERED)


def _stance_trail(run: Reads) -> bool:
    """Return whether the run recorded why beliefs moved, in units of stance."""
    is_known = str(setting(run, "beliefs", "rule", default="")) in registry.names("beliefs")
    return is_known and unit_of(run) == "stance" and bool(setting(run, "record", "trail", default=True))


def _overshoots(run: Reads, before: pl.LazyFrame, first: int, last: int) -> pl.LazyFrame:
    posts = run.table("posts").lazy().select("post", "root")
    stances = run.table("post_stances").lazy().select(pl.col("post").alias("root"), "proposition", "stance")
    shown = run.lazy("trail").filter(pl.col("step").is_between(first, last), pl.col("kind") == TrailKind.EXPOSURE)
    of_posts = shown.join(posts, on="post").join(stances, on=["root", "proposition"]).group_by(_BELIEF)
    pulls = of_posts.agg(pl.col("amount").sum(), low=pl.col("stance").min(), high=pl.col("stance").max())
    pulls = pulls.join(before, on=_BELIEF)
    after, margin = pl.col("before") + pl.col("amount"), 1e-9
    low, high = pl.min_horizontal("low", "before"), pl.max_horizontal("high", "before")
    beyond = (after < low - margin) | (after > high + margin)
    return pulls.group_by("step", "proposition").agg(int_sum(beyond, "overshoots"))


def participation(run: Reads) -> pl.DataFrame:
    """Persons online and acting, actions and exposures in each step.

    Returns
    -------
    DataFrame
        One row per step from 1: ``step``, ``agents`` (persons at its end), ``online`` (persons with a feed),
        ``acting`` (distinct persons among them with an accepted action other than ignoring), ``silent_share`` = 1 −
        acting / online (0 to 1, NaN if nobody was online), ``exposures``, ``accepted`` (actions other than ignoring,
        also notes and ratings of contributors who are offline), ``refused`` (actions), ``seconds`` (wall time).
    """
    who = pl.col("agent").n_unique().cast(pl.Int64).alias("acting")
    acting = _by_persons_online(run, accepted(run)).group_by("step").agg(who).pipe(collected)
    many = accepted(run).group_by("step").agg(row_count("accepted")).pipe(collected)
    lurking = pl.when(pl.col("online") > 0).then(1.0 - pl.col("acting") / pl.col("online")).otherwise(float("nan"))
    steps = run.table("steps").filter(pl.col("step") >= 1)
    steps = steps.join(acting, on="step", how="left").join(many, on="step", how="left")
    counts = ["exposures", "accepted", "refused", "seconds"]
    counted = steps.with_columns(pl.col("acting", "accepted").fill_null(0)).sort("step")
    return counted.select("step", "agents", "online", "acting", lurking.alias("silent_share"), *counts)


def activity(steps: pl.DataFrame) -> dict[str, float]:
    """Return the outcomes of activity over some steps of :func:`participation`; NaN for nobody online or no attempt.

    >>> activity(pl.DataFrame({"online": [4, 2], "acting": [1, 2], "exposures": [8, 4], "accepted": 3, "refused": 1}))
    {'actions_per_agent_step': 1.0, 'exposures_per_agent_step': 2.0, 'silent_share': 0.5, 'refused_share': 0.25}
    """
    names = "online", "acting", "exposures", "accepted", "refused"
    online, acting, exposures, accepted, refused = (int(steps[name].sum()) for name in names)
    rates = {"actions_per_agent_step": ratio(accepted, online), "exposures_per_agent_step": ratio(exposures, online)}
    return {**rates, "silent_share": 1.0 - ratio(acting, online), "refused_share": ratio(refused, accepted + refused)}


def _by_persons_online(run: Reads, actions: pl.LazyFrame) -> pl.LazyFrame:
    """Return the actions of persons who were online: contributors write and rate notes outside feeds, offline too.

    Who wrote or rated a note was online if there are exposures of that step. They are read only where a setting of the
    run, of an event or of a strategy that was not chosen enrolls contributors.
    """
    if not _enrolls([setting(run, "moderation"), setting(run, "events")]):
        return actions
    of_notes = pl.col("kind").is_in([int(ActionKind.ADD_NOTE), int(ActionKind.RATE_NOTE)])
    online = run.lazy("exposures").select("step", "agent")
    in_feeds = actions.filter(of_notes).join(online, on=["step", "agent"], how="semi")
    return pl.concat([actions.filter(~of_notes), in_feeds])


def _enrolls(settings: Any) -> bool:
    """Return whether settings, or lists of them, set `contributors` above 0, with or without the section's name."""
    if isinstance(settings, Mapping):
        own = [value for name, value in settings.items() if name.rpartition(".")[2] == "contributors"]
        return any(isinstance(value, int | float) and value > 0 for value in own) or _enrolls(list(settings.values()))
    return isinstance(settings, list | tuple) and any(map(_enrolls, settings))


def diagnostics(run: Reads) -> pl.DataFrame:
    """Further diagnostics of each step, such as the proportion of first sights among exposures.

    Returns
    -------
    DataFrame
        One row per step from 1: ``step``, and each of these columns (float64), null in runs that were recorded before
        it.
    """
    later = [column.name for column in TABLES["steps"].recorded if column.since > 1]
    values = pl.col(later).cast(pl.Float64).fill_nan(None)
    return run.table("steps").filter(pl.col("step") >= 1).select("step", values).sort("step")


REASONS: dict[str, str] = bundled_labels("refusals")
"""What the reasons of :func:`refusals` mean, as pages and commands say it."""


def refusals(run: Reads) -> pl.DataFrame:
    """Refused actions by reason.

    Returns
    -------
    DataFrame
        One row per reason that occurred, most frequent first: ``reason`` (word), ``actions`` (int64 count),
        ``share`` of attempted actions other than ignoring (0 to 1; the shares sum to the refused share of the run).
    """
    words = {int(reason): reason.name.lower().replace("_", " ") for reason in Reason}
    is_refused = pl.col("status") == ActionStatus.REFUSED
    tried = run.lazy("actions").filter(is_refused | (pl.col("kind") != ActionKind.IGNORE))
    counts = tried.group_by("status", "reason").agg(row_count("actions")).pipe(collected)
    refused = counts.filter(is_refused)
    share = (pl.col("actions") / max(1, int(counts["actions"].sum()))).alias("share")
    columns = as_words("reason", words), "actions", share
    return refused.select(columns).sort(["actions", "reason"], descending=[True, False])


# Whether a belief rule did what a rule should: how far it moves people, and the ways in which it can go wrong.
#
# A flag is a reason to look, not a proof of a fault: the limits are conventions of this project, stated with each
# check.


CHECKS, _ = read_yaml(bundled_folder() / "belief_checks.yaml")
"""The checks by name, each with its limit and the meaning of its value; the first lines of the file say more."""
EDGE = 1e-3
"""Trust this near to 0 or 1 counts as saturated."""
SIDED, TWO_WEEKS, FEWEST_ASKED = 0.1, 14 * 24.0, 200
"""Size of a stance above which a person has a side, hours, and people whose answers tell a regression from noise."""
_CHECKED = columns("at:int check:str least limit meaning:str")
_VALUES = {"check": pl.String, "proposition": pl.Int16, "value": pl.Float64}


def rule_health(run: Reads) -> pl.DataFrame:
    """Checks of the belief rule, with limits and flags.

    Returns
    -------
    DataFrame
        One row per check and proposition: ``check`` (of :data:`CHECKS`), ``proposition``, ``name``, ``value`` (null
        where the run does not tell), ``limit``, ``flagged`` (bool), ``meaning``.
    """
    change, course, moves = belief_change(run), belief_course(run), belief_movement(run)
    last = course.filter(pl.col("step") == run.last_step)
    values = [
        moves.group_by("proposition").agg(pl.col("gain_per_person").max().alias("value")).select(_named("gain")),
        _overshoot_share(moves),
        _flips(run, change),
        change.with_columns(value=_spread_of_answers(run)).select(_named("spread")),
        *_as_in_panels(run),
        last.rename({"share_at_bounds": "value"}).select(_named("at_bounds")),
        _trust(run),
        _frozen(run, moves),
    ]
    known = pl.concat(values, how="vertical_relaxed").with_columns(pl.col("value").cast(pl.Float64).fill_nan(None))
    rows = [(at, name, of.get("least"), of.get("limit"), of["meaning"]) for at, (name, of) in enumerate(CHECKS.items())]
    checks = pl.DataFrame(rows, _CHECKED, orient="row")
    below, above = pl.col("value") < pl.col("least"), pl.col("value") > pl.col("limit")
    flagged = (below | above).fill_null(value=False).alias("flagged")
    named = known.join(names(run).select("proposition", "name"), on="proposition").join(checks, on="check")
    limit = pl.when(below | pl.col("limit").is_null()).then("least").otherwise("limit").alias("limit")
    columns = ["check", "proposition", "name", "value", limit, flagged, "meaning"]
    return named.sort("at", "proposition").select(columns)


def _as_in_panels(run: Reads) -> Iterator[pl.DataFrame]:
    """Return what panels say of people: who changes sides, and whether change of answers follows from their start."""
    both = starts_and_ends(run).filter(pl.col("start").is_finite(), pl.col("end").is_finite())
    moves, clock = collected(both).sort("proposition", "agent"), clock_of(run)
    short = (clock.last - clock.warm_up) * (clock.hours or 0.0) <= TWO_WEEKS
    sided = moves.filter(pl.col("start").abs() > SIDED, pl.lit(short)).group_by("proposition")
    yield sided.agg((pl.col("start") * pl.col("end") < 0).mean().alias("value")).select(_named("sides"))
    moved = (pl.col("start") != pl.col("end")).any().over("proposition")  # else answers change by their noise alone
    asked = moves.filter(pl.len().over("proposition") >= FEWEST_ASKED, moved)
    answers = answers_to(run, asked)
    r = pl.corr("start", pl.col("end") - pl.col("start"))
    yield answers.group_by("proposition").agg((r**2).alias("value")).select(_named("reversion"))


def _spread_of_answers(run: Reads) -> pl.Expr:
    """Return final SD ÷ initial SD of answers, stances with independent noise, as panels have them."""
    variance = float(setting(run, "beliefs", "answers", "noise", default=Answers().noise)) ** 2
    start, end = ((pl.col(sd) ** 2 + variance).sqrt() for sd in ("sd_start", "sd_end"))
    return pl.when(start > 1e-12).then(end / start).otherwise(float("nan"))


def _named(check: str) -> list[pl.Expr]:
    return [pl.lit(check).alias("check"), pl.col("proposition"), pl.col("value")]


def _overshoot_share(moves: pl.DataFrame) -> pl.DataFrame:
    counted = moves.filter(pl.col("overshoots").is_not_null())
    share = pl.when(pl.col("moved").sum() > 0).then(pl.col("overshoots").sum() / pl.col("moved").sum()).otherwise(0.0)
    return counted.group_by("proposition").agg(share.alias("value")).select(_named("overshoot"))


def _flips(run: Reads, change: pl.DataFrame) -> pl.DataFrame:
    many = change.select("proposition", "agents")
    each = (pl.col("flips") / pl.col("agents")).alias("value")
    return crossing_counts(run).join(many, on="proposition").with_columns(each).select(_named("flips"))


def _trust(run: Reads) -> pl.DataFrame:
    if not setting(run, "record", "trail", default=True):
        return pl.DataFrame(schema=_VALUES)
    late = run.last_step - max(1, math.ceil(run.last_step / 4)) + 1
    edge = (pl.col("trust") <= EDGE) | (pl.col("trust") >= 1 - EDGE)
    rows = run.lazy("trail").filter(pl.col("step") >= late, pl.col("trust").is_not_nan()).group_by("proposition")
    return rows.agg(value=edge.mean()).select(_named("trust_saturated")).pipe(collected, ORDERED)


def _frozen(run: Reads, moves: pl.DataFrame) -> pl.DataFrame:
    """Return only where posts that take a stance were shown, and the rule is one that moves."""
    if str(setting(run, "beliefs", "rule", default="")) == "no_change":
        return pl.DataFrame(schema=_VALUES)
    stances = run.table("post_stances").lazy().select(pl.col("post").alias("root"), "proposition").unique()
    seen = run.lazy("exposures").select("root").join(stances, on="root").select("proposition").unique().pipe(collected)
    share = pl.col("moved").max().alias("value")
    return moves.join(seen, on="proposition").group_by("proposition").agg(share).select(_named("frozen"))
