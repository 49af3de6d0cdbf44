"""Reads files that a user gave: bounded, UTF-8, and with errors that name the location.

Everything read here is untrusted. Sizes are bounded, control characters and lone surrogates are replaced by U+FFFD.
All YAML and JSON comes in by :mod:`townsquare.core.documents`. CSV rows, JSON lines and items of a YAML list all become
records of :mod:`townsquare.core.tabular`.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from townsquare.core.errors import DataError, RecordError, SettingError, TownsquareError
from townsquare.core.private_files import make_file, make_folder

NAMED = "named-by-settings"
"""Folder of the copies of files that settings name, in the copy of a scenario."""
MAX_BYTES = 512 * 1024 * 1024
MAX_SHOWN = 80


_BROKEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """Return text without control characters or lone surrogates: each becomes U+FFFD; line ends become ``\\n``.

    >>> clean("a\\r\\nb\\x00")
    'a\\nb\\ufffd'
    """
    if text.isprintable():  # nearly every cell: half the time of a search
        return text
    return _BROKEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def find(path: str, folder: Path | None = None) -> Path:
    """Return the file that ``path`` means: relative to ``folder`` if it is there, else to the working directory.

    In a folder that is the copy of a scenario (:mod:`townsquare.simulation.scenario_copy`) its copy goes before both; a
    link that leads out of the folder is no copy.

    Raises
    ------
    DataError
        If it is in neither.
    """
    tried = [Path(path)] if folder is None else [folder / path, Path(path)]
    if folder is not None:
        copy = folder / NAMED / copy_name(path)
        if is_file(copy) and copy.resolve().is_relative_to(folder.resolve()):
            return copy
    for candidate in tried:
        if is_file(candidate):
            return candidate
    looked = " or ".join(repr(str(candidate)) for candidate in dict.fromkeys(tried))
    raise DataError(f"file {path!r}", got=f"nothing at {looked}", allowed="an existing file")


def copy_name(path: str) -> str:
    """Return the name of the copy of a file that a setting names: a hash of the path as written, with its ending."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16] + Path(path).suffix


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that no file system takes is none."""
    return _holds(path.is_file)


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; a name that no file system takes is none."""
    return _holds(path.is_dir)


def _holds(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except (OSError, ValueError):
        return False


@contextmanager
def writing(path: Path, what: str = "folder") -> Iterator[None]:
    """Explain an error of the file system inside as one of ``path``, a ``what`` that cannot be written.

    Raises
    ------
    SettingError
        In place of ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise SettingError(str(path), got=_reason(error), allowed=f"a {what} that can be written") from None


def _reason(error: OSError) -> str:
    return error.strerror or "an error of the file system"


def unreadable(path: Path, error: OSError, kind: type[TownsquareError] = DataError) -> TownsquareError:
    """Return what to raise where the file system gives no file."""
    return kind(str(path), got=_reason(error), allowed="a readable file")


def read_text(path: Path, limit: int = MAX_BYTES, kind: type[TownsquareError] = DataError) -> str:
    """Return the whole of a UTF-8 file, with or without a byte order mark.

    Raises
    ------
    TownsquareError
        Of ``kind``: not there, not readable, larger than ``limit`` bytes, not UTF-8 (with the line of the first bad
        byte).
    """
    try:
        size = path.stat().st_size
        if size > limit:
            raise kind(str(path), got=f"{size:,} bytes", allowed=f"at most {limit:,} bytes")
        most = min(limit, max(size, 2**20))  # a device says that it has no bytes, and never ends
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error, kind) from None
    except ValueError:
        raise kind(str(path), got="an invalid file name", allowed="the name of a file") from None
    if len(data) > most:
        raise kind(str(path), got=f"more than {most:,} bytes; the file states {size:,}", allowed="a plain file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"the byte 0x{data[error.start]:02x}"
        raise kind(f"{path}, line {line}", got=got, allowed="UTF-8 text", do="save the file as UTF-8") from None


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
            make_folder(path.parent)
        make_file(draft)
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise RecordError(str(path), got=error.strerror or str(error), do=do) from error


def bundled_folder() -> Path:
    """Return where the data that come with Townsquare lie."""
    return Path(str(resources.files("townsquare") / "data"))


def package_table(path: str) -> list[dict[str, str]]:
    """Read a CSV table of the package: a row as a dict by the names of its header."""
    text = (resources.files("townsquare") / path).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
