"""Defects of reviews, in how inputs are read: each fails on the code before and passes after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import townsquare as ts
from hostile_inputs import BUNDLE, ENTRY, ROW, SCENARIO, YAML_DOCUMENTS, alias_bomb
from townsquare.cli import WRONG, main
from townsquare.core.documents import MAX_KEYS, parse_json, parse_yaml, read_yaml
from townsquare.core.errors import DataError, ModelError, RecordError, SettingError, TownsquareError
from townsquare.core.tabular import read_csv
from townsquare.experiments.bundle import Bundle
from townsquare.models import usage
from townsquare.record.postgresql.address import address_in
from townsquare.scenario.load import load_scenario
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.survey import personas_from_survey
from townsquare.scenario.population.survey_mapping import read_mapping
from townsquare.scenario.settings import resolve_for
from townsquare.settings.layers import read_yaml as read_layer
from townsquare.settings.resolve import parse_set, resolve

BASE: dict[str, Any] = {"scenario": "synthetic:20", "agents": 10, "steps": 2}


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def error_of(made: Callable[[], object], kind: type[TownsquareError] = TownsquareError) -> TownsquareError:
    with pytest.raises(kind) as caught:
        made()
    return caught.value


def scenario_in(folder: Path, row: dict[str, str], more: str = "") -> Path:
    written(folder / "scenario.yaml", SCENARIO + more)
    written(folder / "posts.csv", "\n".join(",".join(cells) for cells in (row, row.values())) + "\n")
    return folder


# --- row 7: one reader -------------------------------------------------------------------------------------


def test_row_07_one_reader_gives_the_same_values_everywhere(tmp_path: Path) -> None:
    text = (
        "a: yes\nb: no\nc: on\nd: true\ne: 2024-05-01\nf: 010\ng: 1e-3\nh: ~\nfalse: 1\ni: 1_000\nj: 0x1f\nk: 12:30\n"
    )
    wanted = {
        "a": "yes", "b": "no", "c": "on", "d": True, "e": "2024-05-01", "f": 10, "g": 0.001, "h": None, "false": 1,
        "i": "1_000", "j": 31, "k": "12:30",
    }  # fmt: skip
    file = written(tmp_path / "a.yaml", text)
    assert read_yaml(file) == wanted
    assert read_layer(file)[0] == wanted
    assert parse_set("x={" + ", ".join(text.strip().split("\n")) + "}") == {"x": wanted}


def test_row_07_answers_of_a_survey_are_words(tmp_path: Path) -> None:
    mapping = written(tmp_path / "m.yaml", "columns: {Shots: {stance: dam, values: {yes: 0.5, no: -0.5, off: null}}}\n")
    answers = written(tmp_path / "a.csv", "Shots\nyes\nno\noff\nYes\n")
    known = read_mapping(mapping, bundled_bank()).columns["Shots"].values
    assert known == {"yes": 0.5, "no": -0.5, "off": None}
    rows = personas_from_survey(answers, mapping, bundled_bank(), skip_bad=True).personas.stance["dam"]
    assert rows.tolist()[:2] == [0.5, -0.5]
    wrong = written(tmp_path / "w.yaml", "columns: {Shots: {stance: dam, values: {yes: true}}}\n")
    assert "values.yes" in error_of(lambda: read_mapping(wrong, bundled_bank()), DataError).where


@pytest.mark.parametrize("name", [name for name in YAML_DOCUMENTS if name not in ("only a word", "a number")])
def test_row_07_hostile_yaml_is_refused_by_every_reader(tmp_path: Path, name: str) -> None:
    """In time that does not depend on what it stands for, with the file and no traceback."""
    file = written(tmp_path / "x.yaml", YAML_DOCUMENTS[name])
    record = written(tmp_path / "r" / "record.yaml", YAML_DOCUMENTS[name])
    readers: tuple[tuple[Callable[[], object], type[TownsquareError]], ...] = (
        (lambda: read_layer(file), DataError),
        (lambda: load_scenario(file), DataError),
        (lambda: usage.read(file), ModelError),
        (lambda: read_mapping(file, bundled_bank()), DataError),
        (lambda: address_in(record.parent), RecordError),
    )
    for reader, kind in readers:
        begun = time.process_time()
        error = error_of(reader, kind)
        assert time.process_time() - begun < 2
        assert error.where.startswith((str(file), str(record)))
        assert error.got


def test_row_07_an_alias_bomb_is_small_and_named_by_its_line() -> None:
    assert len(alias_bomb()) < 500
    error = error_of(lambda: parse_yaml(alias_bomb(), "x"))
    assert (error.where, error.got) == ("x, line 2", "an alias")


def test_row_07_numbers_and_levels_have_limits() -> None:
    assert parse_yaml("9" * 100, "x")[0] == int("9" * 100)
    assert "101 digits" in error_of(lambda: parse_yaml("9" * 101, "x")).got
    assert "102 digits" in error_of(lambda: parse_yaml("0x" + "9" * 100, "x")).got
    assert "101 digits" in error_of(lambda: parse_json("9" * 101, "x")).got
    assert parse_json('"' + "9" * 5000 + '"', "x") == "9" * 5000
    most, over = ("[" * deep + "]" * deep for deep in (100, 101))
    assert parse_yaml(most, "x")[0] == parse_json(most, "x")
    assert error_of(lambda: parse_yaml(over, "x")).got == "over 100 levels"
    assert error_of(lambda: parse_json(over, "x")).got == "over 100 levels"
    assert "twice" in error_of(lambda: parse_json('{"a": 1, "a": 2}', "x")).got


def test_row_07_prices_know_the_calendar(tmp_path: Path) -> None:
    for date, right in (
        ("2024-02-31", False),
        ("2024-02-29", True),
        ("2024", True),
        ("2024-13", False),
        ("2024-05", True),
    ):
        file = written(tmp_path / "p.yaml", f"date: {date}\nmodels: {{a: {{in: 1, out: 2}}}}\n")
        if right:
            assert usage.read(file).date == date
        else:
            assert error_of(lambda: usage.read(file), ModelError).got == repr(date)  # noqa: B023


@pytest.mark.parametrize("head", ["", "feed:\n  ", "policy:\n  "])
def test_row_11_100_000_unknown_keys_take_linear_time(tmp_path: Path, head: str) -> None:
    lines = [f"k{k}: 1" for k in range(100_000)]
    join = ("\n  " if head else "\n").join
    file = written(tmp_path / "c.yaml", head + join(lines[:MAX_KEYS]) + "\n")
    larger = written(tmp_path / "d.yaml", head + join(lines) + "\n")
    resolve_for("synthetic:20")
    begun = time.process_time()
    error = error_of(lambda: resolve_for(None, file), SettingError)
    refused = error_of(lambda: resolve_for(None, larger), TownsquareError)
    assert time.process_time() - begun < 2
    assert error.where.startswith("10,000 settings are wrong")
    assert error.where.count("\n") == 21
    assert refused.allowed == "at most 10,000"


def test_row_11_limits_come_before_comparing(tmp_path: Path) -> None:
    many = "propositions:\n" + "".join(f"- {{name: k{k}, text: a}}\n" for k in range(40_000)) + "posts: [{text: a}]\n"
    begun = time.process_time()
    error = error_of(lambda: load_scenario(written(tmp_path / "s.yaml", many)), DataError)
    assert (error.got, error.allowed) == ("40,000 propositions", "at most 64")
    header = ",".join(f"c{k}" for k in range(50_000))
    assert len(read_csv(written(tmp_path / "p.csv", header + "\n")).columns) == 50_000
    assert time.process_time() - begun < 5


# --- row 9: what is named must be there --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "where", "got", "allowed"),
    [
        ("leave_out.posts=[99999]", "leave_out.posts", "99999", "0 to 19 "),
        ("leave_out.posts=[3, -1]", "leave_out.posts", "-1", "0 to 19 "),
        ("leave_out.agents=[-1, 5000]", "leave_out.agents", "-1", "persons below 10, sources from 10 on"),
        ("leave_out.agents=[5000]", "leave_out.agents", "5000", "0 to "),
        ("policy={name: coordinated, sources: [Sorce]}", "policy.sources", "'Sorce'", ""),
        ("policy={name: coordinated, accounts: [-2]}", "policy.accounts", "-2", "0 to "),
        ("policy={name: coordinated, proposition: 7}", "policy.proposition", "7", "0 to "),
        (
            "policy={name: mix, members: [{name: coordinated, share: 1, params: {accounts: [99]}}]}",
            "policy.members.0.params.accounts", "99", "0 to ",
        ),
        (
            "policy={name: scripted, script: [{step: 1, agent: 99, action: like, rank: 0}]}",
            "policy.script.0.agent", "99", "0 to ",
        ),
    ],
)  # fmt: skip
def test_row_09_what_is_not_there_is_refused_with_the_range(layer: str, where: str, got: str, allowed: str) -> None:
    error = error_of(lambda: resolve_for("synthetic:20", None, [layer], agents=10, steps=2), SettingError)
    assert (error.where, error.got) == (where, got)
    assert allowed in error.allowed


def test_row_09_a_call_from_python_is_checked_too() -> None:
    error = error_of(lambda: ts.simulate(resolve({**BASE, "leave_out": {"posts": [20]}})), SettingError)
    assert (error.where, error.got) == ("leave_out.posts", "20")


def test_row_09_who_may_join_may_be_left_out() -> None:
    """Whether a newcomer comes at all is known only in the run: whoever may come is not refused."""
    rows = len(load_scenario("synthetic:20").sources) + 10
    growing = ["growth.max_per_step=3"]
    last = rows + 3 * 2 - 1
    assert resolve_for("synthetic:20", None, [*growing, f"leave_out.agents=[{last}]"], agents=10, steps=2)
    error_of(
        lambda: resolve_for("synthetic:20", None, [*growing, f"leave_out.agents=[{last + 1}]"], agents=10, steps=2)
    )
    error_of(lambda: resolve_for("synthetic:20", None, [f"leave_out.agents=[{rows}]"], agents=10, steps=2))


@pytest.mark.parametrize("given", ["[false]", '["false"]', "[true, false]"])
def test_row_09_veracity_is_taken_as_it_is_written(tmp_path: Path, given: str) -> None:
    wanted = tuple(word for word in ("true", "false") if word in given)
    by_set = resolve_for("synthetic:20", None, [f"leave_out.veracity={given}"])
    file = written(tmp_path / "c.yaml", f"scenario: synthetic:20\nleave_out: {{veracity: {given}}}\n")
    for found in (
        by_set,
        resolve_for(None, file),
        resolve({"leave_out": {"veracity": [w == "true" for w in wanted]}}),
    ):
        assert found.config.leave_out.veracity == wanted


# --- row 12: look-alikes, texts of nothing, times ----------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [("Café", "Cafe\u0301"), ("City", "\u0421ity"), ("Nova", "N\u03bfva"), ("Post", "Po\u200bst"), ("News", "NEWS")],
)
def test_row_12_names_that_look_alike_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: str, second: str
) -> None:
    posts = f"text,source\na,{first}\nb,{second}\nc,Other\n"
    file = written(tmp_path / "p.csv", posts)
    notices = [notice for notice in load_scenario(file).notices if "look alike" in notice]
    assert len(notices) == 1
    assert ascii(first) in notices[0]
    assert ascii(second) in notices[0]
    main(["run", str(file), "--agents", "5", "--steps", "1", "--out", str(tmp_path / "o")])
    assert notices[0] in " ".join(capsys.readouterr().err.split())


def test_row_12_names_that_differ_are_not_noticed(tmp_path: Path) -> None:
    file = written(tmp_path / "p.csv", "text,source\na,Сегодня\nb,City\nc,Ποστ\nd,Times\n")
    assert not [notice for notice in load_scenario(file).notices if "look alike" in notice]


@pytest.mark.parametrize("text", ["\u200b", "\u2060\ufeff", "\u3164\u00a0\u3164", "\u0301"])
def test_row_12_a_text_of_which_nothing_is_seen_is_none(tmp_path: Path, text: str) -> None:
    error = error_of(lambda: load_scenario(scenario_in(tmp_path / "s", {**ROW, "text": text})), DataError)
    assert "column 'text'" in error.where
    assert "visible" in error.allowed


@pytest.mark.parametrize("given", ["1e300", "-1e300", "nan", "inf", "253402300800", "2024-02-31"])
def test_row_12_a_time_is_one_of_the_calendar(tmp_path: Path, given: str) -> None:
    row = {"text": "a", "source": "Gazette", "time": given}
    error = error_of(lambda: load_scenario(scenario_in(tmp_path / "s", row, "step_length: 1h\n")), DataError)
    assert "column 'time'" in error.where
    assert given in error.got


# --- row 18: messages ----------------------------------------------------------------------------------------


def test_row_18_the_name_of_a_treatment_says_its_letters() -> None:
    error = error_of(lambda: resolve({"treatments": [{"name": "<svg onload=alert(1)>"}]}), SettingError)
    assert error.where == "treatments.0.name"
    assert "letters, digits, _ and -" in error.allowed


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"environment": []}, "environment"), ({"entries": 3}, "entries"), ({"hypotheses": [{"arm": "a"}]}, "hypoth"),
        ({"entries": [{**ENTRY, "settings": "text"}]}, "settings"), ({"entries": [{**ENTRY, "settings": {}}]}, "sett"),
        ({"entries": [{**ENTRY, "folder": 3}]}, "folder"), ({"entries": [{**ENTRY, "folder": "a\0"}]}, "folder"),
        ({"entries": [{**ENTRY, "scenario_digest": ["a"]}]}, "scenario_digest"), ({"more": 1}, "more"),
    ],
)  # fmt: skip
def test_row_18_a_bundle_says_which_value_is_wrong(tmp_path: Path, changes: dict[str, Any], where: str) -> None:
    file = written(tmp_path / "b.json", json.dumps({**BUNDLE, **changes}))
    error = error_of(lambda: Bundle.load(file), RecordError)
    assert where in error.where
    assert "object" not in error.got
    assert main(["verify", str(file)]) == WRONG


def test_row_18_a_column_of_ones_own_is_noted_and_stops_nothing(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path / "p.csv", "text,type\na,political\n"))
    assert len(scenario.posts.text) == 1
    assert "'type' is not the kind of post" in "; ".join(scenario.notices)
