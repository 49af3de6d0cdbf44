"""Facts of belief rules: experiments with known inputs, which the shipped rules are put through.

No row of an experiment is needed: what people answer without the treatment, and the design, stand here as published or
fitted numbers. The value is that of the shipped parameter; its interval spans the interval of that parameter in
docs/beliefs-and-people.md, NaN for a fact that no interval moves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from townsquare.analysis.facts.contract import Reading
from townsquare.beliefs.averaging import GAIN, QUANTITIES, known_samples
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.beliefs.laboratory import RULE, after_reading, after_rounds, believed, familiarity, share_of
from townsquare.core.array_types import Float
from townsquare.settings.config import Answers

FALSE, TRUE = 0.32, 0.69
"""Share of false and of true headlines that people believe in control arms (experiments collected by Pfänder 2025)."""
RATINGS = (0.044, 0.066, 0.130, 0.414, 0.205, 0.093, 0.048)
"""Share of new statements rated 1 to 7 (Henderson, Simons and Barr 2021)."""
MONTH = 30.0
CLOSED_ALONE, SPREAD, NOISE, THE_SAME = 0.279, 1.73, 1.33, 0.297
"""Of people who see no peers, in two rounds: the share of the gap to the middle that they close, the standard deviation
of first answers within a group, that of last answers around the line through both, and the share who repeat their
answer (control arm of Becker, Porter and Centola 2019; in median absolute deviations)."""
MESSAGES, STRENGTH = 4, 0.5
"""Of one speaker in a chat (Moore et al. 2026)."""
WIDEST = 4.0
"""Of numbers, in median absolute deviations: a rule sees numbers over this, in [-1, 1]."""
_GROUPS, _SIZE, _ROUNDS = 2_000, 4, 10
_PEOPLE = 200_000


def label_false_belief(heed: float) -> float:
    """Return the relative change of belief in false claims with the label "false"."""
    return believed(FALSE, -1.0, heed) / FALSE - 1.0


def label_true_belief(heed: float) -> float:
    """Return the relative change of belief in true claims with the label "true"."""
    return believed(TRUE, 1.0, heed) / TRUE - 1.0


def implied_truth(heed: float) -> float:
    """Return the change of belief in true claims without a label, where false ones have one."""
    return believed(TRUE, 0.0, heed) - share_of(TRUE)


def belief_concordance(concord: float) -> float:
    """Return how much more a false claim on the own side is believed than one on the other side."""
    shift = (concord - RULE.concord) / 2.0
    return share_of(FALSE, 1.0, shift=shift) - share_of(FALSE, -1.0, shift=-shift)


def repetition_now(size: float) -> float:
    """Return what one reading just before adds to a rating, in points on a scale from 1 to 7."""
    return _repetition(0.0, size)


def repetition_fades(size: float) -> float:
    """Return what one reading a month before adds to a rating, in points on a scale from 1 to 7."""
    return _repetition(MONTH, size)


def _repetition(days: float, size: float) -> float:
    start = start_log_odds(np.linspace(-1.0, 1.0, len(RATINGS)), 1.0, 0.5 / (len(RATINGS) - 1))
    gain = stances_of(start + familiarity(days, size)) - stances_of(start)
    return float(np.average(gain, weights=RATINGS)) * (len(RATINGS) - 1) / 2.0


def argument_moves(reliability: float) -> float:
    """Return the mean move toward a speaker whose messages, all on one side, are read whole."""
    shown, own = np.full(MESSAGES, STRENGTH), {"attention": 1.0, "new": 1.0, "reliability": reliability}
    return float(after_reading("credence", np.zeros(1), np.array([0, MESSAGES]), shown, own)[0])


def no_boomerang(reliability: float) -> float:
    """Return the move toward the own side, as a share of the scale, of people who read the other side."""
    shown, own = np.full(MESSAGES, -STRENGTH), {"reliability": reliability}
    start = np.full(1, 0.5)
    return float(after_reading("credence", start, np.array([0, MESSAGES]), shown, own)[0] - start[0]) / 2.0


def answer_noise(noise: float) -> float:
    """Return how far apart two answers of a person are whose stance stays in the middle, as a share of the scale."""
    draw = np.random.default_rng(1)
    first, second = (np.clip(noise * draw.standard_normal(_PEOPLE), -1.0, 1.0) for _ in range(2))
    return float(np.where(draw.random(_PEOPLE) < Answers().repeat, 0.0, np.abs(second - first)).mean()) / 2.0


def _crowd(first: Float, others: float | Float, weight: float) -> Float:
    """Return expected last answers of people who saw the mean of their peers in two rounds, all in [-1, 1]."""
    prior = (1.0 - CLOSED_ALONE) * first
    own = {"weight_on_others": QUANTITIES.weight_on_others, "stubbornness": 1.0 - weight}
    return after_rounds("averaging", prior, [np.broadcast_to(others, first.shape)] * 2, own)


def peer_weight(weight: float) -> float:
    """Return the share of the way to peers that people move who see them, minus that of people who do not."""
    gap = np.array([0.5])
    return float((gap - _crowd(gap, 0.0, weight))[0] / gap[0]) - CLOSED_ALONE


def no_fall_off_with_distance(weight: float) -> float:
    """Return the weight of peers far away minus that of near ones."""
    near, far = np.array([0.1]), np.array([0.9])
    return float(((far - _crowd(far, 0.0, weight)) / far - (near - _crowd(near, 0.0, weight)) / near)[0])


def peers_narrow(weight: float) -> float:
    """Return the spread within a group after two rounds over that before: the rule's, and the noise of answers."""
    left = WIDEST * float(_crowd(np.array([SPREAD / WIDEST]), 0.0, weight)[0])
    return float(np.hypot(left, NOISE)) / SPREAD


