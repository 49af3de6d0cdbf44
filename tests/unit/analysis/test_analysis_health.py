"""Measures of health: movement, overshoot, participation, refusals."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from handwritten_runs import FrameRun, injected, settings
from townsquare.analysis import belief_movement, health, participation, refusals
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, AgentKind, Reason, TrailKind, Veracity

NAMED = [{"proposition": 0, "name": "tax"}, {"proposition": 1, "name": "park"}]


def moved(courses: dict[tuple[int, int], list[float]], **more: Any) -> FrameRun:
    """A run with the stances of (agent, proposition) from step 0 on."""
    beliefs = [
        {"step": step, "agent": agent, "proposition": proposition, "stance": stance}
        for (agent, proposition), course in courses.items()
        for step, stance in enumerate(course)
    ]
    agents = [{"agent": agent, "kind": AgentKind.PERSON} for agent in sorted({a for a, _ in courses})]
    tables = {"propositions": NAMED, "beliefs": beliefs, "agents": agents, **more.pop("tables", {})}
    return FrameRun(tables, more.pop("settings", settings()), last_step=len(next(iter(courses.values()))) - 1)


def test_gain_is_the_sum_of_the_sizes_of_moves() -> None:
    frame = belief_movement(moved({(1, 0): [0.0, 0.5, 0.5], (2, 0): [0.0, -0.25, 0.0], (1, 1): [0.0, 0.0, 0.0]}))
    tax = frame.filter(pl.col("name") == "tax")
    assert tax["gain"].to_list() == [0.75, 0.25]
    assert tax["moved"].to_list() == [2, 1]
    assert tax["gain_per_person"].to_list() == [0.375, 0.125]
    assert frame.filter(pl.col("name") == "park")["gain"].to_list() == [0.0, 0.0]


def test_windows_of_steps_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = moved({(1, 0): [0.0, 0.5, 0.25, 0.75, -1.0], (2, 0): [0.0, 0.0, 1.0, 0.0, 0.0]})
    whole = belief_movement(run)
    monkeypatch.setattr(health, "ROWS_AT_ONCE", 1)
    assert belief_movement(run).equals(whole)


def pulled(before: float, seen: list[float], amounts: list[float], **more: Any) -> FrameRun:
    after = min(1.0, max(-1.0, before + sum(amounts)))
    trail = [
        {"step": 1, "agent": 1, "proposition": 0, "kind": TrailKind.EXPOSURE, "rank": i, "post": i, "amount": amount}
        for i, amount in enumerate(amounts)
    ]
    posts = [injected(i, Veracity.TRUE) for i in range(len(seen))]
    said = [{"post": i, "proposition": 0, "stance": stance} for i, stance in enumerate(seen)]
    return moved({(1, 0): [before, after]}, tables={"trail": trail, "posts": posts, "post_stances": said}, **more)


@pytest.mark.parametrize(
    ("before", "seen", "amounts", "overshoots"),
    [
        (0.0, [0.5], [0.4], 0),
        (0.0, [0.5], [0.5], 0),
        (0.0, [0.5], [0.6], 1),
        (0.5, [-0.2, 0.8], [-0.9, 0.0], 1),
        (0.5, [-0.2, 0.8], [-0.6, 0.4], 0),
    ],
)
def test_a_move_overshoots_when_it_leaves_what_was_seen(
    before: float, seen: list[float], amounts: list[float], overshoots: int
) -> None:
    assert belief_movement(pulled(before, seen, amounts))["overshoots"].to_list() == [overshoots]


def test_overshoot_is_not_told_without_a_trail_in_stance() -> None:
    untold = [settings(record={"trail": False}), settings(rule="from-outside")]
    for configuration in untold:
        frame = belief_movement(pulled(0.0, [0.5], [0.6], settings=configuration))
        assert frame["overshoots"].to_list() == [None]


def test_online_and_silent_is_not_offline() -> None:
    steps = [{"step": 0}, {"step": 1, "agents": 10, "online": 4, "actions": 4}, {"step": 2, "agents": 10}]
    actions = [
        {"step": 1, "agent": 1, "kind": ActionKind.LIKE},
        {"step": 1, "agent": 1, "kind": ActionKind.SHARE},
        {"step": 1, "agent": 2, "kind": ActionKind.IGNORE},
        {"step": 1, "agent": 3, "kind": ActionKind.LIKE, "status": ActionStatus.REFUSED},
    ]
    frame = participation(FrameRun({"steps": steps, "actions": actions}, settings()))
    assert frame["acting"].to_list() == [1, 0]
    assert frame["accepted"].to_list() == [2, 0]
    assert frame["silent_share"][0] == 0.75
    assert math.isnan(frame["silent_share"][1])


@pytest.mark.parametrize(
    "given",
    [
        settings(moderation={"strategy": "community", "contributors": 0.2}),
        settings(events=[{"step": 1, "set": {"moderation.contributors": 0.2}}]),
    ],
)
def test_notes_of_contributors_who_are_offline_make_nobody_online_act(given: dict[str, Any]) -> None:
    steps = [{"step": 1, "agents": 9, "online": 4}]
    shown = [{"step": 1, "agent": agent} for agent in (0, 0, 1, 2, 3)]
    done = [(0, ActionKind.RATE_NOTE), (1, ActionKind.LIKE), (5, ActionKind.RATE_NOTE), (6, ActionKind.ADD_NOTE)]
    actions = [{"step": 1, "agent": agent, "kind": kind} for agent, kind in done]
    frame = participation(FrameRun({"steps": steps, "actions": actions, "exposures": shown}, given))
    assert frame.select("acting", "accepted", "silent_share").rows() == [(2, 4, 0.5)]


def test_refusals_say_why() -> None:
    refused = {"status": ActionStatus.REFUSED}
    actions = [
        *({"reason": Reason.REPEATED, **refused} for _ in range(2)),
        {"reason": Reason.TOO_LONG, **refused},
        *({"status": ActionStatus.ACCEPTED} for _ in range(5)),
        *({"status": ActionStatus.ACCEPTED, "kind": ActionKind.IGNORE} for _ in range(8)),
    ]
    frame = refusals(FrameRun({"actions": actions}, settings()))
    assert frame.rows() == [("repeated", 2, 0.25), ("too long", 1, 0.125)]
