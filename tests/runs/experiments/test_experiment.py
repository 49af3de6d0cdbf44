"""Arms x seeds: combinations, processes, going on, failures, and paired differences."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

import worker_jobs
from raised_errors import raises_error
from townsquare.core.errors import RecordError, SettingError, UnknownName, WrongVersion
from townsquare.experiments.arms import Arm, arms_of, parse_seeds, parse_vary
from townsquare.experiments.comparison import Experiment, Progress, compare
from townsquare.experiments.execution import ExecutionTargets, execute
from townsquare.experiments.manifest import FAILED, FILE, FINISHED, ArmRun, RunResult
from townsquare.experiments.paired import NO_VALUES, ONE_SEED, SAME, paired
from townsquare.experiments.run_folders import check_unused, fresh_folder, go_on, state_of
from townsquare.experiments.workers import Pool
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.settings.resolve import resolve
from townsquare.simulation.run import simulate

BASE = {"scenario": "synthetic:20", "agents": 30, "steps": 3}
VARY = {"moderation.strategy": ["none", "third_party"]}


# --- arms --------------------------------------------------------------------------------------------------


def test_arms_are_all_combinations_the_first_is_the_baseline() -> None:
    arms = arms_of({"a.x": [1, 2], "b.y": ["u", "v", "w"]})
    assert len(arms) == 6
    assert arms[0].name == "a.x=1, b.y=u"
    assert arms[1].changes == {"a.x": 1, "b.y": "v"}
    assert arms_of({}) == (Arm("all", "all", {}),)


VALUES = st.text(max_size=80) | st.integers() | st.floats(allow_nan=False) | st.none() | st.lists(st.integers())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


@given(st.lists(VALUES, min_size=1, max_size=5, unique_by=_as_text))
@profile(deadline=None, max_examples=100)
def test_folders_of_arms_are_different_and_harmless(values: list[Any]) -> None:
    try:
        arms = arms_of({"feed.x": values})
    except SettingError:
        return  # two values that read the same, as the text "1" and the number
    slugs = [arm.slug for arm in arms]
    assert len({slug.lower() for slug in slugs}) == len(slugs)
    for slug in slugs:
        assert 0 < len(slug) < 100
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
        assert slug[0] not in ".-"


@pytest.mark.parametrize("vary", [{"a": []}, {"a": [1, 1]}, {"seed": [1, 2]}])
def test_arms_that_are_none(vary: dict[str, Sequence[Any]]) -> None:
    with raises_error(SettingError, where="--vary"):
        arms_of(vary)


@pytest.mark.parametrize("text", ["", "a", "a=", "=1,2", "a=[1", "a=1,,2"])
def test_vary_that_is_none(text: str) -> None:
    with raises_error(SettingError, where="--vary"):
        parse_vary(text)


@pytest.mark.parametrize("text", ["", "0", "x", "-1", "1.5", "3,3", "5-4", "1-3,2", "1,", "9999999", "1-99999999"])
def test_seeds_that_are_none(text: str) -> None:
    with raises_error(SettingError, where="--seeds"):
        parse_seeds(text, 1)


def test_a_varied_setting_that_no_arm_has_is_refused(tmp_path: Path) -> None:
    base: list[dict[str, Any]] = [{"scenario": "synthetic:20", "agents": 5, "steps": 1}]
    vary = {"moderation.strategy": ["none", "hybrid"], "moderation.response": ["none", "note"]}
    with raises_error(SettingError, where="--vary moderation.response"):
        compare(base, vary, 1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- paired ------------------------------------------------------------------------------------------------


def _runs(values: dict[str, list[float]]) -> pl.DataFrame:
    rows = [(arm, seed, value) for arm, column in values.items() for seed, value in enumerate(column, 1)]
    return pl.DataFrame(rows, schema=["arm", "seed", "x"], orient="row")


@given(st.integers(2, 8), st.integers(0, 2**32))
@profile(deadline=None, max_examples=25)
def test_intervals_agree_with_scipy(n: int, seed: int) -> None:
    base, other = np.random.default_rng(seed).normal(size=(2, n)).tolist()
    row = paired(_runs({"base": base, "other": other}), "base").filter(pl.col("arm") == "other").row(0, named=True)
    test = scipy.stats.ttest_rel(other, base)
    low, high = test.confidence_interval(0.95)
    assert row["difference"] == pytest.approx(np.mean(np.subtract(other, base)))
    assert (row["low"], row["high"], row["p"]) == pytest.approx((low, high, test.pvalue))
    assert (row["n"], row["pairs"], row["note"]) == (n, n, "")


def test_only_seeds_that_both_arms_have_are_paired() -> None:
    runs = _runs({"base": [1.0, math.nan, 3.0, 5.0], "other": [2.0, 4.0, 5.0]})
    row = paired(runs, "base").filter(pl.col("arm") == "other").row(0, named=True)
    assert (row["pairs"], row["n"], row["mean"], row["difference"]) == (2, 3, pytest.approx(11 / 3), 1.5)


@pytest.mark.parametrize(
    ("base", "other", "note"),
    [([1.0], [2.0], ONE_SEED), ([math.nan], [2.0], NO_VALUES), ([1.0, 2.0], [2.0, 3.0], SAME)],
)
def test_an_interval_that_is_missing_says_why(base: list[float], other: list[float], note: str) -> None:
    row = paired(_runs({"base": base, "other": other}), "base").filter(pl.col("arm") == "other").row(0, named=True)
    assert row["note"] == note
    assert math.isnan(row["p"])


def test_no_difference_at_all_has_p_one() -> None:
    row = paired(_runs({"base": [1.0, 2.0], "other": [1.0, 2.0]}), "base").row(1, named=True)
    assert (row["difference"], row["low"], row["high"], row["p"]) == (0, 0, 0, 1)


def test_the_baseline_must_be_an_arm() -> None:
    with raises_error(UnknownName, do="did you mean 'base'"):
        paired(_runs({"base": [1.0]}), "bsae")


# --- processes ---------------------------------------------------------------------------------------------


def _run_pool(function: Any, jobs: Sequence[Any], workers: int = 2, on_poll: Any = None) -> dict[int, Any]:
    ended: dict[int, Any] = {}
    for index, result in Pool(function, workers, on_poll or (lambda steps: None)).map(jobs):
        assert index not in ended
        ended[index] = result
    return ended


def test_jobs_run_in_other_processes_with_one_thread() -> None:
    polls: list[list[int]] = []
    ended = _run_pool(worker_jobs.threads, [3, 4, 5], on_poll=polls.append)
    assert {threads for _, threads in ended.values()} == {"1"}
    assert polls[-1] == [3, 4, 5]


def test_a_failing_job_leaves_the_others_alone() -> None:
    ended = _run_pool(worker_jobs.fail_if_odd, [0, 1, 2, 3])
    assert (ended[0], ended[2]) == (0, 20)
    assert [str(ended[index]) for index in (1, 3)] == ["job 1 is odd", "job 3 is odd"]


def test_nothing_more_is_begun_when_results_cannot_be_kept(tmp_path: Path) -> None:
    def keep(jobs: Sequence[Path]) -> None:
        with closing(Pool(worker_jobs.leave_a_file, 1).map(jobs)) as results:
            for _ in results:
                raise RecordError("the disk", got="no room", do="make some")

    with raises_error(RecordError, got="no room"):
        keep([tmp_path / str(number) for number in range(40)])
    assert len(list(tmp_path.iterdir())) < 10


def test_a_killed_process_leaves_the_other_jobs_alone(tmp_path: Path) -> None:
    ended = _run_pool(worker_jobs.die_once, [(number, tmp_path) for number in range(5)])
    assert isinstance(ended.pop(2), BrokenProcessPool)
    assert ended == {0: 0, 1: 1, 3: 3, 4: 4}


def test_an_interrupt_stops_what_runs_and_what_waits() -> None:
    ended: dict[int, Any] = {}

    def interrupt(steps: Sequence[int]) -> None:
        if max(steps) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ended.update(Pool(worker_jobs.until_stopped, 2, interrupt).map([0, 1, 2, 3, 4, 5]))
    assert ended
    assert all(isinstance(result, KeyboardInterrupt) for result in ended.values())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_says_how_far_it_is(workers: int) -> None:
    """An error counts as one, raised or given back; its job does not count as whole."""
    seen: list[Progress] = []
    jobs = [worker_jobs.Job(how) for how in ("well", "raises", "gives back", "well")]
    earlier = Progress(3, 3, 10, 10)
    ended = list(execute(worker_jobs.end_so, jobs, ExecutionTargets(), workers, earlier, seen.append))
    assert sorted(job.how for job, _ in ended) == ["gives back", "raises", "well", "well"]
    assert seen[-1] == Progress(runs_done=7, runs=7, steps_done=22, steps=26, failed=2)
    assert list(execute(worker_jobs.end_so, [], ExecutionTargets(), workers, earlier, seen.append)) == []
    assert seen[-1] == earlier


# --- comparisons -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Two arms, two seeds."""
    return compare([BASE], VARY, [1, 2], tmp_path_factory.mktemp("compare"), workers=2)


