"""Writing files so that a reader never finds half of one."""

from __future__ import annotations

import os
from pathlib import Path

from townsquare.errors import RecordError


def write_whole(path: Path, text: str, do: str = "name a folder that can be written", *, parents: bool = False) -> None:
    """Write a text file, UTF-8: the old one or the new one is there at every moment, and on disk when this returns.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        All of it.
    do : str
        What to do where it cannot be written, for the error.
    parents : bool
        Whether to make the folder that it goes into.

    Raises
    ------
    RecordError
        It cannot be written there.
    """
    draft = path.with_name(f"{path.name}.part")
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise RecordError(str(path), got=error.strerror or str(error), do=do) from error
