"""Problems with settings: where, what came, what is allowed, and the nearest known name."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from townsquare.core.errors import DataError, SettingError, TownsquareError, UnknownName
from townsquare.core.redact import redacted, redacted_value
from townsquare.core.registry import did_you_mean
from townsquare.settings.base import NotShown
from townsquare.settings.schema import OTHERS, SECTIONS, Schema, allowed, at, follow, json_schema, known_paths

Path = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
LONGEST = 80
MOST_LISTED = 20
"""Maximum number of problems listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; ``got``, ``allowed`` and ``do`` as in :class:`~townsquare.core.errors.TownsquareError`.

    ``where`` is said instead of the path, if it is given.
    """

    path: Path
    got: str
    allowed: str = ""
    do: str = ""
    unknown: bool = False
    where: str = ""

    @property
    def dotted(self) -> str:
        """The path with dots, or what says better where it is."""
        return self.where or ".".join(str(part) for part in self.path) or "settings"


def plain_json(value: Any) -> str:
    """Return JSON of plain values; scalars and arrays of NumPy count as plain.

    Raises
    ------
    SettingError
        For a value that no JSON holds.
    """

    def convert(other: Any) -> Any:
        if hasattr(other, "tolist"):
            return other.tolist()
        got = f"a value of type {type(other).__name__}"
        raise SettingError("settings", got=got, allowed="texts, numbers, lists, mappings")

    return json.dumps(value, default=convert)


def shown(value: Any) -> str:
    """Return a value for a message: short, texts in quotes, keys and passwords hidden."""
    text = redacted(repr(value) if isinstance(value, str) else json.dumps(redacted_value(value), default=str))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def translate(
    error: ValidationError, model: type[BaseModel], prefix: Path, *, alone: bool = False
) -> Iterator[Problem]:
    """Yield Pydantic's errors about a ``model`` at ``prefix`` as problems, one per setting.

    What is unknown is looked for in all settings of a run, or in this model ``alone``.
    """
    schema = model.model_json_schema()
    known = (schema, prefix) if alone else (_schema(), ())
    done: set[Path] = set()
    for item in error.errors(include_url=False):
        path = (*prefix, *item["loc"])
        if path in done:
            continue
        done.add(path)
        if len(done) > MOST_LISTED:  # it is only counted
            yield Problem(path, "", unknown=True)
        elif item["type"] == "extra_forbidden":
            yield unknown(path, item["input"], *known)
        elif isinstance(inner := item.get("ctx", {}).get("error"), ValidationError):
            for below in inner.errors(include_url=False):
                yield Problem((*path, *below["loc"]), shown(below["input"]), below["msg"])
        elif path[-1] == "[key]":
            yield Problem(path[:-2], shown(path[-2]), item["msg"].removeprefix("Input should be "))
        elif item["type"] in ("value_error", "assertion_error"):
            got = "a value that is not shown" if isinstance(inner, NotShown) else shown(item["input"])
            yield Problem(path, got, do=item["msg"].partition(", ")[2])
        else:
            got = "nothing" if item["type"] == "missing" else shown(item["input"])
            yield Problem(path, got, _allowed(schema, item["loc"]) or item["msg"])


def validated(
    model: type[Model], value: object, path: object, *prefix: str, kind: type[TownsquareError] = DataError, do: str = ""
) -> Model:
    """Return a model from what a file holds.

    Parameters
    ----------
    model : type of BaseModel
    value : object
        What the file ``path`` holds, at the keys ``prefix`` of it.
    kind : type of TownsquareError
        What to raise.
    do : str
        What to do where no key is near an unknown one.

    Raises
    ------
    TownsquareError
        Of ``kind``: the first thing that is wrong, with its keys, what is allowed and the nearest known key.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    keys, schema = problem["loc"], model.model_json_schema()
    where = f"{path}, {'.'.join(str(key) for key in (*prefix, *keys)) or 'the whole'}"
    if problem["type"] == "extra_forbidden":
        known = _keys(schema, keys[:-1])
        raise kind(where, got=repr(keys[-1]), allowed=", ".join(known), do=did_you_mean(str(keys[-1]), known) or do)
    words = "" if problem["type"] in ("value_error", "assertion_error") else allowed(schema, at(schema, keys))
    got = "nothing" if problem["type"] == "missing" else repr(problem["input"])[:LONGEST]
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    raise kind(where, got=got, allowed=words or message, do=do)


@cache
def _schema() -> Schema:
    return json_schema()


def _allowed(schema: Schema, path: Path) -> str:
    words = allowed(schema, at(schema, path))
    takes_word = len(path) == 1 and any(path[0] == section for section, _ in SECTIONS.values())
    return f"{words}, or the name of a member" if takes_word and words == "a mapping" else words


def _keys(schema: Schema, path: Path) -> list[str]:
    """Return the keys of a mapping, of every kind that it may be."""
    piece = at(schema, path)
    return [key for kind in piece.get("anyOf", [piece]) for key in follow(schema, kind).get("properties", {})]


def unknown(path: Path, value: Any, schema: Schema | None = None, prefix: Path = ()) -> Problem:
    """Return a setting that does not exist, with the nearest one of a schema that begins at ``prefix``, or of all."""
    schema = _schema() if schema is None else schema
    section, key = path[:-1], str(path[-1])
    below = section[len(prefix) :]
    here = [name for name in _keys(schema, below) if name != OTHERS]
    named = f"a setting of {'.'.join(str(part) for part in section)}" if section else "a setting"
    hint = _nearest(schema, below, key, here)
    got = f"{shown(value)}, but there is no such setting"
    return Problem(path, got, f"{named}: {', '.join(here)}" if here else "", hint, unknown=True)


def _nearest(schema: Schema, section: Path, key: str, here: Sequence[str]) -> str:
    prefix = "".join(f"{part}." for part in section)
    near = [f"{prefix}{word}" for word in difflib.get_close_matches(key, here, n=1)]
    if here and len(section) > 1:  # such as a line of a script: nobody means the setting of a section there
        return f"did you mean {near[0]!r}?" if near else ""
    paths = list(known_paths(schema))
    last = {path.rpartition(".")[2]: path for path in reversed(paths)}
    if key in last:
        near.insert(0, last[key])
    elif not near:
        near = difflib.get_close_matches(f"{prefix}{key}", paths, n=1, cutoff=0.7)
        near = near or [last[word] for word in difflib.get_close_matches(key, last, n=1, cutoff=0.7)]
    return f"did you mean {near[0]!r}?" if near else ""


def raise_all(problems: Sequence[Problem], origins: Mapping[str, str]) -> None:
    """Raise what is wrong, if anything is: one thing as itself, several as a list.

    Raises
    ------
    SettingError
        Always, if there are problems; :class:`~townsquare.core.errors.UnknownName` for a single unknown name.
    """
    errors = [_as_error(problem, origins) for problem in problems[:MOST_LISTED]]
    if len(problems) == 1:
        raise errors[0]
    if errors:
        listed = "".join(f"\n  - {error}" for error in errors)
        more = f"\n  - and {len(problems) - len(errors):,} more" if len(problems) > len(errors) else ""
        raise SettingError(f"{len(problems):,} settings are wrong{listed}{more}")


def _as_error(problem: Problem, origins: Mapping[str, str]) -> SettingError:
    # Items of a list have no origin of their own.
    origin = origins.get(problem.dotted) or (origins.get(str(problem.path[0])) if problem.where else None)
    where = f"{problem.dotted} ({origin})" if origin else problem.dotted
    kind = UnknownName if problem.unknown else SettingError
    return kind(where, got=problem.got, allowed=problem.allowed, do=problem.do)
