"""Profiles of uptake and anchoring: read from a file, drawn for life, recorded, and used by the rules in log odds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.analysis.causes.records import evidence
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.beliefs.profiles import read_profiles
from townsquare.cli import main
from townsquare.core.draws import Draws, Stage
from townsquare.core.errors import DataError, SettingError, WrongVersion
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.resolve import resolve
from townsquare.simulation.run import simulate

ROWS = "profile,u,a,share\nopen,0.4,0.2,3\nstubborn,0.1,0.8,1\ndeaf,0,1,1\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def ran(file: Path, **beliefs: Any) -> Run:
    base = {"scenario": "health-rumor@1", "steps": 4, "growth": {"max_per_step": 3}}
    settings = settings_of(base, {"beliefs": {"rule": "log_odds", "profiles": str(file), **beliefs}})
    return run_of(settings, load_scenario("health-rumor@1"))


@pytest.mark.parametrize("start", ["stated", "records"])
@pytest.mark.parametrize("rule", ["log_odds", "social_log_odds"])
def test_each_agent_has_one_profile_for_life_and_its_beliefs_follow_from_it(file: Path, rule: str, start: str) -> None:
    run = ran(file, rule=rule, start=start)
    own = run.table("profiles").join(run.table("texts").rename({"text": "profile"}), on="profile")
    persons = run.table("agents").filter(pl.col("kind") == 0)["agent"].to_list()

    assert sorted(own["agent"].to_list()) == persons
    assert run.table("agents").filter(pl.col("born") > 0).height > 0
    named = {row["content"]: (row["uptake"], row["anchoring"]) for row in own.iter_rows(named=True)}
    assert named == {"open": (0.4, 0.2), "stubborn": (0.1, 0.8), "deaf": (0.0, 1.0)}
    for agent in [*persons[:8], *persons[-3:]]:
        for one in evidence(run, agent):
            assert one.agrees, (agent, one.stance, one.recorded)
            assert (one.uptake, one.anchoring) == named[one.profile]
    deaf = own.filter(pl.col("content") == "deaf")["agent"]
    moves = run.table("beliefs").filter(pl.col("agent").is_in(deaf.implode())).group_by("agent", "proposition")
    assert (moves.agg(pl.col("stance").n_unique())["stance"] == 1).all()


def test_stated_starts_are_anchored_by_each_ones_own_a(file: Path) -> None:
    run = ran(file)
    starts = run.table("starts").join(run.table("profiles"), on="agent")
    expected = stances_of(start_log_odds(starts["wanted"].to_numpy(), starts["anchoring"].to_numpy()))
    assert np.array_equal(starts["attained"].to_numpy(), expected)


def test_shares_are_met_and_the_draw_is_by_agent_alone(file: Path) -> None:
    profiles = read_profiles(file)
    drawn = profiles.drawn(np.arange(20_000), Draws(3, 0)(Stage.BELIEF))
    assert np.allclose(np.bincount(drawn) / drawn.size, [0.6, 0.2, 0.2], atol=0.02)
    later = profiles.drawn([7, 19_999], Draws(3, 9)(Stage.BELIEF))
    assert later.tolist() == drawn[[7, 19_999]].tolist()


def test_equal_profiles_for_all_are_the_plain_settings(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"profile": "all", "u": 0.3, "a": 0.5}\n')
    one, other = ran(path), ran(Path(""), profiles="", uptake=0.3, anchoring=0.5)
    assert one.table("beliefs").equals(other.table("beliefs"))
    assert other.table("profiles").is_empty()


def test_what_the_file_says_belongs_to_the_run(file: Path, tmp_path: Path) -> None:
    layer = {
        "scenario": "health-rumor@1",
        "agents": 30,
        "steps": 2,
        "beliefs": {"rule": "log_odds", "profiles": str(file)},
    }
    before = resolve_with_scenario(layer)
    simulate(before, tmp_path / "run")
    file.write_text(ROWS.replace("0.8", "0.7"))
    after = resolve_with_scenario(layer)
    assert before.digest != after.digest
    with raises_error(WrongVersion, got="changed after the settings"):
        resolve_with_scenario(before.plain())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("profile,u\na,1\n", {"allowed": "a column `a`"}),
        ("profile,u,a\n", {"got": "no rows"}),
        (
            "profile,u,a\nx,-1,1\n",
            {"where": "row 1 .line 2., column 'u'", "got": "'-1'", "allowed": "a number from 0 to 1000"},
        ),
        ("profile,u,a\nx,1,\n", {"where": "column 'a'"}),
        ("profile,u,a\nx,1,nan\n", {"where": "column 'a'"}),
        ("profile,u,a,share\nx,1,1,0\n", {"where": "column 'share'", "got": "'0'", "allowed": "a number above 0"}),
        ("profile,u,a\nx,1,1\nx,1,1\n", {"where": "row 2 .line 3., column 'profile'", "got": "'x' again"}),
        ("profile,u,a\n,1,1\n", {"where": "column 'profile'"}),
        ("profile,u,a,shares\nx,1,1,1\n", {"do": "did you mean 'share'"}),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error_with_its_place(
    file: Path, text: str, complaint: dict[str, str]
) -> None:
    file.write_text(text)
    with raises_error(DataError, **complaint):
        read_profiles(file)


def test_events_cannot_set_what_agents_have_of_their_own(file: Path) -> None:
    beliefs = {"rule": "log_odds", "profiles": str(file)}
    with raises_error(SettingError, where="beliefs.uptake", do="by beliefs.profiles"):
        resolve({"beliefs": beliefs, "events": [{"step": 2, "set": {"beliefs.uptake": 0.9}}]})
    with raises_error(SettingError, do=r"beliefs.profiles cannot change"):
        resolve({"beliefs": {"rule": "log_odds"}, "events": [{"step": 2, "set": {"beliefs.profiles": str(file)}}]})


def test_why_names_the_profile(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = resolve({"agents": 30, "steps": 2, "beliefs": {"rule": "log_odds", "profiles": str(file)}})
    simulate(settings, tmp_path / "run")
    assert main(["why", str(tmp_path / "run"), "--agent", "3", "--step", "2"]) == 0
    out = capsys.readouterr().out
    assert any(
        f"uptake u = {u}, anchoring a = {a}; profile {name}" in out
        for name, u, a in (("open", 0.4, 0.2), ("stubborn", 0.1, 0.8), ("deaf", 0, 1))
    )
