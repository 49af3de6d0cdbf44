"""Where finished runs go that were written elsewhere: a folder that machines share, or an object store by fsspec.

A run is written in a folder of the machine that executes it, for a database is no file to write over a network. When
it has ended it goes to the store whole: the file that makes a folder one of a run comes last, and until it is there,
none of the others counts.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from townsquare.core.errors import RecordError, SettingError
from townsquare.core.extras import library
from townsquare.core.private_files import make_folder
from townsquare.record import database
from townsquare.record.lock import FILE as LOCK
from townsquare.record.postgresql.address import FILE as ADDRESS

RECORDS = (database.FILE, ADDRESS)
"""One of them makes a folder one of a run."""
_DRAFT = ".part"
_LOCAL = "file://"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A place that fsspec knows, such as ``s3://bucket/prefix``; credentials come from the environment of a machine.

    A plain value, so that another process can have it. Names are relative to the place, with ``/``.
    """

    url: str

    @property
    def where(self) -> str:
        """What it is called: the address, or the path of a folder."""
        return self.url.removeprefix(_LOCAL)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that machines share."""
        return self.url.startswith(_LOCAL)

    def holds(self, name: str) -> bool:
        """Return whether a run is in a folder there, whole."""
        return any(self.has(f"{name}/{record}") for record in RECORDS)

    def has(self, name: str) -> bool:
        """Return whether there is a file; a place that cannot be asked is an error, not "no"."""
        with self._opened(name) as (files, path), suppress(FileNotFoundError):
            return bool(files.info(path)["type"] == "file")
        return False

    def is_empty(self) -> bool:
        """Return whether nothing at all is there."""
        with self._opened("") as (files, path), suppress(FileNotFoundError):
            return not files.ls(path, detail=False)
        return True

    def put(self, folder: Path, name: str) -> None:
        """Copy the run of a folder there, in place of what is there; ``RecordError`` if that fails.

        The file that makes it a run is taken away first and comes last.
        """
        record = next((folder / file for file in reversed(RECORDS) if (folder / file).is_file()), None)
        if record is None:
            raise RecordError(str(folder), got="no recorded run", do="there is nothing to copy")
        others = (file for file in folder.rglob("*") if file.is_file() and file.name != LOCK and file != record)
        parts = {file.relative_to(folder).as_posix(): file for file in sorted(others)}
        for earlier in filter(self.has, (f"{name}/{file}" for file in RECORDS)):
            with self._opened(earlier) as (files, path):
                files.rm_file(path)
        with self._opened(name) as (files, path):
            if files.exists(path):
                files.rm(path, recursive=True)  # of an earlier copy
            targets = [f"{path}/{part}" for part in parts]
            for above in sorted({path, *(target.rpartition("/")[0] for target in targets)}):
                self._make_folder(files, above)
            files.put([str(file) for file in parts.values()], targets)
            self._have_on_disk(*targets)
        self.put_file(record, f"{name}/{record.name}")

    def put_file(self, file: Path, name: str) -> None:
        """Copy one file there, so that the old one or the new one is there at every moment."""
        with self._opened(name) as (files, path):
            self._make_folder(files, path.rpartition("/")[0])
            draft = f"{path}.{uuid4().hex}{_DRAFT}"
            files.put_file(str(file), draft)
            self._have_on_disk(draft)
            files.mv(draft, path)

    def fetch(self, name: str, folder: Path) -> None:
        """Copy a run from there into a folder that is not there yet; ``RecordError`` if that fails."""
        folder = folder.resolve()  # "." has no name
        draft = folder.with_name(f"{folder.name}{_DRAFT}")
        shutil.rmtree(draft, ignore_errors=True)
        inside = ObjectStore(f"{self.url}/{name}".rstrip("/"))
        targets = {part: draft / part for part in inside.names("")}
        if not targets:
            raise RecordError(inside.where, got="nothing", do="check the address")
        with inside._opened("") as (files, path):
            for above in {file.parent for file in targets.values()}:
                above.mkdir(parents=True, exist_ok=True)
            files.get([f"{path}/{part}" for part in targets], [str(file) for file in targets.values()])
            draft.rename(folder)

    def fetch_file(self, name: str, file: Path) -> bool:
        """Copy one file from there, if it is there."""
        if not self.has(name):
            return False
        with self._opened(name) as (files, path):
            file.parent.mkdir(parents=True, exist_ok=True)
            files.get_file(path, str(file))
        return True

    def names(self, ending: str) -> list[str]:
        """Return the files whose names end so."""
        with self._opened("") as (files, path), suppress(FileNotFoundError):
            named = (_checked(file[len(path) :].strip("/")) for file in files.find(path))
            return sorted(file for file in named if file and file.endswith(ending) and not file.endswith(_DRAFT))
        return []

    def _make_folder(self, files: Any, path: str) -> None:
        if self.is_folder:
            make_folder(Path(path))
        else:
            _make_folders(files, path)

    def _have_on_disk(self, *paths: str) -> None:
        """Have the disk keep files of a shared folder, so that a name never stands over half of them."""
        for path in paths if self.is_folder else ():
            with open(path, "rb") as written:
                os.fsync(written.fileno())

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, str]]:
        """Give the file system of fsspec and the path of a name in it; earlier listings are forgotten."""
        with _explained(f"{self.where}/{name}".rstrip("/")):
            if self.is_folder:
                files, path = _fsspec().filesystem("file", auto_mkdir=True), self.where
            else:
                files, path = _fsspec().core.url_to_fs(self.url)
            files.invalidate_cache()
            yield files, f"{path.rstrip('/')}/{name}".rstrip("/")


def shared_folder(root: Path) -> ObjectStore:
    """Return the store in a folder that every machine sees under the same path."""
    return ObjectStore(f"{_LOCAL}{root.resolve()}")


def store_at(url: str) -> ObjectStore:
    """Return the store at an address such as ``s3://bucket/prefix``.

    Raises
    ------
    SettingError
        It cannot be read, holds a password, is known to no installed package, or is memory of one process.
    """
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        raise SettingError("--out", got="an address that cannot be read", allowed="s3://BUCKET/PREFIX") from None
    if password is not None:
        do = "leave it out: set credentials in the environment, where the package of the file system reads them"
        raise SettingError("--out", got="an address with a password", do=do)
    if parts.scheme == "memory":
        do = "every process has its own memory: use file://, s3:// or another store that all processes share"
        raise SettingError("--out", got="memory://", do=do)
    if not parts.netloc:
        raise SettingError("--out", got=url[:200], allowed="an address such as s3://BUCKET/PREFIX")
    fsspec = _fsspec()
    try:
        fsspec.get_filesystem_class(parts.scheme)
    except (ImportError, ValueError) as error:
        allowed, do = ", ".join(sorted(fsspec.available_protocols())), str(error).splitlines()[0]
        raise SettingError("--out", got=f"{parts.scheme}://", allowed=allowed, do=do) from None
    return ObjectStore(url.rstrip("/"))


def is_url(text: str) -> bool:
    """Return whether a text is an address and no path; ``file://`` is a path.

    >>> is_url("s3://bucket/study"), is_url("runs/a"), is_url("file:///data/study")
    (True, False, False)
    """
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.isidentifier() and scheme != "file"


def as_path(text: str) -> Path:
    """Return a path, also where it is written as ``file://``.

    >>> as_path("file:///data/study").as_posix()
    '/data/study'
    """
    return Path(text.removeprefix("file://"))


def _fsspec() -> Any:
    return library("fsspec", "--out")


def _checked(name: str) -> str:
    """Return a name from a store, unless it would lead out of a folder here."""
    if ".." in name.split("/"):
        raise RecordError(name, got="a path outside its folder", do="remove it; nothing was copied")
    return name


def _make_folders(files: Any, path: str) -> None:
    """Make a folder and those above it, but no bucket: a misspelled one would come into being."""
    is_bucket = "/" not in path  # where paths begin with it, there is none
    if is_bucket or not path.strip("/") or files.exists(path):
        return
    _make_folders(files, path.rpartition("/")[0])
    try:
        files.mkdir(path, create_parents=False)
    except _faults():  # another process may have made it meanwhile
        files.invalidate_cache()
        if not files.exists(path):
            raise


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except _faults() as error:
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        do = "check that it exists, that it is writable, and that this machine has credentials for it"
        raise RecordError(where, got=message[:300], do=do) from error


def _faults() -> tuple[type[BaseException], ...]:
    """Return errors of the system, of file systems that cannot write, and of the store packages that are loaded."""
    known = {
        "botocore.exceptions": ("BotoCoreError", "ClientError"),
        "aiohttp": ("ClientError",),
        "ftplib": ("Error",),
        "google.auth.exceptions": ("GoogleAuthError",),
        "gcsfs.retry": ("HttpError",),
        "azure.core.exceptions": ("AzureError",),
        "paramiko": ("SSHException",),
    }
    loaded = [(sys.modules[name], kinds) for name, kinds in known.items() if name in sys.modules]
    theirs = (getattr(module, kind) for module, kinds in loaded for kind in kinds if hasattr(module, kind))
    return (OSError, EOFError, NotImplementedError, *theirs)
