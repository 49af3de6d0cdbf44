"""Scenarios from files: a folder with ``scenario.yaml``, one YAML file, or a table of posts alone.

``docs/scenarios.md`` says the formats. Everything read is untrusted: see :mod:`townsquare.core.files`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from townsquare.core import documents, files, tabular
from townsquare.core.cells import MAX_NAME, name_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.files import bundled_folder
from townsquare.core.lookalikes import lookalike_notices
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records
from townsquare.scenario.accounts import read_accounts, read_follows
from townsquare.scenario.cells import (
    ACCOUNT,
    TIME,
    SourceRows,
    check_columns,
    check_number,
    proposition_name,
    read_arguments,
    read_posts,
    read_propositions,
    read_sources,
    resolve_post_columns,
)
from townsquare.scenario.contents import Accounts, Proposition, Scenario
from townsquare.scenario.times import read_length, read_parquet, read_time, steps_of_times
from townsquare.settings.config import Injection

SCENARIO_FILE = "scenario.yaml"
KEYS = (
    "name",
    "title",
    "description",
    "propositions",
    "sources",
    "posts",
    "arguments",
    "comments",
    "notes",
    "injection",
    "settings",
    "events",
    "treatments",
    "accounts",
    "follows",
    "start_time",
    "step_length",
)
FILE_KEYS = ("propositions", "sources", "posts", "arguments", "comments", "notes", "accounts", "follows")
"""Keys whose value may be the name of a file."""
TABLE_KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
YAML_KINDS = (".yaml", ".yml")
MAX_LINE = 1000


@lru_cache(maxsize=4)
def bundled_lines(name: str) -> tuple[str, ...]:
    """Lines of one of the bundled text files.

    >>> all(bundled_lines("comments.txt"))
    True
    """
    return _lines_of_file(bundled_folder() / name)


# --- a folder, or one YAML file ----------------------------------------------------------------------------


def read_scenario_folder(folder: Path, origin: str) -> Scenario:
    """A scenario from a folder that holds ``scenario.yaml``.

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
    """A scenario from a YAML file; the files it names must lie in its folder.

    Raises
    ------
    DataError
        An unknown key, a missing or wrong value, a file that is not there or not in the folder, no posts.
    """
    document = documents.read_yaml(path)
    if not isinstance(document, dict):
        got = "an empty file" if document is None else type(document).__name__
        raise DataError(str(path), got=got, allowed="a mapping with the keys " + ", ".join(KEYS))
    check_columns(Records(str(path), tuple(str(key) for key in document), []), KEYS)
    head = Record(str(path), document, "key")
    name = name_cell(head, "name", required=False) or default_name
    propositions = read_propositions(_table(path, "propositions", document))
    names = [proposition.name for proposition in propositions]
    sources = SourceRows(read_sources(_table(path, "sources", document)), name)
    posts = _table(path, "posts", document)
    if not posts.records:
        raise DataError(posts.place, got="no posts", allowed="at least one post", do="an empty scenario cannot be run")
    used, _ = resolve_post_columns(posts, names, strict=True, more=(ACCOUNT, TIME))
    accounts, notices = _accounts(path, document, names)
    row_of = None if accounts is None else {name: row for row, name in enumerate(accounts.personas.ids)}
    read = read_posts(posts, used, names, sources, accounts=row_of, steps=_times(path, document, posts, used))
    return Scenario(
        name=name,
        title=name_cell(head, "title", required=False) or name,
        description=text_cell(head, "description", required=False),
        propositions=propositions,
        posts=read,
        sources=sources.sources(),
        arguments=read_arguments(_table(path, "arguments", document), names),
        comments=_lines(path, "comments", document) or bundled_lines("comments.txt"),
        notes=_lines(path, "notes", document) or bundled_lines("notes.txt"),
        injection=_injection(path, document),
        settings=_settings(path, document) if accounts is None else _with_accounts(_settings(path, document), accounts),
        has_plausibility=_has_any(posts, "plausibility"),
        origin=origin,
        folder=path.parent,
        files=(path, *(path.parent / str(document[key]) for key in FILE_KEYS if isinstance(document.get(key), str))),
        notices=(*notices, *_alike(names, sources)),
        accounts=accounts,
    )


