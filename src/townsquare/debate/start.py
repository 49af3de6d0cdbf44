"""Where the agents of a debate start, and whether arms start near enough to one another to be compared.

Seeds are the prior (section 3.1), so a stance can only be met as far as their number, their strengths and the anchoring
let it: ten records of strength 1 reach 0.72 at a = 0.20. A factor on what seeds add, the prior scale, closes the gap,
is recorded with what was attained, and takes away most of what a does: between arms that start alike, a acts on
nothing but the seeds that are replaced later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.equation import contributions, stances_of, start_log_odds, sum_of
from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.seeds import check_number, choose_seeds
from townsquare.core.array_types import Int64
from townsquare.core.draws import U64, Draws, chain, text_key
from townsquare.core.errors import SettingError
from townsquare.debate.contract import few_uniform
from townsquare.debate.resolve import ResolvedDebate
from townsquare.debate.settings import SIDES, SIGN, Debates
from townsquare.models.contract import member_asks


class AgentStart(NamedTuple):
    """How one agent starts.

    Attributes
    ----------
    wanted, attained : float
        Stances, [-1, 1].
    prior : float
        In log odds; 0 where seeds are the prior.
    prior_scale : float
        Factor on what each seed adds.
    places : tuple of int
        Its seeds, places in the bank, ascending; none for a stated start of a debater with records.
    """

    wanted: float
    attained: float
    prior: float
    prior_scale: float
    places: tuple[int, ...]


def trial_seed(seed: int, trial: int) -> int:
    """Return the seed of all draws of one trial, derived from that of the debate; arms share it."""
    return chain(seed, text_key("debate trial"), trial)


def begin_at(resolved: ResolvedDebate, side: int, trial: int) -> AgentStart:
    """Return the start of the agent of a side in a trial, numbered from 1.

    Raises
    ------
    SettingError
        There are fewer arguments in the pool ``seed`` than seeds.
    DataError
        A side of the pool is empty.
    """
    settings, bank = resolved.settings, resolved.bank
    wanted, (_, anchoring) = settings.wanted(side), settings.profile(side)
    has_records = resolved.members["debater"][0].has_records
    if settings.start.kind == "stated" and has_records:
        prior = float(start_log_odds([wanted], anchoring)[0])
        return AgentStart(wanted, float(stances_of([prior])[0]), prior, 1.0, ())
    places, scale = _seeds(resolved, side, trial)
    amounts = scale * contributions(bank.polarity[places], bank.strength[places], anchoring)
    attained = float(stances_of([sum_of(amounts)])[0]) if has_records else wanted
    return AgentStart(wanted, attained, 0.0, scale, tuple(int(at) for at in places))


def _seeds(resolved: ResolvedDebate, side: int, trial: int) -> tuple[Int64, float]:
    """Return indices of the seeds in the bank, ascending, and the factor on what each adds."""
    settings, bank, start = resolved.settings, resolved.bank, resolved.settings.start
    wanted, (_, anchoring) = settings.wanted(side), settings.profile(side)
    at = np.flatnonzero(bank.seed)
    if start.kind == "own_side":
        at = at[bank.polarity[at] == (np.sign(wanted) or SIGN[side])]
    where = f"pool `seed` on {bank.statement!r}"
    check_number(start.seeds, at.size, where)
    draws = Draws(trial_seed(settings.seed, trial), 0)
    order = few_uniform(draws, "seeds", side, np.array([text_key(bank.text[row]) for row in at], U64))
    if start.kind == "own_side":
        scale = 1.0 if start.prior_scale == "meet" else start.prior_scale
        return np.sort(at[np.argsort(order, kind="stable")[: start.seeds]]), scale
    scale, pool = _prior_scale(settings, bank, at, wanted, anchoring), (bank.polarity[at], bank.strength[at])
    chosen = choose_seeds(*pool, wanted, anchoring, number=start.seeds, prior_scale=scale, order=order, where=where)
    return at[chosen.chosen], scale


def _prior_scale(settings: Debates, bank: ArgumentBank, at: Int64, wanted: float, anchoring: float) -> float:
    """Return the set factor, or the smallest from 1 with which n average seeds of one side meet the stance."""
    if settings.start.prior_scale != "meet":
        return settings.start.prior_scale
    side = at[bank.polarity[at] == (1 if wanted > 0 else -1)]
    if not side.size or wanted == 0 or anchoring == 0:
        return 1.0
    mean = float(contributions(np.ones(side.size, np.int8), bank.strength[side], anchoring).mean())
    needed = abs(float(start_log_odds([wanted])[0])) / settings.start.seeds
    return max(1.0, needed / mean) if mean > 0 else 1.0


def check_starts(arms: Mapping[str, ResolvedDebate], trials: Sequence[int]) -> None:
    """Refuse to compare arms whose agents start further apart than the tolerance allows, trial by trial.

    Raises
    ------
    SettingError
        With the two arms that lie furthest apart, what they attained, and what can be done.
    """
    tolerance = min((resolved.settings.start.tolerance for resolved in arms.values()), default=0.0)
    for side in range(len(SIDES)):
        taking_part = {name: resolved for name, resolved in arms.items() if side in resolved.settings.agents}
        for trial in trials:
            attained = {name: begin_at(resolved, side, trial).attained for name, resolved in taking_part.items()}
            if not attained:
                continue
            low, high = min(attained, key=attained.__getitem__), max(attained, key=attained.__getitem__)
            if attained[high] - attained[low] > tolerance:
                got = f"{attained[low]:+.3f} in arm {low} and {attained[high]:+.3f} in arm {high}"
                allowed = f"stances within start.tolerance = {tolerance:g} of one another"
                do = "match them with a prior scale (start.prior_scale=meet), change start.seeds,"
                do += " or accept unequal starts with a larger start.tolerance"
                raise SettingError(f"start of {SIDES[side]} in trial {trial}", got=got, allowed=allowed, do=do)


def asks(resolved: ResolvedDebate) -> bool:
    """Return whether any member of a debate asks a language model."""
    return any(member_asks(member, params) for member, params in resolved.members.values())
