"""Arms × trials into a folder: completed, refused, resumed, and read back; and what the paper's patterns come to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.beliefs.evidence.bank_files import bundled_topics
from townsquare.core.errors import RecordError, RunBusy, SettingError, WrongVersion
from townsquare.debate.measures import Estimate, steps_between
from townsquare.debate.record import read_trial
from townsquare.debate.results import FILE, DebateResults
from townsquare.debate.settings import LEVELS, PRO
from townsquare.debate.sweep import arms_over, hold_debates
from townsquare.experiments.execution import Progress
from townsquare.record.lock import RunLock

SHORT = {"rounds": 2, "trials": 2}
PAIRINGS = ("open/open", "open/stubborn", "stubborn/open", "stubborn/stubborn")


def hashes(held: DebateResults) -> list[str]:
    return [record["hash"] for arm in held.arms for record in held.records(arm)]


def over_u(folder: Path, *levels: float, workers: int = 1, **settings: object) -> DebateResults:
    return hold_debates([SHORT, settings], arms_over({"u": list(levels)}), folder, workers)


def test_a_sweep_is_held_and_read_back(tmp_path):
    held = DebateResults.open(over_u(tmp_path, 0.2, 0.4).folder)
    assert [arm.name for arm in held.arms] == ["u=0.2", "u=0.4"]
    assert [arm.settings["uptake"] for arm in held.arms] == [0.2, 0.4]
    assert held.stances(held.arms[0]).shape == (2, 3, 2)
    assert held.judged(held.arms[0]).shape == (2, 2, 2)
    assert held.turns().height == 2 * 2 * 2 * 2
    turn = held.turns().row(0, named=True)
    record = held.records(held.arms[0])[0]
    assert turn["text"] == record["turns"][0]["text"]
    assert turn["pro_after"] == record["turns"][0]["after"][0]
    moves = held.moves()
    assert set(moves["kind"]) == {"accepted"}
    assert moves["claim"][0] == turn["text"]
    frame = held.measures_frame()
    assert set(frame["stance"]) == {"internal", "judged"}
    assert set(frame["arm"]) == {"u=0.2", "u=0.4"}


def test_what_is_missing_is_held_again_and_nothing_else(tmp_path):
    held = over_u(tmp_path, 0.2, 0.4)
    before = hashes(held)
    gone = held.trial_file(held.arms[1], 2)
    kept = held.trial_file(held.arms[0], 1)
    gone.unlink()
    stamp = kept.stat().st_mtime_ns
    assert hashes(over_u(tmp_path, 0.2, 0.4)) == before
    assert kept.stat().st_mtime_ns == stamp
    more = over_u(tmp_path, 0.2, 0.4, 0.6, trials=3)
    assert len(hashes(more)) == 9
    assert set(before) < set(hashes(more))


def test_processes_give_what_one_gives(tmp_path):
    one, two = over_u(tmp_path / "one", 0.2, 0.4), over_u(tmp_path / "two", 0.2, 0.4, workers=2)
    assert hashes(one) == hashes(two)
    assert len(hashes(two)) == 4


def test_other_settings_are_refused_in_the_same_folder(tmp_path):
    over_u(tmp_path, 0.2)
    with raises_error(WrongVersion, got="a trial of other settings"):
        over_u(tmp_path, 0.2, seed=2)


def test_a_damaged_trial_is_refused(tmp_path):
    held = over_u(tmp_path, 0.2)
    path = held.trial_file(held.arms[0], 1)
    record = json.loads(path.read_text())
    record["turns"][0]["text"] = "something else"
    path.write_text(json.dumps(record))
    with raises_error(RecordError, where="damaged"):
        read_trial(path)
    with raises_error(RecordError, where="damaged"):
        over_u(tmp_path, 0.2)


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("do not lose me")
    with raises_error(RecordError, got="with other files"):
        over_u(tmp_path, 0.2)
    with raises_error(RecordError, got=r"no debates\.json"):
        DebateResults.open(tmp_path)


def test_two_writers_do_not_meet(tmp_path):
    over_u(tmp_path, 0.2)
    lock = RunLock(tmp_path)
    try:
        with pytest.raises(RunBusy):
            over_u(tmp_path, 0.2)
    finally:
        lock.close()


def test_a_damaged_list_of_arms(tmp_path):
    over_u(tmp_path, 0.2)
    (tmp_path / FILE).write_text("{}")
    with raises_error(RecordError, where="damaged"):
        DebateResults.open(tmp_path)


def test_arms_that_start_apart_hold_nothing(tmp_path):
    arms = arms_over({"a": [0.2, 0.8]})
    with raises_error(SettingError, allowed=r"start\.tolerance"):
        hold_debates([SHORT, {"start.prior_scale": 1.0}], arms, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    loose = hold_debates([SHORT, {"start.prior_scale": 1.0, "start.tolerance": 1.0}], arms, tmp_path / "new")
    assert len(hashes(loose)) == 4


def test_what_cannot_be_swept(tmp_path):
    for key in ("seed", "trials", "start.tolerance"):
        with raises_error(SettingError, where=f"--vary {key}"):
            arms_over({key: [1, 2]})
    with raises_error(SettingError, got="which are equal"):
        hold_debates([SHORT], arms_over({"uptake": [0.2, 0.3], "u": [0.4]}, one_at_a_time=False), tmp_path)


def test_a_trial_that_fails_does_not_take_the_others_with_it(tmp_path):
    silent = {"scripted": {"params": {"lines": [" "]}}, "preset": "single"}
    held = hold_debates([SHORT, silent], arms_over({"opponent": ["scripted", "agent"]}), tmp_path)
    assert [arm for arm, _, _ in held.failed] == ["opponent=scripted"] * 2
    assert "allowed: a message" in held.failed[0][2]
    assert DebateResults.open(tmp_path).failed == held.failed
    assert len(held.records(held.arms[1])) == 2


def test_progress_and_interruption(tmp_path):
    seen: list[Progress] = []

    def stop(far: Progress) -> None:
        seen.append(far)
        if far.runs_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hold_debates([SHORT], arms_over({"u": [0.2, 0.4]}), tmp_path, 1, stop)
    assert (seen[-1].runs, seen[-1].steps_done, seen[-1].steps) == (4, 4, 8)
    assert len(hashes(DebateResults.open(tmp_path))) == 2
    assert len(hashes(over_u(tmp_path, 0.2, 0.4))) == 4


# --- the paper's patterns ----------------------------------------------------------------------------------


def finals(folder: Path, key: str, **settings: object) -> np.ndarray:
    """(5 levels, 5 trials) final stances of one agent against the fixed opponent."""
    layers = [{"preset": "single"}, settings]
    held = hold_debates(layers, arms_over({key: list(LEVELS)}), folder)
    return np.array([held.stances(arm)[:, -1, PRO] for arm in held.arms])


def ordered(values: np.ndarray) -> list[Estimate]:
    return [one for _, _, one in steps_between(np.array(LEVELS), values)]


def test_figure_2_the_larger_the_uptake_the_further_it_moves(tmp_path):
    assert all(one.high < 0 for one in ordered(finals(tmp_path / "u", "u")))


def test_figure_2_the_stronger_the_anchor_the_more_is_kept(tmp_path):
    own = {"start.kind": "own_side", "start.tolerance": 2}
    assert all(one.low > 0 for one in ordered(finals(tmp_path / "a", "a", **own)))


def test_anchoring_has_no_effect_between_arms_that_start_alike(tmp_path):
    values = finals(tmp_path / "a", "a")
    assert np.abs(values.mean(axis=1) - values.mean()).max() < 0.05


def test_table_a8_open_pairs_converge_most_and_stubborn_ones_least(tmp_path):
    over = {"topic": [topic.slug for topic in bundled_topics()], "pairing": list(PAIRINGS)}
    held = hold_debates([{"trials": 1}], arms_over(over), tmp_path)
    values = {arm.name: held.measures(arm)["gap_reduction"].mean for arm in held.arms}
    mean = {
        pairing: np.mean([value for name, value in values.items() if name.endswith(f"={pairing}")])
        for pairing in PAIRINGS
    }
    assert mean["open/open"] > mean["open/stubborn"] > mean["stubborn/stubborn"]
    assert mean["open/open"] > mean["stubborn/open"] > mean["stubborn/stubborn"]
