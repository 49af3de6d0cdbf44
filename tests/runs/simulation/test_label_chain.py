"""From a label to belief to sharing: what the policy `propensity` reads of what the rule `credence` holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from small_worlds import run_of, settings_of
from townsquare.core.enums import TrailKind
from townsquare.record.run import Run
from townsquare.scenario.load import synthetic_scenario
from townsquare.simulation import belief_step, views
from townsquare.simulation.views import Views


def run(**given: Any) -> Run:
    scenario = synthetic_scenario(80, false_share=0.5, propositions=2)
    policy = {"name": "propensity", "rate": 0.3, "person_sd": 0.5, "flags": 0.5, **given.pop("policy", {})}
    settings = settings_of(
        {"agents": 80, "steps": 6, "beliefs": {"rule": "credence", **given.pop("beliefs", {})}, "policy": policy,
         "moderation": {"strategy": "desk", "response": "label"}, "feed": {"repeat": True}}, given,
    )  # fmt: skip
    return run_of(settings, scenario)


def test_the_policy_reads_the_belief_that_the_rule_finds_at_the_same_showing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[pl.DataFrame] = []
    plain = Views.believed.func

    def kept(self: Views) -> Any:
        out = plain(self)
        assert out is not None
        root = np.asarray(self.rows["root"])
        seen.append(pl.DataFrame({
            "step": self.step, "agent": np.asarray(self.rows["agent"]), "claim": self.post("text")[root], "policy": out,
        }))  # fmt: skip
        return out

    monkeypatch.setattr(views.Views, "believed", property(kept))
    made = run()
    read = pl.concat(seen).filter(pl.col("policy").is_not_nan())
    by = ["step", "agent", "claim"]
    both = made.table("veracities").join(
        read.group_by(by).agg(pl.col("policy").mean()), on=by, how="full", coalesce=True
    )
    assert both.height > 500
    assert both["policy"].to_numpy() == pytest.approx(both["judged"].to_numpy(), abs=1e-12)
