"""Evidence in the network: whole runs of the rules in log odds, their starts, their labels, and why beliefs moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.analysis.causes.records import evidence
from townsquare.analysis.causes.why import why
from townsquare.analysis.outcomes import outcomes
from townsquare.cli import main
from townsquare.core.enums import HoldingChange, Origin, TrailKind
from townsquare.core.errors import DataError, SettingError
from townsquare.core.schema import NONE
from townsquare.experiments.cautions import warnings
from townsquare.experiments.comparison import compare
from townsquare.experiments.start_check import check_starts
from townsquare.record.run import Run
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import load_scenario, synthetic_scenario
from townsquare.scenario.settings import resolve_for
from townsquare.settings.resolve import resolve
from townsquare.simulation.run import simulate

RULES = ("log_odds", "social_log_odds")
HARD: dict[str, Any] = {
    "growth": {"max_per_step": 3},
    "activation": {"batches": 2, "rate": 0.8},
    "moderation": {"strategy": "hybrid", "takedown": False},
    "evidence": {"own_claims": True, "theta": 0.5, "theta_self": 0.4},
}
LABELS_ARCHIVE = {"label_weight": {"false": 0.0, "noted": 0.0}}


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario("health-rumor@1")


@pytest.fixture(scope="module", params=[(rule, start) for rule in RULES for start in ("stated", "records")])
def run(request: pytest.FixtureRequest, scenario: Scenario) -> Run:
    rule, start = request.param
    beliefs = {"rule": rule, "start": start, "confirmation": 0.2, **LABELS_ARCHIVE}
    return run_of(settings_of(HARD, {"scenario": "health-rumor@1", "beliefs": beliefs, "steps": 7}), scenario)


def test_claims_reach_exactly_who_was_shown_their_post(run: Run) -> None:
    events = run.table("holdings").filter(pl.col("rank") >= 0)
    claims = run.table("claims").select(pl.col("post").alias("root"), pl.col("same_as").alias("claim"))
    shown = run.table("exposures").select("step", "agent", "rank", "post", "root").join(claims, on="root")
    named = events.filter(pl.col("change") != HoldingChange.ARCHIVED)
    assert named.height > 100
    assert named.join(shown, on=["step", "agent", "rank", "post", "claim"], how="anti").is_empty()
    archived = events.filter(pl.col("change") == HoldingChange.ARCHIVED)
    assert archived.join(shown, on=["step", "agent", "rank", "post"], how="anti").is_empty()
    held = run.table("holdings").select("agent", "claim").unique()
    assert shown.select("agent", "claim").unique().join(held, on=["agent", "claim"], how="anti").is_empty()


def test_what_happened_to_a_record_makes_sense(run: Run) -> None:
    allowed = {
        None: {HoldingChange.ACCEPTED, HoldingChange.REFUSED},
        HoldingChange.ACCEPTED: {HoldingChange.ARCHIVED},
        HoldingChange.RESTORED: {HoldingChange.ARCHIVED},
        HoldingChange.ARCHIVED: {HoldingChange.RESTORED},
        HoldingChange.REFUSED: {HoldingChange.ACCEPTED},
    }
    before: dict[tuple[int, int], HoldingChange] = {}
    seen = set()
    for agent, claim, change in run.table("holdings").select("agent", "claim", "change").iter_rows():
        assert change in allowed[before.get((agent, claim))]
        before[agent, claim] = HoldingChange(change)
        seen.add(HoldingChange(change))
    assert seen >= {HoldingChange.ACCEPTED, HoldingChange.ARCHIVED, HoldingChange.REFUSED}


def test_the_trail_sums_to_the_move_of_the_log_odds(run: Run) -> None:
    beliefs = run.table("beliefs").with_columns(L=((1 + pl.col("stance")) / (1 - pl.col("stance"))).log())
    keys = ["agent", "proposition", "step"]
    moved = beliefs.sort(keys).with_columns(dL=pl.col("L").diff().over("agent", "proposition"))
    explained = run.table("trail").group_by(keys).agg(pl.col("amount").sum())
    both = moved.filter(pl.col("dL").is_not_null()).join(explained, on=keys, how="left").fill_null(0.0)
    assert np.allclose(both["dL"], both["amount"], atol=1e-9)
    kinds = {TrailKind(kind) for kind in run.table("trail")["kind"].unique().to_list()}
    assert {TrailKind.EXPOSURE, TrailKind.OWN, TrailKind.ARCHIVED} <= kinds
    assert not kinds & {TrailKind.ANCHOR, TrailKind.CLIP}


def test_records_explain_every_belief(run: Run) -> None:
    agents = run.table("starts")["agent"].unique().sort().to_list()
    for agent in [*agents[:12], *agents[-4:]]:
        for one in evidence(run, agent):
            assert one.agrees, (agent, one.stance, one.recorded)
            assert one.log_odds == pytest.approx(one.prior + sum(record.amount for record in one.records), abs=1e-12)


def test_a_belief_without_a_record(run: Run) -> None:
    one = max(evidence(run, 0), key=lambda found: len(found.records))
    record = next(record for record in one.records if record.active)
    left = one.without(record.claim)
    assert left.log_odds == pytest.approx(one.log_odds - record.amount, abs=1e-12)
    archived = next((record for record in one.records if not record.active), None)
    assert archived is None or one.without(archived.claim).log_odds == one.log_odds
    with raises_error(SettingError, where="record of agent 0"):
        one.without(10**6)


def test_every_start_is_on_record(run: Run) -> None:
    starts = run.table("starts")
    first = run.table("beliefs").join(
        starts.select("agent", "proposition", "step"), on=["agent", "proposition", "step"], how="semi"
    )
    both = starts.join(first, on=["agent", "proposition", "step"])
    assert both.height == starts.height > 2 * 60
    opening = both.filter(pl.col("step") == 0)
    assert (opening["attained"] == opening["stance"]).all()
    seeds = run.table("holdings").filter(pl.col("origin") == Origin.SEED, pl.col("change") == HoldingChange.ACCEPTED)
    if run.settings["beliefs"]["start"] == "records":
        assert (opening["attained"] - opening["wanted"]).abs().mean() < 0.02
        assert seeds.height == 10 * starts.height
        assert seeds["post"].unique().to_list() == [NONE]
    else:
        assert seeds.is_empty()


def test_why_shows_moves_in_stance_units(run: Run) -> None:
    found = why(run, 0)
    assert found.unit == "log odds"
    assert found.agrees
    moved = [move for move in found.moves if move.change]
    assert moved
    assert all(abs(sum(cause.amount for cause in move.causes) - move.change) < 1e-12 for move in moved)


@pytest.mark.parametrize("rule", RULES)
def test_equal_runs_have_equal_hashes_and_resume(tmp_path: Path, rule: str, scenario: Scenario) -> None:
    settings = settings_of(
        HARD, {"scenario": "health-rumor@1", "beliefs": {"rule": rule, "start": "records"}, "steps": 4}
    )

    class Halt(Exception):
        pass

    def stop(mark: Any) -> None:
        if mark.step == 2:
            raise Halt

    with pytest.raises(Halt):
        simulate(settings, tmp_path / "run", scenario=scenario, on_step=stop)
    again = simulate(settings, tmp_path / "run", scenario=scenario)
    assert again.content_hash == run_of(settings, scenario).content_hash
    again.verify()


def test_a_label_of_weight_0_takes_evidence_out(scenario: Scenario) -> None:
    def final(weight: float) -> Run:
        beliefs = {"rule": "log_odds", "label_weight": {"false": weight, "noted": weight}}
        layers = {"scenario": "health-rumor@1", "beliefs": beliefs, "steps": 10, "agents": 80}
        moderation = {"strategy": "third_party", "takedown": False}
        return run_of(settings_of(layers, {"moderation": moderation}), scenario)

    counted, archived = final(1.0), final(0.0)
    events = archived.table("holdings").filter(pl.col("change") == HoldingChange.ARCHIVED)
    assert counted.table("holdings").filter(pl.col("change") == HoldingChange.ARCHIVED).height < events.height
    labeled = events.join(archived.table("exposures"), on=["step", "agent", "rank", "post"])
    by_label = labeled.filter(pl.col("by") == NONE)
    assert by_label.height > 0
    assert (by_label["weight"] == 0).all()


def test_made_runs_work_too() -> None:
    run = run_of(settings_of({"beliefs": {"rule": "log_odds"}, "steps": 4}), synthetic_scenario(40, propositions=2))
    assert run.table("holdings").height > 0


def test_a_bank_with_an_empty_side_is_refused() -> None:
    settings = settings_of({"beliefs": {"rule": "log_odds", "start": "records"}})
    with raises_error(DataError, where="arguments on p0", got="no argument for"):
        run_of(settings, synthetic_scenario(20, arguments=0))
    with raises_error(SettingError, where="number of seeds", got="30", allowed="1 to 20"):
        run_of(
            settings_of({"beliefs": {"rule": "log_odds", "start": "records", "seed_records": 30}}),
            synthetic_scenario(20),
        )


@pytest.mark.parametrize("theta", [0, 1.5, -1])
def test_a_threshold_outside_its_range_is_refused(theta: float) -> None:
    with raises_error(SettingError, where=r"evidence\.theta"):
        resolve({"evidence": {"theta": theta}})


# --- comparisons and the command line ----------------------------------------------------------------------


def test_arms_that_start_far_apart_are_not_compared(tmp_path: Path) -> None:
    vary = {"beliefs.anchoring": [0.2, 1.0]}
    base = [{"scenario": "synthetic:20", "agents": 50, "steps": 2, "beliefs": {"rule": "log_odds"}}]
    with raises_error(SettingError, got=r"initial stances that differ by .* on average") as caught:
        compare(base, vary, [1], tmp_path / "out")
    assert caught.value.where == "arms beliefs.anchoring=0.2 and beliefs.anchoring=1.0"
    assert not (tmp_path / "out").exists()
    layers = [*base, {"evidence": {"start_tolerance": 1.0}}]
    check_starts({str(a): resolve(*layers, {"beliefs.anchoring": a}) for a in (0.2, 1.0)})


def test_the_command_line_shows_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = resolve_for("health-rumor@1", agents=40, steps=3, sets=["beliefs.rule=log_odds"])
    simulate(settings, tmp_path / "run")

    def said(*words: str) -> str:
        assert main(["why", str(tmp_path / "run"), "--agent", "3", *words]) == 0
        return capsys.readouterr().out

    found = json.loads(said("--json"))["evidence"]
    record = next(record for one in found for record in one["records"] if record["active"])
    assert all(one["agrees"] for one in found)
    text = said("--step", "3")
    assert "Records of agent 3 on vaccine_safe after step 3" in text
    assert "as recorded" in text
    assert f"Without record {record['claim']}" in said("--without-record", str(record["claim"]))
    left = json.loads(said("--without-record", str(record["claim"]), "--json"))["without_record"]
    assert left["claim"] == record["claim"]
    assert main(["why", str(tmp_path / "run"), "--agent", "3", "--without-record", "999999"]) == 2
    assert "--without-record" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("beliefs", "ignored"),
    [
        ({"rule": "log_odds"}, True),
        ({"rule": "log_odds", **LABELS_ARCHIVE}, False),
        ({"rule": "social_log_odds"}, False),
    ],
)
def test_a_report_says_where_labels_do_nothing(beliefs: dict[str, Any], ignored: bool, scenario: Scenario) -> None:
    settings = settings_of(HARD, {"scenario": "health-rumor@1", "beliefs": beliefs, "steps": 7})
    run = run_of(settings, scenario)
    said = warnings(run, outcomes(run))
    assert any("Labels had no effect on beliefs" in one for one in said) is ignored


def test_label_weights_alone_are_social_log_odds_without_its_other_switches(scenario: Scenario) -> None:
    off = {"weigh_trust": False, "weigh_social_proof": False, "weigh_novelty": False}
    weights = {"label_weight": {"false": 0.25, "noted": 0.5}}
    base = {"scenario": "health-rumor@1", "moderation": {"strategy": "hybrid", "takedown": False}, "steps": 7}
    rules = (
        {"rule": "log_odds"},
        {"rule": "social_log_odds", **off, "weigh_labels": False},
        {"rule": "social_log_odds", **off},
    )
    plain, same, weighed = (
        run_of(settings_of(base, {"beliefs": {**rule, **weights}}), scenario).table("beliefs") for rule in rules
    )
    assert plain.equals(same)
    assert not plain.equals(weighed)
