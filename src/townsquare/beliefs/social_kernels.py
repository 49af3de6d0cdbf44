"""Compiled weights of argument records: how each came to the agent, and the label that last stood beside it."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.contract import Float
from townsquare.core.schema import HoldingChange, Origin

SETTINGS = ("social_proof_floor", "social_proof_per_like", "novelty_new", "novelty_repeat")
"""Columns of the table of settings that the kernel takes, one row an agent or one for all."""

_FLOOR, _PER_LIKE, _NEW, _REPEAT = range(4)
_PEER, _ACCEPTED = int(Origin.PEER), int(HoldingChange.ACCEPTED)
Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


class Switches(NamedTuple):
    """Which factors weigh."""

    trust: bool
    social_proof: bool
    novelty: bool
    labels: bool


class Events(NamedTuple):
    """Columns that the kernel reads: records (k,), changes (c,) and showings (m,), each a CSR by agent.

    ``trust`` (m,) is trust in the author of each showing, at the start of the step.
    """

    indptr: Int64
    claim: Int32
    origin: npt.NDArray[np.uint8]
    change_indptr: Int64
    change_record: Int32
    change_kind: npt.NDArray[np.uint8]
    change_post: Int32
    change_rank: npt.NDArray[np.int16]
    shown_indptr: Int64
    shown_record: Int32
    shown_post: Int32
    shown_rank: npt.NDArray[np.int16]
    likes: Int32
    first_seen: npt.NDArray[np.bool_]
    label: Float
    trust: Float


class Weights(NamedTuple):
    """What the kernel writes for each record (k,): how it came, its label before and now, and its last showing.

    ``worth`` is the product of trust, social proof and novelty when it was accepted, ``label`` the label weight of
    its last showing; both are 1 where nothing weighs. ``shown`` is a row of the showings of this step, -1 for none.
    ``change_trust`` (c,) is the trust that was read for each change, NaN for none.
    """

    worth: Float
    label_before: Float
    label: Float
    shown: Int64
    change_trust: Float


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def carry_over(
    old_indptr: Int64,
    old_claim: Int32,
    old_worth: Float,
    old_label: Float,
    indptr: Int64,
    claim: Int32,
    worth: Float,
    label: Float,
) -> None:
    """Worth and label of the records that were there before; 1 for new ones. Claims ascend within each agent."""
    for i in nb.prange(indptr.shape[0] - 1):
        o, end = old_indptr[i], old_indptr[i + 1]
        for x in range(indptr[i], indptr[i + 1]):
            while o < end and old_claim[o] < claim[x]:
                o += 1
            known = o < end and old_claim[o] == claim[x]
            worth[x] = old_worth[o] if known else 1.0
            label[x] = old_label[o] if known else 1.0


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def weigh(rows: Events, table: Float, on: Switches, out: Weights) -> None:
    """Bring the weights of n agents' records up to date with a step; ``out`` holds those from before."""
    indptr, change_indptr, shown_indptr = rows.indptr, rows.change_indptr, rows.shown_indptr
    worth, _, label, shown, change_trust = out
    for i in nb.prange(indptr.shape[0] - 1):
        s = i % table.shape[0]
        for m in range(shown_indptr[i], shown_indptr[i + 1]):
            x = indptr[i] + rows.shown_record[m]
            shown[x] = m
            if on.labels and rows.origin[x] == _PEER:
                label[x] = rows.label[m]
        for c in range(change_indptr[i], change_indptr[i + 1]):
            if rows.change_rank[c] < 0:
                continue
            x = indptr[i] + rows.change_record[c]
            for m in range(shown_indptr[i], shown_indptr[i + 1]):
                same = rows.shown_rank[m] == rows.change_rank[c] and rows.shown_post[m] == rows.change_post[c]
                if not same or (rows.change_kind[c] == _ACCEPTED and rows.shown_record[m] != rows.change_record[c]):
                    continue
                if on.trust:
                    change_trust[c] = rows.trust[m]
                if rows.change_kind[c] == _ACCEPTED and rows.origin[x] == _PEER:
                    worth[x] = 1.0
                    if on.trust:
                        worth[x] *= rows.trust[m]
                    if on.social_proof:
                        worth[x] *= table[s, _FLOOR] + rows.likes[m] * table[s, _PER_LIKE]
                    if on.novelty:
                        worth[x] *= table[s, _NEW] if rows.first_seen[m] else table[s, _REPEAT]
                break
