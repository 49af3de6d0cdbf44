"""What the main job must show, through the public surface: sizes, determinism, kills, real input, spread."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from repository import SHARED
from townsquare.settings.resolve import resolve

PROGRAM = """
import sys, townsquare as ts
settings = ts.resolve_for(sys.argv[2], agents=int(sys.argv[3]), steps=int(sys.argv[4]), seed=4,
                          sets={"moderation.strategy": "hybrid", "growth.max_per_step": 2,
                                "record.parquet_above": int(sys.argv[5])})
run = ts.simulate(settings, sys.argv[1])
print(run.content_hash)
"""


def command(
    folder: Path, scenario: str = "synthetic:200", agents: int = 120, steps: int = 25, above: int = 10**9
) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(folder), scenario, str(agents), str(steps), str(above)]


def hash_of(arguments: list[str], **environment: str) -> str:
    done = subprocess.run(arguments, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return done.stdout.strip()


@pytest.mark.slow
def test_one_hash_under_hash_seeds_and_thread_counts(tmp_path: Path) -> None:
    hashes = {
        hash_of(command(tmp_path / f"{seed}-{threads}"), PYTHONHASHSEED=seed, NUMBA_NUM_THREADS=threads)
        for seed, threads in (("1", "1"), ("2", "2"))
    }
    assert len(hashes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("above", [10**9, 0], ids=["sqlite", "parquet"])
def test_runs_killed_at_random_instants_and_resumed_have_the_hash_of_one_that_was_not(
    tmp_path: Path, above: int
) -> None:
    began = time.perf_counter()
    whole = hash_of(command(tmp_path / "whole", above=above))
    seconds = time.perf_counter() - began
    draw = random.Random(above)
    for number in range(5):
        folder = tmp_path / f"killed-{number}"
        process = subprocess.Popen(command(folder, above=above), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 1.0) * seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert hash_of(command(folder, above=above)) == whole
        assert ts.Run.open(folder).verify() == whole


def test_the_size_of_the_mosaic_study_records_everything(tmp_path: Path) -> None:
    settings = resolve(
        {
            "scenario": "synthetic",
            "agents": 50,
            "steps": 40,
            "growth": {"max_per_step": 2},
            "moderation": {"strategy": "hybrid"},
            "injection": {"posts_per_step": 13},
        }
    )
    run = ts.simulate(settings, tmp_path / "run", scenario=ts.synthetic_scenario(500))
    injected = run.sql("SELECT count(*) AS n FROM ts_posts WHERE kind = 3")["n"][0]
    assert run.state == "finished"
    assert injected == 500
    assert run.table("exposures").height == run.steps["exposures"].sum()
    assert run.table("trail").height > 0


@pytest.mark.parametrize("agents", [300, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [line.name for line in ts.list_scenarios()])
def test_a_bundled_scenario_keeps_half_of_its_spread_of_stances_over_20_steps(name: str, agents: int) -> None:
    run = ts.simulate(ts.resolve_for(name, agents=agents, steps=20, sets={"record.trail": False}))
    beliefs = run.table("beliefs").filter(pl.col("step").is_in([0, 20]))
    first = run.table("agents").filter(pl.col("born") == 0)["agent"]
    spread = (
        beliefs.filter(pl.col("agent").is_in(first.to_list()))
        .group_by("proposition", "step")
        .agg(pl.col("stance").std())
        .sort("proposition", "step")
    )
    start, end = (spread.filter(pl.col("step") == step)["stance"].to_numpy() for step in (0, 20))
    assert (end / start > 0.5).all()


HEADLINES = "headline,is_true\n" + "\n".join(f'"A made headline, number {k}",{k % 2}' for k in range(24))


def test_a_csv_of_text_and_truth_alone_runs(tmp_path: Path) -> None:
    (tmp_path / "headlines.csv").write_text(HEADLINES, encoding="utf-8")
    check_headlines(tmp_path / "headlines.csv")


def test_the_headlines_of_a_real_study_run() -> None:
    file = SHARED / "headlines" / "headlines_with_fact_checks.csv"
    file = file if file.exists() else SHARED / "data" / "headlines" / "headlines_with_fact_checks.csv"
    if not file.exists():
        pytest.skip(f"{file.name} is not here: put the study's data in {SHARED / 'data'} or set TOWNSQUARE_SHARED")
    check_headlines(file)


def check_headlines(file: Path) -> None:
    run = ts.simulate(ts.resolve_for(str(file), agents=80, steps=8, sets={"moderation.strategy": "third_party"}))
    injected = run.table("posts").filter(pl.col("kind") == 3)
    assert injected.height == 24
    assert sorted(injected["veracity"].value_counts()["count"].to_list()) == [12, 12]
    assert run.table("actions").filter(pl.col("status") == 0).height > 0
    assert run.table("beliefs").is_empty()


def test_the_trail_sums_to_every_move() -> None:
    run = ts.simulate(ts.resolve_for("health-rumor@1", agents=150, steps=8))
    keys = ["agent", "proposition", "step"]
    moves = (
        run.table("beliefs")
        .sort(keys)
        .with_columns(move=pl.col("stance").diff().over("agent", "proposition"))
        .drop_nulls("move")
    )
    trail = run.table("trail").group_by(keys).agg(pl.col("amount").sum())
    both = moves.join(trail, on=keys, how="left").with_columns(pl.col("amount").fill_null(0.0))
    assert both.height == moves.height
    assert np.abs(both["move"] - both["amount"]).max() < 1e-12
