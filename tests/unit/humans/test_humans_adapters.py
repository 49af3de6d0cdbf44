"""Human data: every adapter on made files in the form of the real ones, and errors that name the row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raised_errors import raises_error
from repository import SHARED
from synthetic_people import row, write_csv, write_jsonl
from townsquare.core.cells import Scale
from townsquare.core.errors import DataError, SettingError
from townsquare.core.tabular import Record
from townsquare.humans.checked import joined
from townsquare.humans.read import read_humans
from townsquare.humans.trajectories import Message, Reading, Trajectories

REAL = Path(os.environ.get("TOWNSQUARE_HUMAN_DATA", SHARED / "data"))
FOLDERS = {"persuasiontrace": "persuasiontrace_human", "nyu": "nyu_debate_judges", "delidata": "delidata_groups"}

PERSUADE = (
    "traj_id", "participant_id", "conv_id", "condition", "proposition", "persuader_side",
    "initial_stance", "final_stance",
)  # fmt: skip


def persuasiontrace(folder: Path, rows: list[list[Any]] | None = None) -> Path:
    """Two conversations, one of them a control."""
    default = [
        ["c1", "p1", "c1", "persuade", "Tea is good.", 1, -0.5, 0.25],
        ["c2", "p2", "c2", "control", "Tea is good.", 0, 0.1, 0.2],
    ]
    write_csv(folder / "trajectories.csv", PERSUADE, default if rows is None else rows)
    write_csv(folder / "trace.csv", ["traj_id", "after_message_i", "stance"], [["c1", 0, -0.25], ["c2", 0, 0.0]])
    said = [
        {"conv_id": "c1", "i": 2, "author": "LLM", "received": True, "side": 1, "text": "It warms."},
        {"conv_id": "c1", "i": 0, "author": "LLM", "received": True, "side": 1, "text": "Tea calms."},
        {"conv_id": "c1", "i": 1, "author": "p1", "received": False, "side": None, "text": "Does it?"},
        {"conv_id": "c2", "i": 0, "author": "LLM", "received": True, "side": 0, "text": "Dogs or cats?"},
        {"conv_id": "c2", "i": 1, "author": "LLM", "received": True, "side": 0, "text": "Cats."},
    ]
    write_jsonl(folder / "messages.jsonl", said)
    return folder


def test_persuasiontrace(tmp_path: Path) -> None:
    found = read_humans(persuasiontrace(tmp_path))
    assert found.name == "persuasiontrace"
    assert found.control.tolist() == [False, True]
    assert (found.initial[0], found.final[0]) == (-0.5, 0.25)
    assert [found.texts[at] for at in found.text[:2]] == ["Tea calms.", "It warms."]  # in order, without the own one
    assert found.reading_after.tolist() == [1, 1]
    assert found.reading.tolist() == [-0.25, 0.0]
    assert found.side.tolist() == [1, 1, 0, 0]


def test_nyu(tmp_path: Path) -> None:
    head = [
        "traj_id",
        "participant_id",
        "judge_kind",
        "conv_id",
        "story",
        "proposition",
        "initial_stance",
        "final_stance",
    ]
    rows = [
        ["t1", "j1", "live", "d1", "Air", "A is right.", 0, 0.9],
        ["t2", "j2", "off", "d1", "Air", "A is right.", 0, 1],
    ]
    write_csv(tmp_path / "trajectories.csv", head, rows)
    write_csv(
        tmp_path / "trace.csv",
        ["traj_id", "before_message_i", "stance"],
        [["t1", 0, 0], ["t1", 2, 0.4], ["t1", 4, 0.9]],
    )
    said = [("B", -1), ("A", 1), ("j1", None), ("A", 1)]
    messages = [
        {"conv_id": "d1", "i": i, "author": who, "received": side is not None, "side": side, "text": f"m{i}"}
        for i, (who, side) in enumerate(said)
    ]
    write_jsonl(tmp_path / "messages.jsonl", messages)
    found = read_humans(tmp_path)
    assert found.side.tolist() == [-1, 1, 1] * 2
    assert (found.reading_after.tolist(), found.reading.tolist()) == ([2], [0.4])  # neither the first nor the last
    assert found.topic == ("Air", "Air")


def test_delidata(tmp_path: Path) -> None:
    head = [
        "traj_id", "participant_id", "conv_id", "card", "proposition", "initial_stance", "final_stance",
        "final_before_message_i",
    ]  # fmt: skip
    rows = [["a_7", "a", "G", "7", "Turn 7.", -1, 1, 3], ["a_A", "a", "G", "A", "Turn A.", 1, 1, 3]]
    write_csv(tmp_path / "trajectories.csv", head, rows)
    write_csv(tmp_path / "trace.csv", ["traj_id", "before_message_i", "stance"], [["a_7", 2, 1]])
    said = [("b", "A and 7"), ("a", "Why 7?"), ("c", "no need for A"), ("b", "too late: 7")]
    messages = [{"conv_id": "G", "i": i, "author": who, "text": text} for i, (who, text) in enumerate(said)]
    write_jsonl(tmp_path / "messages.jsonl", messages)
    found = read_humans(tmp_path)
    assert np.diff(found.indptr).tolist() == [2, 2]  # not the own one, not what came after the last answer
    assert np.isnan(found.side).all()
    assert found.option == ("7", "A")
    assert found.reading_after.tolist() == [1]


def test_plain_csv_and_jsonl_say_the_same(tmp_path: Path) -> None:
    head = ["participant", "conversation", "proposition", "initial", "final", "author", "side", "text", "reading"]
    head += ["group", "tie", "author_group"]
    lines = [
        ["p", "g", "Tea.", 0.2, "", "q", 1, "warm", 0.3, "red", 1, "blue"],
        ["p", "g", "Tea.", "", 0.5, "p", "", "mine", "", "", "", ""],
        ["p", "g", "Tea.", "", "", "r", -1, "stains", "", "", "", "red"],
    ]
    one = read_humans(write_csv(tmp_path / "one.csv", head, lines))
    nested = {
        "participant": "p", "conversation": "g", "proposition": "Tea.", "initial": 0.2, "final": 0.5, "group": "red",
        "messages": [
            {"author": "q", "side": 1, "text": "warm", "tie": 1, "author_group": "blue"},
            {"author": "p", "text": "mine"}, {"author": "r", "side": -1, "text": "stains", "author_group": "red"},
        ],
        "readings": [{"after": 1, "stance": 0.3}],
    }  # fmt: skip
    two = read_humans(write_jsonl(tmp_path / "two.jsonl", [nested]))
    for found in (one, two):
        assert (found.initial[0], found.final[0]) == (0.2, 0.5)
        assert [found.authors[at] for at in found.author] == ["q", "r"]
        assert (found.reading_after.tolist(), found.reading.tolist()) == ([1], [0.3])
        assert np.array_equal(found.tie, [1.0, np.nan], equal_nan=True)
        assert (found.group.tolist(), found.author_group.tolist()) == ([0], [1, 0])


MAPPING = """
name: study
people: {file: people.csv, participant: who, conversation: room, statement: Tea is good., initial: pre, final: post,
         values: {no: -1, yes: 1}}
