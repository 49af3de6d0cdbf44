"""Figure: how far true and false posts went, and how unequally attention was shared out."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from townsquare.analysis.contract import Reads
from townsquare.analysis.diffusion import cascade_growth, diffusion_by_veracity
from townsquare.analysis.influence import influence
from townsquare.analysis.power_law import rank_fits
from townsquare.pages.report.axes import from_zero, over_steps, tick
from townsquare.pages.report.section import Panel, Section, Table
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import colour
from townsquare.pages.report.words import number, percent, significant

DIFFUSION = "Diffusion: how far true and false posts went"
INFLUENCE = "Influence: who got the attention"
LEAST_POSTS = 5
TOP = 50
"""Ranks that curves are fitted to, as MOSAIC does."""
_GROWTH = {"reach": "people reached", "shares": "shares", "depth": "links from the post"}


def diffusion_section(run: Reads) -> Section:
    """The figure of cascades, from a run."""
    if run.last_step < 1:
        return Section("diffusion", DIFFUSION, ["No step was recorded, so nothing spread."])
    growth = cascade_growth(run)
    known = growth.filter(pl.col("veracity") != "unknown")
    if not known.height:
        return Section(
            "diffusion", DIFFUSION, ["No post of known truth was injected: there are no cascades to compare."]
        )
    sums = diffusion_by_veracity(run)
    panels = []
    for measure, unit in _GROWTH.items():
        caption = f"{measure.capitalize()} of a post by its age, with 95% intervals"
        drawn = panel(_course(known.filter(pl.col("measure") == measure), unit), f"growth-{measure}", caption)
        panels.append(Panel(caption, drawn))
    return Section(
        "diffusion",
        DIFFUSION,
        says=[_sentence(sums)],
        notes=[
            f"Intervals are drawn where at least {LEAST_POSTS} posts have lived to an age; the tables have all of them."
        ],
        panels=panels,
        tables=[_sums_table(sums), _growth_table(known)],
    )


def _course(growth: pl.DataFrame, unit: str):  # type: ignore[no-untyped-def]
    def draw(axes: Axes) -> None:
        for word, dashes in (("true", "-"), ("false", (0, (4, 1.6)))):
            mine = growth.filter(pl.col("veracity") == word).sort("age")
            age = mine["age"].to_numpy()
            sure = mine.filter(pl.col("n") >= LEAST_POSTS)
            low, high = sure["low"].to_numpy(), sure["high"].to_numpy()
            at = sure["age"].to_numpy()
            axes.fill_between(at, np.maximum(low, 0), high, color=colour(word), alpha=0.15, linewidth=0)
            axes.plot(age, mine["value"].to_numpy(), color=colour(word), linestyle=dashes, label=f"{word} posts")
        over_steps(axes, max(growth["age"].to_list(), default=0), unit)
        axes.set_xlabel("steps since the post came")
        from_zero(axes, [*growth["value"], *growth.filter(pl.col("n") >= LEAST_POSTS)["high"]])

    return draw


def _sentence(sums: pl.DataFrame) -> str:
    means = {(row["measure"], row["veracity"]): row for row in sums.iter_rows(named=True)}
    said = []
    for measure, words in (("reach", "reached"), ("shares", "was shared"), ("structural_virality", "")):
        pair = [means.get((measure, word), {}).get("value") for word in ("true", "false")]
        if all(isinstance(value, float) and value == value for value in pair):
            true, false = (significant(value, 3) for value in pair)
            if measure == "reach":
                said.append(f"A true post {words} {true} people on average, a false one {false}.")
            elif measure == "shares":
                said.append(f"A true post {words} {true} times, a false one {false}.")
            else:
                said.append(f"Structural virality, the mean distance between its sharers, was {true} against {false}.")
    return " ".join(said) or "Posts of only one truth were injected, so there is nothing to compare."


def _sums_table(sums: pl.DataFrame) -> Table:
    cells = [
        [row["measure"].replace("_", " "), row["veracity"], row["unit"], number(row["n"]), significant(row["value"]),
         significant(row["low"]), significant(row["high"]), significant(row["median"])]
        for row in sums.iter_rows(named=True)
    ]  # fmt: skip
    head = ["measure", "truth", "unit", "posts", "mean", "low", "high", "median"]
    return Table("Cascades by truth", head, cells, frozenset({0, 1, 2}))


def _growth_table(growth: pl.DataFrame) -> Table:
    cells = [
        [row["measure"], row["veracity"], str(row["age"]), number(row["n"]), significant(row["value"]),
         significant(row["low"]), significant(row["high"])]
        for row in growth.iter_rows(named=True)
    ]  # fmt: skip
    return Table("By age", ["measure", "truth", "age", "posts", "mean", "low", "high"], cells, frozenset({0, 1}))


def influence_section(run: Reads) -> Section:
    """The figure of popularity by rank, from a run."""
    found = influence(run)
    persons = found.filter(pl.col("kind") == "person").sort("popularity", descending=True)
    got = persons["popularity"].to_numpy().astype(np.float64)
    if not got.size or not got.max():
        return Section("influence", INFLUENCE, ["Nobody got any like, share, comment or follower."])
    fits = rank_fits(got, TOP)
    caption = f"Popularity of people by rank, with curves fitted to the first {min(TOP, got.size)}"
    drawn = panel(_ranks(got, fits), "popularity", caption)
    tenth = float(np.sort(got)[::-1][: max(1, got.size // 10)].sum() / got.sum())
    said = f"The tenth of people with the most has {percent(tenth)} of all people's popularity."
    return Section(
        "influence",
        INFLUENCE,
        says=[f"{said}{_best(fits)}"],
        notes=[
            "Popularity counts likes, shares and comments that posts got, and followers. A fit by rank is a "
            "description: neighboring ranks are not independent, and R² is high for any curve that falls."
        ],
        panels=[Panel(caption, drawn)],
        tables=[_fit_table(fits), _top_table(found)],
    )


def _best(fits: pl.DataFrame) -> str:
    known = fits.filter(pl.col("aic").is_not_nan()).sort("aic")
    power = fits.filter(pl.col("model") == "power law")
    if not known.height or not power.height or power["r2"][0] != power["r2"][0]:
        return ""
    fit = f"{significant(power['a'][0])} · rank^−{significant(power['b'][0], 2)}"
    said = f" The power law {fit} has an R² of {number(power['r2'][0], 2)}"
    best = known["model"][0]
    return (
        f"{said}, and no other curve describes the ranks better."
        if best == "power law"
        else (f"{said}; by AIC a {best} describes the ranks better.")
    )


def _ranks(got: np.ndarray, fits: pl.DataFrame):  # type: ignore[no-untyped-def]
    def draw(axes: Axes) -> None:
        shown = got[got > 0]
        rank = np.arange(1, shown.size + 1)
        axes.plot(rank, shown, linestyle="", marker="o", markersize=3, color=colour("unknown"), label="people")
        power = fits.filter(pl.col("model") == "power law")
        if power.height and power["a"][0] == power["a"][0]:
            at = np.arange(1, min(TOP, got.size) + 1)
            axes.plot(at, power["a"][0] * at ** -power["b"][0], color=colour("first"), label="power law")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.yaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_xlabel("rank")
        axes.set_ylabel("popularity")

    return draw


def _fit_table(fits: pl.DataFrame) -> Table:
    cells = [
        [row["model"], row["formula"], *(significant(row[name]) for name in ("a", "b", "c", "r2", "aic"))]
        for row in fits.iter_rows(named=True)
    ]
    return Table("Curves by rank", ["curve", "formula", "a", "b", "c", "R²", "AIC"], cells, frozenset({0, 1}))


def _top_table(found: pl.DataFrame) -> Table:
    cells = [
        [clean(f"{row['kind']} {row['agent']}", 40), *(number(row[name]) for name in ("followers", "likes", "shares",
         "comments", "popularity")), number(row["influence"], 3)]
        for row in found.sort("rank").head(15).iter_rows(named=True)
    ]  # fmt: skip
    head = ["account", "followers", "likes", "shares", "comments", "popularity", "influence"]
    return Table("The fifteen most influential accounts", head, cells)
