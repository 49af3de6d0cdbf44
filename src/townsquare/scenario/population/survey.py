"""Personas from the answers of a survey (MOSAIC, appendix A.1).

Each respondent becomes one persona: answers as traits of the question bank, ratings as traits or stances, and what was
written in free text kept as a sentence of the persona. What the columns mean is in a mapping file,
:mod:`townsquare.scenario.population.survey_mapping`. Original answers are not copied into the personas: what is not
mapped is left behind, and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Float
from townsquare.core.cells import MAX_CHARACTERS, Scale, column_of, name_cell, number_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import TABLE_KINDS, Record, Records, read_table
from townsquare.scenario.population.personas import Person, Personas, render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank, Trait, number_of_text
from townsquare.scenario.population.survey_mapping import Answer, Band, ColumnMeaning, bands_of, read_mapping

MOST_ANSWERS, MOST_NUMBERS = 2000, 30_000  # of one trait


@dataclass(frozen=True, slots=True)
class Survey:
    """What came out: ``personas``; why rows were left out, one sentence each; the columns that the mapping lacks.

    ``bank`` has the traits that the mapping names: of the question bank, and of the survey's own. ``reasons`` count
    what was not used, a sentence each. ``waves`` hold stances (n,) measured later, by wave and proposition; NaN for no
    answer. ``steps`` say in which step of a run each wave was.
    """

    personas: Personas
    left_out: tuple[str, ...]
    unused: tuple[str, ...]
    bank: QuestionBank
    reasons: tuple[str, ...] = ()
    waves: Mapping[tuple[int, str], Float] = field(default_factory=dict)
    steps: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Skipped:
    """What was not used, by reason: how often, and the first."""

    how: str
    counts: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def note(self, what: str, error: DataError) -> None:
        self.counts.setdefault((what, error.allowed), []).append(error.got)

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each reason, the most frequent first."""
        ordered = sorted(self.counts.items(), key=lambda item: -len(item[1]))
        return tuple(f"{len(got):,} {what}: got {got[0]}, allowed: {allowed}" for (what, allowed), got in ordered)


class _Column(NamedTuple):
    """A column of the file, by the name under which records hold it."""

    name: str
    meaning: ColumnMeaning
    bands: list[Band]
    scale: Scale
    where: str


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
    skipped = _Skipped("skip" if skip_bad else known.unreadable)
    table = read_table(answers, TABLE_KINDS)
    columns = [_column(table, name, meaning, mapping) for name, meaning in known.columns.items()]
    id_column = None if known.id is None else column_of(table, known.id, f"{mapping}, id")
    weight_column = None if known.weight is None else column_of(table, known.weight, f"{mapping}, weight")
    missing = {"", *(word.strip().casefold() for word in known.missing)}
    if len(table.records) <= known.skip_rows:
        got = f"{len(table.records):,} rows, of which {known.skip_rows:,} are skipped"
        raise DataError(str(answers), got=got, allowed="at least one respondent", do="give one row per respondent")
    bank = _bank_of(columns, table.records[known.skip_rows :], missing, bank)
    people: dict[str, Person] = {}
    later: list[dict[tuple[int, str], float]] = []
    left_out = []
    for number, record in enumerate(table.records[known.skip_rows :], 1 + known.skip_rows):
        try:
            name = name_cell(record, id_column) if id_column else f"row-{number}"
            if name in people:
                raise DataError(record.where(id_column or "id"), got=f"{name!r} again", allowed="a unique id")
            weight = 1.0 if weight_column is None else number_cell(record, weight_column, 0, math.inf, None)
            person, measured = _person(record, columns, missing, bank, skipped)
            people[name] = person._replace(weight=weight)
            later.append(measured)
        except DataError as error:
            if skipped.how == "stop":
                raise
            skipped.note("respondents left out", error)
            left_out.append(str(error))
    if not people:
        do = left_out[0] if left_out else "give a file with one row per respondent"
        raise DataError(str(answers), got="no row that gives a persona", allowed="at least one", do=do)
    if not sum(person.weight for person in people.values()) > 0:
        raise DataError(f"{mapping}, weight", got="weights that are all 0", allowed="at least one above 0")
    used = {id_column, weight_column, *(column.name for column in columns)}
    unused = tuple(column for column in table.columns if column not in used)
    waves = {
        key: np.array([measured.get(key, math.nan) for measured in later])
        for key in dict.fromkeys(key for measured in later for key in measured)
    }
    personas = Personas.of(people, list(people.values()))
    return Survey(personas, tuple(left_out), unused, bank, skipped.sentences(), waves, known.waves)


def _column(table: Records, name: str, meaning: ColumnMeaning, mapping: Path) -> _Column:
    where = f"{mapping}, column {name!r}"
    against, for_it = meaning.scale or (None, None)
    scale = Scale(against, for_it, meaning.values)
    return _Column(column_of(table, name, where), meaning, bands_of(meaning, where), scale, table.location)


