"""``townsquare prune``: remove what is no longer wanted of many runs."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import asked, complain, safe, show, show_json

if TYPE_CHECKING:
    from townsquare.experiments.pruning import Plan

OK, FAILED, UNASKED = 0, 1, 2
UNITS = {"h": 3600, "d": 86_400, "w": 604_800}
"""Seconds."""


def prune(
    folder: Path,
    /,
    *,
    older: str = "7d",
    keep_reports: bool = False,
    calls: bool = False,
    yes: bool = False,
    shown: options.Shown = options.SHOWN,
) -> int:
    """List abandoned unfinished runs with their sizes, and remove them after confirmation.

    Never touches runs being written, or files that Townsquare did not write.

    Parameters
    ----------
    folder
        A folder of runs and comparisons, or of one of them.
    older
        Minimum age since the last write: hours, days or weeks, such as 12h, 30d, 2w.
    keep_reports
        Also remove the records of finished runs that have a report; report.html and run.yaml stay.
    calls
        Also remove recorded language model calls (calls.db) of finished runs.
    yes
        Remove without confirmation.
    """
    from townsquare.cli.doctor import in_units
    from townsquare.experiments.pruning import plan

    listed = plan(folder, time.time() - seconds(older), keep_reports=keep_reports, calls=calls)
    if not shown.as_json and not shown.quiet:
        _show(listed)
    may_ask = sys.stdin.isatty() and not shown.as_json
    question = f"Remove these {len(listed.items)} ({in_units(listed.size)})? [y/N] "
    agreed = bool(listed.items) and (yes or (may_ask and asked(question).lower() in ("y", "yes")))
    failed = _remove_all(listed) if agreed else {}
    if shown.as_json:
        show_json(_result(listed, failed, agreed=agreed))
    elif agreed and not shown.quiet:
        removed = [item.size for item in listed.items if item.folder not in failed]
        print(f"removed {len(removed)} of {len(listed.items)}: {in_units(sum(removed))}")
    if listed.items and not agreed:
        how = "" if may_ask else "; no terminal to confirm at: use --yes"
        complain(f"nothing was removed{how}", kind="note")
        return OK if may_ask else UNASKED
    return FAILED if failed else OK


def seconds(text: str) -> float:
    """Return the seconds of an age such as ``30d``.

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
        raise SettingError("--older", got=repr(text[:40]), allowed="hours, days or weeks, such as 12h, 30d, 2w")
    return float(match[1]) * UNITS[match[2]]


def _remove_all(listed: Plan) -> dict[Path, str]:
    """Remove every item; return the folders that could not be removed, with the reason."""
    from townsquare.core.errors import TownsquareError
    from townsquare.experiments.pruning import remove

    failed: dict[Path, str] = {}
    for item in listed.items:
        try:
            remove(listed, item)
        except TownsquareError as error:
            failed[item.folder] = error.got
        except OSError as error:
            failed[item.folder] = error.strerror or str(error)
    for folder, why in failed.items():
        complain(f"{folder}: {why}", kind="not removed")
    return failed


def _show(listed: Plan) -> None:
    from townsquare.cli.doctor import in_units

    def name(folder: Path) -> str:
        return folder.name if folder == listed.root else str(folder.relative_to(listed.root))

    def days(written: float) -> str:
        return f"{(time.time() - written) / UNITS['d']:.0f}"

    if listed.items:
        columns = (name, "run=folder"), (str, "what can be removed=what"), (days, "days old=written")
        show("", listed.items, *columns, (in_units, "size"), words=("run", "what can be removed"))
    print(f"{len(listed.items)} to remove in {safe(listed.root)}: {in_units(listed.size)}")
    for why, count in sorted(Counter(why for _, why in listed.left).items()):
        print(f"skipped: {count:,} {why}")


def _result(listed: Plan, failed: dict[Path, str], *, agreed: bool) -> dict[str, object]:
    runs = [
        {"run": str(item.folder), "what": item.what, "bytes": item.size, "written": item.written}
        | {"removed": agreed and item.folder not in failed, "error": failed.get(item.folder, "")}
        for item in listed.items
    ]
    stays = [{"run": str(folder), "why": why} for folder, why in listed.left]
    return {"event": "result", "folder": str(listed.root), "bytes": listed.size, "runs": runs, "stays": stays}
