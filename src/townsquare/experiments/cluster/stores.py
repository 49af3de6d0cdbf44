"""Where finished runs go that were written elsewhere: a folder that machines share, or an object store by fsspec.

A run is written in a folder of the machine that executes it, for a database is no file to write over a network. When
it has ended it goes to the store whole: until its last file is there, none of it counts. In a folder it arrives under
another name and is renamed; in an object store the file that makes a folder one of a run comes last.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from townsquare.core.errors import RecordError, SettingError
from townsquare.core.private_files import make_folder
from townsquare.record import database
from townsquare.record.lock import FILE as LOCK
from townsquare.record.postgresql.address import FILE as ADDRESS

INCOMING = ".incoming"
"""In a folder: what has not arrived whole."""
RECORDS = (database.FILE, ADDRESS)
"""One of them makes a folder one of a run."""
_DRAFT = ".part"


class Store(Protocol):
    """Where runs go; plain values, so that another process can have it."""

    @property
    def where(self) -> str:
        """What it is called."""

    def holds(self, name: str) -> bool:
        """Whether a run stands there, whole; ``name`` is its folder relative to the store, with ``/``."""

    def put(self, folder: Path, name: str) -> None:
        """Copy the run of a folder there, in place of what stands there; ``RecordError`` if that fails."""

    def fetch(self, name: str, folder: Path) -> None:
        """Copy a run from there into a folder that is not there yet; ``RecordError`` if that fails."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder that every machine sees under the same path."""

    root: Path

    @property
    def where(self) -> str:
        """The path."""
        return str(self.root)

    def holds(self, name: str) -> bool:
        """As :class:`Store` says."""
        return _record_in(self.root / name) is not None

    def put(self, folder: Path, name: str) -> None:
        """As :class:`Store` says: copied beside, made safe on the disk, renamed."""
        target = self.root / name
        draft, old = (self.root / f"{INCOMING}-{uuid4().hex}" for _ in range(2))
        with _explained(str(target)):
            _copy(folder, draft)
            make_folder(target.parent)
            if target.exists():
                target.rename(old)
            draft.rename(target)
            shutil.rmtree(old, ignore_errors=True)

    def fetch(self, name: str, folder: Path) -> None:
        """As :class:`Store` says."""
        with _explained(str(self.root / name)):
            _arrive(folder, lambda draft: _copy(self.root / name, draft))


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A place that fsspec knows, such as ``s3://bucket/prefix``; credentials come from the environment of a machine."""

    url: str

    @property
    def where(self) -> str:
        """The address."""
        return self.url

    def holds(self, name: str) -> bool:
        """As :class:`Store` says."""
        return any(self.has(f"{name}/{record}") for record in RECORDS)

    def has(self, name: str) -> bool:
        """Whether there is a file; a place that cannot be asked is an error, not "no"."""
        with self._opened(name) as (files, path):
            try:
                return bool(files.info(path)["type"] == "file")
            except FileNotFoundError:
                return False

    def is_empty(self) -> bool:
        """Whether nothing at all is there."""
        with self._opened("") as (files, path):
            try:
                return not files.ls(path, detail=False)
            except FileNotFoundError:
                return True

    def put(self, folder: Path, name: str) -> None:
        """As :class:`Store` says: the file that makes it a run is taken away first and comes last."""
        record = _record_in(folder)
        if record is None:
            raise RecordError(str(folder), got="no recorded run", do="there is nothing to copy")
        for one in RECORDS:
            if self.has(f"{name}/{one}"):
                with self._opened(f"{name}/{one}") as (files, path):
                    files.rm_file(path)
        named = {file.relative_to(folder).as_posix(): file for file in _files_in(folder)}
        for one in set(ObjectStore(f"{self.url}/{name}").names("")) - set(named):  # of an earlier copy
            with self._opened(f"{name}/{one}") as (files, path):
                files.rm_file(path)
        for one, file in named.items():
            if file != record:
                self.put_file(file, f"{name}/{one}")
        self.put_file(record, f"{name}/{record.name}")

    def put_file(self, file: Path, name: str) -> None:
        """Copy one file there, so that the old one or the new one is there at every moment."""
        with self._opened(name) as (files, path):
            _make_folders(files, path.rpartition("/")[0])
            draft = f"{path}.{uuid4().hex}{_DRAFT}"
            files.put_file(str(file), draft)
            files.mv(draft, path)

    def fetch(self, name: str, folder: Path) -> None:
        """As :class:`Store` says."""
        with self._opened(name) as (files, path):
            listed = [one for one in files.find(path) if not one.endswith(_DRAFT)]

            def get_all(draft: Path) -> None:
                for one in listed:
                    self._get(files, one, draft / _checked(one[len(path) :].strip("/")))

            _arrive(folder, get_all)

    def fetch_file(self, name: str, file: Path) -> bool:
        """Copy one file from there, if it is there."""
        if not self.has(name):
            return False
        with self._opened(name) as (files, path):
            self._get(files, path, file)
        return True

    def names(self, ending: str) -> list[str]:
        """Files whose names end so, relative to the store."""
        with self._opened("") as (files, path):
            try:
                found = files.find(path)
            except FileNotFoundError:
                return []
            named = (_checked(one[len(path) :].strip("/")) for one in found)
            return sorted(one for one in named if one and one.endswith(ending) and not one.endswith(_DRAFT))

    def _get(self, files: Any, path: str, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.get_file(path, str(file))

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, str]]:
        """The file system of fsspec and the path of a name there; what it kept of earlier listings is forgotten."""
        url = f"{self.url}/{name}".rstrip("/")
        with _explained(url):
            files, path = _fsspec().core.url_to_fs(self.url)
            files.invalidate_cache()
            yield files, f"{path.rstrip('/')}/{name}".rstrip("/")


