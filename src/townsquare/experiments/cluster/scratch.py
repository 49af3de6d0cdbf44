"""A run that is written on the machine that executes it, and goes to a store when it has ended."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from townsquare.core.errors import RecordError, RunBusy
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.experiments.run_folders import FINISHED, holds_run, state_of
from townsquare.record.lock import RunLock
from townsquare.record.run import Run
from townsquare.settings.resolve import Settings


@contextmanager
def written_here(store: ObjectStore, name: str, settings: Settings) -> Iterator[Path]:
    """Yield a local folder for writing a run, with the files of the run that the store already holds.

    When the context ends, normally, by interruption or with an error, the files go to the store and the folder is
    removed. If the process is killed, the folder stays, and the next attempt on this machine continues with it, unless
    the store holds later steps.

    Parameters
    ----------
    store : ObjectStore
        Where the run goes.
    name : str
        Its folder there.
    settings : Settings
        Of the run; of other ones, there is another folder.

    Raises
    ------
    RunBusy
        Another process of this machine executes the same run.
    RecordError
        Files cannot be copied, or the folder belongs to somebody else.
    """
    with private_folder(store.where, name, settings.digest) as folder:
        _bring(store, name, folder)
        was_finished = state_of(folder, settings) == FINISHED
        try:
            yield folder
        finally:
            if holds_run(folder) and not (was_finished and store.holds(name)):
                store.put(folder, name)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def private_folder(where: str, name: str, digest: str) -> Iterator[Path]:
    """Give a folder of this machine that no other process uses for this store and name; it may not exist yet.

    The lock that a run has in its folder comes too late for that, and goes with the folder.

    Raises
    ------
    RunBusy
        Another process of this machine has it.
    """
    folder = scratch_folder() / hashlib.sha256(f"{where}\n{name}\n{digest}".encode()).hexdigest()[:24]
    try:
        lock = RunLock(folder.parent, f"{folder.name}.lock")
    except RunBusy as error:
        raise RunBusy(f"{where}/{name}", got=error.got, do="wait until it ends") from None
    try:
        yield folder
    finally:
        lock.close(remove=True)


def _bring(store: ObjectStore, name: str, folder: Path) -> None:
    """Have the folder hold the run as far as it has come, here or in the store."""
    is_here, is_there = holds_run(folder), store.holds(name)
    if not is_here:
        shutil.rmtree(folder, ignore_errors=True)
    if not is_there:
        return
    if not is_here:
        store.fetch(name, folder)
        return
    theirs = folder.with_name(f"{folder.name}.theirs")
    shutil.rmtree(theirs, ignore_errors=True)
    store.fetch(name, theirs)
    if Run.open(theirs).last_step > Run.open(folder).last_step:
        shutil.rmtree(folder)
        theirs.rename(folder)
    shutil.rmtree(theirs, ignore_errors=True)


def scratch_folder() -> Path:
    """Return the folder of this machine for runs that go to a store: below ``TMPDIR``, for this user alone.

    Raises
    ------
    RecordError
        Somebody else made it.
    """
    folder = Path(tempfile.gettempdir()) / f"townsquare-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise RecordError(str(folder), got="a folder that others can write", do="remove it, or set TMPDIR")
    return folder
