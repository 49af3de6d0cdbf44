"""A recorded run, read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from townsquare import schema
from townsquare.errors import HashMismatch, RecordError
from townsquare.record.content_hash import ColumnsOf, HashChain
from townsquare.record.contract import RunHeader
from townsquare.record.frames import chosen_columns, in_words, known_table
from townsquare.record.memory import MemoryRecorder
from townsquare.record.places import reader_of
from townsquare.record.postgresql.address import Address, full_address, is_address
from townsquare.record.postgresql.reader import PostgresReader
from townsquare.record.reader import RunReader, Steps, rows_of_step


class Run:
    """The record of one run: committed steps only, the same whatever it is stored in.

    Make it with :meth:`open` or :meth:`of`. Everything but the header is read anew when it is asked for, so a ``Run``
    of a simulation that is still going on grows with it.
    """

    def __init__(self, reader: RunReader, folder: Path | None = None) -> None:
        self._reader = reader
        self.folder = folder

    @classmethod
    def open(cls, folder: Path | str) -> Run:
        """The run in a folder, or at ``postgresql://…?schema=…``; it may be running, finished or stopped by force.

        Raises
        ------
        RecordError
            If the folder holds no run, or one that cannot be read.
        """
        if is_address(str(folder)):
            return cls(PostgresReader(Address.parse(full_address(str(folder)), where="address of a run")))
        path = Path(folder)
        return cls(reader_of(path), path)

    @classmethod
    def of(cls, recorder: MemoryRecorder) -> Run:
        """The run that a recorder keeps in memory."""
        return cls(recorder)

    @property
    def header(self) -> RunHeader:
        """Version, settings, layout and environment, as recorded."""
        return self._reader.header

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved configuration, as plain values."""
        return self._reader.header.settings

    @property
    def version(self) -> str:
        """The version of Townsquare that recorded it."""
        return self._reader.header.version

    @property
    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"stopped"``; a run whose process is gone is stopped."""
        return self._reader.state()

    @property
    def health(self) -> str:
        """Why the run is unhealthy (too many calls of a language model failed); "" if it is not."""
        return self._reader.health()

    @property
    def steps(self) -> pl.DataFrame:
        """One row a committed step: the table ``steps``."""
        return self._reader.marks()

    @property
    def last_step(self) -> int:
        """The last committed step; -1 for none."""
        return self.steps.height - 1

    @property
    def content_hash(self) -> str:
        """The hash of all committed steps, 64 hexadecimal digits; without steps, where the chain starts."""
        steps = self.steps
        return str(steps["hash"][-1]) if steps.height else HashChain().value

    @property
    def counts(self) -> dict[str, int]:
        """Number of committed rows of every table, in the order of the schema; does not read them."""
        counts = self._reader.counts()
        return {name: counts.get(name, 0) for name in schema.TABLES}

    def stored(self, name: str) -> str:
        """Where the rows of a table are: ``"memory"``, ``"SQLite"``, ``"Parquet"`` or ``"PostgreSQL"``."""
        return self._reader.stored(known_table(name))

    def table(self, name: str, steps: Steps | None = None, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Rows of a table in the order in which they were recorded, with the dtypes of ``schema``.

        Parameters
        ----------
        name : str
            A table of :data:`townsquare.schema.TABLES`.
        steps : (int, int), optional
            First and last step, both included: rows of other steps are left out. Tables without a column ``step`` or
            ``born`` come whole, since rows of any step may point at theirs.
        columns : sequence of str, optional
            Only these columns, in this order: from SQLite, half the columns take half the time.

        Raises
        ------
        UnknownName
            For a table or column that there is none of.
        RecordError
            If it cannot be read, or has lost rows.
        """
        table = known_table(name)
        of_a_step = any(column.name in {"step", "born"} for column in table.recorded)
        return self._reader.frame(table, chosen_columns(table, columns), steps if of_a_step else None)

    def lazy(self, name: str, last: int | None = None) -> pl.LazyFrame:
        """The rows of a table that are committed now, as a lazy frame that reads only the columns a query needs.

        With ``last``, only rows that steps up to it added, whatever the table: what there was at that moment.

        Raises ``UnknownName`` for a table that there is none of, and ``RecordError`` if its files are not there.
        """
        return self._reader.lazy(known_table(name), last)

    def added(self, step: int) -> ColumnsOf:
        """Gives the rows that one committed step added to a table, by its name, as they were recorded."""
        return rows_of_step(self._reader, step)

    def words(self, name: str, steps: Steps | None = None) -> pl.DataFrame:
        """As :meth:`table`, with code words as ``pl.Enum`` of their lower-case names: ``"taken_down"`` for 1."""
        return in_words(known_table(name), self.table(name, steps))

    def sql(self, query: str) -> pl.DataFrame:
        """Answer one SELECT over the tables ``ts_<name>``.

        Values are as SQLite holds them in either layout: whole numbers 64 bits wide (a key above 2**63 is negative),
        booleans 0 and 1, NaN is NULL. Runs with Parquet parts are answered by Polars, others by their database, SQLite
        or PostgreSQL; their dialects differ beyond plain SELECTs.

        Raises
        ------
        UnknownName
            For a table that there is none of.
        SettingError
            For anything but one SELECT, and for its mistakes.
        """
        return self._reader.query(query)

    def verify(self) -> str:
        """Compute the hash of every step from what is stored, compare it with the recorded one, return the last.

        Raises
        ------
        HashMismatch
            Naming the first step whose rows are not those that were recorded.
        RecordError
            If rows, parts or steps are missing, or the file of the database is damaged.
        """
        self._reader.check()
        chain = HashChain()
        for expected, mark in enumerate(self.steps.select("step", "hash").iter_rows(named=True)):
            place = f"{self._reader.where}, step {expected}"
            if mark["step"] != expected:
                raise RecordError(place, got="no such step, though later ones are there", do="run it anew")
            got = chain.add(expected, self.added(expected))
            if got != mark["hash"]:
                raise HashMismatch(
                    place,
                    got=f"hash {got}",
                    allowed=f"{mark['hash']}, as was recorded",
                    do="its rows were changed after they were recorded, or by a version that hashes otherwise",
                )
        return chain.value
