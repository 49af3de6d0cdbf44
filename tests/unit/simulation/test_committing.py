"""Writing a step while the next is taken: the same record, in order, and nothing lost when something fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from raised_errors import raises_error
from random_records import header, random_batches, summary_of
from townsquare.core.errors import RecordError
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder
from townsquare.simulation.run import Committer

STEPS = [random_batches(step) for step in range(5)]


def commit_all(
    recorder: FolderRecorder,
    steps: list[Batches],
    behind: bool,
    on_step: Callable[[StepSummary], None] = lambda mark: None,
    fault: BaseException | None = None,
) -> None:
    """Commit the steps; then the caller fails."""
    with Committer(recorder, on_step, behind=behind) as committer:
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
