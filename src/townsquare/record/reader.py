"""What :class:`townsquare.record.run.Run` needs of a store, and what stores in a database share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Protocol

import polars as pl
from polars.io.plugins import register_io_source

from townsquare.core import schema
from townsquare.core.documents import parse_json
from townsquare.core.errors import RecordError, WrongVersion
from townsquare.core.identity import canonical_json
from townsquare.record import database
from townsquare.record.content_hash import ColumnsOf
from townsquare.record.contract import STATES, RunHeader
from townsquare.record.frames import chosen_columns, frame_schema, from_frame, missing_values, stored_columns

Steps = tuple[int, int]
"""First and last step, both included."""
ALL_STEPS: Steps = (-1, 2**62)
Wanted = Mapping[str, Sequence[int]]
"""Values that a column must have one of, by column."""
EVERY_ROW: Wanted = {}
_READ_ROWS = 100_000  # rows that a database sends at a time
_SCAN_ROWS = 1_000_000  # rows of a database that stand in memory at a time while a table is scanned


class RunReader(Protocol):
    """The rows of a recorded run. Only committed steps are seen, each whole."""

    @property
    def where(self) -> str:
        """What errors call the run."""

    @property
    def header(self) -> RunHeader:
        """Version, settings and layout."""

    def state(self) -> str:
        """Return ``"running"``, ``"finished"`` or ``"stopped"``."""

    def health(self) -> str:
        """Return why the run is unhealthy; "" if it is not."""

    def run_hash(self) -> str:
        """Return the run hash that was recorded when the run was closed; "" if none exists."""

    def summaries(self) -> pl.DataFrame:
        """Return the committed rows of ``steps``, by step."""

    def frame(
        self,
        table: schema.Table,
        columns: Sequence[schema.Column],
        steps: Steps | None = None,
        wanted: Wanted = EVERY_ROW,
    ) -> pl.DataFrame:
        """Return the rows that these steps added to a table, or all steps, in order; missing values stay as they are.

        ``wanted`` leaves out rows with other values; a database answers it from its indexes.
        """

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """Return all rows of a table as a lazy frame, or those that steps up to ``last`` added."""

    def counts(self, steps: Steps = ALL_STEPS) -> dict[str, int]:
        """Return the number of rows that these steps added, by table; empty tables may be left out."""

    def check(self) -> None:
        """Raise ``RecordError`` if the files that hold it are damaged, wherever that is."""

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT."""

    def stored(self, table: schema.Table) -> str:
        """Return where the rows of a table are, as :meth:`Run.stored`."""


def rows_of_step(reader: RunReader, step: int) -> ColumnsOf:
    """Return a function that gives the rows one committed step added to a table, as :meth:`Batches.get` does."""
    counts = reader.counts((step, step))

    def columns_of(name: str) -> schema.Columns:
        table = schema.TABLES[name]
        if not counts.get(name):
            return schema.empty(name)
        return from_frame(name, reader.frame(table, table.recorded, (step, step)))

    return columns_of


