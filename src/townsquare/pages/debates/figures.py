"""Figures of debates: stances over rounds, levels of a sweep, final stances with CIs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.core.words import printable
from townsquare.debate.measures import known_mean
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import CON, PRO, SIDES
from townsquare.pages.report.axes import NICE, reference
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color

ROLE = {PRO: "first", CON: "fourth"}
MARGIN = 1.05


def course_figure(results: DebateResults, arm: DebateArm, key: str, caption: str, *, judged: bool = False) -> Figure:
    """Return stances of both over the rounds: trials thin, their mean thick; as kept, or as the judge reads."""
    course = results.judged(arm) if judged else results.stances(arm)
    rounds = np.arange(course.shape[1]) + judged
    what = "judged stance" if judged else "stance"

    def draw(axes: Chart, stances: Float) -> None:
        for side in (PRO, CON) if arm.is_pair else (PRO,):
            _bundle(axes, rounds, stances[:, :, side], ROLE[side], SIDES[side])
        _stance_axis(axes, what)
        _round_axis(axes)

    label = f"{what}s over {rounds[-1]} rounds, {arm.name}, {arm.statement}"
    return Figure(key, caption, course, draw, label, height=230)


def levels_figure(results: DebateResults, arms: Sequence[DebateArm], levels: Sequence[float], name: str) -> Figure:
    """Return the mean stance of pro over the rounds, one line a level; trials thin."""
    labels = [f"{name} {level:g}" for level in levels]

    def draw(axes: Chart, courses: Sequence[Float]) -> None:
        for number, (label, course) in enumerate(zip(labels, courses, strict=True)):
            _bundle(axes, np.arange(course.shape[1]), course, SERIES[number % len(SERIES)], printable(label, 40))
        _stance_axis(axes, "stance of pro")
        _round_axis(axes)

    caption, label = f"Stance of pro by {name} (thin lines: trials; thick lines: means)", ", ".join(labels)
    courses = [results.stances(arm)[:, :, PRO] for arm in arms]
    return Figure(f"l-{key_of(name)}", caption, courses, draw, f"mean stance of pro by level: {label}", height=290)


def finals_figure(results: DebateResults, arms: Sequence[DebateArm], levels: Sequence[float], name: str) -> Figure:
    """Return final stance of pro against the level of a setting: trials as dots, means with 95% intervals."""
    estimates = [results.measures(arm)["final_pro" if arm.is_pair else "final"] for arm in arms]

    def draw(axes: Chart, finals: Sequence[Float]) -> None:
        shade = color("first")
        for level, values, estimate in zip(levels, finals, estimates, strict=True):
            axes.scatter([level] * values.size, values, s=14, color=shade, alpha=0.4, linewidths=0)
            if np.isfinite(estimate.low):
                axes.plot([level, level], [estimate.low, estimate.high], color=shade, linewidth=2.4)
        axes.plot(levels, [estimate.mean for estimate in estimates], color=shade, marker="o", markersize=5)
        _stance_axis(axes, "final stance of pro")
        axes.set(xlabel=printable(name, 40))

    finals = [results.stances(arm)[:, -1, PRO] for arm in arms]
    caption = f"Final stance of pro by {name} (dots: trials; line: means, with 95% CIs)"
    return Figure(f"f-{key_of(name)}", caption, finals, draw, f"final stance of pro by {name}")


def key_of(name: str) -> str:
    """Return the name of a setting as part of an identifier."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def _bundle(axes: Chart, rounds: npt.NDArray[np.int64], course: Float, role: str, label: str) -> None:
    for trial in course:
        axes.plot(rounds, trial, color=color(role), linewidth=0.8, alpha=0.35)
    axes.plot(rounds, known_mean(course, axis=0), color=color(role), linewidth=2.4, label=label)


def _stance_axis(axes: Chart, label: str) -> None:
    axes.set(ylabel=label, ylim=(-MARGIN, MARGIN), yticks=[-1, -0.5, 0, 0.5, 1])
    reference(axes, 0.0)


def _round_axis(axes: Chart) -> None:
    axes.set(xlabel="round")
    axes.locator_params("x", nbins=7, integer=True, steps=NICE)
    axes.margins(x=0.02)
