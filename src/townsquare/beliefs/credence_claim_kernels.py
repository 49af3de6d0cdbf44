"""The claims that people met under ``credence``: how far each believes each, in parts that sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import Table, read_only
from townsquare.beliefs.contract import Contents, Exposed
from townsquare.beliefs.credence_kernels import (
    DAY,
    Attitudes,
    Marks,
    Step,
    gate,
    independent,
    leak,
    leaked,
    left_after,
    marks_of,
    persuade,
    prior_of,
    reliability_of,
)
from townsquare.beliefs.equation import stance_at
from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.pairs import PairBlock, empty_block, lookup, upsert
from townsquare.core.threads import Part

STRENGTH = 0.5
"""Strength of a claim as evidence for itself, where nobody rated it."""


class Claims(NamedTuple):
    """Parts of pairs of an agent and a claim, (k,) float64 each; ``left`` is (k, P).

    ``prior`` log odds at the first meeting; ``source`` log odds of who passed it on, ``witnesses`` how often it was
    read. Memory in a fast and a slow part: ``verdict_fast`` and ``verdict_slow`` of verdicts, as shares of a verdict
    that is heeded, negative for false; ``note_fast`` and ``note_slow`` of notes, likewise; ``read_fast`` and
    ``read_slow`` of readings. ``met``: hours on the run's clock. ``judged``: log odds at the showings of the last
    step, with what stood beside the claim, and ``judged_verdict`` and ``judged_note`` its parts of verdicts and
    notes, there or remembered; 0 without a showing. ``left``: what is left of the terms by which the claim moved the
    attitude toward each proposition, and ``gate`` how far it was believed when it did, in [0, 1].
    """

    prior: Float
    source: Float
    witnesses: Float
    verdict_fast: Float
    verdict_slow: Float
    note_fast: Float
    note_slow: Float
    read_fast: Float
    read_slow: Float
    met: Float
    judged: Float
    judged_verdict: Float
    judged_note: Float
    gate: Float
    left: Float


_OF_STEP = ("judged", "judged_verdict", "judged_note")
SUMS = 10
"""Columns of ``sums``, in which what rows say of a claim adds up."""


def no_claims(n: int, n_propositions: int) -> dict[str, PairBlock]:
    """Return the parts of ``n`` agents that met no claim."""
    pairs = {name: empty_block(n, np.float64) for name in Claims._fields}
    return pairs | {"left": pairs["left"]._replace(value=np.empty((0, n_propositions)))}


def met_claims(
    pairs: Mapping[str, PairBlock], indptr: Int64, contents: Contents, *, alone: bool = False
) -> tuple[Int64, Array, Claims, Int64]:
    """Return pairs with those of this step among them: the CSR, its claims, the parts, and the pair of each row.

    A new pair is all 0, and was met at -1; the pair of a row without a claim is -1. With ``alone``, only the pairs of
    this step are returned.
    """
    old = pairs[Claims._fields[0]]
    is_claim = contents.claim >= 0
    asked = np.r_[0, np.cumsum(is_claim)][indptr]
    index = PairBlock(old.indptr, old.key, np.arange(old.key.shape[0], dtype=np.int32))
    index = empty_block(old.n_agents, np.int32) if alone else index
    keys = np.ascontiguousarray(contents.claim[is_claim])
    block, slot, _ = upsert(index, asked, keys, np.full(keys.shape[0], -1, np.int32))
    was = lookup(old, block.indptr, block.key) if alone else np.asarray(block.value, np.int64)
    new, parts = np.flatnonzero(was < 0), {}
    for name in Claims._fields:
        before = pairs[name].value
        if name in _OF_STEP or not old.key.size:
            parts[name] = np.zeros((was.shape[0], *before.shape[1:]))
        else:
            parts[name] = before.take(was, axis=0, mode="clip")
            parts[name][new] = 0.0
    parts["met"][new] = -1.0
    of_row = np.full(is_claim.shape[0], -1, np.int64)
    of_row[is_claim] = slot
    return block.indptr, block.key, Claims(**parts), read_only(of_row, "i8")


@nb.njit(inline="always", cache=True, error_model="numpy")
def familiarity(fast: float, slow: float, p: Any) -> float:
    """Return the log odds of having read a claim before: logarithmic in what is left of the readings."""
    out: float = p.familiar * math.log2(1.0 + fast + slow)
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def _fade(s: int, now: float, p: Any, claims: Claims) -> None:
    days = (now - claims.met[s]) / DAY
    fast, slow = math.exp(-days / p.fast_days), math.exp(-days / p.slow_days)
    claims.verdict_fast[s] *= fast
    claims.verdict_slow[s] *= slow
    claims.note_fast[s] *= fast
    claims.note_slow[s] *= slow
    claims.read_fast[s] *= fast
    claims.read_slow[s] *= slow
    left = left_after(days, p)
    for k in range(claims.left.shape[1]):
        claims.left[s, k] *= left
    claims.met[s] = now


@nb.njit(inline="always", cache=True, error_model="numpy")
def _remembered(s: int, p: Any, claims: Claims) -> Marks:
    verdict = p.verdict * (claims.verdict_fast[s] + claims.verdict_slow[s])
    return Marks(verdict, p.note * (claims.note_fast[s] + claims.note_slow[s]))


@nb.njit(inline="always", cache=True, error_model="numpy")
def _counts(x: int, first: int, rows: Exposed) -> bool:
    """Return whether row ``x`` is the first of its showing: a post with several stances has a row for each."""
    new = True
    for y in range(first, x):
        new &= rows.post[y] != rows.post[x] or rows.rank[y] != rows.rank[x]
    return new


@nb.njit(cache=True, error_model="numpy")
def meet(
    i: int, rows: Exposed, contents: Contents, slot: Int64, own: Float, now: float, heed: float, p: Any,
    claims: Claims, believed: Float, sums: Float, base: int,
) -> None:  # fmt: skip
    """Write what agent ``i`` believes of each claim it is shown, ``believed`` (m,): with the label beside it now.

    ``own`` (n, P) are its log odds of propositions. A showing is judged before it counts as a reading. ``sums`` has
    a row for each pair of the agent, from pair ``base`` on, that is 0 before and after: what adds up by pair does not
    depend on the order of rows.
    """
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        s = slot[x]
        if s >= 0 and claims.met[s] < 0.0:
            sums[s - base, 0] += 1.0
            sums[s - base, 1] += prior_of(contents.plausibility[x], own[i, rows.proposition[x]] * rows.stance[x], p)
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        s = slot[x]
        if s < 0:
            continue
        if claims.met[s] < 0.0:
            claims.prior[s], claims.met[s] = sums[s - base, 1] / sums[s - base, 0], now
            sums[s - base, :] = 0.0
        elif claims.met[s] < now:
            _fade(s, now, p, claims)
        marks = marks_of(contents.verdict[x], contents.noted[x], heed, p)
        if math.isnan(marks.verdict):
            marks = _remembered(s, p, claims)
        familiar = familiarity(claims.read_fast[s], claims.read_slow[s], p)
        believed[x] = claims.prior[s] + claims.source[s] + familiar + (marks.verdict + marks.note)


@nb.njit(cache=True, error_model="numpy")
def retract(
    i: int, rows: Exposed, slot: Int64, p: Any, claims: Claims, believed: Float, sums: Float, base: int, out: Step,
) -> None:  # fmt: skip
    """Take back a part of what each claim shown to agent ``i`` had moved, where it is believed less than then."""
    first, stop = rows.indptr[i], rows.indptr[i + 1]
    for x in range(first, stop):
        s = slot[x]
        if s >= 0 and claims.gate[s] > 0.0 and _counts(x, first, rows):
            sums[s - base, 0] += 1.0
            sums[s - base, 4] += believed[x]
    for x in range(first, stop):
        s, k = slot[x], rows.proposition[x]
        if s < 0 or sums[s - base, 0] == 0.0:
            continue
        falls = 1.0 - gate(sums[s - base, 4] / sums[s - base, 0], p) / claims.gate[s]
        again = False
        for y in range(first, x):
            again |= slot[y] == s and rows.proposition[y] == k
        if falls > 0.0 and not again:
            back = -p.retract * falls * claims.left[s, k]
            out.retracted[x] = back
            claims.left[s, k] += back
            out.log_odds[i, k] += back
    for x in range(first, stop):
        s = slot[x]
        if s >= 0 and sums[s - base, 0] > 0.0:
            claims.gate[s] = min(claims.gate[s], gate(sums[s - base, 4] / sums[s - base, 0], p))
            sums[s - base, :] = 0.0


@nb.njit(cache=True, error_model="numpy")
def remember(
    i: int, rows: Exposed, contents: Contents, slot: Int64, heed: float, p: Any, claims: Claims, believed: Float,
    sums: Float, base: int, exposure: Float,
) -> None:  # fmt: skip
    """Add the readings, sources, marks and moves of a step to the parts of each claim that agent ``i`` was shown.

    ``sums`` are of showings, reliability, showings with a mark, shares of a verdict in them, beliefs at the showing,
    sizes of moves ``exposure`` (m,), these times how far the claim counted, shares of a note, and the parts of verdicts
    and notes in beliefs. The last mark replaces what is left of those before it, be it a verdict or a note.
    """
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        s = slot[x]
        if s >= 0 and exposure[x] != 0.0:
            claims.left[s, rows.proposition[x]] += exposure[x]
            sums[s - base, 5] += abs(exposure[x])
            sums[s - base, 6] += abs(exposure[x]) * gate(believed[x], p)
        if s >= 0 and _counts(x, rows.indptr[i], rows):
            marks = marks_of(contents.verdict[x], contents.noted[x], heed, p)
            sums[s - base, 0] += 1.0
            sums[s - base, 1] += reliability_of(rows.credibility[x], p)
            sums[s - base, 4] += believed[x]
            if math.isnan(marks.verdict):
                marks = _remembered(s, p, claims)
            else:
                sums[s - base, 2] += 1.0
                sums[s - base, 3] += marks.verdict / p.verdict if p.verdict > 0.0 else 0.0
                sums[s - base, 7] += marks.note / p.note if p.note > 0.0 else 0.0
            sums[s - base, 8] += marks.verdict
            sums[s - base, 9] += marks.note
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        s = slot[x]
        if s < 0 or sums[s - base, 0] == 0.0:
            continue
        n, marked = sums[s - base, 0], sums[s - base, 2]
        claims.judged[s] = sums[s - base, 4] / n
        claims.judged_verdict[s], claims.judged_note[s] = sums[s - base, 8] / n, sums[s - base, 9] / n
        if sums[s - base, 5] > 0.0:
            had = max(np.abs(claims.left[s]).sum() - sums[s - base, 5], 0.0)
            claims.gate[s] = (had * claims.gate[s] + sums[s - base, 6]) / (had + sums[s - base, 5])
        read, before = p.attention * n, claims.witnesses[s]
        claims.witnesses[s] = before + read
        more = independent(claims.witnesses[s], p.overlap) - independent(before, p.overlap)
        claims.source[s] += 2.0 * math.atanh(min(sums[s - base, 1] / n * STRENGTH, p.cap)) * more
        claims.read_fast[s] += read * p.fast_share
        claims.read_slow[s] += read * (1.0 - p.fast_share)
        if marked > 0.0:
            seen = 1.0 - (1.0 - p.attention) ** marked
            verdict, note = sums[s - base, 3] / marked, sums[s - base, 7] / marked
            claims.verdict_fast[s] += seen * (verdict * p.fast_share - claims.verdict_fast[s])
            claims.verdict_slow[s] += seen * (verdict * (1.0 - p.fast_share) - claims.verdict_slow[s])
            claims.note_fast[s] += seen * (note * p.fast_share - claims.note_fast[s])
            claims.note_slow[s] += seen * (note * (1.0 - p.fast_share) - claims.note_slow[s])
        sums[s - base, :] = 0.0


@nb.njit(inline="always", cache=True, error_model="numpy")
def _room(part: Part, indptr: Int64) -> Float:
    """Return sums of 0 for the pairs of the agent with the most."""
    most = 0
    for i in range(part.start, part.stop):
        most = max(most, indptr[i + 1] - indptr[i])
    return np.zeros((most, SUMS))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def take_step(
    part: Part, rows: Exposed, contents: Contents, before: Attitudes, hours: float, clock: Float, heed: Float,
    slot: Int64, table: Table, indptr: Int64, claims: Claims, believed: Float, out: Step,
) -> None:  # fmt: skip
    """Take a step of every agent of a block: attitudes leak, claims are judged, persuade, and are remembered.

    Pairs ``indptr[i]`` to ``indptr[i + 1]`` - 1 are those of agent ``i``.
    """
    sums = _room(part, indptr)
    for i in range(part.start, part.stop):
        p, since = table[i % table.shape[0]], before.hours[i] + hours
        reads = rows.indptr[i + 1] > rows.indptr[i]
        leak(i, reads or since >= DAY - 1e-9, before, since, p, out)
        if reads:  # most people are not online, and a call that takes all arrays costs as much as a row
            meet(i, rows, contents, slot, out.log_odds, clock[i], heed[i], p, claims, believed, sums, indptr[i])
            retract(i, rows, slot, p, claims, believed, sums, indptr[i], out)
            persuade(i, rows, believed, p, out)
            remember(i, rows, contents, slot, heed[i], p, claims, believed, sums, indptr[i], out.exposure)
        for k in range(out.stance.shape[1]):
            out.stance[i, k] = stance_at(out.log_odds[i, k])


@nb.njit(cache=True, error_model="numpy")
def _own_now(i: int, before: Attitudes, since: float, p: Any, own: Float) -> None:
    left = left_after(since / DAY, p)
    for k in range(own.shape[1]):
        own[i, k] = before.log_odds[i, k] + leaked(i, k, before, left)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def judge_shown(
    part: Part, rows: Exposed, contents: Contents, before: Attitudes, hours: float, clock: Float, heed: Float,
    slot: Int64, table: Table, indptr: Int64, claims: Claims, believed: Float, own: Float,
) -> None:  # fmt: skip
    """Write what :func:`take_step` will find of ``believed`` (m,), and nothing else; ``own`` (n, P) is room to work."""
    sums = _room(part, indptr)
    for i in range(part.start, part.stop):
        if rows.indptr[i + 1] > rows.indptr[i]:
            p = table[i % table.shape[0]]
            _own_now(i, before, before.hours[i] + hours, p, own)
            meet(i, rows, contents, slot, own, clock[i], heed[i], p, claims, believed, sums, indptr[i])
