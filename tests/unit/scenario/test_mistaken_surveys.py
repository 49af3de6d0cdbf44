"""Sixty mistaken surveys and mappings: one message each, with place and cause; what is skipped is counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from raised_errors import raises_error
from townsquare.core.errors import TownsquareError
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.sample import sample_people
from townsquare.scenario.population.survey import personas_from_survey
from townsquare.settings.config import Population

ANSWERS = "who,w,party,shots,income,safe,why\n" + "".join(
    f"R{k},{1 + k % 2},{'AB'[k % 2]},{('never', 'once', 'twice')[k % 3]},{1000 * k},{1 + k % 7},It is so\n"
    for k in range(12)
)
MAPPING = """id: who
weight: w
missing: [refused]
columns:
  party: {trait: party, kind: categorical}
  shots: {trait: vaccinated, kind: ordinal, answers: [never, once, twice]}
  income: {trait: income, kind: numeric}
  safe: {stance: flu_safe, scale: [1, 7]}
  why: {text: "I wrote: {value}"}
"""
PARTY = "{trait: party, kind: categorical}"
SAFE = "{stance: flu_safe, scale: [1, 7]}"
SHOTS = "kind: ordinal, answers: [never, once, twice]"

OF_MAPPINGS: list[tuple[str, str, dict[str, str]]] = [
    ("id: who", "id: whom", {"where": "id", "got": "'whom'", "do": "did you mean 'who'"}),
    ("weight: w", "weight: weights", {"where": "weight", "got": "'weights'"}),
    ("weight: w", "weight: party", {"where": "column 'party'", "got": "'A'"}),
    ("party: {", "Partei: {", {"got": "'Partei'", "do": "did you mean 'party'"}),
    ("columns:", "colums:", {"got": "colums"}),
    ("id: who", "ids: who", {"where": "ids"}),
    (MAPPING, "", {"where": "columns", "got": "nothing"}),
    (MAPPING, "columns: {}", {"where": "columns", "got": "nothing"}),
    (MAPPING, "- a list\n", {"got": "list|'a list'"}),
    (MAPPING, "columns: [party]", {"where": "columns"}),
    (MAPPING, "columns: {party: yes}", {"where": "party"}),
    (MAPPING, "columns: {party: {trait: [a}}", {"where": "mapping.yaml"}),
    ("missing: [refused]", "missing: refused", {"where": "missing"}),
    ("missing: [refused]", "unreadable: sometimes", {"where": "unreadable", "got": "'sometimes'"}),
    ("missing: [refused]", "skip_rows: -1", {"where": "skip_rows", "got": "-1"}),
    ("missing: [refused]", "skip_rows: 99", {"got": "12 rows, of which 99 are skipped"}),
    ("missing: [refused]", "waves: {2: 168}", {"where": "waves", "got": "wave 2, of which no column is"}),
    (PARTY, "{trait: party}", {"got": "'party'", "do": "kind: categorical"}),
    (PARTY, "{trait: party, kind: nominal}", {"got": "'nominal'", "allowed": "categorical"}),
    (PARTY, "{kind: categorical}", {"got": "none", "allowed": "one of trait, stance and text"}),
    (PARTY, "{trait: party, stance: flu_safe}", {"got": "trait and stance"}),
    (PARTY, "{trait: gender}", {"where": "column 'party'", "got": "'A'"}),
    (PARTY, "{trait: vaccinated, kind: categorical}", {"got": "'vaccinated' again"}),
    (PARTY, "{trait: party, kind: categorical, answers: [A]}", {"where": "column 'party'", "got": "'B'"}),
    (PARTY, "{trait: party, kind: categorical, answers: [A, A]}", {"got": "an answer twice"}),
    (PARTY, "{trait: party, kind: categorical, scale: [1, 2]}", {"got": "a scale"}),
    (PARTY, "{trait: party, kind: categorical, wave: 2}", {"got": "wave|a wave or a statement"}),
    (PARTY, "{trait: party, kind: numeric}", {"where": "party", "got": "0 different answers"}),
    (PARTY, "{trait: party, kind: categorical, values: {A: true}}", {"where": "values.A", "got": "True|true"}),
    (PARTY, "{trait: party, question: Which?}", {"got": "answers or a question"}),
    (SHOTS, "kind: ordinal", {"got": "0 answers of an ordinal trait"}),
    (SHOTS, "kind: ordinal, answers: [never]", {"got": "1 answers of an ordinal trait"}),
    (SHOTS, "kind: ordinal, answers: [never, once]", {"where": "column 'shots'", "got": "'twice'"}),
    (SHOTS, "kind: ordinal, answers: [never, once, twice], values: {x: thrice}", {"got": "'thrice'"}),
    (SHOTS, "kind: numeric, answers: [\"1\"]", {"got": "answers or bands"}),
    (SHOTS, "kind: ordinal, answers: [a, b], bands: {1-3: a, 3-5: b}", {"got": "3, which is in two bands"}),
    (SHOTS, "kind: ordinal, answers: [a, b], bands: {few: a}", {"where": "bands", "got": "'few'"}),
    (SHOTS, "kind: ordinal, answers: [a, b], bands: {1-3: a}", {"where": "column 'shots'", "got": "'never'"}),
    (SAFE, "{stance: flu_safe}", {"got": "a stance", "allowed": "either `scale"}),
    (SAFE, "{stance: flu_safe, scale: [7, 7]}", {"where": "scale", "allowed": "two different numbers"}),
    (SAFE, "{stance: flu_safe, scale: [1]}", {"where": "scale"}),
    (SAFE, "{stance: flu_safe, scale: [1, many]}", {"where": "scale", "got": "'many'"}),
    (SAFE, "{stance: flu_safe, scale: [1, 5]}", {"where": "column 'safe'", "allowed": "a number from 1 to 5"}),
    (SAFE, "{stance: flu_safe, values: {yes: 3}}", {"got": "3", "allowed": "a number from -1 to 1"}),
    (SAFE, "{stance: flu_safe, values: {yes: 1}}", {"where": "column 'safe'", "allowed": "yes"}),
    (SAFE, "{stance: flu_safe, scale: [1, 7], wave: 2}", {"where": "waves", "do": "waves: {2: 168}"}),
    (SAFE, "{stance: flu_safe, scale: [1, 7], kind: numeric}", {"got": "a kind"}),
    ("{value}", "value", {"where": "text", "allowed": "a sentence with {value} once"}),
    ("{value}", "{value} {value}", {"where": "text", "allowed": "a sentence with {value} once"}),
]  # fmt: skip
OF_FILES: list[tuple[str, str, dict[str, str]]] = [
    (ANSWERS, "", {"where": "answers.csv", "got": "an empty file"}),
    (ANSWERS, ANSWERS.splitlines()[0] + "\n", {"where": "answers.csv", "got": "0 rows"}),
    ("R1,", "R0,", {"where": "row 2", "got": "'R0' again"}),
    ("R1,", ",", {"where": "row 2 .*'who'", "got": "nothing"}),
    ("R1,2,", "R1,,", {"where": "row 2 .*'w'", "got": "nothing"}),
    ("R1,2,", "R1,-2,", {"where": "row 2 .*'w'", "got": "'-2'"}),
    ("R1,2,", "R1,2,extra,", {"where": "row 2", "got": "8 cells"}),
    ("who,w,", "who,who,", {"got": "the column 'who' twice"}),
    (",never,", ",often,", {"where": "'shots'", "got": "'often'"}),
    ("R3,2,B,never,3000,4,It is so", "R3,2,,,,,", {"where": "row 4", "got": "no usable answer"}),
    ("It is so", '"It is so', {"where": "answers.csv", "allowed": "cells with closed quotes"}),
    (",3000,", ",a lot,", {"where": "'income'", "got": "'a lot'"}),
]


@pytest.mark.parametrize(("old", "new", "says"), [*OF_MAPPINGS, *OF_FILES])
def test_a_mistake_has_one_message(tmp_path: Path, old: str, new: str, says: Mapping[str, str]) -> None:
    assert old in MAPPING or old in ANSWERS
    (tmp_path / "answers.csv").write_text(ANSWERS.replace(old, new), encoding="utf-8")
    (tmp_path / "mapping.yaml").write_text(MAPPING.replace(old, new), encoding="utf-8")
    with raises_error(TownsquareError, **says) as error:
        personas_from_survey(tmp_path / "answers.csv", tmp_path / "mapping.yaml", bundled_bank())
    assert str(tmp_path) in str(error.value)
    assert len(str(error.value)) < 700


def test_there_are_sixty() -> None:
    assert len(OF_MAPPINGS) + len(OF_FILES) >= 60


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (",never,", ",often,", "4 answers to 'shots' read as missing: got 'often'"),
        (",3000,", ",a lot,", "1 answers to 'income' read as missing: got 'a lot'"),
        ("R1,2,", "R1,,", "1 respondents left out: got nothing, allowed: a number"),
        ("R1,", "R0,", "1 respondents left out: got 'R0' again, allowed: a unique id"),
        ("R3,2,B,never,3000,4,It is so", "R3,2,,,,,", "1 respondents left out: got no usable answer"),
    ],
)
def test_what_is_skipped_is_counted_by_reason(tmp_path: Path, old: str, new: str, reason: str) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS.replace(old, new), encoding="utf-8")
    (tmp_path / "mapping.yaml").write_text(MAPPING + "unreadable: missing\n", encoding="utf-8")
    made = personas_from_survey(tmp_path / "answers.csv", tmp_path / "mapping.yaml", bundled_bank())
    assert len(made.reasons) == 1
    assert made.reasons[0].startswith(reason)
    settings = {"file": "answers.csv", "mapping": "mapping.yaml", "resample": True}
    people = sample_people(0, 60, Population.model_validate(settings), ("flu_safe",), 1, folder=tmp_path)
    assert len(people.names) == 60
