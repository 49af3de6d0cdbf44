"""Margins: making a population's answers add up to stated shares, and changing as little else as can be.

Iterative proportional fitting (Deming and Stephan 1940; *raking* in surveys) multiplies the weight of every kind of
person by one factor for each margin, in turn, until all margins hold. Among all weights that meet the margins it finds
those nearest to the weights it started from, in relative entropy, and keeps how traits depend on each other.

Two uses. :func:`rake_bank` fits the stated joint distribution of a question bank, exactly and not on a sample: people
are then drawn from the fitted chances by the same draws as before, so a margin of one trait changes no trait that does
not depend on it. :func:`rake_people` fits weights of imported people, of whom agents are then drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Float, Int16, Int64
from townsquare.core.errors import SettingError
from townsquare.scenario.population.personas import Personas
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank, Trait, group_by_spans

Margins = Mapping[str, Mapping[str, float]]

WHERE = "population.margins"
MAX_ROUNDS = 2000
MAX_CELLS = 1_000_000
EXACT = 1e-12
CLOSE = 1e-6  # what is accepted where fitting converges slowly, as it does if a kind of person must nearly vanish
SUM_WITHIN = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One margin: ``share`` (k + 1,) of the groups of trait number ``trait``; the last, of all other codes, is 0.

    ``names`` are the groups, ``spans`` the lowest and highest code of each. With ``around``, one more group is last,
    of people without an answer: their weight stays as it is, and ``share`` is of the others.
    """

    label: str
    trait: int
    names: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    share: Float
    around: bool = False


def read_margins(margins: Margins, bank: QuestionBank) -> list[Target]:
    """Return margins as codes, in the order of the bank.

    Parameters
    ----------
    margins : mapping of label to mapping of answer to share
        Shares of one label sum to 1; answers that are not named get none. Ages are named by number, range or ``55+``.

    Raises
    ------
    UnknownName
        No such trait or answer.
    SettingError
        A share below 0, shares that do not sum to 1, ranges that overlap.
    """
    targets = []
    for label, shares in margins.items():
        where = f"{WHERE}.{label}"
        number = bank.number_of(label, WHERE)
        spans = [bank.span(label, name, where) for name in shares]
        _check_apart(where, list(shares), spans)
        share = np.array([*shares.values(), 0.0])
        if share.min() < 0:
            raise SettingError(where, got=f"a share of {share.min():g}", allowed="shares of at least 0")
        if abs(share.sum() - 1) > SUM_WITHIN:
            got, do = f"shares that sum to {share.sum():.6g}", "name every answer that is to occur"
            raise SettingError(where, got=got, allowed="shares that sum to 1", do=do)
        targets.append(Target(label, number, tuple(shares), tuple(spans), share / share.sum()))
    return sorted(targets, key=lambda target: target.trait)


def _check_apart(where: str, names: Sequence[str], spans: Sequence[tuple[int, int]]) -> None:
    order = sorted(range(len(spans)), key=lambda at: spans[at])
    for first, second in pairwise(order):
        if spans[second][0] <= spans[first][1]:
            got = f"{names[first]!r} and {names[second]!r}, which overlap"
            raise SettingError(where, got=got, allowed="ranges that do not overlap")
    for name, (low, high) in zip(names, spans, strict=True):
        if low > high:
            raise SettingError(where, got=repr(name), allowed="a range with the smaller number first")


