"""From layers of settings to a debate that can be held: settings, members with their parameters, and the arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from townsquare.beliefs.evidence.bank_files import ArgumentBank, load_bank
from townsquare.beliefs.evidence.contract import with_strengths
from townsquare.core import registry
from townsquare.core.errors import SettingError, UnknownName
from townsquare.debate.settings import ALIASES, DECLARED, PRESETS, Choice, Debates
from townsquare.settings.base import MemberParams
from townsquare.settings.layers import Layer, merge, nested, with_path
from townsquare.settings.named_files import prompts_digest
from townsquare.settings.problems import Problem, raise_all
from townsquare.settings.resolve import check_model, current_version, layers_for

MEMBERS: dict[str, tuple[str, ...]] = {
    **{role: (role,) for role in ("debater", "speaker", "scripted", "judge")},
    **{role: ("evidence", role) for role in ("embedder", "strength")},
}
"""Role in a debate -> where settings name its member."""
FAMILIES = {"scripted": "speaker", "judge": "stance_judge"}
"""Role -> family, where they differ."""
MODEL = "model"
"""The extractor of speakers that declare no claims: it asks the language model that speaks."""


@dataclass(frozen=True)
class ResolvedDebate:
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
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        bank, settings = self.bank, self.plain()
        columns = (bank.polarity, bank.stance, bank.strength)
        arguments = [bank.statement, list(bank.text), *(column.tolist() for column in columns)]
        # More trials, another path or tolerance, or other ways to a model leave a trial as it is.
        start = settings.pop("start")
        for section, key in ((settings, "trials"), (settings, "topic"), (settings, "serving"), (start, "tolerance")):
            section.pop(key)
        if self.settings.model.name != "none":
            settings["prompts_digest"] = prompts_digest()
        identity = [current_version(), settings, start, arguments, bank.seed.tolist()]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True, allow_nan=False).encode()).hexdigest()
        object.__setattr__(self, "digest", digest)

    def plain(self) -> dict[str, Any]:
        """Return the complete settings as JSON-able values; :func:`resolve_debates` reads them back unchanged."""
        out: dict[str, Any] = self.settings.model_dump(mode="json")
        for role, path in MEMBERS.items():
            at_path(out, path)["params"] = self.members[role][1].model_dump(mode="json", by_alias=True)
        return out


def layers_for_debates(target: str | None, sets: Sequence[str] | Layer = (), **flags: int | None) -> list[Layer]:
    """Return layers from a command line: a topic, a file of arguments, or a configuration file; later ones win.

    Raises
    ------
    DataError, SettingError
        A file cannot be read, or a ``key=value`` is none.
    """
    path = Path(target or "")
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return layers_for(None, None, sets, topic=target, **flags)[0]
    file, *later = layers_for(None, path, sets, **flags)[0]
    return [with_path(path, dict(file), "topic"), *later]


def resolve_debates(*layers: Layer) -> ResolvedDebate:
    """Resolve a debate from layers of settings; later ones win.

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
    members = {role: _member(FAMILIES.get(role, role), at_path(settings, path), path) for role, path in MEMBERS.items()}
    settings = _with_extractor(settings, members, is_given="extractor" in given.get("evidence", {}))
    if settings.evidence.extractor != DECLARED:
        choice = Choice(name=settings.evidence.extractor)
        members["extractor"] = _member("extractor", choice, ("evidence", "extractor"))
    sides = {label: 1 if side == "pro" else -1 for label, side in settings.sides.items()}
    bank = load_bank(settings.topic, settings.proposition, sides)
    strength = with_strengths(bank.strength, bank.text, bank.statement, *members["strength"])
    return ResolvedDebate(settings, members, replace(bank, strength=strength))


def _with_extractor(settings: Debates, members: Mapping[str, Any], *, is_given: bool) -> Debates:
    """Set the extractor that a speaker without declared claims needs, unless one is given."""
    roles = ("speaker", "scripted") if settings.opponent == "scripted" else ("speaker",)
    without = [members[role][0].name for role in roles if not members[role][0].declares]
    if settings.evidence.extractor != DECLARED or not without:
        return settings
    if is_given:
        got = f"`{DECLARED}`, and the speaker {without[0]!r}, which declares no claims"
        raise SettingError("evidence.extractor", got=got, allowed=", ".join(registry.names("extractor")))
    return settings.model_copy(update={"evidence": settings.evidence.model_copy(update={"extractor": MODEL})})


def _normal(layer: Layer) -> dict[str, Any]:
    """Expand dotted keys, short names, and names of members in a layer."""
    out: dict[str, Any] = {}
    for name, value in layer.items():
        out = merge(out, nested(ALIASES.get(str(name), str(name)).split("."), value))
    for path in (*MEMBERS.values(), ("model",)):
        section = at_path(out, path[:-1])
        if isinstance(section, dict) and isinstance(section.get(path[-1]), str):
            section[path[-1]] = {"name": section[path[-1]]}
    return out


def at_path(settings: Any, path: Sequence[str]) -> Any:
    """Return the value at a path in sections or mappings."""
    for key in path:
        settings = settings.get(key) if isinstance(settings, dict) else getattr(settings, key, None)
    return settings


def _checked(model: type[Any], values: Any, prefix: tuple[str, ...]) -> Any:
    problems: list[Problem] = []
    checked = check_model(model, values, prefix, problems, alone=True)
    raise_all(problems, {})
    return checked


def _member(family: str, choice: Choice, path: Sequence[str]) -> tuple[Any, MemberParams]:
    try:
        member = registry.get(family, choice.name)
    except UnknownName as error:
        raise UnknownName(".".join(path), got=error.got, allowed=error.allowed, do=error.do) from None
    except ModuleNotFoundError as error:
        do = f"it needs the package {error.name!r}, which is not installed"
        raise SettingError(".".join(path), got=repr(choice.name), do=do) from None
    return member, _checked(member.params, choice.params, (*path, "params"))
