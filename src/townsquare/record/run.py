"""Reads a recorded run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.core import schema
from townsquare.core.arguments import checked
from townsquare.core.cards import html_of
from townsquare.core.errors import HashMismatch, RecordError, SettingError
from townsquare.core.identity import run_hash
from townsquare.record.content_hash import ColumnsOf, HashChain
from townsquare.record.contract import RunHeader
from townsquare.record.frames import as_nulls, chosen_columns, in_words, known_table
from townsquare.record.memory import MemoryRecorder
from townsquare.record.places import reader_of
from townsquare.record.postgresql.address import Address, full_address, is_address
from townsquare.record.postgresql.reader import PostgresReader
from townsquare.record.reader import RunReader, Steps, rows_of_step


class Run:
    """The record of one run: its committed steps, with the same values for every kind of storage.

    Create it with :meth:`open` or :meth:`of`. All parts except the header are read again at each access, so the
    ``Run`` of an active simulation shows its latest step.
    """

    def __init__(self, reader: RunReader, folder: Path | None = None) -> None:
        if isinstance(reader, str | Path):
            raise SettingError("Run", got=str(reader), do="open the run in a folder with Run.open(folder)")
        self._reader = reader
        self._settings_checked = False
        self.folder = folder

    def __repr__(self) -> str:
        config = self.header.settings
        name = Path(str(config["scenario"])).name
        size = f"{config['agents']:,} agents, step {self.last_step} of {config['steps']}, seed {config['seed']}"
        return f"<Run {name}: {size}, {self.state}, content {self.content_hash[:12]}, {self.folder or 'in memory'}>"

    def _repr_html_(self) -> str:
        return html_of(self)

    @classmethod
    @checked
    def open(cls, folder: Path | str | Run) -> Run:
        """Open the run in a folder, or at ``postgresql://…?schema=…``: running, finished or stopped.

        A ``Run`` is returned as it is.

        Raises
        ------
        RecordError
            If the folder holds no run, or one that cannot be read.
        """
        if isinstance(folder, Run):
            return folder
        if is_address(str(folder)):
            return cls(PostgresReader(Address.parse(full_address(str(folder)), where="address of a run")))
        path = Path(folder)
        return cls(reader_of(path), path)

    @classmethod
    def of(cls, recorder: MemoryRecorder) -> Run:
        """Return the run that a recorder holds in memory."""
        return cls(recorder)

    @property
    def header(self) -> RunHeader:
        """Version, settings, layout and environment, as recorded."""
        return self._reader.header

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved configuration, as plain values.

        Raises
        ------
        HashMismatch
            The configuration was changed after it was recorded; :attr:`header` holds the changed one.
        """
        if not self._settings_checked:
            self.header.check(self._reader.where)
            self._settings_checked = True
        return self.header.settings

    @property
    def version(self) -> str:
        """The version of Townsquare that recorded the run."""
        return self._reader.header.version

    @property
    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"stopped"``; ``"stopped"`` also if the process of the run was killed."""
        return self._reader.state()

    @property
    def health(self) -> str:
        """Why the run is unhealthy (too many calls of a language model failed); "" if it is not."""
        return self._reader.health()

    @property
    def steps(self) -> pl.DataFrame:
        """The table ``steps``, with one row per committed step."""
        return self._reader.summaries().select(as_nulls(schema.TABLES["steps"].recorded))

    @property
    def last_step(self) -> int:
        """The last committed step; -1 for none."""
        return self.steps.height - 1

    @property
    def content_hash(self) -> str:
        """The hash of all committed steps, 64 hexadecimal digits; a constant value before the first step."""
        steps = self.steps
        return str(steps["hash"][-1]) if steps.height else HashChain().value

    @property
    def run_hash(self) -> str:
        """The hash of the settings and of all committed steps, 64 hexadecimal digits: the identity of this run."""
        return run_hash(self.header.settings_hash, self.content_hash)

    @property
    def counts(self) -> dict[str, int]:
        """Number of committed rows of every table, in the order of the schema."""
        counts = self._reader.counts()
        return {name: counts.get(name, 0) for name in schema.TABLES}

    def stored(self, name: str) -> str:
        """Return where the rows of a table are.

        ``"memory"``, ``"SQLite"``, ``"packed"`` (compressed in the SQLite database), ``"Parquet"`` or ``"PostgreSQL"``.
        """
        return self._reader.stored(known_table(name))

    @checked
    def table(self, name: str, steps: Steps | None = None, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows of a table in the order of the record, with the dtypes of ``schema``.

        Parameters
        ----------
        name : str
            A table of :data:`townsquare.core.schema.TABLES`.
        steps : (int, int), optional
            First and last step, both included: rows of other steps are left out. Tables without a column ``step`` or
            ``born`` are returned completely.
        columns : sequence of str, optional
            Only these columns, in this order; default: all.

        Raises
        ------
        UnknownName
            The table or column does not exist.
        RecordError
            If it cannot be read, or has lost rows.
        """
        table = known_table(name)
        of_a_step = any(column.name in {"step", "born"} for column in table.recorded)
        chosen = chosen_columns(table, columns)
        return self._reader.frame(table, chosen, steps if of_a_step else None).select(as_nulls(chosen))

    @checked
    def lazy(self, name: str, last: int | None = None) -> pl.LazyFrame:
        """Return the rows committed so far as a lazy frame that reads only the columns that are used.

        With ``last``, return only the rows added by steps up to and including ``last``.

        Raises ``UnknownName`` if the table does not exist, and ``RecordError`` if its files are missing.
        """
        table = known_table(name)
        frame = self._reader.lazy(table, last)
        return frame.select(as_nulls(table.recorded)) if any(c.since > 1 for c in table.recorded) else frame

    def added(self, step: int) -> ColumnsOf:
        """Return a function that takes the name of a table and returns the rows that this committed step added."""
        return rows_of_step(self._reader, step)

    @checked
    def words(self, name: str, steps: Steps | None = None) -> pl.DataFrame:
        """Return :meth:`table` with words instead of codes, as ``pl.Enum``: ``"like"`` instead of 1.

        Propositions are given by name. If agents have names, a column ``agent_name`` is added.
        """
        frame = in_words(known_table(name), self.table(name, steps))
        if "proposition" in frame.columns and name != "propositions":
            names = self.table("propositions")["name"]
            words, by_row = pl.Enum(names.unique(maintain_order=True)), dict(enumerate(names))
            frame = frame.with_columns(pl.col("proposition").replace_strict(by_row, default=None, return_dtype=words))
        if "agent" in frame.columns and name != "agents":
            agents = self.table("agents", columns=["agent", "name"]).rename({"name": "text"})
            named = agents.join(self.table("texts"), on="text").select("agent", agent_name="content").unique("agent")
            frame = frame.join(named, on="agent", how="left", maintain_order="left")
        is_named = "agent_name" in frame.columns and frame["agent_name"].null_count() < frame.height
        return frame if is_named else frame.drop("agent_name", strict=False)

    @checked
    def sql(self, query: str) -> pl.DataFrame:
        """Answer one SELECT query over the tables of the run, such as ``beliefs`` (or ``ts_beliefs``).

        The names ``posts``, ``follows``, ``note_ratings`` and ``agent_memories`` mean views of MOSAIC's appendix D. For
        the tables, write ``ts_posts``, and so on.

        Values are those of SQLite for every kind of storage: whole numbers are 64 bits wide (a key of 2**63 or more is
        negative), booleans 0 and 1, NaN is NULL. If all tables are in one SQLite or PostgreSQL database, that database
        executes the query. Otherwise Polars does, or SQLite if the query names a view of appendix D; the SQL dialects
        differ beyond plain SELECTs.

        Raises
        ------
        UnknownName
            The table does not exist; or another program than SQLite executes the query, and ``docs/record.md`` does not
            list one of the query's functions.
        SettingError
            The query is not a single SELECT, or has an error.
        """
        return self._reader.query(query)

    def rows_where(self, name: str, **wanted: int | Sequence[int]) -> pl.DataFrame:
        """Return the rows of a table in which each named column has this value (or one of several).

        ``run.rows_where("exposures", agent=7, step=[3, 4])``. Rows are in the order of the record. Raises
        ``UnknownName`` if the table or column does not exist.
        """
        table = known_table(name)
        chosen_columns(table, list(wanted))
        values = {column: [value] if isinstance(value, int) else list(value) for column, value in wanted.items()}
        return self._reader.frame(table, table.recorded, wanted=values).select(as_nulls(table.recorded))

    def verify(self) -> str:
        """Compute all hashes from the stored rows, compare them with the recorded hashes, and return the content hash.

        These are the hash of the settings, the content hash of every step and the run hash.

        Raises
        ------
        HashMismatch
            A hash differs. The error names the settings, the first step with changed rows, or the run hash.
        RecordError
            If rows, parts or steps are missing, or the file of the database is damaged.
        """
        self._reader.check()
        self.header.check(self._reader.where)
        chain = HashChain()
        for expected, mark in enumerate(self.steps.select("step", "hash").iter_rows(named=True)):
            where = f"{self._reader.where}, step {expected}"
            if mark["step"] != expected:
                raise RecordError(where, got="no such step, but later steps", do="repeat the run")
            got = chain.add(expected, self.added(expected))
            if got != mark["hash"]:
                do = "its rows were changed after recording, or another version computed the hash"
                raise HashMismatch(where, got=f"hash {got}", allowed=f"{mark['hash']}, as recorded", do=do)
        self._check_run_hash(run_hash(self.header.settings_hash, chain.value))
        return chain.value

    def _check_run_hash(self, computed: str) -> None:
        recorded = self._reader.run_hash()
        if recorded and self.header.record_version == 1:
            where, do = f"{self._reader.where}: version of the record", "the version was changed after recording"
            raise HashMismatch(where, got="version 1 with a run hash", allowed="version 2 or later", do=do)
        must = self.header.record_version > 1 and self._reader.state() == "finished"
        if recorded != computed and (recorded or must):
            do = "settings and their hash, or rows and their hashes, were changed after the run was closed"
            where, allowed = f"{self._reader.where}: run hash", f"{recorded or 'one'}, as recorded"
            raise HashMismatch(where, got=f"run hash {computed}", allowed=allowed, do=do)
