"""Fit several rules to the same people, one by one or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from townsquare.beliefs.grids import grid_of
from townsquare.core.arguments import checked
from townsquare.core.errors import SettingError
from townsquare.experiments.cluster.ray_cluster import HERE, checked_place
from townsquare.experiments.cluster.ray_pool import RayPool
from townsquare.experiments.workers import Report
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.study import Study, study
from townsquare.humans.read import read_humans
from townsquare.humans.trajectories import Trajectories
from townsquare.settings.problems import Problem, raise_all
from townsquare.settings.resolve import check_model


@checked
def fit(
    data: Path | str,
    *,
    rule: str = "log_odds",
    options: Mapping[str, Any] | None = None,
    form: str = "",
    mapping: Path | str = "",
    skip_bad: bool = False,
) -> Study:
    """Fit two parameters of a belief rule to human data, and evaluate the rule on held-out folds.

    Parameters
    ----------
    data : Path or str
        A folder or file of human data; see docs/human-data.md.
    rule : str
        A belief rule that declares which two settings are fitted, and a grid of their values, such as ``log_odds``.
    options : mapping, optional
        Fields of :class:`townsquare.humans.fit.options.FitOptions`, such as ``{"n_folds": 5, "by": "step"}``.
    form : str
        ``persuasiontrace``, ``nyu``, ``delidata``, ``crowds`` or ``plain``; default: detected.
    mapping : Path or str
        A YAML file that maps the columns, or ``debate`` for the data set DEBATE; see docs/human-data.md.
    skip_bad : bool
        Leave out rows with errors, instead of raising an error.

    Returns
    -------
    Study
        Prediction errors of the rule and of its baselines, fitted parameters with intervals, groups and people.

    Raises
    ------
    DataError
        The data cannot be read, with file and row.
    SettingError, UnknownName
        An option is wrong, or there is no such rule.
    """
    problems: list[Problem] = []
    wanted = check_model(FitOptions, {"rule": rule, **(options or {})}, (), problems, alone=True)
    raise_all(problems, {})
    assert wanted is not None
    grid_of(wanted.rule)
    return studies(read_humans(Path(data), form=form, mapping=str(mapping), skip_bad=skip_bad), [wanted])[0]


def studies(
    people: Trajectories, wanted: Sequence[FitOptions], on: str = HERE, on_progress: Callable[[int], None] | None = None
) -> list[Study]:
    """Fit each of these, with the same result wherever it is computed.

    Parameters
    ----------
    people : Trajectories
        Whom to fit to.
    wanted : sequence of FitOptions
        At least one; each has a rule of its own.
    on : str
        "" for this process, one fit after the other; ``ray`` or ``ray://HOST:PORT`` for a cluster, one processor each.
    on_progress : callable, optional
        Called with the number of fits that are done.

    Raises
    ------
    SettingError
        A rule is named twice, or there is no such cluster.
    UnknownName, ContractError, DataError
        As :func:`townsquare.humans.fit.study.study`.
    """
    rules = [options.rule for options in wanted]
    if not rules or len(set(rules)) < len(rules):
        raise SettingError("--rule", got=", ".join(rules) or "nothing", allowed="different rules, at least one")
    for rule in rules:
        grid_of(rule)
    report_progress = on_progress or (lambda done: None)
    if checked_place(on) == HERE:
        done = []
        for options in wanted:
            done.append(study(people, options))
            report_progress(len(done))
        return done
    ended: dict[int, Study | BaseException] = {}
    pool = RayPool(_fit, on, on_steps=lambda steps: report_progress(len(ended)))
    with closing(pool.map([(people, options) for options in wanted])) as results:
        ended.update(results)
    fits: list[Study] = []
    for index in range(len(wanted)):
        result = ended[index]
        if isinstance(result, BaseException):
            raise result
        fits.append(result)
    return fits


def _fit(job: tuple[Trajectories, FitOptions], report: Report) -> Study:
    return study(*job)