class DatabaseReader(ABC):
    """Reads the tables of a run from a database, SQLite or PostgreSQL. Only committed steps are seen.

    Parameters
    ----------
    where : str
        What errors call the run.
    file : str
        What errors call the database.
    info : mapping
        The keys and values of ``ts_run``.
    """

    def __init__(self, where: str, file: str, info: Mapping[str, str]) -> None:
        self.where, self._file = where, file
        self.header = header_from(info, file)
        self._fingerprints: dict[str, str] = json.loads(info["schema"])

    @abstractmethod
    def _connection(self) -> AbstractContextManager[Any]:
        """Open a connection for one question; its errors become ``RecordError``."""

    @abstractmethod
    def _info(self, connection: Any) -> dict[str, str]:
        """Return the keys and values of ``ts_run``."""

    @abstractmethod
    def _is_written(self, connection: Any) -> bool:
        """Return whether a recorder is writing the run."""

    @abstractmethod
    def _select(self, connection: Any, table: str, columns: Sequence[schema.Column], condition: str) -> pl.DataFrame:
        """Return the rows of a table that meet a condition, in order of ``rowid``, with the dtypes of the schema."""

    def state(self) -> str:
        """Return the recorded state; a run that was killed while it was running is ``"stopped"``."""
        with self._connection() as connection:
            is_written = self._is_written(connection)
            state = self._info(connection)["state"]
        return "stopped" if state == "running" and not is_written else state

    def health(self) -> str:
        """Return why the run is unhealthy, as marked when it ended; "" if it is not."""
        with self._connection() as connection:
            return self._info(connection).get("health", "")

    def run_hash(self) -> str:
        """Return the recorded run hash; "" while the run is written, and for version 1 of the record."""
        with self._connection() as connection:
            return self._info(connection).get("run_hash", "")

    def summaries(self) -> pl.DataFrame:
        """Return the rows of ``steps``."""
        table = schema.TABLES["steps"]
        return self.frame(table, table.recorded)

    def frame(
        self,
        table: schema.Table,
        columns: Sequence[schema.Column],
        steps: Steps | None = None,
        wanted: Wanted = EVERY_ROW,
    ) -> pl.DataFrame:
        """Return the rows that these steps added, or all steps."""
        if not self._knows(table):
            return pl.DataFrame(schema=frame_schema(columns))
        tests = [f'"{column}" IN ({", ".join(str(int(value)) for value in some)})' for column, some in wanted.items()]
        stored = stored_columns(table, columns, self.header.record_version)
        with self._connection() as connection:
            before, n = _extent(connection, table.name, steps or ALL_STEPS)
            ends = [*range(before, before + n, _READ_ROWS), before + n]
            windows = [f"rowid > {first} AND rowid <= {last}" for first, last in pairwise(ends)]
            if wanted and steps is None:
                windows = ["TRUE"]  # a window would keep the database from its indexes
            conditions = [" AND ".join([*tests, window]) for window in windows]
            frames = [self._select(connection, table.name, stored, condition) for condition in conditions]
        frame = pl.concat([pl.DataFrame(schema=frame_schema(stored)), *frames], rechunk=True)
        if not wanted:
            check_count(f"{self._file}, ts_{table.name}", frame.height, n)
        return frame.with_columns(missing_values(columns, frame.columns)).select(list(frame_schema(columns)))

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """Scan all rows committed so far, some steps at a time, in the columns that a query needs."""
        with self._connection() as connection:
            rows_by_step = self._rows_by_step(connection, table, None if last is None else (0, last))

        def scan(
            names: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            # For no column the number of rows is wanted.
            columns = chosen_columns(table, [table.recorded[0].name] if names == [] else names)
            for span in _spans(rows_by_step, _steps_of(rows_by_step, predicate)):
                frame = self.frame(table, columns, span)
                frame = frame if predicate is None else frame.filter(predicate)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame
                if left == 0:
                    return

        return register_io_source(scan, schema=frame_schema(table.recorded), is_pure=True)

    def counts(self, steps: Steps = ALL_STEPS) -> dict[str, int]:
        """Return the number of rows that these steps added to each table that got some."""
        query = "SELECT name, sum(rows) FROM ts_batches WHERE step BETWEEN {} AND {} GROUP BY name"
        with self._connection() as connection:
            rows = connection.execute(query.format(*steps)).fetchall()
        return {str(name): int(n) for name, n in rows}

    def _knows(self, table: schema.Table) -> bool:
        """Return whether the database has a table; a table that a later version added has no rows.

        Raises ``WrongVersion`` for a table that has changed.
        """
        recorded = self._fingerprints.get(table.name)
        if recorded is not None and recorded != database.fingerprint(table, self.header.record_version):
            do = f"read it with Townsquare {self.header.version}, which recorded it"
            raise WrongVersion(f"{self.where}: table {table.name}", got="a table recorded with other columns", do=do)
        return recorded is not None

    def _rows_by_step(self, connection: Any, table: schema.Table, steps: Steps | None) -> dict[int, int]:
        """Return how many rows each step added to a table, for steps that added some."""
        first, last = steps or ALL_STEPS
        query = f"SELECT step, rows FROM ts_batches WHERE name = '{table.name}' AND step BETWEEN {first} AND {last}"
        return dict(connection.execute(f"{query} ORDER BY step").fetchall())


def _extent(connection: Any, table: str, steps: Steps) -> tuple[int, int]:
    """Return how many rows a table had before these steps, and how many they added."""
    first, last = steps
    sums = ", ".join(f"coalesce(sum(CASE WHEN step {sign} {first} THEN rows END), 0)" for sign in ("<", ">="))
    query = f"SELECT {sums} FROM ts_batches WHERE name = '{table}' AND step <= {last}"
    before, n = connection.execute(query).fetchone()
    return int(before), int(n)


def header_from(info: Mapping[str, str], where: str) -> RunHeader:
    """Read the header that :func:`info_of` wrote; raises ``RecordError`` if a key is missing or damaged."""
    try:
        texts = [info[key] for key in ("settings", "environment", "schema")]
        settings, environment, tables = (parse_json(text, f"{where}, ts_run", RecordError) for text in texts)
        if not all(isinstance(value, dict) for value in (settings, environment, tables)):
            raise ValueError("a value that is no object")
        if info["state"] not in STATES:
            raise ValueError(f"state {info['state']!r}")
        canonical_json(settings)  # NaN is no JSON
        bulky, version = info["bulky"] == "true", database.version_of(info)
    except (KeyError, ValueError, RecordError) as error:
        got = f"no {error.args[0]}" if isinstance(error, KeyError) else getattr(error, "got", str(error))
        raise RecordError(f"{where}, ts_run", got=got, do=database.DAMAGED) from error
    if not 1 <= version <= schema.RECORD_VERSION:
        got, do = f"version {version} of the record", f"read it with Townsquare {info['version']} or later"
        raise WrongVersion(where, got=got, allowed=f"versions 1 to {schema.RECORD_VERSION}", do=do)
    return RunHeader(info["version"], settings, info["settings_hash"], bulky, environment, version)


def begun_now(header: RunHeader) -> dict[str, str]:
    """Return the rows of ``ts_run`` for a run that begins."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return info_of(header) | {"schema": database.fingerprints(), "created_at": created, "state": "running"}


def info_of(header: RunHeader) -> dict[str, str]:
    """Return a header as rows of ``ts_run``."""
    return {
        "version": header.version,
        "settings": canonical_json(dict(header.settings)),
        "settings_hash": header.settings_hash,
        "bulky": "true" if header.bulky else "false",
        "environment": canonical_json(dict(header.environment)),
        "record_version": str(header.record_version),
    }


def _steps_of(rows: Mapping[int, int], predicate: pl.Expr | None) -> set[int]:
    """Return those steps whose rows may meet a condition, going by the parts of it that are of the step alone."""
    parts = [part for part in _joined_by_and(predicate) if set(part.meta.root_names()) == {"step"}]
    return set(pl.DataFrame({"step": rows.keys()}, {"step": pl.Int32}).filter(*parts)["step"])


def _joined_by_and(predicate: pl.Expr | None) -> list[pl.Expr]:
    if predicate is None:
        return []
    match predicate.meta.pop():
        case [right, left] if (left & right).meta.eq(predicate):
            return [*_joined_by_and(left), *_joined_by_and(right)]
    return [predicate]


def _spans(rows: Mapping[int, int], wanted: Collection[int]) -> list[Steps]:
    """Group wanted steps that follow one another into spans of about :data:`_SCAN_ROWS` rows; at least one span."""
    spans: list[Steps] = []
    n = 0
    for step, count in rows.items():
        if step not in wanted:
            n = 0
        elif 0 < n < _SCAN_ROWS:
            spans[-1], n = (spans[-1][0], step), n + count
        else:
            spans.append((step, step))
            n = count
    return spans or [(0, -1)]


def check_count(where: str, got: int, recorded: int) -> None:
    """Refuse a table that has lost or gained rows since they were recorded."""
    if got != recorded:
        do = "the file was changed or damaged"
        raise RecordError(where, got=f"{got} rows", allowed=f"{recorded}, as recorded", do=do)
