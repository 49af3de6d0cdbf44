"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli.console import show_json
from townsquare.cli.progress import ProgressDisplay, mode

if TYPE_CHECKING:
    from townsquare.record.postgresql.address import Address
    from townsquare.settings.layers import Layer
    from townsquare.settings.resolve import Settings


def whole(_kind: object, tokens: Sequence[Any]) -> int:
    """A whole number as it was written; cyclopts itself would round 2.5 to 2."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'unable to convert "{text}" into int, a whole number') from None


Whole = Annotated[int, Parameter(converter=whole)]
TARGET = "A bundled scenario or preset, a scenario's file or folder, or a configuration file (YAML or JSON)."
Target = Annotated[str | None, Parameter(help=TARGET)]
Folder = Annotated[Path, Parameter(name="RUN", help="The folder of a recorded run.")]
Agents = Annotated[Whole | None, Parameter(help="Persons at the start.")]
Seed = Annotated[Whole | None, Parameter(help="Seed of all draws.")]
Out = Annotated[Path | None, Parameter(help="Folder to write into; by default a new one under runs/.")]
Sets = Annotated[
    list[str] | None,
    Parameter(name="--set", help="A setting, as feed.followed=10; may be repeated. See `townsquare schema`."),
]
Replace = Annotated[bool, Parameter(help="Write over a file that is there.")]
NoCopy = Annotated[bool, Parameter(help="Leave out the copy of the scenario, by which a run goes on elsewhere.")]
SkipBad = Annotated[bool, Parameter(help="Leave out rows that are wrong, and count them.")]
SafeCells = Annotated[bool, Parameter(help="CSV: put an apostrophe before texts that spreadsheets run as formulas.")]
AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON instead of tables.")]

# Groups of options that several commands share: a parameter of such a type stands for the options of its fields.


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a command prints."""

    quiet: bool = False
    """Show no progress and no table: only the folder."""
    as_json: AsJson = False

    def progress(self, total: int, title: str, what: str = "step") -> ProgressDisplay:
        """Progress as these options want it."""
        return ProgressDisplay(total, mode(quiet=self.quiet, as_json=self.as_json), title, what)

    def is_told(self, where: object, facts: Mapping[str, object]) -> bool:
        """Print a result as JSON, or where it is if nothing else is wanted; whether that is all."""
        if self.as_json:
            show_json({"event": "result", **facts})
        elif self.quiet:
            print(where)
        return self.as_json or self.quiet


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """The settings of a run without its seed."""

    agents: Agents = None
    steps: Whole | None = None
    """Steps to simulate."""
    sets: Sets = None

    def is_given(self) -> bool:
        """Whether any option is."""
        return self.agents is not None or self.steps is not None or bool(self.sets)

    def layers(self, target: str | None) -> tuple[list[Layer], dict[str, str]]:
        """Layers of settings for a target, and where in a file each setting was given."""
        from townsquare.settings.resolve import layers_for

        seed = getattr(self, "seed", None)  # of SeededSize alone
        return layers_for(*split_target(target), self.sets or (), agents=self.agents, steps=self.steps, seed=seed)

    def settings(self, target: str | None) -> Settings:
        """The settings of a target under these options."""
        from townsquare.scenario.settings import resolve_with_scenario

        layers, origins = self.layers(target)
        return resolve_with_scenario(*layers, origins=origins)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SeededSize(Sized):
    """The settings of a run."""

    seed: Seed = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Where runs are recorded, if not in their folders."""

    record: str | None = None
    """Record on a server: postgresql://USER@HOST/DATABASE. Passwords come from ~/.pgpass or PGPASSWORD."""
    record_schema: str | None = None
    """Name of the run's schema there, or how those of several begin; by default that of the folder."""

    def address(self, folder: Path) -> Address | None:
        """Where on a server the run of a folder goes, or what the names of several begin with; None for folders."""
        from townsquare.core.errors import SettingError
        from townsquare.record.postgresql.address import Address, checked_schema, schema_for

        if self.record is not None:
            named = self.record_schema
            return Address.parse(self.record, schema_for(folder) if named is None else checked_schema(named))
        if self.record_schema is not None:
            raise SettingError("--record-schema", got="without --record", do="say where: --record postgresql://…")
        return None


SHOWN, SIZED, SEEDED, RECORDED = Shown(), Sized(), SeededSize(), Recorded()


def at_least(option: str, value: int | None, least: int = 1) -> None:
    """Refuse a smaller number. Raises ``SettingError``."""
    from townsquare.core.errors import SettingError

    if value is not None and value < least:
        raise SettingError(option, got=str(value), allowed=f"a whole number of at least {least}")


def words_of(lists: Sequence[str] | None) -> list[str]:
    """Names that are given in one list or several, separated by commas."""
    return [name for words in lists or () for name in words.replace(",", " ").split()]


@contextmanager
def writing(path: Path, *, replace: bool) -> Iterator[None]:
    """Around writing a file: refuse one that is there, unless it may be replaced, and say what goes wrong."""
    from townsquare.core.errors import SettingError

    if path.exists() and not replace:
        raise SettingError(str(path), got="a file that already exists", do="use --replace to overwrite it")
    try:
        yield
    except OSError as error:
        reason = error.strerror or "an error of the file system"
        raise SettingError(str(path), got=reason, allowed="a file that can be written") from None


def varied(texts: Sequence[str], option: str = "--vary") -> dict[str, list[Any]]:
    """Settings and their values, as ``option`` gives them; each setting once."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.arms import parse_vary

    settings: dict[str, list[Any]] = {}
    for key, values in (parse_vary(text, option) for text in texts):
        if key in settings:
            raise SettingError(f"{option} {key}", got="twice", allowed="once, with all its values")
        settings[key] = values
    return settings


def split_target(target: str | None) -> tuple[str | None, Path | None]:
    """A scenario's name or path, or a configuration file: a YAML or JSON file that holds no propositions."""
    from townsquare.settings.layers import read_yaml

    path = Path(target) if target else None
    if path is None or path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return target, None
    if path.is_file() and "propositions" in read_yaml(path)[0]:
        return target, None
    return None, path
