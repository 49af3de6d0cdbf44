"""Settings of a run, resolved: layers merged, every value checked, members and their parameters looked up.

``resolve(*layers)`` is pure; :func:`resolve_with_scenario` also puts what the scenario says below the layers, and
:func:`resolve_for` starts from what a command line gives. In a layer, the parameters of a member stand flat in its
section (``beliefs: {rule: exposure, pull: 0.1}``), a plain word for a section names the member (``policy: blind``),
and parameters of members that were not chosen are checked and kept, so that the arms of a comparison can share a base.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from townsquare.core import registry
from townsquare.core.errors import ContractError, SettingError, WrongVersion
from townsquare.core.identity import settings_digest
from townsquare.settings.config import Config, MemberParams
from townsquare.settings.event_checks import event_name, named, problems_of, with_steps
from townsquare.settings.layers import Layer, merge, nested, parse_set, read_yaml, with_path
from townsquare.settings.named_files import prompts_digest
from townsquare.settings.problems import MOST_LISTED, Problem, plain_json, raise_all, shown, translate, unknown
from townsquare.settings.schema import OTHERS, SECTIONS, core_section, declared, installed, json_schema, params_of
from townsquare.settings.trust import check_stored

__all__ = ["Settings", "json_schema", "layers_for", "parse_set", "resolve"]

SCALARS = ("scenario", "seed", "agents", "steps")
IDENTITY = ("version", "scenario_digest", "file_contents", "prompts_digest")
"""Top-level keys of a resolved configuration that are not settings."""
RUN_YAML = "run.yaml"
"""Name of the file that holds the resolved configuration of a run, in the run's folder."""

Checked = TypeVar("Checked", bound=BaseModel)


@cache
def current_version() -> str:
    """Return the version of Townsquare that is installed."""
    return version("townsquare")


@dataclass(frozen=True)
class Settings:
    """All settings of a run. Two are equal if their ``digest`` is equal.

    Attributes
    ----------
    config : Config
        The core settings.
    members : mapping of family to member
        The chosen members, such as the ``BeliefRule`` object; :meth:`member` returns their names.
    params : mapping of family to MemberParams
        Their parameters, checked.
    others : mapping of section to mapping
        Parameters that were given for members that are not chosen: checked and kept, but not used.
    changes : tuple of (int, Settings)
        For each event that changes settings: the step from which it applies, and all settings from then on; see
        :meth:`at`.
    scenario_digest : str
        ``digest`` of the :class:`townsquare.Scenario`; empty if no scenario was loaded.
    file_contents : mapping of str to str
        Path of a file that a setting names -> SHA-256 of the file.
    digest : str
        SHA-256 of :meth:`plain`, which includes ``others``, ``scenario_digest`` and ``file_contents``, but without the
        sections ``serving`` and ``budget``, which do not change results.
    """

    config: Config = field(compare=False)
    members: Mapping[str, Any] = field(compare=False)
    params: Mapping[str, MemberParams] = field(compare=False)
    others: Mapping[str, Mapping[str, Any]] = field(compare=False, default_factory=dict)
    scenario_digest: str = field(compare=False, default="")
    file_contents: Mapping[str, str] = field(compare=False, default_factory=dict)
    changes: tuple[tuple[int, Settings], ...] = field(compare=False, default=())
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", settings_digest(self.plain()))

    def plain(self) -> dict[str, Any]:
        """Return the complete configuration as values for JSON, with sorted keys; :func:`resolve` reads it."""
        out = self.config.plain()
        for family, (section, _) in SECTIONS.items():
            out[section].update(self.params[family].model_dump(mode="json", by_alias=True))
        for section, unused in self.others.items():
            if unused:
                out[section][OTHERS] = dict(unused)
        out["version"] = current_version()
        out["scenario_digest"] = self.scenario_digest
        if self.file_contents:
            out["file_contents"] = dict(self.file_contents)
        if self.config.model.name != "none":
            out["prompts_digest"] = prompts_digest()
        return dict(_sorted(out))

    def at(self, step: int) -> Settings:
        """Return the settings that apply in a step, after all events up to this step."""
        return next((later for first, later in reversed(self.changes) if step >= first), self)

    def member(self, family: str) -> str:
        """Return the name of the chosen member of a family."""
        section, key = SECTIONS[family]
        return str(getattr(getattr(self.config, section), key))


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, Mapping) else value