def keepers_and_adopters(weight: float) -> float:
    """Return the share of answers away from the peers that move less than a twentieth of the way."""
    draw = np.random.default_rng(2)
    first = np.clip(SPREAD * draw.standard_normal(_PEOPLE), -WIDEST, WIDEST)
    last = WIDEST * _crowd(first / WIDEST, 0.0, weight) + NOISE * draw.standard_normal(_PEOPLE)
    away = np.abs(first) > 0.5
    return float((np.abs((first - last) / first)[away] < 0.05).mean())


def own_evidence_weight(gain: float) -> float:
    """Return the slope of first guesses on the posterior mean of the own sample under a flat prior."""
    size, hits = np.array([5.0, 5.0]), np.array([1.0, 4.0])
    first = known_samples(hits, size, np.full(2, 3.0), gain).start
    return float(np.ptp(first) / np.ptp((1.0 + hits) / (2.0 + size)))


def others_evidence_weight(gain: float) -> float:
    """Return the weight of the pooled samples of others in guesses of late rounds."""
    draw = np.random.default_rng(3)
    share = np.repeat(draw.choice([0.3, 0.7], _GROUPS), _SIZE)
    size = draw.integers(1, 10, share.size).astype(np.float64)
    hits = draw.binomial(size.astype(np.int64), share).astype(np.float64)
    start, own = known_samples(hits, size, np.full(share.size, _SIZE - 1.0), gain)
    guess = 2.0 * start - 1.0
    for _ in range(_ROUNDS):
        others = (guess.reshape(-1, _SIZE).sum(axis=1).repeat(_SIZE) - guess) / (_SIZE - 1)
        guess = after_rounds("averaging", 2.0 * start - 1.0, [others], own, guess)
    of_others = [column.reshape(-1, _SIZE).sum(axis=1).repeat(_SIZE) - column for column in (hits, size)]
    known = np.stack([np.ones(share.size), hits / size, of_others[0] / of_others[1]], axis=1)
    return float(np.linalg.lstsq(known, 0.5 + 0.5 * guess, rcond=None)[0][2])


_WEIGHT = 1.0 - QUANTITIES.stubbornness
_MEASURES: dict[Callable[[float], float], tuple[float, float, float]] = {
    label_false_belief: (RULE.heed_false, 0.10, 0.45),
    label_true_belief: (RULE.heed_true, 0.57, 0.79),
    implied_truth: (RULE.heed_false, 0.10, 0.45),
    belief_concordance: (RULE.concord, 0.28, 0.46),
    repetition_now: (RULE.familiar, 0.48, 0.61),
    repetition_fades: (RULE.familiar, 0.48, 0.61),
    argument_moves: (RULE.reliability, 0.03, 0.43),
    no_boomerang: (RULE.reliability, 0.03, 0.43),
    answer_noise: (Answers().noise, 0.10, 0.27),
    peer_weight: (_WEIGHT, 0.39, 0.54),
    no_fall_off_with_distance: (_WEIGHT, 0.39, 0.54),
    peers_narrow: (_WEIGHT, 0.39, 0.54),
    keepers_and_adopters: (_WEIGHT, 0.39, 0.54),
    own_evidence_weight: (GAIN, 0.36, 0.43),
    others_evidence_weight: (GAIN, 0.36, 0.43),
}
"""Every measure with the shipped value of the parameter that it takes, and the interval of that parameter."""
OF_A_RULE = tuple(measure.__name__ for measure in _MEASURES)


@cache
def rule_readings() -> dict[str, Reading]:
    """Return what the shipped rules show of each fact of a rule: the same for every run."""
    out = {}
    for measure, values in _MEASURES.items():
        shipped, *ends = (measure(value) for value in values)
        out[measure.__name__] = Reading(shipped, ends=(min(ends), max(ends)))
    return out
