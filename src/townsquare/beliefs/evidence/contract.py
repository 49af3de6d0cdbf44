"""Contracts of extractors, embedders and strength judges, which make claims from posts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.conflict import check_theta
from townsquare.core.array_types import Float, Int16, Int64
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member
from townsquare.models.contract import AskingMember
from townsquare.settings.base import FamilyMember


class Topics(NamedTuple):
    """Propositions that claims can be about, and the arguments of the scenario on them.

    Attributes
    ----------
    statements : tuple of str
        The propositions, in order of their rows.
    bank_text : tuple of str
        The scenario's arguments.
    bank_proposition : (k,) int16
        The proposition of each argument.
    bank_stance, bank_strength : (k,) float64
        Stance in [-1, 1] and strength in [0, 1] of each argument.
    """

    statements: tuple[str, ...]
    bank_text: tuple[str, ...]
    bank_proposition: Int16
    bank_stance: Float
    bank_strength: Float


class Found(NamedTuple):
    """The c claims that were found in messages, in order of the messages.

    Attributes
    ----------
    message : (c,) int64
        The message of each claim, by position; ascending, with repetitions.
    proposition : (c,) int16
        Row of propositions.
    polarity : (c,) int8
        +1 for the proposition, -1 against it: stance, never tone.
    strength : (c,) float64
        [0, 1]; NaN if the strength judge is to estimate it.
    text : tuple of str
        The claims in canonical wording.
    snippet, tag : tuple of str
        The passage from which each claim was taken, and its category; "" for none.
    """

    message: Int64
    proposition: Int16
    polarity: npt.NDArray[np.int8]
    strength: Float
    text: tuple[str, ...]
    snippet: tuple[str, ...]
    tag: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, float, str, str, str]]) -> Found:
        """Return the claims, given as one row per claim with values in the order of the attributes.

        >>> Found.of([(0, 2, -1, 0.5, "Tea stains.", "", "")]).proposition.tolist(), Found.of([]).text
        ([2], ())
        """
        columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * len(cls._fields)
        dtypes = (np.int64, np.int16, np.int8, np.float64)  # of all but the texts
        numbers: list[Any] = [np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=False)]
        return cls(*numbers, *columns[len(numbers) :])


@dataclass(frozen=True, slots=True)
class Extractor(AskingMember):
    """A member of the family ``extractor``.

    Attributes
    ----------
    extract : callable
        ``extract(messages, topics, params) -> Found``: zero, one or several claims per message. It receives posts for
        which neither the data nor the writers give a stance. The claims of a message depend on this message alone.
    """

    extract: Callable[[Sequence[str], Topics, Any], Found]


@dataclass(frozen=True, slots=True)
class Embedder(FamilyMember):
    """A member of the family ``embedder``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in the section `embedder`.
    embed : callable
        ``embed(texts, params)``: (n, d) float64 for n texts, each row a function of its text alone. Rows may have any
        length; a row of zeros is similar to no other.
    theta, theta_self : float
        Similarity thresholds in (0, 1] calibrated for this embedder, used if the settings give none.
    """

    embed: Callable[[Sequence[str], Any], Float]
    theta: float
    theta_self: float

    def thresholds(self, theta: float | None, theta_self: float | None) -> tuple[float, float]:
        """Return both thresholds, as the settings give them or else its own.

        Raises
        ------
        SettingError
            One lies outside (0, 1].
        """
        chosen = self.theta if theta is None else theta, self.theta_self if theta_self is None else theta_self
        for value, name in zip(chosen, ("theta", "theta_self"), strict=True):
            check_theta(value, f"evidence.{name}")
        return chosen


@dataclass(frozen=True, slots=True)
class StrengthJudge(FamilyMember):
    """A member of the family ``strength``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in the section `strength`.
    estimate : callable
        ``estimate(claims, statements, params)``: (n,) float64 in [0, 1], the strength of claim i as an argument on
        the proposition of statement i.
    """

    estimate: Callable[[Sequence[str], Sequence[str], Any], Float]


def strengths(judge: StrengthJudge, claims: Sequence[str], statements: Sequence[str], params: Any) -> Float:
    """Return what the judge estimates of n claims, (n,) float64 in [0, 1].

    Raises
    ------
    ContractError
        It gives something else; names the first claim at fault and its strength.
    """
    given = call_member("strength judge", judge.name, "estimate", lambda: judge.estimate(claims, statements, params))
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "fiu" or numbers.shape != (len(claims),):
        got = f"{numbers.dtype} {numbers.shape} for {len(claims)} claims"
        raise breach("strength judge", judge.name, got, "float64 (n,) for n claims")
    fair = (numbers >= 0) & (numbers <= 1)
    if not fair.all():
        at = int(np.argmin(fair))
        raise breach("strength judge", judge.name, f"strength {numbers[at]} of claim {at}", "0 to 1")
    return numbers.astype(np.float64, copy=False)


def with_strengths(
    given: npt.ArrayLike, claims: Sequence[str], statement: str, judge: StrengthJudge, params: Any
) -> Float:
    """Return the given strengths of n claims on one statement, with the judge's estimates where they are NaN."""
    filled = np.array(given, np.float64)
    at = np.flatnonzero(np.isnan(filled))
    if at.size:
        filled[at] = strengths(judge, [claims[k] for k in at.tolist()], [statement] * at.size, params)
    return filled


def check_found(name: str, claims: Found, n_messages: int, n_propositions: int) -> Found:
    """Return an extractor's claims if each has a message, a proposition, a polarity, a text and a valid strength.

    Raises
    ------
    ContractError
        Which claim is at fault, and in what.
    """
    n = claims.message.shape[0]
    lengths = {field: len(getattr(claims, field)) for field in Found._fields}
    if set(lengths.values()) != {n}:
        sizes = ", ".join(f"{length} {field}" for field, length in lengths.items())
        raise ContractError(f"extractor {name!r}", got=sizes, allowed="columns of one length")
    between = (claims.message >= 0) & (claims.message < n_messages)
    ordered = np.r_[True, np.diff(claims.message) >= 0][:n]
    known = (claims.proposition >= 0) & (claims.proposition < n_propositions)
    fair = np.isnan(claims.strength) | ((claims.strength >= 0) & (claims.strength <= 1))
    named = np.array([bool(text.strip()) for text in claims.text], np.bool_)
    for good, field, allowed in (
        (between & ordered, "message", f"0 to {n_messages - 1}, in order"),
        (known, "proposition", f"0 to {n_propositions - 1}"),
        (np.abs(claims.polarity) == 1, "polarity", "-1 or +1"),
        (fair, "strength", "0 to 1, or NaN"),
        (named, "text", "not empty"),
    ):
        if not good.all():
            at = int(np.argmin(good))
            value = getattr(claims, field)[at]
            raise ContractError(f"extractor {name!r}, claim {at}", got=f"{field} {value!r}", allowed=allowed)
    return claims
