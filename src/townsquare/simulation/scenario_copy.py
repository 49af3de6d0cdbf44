"""Copies a scenario into the folder of a run, so that the run can be resumed and replayed elsewhere.

It lies in the folder of the run or of its comparison: ``scenario-copy/<start of the digest>/<name>/`` holds the files
of the scenario as they lay in its folder, and below ``files.NAMED`` those that settings name. It is read as any
scenario is, and its digest is compared as that of any other.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from townsquare.core import files
from townsquare.core.errors import DataError, RecordError, WrongVersion
from townsquare.core.files import bundled_folder
from townsquare.core.private_files import make_file, make_folder
from townsquare.record.sqlite import SCENARIO_COPY
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import load_scenario
from townsquare.scenario.read import SCENARIO_FILE
from townsquare.scenario.settings import contents_now
from townsquare.settings.named_files import check_contents, named_files
from townsquare.settings.resolve import Settings, sections_of

MOST = 64 * 2**20
"""Bytes of all files of a copy."""


def copy_scenario(scenario: Scenario, runs: Iterable[Settings], folder: Path) -> bool:
    """Copy a scenario, and the files that settings of its runs name, into a folder; whether that was done.

    Nothing is copied of a scenario that comes with Townsquare or is made by it, nor if all is more than :data:`MOST`.

    Raises
    ------
    RecordError
        It cannot be written there.
    """
    listed = _listed(scenario, runs)
    if not listed or sum(file.stat().st_size for file in listed.values()) > MOST:
        return False
    target = folder / SCENARIO_COPY / _key(scenario.digest) / (scenario.files[0].resolve().parent.name or "scenario")
    try:
        for name, file in reversed(listed.items()):  # the file that makes it a scenario comes last
            _copy(file, target / name)
    except OSError as error:
        do = "free some space, or leave the copy out with --no-copy"
        raise RecordError(str(target), got=error.strerror or str(error), do=do) from error
    return True


def left_out(scenario: Scenario, settings: Settings) -> str:
    """Say why a run folder will hold no copy of its scenario, in a sentence; "" if it will or needs none."""
    size = sum(file.stat().st_size for file in _listed(scenario, [settings]).values())
    if size <= MOST:
        return ""
    limit = f"{size / 2**20:,.0f} MiB, and at most {MOST // 2**20} are copied"
    return f"the scenario and its files have {limit}: to go on elsewhere, copy them with the folder of the run"


def recorded_scenario(settings: Settings, folder: Path | None) -> Scenario:
    """Load the scenario of a recorded run: from its original location if unchanged, else from the copy.

    Where there is no copy, what the settings name, whatever it holds by now: callers compare the digest.

    Raises
    ------
    DataError
        Neither is there, or it cannot be read.
    """
    copy = None if folder is None else _copy_in(folder, settings)
    if copy is None:
        return load_scenario(settings.config.scenario)
    try:
        scenario = load_scenario(settings.config.scenario)
        check_contents(settings.file_contents, contents_now(settings, scenario.folder))
    except (DataError, WrongVersion):
        return load_scenario(copy)
    return scenario if scenario.digest == settings.scenario_digest else load_scenario(copy)


def _listed(scenario: Scenario, runs: Iterable[Settings]) -> dict[str, Path]:
    """Return the files of a copy by their names there, the scenario file first."""
    if not scenario.files or scenario.files[0].resolve().is_relative_to(bundled_folder().resolve()):
        return {}
    home = scenario.files[0].parent
    files_by_name = {os.path.relpath(file, home): file for file in scenario.files}  # as it names them: links too
    for settings in runs:
        sections = [section for _, section in sections_of(settings)]
        for path, file in named_files(sections, scenario.folder, ("scenario",)).items():
            files_by_name[f"{files.NAMED}/{files.copy_name(path)}"] = file
    return files_by_name


def _copy(file: Path, target: Path) -> None:
    if target.exists() and filecmp.cmp(file, target, shallow=False):
        return
    make_folder(target.parent)
    draft = target.with_name(f"{target.name}.part")
    make_file(draft)
    shutil.copyfile(file, draft)
    draft.replace(target)


def _copy_in(folder: Path, settings: Settings) -> Path | None:
    """Return the file of a copy to load: in the folder of a run, or of the comparison that the run belongs to."""
    if not settings.scenario_digest:
        return None
    names = (Path(settings.config.scenario).name, SCENARIO_FILE)
    for where in (folder, folder.resolve().parents[min(1, len(folder.resolve().parents) - 1)]):
        for copied in sorted((where / SCENARIO_COPY / _key(settings.scenario_digest)).glob("*/")):
            for name in names:
                if name and files.is_file(copied / name):
                    return copied / name
    return None


def _key(digest: str) -> str:
    """Return the folder name of a digest; the digest is untrusted."""
    return "".join(letter for letter in digest if letter.isalnum())[:16]
