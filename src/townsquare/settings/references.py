"""Settings that name what a scenario has, such as ``leave_out.posts``: what they name must be there.

A field says so: ``setting(..., names="agents")``, or ``posts``, ``sources``, ``propositions``. Its value
is a row, a name, or a list or a mapping of such. Settings of another member inside a value, as in a mix, are found by
``setting(..., params_of="policy")`` next to a field ``name``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from townsquare.core.errors import SettingError
from townsquare.core.registry import did_you_mean
from townsquare.settings.base import marked
from townsquare.settings.schema import params_of


@dataclass(frozen=True, slots=True)
class Nameable:
    """What settings may name.

    Attributes
    ----------
    posts : int
        Posts of the scenario.
    persons, newcomers : int
        Persons at the start, and those who may join at most. Who joins has the rows after the sources.
    sources, propositions : sequence of str
        Names, in order of their rows.
    accounts : sequence of str
        Names of persons that the scenario brings; a setting that names a source may name one of them.
    """

    posts: int
    persons: int
    newcomers: int
    sources: Sequence[str]
    propositions: Sequence[str]
    accounts: Sequence[str] = ()

    def rows(self, kind: str) -> tuple[int, str]:
        """Return how many rows of a kind there may be, and what these are, in words."""
        if kind == "posts":
            return self.posts, "rows of the scenario's posts"
        if kind == "propositions":
            return len(self.propositions), ", ".join(self.propositions)
        most = self.persons + len(self.sources)
        words = f"persons below {self.persons}, sources from {self.persons} on"
        joining = f", at most {self.newcomers:,} who join from {most} on" if self.newcomers else ""
        return most + self.newcomers, words + joining

    def check(self, where: str, kind: str, value: int | str) -> None:
        """Refuse what is not there.

        Raises
        ------
        SettingError
            With the range of rows, or the names and the nearest of them.
        """
        if isinstance(value, str):
            names = [*self.sources, *self.accounts] if kind == "sources" else list(self.propositions)
            if value not in names:
                allowed = ", ".join(names)[:500] or f"none, as the scenario has no {kind}"
                raise SettingError(where, got=repr(value), allowed=allowed, do=did_you_mean(value, names))
            return
        n, words = self.rows(kind)
        if not 0 <= value < n:
            allowed = f"0 to {n - 1} ({words})" if n else f"none, as the scenario has no {kind}"
            raise SettingError(where, got=str(value), allowed=allowed)


def check_references(there: Nameable, sections: Iterable[tuple[str, BaseModel]]) -> None:
    """Refuse settings that name what is not there.

    Parameters
    ----------
    there : Nameable
    sections : iterable of (str, model)
        Name of a section, and checked settings of it; see :func:`townsquare.settings.resolve.sections_of`.

    Raises
    ------
    SettingError
        For the first that is wrong.
    """
    for section, model in sections:
        for where, kind, value in _named(model, section):
            there.check(where, kind, value)


def _named(model: BaseModel, prefix: str) -> Iterator[tuple[str, str, int | str]]:
    """Yield (dotted path, kind, row or name) of everything that a model names."""
    for key, value, marks in marked(model):
        where = f"{prefix}.{key}"
        if "names" in marks:
            yield from ((where, marks["names"], item) for item in _several(value))
        elif "params_of" in marks:
            member: Any = getattr(model, "name", "")
            yield from _named(params_of(marks["params_of"], member).model_validate(value), where)
        else:
            for number, item in enumerate(_several(value)):
                if isinstance(item, BaseModel):
                    inside = where if isinstance(value, BaseModel) else f"{where}.{number}"
                    yield from _named(item, inside)


def _several(value: Any) -> Sequence[Any]:
    """Return the values in a list, the keys of a mapping, or a single value; nothing for null."""
    if isinstance(value, tuple | list | dict):
        return list(value)
    return () if value is None else (value,)
