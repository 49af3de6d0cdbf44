"""Groups whose people know samples of known size: the form ``known_evidence_groups``.

The first guess is predicted from a person's own sample (a flat prior and Bayes), each later guess from the one before
and what the others answered then, by ``averaging`` with known samples
(:func:`townsquare.beliefs.averaging.known_samples`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.averaging import GAIN, known_samples
from townsquare.beliefs.laboratory import after_rounds
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.cells import Column, names, numbers
from townsquare.humans.effects.contract import RMSE, Arm, Form, Source, few, fixed
from townsquare.humans.resample import codes, estimate, out_of_fold, ratio, rmse, rmse_difference, sums

SLIDER = "slider"
"""The channel whose first round comes before anything of the others is seen."""
SMALLEST = 3
"""Groups below it are accidents of the export."""
FIRST_GOAL = 18.0
_COUNT = numbers(0, 1e6, None, whole=True)
_PERCENT = numbers(0, 100)
COLUMNS = (
    *(Column(name, names(), needed=True) for name in ("group", "channel", "person")),
    *(Column(name, _COUNT, needed=True) for name in ("round", "rabbits", "squirrels")),
    Column("guess", _PERCENT, needed=True),
    Column("others_guess", _PERCENT, needed=True),
    Column("group_size", _COUNT),
)
ABOUT = "group, channel, person, round, rabbits, squirrels, guess, others_guess"


class _Guesses(NamedTuple):
    """Guesses in order of person and round; shares in [0, 1]."""

    group: Int64
    person: Int64
    round: Float
    channel: npt.NDArray[np.str_]
    hits: Float
    size: Float
    guess: Float
    others: Float
    peers: Float

    def take(self, at: Int64) -> _Guesses:
        """Return some rows."""
        return _Guesses(**{name: column[at] for name, column in self._asdict().items()})


def _read(source: Source) -> _Guesses:
    sheet = source.sheet
    group, person = codes(sheet["group"]), codes(sheet["group"], sheet["person"])
    rounds, hits, misses, guess, others = (
        np.array(sheet[name], np.float64) for name in ("round", "rabbits", "squirrels", "guess", "others_guess")
    )
    people = np.zeros(int(group.max()) + 1)
    np.add.at(people, group[np.unique(person, return_index=True)[1]], 1.0)
    size = np.array(sheet["group_size"], np.float64) if "group_size" in sheet else people[group]
    at = np.lexsort((rounds, person))
    at = at[(size[at] >= SMALLEST) & np.isfinite(guess[at])]
    columns = (rounds, np.array(sheet["channel"]), hits, hits + misses, guess / 100.0, others / 100.0, size - 1.0)
    return _Guesses(group, person, *columns).take(at)


def _next(now: _Guesses, gain: float = GAIN) -> Float:
    """Return the next guess of people who guessed and saw this."""
    start, settings = known_samples(now.hits, now.size, now.peers, gain)
    return 0.5 + 0.5 * after_rounds("averaging", 2 * start - 1, [2 * now.others - 1], settings, 2 * now.guess - 1)


def check(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield first and later guesses of every channel of every table."""
    for source in sources:
        guesses = _read(source)
        for channel in few(guesses.channel.tolist(), source.sheet, "channel"):
            own = guesses.take(np.flatnonzero(guesses.channel == channel))
            first = own.take(np.flatnonzero(own.round == 1))
            if first.guess.size:
                yield _first(source, first, channel)
            at = np.flatnonzero((own.person[1:] == own.person[:-1]) & (own.round[1:] == own.round[:-1] + 1))
            at = at[np.isfinite(own.others[at])]
            if at.size:
                yield _later(source, own.take(at), own.guess[at + 1], channel, fit)


def _first(source: Source, first: _Guesses, channel: str) -> Arm:
    """Return how far the first guess follows the person's own sample."""
    x, y = 100 * (known_samples(first.hits, first.size, first.peers).start - 0.5), 100 * (first.guess - 0.5)
    observed = estimate(ratio, sums(first.group, x * x, x * y))
    error, alone = rmse(x - y), channel.lower() == SLIDER
    return Arm(
        dataset=source.dataset, form=source.form, arm=f"{channel}, first guess", measure=RMSE,
        unit="slope on Bayes' estimate", observed=observed.value, interval=observed[1:], predicted=1.0, error=error,
        goal=f"RMSE at most {FIRST_GOAL:g} points" if alone else "", met=error <= FIRST_GOAL if alone else None,
        against="one half", gain=rmse_difference(first.group, x - y, y), baselines={"one half": rmse(y)},
        note="" if alone else "people may have seen the guesses of others before their own first guess",
    )  # fmt: skip


def _later(source: Source, now: _Guesses, then: Float, channel: str, fit: bool) -> Arm:
    """Return guesses from one round to the next, beside averaging with a weight fitted to other groups."""
    predicted, note = _next(now), ""
    several = np.unique(now.group).size > 1
    if fit and several:

        def loss(gain: float, rows: Bool) -> float:
            at = np.flatnonzero(rows)
            return rmse(then[at] - _next(now.take(at), gain))

        gain, _ = out_of_fold(loss, now.group, (0.01, 1.0))
        note = f"gain fitted to other groups: {gain.min():.2f} to {gain.max():.2f}"
        for value in np.unique(gain):
            at = np.flatnonzero(gain == value)
            predicted[at] = _next(now.take(at), float(value))
    gap, move = now.others - now.guess, then - now.guess
    counted = known_samples(now.hits, now.size, now.peers, 1.0)
    anew = now.guess + (1.0 - counted.settings["stubbornness"]) * gap
    errors = {"no change": move, "counting others anew": then - anew}
    if several:
        weight, _ = out_of_fold(lambda w, rows: rmse(move[rows] - w * gap[rows]), now.group, (0.0, 1.0))
        errors["averaging, weight fitted"] = move - weight * gap
    pooled = _next(now, 1.0) - now.guess
    closed = estimate(ratio, sums(now.group, pooled * pooled, pooled * move))
    ours = estimate(ratio, sums(now.group, pooled * pooled, pooled * (predicted - now.guess)))
    against = "averaging, weight fitted" if several else "no change"
    difference = rmse_difference(now.group, 100 * (then - predicted), 100 * errors[against])
    has_goal = channel.lower() == SLIDER and several
    return Arm(
        dataset=source.dataset, form=source.form, arm=f"{channel}, later guesses", measure=RMSE,
        unit="share of the way to the pooled estimate", observed=closed.value, interval=closed[1:],
        predicted=ours.value, error=rmse(100 * (then - predicted)), goal="better than averaging" if has_goal else "",
        met=difference.value < 0 if has_goal else None, against=against, gain=difference,
        baselines={name: rmse(100 * value) for name, value in errors.items()}, note=note,
    )  # fmt: skip


FORM = Form("known_evidence_groups", ABOUT, fixed(COLUMNS), check)
