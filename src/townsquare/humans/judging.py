"""Judge polarity and strength of each argument in received messages.

Who judges is a choice. Polarity comes ``given`` with the data, from the names of options (``named``, ``listed``), or
from the embedded extractor; strength comes ``given``, ``constant``, or from the embedded judge (``docs/judges.md``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from townsquare.beliefs.evidence.bank_files import bundled_topics, load_bank
from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.extract import Claim, extract_many
from townsquare.beliefs.evidence.strength import judge_strength
from townsquare.core.array_types import Float, Int64
from townsquare.core.errors import DataError
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.option_sides import option_sides
from townsquare.humans.trajectories import Trajectories


class Claims(NamedTuple):
    """c claims in messages, in order of the messages.

    Attributes
    ----------
    message : (c,) int64
        Place among all messages of the trajectories.
    polarity : (c,) float64
        -1 or +1.
    shown : (c,) float64
        Stance that the message takes, [-1, 1]: the side that the data give, else the polarity.
    strength : (c,) float64
        [0, 1].
    text : tuple of str
        The claims; "" where the data have no text.
    """

    message: Int64
    polarity: Float
    shown: Float
    strength: Float
    text: tuple[str, ...]


def default_polarity(people: Trajectories) -> str:
    """Return the default source of polarity: the data, else names of options, else the words of messages."""
    if np.isfinite(people.side).any():
        return "given"
    return "listed" if any(people.option) else "embedded"


def judged(people: Trajectories, choice: EvidenceChoice) -> Claims:
    """Return the claims of every received message, as ``choice`` has them read.

    Raises
    ------
    DataError
        Polarity or strength by what the data do not have.
    """
    polarity = choice.polarity or default_polarity(people)
    readers = {"given": _given, "named": _by_option, "listed": _by_option, "embedded": _embedded}
    claims = readers[polarity](people, polarity)
    return claims._replace(strength=_strengths(people, claims, choice))


def _given(people: Trajectories, _: str) -> Claims:
    """Return one claim a message with a side other than 0."""
    if not np.isfinite(people.side).any():
        allowed = "messages with a side; or --polarity named, listed or embedded"
        raise DataError(people.name, got="messages without sides", allowed=allowed)
    return _whole_messages(people, np.nan_to_num(people.side))


def _whole_messages(people: Trajectories, side: Float) -> Claims:
    """Return one claim a message with a side other than 0."""
    at = np.flatnonzero(side)
    texts = tuple(people.texts[row] for row in people.text[at].tolist())
    return Claims(at, np.sign(side[at]), side[at], np.full(at.size, np.nan), texts)


def _by_option(people: Trajectories, polarity: str) -> Claims:
    """Return one claim a message that says something of the option of the proposition."""
    if not any(people.option):
        allowed = "data that name one, such as delidata"
        raise DataError(people.name, got="propositions without an option", allowed=allowed)
    options: dict[str, set[str]] = defaultdict(set)
    for conversation, option in zip(people.conversation, people.option, strict=True):
        options[conversation].add(option)
    known: dict[tuple[int, str, tuple[str, ...]], int] = {}
    sides = np.zeros(people.text.size)
    for row in range(len(people)):
        option = people.option[row]
        others = tuple(sorted(options[people.conversation[row]] - {option, ""}))
        for at in range(people.indptr[row], people.indptr[row + 1]):
            key = (int(people.text[at]), option, others)
            if key not in known:
                text = people.texts[key[0]]
                known[key] = option_sides([text], option, others, exclusive=polarity == "listed")[0] if option else 0
            sides[at] = known[key]
    return _whole_messages(people, sides)


def _embedded(people: Trajectories, _: str) -> Claims:
    """Return the claims that the extractor finds: none, one or several a message."""
    of_message = np.repeat(np.arange(len(people)), np.diff(people.indptr))
    statement = [people.proposition[row] for row in of_message.tolist()]
    wanted: dict[str, list[int]] = {}
    for text, about in dict.fromkeys(zip(people.text.tolist(), statement, strict=True)):
        wanted.setdefault(about, []).append(text)
    claims_of: dict[tuple[int, str], list[Claim]] = {}
    banks = _banks()
    for about, rows in wanted.items():
        bank = banks.get(about.casefold().rstrip("."), NO_EXAMPLES)
        read = extract_many([people.texts[row] for row in rows], [about], [bank])
        claims_of |= {(row, about): claims for row, claims in zip(rows, read, strict=True)}
    message, claims = [], []
    for at, (text, about) in enumerate(zip(people.text.tolist(), statement, strict=True)):
        message += [at] * len(claims_of[text, about])
        claims += claims_of[text, about]
    sign = np.array([claim.polarity for claim in claims], np.float64)
    strength = np.array([claim.strength for claim in claims], np.float64)
    return Claims(np.array(message, np.int64), sign, sign, strength, tuple(claim.text for claim in claims))


def _banks() -> dict[str, Examples]:
    """Return arguments on the bundled topics, by proposition: they help where the data are about one of them."""
    banks = {}
    for topic in bundled_topics():
        bank = load_bank(topic.slug)
        banks[topic.statement.casefold().rstrip(".")] = Examples(bank.text, tuple(bank.polarity.tolist()))
    return banks


def _strengths(people: Trajectories, claims: Claims, choice: EvidenceChoice) -> Float:
    """Return strengths in [0, 1], (c,)."""
    wanted = choice.strength or ("given" if np.isfinite(people.strength).any() else "constant")
    if wanted == "constant":
        return np.full(claims.message.size, choice.constant)
    if wanted == "given":
        given = people.strength[claims.message]
        if not np.isfinite(given).any():
            allowed = "messages with strengths; or --strength constant or embedded"
            raise DataError(people.name, got="messages without strengths", allowed=allowed)
        return np.where(np.isfinite(given), given, choice.constant)
    if math.isfinite(float(np.sum(claims.strength))) and claims.message.size:
        return claims.strength
    return _embedded_strengths(people, claims)


def _embedded_strengths(people: Trajectories, claims: Claims) -> Float:
    row = np.searchsorted(people.indptr, claims.message, side="right") - 1
    pairs = [(text, people.proposition[at]) for text, at in zip(claims.text, row.tolist(), strict=True)]
    distinct = list(dict.fromkeys(pairs))
    rated = judge_strength([text for text, _ in distinct], [about for _, about in distinct]).tolist()
    known: dict[Any, float] = dict(zip(distinct, rated, strict=True))
    return np.array([known[pair] for pair in pairs], np.float64)


def describe(claims: Claims, people: Trajectories) -> dict[str, float]:
    """Return how many messages gave a claim, and what the claims are like."""
    messages = max(people.text.size, 1)
    with_claim = np.unique(claims.message).size
    return {
        "messages": float(people.text.size),
        "messages_with_a_claim": with_claim / messages,
        "claims": float(claims.message.size),
        "share_for": float((claims.polarity > 0).mean()) if claims.message.size else math.nan,
        "mean_strength": float(claims.strength.mean()) if claims.message.size else math.nan,
    }