def test_a_comparison_is_complete(experiment: Experiment) -> None:
    assert [(run.arm, run.seed, run.state) for run in experiment.runs] == [
        ("moderation.strategy=none", 1, FINISHED),
        ("moderation.strategy=none", 2, FINISHED),
        ("moderation.strategy=third_party", 1, FINISHED),
        ("moderation.strategy=third_party", 2, FINISHED),
    ]
    compared = experiment.paired()
    assert set(compared["outcome"]) == set(experiment.outcomes.columns) - {"arm", "seed"}
    assert set(compared.filter(pl.col("note") == "baseline")["arm"]) == {experiment.baseline}


def test_a_run_in_another_process_is_the_same_run_here(experiment: Experiment) -> None:
    for run in experiment.runs:
        strategy = run.arm.partition("=")[2]
        alone = MemoryRecorder()
        sets = [f"moderation.strategy={strategy}"]
        simulate(resolve_for("synthetic:20", None, sets, agents=30, steps=3, seed=run.seed), alone)
        assert Run.of(alone).content_hash == run.content_hash
        assert Run.open(experiment.folder / run.folder).verify() == run.content_hash


def test_a_comparison_is_read_back(experiment: Experiment) -> None:
    again = Experiment.load(experiment.folder)
    assert again.runs[0].content_hash == experiment.runs[0].content_hash
    assert again.arms == experiment.arms
    assert again.outcomes.equals(experiment.outcomes, null_equal=True)