def fit(weight: Float, groups: Sequence[Int64], targets: Sequence[Target]) -> Float:
    """Return weights of cells that meet all targets.

    Parameters
    ----------
    weight : (c,) float64
        To start from, at least 0.
    groups : one (c,) int64 a target
        The group of each cell.

    Returns
    -------
    (c,) float64
        Sums to 1.

    Raises
    ------
    SettingError
        A group that is to have a share has no cell, or no weights meet all targets at once.
    """
    weight = weight / weight.sum()
    for group, target in zip(groups, targets, strict=True):
        for name, share, have in zip(target.names, target.share, _sums(group, weight, target), strict=False):
            if share > 0 and not have > 0:
                do = "set its share to 0, or add people with this answer in population.file"
                got = f"{share:g}, but no one has this answer"
                raise SettingError(f"{WHERE}.{target.label}.{name}", got=got, do=do)
    gap = np.inf
    for _ in range(MAX_ROUNDS):
        gap, worst = 0.0, ("", 0.0, 0.0)
        for group, target in zip(groups, targets, strict=True):
            have = _sums(group, weight, target)
            wanted = target.share
            if target.around:
                wanted = wanted * (have.sum() - have[-1])
                wanted[-1] = have[-1]
            at = int(np.abs(have - wanted).argmax())
            if (apart := abs(float(have[at] - wanted[at]))) > gap:
                name = target.names[at] if at < len(target.names) else "all others"
                gap, worst = apart, (f"{target.label}.{name}", float(wanted[at]), float(have[at]))
            weight = weight * np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)[group]
        if gap <= EXACT:
            break
    if not gap <= CLOSE:
        name, asked, had = worst
        do = f"the margins contradict each other: given the others, its share stays near {had:.3g}"
        raise SettingError(f"{WHERE}.{name}", got=f"{asked:g}, which no weights can meet", do=do)
    return np.asarray(weight / weight.sum())


def _sums(group: Int64, weight: Float, target: Target) -> Float:
    return np.bincount(group, weight, target.share.shape[0]).astype(np.float64)


# --- a question bank ---------------------------------------------------------------------------------------


def rake_bank(bank: QuestionBank, margins: Margins) -> QuestionBank:
    """Return the bank with chances that meet the margins.

    A trait depends on one other at most, so the fitted distribution has the same form: new chances for the traits
    with margins and for those they depend on, the old ones for all others.

    Raises
    ------
    UnknownName, SettingError
        See :func:`read_margins` and :func:`fit`.
    """
    targets = read_margins(margins, bank)
    traits = list(bank.traits)
    for numbers in _independent_sets(bank, [target.trait for target in targets]):
        own = [target for target in targets if target.trait in numbers]
        codes, weight = _cells(bank, numbers)
        groups = [group_by_spans(codes[numbers.index(target.trait)], target.spans) for target in own]
        fitted = fit(weight, groups, own)
        for number in numbers:
            traits[number] = _with_chances(bank.traits[number], codes, fitted, numbers, number)
    return QuestionBank(tuple(traits), bank.n_questions)


def _independent_sets(bank: QuestionBank, wanted: Sequence[int]) -> list[list[int]]:
    """Return independent sets of traits: those that are wanted and those they depend on, ascending."""
    sets: dict[int, set[int]] = {}
    for number in wanted:
        line = [number]
        while bank.traits[line[-1]].given >= 0:
            line.append(bank.traits[line[-1]].given)
        sets.setdefault(line[-1], set()).update(line)
    return [sorted(numbers) for _, numbers in sorted(sets.items())]


def _cells(bank: QuestionBank, numbers: Sequence[int]) -> tuple[list[Int64], Float]:
    """Return every combination of answers to some traits: codes of each trait (c,), and its stated chance (c,)."""
    codes: list[Int64] = []
    weight = np.ones(1)
    for number in numbers:
        trait = bank.traits[number]
        row = codes[numbers.index(trait.given)] if trait.given >= 0 else np.zeros(weight.shape[0], np.int64)
        k = trait.table.shape[1]
        if weight.shape[0] * k > MAX_CELLS:
            raise SettingError(WHERE, got=f"margins that join over {MAX_CELLS:,} kinds of people", do="leave one out")
        codes = [np.repeat(column, k) for column in codes]
        codes.append(trait.low + np.tile(np.arange(k, dtype=np.int64), weight.shape[0]))
        weight = (weight[:, None] * trait.table[row]).ravel()
        possible = weight > 0
        codes, weight = [column[possible] for column in codes], weight[possible]
    return codes, weight


def _with_chances(trait: Trait, codes: list[Int64], weight: Float, numbers: Sequence[int], number: int) -> Trait:
    """Return the trait with chances from weighted cells; rows of unmet conditions stay unchanged."""
    own = codes[numbers.index(number)] - trait.low
    row = codes[numbers.index(trait.given)] if trait.given >= 0 else np.zeros(own.shape[0], np.int64)
    chances = np.zeros_like(trait.table)
    np.add.at(chances, (row, own), weight)
    total = chances.sum(axis=1, keepdims=True)
    chances = np.where(total > 0, chances / np.where(total > 0, total, 1.0), trait.table)
    chances.flags.writeable = False
    return replace(trait, chances=chances)


