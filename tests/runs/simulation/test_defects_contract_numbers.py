"""Numbers that were wrong or could not be: seeds that a comparison needs, and the golden check of what was seen."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from simswarm_oracle import Believer, update
from townsquare.cli import main
from townsquare.experiments.arms import Arm
from townsquare.experiments.manifest import FINISHED, ArmRun, Experiment
from townsquare.experiments.power import seeds_needed
from townsquare.testing.golden.golden import check

REVERSED = """
import sys
import numpy as np
import townsquare.simulation.world as world
shipped = world.keep_newest

def keep_oldest(block, cap, base, first, post_key):
    top = block.value.max(initial=0)
    kept = shipped(block._replace(value=top - block.value), cap, base, first, post_key)
    return kept._replace(value=top - kept.value)

world.keep_newest = keep_oldest
from townsquare.cli import main
sys.exit(main(["check", "golden", sys.argv[1]]))
"""


def pilot(sd: float) -> pl.DataFrame:
    """Two arms whose paired differences have mean 0 and this standard deviation, over three seeds."""
    rows = [{"arm": "a", "seed": k, "x": 0.0} for k in range(3)]
    return pl.DataFrame(rows + [{"arm": "b", "seed": k, "x": sd * d} for k, d in enumerate((-1.0, 1.0, 0.0))])


def needed(effect: float, sd: float = 1.0, power: float = 0.8, level: float = 0.05) -> tuple[int, int]:
    row = seeds_needed(pilot(sd), "a", effect=effect, power=power, level=level).row(0, named=True)
    return row["seeds"] or 10**9, row["seeds_cautious"] or 10**9


def test_row_11_power_of_large_effects() -> None:
    assert needed(31.8, sd=4.81) == (3, 4)
    assert needed(30.0, sd=4.81) == (3, 4)


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0, 3.0, 31.8 / 4.81, 20.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_row_11_power_is_that_of_simulated_tests(size: float, seed: int) -> None:
    seeds, _ = needed(size)
    rng = np.random.default_rng(seed)
    for n, enough in ((seeds, True), (seeds - 1, False)):
        if n < 2:
            continue
        found = np.asarray(scipy.stats.ttest_1samp(rng.normal(size, 1.0, (4000, n)), 0.0, axis=1).pvalue) < 0.05
        assert (found.mean() > 0.8 - 0.03) if enough else (found.mean() < 0.8 + 0.03)


SIZES = st.floats(0.1, 20.0)


@given(SIZES, SIZES, st.floats(0.05, 0.999), st.floats(1e-4, 0.2))
@profile(deadline=None, max_examples=60)
def test_row_11_larger_effects_never_need_more_seeds(one: float, other: float, power: float, level: float) -> None:
    small, large = sorted((one, other))
    few, many = needed(large, power=power, level=level), needed(small, power=power, level=level)
    assert few[0] <= many[0]
    assert few[1] <= many[1]
    assert few[0] <= few[1]
    assert many[0] <= many[1]


@pytest.mark.parametrize("effect", [1e3, 1e100, 1e300])
def test_row_11_effects_beyond_all_spread(effect: float) -> None:
    assert needed(effect) == (2, 2)


def test_row_11_the_command_gives_no_smaller_cautious_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = (Arm("a", "a", {}), Arm("b", "b", {}))
    rows = [("a", k, 0.0) for k in range(3)] + [("b", k, 31.8 + 4.81 * d) for k, d in enumerate((-1.0, 1.0, 0.0))]
    runs = tuple(ArmRun(arm, seed, "x", "d", FINISHED, outcomes={"reach": value}) for arm, seed, value in rows)
    Experiment(tmp_path, {}, arms, (0, 1, 2), runs).save()
    assert main(["power", str(tmp_path), "--outcome", "reach", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["needed"][0]
    assert math.isclose(row["effect"], 31.8)
    assert 2 <= row["seeds"] <= row["seeds_cautious"]


def golden_file(folder: Path, before: int) -> Path:
    """One case of the format ``update``: an agent that has seen ``before`` posts is shown three new ones."""
    known = {f"x{i}" for i in range(before)}
    agent = Believer(0.4, 0.5, {"a": 0.5}, set(known))
    posts = [("a", f"n{k}", 0.1 * k, k) for k in range(3)]
    update(agent, posts, 0, 0)
    out = {"pos": agent.stance, "conf": agent.confidence, "trust": dict(agent.trust), "exp_n": min(before + 3, 2000)}
    if before + 3 <= 2000:  # beyond the cap, which ones SimSwarm forgets depends on the salt of a hash
        out["exp_sha"] = hashlib.sha256("\n".join(sorted(agent.seen)).encode()).hexdigest()[:16]
    start = {"pos": {"t": 0.4}, "conf": {"t": 0.5}, "trust": {"a": 0.5}, "exp_gen": ["x", before]}
    case = {"topic": "t", "init": start, "rounds": [{"posts": posts, "ol": 0, "od": 0, "out": out}]}
    path = folder / f"golden-{before}.jsonl"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("before", [4, 1997, 1998, 2010])
def test_row_14_golden_seen_agrees_with_the_shipped_store(before: int, tmp_path: Path) -> None:
    report = check(golden_file(tmp_path, before))
    assert report.failures == []
    assert report.largest_difference["seen"] == 0.0


@pytest.mark.parametrize("before", [1998, 2010])
def test_row_14_golden_seen_fails_where_forgetting_is_reversed(before: int, tmp_path: Path) -> None:
    path = str(golden_file(tmp_path, before))
    ended = subprocess.run([sys.executable, "-c", REVERSED, path], capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "seen is" in ended.stderr
    assert "NO" in ended.stdout
