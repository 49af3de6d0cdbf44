"""A process of its own that records random steps, for tests that kill it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from postgres_server import new_address
from repository import environment_with_helpers
from townsquare.record.postgresql.address import address_in

WRITER = """
import sys
from pathlib import Path
from random_records import random_batches, header, summary_of
from townsquare.record.content_hash import HashChain
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.sqlite import FolderRecorder

folder, chain = Path(sys.argv[1]), HashChain()
at = sys.argv[4]
recorder = PostgresRecorder(folder, Address.parse(at)) if at else FolderRecorder(folder)
print("open", recorder.open(header(bulky=sys.argv[2] == "parquet")), flush=True)
for step in range(int(sys.argv[3])):
    out = random_batches(step, most=200)
    recorder.save_step(out, summary_of(out, chain))
    print(step, flush=True)
recorder.close("finished")
"""


def start_writer(folder: Path, kind: str, steps: int) -> subprocess.Popen[str]:
    """A process that records steps into a folder, printing the number of each, until it ends or is killed."""
    at = str(address_in(folder) or new_address()) if kind == "postgresql" else ""
    command = [sys.executable, "-c", WRITER, str(folder), kind, str(steps), at]
    return subprocess.Popen(command, env=environment_with_helpers(), stdout=subprocess.PIPE, text=True)
