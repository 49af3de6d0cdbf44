"""Axes, tables and words of reports: in time where steps have a length, else in steps."""

from __future__ import annotations

import polars as pl
import pytest

from townsquare.analysis.clock import Clock
from townsquare.core.text_table import table
from townsquare.pages.report.axes import course
from townsquare.pages.report.section import timed


def drawn(clock: Clock) -> str:
    frame = pl.DataFrame({"step": range(clock.last + 1), "sd": [0.5] * (clock.last + 1)})
    return course("sd", "Spread", frame, {"sd": ("first", "")}, clock, "SD").svg


def test_steps_with_a_length_are_drawn_in_time_with_the_end_of_the_warm_up() -> None:
    hourly = drawn(Clock(336, 1.0, 72))
    assert ">days<" in hourly
    assert "end of warm-up" in hourly
    assert ">14<" in hourly
    assert ">step<" not in hourly
    short = drawn(Clock(48, 0.25))
    assert ">hours<" in short
    assert "end of warm-up" not in short
    assert ">12<" in short
    within = drawn(Clock(24, 1.0, 48))
    assert "end of warm-up" not in within
    assert ">24<" in within
    assert ">48<" not in within


def test_steps_without_a_length_are_drawn_as_steps() -> None:
    plain = drawn(Clock(20))
    assert ">step<" in plain
    assert "days" not in plain
    assert "warm-up" not in plain


def test_tables_name_times_in_the_place_of_steps() -> None:
    frame = pl.DataFrame({"step": [1, 30, 1008], "n": [1, 2, 3]})
    shown = timed(table("Events by step", frame, (str, "step", "n")), 1.0)
    assert (shown.caption, shown.head) == ("Events over time", ["time", "n"])
    assert [row[0] for row in shown.rows] == ["1 h", "1 d 6 h", "42 d"]
    other = table("Fruit", [{"name": "pear"}], (str, "name"))
    assert timed(other, 1.0) is other


@pytest.mark.parametrize(("hours", "last"), [(0.25, 1344), (1.0, 336), (1.0, 5), (24.0, 3), (0.25, 1)])
def test_ticks_are_few_and_lie_within_the_run(hours: float, last: int) -> None:
    at, words, _ = Clock(last, hours).ticks()
    assert len(at) == len(words) <= 9
    assert at[0] == 0
    assert at[-1] <= last + 1e-9
