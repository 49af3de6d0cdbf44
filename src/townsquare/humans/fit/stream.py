"""The evidence stream of each person: what was taken in, in order, and what a stronger near-duplicate put out again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.conflict import check_records, check_theta
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core import registry
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.judging import Claims, default_polarity, describe, judged
from townsquare.humans.trajectories import Bool, Float, Int, Trajectories, codes_of, spans_of

_AT_A_TIME = 20_000  # claims whose vectors are held at once


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
    counts : dict of str to float
        Claims found, accepted, refused and replaced, and what they are like.
    """

    indptr: Int
    place: Int
    polarity: Float
    strength: Float
    sign: Float
    shown: Float
    author: Int
    back: Int
    counts: dict[str, float]

    def take(self, rows: Int) -> Stream:
        """The streams of some people."""
        at, indptr = spans_of(self.indptr, np.asarray(rows, np.int64))
        columns = {name: getattr(self, name)[at] for name in COLUMNS}
        return replace(self, indptr=indptr, **columns)


COLUMNS = ("place", "polarity", "strength", "sign", "shown", "author", "back")


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
    accepted, replaced = np.ones(claims.message.size, np.uint8), np.full(claims.message.size, -1, np.int64)
    theta = theta_of(choice)
    if choice.dedup:
        check_theta(theta)
        accepted, replaced = _resolved(claims, indptr, choice, theta)
    counts = {
        **describe(claims, people),
        "accepted": float(accepted.sum()),
        "refused": float((accepted != ACCEPTED).sum()),
        "replaced": float((replaced >= 0).sum()),
    }
    return _events(people, claims, indptr, row, accepted == ACCEPTED, replaced, counts)


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


def _resolved(claims: Claims, indptr: Int, choice: EvidenceChoice, theta: float) -> tuple[np.ndarray, Int]:
    """Which claims became active, and which one each replaced; people by people, some vectors at a time."""
    embedder = registry.get("embedder", choice.embedder)
    accepted, replaced = np.ones(claims.message.size, np.uint8), np.full(claims.message.size, -1, np.int64)
    first = 0
    while first < indptr.size - 1:
        end = int(np.searchsorted(indptr, indptr[first] + _AT_A_TIME, side="right")) - 1
        end = min(max(end, first + 1), indptr.size - 1)
        lo, hi = int(indptr[first]), int(indptr[end])
        if hi > lo:
            text, texts = codes_of(claims.text[lo:hi])
            vectors = Vectors(embedder, embedder.params()).of(texts)
            blank = texts.index("") if "" in texts else -1
            resolve(
                indptr[first : end + 1] - lo, claims.polarity[lo:hi], claims.strength[lo:hi], text, vectors,
                theta, blank, accepted[lo:hi], replaced[lo:hi],
            )  # fmt: skip
            replaced[lo:hi] += np.where(replaced[lo:hi] >= 0, lo, 0)
        first = end
    return accepted, replaced


def _events(
    people: Trajectories, claims: Claims, indptr: Int, row: Int, accepted: Bool, replaced: Int, counts: dict[str, float]
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
    person = row[cause]
    return Stream(
        indptr=new,
        place=claims.message[cause] - people.indptr[person] + 1,
        polarity=claims.polarity[claim],
        strength=claims.strength[claim],
        sign=sign,
        shown=claims.shown[claim],
        author=people.author[claims.message[claim]],
        back=np.arange(claim.size) - began[claim],
        counts=counts,
    )


# Compiled conflict resolution of one person's claims, in the order in which they came (appendix B).
#
# The rules are those of :func:`townsquare.beliefs.evidence.conflict.resolve_conflict`; a claim with the text of an
# active one has a similarity of 1 to it.


Single = npt.NDArray[np.float32]

ACCEPTED, REFUSED = 1, 0


@nb.njit(cache=True, error_model="numpy")
def _cosine(one: Single, other: Single) -> float:
    total = 0.0
    for d in range(one.shape[0]):
        total += float(one[d]) * float(other[d])
    return total


@nb.njit(cache=True, error_model="numpy")
def _nearest(
    first: int, x: int, polarity: Float, text: Int, vectors: Single, active: npt.NDArray[np.bool_], blank: int
) -> tuple[int, float]:
    """The nearest active claim of the same polarity before ``x``, the first of equals; -1 if there is none."""
    best, similarity = -1, -2.0
    for y in range(first, x):
        if not active[y] or polarity[y] != polarity[x]:
            continue
        same = text[y] == text[x] and text[x] != blank
        cosine = 1.0 if same else _cosine(vectors[text[y]], vectors[text[x]])
        if cosine > similarity:
            best, similarity = y, cosine
    return best, similarity


@nb.njit(cache=True, error_model="numpy")
def resolve(
    indptr: Int,
    polarity: Float,
    strength: Float,
    text: Int,
    vectors: Single,
    theta: float,
    blank: int,
    accepted: npt.NDArray[np.uint8],
    replaced: Int,
) -> None:
    """Write for each claim whether it became active, and which one it replaced (-1 for none).

    ``indptr`` (n + 1,) is a CSR by person over the c claims; ``text`` (c,) are rows of ``vectors`` (t, d), of
    unit length. ``blank`` is the row of the empty text, -1 for none: data without texts have no near-duplicates.
    """
    active = np.zeros(polarity.shape[0], np.bool_)
    for i in range(indptr.shape[0] - 1):
        for x in range(indptr[i], indptr[i + 1]):
            near, similarity = _nearest(indptr[i], x, polarity, text, vectors, active, blank)
            replaced[x] = -1
            if near >= 0 and similarity >= theta:
                if strength[x] <= strength[near]:
                    accepted[x] = REFUSED
                    continue
                active[near] = False
                replaced[x] = near
            active[x] = True
            accepted[x] = ACCEPTED
