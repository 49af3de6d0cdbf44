"""Make a scenario of a table of posts and the answers of a survey: ``townsquare init --from --survey``.

The folder holds copies of both tables, ``mapping.yaml`` with what every column was guessed to mean, and
``scenario.yaml`` with the settings of the bundled public. Later runs read the mapping, so an edit of it is all that
is needed where a guess is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from townsquare.core.cells import Scale, is_filled
from townsquare.core.documents import read_yaml
from townsquare.core.enums import Veracity
from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import bundled_folder, read_text, write_whole
from townsquare.core.tabular import (
    LINES_KINDS,
    TABLE_KINDS,
    Record,
    Records,
    column_name,
    csv_rows,
    read_table,
    separator,
)
from townsquare.core.text_table import csv_text
from townsquare.scenario.cells import POSTS, PROPOSITION_NAME, post_columns
from townsquare.scenario.population.question_bank import number_of_text
from townsquare.scenario.population.survey_guess import Guess, SurveyGuess, guess_survey

SCENARIO, MAPPING, POSTS_FILE, ANSWERS = "scenario.yaml", "mapping.yaml", "posts.csv", "answers.csv"
AGENTS, DAYS, WARM_UP_HOURS = 1000, 7, 24
MOST_SOURCES = 200
_TEXTS = ("tweet", "post", "message", "body", "statement", "news", "full_text", "claim_text")
_OTHERS = {"source": ("outlet", "publisher", "domain", "site", "newspaper"), "topic": ("category", "theme", "subject")}
_HEAD = """# What the columns of {names} mean. Edit this file where a guess is wrong: every later run reads it.
# docs/survey-mapping.md lists the keys. A column that is not named here is not used.
"""


class Tables(NamedTuple):
    """The two tables, and their columns as the files write them."""

    posts: Records
    answers: Records | None
    titles: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Start:
    """A scenario to be written: tables, what their columns mean, and notes on what could not be used."""

    tables: Tables
    posts: Mapping[str, str]
    survey: SurveyGuess | None
    notes: tuple[str, ...]

    @property
    def takes_stances(self) -> bool:
        """Whether posts have a column ``stance`` from -1 to 1, which is toward the first proposition."""
        records = [record for record in self.tables.posts.records if is_filled(record, "stance")]
        return bool(records) and all(-1 <= number_of_text(str(record.cells["stance"])) <= 1 for record in records)

    @property
    def items(self) -> list[Guess]:
        """The items of the survey that may be propositions."""
        return self.survey.items() if self.survey else []


def read_start(posts: Path, surveys: Sequence[Path]) -> Start:
    """Read the tables and guess what their columns mean.

    Parameters
    ----------
    posts : Path
        A table with a column of texts.
    surveys : sequence of Path
        Answers of one survey; further files are the same people asked again, in order.

    Raises
    ------
    DataError
        A file that cannot be read, no column of texts, no posts, no respondents.
    """
    titles = {column: title for path in reversed((posts, *surveys)) for column, title in _titles(path).items()}
    table = read_table(posts, TABLE_KINDS)
    columns = _posts_columns(table)
    waves = [read_table(path, TABLE_KINDS) for path in surveys]
    for answers in waves:
        if not answers.records:
            raise DataError(answers.location, got="no rows", allowed="one row per respondent")
    joined, notes = _joined(waves, titles) if waves else (None, ())
    for column in () if joined is None else joined.columns:
        first, again, wave = column.rpartition(" (wave ")
        titles.setdefault(column, titles.get(first, first) + again + wave)
    guess = None if joined is None else guess_survey(joined, titles)
    return Start(Tables(table, joined, titles), columns, guess, notes)


def _titles(path: Path) -> dict[str, str]:
    """Return the columns of a CSV as it writes them, by the names under which records hold them."""
    if path.suffix.lower() in (".parquet", *LINES_KINDS) or path.suffix.lower() not in TABLE_KINDS:
        return {}
    text = read_text(path)
    _, _, header = next(csv_rows(path, text, separator(text.split("\n", 1)[0], ",;\t")), (0, 0, []))
    return {column_name(title): " ".join(title.split()) for title in header}


def _posts_columns(table: Records) -> dict[str, str]:
    """Return the columns of posts that are used, and what each is called; see ``posts`` of a mapping file."""
    if not table.records:
        raise DataError(table.location, got="no posts", allowed="at least one post", do="add a post")
    known = ("text", *POSTS[0].aliases)
    text = next((name for name in (*known, *_TEXTS) if name in table.columns), None) or _longest(table)
    other = {name: next((alias for alias in (name, *also) if alias in table.columns), None) for name, also in
             _OTHERS.items()}  # fmt: skip
    stances = [name for name in table.columns if name.startswith(("stance:", "strength:"))]
    names = {text: "text"} | {column: name for name, column in other.items() if column}
    names |= {name: name for name in stances}
    rest = replace(table, columns=tuple(name for name in table.columns if name not in names or name == text))
    renamed = replace(rest, columns=("text", *(name for name in rest.columns if name != text)),
                      records=[replace(record, cells={**record.cells, "text": record.cells.get(text)})
                               for record in table.records])  # fmt: skip
    sheet = post_columns(renamed, (), alone=True)
    names |= {column: name for name, column in sheet.used.items() if name != "text" and column not in names}
    return names if "veracity" in names.values() else names | _truth(table, names)


def _truth(table: Records, names: Mapping[str, str]) -> dict[str, str]:
    """Return the one further column that says ``true`` and ``false``, or ``real`` and ``fake``, of posts."""
    answers = {
        name: {str(record.cells[name]).strip().casefold() for record in table.records if is_filled(record, name)}
        for name in table.columns
        if name not in names
    }
    known = [name for name, given in answers.items() if given in ({"true", "false"}, {"real", "fake"})]
    return {known[0]: "veracity"} if len(known) == 1 else {}


def _longest(table: Records) -> str:
    """Return the column with the longest words, if these are texts."""
    sizes = {
        name: np.mean([len(str(record.cells.get(name) or "").split()) for record in table.records])
        for name in table.columns
    }
    best = max(sizes, key=lambda name: float(sizes[name]))
    if sizes[best] < 3:
        do = "name one of them text, headline or title"
        raise DataError(table.location, got=f"columns {', '.join(table.columns)[:300]}", allowed="one of texts", do=do)
    return best


def _joined(waves: Sequence[Records], titles: Mapping[str, str]) -> tuple[Records, tuple[str, ...]]:
    """Return one table of all waves: rows of the first, and columns ``name (wave k)`` of later ones."""
    first, notes = waves[0], []
    if len(waves) == 1:
        return first, ()
    who = [guess_survey(table, titles).id for table in waves]
    if not all(who):
        at = who.index(None)
        do = "name the column of respondents id or participant"
        raise DataError(waves[at].location, got="no column of ids", allowed="the same ids in each wave", do=do)
    columns, cells = list(first.columns), [dict(record.cells) for record in first.records]
    row_of = {str(record.cells.get(column_name(str(who[0])))): row for row, record in enumerate(first.records)}
    for wave, (table, name) in enumerate(zip(waves[1:], who[1:], strict=True), 2):
        key = column_name(str(name))
        asked = [column for column in table.columns if column in first.columns and column != key]
        again = {column: f"{column} (wave {wave})" for column in asked}
        columns += again.values()
        new = 0
        for record in table.records:
            row = row_of.get(str(record.cells.get(key)))
            new += row is None
            if row is not None:
                cells[row] |= {again[column]: cell for column, cell in record.cells.items() if column in again}
        back = len({str(record.cells.get(key)) for record in table.records} & set(row_of))
        notes.append(f"wave {wave}: {back:,} of {len(row_of):,} respondents answered again; {new:,} new ones left out")
    records = [replace(record, cells=cell) for record, cell in zip(first.records, cells, strict=True)]
    return Records(first.location, tuple(columns), records), tuple(notes)


# --- what is written ---------------------------------------------------------------------------------------


def write_start(start: Start, folder: Path, propositions: Sequence[str], stated: Sequence[str] = ()) -> list[Path]:
    """Write the scenario into a folder, created if missing, and return the files.

    Parameters
    ----------
    start : Start
        From :func:`read_start`.
    folder : Path
        Holds none of the files yet.
    propositions : sequence of str
        Names of the items of the survey that are propositions.
    stated : sequence of str
        Statements of further propositions, which no item measures.

    Raises
    ------
    SettingError
        A file is there already; nothing is written.
    """
    tables, survey = start.tables, start.survey
    columns, named = _stances(start, propositions)
    mapping: dict[str, Any] = {"posts": {tables.titles.get(name, name): known for name, known in columns.items()}}
    if survey is not None:
        mapping |= survey.mapping(propositions)
    steps = DAYS * 24
    if waves := mapping.pop("waves", None):
        mapping["waves"] = {wave: round(steps * nth / len(waves)) for nth, wave in enumerate(waves, 1)}
    further = [{"name": f"statement_{nth}", "text": text} for nth, text in enumerate(stated, 1)]
    texts = {
        SCENARIO: _scenario(start, folder, mapping, [*named, *further], steps),
        MAPPING: _HEAD.format(names=f"{POSTS_FILE} and {ANSWERS}" if survey else POSTS_FILE) + _yaml(mapping),
        POSTS_FILE: _csv(tables.posts, tables.titles),
    }
    if survey is not None and tables.answers is not None:
        texts[ANSWERS] = _csv(tables.answers, tables.titles, survey.personal)
    for name in texts:
        if (folder / name).exists():
            raise SettingError(str(folder / name), got="a file that already exists", do="name another folder")
    for name, text in texts.items():
        write_whole(folder / name, text, parents=True)
    return [folder / name for name in texts]


def _stances(start: Start, propositions: Sequence[str]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return columns of posts, a column ``stance`` toward the first proposition, and those that posts alone name."""
    columns, named = dict(start.posts), []
    if propositions and start.takes_stances:
        columns["stance"] = f"stance:{propositions[0]}"
    for column, known in list(columns.items()):
        group, _, name = known.partition(":")
        if not name or name in propositions:
            continue
        has_stance = group != "strength" or f"stance:{name}" in columns
        if not PROPOSITION_NAME.fullmatch(name) or name == "default" or not has_stance:
            del columns[column]
        elif group == "stance":
            named.append({"name": name, "text": name.replace("_", " ")})
    return columns, named


