"""Figures: diffusion of true and false posts, and the distribution of attention."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.clock import Clock, after_warm_up, clock_of, over_whole_run
from townsquare.analysis.contract import Reads
from townsquare.analysis.diffusion import cascade_growth, diffusion_by_veracity
from townsquare.analysis.influence import influence
from townsquare.analysis.power_law import rank_fits
from townsquare.core.array_types import Float
from townsquare.core.text_table import table
from townsquare.core.words import capital, number, percent, short, significant, three
from townsquare.pages.report.axes import DASHES, band, from_zero, over_steps
from townsquare.pages.report.chart import Chart, tick
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

DIFFUSION = "Diffusion: true vs. false posts"
INFLUENCE = "Influence: distribution of attention"
LEAST_POSTS = 5
TOP = 50
"""Ranks that curves are fitted to, as MOSAIC does."""
_MEANS = (number, "posts=n"), (significant, "mean=value", "95% CI low=low", "95% CI high=high")
_NOTE = (
    f"Bands are 95% CIs, drawn for ages that at least {LEAST_POSTS} posts reached. At later ages, lines are means of "
    "fewer posts. The tables include all ages."
)
_AFTER = "Figures and table by age: posts injected after the warm-up. Table of cascades: all posts of the run."
_MEASURES = {"half_reach": "time to half of reach"}
_GROWTH = {"reach": "people reached", "shares": "shares", "depth": "reshares from the original post"}


def diffusion_section(run: Reads) -> Section:
    """Return the section on cascades."""
    if run.last_step < 1:
        return Section("diffusion", DIFFUSION, ["No step was recorded, so there are no cascades."])
    growth = cascade_growth(run)
    known = growth.filter(pl.col("veracity") != "unknown")
    if not known.height:
        after = after_warm_up(clock_of(run))
        why = f"No post of known veracity was injected{after}, so cascades cannot be compared."
        return Section("diffusion", DIFFUSION, [why])
    sums = diffusion_by_veracity(run).with_columns(pl.col("measure").replace(_MEASURES).str.replace_all("_", " "))
    figures = [
        Figure(
            f"growth-{measure}", f"{measure.capitalize()} by age of the post, with 95% CI",
            known.filter(measure=measure), partial(_draw_growth, unit=unit, clock=clock_of(run)),
        )
        for measure, unit in _GROWTH.items()
    ]  # fmt: skip
    return Section(
        "diffusion", DIFFUSION, says=[_sentence(sums, clock_of(run))],
        notes=[f"{_NOTE} {_AFTER}" if clock_of(run).warm_up else _NOTE], figures=figures,
        tables=[
            table("Cascades by veracity", sums, (str, "measure", "veracity", "unit"), *_MEANS, (significant, "median")),
            table("By age", known, (str, "measure", "veracity", "age"), *_MEANS),
        ],
    )  # fmt: skip


def _draw_growth(axes: Chart, growth: pl.DataFrame, unit: str, clock: Clock) -> None:
    sure = growth.filter(pl.col("n") >= LEAST_POSTS)
    for word, dashes in zip(("true", "false"), DASHES, strict=False):
        of_class, shown = (frame.filter(pl.col("veracity") == word).sort("age") for frame in (growth, sure))
        low, high = np.maximum(shown["low"].to_numpy(), 0), shown["high"].to_numpy()
        band(axes, shown["age"].to_numpy(), low, high, word, alpha=0.15)
        course = of_class["age"].to_numpy(), of_class["value"].to_numpy()
        axes.plot(*course, color=color(word), linestyle=dashes, label=f"{word} posts")
    over_steps(axes, clock._replace(last=max(growth["age"].to_list(), default=0)), unit, ages=True)
    from_zero(axes, [*growth["value"], *sure["high"]])


def _sentence(sums: pl.DataFrame, clock: Clock) -> str:
    means = {(row["measure"], row["veracity"]): row for row in sums.iter_rows(named=True)}
    parts = {
        "reach": f"{over_whole_run(clock)}on average, true posts reached {{}} people and false posts {{}}.",
        "shares": "True posts were shared {} times, false posts {}.",
        "structural virality": "Structural virality (mean distance between any two sharers) was {} vs. {}.",
    }
    sentences = []
    for measure, words in parts.items():
        pair = [means.get((measure, word), {}).get("value") for word in ("true", "false")]
        if all(isinstance(value, float) and value == value for value in pair):
            sentences.append(words.format(*(significant(value, 3) for value in pair)))
    return capital(" ".join(sentences)) or "Only true or only false posts were injected, so they cannot be compared."


def influence_section(run: Reads) -> Section:
    """Return the section on popularity by rank."""
    accounts = influence(run)
    persons = accounts.filter(pl.col("kind") == "person").sort("popularity", descending=True)
    got = persons["popularity"].to_numpy().astype(np.float64)
    if not got.size or not got.max():
        return Section("influence", INFLUENCE, ["Nobody received a like, share, comment or follower."])
    fits = rank_fits(got, TOP)
    caption = f"Popularity by rank, with a power law fitted to the top {min(TOP, got.size)}"
    number_of = pl.format("agent {}", "agent")
    named = accounts.join(agent_names(run), on="agent", how="left")
    top = named.sort("rank").head(15).with_columns(pl.col("name").fill_null(number_of).alias("account"))
    tenth = float(np.sort(got)[::-1][: max(1, got.size // 10)].sum() / got.sum())
    whole = over_whole_run(clock_of(run))
    sentence = f"{whole}the most popular 10% of people account for {percent(tenth)} of the popularity of all people."
    return Section(
        "influence", INFLUENCE, says=[f"{capital(sentence)}{_best(fits)}"],
        notes=[
            "Popularity is the sum of followers and of likes, shares and comments that an account's posts received, "
            "its comments left out. Fits by rank are descriptive: neighboring ranks are not independent, and R² is "
            "high for any decreasing curve. Influence (0 to 1) is MOSAIC's score, a weighted mean of the same four "
            "numbers, each divided by its largest value."
        ],
        figures=[Figure("popularity", caption, (got, fits), _draw_ranks)],
        tables=[
            table(
                "Curves fitted by rank", fits, (str, "curve=model", "formula"),
                (significant, "a", "b", "c", "R²=r2", "AIC=aic"),
            ),
            table(
                "The 15 most popular accounts", top, (short, "account"),
                (number, "followers", "likes", "shares", "comments", "popularity"), (three, "influence"),
            ),
        ],
    )  # fmt: skip


def _best(fits: pl.DataFrame) -> str:
    known = fits.filter(pl.col("aic").is_not_nan()).sort("aic")
    power = fits.filter(pl.col("model") == "power law")
    if not known.height or not power.height or power["r2"][0] != power["r2"][0]:
        return ""
    fit = f"{significant(power['a'][0])} · rank^−{significant(power['b'][0], 2)}"
    sentence = f" A power law {fit} fits with R² = {number(power['r2'][0], 2)}"
    if (best := known["model"][0]) == "power law":
        return f"{sentence} and the lowest AIC of all curves."
    return f"{sentence}, but the {best} curve has a lower AIC."


def _draw_ranks(axes: Chart, data: tuple[Float, pl.DataFrame]) -> None:
    got, fits = data
    shown = got[got > 0]
    rank = np.arange(1, shown.size + 1)
    axes.plot(rank, shown, linestyle="", marker="o", markersize=3, color=color("unknown"), label="people")
    power = fits.filter(pl.col("model") == "power law")
    if power.height and power["a"][0] == power["a"][0]:
        at = np.arange(1, min(TOP, got.size) + 1)
        axes.plot(at, power["a"][0] * at ** -power["b"][0], color=color("first"), label="power law")
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="popularity")
    axes.xaxis.set_major_formatter(tick)
    axes.yaxis.set_major_formatter(tick)
