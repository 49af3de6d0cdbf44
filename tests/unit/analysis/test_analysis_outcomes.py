"""Outcomes: one flat set of named numbers, each of which says what it is."""

from __future__ import annotations

import math

import pytest

from handwritten_runs import FrameRun, injected, settings
from raised_errors import raises_error
from townsquare.analysis import describe, outcomes
from townsquare.analysis.outcomes import MEASURES, groups, numbered
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.enums import AgentKind, Veracity
from townsquare.core.errors import UnknownName


def small_run(**more: object) -> FrameRun:
    tables = {
        "propositions": [{"proposition": 0, "name": "tax"}],
        "agents": [{"agent": 0, "kind": AgentKind.SOURCE}, {"agent": 1, "kind": AgentKind.PERSON}],
        "posts": [injected(0, Veracity.TRUE), injected(1, Veracity.FALSE)],
        "post_stances": [{"post": 0, "proposition": 0, "stance": 0.5}],
        "beliefs": [{"step": step, "agent": 1, "stance": 0.25 * step} for step in range(3)],
        "actions": [{"step": 1, "agent": 1, "kind": ActionKind.LIKE, "target": 0}],
        "exposures": [{"step": 1, "agent": 1, "post": p, "root": p, "first_seen": True} for p in (0, 1)],
        "steps": [{"step": s, "agents": 1, "online": s > 0, "exposures": 2 * (s == 1)} for s in range(3)],
        **more,
    }
    return FrameRun(tables, settings("hybrid"))


def test_every_number_has_a_title_a_unit_and_a_meaning() -> None:
    for name in outcomes(small_run()):
        words = describe(name)
        assert words.title
        assert words.unit
        assert words.higher
        assert words.group in groups()


def test_every_outcome_of_the_registry_is_measured() -> None:
    bases = {name.partition(".")[0] for name in outcomes(small_run())}
    assert bases == set(MEASURES) == {one.name for one in numbered()}
    assert set(MEASURES) <= set(registry.bundled("measure"))


def test_values_by_hand() -> None:
    got = outcomes(small_run())
    assert got["engagement_true_per_post"] == 1.0
    assert got["engagement_false_per_post"] == 0.0
    assert got["reach_false_mean"] == got["reach_true_mean"] == 1.0
    assert got["shift.tax"] == got["absolute_shift.tax"] == 0.5
    assert got["accuracy.tax"] == 0.75
    assert got["accuracy_shift.tax"] == 0.25
    assert got["actions_per_agent_step"] == 0.5
    assert got["exposures_per_agent_step"] == 1.0
    assert got["recall"] == 0.0
    assert math.isnan(got["precision"])


def test_names_do_not_depend_on_what_happened() -> None:
    named = [{"proposition": 0, "name": "tax"}]
    nothing = FrameRun({"propositions": named}, settings(), last_step=0)
    assert list(outcomes(nothing)) == list(outcomes(small_run()))
    assert all(math.isnan(value) or value == 0 for value in outcomes(nothing).values())


def test_groups_share_a_unit() -> None:
    units = {(one.group, one.unit) for one in MEASURES.values()}
    assert len(units) == len({group for group, _ in units})


def test_unknown_outcomes_are_refused_with_a_hint() -> None:
    with raises_error(UnknownName, do="did you mean 'precision'"):
        describe("precison")
    for wrong in ("shift", "precision.tax"):
        with pytest.raises(UnknownName):
            describe(wrong)


def test_propositions_may_hold_dots() -> None:
    for base in [name for name, one in MEASURES.items() if one.by_proposition]:
        assert describe(f"{base}.a.b").title.endswith(": a.b")
