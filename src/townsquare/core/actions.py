"""What agents can do: one :class:`ActionSpec` for each kind of action, and all that follows from these.

A new kind is a number in :class:`ActionKind` and a section of ``actions.toml``. Settings, checks, the statistical
policies, prompts, memories, views and pages read the table, so that no other file names a kind that it does not treat
apart.
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

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array
from townsquare.core.enums import PostKind, Slot


class ActionKind(IntEnum):
    """What an agent can do in a step.

    Numbers are below 64 and are in records: they are never changed, and never used again.
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
    """The definition of one kind of action.

    Attributes
    ----------
    on : On
        The target of the action.
    once : bool
        Whether the action counts at most once per agent and target.
    allowed : Allowed
        The runs that allow the action if ``actions.enabled`` is not set.
    writes : Length
        The setting that limits the text of the action; none if it has no text.
    declares : bool
        Whether the writer declares a stance with the text.
    makes : PostKind, optional
        The kind of post that the action creates.
    tie : Tie
        Whether the action starts or ends a follow of the author.
    hides : bool
        Whether the author becomes invisible to the agent, comments included. A follow of the author then ends, and the
        agent cannot follow the author again.
    counts : str
        The column of posts that counts the action; "" for none.
    coefficients : mapping of str to float
        Coefficients in the policy `statistical`; without any, this policy and `blind` never use the action on a row
        of the feed.
    source : str
        The source of the coefficients.
    slots : tuple of Slot
        The kinds of rows of the feed on which the policies `statistical` and `blind` use the action.
    chance : float
        The probability of the action per shown row in the policy `blind`, at activity 1.
    called : str
        The name of the action in a sentence: "chance of ...".
    prompt : str
        The description for language models, which follows the word for the action.
    did : str
        The end of a sentence of reflections: "Lately I ...".
    memory : str
        The text of a memory, with ``{author}``, ``{theirs}`` (text acted on) and ``{own}`` (text written).
    mosaic : str
        The ``action_type`` in the views of MOSAIC's appendix D.
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


def _read_specs() -> dict[ActionKind, ActionSpec]:
    """Read ``actions.toml``: a section for each kind of action, with the attributes of its :class:`ActionSpec`."""
    enums: Mapping[str, type[Enum]] = {"on": On, "allowed": Allowed, "writes": Length, "makes": PostKind, "tie": Tie}
    text = Path(__file__).with_name("actions.toml").read_text(encoding="utf-8")
    specs: dict[ActionKind, ActionSpec] = {}
    for word, entry in tomllib.loads(text).items():
        fields: dict[str, Any] = dict(entry)
        for name in enums.keys() & entry.keys():
            fields[name] = enums[name][entry[name].upper()]
        if "slots" in entry:
            fields["slots"] = tuple(Slot[slot.upper()] for slot in entry["slots"])
        specs[ActionKind[word.upper()]] = ActionSpec(**fields)
    return specs


SPECS: Mapping[ActionKind, ActionSpec] = _read_specs()
"""Every kind of action, in the order of their numbers."""

WORDS: Mapping[ActionKind, str] = {kind: kind.name.lower() for kind in SPECS}
"""How settings, prompts and pages call a kind."""


def kinds_where(holds: Callable[[ActionSpec], Any]) -> tuple[ActionKind, ...]:
    """Return the kinds of which something holds, in the order of their numbers.

    >>> [kind.name for kind in kinds_where(lambda spec: spec.on == On.NOTE)]
    ['RATE_NOTE']
    """
    return tuple(kind for kind, spec in SPECS.items() if holds(spec))


def per_kind(dtype: npt.DTypeLike, values: Mapping[ActionKind, Any], default: int = 0) -> Array:
    """Return a value for each number that a policy may name, (256,): also for those that are no kind."""
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
REACTIONS: Mapping[ActionKind, int] = {kind: 1 << bit for bit, kind in enumerate(_MARKED)}
"""Kinds that count once an agent and root, as bits of the reaction store."""
REACTION_BITS: Array = per_kind(np.min_scalar_type((1 << len(REACTIONS)) - 1), REACTIONS)
"""The same by number, (256,), of the dtype of that store."""
