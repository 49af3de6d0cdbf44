"""What people believed over time, proposition by proposition. Persons only: sources have no beliefs.

Two bases stand side by side. *The course* describes everybody who was there after a step. *The change* compares each
person with itself: its first recorded stance, that of the step in which it joined, with its last, so that newcomers
cannot look like a change of mind.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import special

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, once_a_run, row_count, setting
from townsquare.analysis.polarization import BINS, counts_by_bin, distribution
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import AgentKind, PostKind, Veracity
from townsquare.core.frames import ORDERED, collected
from townsquare.core.registry import check_known
from townsquare.record.packed import WHOLE_EVERY
from townsquare.settings.config import Answers

_STAYS = 0.05
"""A stance that moved by less is answered as the last time by those who repeat themselves."""
_ROWS = 1_000_000
"""Rows of beliefs that stand in memory at a time while distributions are measured: steps from one whole record of the
beliefs to another."""
_COURSE = (
    "step proposition name agents mean sd share_for share_against share_at_bounds q05 q25 q50 q75 q95 polarization"
    " accuracy confidence bimodality"
)


def person_beliefs(run: Reads) -> pl.LazyFrame:
    """Return the rows of ``beliefs`` that belong to persons."""
    sources = run.table("agents").filter(pl.col("kind") != AgentKind.PERSON)["agent"]
    beliefs = run.lazy("beliefs")
    return beliefs.filter(~pl.col("agent").is_in(sources.implode())) if sources.len() else beliefs


def names(run: Reads) -> pl.DataFrame:
    """Return the propositions: ``proposition`` (int16), ``name``, ``text``."""
    return run.table("propositions").select("proposition", "name", "text").sort("proposition")


def statements(run: Reads) -> dict[str, str]:
    """Return the statement of each proposition by name; the name itself where there is no statement."""
    return {name: text or name for name, text in names(run).select("name", "text").iter_rows()}


def of_proposition(run: Reads, frame: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Return the rows of a frame, which has a column ``proposition``, about one proposition; all for None.

    Raises
    ------
    UnknownName
        There is no such proposition.
    """
    if name is None:
        return frame
    known = dict(names(run).select("name", "proposition").rows())
    check_known("proposition", name, known)
    return frame.filter(pl.col("proposition") == known[name])


def true_sides(run: Reads) -> pl.DataFrame:
    """Return which side the truth supports: as the scenario states it, or else the side of all injected true posts.

    Returns
    -------
    DataFrame
        One row per proposition: ``proposition``, ``name``, ``posts`` (injected true posts with a stance toward
        it), ``mean_stance`` (of these posts, -1 to 1), ``side`` (1.0 if the scenario states that the proposition is
        true, -1.0 if false; if it states neither, the side that all of these posts take, and NaN if there are none or
        they are on both sides; a stance of 0 takes no side).
    """
    true = (pl.col("kind") == PostKind.INJECTED) & (pl.col("veracity") == Veracity.TRUE)
    stances = run.table("post_stances").join(run.table("posts").filter(true).select("post"), on="post")
    sign = pl.col("stance").sign()
    mean = pl.col("stance").mean().alias("mean_stance")
    sums = stances.group_by("proposition").agg(row_count("posts"), mean, low=sign.min(), high=sign.max())
    stated = pl.col("veracity").replace_strict({int(Veracity.TRUE): 1.0, int(Veracity.FALSE): -1.0}, default=None)
    one_side = pl.when(pl.col("low") * pl.col("high") >= 0).then((pl.col("low") + pl.col("high")).sign())
    side = pl.coalesce(stated, one_side.replace(0.0, None), float("nan")).alias("side")
    known = run.table("propositions").select("proposition", "name", "veracity")
    named = known.join(sums, on="proposition", how="left").with_columns(pl.col("posts").fill_null(0), side)
    return named.select("proposition", "name", "posts", "mean_stance", "side").sort("proposition")


def _accuracy(stance: pl.Expr) -> pl.Expr:
    """Return accuracy: 1 on the side of the truth, 0 at the other extreme, NaN where the truth takes no side."""
    return 1.0 - (stance - pl.col("side")).abs() / 2.0


@once_a_run
def belief_course(run: Reads) -> pl.DataFrame:
    """Distribution of stances after each step.

    Returns
    -------
    DataFrame
        One row per step from 0 and proposition: ``step``, ``proposition``, ``name``, ``agents`` (count),
        ``mean``, ``sd`` (population), ``share_for`` (stance above 0), ``share_against`` (below 0),
        ``share_at_bounds``, quantiles ``q05``, ``q25``, ``q50``, ``q75``, ``q95``, ``polarization`` and
        ``bimodality`` (0 to 1, see :mod:`~townsquare.analysis.polarization`), ``accuracy`` (mean of 1 less half the
        distance to the side of the truth, 0 to 1; NaN where it takes no side), ``confidence`` (mean, 0 to 1).
    """
    sides = true_sides(run).select("proposition", "name", "side")
    course = distributions(run).join(sides, on="proposition", maintain_order="left")
    accuracy = _accuracy(pl.col("mean")).alias("accuracy")  # it is linear in the stance
    return course.with_columns(accuracy).select(_COURSE.split())


