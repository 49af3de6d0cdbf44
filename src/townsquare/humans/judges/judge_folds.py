"""Evaluate judges in three ways: as shipped, refitted within topics, refitted on other topics."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.linear import fit_ridge, predict
from townsquare.beliefs.evidence.polarity import GENERAL_PENALTY, bank_model, fit_bank, general_scores, prior
from townsquare.beliefs.evidence.relevance import WITH_BANK, WITHOUT_BANK, topic_words
from townsquare.beliefs.evidence.strength import STRENGTH_PENALTY, strength_rows
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.draws import text_key
from townsquare.humans.judges.argument_table import ArgumentTable
from townsquare.humans.judges.judge_scores import Verdicts
from townsquare.humans.judges.judge_units import Units

FOLDS = 5
MOST_GROUPS = 10  # of topics that are held out together
OFF_TOPIC = 20  # texts on other topics that are tried on each


class Judged(NamedTuple):
    """Verdicts, and the polarity score of every unit they rest on, (u,) float64."""

    verdicts: Verdicts
    scores: Float


def as_shipped(table: ArgumentTable, units: Units, banks: Mapping[str, Examples]) -> Judged:
    """Judge by the shipped numbers, and a bank where one is given."""
    known = fitted()
    score = general_scores(units.blocks)
    rows = strength_rows(units.strength, known.strength_mean, known.strength_spread)
    strength = np.clip(predict(known.strength, rows), 0.0, 1.0)
    for topic in table.topics:
        here, bank = _units_of(table, units, topic), banks.get(topic, NO_EXAMPLES)
        if bank.tells_sides:
            score[here] = prior(score[here]) + predict(bank_model(topic, bank), units.own[here])
    return _judged(table, units, score, strength, *_found(table, units, banks))


def held_out(table: ArgumentTable, units: Units) -> Judged:
    """Judge by models fitted on the other topics of the table; relevance by the words of the topic."""
    topic = np.asarray(table.topic, np.object_)[units.row]
    is_whole = np.arange(units.row.size) < len(table.text)
    score, strength = np.zeros(units.row.size), np.full(units.row.size, np.nan)
    groups = min(MOST_GROUPS, len(table.topics))
    for group in range(groups):
        out = np.isin(topic, np.asarray(table.topics[group::groups], np.object_))
        score[out] = _general(table, units, is_whole & ~out, out)
        strength[out] = _strength(table, units, is_whole & ~out, out)
    return _judged(table, units, score, strength, *_found(table, units, {}))


def _found(table: ArgumentTable, units: Units, banks: Mapping[str, Examples]) -> tuple[Bool, Float]:
    """Return which units are relevant, (u,), and by row the share of texts on other topics that would be."""
    relevant, off_topic = np.zeros(units.row.size, np.bool_), np.full(len(table.text), np.nan)
    for topic in table.topics:
        here, bank = _units_of(table, units, topic), banks.get(topic, NO_EXAMPLES)
        relevant[here] = _relevant(units, here, topic, bank)
        _try_others(table, units, topic, bank, off_topic)
    return relevant, off_topic


def in_topic(table: ArgumentTable, units: Units, general: Float | None) -> Judged:
    """Judge by models fitted on four fifths of the table, with folds drawn by a hash of the text.

    The bank's model starts from the shipped general one on topics which that has not met; on others from ``general``,
    scores of models fitted on the other topics of the table; on those of a table of one topic, from nothing.
    """
    fold = np.asarray([text_key(text) % FOLDS for text in table.text], np.int64)[units.row]
    is_whole = np.arange(units.row.size) < len(table.text)
    met = np.asarray([topic in fitted().polarity_topics for topic in table.topic], np.bool_)[units.row]
    base = np.where(met, 0.0 if general is None else general, general_scores(units.blocks))
    score, strength = np.zeros(units.row.size), np.full(units.row.size, np.nan)
    relevant = np.zeros(units.row.size, np.bool_)
    off_topic = np.full(len(table.text), np.nan)
    for out in range(FOLDS):
        strength[fold == out] = _strength(table, units, is_whole & (fold != out), fold == out)
    for topic, out in product(table.topics, range(FOLDS)):
        here = _units_of(table, units, topic)
        if not (fold[here] == out).any():
            continue
        seen = here[(fold[here] != out) & is_whole[here] & (np.abs(table.side[units.row[here]]) == 1.0)]
        test = here[fold[here] == out]
        sides = table.side[units.row[seen]]
        bank = Examples(tuple(table.text[row] for row in units.row[seen]), tuple(int(side) for side in sides))
        score[test] = base[test]
        if bank.tells_sides:
            model = fit_bank(units.own[seen], base[seen], sides)
            score[test] = prior(base[test]) + predict(model, units.own[test])
        relevant[test] = _relevant(units, test, topic, bank)
        if out == 0:
            _try_others(table, units, topic, bank, off_topic)
    return _judged(table, units, score, strength, relevant, off_topic)


def _units_of(table: ArgumentTable, units: Units, topic: str) -> Int64:
    return np.flatnonzero(np.isin(units.row, table.rows(topic)))


def _general(table: ArgumentTable, units: Units, train: Bool, test: Bool) -> Float:
    side = table.side[units.row]
    seen = np.flatnonzero(train & (np.abs(side) == 1.0))
    if not seen.size:
        return np.zeros(int(test.sum()))
    of = np.asarray(table.topic, np.str_)[units.row[seen]]
    topics, inverse, counts = np.unique(of, return_inverse=True, return_counts=True)
    model = fit_ridge(units.general[seen], side[seen], GENERAL_PENALTY, seen.size / topics.size / counts[inverse])
    return predict(model, units.general[np.flatnonzero(test)])


def _strength(table: ArgumentTable, units: Units, train: Bool, test: Bool) -> Float:
    quality = table.quality[units.row]
    seen = np.flatnonzero(train & np.isfinite(quality))
    spread = float(quality[seen].std()) if seen.size else 0.0
    if spread == 0.0:
        return np.full(int(test.sum()), np.nan)
    counts = units.strength.counts[seen]
    rows = strength_rows(units.strength, counts.mean(axis=0), counts.std(axis=0) + 1e-6)
    # The penalty was chosen for ratings with a spread of 0.2.
    target = (quality[seen] - quality[seen].mean()) / spread * 0.2
    return predict(fit_ridge(rows[seen], target, STRENGTH_PENALTY), rows[np.flatnonzero(test)])


def _relevant(units: Units, which: Int64, topic: str, bank: Examples) -> Bool:
    says = topic_words(topic, bank)
    needed = WITH_BANK if bank.texts else WITHOUT_BANK
    slots = [list(units.content[unit]) for unit in which.tolist()]
    return np.asarray([bool(at) and sum(says[at].tolist()) / len(at) ** 0.5 >= needed for at in slots], np.bool_)


def _try_others(table: ArgumentTable, units: Units, topic: str, bank: Examples, off_topic: Float) -> None:
    """Write the share of texts on other topics that give a claim on this topic, sampled evenly over the table."""
    here = table.rows(topic)
    others = np.setdiff1d(np.arange(len(table.topic)), here).tolist()
    if not others:
        return
    tried = others[:: max(1, len(others) // OFF_TOPIC)][:OFF_TOPIC]
    strays = [bool(_relevant(units, np.asarray(units.passages[row]), topic, bank).any()) for row in tried]
    off_topic[here] = sum(strays) / len(strays)


def _judged(
    table: ArgumentTable, units: Units, score: Float, strength: Float, relevant: Bool, off_topic: Float
) -> Judged:
    """Return what models say of each unit, (u,), as verdicts on the texts."""
    n = len(table.text)
    sign = np.where(score < 0.0, -1.0, 1.0)
    rank = np.nan_to_num(strength)
    claims, strongest = np.zeros(n), np.full(n, np.nan)
    for row, parts in enumerate(units.passages):
        relevant_units = [unit for unit in parts if relevant[unit]]
        claims[row] = len(relevant_units)
        if relevant_units:
            strongest[row] = sign[max(relevant_units, key=lambda unit: rank[unit])]
    return Judged(Verdicts(claims, strongest, sign[:n], strength[:n], off_topic), score)
