"""One clock: events at times, and memory on the length of a step."""

from __future__ import annotations

import re
from typing import Any

import pytest

from raised_errors import raises_error
from townsquare.core.errors import SettingError
from townsquare.settings.resolve import resolve
from townsquare.simulation.memory import on_clock

INJECT = {"inject": {"posts": 3}}


@pytest.mark.parametrize(
    ("minutes", "at", "step"),
    [
        (60, "2 d 6 h", 55),
        (15, "2 d 6 h", 217),
        (60, "0 h", 1),
        (60, "90 min", 2),
        (30, "1.5h", 4),
        (60, "1 week", 169),
    ],
)
def test_an_event_at_a_time_is_one_of_the_step_that_begins_then(minutes: int, at: str, step: int) -> None:
    settings = resolve({"time": {"step_minutes": minutes}, "events": [{"at": at, **INJECT}]})
    assert settings.config.events[0].step == step
    assert "at" not in settings.plain()["events"][0]
    assert resolve(settings.plain()).plain() == settings.plain()


@pytest.mark.parametrize(
    ("time", "event", "where"),
    [
        ({}, {"at": "2 d"}, "event 1 (step 1), at"),
        ({"step_minutes": 60}, {"at": "soon"}, "event 1 (step 1), at"),
        ({"step_minutes": 60}, {"at": "54"}, "event 1 (step 1), at"),
        ({"step_minutes": 60}, {"at": "2 d", "step": 3}, "event 1 (step 3), at"),
        ({"step_minutes": 60}, {}, "event 1, step"),
    ],
)
def test_times_that_are_none_are_refused(time: dict[str, Any], event: dict[str, Any], where: str) -> None:
    with raises_error(SettingError, where=re.escape(where)):
        resolve({"time": time, "events": [event | INJECT]})


@pytest.mark.parametrize(
    ("minutes", "days", "every"), [(60, 1 / 24, 5), (15, 1 / 96, 20), (1440, 1.0, 1), (None, 1, 5)]
)
def test_memory_follows_the_length_of_a_step(minutes: int | None, days: float, every: int) -> None:
    memory = on_clock(resolve({"time": {"step_minutes": minutes}}).config)
    assert (memory.days_per_step, memory.reflect_every) == (pytest.approx(days), every)


def test_two_lengths_of_a_step_are_refused() -> None:
    with raises_error(SettingError, where="memory.days_per_step", got="0.5"):
        resolve({"time": {"step_minutes": 60}, "memory": {"days_per_step": 0.5}})
    assert resolve({"time": {"step_minutes": 60}, "memory": {"days_per_step": 1 / 24}})
    assert on_clock(resolve({"memory": {"days_per_step": 0.5}}).config).days_per_step == 0.5
