"""What ``townsquare compare --multiverse`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from townsquare.cli.console import digits, picked, show

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

    from townsquare.analysis import describe
    from townsquare.experiments.multiverse import Multiverse
    from townsquare.pages.report.multiverse_page import finding, frames_of, write_multiverse

    made = Multiverse(experiment, tuple(across), tuple(contrast))
    made.save()
    write_multiverse(made, location.folder / "report.html")
    page = location.shown("report.html")
    frames = frames_of(made)
    curves, shares = frames["specifications"], frames["variance_shares"]
    runs = [picked(run, "arm", "seed", "state", "folder") for run in experiment.runs]
    facts = {"comparison": location.shown(), "report": page, "runs": runs}
    if shown.is_told(location.shown(), facts | {"specifications": curves, "shares": shares}):
        return
    rows: list[tuple[Any, ...]] = []
    for (name, side), part in curves.group_by("outcome", "side", maintain_order=True) if curves.height else ():
        what, share, effect = describe(str(name)), shares.filter(outcome=name, side=side), part["effect"]
        if name == curves["outcome"][0]:  # the primary outcome
            print(f"{what.title}, {side}: {finding(part, share, what)}")
        middle, low, high = np.quantile(effect, (0.5, 0, 1)).tolist()
        rows.append((name, side, part.height, middle, low, high, (effect > 0).sum(), _most(share)))
    show(
        "Effects over all universes", rows, (str, "outcome", "effect of"), (str, "universes"),
        (digits(3, sign=True), "median", "minimum", "maximum"),
        (str, "universes above 0", "most variance from"),
    )  # fmt: skip
    print(f"Report: {page}")


def _most(shares: pl.DataFrame) -> str:
    """Return the choice with the largest share of the variance."""
    known = shares.filter(shares["share"].is_not_nan()).sort("share", descending=True)
    if not known.height:
        return "none: constant effect"
    return f"{known['source'][0]} ({known['share'][0]:.0%})"
