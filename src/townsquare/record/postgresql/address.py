"""Where a run is on a PostgreSQL server, in one line that never holds a password, and in the folder of the run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from townsquare.core.documents import read_yaml
from townsquare.core.errors import RecordError, SettingError
from townsquare.core.files import is_file
from townsquare.core.private_files import make_file

FILE = "record.yaml"
"""In the folder of a run that is recorded on a server: where."""
MAX_BYTES = 10_000
"""Of that file: an address and a name."""
SCHEMES = ("postgresql", "postgres")
PARAMETERS = ("host", "hostaddr", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout")
"""What may stand behind the ``?`` of an address, beside ``schema``; names and meanings are libpq's."""
_FORM = "postgresql://USER@HOST:PORT/DATABASE"
_NO_PASSWORD = "leave it out: it is read from ~/.pgpass, PGPASSWORD or PGSERVICE, and never stored"
_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Address:
    """A schema of a database.

    Attributes
    ----------
    url : str
        What libpq connects to; without a password and without the schema.
    schema : str
        Name of the schema: small letters, digits and underscores, at most 63.
    """

    url: str
    schema: str

    @classmethod
    def parse(cls, text: str, schema: str = "", where: str = "--record") -> Address:
        """Read ``postgresql://USER@HOST:PORT/DATABASE?schema=NAME``; ``schema`` is the name where it says none.

        Raises
        ------
        SettingError
            It cannot be read, holds a password, or names no schema. What was given is never repeated, since a
            password could be in it.

        Examples
        --------
        >>> str(Address.parse("postgresql://me@localhost/runs?sslmode=require&schema=one"))
        'postgresql://me@localhost/runs?sslmode=require&schema=one'
        >>> str(Address.parse("postgresql:///runs?host=/var/run/postgresql", "one"))
        'postgresql:///runs?host=%2Fvar%2Frun%2Fpostgresql&schema=one'
        """
        try:
            parts = urlsplit(text)
            _, given = parts.port, parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise SettingError(where, got="an address that cannot be read", allowed=_FORM) from None
        if parts.scheme not in SCHEMES or parts.fragment or not parts.path.strip("/"):
            raise SettingError(where, got="not an address of a PostgreSQL database", allowed=_FORM)
        if parts.password is not None or any("password" in name for name, _ in given):
            raise SettingError(where, got="an address with a password", allowed=_FORM, do=_NO_PASSWORD)
        if any(name not in (*PARAMETERS, "schema") for name, _ in given):
            allowed = f"{_FORM}, with {', '.join(PARAMETERS)} or schema behind a `?`"
            do = "set other parameters by PGSERVICE or the environment variables of libpq"
            raise SettingError(where, got="another parameter", allowed=allowed, do=do)
        name = dict(given).get("schema", schema)
        query = urlencode([pair for pair in given if pair[0] != "schema"])
        url = f"postgresql://{parts.netloc}{parts.path}{f'?{query}' if query else ''}"
        return cls(url, checked_schema(name, where))

    def __str__(self) -> str:
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={self.schema}"


def is_address(text: str) -> bool:
    """Return whether a text is meant as an address; one slash is enough, since paths lose the other.

    >>> is_address("postgresql://me@host/db"), is_address("runs/postgresql")
    (True, False)
    """
    return re.match(rf"({'|'.join(SCHEMES)}):/", text) is not None


def full_address(text: str) -> str:
    """Restore both slashes of an address that was taken for a path.

    >>> full_address(str(Path("postgresql://me@host/db")))
    'postgresql://me@host/db'
    """
    return re.sub(r"^(\w+):/+(?=[^/])", r"\1://", text, count=1)


def checked_schema(name: str, where: str = "--record-schema") -> str:
    """Return the name if it is valid for a schema; raises ``SettingError``."""
    if not _SCHEMA.fullmatch(name):
        allowed = "1 to 63 lower-case letters, digits and underscores; it starts with neither a digit nor pg_"
        raise SettingError(where, got=f"the schema {name[:80]!r}" if name else "no schema", allowed=allowed)
    return name


def schema_for(folder: Path) -> str:
    """Return the default name of the schema for the run in a folder.

    >>> schema_for(Path("runs/health-rumor-seed1-2")), schema_for(Path("2024"))
    ('health_rumor_seed1_2', 'run_2024')
    """
    name = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_")
    return (name if re.match(r"(?!pg_)[a-z]", name) else f"run_{name}")[:63]


def address_in(folder: Path) -> Address | None:
    """Return the address of the server that records the run of a folder; None if none does.

    Raises
    ------
    RecordError
        The file that says so cannot be read.
    """
    path = folder / FILE
    if not is_file(path):
        return None
    try:
        values: Any = read_yaml(path, RecordError, MAX_BYTES)
        return Address.parse(str(values["postgresql"]), str(values["schema"]), where=str(path))
    except RecordError as error:
        raise RecordError(error.where, got=error.got, allowed=error.allowed, do="restore the file") from None
    except (KeyError, TypeError, SettingError) as error:
        got = str(error).splitlines()[0] if isinstance(error, SettingError) else "no address and schema"
        raise RecordError(str(path), got=got[:500], allowed="the keys `postgresql` and `schema`") from None


def write_address(folder: Path, address: Address) -> None:
    """Say in a folder where its run is recorded."""
    text = yaml.safe_dump({"postgresql": address.url, "schema": address.schema}, sort_keys=False)
    make_file(folder / FILE)
    (folder / FILE).write_text(text, encoding="utf-8")