def store_at(url: str) -> ObjectStore:
    """The store at an address such as ``s3://bucket/prefix``.

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
        do = "leave it out: credentials come from the environment, as the file system's package reads them"
        raise SettingError("--out", got="an address with a password", do=do)
    if parts.scheme == "memory":
        do = "every process has a memory of its own: give file://, s3:// or another place that all of them see"
        raise SettingError("--out", got="memory://", do=do)
    if not parts.netloc:
        raise SettingError("--out", got=url[:200], allowed="an address such as s3://BUCKET/PREFIX")
    fsspec = _fsspec()
    if parts.scheme not in fsspec.available_protocols():
        raise SettingError("--out", got=f"{parts.scheme}://", allowed=", ".join(sorted(fsspec.available_protocols())))
    try:
        fsspec.get_filesystem_class(parts.scheme)
    except ImportError as error:
        raise SettingError("--out", got=f"{parts.scheme}://", do=str(error).splitlines()[0]) from None
    return ObjectStore(url.rstrip("/"))


def is_url(text: str) -> bool:
    """Whether a text is an address and no path; ``file://`` is a path.

    >>> is_url("s3://bucket/study"), is_url("runs/a"), is_url("file:///data/study")
    (True, False, False)
    """
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.isidentifier() and scheme != "file"


def as_path(text: str) -> Path:
    """A path, also where it is written as ``file://``.

    >>> as_path("file:///data/study").as_posix()
    '/data/study'
    """
    return Path(text.removeprefix("file://"))


def _fsspec() -> Any:
    try:
        return import_module("fsspec")
    except ModuleNotFoundError as error:
        if error.name != "fsspec":
            raise
        raise SettingError("--out", got="fsspec is not installed", do="pip install 'townsquare[cluster]'") from None


def _record_in(folder: Path) -> Path | None:
    """The file that makes a folder one of a run, if it is there."""
    return next((folder / name for name in reversed(RECORDS) if (folder / name).is_file()), None)


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)


def _copy(folder: Path, target: Path) -> None:
    """Copy files and have the disk keep them, so that a name never stands over half of them."""
    make_folder(target)
    for file in _files_in(folder):
        to = target / file.relative_to(folder)
        make_folder(to.parent)
        shutil.copyfile(file, to)
        with to.open("rb") as written:
            os.fsync(written.fileno())


def _arrive(folder: Path, get: Any) -> None:
    """Have files come beside a folder, then be it."""
    folder = folder.resolve()  # "." has no name
    draft = folder.with_name(f"{folder.name}{_DRAFT}")
    shutil.rmtree(draft, ignore_errors=True)
    get(draft)
    draft.rename(folder)


def _checked(name: str) -> str:
    """A name below a store, where anyone may have written it, unless it would lead out of a folder here."""
    if ".." in name.split("/"):
        raise RecordError(name, got="a name that leads out of its folder", do="take it away; nothing was copied")
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
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        do = "see that it is there, that it may be written, and that this machine has credentials for it"
        raise RecordError(where, got=said[:300], do=do) from error


def _faults() -> tuple[type[BaseException], ...]:
    """Errors of the system, of file systems that cannot write, and of those of their packages that are loaded."""
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
