"""``townsquare check``: this installation against recorded numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import MOST_SHOWN, list_some, number, picked, show, show_json


def golden(*files: Annotated[Path, Parameter(name="FILE")], as_json: options.AsJson = False) -> int:
    """Compare recorded outputs of SimSwarm's published functions with computed ones; exit 1 if one differs.

    Parameters
    ----------
    files
        Recorded inputs and outputs as JSON lines (not distributed); at least one file.
    """
    from townsquare.testing.golden.golden import check

    results = [check(file) for file in options.required("FILE", files, "at least one golden file")]
    if as_json:
        listed = []
        for result in results:
            apart = {name: str(difference) for name, difference in result.largest_difference.items()}
            facts = picked(result, "kind", "passed", "cases", "rounds", "failures")
            listed.append({**facts, "file": str(result.path), "largest_difference": apart})
        show_json(listed)
    else:
        rows = [
            (str(result.path), result.kind, result.cases, result.rounds, name, apart, "yes" if result.passed else "NO")
            for result in results
            for name, apart in (result.largest_difference or {"nothing": 0.0}).items()
        ]
        numbers = (number, "cases", "rounds"), (str, "quantity"), ("{:.3g}".format, "largest difference")
        show("", rows, (str, "file", "kind"), *numbers, (str, "agrees"))
        for result in results:
            list_some(result.failures, "differs", MOST_SHOWN, f"more in {result.path}")
    return 0 if all(result.passed for result in results) else 1
