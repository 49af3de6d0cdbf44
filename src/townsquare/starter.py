"""A commented scenario to start from."""

from __future__ import annotations

from pathlib import Path

from townsquare.errors import DataError, SettingError
from townsquare.scenario_files import bundled_folder

FILES = ("scenario.yaml", "posts.csv", "arguments.csv")


def write_starter(folder: Path) -> list[Path]:
    """Write a scenario that runs as it is into a folder, which is made if it is not there, and return the files.

    Raises
    ------
    SettingError
        One of the files is there already: nothing is written over, and nothing else is written.
    DataError
        The file system refuses.
    """
    targets = [folder / name for name in FILES]
    for path in targets:
        if path.exists():
            raise SettingError(str(path), got="a file that is there", allowed="a folder without one", do="name another")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in targets:
            path.write_bytes((bundled_folder() / "starter" / path.name).read_bytes())
    except OSError as error:
        said = error.strerror or "an error of the file system"
        raise DataError(str(folder), got=said, allowed="a folder that can be written to") from None
    return targets
