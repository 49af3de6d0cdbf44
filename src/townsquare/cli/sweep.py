"""``townsquare sweep``: a grid of settings, and how outcomes depend on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from townsquare.cli import options, places
from townsquare.cli.compare import Study, Vary
from townsquare.cli.console import known, number, show

if TYPE_CHECKING:
    from townsquare.cli.places import OutputLocation
    from townsquare.experiments.manifest import Experiment


def sweep(
    target: options.Target = None,
    /,
    *,
    vary: Vary = None,
    once: options.Once = False,
    seeds: str = "1",
    outcome: str | None = None,
    sized: options.Sized = options.SIZED,
    placed: places.Placed = places.PLACED,
    no_copy: options.NoCopy = False,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Run a grid of settings, and show how the primary outcome depends on each.

    To resume a stopped sweep, give the same command with its --out. For debates, see `debate sweep`.

    Parameters
    ----------
    seeds
        Seeds: how many (10), a list (3,5,8) or a range (1-20).
    outcome
        The outcome to show, such as reach_false_mean; default: that of the scenario, else see docs/cli.md.
    """
    vary = options.required("--vary", vary, "a setting and its values, such as beliefs.pull=0.001,0.01")
    layers, origins = sized.layers(target)
    study = Study("sweep", layers, origins, options.varied(vary), seeds, sized.given(), outcome, once)
    return study.carry_out(placed, shown, lambda experiment, at: _show(experiment, at, shown), no_copy=no_copy)


def _show(experiment: Experiment, location: OutputLocation, shown: options.Shown) -> None:
    import polars as pl

    from townsquare.analysis import describe

    rows = experiment.table("outcomes")
    if shown.is_told(location.shown(), {"sweep": location.shown(), "primary": experiment.primary, "outcomes": rows}):
        return
    if not rows.height:
        return
    name, keys = experiment.primary, list(experiment.vary)
    value = pl.col(name).fill_nan(None)
    spread = value.mean().alias("mean"), value.std().alias("sd"), value.count().alias("seeds")
    means = rows.group_by("arm", *keys, maintain_order=True).agg(*spread)
    what = describe(name)
    columns = ((known(str), *keys), (number, f"mean ({what.unit})=mean", "SD over seeds=sd"), (str, "seeds"))
    better = "" if what.direction == "neither" else f" ({what.direction})"
    show(f"{what.title}{better}", means, *columns, words=keys)
    print(f"All outcomes: townsquare.Experiment.load({location.shown()!r}).table('outcomes')")
