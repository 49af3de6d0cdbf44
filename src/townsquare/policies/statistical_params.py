"""Parameters of the statistical policy, each with where its default comes from.

*Measured*: mean actions for each shown post of the 204 participants of MOSAIC's human study (15 posts each): like
0.128, comment 0.048, share 0.042, note 0.051. A base is the logit for which the mean chance over the default
distribution of activity (Gamma, shape 0.35, mean 1) is that rate; `tests/test_policies.py` checks it.
*Assumed*: every other number, until it is fitted to people. Signs follow common findings (people like and share what
they agree with, flag and annotate what they doubt, share less of what carries a warning); sizes are guesses.
"""

from __future__ import annotations

from pydantic import Field

from townsquare.config import MemberParams
from townsquare.schema import ActionKind


class KindParams(MemberParams):
    """The logit of one kind of action on one shown row.

    ``base + ln(activity) + distance (|S - s| - 0.5) + engagement ln(1 + likes) + followed [followed author]
    + verdict_false [..] + verdict_true [..] + noted [..] + plausibility (p - 0.5) + repeated [seen before]``;
    the term in distance is 0 where the post takes no stance, and its mean over the propositions it speaks to elsewhere.
    """

    base: float = Field(description="log odds at the reference row, for activity 1")
    distance: float = Field(0.0, description="per unit of |own stance - stance of the post|")
    engagement: float = Field(0.0, description="per unit of ln(1 + likes shown)")
    followed: float = Field(0.0, description="the author of the row is followed")
    verdict_false: float = Field(0.0, description="a verdict `false` is shown")
    verdict_true: float = Field(0.0, description="a verdict `true` is shown")
    noted: float = Field(0.0, description="a community note is shown")
    plausibility: float = Field(0.0, description="per unit of plausibility")
    repeated: float = Field(0.0, description="shown to this agent before")


def _like() -> KindParams:
    return KindParams(
        base=-1.5831, distance=-1.2, engagement=0.08, followed=0.3, verdict_false=-0.8, verdict_true=0.1, noted=-0.4,
        plausibility=1.0, repeated=-1.5,
    )  # fmt: skip


def _dislike() -> KindParams:
    return KindParams(
        base=-3.8361, distance=1.5, engagement=0.05, followed=-0.3, verdict_false=0.5, noted=0.3, plausibility=-1.0,
        repeated=-1.5,
    )  # fmt: skip


def _share() -> KindParams:
    return KindParams(
        base=-3.0124, distance=-1.0, engagement=0.12, followed=0.3, verdict_false=-1.2, verdict_true=0.1, noted=-0.7,
        plausibility=0.6, repeated=-2.0,
    )  # fmt: skip


def _comment() -> KindParams:
    return KindParams(base=-2.8567, distance=0.3, engagement=0.1, followed=0.4, repeated=-2.0)


def _like_comment() -> KindParams:
    return KindParams(base=-2.5896, distance=-1.2, engagement=0.08, repeated=-1.5)


def _flag() -> KindParams:
    return KindParams(
        base=-4.5669, distance=0.8, verdict_false=-0.5, noted=-0.3, plausibility=-3.0, repeated=-1.5
    )  # fmt: skip


def _follow() -> KindParams:
    return KindParams(base=-4.5669, distance=-1.0, engagement=0.1, verdict_false=-0.8, plausibility=0.5)


def _unfollow() -> KindParams:
    return KindParams(base=-6.9039, distance=1.5, verdict_false=0.5, plausibility=-1.0)


def _add_note() -> KindParams:
    return KindParams(
        base=-2.7851, distance=0.5, engagement=0.1, verdict_false=-1.0, noted=-1.5, plausibility=-4.0, repeated=-1.5
    )  # fmt: skip


def _rate_note() -> KindParams:
    return KindParams(base=-1.9326)


class Params(MemberParams):
    """Settings of the policy `statistical`; see the module for sources."""

    like: KindParams = Field(default_factory=_like, description="base measured, the rest assumed")
    dislike: KindParams = Field(default_factory=_dislike, description="assumed; rate 0.02")
    share: KindParams = Field(default_factory=_share, description="base measured, the rest assumed")
    comment: KindParams = Field(default_factory=_comment, description="base measured, the rest assumed")
    like_comment: KindParams = Field(default_factory=_like_comment, description="assumed; rate 0.06")
    flag: KindParams = Field(default_factory=_flag, description="assumed; rate 0.01")
    follow: KindParams = Field(default_factory=_follow, description="assumed; rate 0.01")
    unfollow: KindParams = Field(default_factory=_unfollow, description="assumed; rate 0.001")
    add_note: KindParams = Field(default_factory=_add_note, description="base measured, the rest assumed")
    rate_note: KindParams = Field(default_factory=_rate_note, description="assumed; rate 0.1 of the notes offered")
    posts_per_step: float = Field(0.05, ge=0, description="posts a step at activity 1 (assumed)")
    side: float = Field(
        1.0, ge=0, le=1, description="how far the side of an argument follows the stance: for with (1 + side S)/2"
    )
    text_width: float = Field(0.3, gt=0, description="scale of |stance of the argument - own stance| in its choice")
    helpful_distance: float = Field(
        1.5, description="rating a note helpful: log odds per unit of |S - s| - 1 of the post (assumed)"
    )
    helpful_doubt: float = Field(
        4.0, description="rating a note helpful: log odds per unit of 0.5 - plausibility of the post (assumed)"
    )


ROW_KINDS = (
    ActionKind.LIKE,
    ActionKind.DISLIKE,
    ActionKind.SHARE,
    ActionKind.COMMENT,
    ActionKind.LIKE_COMMENT,
    ActionKind.FLAG,
    ActionKind.FOLLOW,
    ActionKind.UNFOLLOW,
    ActionKind.ADD_NOTE,
    ActionKind.RATE_NOTE,
)
"""Kinds that act on a row, in the order in which an agent does them."""

COEFFICIENTS = tuple(KindParams.model_fields)
