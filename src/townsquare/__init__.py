"""Simulate a social network of agents whose beliefs move by stated rules, with every movement on record.

>>> import townsquare as ts
>>> settings = ts.resolve_for("made:60", agents=30, steps=3, seed=1)
>>> run = ts.simulate(settings)
>>> run.table("beliefs").height
120
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from townsquare.core.errors import TownsquareError as TownsquareError
    from townsquare.core.registry import register as register
    from townsquare.record.memory import MemoryRecorder as MemoryRecorder
    from townsquare.record.run import Run as Run
    from townsquare.record.sqlite import FolderRecorder as FolderRecorder
    from townsquare.scenario.contents import Scenario as Scenario
    from townsquare.scenario.load import (
        list_scenarios as list_scenarios,
    )
    from townsquare.scenario.load import (
        load_scenario as load_scenario,
    )
    from townsquare.scenario.load import (
        made_scenario as made_scenario,
    )
    from townsquare.scenario.settings import resolve_for as resolve_for
    from townsquare.settings.resolve import Settings as Settings
    from townsquare.settings.resolve import json_schema as json_schema
    from townsquare.simulation.run import simulate as simulate

# Names are imported when they are first used, so that the command line starts without loading the kernels.
_HOMES = {
    "FolderRecorder": "townsquare.record.sqlite",
    "MemoryRecorder": "townsquare.record.memory",
    "Run": "townsquare.record.run",
    "Scenario": "townsquare.scenario.contents",
    "Settings": "townsquare.settings.resolve",
    "TownsquareError": "townsquare.core.errors",
    "json_schema": "townsquare.settings.resolve",
    "list_scenarios": "townsquare.scenario.load",
    "load_scenario": "townsquare.scenario.load",
    "made_scenario": "townsquare.scenario.load",
    "register": "townsquare.core.registry",
    "resolve_for": "townsquare.scenario.settings",
    "simulate": "townsquare.simulation.run",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'townsquare' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
