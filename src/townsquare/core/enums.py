"""The enumerations of a run, whose numbers are in columns of whole numbers."""

from __future__ import annotations

from enum import IntEnum


class AgentKind(IntEnum):
    """A ``source`` only publishes injected posts: it has no feed, no persona and no belief."""

    PERSON = 0
    SOURCE = 1


class PostKind(IntEnum):
    """How a post came to be."""

    ORIGINAL = 0
    SHARE = 1
    COMMENT = 2
    INJECTED = 3
    MESSAGE = 4  # sent to an audience by an event; in nobody else's feed unless it is passed on


class Veracity(IntEnum):
    """Ground truth of a post. Agents never see it."""

    UNKNOWN = 0
    TRUE = 1
    FALSE = 2


class PostType(IntEnum):
    """What an injected post claims to be; agents' own posts are ``POST``."""

    POST = 0
    NEWS = 1


class PostStatus(IntEnum):
    """A post that was taken down leaves all feeds, with its shares; it stays in the record."""

    ACTIVE = 0
    TAKEN_DOWN = 1


class Slot(IntEnum):
    """Why a row is in a feed."""

    FOLLOWED = 0
    OTHER = 1
    COMMENT = 2
    SENT = 3  # a message, put at the top


class ActionStatus(IntEnum):
    """Nothing is dropped: an action that could not be done is a row too."""

    ACCEPTED = 0
    REFUSED = 1


class Reason(IntEnum):
    """Why an action was refused."""

    NONE = 0
    DISABLED = 1
    NOT_SHOWN = 2
    GONE = 3
    OWN = 4
    SELF = 5
    REPEATED = 6
    TOO_LONG = 7
    EMPTY = 8
    NOT_FOLLOWING = 9
    FRICTION = 10  # given up when asked a second time
    NOT_EXAMINED = 11  # it stood in the feed, but the agent did not look at it
    HIDDEN = 12  # the agent has hidden the author from itself


class Rating(IntEnum):
    """What a reader found a note; -1 represents no rating."""

    NOT_HELPFUL = 0
    HELPFUL = 1
    SOMEWHAT = 2


RATING_VALUES = (0.0, 1.0, 0.5)
"""What each :class:`Rating` counts, 0 to 1: ``RATING_VALUES[Rating.SOMEWHAT]`` is 0.5."""


class NoteStatus(IntEnum):
    """A shown note is a label. All others are offered for rating, those that were found not helpful too."""

    PENDING = 0
    SHOWN = 1
    NOT_HELPFUL = 2


class Verdict(IntEnum):
    """A fact-checker's finding; ``NONE`` if none exists."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    UNVERIFIED = 3


class LogKind(IntEnum):
    """What a moderator did."""

    VERDICT = 0
    TAKEDOWN = 1
    NOTE_SHOWN = 2
    NOTE_WITHDRAWN = 3
    DOWNRANKED = 4  # feeds put the post lower; shown to nobody


class TrailKind(IntEnum):
    """What moved a belief. ``CLIP`` is what the bounds took off, so that the rows sum to the move.

    ``RETRACTED`` is what a showing took back of earlier moves by a claim that is now believed less.
    """

    EXPOSURE = 0
    OWN = 1
    ANCHOR = 2
    ARCHIVED = 3
    RESTORED = 4
    CLIP = 5
    RETRACTED = 6


class Origin(IntEnum):
    """Where an argument record came from: what one started with, said oneself, or was shown."""

    SEED = 0
    SELF = 1
    PEER = 2


class HoldingChange(IntEnum):
    """What happened to an argument record.

    ``ACCEPTED``: it became active for the first time. ``ARCHIVED``: it was active and is no longer, replaced by a
    stronger near-duplicate or shown with a label of weight 0. ``RESTORED``: it was archived and is active again.
    ``REFUSED``: it came and was archived at once, for the same reasons. Every record stays on record.
    """

    ACCEPTED = 0
    ARCHIVED = 1
    RESTORED = 2
    REFUSED = 3


class Scorer(IntEnum):
    """Where a stance came from; bundled text scorers are numbered from ``TEXT`` on in the order of their registry."""

    GIVEN = 0
    DECLARED = 1
    TEXT = 2
    OUTSIDE = 255  # a text scorer that did not come with Townsquare; the settings name it


class MemoryKind(IntEnum):
    """What an agent remembers: something it did, or what it made of what it did."""

    INTERACTION = 0
    REFLECTION = 1


class CallOutcome(IntEnum):
    """How a call of a language model ended."""

    OK = 0
    REFUSED = 1
    INVALID = 2
    TRUNCATED = 3
    TIMEOUT = 4
    ERROR = 5


def word_of(words: type[IntEnum], code: int) -> str:
    """Return the word of a code, lower case; the number itself where a record holds one that has no word.

    >>> word_of(Verdict, 1), word_of(Verdict, 99)
    ('true', '99')
    """
    return words(code).name.lower() if code in words._value2member_map_ else str(code)
