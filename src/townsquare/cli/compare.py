"""``townsquare compare``: arms x seeds, with paired differences to the first arm."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, console, number, picked, show_table, signed
from townsquare.cli.multiverse import show_multiverse
from townsquare.cli.places import OutputLocation
from townsquare.cli.progress import show_study
from townsquare.cli.signals import OrderToEnd
from townsquare.core.text_table import Table

if TYPE_CHECKING:
    import polars as pl

    from townsquare.experiments.comparison import Experiment
    from townsquare.experiments.execution import ExecutionTargets
    from townsquare.settings.layers import Layer

VARY = "A setting and its values, such as moderation.strategy=none,hybrid; repeat for all combinations."
Vary = Annotated[list[str] | None, Parameter(help=VARY)]
LOW = 0.05
GAP = 2  # characters between the columns of a table
HEADLINES = frozenset((
    "engagement_true_per_post", "engagement_false_per_post", "reach_true_mean", "reach_false_mean", "precision",
    "recall", "f1", "true_labeled", "true_removed", "false_removed", "shift", "absolute_shift", "accuracy",
    "accuracy_shift",
))  # fmt: skip
"""Outcomes that a comparison prints without being asked, beside those of other packages; by the part before a dot."""


def compare(
    target: options.Target = None,
    /,
    *,
    vary: Vary = None,
    multiverse: bool = False,
    across: list[str] | None = None,
    seeds: str = "10",
    sized: options.Sized = options.SIZED,
    placed: places.Placed = places.PLACED,
    no_copy: options.NoCopy = False,
    shown: options.Shown = options.SHOWN,
    every: Annotated[bool, Parameter(name="--all")] = False,
) -> int:
    """Run every combination of varied settings with every seed, and compare each arm with the first.

    To resume a stopped comparison, give the same command with its --out.

    Parameters
    ----------
    multiverse
        Repeat the comparison under every combination of modeling choices.
    across
        With --multiverse: a modeling choice and its values, such as feed.ranker=recent,random.
    seeds
        Seeds: a number (10), a list (3,5,8) or a range (1-20).
    every
        Print all outcomes, not only the main ones.
    """
    from townsquare.cli.calls import show_servers_of
    from townsquare.experiments import comparison
    from townsquare.experiments.arms import arms_of
    from townsquare.experiments.cluster.ray_cluster import checked_place
    from townsquare.experiments.manifest import FILE
    from townsquare.experiments.multiverse import FILE as MULTIVERSE
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.settings import resolve_with_scenario
    from townsquare.simulation.scenario_copy import left_out

    options.at_least("--workers", placed.workers)
    layers, origins = sized.layers(target)
    base = resolve_with_scenario(*layers, origins=origins)
    contrast = options.varied(vary or [])
    choices = _choices(across, set(contrast), layers, multiverse=multiverse)
    by_setting = {**choices, **contrast}
    if base.config.model.name != "none" or any(key.startswith("model") for key in by_setting):
        show_servers_of(resolve_with_scenario(*layers, arm.changes, origins=origins) for arm in arms_of(by_setting))
    stem = f"compare-{Path(base.config.scenario).stem}"
    with places.output_location(placed.out, stem, (FILE, MULTIVERSE)) as location, OrderToEnd() as order:
        server = placed.address(location.named)
        targets = comparison.ExecutionTargets(checked_place(placed.on), location.store, server, with_copy=not no_copy)
        too_large = "" if no_copy or placed.record else left_out(load_scenario(base.config.scenario), base)
        if too_large and not shown.quiet:
            complain(too_large, kind="note")
        experiment = _compared(layers, by_setting, seeds, location, shown, placed.workers, targets)
        if experiment is None:
            return _stopped(location, order.code)
        location.bring_settings(experiment.finished)
        if multiverse and experiment.finished:
            show_multiverse(experiment, list(choices), list(contrast), location, shown)
        else:
            _show(experiment, location, shown, every=every)
        location.send(("report.html", MULTIVERSE))
    return 1 if experiment.failed else 0


def _choices(
    across: list[str] | None, contrast: set[str], layers: list[Layer], *, multiverse: bool
) -> dict[str, list[Any]]:
    """Return modeling choices of a multiverse: those named, else the usual ones that are not the question itself."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.multiverse import choices_for

    if not multiverse:
        if across:
            raise SettingError("--across", got=across[0], allowed="with --multiverse")
        return {}
    if across:
        choices = options.varied(across, "--across")
    else:
        choices = {key: values for key, values in choices_for(layers).items() if key not in contrast}
    for key in choices.keys() & contrast:
        raise SettingError(f"--across {key}", got="also --vary", allowed="one of the two")
    return choices


