"""``townsquare doctor``: what is here, what is missing, and whether a planned run fits."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import picked, show, show_json

if TYPE_CHECKING:
    from townsquare.experiments.size import PlannedSize


def doctor(
    target: str | None = None,
    /,
    *,
    sized: options.Sized = options.SIZED,
    out: Path | None = None,
    as_json: options.AsJson = False,
) -> int:
    """Check the installation; with a scenario or configuration, also what its run would need.

    Exit code 1 if a run needs something that is missing.

    Parameters
    ----------
    target
        As for `townsquare run`; default: check only the installation.
    out
        Folder whose disk is checked; default: runs/.
    """
    from townsquare.experiments.size import planned_size
    from townsquare.scenario.load import load_scenario

    folder = out or Path("runs")
    findings, size = examine(folder), None
    if target is not None or sized.is_given():
        config = sized.settings(target).config
        size = planned_size(config, load_scenario(config.scenario))
        findings += fits(size, folder)
    whole = not any(finding.state == State.MISSING for finding in findings)
    if as_json:
        listed = [picked(finding, "what", "state", "found=detail", "do") for finding in findings]
        show_json({"ok": whole, "findings": listed, "planned": size})
    else:
        _show(findings, size)
    return 0 if whole else 1


def _show(findings: list[Finding], size: PlannedSize | None) -> None:
    show("", findings, (str, "what", "state", "found=detail"))
    for finding in findings:
        if finding.do:
            print(f"{finding.what}: {finding.do}")
    if size is not None:
        where = "Parquet" if size.in_parquet else "SQLite"
        rows_said = f"{size.exposures:,} exposures, {size.trail:,} trail rows, {size.beliefs:,} belief rows"
        print(f"The run would record up to {rows_said}, in {where}.")
        print("Disk and memory are upper bounds, from measured bytes per row and full feeds; see docs/scale.md.")


# What is installed here, what is missing, and the command that adds it.


OLDEST = (3, 11)
_NEEDS = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?:>=\s*(?P<least>[0-9.]+))?[^;]*(?:;(?P<when>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class State(StrEnum):
    """``OK``; ``MISSING``: something that a run needs; ``ABSENT``: something that is needed for some purposes only."""

    OK = "ok"
    MISSING = "missing"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it is, how it stands, and the command that would add it ("" for none)."""

    what: str
    state: State
    detail: str
    do: str = ""


def examine(folder: Path, package: str = "townsquare") -> list[Finding]:
    """Look at this installation, and at the file system of ``folder``, where runs would go.

    ``package`` is whose requirements are checked, as they are declared in its metadata.
    """
    return [_python(), *_packages(package), *_extras(package), _browser(), _kernels(), *_machine(folder)]


def _finding(what: str, detail: str, do: str, *, right: bool, otherwise: State = State.MISSING) -> Finding:
    """Return a finding that is right, or that says what to do."""
    return Finding(what, State.OK if right else otherwise, detail, "" if right else do)


def fits(size: PlannedSize, folder: Path) -> list[Finding]:
    """Return whether a planned run fits on the disk of ``folder`` and into the memory that is free."""
    room, memory = shutil.disk_usage(_nearest(folder)).free, free_memory()
    disk = f"up to {in_units(size.disk)} (estimate) of {in_units(room)} free"
    store = "fewer agents or steps, record.trail=false, or another disk"
    text = f"up to {in_units(size.memory)} (estimate) of {in_units(memory)} free" if memory else "unknown"
    less = "fewer agents, feed.comments=0, or a smaller feed"
    on_disk = _finding("disk for the run", disk, store, right=size.disk <= room)
    return [on_disk, _finding("memory for the run", text, less, right=not memory or size.memory <= memory)]


def _python() -> Finding:
    do = f"install Python {'.'.join(map(str, OLDEST))} or newer"
    return _finding("Python", platform.python_version(), do, right=sys.version_info[:2] >= OLDEST)


