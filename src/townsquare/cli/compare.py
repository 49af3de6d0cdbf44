"""``townsquare compare``: arms x seeds, with paired differences to the first arm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, console, number, show_json, signed, table
from townsquare.cli.multiverse import show_multiverse
from townsquare.cli.places import OutputLocation
from townsquare.cli.progress import ProgressDisplay, mode, show_study
from townsquare.cli.signals import OrderToEnd

if TYPE_CHECKING:
    import polars as pl

    from townsquare.experiments.comparison import Experiment
    from townsquare.settings.layers import Layer

Vary = Annotated[
    list[str] | None,
    Parameter(
        name="--vary",
        negative="",
        help="A setting and its values, as moderation.strategy=none,hybrid. Repeated: all combinations.",
    ),
]
Across = Annotated[
    list[str] | None,
    Parameter(negative="", help="With --multiverse: a modeling choice and its values, as feed.ranker=recent,random."),
]
Many = Annotated[
    bool,
    Parameter(name="--multiverse", negative="", help="Compare under every combination of modeling choices."),
]
Seeds = Annotated[str, Parameter(help="How many (10), a list (3,5,8) or a range (1-20).")]
Every = Annotated[bool, Parameter(name="--all", negative="", help="Print every outcome, not the headlines alone.")]
LOW = 0.05
GAP = 2  # characters between the columns of a table
HEADLINES = frozenset(
    {
        "engagement_true_per_post",
        "engagement_false_per_post",
        "reach_true_mean",
        "reach_false_mean",
        "precision",
        "recall",
        "f1",
        "true_labelled",
        "true_removed",
        "false_removed",
        "shift",
        "absolute_shift",
        "accuracy",
        "accuracy_shift",
    }
)
"""Outcomes that a comparison prints without being asked; those of propositions by the part before the dot."""
Workers = Annotated[
    int | None,
    Parameter(
        converter=options.whole, help="Processes at a time; by default one a processor; 1 is the command itself."
    ),
]


def compare(
    target: options.Target = None,
    /,
    *,
    vary: Vary = None,
    multiverse: Many = False,
    across: Across = None,
    seeds: Seeds = "10",
    agents: options.Agents = None,
    steps: options.Steps = None,
    out: places.Out = None,
    workers: Workers = None,
    on: places.On = "",
    record: options.Record = None,
    record_schema: places.RecordSchema = None,
    sets: options.Sets = None,
    no_copy: options.NoCopy = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    every: Every = False,
) -> int:
    """Run every combination of the settings that vary, with every seed, and compare with the first.

    A comparison that was stopped goes on when the same command is given with its --out.
    """
    from townsquare.cli.servers import show_servers_of
    from townsquare.core.errors import RunsFailed, SettingError
    from townsquare.experiments import comparison
    from townsquare.experiments.arms import arms_of
    from townsquare.experiments.cluster.ray_cluster import checked_place
    from townsquare.experiments.manifest import FILE
    from townsquare.experiments.multiverse import FILE as MULTIVERSE
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.settings import resolve_with_scenario
    from townsquare.settings.resolve import layers_for
    from townsquare.simulation.scenario_copy import left_out

    if workers is not None and workers < 1:
        raise SettingError("--workers", got=str(workers), allowed="a whole number of at least 1")
    scenario, file = options.split_target(target)
    layers, origins = layers_for(scenario, file, sets or (), agents=agents, steps=steps)
    base = resolve_with_scenario(*layers, origins=origins)
    contrast = options.varied(vary or [])
    choices = _choices(across, set(contrast), layers, multiverse=multiverse)
    by_setting = {**choices, **contrast}
    if base.config.model.name != "none" or any(key.startswith("model") for key in by_setting):
        show_servers_of(resolve_with_scenario(*layers, arm.changes, origins=origins) for arm in arms_of(by_setting))
    stem = f"compare-{Path(base.config.scenario).stem}"
    with places.output_location(out, stem, (FILE, MULTIVERSE)) as place, OrderToEnd() as order:
        server = places.server_for(record, record_schema, place)
        where = comparison.ExecutionTargets(checked_place(on), place.store, server, with_copy=not no_copy)
        too_large = "" if no_copy or record else left_out(load_scenario(base.config.scenario), base)
        if too_large and not quiet:
            complain(too_large, kind="note")
        try:
            with ProgressDisplay(0, mode(quiet=quiet, as_json=as_json), f"comparing in {place.shown()}") as progress:
                found = comparison.compare(
                    layers,
                    by_setting,
                    seeds,
                    place.folder,
                    workers,
                    lambda far: show_study(progress, far, "runs"),
                    where,
                )
        except KeyboardInterrupt:
            return _stopped(place, order.code)
        except RunsFailed:
            found = comparison.Experiment.load(place.folder)
        place.bring_settings(found.finished)
        if multiverse and found.finished:
            show_multiverse(found, list(choices), list(contrast), place, quiet=quiet, as_json=as_json)
        else:
            _show(found, place, quiet=quiet, as_json=as_json, every=every)
        place.send(("report.html", MULTIVERSE))
    return 1 if found.failed else 0


def _choices(
    across: list[str] | None, contrast: set[str], layers: list[Layer], *, multiverse: bool
) -> dict[str, list[Any]]:
    """Modeling choices of a multiverse: those named, else the usual ones that are not the question itself."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.multiverse import choices_for

    if not multiverse:
        if across:
            raise SettingError("--across", got=across[0], allowed="with --multiverse")
        return {}
    if across:
        found = options.varied(across, "--across")
    else:
        found = {key: values for key, values in choices_for(layers).items() if key not in contrast}
    for key in found.keys() & contrast:
        raise SettingError(f"--across {key}", got="also --vary", allowed="one of the two")
    return found


