"""Mapping files (YAML) of survey columns.

::

    id: participant              # column of ids; without it, people are called by their row
    skip_rows: 0                 # rows under the header that hold no answers: Qualtrics writes two
    missing: [NA, prefer not to say]   # words, next to an empty cell, that are no answer
    columns:
      Age: {trait: age}
      Sex: {trait: gender, values: {m: Male, f: Female}}
      Faith, 1 to 5: {trait: religious_beliefs, bands: {1-2: Atheist, "3": Agnostic, 4-5: Religious}}
      Vaccines are safe: {stance: vaccine_safe, scale: [1, 7]}
      About you: {text: "{value}"}
      Party: {trait: party, kind: categorical}                       # traits of one's own
      Shots: {trait: vaccinated, kind: ordinal, answers: [never, once, twice]}
      Income: {trait: income, kind: numeric}
    weight: w                    # column of survey weights; 1 for everybody without it
    unreadable: missing          # answers that nothing represents: stop (default), missing, or skip the respondent
    waves: {2: 168}              # step of the run in which the same people were asked again; see `wave` of a column
    posts: {headline: text}      # of a scenario with `mapping`: columns of its posts -> columns that Townsquare knows
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import Field, StrictFloat, StrictInt

from townsquare.core import documents
from townsquare.core.cells import number_cell
from townsquare.core.errors import DataError
from townsquare.core.registry import check_known
from townsquare.core.tabular import Record
from townsquare.scenario.population.question_bank import QuestionBank, parse_range
from townsquare.settings.config import MemberParams, setting
from townsquare.settings.problems import validated

Answer = str | StrictInt | StrictFloat | None
"""An answer in a mapping file; a truth value is none."""


class ColumnMeaning(MemberParams):
    """What one column means: exactly one of ``trait``, ``stance`` and ``text``."""

    trait: str | None = setting(None, "label of the question bank, or with `kind` of a trait of one's own")
    kind: Literal["categorical", "ordinal", "numeric"] | None = setting(None, "of a trait of one's own")
    answers: tuple[str, ...] = setting((), "with `kind`: its answers in order; those that occur if not given")
    question: str | None = setting(None, "with `kind`: what was asked, for personas; the column's name if not given")
    values: dict[str, Answer] = setting(dict, "what was answered -> answer of the bank; null for no answer")
    bands: dict[str, Answer] = setting(dict, "number or range of a rating scale -> answer of the bank")
    stance: str | None = setting(None, "proposition")
    scale: tuple[float, float] | None = setting(None, "with `stance`: the numbers that mean -1 and +1")
    statement: str | None = setting(None, "with `stance`: text of the proposition, for a scenario with this `mapping`")
    wave: int = setting(1, "with `stance`: 1 is the initial stance; later ones are compared with the run", ge=1, le=99)
    text: str | None = setting(None, "sentence of the persona with one {value}")


class SurveyMapping(MemberParams):
    """A mapping file."""

    id: str | None = None
    weight: str | None = None
    skip_rows: int = Field(0, ge=0)
    missing: tuple[str, ...] = ()
    unreadable: Literal["stop", "missing", "skip"] = "stop"
    waves: dict[int, int] = Field(default_factory=dict)
    posts: dict[str, str] = Field(default_factory=dict)
    columns: dict[str, ColumnMeaning] = Field(default_factory=dict)

    def propositions(self) -> list[dict[str, str]]:
        """Return name and text of the propositions that columns state, in order."""
        stated = {str(meaning.stance): meaning.statement for meaning in self.columns.values() if meaning.statement}
        return [{"name": name, "text": text} for name, text in stated.items()]


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch [``low``, ``high``] of a rating scale, and the answer it represents."""

    low: float
    high: float
    answer: Answer


def read_mapping(path: Path, bank: QuestionBank) -> SurveyMapping:
    """Return a mapping file whose labels, answers and scales are checked against the bank.

    Raises
    ------
    DataError
        No YAML, an unknown key, label or answer, two columns for one trait, bands that overlap.
    """
    mapping = validated(SurveyMapping, documents.read_yaml(path) or {}, path)
    if not mapping.columns:
        raise DataError(f"{path}, columns", got="nothing", allowed="at least one column of the survey")
    _check_waves(path, mapping)
    taken: dict[str, str] = {}
    for column, meaning in mapping.columns.items():
        where = f"{path}, column {column!r}"
        _check_meaning(where, meaning)
        target = str(meaning.trait or meaning.stance or meaning.text)
        target += f" in wave {meaning.wave}" if meaning.wave > 1 else ""
        if meaning.text is None and target in taken:
            do = "leave one of them out"
            raise DataError(where, got=f"{target!r} again", allowed=f"another than {taken[target]!r} gives", do=do)
        taken[target] = column
        _check_answers(where, meaning, bank)
    return mapping


