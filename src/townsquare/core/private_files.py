"""Makes files and folders that only the user can read, or the group if the user allows it.

Personas, prompts and replies are in the record of a run, and home folders of shared machines are often readable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from townsquare.core.errors import SettingError

SHARE = "TOWNSQUARE_SHARE"
"""Environment variable: who may read what is written, ``owner`` or ``group``. No part of a run's identity."""
_FOLDER_MODES = {"owner": 0o700, "group": 0o750}


def folder_mode() -> int:
    """Return the mode of new folders: 0700, or 0750 for a group. ``SettingError`` for any other word."""
    share = os.environ.get(SHARE) or "owner"
    if share not in _FOLDER_MODES:
        raise SettingError(SHARE, got=repr(share)[:80], allowed=", ".join(_FOLDER_MODES), do="change it, or unset it")
    return _FOLDER_MODES[share]


def file_mode() -> int:
    """Return the mode of new files: 0600, or 0640 for a group."""
    return folder_mode() & 0o666


def make_folder(path: Path, *, exist_ok: bool = True) -> None:
    """Make a folder and those above it that are not there; the modes of those that are there stay.

    Raises
    ------
    OSError
        It cannot be made, or is there and must not be.
    """
    mode = folder_mode()
    for missing in reversed([above for above in path.parents if not above.exists()]):
        _make(missing, mode, exist_ok=True)
    _make(path, mode, exist_ok=exist_ok)


def _make(path: Path, mode: int, *, exist_ok: bool) -> None:
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not exist_ok or not path.is_dir():
            raise
    else:
        path.chmod(mode)  # whatever the umask


def make_file(path: Path) -> None:
    """Make an empty file that others cannot read, before it is written to; leaves a file that is there."""
    with suppress(FileExistsError):
        path.touch(mode=file_mode(), exist_ok=False)


@contextmanager
def private_umask() -> Iterator[None]:
    """Make new files of this process private to the user, or the group; for commands, not for libraries."""
    before = os.umask(0o777 & ~folder_mode())
    try:
        yield
    finally:
        os.umask(before)
