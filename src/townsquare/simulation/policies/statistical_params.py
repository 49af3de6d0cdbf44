"""Parameters of the statistical policy. Defaults of each kind of action, and where they come from, stand in
:mod:`townsquare.core.actions`; *assumed* or *fitted* stands next to each of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from townsquare.core.actions import ROW_KINDS, SPECS, WORDS, ActionKind
from townsquare.settings.config import MemberParams, Share, setting


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

    base: float = setting(..., "log odds at activity 1, distance 0.5, plausibility 0.5, all other terms 0")
    distance: float = setting(0.0, "log odds per unit of distance, |own stance - stance of the post|")
    engagement: float = setting(0.0, "log odds per unit of ln(1 + likes shown)")
    followed: float = setting(0.0, "log odds added if the row's author is followed")
    verdict_false: float = setting(0.0, "log odds added if the verdict `false` is shown")
    verdict_true: float = setting(0.0, "log odds added if the verdict `true` is shown")
    verdict_unverified: float = setting(0.0, "log odds added if the verdict `unverified` is shown")
    unlabeled: float = setting(0.0, "log odds added if only other rows of the feed have labels (implied truth)")
    noted: float = setting(0.0, "log odds added if a community note is shown")
    plausibility: float = setting(0.0, "log odds per unit of plausibility")
    appeal: float = setting(0.0, "log odds per unit of `policy.appeal`")
    repeated: float = setting(0.0, "log odds added if the agent saw the post before")
    taste: float = setting(0.0, "scale of lasting differences between agents, logistic, in log odds", ge=0)


class Appeal(MemberParams):
    """What the words of a post add to liking, sharing and commenting; features in
    `simulation/policies/text_features.py`.
    """

    people: float = setting(0.0, "appeal per unit of ln(1 + number of words for people, such as mother)")
    address: float = setting(0.0, "appeal per unit of ln(1 + number of words such as I, you, we)")
    names: float = setting(0.0, "appeal per unit of the share of capitalized words")
    numbers: float = setting(0.0, "appeal per unit of ln(1 + number of numerals)")


def by_kind(fields: Mapping[ActionKind, tuple[type[Any], Any]]) -> type[MemberParams]:
    """Make a base of parameters with a setting for each kind of action: its type, and its field."""
    named: dict[str, Any] = {WORDS[kind]: given for kind, given in fields.items()}
    return create_model("ByKind", __base__=MemberParams, **named)


def _coefficients(kind: ActionKind) -> tuple[type[Any], Any]:
    spec = SPECS[kind]
    meaning = f"coefficients of {spec.called} ({spec.source})"
    return KindParams, setting(lambda: KindParams(**spec.coefficients), meaning)


if TYPE_CHECKING:

    class ByKind(MemberParams):
        """A setting for each kind of action."""

else:
    ByKind = by_kind({kind: _coefficients(kind) for kind in ROW_KINDS})


class Params(ByKind):
    """Settings of the policy `statistical`."""

    attention: float = setting(
        -1.0, "log odds per unit of ln(n/15), n: posts in the feed, limited to 10 to 20; -1: within these limits, a "
        "longer feed gives no more actions (fitted)", ge=-1, le=0,
    )  # fmt: skip
    appeal: Appeal = setting(
        lambda: Appeal(people=0.36, address=0.13, names=-1.01, numbers=-0.17), "appeal of the words of a post (fitted)"
    )
    posts_per_step: float = setting(
        0.05, "rate of own posts per step online, at activity 1; at most one post in a step, with probability "
        "1 - exp(-rate) (assumed)", ge=0,
    )  # fmt: skip
    side: Share = setting(1.0, "an agent of stance S writes an argument in favor with probability (1 + side S)/2")
    text_width: float = setting(
        0.3, "distance between stances of argument and author at which the weight of an argument falls to 1/e", gt=0
    )
    helpful_distance: float = setting(
        1.5, "log odds of rating a note helpful per unit of |S - s| - 1; S: own stance, s: stance of the post (assumed)"
    )
    helpful_doubt: float = setting(
        4.0, "log odds of rating a note helpful per unit of 0.5 - plausibility of the post (assumed)"
    )
    helpful_band: float = setting(
        0.0,
        "a note is rated somewhat helpful within this distance, in log odds, of the threshold of helpful (assumed)",
        ge=0,
    )
