"""From layers of settings to a debate that can be held: settings, members with their parameters, and the arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from townsquare.beliefs.evidence.bank_files import ArgumentBank, bundled_topics, load_bank
from townsquare.beliefs.evidence.contract import strengths
from townsquare.core import registry
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.debate.settings import ALIASES, DECLARED, PRESETS, Choice, Debates
from townsquare.settings.base import MemberParams
from townsquare.settings.layers import Layer, merge, parse_set, read_yaml
from townsquare.settings.named_files import prompts_digest
from townsquare.settings.problems import Problem, plain_json, raise_all, shown, translate
from townsquare.settings.resolve import current_version

MEMBERS = {
    "debater": ("debater",),
    "speaker": ("speaker",),
    "scripted": ("scripted",),
    "judge": ("judge",),
    "embedder": ("evidence", "embedder"),
    "strength": ("evidence", "strength"),
}
"""Role in a debate -> where settings name its member."""
FAMILIES = {"scripted": "speaker", "judge": "stance_judge"}
"""Role -> family, where they differ."""
MODEL = "model"
"""The extractor of speakers that declare no claims: it asks the language model that speaks."""


@dataclass(frozen=True)
class Resolved:
    """A debate that can be held.

    Attributes
    ----------
    settings : Debates
        Complete.
    members : mapping of str to (member, MemberParams)
        By role: debater, speaker, scripted, judge, embedder, strength, and extractor unless claims are declared.
    bank : ArgumentBank
        Its strengths all known.
    digest : str
        SHA-256, hexadecimal, of settings, arguments and version: what a recorded trial belongs to.
    """

    settings: Debates = field(compare=False)
    members: Mapping[str, tuple[Any, MemberParams]] = field(compare=False)
    bank: ArgumentBank = field(compare=False)
    digest: str

    def plain(self) -> dict[str, Any]:
        """The complete settings in JSON-able values; to :func:`resolve_debates` they are the same."""
        out: dict[str, Any] = self.settings.model_dump(mode="json")
        for role, path in MEMBERS.items():
            section = out
            for key in path:
                section = section[key]
            section["params"] = self.members[role][1].model_dump(mode="json", by_alias=True)
        return out


def layers_for_debates(target: str | None, sets: Sequence[str] = (), **flags: object) -> list[Layer]:
    """Layers from what a command line gives: a topic, a file of arguments, or a configuration file; later ones win.

    Raises
    ------
    DataError, SettingError
        A file cannot be read, or a ``key=value`` is none.
    """
    layers: list[Layer] = []
    if target is not None:
        path = Path(target)
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            layers.append(_beside(path, read_yaml(path)[0]))
        else:
            layers.append({"topic": target})
    layers.append({key: value for key, value in flags.items() if value is not None})
    return layers + [parse_set(text) for text in sets]


def _beside(file: Path, values: dict[str, Any]) -> dict[str, Any]:
    """A file of arguments in a configuration file is relative to that file."""
    topic = values.get("topic")
    if not isinstance(topic, str) or topic in {known.slug for known in bundled_topics()}:
        return values
    beside = file.parent / topic
    return {**values, "topic": str(beside)} if beside.is_file() else values


def resolve_debates(*layers: Layer) -> Resolved:
    """A debate from layers of settings, of which later ones win.

    Raises
    ------
    UnknownName
        A setting, a member or a topic that there is not, with the nearest.
    SettingError
        A value of a wrong type or out of range.
    DataError
        The arguments cannot be used.

    >>> resolve_debates({"u": 0.4, "start.seeds": 12}).settings.profile(0)
    (0.4, 0.4)
    """
    given = merge(*(_normal(layer) for layer in layers))
    preset = given.get("preset", "pair")
    below = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    settings = _checked(Debates, merge(below, given), ())
    members = {role: _member(FAMILIES.get(role, role), _choice(settings, path), path) for role, path in MEMBERS.items()}
    settings = _with_extractor(settings, members, is_given="extractor" in given.get("evidence", {}))
    if settings.evidence.extractor != DECLARED:
        choice = Choice(name=settings.evidence.extractor)
        members["extractor"] = _member("extractor", choice, ("evidence", "extractor"))
    sides = {label: 1 if side == "pro" else -1 for label, side in settings.sides.items()}
    bank = _with_strengths(load_bank(settings.topic, settings.proposition, sides), *members["strength"])
    found = Resolved(settings, members, bank, "")
    return replace(found, digest=_digest(found))


def _with_extractor(settings: Debates, members: Mapping[str, Any], *, is_given: bool) -> Debates:
    """The settings with the extractor that a speaker without claims of its own needs, unless one is given."""
    roles = ("speaker", "scripted") if settings.opponent == "scripted" else ("speaker",)
    without = [members[role][0].name for role in roles if not members[role][0].declares]
    if settings.evidence.extractor != DECLARED or not without:
        return settings
    if is_given:
        got = f"`{DECLARED}`, and the speaker {without[0]!r}, which declares no claims"
        raise SettingError("evidence.extractor", got=got, allowed=", ".join(registry.names("extractor")))
    return settings.model_copy(update={"evidence": settings.evidence.model_copy(update={"extractor": MODEL})})


def _normal(layer: Layer) -> dict[str, Any]:
    """A layer with dotted keys spread out, short names written out, and words for members as mappings."""
    out: dict[str, Any] = {}
    for name, value in layer.items():
        key, *below = ALIASES.get(str(name), str(name)).split(".")
        for part in reversed(below):
            value = {part: value}
        out = merge(out, {key: value})
    for path in (*MEMBERS.values(), ("model",)):
        section: Any = out
        for key in path[:-1]:
            section = section.get(key) if isinstance(section, dict) else None
        if isinstance(section, dict) and isinstance(section.get(path[-1]), str):
            section[path[-1]] = {"name": section[path[-1]]}
    return out


def _checked(model: type[Any], values: Any, prefix: tuple[str, ...]) -> Any:
    """A model from plain values, strictly; every complaint in one error."""
    try:
        return model.model_validate_json(plain_json(_over_defaults(model, values)), strict=True)
    except ValidationError as error:
        unknown = [item for item in error.errors(include_url=False) if item["type"] == "extra_forbidden"]
        for item in unknown:
            *above, key = (str(part) for part in item["loc"])
            allowed = ", ".join(_settings_in(model, above))
            where = ".".join((*prefix, *above, key))
            raise UnknownName(where, got=shown(item["input"]), allowed=allowed, do=_nearest(model, key)) from None
        problems: list[Problem] = list(translate(error, model, prefix))
        raise_all(problems, {})
        raise


def _over_defaults(model: type[BaseModel], values: Any) -> Any:
    """Values with the defaults of chosen members below them: parameters can be given without the name."""
    if not isinstance(values, Mapping):
        return values
    out = dict(values)
    for name, declared in model.model_fields.items():
        kind = declared.annotation
        if not (isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(out.get(name), Mapping)):
            continue
        if kind is Choice and "name" not in out[name]:
            out[name] = {"name": declared.default.name, **out[name]}
        elif kind is not Choice:
            out[name] = _over_defaults(kind, out[name])
    return out


def _settings_in(model: type[Any], path: Sequence[str]) -> list[str]:
    for part in path:
        model = model.model_fields[part].annotation
    return list(model.model_fields)


def _nearest(model: type[Any], key: str) -> str:
    """A hint with the path of the setting, in any section, that a key comes nearest to; or nothing."""
    paths = {path.rpartition(".")[2]: path for path in reversed(list(_paths(model)))}
    hint = did_you_mean(key, paths)
    word = hint.partition("'")[2].partition("'")[0]
    return hint.replace(repr(word), repr(paths[word])) if word else ""


def _paths(model: type[Any], prefix: str = "") -> Iterator[str]:
    for name, declared in model.model_fields.items():
        yield f"{prefix}{name}"
        kind = declared.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not Choice:
            yield from _paths(kind, f"{prefix}{name}.")


def _choice(settings: Debates, path: Sequence[str]) -> Choice:
    found: Any = settings
    for key in path:
        found = getattr(found, key)
    assert isinstance(found, Choice)
    return found


def _member(family: str, choice: Choice, path: Sequence[str]) -> tuple[Any, MemberParams]:
    try:
        member = registry.get(family, choice.name)
    except UnknownName as error:
        raise UnknownName(".".join(path), got=error.got, allowed=error.allowed, do=error.do) from None
    except ModuleNotFoundError as error:
        raise SettingError(
            ".".join(path), got=repr(choice.name), do=f"it needs the package {error.name!r}, which is not installed"
        ) from None
    return member, _checked(member.params, choice.params, (*path, "params"))


def _with_strengths(bank: ArgumentBank, judge: Any, params: MemberParams) -> ArgumentBank:
    """The bank with the judge's estimates where its file says nothing."""
    at = np.flatnonzero(np.isnan(bank.strength))
    if not at.size:
        return bank
    strength = bank.strength.copy()
    strength[at] = strengths(judge, [bank.text[k] for k in at], [bank.statement] * at.size, params)
    return replace(bank, strength=strength)


def _digest(found: Resolved) -> str:
    bank = found.bank
    arguments = [bank.statement, list(bank.text), bank.polarity.tolist(), bank.stance.tolist(), bank.strength.tolist()]
    settings = found.plain()
    # More trials, another path or tolerance, or other ways to a model leave a trial as it is.
    for key in ("trials", "topic", "start", "serving"):
        settings.pop(key)
    if found.settings.model.name != "none":
        settings["prompts_digest"] = prompts_digest()
    start = found.settings.start.model_dump(mode="json", exclude={"tolerance"})
    identity = [current_version(), settings, start, arguments, bank.seed.tolist()]
    return hashlib.sha256(json.dumps(identity, sort_keys=True, allow_nan=False).encode()).hexdigest()
