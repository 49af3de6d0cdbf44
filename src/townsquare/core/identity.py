"""Identifies a run: the settings that count, their digest, and the hash of a whole run.

The rule is used twice: when settings are resolved, and when a record is verified.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

UNHASHED = ("serving", "budget")
"""Sections that say how a run is carried out, not what it is: no part of its identity.

Digests of recorded runs are computed again by this rule. A section may be added to it only together with the release
that brings the section: runs that are recorded already must keep their digests.
"""
_RUN = b"townsquare run hash 1"


def canonical_json(value: object) -> str:
    """Return JSON of one value in one form: keys sorted, no spaces, ASCII, no NaN.

    >>> canonical_json({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def settings_digest(settings: Mapping[str, Any]) -> str:
    """Return SHA-256 of a resolved configuration without :data:`UNHASHED`, 64 hexadecimal digits.

    It does not depend on the order of keys.

    >>> settings_digest({"a": 1, "b": 2}) == settings_digest({"b": 2, "a": 1, "budget": {"usd": 3}})
    True
    """
    counted = {key: value for key, value in settings.items() if key not in UNHASHED}
    return hashlib.sha256(canonical_json(counted).encode()).hexdigest()


def run_hash(settings_digest: str, content_hash: str) -> str:
    """Return SHA-256 of the digest of the settings and the content hash of all steps, 64 hexadecimal digits.

    Parameters
    ----------
    settings_digest, content_hash : str
        64 hexadecimal digits each.

    Examples
    --------
    >>> run_hash("0" * 64, "1" * 64) == run_hash("1" * 64, "0" * 64)
    False
    """
    return hashlib.sha256(b"\n".join([_RUN, settings_digest.encode(), content_hash.encode()])).hexdigest()