def _yaml(value: object) -> str:
    plain = json.loads(json.dumps(value))  # every value by itself: an alias is refused
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110))


def _csv(table: Records, titles: Mapping[str, str], without: Sequence[str] = ()) -> str:
    """Return a table as CSV, with its columns as the file wrote them."""
    names = [name for name in table.columns if titles.get(name, name) not in without]
    rows = ([record.cells.get(name) for name in names] for record in table.records)  # None is an empty cell
    return csv_text([[titles.get(name, name) for name in names], *rows])


def _scenario(start: Start, folder: Path, mapping: Mapping[str, Any], further: list[dict[str, str]], steps: int) -> str:
    """Return the text of ``scenario.yaml``: the settings of the bundled public, with these posts and people."""
    flagship: Any = read_yaml(bundled_folder() / "scenarios" / "health-rumor" / SCENARIO)
    settings = dict(flagship["settings"])
    settings |= {"agents": AGENTS, "steps": steps, "time": {**settings["time"], "warm_up_hours": WARM_UP_HOURS}}
    truths = _truths(start)
    settings["sources"] = _sources(settings["sources"], truths)
    settings["population"] = dict(settings["population"])
    if start.survey is not None:
        starts = {**settings["population"]["stance"], **_starts(start, mapping)}
        settings["population"] |= {"file": ANSWERS, "mapping": MAPPING, "resample": True, "stance": starts}
    name = folder.resolve().name[:200] or "study"
    head: dict[str, Any] = {"name": name, "title": name.replace("-", " ").replace("_", " ").capitalize()}
    if int(Veracity.FALSE) in truths:
        head["primary_outcome"] = "reach_false_mean"
    head |= {"mapping": MAPPING, "posts": POSTS_FILE}
    head |= {"propositions": further} if further else {}
    listed = _credibilities(start, truths)
    head |= {"sources": listed} if listed else {}
    head |= {"injection": flagship["injection"], "settings": settings}
    about = "The public of `health-rumor` (docs/scenarios.md) with your posts" + (" and people" if start.survey else "")
    comment = f"# {about}.\n# What columns mean is in {MAPPING}. All settings: townsquare schema --markdown\n"
    return comment + _yaml(head)