def _accounts(path: Path, document: Mapping[str, Any], names: list[str]) -> tuple[Accounts | None, tuple[str, ...]]:
    """Accounts and follows, and what of their files was not used, in sentences."""
    if document.get("accounts") is None:
        if document.get("follows") is not None:
            raise DataError(f"{path}, follows", got="follows without accounts", allowed="both, or `graph.kind: file`")
        return None, ()
    accounts, spare = read_accounts(_table(path, "accounts", document), names)
    notices = [f"columns of accounts not used: {', '.join(spare)}"] if spare else []
    notices += lookalike_notices("accounts", accounts.personas.ids)
    if document.get("follows") is not None:
        follows, spare = read_follows(_table(path, "follows", document), accounts)
        accounts = replace(accounts, follows=follows)
        notices += [f"columns of follows not used: {', '.join(spare)}"] if spare else []
    return accounts, tuple(notices)


def _times(path: Path, document: Mapping[str, Any], posts: Records, used: Mapping[str, str]) -> list[int] | None:
    """Steps of the posts that have times; nothing if there is no such column."""
    if TIME not in used:
        return None
    length, start = document.get("step_length"), document.get("start_time")
    return steps_of_times(
        posts.records,
        TIME,
        None if length is None else read_length(length, f"{path}, step_length"),
        None if start is None else read_time(start, f"{path}, start_time"),
    )


def _with_accounts(settings: dict[str, Any], accounts: Accounts) -> dict[str, Any]:
    """Settings that follow from accounts, below those that the scenario gives."""
    out: dict[str, Any] = {"agents": len(accounts), **settings}
    graph = settings.get("graph") or {}
    if accounts.follows is not None and isinstance(graph, dict) and "graph.kind" not in settings:
        out["graph"] = {"kind": "given", **graph}
    return out


def _table(path: Path, key: str, document: Mapping[str, Any]) -> Records:
    """The records under a key: written out as a list, or in a file of the folder."""
    value = document.get(key)
    where = f"{path}, {key}"
    if value is None:
        return Records(where, (), [])
    if isinstance(value, str):
        return read_table(_inside(path, key, value))
    if not isinstance(value, list):
        raise DataError(where, got=type(value).__name__, allowed="a list, or the name of a CSV or JSONL file")
    records = []
    for number, item in enumerate(value, 1):
        place = f"{where}, item {number}"
        if not isinstance(item, dict):
            raise DataError(place, got=repr(item)[:80], allowed="a mapping of column to value")
        records.append(Record(place, tabular.spread(place, item), "key"))
    return Records(where, tabular.columns_of(records), records)


def _inside(path: Path, key: str, value: str) -> Path:
    """The file that a scenario names, if it lies in the scenario's folder."""
    where = f"{path}, {key}"
    folder = path.parent.resolve()
    try:
        found = (folder / value).resolve()
        inside = found.is_relative_to(folder)
    except (OSError, ValueError):
        inside = False
    if not inside:
        allowed = "a file in the folder of the scenario"
        raise DataError(where, got=repr(value)[:200], allowed=allowed, do="copy the file there")
    if not files.is_file(found):
        do = did_you_mean(value, [file.name for file in folder.iterdir()])
        raise DataError(where, got=f"no file {value!r}", allowed="a file in the folder of the scenario", do=do)
    return path.parent / value


