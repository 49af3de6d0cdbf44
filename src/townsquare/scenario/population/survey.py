"""Personas from the answers of a survey (MOSAIC, appendix A.1).

Each respondent becomes one persona: answers as traits of the question bank, ratings as traits or stances, and what was
written in free text kept as a sentence of the persona. What the columns mean is in a mapping file,
:mod:`townsquare.scenario.population.survey_mapping`. Original answers are not copied into the personas: what is not
mapped is left behind, and named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from townsquare.core.cells import MAX_CHARACTERS, Scale, name_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import TABLE_KINDS, Record, Records, read_table
from townsquare.scenario.cells import column_of
from townsquare.scenario.population.personas import Person, Personas, render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank
from townsquare.scenario.population.survey_mapping import Answer, Band, ColumnMeaning, bands_of, read_mapping


@dataclass(frozen=True, slots=True)
class Survey:
    """What came out: ``personas``; why rows were left out, one sentence each; the columns that the mapping lacks."""

    personas: Personas
    left_out: tuple[str, ...]
    unused: tuple[str, ...]


class _Column(NamedTuple):
    """A column of the file, by the name under which records hold it."""

    name: str
    meaning: ColumnMeaning
    bands: list[Band]
    scale: Scale


def personas_from_survey(answers: Path, mapping: Path, bank: QuestionBank, *, skip_bad: bool = False) -> Survey:
    """Return one persona for each respondent.

    Parameters
    ----------
    answers : Path
        CSV, TSV, JSONL or Parquet, one row per respondent.
    mapping : Path
        See :mod:`townsquare.scenario.population.survey_mapping`.
    bank : QuestionBank
        What labels and answers there are.
    skip_bad : bool
        Leave out rows that cannot be read, and say which, instead of stopping at the first.

    Raises
    ------
    DataError
        With file, row and column: a column that is not there, an answer that nothing represents, an id twice, a row
        without any answer; no row that is left.
    """
    known = read_mapping(mapping, bank)
    table = read_table(answers, TABLE_KINDS)
    columns = [_column(table, name, meaning, mapping) for name, meaning in known.columns.items()]
    id_column = None if known.id is None else column_of(table, known.id, f"{mapping}, id")
    missing = {"", *(word.strip().casefold() for word in known.missing)}
    people: dict[str, Person] = {}
    left_out = []
    for number, record in enumerate(table.records[known.skip_rows :], 1 + known.skip_rows):
        try:
            name = name_cell(record, id_column) if id_column else f"row-{number}"
            if name in people:
                raise DataError(record.where(id_column or "id"), got=f"{name!r} again", allowed="a unique id")
            people[name] = _person(record, columns, missing, bank)
        except DataError as error:
            if not skip_bad:
                raise
            left_out.append(str(error))
    if not people:
        do = left_out[0] if left_out else "give a file with one row per respondent"
        raise DataError(str(answers), got="no row that gives a persona", allowed="at least one", do=do)
    used = {id_column, *(column.name for column in columns)}
    unused = tuple(column for column in table.columns if column not in used)
    return Survey(Personas.of(people, list(people.values())), tuple(left_out), unused)


def _column(table: Records, name: str, meaning: ColumnMeaning, mapping: Path) -> _Column:
    where = f"{mapping}, column {name!r}"
    against, for_it = meaning.scale or (None, None)
    scale = Scale(against, for_it, meaning.values)
    return _Column(column_of(table, name, where), meaning, bands_of(meaning, where), scale)


def _person(record: Record, columns: list[_Column], missing: set[str], bank: QuestionBank) -> Person:
    codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
    sentences, stance = [], {}
    for column in columns:
        answer, meaning = text_cell(record, column.name, required=False), column.meaning
        if answer.casefold() in missing:
            continue
        if meaning.text is not None:
            sentences.append(meaning.text.replace("{value}", " ".join(answer.split())))
        elif meaning.stance is not None:
            stance[meaning.stance] = column.scale.stance(record, column.name)
        else:
            label = str(meaning.trait)
            codes[bank.number_of(label)] = _code(answer, label, column, bank, record.where(column.name))
    text = " ".join(part for part in (render_persona(codes, bank), *sentences) if part)
    if not text and not stance:
        raise DataError(record.location, got="no usable answer", allowed="at least one", do="remove the row")
    if len(text) > MAX_CHARACTERS:
        got, allowed = f"a persona of {len(text):,} characters", f"at most {MAX_CHARACTERS:,} characters"
        raise DataError(record.location, got=got, allowed=allowed, do="map fewer free texts, or shorten them")
    return Person(codes, text, {name: value for name, value in stance.items() if not math.isnan(value)})


def _code(answer: str, label: str, column: _Column, bank: QuestionBank, where: str) -> int:
    """Return the code that an answer represents: by its value, by its band, or as the bank has it."""
    values = {word.strip().casefold(): value for word, value in column.meaning.values.items()}
    value = _band_of(answer, column.bands, where) if column.bands else values.get(answer.casefold(), answer)
    if value is None:
        return NO_ANSWER
    trait = bank.traits[bank.number_of(label)]
    # Spreadsheets export whole numbers with ".0".
    word = str(value).removesuffix(".0") if trait.number else str(value)
    spelled = {known.casefold(): known for known in trait.answers}
    try:
        return bank.code(label, spelled.get(word.casefold(), word), where, DataError)
    except DataError as error:
        allowed = ", ".join([*column.meaning.values, error.allowed])
        do = error.do or "translate it under `values`"
        raise DataError(where, got=repr(answer)[:80], allowed=allowed[:500], do=do) from None


def _band_of(answer: str, bands: list[Band], where: str) -> Answer:
    try:
        number = float(answer)
    except ValueError:
        number = math.nan
    for band in bands:
        if band.low <= number <= band.high and math.isfinite(number):
            return band.answer
    allowed = "a number in one of the bands " + ", ".join(f"{band.low:g} to {band.high:g}" for band in bands)
    do = "" if math.isfinite(number) else "translate words under `values` instead"
    raise DataError(where, got=repr(answer)[:80], allowed=allowed, do=do)
