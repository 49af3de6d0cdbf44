"""``given``: only claims that came with the data or were declared in the action."""

from __future__ import annotations

from collections.abc import Sequence

from townsquare.beliefs.evidence.contract import Extractor, Found, Topics
from townsquare.settings.config import MemberParams


def extract(messages: Sequence[str], topics: Topics, params: MemberParams) -> Found:
    """Return no claims: texts are not read."""
    return Found.of([])


EXTRACTOR = Extractor("given", MemberParams, extract)