def compared_pair(
    base: dict[str, Any], vary: dict[str, list[Any]], seeds: list[int], out: Path | None, shown: options.Shown
) -> int:
    """Run the arms that a recorded run and a change of its settings make, and show what differs; the exit code."""
    from townsquare.experiments.run_folders import folder_for

    with folder_for(out, "counterfactual") as folder, OrderToEnd() as order:
        location = OutputLocation(folder)
        experiment = _compared([base], vary, seeds, location, shown)
        if experiment is None:
            return _stopped(location, order.code)
    _show(experiment, location, shown, every=False)
    return 1 if experiment.failed else 0


def _compared(
    layers: list[Layer],
    vary: dict[str, list[Any]],
    seeds: str | list[int],
    location: OutputLocation,
    shown: options.Shown,
    workers: int | None = None,
    targets: ExecutionTargets | None = None,
) -> Experiment | None:
    """Execute the runs of a comparison, with progress; None if it was interrupted."""
    from townsquare.core.errors import RunsFailed
    from townsquare.experiments import comparison

    try:
        with shown.progress(0, f"comparing in {location.shown()}") as progress:
            at = partial(show_study, progress, runs="runs")
            return comparison.compare(layers, vary, seeds, location.folder, workers, at, targets)
    except KeyboardInterrupt:
        return None
    except RunsFailed:
        return comparison.Experiment.load(location.folder)


def _stopped(location: OutputLocation, code: int) -> int:
    from townsquare.experiments.manifest import FILE, Experiment

    if not (location.folder / FILE).is_file():
        complain("nothing is recorded yet; give the same command again", kind="stopped")
        return code
    experiment = Experiment.load(location.folder)
    done = f"{len(experiment.finished)} of {len(experiment.runs)} runs are finished and saved"
    complain(f"{done}. To resume, give the same command with:\n  --out {location.shown()}", kind="stopped")
    return code


def _show(experiment: Experiment, location: OutputLocation, shown: options.Shown, *, every: bool) -> None:
    from townsquare.pages.report import write_comparison

    page = None
    if experiment.finished:
        write_comparison(experiment, location.folder / "report.html")
        page = location.shown("report.html")
    for error in experiment.errors:
        complain(error, kind="failed")

    facts = {
        "comparison": location.shown(),
        "report": page,
        "baseline": experiment.baseline,
        "runs": [picked(run, "arm", "seed", "state", "error", "folder") for run in experiment.runs],
        "outcomes": experiment.outcomes,
        "paired": experiment.paired() if experiment.finished else [],
    }
    if not shown.is_told(location.shown(), facts):
        _show_tables(experiment, every=every)
        print(f"comparison  {location.shown()}" + (f"\nreport      {page}" if page else ""))


