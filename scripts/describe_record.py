"""The tables of ``schema``, kinds of action, views and functions of queries as Markdown, for two pages of ``docs``.

    python scripts/describe_record.py

Each part is written anew between its two marks in its page. A test fails where the page and the code disagree.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from townsquare.core import schema
from townsquare.core.actions import SPECS, WORDS
from townsquare.core.enums import LogKind, MemoryKind, Verdict
from townsquare.core.schema import RECORD_VERSION
from townsquare.record.database import INDEXES, create
from townsquare.record.mosaic.views import ACTION_WORDS, MEANINGS, VIEWS, tables_of
from townsquare.record.query_words import FUNCTIONS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, TABLES_PAGE = DOCS / "record.md", DOCS / "record-tables.md"
_REMARKS = {
    ("users", "background_labels"): "JSON: answer by label",
    ("posts", "status"): "`active`, `taken_down`",
    ("user_actions", "action_type"): ", ".join(f"`{word}`" for word in ACTION_WORDS.values()),
    ("note_ratings", "rating"): "`helpful`, `somewhat_helpful`, `not_helpful`",
    ("moderation_logs", "action_type"): ", ".join(f"`{kind.name.lower()}`" for kind in LogKind),
    ("fact_checks", "verdict"): ", ".join(f"`{word.name.lower()}`" for word in Verdict if word != Verdict.NONE),
    ("fact_checks", "sources"): "JSON list",
    ("agent_memories", "memory_type"): ", ".join(f"`{kind.name.lower()}`" for kind in MemoryKind),
}
"""What stands in a column of a view, by view and column."""


def views() -> str:
    """Every view of appendix D with what a row is and its columns, and which of them read tables of Parquet parts."""
    lines = ["| view | one row | columns |", "|---|---|---|"]
    for view, names in _columns().items():
        remarks = [(name, _REMARKS.get((view, name), "")) for name in names]
        columns = ", ".join(f"`{name}` ({remark})" if remark else f"`{name}`" for name, remark in remarks)
        lines.append(f"| `{view}` | {MEANINGS[view]} | {columns} |")
    bulky = {name for name, table in schema.TABLES.items() if table.bulky}
    whole = " and ".join(f"`{view}`" for view in VIEWS if not tables_of(view) & bulky)
    packed = {name for name, table in schema.TABLES.items() if table.packed}
    some = " and ".join(f"`{view}`" for view in VIEWS if tables_of(view) & packed)
    lines += ["", f"{some} need a packed table. In a large run, all but {whole} need tables that are in Parquet."]
    return "\n".join(lines)


def _columns() -> dict[str, list[str]]:
    """The names of the columns of every view."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection, {})
        found = {view: connection.execute(f"SELECT * FROM {view} LIMIT 0").description for view in VIEWS}
    return {view: [name for name, *_ in columns] for view, columns in found.items()}


def kinds() -> str:
    """Every kind of action with what it is done to, what it makes or changes, and when a run allows it."""
    head = ("kind", "number", "target", "once per target", "effect", "allowed", "in the view `user_actions`")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for kind, spec in SPECS.items():
        effects = [f"makes a post: {spec.makes.name.lower()}"] if spec.makes is not None else []
        effects += [f"{spec.tie} a follow"] if spec.tie else []
        effects += ["hides the author"] if spec.hides else []
        effects += [f"counts in `{spec.counts}`"] if spec.counts else []
        cells = (
            f"`{WORDS[kind]}`", int(kind), spec.on, "yes" if spec.once else "", ", ".join(effects), spec.allowed,
            f"`{spec.mosaic}`",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def functions() -> str:
    """The functions that a query may call."""
    return ", ".join(f"`{name}`" for name in sorted(FUNCTIONS))


def version() -> str:
    """The version of the record, and the columns that came after version 1."""
    later: dict[int, list[str]] = {}
    for name, table in schema.TABLES.items():
        for column in table.recorded:
            if column.since > 1:
                later.setdefault(column.since, []).append(f"`{name}.{column.name}`")
    added = [f"- Version {since} added {', '.join(later[since])}." for since in sorted(later)]
    return "\n".join([f"This is version {RECORD_VERSION} of the record.", *([""] if added else []), *added])


def tables() -> str:
    """Where the large tables are, every table with its recorded columns, then every set of code words."""
    words = {column.words for table in schema.TABLES.values() for column in table.recorded if column.words}
    lines = ["### Code words", "", "| type | words |", "|---|---|"]
    for kind in sorted(words, key=lambda kind: kind.__name__):
        lines.append(f"| {kind.__name__} | {', '.join(f'{int(word)} {word.name.lower()}' for word in kind)} |")
    return "\n\n".join([_storage(), *map(_table, schema.TABLES.values()), "\n".join(lines)])


def _storage() -> str:
    """Which tables are in Parquet, packed or indexed."""
    packed, bulky = (
        ", ".join(f"`{name}`" for name, table in schema.TABLES.items() if table.bulky and table.packed is kind)
        for kind in (True, False)
    )
    indexes = [f"`{name}` by ({', '.join(columns)})" for name, many in INDEXES.items() for columns in many]
    return "\n".join(
        [
            f"- In Parquet in large runs, [packed](record.md#packed-tables) in others: {packed}.",
            f"- In Parquet in large runs: {bulky}.",
            f"- Indexes in exports to SQLite: {'; '.join(indexes)}.",
        ]
    )


PARTS = {
    PAGE: {"views": views, "functions": functions, "version": version},
    TABLES_PAGE: {"tables": tables, "kinds": kinds},
}
"""What stands between ``<!-- name: start -->`` and ``<!-- name: end -->`` of each page."""


def refreshed(path: Path, page: str) -> str:
    """The text of a page with what stands between each two marks written anew; ``ValueError`` if it lacks one."""
    for name, made in PARTS[path].items():
        start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"the page lacks {start} or {end}")
        page = f"{before}{start}\n\n{made()}\n\n{end}{after}"
    return page


def _table(table: schema.Table) -> str:
    """The heading of a table, what it holds, and its columns; most meanings name their unit."""
    about = table.meaning[0].upper() + table.meaning[1:] + "."
    lines = [f"### ts_{table.name}", "", about, "", "| column | type | meaning |", "|---|---|---|"]
    for column in table.recorded:
        meaning = column.meaning.removesuffix("; 0 is the initial state")
        notes = [meaning.replace("; -1 for none", "") if meaning.startswith("row of ") else meaning]
        notes[0] += (
            f" [{column.unit}]"
            if column.unit not in ("", "step", "count", "ratio")
            and not re.search(rf"\b{column.unit}\b", column.meaning)
            else ""
        )
        notes[0] += f" ({column.words.__name__})" if column.words else ""
        notes += ["repeats"] if column.repeats else [] if column.hashed else ["not hashed"]
        notes += [f"since version {column.since}"] if column.since > 1 else []
        lines.append(f"| {column.name} | {column.dtype} | {'; '.join(notes)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for file in PARTS:
        file.write_text(refreshed(file, file.read_text(encoding="utf-8")), encoding="utf-8")
