"""What notebooks and scripts do with runs: execute, compare, sweep, ask what would have been, show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis.contract import CachedRun
from townsquare.analysis.courses import courses
from townsquare.core.arguments import checked
from townsquare.core.cards import bars, card, html_of, lines, text_of
from townsquare.core.errors import RecordError
from townsquare.core.threads import threads_for
from townsquare.core.words import signed_three
from townsquare.experiments import comparison
from townsquare.experiments import replay as again
from townsquare.experiments.answer import answer, title_of
from townsquare.experiments.counterfactual import CounterfactualBeliefs, Removal
from townsquare.experiments.counterfactual import without as left_out
from townsquare.experiments.execution import Progress
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.run_folders import check_single, folder_for, go_on, settings_of
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.config import Config
from townsquare.settings.resolve import layers_of
from townsquare.simulation.run import simulate

STANCE = "stance."
OnStep = Callable[[StepSummary], None]
OnProgress = Callable[[Progress], None]


@checked
def run(
    scenario: str | Path | None = None,
    *,
    agents: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    on_step: OnStep | None = None,
) -> Run:
    """Simulate a scenario and record everything.

    Parameters
    ----------
    scenario : str or Path, optional
        A bundled scenario or preset (``townsquare scenarios`` lists them), a scenario file or folder, or a
        configuration file (YAML or JSON); default: ``health-rumor``.
    agents : int, optional
        Number of people at the start, at least 1; default: that of the scenario, or 300.
    steps : int, optional
        Number of steps, at least 1; default: that of the scenario, or 20.
    seed : int, optional
        Random seed, at least 0. Equal settings and seeds give equal runs.
    settings : mapping, optional
        Further settings by dotted name, such as ``{"moderation.strategy": "none"}``; ``townsquare schema`` lists all
        with units, ranges and defaults. They override the scenario's and the parameters above.
    out : Path or str, optional
        Folder to record in. It may hold the same run, finished or stopped, which is then completed. Default: memory.
    on_step : callable, optional
        Called after each step with its :class:`townsquare.record.contract.StepSummary`.

    Returns
    -------
    Run
        The record of the run.

    Raises
    ------
    SettingError, UnknownName, DataError
        A setting, a name or a file is wrong; nothing has run.
    RecordError
        ``out`` holds another run, or files that are no run.
    """
    layers, origins = layers_of(scenario, settings or (), agents=agents, steps=steps, seed=seed)
    resolved = resolve_with_scenario(*layers, origins=origins)
    if out is not None:
        return go_on(Path(out), resolved, on_step)
    with threads_for(resolved.config.agents):
        return simulate(resolved, on_step=on_step)


@checked
def compare(
    scenario: str | Path | None = None,
    *,
    vary: Mapping[str, Sequence[Any]],
    seeds: int | str | Sequence[int] = 10,
    agents: int | None = None,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    outcome: str | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Experiment:
    """Run every combination of varied settings (an arm) with every seed; the first combination is the baseline.

    Runs with the same seed share people, initial follow graph, injected posts and random draws, so arms are compared
    seed by seed.

    Parameters
    ----------
    scenario : str or Path, optional
        As for :func:`townsquare.run`.
    vary : mapping of str to list
        Dotted name of a setting -> its values, such as ``{"moderation.strategy": ["none", "hybrid"]}``.
    seeds : int, str or list of int
        A number of seeds, counted from the setting ``seed`` (``5``: seeds 1 to 5 by default), the seeds themselves
        (``[3, 5, 8]``), or a text with a list or a range (``"3,5,8"``, ``"1-20"``).
    agents, steps, settings
        As for :func:`townsquare.run`, for all arms.
    outcome : str, optional
        The primary outcome; default: that of the scenario, else ``reach_false_mean`` or, if no post is false,
        ``absolute_shift`` of the first proposition.
    out : Path or str, optional
        Folder: a new one, or that of the same comparison, which is then completed. Default: a new folder under
        ``runs``.
    workers : int, optional
        Number of processes, at least 1; default: one per processor. With more than 1, a script must call this function
        below ``if __name__ == "__main__":``; a notebook need not.
    on_progress : callable, optional
        Called a few times a second with :class:`townsquare.experiments.execution.Progress`.

    Returns
    -------
    Experiment
        ``print`` shows the answer. Failed runs are in ``failed``, with their errors.

    Raises
    ------
    SettingError, UnknownName, DataError
        A setting, a name or a file of an arm is wrong; nothing has run.
    RunsFailed
        Every run failed.
    RecordError
        ``out`` holds other runs, or files that are no comparison.
    """
    layers, _ = layers_of(scenario, settings or (), agents=agents, steps=steps)
    with folder_for(None if out is None else Path(out), _stem("compare", scenario)) as folder:
        return comparison.compare(layers, vary, seeds, folder, workers, on_progress, outcome=outcome)


@checked
def sweep(
    scenario: str | Path | None = None,
    *,
    vary: Mapping[str, Sequence[Any]],
    one_at_a_time: bool = False,
    seeds: int | str | Sequence[int] = 1,
    agents: int | None = None,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    outcome: str | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Experiment:
    """Run a grid of settings, to see how outcomes depend on each.

    ``experiment.table("outcomes")`` has one row per run, with a column for each varied setting.

    Parameters
    ----------
    one_at_a_time : bool
        Vary one setting at a time, not all combinations; each other setting has the value it has without ``vary``.
    scenario, vary, seeds, agents, steps, settings, outcome, out, workers, on_progress
        As for :func:`townsquare.compare`.

    Returns
    -------
    Experiment
        As from :func:`townsquare.compare`.

    Raises
    ------
    SettingError, UnknownName, DataError, RunsFailed, RecordError
        As :func:`townsquare.compare`.
    """
    layers, _ = layers_of(scenario, settings or (), agents=agents, steps=steps)
    with folder_for(None if out is None else Path(out), _stem("sweep", scenario)) as folder:
        return comparison.compare(
            layers, vary, seeds, folder, workers, on_progress, outcome=outcome, one_at_a_time=one_at_a_time
        )


@checked
def counterfactual(run: Run | Path | str, *, without: str | Sequence[str]) -> CounterfactualBeliefs:
    """Compute what people would have believed without some posts, authors, argument records or labels.

    The belief rule is executed again on the recorded exposures. What people saw (apart from the removed items), did and
    wrote stays as recorded.

    Parameters
    ----------
    run : Run, Path or str
        A run, or its folder.
    without : str or list of str
        ``post=N`` (a root with its shares, or one share), ``author=N`` (by number or name: own posts with all shares,
        and own shares), ``record=N`` (an argument, by its number in the table ``claims``, and all equal ones, except
        those held from the start), ``veracity=false`` or ``veracity=true`` (injected posts), ``label=verdict`` or
        ``label=note`` (the posts stay). All items of a list are removed at once.

    Returns
    -------
    CounterfactualBeliefs
        ``effect`` has one row per proposition, with the effect on the final mean stance; ``claim_effect`` one row per
        veracity of claims, with the effect on the mean belief in claims, under rules such as ``credence``. An effect is
        the recorded value minus the value without the removed items.

    Raises
    ------
    SettingError
        The run holds no such post, agent or record.
    WrongVersion, DataError
        Another version recorded the run, or its scenario has changed.
    """
    recorded = Run.open(run)
    texts = [without] if isinstance(without, str) else without
    return left_out(recorded, Removal.parse(texts, recorded))


@checked
def replay(run: Path | str, *, on_step: OnStep | None = None) -> int:
    """Execute a recorded run again, offline, and compare every step with the record.

    No language model is asked: the recorded calls answer.

    Parameters
    ----------
    run : Path or str
        The folder of a run.
    on_step : callable, optional
        Called after each step with its :class:`townsquare.record.contract.StepSummary`.

    Returns
    -------
    int
        Number of steps compared, all of them identical.

    Raises
    ------
    HashMismatch
        A step differs; the error names the step and what differs.
    NotRecorded
        The recorded call of a language model is missing.
    RecordError
        The folder holds no run.
    WrongVersion
        The run is of another version of Townsquare, or a file that it names has changed and the run has no copy.
    """
    folder = Path(run)
    check_single(folder)
    recorded = Run.open(folder)
    if recorded.last_step < 0:
        raise RecordError(str(folder), got="no recorded step", do="run it first")
    return again.replay(folder, settings_of(recorded, str(folder)), on_step)


def _stem(verb: str, scenario: str | Path | None) -> str:
    """Return the name of a new folder."""
    return f"{verb}-{Path(scenario or Config.model_fields['scenario'].default).stem}"


# How notebooks and `print` show runs and comparisons.


@html_of.register
def _(run: Run) -> str:
    config, stances = run.settings, courses(CachedRun(run)).filter(pl.col("course").str.starts_with(STANCE))
    drawn = {
        str(name).removeprefix(STANCE): part["value"].to_list()
        for (name,), part in stances.group_by("course", maintain_order=True)
    }
    facts = {"agents": config["agents"], "step": f"{run.last_step} of {config['steps']}", "seed": config["seed"]}
    facts |= {"state": run.state, "content": run.content_hash[:12]}
    ends = ", ".join(f"{name} {signed_three(course[-1])}" for name, course in drawn.items())
    sentences = [f"Change of mean stance since step 0: {ends}."] if drawn else []
    return card(title_of(run), sentences, facts, lines("Change of mean stance since step 0", drawn))


@html_of.register
def _(experiment: Experiment) -> str:
    facts: dict[str, object] = {"arms": len(experiment.arms), "seeds": len(experiment.seeds)}
    facts |= {"runs": len(experiment.finished), "failed": len(experiment.failed), "folder": experiment.folder}
    if not _can_be_compared(experiment):
        return card("Comparison", experiment.errors or ["No run of the baseline is finished."], facts)
    made = answer(experiment)
    rows = made.effects.filter(pl.col("role") == "primary").select("label", "difference", "low", "high").rows()
    figure = bars(f"Difference in {made.primary} from the baseline, 95% CI", rows)
    return card(f"{made.title}: {made.question}", [*made.sentences, *made.cautions], facts, figure)


@text_of.register
def _(experiment: Experiment) -> str:
    return str(answer(experiment)) if _can_be_compared(experiment) else repr(experiment)


def _can_be_compared(experiment: Experiment) -> bool:
    return any(run.arm == experiment.baseline for run in experiment.finished)
