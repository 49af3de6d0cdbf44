"""Prepare human data for a fit: set controls apart, judge messages, lay out intervals between readings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.core import registry
from townsquare.core.array_types import Int64
from townsquare.core.errors import DataError
from townsquare.humans.fit.baselines import fitted_anchoring
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.folds import FOLDS
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.replayed import Spans, answers, by_step, whole
from townsquare.humans.fit.stream import Stream, settled, stream_of
from townsquare.humans.trajectories import Trajectories, codes_of

FEWEST = 10
"""Trajectories below which nothing is fitted."""


class NoiseFloor(NamedTuple):
    """Movement of people in conversations on other topics, which no rule can explain by the messages.

    ``anchoring`` is a of the prior fitted to them and ``spread`` their RMSE around it, each predicted from the others:
    the noise ceiling. Both NaN where there are fewer than :data:`FEWEST` controls.
    """

    n: int
    mean_change: float
    rmse: float
    anchoring: float = math.nan
    spread: float = math.nan


class Prepared(NamedTuple):
    """Data of a fit.

    Attributes
    ----------
    people : Trajectories
        Without controls.
    stream : Stream
        Their evidence.
    spans : Spans
        k stretches to predict.
    group, person : (k,) int64
        Conversation and participant of each, as codes.
    persons : tuple of str
        Participants by code.
    choice : EvidenceChoice
        With everything filled in that the data decided.
    floor : NoiseFloor
        Of the controls; n = 0 if none exist.
    """

    people: Trajectories
    stream: Stream
    spans: Spans
    group: Int64
    person: Int64
    persons: tuple[str, ...]
    choice: EvidenceChoice
    floor: NoiseFloor


def prepare(data: Trajectories, options: FitOptions) -> Prepared:
    """Judge the messages and lay out what is to be predicted.

    Raises
    ------
    DataError
        Fewer than ten trajectories without the controls, messages that cannot be judged as asked, or ties or groups
        that the rule needs and the data do not have.
    """
    people = data.take(~data.control)
    if len(people) < FEWEST:
        got = f"{len(people)} trajectories that are no controls"
        raise DataError(data.name, got=got, allowed=f"at least {FEWEST}")
    _check_known(people, options.rule)
    choice = settled(people, options.evidence)
    stream = stream_of(people, choice)
    spans = by_step(people, stream) if options.by == "step" else whole(people, stream)
    group, _ = codes_of(people.conversation)
    person, persons = codes_of(people.participant)
    floor = noise_floor(data, options.by)
    return Prepared(people, stream, spans, group[spans.person], person[spans.person], persons, choice, floor)


def _check_known(people: Trajectories, rule: str) -> None:
    """Refuse data that do not say what a rule needs to know of authors; what an author holds is never asked for."""
    needs = registry.get("beliefs", rule).needs
    if "ties" in needs and (unknown := int(np.isnan(people.tie).sum())):
        got = f"{unknown:,} of {people.tie.size:,} messages without a tie to their author, which {rule!r} needs"
        raise DataError(people.name, got=got, do="fill the column `tie`: 1 where the person follows the author, else 0")
    if "groups" in needs and not ((people.group >= 0).any() and (people.author_group >= 0).any()):
        got = f"people or authors without groups, which {rule!r} needs"
        raise DataError(people.name, got=got, do="fill the columns `group` (of the person) and `author_group`")


def noise_floor(data: Trajectories, by: str) -> NoiseFloor:
    """Return movement in control conversations, from first to last stance or from reading to reading."""
    controls = data.take(data.control)
    if not len(controls):
        return NoiseFloor(0, math.nan, math.nan)
    person, initial, final = np.arange(len(controls)), controls.initial, controls.final
    if by == "step":
        who, stance, _ = answers(controls)
        start = np.flatnonzero(who[1:] == who[:-1])
        person, initial, final = who[start], stance[start], stance[start + 1]
    change = final - initial
    floor = NoiseFloor(len(controls), float(np.abs(change).mean()), math.sqrt(float((change**2).mean())))
    if len(controls) < FEWEST:
        return floor
    error = np.empty(initial.size)
    fold = person % FOLDS
    for k in range(FOLDS):
        a = fitted_anchoring(initial[fold != k], final[fold != k], STANCE_MARGIN)
        error[fold == k] = (stances_of(start_log_odds(initial, a, STANCE_MARGIN)) - final)[fold == k]
    a = fitted_anchoring(initial, final, STANCE_MARGIN)
    return floor._replace(anchoring=a, spread=math.sqrt(float((error**2).mean())))
