"""Layers of settings: what a YAML file, a ``--set`` or a caller gives, before anything is checked.

A layer is a nested mapping of plain values. Later layers win, key by key; lists are replaced as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from townsquare.errors import DataError, SettingError
from townsquare.files import MAX_YAML_BYTES, read_text

Layer = Mapping[str, Any]
Lines = dict[str, int]

_DATE = "tag:yaml.org,2002:timestamp"
_FLOAT = "tag:yaml.org,2002:float"


class _Loader(yaml.SafeLoader):
    """YAML whose keys are texts as written, whose numbers may be ``1e-3``, and which knows no dates or aliases.

    PyYAML reads YAML 1.1, in which the key ``false`` of a label weight is a boolean and ``1e-3`` is a text.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = _key(key)
            if name in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {name!r} twice", problem_mark=key.start_mark)
            seen.add(name)
        return {_key(key): self.construct_object(value, deep=True) for key, value in node.value}


def _construct_map(loader: Any, node: Any) -> dict[Any, Any]:
    return dict(loader.construct_mapping(node, deep=True))


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != _DATE]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# What YAML 1.2 takes for a number and YAML 1.1 does not: 1e-3, -.5
_MORE_FLOATS = re.compile(r"[-+]?(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+)$")
_Loader.add_implicit_resolver(_FLOAT, _MORE_FLOATS, list("-+.0123456789"))
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)


def _key(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    raise yaml.MarkedYAMLError(problem="a key that is no word", problem_mark=node.start_mark)


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """A YAML or JSON file as a layer, with the line on which each setting stands, by its dotted path.

    Raises
    ------
    DataError
        The file is missing, is no UTF-8, no YAML or no mapping, or holds a key twice; names file and line.
    """
    text = read_text(path, MAX_YAML_BYTES)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            values = loader.construct_document(node) if node is not None else {}
            lines = dict(_lines(node, "")) if node is not None else {}
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _bad_yaml(path, error) from None
    except (RecursionError, ValueError) as error:
        raise DataError(str(path), got=str(error) or "no YAML", allowed="a mapping of settings") from None
    if not isinstance(values, dict):
        raise DataError(
            str(path),
            got=type(values).__name__,
            allowed="a mapping of settings",
            do="write lines such as `steps: 20`",
        )
    return values, lines


def _bad_yaml(path: Path, error: yaml.YAMLError) -> DataError:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}, line {mark.line + 1}" if mark else str(path)
    return DataError(where, got=getattr(error, "problem", None) or str(error).splitlines()[0], allowed="YAML")


def _lines(node: yaml.Node, prefix: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            path = f"{prefix}{key.value}"
            yield path, key.start_mark.line + 1
            yield from _lines(value, f"{path}.")


def parse_set(text: str) -> dict[str, Any]:
    """``"a.b=value"`` as a layer; the value is read as YAML.

    Only ``null``, ``~`` and nothing at all mean null: ``none`` stays a word, since a strategy is called so.

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
    layer: Any = parse_value(value, f"--set {key.strip()}")
    for part in reversed(parts):
        layer = {part: layer}
    return dict(layer)


def parse_value(text: str, where: str) -> Any:
    """One value written as YAML: a word, a number, true, false, null, a ``[list]`` or a ``{map: ping}``.

    >>> parse_value("[1, two, none, ~]", "here")
    [1, 'two', 'none', None]
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        do = "put a text with special signs in quotes"
        raise SettingError(where, got=repr(text), allowed="a value in YAML", do=do) from None


def merge(*layers: Layer) -> dict[str, Any]:
    """The layers in one; later ones win, key by key.

    >>> merge({"feed": {"followed": 5, "others": 2}}, {"feed": {"others": 0}})
    {'feed': {'followed': 5, 'others': 0}}
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if isinstance(value, Mapping):
                below = merged.get(key)
                value = merge(below, value) if isinstance(below, Mapping) else merge(value)
            merged[key] = value
    return merged