messages: {file: said.csv, conversation: room, author: who, text: body, to: to, order: at, tie: knows}
readings: {file: asked.csv, participant: who, conversation: room, order: at, stance: says, scale: [0, 100]}
"""


@pytest.mark.parametrize("listed", ["", ", everyone: [all]"])
def test_a_mapping_file(tmp_path: Path, listed: str) -> None:
    write_csv(
        tmp_path / "people.csv", ["who", "room", "pre", "post"], [["a", "r", "no", "yes"], ["b", "r", "yes", "yes"]]
    )
    said = [
        ["r", "b", "second", "a", 5, 0.5],
        ["r", "b", "first", "all", 1, 1],
        ["r", "c", "to b alone", "b", 2, ""],
        ["r", "a", "x", "", 3, 0],
    ]
    write_csv(tmp_path / "said.csv", ["room", "who", "body", "to", "at", "knows"], said)
    write_csv(tmp_path / "asked.csv", ["who", "room", "at", "says"], [["a", "r", 2.5, 75]])
    mapping = tmp_path / "study.yaml"
    mapping.write_text(MAPPING.replace("tie: knows", f"tie: knows{listed}"), encoding="utf-8")
    found = read_humans(tmp_path, mapping=str(mapping))
    texts = [found.texts[at] for at in found.text]
    assert texts == ["first", "second", "to b alone", "x"]
    assert np.array_equal(found.tie, [1.0, 0.5, np.nan, 0.0], equal_nan=True)
    assert set(found.group) == set(found.author_group) == {-1}
    assert (found.initial.tolist(), found.final.tolist()) == ([-1, 1], [1, 1])
    assert (found.reading_after.tolist(), found.reading.tolist()) == ([1], [0.5])


def test_the_debate_mapping_on_made_data(tmp_path: Path) -> None:
    people = [["p1", "g", "Guns", 1, 6], ["p2", "g", "Guns", 4, 4]]
    write_csv(
        tmp_path / "participants.csv",
        ["participant_id", "group_id", "topic", "initial_opinion", "final_opinion"],
        people,
    )
    said = [["g", "p1", "tweet", "", 1], ["g", "p2", "chat", "p1", 2], ["g", "p3", "for p2", "p2", 3]]
    write_csv(tmp_path / "messages.csv", ["group_id", "participant_id", "text", "recipient_id", "order"], said)
    found = read_humans(tmp_path, mapping="debate")
    assert found.name == "debate"
    assert np.allclose(found.initial, [-1, 0.2])
    assert [found.texts[at] for at in found.text] == ["chat", "tweet", "for p2"]


@pytest.mark.parametrize("points", [2, 3, 4, 5, 6, 7, 11])
def test_likert_scales_of_any_number_of_points(points: int) -> None:
    stances = [Scale(1, points).stance(Record("r", {"x": str(k)}), "x") for k in range(1, points + 1)]
    assert np.allclose(stances, np.linspace(-1, 1, points))
    turned = [Scale(points, 1).stance(Record("r", {"x": k}), "x") for k in range(1, points + 1)]
    assert np.allclose(turned, np.linspace(1, -1, points))


# --- what is wrong, and where ---------------------------------------------------------------------------------


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    persuasiontrace(tmp_path)
    write_csv(tmp_path / "trajectories.csv", [*PERSUADE[:6], "initial_stnce", "final_stance"], [])
    with raises_error(
        DataError,
        where="trajectories.csv, header",
        got="columns ",
        allowed="a column `initial_stance`",
        do="did you mean",
    ):
        read_humans(tmp_path)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            ["c3", "p3", "c1", "persuade", "Tea is good.", 1, 1.5, 0],
            {"where": r"row 2 \(line 3\), column 'initial_stance'", "got": "'1.5'"},
        ),
        (
            ["c3", "p3", "c1", "persuade", "Tea is good.", 1, 0, ""],
            {"where": r"row 2 \(line 3\), final stance", "got": "nothing"},
        ),
        (
            ["c3", "p3", "c9", "persuade", "Tea is good.", 1, 0, 0],
            {"where": r"row 2 \(line 3\)", "got": "an empty conversation"},
        ),
        (
            ["c3", "p1", "c1", "persuade", "Tea is good.", 1, 0, 0],
            {"where": r"row 2 \(line 3\)", "got": "participant 'p1' again"},
        ),
        (
            ["c3", "", "c1", "persuade", "Tea is good.", 1, 0, 0],
            {"where": r"row 2 \(line 3\), column 'participant_id'", "got": "nothing"},
        ),
    ],
)
def test_a_bad_row_is_named_or_left_out_and_counted(tmp_path: Path, cells: list[Any], said: dict[str, str]) -> None:
    good = ["c1", "p1", "c1", "persuade", "Tea is good.", 1, -0.5, 0.25]
    persuasiontrace(tmp_path, [good, cells])
    with raises_error(DataError, **said):
        read_humans(tmp_path)
    found = read_humans(tmp_path, skip_bad=True)
    assert len(found) == 1
    assert len(found.left_out) == 1
    assert "row 2" in found.left_out[0]


def test_a_bad_message_leaves_out_who_received_it(tmp_path: Path) -> None:
    persuasiontrace(tmp_path)
    with (tmp_path / "messages.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"conv_id": "c2", "i": 2, "author": "LLM", "received": true, "side": 3, "text": "Birds."}\n')
    with raises_error(DataError, where="line 6, field 'side'", got="3", allowed="a number from -1 to 1"):
        read_humans(tmp_path)
    found = read_humans(tmp_path, skip_bad=True)
    assert (found.conversation, len(found.left_out)) == (("c1",), 1)


def test_a_mapping_says_whose_readings_are_and_what_is_received(tmp_path: Path) -> None:
    persuasiontrace(tmp_path)
    wrong = tmp_path / "m.yaml"
    people = (
        "people: {file: trajectories.csv, participant: participant_id, conversation: conv_id, proposition: proposition"
    )
    people += ", initial: initial_stance, final: final_stance, trajectory: traj_id}"
    messages = "messages: {file: messages.jsonl, conversation: conv_id, author: author, side: side, received: received"
    readings = "readings: {file: trace.csv, trajectory: traj_id, before: after_message_i, stance: stance}"
    cases = [
        (
            f"{messages}}}\n{readings}",
            {"where": "messages, order", "got": "nothing", "allowed": "a column, as readings"},
        ),
        (
            f"{messages}, order: i}}\n{readings.replace('before', 'afterwards')}",
            {"got": "'afterwards'", "allowed": "before"},
        ),
        (
            f"{messages}, order: i}}\n{readings.replace('before: after_message_i, ', '')}",
            {"where": "readings", "got": "both or neither"},
        ),
        (
            f"{messages}, order: i}}\n{readings.replace('trajectory: traj_id, ', '')}",
            {"got": "nothing that says whose they are"},
        ),
    ]
    for text, says in cases:
        wrong.write_text(f"name: x\n{people}\n{text}\n", encoding="utf-8")
        with raises_error(DataError, **says):
            read_humans(tmp_path, mapping=str(wrong))
    wrong.write_text(f"name: x\n{people}\n{messages}, order: i}}\n{readings}\n", encoding="utf-8")
    found = read_humans(tmp_path, mapping=str(wrong))
    assert np.diff(found.indptr).tolist() == [2, 2]
    assert found.reading_after.tolist() == []  # before message 0 is no reading between two messages


def test_what_joined_refuses() -> None:
    with raises_error(DataError, where="message 2", got="an own message"):
        joined("made", [row(messages=[Message("q"), Message("p")])])
    with raises_error(DataError, where="message 1, side", got="2"):
        joined("made", [row(messages=[Message("q", 2.0)])])
    with raises_error(DataError, where="reading after 1 messages", got="-3"):
        joined("made", [row(readings=[Reading(1, -3.0)])])
    with raises_error(DataError, got="no trajectory that can be used"):
        joined("made", [row(final=9.0)], skip_bad=True)


def test_what_read_humans_refuses(tmp_path: Path) -> None:
    with raises_error(DataError, got="no such file or folder"):
        read_humans(tmp_path / "none")
    with raises_error(DataError, got="a folder in an unknown format"):
        read_humans(tmp_path)
    with raises_error(SettingError, do="did you mean 'nyu'"):
        read_humans(tmp_path, form="nyuu")
    wrong = tmp_path / "m.yaml"
    wrong.write_text("name: x\npeople: {file: a.csv, particpant: who}\nmessages: {}\n", encoding="utf-8")
    with raises_error(DataError, where=r"m.yaml, people"):
        read_humans(tmp_path, mapping=str(wrong))


def test_taking_some_keeps_their_messages_and_readings() -> None:
    rows = [row(participant=f"p{k}", messages=[Message(f"q{i}", 1.0) for i in range(k + 1)]) for k in range(3)]
    rows.append(row(participant="last", readings=[Reading(1, 0.5)], group="red"))
    found = joined("made", rows).take([3, 1])
    assert found.participant == ("last", "p1")
    assert np.diff(found.indptr).tolist() == [2, 2]
    assert found.reading.tolist() == [0.5]
    assert [found.authors[at] for at in found.author] == ["q", "r", "q0", "q1"]
    assert (found.group.tolist(), found.author_group.tolist()) == ([0, -1], [-1] * 4)


# --- the real ones, where they are ----------------------------------------------------------------------------


def _messages(found: Trajectories) -> list[tuple[int, int]]:
    """(trajectory, author) of every message."""
    return list(
        zip(np.repeat(np.arange(len(found)), np.diff(found.indptr)).tolist(), found.author.tolist(), strict=True)
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_the_real_data(name: str) -> None:
    folder = REAL / FOLDERS[name]
    if not folder.is_dir():
        pytest.skip(f"no human data at {folder}; set TOWNSQUARE_HUMAN_DATA to their folder")
    found = read_humans(folder, skip_bad=True)
    assert found.name == name
    assert np.abs(np.concatenate([found.initial, found.final, found.reading])).max() <= 1
    assert (np.diff(found.indptr) > 0).all()
    assert bool(found.control.any()) is (name == "persuasiontrace")
    assert np.isfinite(found.side).all() is np.bool_(name != "delidata")
    own = [found.participant[at] == found.authors[who] for at, who in _messages(found)]
    assert not any(own)


def test_answers_in_rounds_are_trajectories_whose_messages_are_the_means_of_others(tmp_path: Path) -> None:
    table = (
        "group,condition,question,person,round,z,peers_z\n"
        "1,Social,q,a,2,1,2\n1,Social,q,a,1,-2,1\n1,Social,q,a,3,8,0\n"
        "1,control,q,a,1,2,1\n1,control,q,a,2,2,1\n1,control,q,a,3,1,1\n1,Social,q,b,1,2,1\n1,Social,q,b,3,2,1\n"
    )
    (tmp_path / "answers.csv").write_text(table)
    with raises_error(DataError, where="answers.csv, row 7 .*, round", got="1, 3"):
        read_humans(tmp_path)
    people = read_humans(tmp_path, skip_bad=True)
    assert len(people.left_out) == 1
    assert (people.initial.tolist(), people.final.tolist()) == ([-0.5, 0.5], [1.0, 0.25])
    assert people.control.tolist() == [False, True]
    assert (people.side.tolist(), people.indptr.tolist()) == ([0.25, 0.5], [0, 2, 2])
    assert people.reading.tolist() == [0.25]
    assert len(set(people.participant)) == 2  # the same name in another group is another person