@once_a_run
def distributions(run: Reads) -> pl.DataFrame:
    """Measure the stances after each step in one pass over the beliefs, which are read some steps at a time.

    Returns
    -------
    DataFrame
        One row per step and proposition, in this order: ``step``, ``proposition``, the measures of
        :func:`~townsquare.analysis.polarization.distribution`, ``confidence`` (mean) and ``bins`` (a count for each).
    """
    beliefs = person_beliefs(run).select("step", "proposition", "stance", "confidence")
    steps = max(run.last_step, 0) + 1  # a run without its start has a last step of -1
    by_step = int(getattr(run, "counts", {}).get("beliefs", 0)) // steps
    width = WHOLE_EVERY * max(_ROWS // (WHOLE_EVERY * max(by_step, 1)), 1)
    parts = []
    for first in range(0, steps, width):
        rows = beliefs.filter(pl.col("step").is_between(first, first + width - 1))
        groups = rows.group_by("step", "proposition").agg(pl.col("stance").sort(), pl.col("confidence").mean())
        parts.append(_measured(groups.pipe(collected, ORDERED).sort("step", "proposition")))
    return pl.concat(parts)


def _measured(groups: pl.DataFrame) -> pl.DataFrame:
    stances = [each.to_numpy() for each in groups["stance"]]
    measures = pl.DataFrame([distribution(each) for each in stances], _MEASURES)
    bins = pl.Series("bins", [counts_by_bin(each) for each in stances], pl.List(pl.Int64))
    return pl.concat([groups.drop("stance"), measures], how="horizontal").with_columns(bins)


_MEASURES = {name: pl.Int64 if name == "agents" else pl.Float64 for name in distribution(np.zeros(1))}


@once_a_run
def stance_bins(run: Reads) -> pl.DataFrame:
    """Number of persons by stance after each step, in 20 equal bins.

    Returns
    -------
    DataFrame
        One row per step, proposition and bin that is not empty: ``step``, ``proposition``, ``bin`` (int32, 0 to
        19; a stance of 1 belongs to the last, one that is no number to none), ``agents`` (int64).
    """
    bins = pl.lit([*range(BINS)], pl.List(pl.Int32))
    counts = distributions(run).select("step", "proposition", bin=bins, agents="bins")
    return counts.explode("bin", "agents").filter(pl.col("agents") > 0)


@once_a_run
def belief_change(run: Reads) -> pl.DataFrame:
    """Change of stance from the end of the warm-up to the last step, per proposition.

    Returns
    -------
    DataFrame
        One row per proposition: ``proposition``, ``name``, ``agents`` (persons at the end); ``mean_start``,
        ``mean_end``, ``shift`` (mean signed move), ``absolute_shift`` (mean size of the move); ``sd_start``,
        ``sd_end``, ``spread_kept`` = sd_end / sd_start (NaN if all started alike); ``changed_side`` (share
        whose stance changed its sign); ``side``, ``accuracy_start``, ``accuracy_end``, ``accuracy_shift`` (NaN
        where the truth takes no side).
    """
    return with_accuracy(run, moves_by(starts_and_ends(run), "proposition")).sort("proposition")


def first_stances(run: Reads, since: int = 0) -> pl.LazyFrame:
    """Return the stance of each person after joining, or after a later step: ``agent``, ``proposition``, ``start``.

    Also ``born``, the step in which the person joined.
    """
    at = pl.max_horizontal(pl.col("born").cast(pl.Int32), pl.lit(min(since, run.last_step), pl.Int32))
    born = run.table("agents").select("agent", pl.col("born").cast(pl.Int32), at.alias("at"))
    read = person_beliefs(run).filter(pl.col("step").is_in(born["at"].unique().implode()))
    first = read.join(born.lazy(), on="agent").filter(pl.col("step") == pl.col("at"))
    return first.select("agent", "proposition", pl.col("stance").alias("start"), "born")


def last_stances(run: Reads) -> pl.LazyFrame:
    """Return ``agent``, ``proposition``, ``end``: the stance of each person after the last step."""
    last = person_beliefs(run).filter(pl.col("step") == run.last_step)
    return last.select("agent", "proposition", pl.col("stance").alias("end"))


def belief_moves(run: Reads, first: int = 1, last: int | None = None) -> pl.LazyFrame:
    """Return each person's stance after these steps and before: ``step``, ``agent``, ``proposition``, two stances.

    They are ``stance`` and ``before``. A step in which a person joined is left out.
    """
    rows = person_beliefs(run).filter(pl.col("step").is_between(first - 1, run.last_step if last is None else last))
    before = pl.col("stance").shift(1).over("agent", "proposition").alias("before")  # rows come in order of steps
    return rows.select("step", "agent", "proposition", "stance", before).filter(pl.col("before").is_not_null())


def starts_and_ends(run: Reads) -> pl.LazyFrame:
    """Return stances at the start and at the end: ``agent``, ``proposition``, ``start``, ``end``.

    The start is the end of the warm-up, or the step in which a person joined later.
    """
    return first_stances(run, clock_of(run).warm_up).join(last_stances(run), on=["agent", "proposition"])


def moves_by(rows: pl.LazyFrame, *by: str) -> pl.DataFrame:
    """Return columns ``agents`` to ``changed_side`` of :func:`belief_change`, by group of :func:`starts_and_ends`."""
    start, end = pl.col("start"), pl.col("end")
    before, after, shift = start.std(ddof=0), end.std(ddof=0), end - start
    moves = rows.group_by(by).agg(
        row_count("agents"),
        mean_start=start.mean(),
        mean_end=end.mean(),
        shift=shift.mean(),
        absolute_shift=shift.abs().mean(),
        sd_start=before,
        sd_end=after,
        spread_kept=pl.when(before > 1e-12).then(after / before).otherwise(float("nan")),
        changed_side=(start * end < 0).mean(),
    )
    return moves.pipe(collected, ORDERED)


def with_accuracy(run: Reads, moves: pl.DataFrame) -> pl.DataFrame:
    """Return moves by group with the remaining columns of :func:`belief_change`; accuracy is linear in the stance."""
    start, end = (_accuracy(pl.col(mean)) for mean in ("mean_start", "mean_end"))
    accuracy = {"accuracy_start": start, "accuracy_end": end, "accuracy_shift": end - start}
    sides = true_sides(run).select("proposition", "name", "side")
    judged = moves.join(sides.drop("name"), on="proposition").with_columns(**accuracy)
    return sides.select("proposition", "name").join(judged, on="proposition")


def stance_lines(run: Reads, lines: int = 12) -> pl.DataFrame:
    """Return the courses of some single persons, chosen evenly over the order of starting stances; no draw decides.

    Parameters
    ----------
    run : Reads
    lines : int
        Persons at most, for each proposition; at least 1.

    Returns
    -------
    DataFrame
        ``proposition``, ``agent``, ``step``, ``stance``, sorted in this order.
    """
    first = person_beliefs(run).filter(pl.col("step") == 0).select("agent", "proposition", "stance").pipe(collected)
    chosen = []
    for _, part in sorted(first.group_by("proposition"), key=lambda item: item[0]):
        ordered = part.sort("stance", "agent")
        places = np.unique(np.linspace(0, ordered.height - 1, min(lines, ordered.height)).round().astype(np.int64))
        chosen.append(ordered[places.tolist()].select("agent", "proposition"))
    if not chosen:
        return first.select("proposition", "agent", pl.lit(0).alias("step"), "stance")
    pairs = pl.concat(chosen)
    beliefs = run.lazy("beliefs").select("proposition", "agent", "step", "stance")
    courses = beliefs.filter(pl.col("agent").is_in(pairs["agent"].unique().implode())).pipe(collected)
    return courses.join(pairs, on=["agent", "proposition"]).sort("proposition", "agent", "step")


def answers_to(run: Reads, stances: pl.DataFrame) -> pl.DataFrame:
    """Return what people would say when asked at the start and at the end, as panels ask them.

    Parameters
    ----------
    run : Reads
        Its settings ``beliefs.answers`` and its seed make the answers.
    stances : DataFrame
        ``agent``, ``proposition``, ``start`` and ``end``, in [-1, 1].

    Returns
    -------
    DataFrame
        The same rows with ``start`` and ``end`` as answered, in [-1, 1]: a stance with the noise of an answer; the
        second time the first answer again, with a probability, where the stance moved by less than 0.05.
    """
    noise = float(setting(run, "beliefs", "answers", "noise", default=Answers().noise))
    repeat = float(setting(run, "beliefs", "answers", "repeat", default=Answers().repeat))
    draw = Draws(int(setting(run, "seed", default=1)), 0)(Stage.BELIEF)
    agent, key = stances["agent"].to_numpy(), stances["proposition"].to_numpy().astype(np.uint64)
    start, end = (
        np.clip(stances[when].to_numpy() + noise * special.ndtri(draw.uniform(f"answer {when}", agent, key)), -1, 1)
        for when in ("start", "end")
    )
    stays = (stances["end"] - stances["start"]).abs().to_numpy() < _STAYS
    again = stays & (draw.uniform("answer again", agent, key) < repeat)
    return stances.with_columns(start=pl.Series(start), end=pl.Series(np.where(again, start, end)))
