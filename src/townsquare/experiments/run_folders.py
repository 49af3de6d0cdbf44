"""Folders of runs: whether one may be written, what it holds, and going on with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from townsquare.core.errors import DataError, RecordError, SettingError, WrongVersion
from townsquare.core.identity import UNHASHED
from townsquare.core.private_files import make_folder
from townsquare.core.threads import threads_for
from townsquare.experiments import manifest
from townsquare.models.client import OnCall
from townsquare.record import database
from townsquare.record.contract import StepSummary, check_same_run
from townsquare.record.postgresql.address import Address, address_in
from townsquare.record.postgresql.reader import is_recorded_at
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.run import Run
from townsquare.settings.resolve import Settings, check_version, parse_set, resolve
from townsquare.simulation.run import header, simulate
from townsquare.simulation.scenario_copy import recorded_scenario

NEW, STOPPED, FINISHED, RUNNING = "new", "stopped", "finished", "running"


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run, finished or not."""
    address = address_in(folder)
    if address is not None:
        return is_recorded_at(address)
    path = folder / database.FILE
    if not path.is_file():
        return False
    with database.explained(path, "choose another folder"), closing(database.connect(path)) as connection:
        return bool(database.read_info(connection))


def state_of(folder: Path, settings: Settings) -> str:
    """Return the state of the run of these settings in a folder: new, stopped, running or finished.

    Raises
    ------
    WrongVersion
        The folder holds a run of another version or of other settings; says which.
    """
    if not holds_run(folder):
        return NEW
    run = Run.open(folder)
    check_same_run(str(folder), run.header, header(settings))
    return run.state


def check_unused(folder: Path) -> None:
    """Refuse a folder that a new run would share with something else.

    Raises
    ------
    RecordError
        It holds a run or a comparison, or is no folder. Other files may be in it.
    """
    if holds_run(folder):
        do = f"continue it with `townsquare resume {folder}`, or choose another folder"
        raise RecordError(str(folder), got="a recorded run", do=do)
    if folder.exists() and not folder.is_dir():
        raise RecordError(str(folder), got="a file", allowed="a folder, new or existing")
    if (folder / manifest.FILE).exists():
        raise RecordError(str(folder), got="a comparison", do="choose another folder")


def check_unused_address(address: Address) -> None:
    """Refuse a schema that a new run would share with another one.

    Raises
    ------
    RecordError
        It holds a run.
    """
    if is_recorded_at(address):
        do = "continue it with `townsquare resume` on its folder, or choose another schema with --record-schema"
        raise RecordError(str(address), got="a recorded run", do=do)


def check_single(folder: Path) -> None:
    """Refuse the folder of a comparison, which has runs in folders of their own.

    Raises
    ------
    RecordError
        Saying how a comparison goes on.
    """
    if (folder / manifest.FILE).is_file() and not holds_run(folder):
        do = f"to continue, repeat the command of the comparison with `--out {folder}`; its runs are in that folder"
        raise RecordError(str(folder), got="a comparison", allowed="the folder of one run", do=do)


@contextmanager
def folder_for(out: Path | None, stem: str) -> Iterator[Path]:
    """Give the folder to write into: ``out``, or a new one below ``runs``.

    Folders that were not there before are taken away again if nothing came to are in them.
    """
    wanted = out or Path("runs")
    with database.explained(wanted, "choose another folder"):
        missing = [path for path in (wanted, *wanted.parents) if not path.exists()]
        folder = out or fresh_folder(wanted, stem)
    try:
        yield folder
    finally:
        for path in missing if out else [folder, *missing]:
            with suppress(OSError):
                path.rmdir()


def fresh_folder(parent: Path, stem: str) -> Path:
    """Make ``parent/<stem>-<n>`` for the smallest free n from 1, so that no other process gets it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> fresh_folder(folder, "a tale: 2").name, fresh_folder(folder, "a tale: 2").name
    ('a-tale-2-1', 'a-tale-2-2')
    """
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "run"
    number = 1
    while True:
        folder = parent / f"{word}-{number}"
        try:
            make_folder(folder, exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return folder


def settings_of(run: Run, where: str, sets: Sequence[str] = ()) -> Settings:
    """Return the settings of a recorded run, after checking that this version reads them the same way.

    ``sets`` (``"budget.usd=5"``) may change how it is carried out, in the sections ``budget`` and ``serving``.

    Raises
    ------
    SettingError
        ``sets`` would make it another run.
    WrongVersion
        Another version recorded it, or its scenario has changed since.
    """
    check_version(run.settings, where)
    settings = resolve(run.settings, *map(parse_set, sets))
    if settings.digest != resolve(run.settings).digest:
        allowed = ", ".join(f"settings of `{section}`" for section in UNHASHED)
        raise SettingError("--set", got=", ".join(sets), allowed=allowed, do="for other settings, start a new run")
    name = settings.config.scenario
    try:
        now = recorded_scenario(settings, run.folder).digest
    except DataError as error:
        raise DataError(f"{where}: scenario {name}", got=str(error), do="restore its files at the same path") from None
    if settings.scenario_digest and now != settings.scenario_digest:
        got = "files that changed after the run"
        raise WrongVersion(f"{where}: scenario {name}", got=got, do="restore the old files")
    return settings


def go_on(
    folder: Path,
    settings: Settings,
    on_step: Callable[[StepSummary], None] | None = None,
    on_call: OnCall | None = None,
    address: Address | None = None,
    *,
    with_copy: bool = True,
) -> Run:
    """Execute a run into its folder, from the start or from where it stopped, and read it back.

    ``address`` is where the rows of a new run go, if that is a server; one that goes on knows. ``with_copy`` is that of
    :func:`townsquare.simulation.run.simulate`.
    """
    recorder = folder if address is None else PostgresRecorder(folder, address)
    with threads_for(settings.config.agents):
        return simulate(settings, recorder, on_step=on_step, on_call=on_call, with_copy=with_copy)
