"""Write fits as profiles for runs: ``townsquare run … --set beliefs.profiles=FILE``.

A CSV with the columns ``profile,u,a,share`` (for rules with other numbers, the names of their settings instead of u and
a); shares sum to 1. One row for one profile; one a group, with the groups' shares; or, for people, one a cell of the
population's distribution.
"""

from __future__ import annotations

import csv
import io
from typing import Literal

from townsquare.beliefs.grids import Grid
from townsquare.humans.fit.by_group import ALL
from townsquare.humans.fit.study import Study

Kind = Literal["one", "groups", "people"]
LEAST_SHARE = 0.002
"""Cells of the population with less than this are left out."""
_LOG_ODDS = ("uptake", "anchoring")


def columns_of(grid: Grid) -> tuple[str, str]:
    """Return names of the two columns: u and a for log-odds rules, else the settings' own."""
    own = (grid.x_name, grid.y_name)
    return ("u", "a") if own == _LOG_ODDS else own


def profiles_csv(study: Study, kind: Kind = "people") -> str:
    """Return the text of a file of profiles."""
    grid = study.setup.grid
    groups = [(row.group, row.x, row.y, float(row.n)) for row in study.groups if row.group != ALL]
    rows = {"one": [("all", *study.point, 1.0)], "groups": groups, "people": _people(study)}[kind]
    total = sum(share for *_, share in rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["profile", *columns_of(grid), "share"])
    writer.writerows([name, f"{x:.6g}", f"{y:.6g}", f"{share / total:.6f}"] for name, x, y, share in rows)
    return text.getvalue()


def _people(study: Study) -> list[tuple[str, float, float, float]]:
    grid, share = study.setup.grid, study.people.population.share
    first, second = columns_of(grid)
    rows = []
    for number, weight in enumerate(share.tolist()):
        if weight >= LEAST_SHARE:
            x, y = grid.cell(number)
            rows.append((f"{first}{x:g}-{second}{y:g}", x, y, weight))
    return rows
