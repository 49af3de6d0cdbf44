"""Townsquare simulates a public: agents whose beliefs move by stated rules, every movement on record.

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
    from townsquare.core.errors import TownsquareError
    from townsquare.core.registry import register
    from townsquare.record.memory import MemoryRecorder
    from townsquare.record.run import Run
    from townsquare.record.sqlite import FolderRecorder
    from townsquare.scenario.contents import Scenario
    from townsquare.scenario.load import list_scenarios, load_scenario, made_scenario
    from townsquare.scenario.settings import resolve_for
    from townsquare.settings.resolve import Settings, json_schema
    from townsquare.simulation.run import simulate

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

__all__ = [
    "FolderRecorder",
    "MemoryRecorder",
    "Run",
    "Scenario",
    "Settings",
    "TownsquareError",
    "json_schema",
    "list_scenarios",
    "load_scenario",
    "made_scenario",
    "register",
    "resolve_for",
    "simulate",
]


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'townsquare' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
