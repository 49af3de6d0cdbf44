"""The page of a comparison: the answer, what could mislead, courses over time, then every outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis.contract import Measure
from townsquare.analysis.outcomes import describe, groups
from townsquare.core.text_table import Table, table
from townsquare.core.words import capital, chance, count, number, printable, short, signed, significant
from townsquare.experiments.answer import LEVEL, MOST_SECONDARY
from townsquare.experiments.arms import shown as setting_value
from townsquare.experiments.by_group import LEAST
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.forest import answers, courses, forest, strip, summary
from townsquare.pages.report.page import Page
from townsquare.pages.report.section import Section


def write_comparison(experiment: Comparison | Experiment, path: Path | str) -> Path:
    """Write the page of a comparison as one self-contained HTML file.

    Parameters
    ----------
    experiment : Comparison or Experiment
        An experiment with finished runs, or its numbers.
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
    answer = comparison.answer
    return Page(
        "comparison.html",
        title=printable(answer.title, 80),
        question=opening(answer.question),
        facts=_facts(comparison),
        findings=answer.sentences,
        mover=answer.mover,
        cautions=[*comparison.notes, *answer.cautions],
        arms=_arms(comparison),
        main_figure=summary(comparison),
        courses=courses(comparison),
        sections=_sections(comparison),
    )


def opening(question: str) -> str:
    """Return a question with a capital, unless it begins with the name of a setting."""
    return question if "." in question.partition(" ")[0] else capital(question)


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    seeds = comparison.seeds
    in_a_row = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    listed = f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds[:8]))
    listed += f" … {seeds[-1]}" if len(seeds) > 8 and not in_a_row else ""
    varied = list(dict.fromkeys(key for arm in comparison.arms for key in arm.changes))
    return [
        ("varied setting" if len(varied) == 1 else "varied settings", printable(", ".join(varied), 120) or "none"),
        ("arms, with the baseline", str(len(comparison.arms))),
        ("seeds", f"{len(seeds)} ({listed})" if seeds else "none"),
        ("baseline", comparison.labels[comparison.baseline]),
        *((name, printable(value, 80)) for name, value in comparison.shared.items()),
    ]


def _arms(comparison: Comparison) -> list[dict[str, str]]:
    settings = [[f"{key}={setting_value(value)}" for key, value in arm.changes.items()] for arm in comparison.arms]
    rows = zip(comparison.labels.values(), settings, strict=True)
    return [{"name": label, "settings": printable(", ".join(words), 400)} for label, words in rows]


def _sections(comparison: Comparison) -> list[Section]:
    """Return a section for each group of outcomes: the primary one, main ones, others; the clearest effect first."""
    names = comparison.outcomes.drop_nulls("value").drop_nans("value")["outcome"].unique(maintain_order=True)
    importance = {name: at for at, name in enumerate(comparison.answer.effects["outcome"].unique(maintain_order=True))}
    known = [describe(name, comparison.statements) for name in names]
    primary, last = comparison.answer.primary, len(importance)
    ordered = sorted(known, key=lambda what: (what.name != primary, not what.main, importance.get(what.name, last)))
    titles = groups()
    sections = [
        _section(comparison, group, titles[group], [what for what in ordered if what.group == group])
        for group in dict.fromkeys(what.group for what in ordered)
        if group != "caveat"
    ]
    return [*sections, *_by_answer(comparison)]


def _section(comparison: Comparison, group: str, title: str, outcomes: list[Measure]) -> Section:
    key = group.replace("_", "-")
    differing = set(comparison.answer.effects["outcome"])
    compared = [what for what in outcomes if what.name in differing]
    figures = [strip(comparison, outcomes, f"strip-{key}", f"{title}: single runs (dots) and means of arms (bars)")]
    if compared:
        caption = f"{title}: difference from {comparison.labels[comparison.baseline]}, 95% CI (dots: seeds)"
        figures.insert(0, forest(comparison, compared, f"forest-{key}", caption))
    averted = _averted(comparison) if group == "notes" else []
    undefined = [printable(what.title, 110) for what in outcomes if what.name not in differing]
    says = [f"Not comparable, undefined in the baseline or in all other arms: {'; '.join(undefined)}."]
    return Section(
        group, title, says=says if undefined and comparison.others else [], figures=figures,
        open_tables=averted, tables=[_table(comparison, what) for what in outcomes],
    )  # fmt: skip


_BY_ANSWER = [
    "Groups are not randomized. Within a group, the same agents are compared in both arms, so the effect is that of "
    "the arm. But groups differ in more than this answer, so a difference between their effects may have another "
    "cause. That one CI excludes zero and another does not is no evidence of such a difference.",
    "CIs reflect variation between seeds only. Agents are drawn from respondents: few respondents say little about "
    f"other people with the same answer. Groups of fewer than {LEAST} agents are left out.",
    "By chance alone, about one test in twenty has p < 0.05. Holm's correction is for all tests of this section.",
]
_MOST_FIGURES, _MOST_ROWS = 6, 200


