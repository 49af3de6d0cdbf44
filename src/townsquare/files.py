"""Reading files that a user gave: bounded, UTF-8, and with errors that name the place.

Everything read here is untrusted. Sizes are bounded, control characters and lone surrogates are replaced by U+FFFD,
YAML is read without tags, aliases or repeated keys. CSV rows, JSON lines and items of a YAML list all become
:class:`Record`, so that what reads them does not care which it was.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from townsquare.errors import DataError

MAX_BYTES = 512 * 1024 * 1024
MAX_YAML_BYTES = 16 * 1024 * 1024
MAX_ROWS = 2_000_000

_BROKEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a CSV, one line of a JSONL or one item of a YAML list.

    Attributes
    ----------
    place : str
        File with row and line, for errors.
    cells : mapping of str to object
        Value by column; ``None`` and ``""`` are empty. Objects inside an object are spread out:
        ``{"stance": {"tax": 1}}`` is the cell ``stance:tax``.
    part : str
        What a cell is called in such a file: column, field or key.
    """

    place: str
    cells: Mapping[str, object]
    part: str = "column"

    def where(self, column: str) -> str:
        """Where an error in ``column`` stands."""
        return f"{self.place}, {self.part} {column!r}"


@dataclass(frozen=True, slots=True)
class Records:
    """All records of one file or list, with the columns that any of them has, in order of first appearance."""

    place: str
    columns: tuple[str, ...]
    records: list[Record]


def clean(text: str) -> str:
    """Text without control characters or lone surrogates: each becomes U+FFFD; line ends become ``\\n``.

    >>> clean("a\\r\\nb\\x00")
    'a\\nb\\ufffd'
    """
    return _BROKEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def find(path: str, folder: Path | None = None) -> Path:
    """The file that ``path`` means: relative to ``folder`` if it is there, else to the working directory.

    Raises
    ------
    DataError
        If it is in neither.
    """
    tried = [Path(path)] if folder is None else [folder / path, Path(path)]
    for candidate in tried:
        if is_file(candidate):
            return candidate
    looked = " or ".join(repr(str(candidate)) for candidate in dict.fromkeys(tried))
    raise DataError(f"file {path!r}", got=f"nothing at {looked}", allowed="a file that is there")


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file system takes is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; a name that no file system takes is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def unreadable(path: Path, error: OSError) -> DataError:
    """What to raise where the file system gives no file."""
    return DataError(str(path), got=error.strerror or "an error of the file system", allowed="a readable file")


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The whole of a UTF-8 file, with or without a byte order mark.

    Raises
    ------
    DataError
        Not there, not readable, larger than ``limit`` bytes, not UTF-8 (with the line of the first bad byte).
    """
    try:
        size = path.stat().st_size
        if size > limit:
            raise DataError(str(path), got=f"{size:,} bytes", allowed=f"at most {limit:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"the byte 0x{data[error.start]:02x}"
        raise DataError(f"{path}, line {line}", got=got, allowed="UTF-8 text", do="save the file as UTF-8") from None


def read_csv(path: Path) -> Records:
    """A CSV with a header; the separator is a comma, semicolon or tab, whichever the header has most of.

    Column names are stripped, and lowered before the first ``:``. Blank lines are skipped.

    Raises
    ------
    DataError
        Empty file, repeated or missing column names, a row of another length, too many rows, broken quotes.
    """
    text = read_text(path)
    lines = csv_rows(path, text, separator(text.split("\n", 1)[0], ",;\t"))
    _, _, header = next(lines, (0, 0, []))
    columns = tuple(column_name(name) for name in header)
    if not any(columns):
        raise DataError(str(path), got="an empty file", allowed="a header and at least one row")
    for at, column in enumerate(columns):
        if not column or column in columns[:at]:
            got = f"the column {column!r} twice" if column else f"no name for column {at + 1}"
            raise DataError(f"{path}, line 1", got=got, allowed="a name of its own for each column")
    records: list[Record] = []
    for row, line, cells in lines:
        place = f"{path}, row {row} (line {line})"
        if len(cells) != len(columns):
            allowed = f"{len(columns)} cells, as in the header"
            raise DataError(place, got=f"{len(cells)} cells", allowed=allowed, do="quote cells that hold the separator")
        records.append(Record(place, dict(zip(columns, cells, strict=True))))
    return Records(str(path), columns, records)


def csv_rows(path: Path, text: str, delimiter: str, limit: int = MAX_ROWS) -> Iterator[tuple[int, int, list[str]]]:
    """(row, line it starts in, cells) of the rows that are not blank; row 0 is the first, usually the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row, line = -1, 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}, line {line}", got=str(error), allowed="cells with closed quotes") from None
        if cells is None:
            return
        if "".join(cells).strip():
            row += 1
            if row > limit:
                raise DataError(str(path), got=f"more than {limit:,} rows", allowed=f"at most {limit:,} rows")
            yield row, line, cells
        line = reader.line_num + 1


