"""``townsquare check``: this installation against recorded numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import MOST_SHOWN, list_some, number, picked, show, show_json


def golden(*files: Annotated[Path, Parameter(name="FILE")], as_json: options.AsJson = False) -> int:
    """Compare golden files of SimSwarm's published functions with what Townsquare computes; exit 1 if one differs.

    Parameters
    ----------
    files
        JSON lines of recorded inputs and outputs.
    """
    from townsquare.core.errors import SettingError
    from townsquare.testing.golden.golden import check

    if not files:
        raise SettingError("FILE", got="nothing", allowed="at least one golden file")
    found = [check(file) for file in files]
    if as_json:
        listed = []
        for one in found:
            apart = {name: str(difference) for name, difference in one.largest_difference.items()}
            facts = picked(one, "kind", "passed", "cases", "rounds", "failures")
            listed.append({**facts, "file": str(one.path), "largest_difference": apart})
        show_json(listed)
    else:
        rows = [
            (str(one.path), one.kind, one.cases, one.rounds, name, apart, "yes" if one.passed else "NO")
            for one in found
            for name, apart in (one.largest_difference or {"nothing": 0.0}).items()
        ]
        numbers = (number, "cases", "rounds"), (str, "quantity"), ("{:.3g}".format, "largest difference")
        show("", rows, (str, "file", "kind"), *numbers, (str, "agrees"))
        for one in found:
            list_some(one.failures, "differs", MOST_SHOWN, f"more in {one.path}")
    return 0 if all(one.passed for one in found) else 1