def _lines(path: Path, key: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Short texts: a list, or a text file with one a line."""
    value = document.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return _lines_of_file(_inside(path, key, value))
    if not isinstance(value, list):
        raise DataError(
            f"{path}, {key}", got=type(value).__name__, allowed="a list of texts, or the name of a text file"
        )
    return tuple(_line(f"{path}, {key}", f"item {number}", item) for number, item in enumerate(value, 1))


def _lines_of_file(path: Path) -> tuple[str, ...]:
    text = files.read_text(path).split("\n")
    return tuple(_line(str(path), f"line {number}", line) for number, line in enumerate(text, 1) if line.strip())


def _line(place: str, part: str, value: object) -> str:
    return text_cell(Record(f"{place}, {part}", {"text": value}), "text", limit=MAX_LINE)


def _injection(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    given = _plain_mapping(path, "injection", document)
    try:
        Injection(**given)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        where, got = f"{path}, injection.{key}", repr(first["input"])[:80]
        if first["type"] == "extra_forbidden":
            known = tuple(Injection.model_fields)
            raise DataError(where, got=repr(key), allowed=", ".join(known), do=did_you_mean(key, known)) from None
        raise DataError(where, got=got, allowed=first["msg"].removeprefix("Input should be ")) from None
    return given


def _settings(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a scenario, its events and treatments among them."""
    settings = _plain_mapping(path, "settings", document)
    for key in ("events", "treatments"):
        value = document.get(key)
        if value is None:
            continue
        if key in settings:
            raise DataError(f"{path}, {key}", got="both here and under `settings`", allowed="one of them")
        if not isinstance(value, list):
            raise DataError(f"{path}, {key}", got=type(value).__name__, allowed="a list, each item with its keys")
        settings = {**settings, key: value}
    return settings


def _plain_mapping(path: Path, key: str, document: Mapping[str, Any]) -> dict[str, Any]:
    value = document.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError(f"{path}, {key}", got=type(value).__name__, allowed="a mapping of setting to value")
    return value


def _alike(propositions: list[str], sources: SourceRows) -> list[str]:
    """What is to be said of names that look alike."""
    named = {"propositions": propositions, "sources": [source.name for source in sources.sources()]}
    return [sentence for kind, names in named.items() for sentence in lookalike_notices(kind, names)]


def _has_any(table: Records, column: str) -> bool:
    return any(str(record.cells.get(column) or "").strip() for record in table.records)


# --- a table of posts alone --------------------------------------------------------------------------------


def read_table(path: Path) -> Records:
    """A CSV, TSV, JSONL or Parquet file by its name's ending."""
    ending = path.suffix.lower()
    if ending not in TABLE_KINDS:
        raise DataError(str(path), got=ending or "a name without an ending", allowed=", ".join(TABLE_KINDS))
    if ending == ".parquet":
        return read_parquet(path)
    return tabular.read_csv(path) if ending in TABLE_KINDS[:2] else tabular.read_jsonl(path)


def read_table_scenario(path: Path, origin: str) -> Scenario:
    """A scenario from a table of posts alone.

    Columns are found by name and alias; others are left out and named in ``notices``. Propositions are those that
    ``stance:`` columns name, so none without such columns. Sources are those that posts name, or one named by the file.

    Raises
    ------
    DataError
        No column of texts, no posts, a cell that cannot be read.
    """
    table = read_table(path)
    names = _named_propositions(table)
    used, spare = resolve_post_columns(table, names, strict=False)
    sources = SourceRows((), files.clean(path.stem)[:MAX_NAME])
    posts = read_posts(table, used, names, sources)
    return Scenario(
        name=sources.fallback,
        title=sources.fallback,
        description="",
        propositions=tuple(Proposition(name, name.replace("_", " ")) for name in names),
        posts=posts,
        sources=sources.sources(),
        arguments=read_arguments(Records(str(path), (), []), names),
        comments=bundled_lines("comments.txt"),
        notes=bundled_lines("notes.txt"),
        injection={},
        settings={},
        has_plausibility=_has_any(table, "plausibility"),
        origin=origin,
        folder=path.parent,
        files=(path,),
        notices=(*_notices(table, used, spare), *_alike(names, sources)),
    )


def _named_propositions(table: Records) -> list[str]:
    columns = [column for column in table.columns if column.startswith("stance:") and column != "stance:"]
    check_number(f"{table.place}, header", len(columns))
    return [
        proposition_name(column.removeprefix("stance:"), f"{table.place}, header, column {column!r}")
        for column in columns
    ]


def _notices(table: Records, used: Mapping[str, str], spare: list[str]) -> tuple[str, ...]:
    """What was assumed, in sentences."""
    said = [f"{used['text']!r} is read as the text"] if used["text"] != "text" else []
    veracity = used.get("veracity")
    if veracity is None:
        said.append("no column says what is true: the veracity of every post is unknown")
    elif veracity != "veracity":
        said.append(f"{veracity!r} is read as the veracity: 1, true and real are true; 0, false and fake are false")
    if not _has_any(table, "plausibility"):
        said.append("no plausibility is given: it is 0.5 for every post, so agents cannot tell true from false")
    if spare:
        said.append("columns not used: " + ", ".join(spare))
    return tuple(said)
