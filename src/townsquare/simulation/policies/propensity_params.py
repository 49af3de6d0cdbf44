"""Parameters of the policy `propensity`; where each default comes from stands next to it.

*Tuned* means chosen so that a prototype of a public meets published facts about platforms, on these same facts;
*measured* names a published number; *assumed* is a guess.
"""

from __future__ import annotations

from typing import Literal

from townsquare.settings.config import MemberParams, setting


class Params(MemberParams):
    """Settings of the policy `propensity`: what people do with rows that they examine, fitted to feeds."""

    rate: float = setting(
        0.009, "mean propensity to share a new post (tuned: 0.3 to 1 shares for each 100 views)", ge=0, le=1
    )
    person_sd: float = setting(
        2.0, "sd of the log of a person's lasting propensity to share, mean 1 (tuned: concentration of shares)", ge=0
    )
    person_posts: float = setting(
        0.6, "correlation of the logs of the propensities to share and to post (assumed)", ge=0, le=1
    )
    appeal_sd: float = setting(
        1.8, "sd of the log of a post's lasting appeal, mean 1 (tuned: sizes of cascades, posts never shared)", ge=0
    )
    age_hours: float = setting(3.0, "age at which a post begins to lose its shares", gt=0, unit="h")
    age_power: float = setting(
        1.1, "power of 1 + age/age_hours by which shares are lost (tuned: half of shares within 5.3 to 5.5 h)", ge=0
    )
    ceiling: float = setting(0.2, "largest chance of a share (assumed)", gt=0, le=1)
    asked: float = setting(
        220.0,
        "odds of a share by people who are asked about each post, as in a survey, for each unit of propensity; "
        "the ceiling is then 1 (tuned: a tenth of people make 36 % of the shares of falsehoods in surveys)",
        gt=0,
    )
    asked_appeal_sd: float = setting(
        0.3,
        "`appeal_sd` of posts that people are asked about (measured: share rates of headlines in four surveys have sds "
        "of 0.1 to 0.5 log odds)",
        ge=0,
    )
    plausibility: float = setting(
        1.35,
        "per unit of plausibility, without belief (tuned: false posts 0.64 times as often as true ones when people are "
        "asked)",
    )
    concordance: float = setting(
        2.5,
        "per unit of 1 - |S - s|/2 (tuned: +0.37 to +1.13 log odds for concordant posts in four surveys)",
    )
    taste: float = setting(
        1.2, "per unit of a reader's taste, on posts whose author is a source of credibility below 0.5 (tuned)", ge=0
    )
    label_route: Literal["belief", "direct", "none"] = setting(
        "belief",
        "how labels and notes change what people do with a claim: through how far the reader believes it, where the "
        "belief rule holds that (else `direct`); by `label_share` and `note_share`; or not at all",
    )
    belief: float = setting(
        0.67, "power of a reader's belief in a claim, in [0, 1], in the propensity to share it (fitted: labels on "
        "false claims take 24.7 % of shares where they take 27.6 % of believers, 21 experiments)", ge=0,
    )  # fmt: skip
    note_rest: float = setting(
        0.75, "factor on sharing where a community note is shown, besides what it does to belief (fitted: reposts "
        "-45.7 % after a note, of which belief makes -27 %)", ge=0,
    )  # fmt: skip
    label_share: float = setting(
        0.753, "factor on sharing where a verdict `false` is shown, without belief (measured: -24.7 %, 21 experiments)",
        ge=0,
    )  # fmt: skip
    note_share: float = setting(
        0.54, "factor on sharing where a community note is shown, without belief (measured: reposts -45.7 %)", ge=0
    )
    likes_per_share: float = setting(6.0, "likes for each share of a person with propensity 1 (assumed)", ge=0)
    comments_per_share: float = setting(0.1, "comments for each share (assumed)", ge=0)
    flags: float = setting(0.02, "chance of a flag on a post of plausibility 0 (assumed)", ge=0, le=1)
    notes: float = setting(0.01, "chance of writing a note on a post of plausibility 0 (assumed)", ge=0, le=1)
    doubted: float = setting(0.5, "plausibility at and above which nobody flags a post (assumed)", gt=0, le=1)
    notes_doubted: float = setting(
        0.5, "plausibility at and above which nobody writes a note on a post (assumed)", gt=0, le=1
    )
    notes_bias: float = setting(
        0.0,
        "what disagreement takes from plausibility where people decide on a note, per unit of |S - s| above 1",
        ge=0,
    )
    ratings: float = setting(0.1, "chance of rating a note that is offered (assumed, as in `statistical`)", ge=0, le=1)
    posts_per_session: float = setting(0.3, "mean number of own posts in a session (tuned: activity)", ge=0, le=4)
    posts_sd: float = setting(
        2.3, "sd of the log of a person's lasting propensity to post (tuned: a tenth writes most)", ge=0
    )
    most_posts: int = setting(
        5,
        "most own posts in a session; the mean holds up to 0.9 times this limit (assumed)",
        ge=1,
        le=100,
    )
    posts_topical: float = setting(
        0.05, "share of own posts that argue for or against a proposition; the others take no stance (assumed)",
        ge=0, le=1,
    )  # fmt: skip
    side: float = setting(
        1.0, "dependence of an argument's side on the stance S: for with probability (1 + side S)/2 (assumed)",
        ge=0, le=1,
    )  # fmt: skip
    text_width: float = setting(0.3, "scale of |stance of the argument - own stance| in its choice (assumed)", gt=0)
    hedges: float = setting(0.6, "share of written arguments that open with a hedge (assumed)", ge=0, le=1)
    tails: float = setting(0.5, "share of written arguments that end with a source or anecdote (assumed)", ge=0, le=1)
    helpful_distance: float = setting(
        1.5, "rating a note helpful: log odds per unit of |S - s| - 1 of the post (assumed, as in `statistical`)"
    )
    helpful_doubt: float = setting(
        4.0, "rating a note helpful: log odds per unit of 0.5 - plausibility (assumed, as in `statistical`)"
    )
    helpful_band: float = setting(
        0.0, "rating a note somewhat helpful: half width in log odds (assumed, as in `statistical`)", ge=0
    )
    helpful_base: float = setting(0.0, "rating a note of a contributor helpful: log odds (assumed)")
    helpful_quality: float = setting(
        1.0, "rating a note of a contributor helpful: log odds per standard deviation of its quality (assumed)"
    )
    helpful_source: float = setting(
        2.0, "rating a note of a contributor helpful: log odds if it cites a source against the post (assumed)"
    )
    helpful_evidence: float = setting(
        3.0,
        "log odds that the source of a note takes from the plausibility of its post for who rates the note (assumed: "
        "`beliefs.note`)",
        ge=0,
    )
    helpful_lenient: float = setting(
        0.5,
        "sd of the log odds by which a lasting leniency of raters differs, for notes of contributors (assumed)",
        ge=0,
    )
