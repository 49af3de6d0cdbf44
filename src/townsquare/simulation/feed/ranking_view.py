"""The view of a ranker: posts, stances, reactions, follows, and how close readers are to authors."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import REACTIONS, ActionKind
from townsquare.core.array_types import Array, Bool, Float, Int32, Int64, read_only
from townsquare.core.enums import PostKind, PostStatus
from townsquare.core.threads import in_parts
from townsquare.simulation.feed.reaction_kernels import Reactions, count_sides, count_ties
from townsquare.simulation.world import World

_CLOSE = (ActionKind.LIKE, ActionKind.SHARE, ActionKind.LIKE_COMMENT)


class Follows(NamedTuple):
    """Agent ``a`` follows ``followed[indptr[a] : indptr[a + 1]]`` (int32, ascending) since the steps ``since``."""

    indptr: Int64
    followed: Int32
    since: Int32


class RankingView:
    """The state of the simulation before the feeds of a step are built. Every array is read-only.

    Attributes
    ----------
    step : int
        The step whose feeds are being built.
    step_hours : float
        The length of a step in hours; 1 where a step has no length.
    posts, post_stances, agents : GrowingTable
        Tables of the record with their current columns, by name: ``posts["likes"]`` is (n_posts,).
    """

    def __init__(self, world: World, step_hours: float = 1.0) -> None:
        self._world, self.step_hours = world, step_hours
        self.step = world.step + 1
        self.posts, self.post_stances, self.agents = world.posts, world.post_stances, world.agents

    @cached_property
    def stance(self) -> Float:
        """Stances of all agents, (n_agents, P), -1 to 1; rows of sources are 0."""
        return read_only(self._world.stance())

    @cached_property
    def confidence(self) -> Float:
        """Confidences of all agents, (n_agents, P), 0 to 1."""
        return read_only(self._world.confidence())

    def stances_of(self, posts: npt.ArrayLike) -> tuple[Int64, Int64]:
        """Return the rows of ``post_stances`` of some posts, and for each row the position of its post in ``posts``."""
        return self._world.stances_of(np.asarray(posts))

    def reacted(self, *kinds: ActionKind) -> tuple[Int32, Int32]:
        """Return which agents did any of these actions to which roots: agents and roots, (n,) each, each pair once.

        ``kinds`` may be like, dislike, share, flag, add_note and like_comment. For comments, see ``posts``: the author
        of a comment wrote under ``posts["parent"]``.
        """
        agent, root, done = self._reactions
        bits = sum(REACTIONS[kind] for kind in kinds)
        did = (done & bits) > 0
        return agent[did], root[did]

    @cached_property
    def follows(self) -> Follows:
        """Who follows whom."""
        indptr, followed, since = self._world.follows.whole()
        return Follows(read_only(indptr), read_only(followed), read_only(since))

    def is_following(self, readers: npt.ArrayLike, authors: npt.ArrayLike) -> Bool:
        """Return for each pair of a reader and an author whether the reader follows the author, (m,)."""
        keys, wanted = self._follow_keys, self._pairs(readers, authors)
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        return keys[at] == wanted if keys.size else np.zeros(wanted.shape, np.bool_)

    def ties(self, readers: npt.ArrayLike, authors: npt.ArrayLike) -> Int64:
        """Return for each pair how many roots and comments of the author the reader has liked or shared, (m,)."""
        reader, author = np.broadcast_arrays(np.asarray(readers, np.int64), np.asarray(authors, np.int64))
        out = np.zeros(reader.shape, np.int64)
        pairs, bits = (reader.ravel(), author.ravel()), sum(REACTIONS[kind] for kind in _CLOSE)
        in_parts(count_ties, reader.size, *pairs, self._reacted_to, self.posts["author"], bits, out.ravel())
        return out

    @cached_property
    def reactions_by_side(self) -> Int32:
        """Likes plus twice the shares of every post, (n_posts, 2): by agents against its proposition, by those for it.

        The side of an agent is the sign of its current stance toward the first proposition of the post; a stance of 0
        is on neither side. For a post without a stance, both numbers are 0.
        """
        count, first = self.posts["n_stances"], self.posts["stances"]
        proposition, speaks = np.full(count.size, -1, np.int64), count > 0
        proposition[speaks] = self.post_stances["proposition"][first[speaks]]
        out = np.zeros((count.size, 2), np.int32)
        like, share = (REACTIONS[kind] for kind in (ActionKind.LIKE, ActionKind.SHARE))
        count_sides(self._reacted_to, proposition, self.stance, like, share, out)
        return read_only(out)

    @cached_property
    def live_roots(self) -> Int32:
        """Original and injected posts that were not taken down (rows of posts, ascending): they can be retrieved."""
        kind, status = self.posts["kind"], self.posts["status"]
        is_root = (kind == PostKind.ORIGINAL) | (kind == PostKind.INJECTED)
        return read_only(np.flatnonzero(is_root & (status == PostStatus.ACTIVE)).astype(np.int32))

    @cached_property
    def _reacted_to(self) -> Reactions:
        """Reactions by agent; no copy where there is one block of agents."""
        pairs = self._world.reactions
        indptr, root, done = pairs.blocks[0] if len(pairs.blocks) == 1 else pairs.whole()
        return Reactions(read_only(indptr), read_only(root), read_only(done))

    @cached_property
    def _reactions(self) -> tuple[Int32, Int32, Array]:
        indptr, root, done = self._reacted_to
        return np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr)), root, done

    @cached_property
    def _follow_keys(self) -> Int64:
        indptr, followed, _ = self.follows
        return self._pairs(np.repeat(np.arange(indptr.size - 1), np.diff(indptr)), followed)

    def _pairs(self, readers: npt.ArrayLike, authors: npt.ArrayLike) -> Int64:
        """Return one number a pair of agents."""
        return np.asarray(readers, np.int64) * self.agents.n + np.asarray(authors, np.int64)
