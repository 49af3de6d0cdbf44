"""Personas from the answers of a survey (MOSAIC, appendix A.1).

Each respondent becomes one persona: answers as traits of the question bank, ratings as traits or stances, and what was
written in free text kept as a sentence of the persona. What the columns mean stands in a mapping file,
:mod:`townsquare.scenario.population.survey_mapping`. Original answers are not copied into the personas: what is not
mapped is left behind, and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from townsquare.core import tabular
from townsquare.core.cells import name_cell, text_cell
from townsquare.core.errors import DataError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records
from townsquare.scenario.population.personas import MAX_CHARACTERS, Int16, Personas, render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank
from townsquare.scenario.population.survey_mapping import Band, ColumnMeaning, SurveyMapping, bands_of, read_mapping
from townsquare.scenario.read import read_table


@dataclass(frozen=True, slots=True)
class Survey:
    """What came out: ``personas``; why rows were left out, one sentence each; the columns that the mapping lacks."""

    personas: Personas
    left_out: tuple[str, ...]
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the file, by the name under which records hold it."""

    name: str
    meaning: ColumnMeaning
    bands: list[Band]


@dataclass(slots=True)
class _Person:
    name: str
    codes: Int16
    text: str
    stance: dict[str, float]


def personas_from_survey(answers: Path, mapping: Path, bank: QuestionBank, *, skip_bad: bool = False) -> Survey:
    """One persona for each respondent.

    Parameters
    ----------
    answers : Path
        CSV, TSV, JSONL or Parquet, one row a respondent.
    mapping : Path
        See :mod:`townsquare.scenario.population.survey_mapping`.
    bank : QuestionBank
        What labels and answers there are.
    skip_bad : bool
        Leave out rows that cannot be read, and say which, instead of stopping at the first.

    Raises
    ------
    DataError
        With file, row and column: a column that is not there, an answer that nothing stands for, an id twice, a row
        without any answer; no row that is left.
    """
    known = read_mapping(mapping, bank)
    table = read_table(answers)
    columns = _columns(table, known, mapping)
    id_column = _name_of(table, known.id, f"{mapping}, id") if known.id is not None else None
    missing = {"", *(word.strip().casefold() for word in known.missing)}
    people: dict[str, _Person] = {}
    left_out = []
    for number, record in enumerate(table.records[known.skip_rows :], 1 + known.skip_rows):
        try:
            name = name_cell(record, id_column) if id_column else f"row-{number}"
            if name in people:
                raise DataError(record.where(id_column or "id"), got=f"{name!r} again", allowed="an id of its own")
            people[name] = _person(name, record, columns, missing, bank)
        except DataError as error:
            if not skip_bad:
                raise
            left_out.append(str(error))
    if not people:
        do = left_out[0] if left_out else "give a file with a row for each respondent"
        raise DataError(str(answers), got="no row that makes a persona", allowed="at least one", do=do)
    used = {column.name for column in columns} | {id_column}
    return Survey(_joined(list(people.values())), tuple(left_out), tuple(c for c in table.columns if c not in used))


def _columns(table: Records, known: SurveyMapping, mapping: Path) -> list[_Column]:
    found = []
    for name, meaning in known.columns.items():
        where = f"{mapping}, column {name!r}"
        found.append(_Column(_name_of(table, name, where), meaning, bands_of(meaning, where)))
    return found


def _name_of(table: Records, name: str, where: str) -> str:
    """The name under which records hold a column of the file."""
    held = tabular.column_name(name)
    if held not in table.columns:
        allowed = "a column of the answers: " + ", ".join(table.columns)[:300]
        raise DataError(where, got=repr(name), allowed=allowed, do=did_you_mean(held, table.columns))
    return held


