"""Passages: join sentences that continue one another, so that one argument gives one claim.

A linear model says of two adjacent sentences whether the second goes on with the first. It was fitted to tell
adjacent sentences of one crowd-written argument from the last and first sentence of two arguments on the same topic.
"""

from __future__ import annotations

import re

import numpy as np

from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.proposition import Frame
from townsquare.beliefs.evidence.text import Span, sentences, stem, words
from townsquare.beliefs.evidence.words import value, word_lists

MOST_SENTENCES = 200
"""Sentences of a message that are read."""

APART = -0.4
"""Continuation below which a new argument begins; above 0 would be as likely as not."""

_SHORT = 4
_ITEM = re.compile(r"\s*(?:\(?\d+[.)]|[-•*])")


def continuation_features(first: str, second: str, frame: Frame) -> list[float]:
    """Return what tells whether ``second`` goes on with ``first``, in order of the fitted weights."""
    known = word_lists()
    before, behind = words(first), words(second)
    opening = behind[0] if behind else ""
    stems, next_stems = ({stem(word) for word in part if word not in known["function"]} for part in (before, behind))
    shared = len(stems & next_stems) / max(1, min(len(stems), len(next_stems))) ** 0.5
    turned = sum(map(value, before)) * sum(map(value, behind)) < 0.0
    roots = [stem(word) for word in behind]
    features = [
        opening in known["continuers"],
        opening in known["openers"],
        _ITEM.match(second) is not None,
        len(behind) < _SHORT,
        len(before) < _SHORT,
        shared,
        bool(frame.subject.intersection(roots)),
        bool(frame.actions.intersection(roots)),
        bool(frame.subject.intersection(roots[:_SHORT])),
        bool(known["pronouns"] & set(behind[:3])),
        second[:1].islower(),
        first[-1:] == ";",
        first[-1:] in ("!", "?"),
        np.log1p(len(before)) / 3.0,
        np.log1p(len(behind)) / 3.0,
        behind[:2] == ["we", "should"],
        opening == "i",
        opening in known["connectives"],
        "also" in behind[:_SHORT],
        turned,
        1.0,
    ]
    return [float(feature) for feature in features]


def passages(text: str, frame: Frame) -> list[Span]:
    """Return where the arguments of a text stand: one or more whole sentences each, in order and without overlap.

    Parameters
    ----------
    text : str
        A message; its first 200 sentences are read.
    frame : Frame
        Of the proposition that it is read under.
    """
    slope: list[float] = fitted().continuation.tolist()
    spans = sentences(text)[:MOST_SENTENCES]
    groups: list[Span] = []
    for at, span in enumerate(spans):
        if at:
            seen = continuation_features(text[slice(*spans[at - 1])], text[slice(*span)], frame)
        if at and sum(weight * number for weight, number in zip(slope, seen, strict=True)) >= APART:
            groups[-1] = Span(groups[-1].start, span.end)
        else:
            groups.append(span)
    return groups
