"""The page of a comparison: paired differences with confidence intervals, and every run as a dot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis.contract import Measure
from townsquare.analysis.outcomes import describe, groups
from townsquare.core.text_table import Table, table
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.forest import forest, roles, strip
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import Section
from townsquare.pages.report.words import count, listed, number, printable, signed, significant


def write_comparison(experiment: Comparison | Experiment, path: Path | str) -> Path:
    """Write the page of a comparison as one self-contained HTML file.

    Parameters
    ----------
    experiment : Comparison or Experiment
        An experiment, or its numbers.
    path : Path or str
        The file to write; an older one is replaced.

    Returns
    -------
    Path
        That file.

    Raises
    ------
    UnknownName
        An outcome is not in the registry.
    RecordError
        The page cannot be written.
    """
    return comparison_page(experiment if isinstance(experiment, Comparison) else Comparison.of(experiment)).write(path)


def comparison_page(comparison: Comparison) -> Page:
    """Make the page of a comparison. Raises as :func:`write_comparison` does."""
    return Page.of(
        "comparison.html",
        title=printable(comparison.title, 80),
        facts=_facts(comparison),
        summary=_summary(comparison),
        warnings=[*comparison.notes, *_warnings(comparison)],
        arms=_arms(comparison),
        sections=[made for group, title in groups().items() if (made := _section(comparison, group, title))],
    )


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    seeds = comparison.seeds
    shown = ", ".join(map(str, seeds[:8])) + (f" … {seeds[-1]}" if len(seeds) > 8 else "")
    return [
        *((name, printable(value, 80)) for name, value in comparison.shared.items()),
        ("arms", str(len(comparison.arms))),
        ("seeds", f"{len(seeds)} ({shown})" if seeds else "none"),
        ("baseline", comparison.labels[comparison.baseline]),
    ]


def _arms(comparison: Comparison) -> list[dict[str, str]]:
    shades, labels = roles(comparison), comparison.labels
    return [
        {"role": shades[name], "name": labels[name], "settings": printable(", ".join(map(": ".join, settings)), 400)}
        for name, changes in comparison.arms
        for settings in [[(key, str(value)) for key, value in changes.items()]]
    ]


LEVEL = 0.05


def _known(comparison: Comparison, group: str) -> list[Measure]:
    """Return outcomes of a group that some run has, in order of the data."""
    names = comparison.outcomes.drop_nulls("value").drop_nans("value")["outcome"].unique(maintain_order=True)
    return [what for name in names for what in [describe(name, comparison.statements)] if what.group == group]


def _section(comparison: Comparison, group: str, title: str) -> Section | None:
    outcomes = _known(comparison, group)
    if not outcomes or group == "caveat":
        return None
    key = group.replace("_", "-")
    differing = [what for what in outcomes if _differences(comparison, what)]
    figures = [strip(comparison, outcomes, f"strip-{key}", "Single runs (dots) and means of arms (bars)")]
    if differing:
        caption = f"Difference from the baseline ({comparison.labels[comparison.baseline]}), 95% CI (dots: seeds)"
        figures.insert(0, forest(comparison, differing, f"forest-{key}", caption))
    says = _sentences(comparison, outcomes)
    tables = [_table(comparison, what) for what in outcomes]
    return Section(group, title, says=says, figures=figures, tables=tables)


def _differences(comparison: Comparison, what: Measure) -> list[dict[str, Any]]:
    """Return the rows of other arms whose difference from the baseline is defined."""
    rows = comparison.rows.filter((pl.col("outcome") == what.name) & pl.col("arm").is_in(comparison.others))
    return rows.drop_nans("difference").to_dicts()


def _sentences(comparison: Comparison, outcomes: list[Measure]) -> list[str]:
    """Say which arms differ from the baseline, by their 95% CI; then name the outcomes without such an arm."""
    sentences: list[str] = []
    equal, undefined = [], []
    for what in outcomes if comparison.others else ():
        title, rows = printable(what.title.removesuffix("."), 110), _differences(comparison, what)
        clear = [_difference(comparison, row) for row in rows if _clear(row)]
        if clear:
            sentences.append(
                f"{title}: {listed(clear)} vs. the baseline (higher means {what.higher or what.direction})."
            )
        elif not rows:
            undefined.append(title)
        elif not all(math.isnan(row["low"]) for row in rows):
            equal.append(title)
    if equal:
        sentences.append(
            f"No arm is statistically distinguishable from the baseline (95% CIs include zero): {'; '.join(equal)}."
        )
    if undefined:
        sentences.append(f"Not comparable, undefined in the baseline or in all other arms: {'; '.join(undefined)}.")
    return sentences


def _difference(comparison: Comparison, row: dict[str, Any]) -> str:
    difference, low, high = (signed(row[name]) for name in ("difference", "low", "high"))
    return f"{comparison.labels[str(row['arm'])]} {difference} [{low}, {high}]"


def _clear(row: dict[str, Any]) -> bool:
    return bool(row["low"] > 0 or row["high"] < 0)


def _summary(comparison: Comparison) -> list[str]:
    arms, seeds = len(comparison.arms), len(comparison.seeds)
    sentences = [f"{count(arms, 'arm')} with {count(seeds, 'seed')} each."]
    judged = comparison.rows.filter(pl.col("arm").is_in(comparison.others)).drop_nans("low").to_dicts()
    if judged:
        clear, differences = sum(map(_clear, judged)), count(len(judged), "difference")
        excluding = f"{'has' if clear == 1 else 'have'} a 95% CI that excludes zero"
        sentences.append(f"{number(clear) if clear else 'None'} of the {differences} from the baseline {excluding}.")
        corrected = [row["p_holm"] for row in judged]
        if clear and not all(map(math.isnan, corrected)):
            remaining = sum(p < LEVEL for p in corrected)
            verb = "remains" if remaining == 1 else "remain"
            of = f"{number(remaining) if remaining else 'None'} of them"
            sentences.append(f"{of} {verb} significant at the 5% level after Holm's correction.")
    return sentences


def _warnings(comparison: Comparison) -> list[str]:
    sentences = []
    if len(comparison.seeds) < 2:
        sentences.append("One seed only: differences have no CI and may be due to chance.")
    elif len(comparison.seeds) < 5:
        sentences.append(f"With {len(comparison.seeds)} seeds, CIs are wide; use ten seeds or more.")
    if not comparison.others:
        sentences.append("One arm only: there is no baseline to compare it with.")
    informative = comparison.outcomes.filter(pl.col("outcome") == "notes_informative")["value"]
    if informative.len() and informative.max() == 0:
        sentences.append("The scenario gives no plausibility of posts, so F1 of community notes is not interpretable.")
    return sentences


def _table(comparison: Comparison, what: Measure) -> Table:
    n, labels = len(comparison.seeds), comparison.labels
    here = comparison.rows.filter(pl.col("outcome") == what.name)
    arms = pl.DataFrame({"arm": list(labels)}).join(here, on="arm", how="left", maintain_order="left")
    rows = arms.with_columns(pl.col(pl.Float64).fill_null(math.nan), pl.col("n").fill_null(0)).to_dicts()
    for row in rows:
        row["arm"], is_baseline = labels[row["arm"]], row["arm"] == comparison.baseline
        row["difference"] = "" if is_baseline else signed(row["difference"])
        row["interval"] = "" if math.isnan(row["low"]) else f"{signed(row['low'])} to {signed(row['high'])}"
    fewer = [f"{row['arm']} {row['n']}" for row in rows if row["n"] < n]
    note = f"Seeds with a defined value, of {n}: {', '.join(fewer)}." if fewer else ""
    return table(
        f"{printable(what.title.removesuffix('.'), 80)} ({what.unit})", rows, (str, "arm"), (significant, "mean"),
        (str, "difference", "95% CI=interval"), (_chance, "p", "p, Holm=p_holm", "p, FDR=p_fdr"),
        note=note, words=("arm",),
    )  # fmt: skip


def _chance(p: float) -> str:
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else number(p, 3)