def compared_pair(
    base: dict[str, Any],
    vary: dict[str, list[Any]],
    seeds: list[int],
    out: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run the arms that a recorded run and a change of its settings make, and show what differs; the exit code."""
    from townsquare.core.errors import RunsFailed
    from townsquare.experiments import comparison
    from townsquare.experiments.run_folders import folder_for

    with folder_for(out, "counterfactual") as folder, OrderToEnd() as order:
        try:
            with ProgressDisplay(0, mode(quiet=quiet, as_json=as_json), f"comparing in {folder}") as progress:
                found = comparison.compare(
                    [base], vary, seeds, folder, None, lambda far: show_study(progress, far, "runs")
                )
        except KeyboardInterrupt:
            return _stopped(OutputLocation(folder), order.code)
        except RunsFailed:
            found = comparison.Experiment.load(folder)
    _show(found, OutputLocation(folder), quiet=quiet, as_json=as_json, every=False)
    return 1 if found.failed else 0


def _stopped(place: OutputLocation, code: int) -> int:
    from townsquare.experiments.manifest import FILE, Experiment

    if not (place.folder / FILE).is_file():
        complain("nothing is recorded yet: give the same command again", kind="stopped")
        return code
    found = Experiment.load(place.folder)
    done = f"{len(found.finished)} of {len(found.runs)} runs are finished and safe"
    complain(f"{done}. Go on by giving the same command with:\n  --out {place.shown()}", kind="stopped")
    return code


def _show(found: Experiment, place: OutputLocation, *, quiet: bool, as_json: bool, every: bool) -> None:
    from townsquare.pages.report import write_comparison

    page = None
    if found.finished:
        write_comparison(found, place.folder / "report.html")
        page = place.shown("report.html")
    for error in found.errors:
        complain(error, kind="failed")
    if as_json:
        runs = [
            {"arm": r.arm, "seed": r.seed, "state": r.state, "error": r.error, "folder": r.folder} for r in found.runs
        ]
        show_json(
            {
                "event": "result",
                "comparison": place.shown(),
                "report": page,
                "baseline": found.baseline,
                "runs": runs,
                "outcomes": found.outcomes.to_dicts(),
                "paired": found.paired().to_dicts() if found.finished else [],
            }
        )
    elif quiet:
        print(place.shown())
    else:
        _show_tables(found, every=every)
        print(f"comparison  {place.shown()}" + (f"\nreport      {page}" if page else ""))


def _show_tables(found: Experiment, *, every: bool) -> None:
    if not any(run.arm == found.baseline for run in found.finished):
        complain(f"no run of the baseline {found.baseline} is finished: there is nothing to compare", kind="note")
        return
    compared = found.paired()
    names = list(dict.fromkeys(compared["outcome"].to_list()))
    kept = names if every else [name for name in names if name.partition(".")[0] in HEADLINES]
    arms = list(dict.fromkeys(compared["arm"].to_list()))
    if not _show_side_by_side(compared, kept, arms):
        _show_below_each_other(compared, kept, arms)
    if len(kept) < len(names):
        print(f"{len(names) - len(kept)} more outcomes: --all, or the report.")
    print(f"Differences are to {found.baseline}, seed by seed; intervals are over the seeds only.")
    if len(found.seeds) == 1:
        print("One seed says nothing about chance: there is no interval. Give --seeds 10.")
    elif (compared["p"] < LOW).any():
        n_outcomes = compared["outcome"].n_unique()
        print(f"Of {n_outcomes} outcomes some have p below {LOW} by chance alone: choose yours beforehand.")
        below = [int((compared[name].fill_nan(None) < LOW).sum()) for name in ("p", "p_holm", "p_fdr")]
        print(
            f"Below {LOW}: {below[0]}; corrected for their number {below[1]} (Holm), {below[2]} (false discovery rate)."
        )


def _show_side_by_side(compared: pl.DataFrame, names: list[str], arms: list[str]) -> bool:
    """A row an outcome, a column an arm: its mean, and below it the difference to the baseline. Only if it fits."""
    from townsquare.analysis import describe

    cells: list[tuple[str, ...]] = []
    for name, rows in _by_outcome(compared, names):
        what = describe(name)
        cells.append((what.title, what.unit, *(number(rows[arm]["mean"]) if arm in rows else "" for arm in arms)))
        differences = [_difference(rows.get(arm)) for arm in arms]
        if any(differences):
            cells.append(("", "", *differences))
    columns = ("outcome", "unit", *(short_arm(arm, arms) for arm in arms))
    shown = console()
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if sum(widths) + GAP * len(widths) > shown.width:
        return False
    shown.print(table("", columns, cells, right=columns[2:]))
    return True


def _show_below_each_other(compared: pl.DataFrame, names: list[str], arms: list[str]) -> None:
    """A row an outcome and, below it, one each arm: for many arms, and for terminals that are not wide."""
    from townsquare.analysis import describe

    cells: list[tuple[str, ...]] = []
    for name, rows in _by_outcome(compared, names):
        what = describe(name)
        cells.append((f"{what.title}, {what.unit}", "", ""))
        for arm, row in rows.items():
            cells.append((f"· {short_arm(arm, arms)}", number(row["mean"]), _difference(row)))
    columns = ("outcome", "mean", "difference")
    console().print(table("", columns, cells, right=columns[1:]))


def _by_outcome(compared: pl.DataFrame, names: list[str]) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """The rows of each outcome by arm, if some arm has a value."""
    for name in names:
        rows = {row["arm"]: row for row in compared.filter(compared["outcome"] == name).iter_rows(named=True)}
        if any(row["n"] for row in rows.values()):
            yield name, rows


def short_arm(arm: str, arms: list[str]) -> str:
    """The name of an arm by its values alone, where all arms set the same settings.

    >>> short_arm("moderation.strategy=none", ["moderation.strategy=none", "moderation.strategy=hybrid"])
    'none'
    >>> short_arm("seed=1, agents=20", ["seed=1, agents=20", "seed=1, agents=30"])
    '1, 20'
    """
    parts = [[part.partition("=") for part in one.split(", ")] for one in arms]
    keys = {tuple(key for key, _, _ in one) for one in parts}
    if len(keys) > 1 or not all(equals for one in parts for _, equals, _ in one):
        return arm
    return ", ".join(part.partition("=")[2] for part in arm.split(", "))


def _difference(row: dict[str, Any] | None) -> str:
    if row is None or row["note"] == "baseline":
        return ""
    if row["difference"] is None or not math.isfinite(row["difference"]):
        return ""
    if row["low"] is None or not math.isfinite(row["low"]):
        return f"{signed(row['difference'], 2)} (no interval)"
    return f"{signed(row['difference'], 2)} [{signed(row['low'], 2)}, {signed(row['high'], 2)}]"
