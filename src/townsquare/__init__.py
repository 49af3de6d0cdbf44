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

from townsquare import held_memory

if typing.TYPE_CHECKING:
    from townsquare.errors import TownsquareError
    from townsquare.record.memory import MemoryRecorder
    from townsquare.record.run import Run
    from townsquare.record.sqlite import FolderRecorder
    from townsquare.registry import register
    from townsquare.resolve import Settings, json_schema, resolve_for
    from townsquare.scenario import list_scenarios, load_scenario, made_scenario
    from townsquare.scenario_contents import Scenario
    from townsquare.simulation import simulate

held_memory.share_memory()  # before anything here starts a thread

# Names are imported when they are first used, so that the command line starts without loading the kernels.
_HOMES = {
    "FolderRecorder": "townsquare.record.sqlite",
    "MemoryRecorder": "townsquare.record.memory",
    "Run": "townsquare.record.run",
    "Scenario": "townsquare.scenario_contents",
    "Settings": "townsquare.resolve",
    "TownsquareError": "townsquare.errors",
    "json_schema": "townsquare.resolve",
    "list_scenarios": "townsquare.scenario",
    "load_scenario": "townsquare.scenario",
    "made_scenario": "townsquare.scenario",
    "register": "townsquare.registry",
    "resolve_for": "townsquare.resolve",
    "simulate": "townsquare.simulation",
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
