"""``townsquare prune``: remove what is no longer wanted of many runs."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, safe, show_json, table

if TYPE_CHECKING:
    from townsquare.experiments.pruning import Plan

OK, FAILED, UNASKED = 0, 1, 2
UNITS = {"h": 3600, "d": 86_400, "w": 604_800}
"""Seconds."""
Root = Annotated[Path, Parameter(name="FOLDER", help="A folder of runs and comparisons, or the folder of one.")]
Older = Annotated[str, Parameter(help="Only runs last written so long ago: hours, days or weeks, as 12h, 30d, 2w.")]
KeepReports = Annotated[
    bool, Parameter(negative="", help="Also the records of finished runs; report.html and run.yaml stay.")
]
Calls = Annotated[
    bool, Parameter(negative="", help="Also recorded calls of language models (calls.db) of finished runs.")
]
Yes = Annotated[bool, Parameter(negative="", help="Remove without asking.")]


def prune(
    folder: Root,
    /,
    *,
    older: Older = "7d",
    keep_reports: KeepReports = False,
    calls: Calls = False,
    yes: Yes = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """List unfinished runs that nobody goes on with, with their sizes, and remove them once you agree.

    Runs that are being written are never touched, nor is any file that Townsquare did not write.
    """
    from townsquare.cli.doctor import in_units
    from townsquare.experiments.pruning import plan

    found = plan(folder, time.time() - seconds(older), keep_reports=keep_reports, calls=calls)
    if not as_json and not quiet:
        _show(found)
    may_ask = sys.stdin.isatty() and not as_json
    agreed = bool(found.items) and (yes or (may_ask and _asked(found)))
    failed = _remove_all(found) if agreed else {}
    if as_json:
        show_json(_result(found, failed, agreed=agreed))
    elif agreed and not quiet:
        removed = [item.size for item in found.items if item.folder not in failed]
        print(f"removed {len(removed)} of {len(found.items)}: {in_units(sum(removed))}")
    if found.items and not agreed:
        how = "" if may_ask else "; there is no terminal to ask at: add --yes to remove them"
        complain(f"nothing was removed{how}", kind="note")
        return OK if may_ask else UNASKED
    return FAILED if failed else OK


def seconds(text: str) -> float:
    """How long ago, as ``30d``.

    Raises
    ------
    SettingError
        Not a number with a unit.

    >>> seconds("30d"), seconds("12h")
    (2592000.0, 43200.0)
    """
    from townsquare.core.errors import SettingError

    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([hdw])", text)
    if match is None:
        raise SettingError("--older", got=repr(text[:40]), allowed="a number of hours, days or weeks, as 12h, 30d, 2w")
    return float(match[1]) * UNITS[match[2]]


def _asked(found: Plan) -> bool:
    """Whether whoever sits at the terminal agrees."""
    from townsquare.cli.doctor import in_units

    print(f"Remove these {len(found.items)} ({in_units(found.size)})? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove_all(found: Plan) -> dict[Path, str]:
    """Remove every item; what could not be removed, with the reason."""
    from townsquare.core.errors import TownsquareError
    from townsquare.experiments.pruning import remove

    failed: dict[Path, str] = {}
    for item in found.items:
        try:
            remove(found, item)
        except TownsquareError as error:
            failed[item.folder] = error.got
        except OSError as error:
            failed[item.folder] = error.strerror or str(error)
    for folder, why in failed.items():
        complain(f"{folder}: {why}", kind="not removed")
    return failed


def _show(found: Plan) -> None:
    from townsquare.cli.doctor import in_units

    now = time.time()
    rows = [
        (
            item.folder.relative_to(found.root) if item.folder != found.root else item.folder.name,
            item.what,
            f"{(now - item.written) / UNITS['d']:.0f}",
            in_units(item.size),
        )
        for item in found.items
    ]
    if rows:
        columns = ("run", "what can be removed", "days old", "size")
        console().print(table("", columns, rows, right=("days old", "size")))
    print(f"{len(rows)} to remove below {safe(found.root)}: {in_units(found.size)}")
    for why, count in sorted(Counter(why for _, why in found.left).items()):
        print(f"stays: {count:,} {why}")


def _result(found: Plan, failed: dict[Path, str], *, agreed: bool) -> dict[str, object]:
    return {
        "event": "result",
        "folder": str(found.root),
        "bytes": found.size,
        "runs": [
            {
                "run": str(item.folder),
                "what": item.what,
                "bytes": item.size,
                "written": item.written,
                "removed": agreed and item.folder not in failed,
                "error": failed.get(item.folder, ""),
            }
            for item in found.items
        ],
        "stays": [{"run": str(folder), "why": why} for folder, why in found.left],
    }
