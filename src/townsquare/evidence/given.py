"""``given``: the claims that came with the data or were declared in the action, and no others."""

from __future__ import annotations

from collections.abc import Sequence

from townsquare.config import MemberParams
from townsquare.evidence.contract import Extractor, Found, Topics, no_claims


class Params(MemberParams):
    """Nothing to set."""


def extract(messages: Sequence[str], topics: Topics, params: Params) -> Found:
    """No claims: texts are not read."""
    return no_claims()


EXTRACTOR = Extractor("given", Params, extract)
