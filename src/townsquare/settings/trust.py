"""Trust: only the user's own layers may choose servers, key variables and outside files.

A scenario, and the settings that a recorded run holds, may come from anybody. What decides where a key goes, and which
files outside their folder are read, is taken from the command line and from configuration files alone. For folders of
runs, what a user once chose is kept in the user's state folder, so that one's own runs go on without asking.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from townsquare.core.errors import SettingError
from townsquare.settings.base import marked
from townsquare.settings.config import Config
from townsquare.settings.layers import Layer, leaves
from townsquare.settings.problems import Problem, raise_all, shown

OWN = ("model.base_url", "serving.key_env", "serving.calls", "serving.prices")
"""Settings that name a server, a variable or a file, and take effect where a language model is asked."""
_SERVERS, _VARIABLE, _MODEL = *OWN[:2], "model.name"
_NOT_IN_SCENARIOS = ("serving", "model.base_url", "strength.model")
_ALLOWED = "a value from your command line or your own configuration file"


def check_scenario(layer: Layer, given: Collection[str], name: str) -> None:
    """Refuse what a scenario's settings and events may not set, unless the user's own layers give it.

    Parameters
    ----------
    layer : mapping
        Settings of the scenario, its events among them.
    given : collection of str
        Dotted paths that the user's own layers give.
    name : str
        Of the scenario.

    Raises
    ------
    SettingError
        It sets something of `serving`, `model.base_url`, or the folder of weights `strength.model`.
    """
    settings = [("", path, value) for path, value in leaves(layer)]
    events = layer.get("events") if "events" not in given else None
    for number, event in enumerate(events if isinstance(events, list) else (), 1):
        below = event.get("set") if isinstance(event, Mapping) else None
        settings += [(f"event {number}, ", path, value) for path, value in leaves(below or {})]
    problems = []
    for event, path, value in settings:
        is_own = any(f"{path}.".startswith(f"{own}.") for own in _NOT_IN_SCENARIOS)
        if is_own and value not in (None, {}) and (event or path not in given):
            where, do = f"{event}{path} (scenario {name})", f"remove it from the scenario, or add `--set {path}=...`"
            problems.append(Problem((path,), shown(value), _ALLOWED, do, where=where))
    raise_all(problems, {})


def check_inside(sections: Iterable[tuple[str, BaseModel]], paths: Collection[str], folder: Path | None) -> None:
    """Refuse files that a scenario's settings name and that do not lie in its folder.

    Parameters
    ----------
    sections : iterable of (str, model)
        Name of a section, and checked settings of it.
    paths : collection of str
        Dotted paths of the settings that come from the scenario.
    folder : Path, optional
        Of the scenario; nothing is checked without one.

    Raises
    ------
    SettingError
        Naming the setting.
    """
    if folder is None:
        return
    for section, model in sections:
        for key, value, marks in marked(model):
            path = f"{section}.{key}"
            if not ("file" in marks and value and path in paths):
                continue
            if not _is_inside(folder / value if marks["file"] == "scenario" else Path(value), folder):
                where, do = f"{path} (scenario in {folder})", f"copy it there, or add `--set {path}=...`"
                raise SettingError(where, got=shown(value), allowed="a file in the folder of the scenario", do=do)


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return False


def named_by(config: Config) -> dict[str, Any]:
    """Return the values of :data:`OWN` in complete settings, by dotted path, and the model; empty without any."""
    model = {"name": config.model.name, "base_url": list(config.model.base_url)}
    return _named({"model": model, "serving": config.serving.model_dump(mode="json")})


def _named(layer: Layer) -> dict[str, Any]:
    given = dict(leaves(layer))
    named = {path: given[path] for path in OWN if given.get(path)}
    if isinstance(named.get(_SERVERS), str):
        named[_SERVERS] = [named[_SERVERS]]
    return {_MODEL: given.get(_MODEL, given.get("model")), **named} if named else {}


def check_approved(config: Config, folder: Path, given: Collection[str] = ()) -> None:
    """Refuse what the record of a run says of :data:`OWN` and its user never approved for that folder.

    Parameters
    ----------
    config : Config
        Of the recorded run, with what the user gave over it.
    folder : Path
        Of the run.
    given : collection of str
        Dotted paths that the user gave with this command.

    Raises
    ------
    SettingError
        With the command that approves.
    """
    _check(named_by(config), folder, given, f"townsquare resume {shlex.quote(str(folder))}")


def check_stored(file: Path, layer: Layer, given: Collection[str]) -> None:
    """Refuse the same in a configuration file that a run wrote, such as ``run.yaml``."""
    _check(_named(layer), file.parent, given, f"townsquare run {shlex.quote(str(file))}")


def _check(named: Mapping[str, Any], folder: Path, given: Collection[str], command: str) -> None:
    """Check the approvals: a variable is approved for one model at its servers, each other setting by itself."""
    before = approved(folder)
    other = {path for path in OWN if before.get(path) != named.get(path)}
    if _SERVERS in other or before.get(_MODEL) != named.get(_MODEL):
        other.add(_VARIABLE)
    left = {path: named[path] for path in OWN if path in named and path in other and path not in given}
    if left:
        sets = " ".join(f"--set {shlex.quote(f'{path}={_written(value)}')}" for path, value in left.items())
        got = "; ".join(f"{path}={_written(value)}" for path, value in left.items())
        allowed, do = "servers, variables and files that you approved for this folder", f"to use them: {command} {sets}"
        raise SettingError(f"{folder}: {', '.join(left)}", got=got, allowed=allowed, do=do)


def _written(value: Any) -> str:
    """Return a value as ``--set`` takes it."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return value if isinstance(value, str) else json.dumps(value)


def approve(folder: Path, named: Mapping[str, Any]) -> None:
    """Remember what a user chose for the run of a folder; where that cannot be written, it will be asked for again.

    Parameters
    ----------
    folder : Path
        Of the run.
    named : mapping
        Of :func:`named_by`. Holds no secret: names of variables, addresses and paths.
    """
    if not named:
        return
    try:
        path = _file_of(folder)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(f".{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"folder": str(folder.resolve()), "settings": dict(named)}, file)
        draft.replace(path)
    except (OSError, RuntimeError):
        return


def approved(folder: Path) -> dict[str, Any]:
    """Return what the user chose for the run of a folder; empty if nothing, or if it cannot be read."""
    try:
        values = json.loads(_file_of(folder).read_text(encoding="utf-8"))
        return dict(values["settings"]) if values["folder"] == str(folder.resolve()) else {}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return {}


def _file_of(folder: Path) -> Path:
    """Return the file of a folder's approvals, below ``$XDG_STATE_HOME``, by default ``~/.local/state``."""
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = home if home.is_absolute() else Path.home() / ".local" / "state"
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return home / "townsquare" / "approved" / f"{name}.json"
