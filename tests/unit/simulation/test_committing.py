"""Writing a step while the next is taken: the same record, in order, and nothing lost when something fails."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from raised_errors import raises_error
from random_records import header, random_batches, record, summary_of
from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import StepSummary
from townsquare.record.folder import FolderReader
from townsquare.record.packed import WHOLE_EVERY
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder
from townsquare.simulation.run import Committer

STEPS = [random_batches(step) for step in range(5)]
MANY_STEPS = [random_batches(step, most=2) for step in range(30)]


def commit_all(
    recorder: FolderRecorder,
    steps: list[Batches],
    behind: bool,
    on_step: Callable[[StepSummary], None] = lambda mark: None,
    fault: BaseException | None = None,
    grouped: bool = False,
) -> None:
    """Commit the steps; then the caller fails."""
    with Committer(recorder, on_step, behind=behind, grouped=grouped) as committer:
        for out in steps:
            committer.commit(out, blank(out))
        if fault is not None:
            raise fault


def blank(out: Batches) -> StepSummary:
    """The mark of a step whose hash is not known yet."""
    return replace(summary_of(out, HashChain()), hash="")


@pytest.mark.parametrize("behind", [False, True])
def test_steps_are_committed_in_order(behind: bool, tmp_path: Path) -> None:
    recorder, seen = FolderRecorder(tmp_path), list[StepSummary]()
    recorder.open(header())
    with Committer(recorder, seen.append, behind=behind) as committer:
        for number, out in enumerate(STEPS):
            committer.commit(out, blank(out))
            assert [mark.step for mark in seen] == list(range(number if behind else number + 1))
    recorder.close("finished")
    chain = HashChain()
    marks = [summary_of(out, chain) for out in STEPS]
    assert seen == marks
    run = Run.open(tmp_path)
    assert run.verify() == run.content_hash == chain.value


@pytest.mark.parametrize("behind", [False, True])
def test_a_step_that_cannot_be_written_ends_it(behind: bool, tmp_path: Path) -> None:
    """The error comes where the step is waited for, with those before it safe."""
    recorder = FolderRecorder(tmp_path)
    recorder.open(header())
    with pytest.raises(ValueError, match="step"):  # no recorder takes a step before the one it follows
        commit_all(recorder, [STEPS[0], STEPS[2]], behind)
    recorder.close("stopped")
    assert Run.open(tmp_path).last_step == 0


@pytest.mark.parametrize("behind", [False, True])
def test_what_is_being_written_is_safe_when_the_caller_fails(behind: bool, tmp_path: Path) -> None:
    recorder = FolderRecorder(tmp_path)
    recorder.open(header())
    with pytest.raises(KeyboardInterrupt):
        commit_all(recorder, STEPS[:2], behind, fault=KeyboardInterrupt())
    recorder.close("stopped")
    run = Run.open(tmp_path)
    assert (run.state, run.last_step) == ("stopped", 1)
    run.verify()


def test_what_was_written_meanwhile_can_be_told_early(tmp_path: Path) -> None:
    recorder, seen = FolderRecorder(tmp_path), list[StepSummary]()
    recorder.open(header())
    with Committer(recorder, seen.append, behind=True) as committer:
        committer.report()
        committer.commit(STEPS[0], blank(STEPS[0]))
        while not seen:
            committer.report()
        committer.report()
        assert [mark.step for mark in seen] == [0]
    assert len(seen) == 1
    recorder.close("finished")


def test_what_is_told_of_a_step_can_end_the_run(tmp_path: Path) -> None:
    recorder = FolderRecorder(tmp_path)
    recorder.open(header())

    def no_more(mark: StepSummary) -> None:
        raise RecordError("the caller", got=f"step {mark.step}", do="stop")

    with raises_error(RecordError, got="step 0"):
        commit_all(recorder, STEPS, behind=True, on_step=no_more)
    recorder.close("stopped")
    assert Run.open(tmp_path).last_step == 1  # the step in hand is recorded before anything is told of the last one


def beliefs_of(step: int, stances: list[float]) -> Batches:
    n = len(stances)
    rows = schema.rows("beliefs", n, step=step, agent=range(n), proposition=0, stance=stances, confidence=0.5)
    out = Batches(step)
    out.add({"beliefs": rows})
    return out


def few_changes(n_steps: int) -> list[Batches]:
    """Beliefs of five people, of whom at most one changes in a step; a sixth comes in step 40."""
    chance, stances, out = random.Random(4), [0.0] * 5, []
    for step in range(n_steps):
        stances = [*stances, 0.25] if step == 40 else list(stances)
        if chance.random() < 0.7:
            stances[chance.randrange(len(stances))] = chance.random()
        out.append(beliefs_of(step, stances))
    return out


FEW_CHANGES = few_changes(60)
NONE_IN_A_WHOLE_STEP = [Batches(step.step) if step.step == WHOLE_EVERY else step for step in FEW_CHANGES]


@pytest.mark.parametrize(
    ("steps", "first", "behind"),
    [
        (MANY_STEPS, 17, True),
        (FEW_CHANGES, 0, False),
        (FEW_CHANGES, 1, True),
        (FEW_CHANGES, 17, False),
        (FEW_CHANGES, 25, True),
        (NONE_IN_A_WHOLE_STEP, 0, True),
    ],
)
def test_steps_that_are_written_together_are_read_one_by_one(
    steps: list[Batches], first: int, behind: bool, tmp_path: Path
) -> None:
    """The first steps are recorded one by one, and the run goes on with several at once."""
    singly, together, seen = tmp_path / "singly", tmp_path / "together", list[StepSummary]()
    record(FolderRecorder(singly), steps)
    if first:
        record(FolderRecorder(together), steps[:first], close="stopped")
    recorder = FolderRecorder(together)
    assert recorder.open(header()) == first - 1
    commit_all(recorder, steps, behind, seen.append, grouped=True)
    recorder.close("finished")
    one, other = Run.open(singly), Run.open(together)
    assert [mark.step for mark in seen] == list(range(len(steps)))
    assert other.verify() == one.verify() == seen[-1].hash
    for name in ("beliefs", "trail", "exposures", "posts"):
        assert other.table(name).equals(one.table(name), null_equal=True)
        for lo, hi in ((0, 0), (5, 7), (11, 12), (23, 26), (29, 29)):
            table = schema.TABLES[name]
            parts = [FolderReader(folder).frame(table, table.recorded, (lo, hi)) for folder in (singly, together)]
            assert parts[0].equals(parts[1], null_equal=True)
    with closing(sqlite3.connect(together / "run.db")) as connection:
        stored = connection.execute("SELECT count(DISTINCT step) FROM ts_packed WHERE step >= ?", (first,)).fetchone()
    assert stored[0] <= 1 + len(steps) / 12 + 1


@pytest.mark.parametrize("behind", [False, True])
def test_steps_taken_are_written_when_the_caller_fails(behind: bool, tmp_path: Path) -> None:
    recorder, seen = FolderRecorder(tmp_path), list[StepSummary]()
    recorder.open(header())
    with pytest.raises(KeyboardInterrupt):
        commit_all(recorder, MANY_STEPS[:17], behind, seen.append, KeyboardInterrupt(), grouped=True)
    recorder.close("stopped")
    run = Run.open(tmp_path)
    assert (run.state, run.last_step) == ("stopped", 16)
    assert len(seen) == (0 if behind else 12)
    run.verify()


@pytest.mark.parametrize("behind", [False, True])
def test_a_group_that_cannot_be_written_ends_the_run(behind: bool, tmp_path: Path) -> None:
    recorder = FolderRecorder(tmp_path)
    recorder.open(header())
    with pytest.raises(ValueError, match="step 17 does not follow"):
        commit_all(recorder, [*MANY_STEPS[:16], *MANY_STEPS[17:]], behind, grouped=True)
    recorder.close("stopped")
    run = Run.open(tmp_path)
    assert run.last_step == 11
    run.verify()


def test_runs_of_earlier_versions_have_a_value_per_step_with_positions(tmp_path: Path) -> None:
    """Their changed beliefs say where they stand, in place of how many are skipped."""
    record(FolderRecorder(tmp_path), FEW_CHANGES)
    run, before = Run.open(tmp_path), Run.open(tmp_path).table("beliefs")
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        for step, data in connection.execute("SELECT step, data FROM ts_packed WHERE name = 'beliefs'").fetchall():
            rows, out = pl.read_ipc_stream(data), BytesIO()
            skipped = rows["skipped"]
            at = (skipped + 1).cum_sum().cast(pl.Int64) - 1
            is_whole = bool(rows.height and skipped[0] < 0)
            old = (
                rows.drop("skipped") if is_whole else rows.drop("skipped").with_columns(at.cast(pl.UInt32).alias("at"))
            )
            old.write_ipc_stream(out, compression="zstd")
            connection.execute(
                "UPDATE ts_packed SET data = ? WHERE name = 'beliefs' AND step = ?", (out.getvalue(), step)
            )
    assert run.table("beliefs").equals(before)
    assert run.verify() == run.content_hash
    part = FolderReader(tmp_path).frame(schema.TABLES["beliefs"], schema.TABLES["beliefs"].recorded, (30, 45))
    assert part.equals(before.filter(pl.col("step").is_between(30, 45)).select(part.columns), null_equal=True)
