"""Figure: engagement with true and false posts, as levels, gap and ratio."""

from __future__ import annotations

import math

import polars as pl

from townsquare.analysis.clock import Clock, after_warm_up, clock_of
from townsquare.analysis.contract import Reads
from townsquare.analysis.engagement import engagement, engagement_balance
from townsquare.analysis.posts import VERACITIES
from townsquare.analysis.reach import reach_over_time
from townsquare.core.text_table import Table, table, turned
from townsquare.core.words import count, number, small
from townsquare.pages.report.axes import band, course
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure

TITLE = "Engagement: true vs. false posts"
_BOTH = {"true": ("true", "true posts"), "false": ("false", "false posts")}
_NOTE = (
    "The gap is a total: it grows with activity and with the number of posts of each kind. Levels and ratio are per "
    "post."
)


def engagement_section(run: Reads) -> Section:
    """Return the section on engagement."""
    by_class = engagement(run)
    sides = engagement_balance(run)
    reached = reach_over_time(run)
    known = by_class.filter(pl.col("veracity") != "unknown")
    if run.last_step < 1:
        return Section("engagement", TITLE, ["No step was recorded, so there is no engagement to show."])
    if not known["posts"].sum():
        after = after_warm_up(clock_of(run))
        why = f"No post of known veracity was injected{after}, so true and false posts cannot be compared."
        totals = _by_class_table(by_class, clock_of(run))
        return Section("engagement", TITLE, [f"{why} {_unknown(by_class)}"], tables=[totals])
    says = " ".join(filter(None, (_levels(sides, clock_of(run)), _gap(sides), _reach(reached))))
    by_step = table("Engagement per post by step", sides, (number, "step", "true", "false", "gap", "ratio"))
    return Section(
        "engagement", TITLE, says=[says], notes=[_NOTE], figures=_figures(sides, reached, clock_of(run)),
        tables=[by_step, _by_class_table(by_class, clock_of(run))],
    )  # fmt: skip


def _figures(sides: pl.DataFrame, reached: pl.DataFrame, clock: Clock) -> list[Figure]:
    def fill(axes: Chart) -> None:
        band(axes, sides["step"].to_numpy(), 0.0, sides["gap"].to_numpy(), "unknown", alpha=0.18)

    return [
        course(
            "levels", "Engagement per injected post, cumulative", sides, _BOTH, clock, "actions per post",
            label="Engagement per true and per false post over steps",
        ),
        course(
            "gap", "Gap: engagement with true minus false posts, cumulative", sides, {"gap": ("unknown", "")}, clock,
            "actions, true − false", top=None, level=(0.0, ""), finish=fill,
            label="Cumulative engagement with true posts minus that with false posts",
        ),
        course(
            "ratio", "Ratio of engagement per post, true : false", sides, {"ratio": ("ink", "")}, clock,
            "ratio, true : false", top=1.2, level=(1.0, "equal engagement"),
            label="Engagement per true post divided by engagement per false post",
        ),
        course(
            "reach", "Mean reach per post",
            reached.pivot("veracity", index="step", values="mean_reach"), _BOTH, clock, "distinct people per post",
            label="Mean reach of true and of false posts over steps",
        ),
    ]  # fmt: skip


def _levels(sides: pl.DataFrame, clock: Clock) -> str:
    end = sides.row(-1, named=True)
    when, true, false = clock.says(end["step"]), end["true"], end["false"]
    if math.isnan(true) or math.isnan(false):
        there, level = ("false", false) if math.isnan(true) else ("true", true)
        only = f"Only {there} posts were injected{after_warm_up(clock)}"
        return f"{only}; by {when} each had {small(level)} actions on average."
    text = f"By {when}, each true post had {small(true)} likes, dislikes, shares and comments on average"
    text += f" and each false post {small(false)}"
    if false == 0:
        return text + (": neither had any." if true == 0 else ", so the ratio is undefined.")
    return f"{text}: a ratio of {number(end['ratio'])} to 1."


def _gap(sides: pl.DataFrame) -> str:
    end = sides.row(-1, named=True)
    if math.isnan(end["true"]) or math.isnan(end["false"]):
        return ""
    gap = int(end["gap"])
    if gap == 0:
        return "In total, both had the same number of actions."
    return f"In total, {'true' if gap > 0 else 'false'} posts had {count(abs(gap), 'more action')}."


def _reach(reached: pl.DataFrame) -> str:
    end = reached.filter(pl.col("step") == reached["step"].max())
    means = dict(end.select("veracity", "mean_reach").rows())
    known = [(word, means[word]) for word in ("true", "false") if not math.isnan(means[word])]
    parts = [f"{word} posts reached {small(mean)}" for word, mean in known]
    return f"On average, {' people and '.join(parts)} people."


def _unknown(by_class: pl.DataFrame) -> str:
    end = by_class.filter((pl.col("veracity") == "unknown") & (pl.col("step") == by_class["step"].max()))
    row = end.row(0, named=True)
    return f"The {number(row['posts'])} other posts and comments had {number(row['cumulative'])} actions in total."


def _by_class_table(by_class: pl.DataFrame, clock: Clock) -> Table:
    kinds = ["likes", "dislikes", "shares", "comments", "engagement"]
    end = by_class.sort("step").group_by("veracity").agg(pl.col(kinds).sum(), pl.col("posts", "per_post").last())
    sides = {row["veracity"]: row for row in end.iter_rows(named=True)}
    which = f"posts{after_warm_up(clock)}" if clock.warm_up else "all posts"
    caption, head = f"Totals over {which}, by veracity of the post", ["", "true", "false", "unknown"]
    return turned(caption, head, [sides[word] for word in VERACITIES], (number, "posts", *kinds, "per post=per_post"))
