"""``townsquare init``: a scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import answer
from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import bundled_folder


def init(folder: Annotated[Path, Parameter(name="DIR")], /, *, as_json: options.AsJson = False) -> int:
    """Write a commented, runnable scenario: scenario.yaml, posts.csv, arguments.csv.

    Parameters
    ----------
    folder
        Output folder, created if missing.
    """

    files = write_starter(folder)
    # A bare word may be the name of a bundled scenario; a path is not.
    target = folder if folder.is_absolute() or len(folder.parts) > 1 else f"./{folder}"
    facts = {"files": [str(file) for file in files], "run": f"townsquare run {target}"}
    return answer(facts, *files, f"run it   townsquare run {target}", as_json=as_json)


# A commented scenario to start from.


FILES = ("scenario.yaml", "posts.csv", "arguments.csv")


def write_starter(folder: Path) -> list[Path]:
    """Write a runnable scenario into a folder, created if missing, and return the files.

    Raises
    ------
    SettingError
        One of the files already exists; nothing is written.
    DataError
        The file system refuses.
    """
    targets = [folder / name for name in FILES]
    for path in targets:
        if path.exists():
            raise SettingError(str(path), got="a file that already exists", do="name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in targets:
            path.write_bytes((bundled_folder() / "starter" / path.name).read_bytes())
    except OSError as error:
        reason = error.strerror or "an error of the file system"
        raise DataError(str(folder), got=reason, allowed="a folder that can be written to") from None
    return targets