def _check_waves(path: Path, mapping: SurveyMapping) -> None:
    """Refuse waves without a step, steps without a wave, and a wave before the one that it follows."""
    later = {meaning.wave for meaning in mapping.columns.values() if meaning.wave > 1}
    for wave in sorted(later ^ set(mapping.waves)):
        got = f"wave {wave} of a column, without a step" if wave in later else f"wave {wave}, of which no column is"
        do = f"write `waves: {{{wave}: 168}}` for step 168" if wave in later else "remove it"
        raise DataError(f"{path}, waves", got=got, allowed="a step for each wave after the first", do=do)
    steps = [mapping.waves[wave] for wave in sorted(later)]
    if steps != sorted(set(steps)) or min(steps, default=1) < 1:
        allowed = "steps of at least 1, later ones for later waves"
        raise DataError(f"{path}, waves", got=f"steps {steps}", allowed=allowed)


def _check_meaning(where: str, meaning: ColumnMeaning) -> None:
    """Refuse keys that do not go together."""
    given = [name for name in ("trait", "stance", "text") if getattr(meaning, name) is not None]
    scale, words = meaning.scale, meaning.text or ""
    rules = (
        (len(given) == 1, "", " and ".join(given) or "none", "one of trait, stance and text"),
        (given != ["text"] or words.count("{value}") == 1, ", text", repr(words), "a sentence with {value} once"),
        (given != ["stance"] or (scale is None) == bool(meaning.values), "", "a stance",
         "with it, either `scale: [against, for]` or `values`"),
        (meaning.kind is None or given == ["trait"], ", kind", "a kind", "none, as only traits have one"),
        (meaning.kind is not None or not (meaning.answers or meaning.question), "", "answers or a question",
         "them with `kind` only"),
        (meaning.kind != "ordinal" or len(set(meaning.answers)) > 1, ", answers",
         f"{len(set(meaning.answers))} answers of an ordinal trait", "at least two, in order"),
        (meaning.kind != "numeric" or not (meaning.answers or meaning.bands), "", "answers or bands",
         "none, as the numbers themselves are the answers"),
        (len(set(meaning.answers)) == len(meaning.answers), ", answers", "an answer twice", "each answer once"),
        (not meaning.bands or (given == ["trait"] and not meaning.values), ", bands", "bands",
         "them with a trait only, and no `values` beside them"),
        (given == ["stance"] or (meaning.wave == 1 and meaning.statement is None), "", "a wave or a statement",
         "them with `stance` only"),
        (scale is None or given == ["stance"], ", scale", "a scale", "none, as only stances have one"),
        (scale is None or scale[0] != scale[1], ", scale", str(list(scale or ())), "two different numbers"),
    )  # fmt: skip
    for holds, part, got, allowed in rules:
        if not holds:
            raise DataError(where + part, got=got, allowed=allowed)


def _check_answers(where: str, meaning: ColumnMeaning, bank: QuestionBank) -> None:
    """Refuse an answer that the bank does not have, and a stance outside [-1, 1]."""
    answers = [(word, answer) for word, answer in meaning.values.items() if answer is not None]
    if meaning.stance is not None:
        for word, _ in answers:
            number_cell(Record(where, meaning.values, "value"), word, -1, 1, None)
    elif meaning.trait is not None:
        if meaning.kind is None:
            do = "add `kind: categorical` for a trait of your own"
            check_known(where, meaning.trait, bank.labels, DataError, do=do)
        for _, answer in (*answers, *meaning.bands.items()):
            if answer is not None and meaning.answers:
                check_known(f"{where}, answers", str(answer), meaning.answers, DataError)
            elif answer is not None and meaning.kind is None:
                bank.code(meaning.trait, answer, where, DataError)
        bands_of(meaning, where)


def bands_of(meaning: ColumnMeaning, where: str) -> list[Band]:
    """Return the bands of a column, in ascending order.

    Raises
    ------
    DataError
        No number or range, or two that overlap.
    """
    bands = []
    for name, answer in meaning.bands.items():
        ends = parse_range(name)
        if ends is None:
            raise DataError(f"{where}, bands", got=repr(name), allowed="a number, a range such as 1-2, or 4+")
        bands.append(Band(*ends, answer))
    bands.sort(key=lambda band: band.low)
    for lower, upper in pairwise(bands):
        if upper.low <= lower.high:
            got = f"{upper.low:g}, which is in two bands"
            raise DataError(f"{where}, bands", got=got, allowed="bands that do not overlap")
    return bands
