"""``scripted``: the deterministic opponent of the paper's sweeps. It has no stance and hears nothing.

Without lines of its own it says the arguments of its side in the pool ``debate``, one a round: the strongest first, or
in the order of the file. What the agent has said meanwhile changes nothing, so that all arms face the same opponent.
When its arguments are used up it falls silent.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from townsquare.debate.contract import Claim, DebateContext, Speaker, Turn, Utterance
from townsquare.debate.members.bank_speaker import said_of
from townsquare.debate.settings import SIGN
from townsquare.settings.base import MemberParams, setting

SILENT = "I rest my case."


class Params(MemberParams):
    """What it says."""

    lines: tuple[str, ...] = setting((), "its messages, one per round, each a claim of its side")
    order: Literal["strongest", "file"] = setting("strongest", "order of its arguments if there are no lines")


def say(turn: Turn, context: DebateContext, params: Params) -> Utterance:
    """Return the message of this round."""
    nth, side = turn.round - 1, SIGN[turn.side]
    if params.lines:
        if nth >= len(params.lines):
            return Utterance(SILENT, ())
        line = params.lines[nth]
        return Utterance(line, (Claim(line, side, math.nan, line),))
    bank = context.bank
    own = np.flatnonzero(~bank.seed & (bank.polarity == side))
    if params.order == "strongest":
        own = own[np.argsort(-bank.strength[own], kind="stable")]
    return said_of(bank, own[nth : nth + 1]) if nth < own.size else Utterance(SILENT, ())


SPEAKER = Speaker("scripted", Params, say)
