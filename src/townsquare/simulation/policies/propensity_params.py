"""Parameters of the policy `propensity`; where each default comes from stands next to it.

*Tuned* means chosen so that a prototype of a public meets published facts about platforms, on these same facts;
*measured* names a published number; *assumed* is a guess.
"""

from __future__ import annotations

from typing import Literal

from townsquare.settings.config import MemberParams, Share, setting


class Params(MemberParams):
    """Settings of the policy `propensity`: what people do with rows that they examine, fitted to feeds."""

    rate: Share = setting(
        0.009, "mean probability that a new post is shared when seen (tuned: 0.3 to 1 shares per 100 views)"
    )
    person_sd: float = setting(
        2.0, "sd of the log of a person's lasting propensity to share, mean 1 (tuned to the concentration of shares)",
        ge=0,
    )  # fmt: skip
    person_posts: Share = setting(0.6, "correlation of the logs of the propensities to share and to post (assumed)")
    appeal_sd: float = setting(
        1.8, "sd of the log of a post's lasting appeal, mean 1 (tuned to sizes of cascades, posts never shared)", ge=0
    )
    age_hours: float = setting(
        3.0, "propensities to share are multiplied by (1 + age of the post/age_hours)^-age_power", gt=0, unit="h"
    )
    age_power: float = setting(
        1.1, "power in the formula of `policy.age_hours` (tuned: half of all shares within 5.3 to 5.5 h)", ge=0
    )
    ceiling: float = setting(
        0.2, "maximum probability of a share, before the effects of belief, labels and notes (assumed)", gt=0, le=1
    )
    asked: float = setting(
        220.0, "simulated surveys only: factor on propensities to share, which are then odds without a ceiling (tuned: "
        "in surveys, a tenth of people make 36% of the shares of false posts)", gt=0,
    )  # fmt: skip
    asked_appeal_sd: float = setting(
        0.3, "simulated surveys only: `appeal_sd` (measured: share rates of headlines in four surveys have sds of 0.1 "
        "to 0.5 log odds)", ge=0,
    )  # fmt: skip
    plausibility: float = setting(
        1.35, "log of the factor on the probability of a share (in surveys, its odds) per unit of plausibility of the "
        "post, with `label_route: direct`; under rules other than `credence` also with `label_route: belief` (tuned: "
        "in surveys, false posts are shared 0.47 to 0.92 times as often as true ones)",
    )  # fmt: skip
    concordance: float = setting(
        2.5, "log propensity per unit of 1 - |S - s|/2; S: own stance, s: stance of the post (tuned: in four surveys, "
        "posts that agree with the reader have log odds higher by 0.37 to 1.13)",
    )  # fmt: skip
    taste: float = setting(
        1.2, "log propensity per unit of a reader's taste, for posts by a source of credibility below 0.5 (tuned)", ge=0
    )
    label_route: Literal["belief", "direct", "none"] = setting(
        "belief", "effect of labels and notes on sharing and reactions: `belief`, through the reader's belief in the "
        "claim (`direct` for posts without a claim, and under all rules but `credence`); `direct`, by `label_share` "
        "and `note_share`; `none`, no effect",
    )  # fmt: skip
    belief: float = setting(
        0.67, "where `policy.plausibility` has no effect: the probability of a share (in surveys, its odds) is "
        "proportional to belief in the claim (with `label_route: none` or without a claim: plausibility) to this power "
        "(fitted: labels on false claims reduce shares by 24.7% and believers by 27.6%, 21 experiments)", ge=0,
    )  # fmt: skip
    note_rest: float = setting(
        0.75, "factor on sharing if a community note is shown, in addition to its effect through belief (fitted: "
        "reposts fall by 45.7% after a note, by 27% through belief)", ge=0,
    )  # fmt: skip
    label_share: float = setting(
        0.753, "factor on sharing if a verdict `false` is shown, where the effect is `direct` (see `label_route`; "
        "measured: -24.7%, 21 experiments)", ge=0,
    )  # fmt: skip
    note_share: float = setting(
        0.54, "factor on sharing if a community note is shown, where the effect is `direct` (see `label_route`; "
        "measured: reposts -45.7%)", ge=0,
    )  # fmt: skip
    likes_per_share: float = setting(6.0, "likes per share of a person with propensity 1 (assumed)", ge=0)
    comments_per_share: float = setting(0.1, "comments per share (assumed)", ge=0)
    flags: Share = setting(
        0.02, "probability of a flag at plausibility 0 (belief 0, where labels act through belief), falling linearly "
        "to 0 at `doubted` (assumed)",
    )  # fmt: skip
    notes: Share = setting(
        0.01, "probability of writing a note at plausibility 0 (belief 0, where labels act through belief), falling "
        "linearly to 0 at `notes_doubted` (assumed)",
    )  # fmt: skip
    doubted: float = setting(0.5, "plausibility or belief from which nobody flags a post (assumed)", gt=0, le=1)
    notes_doubted: float = setting(0.5, "plausibility or belief from which nobody writes a note (assumed)", gt=0, le=1)
    notes_bias: float = setting(
        0.0, "for `notes`, plausibility or belief is lower by this per unit of |S - s| above 1; S: own stance, s: "
        "stance of the post", ge=0,
    )  # fmt: skip
    ratings: Share = setting(
        0.1, "probability of rating a note offered in a feed; contributors rate all notes of their queue (assumed)"
    )
    posts_per_session: float = setting(0.3, "mean number of own posts in a session (tuned: activity)", ge=0, le=4)
    posts_sd: float = setting(
        2.3, "sd of the log of a person's lasting propensity to post (tuned: a tenth of people write most posts)", ge=0
    )
    most_posts: int = setting(
        5, "maximum own posts in a session; `posts_per_session` counts as at most 0.9 times this (assumed)", ge=1,
        le=100,
    )  # fmt: skip
    posts_topical: Share = setting(
        0.05, "share of own posts that argue for or against a proposition; the others take no stance (assumed)"
    )
    side: Share = setting(
        1.0, "a person of stance S writes an argument in favor with probability (1 + side S)/2 (assumed)"
    )
    text_width: float = setting(
        0.3,
        "distance between stances of argument and author at which the weight of an argument falls to 1/e (assumed)",
        gt=0,
    )
    hedges: Share = setting(0.6, "share of written arguments that open with a hedge (assumed)")
    tails: Share = setting(0.5, "share of written arguments that end with a source or anecdote (assumed)")
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
    helpful_base: float = setting(
        0.0, "log odds of rating a note of a contributor helpful, with all other terms at 0 (assumed)"
    )
    helpful_quality: float = setting(
        1.0, "log odds of rating a note of a contributor helpful per standard deviation of its quality (assumed)"
    )
    helpful_source: float = setting(
        2.0, "log odds added if the note of a contributor cites a source against the post (assumed)"
    )
    helpful_evidence: float = setting(
        3.0, "a source that a contributor's note cites lowers the plausibility of the post for raters by this, in log "
        "odds (assumed)", ge=0,
    )  # fmt: skip
    helpful_lenient: float = setting(
        0.5, "sd of lasting differences in leniency between raters, in log odds, for notes of contributors (assumed)",
        ge=0,
    )  # fmt: skip
