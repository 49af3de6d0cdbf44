"""What ``townsquare compare --multiverse`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from townsquare.cli.console import complain, console, number, show_json, signed, table

if TYPE_CHECKING:
    from townsquare.cli.places import OutputLocation
    from townsquare.experiments.manifest import Experiment


def show_multiverse(
    found: Experiment, across: list[str], contrast: list[str], place: OutputLocation, *, quiet: bool, as_json: bool
) -> None:
    """Write the page, and print how far each effect reaches over the universes and what it hangs on."""
    import numpy as np
    import polars as pl

    from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
    from townsquare.pages.report.multiverse_page import outcomes_shown, write_multiverse

    made = Multiverse(found, tuple(across), tuple(contrast))
    made.save()
    write_multiverse(made, place.folder / "report.html")
    page = place.shown("report.html")
    for error in found.errors:
        complain(error, kind="failed")
    if quiet:
        print(place.shown())
        return
    curves, shares = [], []
    for name in outcomes_shown(made):
        effects = made.effects(name)
        named = pl.lit(name).alias("outcome")
        curves.append(specifications(effects, made.across).select(named, pl.all()))
        shares.append(variance_shares(effects, made.across).select(named, pl.all()))
    if as_json:
        runs = [{"arm": r.arm, "seed": r.seed, "state": r.state, "folder": r.folder} for r in found.runs]
        show_json(
            {
                "event": "result",
                "comparison": place.shown(),
                "report": page,
                "runs": runs,
                "specifications": [row for frame in curves for row in frame.to_dicts()],
                "shares": [row for frame in shares for row in frame.to_dicts()],
            }
        )
        return
    rows = [
        (name, side, str(part.height), *(signed(float(end), 3) for end in np.quantile(part["effect"], (0.5, 0, 1))),
         f"{(part['effect'] > 0).sum()}", most)
        for curve, share in zip(curves, shares, strict=True)
        for (name, side), part in curve.group_by("outcome", "side", maintain_order=True)
        for most in [_most(share.filter(pl.col("side") == side))]
    ]  # fmt: skip
    columns = ("outcome", "effect of", "universes", "median", "least", "most", "above 0", "hangs most on")
    console().print(table("Effects over all universes", columns, rows, right=columns[2:7]))
    print(f"comparison  {place.shown()}\nreport      {page}")


def _most(shares: object) -> str:
    """The choice with the largest share of the variance."""
    import polars as pl

    assert isinstance(shares, pl.DataFrame)
    known = shares.filter(pl.col("share").is_not_nan()).sort("share", descending=True)
    return (
        f"{known['source'][0]} ({number(100 * known['share'][0], 2)}%)" if known.height else "nothing: it is constant"
    )
