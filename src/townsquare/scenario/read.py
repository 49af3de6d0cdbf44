"""Scenarios from files: a folder with ``scenario.yaml``, one YAML file, or a table of posts alone.

``docs/scenarios.md`` says the formats. Everything read is untrusted: see :mod:`townsquare.core.files`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from townsquare.core import documents, files, tabular
from townsquare.core.array_types import Int32
from townsquare.core.cells import MAX_NAME, Column, Sheet, column_of, name_cell, read_columns, text_cell, texts
from townsquare.core.errors import DataError
from townsquare.core.files import bundled_folder
from townsquare.core.lookalikes import lookalike_notices
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records
from townsquare.scenario.accounts import accounts_population, read_accounts, read_follows
from townsquare.scenario.cells import (
    ACCOUNT,
    PROPOSITION_NAME,
    TIME,
    SourceRows,
    check_number,
    post_columns,
    read_arguments,
    read_notes,
    read_posts,
    read_propositions,
    read_sources,
)
from townsquare.scenario.contents import Accounts, NoteBank, Proposition, Scenario
from townsquare.scenario.population.sample import question_bank
from townsquare.scenario.population.survey_mapping import SurveyMapping
from townsquare.scenario.times import read_length, read_time, steps_of_times
from townsquare.settings.config import Injection
from townsquare.settings.problems import validated

Value = TypeVar("Value", list[Any], dict[str, Any])

SCENARIO_FILE = "scenario.yaml"
FILE_KEYS = ("propositions", "sources", "posts", "arguments", "comments", "notes", "accounts", "follows", "mapping")
"""Keys whose value may be the name of a file."""
PART_KEYS = ("injection", "settings", "events", "treatments")
KEYS = ("name", "title", "description", "primary_outcome", *FILE_KEYS, *PART_KEYS, "start_time", "step_length")
YAML_KINDS = (".yaml", ".yml")
MAX_LINE = 1000
MAPPING = "a mapping of setting to value"


@lru_cache(maxsize=4)
def bundled_lines(name: str) -> tuple[str, ...]:
    """Return lines of one of the bundled text files.

    >>> all(bundled_lines("comments.txt"))
    True
    """
    return _lines_of_file(bundled_folder() / name)


# --- a folder, or one YAML file ----------------------------------------------------------------------------


def read_scenario_folder(folder: Path, origin: str) -> Scenario:
    """Return a scenario from a folder that holds ``scenario.yaml``.

    Raises
    ------
    DataError
        See :func:`read_scenario_yaml`.
    """
    path = folder / SCENARIO_FILE
    if not files.is_file(path):
        raise DataError(str(folder), got=f"a folder without {SCENARIO_FILE}", allowed=f"a folder with {SCENARIO_FILE}")
    return read_scenario_yaml(path, origin, folder.resolve().name)


def read_scenario_yaml(path: Path, origin: str, default_name: str) -> Scenario:
    """Return a scenario from a YAML file; the files it names must lie in its folder.

    Raises
    ------
    DataError
        An unknown key, a missing or wrong value, a file that is not there or not in the folder, no posts.
    """
    document = documents.read_yaml(path)
    if not isinstance(document, dict):
        got = "an empty file" if document is None else type(document).__name__
        raise DataError(str(path), got=got, allowed="a mapping with the keys " + ", ".join(KEYS))
    return scenario_of_document(path, origin, default_name, document)


def scenario_of_document(path: Path, origin: str, default_name: str, document: dict[str, Any]) -> Scenario:
    """Return a scenario from what its YAML file holds, or is to hold: a table may be given as records.

    Raises
    ------
    DataError
        See :func:`read_scenario_yaml`.
    """
    head = Record(str(path), document, "key")
    known = [Column(key, texts(required=False)) for key in KEYS]
    read_columns(Records(str(path), tuple(str(key) for key in document), [head]), known)
    mapping = _mapping(path, document)
    stated = [] if mapping is None else mapping.propositions()
    propositions = read_propositions(_table(path, "propositions", document))
    propositions += read_propositions(_as_table(path, "mapping", stated))
    table = _table(path, "posts", document)
    if mapping is not None:
        where = f"{path.parent / str(document['mapping'])}, posts"
        table = _renamed(table, _with_stance(mapping.posts, propositions, where), where)
    posts = post_columns(table, [item.name for item in propositions], alone=mapping is not None)
    name = name_cell(head, "name", required=False) or default_name
    return _scenario(path, origin, name, head, propositions, posts)


def _scenario(
    path: Path, origin: str, name: str, head: Record, propositions: tuple[Proposition, ...], posts: Sheet
) -> Scenario:
    """Return the scenario of a file ``path``; ``head`` holds its keys, none for a table of posts alone."""
    document, names = head.cells, [proposition.name for proposition in propositions]
    sources = SourceRows(read_sources(_table(path, "sources", document)), name)
    accounts, notices = _accounts(path, document, names)
    rows = None if accounts is None else {name: row for row, name in enumerate(accounts.personas.ids)}
    length = _length(path, document) if TIME in posts else None
    steps = _times(path, document, posts, length) if TIME in posts else None
    read = read_posts(posts, names, sources, accounts=rows, steps=steps)
    settings = _settings(path, document)
    named = {"propositions": names, "sources": [source.name for source in sources.sources()]}
    lookalikes = [sentence for kind, listed in named.items() for sentence in lookalike_notices(kind, listed)]
    return Scenario(
        name=name, title=name_cell(head, "title", required=False) or name,
        description=text_cell(head, "description", required=False),
        primary_outcome=name_cell(head, "primary_outcome", required=False),
        propositions=propositions, posts=read, sources=sources.sources(),
        arguments=read_arguments(_table(path, "arguments", document), names),
        comments=_lines(path, "comments", document) or bundled_lines("comments.txt"),
        notes=_notes(path, document, names), injection=_injection(path, document),
        settings=settings if accounts is None else _with_accounts(settings, accounts),
        has_plausibility=posts.has_any("plausibility"), origin=origin, folder=path.parent,
        files=(path, *(path.parent / str(document[key]) for key in FILE_KEYS if isinstance(document.get(key), str))),
        notices=(*posts.notices, *notices, *lookalikes), accounts=accounts, step_length=length,
    )  # fmt: skip


def _accounts(path: Path, document: Mapping[str, Any], names: list[str]) -> tuple[Accounts | None, tuple[str, ...]]:
    """Return accounts and follows, and what of their files was not used, in sentences."""
    if document.get("accounts") is None:
        if document.get("follows") is not None:
            raise DataError(f"{path}, follows", got="follows without accounts", allowed="both, or `graph.kind: file`")
        return None, ()
    bank = question_bank(accounts_population(_settings(path, document)), path.parent)
    accounts, spare = read_accounts(_table(path, "accounts", document), names, bank)
    notices = [f"columns of accounts not used: {', '.join(spare)}"] if spare else []
    notices += lookalike_notices("accounts", accounts.personas.ids)
    if document.get("follows") is not None:
        follows, spare = read_follows(_table(path, "follows", document), accounts)
        accounts = replace(accounts, follows=follows)
        notices += [f"columns of follows not used: {', '.join(spare)}"] if spare else []
    return accounts, tuple(notices)


def _length(path: Path, document: Mapping[str, Any]) -> float | None:
    """Return the seconds of a step, where the scenario says how long a step is."""
    length = document.get("step_length")
    return None if length is None else read_length(length, f"{path}, step_length")


def _times(path: Path, document: Mapping[str, Any], posts: Sheet, length: float | None) -> Int32:
    """Return the steps of posts with times; a step has ``length`` seconds."""
    start = document.get("start_time")
    begins = None if start is None else read_time(start, f"{path}, start_time")
    return steps_of_times(posts.table.records, TIME, length, begins)


def _with_accounts(settings: dict[str, Any], accounts: Accounts) -> dict[str, Any]:
    """Return settings that follow from accounts, below those that the scenario gives."""
    out: dict[str, Any] = {"agents": len(accounts), **settings}
    graph = settings.get("graph") or {}
    if accounts.follows is not None and isinstance(graph, dict) and "graph.kind" not in settings:
        out["graph"] = {"kind": "given", **graph}
    return out


def _table(path: Path, key: str, document: Mapping[str, Any]) -> Records:
    """Return the records under a key: written out as a list, or in a file of the folder."""
    value = document.get(key)
    if isinstance(value, Records):
        return value
    if isinstance(value, str):
        return tabular.read_table(_inside(path, key, value), tabular.TABLE_KINDS)
    return _as_table(path, key, _typed(path, key, document, list, "a list, or the name of a CSV or JSONL file"))


def _as_table(path: Path, key: str, items: Sequence[object]) -> Records:
    where = f"{path}, {key}"
    named = ((f"{where}, item {number}", item) for number, item in enumerate(items, 1))
    return tabular.records_of(where, named, "key")


def _mapping(path: Path, document: Mapping[str, Any]) -> SurveyMapping | None:
    """Return what the columns of posts and of a survey mean, if the scenario names such a file."""
    value = document.get("mapping")
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(f"{path}, mapping", got=type(value).__name__, allowed="the name of a YAML file")
    file = _inside(path, "mapping", value)
    return validated(SurveyMapping, documents.read_yaml(file) or {}, file)


def _with_stance(columns: Mapping[str, str], propositions: Sequence[Proposition], where: str) -> dict[str, str]:
    """Return the meanings of columns, in which `stance` alone is toward the first proposition."""
    if "stance" in columns.values() and not propositions:
        do = "name one: columns, then a column of the survey, with `stance`; or stance:NAME here"
        raise DataError(where, got="`stance` without a proposition", allowed="a proposition that it is toward", do=do)
    first = propositions[0].name if propositions else ""
    return {name: f"stance:{first}" if known == "stance" else known for name, known in columns.items()}


def _renamed(table: Records, columns: Mapping[str, str], where: str) -> Records:
    """Return a table whose columns are called as code calls them; without columns, those that are known by name."""
    if not columns:
        return table
    names = {column_of(table, name, where): known for name, known in columns.items()}
    twice = [known for known in names.values() if list(names.values()).count(known) > 1]
    if twice:
        raise DataError(where, got=f"{twice[0]!r} twice", allowed="each meaning once")
    records = [
        replace(record, cells={known: record.cells.get(name) for name, known in names.items()})
        for record in table.records
    ]
    return replace(table, columns=tuple(names.values()), records=records)


def _typed(path: Path, key: str, document: Mapping[str, Any], kind: type[Value], allowed: str) -> Value:
    """Return the value of a key, if it is of a type; an empty one for none."""
    value = document.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise DataError(f"{path}, {key}", got=type(value).__name__, allowed=allowed)
    return value


def _inside(path: Path, key: str, value: str) -> Path:
    """Return the file that a scenario names, if it lies in the scenario's folder."""
    where = f"{path}, {key}"
    folder = path.parent.resolve()
    try:
        target = (folder / value).resolve()
        inside = target.is_relative_to(folder)
    except (OSError, ValueError):
        inside = False
    if not inside:
        allowed = "a file in the folder of the scenario"
        raise DataError(where, got=repr(value)[:200], allowed=allowed, do="copy the file there")
    if not files.is_file(target):
        do = did_you_mean(value, [file.name for file in folder.iterdir()])
        raise DataError(where, got=f"no file {value!r}", allowed="a file in the folder of the scenario", do=do)
    return path.parent / value


