"""Question banks: questions that personas answer, and the distributions of answers.

``parliamentary`` is of a country with several parties and a public broadcaster; its shares are assumed. Labels, answers
and distributions of ``mosaic`` follow MOSAIC's bank (``reference``: its ``generate_personas.py`` and released data): 20
questions with 19 labels. The two questions labeled ``social_context`` are one trait; the later one gives its words,
as in the source. Wording and sentences are this project's own and are in ``data/question_banks``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, RootModel
from scipy.special import ndtr

from townsquare.core import documents
from townsquare.core.array_types import Float, Int16
from townsquare.core.errors import DataError, TownsquareError, UnknownName
from townsquare.core.registry import check_known
from townsquare.settings.problems import validated

NO_ANSWER = -1  # an imported persona need not answer everything
MISSING = "no answer"  # how settings name it
_RANGE = re.compile(r"(?P<low>-?\d+(?:\.\d+)?)\s*(?:(?:-|–|to)\s*(?P<high>-?\d+(?:\.\d+)?)|(?P<open>\+))?")


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A whole number drawn as int(Normal(mean, sd)), truncated toward 0, then clamped to [low, high]."""

    mean: float
    sd: Annotated[float, Field(ge=0)]
    low: Annotated[int, Field(ge=0, le=120)]
    high: Annotated[int, Field(ge=0, le=120)]

    def chances(self) -> Float:
        """Return probability of each number from ``low`` to ``high``, (high - low + 1,) float64.

        >>> NumberRange(35, 12, 18, 60).chances()[0].round(4)  # P(Normal(35, 12) < 19)
        np.float64(0.0912)
        """
        beyond = np.arange(self.low, self.high) + 1.0 - self.mean
        below = ndtr(beyond / self.sd) if self.sd else (beyond > 0).astype(np.float64)
        return np.asarray(np.diff(np.concatenate([[0.0], below, [1.0]])))


@dataclass(frozen=True, slots=True, eq=False)
class Trait:
    """One label and how its answer is drawn.

    Attributes
    ----------
    label : str
        Name of the trait.
    question, sentence : str
        What is asked; the answer as a first-person sentence with one ``{value}``.
    answers : tuple of str
        The answer behind each code; empty for a number.
    words : tuple of str
        Each answer as it is in the sentence.
    chances : (k, len(answers)) float64
        Probability of each answer, rows sum to 1; one row, or one for each answer of ``given``. Of a number: empty, or
        one row for the numbers from low to high that is drawn from instead of the normal.
    given : int
        Number of the trait on which the answer depends; -1 for none.
    number : NumberRange, optional
        Set where the answer is a number; the code is the number itself.
    bands : tuple of str
        Of a number, the ranges by which people are counted, such as ``18-24``.
    numbers : tuple of float
        Of a numeric trait of a survey: the number behind each answer, ascending.
    ordered : bool
        Of an ordinal trait of a survey: the order of ``answers`` has a meaning.
    """

    label: str
    question: str
    sentence: str
    answers: tuple[str, ...]
    words: tuple[str, ...]
    chances: Float
    given: int = -1
    number: NumberRange | None = None
    bands: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    ordered: bool = False

    @property
    def low(self) -> int:
        """The code of the first column of :attr:`table`."""
        return self.number.low if self.number else 0

    @property
    def table(self) -> Float:
        """Probability of each code from ``low`` on, one row, or one for each answer of ``given``."""
        return self.number.chances()[None] if self.number and not self.chances.size else self.chances


