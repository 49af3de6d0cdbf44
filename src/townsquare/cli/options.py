"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Target = Annotated[
    str | None,
    Parameter(help="A bundled scenario, a scenario's file or folder, or a configuration file (YAML or JSON)."),
]
Folder = Annotated[Path, Parameter(name="RUN", help="The folder of a recorded run.")]
Agents = Annotated[int | None, Parameter(help="Persons at the start.")]
Steps = Annotated[int | None, Parameter(help="Steps to simulate.")]
Seed = Annotated[int | None, Parameter(help="Seed of all draws.")]
Out = Annotated[Path | None, Parameter(help="Folder to write into; by default a new one under runs/.")]
Sets = Annotated[
    list[str] | None,
    Parameter(
        name="--set", negative="", help="A setting, as feed.followed=10; may be repeated. See `townsquare schema`."
    ),
]
Quiet = Annotated[bool, Parameter(negative="", help="Show no progress and no table: only the folder.")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON instead of tables.")]


def split_target(target: str | None) -> tuple[str | None, Path | None]:
    """A scenario's name or path, or a configuration file: a YAML or JSON file that holds no propositions."""
    from townsquare.layers import read_yaml

    path = Path(target) if target else None
    if path is None or path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return target, None
    if path.is_file() and "propositions" in read_yaml(path)[0]:
        return target, None
    return None, path
