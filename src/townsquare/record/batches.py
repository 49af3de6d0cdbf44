"""The rows of one step, gathered from the stages before they are hashed and recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from townsquare.core import schema
from townsquare.core.coded_rows import CodedRows, LazyRows, PartedRows, row_count

Column = npt.NDArray[np.generic] | list[str]
Part = dict[str, Column] | LazyRows


class Batches:
    """All rows that the stages of one step gave, by table, in the order in which they were given.

    Arrays are kept, not copied, and handed out read-only: a stage must not change rows once it has returned them.
    Text is made valid Unicode on the way in (:func:`valid_text`), so that hash, SQLite and Parquet see the same.

    Parameters
    ----------
    step : int
        The step that the rows belong to, at least 0.

    Examples
    --------
    >>> out = Batches(1)
    >>> out.add({"note_ratings": schema.rows("note_ratings", 2, note=0, agent=[3, 4], step=1, helpful=True)})
    >>> out.tables(), out.count("note_ratings"), out.get("note_ratings")["agent"].tolist()
    (['note_ratings'], 2, [3, 4])
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self._parts: dict[str, list[Part]] = {}

    def add(self, rows: Mapping[str, schema.Columns]) -> None:
        """Append rows to tables; values as :func:`townsquare.core.schema.rows` gives them, (n,) each.

        Raises ``KeyError`` for an unknown table, or columns other than the recorded ones, and ``ValueError`` for
        columns of different lengths: faults of the calling code.
        """
        for table, columns in rows.items():
            part = _checked(table, columns)
            if row_count(part):
                self._parts.setdefault(table, []).append(part)

    @classmethod
    def joined(cls, steps: Sequence[Batches]) -> Batches:
        """Return the rows of consecutive steps as those of the first."""
        out = cls(steps[0].step)
        for table in {table for step in steps for table in step._parts}:
            out._parts[table] = [part for step in steps for part in step._parts.get(table, ())]
        return out

    def get(self, table: str) -> schema.Columns:
        """Return the rows of a table in the order of addition; without a copy if they were added at once."""
        parts = self._parts.get(table)
        if parts is None:
            return schema.empty(table)
        if len(parts) > 1:
            coded = [part for part in parts if isinstance(part, CodedRows)]
            if len(coded) == len(parts):
                parts[:] = [CodedRows.joined(coded)]
            else:
                parts[:] = [{name: _joined(part[name] for part in parts) for name in parts[0]}]
        return parts[0]

    def tables(self) -> list[str]:
        """Return the names of the tables that have rows, in the order of ``schema.TABLES``."""
        return [name for name in schema.TABLES if name in self._parts]

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return sum(row_count(part) for part in self._parts.get(table, ()))


def valid_text(values: list[str]) -> list[str]:
    r"""Return texts that UTF-8 can hold: a lone surrogate becomes U+FFFD, a pair of them the character it means.

    Models and JSON files can hold such halves of characters; no database can. All other characters stay, NUL included.

    >>> valid_text(["fine", "half \ud83d", "\ud83d\ude00"])
    ['fine', 'half \ufffd', '😀']
    """
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return [value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for value in values]
    return values


def _checked(table: str, columns: schema.Columns) -> Part:
    recorded = schema.TABLES[table].recorded
    columns = _completed(columns, [c for c in recorded if c.since > 1 and c.name not in columns])
    if columns.keys() != {column.name for column in recorded}:
        raise KeyError(f"{table}: columns {sorted(columns)} are not {[column.name for column in recorded]}")
    if isinstance(columns, LazyRows):
        for column in recorded:
            dtype = columns.dtype(column.name)
            if dtype != np.dtype(column.dtype):
                raise ValueError(f"{table}.{column.name}: {dtype}, not {column.dtype}")
        return columns
    part: dict[str, Column] = {}
    for column in recorded:
        value = columns[column.name]
        if column.dtype == "str":
            part[column.name] = valid_text([str(text) for text in value])
        else:
            array = np.asarray(value, dtype=column.dtype).view()
            array.flags.writeable = False
            part[column.name] = array
    lengths = {name: len(value) for name, value in part.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{table}: columns of different lengths {lengths}")
    return part


def _completed(columns: schema.Columns, lacking: Sequence[schema.Column]) -> schema.Columns:
    """Fill in the columns that were added later and that the stage did not give with their missing values."""
    if not lacking:
        return columns
    if isinstance(columns, CodedRows):
        return CodedRows({**columns.columns, **_missing(lacking, columns.n)}, columns.index, columns.per_root)
    if isinstance(columns, PartedRows):
        return PartedRows([{**block, **_missing(lacking, row_count(block))} for block in columns.blocks])
    n = row_count(columns)
    texts = {column.name: [str(column.missing)] * n for column in lacking if column.dtype == "str"}
    return {**columns, **_missing(lacking, n), **texts}


def _missing(columns: Sequence[schema.Column], n: int) -> dict[str, npt.NDArray[np.generic]]:
    numbers = [column for column in columns if column.dtype != "str"]
    return {c.name: np.broadcast_to(np.array(c.missing, dtype=c.dtype), (n,)) for c in numbers}


def _joined(parts: Iterable[Column]) -> Column:
    arrays, texts = [], []
    for part in parts:
        if isinstance(part, list):
            texts.extend(part)
        else:
            arrays.append(part)
    if not arrays:
        return texts
    joined = np.concatenate(arrays)
    joined.flags.writeable = False
    return joined