@dataclass(frozen=True, slots=True, eq=False)
class QuestionBank:
    """All traits, in order of the first question with each label; ``labels`` are their names."""

    traits: tuple[Trait, ...]
    n_questions: int
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(trait.label for trait in self.traits))

    def number_of(self, label: str, where: str = "trait", kind: type[TownsquareError] = UnknownName) -> int:
        """Return number of a trait.

        Raises
        ------
        TownsquareError
            Of ``kind``, with the nearest label there is.

        >>> bundled_bank().number_of("gender")
        1
        """
        check_known(where, label, self.labels, kind)
        return self.labels.index(label)

    def code(self, label: str, answer: object, where: str = "trait", kind: type[TownsquareError] = UnknownName) -> int:
        """Return code of an answer: its place among the trait's answers, or the number itself.

        Raises
        ------
        TownsquareError
            Of ``kind``: unknown label or answer, with the nearest there is.

        >>> bundled_bank().code("gender", "Female"), bundled_bank().code("age", 44)
        (1, 44)
        """
        trait = self.traits[self.number_of(label, where, kind)]
        text = str(answer).strip()
        if trait.numbers:
            number = number_of_text(text)
            at = bisect_left(trait.numbers, number)
            if at == len(trait.numbers) or trait.numbers[at] != number:
                raise kind(where, got=repr(answer), allowed=f"a number that somebody answered to {label!r}")
            return at
        if trait.number is None:
            check_known(where, text, trait.answers, kind)
            return trait.answers.index(text)
        if not (text.isdecimal() and len(text) <= 3 and int(text) <= 120):
            raise kind(where, got=repr(answer), allowed="a whole number from 0 to 120")
        return int(text)

    def span(self, label: str, answer: str, where: str = "trait") -> tuple[int, int]:
        """Return the lowest and the highest code that an answer means; of a number, those of :func:`parse_band`.

        >>> bundled_bank().span("age", "18-24"), bundled_bank().span("gender", "Female")
        ((18, 24), (1, 1))

        ``no answer`` means :data:`NO_ANSWER`; of an ordinal trait, ``once to twice`` means the answers from one to the
        other.
        """
        trait = self.traits[self.number_of(label, where)]
        if answer == MISSING and answer not in trait.answers:
            return NO_ANSWER, NO_ANSWER
        if trait.number:
            return parse_band(answer, where)
        if trait.numbers:
            ends = parse_range(answer)
            if ends is None:
                raise UnknownName(where, got=repr(answer), allowed="a number, a range such as 18-24, or 55+")
            low, high = ends
            return int(np.searchsorted(trait.numbers, low)), int(np.searchsorted(trait.numbers, high, "right")) - 1
        first, to, last = answer.partition(" to ")
        if trait.ordered and to and answer not in trait.answers:
            return self.code(label, first, where), self.code(label, last, where)
        code = self.code(label, answer, where)
        return code, code

    def answer(self, trait: int, code: int) -> str:
        """Return the answer behind a code; "" for no answer.

        >>> bundled_bank().answer(0, 44), bundled_bank().answer(1, 1), bundled_bank().answer(1, -1)
        ('44', 'Female', '')
        """
        if code == NO_ANSWER:
            return ""
        return str(code) if self.traits[trait].number else self.traits[trait].answers[code]

    def labeled(self, codes: Int16) -> dict[str, str | int]:
        """Return the answers of a person with these codes (T,), by label; numbers stay numbers."""
        return {
            trait.label: code if trait.number else self.answer(number, code)
            for number, (trait, code) in enumerate(zip(self.traits, codes.tolist(), strict=True))
            if code != NO_ANSWER
        }

    def groups(self, trait: int) -> tuple[str, ...]:
        """By what people are counted: the answers; of a number its bands, and ``other`` for numbers in none.

        >>> bundled_bank().groups(0)
        ('18-24', '25-34', '35-44', '45-54', '55+', 'other')
        """
        asked = self.traits[trait]
        return (*asked.bands, "other") if asked.number or asked.numbers else asked.answers

    def group_of(self, trait: int, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Return which of :meth:`groups` codes (n,) belong to, (n,) int64; -1 for no answer."""
        asked = self.traits[trait]
        if not (asked.number or asked.numbers):
            return codes.astype(np.int64)
        group = group_by_spans(codes, [self.span(asked.label, band) for band in asked.bands])
        return np.where(codes == NO_ANSWER, NO_ANSWER, group)

    def sentence(self, trait: int, code: int) -> str:
        """Return the answer as a first-person sentence; "" for no answer."""
        if code == NO_ANSWER:
            return ""
        asked = self.traits[trait]
        return asked.sentence.replace("{value}", str(code) if asked.number else asked.words[code])


def group_by_spans(codes: npt.NDArray[np.integer], spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return the span that holds each code (n,), both ends included; one more than the last for codes in none."""
    group = np.full(codes.shape[0], len(spans), np.int64)
    for at, (low, high) in enumerate(spans):
        group[(codes >= low) & (codes <= high)] = at
    return group


def parse_band(text: str, where: str = "band") -> tuple[int, int]:
    """Return the whole numbers that ``30``, ``18-24`` or ``55+`` mean, both ends included.

    >>> parse_band("18-24"), parse_band("55+")
    ((18, 24), (55, 120))
    """
    low, dash, high = text.replace("+", "-120").partition("-")
    parts = (low.strip(), high.strip() if dash else low.strip())
    if not all(part.isdecimal() and len(part) <= 3 for part in parts):
        raise UnknownName(where, got=repr(text), allowed="a number, a range such as 18-24, or 55+")
    return int(parts[0]), int(parts[1])


def parse_range(text: str) -> tuple[float, float] | None:
    """Return the numbers that ``3``, ``1.5-2``, ``1 to 2`` or ``4+`` mean, both ends included; None for other texts.

    >>> parse_range("1.5-2"), parse_range("4+"), parse_range("few")
    ((1.5, 2.0), (4.0, inf), None)
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    low = float(match["low"])
    return low, math.inf if match["open"] else float(match["high"] or low)


def number_of_text(text: str) -> float:
    """Return the number that a text is; NaN for other texts.

    >>> number_of_text("3.50"), number_of_text("few")
    (3.5, nan)
    """
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


class _Answer(BaseModel):
    """An answer, its chance, and its words in the sentence where they differ."""

    model_config = ConfigDict(coerce_numbers_to_str=True)
    value: str
    p: float = Field(ge=0)
    text: str = ""


class _Question(BaseModel):
    """One question of a bank, as the file holds it."""

    model_config = ConfigDict(coerce_numbers_to_str=True)
    label: str = Field(min_length=1)
    question: str = Field(min_length=1)
    sentence: str = Field(pattern=r"^[^{]*\{value\}[^{]*$", json_schema_extra={"allowed": "a text with {value} once"})
    listed: tuple[str, ...] = ()
    ordered: bool = False
    answers: list[_Answer] = []
    distribution: NumberRange | None = None
    given: str | None = None
    table: dict[str, list[_Answer]] = {}
    otherwise: list[_Answer] = []


class _Bank(RootModel[list[_Question]]):
    """A file of questions."""

    root: list[_Question] = Field(min_length=1)


@lru_cache(maxsize=4)
def bundled_bank(name: str = "mosaic") -> QuestionBank:
    """Return a question bank that comes with Townsquare: ``mosaic`` or ``parliamentary``.

    >>> bank = bundled_bank()
    >>> bank.n_questions, len(bank.traits)
    (20, 19)
    """
    return read_bank(Path(str(resources.files("townsquare") / "data" / "question_banks" / f"{name}.yaml")))


def read_bank(path: Path) -> QuestionBank:
    """Return a question bank from YAML; ``data/question_banks`` says the format.

    Raises
    ------
    DataError
        A field is missing or of a wrong type, chances do not sum to 1, an answer depends on a later question.
    """
    questions = validated(_Bank, documents.read_yaml(path), path).root
    traits: dict[str, Trait] = {}
    for number, asked in enumerate(questions, 1):
        # A repeated label keeps its number and takes the later question, as a Python dict does in the source.
        traits[asked.label] = _trait(f"{path}, question {number}", asked, traits)
    return QuestionBank(tuple(traits.values()), len(questions))


def _trait(where: str, asked: _Question, before: Mapping[str, Trait]) -> Trait:
    head = asked.label, asked.question, asked.sentence
    if asked.distribution:
        for band in asked.listed:
            parse_band(band, f"{where}, listed")
        return Trait(*head, (), (), np.empty((0, 0)), number=asked.distribution, bands=asked.listed)
    if asked.given is None:
        return Trait(*head, *_answers(where, [asked.answers], asked.listed), ordered=asked.ordered)
    check_known(f"{where}, given", asked.given, [name for name, trait in before.items() if not trait.number], DataError)
    known = before[asked.given].answers
    # Rows for values that the earlier question cannot have are read for their answers, and drawn by nobody.
    spare = [row for value, row in asked.table.items() if value not in known]
    rows = [asked.table.get(value, asked.otherwise) for value in known]
    answers, words, chances = _answers(where, rows + spare, asked.listed)
    return Trait(*head, answers, words, chances[: len(rows)], list(before).index(asked.given))


def _answers(
    where: str, rows: Sequence[Sequence[_Answer]], listed: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], Float]:
    """Return the answers of all rows, listed ones first, their words, and the chances of each row."""
    words = {answer: answer for answer in listed}
    words.update((item.value, item.text or item.value) for row in rows for item in row)
    order = {answer: code for code, answer in enumerate(words)}
    chances = np.zeros((len(rows), len(words)))
    for at, row in enumerate(rows):
        for item in row:
            chances[at, order[item.value]] += item.p
        if not math.isclose(chances[at].sum(), 1.0, abs_tol=1e-9):
            got = f"probabilities {chances[at].sum()}"
            raise DataError(f"{where}, answers", got=got, allowed="probabilities that sum to 1")
    chances.flags.writeable = False
    return tuple(words), tuple(words.values()), chances