def separator(line: str, allowed: str) -> str:
    """The character of ``allowed`` that a line has most of; the first of them if it has none.

    >>> separator("a;b;c,d", ",;")
    ';'
    """
    return max(allowed, key=line.count)


@lru_cache(maxsize=4096)
def column_name(name: str) -> str:
    """A column name as code compares it: ``' Stance:Tax '`` is ``'stance:Tax'``."""
    head, colon, rest = clean(name).strip().partition(":")
    return head.strip().lower() + colon + rest.strip()


def read_jsonl(path: Path) -> Records:
    """All records of a file with one JSON object a line; see :func:`jsonl_records`."""
    records = list(jsonl_records(path))
    return Records(str(path), columns_of(records), records)


def jsonl_records(path: Path) -> Iterator[Record]:
    """The records of a file with one JSON object a line, one by one; blank lines are skipped.

    Raises
    ------
    DataError
        A line that is no JSON object, or has a key twice; too many lines.
    """
    n = 0
    for line, content in enumerate(io.StringIO(read_text(path), newline=None), 1):
        if not content.strip():
            continue
        place = f"{path}, line {line}"
        n += 1
        if n > MAX_ROWS:
            raise DataError(place, got=f"more than {MAX_ROWS:,} rows", allowed=f"at most {MAX_ROWS:,} rows")
        yield Record(place, spread(place, _json_object(place, content)), "field")


def _json_object(place: str, content: str) -> dict[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise DataError(place, got=f"the key {twice!r} twice", allowed="each key once")
        return value

    try:
        value = json.loads(content, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise DataError(place, got=f"no JSON ({_first_line(error)})", allowed="one JSON object a line") from None
    if not isinstance(value, dict):
        raise DataError(place, got=type(value).__name__, allowed="one JSON object a line")
    return value


def spread(place: str, cells: Mapping[Any, object]) -> dict[str, object]:
    """Cells by column name, with objects inside spread out: ``{"stance": {"tax": 1}}`` is ``{"stance:tax": 1}``."""
    out: dict[str, object] = {}
    for key, value in cells.items():
        inner = value.items() if isinstance(value, dict) else [(None, value)]
        for part, cell in inner:
            name = column_name(str(key) if part is None else f"{key}:{part}")
            if name in out:
                raise DataError(place, got=f"the column {name!r} twice", allowed="each column once")
            out[name] = cell
    return out


def columns_of(records: list[Record]) -> tuple[str, ...]:
    """Every column of the records, in order of first appearance."""
    return tuple(dict.fromkeys(column for record in records for column in record.cells))


class _PlainLoader(yaml.SafeLoader):
    """YAML without tags, aliases (which can blow up) and repeated keys (of which one would be lost)."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value.__class__ is str and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} twice", problem_mark=key.start_mark)
            seen.add(key.value if isinstance(key.value, str) else id(key))
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> object:
    """The one document of a YAML file, as plain values.

    Raises
    ------
    DataError
        No YAML, nested too deep, an alias, a tag, a key given twice; over 16 MiB.
    """
    text = read_text(path, MAX_YAML_BYTES)
    try:
        # The loader is a SafeLoader that refuses more, not less.
        return yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise DataError(f"{path}{line}", got=error.problem or "no YAML", allowed="plain YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(str(path), got=f"no YAML ({_first_line(error)})", allowed="plain YAML") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
