"""A belief without one of the things that moved it, against the rule executed on inputs without that row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from raised_errors import raises_error
from running_viewer import record
from townsquare.analysis.causes.records import evidence
from townsquare.core.errors import SettingError
from townsquare.experiments.counterfactual.one_step import without
from townsquare.pages.view.agent import agent, claim_table, claims, without_record
from townsquare.pages.view.library import Library, Snapshot


def snapshot(folder: Path) -> Snapshot:
    library = Library(folder)
    return library.snapshot(library.locations()[0].id)


def largest(of: Snapshot, agent: int, step: int) -> dict[str, float]:
    trail = of.run.table("trail", (step, step)).filter((pl.col("agent") == agent) & (pl.col("post") >= 0))
    return trail.filter(pl.col("proposition") == 0).sort(pl.col("amount").abs(), descending=True).row(0, named=True)


@pytest.mark.parametrize("rule", ["exposure", "exposure-bounded", "averaging", "bounded_confidence"])
def test_rules_that_read_exposures_are_executed_again(tmp_path: Path, rule: str) -> None:
    of = snapshot(record(tmp_path / rule, agents=60, steps=3, beliefs={"rule": rule}))
    for person in (3, 17):
        row = largest(of, person, 3)
        left = without(of.run, of.cached, person, 3, 0, int(row["rank"]), int(row["post"]))
        assert left.method == "exact"
        # Without the row, the stance lies on the other side of where the row had pushed it, or where it was.
        assert (left.recorded - left.stance) * row["amount"] > 0


def test_the_agent_view_says_why_a_claim_is_believed_no_more(tmp_path: Path) -> None:
    given = {"beliefs": {"rule": "credence"}, "moderation": {"strategy": "hybrid", "posts_per_step": 20}}
    of = snapshot(record(tmp_path / "run", agents=40, steps=6, **given))
    assert agent(of, 5)["claims"]
    told = claims(of, 5, 10)
    turned = [(known["meetings"][-1]["start"] > 0) != (known["meetings"][-1]["judged"] > 0) for known in told["claims"]]
    assert turned == sorted(turned, reverse=True)
    assert any(turned)
    assert told["met"] == claim_table(of, 5)["claim"].n_unique()
    assert all(len(known["sentences"]) == 4 for known in told["claims"])


def test_the_exact_rule_adds_up(tmp_path: Path) -> None:
    of = snapshot(record(tmp_path / "run", agents=60, steps=2, beliefs={"rule": "exposure", "pull": 0.001}))
    row = largest(of, 5, 2)
    left = without(of.run, of.cached, 5, 2, 0, int(row["rank"]), int(row["post"]))
    assert left.stance == pytest.approx(left.recorded - row["amount"], abs=1e-12)


def test_the_bounded_rule_gives_the_others_more_weight(tmp_path: Path) -> None:
    of = snapshot(record(tmp_path / "run", agents=60, steps=2, beliefs={"rule": "exposure-bounded", "pull": 0.1}))
    row = largest(of, 5, 2)
    left = without(of.run, of.cached, 5, 2, 0, int(row["rank"]), int(row["post"]))
    assert left.method == "exact"
    assert abs(left.stance - (left.recorded - row["amount"])) > 1e-6


def test_a_row_that_is_not_there_is_refused(tmp_path: Path) -> None:
    of = snapshot(record(tmp_path / "run", agents=40, steps=2))
    with raises_error(SettingError, where="row of the trail"):
        without(of.run, of.cached, 5, 2, 0, 3, 123_456)


def test_records_add(tmp_path: Path) -> None:
    of = snapshot(record(tmp_path / "run", agents=40, steps=3, beliefs={"rule": "log_odds"}))
    held = next(
        (agent, one)
        for agent in range(40)
        for one in evidence(of.run, agent, 3, "vaccine_safe")
        if one.log_odds != one.prior
    )
    agent, one = held
    record_ = max(one.records, key=lambda record: abs(record.amount))
    left = without_record(of, agent, 3, "vaccine_safe", record_.claim)
    assert left["log_odds"] == pytest.approx(one.log_odds - record_.amount, abs=1e-12)
    assert left["recorded"] == one.stance
