"""What the columns of a survey mean: a mapping file, in YAML.

::

    id: participant              # column of ids; without it, people are called by their row
    skip_rows: 0                 # rows under the header that hold no answers: Qualtrics writes two
    missing: [NA, prefer not to say]   # words, beside an empty cell, that are no answer
    columns:
      Age: {trait: age}
      Sex: {trait: gender, values: {m: Male, f: Female}}
      Faith, 1 to 5: {trait: religious_beliefs, bands: {1-2: Atheist, "3": Agnostic, 4-5: Religious}}
      Vaccines are safe: {stance: vaccine_safe, scale: [1, 7]}
      About you: {text: "{value}"}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import Field, StrictFloat, StrictInt, ValidationError

from townsquare.core import documents
from townsquare.core.errors import DataError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.scenario.population.question_bank import QuestionBank
from townsquare.settings.config import MemberParams

_BAND = re.compile(r"(?P<low>-?\d+(?:\.\d+)?)\s*(?:(?:-|–|to)\s*(?P<high>-?\d+(?:\.\d+)?)|(?P<open>\+))?")

Answer = str | StrictInt | StrictFloat | None
"""An answer in a mapping file; a truth value is none."""

COLUMN_KEYS = ("trait", "values", "bands", "stance", "scale", "text")


class ColumnMeaning(MemberParams):
    """What one column means: exactly one of ``trait``, ``stance`` and ``text``."""

    trait: str | None = Field(None, description="label of the question bank")
    values: dict[str, Answer] = Field(
        default_factory=dict, description="what was answered -> answer of the bank; null for no answer"
    )
    bands: dict[str, Answer] = Field(
        default_factory=dict, description="number or range of a rating scale -> answer of the bank"
    )
    stance: str | None = Field(None, description="proposition")
    scale: tuple[float, float] | None = Field(
        None, description="with `stance`: the number that is wholly against (-1), and the one that is wholly for (+1)"
    )
    text: str | None = Field(None, description="sentence of the persona with one {value}")


class SurveyMapping(MemberParams):
    """A mapping file."""

    id: str | None = None
    skip_rows: int = Field(0, ge=0)
    missing: tuple[str, ...] = ()
    columns: dict[str, ColumnMeaning] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch [``low``, ``high``] of a rating scale, and the answer it stands for."""

    low: float
    high: float
    answer: Answer


def read_mapping(path: Path, bank: QuestionBank) -> SurveyMapping:
    """A mapping file whose labels, answers and scales are checked against the bank.

    Raises
    ------
    DataError
        No YAML, an unknown key, label or answer, two columns for one trait, bands that overlap.
    """
    document = documents.read_yaml(path)
    try:
        mapping = SurveyMapping.model_validate(document)
    except ValidationError as error:
        raise _explained(path, error.errors()[0]) from None
    taken: dict[str, str] = {}
    for column, meaning in mapping.columns.items():
        where = f"{path}, column {column!r}"
        target = _check_one_target(where, meaning)
        if meaning.text is None and target in taken:
            do = "leave one of them out"
            raise DataError(where, got=f"{target!r} again", allowed=f"another than {taken[target]!r} gives", do=do)
        taken[target] = column
        _check_answers(where, meaning, bank)
    return mapping


def _explained(path: Path, problem: Any) -> DataError:
    at = ", ".join(str(part) for part in problem["loc"]) or "the whole"
    where, key = f"{path}, {at}", str((problem["loc"] or ("",))[-1])
    if problem["type"] == "extra_forbidden":
        known = COLUMN_KEYS if len(problem["loc"]) > 1 else tuple(SurveyMapping.model_fields)
        return DataError(where, got=repr(key), allowed=", ".join(known), do=did_you_mean(key, known))
    if problem["type"] == "missing":
        return DataError(where, got="nothing", allowed="a mapping of column to what it means")
    allowed = problem["msg"].removeprefix("Input should be ")
    return DataError(where, got=repr(problem["input"])[:80], allowed=allowed)


def _check_one_target(where: str, meaning: ColumnMeaning) -> str:
    given = [name for name in ("trait", "stance", "text") if getattr(meaning, name) is not None]
    if len(given) != 1:
        raise DataError(where, got=" and ".join(given) or "none", allowed="one of trait, stance and text")
    if given == ["text"] and (meaning.text or "").count("{value}") != 1:
        raise DataError(f"{where}, text", got=repr(meaning.text), allowed="a sentence with {value} once")
    if given == ["stance"] and (meaning.scale is None) == (not meaning.values):
        raise DataError(where, got="a stance", allowed="with it, either `scale: [against, for]` or `values`")
    if meaning.bands and (given != ["trait"] or meaning.values):
        raise DataError(f"{where}, bands", got="bands", allowed="them with a trait only, and no `values` beside them")
    if given != ["stance"] and meaning.scale is not None:
        raise DataError(f"{where}, scale", got="a scale", allowed="none, as only stances have one")
    if meaning.scale is not None and meaning.scale[0] == meaning.scale[1]:
        raise DataError(f"{where}, scale", got=str(list(meaning.scale)), allowed="two different numbers")
    return str(meaning.trait or meaning.stance or meaning.text)


def _check_answers(where: str, meaning: ColumnMeaning, bank: QuestionBank) -> None:
    if meaning.stance is not None:
        for answer in meaning.values.values():
            if answer is not None and not _in_unit(answer):
                raise DataError(f"{where}, values", got=repr(answer), allowed="a number from -1 to 1, or null")
        return
    if meaning.trait is None:
        return
    try:
        bank.number_of(meaning.trait, where)
        for answer in (*meaning.values.values(), *meaning.bands.values()):
            if answer is not None:
                bank.code(meaning.trait, answer, where)
    except UnknownName as error:
        raise DataError(error.where, got=error.got, allowed=error.allowed, do=error.do) from None
    bands_of(meaning, where)


def _in_unit(answer: str | float) -> bool:
    try:
        return -1 <= float(answer) <= 1
    except ValueError:
        return False


def bands_of(meaning: ColumnMeaning, where: str) -> list[Band]:
    """The bands of a column, in ascending order.

    Raises
    ------
    DataError
        No number or range, or two that overlap.
    """
    bands = []
    for name, answer in meaning.bands.items():
        found = _BAND.fullmatch(name.strip())
        if found is None:
            raise DataError(f"{where}, bands", got=repr(name), allowed="a number, a range such as 1-2, or 4+")
        low = float(found["low"])
        high = float("inf") if found["open"] else float(found["high"] or low)
        bands.append(Band(low, high, answer))
    bands.sort(key=lambda band: band.low)
    for one, two in pairwise(bands):
        if two.low <= one.high:
            got = f"{two.low:g}, which is in two bands"
            raise DataError(f"{where}, bands", got=got, allowed="bands that do not overlap")
    return bands
