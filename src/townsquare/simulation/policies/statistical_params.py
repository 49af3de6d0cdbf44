"""Parameters of the statistical policy, each with where its default comes from.

*Fitted* by ``townsquare fit-policy`` (docs/policy-fit.md): base, plausibility, appeal and taste of like, share, comment
and add_note, the weights of appeal, attention, and with them the settings of activity in ``population``. Source: 126
of the 204 participants of MOSAIC's human study (genglinliu/MOSAIC at de373bd, 2025-04-22), two feeds, 10 and 20 posts.
*Measured*: what verdicts do to sharing, 24 headlines by condition; ``unlabeled`` is the nearest thing that they tell.
Both on 2026-11-22.
*Assumed*: every other number. Verdicts are taken to do to likes what they do to shares. The bases of other kinds give
stated mean rates over the default distribution of activity; `tests/simulation/test_policies.py` checks them. Signs
follow common findings (people like and share what they agree with, flag what they doubt); sizes are guesses.
"""

from __future__ import annotations

from typing import Any

from townsquare.core.schema import ActionKind
from townsquare.settings.config import MemberParams, setting


class KindParams(MemberParams):
    """The logit of one kind of action on one shown row.

    ``base + ln(activity) + taste x + attention ln(n / 15) + distance (|S - s| - 0.5)
    + engagement ln(1 + likes) + followed [followed author] + verdict_false [..] + verdict_true [..]
    + verdict_unverified [..] + noted [..] + unlabeled [none of these, though another row has one]
    + plausibility (p - 0.5) + appeal A(text) + repeated [seen before]``;
    the term in distance is 0 where the post takes no stance, and its mean over the propositions it speaks to elsewhere.
    x is a standard logistic draw that an agent keeps for life, one a kind; n is the number of posts shown, taken as 10
    where it is smaller and as 20 where it is larger.
    """

    base: float = setting(..., "log odds at the reference row, for activity 1")
    distance: float = setting(0.0, "per unit of |own stance - stance of the post|")
    engagement: float = setting(0.0, "per unit of ln(1 + likes shown)")
    followed: float = setting(0.0, "the author of the row is followed")
    verdict_false: float = setting(0.0, "a verdict `false` is shown")
    verdict_true: float = setting(0.0, "a verdict `true` is shown")
    verdict_unverified: float = setting(0.0, "a verdict `unverified` is shown")
    unlabeled: float = setting(0.0, "no label is shown, but another row of the feed has one (implied truth)")
    noted: float = setting(0.0, "a community note is shown")
    plausibility: float = setting(0.0, "per unit of plausibility")
    appeal: float = setting(0.0, "per unit of the appeal of the words, see `policy.appeal`")
    repeated: float = setting(0.0, "shown to this agent before")
    taste: float = setting(0.0, "how far agents differ in their liking for this kind, for life", ge=0)


class Appeal(MemberParams):
    """What the words of a post add to liking, sharing and commenting; features in
    `simulation/policies/text_features.py`.
    """

    people: float = setting(0.0, "per unit of ln(1 + words for people)")
    address: float = setting(0.0, "per unit of ln(1 + words such as you and we)")
    names: float = setting(0.0, "per unit of the share of words with a capital")
    numbers: float = setting(0.0, "per unit of ln(1 + numbers)")


def _kind(description: str, **coefficients: float) -> Any:
    return setting(lambda: KindParams(**coefficients), description)


_FITTED = "fitted and measured in part, see the module"


class Params(MemberParams):
    """Settings of the policy `statistical`; see the module for sources."""

    like: KindParams = _kind(
        _FITTED, base=-2.76, distance=-1.2, engagement=0.08, followed=0.3, verdict_false=0.02, verdict_true=0.39,
        verdict_unverified=0.18, noted=-0.4, plausibility=2.17, appeal=1.0, repeated=-1.5, taste=0.51,
    )  # fmt: skip
    dislike: KindParams = _kind(
        "assumed; rate 0.02", base=-3.8512, distance=1.5, engagement=0.05, followed=-0.3, verdict_false=0.5, noted=0.3,
        plausibility=-1.0, repeated=-1.5,
    )  # fmt: skip
    share: KindParams = _kind(
        _FITTED, base=-3.98, distance=-1.0, engagement=0.12, followed=0.3, verdict_false=0.02, verdict_true=0.39,
        verdict_unverified=0.18, unlabeled=0.15, noted=-0.7, plausibility=-0.05, appeal=1.0, repeated=-2.0, taste=0.51,
    )  # fmt: skip
    comment: KindParams = _kind(
        _FITTED, base=-3.33, distance=0.3, engagement=0.1, followed=0.4, plausibility=-2.32, appeal=1.0, repeated=-2.0,
        taste=0.58,
    )  # fmt: skip
    like_comment: KindParams = _kind(
        "assumed; rate 0.03", base=-3.4145, distance=-1.2, engagement=0.08, repeated=-1.5
    )  # fmt: skip
    flag: KindParams = _kind(
        "assumed; rate 0.01", base=-4.5748, distance=0.8, verdict_false=-0.5, noted=-0.3, plausibility=-3.0,
        repeated=-1.5,
    )  # fmt: skip
    follow: KindParams = _kind(
        "assumed; rate 0.01", base=-4.5748, distance=-1.0, engagement=0.1, verdict_false=-0.8, plausibility=0.5
    )
    unfollow: KindParams = _kind(
        "assumed; rate 0.001", base=-6.9047, distance=1.5, verdict_false=0.5, plausibility=-1.0
    )  # fmt: skip
    add_note: KindParams = _kind(
        _FITTED, base=-3.52, distance=0.5, engagement=0.1, verdict_false=-1.0, noted=-1.5, plausibility=-9.34,
        repeated=-1.5, taste=0.56,
    )  # fmt: skip
    rate_note: KindParams = _kind("assumed; rate 0.1 of the notes offered", base=-1.994)
    attention: float = setting(
        -1.0,
        "per unit of ln(posts shown / 15), from 10 to 20 posts; -1: more posts, no more actions (fitted)",
        ge=-1,
        le=0,
    )
    appeal: Appeal = setting(
        lambda: Appeal(people=0.36, address=0.13, names=-1.01, numbers=-0.17), "what the words of a post add (fitted)"
    )
    posts_per_step: float = setting(0.05, "posts a step at activity 1 (assumed)", ge=0)
    side: float = setting(
        1.0, "how far the side of an argument follows the stance: for with (1 + side S)/2", ge=0, le=1
    )
    text_width: float = setting(0.3, "scale of |stance of the argument - own stance| in its choice", gt=0)
    helpful_distance: float = setting(
        1.5, "rating a note helpful: log odds per unit of |S - s| - 1 of the post (assumed)"
    )
    helpful_doubt: float = setting(
        4.0, "rating a note helpful: log odds per unit of 0.5 - plausibility of the post (assumed)"
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
