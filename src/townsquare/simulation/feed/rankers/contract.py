"""The contract of a ranker: a score for each post or for each reader and post, and optionally its own retrieval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from townsquare.core.array_types import Bool, Float, Int32, Int64
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member, check_array, check_type, check_values, repeated
from townsquare.settings.base import FamilyMember
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.ranking_view import RankingView

FAMILY = "ranker"


class ReaderCandidates(NamedTuple):
    """Candidates for the feeds of k readers, one row each; rows ``indptr[i] : indptr[i + 1]`` are those of reader i.

    ``indptr`` is (k + 1,) int64, the other columns are (m,). ``reader`` int32 is the agent whose feed it is. ``post``
    int32 is the row of posts, ``root`` int32 its root, ``author`` int32 who wrote or shared the post. ``followed`` bool
    says whether the reader follows this author. For each reader, a root appears at most once among rows from followed
    accounts, and at most once among the others.
    """

    indptr: Int64
    reader: Int32
    post: Int32
    root: Int32
    author: Int32
    followed: Bool


class Retrieved(NamedTuple):
    """Roots for each of k readers: ``root[indptr[i] : indptr[i + 1]]`` (rows of posts, int32) are those of reader i."""

    indptr: Int64
    root: Int32


Retrieve = Callable[[RankingView, Int32, Any], Retrieved]
"""``retrieve(view, readers, params)``: live roots for each reader (k,), each once.

Roots of the reader, of accounts that it follows and of accounts that it blocked are left out of the feed.
"""


@dataclass(frozen=True, slots=True)
class Ranker(FamilyMember):
    """A member of the family ``ranker`` that gives each post one score, the same for every reader.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings.
    score : callable
        ``score(view, params) -> (n_posts,) float64``: one number per row of posts; higher scores are shown first.
        Posts with equal scores are ordered at random, separately for each reader.
    retrieve : callable, optional
        Returns the candidates from accounts that a reader does not follow, see :data:`Retrieve`; those with the highest
        scores are shown. Without it, they come as `feed.outside` says.
    """

    score: Callable[[RankingView, Any], Float]
    retrieve: Retrieve | None = None


@dataclass(frozen=True, slots=True)
class ReaderRanker(FamilyMember):
    """A member of the family ``ranker`` that scores posts for each reader.

    As :class:`Ranker`, but ``score(view, readers, candidates, params) -> (m,) float64`` gives one number per row
    of ``candidates``, see :class:`ReaderCandidates`. ``readers`` (k,) int32 are agents in any order. The score of a row
    does not depend on the other readers.
    """

    score: Callable[[RankingView, Int32, ReaderCandidates, Any], Float]
    retrieve: Retrieve | None = None


@dataclass(frozen=True, slots=True)
class ChosenRanker:
    """A ranker with its parameters."""

    member: Ranker | ReaderRanker
    params: MemberParams

    @property
    def is_uniform(self) -> bool:
        """Whether every reader has the same candidates from others, with the same scores."""
        return isinstance(self.member, Ranker) and self.member.retrieve is None

    def scores(self, view: RankingView) -> Float:
        """Score every post, (n_posts,) float64, all finite; 0 where the ranker scores for each reader.

        Raises
        ------
        ContractError
            The ranker gives something else; names the first post at fault and its score.
        """
        member, n = self.member, view.posts.n
        if isinstance(member, ReaderRanker):
            return np.zeros(n)
        score = call_member(FAMILY, member.name, "score", lambda: member.score(view, self.params))
        bad = self._first_bad(score, n, "posts")
        if bad is not None:
            raise self._not_finite(score[bad], bad)
        return score

    def scores_of(self, view: RankingView, readers: Int32, candidates: ReaderCandidates, of_posts: Float) -> Float:
        """Score the candidates of ``readers``, (m,) float64, all finite; ``of_posts`` is what :meth:`scores` gave.

        Raises
        ------
        ContractError
            The ranker gives something else; names the first reader and post at fault, and the score.
        """
        member = self.member
        if isinstance(member, Ranker):
            return of_posts[candidates.post]
        score = call_member(FAMILY, member.name, "score", lambda: member.score(view, readers, candidates, self.params))
        bad = self._first_bad(score, candidates.post.size, "candidates")
        if bad is not None:
            raise self._not_finite(score[bad], int(candidates.post[bad]), int(candidates.reader[bad]))
        return score

    def retrieved(self, view: RankingView, readers: Int32) -> Retrieved | None:
        """Return the roots that the ranker retrieves for ``readers``; None if it leaves this to the shared pool.

        Raises
        ------
        ContractError
            It gives anything but live roots, each once a reader; names the reader and the root.
        """
        name, retrieve = self.member.name, self.member.retrieve
        if retrieve is None:
            return None
        returned: object = call_member(FAMILY, name, "retrieve", lambda: retrieve(view, readers, self.params))
        indptr, root = retrieved = check_type(FAMILY, name, "retrieve", returned, Retrieved)
        check_array(FAMILY, name, "retrieved indptr", indptr, np.int64, (readers.size + 1,))
        check_array(FAMILY, name, "retrieved root", root, np.int32, (None,))
        if indptr[0] or (np.diff(indptr) < 0).any() or indptr[-1] != root.size:
            raise breach(FAMILY, name, "retrieve returned offsets of other rows", f"from 0 up to {root.size}")
        reader = np.repeat(readers, np.diff(indptr))
        checks = (
            ("retrieved row of no live root:", root, np.isin(root, view.live_roots), "of view.live_roots"),
            ("retrieved twice: root", root, ~repeated(reader, root), "each root once"),
        )
        check_values(FAMILY, name, checks, reader)
        return retrieved

    def _first_bad(self, score: object, n: int, of: str) -> int | None:
        """Return where the first score that is not finite stands; None if all are."""
        check_array(FAMILY, self.member.name, "scores", score, np.float64, (n,), entry=f"one number a row of {of}")
        assert isinstance(score, np.ndarray)
        finite = np.isfinite(score)
        return None if finite.all() else int(np.argmin(finite))

    def _not_finite(self, score: float, post: int, agent: int | None = None) -> ContractError:
        got = f"a score that is not finite: {score} of post {post}"
        return breach(FAMILY, self.member.name, got, "finite numbers, which can be put in order", agent=agent)
