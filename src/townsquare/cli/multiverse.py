"""What ``townsquare compare --multiverse`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from townsquare.cli.console import complain, digits, picked, show

if TYPE_CHECKING:
    import polars as pl

    from townsquare.cli.options import Shown
    from townsquare.cli.places import OutputLocation
    from townsquare.experiments.manifest import Experiment


def show_multiverse(
    experiment: Experiment, across: list[str], contrast: list[str], location: OutputLocation, shown: Shown
) -> None:
    """Write the page, and print the range of each effect over the universes and the choice that drives it."""
    import numpy as np
    import polars as pl

    from townsquare.analysis import describe
    from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
    from townsquare.pages.report.multiverse_page import finding, outcomes_shown, write_multiverse

    made = Multiverse(experiment, tuple(across), tuple(contrast))
    made.save()
    write_multiverse(made, location.folder / "report.html")
    page = location.shown("report.html")
    for error in experiment.errors:
        complain(error, kind="failed")
    curves, shares = [], []
    for name in outcomes_shown(made):
        effects = made.effects(name)
        named = pl.lit(name).alias("outcome")
        curves.append(specifications(effects, made.across).select(named, pl.all()))
        shares.append(variance_shares(effects, made.across).select(named, pl.all()))
    runs = [picked(run, "arm", "seed", "state", "folder") for run in experiment.runs]
    facts = {"comparison": location.shown(), "report": page, "runs": runs}
    if shown.is_told(location.shown(), facts | {"specifications": _joined(curves), "shares": _joined(shares)}):
        return
    for curve, share in zip(curves[:1], shares[:1], strict=True):  # the primary outcome
        for (name, side), part in curve.group_by("outcome", "side", maintain_order=True):
            what = describe(str(name))
            print(f"{what.title}, {side}: {finding(part, share.filter(pl.col('side') == side), what)}")
    rows = [
        (name, side, part.height, *np.quantile(part["effect"], (0.5, 0, 1)).tolist(), (part["effect"] > 0).sum(), most)
        for curve, share in zip(curves, shares, strict=True)
        for (name, side), part in curve.group_by("outcome", "side", maintain_order=True)
        for most in [_most(share.filter(pl.col("side") == side))]
    ]
    show(
        "Effects over all universes", rows, (str, "outcome", "effect of"), (str, "universes"),
        (digits(3, sign=True), "median", "minimum", "maximum"),
        (str, "universes above 0", "most variance from"),
    )  # fmt: skip
    print(f"Report: {page}")


def _joined(frames: list[pl.DataFrame]) -> list[dict[str, Any]]:
    return [row for frame in frames for row in frame.to_dicts()]


def _most(shares: pl.DataFrame) -> str:
    """Return the choice with the largest share of the variance."""
    known = shares.filter(shares["share"].is_not_nan()).sort("share", descending=True)
    if not known.height:
        return "none: constant effect"
    return f"{known['source'][0]} ({known['share'][0]:.0%})"
