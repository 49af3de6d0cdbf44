"""The page of a multiverse: a specification curve for each outcome, and shares of its variance."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.contract import Measure
from townsquare.analysis.outcomes import describe, is_outcome
from townsquare.core.text_table import table
from townsquare.core.words import count, percent, printable, short, signed
from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
from townsquare.experiments.primary import suggested
from townsquare.pages.report.axes import amounts, amounts_across, bars
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color

ROW = 15


def outcomes_shown(multiverse: Multiverse) -> list[str]:
    """Return names of the outcomes that the page shows: the primary one, then main ones defined in some universe."""
    frame = multiverse.experiment.outcomes
    main = [name for name in frame.columns if is_outcome(name) and describe(name).main]
    first = [name for name in (multiverse.experiment.primary or suggested(frame),) if name in frame.columns]
    return [name for name in dict.fromkeys([*first, *main]) if multiverse.effects(name).height]


def frames_of(multiverse: Multiverse) -> dict[str, pl.DataFrame]:
    """Return specifications, shares of variance and effects of the outcomes that the page shows; empty where none is.

    Each has a first column ``outcome``.
    """
    parts: dict[str, list[pl.DataFrame]] = {"specifications": [], "variance_shares": [], "effects": []}
    for name in outcomes_shown(multiverse):
        effects = multiverse.effects(name)
        made = (specifications(effects, multiverse.across), variance_shares(effects, multiverse.across), effects)
        for kind, frame in zip(parts, made, strict=True):
            parts[kind].append(frame.select(pl.lit(name).alias("outcome"), pl.all()))
    return {kind: pl.concat(each) if each else pl.DataFrame() for kind, each in parts.items()}


def write_multiverse(multiverse: Multiverse, path: Path | str) -> Path:
    """Write the page as one self-contained HTML file.

    Raises
    ------
    RecordError
        It cannot be written.
    """
    return multiverse_page(multiverse).write(path)


def multiverse_page(multiverse: Multiverse) -> Page:
    """Make the page of a multiverse."""
    names = outcomes_shown(multiverse)
    sides = list(enumerate(multiverse.sides))
    shown = [(describe(name), side, f"{number}-{at}") for number, name in enumerate(names) for at, side in sides]
    sections = [_section(multiverse, *each) for each in shown]
    experiment = multiverse.experiment
    universes = math.prod(len(experiment.vary[key]) for key in multiverse.across)
    facts = [
        ("universes", str(universes)),
        ("modeling choices", printable(", ".join(multiverse.across), 200)),
        ("in question", printable(", ".join(multiverse.contrast) or "levels of outcomes", 200)),
        ("seeds", str(len(experiment.seeds))),
        ("runs", f"{len(experiment.finished)} of {len(experiment.runs)} finished"),
    ]
    failed = len(experiment.failed)
    warnings = [f"{count(failed, 'run')} failed and {'is' if failed == 1 else 'are'} excluded."] if failed else []
    if not sections:
        warnings.append("No outcome is defined on both sides of the contrast.")
    if len(experiment.seeds) < 2:
        warnings.append("One seed only: effects have no CI, and chance cannot be separated from interactions.")
    title = "A multiverse of modeling choices"
    summary = [f"The same question, analyzed under {count(universes, 'combination')} of modeling choices."]
    return Page("multiverse.html", title=title, facts=facts, summary=summary, warnings=warnings, sections=sections)


def _section(multiverse: Multiverse, what: Measure, side: str, key: str) -> Section:
    effects = multiverse.effects(what.name).filter(pl.col("side") == side)
    curve, shares = specifications(effects, multiverse.across), variance_shares(effects, multiverse.across)
    across = list(multiverse.across)
    title = printable(what.title, 80) + (f": {printable(side, 60)}" if multiverse.contrast else "")
    caption = f"Specification curve ({what.unit}): sorted effects with 95% CI, and the modeling choices behind each"
    draw = partial(_draw_curve, across=across, unit=what.unit)
    height = 80 + 2 * max(130, ROW * sum(curve[key].n_unique() for key in across) + 8 * len(across))
    share_caption = "Share of variance explained by each modeling choice"
    figures = [
        Figure(f"curve-{key}", caption, curve, draw, title, height, grid=(2, 1)),
        Figure(f"shares-{key}", share_caption, shares, _draw_shares, f"{title}: shares", height),
    ]
    tables = [
        table(
            "All universes", curve, (short, *across), (signed, "effect", "95% CI low=low", "95% CI high=high"),
            (str, "seeds"), words=across
        ),
        table(
            "Shares of variance", shares, (str, "choice=source"), (percent, "share"),
            (signed, "lowest mean effect=low_mean", "highest mean effect=high_mean"),
        ),
    ]  # fmt: skip
    says = [finding(curve, shares, what)]
    return Section(f"outcome-{key}", title, says=says, figures=figures, tables=tables)


def finding(curve: pl.DataFrame, shares: pl.DataFrame, what: Measure) -> str:
    """Say how far the effect on an outcome ranges over universes, and where most of its variance comes from."""
    n, above = curve.height, int((curve["effect"] > 0).sum())
    bounds = curve.select(pl.col("low", "high").fill_nan(None)).drop_nulls()  # NaN > 0 holds in polars
    clear = bounds.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    sure = f"in {clear}, the 95% CI excludes zero" if bounds.height else "one seed gives no CI"
    middle = signed(float(curve["effect"].median()))  # type: ignore[arg-type]
    low, high = (signed(float(curve["effect"][at])) for at in (0, -1))
    sentence = f"Over {count(n, 'universe')}, the effect ranges from {low} to {high} (median {middle} {what.unit}). "
    sentence += f"It is above zero in {above}; {sure}."
    known = shares.drop_nans("share").sort("share", descending=True)
    if known.height:
        sentence += (
            f" The largest share of its variance comes from {known['source'][0]} ({percent(known['share'][0])})."
        )
    return sentence


def _draw_curve(panels: np.ndarray[Any, Any], curve: pl.DataFrame, across: list[str], unit: str) -> None:
    top, below = panels[:, 0]
    at, ends = curve["place"].to_numpy(), (-0.03 * curve.height - 0.5, 1.03 * curve.height - 0.5)
    for rank, low, high in curve.select("place", "low", "high").iter_rows():
        if low is not None and not math.isnan(low):
            top.plot([rank, rank], [low, high], color=color("muted"), linewidth=1.0, zorder=2)
    top.scatter(at, curve["effect"].to_numpy(), s=14, color=color("first"), linewidths=0, zorder=3)
    top.axhline(0.0, color=color("ink"), linewidth=0.9)
    top.set(ylabel=unit if len(unit) < 20 else "effect", xlim=ends, xticks=[])
    amounts(top)
    y, places, words = 0.0, [], []
    for number, key in enumerate(across):
        y -= 8 / ROW if number else 0
        for value in sorted(curve[key].unique().to_list()):
            here, shade = curve.filter(pl.col(key) == value)["place"].to_numpy(), color(SERIES[number % len(SERIES)])
            below.scatter(here, [y] * here.size, s=9, marker="s", color=shade, linewidths=0)
            places.append(y)
            words.append(printable(f"{_short(key)} {value}", 26))
            y -= 1
    below.set(yticks=places, yticklabels=words, ylim=(y + 0.3, 0.8), xlim=ends, xlabel="universes, sorted by effect")
    below.grid(False)
    below.locator_params("x", nbins=6, integer=True)


def _short(key: str) -> str:
    """Return the last word of a setting, or that of its section where it is only a name.

    >>> _short("feed.ranker"), _short("policy.name")
    ('ranker', 'policy')
    """
    section, _, last = key.rpartition(".")
    return section if last == "name" else last


def _draw_shares(axes: Chart, shares: pl.DataFrame) -> None:
    shown = shares.filter(pl.col("share").is_not_nan())
    if not shown.height:
        axes.annotate("the effect does not vary", (0.5, 0.5), xycoords="axes fraction", ha="center")
        axes.set(yticks=[])
        return
    bars(axes, shown["source"].to_list(), shown["share"], ["first"] * shown.height)
    axes.set(xlim=(0, 1))
    amounts_across(axes, "share of variance")