def test_finished_runs_are_not_run_again_and_seeds_can_be_added(experiment: Experiment) -> None:
    databases = [experiment.folder / run.folder / "run.db" for run in experiment.runs]
    before = [path.stat().st_mtime_ns for path in databases]
    seen: list[Progress] = []
    more = compare([BASE], VARY, [1, 2, 3], experiment.folder, workers=1, on_progress=seen.append)
    assert [path.stat().st_mtime_ns for path in databases] == before
    assert len(more.finished) == 6
    assert (seen[-1].runs_done, seen[-1].runs, seen[-1].steps_done, seen[-1].steps) == (6, 6, 18, 18)


def test_other_settings_are_refused_before_anything_is_touched(experiment: Experiment) -> None:
    manifest = (experiment.folder / FILE).read_bytes()
    with raises_error(WrongVersion, got=r"agents is 31, recorded 30"):
        compare([BASE, {"agents": 31}], VARY, [1, 2], experiment.folder)
    assert (experiment.folder / FILE).read_bytes() == manifest


def test_a_stopped_run_is_completed(tmp_path: Path) -> None:
    settings = resolve_for("synthetic:20", None, ["moderation.strategy=none"], agents=30, steps=3, seed=1)
    folder = tmp_path / "out" / "strategy-none" / "seed-1"

    def stop(mark: Any) -> None:
        if mark.step == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go_on(folder, settings, stop)
    assert state_of(folder, settings) == "stopped"
    (tmp_path / "out" / FILE).write_text("{}")
    found = compare([BASE], {"moderation.strategy": ["none"]}, [1], tmp_path / "out", workers=1)
    alone = MemoryRecorder()
    simulate(settings, alone)
    assert found.runs[0].content_hash == Run.of(alone).content_hash


def test_a_run_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "loop.csv").write_text("follower,followed\n0,0\n", encoding="utf-8")
    layers = [BASE, {"graph": {"path": str(tmp_path / "loop.csv")}}]
    found = compare(layers, {"graph.kind": ["scale_free", "file"]}, [1], tmp_path / "out", workers=2)
    assert [run.state for run in found.runs] == [FINISHED, FAILED]
    assert "loop.csv" in found.runs[1].error
    assert found.outcomes["arm"].to_list() == ["graph.kind=scale_free"]
    assert json.loads((tmp_path / "out" / FILE).read_text())["runs"][1]["state"] == FAILED


@pytest.mark.parametrize(
    ("vary", "seeds", "words"),
    [
        ({"moderation.strategy": ["none", "nobody"]}, [1], {"where": "moderation.strategy", "got": "'nobody'"}),
        ({"activation.rate": [1, 1.0]}, [1], {"got": "which are equal"}),
        (VARY, [], {"where": "seeds"}),
        (VARY, [1, 1], {"where": "seeds"}),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(
    tmp_path: Path, vary: dict[str, Any], seeds: list[int], words: dict[str, str]
) -> None:
    with raises_error(SettingError, **words):
        compare([BASE], vary, seeds, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folders_of_something_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with raises_error(RecordError, got="with other files"):
        compare([BASE], VARY, [1], tmp_path)
    with raises_error(RecordError, got="a file"):
        compare([BASE], VARY, [1], tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1, "arms": 3}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with raises_error(RecordError, where=FILE):
        Experiment.load(tmp_path)


def test_undefined_outcomes_survive_the_manifest(tmp_path: Path) -> None:
    run = ArmRun("all", 1, "all/seed-1", "d")
    result = RunResult("c", {"f1": math.nan, "x": 2.0}, {})
    Experiment(tmp_path, {}, arms_of({}), (1,), (run,)).record(run, result).save()
    again = Experiment.load(tmp_path)
    assert again.outcomes["x"].to_list() == [2.0]
    assert math.isnan(again.outcomes["f1"][0])
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


# --- folders of runs ---------------------------------------------------------------------------------------


def test_folders_of_runs(tmp_path: Path) -> None:
    settings = resolve({"scenario": "synthetic:20", "agents": 5, "steps": 1})
    folder = fresh_folder(tmp_path, "../x y")
    assert folder == tmp_path / "x-y-1"
    check_unused(folder)
    assert state_of(folder, settings) == "new"
    go_on(folder, settings)
    assert state_of(folder, settings) == "finished"
    with raises_error(RecordError, do="townsquare resume"):
        check_unused(folder)
    (tmp_path / FILE).touch()
    with raises_error(RecordError, got="a comparison"):
        check_unused(tmp_path)
