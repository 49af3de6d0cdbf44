"""Layers of settings: what a YAML file, a ``--set`` or a caller gives, before anything is checked.

A layer is a nested mapping of plain values. Later layers win, key by key; lists are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from townsquare.core.documents import MAX_YAML_BYTES, Lines, parse_yaml
from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import MAX_SHOWN, read_text

Layer = Mapping[str, Any]


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """Return a YAML or JSON file as a layer, with the line on which each setting stands, by its dotted path.

    Raises
    ------
    DataError
        The file is missing, is no UTF-8, no YAML or no mapping, or holds a key twice; names file and line.
    """
    values, lines = parse_yaml(read_text(path, MAX_YAML_BYTES), str(path))
    values = {} if values is None else values
    if not isinstance(values, dict):
        do = "write lines such as `steps: 20`"
        raise DataError(str(path), got=type(values).__name__, allowed="a mapping of settings", do=do)
    return values, lines


def parse_set(text: str) -> dict[str, Any]:
    """Return ``"a.b=value"`` as a layer; the value is read as YAML.

    Only ``null``, ``~`` and nothing at all mean null: ``none`` stays a word, because it is the name of a strategy.

    Raises
    ------
    SettingError
        If there is no ``=``, an empty part in the key, or the value is not YAML.

    >>> parse_set("moderation.strategy=none"), parse_set("beliefs.pull=1e-3")
    ({'moderation': {'strategy': 'none'}}, {'beliefs': {'pull': 0.001}})
    """
    key, equals, value = text.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise SettingError("--set", got=repr(text), allowed="key=value, such as feed.followed=10")
    return nested(parts, parse_value(value, f"--set {key.strip()}"))


def nested(keys: Sequence[str], value: Any) -> dict[str, Any]:
    """Return a value inside mappings, one for each key.

    >>> nested(["feed", "pool"], 10)
    {'feed': {'pool': 10}}
    """
    for key in reversed(keys):
        value = {key: value}
    return dict(value)


def with_path(file: Path, values: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the values of a configuration file: a path under a key is relative to the file; a bare word stays."""
    name = values.get(key)
    path = file.parent / name if isinstance(name, str) and ("/" in name or Path(name).suffix) else None
    return values if path is None or not path.exists() else {**values, key: str(path)}


def parse_value(text: str, where: str) -> Any:
    """Return one value written as YAML: a word, a number, true, false, null, a ``[list]`` or a ``{map: ping}``.

    >>> parse_value("[1, two, none, ~]", "here")
    [1, 'two', 'none', None]
    """
    try:
        return parse_yaml(text, where, SettingError)[0]
    except SettingError as error:
        got = error.got if len(text) > MAX_SHOWN else f"{text!r} ({error.got})"
        do = error.do or "put a text with special signs in quotes"
        allowed = error.allowed.replace("plain YAML", "a value in YAML")
        raise SettingError(where, got=got, allowed=allowed, do=do) from None


def merge(*layers: Layer) -> dict[str, Any]:
    """Return the layers in one; later ones win, key by key.

    >>> merge({"feed": {"followed": 5, "others": 2}}, {"feed": {"others": 0}})
    {'feed': {'followed': 5, 'others': 0}}
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        _put(layer, merged)
    return merged


def _put(layer: Layer, merged: dict[str, Any]) -> None:
    """Write a layer over what is merged, whose mappings are all copies."""
    for key, value in layer.items():
        if isinstance(value, Mapping):
            if not isinstance(below := merged.get(key), dict):
                below = merged[key] = {}
            _put(value, below)
        else:
            merged[key] = value


def leaves(layer: Layer, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and value of each setting that a layer gives, written nested or with dots.

    >>> dict(leaves({"model": {"name": "fake"}, "serving.tries": 2}))
    {'model.name': 'fake', 'serving.tries': 2}
    """
    for key, value in layer.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
