"""``tables``: any export in CSV, JSON lines or Parquet, by a mapping of its columns.

::

    posts:
      file: statuses.jsonl           # one of the files that were given, by its name
      columns: {text: content, account: user_id, time: created_at, reply_to: parent, reshare_of: reblog}
    accounts: {file: users.csv, columns: {id: user_id, name: handle}}
    follows: {file: edges.csv, columns: {follower: source, followed: target}}
    propositions: [{name: dam, text: The dam should be built.}]
    step_length: 1 day
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from townsquare.core.cells import column_of, is_filled, name_cell
from townsquare.core.errors import DataError
from townsquare.core.registry import check_known
from townsquare.core.tabular import TABLE_KINDS, Record, column_name, read_table
from townsquare.scenario.importers.contract import Imported, Importer
from townsquare.settings.config import MemberParams

RESHARE, REPLY, LIKES = "reshare_of", "reply_to", "likes"
LOST = (REPLY, RESHARE, LIKES)
"""Columns of posts that a scenario cannot use; they are counted and reported."""


class TableMapping(MemberParams):
    """Where one table of the scenario stands: a file, and its column for each column of the scenario."""

    file: str = Field(description="name of one of the files that were given")
    columns: dict[str, str] = Field(min_length=1, description="column of the scenario -> column of the file")


class Mapped(MemberParams):
    """A mapping file."""

    posts: TableMapping
    accounts: TableMapping | None = None
    follows: TableMapping | None = None
    propositions: tuple[dict[str, str | bool], ...] = ()
    step_length: str = Field("1 day", description="length of a step, if posts have times")


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows in the scenario's columns, and the columns of the file that are not used."""

    rows: list[Record]
    spare: tuple[str, ...]


def read(files: Sequence[Path], params: Mapped) -> Imported:
    """Map the columns of files."""
    mappings = {"posts": params.posts, "accounts": params.accounts, "follows": params.follows}
    tables = {name: _mapped(files, name, mapping) for name, mapping in mappings.items() if mapping}
    posts = [record for record in tables["posts"].rows if not is_filled(record, RESHARE)]
    accounts = tables["accounts"].rows if "accounts" in tables else _named(tables)
    head: dict[str, Any] = {"propositions": list(params.propositions)} if params.propositions else {}
    if "time" in params.posts.columns:
        head["step_length"] = params.step_length
    follows = tables["follows"].rows if "follows" in tables else []
    return Imported([_without_lost(record) for record in posts], accounts, follows, head, _notices(tables, posts))


def _mapped(files: Sequence[Path], name: str, mapping: TableMapping) -> _Table:
    """Return one table, in the scenario's columns; every other column of the file is left out."""
    known = {file.name: file for file in files}
    where = f"mapping, {name}"
    check_known(f"{where}, file", mapping.file, known, DataError)
    table = read_table(known[mapping.file], TABLE_KINDS)
    columns = mapping.columns.items()
    places = {column_name(ours): column_of(table, theirs, f"{where}, columns") for ours, theirs in columns}
    cells = ({ours: record.cells.get(theirs) for ours, theirs in places.items()} for record in table.records)
    rows = [replace(record, cells=each) for record, each in zip(table.records, cells, strict=True)]
    return _Table(rows, tuple(column for column in table.columns if column not in places.values()))


def _named(tables: Mapping[str, _Table]) -> list[Record]:
    """Return an account for each id that posts and follows name, in order of first appearance."""
    accounts: dict[str, Record] = {}
    for name, column in (("posts", "account"), ("follows", "follower"), ("follows", "followed")):
        for record in tables[name].rows if name in tables else ():
            if is_filled(record, column):
                known = name_cell(record, column)
                accounts.setdefault(known, Record(record.location, {"id": known}, record.part))
    return list(accounts.values())


def _without_lost(record: Record) -> Record:
    return Record(record.location, {name: cell for name, cell in record.cells.items() if name not in LOST}, record.part)


def _notices(tables: Mapping[str, _Table], posts: Sequence[Record]) -> list[str]:
    """Return what is lost, in sentences."""
    reshares = len(tables["posts"].rows) - len(posts)
    replies = sum(is_filled(record, REPLY) for record in posts)
    notices = [f"{reshares:,} reshares omitted: a scenario contains only posts"] if reshares else []
    if replies:
        notices.append(f"{replies:,} replies become posts of their own: a scenario has no threads")
    if any(is_filled(record, LIKES) for record in posts):
        notices.append("likes omitted: every post starts without likes")
    spare = {name: ", ".join(table.spare) for name, table in tables.items() if table.spare}
    return notices + [f"columns of {name} not used: {columns}" for name, columns in spare.items()]


IMPORTER = Importer("tables", Mapped, read)
