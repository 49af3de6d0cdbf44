"""What agents can do: one :class:`ActionSpec` for each kind of action, and all that follows from these.

A new kind is a number in :class:`ActionKind` and an entry in ``SPECS``. Settings, checks, the statistical policies,
prompts, memories, views and pages read the table, so that no other file names a kind that it does not treat apart.
``docs/adding-an-action.md`` says what to write where.

**Coefficients** are those of the statistical policy, each with where it comes from. *Fitted* by ``townsquare
fit-policy`` (docs/policy-fit.md): base, plausibility, appeal and taste of like, share, comment and add_note. Source:
126 of the 204 participants of MOSAIC's human study (genglinliu/MOSAIC at de373bd, 2025-04-22), two feeds, 10 and 20
posts. *Measured*: what verdicts do to sharing, 24 headlines by condition; ``unlabeled`` is the nearest thing that they
tell. Both on 2026-11-22. *Assumed*: every other number. Verdicts are taken to do to likes what they do to shares. The
bases of other kinds give stated mean rates over the default distribution of activity;
`tests/unit/simulation/test_policies.py` checks them. Signs follow common findings (people like and share what they
agree with, flag what they doubt); sizes are guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.enums import PostKind, Slot


class ActionKind(IntEnum):
    """What an agent can do in a step.

    Numbers are below 64 and stand in records: they are never changed, and never used again.
    """

    POST = 0
    LIKE = 1
    DISLIKE = 2
    SHARE = 3
    COMMENT = 4
    LIKE_COMMENT = 5
    FLAG = 6
    FOLLOW = 7
    UNFOLLOW = 8
    ADD_NOTE = 9
    RATE_NOTE = 10
    IGNORE = 11
    BLOCK = 12


class On(StrEnum):
    """What an action is done to: the number in the column ``target`` is a row of posts, agents or notes."""

    NOTHING = "nothing"
    POST = "post"  # or the root of the share that is shown
    COMMENT = "comment"
    ITEM = "post or comment"
    AUTHOR = "author"  # of the row that is shown
    NOTE = "note"  # that is offered for rating


class Allowed(StrEnum):
    """In which runs agents may do it, where ``actions.enabled`` is not set."""

    ALWAYS = "always"
    BY_STRATEGY = "with a moderation strategy that adds it"
    ON_REQUEST = "where `actions.also` names it"


class Tie(StrEnum):
    """What an action does to the follow between the agent and the author."""

    NONE = ""
    STARTS = "starts"
    ENDS = "ends"


class Length(StrEnum):
    """Which setting limits the text of an action."""

    NONE = ""
    POST = "post_length"
    COMMENT = "comment_length"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """What there is to know of one kind of action.

    Attributes
    ----------
    on : On
        What it is done to.
    once : bool
        It counts once for each agent and target.
    allowed : Allowed
        In which runs, where the settings do not say.
    writes : Length
        It has a text, which that setting limits.
    declares : bool
        The writer declares a stance with the text.
    makes : PostKind, optional
        The post that it makes.
    tie : Tie
        What it does to the follow of the author.
    hides : bool
        The author is not shown to the agent any more, comments included; a follow of the author ends, and none is
        possible from then on.
    counts : str
        The column of posts that counts it; "" for none.
    coefficients : mapping of str to float
        Its settings in the policy `statistical`; without any, that policy never does it to a row.
    source : str
        Where the coefficients come from.
    slots : tuple of Slot
        Rows to which the statistical policies do it.
    chance : float
        Its chance in the policy `blind`.
    called : str
        How a sentence names it: "chance of ...".
    prompt : str
        What a language model is told of it, after its word.
    did : str
        What an agent did, for reflections: "Lately I ...".
    memory : str
        The memory of one, with ``{author}``, ``{theirs}`` (text acted on) and ``{own}`` (text written).
    mosaic : str
        Its ``action_type`` in the views of MOSAIC's appendix D.
    """

    on: On = On.NOTHING
    once: bool = False
    allowed: Allowed = Allowed.ALWAYS
    writes: Length = Length.NONE
    declares: bool = False
    makes: PostKind | None = None
    tie: Tie = Tie.NONE
    hides: bool = False
    counts: str = ""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    slots: tuple[Slot, ...] = (Slot.FOLLOWED, Slot.OTHER, Slot.SENT)
    chance: float = 0.0
    called: str = ""
    prompt: str = ""
    did: str = ""
    memory: str = ""
    mosaic: str

    def __post_init__(self) -> None:
        needs = {"once": self.once and self.on == On.NOTHING, "tie": self.tie and self.on != On.AUTHOR}
        needs["hides"] = self.hides and self.on != On.AUTHOR
        wrong = [name for name, is_wrong in needs.items() if is_wrong]
        if wrong:
            raise ValueError(f"an action on {self.on} cannot have {', '.join(wrong)}; see docs/adding-an-action.md")


_FITTED = "fitted and measured in part, see core/actions.py"
_VERDICTS = {"verdict_false": 0.02, "verdict_true": 0.39, "verdict_unverified": 0.18}

SPECS: Mapping[ActionKind, ActionSpec] = {
    ActionKind.POST: ActionSpec(
        writes=Length.POST, declares=True, makes=PostKind.ORIGINAL, did="wrote posts", memory="I posted: {own}",
        mosaic="post",
    ),
    ActionKind.LIKE: ActionSpec(
        on=On.POST, once=True, counts="likes",
        coefficients=_VERDICTS | {"base": -2.76, "distance": -1.2, "engagement": 0.08, "followed": 0.3, "noted": -0.4,
            "plausibility": 2.17, "appeal": 1.0, "repeated": -1.5, "taste": 0.51},
        source=_FITTED, chance=0.1, called="a like", prompt="(p...)",
        did="liked posts", memory="I liked what {author} posted: {theirs}", mosaic="like_post",
    ),
    ActionKind.DISLIKE: ActionSpec(
        on=On.POST, once=True, counts="dislikes",
        coefficients={"base": -3.8512, "distance": 1.5, "engagement": 0.05, "followed": -0.3, "verdict_false": 0.5,
            "noted": 0.3, "plausibility": -1.0, "repeated": -1.5},
        source="assumed; rate 0.02", chance=0.02, called="a dislike", prompt="(p...)",
        did="disliked posts", memory="I disliked what {author} posted: {theirs}", mosaic="dislike_post",
    ),
    ActionKind.SHARE: ActionSpec(
        on=On.POST, once=True, makes=PostKind.SHARE, counts="shares",
        coefficients=_VERDICTS | {"base": -3.98, "distance": -1.0, "engagement": 0.12, "followed": 0.3,
            "unlabeled": 0.15, "noted": -0.7, "plausibility": -0.05, "appeal": 1.0, "repeated": -2.0, "taste": 0.51},
        source=_FITTED, chance=0.04, called="a share", prompt="(p...): pass it on to those who read you",
        did="passed posts on", memory="I passed on what {author} posted: {theirs}", mosaic="share_post",
    ),
    ActionKind.COMMENT: ActionSpec(
        on=On.POST, writes=Length.COMMENT, declares=True, makes=PostKind.COMMENT, counts="comments",
        coefficients={"base": -3.33, "distance": 0.3, "engagement": 0.1, "followed": 0.4, "plausibility": -2.32,
            "appeal": 1.0, "repeated": -2.0, "taste": 0.58},
        source=_FITTED, chance=0.04, called="a comment", prompt="(p...): answer it, with content",
        did="answered posts", memory="I answered {author}, who had posted: {theirs} My words: {own}",
        mosaic="comment_post",
    ),
    ActionKind.LIKE_COMMENT: ActionSpec(
        on=On.COMMENT, once=True, counts="likes", slots=(Slot.COMMENT,),
        coefficients={"base": -3.4145, "distance": -1.2, "engagement": 0.08, "repeated": -1.5},
        source="assumed; rate 0.03", chance=0.05, called="liking a comment", prompt="(c...)",
        did="liked comments", memory="I liked a comment by {author}: {theirs}", mosaic="like_comment",
    ),
    ActionKind.FLAG: ActionSpec(
        on=On.ITEM, once=True, counts="flags",
        coefficients={"base": -4.5748, "distance": 0.8, "verdict_false": -0.5, "noted": -0.3, "plausibility": -3.0,
            "repeated": -1.5},
        source="assumed; rate 0.01", chance=0.01, called="a flag", prompt="(p..., c...): report it to the moderators",
        did="reported posts", memory="I reported what {author} posted: {theirs}", mosaic="flag_post",
    ),
    ActionKind.FOLLOW: ActionSpec(
        on=On.AUTHOR, once=True, tie=Tie.STARTS, slots=(Slot.OTHER,),
        coefficients={"base": -4.5748, "distance": -1.0, "engagement": 0.1, "verdict_false": -0.8, "plausibility": 0.5},
        source="assumed; rate 0.01", chance=0.01, called="following the author",
        prompt="(p..., c...): whoever put it into your feed",
        did="began to read people", memory="I began to read {author}.", mosaic="follow_user",
    ),
    ActionKind.UNFOLLOW: ActionSpec(
        on=On.AUTHOR, once=True, tie=Tie.ENDS, slots=(Slot.FOLLOWED,),
        coefficients={"base": -6.9047, "distance": 1.5, "verdict_false": 0.5, "plausibility": -1.0},
        source="assumed; rate 0.001", chance=0.001, called="unfollowing the author", prompt="(p..., c...): that one",
        did="stopped reading people", memory="I stopped reading {author}.", mosaic="unfollow_user",
    ),
    ActionKind.ADD_NOTE: ActionSpec(
        on=On.POST, once=True, allowed=Allowed.BY_STRATEGY, writes=Length.POST, counts="notes",
        coefficients={"base": -3.52, "distance": 0.5, "engagement": 0.1, "verdict_false": -1.0, "noted": -1.5,
            "plausibility": -9.34, "repeated": -1.5, "taste": 0.56},
        source=_FITTED, chance=0.02, called="a community note",
        prompt="(p...): put a note with context under it, with content",
        did="put notes under posts", memory="I put a note under what {author} posted: {theirs} My note: {own}",
        mosaic="add_note",
    ),
    ActionKind.RATE_NOTE: ActionSpec(
        on=On.NOTE, once=True, allowed=Allowed.BY_STRATEGY,
        coefficients={"base": -1.994},
        source="assumed; rate 0.1 of the notes offered", chance=0.3,
        called="rating an offered note, helpful or not by the toss of a coin",
        prompt="(n...): judge a note you are offered, with helpful",
        did="judged notes", memory="I judged a note under a post by {author}: {theirs}", mosaic="rate_note",
    ),
    ActionKind.IGNORE: ActionSpec(mosaic="ignore"),
    ActionKind.BLOCK: ActionSpec(
        on=On.AUTHOR, once=True, allowed=Allowed.ON_REQUEST, hides=True,
        coefficients={"base": -6.9047, "distance": 1.5, "verdict_false": 0.5, "plausibility": -1.0},
        source="assumed; rate 0.001", chance=0.001, called="blocking the author",
        prompt="(p..., c...): never see anything of that one again",
        did="blocked people", memory="I blocked {author}.", mosaic="block_user",
    ),
}  # fmt: skip
"""Every kind of action, in the order of their numbers."""

WORDS: Mapping[ActionKind, str] = {kind: kind.name.lower() for kind in SPECS}
"""How settings, prompts and pages call a kind."""


def kinds_where(holds: Callable[[ActionSpec], Any]) -> tuple[ActionKind, ...]:
    """The kinds of which something holds, in the order of their numbers.

    >>> [kind.name for kind in kinds_where(lambda spec: spec.on == On.NOTE)]
    ['RATE_NOTE']
    """
    return tuple(kind for kind, spec in SPECS.items() if holds(spec))


def per_kind(dtype: npt.DTypeLike, values: Mapping[ActionKind, Any], default: int = 0) -> npt.NDArray[Any]:
    """A value for each number that a policy may name, (256,): also for those that are no kind."""
    table = np.full(256, default, dtype)
    for kind, value in values.items():
        table[kind] = value
    return table


ROW_KINDS = kinds_where(lambda spec: spec.coefficients)
"""Kinds that the statistical policies do to rows, in the order in which an agent does them."""
ON_AUTHORS = kinds_where(lambda spec: spec.on == On.AUTHOR)
ON_POSTS = kinds_where(lambda spec: spec.on in (On.POST, On.COMMENT, On.ITEM))
"""Kinds that are done to a post, or to a comment."""
COUNTED: Mapping[str, tuple[ActionKind, ...]] = {
    column: tuple(kind for kind, spec in SPECS.items() if spec.counts == column)
    for column in dict.fromkeys(spec.counts for spec in SPECS.values() if spec.counts)
}
"""Columns of posts that count actions, and the kinds that each counts."""
_MARKED = kinds_where(lambda spec: spec.once and spec.on in (On.POST, On.COMMENT, On.ITEM))
REACTIONS: Mapping[ActionKind, int] = {kind: 1 << place for place, kind in enumerate(_MARKED)}
"""Kinds that count once an agent and root, as bits of the reaction store."""
REACTION_BITS: npt.NDArray[Any] = per_kind(np.min_scalar_type((1 << len(REACTIONS)) - 1), REACTIONS)
"""The same by number, (256,), of the dtype of that store."""
