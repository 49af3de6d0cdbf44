"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from townsquare.cli.console import show_json
from townsquare.cli.progress import ProgressDisplay, mode

if TYPE_CHECKING:
    from townsquare.record.postgresql.address import Address
    from townsquare.scenario.population.question_bank import QuestionBank
    from townsquare.settings.layers import Layer
    from townsquare.settings.resolve import Settings

T = TypeVar("T")


def whole(_kind: object, tokens: Sequence[Any], least: int | None = None) -> int:
    """Convert a whole number as written, of at least ``least``; cyclopts itself would round 2.5 to 2."""
    from townsquare.core.errors import SettingError

    text = tokens[0].value
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a whole number') from None
    if least is not None and number < least:
        raise SettingError(tokens[0].keyword, got=str(number), allowed=f"a whole number of at least {least}")
    return number


Whole = Annotated[int, Parameter(converter=whole)]
Positive = Annotated[int, Parameter(converter=partial(whole, least=1))]
TARGET = (
    "A bundled scenario or preset, a scenario file or folder, or a configuration (YAML or JSON); else health-rumor."
)
Target = Annotated[str | None, Parameter(help=TARGET)]
Folder = Annotated[Path, Parameter(name="RUN", help="The folder of a recorded run.")]
Agents = Annotated[Whole | None, Parameter(help="Number of people at the start.")]
AGENT = "A person: number, name (R_038/17), or id of a respondent (R_038: the first agent drawn from it)."
Agent = Annotated[str | None, Parameter(help=f"{AGENT[:-1]}; default: all people.")]
Seed = Annotated[Whole | None, Parameter(help="Random seed.")]
Out = Annotated[Path | None, Parameter(help="Output folder; default: a new folder under runs/.")]


def _set(example: str, more: str = "") -> Parameter:
    """Return the option --set with its help."""
    return Parameter(name="--set", help=f"{example}; repeatable.{more}")


Sets = Annotated[list[str] | None, _set("A setting, such as feed.followed=10", " See `townsquare schema`.")]
DebateSets = Annotated[list[str] | None, _set("A setting of debates, such as uptake=0.2", " See docs/debates.md.")]
ModelSets = Annotated[list[str] | None, _set("A setting of `model` or `serving`, such as model.temperature=0")]
ResumeSets = Annotated[list[str] | None, _set("A setting of `budget` or `serving`, such as budget.calls=5000")]
EmbedderSets = Annotated[list[str] | None, _set("A setting of the embedder, such as embedder.dimensions=2048")]
Once = Annotated[bool, Parameter(name="--one-at-a-time", help="Vary one setting at a time, not all combinations.")]
Replace = Annotated[bool, Parameter(help="Overwrite an existing file.")]
NoCopy = Annotated[bool, Parameter(help="Do not copy the scenario; the run then needs the original files.")]
SkipBad = Annotated[bool, Parameter(help="Skip invalid rows and report how many.")]
SafeCells = Annotated[bool, Parameter(help="CSV: put an apostrophe before texts that look like formulas.")]
AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON instead of tables.")]

