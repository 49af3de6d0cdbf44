"""The contract of importers, which convert a platform's files to accounts, follows and posts.

An importer reads only the given files, and writes nothing. Its rows are checked like those of every scenario; an error
names the file and row.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from townsquare.core import registry
from townsquare.core.errors import SettingError
from townsquare.core.files import writing
from townsquare.core.member_errors import breach, call_member
from townsquare.core.tabular import Record, Records, columns_of
from townsquare.scenario.contents import Scenario
from townsquare.scenario.read import FILE_KEYS, SCENARIO_FILE, YAML_KINDS, scenario_of_document
from townsquare.settings.base import FamilyMember
from townsquare.settings.config import MemberParams

FAMILY = "importer"
TABLES = ("accounts", "follows", "posts")


@dataclass(frozen=True, slots=True)
class Imported:
    """Rows of a scenario; ``location`` of each record names its file and row.

    Attributes
    ----------
    posts : list of Record
        At least one post. Columns as in docs/scenarios.md: ``text``; optionally ``account``, ``source``, ``time``,
        ``veracity``, ``topic``, ``stance:<proposition>`` and others.
    accounts, follows : list of Record
        Rows of these tables, with columns as in docs/platform-data.md; empty if the files have none.
    head : mapping
        Other keys of ``scenario.yaml``: ``propositions``, ``step_length``, ``settings`` and the like.
    notices : sequence of str
        Sentences that state what the files hold and the scenario does not.
    """

    posts: list[Record]
    accounts: list[Record] = field(default_factory=list)
    follows: list[Record] = field(default_factory=list)
    head: Mapping[str, Any] = field(default_factory=dict)
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Importer(FamilyMember):
    """A member of the family ``importer``.

    Attributes
    ----------
    name : str
        As registered.
    params : type of MemberParams
        The fields of its mapping file.
    read : callable
        ``read(files, params) -> Imported``. Raises ``DataError``.
    """

    read: Callable[[Sequence[Path], Any], Imported]


def importer(name: str) -> Importer:
    """Return the registered importer called ``name``. Raises ``UnknownName`` or ``ContractError``."""
    member = registry.get(FAMILY, name)
    if not isinstance(member, Importer):
        raise breach(FAMILY, name, f"a {type(member).__name__}", "an Importer")
    return member


def read_import(member: Importer, files: Sequence[Path], params: MemberParams) -> tuple[Imported, dict[str, Any]]:
    """Return the rows of files, and the scenario's document that holds them; nothing is written.

    Raises
    ------
    DataError
        A file that cannot be read, or a row that no scenario may hold, with file and row.
    ContractError
        The importer gives something else, or makes a mistake.
    """
    imported: object = call_member(FAMILY, member.name, "read", lambda: member.read(files, params))
    if not isinstance(imported, Imported):
        raise breach(FAMILY, member.name, f"a {type(imported).__name__}", "Imported")
    head = imported.head
    given = [key for key in FILE_KEYS if isinstance(head.get(key), str) or (key in TABLES and key in head)]
    if given:
        raise breach(FAMILY, member.name, f"the key {given[0]!r} in the head", "rows, not names of files")
    where = ", ".join(str(file) for file in files)
    tables: dict[str, Any] = {
        name: Records(f"{name} of {where}", columns_of(records), records)
        for name in TABLES
        if (records := getattr(imported, name)) or name == "posts"
    }
    return imported, {**imported.head, **tables}


def import_scenario(
    member: Importer, files: Sequence[Path], params: MemberParams, into: Path
) -> tuple[Scenario, Sequence[str]]:
    """Write a scenario of a platform's files into a new folder; return it, and what was not taken over.

    Raises
    ------
    SettingError
        The folder is there already, or cannot be written.
    DataError, ContractError
        See :func:`read_import`. Nothing is written then.
    """
    if into.exists() or into.suffix.lower() in YAML_KINDS:
        raise SettingError(str(into), got="a folder that already exists", do="name another")
    imported, document = read_import(member, files, params)
    name = into.resolve().name
    scenario = scenario_of_document(into / SCENARIO_FILE, str(into), name, document)
    with writing(into), ExitStack() as undo:
        into.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{into.name}-", dir=into.parent))
        undo.callback(shutil.rmtree, draft, ignore_errors=True)
        for table, rows in document.items():
            if isinstance(rows, Records):
                lines = (json.dumps(dict(record.cells), ensure_ascii=False) for record in rows.records)
                (draft / f"{table}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        head = {table: f"{table}.jsonl" if isinstance(rows, Records) else rows for table, rows in document.items()}
        text = yaml.safe_dump({"name": name, **head}, sort_keys=False, allow_unicode=True)
        (draft / SCENARIO_FILE).write_text(text, encoding="utf-8")
        draft.replace(into)
    return scenario, imported.notices
