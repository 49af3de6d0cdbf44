"""The settings in force in a study, each with value, unit, allowed range, and what the value rests on."""

from __future__ import annotations

import importlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from townsquare.core import registry
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, number
from townsquare.experiments.arms import Arm
from townsquare.experiments.bundle.freeze import environment
from townsquare.experiments.protocol.document import Block, prose, quoted
from townsquare.settings.schema import OTHERS, Schema, allowed, follow

FITTED, PUBLISHED, ASSUMED, SET, UNSTATED, CHOICE = "fitted", "published", "assumed", "set", "Author: state", "choice"
BASES = {"fitted": FITTED, "published": PUBLISHED, "assumed": ASSUMED, "set": SET, "unstated": UNSTATED}
_SIZES = {"seed", "agents", "steps", "trials", "rounds"}
_IN_WORDS = re.compile(r"\b(assumed|tuned|measured|fitted|MOSAIC|SimSwarm)\b[^();]*")


@dataclass(frozen=True, slots=True)
class SettingUsed:
    """A setting in force: where it stands, its value, unit, allowed values in words, meaning and basis."""

    section: str
    path: str
    value: Any
    unit: str
    allowed: str
    meaning: str
    basis: str

    @property
    def kind(self) -> str:
        """What it rests on, in a word: fitted, published, assumed, set, choice, or that the author must state it."""
        return UNSTATED if self.basis == UNSTATED else re.split(r"[ :,]", self.basis)[0]

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number whose basis counts."""
        return self.kind != CHOICE


def settings_used(
    schema: Schema,
    properties: Mapping[str, Any],
    values: Mapping[str, Any],
    chosen: Collection[str],
    path: Sequence[str] = (),
    given: Any = None,
) -> Iterator[SettingUsed]:
    """Yield every setting in force.

    Parameters
    ----------
    schema : mapping
        JSON Schema that references point into.
    properties : mapping
        Its pieces by name.
    values : mapping
        Recorded values by name; pieces without a value are left out.
    chosen : collection of str
        Names of chosen members: settings that belong to other members only are left out.
    path : sequence of str
        Where the properties stand.
    given : mapping, optional
        What the scenario sets itself.
    """
    for name, piece in properties.items():
        if name == OTHERS or name not in values:
            continue
        variants = piece["anyOf"] if "variants" in piece else [piece]
        in_force = [piece for piece in variants if not piece.get("members") or set(piece["members"]) & set(chosen)]
        if not in_force:
            continue
        whole, value, where = follow(schema, in_force[0]), values[name], (*path, name)
        own = given.get(name) if isinstance(given, Mapping) else None
        if isinstance(value, Mapping) and "properties" in whole:
            yield from settings_used(schema, whole["properties"], value, chosen, where, own)
            continue
        section, basis = where[0] if len(where) > 1 else "", _basis(name, value, whole, is_own=own == value)
        unit, meaning = (str(whole.get(key, "")) for key in ("unit", "description"))
        yield SettingUsed(section, ".".join(where), value, unit, allowed(schema, whole), meaning, basis)


def _basis(name: str, value: Any, piece: Schema, *, is_own: bool) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    in_words = _IN_WORDS.search(str(piece.get("description", "")))
    stated = str(piece.get("basis", "")) or (in_words.group().strip() if in_words else "")
    stated = stated.replace("measured", "fitted, measured", 1) if stated.startswith("measured") else stated
    stated = stated.replace("tuned", "assumed, tuned", 1) if stated.startswith("tuned") else stated
    if stated.startswith(("MOSAIC", "SimSwarm")):
        stated = f"{PUBLISHED}: {stated}"
    stated = stated.replace("fitted to", "fitted: ")
    if not is_number:
        return CHOICE
    if name in _SIZES:
        return f"{SET} by the scenario" if is_own else f"{SET} for this study"
    if "default" in piece and value != piece["default"]:
        by = " by the scenario" if is_own else ""
        default = "none" if piece["default"] is None else piece["default"]
        return f"{SET}{by} (default {default}{', ' + stated if stated else ''})"
    return " ".join(stated.split()) or UNSTATED


def settings_table(caption: str, used: Sequence[SettingUsed]) -> Table:
    """Return settings with value, unit, range, basis and meaning."""
    rows = [
        (f"`{entry.path}`", shown_value(entry.value), entry.unit, entry.allowed, entry.basis, entry.meaning)
        for entry in used
    ]
    return table(caption, rows, (str, "setting", "value", "unit", "allowed", "basis", "meaning"))


def shown_value(value: Any) -> str:
    """Return a value as settings write it."""
    return quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def arms_table(arms: Sequence[Arm]) -> Sequence[Table]:
    """Return the table of what each arm of a study sets, if there are any."""
    rows = [(quoted(arm.name), shown_value(dict(arm.changes))) for arm in arms]
    return [table("Settings of each arm that differ from the base", rows, (str, "arm", "settings"))] if rows else []


class StudyFacts(ABC):
    """What a study says of itself, whatever it consists of: its settings, what they rest on, and its members."""

    placed: ClassVar[tuple[str, ...]]
    """Sections whose settings stand beside a question of their own."""
    families: ClassVar[Mapping[str, str]] = {}
    """Role of a member -> its family, where they differ."""

    @property
    @abstractmethod
    def used(self) -> list[SettingUsed]:
        """Every setting in force."""

    @property
    @abstractmethod
    def members(self) -> dict[str, str]:
        """Name of the member of each role that the study uses."""

    @property
    def counted(self) -> dict[str, str]:
        """How many numeric settings there are, in all and by basis; and the versions of packages."""
        return {
            "numeric": count(sum(entry.is_numeric for entry in self.used), "numeric setting"),
            **{name: number(len(self.of_basis(kind))) for name, kind in BASES.items()},
            "packages": ", ".join(f"{name} {version}" for name, version in environment().items()),
        }

    def of_basis(self, *kinds: str) -> list[SettingUsed]:
        """Return the numeric settings with a basis of one of these kinds, kind by kind."""
        return [entry for kind in kinds for entry in self.used if entry.is_numeric and entry.kind == kind]

    def basis(self) -> Sequence[Block]:
        """Return the table of settings that rest on data or on a publication."""
        rows = self.of_basis(FITTED, PUBLISHED)
        return [settings_table("Settings that rest on data or on a publication", rows)] if rows else []

    def section(self, name: str) -> Sequence[Block]:
        """Return the table of the settings of a section."""
        rows = [entry for entry in self.used if entry.section == name]
        return [settings_table(f"Settings of `{name}`", rows)] if rows else []

    def other_settings(self) -> Sequence[Block]:
        """Return the tables of settings outside sections, and of sections that stand beside no question."""
        top = settings_table("Top-level settings", [entry for entry in self.used if not entry.section])
        others = dict.fromkeys(entry.section for entry in self.used if entry.section not in ("", *self.placed))
        return [top, *(block for name in others for block in self.section(name))]

    def doc(self, role: str) -> Sequence[Block]:
        """Return the description of a member: the docstring of the file where it stands."""
        if role not in self.members:
            return []
        family, name = self.families.get(role, role), self.members[role]
        module = importlib.import_module(registry.target_of(family, name).partition(":")[0])
        title = f"Member `{name}` of the family `{family.replace('_', ' ')}` (`{module.__name__}`):"
        return [title, *prose(module.__doc__ or "")]
