"""Guess what the columns of a survey mean, from their names and answers.

Every guess is a line of a mapping file (:mod:`townsquare.scenario.population.survey_mapping`) and says why. Columns
that look like personal or technical data are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from townsquare.core.documents import bundled_labels
from townsquare.core.tabular import Records, column_name
from townsquare.scenario.population.question_bank import number_of_text, parse_range

MOST_CATEGORIES, MOST_POINTS = 30, 11
LONG_WORDS = 5  # mean words of an answer from which a column is free text (assumed)
IDS = frozenset(
    ("id", "participant", "participantid", "respondent", "respondentid", "responseid", "caseid", "pid", "prolificpid")
)
_WEIGHTS = re.compile(r"w|wt|(?!body).*(weights?|wgt|gewicht|gewichtung|poids|peso)")
_PERSONAL = re.compile(
    r"((first|last|full|sur|given|family|user)[ _]?)?name|e-?mail.*|phone.*|(mobile|telephone|(mobile|cell)[ _]?phone)"
    r"([ _]?number)?|((home|street|postal|mailing)[ _]?)?address|street|ip([ _]?address)?"
    r"|(location)?(latitude|longitude)|recipient.*|device.*|birth.*|date[ _]of[ _]birth|dob"
)
_TECHNICAL = re.compile(r"(start|end|recorded|submit).*|date|time(stamp)?|duration.*|progress|finished|status|minutes")
_COUNTED = re.compile(
    r"\b(age|old|year|years|income|children|household|hours|minutes|days?|weeks?|times|number|many|much|count|size)\b"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}.*")
_WAVE = re.compile(r"(?P<base>.+?)[\s_(-]+(?:w|wave|t)\s?(?P<wave>[1-9])\)?$", re.IGNORECASE)
_QUESTION_NUMBER = re.compile(r"[a-z]?\d{1,3}[a-z]?\s*[.):-]\s+(?=\S)", re.IGNORECASE)
_DULL = frozenset(re.findall(r"\w+", "the a an is are of to in for do you your how what which and should be"))
_AGREES = re.compile(r"(?:(.+) )?(agree|disagree)(?: (.+))?")
_NO_ANSWER = frozenset((97, 98, 99, 997, 998, 999))  # codes beside answers up to 10 that stand for none
_SCALE = re.compile(r"[,:;]?\s*-?\d+\s*(?:\([^)]*\)\s*)?(?:to|-|–|\.{2,}|…)\s*-?\d+.*$")


class Guess(NamedTuple):
    """What one column means: its line of a mapping file, None if it is left out, and why."""

    column: str
    meaning: dict[str, Any] | None
    why: str


@dataclass(frozen=True, slots=True)
class SurveyGuess:
    """What a survey means: columns of ids and weights, rows to skip, words for missing answers, and all columns."""

    id: str | None
    weight: str | None
    skip_rows: int
    missing: tuple[str, ...]
    columns: tuple[Guess, ...]
    personal: tuple[str, ...] = field(default=())

    def items(self) -> list[Guess]:
        """Return the columns that are rating scales of the first wave, and so may be propositions."""
        return [guess for guess in self.columns if guess.meaning and "stance" in guess.meaning and not _wave(guess)]

    def mapping(self, propositions: Sequence[str]) -> dict[str, Any]:
        """Return the mapping file; items whose stance is not among ``propositions`` become traits."""
        columns = {}
        for guess in self.columns:
            meaning = guess.meaning
            if meaning and "stance" in meaning and meaning["stance"] not in propositions:
                meaning = None if _wave(guess) else _as_trait(meaning, guess.column)
            if meaning is not None:
                columns[guess.column] = meaning
        waves = sorted({meaning["wave"] for meaning in columns.values() if "wave" in meaning})
        head = {"id": self.id, "weight": self.weight, "skip_rows": self.skip_rows, "missing": list(self.missing)}
        out = {key: value for key, value in head.items() if value}
        return {**out, "unreadable": "missing", "columns": columns, **({"waves": waves} if waves else {})}


def _wave(guess: Guess) -> int:
    return int((guess.meaning or {}).get("wave", 0))


def _as_trait(meaning: Mapping[str, Any], column: str) -> dict[str, Any]:
    kind: dict[str, Any] = {"kind": "numeric"}
    if "values" in meaning:
        order = sorted(meaning["values"], key=lambda word: float(meaning["values"][word]))
        kind = {"kind": "ordinal", "answers": order}
    return {"trait": meaning["stance"], **kind, "question": column}


def guess_survey(table: Records, titles: Mapping[str, str]) -> SurveyGuess:
    """Return guesses for all columns of a table; ``titles`` are their names as the file writes them."""
    skip = sum('"importid"' in str(cell).lower() for record in table.records[:3] for cell in record.cells.values())
    skip = 2 if skip else 0  # Qualtrics: the questions in full, then ids of import
    rows = table.records[skip:]
    answers = {name: [_text(record.cells.get(name)) for record in rows] for name in table.columns}
    words = {word.casefold() for word in bundled_labels("survey_words")["missing"]}
    missing = {answer for column in answers.values() for answer in column if answer.casefold() in words}
    plain = {name: re.sub(r"[^a-z0-9]", "", name.lower()) for name in table.columns}
    who = next((name for name in table.columns if plain[name] in IDS and any(answers[name])), None)
    weights = (name for name in table.columns if _WEIGHTS.fullmatch(plain[name]) and _are_weights(answers[name]))
    weight = next(weights, None)
    taken: set[str] = set()
    guesses, personal = [], []
    for name in table.columns:
        if name in (who, weight):
            continue
        title = titles.get(name, name)
        if _PERSONAL.fullmatch(re.sub(r"\(wave \d+\)$", "", name.lower()).strip()):
            personal.append(title)
            guesses.append(Guess(title, None, "looks like personal data: left out, and not copied"))
            continue
        given = [answer for answer in answers[name] if answer and answer.casefold() not in words]
        asked = _text(table.records[0].cells.get(name)) or title if skip else title
        technical = _TECHNICAL.fullmatch(name.lower().strip())
        guesses.append(_guess(title if technical else asked, given, len(rows), taken)._replace(column=title))
    named = (titles.get(who, who) if who else None), (titles.get(weight, weight) if weight else None)
    ordered = tuple(sorted(missing, key=str.casefold))
    return SurveyGuess(*named, skip, ordered, tuple(_with_waves(guesses)), tuple(personal))


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _are_weights(answers: Sequence[str]) -> bool:
    given = [number_of_text(answer) for answer in answers if answer]
    return bool(given) and all(number >= 0 for number in given)


def _guess(title: str, given: list[str], n: int, taken: set[str]) -> Guess:
    """Return the guess for one column from its answers."""
    different = Counter(answer.casefold() for answer in given)
    name = title.lower().strip()
    if not given or (len(different) == 1 and n > 1):
        return Guess(title, None, "everybody gave the same answer: left out" if given else "no answers: left out")
    if _TECHNICAL.fullmatch(name) or all(_DATE.fullmatch(answer) for answer in given):
        return Guess(title, None, "looks like a date or technical data: left out")
    numbers = [number_of_text(answer) for answer in given]
    if sum(number == number for number in numbers) >= 0.9 * len(given):
        return _of_numbers(title, [number for number in numbers if number == number], taken)
    agreement = _agreement(different)
    if agreement:
        values = {answer: agreement[answer.casefold()] for answer in dict.fromkeys(given)}
        return _item(title, {"values": values}, taken, "answers of agreement")
    ladder = _ladder(given)
    label = _name(title, taken)
    if ladder:
        meaning = {"trait": label, "kind": "ordinal", "answers": ladder, "question": title}
        return Guess(title, meaning, f"ordered answers: {', '.join(ladder)}")
    if sum(len(answer.split()) for answer in given) / len(given) >= LONG_WORDS and len(different) > 2:
        asked = title.replace("{", "(").replace("}", ")")
        sentence = f'Asked "{asked}", I wrote: {{value}}'
        return Guess(title, {"text": sentence}, "free text: read by language models only")
    if len(different) > MOST_CATEGORIES:
        return Guess(title, None, f"{len(different):,} different answers in words: left out")
    return Guess(title, {"trait": label, "kind": "categorical", "question": title}, f"{len(different)} answers")


def _agreement(different: Collection[str]) -> dict[str, float]:
    """Return the stance of answers of agreement, evenly spaced by the strengths that occur; empty for others.

    >>> _agreement(["rather disagree", "neither", "agree", "strongly agree"])
    {'rather disagree': -0.5, 'neither': 0.0, 'agree': 0.5, 'strongly agree': 1.0}
    >>> _agreement(["agree", "never"])
    {}
    """
    words = bundled_labels("survey_words")
    strength = {word: rank for rank, level in enumerate(words["agree"]) for word in level}
    sides: dict[str, tuple[int, int]] = {}
    for answer in different:
        match = _AGREES.fullmatch(answer)
        if answer in words["neutral"]:
            sides[answer] = 0, 0
        elif match and (match[1] or match[3] or "").strip() in strength:
            sides[answer] = -1 if match[2] == "disagree" else 1, strength[(match[1] or match[3] or "").strip()]
        else:
            return {}
    levels = sorted({rank for side, rank in sides.values() if side})
    most = len(levels) + (not levels or levels[-1] < len(words["agree"]) - 1)
    rank_of = {rank: nth for nth, rank in enumerate(levels, 1)}
    return {answer: round(side * rank_of[rank] / most, 2) if side else 0.0 for answer, (side, rank) in sides.items()}


def _of_numbers(title: str, numbers: list[float], taken: set[str]) -> Guess:
    """Return the guess for a column of numbers: an item with a scale, or a number."""
    answers = [number for number in numbers if number not in _NO_ANSWER]
    codes = sorted(code for code in _NO_ANSWER if code in numbers) if answers and max(answers) <= 10 else []
    numbers = answers if codes else numbers
    also = "".join(f"; {code} is no answer" for code in codes)
    low, high, many = min(numbers), max(numbers), len(set(numbers))
    stated = [int(word) for word in re.findall(r"(?<![\w.])-?\d+(?![\w.])", title)]
    whole = all(number == int(number) for number in numbers) and low >= -5 and high <= 10 and many <= MOST_POINTS
    ends = (stated[0], stated[-1]) if len(stated) > 1 else None
    if whole and ends and ends[0] < ends[1] and ends[0] <= low and high <= ends[1] <= 100:
        why = f"a scale from {ends[0]} to {ends[1]}, as its name says{also}"
        return _item(title, {"scale": list(ends)}, taken, why)
    is_sentence = len(re.findall(r"[^\W\d]+", title)) > 2 or (many >= 4 and high >= 4)
    if whole and many > 2 and is_sentence and not _COUNTED.search(title.lower().replace("_", " ")):
        start = -max(-low, high) if low < 0 else min(low, 1)
        end = -start if low < 0 else next(end for end in (4, 5, 7, 10) if end >= high)
        why = f"a scale from {start:g} to {end:g}, from the answers: check{also}"
        return _item(title, {"scale": [int(start), int(end)]}, taken, why)
    meaning = {"trait": _name(title, taken), "kind": "numeric", "question": title}
    values = {"values": {str(code): None for code in codes}} if codes else {}
    return Guess(title, {**meaning, **values}, f"numbers{also}")


def _item(title: str, answers: dict[str, Any], taken: set[str], why: str) -> Guess:
    """Return the guess of a statement on a scale, whose name is its stance."""
    asked = re.sub(r"[(\[].*?[)\]]", " ", _QUESTION_NUMBER.sub("", title))
    words = " ".join((_SCALE.sub("", asked).replace("_", " ").strip(" ,:;-") or title).split())
    statement = words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")
    return Guess(title, {"stance": _name(words, taken), **answers, "statement": statement}, why)


def _with_waves(guesses: Sequence[Guess]) -> list[Guess]:
    """Return guesses in which the same item, asked again, is a later wave of the first."""
    match = {guess.column: _WAVE.match(guess.column.strip()) for guess in guesses}
    first: dict[str, Guess] = {}
    for guess in guesses:
        again_of = match[guess.column]
        base = again_of["base"] if again_of else guess.column
        if guess.meaning and "stance" in guess.meaning and (again_of is None or again_of["wave"] == "1"):
            first.setdefault(base.strip().casefold(), guess)
    out, columns = [], {guess.column.strip().casefold() for guess in guesses}
    for guess in guesses:
        again_of = match[guess.column]
        known = first.get(again_of["base"].strip().casefold()) if again_of and again_of["wave"] != "1" else None
        if known and known.meaning and guess.meaning and again_of:
            again = {key: value for key, value in known.meaning.items() if key != "statement"}
            why = f"{known.column!r} asked again, wave {again_of['wave']}"
            guess = Guess(guess.column, {**again, "wave": int(again_of["wave"])}, why)
        elif again_of and again_of["wave"] != "1" and again_of["base"].strip().casefold() in columns:
            guess = Guess(guess.column, None, "asked again, but no rating scale: left out")
        out.append(guess)
    return out


def _ladder(given: Sequence[str]) -> list[str]:
    """Return answers in their order, if they are ranges of numbers or words of one known order; else none."""
    spelled = {answer.casefold(): answer for answer in given}
    ranges = {answer: parse_range(answer) for answer in spelled.values()}
    if all(ranges.values()):
        return sorted(ranges, key=lambda answer: ranges[answer] or (0, 0))
    for words in bundled_labels("survey_words")["ordered"]:
        if len(spelled) > 1 and set(spelled) <= set(words):
            return [spelled.get(word, word) for word in words if word in spelled]
    return []


def _name(title: str, taken: set[str]) -> str:
    """Return a name for settings, of the first words of a title."""
    words = re.findall(r"[^\W_]+", column_name(_QUESTION_NUMBER.sub("", title)).lower())
    informative = [word for word in words if word not in _DULL] or words or ["item"]
    name = base = "_".join(informative[:4])[:50].rstrip("_") or "item"
    number = 2
    while name in taken or name == "default":
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name