def _truths(start: Start) -> list[int]:
    """Return the veracity of each post."""
    column = next((column for column, name in start.posts.items() if name == "veracity"), None)
    if column is None:
        return [int(Veracity.UNKNOWN)] * len(start.tables.posts.records)
    records = [Record(r.location, {"veracity": r.cells.get(column), "text": "x"}) for r in start.tables.posts.records]
    return list(post_columns(Records("", ("text", "veracity"), records), (), alone=True)["veracity"])


def _sources(settings: Mapping[str, Any], truths: Sequence[int]) -> dict[str, Any]:
    """Return settings of sources that publish only kinds of posts that there are."""
    out = {name: dict(value) for name, value in settings.items()}
    if int(Veracity.FALSE) not in truths:
        out["low_credibility"]["false_share"] = 0.0
    if all(truth == Veracity.FALSE for truth in truths):
        out["low_credibility"]["false_share"], out["reliable"]["topical"] = 1.0, 0.0
    return out


def _credibilities(start: Start, truths: Sequence[int]) -> list[dict[str, Any]]:
    """Return the sources that posts name: the share of their posts that are true, shrunk to a half."""
    column = next((column for column, name in start.posts.items() if name == "source"), None)
    if column is None:
        return []
    counts: dict[str, list[int]] = {}
    for record, truth in zip(start.tables.posts.records, truths, strict=True):
        if is_filled(record, column):
            own = counts.setdefault(" ".join(str(record.cells[column]).split())[:200], [0, 0])
            own[0] += truth == Veracity.TRUE
            own[1] += truth != Veracity.UNKNOWN
    if len(counts) > MOST_SOURCES or sum(is_filled(r, column) for r in start.tables.posts.records) < len(truths):
        return []
    return [{"name": name, "credibility": round((t + 1) / (n + 2), 2)} for name, (t, n) in counts.items()]


