"""The note scorer `bridging`: seconds of a fit and of a step, and its share of the steps of a town; one line of JSON.

100,000 raters of two camps rate 20,000 notes, 2,000,000 ratings, in one process. ``cold`` is one fit from a new start.
``step`` is a step of a run with 1% more ratings than raters were last fitted on, ``with_raters`` one in which
raters are fitted again, as every 24th does. ``town`` is the share of the time of all steps of `health-rumor` with 2,000
people and its contributors that the scorer takes. Seconds are those of the processor: other programs may use it too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from townsquare.scenario.settings import resolve_for
from townsquare.simulation.moderation.note_scorers import bridging
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScores
from townsquare.simulation.moderation.note_scorers.factorization import Penalty, fit
from townsquare.simulation.run import simulate

RATERS, NOTES, RATINGS, MORE = 100_000, 20_000, 2_000_000, 20_000
PEOPLE, STEPS = 2_000, 168


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def fits() -> dict[str, float]:
    """Return seconds of a fit, of a step with a fit of raters, and of the step after it."""
    draw = np.random.default_rng(0)
    pairs = draw.permutation(np.unique(draw.integers(0, RATERS * NOTES, RATINGS + MORE)))
    rater, note = (pairs // NOTES).astype(np.int32), (pairs % NOTES).astype(np.int32)
    camp, leaning = draw.choice([-1.0, 1.0], RATERS, p=[0.6, 0.4]), draw.normal(0, 1, NOTES)
    quality = draw.normal(0, 1, NOTES)
    value = (
        np.clip(np.round(1 + (quality[note] + camp[rater] * leaning[note] + draw.normal(0, 1, pairs.size))), 0, 2) / 2
    )
    penalty = Penalty(bridging.Params().intercept_penalty, bridging.Params().factor_penalty)
    some = slice(0, pairs.size - MORE)
    cold, _ = timed(lambda: fit(note[some], rater[some], value[some], penalty, notes=NOTES, raters=RATERS))
    step = np.repeat(np.array([23, 25], np.int32), (pairs.size - MORE, MORE))
    author, none = draw.integers(0, RATERS, NOTES, dtype=np.int32), np.full(NOTES, -1, np.int32)
    written, counts = np.zeros(NOTES, np.int32), (np.bincount(note[value == of], minlength=NOTES) for of in (1, 0))
    low, high = (count.astype(np.int32) for count in counts)
    ratings = NoteRatings(note, rater, value, step, author, written, none, none, low, high, 25)
    before = NoteScores(np.zeros(NOTES, np.uint8), *np.full((2, NOTES), np.nan))
    early = replace(ratings, note=note[some], rater=rater[some], value=value[some], step=step[some], now=24)
    raters, scores = timed(lambda: bridging.score(early, before, bridging.Params()))
    later, _ = timed(lambda: bridging.score(ratings, scores, bridging.Params()))
    sizes = {"raters": RATERS, "notes": NOTES, "ratings": float(pairs.size - MORE)}
    return {**sizes, "cold": cold, "with_raters": raters, "step": later}


def town() -> dict[str, float]:
    """Return the share of a run's time that the scorer takes, after a first run that compiles."""
    spent = 0.0

    def score(*given: Any) -> Any:
        nonlocal spent
        seconds, scores = timed(lambda: bridging.score(*given))
        spent += seconds
        return scores

    settings = resolve_for("health-rumor", agents=PEOPLE, steps=STEPS, sets=["moderation.strategy=community"])
    scorer = replace(bridging.SCORER, score=score)
    chosen = replace(settings, members={**settings.members, "note_scorer": scorer})
    simulate(replace(chosen, config=chosen.config.model_copy(update={"steps": 2})))
    spent = 0.0
    whole, _ = timed(lambda: simulate(chosen))
    return {"people": PEOPLE, "steps": STEPS, "town": spent / whole}


if __name__ == "__main__":
    print(json.dumps(fits() | town()))
