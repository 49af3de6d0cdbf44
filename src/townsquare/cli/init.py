"""``townsquare init``: a scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json


def init(
    folder: Annotated[Path, Parameter(name="DIR", help="Folder to write into; made if it is not there.")],
    /,
    *,
    as_json: options.AsJson = False,
) -> int:
    """Write a commented scenario that runs as it is: scenario.yaml, posts.csv, arguments.csv."""
    from townsquare.starter import write_starter

    files = write_starter(folder)
    # A bare word may be the name of a bundled scenario; a path is not.
    target = folder if folder.is_absolute() or len(folder.parts) > 1 else f"./{folder}"
    if as_json:
        show_json({"files": [str(file) for file in files], "run": f"townsquare run {target}"})
    else:
        print("\n".join(str(file) for file in files))
        print(f"run it   townsquare run {target}")
    return 0
