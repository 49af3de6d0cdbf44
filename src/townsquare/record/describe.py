"""The tables of ``schema`` as Markdown, for ``docs/record.md``.

``python -m townsquare.record.describe docs/record.md`` writes them anew between the two marks of that page; a test
fails where the page and the schema disagree.
"""

from __future__ import annotations

import sys
from pathlib import Path

from townsquare import schema
from townsquare.record.database import INDEXES

START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def tables() -> str:
    """Every table with its recorded columns, then every set of code words."""
    parts = [_table(table) for table in schema.TABLES.values()]
    words = {column.words for table in schema.TABLES.values() for column in table.recorded if column.words}
    lines = ["### Code words", "", "| type | words |", "|---|---|"]
    for kind in sorted(words, key=lambda kind: kind.__name__):
        lines.append(f"| {kind.__name__} | {', '.join(f'{int(word)} {word.name.lower()}' for word in kind)} |")
    return "\n\n".join([*parts, "\n".join(lines)])


def refreshed(page: str) -> str:
    """The page with the tables between the two marks written anew; ``ValueError`` if it lacks them."""
    before, _, rest = page.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the page lacks {START} or {END}")
    return f"{before}{START}\n\n{tables()}\n\n{END}{after}"


def _table(table: schema.Table) -> str:
    about = table.meaning[0].upper() + table.meaning[1:] + "."
    notes = ["In Parquet in large runs."] if table.bulky else []
    indexes = [f"({', '.join(columns)})" for columns in INDEXES.get(table.name, ())]
    if indexes:
        notes.append(f"Indexed by {' and '.join(indexes)}.")
    lines = [
        f"### ts_{table.name}",
        "",
        " ".join([about, *notes]),
        "",
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
    ]
    for column in table.recorded:
        meaning = column.meaning + (f" ({column.words.__name__})" if column.words else "")
        hashed = "; repeats" if column.repeats else "" if column.hashed else "; not hashed"
        lines.append(f"| {column.name} | {column.dtype} | {column.unit} | {meaning}{hashed} |")
    return "\n".join(lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