def resolve(*layers: Layer, origins: Mapping[str, str] | None = None) -> Settings:
    """Return settings from layers, of which later ones win; what no layer says is at its default.

    Parameters
    ----------
    *layers : mapping
        As in a configuration file. Reads no file and loads no scenario.
    origins : mapping of str to str, optional
        Where a setting was given, by its dotted path, for the messages.

    Raises
    ------
    UnknownName
        One setting, or the name of one member, is unknown.
    SettingError
        One value is of a wrong type or out of range; or several things are wrong, each with its line.

    >>> settings = resolve({"seed": 3, "policy": "silent"}, {"feed.followed": 5})
    >>> settings.config.feed.followed, settings.member("policy")
    (5, 'silent')
    """
    settings = _resolve(*layers, origins=origins)
    return replace(settings, changes=tuple(_changes(settings).items())) if settings.config.events else settings


def _resolve(*layers: Layer, origins: Mapping[str, str] | None = None) -> Settings:
    """As :func:`resolve`, without what events set."""
    merged = merge(*(_normal(layer) for layer in layers))
    identity = {key: merged.pop(key, "") for key in IDENTITY}
    problems: list[Problem] = []
    params: dict[str, MemberParams | None] = {}
    members, others = {}, {}
    for section in dict.fromkeys(section for section, _ in SECTIONS.values()):
        given = _take_params(section, merged, problems)
        named_here = {family: _member_name(family, merged, problems) for family in _families_of(section)}
        names = {family: name for family, name in named_here.items() if name is not None}
        if len(names) == len(named_here):
            members.update({family: registry.get(family, name) for family, name in names.items()})
            checked, others[section] = _check_params(section, names, given, problems)
            params.update(checked)
    if "events" in merged:
        merged["events"] = with_steps(merged, problems)
    config = check_model(Config, merged, (), problems)
    problems += problems_of(config) if config is not None else ()
    raise_all([named(problem, merged.get("events")) for problem in problems], origins or {})
    assert config is not None
    chosen = {family: checked for family, checked in params.items() if checked is not None}
    return Settings(config, members, chosen, others, str(identity["scenario_digest"]), _contents_given(identity))


def _contents_given(identity: Mapping[str, Any]) -> dict[str, str]:
    given = identity["file_contents"]
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, Mapping) else {}


def _changes(settings: Settings) -> dict[int, Settings]:
    """Return what holds from each step on in which events set settings."""
    changes: dict[int, Settings] = {}
    before = settings
    setting = [(event.step, number, event.set) for number, event in enumerate(settings.config.events, 1) if event.set]
    for step, number, layer in sorted(setting, key=lambda item: item[:2]):
        try:
            after = _resolve(_as_given(before), layer)
            for family, params in after.params.items():
                params.check_change(before.params[family])
        except SettingError as error:
            where = f"{event_name(number, step)}, set, {error.where}"
            raise type(error)(where, got=error.got, allowed=error.allowed, do=error.do) from None
        changes[step] = before = after
    return changes


def _as_given(settings: Settings) -> dict[str, Any]:
    """Return the plain form without members' parameters at their defaults, which are not those of another member."""
    plain = settings.plain()
    for family, (section, _) in SECTIONS.items():
        defaults = type(settings.params[family]).model_construct().model_dump(mode="json", by_alias=True)
        plain[section] = {key: value for key, value in plain[section].items() if (key, value) not in defaults.items()}
    return plain


def layer_of(sets: Sequence[str]) -> dict[str, Any]:
    """Return several ``key=value`` as one layer, later ones winning.

    >>> layer_of(["policy=blind", "policy.like=0.5"])
    {'policy': {'name': 'blind', 'like': 0.5}}
    """
    return merge(*(_normal(parse_set(text)) for text in sets))


def _normal(layer: Layer) -> dict[str, Any]:
    """Return a layer whose sections are mappings: a word names the member, a dotted key is a path, nothing is empty."""
    parts: list[Layer] = []
    by_section = {**dict(reversed(tuple(SECTIONS.values()))), "model": "name"}
    for name, value in layer.items():
        ((key, value),) = nested(str(name).split("."), value).items()
        if key in by_section and isinstance(value, str):
            value = {by_section[key]: value}
        elif value is None and key in Config.model_fields and key not in SCALARS:
            value = {}
        parts.append({key: _text_keys(value)})
    return merge(*parts)


