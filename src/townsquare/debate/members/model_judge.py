"""``model``: a language model reads the stance of a text, and sees nothing else of a debate.

The external judge of the Belief Engine (seeds, ``belief-engine``, Table A10), at temperature 0. A call that fails reads
no stance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.array_types import Float
from townsquare.debate.contract import StanceJudge
from townsquare.models.contract import Asker, Request, needed, object_schema
from townsquare.models.prompts.filling import filled, quoted
from townsquare.settings.base import MemberParams

MESSAGE = 4000  # characters
PERCENT = 100  # whole numbers: grammars of servers keep to their bounds, and not to those of fractions
STANCE_SCHEMA = object_schema(stance={"type": "integer", "minimum": -PERCENT, "maximum": PERCENT})


def read(
    texts: Sequence[str], bank: ArgumentBank, vectors: Vectors, params: MemberParams, asker: Asker | None = None
) -> Float:
    """Return (n,) stances in [-1, 1]; NaN where there is no answer."""
    statement = quoted(bank.statement)
    prompts = [filled("stance_judge", statement=statement, message=quoted(text[:MESSAGE])) for text in texts]
    asked = [Request.of("stance_judge", prompt, STANCE_SCHEMA, max_tokens=64) for prompt in prompts]
    replies = needed(asker).ask(asked)
    return np.array([int(reply.value["stance"]) / PERCENT if reply.ok else np.nan for reply in replies])


def bind(asker: Asker) -> StanceJudge:
    """Return the judge with a language model to ask."""
    return replace(JUDGE, read=partial(read, asker=asker))


JUDGE = StanceJudge("model", MemberParams, read, bind=bind)
