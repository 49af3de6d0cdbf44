"""Where many runs are executed and what comes of them goes: options, and the folder behind an address."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options

if TYPE_CHECKING:
    from townsquare.experiments.cluster.stores import ObjectStore
    from townsquare.experiments.manifest import ArmRun

ON = "Run on a Ray cluster: `ray`, or ray://HOST:PORT. Default: local processes."


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Placed(options.Recorded):
    """Options for executing many runs."""

    out: str | None = None
    """Output folder, or an address such as s3://BUCKET/PREFIX; default: a new folder under runs/."""
    workers: options.Positive | None = None
    """Number of processes; default: one per processor (`debate` without `sweep`: 1)."""
    on: Annotated[str, Parameter(help=ON)] = ""


PLACED = Placed()
RUN_YAML = "run.yaml"


@dataclass(frozen=True, slots=True)
class OutputLocation:
    """An output folder; for an address, a temporary folder."""

    folder: Path
    store: ObjectStore | None = None

    def shown(self, name: str = "") -> str:
        """Return the final location of a file, or of the whole output without a name."""
        where = self.store.where if self.store else str(self.folder)
        return f"{where}/{name}" if name else where

    @property
    def named(self) -> Path:
        """The folder, or the last part of the address: it names schemas on a server."""
        return Path(self.store.where.rpartition("/")[2]) if self.store else self.folder

    def send(self, names: Sequence[str]) -> None:
        """Copy files to the address, if any."""
        for name in names:
            if self.store is not None and (self.folder / name).is_file():
                self.store.put_file(self.folder / name, name)

    def bring_settings(self, runs: Sequence[ArmRun]) -> None:
        """Fetch the settings of one run for the pages of a comparison, without its bulky tables."""
        from townsquare.experiments.cluster.stores import RECORDS

        if self.store is not None and runs:
            for name in (*RECORDS, RUN_YAML):
                self.store.fetch_file(f"{runs[0].folder}/{name}", self.folder / runs[0].folder / name)


@contextmanager
def output_location(out: str | None, stem: str, known: Sequence[str]) -> Iterator[OutputLocation]:
    """Yield the output folder; for an address, a temporary folder.

    ``known`` are files that are fetched from an address first; the first file tells what the address holds.
    """
    from townsquare.core.errors import RecordError
    from townsquare.experiments.cluster.stores import as_path, is_url, store_at
    from townsquare.experiments.run_folders import folder_for

    if out is None or not is_url(out):
        with folder_for(None if out is None else as_path(out), stem) as folder:
            yield OutputLocation(folder)
        return
    store = store_at(out)
    folder = Path(tempfile.mkdtemp(prefix="townsquare-"))
    try:
        there = [store.fetch_file(name, folder / name) for name in known]
        if not there[0] and not store.is_empty():
            allowed = "an empty location, or one with the same kind of result"
            raise RecordError(store.where, got=f"a location with other files and no {known[0]}", allowed=allowed)
        yield OutputLocation(folder, store)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
