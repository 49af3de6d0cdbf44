"""``model``: a language model reads the stance of a text, and sees nothing else of a debate.

The external judge of the Belief Engine (seeds, ``belief-engine``, Table A10), at temperature 0. A call that fails reads
no stance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.array_types import Float
from townsquare.debate.contract import StanceJudge
from townsquare.models.contract import Asker, Message, Request, needed
from townsquare.models.prompts.filling import filled, quoted
from townsquare.settings.base import MemberParams

MESSAGE = 4000  # characters
PERCENT = 100  # whole numbers: grammars of servers keep to their bounds, and not to those of fractions
STANCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"stance": {"type": "integer", "minimum": -PERCENT, "maximum": PERCENT}},
    "required": ["stance"],
    "additionalProperties": False,
}


class Params(MemberParams):
    """Nothing to set."""


def read(
    texts: Sequence[str], bank: ArgumentBank, vectors: Vectors, params: Params, asker: Asker | None = None
) -> Float:
    """Return (n,) stances in [-1, 1]; NaN where there is no answer."""
    statement = quoted(bank.statement)
    asked = [
        Request(
            purpose="stance_judge",
            messages=(Message("user", filled("stance_judge", statement=statement, message=quoted(text[:MESSAGE]))),),
            schema=STANCE_SCHEMA,
            name="stance_judge",
            max_tokens=64,
        )
        for text in texts
    ]
    return np.array(
        [int(reply.value["stance"]) / PERCENT if reply.ok else np.nan for reply in needed(asker).ask(asked)]
    )


def bind(asker: Asker) -> StanceJudge:
    """Return the judge with a language model to ask."""
    return replace(JUDGE, read=partial(read, asker=asker))


JUDGE = StanceJudge("model", Params, read, bind=bind)