# --- people ------------------------------------------------------------------------------------------------


def rake_people(personas: Personas, bank: QuestionBank, margins: Margins) -> Float:
    """Return weights (n,) of imported people that meet the margins; they sum to 1.

    Raises
    ------
    UnknownName, SettingError
        See :func:`read_margins` and :func:`fit`.
    """
    groups, targets = _groups(personas, read_margins(margins, bank))
    kinds, kind_of, count = np.unique(groups, axis=1, return_inverse=True, return_counts=True)
    kind_of = kind_of.reshape(-1)
    if personas.weight is None or np.ptp(personas.weight) == 0:
        return np.asarray((fit(count.astype(np.float64), list(kinds), targets) / count)[kind_of])
    total: Float = np.bincount(kind_of, personas.weight).astype(np.float64)
    fitted = fit(total, list(kinds), targets)
    return np.asarray(personas.weight * np.divide(fitted, total, out=np.zeros_like(total), where=total > 0)[kind_of])


def _groups(personas: Personas, targets: Sequence[Target]) -> tuple[Int64, list[Target]]:
    """Return the group of each person by target, (targets, n), and the targets with those who did not answer.

    Those who did not answer are a group of their own, which a margin leaves as it is: shares are of those who
    answered, unless the margin has a share for ``no answer``.
    """
    groups, raked = [], []
    for target in targets:
        codes = personas.traits[:, target.trait]
        group, around = group_by_spans(codes, target.spans), (NO_ANSWER, NO_ANSWER) not in target.spans
        groups.append(np.where(codes == NO_ANSWER, len(target.spans) + 1, group) if around else group)
        around &= bool((codes == NO_ANSWER).any())
        raked.append(replace(target, share=np.append(target.share, 0.0), around=True) if around else target)
    return np.stack(groups), raked


def kinds(personas: Personas, bank: QuestionBank, margins: Margins) -> Int64:
    """Return a number for each of the people, (n,), the same for equal answers to margins; 0 without margins."""
    if not margins:
        return np.zeros(len(personas), np.int64)
    groups, _ = _groups(personas, read_margins(margins, bank))
    return np.unique(groups, axis=1, return_inverse=True)[1].ravel()


class Reached(NamedTuple):
    """One answer of a margin: its target, and the shares of respondents (None without a file) and of agents."""

    trait: str
    answer: str
    target: float
    respondents: float | None
    agents: float
    gap: float


def reached(margins: Margins, bank: QuestionBank, traits: Int16, personas: Personas | None) -> list[Reached]:
    """Return how far agents with the codes ``traits`` (n, T) meet margins; respondents count by their survey weights.

    Shares are of those who answered, unless the margin has a share for ``no answer``.
    """
    out = []
    for target in read_margins(margins, bank):
        agents = _shares(traits[:, target.trait], None, target)
        own = None if personas is None else _shares(personas.traits[:, target.trait], personas.weight, target)
        for at, name in enumerate(target.names):
            wanted, have = float(target.share[at]), float(agents[at])
            of_own = None if own is None else float(own[at])
            out.append(Reached(target.label, name, wanted, of_own, have, have - wanted))
    return out


def _shares(codes: Int16, weight: Float | None, target: Target) -> Float:
    counts = (NO_ANSWER, NO_ANSWER) in target.spans
    use = np.ones(codes.size, bool) if counts else codes != NO_ANSWER
    weights = np.ones(codes.size) if weight is None else weight
    sums = _sums(group_by_spans(codes, target.spans)[use], weights[use], target)
    return sums / max(float(sums.sum()), 1e-300)


def effective_size(weight: Float) -> float:
    """Return Kish's effective sample size, (sum w)^2 / sum w^2: as good as how many people of equal weight.

    >>> effective_size(np.array([0.25, 0.25, 0.25, 0.25])), effective_size(np.array([1.0, 0.0, 0.0]))
    (4.0, 1.0)
    """
    return float(weight.sum() ** 2 / (weight**2).sum())