def _starts(start: Start, mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return weighted mean and standard deviation of each measured stance, from which missing ones are drawn."""
    out = {}
    table, weighted = start.tables.answers, mapping.get("weight")
    missing = {str(word).casefold() for word in mapping.get("missing", ())}
    for title, meaning in mapping.get("columns", {}).items():
        if table is None or "stance" not in meaning or "wave" in meaning:
            continue
        against, for_it = meaning.get("scale") or (None, None)
        scale = Scale(against, for_it, meaning.get("values", {}))
        stances, weights = [], []
        for record in table.records[int(mapping.get("skip_rows", 0)) :]:
            cell = record.cells.get(column_name(title))
            if cell is not None and str(cell).strip().casefold() not in missing:
                stances.append(_stance(scale, record, column_name(title)))
                weights.append(number_of_text(str(record.cells.get(column_name(weighted)))) if weighted else 1.0)
        stance, weight = np.array(stances), np.array(weights)
        known = ~np.isnan(stance) & (weight > 0)
        if known.any():
            mean = np.average(stance[known], weights=weight[known])
            sd = np.sqrt(np.average((stance[known] - mean) ** 2, weights=weight[known]))
            out[meaning["stance"]] = {"mean": round(float(mean), 3), "sd": round(float(sd), 3)}
    return out


def _stance(scale: Scale, record: Record, column: str) -> float:
    try:
        return scale.stance(record, column)
    except DataError:
        return float("nan")
