"""From a label to belief to sharing: what the policy `propensity` reads of what the rule `credence` holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from small_worlds import run_of, settings_of
from townsquare.core import registry
from townsquare.core.draws import StageDraws
from townsquare.record.run import Run
from townsquare.scenario.load import synthetic_scenario
from townsquare.simulation.policies.propensity import POLICY
from townsquare.simulation.views import ProposedActions, Views

DESK = {"strategy": "desk", "caught": 1.0, "delay_median": 1.0, "delay_sd": 0.1}
OFF = DESK | {"response": "none"}
SEEN: list[pl.DataFrame] = []


def decide(views: Views, draws: StageDraws, params: Any) -> ProposedActions:
    """Decide as `propensity` does, and keep what was read of beliefs."""
    assert views.believed is not None
    root = np.asarray(views.rows["root"])
    columns = {"agent": np.asarray(views.rows["agent"]), "claim": views.post("text")[root], "read": views.believed}
    SEEN.append(pl.DataFrame({"step": views.step, **columns}))
    return POLICY.decide(views, draws, params)


WATCHED = replace(POLICY, name="watched", decide=decide)


def run(**given: Any) -> Run:
    scenario = synthetic_scenario(80, false_share=0.5, propositions=2)
    policy = {"name": "propensity", "rate": 0.3, "person_sd": 0.5, "flags": 0.5, **given.pop("policy", {})}
    settings = settings_of(
        {"agents": 80, "steps": 6, "beliefs": {"rule": "credence", **given.pop("beliefs", {})}, "policy": policy,
         "moderation": DESK | {"response": "label"}, "feed": {"repeat": True}}, given,
    )  # fmt: skip
    return run_of(settings, scenario)


def test_the_policy_reads_the_belief_that_the_rule_finds_at_the_same_showing() -> None:
    registry.register("policy", "watched", f"{__name__}:WATCHED")
    SEEN.clear()
    made = run(policy={"name": "watched"})
    by = ["step", "agent", "claim"]
    read = pl.concat(SEEN).filter(pl.col("read").is_not_nan()).group_by(by).agg(pl.col("read").mean())
    both = made.table("veracities").join(read, on=by, how="full", coalesce=True)
    assert both.height > 500
    assert both["read"].to_numpy() == pytest.approx(both["judged"].to_numpy(), abs=1e-12)


def actions(made: Run) -> pl.DataFrame:
    return made.table("actions").select("step", "agent", "kind", "target", "status")


def test_a_route_that_is_cut_carries_nothing() -> None:
    """Without a route, runs with and without labels have the same actions; with one, other actions follow."""
    for route, same in (("none", True), ("belief", False), ("direct", False)):
        labeled, plain = (run(policy={"label_route": route}, **more) for more in ({}, {"moderation": OFF}))
        assert actions(labeled).equals(actions(plain)) == same, route


def test_a_label_that_is_no_evidence_changes_no_sharing_by_the_route_of_belief() -> None:
    """Posts that make no claim have no belief, so that labels act on them directly: by a factor of 1 here."""
    deaf, undirected = {"heed_false": 0.0, "heed_true": 0.0}, {"label_share": 1.0}
    labeled, plain = (run(beliefs=deaf, policy=undirected, **more) for more in ({}, {"moderation": OFF}))
    assert actions(labeled).equals(actions(plain))


def test_a_claim_that_is_no_longer_believed_takes_back_a_part_of_what_it_moved() -> None:
    trails = [run(beliefs={"retract": part}).table("trail") for part in (0.0, 0.5)]
    rows = [trail.filter(pl.col("kind") == 6) for trail in trails]
    assert rows[0].is_empty()
    assert rows[1].height > 0
    assert rows[1]["post"].min() >= 0  # type: ignore[operator]
