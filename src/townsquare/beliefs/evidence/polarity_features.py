"""Features of the polarity judge: hashed words in the frame of the proposition, and counts of valence.

Features come in two frames. As they stand they are for or against *doing* it ("we should not"); times the direction of
the proposition they are for or against its *subject* ("is cruel"), and so say the opposite under "ban" and "adopt".
Words of the subject are masked, so that what is learned carries over to other propositions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from townsquare.beliefs.evidence.ngrams import Rows, pieces, presence, rows, slot_of, words_and_pairs
from townsquare.beliefs.evidence.proposition import Frame
from townsquare.beliefs.evidence.scopes import Scopes, read_scopes
from townsquare.beliefs.evidence.text import stem, tokens
from townsquare.beliefs.evidence.words import action, value, word_lists
from townsquare.core.array_types import Float

DENSE_SCALE = 0.4
"""Weight of the counts next to the hashed blocks of unit length; chosen by held-out accuracy."""

COUNTS = 24
"""Counts of valence, action and words of rights and money of one argument."""

_MASK = "#subject"
_PIECES = (4, 5)
_BANK_PIECES = (3, 5)


class Read(NamedTuple):
    """An argument as read under a proposition: its tokens, which of them name the subject, and their scopes."""

    tokens: list[str]
    is_subject: list[bool]
    scopes: Scopes


def read(text: str, frame: Frame) -> Read:
    """Return tokens, subject words and scopes of a text."""
    terms = tokens(text)
    return Read(terms, [stem(token) in frame.subject for token in terms], read_scopes(terms, frame.subject))


class Blocks(NamedTuple):
    """Features of n arguments; every block is sparse (n, 32768) with rows of unit length, but ``counts``, (n, 24).

    ``words`` and ``masked`` hold words and pairs as they stand and with the subject masked; ``pieces`` character
    n-grams; ``signed`` and ``signed_pieces`` words and pieces with the sign of their scope. ``direction`` and
    ``coercion``, (n,), are those of the propositions.
    """

    words: Rows
    pieces: Rows
    masked: Rows
    signed: Rows
    signed_pieces: Rows
    counts: Float
    direction: Float
    coercion: Float


def read_blocks(texts: Sequence[str], frames: Sequence[Frame]) -> Blocks:
    """Return the features of n arguments, each under the frame of its proposition."""
    seen = [read(text, frame) for text, frame in zip(texts, frames, strict=True)]
    counted = [_counts(argument, frame) for argument, frame in zip(seen, frames, strict=True)]
    return Blocks(
        words=presence(words_and_pairs(argument.tokens) for argument in seen),
        pieces=presence([at for token in argument.tokens for at in pieces(token, *_BANK_PIECES)] for argument in seen),
        masked=presence(words_and_pairs(_masked(argument)) for argument in seen),
        signed=rows(_signed(argument) for argument in seen),
        signed_pieces=rows(_signed_pieces(argument) for argument in seen),
        counts=np.asarray(counted, np.float64).reshape(len(seen), COUNTS),
        direction=np.asarray([frame.direction for frame in frames], np.float64),
        coercion=np.asarray([frame.coercion for frame in frames], np.float64),
    )


def general_features(blocks: Blocks) -> Rows:
    """Return what the general model sees: blocks that carry over to other propositions, side by side."""
    directed, coerced = sparse.diags_array(blocks.direction), sparse.diags_array(blocks.coercion)
    signed = directed @ blocks.signed, directed @ blocks.signed_pieces
    parts = [blocks.masked, coerced @ blocks.masked, *signed, Rows(blocks.counts * DENSE_SCALE)]
    return Rows(sparse.hstack(parts, format="csr"))


def bank_features(blocks: Blocks) -> Rows:
    """Return what a bank's own model sees: blocks that tell arguments on one proposition apart."""
    parts = [blocks.words, blocks.pieces, blocks.signed, blocks.signed_pieces]
    return Rows(sparse.hstack(parts, format="csr"))


def _masked(argument: Read) -> list[str]:
    return [_MASK if named else token for token, named in zip(argument.tokens, argument.is_subject, strict=True)]


def _signed(argument: Read) -> tuple[list[int], list[float]]:
    masked = _masked(argument)
    sign = (argument.scopes.shifted * argument.scopes.of_action).tolist()
    about = argument.scopes.of_action.tolist()
    places = [slot_of(f"w {token}") for token in masked] + [slot_of(f"s {stem(token)}") for token in masked]
    places += [slot_of(f"p {first} {second}") for first, second in pairwise(masked)]
    return places, sign + sign + about[1:]


def _signed_pieces(argument: Read) -> tuple[list[int], list[float]]:
    sign = (argument.scopes.shifted * argument.scopes.of_action).tolist()
    read = zip(argument.tokens, argument.is_subject, sign, strict=True)
    pairs = [(at, turned) for token, named, turned in read if not named for at in pieces(token, *_PIECES)]
    return [at for at, _ in pairs], [turned for _, turned in pairs]


def _soft(number: float) -> float:
    """Return a count pressed into (-1, 1) without a transcendental, which machines would round differently."""
    return number / (1.0 + abs(number))


def _counts(argument: Read, frame: Frame) -> list[float]:
    known = word_lists()
    n, scopes = len(argument.tokens), argument.scopes
    root = max(1, n) ** 0.5
    values = np.array([0.0 if s else value(t) for t, s in zip(argument.tokens, argument.is_subject, strict=True)])
    acts = np.array([action(token) for token in argument.tokens], np.float64) * scopes.negated
    wanted = np.array([stem(token) in frame.actions for token in argument.tokens], np.float64) * scopes.negated
    turned = values * scopes.shifted
    framed = turned * scopes.of_action
    half = n // 2
    valence = [
        *(float(part.sum()) / root for part in (values, turned, values * scopes.of_action, framed)),
        *(float(framed.sum()), float(np.sign(framed.sum()))),
        *(float(part.sum()) / root for part in (framed[:half], framed[half:])),
        float(acts.sum()),
        float((values * scopes.negated).sum()) / root,
    ]
    asks = (wanted.sum(), (scopes.negated < 0).any(), "should" in argument.tokens, (scopes.of_action < 0).any())
    liberty, money = (sum(token in known[name] for token in argument.tokens) / root for name in ("liberty", "money"))
    soft = [_soft(number) for number in valence]
    softly = [_soft(float(number)) for number in asks]
    return [
        *(frame.direction * number for number in soft),
        *(soft[1], soft[3], *softly),
        *(frame.direction * number for number in softly),
        frame.coercion * _soft(liberty),
        frame.direction * _soft(money),
        *(float(frame.direction), float(frame.coercion)),
    ]
