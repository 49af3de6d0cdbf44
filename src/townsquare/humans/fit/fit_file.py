"""Write a fit to ``fit.json``, read it, and apply it to other people (``--apply``)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from pydantic import Field

from townsquare.beliefs.grids import grid_of
from townsquare.core.documents import read_json
from townsquare.core.errors import DataError
from townsquare.humans.fit.baselines import Baselines
from townsquare.humans.fit.by_group import ALL
from townsquare.humans.fit.fit import RULE, Setup, predict_all
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.pooling import NEW
from townsquare.humans.fit.predict import predict_grid
from townsquare.humans.fit.prepared import prepare
from townsquare.humans.fit.scores import Scored, score_all
from townsquare.humans.fit.study import Study
from townsquare.humans.trajectories import Trajectories
from townsquare.settings.config import MemberParams
from townsquare.settings.problems import validated

FORMAT = "townsquare-fit 1"
_MOST_BYTES = 64 * 1024 * 1024


class Profile(MemberParams):
    """The two numbers of a rule."""

    x: float
    y: float


class SavedFit(MemberParams):
    """A fit as stored: everything needed to predict other people."""

    format: str
    data: str
    rows: int
    options: FitOptions
    names: tuple[str, str]
    point: Profile
    low: tuple[float | None, float | None]
    high: tuple[float | None, float | None]
    warnings: tuple[str, ...]
    anchoring: float
    beta: float
    regression: tuple[float, float, float]
    groups: dict[str, Profile] = Field(default_factory=dict)
    population: tuple[float, ...]
    error: float

    @property
    def baselines(self) -> Baselines:
        """Return the fitted baselines."""
        return Baselines(self.anchoring, self.beta, self.regression)


def saved(study: Study) -> SavedFit:
    """Return a fit in the form that is kept."""
    x, y = study.certainty.x, study.certainty.y
    grid = study.setup.grid
    return SavedFit(
        format=FORMAT, data=study.ready.people.name, rows=int(study.ready.spans.final.size), options=study.options,
        names=(grid.x_name, grid.y_name), point=Profile(x=study.point[0], y=study.point[1]),
        low=(_finite(x.low), _finite(y.low)), high=(_finite(x.high), _finite(y.high)),
        warnings=study.certainty.warnings, **study.baselines._asdict(),
        groups={row.group: Profile(x=row.x, y=row.y) for row in study.groups if row.group != ALL},
        population=tuple(study.people.population.share.tolist()), error=study.people.population.error,
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def as_json(fit: SavedFit) -> str:
    """Return the text of ``fit.json``."""
    return json.dumps(fit.model_dump(), indent=1, allow_nan=False) + "\n"


def read_fit(path: Path) -> SavedFit:
    """Return a saved fit, from its file or from the folder it is in.

    Raises
    ------
    DataError
        No such file, or no fit.
    """
    file = path / "fit.json" if path.is_dir() else path
    do = "give the fit.json that `townsquare fit` wrote"
    fit = validated(SavedFit, read_json(file, limit=_MOST_BYTES), file, do=do)
    if fit.format != FORMAT:
        raise DataError(f"{file}, format", got=repr(fit.format)[:80], allowed=FORMAT)
    grid = grid_of(fit.options.rule)
    if len(fit.population) != len(grid.x) * len(grid.y):
        cells = len(grid.x) * len(grid.y)
        raise DataError(f"{file}, population", got=f"{len(fit.population)} shares", allowed=f"{cells}, one per cell")
    return fit


def apply_fit(fit: SavedFit, data: Trajectories) -> Scored:
    """Return how far a saved fit, and its baselines, are off on other people; nothing is fitted.

    Raises
    ------
    DataError
        Too few people, or messages that cannot be judged as they were for the fit.
    """
    ready = prepare(data, fit.options)
    spans, setup = ready.spans, Setup(grid_of(fit.options.rule), fit.options.evidence.stance_margin)
    predictions = predict_all(spans, setup, (fit.point.x, fit.point.y), fit.baselines)
    predictions[NEW] = predict_grid(spans.rows, setup.grid, setup.margin) @ np.array(fit.population)
    nothing = np.zeros(spans.final.size, np.int64)
    return score_all(spans.final, predictions, nothing, ready.group, RULE, fit.options.seed)