def _text_keys(value: Any) -> Any:
    """Return keys as texts: in a layer from Python, the key ``false`` of a label weight may be a truth value."""
    if not isinstance(value, Mapping):
        return value
    return {_text_key(key): _text_keys(below) for key, below in value.items()}


def _text_key(key: object) -> str:
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)  # 1 is no True here


def _families_of(section: str) -> list[str]:
    """Return the families whose members a section names."""
    return [family for family, (theirs, _) in SECTIONS.items() if theirs == section]


def _take_params(section: str, merged: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Move what is no core setting out of a section, those kept as others included; flat ones win."""
    given = merged.get(section)
    if not isinstance(given, Mapping):
        return {}
    core = {field.alias or name for name, field in core_section(section).model_fields.items()}
    merged[section] = {key: value for key, value in given.items() if key in core}
    unused = given.get(OTHERS, {})
    if not isinstance(unused, Mapping):
        problems.append(Problem((section, OTHERS), shown(unused), "a mapping"))
        unused = {}
    flat = {key: value for key, value in given.items() if key not in core and key != OTHERS}
    return {**unused, **flat}


def _member_name(family: str, merged: Mapping[str, Any], problems: list[Problem]) -> str | None:
    section, key = SECTIONS[family]
    given = merged.get(section, {})
    default = core_section(section).model_fields[key].default
    name = given.get(key, default) if isinstance(given, Mapping) else default
    if not isinstance(name, str):
        return None
    words = registry.names(family)
    if name not in words:
        hint = registry.did_you_mean(name, words)
        problems.append(Problem((section, key), repr(name), ", ".join(words), hint, unknown=True))
        return None
    return name


def _check_params(
    section: str, names: Mapping[str, str], given: Mapping[str, Any], problems: list[Problem]
) -> tuple[dict[str, MemberParams | None], dict[str, Any]]:
    """Return parameters of the members that a section names, by family, and the checked ones of other members."""
    models = {family: params_of(family, name) for family, name in names.items()}
    _check_apart(names, models)
    own = {family: declared(model) for family, model in models.items()}
    others = {}
    spare = sorted(given.keys() - set().union(*own.values()))
    members = [(family, name) for family in names for name in installed(family)] if spare else ()  # imports them all
    elsewhere = {key for family, member in members for key in declared(params_of(family, member))}
    for key in spare:
        checked_other = _check_other(section, key, given[key], problems) if key in elsewhere else None
        if checked_other is None:
            wrong = unknown((section, key), given[key]) if len(problems) < MOST_LISTED else Problem((section, key), "")
            problems.append(wrong)
        else:
            others[key] = checked_other[0]
    checked = {}
    for family, model in models.items():
        values = {key: given[key] for key in given if key in own[family]}
        checked[family] = check_model(model, values, (section,), problems)
    return checked, others


def _check_apart(names: Mapping[str, str], models: Mapping[str, type[MemberParams]]) -> None:
    """Refuse two chosen members of one section that declare a setting of the same name.

    Raises
    ------
    ContractError
        Naming both.
    """
    for (family, first), (other, second) in combinations(models.items(), 2):
        twice = sorted(declared(first) & declared(second))
        if twice:
            do = f"{family} {names[family]} declares them too: choose other names"
            raise ContractError(f"{other} {names[other]}", got=f"params {twice}", do=do)


def _check_other(section: str, key: str, value: Any, problems: list[Problem]) -> tuple[Any] | None:
    """Check a parameter of members that were not chosen; None if no member declares it."""
    every = [params_of(family, name) for family in _families_of(section) for name in installed(family)]
    models = [model for model in every if key in declared(model)]
    complaints: list[Problem] = []
    for model in models:
        wrong: list[Problem] = []
        checked = check_model(model, {key: value}, (section,), wrong)
        about = [problem for problem in wrong if problem.path[:2] == (section, key)]
        if not about:
            return (checked.model_dump(mode="json", by_alias=True)[key] if checked else plain_json(value),)
        complaints = complaints or about
    problems.extend(complaints)
    return (value,) if models else None


def check_model(
    model: type[Checked], values: Any, prefix: tuple[str, ...], problems: list[Problem], *, alone: bool = False
) -> Checked | None:
    """Make a model of plain values, strictly: no text becomes a number, no number a truth value.

    What is wrong is added to ``problems``; hints come from all settings of a run, or from this model ``alone``.
    """
    try:
        return model.model_validate_json(plain_json(_over_defaults(model, values)), strict=True)
    except ValidationError as error:
        problems.extend(translate(error, model, prefix, alone=alone))
        return None


def _over_defaults(model: type[BaseModel], values: Any) -> Any:
    """Return values with the defaults of nested models below them.

    A default such as "a like has base -1.2 and distance -1.2" is one object, which a single given number would
    otherwise replace as a whole.
    """
    if not isinstance(values, Mapping):
        return values
    out = dict(values)
    for name, declared_field in model.model_fields.items():
        key, kind = declared_field.alias or name, declared_field.annotation
        if isinstance(values.get(key), Mapping) and isinstance(kind, type) and issubclass(kind, BaseModel):
            default = declared_field.get_default(call_default_factory=True, validated_data={})
            below = default.model_dump(mode="json", by_alias=True) if isinstance(default, BaseModel) else {}
            out[key] = _over_defaults(kind, merge(below, values[key]))
    return out


def sections_of(settings: Settings) -> list[tuple[str, BaseModel]]:
    """Return checked settings with the name of their section; parameters of members are in that of their family."""
    core = [(name, getattr(settings.config, name)) for name in Config.model_fields]
    params = [(SECTIONS[family][0], params) for family, params in settings.params.items()]
    return [(name, section) for name, section in [*core, *params] if isinstance(section, BaseModel)]


def layers_of(
    target: str | Path | None, sets: Sequence[str] | Layer = (), **sizes: int | None
) -> tuple[list[Layer], dict[str, str]]:
    """Return :func:`layers_for` a target: a scenario or preset, or a configuration file (YAML or JSON).

    A YAML file with posts or propositions is a scenario.
    """
    path = None if target is None else Path(target)
    if path is None or path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return layers_for(None if path is None else str(target), None, sets, **sizes)
    if path.is_file() and not {"posts", "propositions"}.isdisjoint(read_yaml(path)[0]):
        return layers_for(str(target), None, sets, **sizes)
    return layers_for(None, path, sets, **sizes)


def layers_for(
    scenario: str | None = None, file: Path | None = None, sets: Sequence[str] | Layer = (), **flags: object
) -> tuple[list[Layer], dict[str, str]]:
    """Return layers from what a command line gives, and where in a file each setting was given.

    Later ones win: ``file``, then ``scenario`` and ``flags`` (``agents=``, ``steps=``, ``seed=``; ``None`` is not
    given), then ``sets`` (``"key=value"`` in their order, or a mapping).

    Raises
    ------
    DataError, SettingError
        The file cannot be read; or a run wrote it, and it names a server or a variable that was never approved.
    """
    layers: list[Layer] = []
    origins: dict[str, str] = {}
    if file is not None:
        values, lines = read_yaml(file)
        layers.append(with_path(file, values, "scenario"))
        origins = {path: f"{file}, line {line}" for path, line in lines.items()}
    given = {"scenario": scenario, **flags}
    later: list[Layer] = [{key: value for key, value in given.items() if value is not None}]
    later += [sets] if isinstance(sets, Mapping) else [parse_set(text) for text in sets]
    own = [path for layer in later for path in _paths(layer)]
    if file is not None and (file.name == RUN_YAML or not values.keys().isdisjoint(IDENTITY)):
        check_stored(file, values, own)
    for path in own:
        origins.pop(path, None)
    return layers + later, origins


def _paths(layer: Layer, prefix: str = "") -> list[str]:
    here = [(f"{prefix}{key}", value) for key, value in layer.items()]
    below = [path for path, value in here if isinstance(value, Mapping) for path in _paths(value, f"{path}.")]
    return [path for path, _ in here] + below


def check_version(recorded: Mapping[str, Any], where: str) -> None:
    """Refuse a recorded configuration of another version.

    Raises
    ------
    WrongVersion
        With both versions.
    """
    then, now = recorded.get("version", "unknown"), current_version()
    if then != now:
        raise WrongVersion(where, got=f"a run of version {then}", allowed=now, do=f"install townsquare=={then}")
