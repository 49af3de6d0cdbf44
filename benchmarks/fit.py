"""Fitting people: 2,500 of them with 50 messages each over a grid of 13 x 13 cells; prints one line of JSON.

The people are made: starts on a six-point scale, messages of either side, ends with noise. What is timed is the replay
of everyone in every cell, and the whole of five held-out folds with all baselines. Judging messages is not part of it.
"""

from __future__ import annotations

import json
import time

import numpy as np

from townsquare.beliefs.grids import grid_of
from townsquare.humans.fit.fit import Setup, hold_out, square_errors
from townsquare.humans.fit.folds import folds_by
from townsquare.humans.fit.predict import predict_grid
from townsquare.humans.fit.replayed import Replayed, Spans

PEOPLE, MESSAGES, MARGIN = 2_500, 50, 1e-3
RULES = ("log_odds", "social_log_odds", "exposure", "bounded_confidence", "averaging", "exposure-bounded")
"""The last one has no compiled replay: its step is called message by message."""


def made() -> Spans:
    """The people, in groups of four."""
    draw = np.random.default_rng(1)
    n = PEOPLE * MESSAGES
    initial = draw.choice(np.linspace(-1, 1, 6), PEOPLE)
    polarity = draw.choice([-1.0, 1.0], n)
    rows = Replayed(
        initial,
        np.arange(0, n + 1, MESSAGES),
        polarity,
        draw.uniform(0.2, 0.9, n),
        np.ones(n),
        polarity,
        draw.integers(0, 3, n),
        np.zeros(n, np.int64),
        np.ones(n),
        *(np.full(n, -1) for _ in ("group", "reader_group")),
    )
    final = np.clip(initial + draw.normal(0, 0.4, PEOPLE), -1, 1)
    return Spans(np.arange(PEOPLE), initial, final, rows)


def main() -> None:
    """Time every rule, the second time: compiled kernels are loaded then."""
    spans, seconds = made(), {}
    for grid in map(grid_of, RULES):
        for _ in range(2):
            began = time.perf_counter()
            predict_grid(spans.rows, grid, MARGIN)
            seconds[grid.rule] = time.perf_counter() - began
    fold = folds_by([str(person // 4) for person in range(PEOPLE)], "group", "made")
    setup = Setup(grid_of("log_odds"), MARGIN)
    folds = 0.0
    for _ in range(2):
        began = time.perf_counter()
        hold_out(spans, setup, fold, square_errors(spans, setup))
        folds = time.perf_counter() - began
    cells = grid_of("log_odds").shape
    print(json.dumps({"people": PEOPLE, "messages": MESSAGES, "cells": cells, "seconds": seconds, "folds": folds}))


if __name__ == "__main__":
    main()
