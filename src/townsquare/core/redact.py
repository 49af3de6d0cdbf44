"""Hides keys and passwords in messages as ``[hidden]``, by their name or by their look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"
_NAMES = r"(?:(?:api|access|secret|private)[_-]?keys?|token|password|passwd|passphrase|secret|credentials?)"
_WORDS = frozenset(
    {"key", "token", "password", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials"}
)
_JOINED = re.compile(r"(?:api|access|secret|private)[_-]?keys?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LOOKS = re.compile(
    r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]-)(?:"
    r"sk-[\w-]{8,}|gsk_\w{8,}|gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|A(?:KIA|SIA)[0-9A-Z]{8,}"
    r"|hf_\w{8,}|xox[a-z]-[\w-]{6,}|AIza[\w-]{16,}|eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*)?)"
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{4,}")
_IN_ADDRESS = re.compile(r"(\w:/{1,3}[^\s/:@'\"]*:)[^\s/'\"]+@")
_GIVEN = re.compile(rf"(?i)({_NAMES}[\"']?\s*[=:]\s*)(?:\"[^\"]*\"?|'[^']*'?|[^\s\"',;&}}\]]+)")


def redacted(text: str) -> str:
    """Hide what looks like a key, a bearer token, a password in an address or after ``password=``.

    >>> redacted("got 'sk-live-0123456789', at postgresql://me:pass@host/db, tokens: 1500")
    "got '[hidden]', at postgresql://me:[hidden]@host/db, tokens: 1500"
    """
    text = _LOOKS.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _IN_ADDRESS.sub(rf"\1{HIDDEN}@", text)
    return _GIVEN.sub(rf"\1{HIDDEN}", text)


def names_secret(name: str) -> bool:
    """Return whether something of this name is a key or a password.

    >>> [names_secret(name) for name in ("api_key", "accessToken", "keyword", "tokens", "max_tokens", "key_env")]
    [True, True, False, False, False, False]
    """
    plain = _CAMEL.sub("_", name).lower()
    return re.split(r"[_\s-]+", plain)[-1] in _WORDS or _JOINED.search(plain) is not None


def redacted_value(value: Any) -> Any:
    """Plain values without those of mappings that are under the name of a key or a password.

    >>> redacted_value({"name": "x", "token": "y", "tokens": 3})
    {'name': 'x', 'token': '[hidden]', 'tokens': 3}
    """
    if isinstance(value, Mapping):
        return {key: HIDDEN if names_secret(str(key)) else redacted_value(below) for key, below in value.items()}
    return [redacted_value(below) for below in value] if isinstance(value, list | tuple) else value


def redacted_got(where: str, got: str) -> str:
    """Return the value in an error message: hidden if ``where`` ends with the name of a key.

    Words of our own, which begin with a letter, stay; values are shown in quotes or are numbers or brackets.

    >>> redacted_got("model.api_key (study.yaml, line 3)", "'hunter2'"), redacted_got("budget.tokens", "-1")
    ('[hidden]', '-1')
    """
    path = re.findall(r"[\w.-]+", re.sub(r" \([^)]*\)", "", where))
    is_value = bool(got) and not got[0].isalpha()
    if is_value and path and any(names_secret(part) for part in path[-1].split(".")):
        return HIDDEN
    return redacted(got)