def _person(name: str, record: Record, columns: list[_Column], missing: set[str], bank: QuestionBank) -> _Person:
    codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
    said, stance = [], {}
    for column in columns:
        answer = text_cell(record, column.name, required=False)
        if answer.casefold() in missing:
            continue
        meaning, where = column.meaning, record.where(column.name)
        if meaning.text is not None:
            said.append(meaning.text.replace("{value}", " ".join(answer.split())))
        elif meaning.stance is not None:
            stance[meaning.stance] = _stance(answer, meaning, where)
        else:
            label = str(meaning.trait)
            codes[bank.number_of(label)] = _code(answer, label, column, bank, where)
    text = " ".join(part for part in (render_persona(codes, bank), *said) if part)
    if not text and not stance:
        raise DataError(record.place, got="no answer to anything", allowed="at least one", do="remove the row")
    if len(text) > MAX_CHARACTERS:
        got, allowed = f"a persona of {len(text):,} characters", f"at most {MAX_CHARACTERS:,} characters"
        raise DataError(record.place, got=got, allowed=allowed, do="map fewer free texts, or shorten them")
    return _Person(name, codes, text, {name: value for name, value in stance.items() if not math.isnan(value)})


def _code(answer: str, label: str, column: _Column, bank: QuestionBank, where: str) -> int:
    """The code that an answer stands for: by its value, by its band, or as the bank has it."""
    meaning = column.meaning
    if meaning.bands:
        value = _band_of(answer, column.bands, where)
    else:
        value = _translated(answer, meaning.values, answer)
    if value is None:
        return NO_ANSWER
    trait = bank.traits[bank.number_of(label)]
    word = str(value)
    if trait.number and word.endswith(".0"):
        word = word.removesuffix(".0")  # as spreadsheets export whole numbers
    spelled = {one.casefold(): one for one in trait.answers}
    try:
        return bank.code(label, spelled.get(word.casefold(), word), where)
    except UnknownName as error:
        allowed = ", ".join([*map(str, meaning.values), error.allowed])
        do = error.do or "translate it under `values`"
        raise DataError(error.where, got=repr(answer)[:80], allowed=allowed[:500], do=do) from None


def _translated(
    answer: str, values: Mapping[str, str | int | float | None], otherwise: str | int | float | None
) -> str | int | float | None:
    for word, value in values.items():
        if word.strip().casefold() == answer.casefold():
            return value
    return otherwise


def _band_of(answer: str, bands: list[Band], where: str) -> str | int | float | None:
    number = _number(answer, where)
    for band in bands:
        if band.low <= number <= band.high:
            return band.answer
    allowed = ", ".join(f"{band.low:g} to {band.high:g}" for band in bands)
    raise DataError(where, got=repr(answer)[:80], allowed=f"a number in one of the bands {allowed}")


def _stance(answer: str, meaning: ColumnMeaning, where: str) -> float:
    """The stance in [-1, 1] that an answer stands for; NaN for none."""
    if meaning.scale is None:
        words = ", ".join(meaning.values)
        value = _translated(answer, meaning.values, "unknown")
        if value == "unknown":
            do = did_you_mean(answer, meaning.values)
            raise DataError(where, got=repr(answer)[:80], allowed=words, do=do)
        return math.nan if value is None else float(value)
    against, for_it = meaning.scale
    number = _number(answer, where)
    if not min(against, for_it) <= number <= max(against, for_it):
        allowed = f"a number from {min(against, for_it):g} to {max(against, for_it):g}"
        raise DataError(where, got=repr(answer)[:80], allowed=allowed)
    return 2 * (number - against) / (for_it - against) - 1


def _number(answer: str, where: str) -> float:
    try:
        number = float(answer)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(where, got=repr(answer)[:80], allowed="a number", do="translate words under `values` instead")
    return number


def _joined(people: list[_Person]) -> Personas:
    names = dict.fromkeys(name for person in people for name in person.stance)
    return Personas(
        ids=tuple(person.name for person in people),
        texts=tuple(person.text for person in people),
        traits=np.stack([person.codes for person in people]),
        activity=np.full(len(people), np.nan),
        stance={name: np.array([person.stance.get(name, math.nan) for person in people]) for name in names},
    )
