"""The forms that `make bench-peers` times say the same model: on a small graph they end at the same stances.

The peers are in environments of their own (`make peers`); a form whose environment is not there is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import findings
import numpy as np
import pytest

from repository import ROOT

BENCH = ROOT / "benchmarks" / "peers"
PEERS = Path(os.environ.get("TOWNSQUARE_PEERS", ROOT / ".venv-peers"))
STEPS = 6
OWN = ""


def python_of(home: str) -> str:
    """The interpreter of a peer's environment, or of this one."""
    if home == OWN:
        return sys.executable
    python = PEERS / home / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no {python.relative_to(ROOT) if python.is_relative_to(ROOT) else python}: `make peers` makes it")
    return str(python)


def graph(path: Path, agents: int = 80, ties: int = 300) -> None:
    """A symmetric graph with agents of many, few and no ties, and starts on both sides."""
    draw = np.random.default_rng(11)
    a, b = draw.integers(0, agents - 1, (2, ties))  # the last agent knows nobody
    one, other = np.r_[a, b][np.r_[a != b, a != b]], np.r_[b, a][np.r_[a != b, a != b]]
    key = np.unique(one * agents + other)
    indptr = np.searchsorted(key, np.arange(agents + 1) * agents).astype(np.int64)
    np.savez(path, indptr=indptr, followed=(key % agents).astype(np.int32), stance=draw.uniform(-1, 1, agents))


def run(adapter: str, folder: Path, home: str = OWN, steps: int = STEPS) -> tuple[dict, np.ndarray | None]:
    """Figures and stances of one form, in its own process and environment."""
    problem, out = folder / "problem.npz", folder / f"{adapter.replace(':', '-')}.npy"
    if not problem.exists():
        graph(problem)
    words = [adapter, problem, steps, 600, out, folder / "ready"]
    done = subprocess.run(
        [python_of(home), str(BENCH / "cell.py"), *map(str, words)],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), np.load(out) if out.exists() else None


@pytest.mark.parametrize("model", ["averaging", "bounded_confidence"])
@pytest.mark.parametrize(
    ("module", "home"),
    [
        ("townsquare_rules", OWN),
        pytest.param("ndlib_models", "models", marks=pytest.mark.slow),
        pytest.param("mesa_models", "models", marks=pytest.mark.slow),
        pytest.param("mesa_frames_models", "mesa-frames", marks=pytest.mark.slow),
    ],
)
def test_opinion_models_are_the_same(tmp_path: Path, model: str, module: str, home: str) -> None:
    figures, stances = run(f"{module}:{model}", tmp_path, home)
    _, expected = run(f"plain_numpy:{model}", tmp_path)
    assert figures["steps"] == STEPS
    np.testing.assert_allclose(stances, expected, rtol=0, atol=1e-12)
    with np.load(tmp_path / "problem.npz") as problem:
        assert np.abs(expected - problem["stance"]).max() > 0.1, "a model in which nobody moves would agree with any"
        assert expected[-1] == pytest.approx(problem["stance"][-1]) or model == "averaging"


@pytest.mark.slow
def test_the_published_formula_and_the_rule_are_the_same(tmp_path: Path) -> None:
    ends = {form: run(f"exposure_forms:{form}", tmp_path)[1] for form in ("page", "in_place", "shipped")}
    np.testing.assert_array_equal(ends["page"], ends["in_place"])
    np.testing.assert_allclose(ends["shipped"], ends["page"], rtol=0, atol=1e-12)
    assert ends["page"].std() > 0.01


@pytest.mark.slow
def test_hk_as_ndlib_ships_it_moves_one_agent_at_most(tmp_path: Path) -> None:
    """The page says so; when a later version moves everybody, the page and the form must change."""
    _, stances = run("ndlib_models:hk_as_shipped", tmp_path, "models", steps=1)
    with np.load(tmp_path / "problem.npz") as problem:
        assert np.count_nonzero(stances != problem["stance"]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "home"),
    [
        ("townsquare_platform:default", OWN),
        ("oasis_platform:direct", "camel-oasis"),
        ("oasis_platform:environment", "camel-oasis"),
    ],
)
def test_the_platforms_do_the_same(tmp_path: Path, adapter: str, home: str) -> None:
    """Posts by turns are exact; likes and follows differ by what each platform refuses as repeated."""
    figures, _ = run(adapter, tmp_path, home, steps=2)
    facts = figures["facts"]
    assert facts["posts"] == 80 / 5
    assert 0.8 * 80 <= facts["likes"] <= 80
    assert 0 < facts["follows"] <= 80 / 20


def test_the_page_says_where_a_peer_is_faster_and_what_did_not_end(tmp_path: Path) -> None:
    def cell(form: str, agents: int, seconds: float, why_not: str = "") -> dict[str, object]:
        known = {"steps": 10, "seconds": seconds, "processor": seconds, "set_up": 0.1, "peak": 0.2, "facts": {}}
        figures = {} if why_not else known | {"versions": {"mesa": "0.0.1"}}
        return {"model": "averaging", "form": form, "agents": agents, "why_not": why_not, "figures": figures}

    cells = [
        cell("townsquare_1", 1_000, 0.002),
        cell("mesa", 1_000, 0.001),
        cell("townsquare_1", 10_000, 0.004),
        cell("mesa", 10_000, 0.4),
        cell("ndlib", 10_000, 0, "over 60 s"),
    ]
    about = {"cores": 2, "machine": "x86_64", "loads": [9.0, 0.1], "minutes": 3.0, "limit": 60.0, "seconds": 5.0}
    known = {"averaging": about | {"cells": cells}}
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "figures.json").write_text(json.dumps(known))
    command = [sys.executable, str(BENCH / "run.py"), "--redraw", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    page = (tmp_path / "peers.md").read_text(encoding="utf-8")
    assert "| Mesa | 1 | 1,000,000 | 25,000 |" in page
    assert "over Mesa (1 thread): 0.5 at 1,000, 100 at 10,000. **A ratio below 1 means" in page
    assert "| NDlib, FJModel | 1 |  | over 60 s |" in page
    assert "when it began 9.0, when it ended 0.1" in page
    assert "currentColor" in (tmp_path / "peers" / "peers.svg").read_text(encoding="utf-8")


def test_the_table_of_other_tools_in_the_readme_is_that_of_the_figures() -> None:
    assert findings.peers() in (ROOT / "README.md").read_text(encoding="utf-8")
