"""Panels of debates: courses of stances, levels of a sweep, and final stances with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import CON, PRO
from townsquare.pages.report.axes import NICE, amounts, reference
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import SERIES, colour

Float = npt.NDArray[np.float64]

ROLE = {PRO: "first", CON: "fourth"}
WORD = {PRO: "pro", CON: "con"}
MARGIN = 1.05


def course_panel(held: DebateResults, arm: DebateArm, key: str, *, judged: bool = False) -> str:
    """Stances of both over the rounds as inline SVG: trials thin, their mean thick; as kept, or as the judge reads."""
    if judged:
        course = held.judged(arm)
        rounds = np.arange(1, course.shape[1] + 1)
    else:
        course = held.stances(arm)
        rounds = np.arange(course.shape[1])

    def draw(axes: Axes) -> None:
        for seat in (PRO, CON) if arm.is_pair else (PRO,):
            _bundle(axes, rounds, course[:, :, seat], ROLE[seat], WORD[seat])
        _stance_axis(axes, "judged stance" if judged else "stance")
        _round_axis(axes)

    what = "judged stances" if judged else "stances"
    return panel(draw, key, clean(f"{what} over {rounds.size} rounds, {arm.name}, {arm.statement}"), height=230)


def levels_panel(held: DebateResults, arms: Sequence[DebateArm], labels: Sequence[str], key: str) -> str:
    """The mean stance of pro over the rounds, one line a level; trials thin."""
    courses = [held.stances(arm)[:, :, PRO] for arm in arms]

    def draw(axes: Axes) -> None:
        for number, (label, course) in enumerate(zip(labels, courses, strict=True)):
            _bundle(axes, np.arange(course.shape[1]), course, SERIES[number % len(SERIES)], clean(label, 40))
        _stance_axis(axes, "stance of pro")
        _round_axis(axes)

    return panel(draw, key, clean("mean stance of pro by level: " + ", ".join(labels)), height=290)


def finals_panel(held: DebateResults, arms: Sequence[DebateArm], levels: Sequence[float], name: str, key: str) -> str:
    """Final stance of pro against the level of a setting: trials as dots, means with 95 % intervals."""
    finals = [held.stances(arm)[:, -1, PRO] for arm in arms]
    estimates = [held.measures(arm)["final_pro" if arm.is_pair else "final"] for arm in arms]

    def draw(axes: Axes) -> None:
        for level, values in zip(levels, finals, strict=True):
            axes.scatter([level] * values.size, values, s=14, color=colour("first"), alpha=0.4, linewidths=0)
        axes.plot(levels, [one.mean for one in estimates], color=colour("first"), marker="o", markersize=5)
        for level, one in zip(levels, estimates, strict=True):
            if np.isfinite(one.low):
                axes.plot([level, level], [one.low, one.high], color=colour("first"), linewidth=2.4)
        _stance_axis(axes, "final stance of pro")
        axes.set_xlabel(clean(name, 40))

    return panel(draw, key, clean(f"final stance of pro by {name}"), height=260)


def _bundle(axes: Axes, rounds: npt.NDArray[np.int64], course: Float, role: str, label: str) -> None:
    for trial in course:
        axes.plot(rounds, trial, color=colour(role), linewidth=0.8, alpha=0.35)
    known = np.isfinite(course)
    count = known.sum(axis=0)
    total = np.where(known, course, 0.0).sum(axis=0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    axes.plot(rounds, mean, color=colour(role), linewidth=2.4, label=label)


def _stance_axis(axes: Axes, label: str) -> None:
    axes.set_ylabel(label)
    amounts(axes)
    axes.set_ylim(-MARGIN, MARGIN)
    axes.set_yticks([-1, -0.5, 0, 0.5, 1])
    reference(axes, 0.0)


def _round_axis(axes: Axes) -> None:
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=NICE))
    axes.margins(x=0.02)
