"""Settings that may hold a secret by mistake: refused before anything is written, and never repeated."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class NotShown(ValueError):
    """A value is refused, and must not be repeated."""


def variable_name(name: str) -> str:
    """The name of an environment variable, in capitals; a key that was put there instead has small letters or dashes.

    >>> variable_name("OPENAI_API_KEY")
    'OPENAI_API_KEY'
    """
    if not _VARIABLE.fullmatch(name):
        raise NotShown("name an environment variable, in capitals, that holds the key; never put the key itself here")
    return name


def plain_address(url: str) -> str:
    """A base URL without a user, a password, a query, and without a slash at its end.

    >>> plain_address("http://127.0.0.1:8000/v1/")
    'http://127.0.0.1:8000/v1'
    """
    said = "write http://HOST:PORT/v1 or https://HOST/v1, without user, password or query: keys go into the environment"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NotShown(said) from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise NotShown(said)
    return url.rstrip("/")
