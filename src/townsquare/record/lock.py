"""One writer a run: a lock on ``run.lock`` that ends with the process that holds it, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from townsquare.core.errors import RunBusy
from townsquare.core.private_files import make_file

FILE = "run.lock"
_TRIES = 5
_PAUSE = 0.02  # seconds: longer than a reader holds the lock to see whether anyone writes


class RunLock:
    """An exclusive lock on a run, taken on construction; ``file`` is what it is called in the folder.

    Raises
    ------
    RunBusy
        If another recorder holds it, with the number of its process.
    """

    def __init__(self, folder: Path, file: str = FILE) -> None:
        self._path = folder / file
        self._take()

    def renew(self) -> None:
        """Take the lock again if its file was removed since; ``RunBusy`` if another process was faster."""
        if not self._is_the_file():
            self._file.close()
            self._take()

    def _take(self) -> None:
        self._file = self._open()
        for attempt in range(_TRIES):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if attempt + 1 < _TRIES:
                    time.sleep(_PAUSE)
                continue
            if self._is_the_file():
                break
            self._file.close()
            self._file = self._open()
        else:
            self._refuse()
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def close(self, *, remove: bool = False) -> None:
        """Let others write, and on request leave no file behind."""
        if remove:
            with suppress(OSError):
                self._path.unlink()
        self._file.close()

    def _open(self) -> TextIO:
        make_file(self._path)
        return self._path.open("a+", encoding="ascii")

    def _is_the_file(self) -> bool:
        """Return whether the locked file still has its name: its last holder may have removed it meanwhile."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def _refuse(self) -> None:
        self._file.seek(0)
        process = self._file.read(20).strip()
        self._file.close()
        got = f"process {process} is writing it" if process else "another process is writing it"
        raise RunBusy(str(self._path.parent), got=got, do="wait until it ends, or choose another folder")


def is_locked(folder: Path) -> bool:
    """Return whether a recorder is writing the run now."""
    try:
        with (folder / FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
