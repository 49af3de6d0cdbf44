"""``townsquare check``: this installation against recorded numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, show_json, table

MOST_SHOWN = 5


def golden(
    *files: Annotated[Path, Parameter(name="FILE", help="JSON lines of recorded inputs and outputs.")],
    as_json: options.AsJson = False,
) -> int:
    """Compare golden files of SimSwarm's published functions with what Townsquare computes; exit 1 if one differs."""
    from townsquare.core.errors import SettingError
    from townsquare.testing.golden.golden import check

    if not files:
        raise SettingError("FILE", got="nothing", allowed="at least one golden file")
    found = [check(file) for file in files]
    if as_json:
        show_json(
            [
                {
                    "file": str(one.path),
                    "kind": one.kind,
                    "passed": one.passed,
                    "cases": one.cases,
                    "rounds": one.rounds,
                    "largest_difference": {name: str(apart) for name, apart in one.largest_difference.items()},
                    "failures": one.failures,
                }
                for one in found
            ]
        )
    else:
        rows = [
            (
                one.path,
                one.kind,
                f"{one.cases:,}",
                f"{one.rounds:,}",
                name,
                f"{apart:.3g}",
                "yes" if one.passed else "NO",
            )
            for one in found
            for name, apart in (one.largest_difference or {"nothing": 0.0}).items()
        ]
        columns = ("file", "kind", "cases", "rounds", "quantity", "largest difference", "agrees")
        console().print(table("", columns, rows, right=("cases", "rounds", "largest difference")))
        for one in found:
            for sentence in one.failures[:MOST_SHOWN]:
                complain(sentence, kind="differs")
            if len(one.failures) > MOST_SHOWN:
                complain(f"{len(one.failures) - MOST_SHOWN} more in {one.path}", kind="differs")
    return 0 if all(one.passed for one in found) else 1