def _person(
    record: Record, columns: list[_Column], missing: set[str], bank: QuestionBank, skipped: _Skipped
) -> tuple[Person, dict[tuple[int, str], float]]:
    """Return a respondent, and the stances that were measured later, by wave and proposition."""
    codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
    sentences: list[str] = []
    stance: dict[tuple[int, str], float] = {}
    for column in columns:
        answer, meaning = text_cell(record, column.name, required=False), column.meaning
        if answer.casefold() in missing:
            continue
        try:
            if meaning.text is not None:
                sentences.append(meaning.text.replace("{value}", " ".join(answer.split())))
            elif meaning.stance is not None:
                stance[meaning.wave, meaning.stance] = column.scale.stance(record, column.name)
            else:
                label = str(meaning.trait)
                codes[bank.number_of(label)] = _code(answer, label, column, bank, record.where(column.name))
        except DataError as error:
            if skipped.how != "missing":
                raise
            skipped.note(f"answers to {column.name!r} read as missing", error)
    text = " ".join(part for part in (render_persona(codes, bank), *sentences) if part)
    if not text and not stance:
        raise DataError(record.location, got="no usable answer", allowed="at least one answer", do="remove the row")
    if len(text) > MAX_CHARACTERS:
        got, allowed = f"a persona of {len(text):,} characters", f"at most {MAX_CHARACTERS:,} characters"
        raise DataError(record.location, got=got, allowed=allowed, do="map fewer free texts, or shorten them")
    known = {key: value for key, value in stance.items() if not math.isnan(value)}
    first = {name: value for (wave, name), value in known.items() if wave == 1}
    return Person(codes, text, first), {key: value for key, value in known.items() if key[0] > 1}


def _code(answer: str, label: str, column: _Column, bank: QuestionBank, where: str) -> int:
    """Return the code that an answer represents: by its value, by its band, or as the bank has it."""
    value = _meant(answer, column, where)
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


def _meant(answer: str, column: _Column, where: str) -> Answer:
    """Return the answer that a cell represents; None for no answer."""
    if column.bands:
        return _band_of(answer, column.bands, where)
    values = {word.strip().casefold(): value for word, value in column.meaning.values.items()}
    return values.get(answer.casefold(), answer)


def _bank_of(columns: list[_Column], records: list[Record], missing: set[str], bank: QuestionBank) -> QuestionBank:
    """Return the bank of a survey with traits of its own: its traits alone. Without any it is the bank itself."""
    if all(column.meaning.kind is None for column in columns):
        return bank
    known = {str(column.meaning.trait): column for column in columns if column.meaning.trait is not None}
    selected = {trait.label: trait for trait in bank.traits}
    traits = [
        replace(selected[label], given=NO_ANSWER, chances=selected[label].chances[:1])
        if column.meaning.kind is None
        else _own_trait(label, column, records, missing)
        for label, column in known.items()
    ]
    return QuestionBank(tuple(traits), len(traits))


def _own_trait(label: str, column: _Column, records: list[Record], missing: set[str]) -> Trait:
    """Return a trait of one's own, with the answers of the mapping or those that occur, and their observed shares."""
    kind, question = column.meaning.kind, column.meaning.question or column.name
    given: list[str] = []
    for record in records:
        answer = text_cell(record, column.name, required=False)
        meant = None if answer.casefold() in missing else _meant(answer, column, record.where(column.name))
        given += [] if meant is None else [str(meant)]
    numbers: tuple[float, ...] = ()
    if kind == "numeric":
        given = [f"{number:g}" for number in map(number_of_text, given) if not math.isnan(number)]
        numbers = tuple(sorted({float(answer) for answer in given}))
    spelled: dict[str, str] = {}
    for answer in column.meaning.answers or given:
        spelled.setdefault(answer.casefold(), answer)
    answers = tuple(f"{number:g}" for number in numbers) or column.meaning.answers or tuple(sorted(spelled.values()))
    most = MOST_NUMBERS if numbers else MOST_ANSWERS
    if not answers or len(answers) > most:
        where, got = f"{column.where}, column {column.name!r}", f"{len(answers):,} different answers"
        raise DataError(where, got=got, allowed=f"1 to {most:,}", do="map it as text, or leave it out")
    code_of = {answer.casefold(): code for code, answer in enumerate(answers)}
    codes = [code_of[answer.casefold()] for answer in given if answer.casefold() in code_of]
    chances = np.bincount(codes, minlength=len(answers)).astype(np.float64)[None] / max(1, len(codes))
    bands = _quarters(np.sort([float(answer) for answer in given])) if numbers else ()
    sentence = f'Asked "{question}", I answered "{{value}}".'.replace("{", "(", question.count("{"))
    ordered, words = kind == "ordinal", (answers, answers)
    return Trait(label, question, sentence, *words, chances, bands=bands, numbers=numbers, ordered=ordered)


def _quarters(values: Float) -> tuple[str, ...]:
    """Return ranges of numbers that hold about a quarter of ascending values each."""
    starts = np.unique(values[[0, values.size // 4, values.size // 2, 3 * values.size // 4]])
    ends = [*(values[values < start].max() for start in starts[1:]), values[-1]]
    return tuple(f"{low:g} to {high:g}" if low < high else f"{low:g}" for low, high in zip(starts, ends, strict=True))


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
