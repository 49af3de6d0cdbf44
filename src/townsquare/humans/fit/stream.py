"""The evidence stream of each person: what was taken in, in order, and what a stronger near-duplicate put out again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from townsquare.beliefs.evidence.conflict import check_records, check_theta
from townsquare.beliefs.evidence.holding_kernels import Arrivals, resolve
from townsquare.beliefs.evidence.near import NearPairs, Vectors, near_pairs
from townsquare.core import registry
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.schema import HoldingChange
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.judging import Claims, default_polarity, describe, judged
from townsquare.humans.trajectories import Trajectories, spans_of

_AT_A_TIME = 20_000  # texts whose vectors are held at once


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """e events of n people: records that began to count, and records that ceased to. Polarity and strength as judged.

    Attributes
    ----------
    indptr : (n + 1,) int64
        A CSR by person, in order of the messages.
    place : (e,) int64
        How many messages the person had received when it happened, from 1.
    polarity, strength : (e,) float64
        -1 or +1, and [0, 1].
    sign : (e,) float64
        +1 for a record that began to count, -1 for one that ceased to.
    shown : (e,) float64
        Stance of the message, [-1, 1].
    author : (e,) int64
        Row of the trajectories' authors.
    back : (e,) int64
        How many events before this one its record began to count; 0 where ``sign`` is +1.
    tie : (e,) float64
        How strongly the person is tied to the author, [0, 1]; NaN where the data do not say.
    group, reader_group : (e,) int64
        Row of the trajectories' groups, of the author and of the person; -1 for none.
    counts : dict of str to float
        Claims found, accepted, refused and replaced, and what they are like.
    """

    indptr: Int64
    place: Int64
    polarity: Float
    strength: Float
    sign: Float
    shown: Float
    author: Int64
    back: Int64
    tie: Float
    group: Int64
    reader_group: Int64
    counts: dict[str, float]

    def take(self, rows: Int64) -> Stream:
        """The streams of some people."""
        at, indptr = spans_of(self.indptr, np.asarray(rows, np.int64))
        columns = {name: getattr(self, name)[at] for name in COLUMNS}
        return replace(self, indptr=indptr, **columns)


COLUMNS = ("place", "polarity", "strength", "sign", "shown", "author", "back", "tie", "group", "reader_group")


def stream_of(people: Trajectories, choice: EvidenceChoice) -> Stream:
    """What each person takes in of the messages it received.

    Raises
    ------
    DataError
        The data have no side, strength or option by which ``choice`` would read them.
    """
    claims = _filtered(people, judged(people, choice), choice)
    check_records(claims.polarity, claims.strength, people.name)
    row = np.searchsorted(people.indptr, claims.message, side="right") - 1
    indptr = np.zeros(len(people) + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=len(people)), out=indptr[1:])
    accepted, replaced = np.ones(claims.message.size, np.bool_), np.full(claims.message.size, -1, np.int64)
    if choice.dedup:
        accepted, replaced = _resolved(claims, indptr, choice)
    counts = {
        **describe(claims, people),
        "accepted": float(accepted.sum()),
        "refused": float((~accepted).sum()),
        "replaced": float((replaced >= 0).sum()),
    }
    return _events(people, claims, indptr, row, accepted, replaced, counts)


def theta_of(choice: EvidenceChoice) -> float:
    """The threshold that is used: the one chosen, else that of the embedder."""
    return float(choice.theta if choice.theta is not None else registry.get("embedder", choice.embedder).theta)


def settled(people: Trajectories, choice: EvidenceChoice) -> EvidenceChoice:
    """The choice with everything that the data or the embedder decide filled in, so that it can be repeated."""
    strength = choice.strength or ("given" if np.isfinite(people.strength).any() else "constant")
    polarity = choice.polarity or default_polarity(people)
    return EvidenceChoice.model_validate(
        {**choice.model_dump(), "polarity": polarity, "strength": strength, "theta": theta_of(choice)}
    )


def _filtered(people: Trajectories, claims: Claims, choice: EvidenceChoice) -> Claims:
    """Claims that the uptake filter lets in."""
    keep: Bool = np.ones(claims.message.size, np.bool_)
    if choice.uptake_filter == "first_per_author":
        row = np.searchsorted(people.indptr, claims.message, side="right") - 1
        keys = np.stack([row, people.author[claims.message], claims.polarity.astype(np.int64)])
        _, first = np.unique(keys, axis=1, return_index=True)
        keep = np.zeros(claims.message.size, np.bool_)
        keep[first] = True
    elif choice.uptake_filter == "stronger_half" and claims.message.size:
        keep = claims.strength >= np.median(claims.strength)
    at = np.flatnonzero(keep)
    texts = tuple(claims.text[place] for place in at.tolist())
    return Claims(claims.message[at], claims.polarity[at], claims.shown[at], claims.strength[at], texts)


def _resolved(claims: Claims, indptr: Int64, choice: EvidenceChoice) -> tuple[Bool, Int64]:
    """Which claims became active, and which one each replaced (-1 for none), by appendix B; some vectors at a time."""
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
            said = np.array([bool(texts[k]) for k in pairs.later.tolist()], np.bool_)  # no text, no near-duplicates
            parts.append(NearPairs(pairs.later[said] + lo, pairs.earlier[said] + lo, pairs.similarity[said]))
    near = NearPairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    polarity, flags = claims.polarity.astype(np.int8), np.zeros(claims.message.size, np.uint8)
    nothing = np.zeros((indptr.size - 1, 1))
    out = resolve(Arrivals(indptr, polarity, claims.strength, near), flags, 0, nothing, theta)
    return out.change[::2] == HoldingChange.ACCEPTED, out.replaced.astype(np.int64)


def _events(
    people: Trajectories,
    claims: Claims,
    indptr: Int64,
    row: Int64,
    accepted: Bool,
    replaced: Int64,
    counts: dict[str, float],
) -> Stream:
    """Accepted claims as events, each after that of the record which it put out."""
    came = np.flatnonzero(accepted)
    left = came[replaced[came] >= 0]
    claim = np.concatenate([came, replaced[left]])  # whose record
    cause = np.concatenate([came, left])  # the claim that brought it about
    sign = np.concatenate([np.ones(came.size), -np.ones(left.size)])
    order = np.lexsort((sign, cause))
    claim, cause, sign = claim[order], cause[order], sign[order]
    new = np.zeros(len(people) + 1, np.int64)
    np.cumsum(np.bincount(row[cause], minlength=len(people)), out=new[1:])
    began = np.zeros(claims.message.size, np.int64)
    began[claim[sign > 0]] = np.flatnonzero(sign > 0)
    person, message = row[cause], claims.message[claim]
    return Stream(
        indptr=new,
        place=claims.message[cause] - people.indptr[person] + 1,
        polarity=claims.polarity[claim],
        strength=claims.strength[claim],
        sign=sign,
        shown=claims.shown[claim],
        author=people.author[message],
        back=np.arange(claim.size) - began[claim],
        tie=people.tie[message],
        group=people.author_group[message],
        reader_group=people.group[person],
        counts=counts,
    )
