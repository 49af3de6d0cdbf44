"""Processes of their own that record random steps, for tests that kill them or leave them no room."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from forked_commands import Forked
from postgres_server import new_address
from random_records import header, random_batches, record, summary_of
from townsquare.core.errors import RecordError
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.postgresql.address import Address, address_in
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.sqlite import FolderRecorder


def _write(folder: Path, kind: str, steps: int, at: str) -> int:
    chain = HashChain()
    recorder = PostgresRecorder(folder, Address.parse(at)) if at else FolderRecorder(folder)
    print("open", recorder.open(header(bulky=kind == "parquet")), flush=True)
    for step in range(steps):
        out = random_batches(step, most=200)
        recorder.save_step(out, summary_of(out, chain))
        print(step, flush=True)
    recorder.close("finished")
    return 0


def write_until_the_disk_is_full(folder: Path, kind: str) -> int:
    """Record six steps; from the fourth on no file may grow. It prints what the recorder then says."""

    def steps() -> Iterator[Batches]:
        for step in range(6):
            if step == 3:
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            yield random_batches(step, most=200)

    try:
        record(FolderRecorder(folder), steps(), bulky=kind == "parquet")
    except RecordError as error:
        print(error)
    return 0


class Writer(Forked):
    """A process that records steps into a folder, printing the number of each, until it ends or is killed."""

    def __init__(self, folder: Path, kind: str, steps: int) -> None:
        at = str(address_in(folder) or new_address()) if kind == "postgresql" else ""
        said = folder.with_name(f"{folder.name}-said.txt")
        said.unlink(missing_ok=True)
        super().__init__(_write, (folder, kind, steps, at), said)

    def until(self, line: str) -> None:
        """Wait until it has printed a line."""
        while f"{line}\n" not in self.said.splitlines(keepends=True):
            assert self.poll() is None, self.said
            time.sleep(0.005)

    def kill(self) -> None:
        """Kill it and wait for its end."""
        self.send(signal.SIGKILL)
        self.wait()