# Groups of options that several commands share: a parameter of such a type represents the options of its fields.


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Print options."""

    quiet: bool = False
    """Print only the output folder, if there is one."""
    as_json: AsJson = False

    def progress(self, total: int, title: str, what: str = "step") -> ProgressDisplay:
        """Return the progress display that these options choose."""
        return ProgressDisplay(total, mode(quiet=self.quiet, as_json=self.as_json), title, what)

    def is_told(self, where: object, facts: Mapping[str, object]) -> bool:
        """Print a result as JSON, or only its location if quiet; return whether nothing else is to be printed."""
        if self.as_json:
            show_json({"event": "result", **facts})
        elif self.quiet:
            print(where)
        return self.as_json or self.quiet


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """Options that size a run, without its seed."""

    agents: Agents = None
    steps: Whole | None = None
    """Number of steps."""
    sets: Sets = None

    def is_given(self) -> bool:
        """Return whether any option is given."""
        return self.agents is not None or self.steps is not None or bool(self.sets)

    def given(self) -> list[str]:
        """Return the dotted paths of the settings given with --set."""
        from townsquare.settings.layers import leaves, parse_set

        return [path for text in self.sets or () for path, _ in leaves(parse_set(text))]

    def layers(self, target: str | None) -> tuple[list[Layer], dict[str, str]]:
        """Return the layers of settings for a target, and the file and line of each setting."""
        from townsquare.settings.resolve import layers_of

        seed = getattr(self, "seed", None)  # of SeededSize alone
        return layers_of(target, self.sets or (), agents=self.agents, steps=self.steps, seed=seed)

    def settings(self, target: str | None) -> Settings:
        """Return the settings of a target under these options."""
        from townsquare.scenario.settings import resolve_with_scenario

        layers, origins = self.layers(target)
        return resolve_with_scenario(*layers, origins=origins)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SeededSize(Sized):
    """Options that size a run."""

    seed: Seed = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Options for recording on a database server."""

    record: str | None = None
    """Record on a server: postgresql://USER@HOST/DATABASE. Set passwords in ~/.pgpass or PGPASSWORD."""
    record_schema: str | None = None
    """Schema name on the server, or its prefix for several runs; default: the folder name."""

    def address(self, folder: Path) -> Address | None:
        """Return the server address for the run of a folder; None for folders."""
        from townsquare.core.errors import SettingError
        from townsquare.record.postgresql.address import Address, checked_schema, schema_for

        if self.record is not None:
            named = self.record_schema
            return Address.parse(self.record, schema_for(folder) if named is None else checked_schema(named))
        if self.record_schema is not None:
            raise SettingError("--record-schema", got="without --record", do="add --record postgresql://…")
        return None


SHOWN, SIZED, SEEDED, RECORDED = Shown(), Sized(), SeededSize(), Recorded()


def required(option: str, given: T | None, allowed: str) -> T:
    """Return what is given for an option. Raises ``SettingError`` if that is nothing."""
    from townsquare.core.errors import SettingError

    if not given:
        raise SettingError(option, got="nothing", allowed=allowed)
    return given


def bank_of(sets: list[str] | None) -> QuestionBank:
    """Return the question bank of ``population.bank`` and ``population.bank_file`` among settings."""
    from townsquare.scenario.population.sample import question_bank
    from townsquare.settings.resolve import parse_set, resolve

    return question_bank(resolve(*map(parse_set, sets or ())).config.population, None)


def alone(option: str, others: Mapping[str, object]) -> None:
    """Refuse options that ``option`` would ignore. Raises ``SettingError`` if one is given."""
    from townsquare.core.errors import SettingError

    for name, given in others.items():
        if given is not None:
            raise SettingError(name, got=f"{given} with {option}", allowed=f"without {option}")


def words_of(lists: Sequence[str] | None) -> list[str]:
    """Return names from one or several comma-separated lists."""
    return [name for words in lists or () for name in words.replace(",", " ").split()]


@contextmanager
def writing(path: Path, *, replace: bool) -> Iterator[None]:
    """Guard the writing of a file: refuse an existing one unless ``replace``, and explain errors."""
    from townsquare.core import files
    from townsquare.core.errors import SettingError

    if path.exists() and not replace:
        raise SettingError(str(path), got="a file that already exists", do="use --replace to overwrite it")
    with files.writing(path, "file"):
        yield


def write(path: Path | None, text: str, *, replace: bool) -> None:
    """Write a text file, if one is asked for; see :func:`writing`."""
    if path is not None:
        with writing(path, replace=replace):
            path.write_text(text, encoding="utf-8")


def varied(texts: Sequence[str], option: str = "--vary") -> dict[str, list[Any]]:
    """Return settings and their values as given by ``option``, each setting once."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.arms import parse_vary

    settings: dict[str, list[Any]] = {}
    for key, values in (parse_vary(text, option) for text in texts):
        if key in settings:
            raise SettingError(f"{option} {key}", got="twice", allowed="once, with all its values")
        settings[key] = values
    return settings
