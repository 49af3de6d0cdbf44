"""Personas as text and as JSON lines: one ``{"id": …, "text": …, "labels": {…}}`` each.

Where somebody measured them, ``activity`` and ``stance`` (an object of stances by proposition) are there too.

A persona is rendered from its answers by a template, one sentence an answer, so that every attribute is in it;
:func:`missing_attributes` checks that of any text. (In the earlier system's generated personas political affiliation,
ethnicity, hobby and language were missing from most.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from townsquare.core import schema, tabular
from townsquare.core.array_types import Float, Int16
from townsquare.core.cells import number_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank

MAX_ACTIVITY = 1000.0
FIELDS = ("id", "text", "labels", "activity", "stance")
STANCE = "stance:"


class Person(NamedTuple):
    """One persona: codes of its answers (T,), its words, its stances by proposition, its activity or NaN."""

    codes: Int16
    text: str
    stance: Mapping[str, float]
    activity: float = np.nan
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Personas:
    """Imported personas of ``n`` people.

    Attributes
    ----------
    ids, texts : tuple of str
        What others call them, and the personas.
    traits : (n, T) int16
        Codes of their answers, -1 where not answered.
    activity : (n,) float64
        Relative to a mean of 1; NaN where not given.
    stance : mapping of proposition to (n,) float64
        In [-1, 1]; NaN where not given.
    weight : (n,) float64, optional
        Survey weights; equal ones if not given.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    traits: Int16
    activity: Float
    stance: Mapping[str, Float]
    weight: Float | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, ids: Iterable[str], people: Sequence[Person]) -> Personas:
        """Return the personas of people one by one."""
        names = dict.fromkeys(name for person in people for name in person.stance)
        return cls(
            ids=tuple(ids),
            texts=tuple(person.text for person in people),
            traits=np.stack([person.codes for person in people]),
            activity=np.array([person.activity for person in people]),
            stance={name: np.array([person.stance.get(name, np.nan) for person in people]) for name in names},
            weight=np.array([person.weight for person in people]),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> Personas:
        """Return the personas with these rows (k,), in this order; one may come more than once."""
        listed = rows.tolist()
        ids, texts = (tuple(column[row] for row in listed) for column in (self.ids, self.texts))
        stance = {name: column[rows] for name, column in self.stance.items()}
        weight = None if self.weight is None else self.weight[rows]
        return Personas(ids, texts, self.traits[rows], self.activity[rows], stance, weight)


def render_persona(traits: Int16, bank: QuestionBank) -> str:
    """Return a persona in the first person.

    Parameters
    ----------
    traits : (T,) int16
        Codes of one person, in the order of the bank; -1 is left out.
    bank : QuestionBank
        What the codes mean.

    >>> from townsquare.scenario.population.question_bank import bundled_bank
    >>> codes = np.full(19, -1, np.int16)
    >>> codes[:2] = 44, 1
    >>> render_persona(codes, bundled_bank())
    'I am 44 years old. When a form asks for my gender, I put down "female".'
    """
    sentences = (bank.sentence(number, int(code)) for number, code in enumerate(traits))
    return " ".join(sentence for sentence in sentences if sentence)


def missing_attributes(text: str, traits: Int16, bank: QuestionBank) -> list[str]:
    """Return labels whose answer is not in a text, as whole words in any case; empty if every attribute is there.

    An answer counts in its own form or as the bank words it. Where several traits have the same words (loyalty, say),
    the text must have them as often.

    >>> from townsquare.scenario.population.question_bank import bundled_bank
    >>> codes = np.full(19, -1, np.int16)
    >>> codes[:2] = 44, 1
    >>> missing_attributes("A woman of 44.", codes, bundled_bank())
    ['gender']
    """
    used: dict[str, int] = {}
    missing = []
    for number, (trait, code) in enumerate(zip(bank.traits, traits.tolist(), strict=True)):
        if code == NO_ANSWER:
            continue
        forms = [bank.answer(number, code)] + ([] if trait.number else [trait.words[code]])
        pattern = "|".join(re.escape(form) for form in sorted(set(forms), key=len, reverse=True))
        times = len(re.findall(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE))
        key = forms[-1].casefold()
        used[key] = used.get(key, 0) + 1
        if times < used[key]:
            missing.append(trait.label)
    return missing


def write_personas(
    path: Path,
    traits: Int16,
    bank: QuestionBank,
    *,
    ids: Sequence[str] = (),
    texts: Sequence[str] = (),
    activity: Float | None = None,
    stance: Mapping[str, Float] | None = None,
) -> None:
    """Write people as JSON lines.

    Parameters
    ----------
    path : Path
        Replaced if it is there.
    traits : (n, T) int16
        Their codes.
    ids, texts : n texts, optional
        Where not given: the row numbers, and personas rendered from the codes.
    activity : (n,) float64, optional
    stance : mapping of proposition to (n,) float64, optional
        Written where they are not NaN.
    """
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for row, codes in enumerate(traits):
            text = texts[row] if texts else render_persona(codes, bank)
            line: dict[str, object] = {"id": ids[row] if ids else str(row), "text": text, "labels": bank.labeled(codes)}
            if activity is not None and not np.isnan(activity[row]):
                line["activity"] = float(activity[row])
            toward = {name: float(column[row]) for name, column in (stance or {}).items() if not np.isnan(column[row])}
            line |= {"stance": toward} if toward else {}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_personas(path: Path, bank: QuestionBank) -> Personas:
    """Return people from JSON lines.

    A line has ``id`` (if none, the row number), ``text`` (if none, rendered from the labels) and ``labels``, an object
    of answers by label; ``activity`` is a number of at least 0, and ``stance`` an object of numbers from -1 to 1 by
    proposition. Text, labels or stance must be there.

    Raises
    ------
    DataError
        With file, line and field: no JSON object, an unknown field, label or answer, an id twice, a text of over
        10,000 characters, a number out of range, an empty file.
    """
    places: dict[str, str] = {}
    people = []
    for row, record in enumerate(tabular.jsonl_records(path)):
        codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
        for field, value in record.cells.items():
            _read_field(record, field, value, codes, bank)
        name = text_cell(record, "id", required=False) or str(row)
        if name in places:
            raise DataError(record.where("id"), got=repr(name), allowed=f"another id than in {places[name]}")
        places[name] = record.location
        text = text_cell(record, "text", required=False) or render_persona(codes, bank)
        toward = [field for field in record.cells if field.startswith(STANCE)]
        if not text and not toward:
            raise DataError(record.location, got="no text, labels or stance", allowed="at least one of them")
        activity = _number(record, "activity", 0, MAX_ACTIVITY)
        stance = {field.removeprefix(STANCE): _number(record, field, -1, 1) for field in toward}
        people.append(Person(codes, text, stance, activity))
    if not people:
        raise DataError(str(path), got="an empty file", allowed="one persona per line")
    return Personas.of(places, people)


def _read_field(record: tabular.Record, field: str, value: object, codes: Int16, bank: QuestionBank) -> None:
    """Set the code that a field represents; refuse fields that do not belong here."""
    head, _, label = field.partition(":")
    where = record.where(field)
    if head == "labels" and label:
        codes[bank.number_of(label, where, DataError)] = bank.code(label, value, where, DataError)
    elif field in ("labels", "stance"):
        what = "answers by label" if field == "labels" else "numbers by proposition"
        raise DataError(where, got=type(value).__name__, allowed=f"an object of {what}")
    elif field not in FIELDS and not field.startswith(STANCE):
        raise DataError(where, got=repr(field), allowed=", ".join(FIELDS), do=did_you_mean(field, FIELDS))


def _number(record: tabular.Record, field: str, low: float, high: float) -> float:
    """Return a number in [``low``, ``high``], not one in quotes; NaN if none exists."""
    if isinstance(value := record.cells.get(field), str):
        raise DataError(record.where(field), got=repr(value)[:80], allowed=f"a number from {low:g} to {high:g}")
    return number_cell(record, field, low, high)


def trait_rows(agents: npt.NDArray[np.int64], traits: Int16) -> schema.Columns:
    """Return rows of the table ``traits`` for people with the rows ``agents`` (n,) and codes ``traits`` (n, T)."""
    row, number = np.nonzero(traits != NO_ANSWER)
    return schema.rows("traits", row.shape[0], agent=np.asarray(agents)[row], trait=number, value=traits[row, number])


def trait_value_rows(bank: QuestionBank) -> schema.Columns:
    """Return rows of the table ``trait_values``: every answer of every trait; of a number, all from 0 to 120."""
    values = [
        (number, code, trait.label, bank.answer(number, code), trait.numbers[code] if trait.numbers else np.nan)
        for number, trait in enumerate(bank.traits)
        for code in (range(121) if trait.number else range(len(trait.answers)))
    ]
    traits, codes, labels, answers, numbers = zip(*values, strict=True)
    columns = {"trait": traits, "value": codes, "label": labels, "answer": answers, "number": numbers}
    return schema.rows("trait_values", len(values), **columns)


# Shares of answers, compared with those that people are drawn with.


FEW = 5.0  # chi-square is a poor guide where a cell is expected less often than this (Cochran 1954)


@dataclass(frozen=True, slots=True)
class TraitShares:
    """Answers of n people to one question.

    Attributes
    ----------
    label : str
        The trait.
    groups : tuple of str
        Its answers; of a number, bands.
    counts : (k,) int64
        People by group.
    stated : (k,) float64
        Expected shares; for a trait that in the bank depends on another, given how these people answered that one.
    missing : int
        People without an answer, who count nowhere else.
    statistic, p : float
        Pearson's chi-square against ``stated`` and its probability; for a trait that depends on another, over the
        cells of both. NaN where nobody answered. Of independent draws p is even over [0, 1]; people who answered
        otherwise have a p near 0.
    freedom : int
        Degrees of freedom.
    few : bool
        Some cell is expected less than five times: then p is a poor guide.
    """

    label: str
    groups: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    stated: Float
    missing: int
    statistic: float
    p: float
    freedom: int
    few: bool


def persona_shares(
    traits: Int16, bank: QuestionBank, drawn_from: tuple[Int16, Float] | None = None
) -> list[TraitShares]:
    """Return shares of each trait, in the order of the bank, for people with codes ``traits`` (n, T).

    Expected are those of the bank or, if given, of the people ``drawn_from``: codes (m, T) and weights (m,).
    """
    return [_shares(number, traits, bank, drawn_from) for number in range(len(bank.traits))]


def stated_shares(bank: QuestionBank, number: int) -> Float:
    """Return the bank's shares of a trait: one row, or one per answer of the trait it depends on."""
    trait = bank.traits[number]
    if trait.number is None and not trait.numbers:
        return trait.chances
    codes = np.arange(trait.low, trait.low + trait.table.shape[1])
    return np.bincount(bank.group_of(number, codes), trait.table[0], len(bank.groups(number)))[None].astype(np.float64)


def _shares_of(people: tuple[Int16, Float], bank: QuestionBank, number: int) -> Float:
    """Return the shares of a trait among weighted people who answered, one row."""
    codes, weight = people[0][:, number], people[1]
    answered = codes != NO_ANSWER
    sums = np.bincount(bank.group_of(number, codes)[answered], weight[answered], len(bank.groups(number)))
    return np.asarray(sums / (sums.sum() or 1.0))[None]


def _shares(number: int, traits: Int16, bank: QuestionBank, people: tuple[Int16, Float] | None) -> TraitShares:
    trait, groups = bank.traits[number], bank.groups(number)
    answered = traits[:, number] != NO_ANSWER
    group = bank.group_of(number, traits[:, number])
    counts = np.bincount(group[answered], minlength=len(groups))
    stated = stated_shares(bank, number) if people is None else _shares_of(people, bank, number)
    if trait.given >= 0 and people is None:
        given = traits[:, trait.given]
        answered &= given != NO_ANSWER
        table = np.zeros(stated.shape, np.int64)
        np.add.at(table, (given[answered], group[answered]), 1)
    else:
        table = counts[None]
    expected = stated * table.sum(axis=1, keepdims=True)
    statistic, p, freedom = _chi_square(table, expected)
    n = max(1.0, float(expected.sum()))
    few = bool(((expected > 0) & (expected < FEW)).any())
    missing = int(traits.shape[0] - counts.sum())
    return TraitShares(trait.label, groups, counts, expected.sum(axis=0) / n, missing, statistic, p, freedom, few)


def _chi_square(counts: npt.NDArray[np.int64], expected: Float) -> tuple[float, float, int]:
    """Return Pearson's statistic over the rows of a table, each with its total given."""
    possible = expected > 0
    rows = possible.any(axis=1)
    freedom = int(possible.sum() - rows.sum())
    if not rows.any():
        return float("nan"), float("nan"), 0
    if (counts[~possible] > 0).any():
        return float("inf"), 0.0, freedom  # an answer that is never drawn
    apart = np.where(possible, (counts - expected) ** 2 / np.where(possible, expected, 1.0), 0.0)
    statistic = float(apart.sum())
    return statistic, float(chdtrc(freedom, statistic)) if freedom else float("nan"), freedom
