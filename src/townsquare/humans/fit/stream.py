"""Evidence stream of each person: accepted claims in order, and claims that a stronger near-duplicate replaced."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import offsets_of, read_only
from townsquare.beliefs.contract import Replayed
from townsquare.beliefs.evidence.conflict import check_records, check_theta
from townsquare.beliefs.evidence.holding_kernels import Arrivals, resolve
from townsquare.beliefs.evidence.near import NearPairs, Vectors, near_pairs
from townsquare.core import registry
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.enums import HoldingChange
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.judging import Claims, default_polarity, describe, judged
from townsquare.humans.trajectories import Trajectories

_AT_A_TIME = 20_000  # texts whose vectors are held at once


class Stream(NamedTuple):
    """Evidence of n people, event by event: records that began to count, and records that ceased to.

    Attributes
    ----------
    rows : Replayed
        From the initial stances, a CSR by person in order of the messages; polarity and strength as judged, authors and
        groups as rows of the trajectories.
    received : (e,) int64
        How many messages the person had received when it happened, from 1.
    counts : dict of str to float
        Claims found, accepted, refused and replaced, and what they are like.
    """

    rows: Replayed
    received: Int64
    counts: dict[str, float]


def replayed(initial: Float, indptr: Int64, *events: npt.ArrayLike) -> Replayed:
    """Return starts and events as kernels take them; ``events`` are the columns from ``polarity`` on."""
    dtypes = ("f8", "i8", "f8", "f8", "f8", "f8", "i8", "i8", "f8", "i8", "i8")
    columns = zip((initial, indptr, *events), dtypes, strict=True)
    return Replayed(*(read_only(column, dtype) for column, dtype in columns))


def stream_of(people: Trajectories, choice: EvidenceChoice) -> Stream:
    """Return what each person takes in of the messages it received.

    Raises
    ------
    DataError
        The data have no side, strength or option by which ``choice`` would read them.
    """
    claims = _filtered(people, judged(people, choice), choice)
    check_records(claims.polarity, claims.strength, people.name)
    row = np.searchsorted(people.indptr, claims.message, side="right") - 1
    indptr = offsets_of(np.bincount(row, minlength=len(people)))
    accepted, replaced = np.ones(claims.message.size, np.bool_), np.full(claims.message.size, -1, np.int64)
    if choice.dedup:
        accepted, replaced = _resolved(claims, indptr, choice)
    fates = {"accepted": accepted, "refused": ~accepted, "replaced": replaced >= 0}
    counts = describe(claims, people) | {name: float(fate.sum()) for name, fate in fates.items()}
    return _events(people, claims, row, accepted, replaced, counts)


def theta_of(choice: EvidenceChoice) -> float:
    """Return the threshold that is used: the one chosen, else that of the embedder."""
    return float(choice.theta if choice.theta is not None else registry.get("embedder", choice.embedder).theta)


def settled(people: Trajectories, choice: EvidenceChoice) -> EvidenceChoice:
    """Return the choice with everything that the data or the embedder decide filled in, so that it can be repeated."""
    strength = choice.strength or ("given" if np.isfinite(people.strength).any() else "constant")
    polarity = choice.polarity or default_polarity(people)
    return choice.model_copy(update={"polarity": polarity, "strength": strength, "theta": theta_of(choice)})


def _filtered(people: Trajectories, claims: Claims, choice: EvidenceChoice) -> Claims:
    """Return claims that the uptake filter lets in."""
    at = np.arange(claims.message.size)
    if choice.uptake_filter == "first_per_author":
        row = np.searchsorted(people.indptr, claims.message, side="right") - 1
        keys = np.stack([row, people.author[claims.message], claims.polarity.astype(np.int64)])
        at = np.sort(np.unique(keys, axis=1, return_index=True)[1])
    elif choice.uptake_filter == "stronger_half" and claims.message.size:
        at = np.flatnonzero(claims.strength >= np.median(claims.strength))
    texts = tuple(claims.text[row] for row in at.tolist())
    return Claims(claims.message[at], claims.polarity[at], claims.shown[at], claims.strength[at], texts)


def _resolved(claims: Claims, indptr: Int64, choice: EvidenceChoice) -> tuple[Bool, Int64]:
    """Return which claims became active, and the claim that each replaced (-1 for none), by appendix B."""
    embedder, theta = registry.get("embedder", choice.embedder), theta_of(choice)
    check_theta(theta)
    vectors = Vectors(embedder, embedder.params())
    parts = [NearPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for lo, hi in pairwise(indptr.tolist()):
        if len(vectors.known) > _AT_A_TIME:
            vectors.known.clear()
        texts = claims.text[lo:hi]
        if any(texts[1:]):
            pairs = near_pairs(vectors.of(texts), texts, 0, theta)
            has_text = np.array([bool(texts[k]) for k in pairs.later.tolist()], np.bool_)  # no text, no near-duplicates
            later, earlier = pairs.later[has_text] + lo, pairs.earlier[has_text] + lo
            parts.append(NearPairs(later, earlier, pairs.similarity[has_text]))
    near = NearPairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    polarity, flags = claims.polarity.astype(np.int8), np.zeros(claims.message.size, np.uint8)
    out = resolve(Arrivals(indptr, polarity, claims.strength, near), flags, 0, np.zeros((indptr.size - 1, 1)), theta)
    return out.change[::2] == HoldingChange.ACCEPTED, out.replaced.astype(np.int64)


def _events(
    people: Trajectories, claims: Claims, row: Int64, accepted: Bool, replaced: Int64, counts: dict[str, float]
) -> Stream:
    """Return accepted claims as events, each after that of the record which it put out."""
    came = np.flatnonzero(accepted)
    left = came[replaced[came] >= 0]
    claim = np.concatenate([came, replaced[left]])  # whose record
    cause = np.concatenate([came, left])  # the claim that brought it about
    sign = np.concatenate([np.ones(came.size), -np.ones(left.size)])
    order = np.lexsort((sign, cause))
    claim, cause, sign = claim[order], cause[order], sign[order]
    new = offsets_of(np.bincount(row[cause], minlength=len(people)))
    began = np.zeros(claims.message.size, np.int64)
    began[claim[sign > 0]] = np.flatnonzero(sign > 0)
    person, message = row[cause], claims.message[claim]
    rows = replayed(
        people.initial, new, claims.polarity[claim], claims.strength[claim], sign, claims.shown[claim],
        people.author[message], np.arange(claim.size) - began[claim], people.tie[message],
        people.author_group[message], people.group[person],
    )  # fmt: skip
    return Stream(rows, claims.message[cause] - people.indptr[person] + 1, counts)