def _show_tables(experiment: Experiment, *, every: bool) -> None:
    from townsquare.analysis.outcomes import is_outcome
    from townsquare.core import registry

    if not any(run.arm == experiment.baseline for run in experiment.finished):
        complain(f"no run of the baseline {experiment.baseline} is finished, so nothing can be compared", kind="note")
        return
    compared = experiment.paired()
    names = list(dict.fromkeys(compared["outcome"].to_list()))
    unknown = [name for name in names if not is_outcome(name)]
    if unknown:
        complain(f"omitted, because their measures are not installed: {', '.join(unknown)}", kind="note")
        names = [name for name in names if name not in unknown]
    bundled = set(registry.bundled("measure")) - HEADLINES
    selected = [name for name in names if every or name.partition(".")[0] not in bundled]
    arms = list(dict.fromkeys(compared["arm"].to_list()))
    _show_outcomes(compared, selected, arms)
    if len(selected) < len(names):
        print(f"{len(names) - len(selected)} more outcomes: use --all or see the report.")
    print(f"Differences from {experiment.baseline}, paired by seed [95% CI]. CIs reflect variation between seeds only.")
    if len(experiment.seeds) == 1:
        print("One seed gives no CI; use --seeds 10.")
    elif (compared["p"] < LOW).any():
        n_outcomes = compared["outcome"].n_unique()
        print(f"With {n_outcomes} outcomes, some reach p < {LOW} by chance alone: pre-specify yours.")
        below = [int((compared[name].fill_nan(None) < LOW).sum()) for name in ("p", "p_holm", "p_fdr")]
        corrected = f"{below[1]} after Holm's correction, {below[2]} after FDR correction (Benjamini-Hochberg)"
        print(f"{below[0]} tests have p < {LOW}; {corrected}.")


def _show_outcomes(compared: pl.DataFrame, names: list[str], arms: list[str]) -> None:
    """Means of outcomes by arm, and differences to the baseline.

    A row an outcome and a column an arm, if that fits; for many arms, and for terminals that are not wide, a row an
    outcome and below it one each arm.
    """
    from townsquare.analysis import describe

    wide: list[tuple[str, ...]] = []
    narrow: list[tuple[str, ...]] = []
    shorts = [short_arm(arm, arms) for arm in arms]
    for name in names:
        rows = {row["arm"]: row for row in compared.filter(compared["outcome"] == name).iter_rows(named=True)}
        if not any(row["n"] for row in rows.values()):
            continue
        what = describe(name)
        cells = [(number(rows[arm]["mean"]), _difference(rows[arm])) if arm in rows else ("", "") for arm in arms]
        wide.append((what.title, what.unit, *(mean for mean, _ in cells)))
        if any(difference for _, difference in cells):
            wide.append(("", "", *(difference for _, difference in cells)))
        narrow.append((f"{what.title}, {what.unit}", "", ""))
        narrow += [(f"· {short}", *pair) for short, pair, arm in zip(shorts, cells, arms, strict=True) if arm in rows]
    columns = ("outcome", "unit", *shorts)
    widths = [max(map(len, column)) for column in zip(columns, *wide, strict=True)]
    if sum(widths) + GAP * len(widths) <= console().width:
        show_table(Table("", columns, wide, {0, 1}))
    else:
        show_table(Table("", ("outcome", "mean", "difference"), narrow))


def short_arm(arm: str, arms: list[str]) -> str:
    """Return the name of an arm by its values alone, where all arms set the same settings.

    >>> short_arm("moderation.strategy=none", ["moderation.strategy=none", "moderation.strategy=hybrid"])
    'none'
    >>> short_arm("seed=1, agents=20", ["seed=1, agents=20", "seed=1, agents=30"])
    '1, 20'
    """
    parts = [[part.partition("=") for part in name.split(", ")] for name in arms]
    keys = {tuple(key for key, _, _ in name) for name in parts}
    if len(keys) > 1 or not all(equals for name in parts for _, equals, _ in name):
        return arm
    return ", ".join(part.partition("=")[2] for part in arm.split(", "))


def _difference(row: dict[str, Any]) -> str:
    difference, low, high = (math.nan if row[name] is None else row[name] for name in ("difference", "low", "high"))
    if row["note"] == "baseline" or not math.isfinite(difference):
        return ""
    interval = f"[{signed(low, 2)}, {signed(high, 2)}]" if math.isfinite(low) else "(no CI)"
    return f"{signed(difference, 2)} {interval}"
