"""``check people``: every form on made experiments, recognized by columns, whatever the order of rows and the names."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import townsquare as ts
from command_errors import complaint_of
from made_experiments import (
    BEFORE_AFTER,
    CROWD,
    FORMS,
    LABELS,
    RATINGS,
    before_after_rows,
    chat_folder,
    crowd_rows,
    headline_rows,
    label_rows,
    made,
    panel_rows,
    rating_rows,
    write,
)
from raised_errors import raises_error
from repository import SHARED
from townsquare.beliefs.averaging import QUANTITIES, known_samples
from townsquare.beliefs.laboratory import after_rounds
from townsquare.cli import main
from townsquare.core.documents import finite
from townsquare.core.errors import DataError
from townsquare.humans.effects.contract import Arm
from townsquare.pages.people.arms import answer, plain

ALL = (*FORMS, "trajectories")
KEYS = {"dataset", "arm", "observed", "predicted", "interval", "error", "goal", "met"}


def written(folder: Path, form: str, order: list[int] | None = None) -> Path:
    return chat_folder(folder, order=order) if form == "trajectories" else made(folder, form, order)


@cache
def _arms_at(folder: Path) -> dict[str, Arm]:
    return {arm.arm: arm for arm in ts.check_people(folder)}


def arms_of(folder: Path, form: str) -> dict[str, Arm]:
    return _arms_at(written(folder / "any name", form))


@pytest.mark.parametrize("form", ALL)
def test_a_form_is_known_by_its_columns_and_people_who_act_by_the_numbers_meet_the_goals(
    form: str, tmp_path: Path
) -> None:
    arms = arms_of(tmp_path, form)
    assert {arm.dataset for arm in arms.values()} == {"any name"}
    assert {arm.form for arm in arms.values()} == {"persuasiontrace" if form == "trajectories" else form}
    assert all(arm.met is not False for arm in arms.values()), answer(list(arms.values()))
    for arm in arms.values():
        if math.isfinite(arm.interval[0]):
            assert arm.interval[0] <= arm.observed <= arm.interval[1], arm.arm


@pytest.mark.parametrize("form", ALL)
def test_the_order_of_rows_changes_nothing(form: str, tmp_path: Path) -> None:
    n = 52 if form == "trajectories" else len(FORMS[form][2]())
    turned = written(tmp_path / "two" / "any name", form, np.random.default_rng(1).permutation(n).tolist())
    for name, arm in arms_of(tmp_path / "one", form).items():
        other = {again.arm: again for again in ts.check_people(turned)}[name]
        assert (other.observed, other.predicted, other.error) == pytest.approx(
            (arm.observed, arm.predicted, arm.error), nan_ok=True
        ), name
        assert other.interval == pytest.approx(arm.interval, nan_ok=True), name


def test_names_of_studies_change_nothing(tmp_path: Path) -> None:
    renamed = [["study " + row[0], *row[1:]] for row in label_rows()]
    other = ts.check_people(write(tmp_path / "two", "x.csv", LABELS, renamed))
    for arm, again in zip(ts.check_people(made(tmp_path / "one", "label_experiments")), other, strict=True):
        assert (arm.observed, arm.predicted, arm.met) == (again.observed, again.predicted, again.met)


# --- what is predicted, by hand -----------------------------------------------------------------------------------


def test_labels_by_hand(tmp_path: Path) -> None:
    arms = arms_of(tmp_path, "label_experiments")
    rows = label_rows()
    control = [row[6] for row in rows if row[0] == "first" and row[4] == 0 and row[5] == 0]
    treated = [row[6] for row in rows if row[0] == "first" and row[4] == 0 and row[5] == 1]
    before = sum(control) / len(control)
    heeded = 1 / (1 + math.exp(-(math.log(before / (1 - before)) - 3)))
    arm = arms["first, true_false_label, false"]
    assert arm.observed == pytest.approx(100 * (sum(treated) / len(treated) - before))
    assert arm.predicted == pytest.approx(100 * 0.33 * (heeded - before))
    assert arms["second, false_label, true"].predicted == 0  # a label on other items says nothing of this one
    tips = arms["third, literacy_tips, false"]
    assert tips.goal == "within ±5, by a constant"
    assert tips.predicted == pytest.approx(100 * (1 / (1 + math.exp(-(math.log(0.32 / 0.68) - 0.17))) - 0.32))


def test_a_column_says_what_was_shown_instead_of_the_name_of_the_treatment(tmp_path: Path) -> None:
    said = {"first": lambda true: "true" if true else "false", "second": lambda true: "" if true else "false"}
    rows = [[row[0], "x", *row[2:], said[row[0]](row[4])] for row in label_rows() if row[0] != "third"]
    named = arms_of(tmp_path, "label_experiments")
    for arm in ts.check_people(write(tmp_path / "own", "mine.csv", (*LABELS, "verdict"), rows)):
        by_name = {"first": "true_false_label", "second": "false_label"}.get(arm.arm.partition(",")[0], "")
        assert arm.predicted == named[arm.arm.replace(", x,", f", {by_name},")].predicted


def test_leaving_a_study_out_uses_what_the_others_show(tmp_path: Path) -> None:
    arms = arms_of(tmp_path, "label_experiments")
    false = arms["second, false_label, false"]
    assert false.baselines["from other studies"] == pytest.approx(false.observed, abs=1)
    assert math.isnan(arms["first, true_false_label, true"].baselines["from other studies"])
    fitted = {arm.arm: arm for arm in ts.check_people(tmp_path / "any name", fit=True)}
    assert fitted["second, false_label, false"].predicted == false.baselines["from other studies"]


def test_own_evidence_stays_and_others_answers_replace_their_last_ones() -> None:
    own, first, second = np.array([0.2, -0.5]), np.array([0.9, 0.9]), np.array([0.4, 0.1])
    ended = after_rounds("averaging", own, [first, second], QUANTITIES.model_dump())
    assert ended == pytest.approx(own + 0.47 * (second - own))


def test_known_samples_go_part_of_the_way_to_the_pooled_estimate() -> None:
    hits, n, guess, others = 2.0, 5.0, 0.7, 0.3
    pooled = (1 + hits + 8 * others) / (2 + n + 8)
    start, settings = known_samples(np.array([hits]), np.array([n]), np.array([3.0]))
    then = after_rounds("averaging", 2 * start - 1, [np.array([2 * others - 1])], settings, np.array([2 * guess - 1]))
    assert 0.5 + 0.5 * then[0] == pytest.approx(guess + 0.4 * (pooled - guess))


def test_crowds_by_hand(tmp_path: Path) -> None:
    arms = arms_of(tmp_path, "partisan_crowds")
    rows = crowd_rows()
    z = {(row[3], row[2], row[4]): (row[5], row[6]) for row in rows}
    people = {(row[3], row[2], row[1]) for row in rows}
    first, last = ([z[p, q, at][0] for p, q, c in people if c == "control"] for at in (1, 3))
    b, constant = np.polyfit(first, last, 1)
    errors = []
    for person, question, condition in people:
        if condition == "social":
            alone = constant + b * z[person, question, 1][0]
            errors.append(z[person, question, 3][0] - (alone + 0.47 * (z[person, question, 2][1] - alone)))
    assert arms["social"].error == pytest.approx(math.sqrt(np.mean(np.square(errors))))
    assert arms["social"].observed == pytest.approx(0.47, abs=0.05)


def test_control_people_need_no_answers_of_others(tmp_path: Path) -> None:
    rows = [[*row[:6], "" if row[1] == "control" else row[6]] for row in crowd_rows()]
    given = ts.check_people(write(tmp_path / "given", "a.csv", CROWD, crowd_rows()))
    empty = ts.check_people(write(tmp_path / "empty", "a.csv", CROWD, rows))
    assert [(arm.arm, arm.observed, arm.error, arm.met) for arm in empty] == [
        (arm.arm, arm.observed, arm.error, arm.met) for arm in given
    ]


def test_the_retest_of_a_panel(tmp_path: Path) -> None:
    arms, rows = arms_of(tmp_path, "opinion_panel"), np.array(panel_rows(), object)
    trump = rows[:, 2:4].astype(float)
    assert arms["trump, waves 2 and 4"].observed == pytest.approx(np.corrcoef(trump.T)[0, 1])
    assert arms["trump, waves 2 and 4"].predicted == pytest.approx(0.964 - 0.00016 * 9)
    assert "unknown reliability" in arms["mood, waves 2 and 4"].note


# --- what is missing ----------------------------------------------------------------------------------------------


def test_arms_without_controls_are_shown_and_not_scored(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / "labels", "a.csv", LABELS, label_rows(controls=False)),
        write(tmp_path / "ratings", "a.csv", RATINGS, rating_rows(new=False)),
        write(tmp_path / "crowd", "a.csv", CROWD, crowd_rows(controls=0)),
        write(tmp_path / "sides", "a.csv", BEFORE_AFTER, before_after_rows(controls=False)),
    ]
    arms = ts.check_people(folders)
    for arm in arms:
        if arm.dataset != "sides" or "side" in arm.arm:
            assert "no control arm" in arm.note, arm
            assert arm.met is None
    assert "without controls: shown, not scored." in answer(arms)[-1]
    assert {arm.met for arm in ts.check_people(chat_folder(tmp_path / "chats", controls=0))} == {True}


def test_few_rows_give_arms_without_intervals(tmp_path: Path) -> None:
    rows = [row for row in label_rows() if row[2] in ("0-1", "1-1")]
    for arm in ts.check_people(write(tmp_path, "a.csv", LABELS, rows)):
        assert math.isnan(arm.interval[0]) or "own side" in arm.arm


def test_optional_columns_and_other_conditions(tmp_path: Path) -> None:
    rows = [[*row[:1], "loud" if row[1] == "social" else "control", *row[2:]] for row in crowd_rows()]
    assert {arm.arm for arm in ts.check_people(write(tmp_path / "a", "b.csv", CROWD, rows))} == {"control", "loud"}
    head = ("is_true", "rate_belief_control", "rate_belief_human_note")
    short = [[row[1], row[3], row[4]] for row in headline_rows()]
    arms = ts.check_people(write(tmp_path / "h", "b.csv", head, short))
    assert [arm.met for arm in arms] == [True, True]


# --- the command ----------------------------------------------------------------------------------------------------


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["check", "people", *words]) == 0
    return capsys.readouterr().out


def test_the_command_prints_a_list_or_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(made(tmp_path / form, form)) for form in ("truth_effect", "headlines")]
    arms: list[dict[str, Any]] = json.loads(printed([*folders, "--json"], capsys))
    assert isinstance(arms, list)
    assert all(set(arm) >= KEYS for arm in arms)
    assert arms == json.loads(json.dumps(finite([plain(arm) for arm in ts.check_people(folders)])))
    shown = printed(folders, capsys)
    assert shown.startswith("6 of 6 goals are met.")
    assert "truth_effect: stance (−1 to +1)" in shown
    assert "| at once |" in printed([*folders, "--markdown"], capsys)
    assert "fitted to other people" in json.loads(printed([*folders, "--json", "--fit"], capsys))[0]["note"]


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.csv", "who,what\n1,2\n", "label_experiments"),
        ("a.csv", "", "empty file"),
        ("a.txt", "hello", "no CSV"),
        ("a.parquet", "PAR1", "Parquet"),
        ("a.csv", "person,interval,repeated,rating\n1,soon,0,4\n", "soon"),
        ("a.csv", "person,interval,repeated,rating\n1,1 day,maybe,4\n", "maybe"),
        ("a.csv", "person,interval,repeated,rating\n1,1 day,0,9\n", "scale"),
        ("a.csv", "person,interval,repeated,rating\n1,1 day,0,nan\n", "nan"),
        ("a.csv", "person,interval,repeated,rating\n", "at least one row"),
        ("a.csv", "group,condition,question,person,round,z,peers_z\n1,control,q,1,1,0,0\n", "two rounds"),
        ("a.csv", "group,condition,question,person,round,z,peers_z\n1,control,q,1,2,0,0\n", "no such person"),
        ("a.csv", "group,condition,question,person,round,z,peers_z\n1,control,q,1,1e9,0,0\n", "1e9"),
        ("a.csv", "person,interval,repeated,rating\n" + "".join(f"1,{at},0,4\n" for at in range(201)), "at most 200"),
        ("trajectories.csv", "traj_id,card\n1,2\n", "trajectories.csv"),
    ],
)
def test_hostile_files_give_one_clear_message(
    name: str, text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert word in complaint_of(["check", "people", str(tmp_path)], capsys)


def test_folders_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such folder" in complaint_of(["check", "people", str(tmp_path / "none")], capsys)
    assert "at least one folder" in complaint_of(["check", "people"], capsys)
    with raises_error(DataError, where="line|row 1 .*true"):
        ts.check_people(write(tmp_path, "a.csv", LABELS, [["s", "x", "p", 1, 7, 1, 1, ""]]))


def test_chats_without_a_column_that_tells_their_form_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, "trajectories.csv", ["participant_id", "initial_stance"], [["p", 0.5]])
    with raises_error(DataError, allowed="trajectories.csv with a column persuader_side or judge_kind or card"):
        ts.check_people(folder)


def test_the_shared_experiments_meet_what_the_page_says() -> None:
    folders = [SHARED / "data" / name for name in ("headlines", "known_evidence_groups", "opinion_panel")]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip(f"no shared data here: {SHARED / 'data'}, or set TOWNSQUARE_SHARED")
    missed = [arm.arm for arm in ts.check_people(folders) if arm.met is False]
    assert missed == ["human_fc, false"]
