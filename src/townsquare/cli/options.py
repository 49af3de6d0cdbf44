"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter


def whole(_kind: object, tokens: Sequence[Any]) -> int:
    """A whole number as it was written; cyclopts itself would round 2.5 to 2."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'unable to convert "{text}" into int, a whole number') from None


Target = Annotated[
    str | None,
    Parameter(
        help="A bundled scenario or preset, a scenario's file or folder, or a configuration file (YAML or JSON)."
    ),
]
Folder = Annotated[Path, Parameter(name="RUN", help="The folder of a recorded run.")]
Agents = Annotated[int | None, Parameter(converter=whole, help="Persons at the start.")]
Steps = Annotated[int | None, Parameter(converter=whole, help="Steps to simulate.")]
Seed = Annotated[int | None, Parameter(converter=whole, help="Seed of all draws.")]
Out = Annotated[Path | None, Parameter(help="Folder to write into; by default a new one under runs/.")]
Record = Annotated[
    str | None,
    Parameter(
        name="--record",
        help="Record on a server: postgresql://USER@HOST/DATABASE. Passwords come from ~/.pgpass or PGPASSWORD.",
    ),
]
RecordSchema = Annotated[
    str | None,
    Parameter(name="--record-schema", help="Name of the run's schema there; by default that of its folder."),
]
NoCopy = Annotated[
    bool,
    Parameter(
        name="--no-copy", negative="", help="Leave out the copy of the scenario, by which a run goes on elsewhere."
    ),
]
Sets = Annotated[
    list[str] | None,
    Parameter(
        name="--set", negative="", help="A setting, as feed.followed=10; may be repeated. See `townsquare schema`."
    ),
]
Quiet = Annotated[bool, Parameter(negative="", help="Show no progress and no table: only the folder.")]
Replace = Annotated[bool, Parameter(negative="", help="Write over a file that is there.")]
SafeCells = Annotated[
    bool, Parameter(negative="", help="CSV: put an apostrophe before texts that a spreadsheet would run as a formula.")
]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON instead of tables.")]


@contextmanager
def writing(path: Path, *, replace: bool) -> Iterator[None]:
    """Around writing a file: refuse one that is there, unless it may be replaced, and say what goes wrong."""
    from townsquare.core.errors import SettingError

    if path.exists() and not replace:
        raise SettingError(
            str(path), got="a file that is there", allowed="a new one", do="add --replace to write over it"
        )
    try:
        yield
    except OSError as error:
        said = error.strerror or "an error of the file system"
        raise SettingError(str(path), got=said, allowed="a file that can be written") from None


def varied(texts: Sequence[str], option: str = "--vary") -> dict[str, list[Any]]:
    """Settings and their values, as ``option`` gives them; each setting once."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.arms import parse_vary

    found: dict[str, list[Any]] = {}
    for key, values in (parse_vary(text, option) for text in texts):
        if key in found:
            raise SettingError(f"{option} {key}", got="twice", allowed="once, with all its values")
        found[key] = values
    return found


def split_target(target: str | None) -> tuple[str | None, Path | None]:
    """A scenario's name or path, or a configuration file: a YAML or JSON file that holds no propositions."""
    from townsquare.settings.layers import read_yaml

    path = Path(target) if target else None
    if path is None or path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return target, None
    if path.is_file() and "propositions" in read_yaml(path)[0]:
        return target, None
    return None, path