def _by_answer(comparison: Comparison) -> list[Section]:
    """Return the section on people with one answer to the survey; none without a survey."""
    keys, size = ["trait", "proposition"], (pl.col("value").abs() / (pl.col("high") - pl.col("low"))).fill_nan(0.0)
    effects = comparison.by_group.sort(size.max().over(keys), descending=True, maintain_order=True)
    if not effects.height:
        return []
    clear = effects.filter(pl.col("p_holm") < LEVEL).sort(size, descending=True)
    tests, of = effects.drop_nans("p").height, count(effects["trait"].n_unique(), "question")
    says = f"Final stances compared with {comparison.labels[comparison.baseline]}, within each answer to {of}: "
    says += f"{clear.height} of {count(tests, 'test')} with p < {LEVEL:g} after Holm's correction"
    named = [_answer_effect(comparison, row) for row in clear.head(MOST_SECONDARY).iter_rows(named=True)]
    says += f". Clearest: {'; '.join(named)}." if named else "."
    moved = effects.filter((pl.col("value") != 0).any().over(keys))
    each = zip(range(_MOST_FIGURES), moved.group_by(keys, maintain_order=True), strict=False)
    figures = [answers(comparison, f"by-answer-{at}", rows) for at, (_, rows) in each]
    shown = effects.head(_MOST_ROWS).with_columns(pl.col("arm").replace(comparison.labels))
    note = f"The first {_MOST_ROWS} of {number(effects.height)}." if effects.height > _MOST_ROWS else ""
    words = ("question=trait", "answer", "proposition", *(["arm"] if len(comparison.others) > 1 else []))
    columns = (
        (short, *words), (partial(number, digits=0), "agents", "respondents"),
        (signed, "difference=value", "95% CI low=low", "95% CI high=high"), (chance, "p", "p, Holm=p_holm"),
    )  # fmt: skip
    listed = table("Effects by answer, questions with the clearest first", shown, *columns, note=note)
    return [Section("by-answer", "Effects by answer to the survey", [says], _BY_ANSWER, figures, [listed])]


def _answer_effect(comparison: Comparison, row: Mapping[str, Any]) -> str:
    value, low, high = (significant(row[name], 2, signed=True) for name in ("value", "low", "high"))
    of, arm = comparison.called(row["proposition"]), comparison.labels[row["arm"]]
    who = f"{printable(row['trait'], 40)}: {printable(row['answer'], 40)}"
    return f"{value} (95% CI {low} to {high}) on “{of}” under {arm} for {who}"


def _averted(comparison: Comparison) -> list[Table]:
    """Return what notes averted beside the baseline without notes, on the posts on which one was shown."""
    effects = comparison.note_effects
    if not effects.height:
        return []
    words = {
        "shares_life": "shares, whole life", "views_life": "views, whole life", "shares_after": "shares after the note",
        "views_after": "views after the note", "shares_per_view_after": "shares per view after the note",
        "shares_shown": "shares while a note is shown", "views_shown": "views while a note is shown",
        "shares_per_view_shown": "shares per view while a note is shown",
    }  # fmt: skip
    rows = effects.with_columns(
        pl.col("arm").replace(comparison.labels), pl.col("measure").replace_strict(words),
        pl.col("change").map_elements(lambda x: f"{x:+.0%}".replace("-", "−") if x == x else "", pl.String),
    )  # fmt: skip
    note = (
        "Injected posts after the warm-up: sums over seeds, and their ratios. Without: the baseline; with: the arm, "
        "its verdicts and takedowns included; averted: without minus with. After the note: from the next step on, for "
        "48 hours where steps have a length. While a note is shown: of these steps, those in which not all notes on "
        "the post were withdrawn."
    )
    title, words_of = "Posts on which a note was shown, beside the same posts in the baseline", (str, "arm", "measure")
    sums = (significant, "without", "with", "averted")
    return [table(title, rows, words_of, (number, "posts"), sums, (str, "change"), note=note, words=("arm", "measure"))]


def _table(comparison: Comparison, what: Measure) -> Table:
    """Return the means of one outcome by arm, with differences; p values are corrected among its role."""
    effects = comparison.answer.effects.filter(outcome=what.name)
    of_arm = {row["arm"]: row for row in effects.iter_rows(named=True)}
    here = comparison.outcomes.filter(outcome=what.name).drop_nulls("value").drop_nans("value")
    rows, fewer = [], []
    blank = {**dict.fromkeys(("low", "high", "p", "p_holm"), math.nan), "verdict": ""}
    for arm, label in comparison.labels.items():
        values, row = here.filter(arm=arm)["value"], of_arm.get(arm, blank)
        interval = "" if math.isnan(row["low"]) else f"{signed(row['low'])} to {signed(row['high'])}"
        difference = signed(row["difference"]) if arm in of_arm else ""
        rows.append(row | {"arm": label, "mean": values.mean(), "difference": difference, "interval": interval})
        if values.len() < len(comparison.seeds):
            fewer.append(f"{label} {values.len()} of {len(comparison.seeds)}")
    note = what.definition
    note += f" Seeds with a defined value: {', '.join(fewer)}." if fewer else ""
    return table(
        f"{printable(what.title.removesuffix('.'), 80)} ({what.unit})", rows, (str, "arm"), (significant, "mean"),
        (str, "difference", "95% CI=interval"), (chance, "p", "p, Holm=p_holm"), (str, "verdict"),
        note=note, words=("arm", "verdict"),
    )  # fmt: skip