def _requirements(package: str) -> Iterator[tuple[str, str, str]]:
    """Yield (distribution, least version, extra) of everything a package declares to need; "" for what is not said."""
    for line in importlib.metadata.requires(package) or ():
        if match := _NEEDS.match(line):
            extra = _EXTRA.search(match["when"] or "")
            yield match["name"], match["least"] or "", extra[1] if extra else ""


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _packages(package: str) -> Iterator[Finding]:
    for name, least, extra in _requirements(package):
        if not extra:
            version = _installed(name)
            right = bool(version) and _numbers(version) >= _numbers(least)
            needed = f", {least} or newer is needed" if least and not right else ""
            do = f"python -m pip install '{name}>={least}'" if least else f"python -m pip install {name}"
            yield _finding(f"package {name}", (version or "none") + needed, do, right=right)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _extras(package: str) -> Iterator[Finding]:
    wanted: dict[str, list[str]] = {}
    for name, _, extra in _requirements(package):
        if extra:
            wanted.setdefault(extra, []).append(name)
    for extra, names in sorted(wanted.items()):
        missing = [name for name in names if not _installed(name)]
        text = f"without {', '.join(missing)}" if missing else ", ".join(f"{name} {_installed(name)}" for name in names)
        do = f"python -m pip install '{package}[{extra}]'"
        yield _finding(f"extra {extra}", text, do, right=not missing, otherwise=State.ABSENT)


def _browser() -> Finding:
    path = next((where for name in BROWSERS if (where := shutil.which(name))), "")
    do = "apt-get install chromium   # or your system's package manager; needed only for tests of pages"
    return _finding("chromium", path or "none", do, right=bool(path), otherwise=State.ABSENT)


def _kernels() -> Finding:
    """Compiled kernels are kept next to the package, or in ``NUMBA_CACHE_DIR``."""
    home = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1])
    stored, can_write = sum(1 for _ in home.rglob("*.nbi")), os.access(_nearest(home), os.W_OK)
    text, do = f"{stored} cached in {home}", "python -m townsquare.cli.warm"
    if not stored and not can_write:
        text, do = f"none, and {home} is read-only", "export NUMBA_CACHE_DIR=~/.cache/numba"
    return _finding("compiled kernels", text, do, right=bool(stored), otherwise=State.ABSENT)


def _machine(folder: Path) -> Iterator[Finding]:
    yield Finding("processors", State.OK, f"{os.cpu_count() or 1}")
    memory = free_memory()
    yield Finding("memory", State.OK, f"{in_units(memory)} free" if memory else "unknown")
    where = _nearest(folder)
    can_write = os.access(where, os.W_OK)
    text = f"{in_units(shutil.disk_usage(where).free)} free in {where}" + ("" if can_write else ", which is read-only")
    yield _finding("disk", text, "choose another folder with --out", right=can_write)


def free_memory() -> int:
    """Return bytes that a new process may take without swapping; 0 where the system does not say.

    In a container that has a limit of its own, what is left of that.
    """
    meminfo = Path("/proc/meminfo")
    text = meminfo.read_text(encoding="ascii", errors="replace") if meminfo.is_file() else ""
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    free = int(match[1]) * 1024 if match else 0
    limit, used = (_whole_number(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    if limit is None or used is None:
        return free
    return min(free, max(0, limit - used)) if free else max(0, limit - used)


def _whole_number(path: Path) -> int | None:
    """Return what a file of one number holds; nothing if none exists."""
    with suppress(OSError, ValueError):
        return int(path.read_text(encoding="ascii"))
    return None


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    here = folder.resolve()
    return next(path for path in (here, *here.parents) if path.exists())


def in_units(size: float) -> str:
    """Return bytes in words.

    >>> in_units(512), in_units(2_500_000), in_units(7.25e9)
    ('512 B', '2.5 MB', '7.2 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size:,.0f} B"
