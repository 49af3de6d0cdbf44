"""Compiled weights of argument records: their source, and the label of their last exposure."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import AgentSettings, Table
from townsquare.beliefs.contract import Changes, ClaimExposures, Records, Replayed
from townsquare.beliefs.equation import log_odds_at, stance_at
from townsquare.beliefs.exposure_kernels import novelty, social_proof
from townsquare.beliefs.log_odds_kernels import amount
from townsquare.beliefs.move_kernels import author_slots, learned
from townsquare.core.array_types import Float, Int64
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.pairs import PairBlock
from townsquare.core.threads import Part

_PEER, _ACCEPTED = int(Origin.PEER), int(HoldingChange.ACCEPTED)


class Weights(NamedTuple):
    """What the kernel writes for each record (k,): how it came, its label before and now, and its last exposure.

    ``worth`` is the product of trust, social proof and novelty when it was accepted, ``label`` the label weight of
    its last exposure; both are 1 where nothing weighs. ``shown`` is a row of the claim exposures of this step, or -1.
    ``change_trust`` (c,) is the trust that was read for each change, NaN for none.
    """

    worth: Float
    label_before: Float
    label: Float
    shown: Int64
    change_trust: Float


@nb.njit(nogil=True, cache=True, error_model="numpy")
def carry_over(
    part: Part, old_worth: PairBlock, old_label: PairBlock, records: Records, worth: Float, label: Float
) -> None:
    """Write worth and label of earlier records; 1 for new ones. Claims ascend within each agent."""
    for i in range(part.start, part.stop):
        o, end = old_worth.indptr[i], old_worth.indptr[i + 1]
        for x in range(records.indptr[i], records.indptr[i + 1]):
            while o < end and old_worth.key[o] < records.claim[x]:
                o += 1
            known = o < end and old_worth.key[o] == records.claim[x]
            worth[x] = old_worth.value[o] if known else 1.0
            label[x] = old_label.value[o] if known else 1.0


@nb.njit(cache=True, error_model="numpy")
def worth_of(p: AgentSettings, trust: float, likes: int, first_seen: bool) -> float:
    """Return the factor on the strength of a record that came with these; each factor has a switch."""
    worth = 1.0
    if p.weigh_trust > 0.0:
        worth *= trust
    if p.weigh_social_proof > 0.0:
        worth *= social_proof(p, likes)
    if p.weigh_novelty > 0.0:
        worth *= novelty(p, first_seen)
    return worth


@nb.njit(nogil=True, cache=True, error_model="numpy")
def weigh(
    part: Part, records: Records, changes: Changes, claim_exposures: ClaimExposures, trust: Float, table: Table,
    out: Weights,
) -> None:  # fmt: skip
    """Update the weights of n agents' records with a step; ``out`` holds those from before.

    ``trust`` (m,) is trust in the author of each exposure, at the start of the step.
    """
    worth, _, label, shown, change_trust = out
    for i in range(part.start, part.stop):
        p = table[i % table.shape[0]]
        first, end = claim_exposures.indptr[i], claim_exposures.indptr[i + 1]
        for m in range(first, end):
            x = records.indptr[i] + claim_exposures.record[m]
            shown[x] = m
            if p.weigh_labels > 0.0 and records.origin[x] == _PEER:
                label[x] = claim_exposures.weight[m]
        for c in range(changes.indptr[i], changes.indptr[i + 1]):
            if changes.rank[c] < 0:
                continue
            accepted = changes.kind[c] == _ACCEPTED
            x = records.indptr[i] + changes.record[c]
            for m in range(first, end):
                same = claim_exposures.rank[m] == changes.rank[c] and claim_exposures.post[m] == changes.post[c]
                if not same or (accepted and claim_exposures.record[m] != changes.record[c]):
                    continue
                if p.weigh_trust > 0.0:
                    change_trust[c] = trust[m]
                if accepted and records.origin[x] == _PEER:
                    worth[x] = worth_of(p, trust[m], claim_exposures.likes[m], claim_exposures.first_seen[m])
                break


@nb.njit(cache=True, error_model="numpy")
def _end(rows: Replayed, i: int, p: AgentSettings, slot: Int64, trust: Float, worth: Float) -> float:
    """Return where person ``i`` ends; ``trust`` by author and ``worth`` by event are scratch."""
    log_odds, first = log_odds_at(rows.initial[i], p.anchoring, p.stance_margin), rows.indptr[i]
    trust[:] = p.trust_start
    for x in range(first, rows.indptr[i + 1]):
        at, polarity = x - first, int(rows.polarity[x])
        if rows.sign[x] < 0.0:
            # What a record of an earlier stretch was worth is not known here: as from an author never met.
            own = at - rows.back[x]
            was = worth[own] if own >= 0 else worth_of(p, p.trust_start, 0, True)
            log_odds -= amount(p, polarity, rows.strength[x] * was, _PEER, False)
            continue
        author = slot[at]
        worth[at] = worth_of(p, trust[author], 0, True)
        log_odds += amount(p, polarity, rows.strength[x] * worth[at], _PEER, False)
        trust[author] = learned(trust[author], rows.shown[x], stance_at(log_odds), p.trust_rate)
    return stance_at(log_odds)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def replay_social(part: Part, rows: Replayed, cells: Table, out: Float) -> None:
    """Write where each person ends: one message per step, all new, without likes or labels."""
    for i in range(part.start, part.stop):
        n = rows.indptr[i + 1] - rows.indptr[i]
        slot, worth = np.empty(n, np.int64), np.zeros(n)
        trust = np.empty(author_slots(rows, i, slot))
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[i, j, k] = _end(rows, i, cells[j, k], slot, trust, worth)
