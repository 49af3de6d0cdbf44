"""Checks the arguments of public functions, so that a wrong one is named before anything is done with it."""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.registry import did_you_mean

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_SIMPLE: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", lambda value: hasattr(value, "__index__")),
    float: ("a number", lambda value: isinstance(value, Real)),
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    Path: ("a path", lambda value: isinstance(value, PathLike)),
    types.NoneType: ("None", lambda value: value is None),
}
_CONVERT: dict[Any, Callable[[Any], Any]] = {int: operator.index, float: float, bool: bool, Path: Path}


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Check the arguments of a function by its annotations: names, types, and the types inside lists and mappings.

    NumPy numbers and arrays become Python's. A truth value is no number.

    Raises
    ------
    UnknownName
        The function has no parameter of this name.
    SettingError
        An argument is missing, given twice, or of another type.

    >>> @checked
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> try:
    ...     double("two")
    ... except SettingError as error:
    ...     print(error)
    double(number): got 'two'; allowed: a whole number; see help(double)
    """
    name = function.__qualname__
    signature = inspect.signature(function)
    hints = cache(lambda: get_type_hints(function))

    @wraps(function)
    def call(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        help_text = f"see help({name})"
        for key in named.keys() - signature.parameters.keys():
            do = did_you_mean(key, signature.parameters) or help_text
            raise UnknownName(f"{name}({key})", got="no such parameter", allowed=_listed(signature), do=do)
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise SettingError(f"{name}()", got=str(error), allowed=_listed(signature), do=help_text) from None
        for key, value in bound.arguments.items():
            if key not in hints():
                continue
            try:
                bound.arguments[key] = _converted(value, hints()[key])
            except TypeError:
                got = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}…"
                raise SettingError(f"{name}({key})", got=got, allowed=_allowed(hints()[key]), do=help_text) from None
        return function(*bound.args, **bound.kwargs)

    return call


def _listed(signature: inspect.Signature) -> str:
    return ", ".join(name for name in signature.parameters if name not in {"self", "cls"})


def _converted(value: Any, hint: Any) -> Any:
    """Return a value in the type of the annotation; raises ``TypeError`` if it is of another."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if kind in (Union, types.UnionType):
        for part in inner:
            try:
                return _converted(value, part)
            except TypeError:
                continue
    elif kind in _SIMPLE:
        if _SIMPLE[kind][1](value) and (kind is bool or not isinstance(value, bool | np.bool_)):
            return _CONVERT.get(kind, lambda same: same)(value)
    elif kind is Literal:
        if value in inner:
            return value
    elif kind is tuple:
        if isinstance(value, tuple | list) and len(value) == len(inner):
            return tuple(_converted(each, part) for each, part in zip(value, inner, strict=True))
    elif kind is Mapping:
        if isinstance(value, Mapping):
            return {_converted(key, inner[0]): _converted(each, inner[1]) for key, each in value.items()}
    elif kind is Sequence:
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | set):
            return [_converted(each, inner[0]) for each in value]
    elif callable(value) if kind is Callable else isinstance(value, kind):
        return value
    raise TypeError


def _allowed(hint: Any) -> str:
    """Say what an annotation allows.

    >>> _allowed(int | str | Sequence[int] | None)
    'a whole number, a text or a list of whole numbers'
    """
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        words = list(dict.fromkeys(_allowed(part) for part in inner if part is not types.NoneType))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if kind is Literal:
        return ", ".join(map(repr, inner))
    if kind is Sequence:
        of = _allowed(inner[0]).removeprefix("a ") + "s" if inner[0] is not Any else "values"
        return f"a list of {of}"
    if kind is Mapping and inner[1] is Any:
        return "a dict, such as {'steps': 10}"
    if kind is Mapping:
        return f"a dict of names, each with {_allowed(inner[1])}"
    if kind is tuple:
        return f"a pair ({', '.join(map(_allowed, inner))})"
    named = {Callable: "a function", Any: "a value"}
    return named.get(kind) or (_SIMPLE[kind][0] if kind in _SIMPLE else f"{kind.__name__}")