def _notes(path: Path, document: Mapping[str, Any], propositions: Sequence[str]) -> NoteBank:
    """Return the bank of notes: a table of what they say, or short texts that fit any post."""
    given = document.get("notes")
    if isinstance(given, str) and Path(given).suffix in tabular.TABLE_KINDS:
        return read_notes(_table(path, "notes", document), propositions)
    return NoteBank.plain(_lines(path, "notes", document) or bundled_lines("notes.txt"))


def _lines(path: Path, key: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return short texts: a list, or a text file with one a line."""
    value = document.get(key)
    if isinstance(value, str):
        return _lines_of_file(_inside(path, key, value))
    items = _typed(path, key, document, list, "a list of texts, or the name of a text file")
    return tuple(_line(f"{path}, {key}", f"item {number}", item) for number, item in enumerate(items, 1))


def _lines_of_file(path: Path) -> tuple[str, ...]:
    text = files.read_text(path).split("\n")
    return tuple(_line(str(path), f"line {number}", line) for number, line in enumerate(text, 1) if line.strip())


def _line(where: str, part: str, value: object) -> str:
    return text_cell(Record(f"{where}, {part}", {"text": value}), "text", limit=MAX_LINE)


def _injection(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    given = _typed(path, "injection", document, dict, MAPPING)
    validated(Injection, given, path, "injection")
    return given


def _settings(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a scenario, its events and treatments among them."""
    settings = _typed(path, "settings", document, dict, MAPPING)
    for key in ("events", "treatments"):
        if document.get(key) is None:
            continue
        if key in settings:
            raise DataError(f"{path}, {key}", got="both here and under `settings`", allowed="one of them")
        settings = {**settings, key: _typed(path, key, document, list, "a list, each item with its keys")}
    return settings


# --- a table of posts alone --------------------------------------------------------------------------------


def read_table_scenario(path: Path, origin: str) -> Scenario:
    """Return a scenario from a table of posts alone.

    Columns are found by name and alias; others are left out and named in ``notices``. Propositions are those that
    ``stance:`` columns name, so none without such columns. Sources are those that posts name, or one named by the file.

    Raises
    ------
    DataError
        No column of texts, no posts, a cell that cannot be read.
    """
    table = _without_authors(tabular.read_table(path, tabular.TABLE_KINDS))
    names = _named_propositions(table)
    posts = post_columns(table, names, alone=True)
    propositions = tuple(Proposition(name, name.replace("_", " ")) for name in names)
    name, head = files.clean(path.stem)[:MAX_NAME], Record(str(path), {})
    return _scenario(path, origin, name, head, propositions, replace(posts, notices=_notices(posts)))


def _without_authors(table: Records) -> Records:
    """Return a table without cells of `account`, which names accounts of a platform, not of a scenario."""
    if ACCOUNT not in table.columns:
        return table
    records = [
        replace(record, cells={name: cell for name, cell in record.cells.items() if name != ACCOUNT})
        for record in table.records
    ]
    return replace(table, records=records)


def _named_propositions(table: Records) -> list[str]:
    columns = [column.removeprefix("stance:") for column in table.columns if column.startswith("stance:")]
    names = [name for name in columns if PROPOSITION_NAME.fullmatch(name) and name != "default"]
    check_number(f"{table.location}, header", len(names))
    return names


def _notices(posts: Sheet) -> tuple[str, ...]:
    """Return what was assumed, in sentences."""
    text, veracity = posts.used["text"], posts.used.get("veracity")
    notices = [f"{text!r} is read as the text column"] if text != "text" else []
    if veracity is None:
        notices.append("no veracity column: the veracity of every post is unknown")
    elif veracity != "veracity":
        notices.append(f"{veracity!r} is read as the veracity column (1, true, real = true; 0, false, fake = false)")
    if not posts.has_any("plausibility"):
        notices.append("no plausibility column: every post gets 0.5, so agents cannot tell true from false")
    if posts.spare:
        notices.append("columns not used: " + ", ".join(posts.spare))
    return (*notices, *posts.notices)
