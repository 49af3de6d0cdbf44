"""Simulate a social network of agents whose beliefs change by stated rules, and record the causes of every change.

>>> import townsquare as ts
>>> run = ts.run("synthetic:60", agents=30, steps=3, seed=1)
>>> run.table("beliefs").height
120
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from townsquare.analysis.causes.why import Why as Why
    from townsquare.analysis.verbs import attribute as attribute
    from townsquare.analysis.verbs import outcomes as outcomes
    from townsquare.analysis.verbs import why as why
    from townsquare.core.errors import TownsquareError as TownsquareError
    from townsquare.core.registry import register as register
    from townsquare.debate.sweep import run_debate as run_debate
    from townsquare.experiments.facts import check_facts as check_facts
    from townsquare.experiments.manifest import Experiment as Experiment
    from townsquare.experiments.verbs import compare as compare
    from townsquare.experiments.verbs import counterfactual as counterfactual
    from townsquare.experiments.verbs import replay as replay
    from townsquare.experiments.verbs import run as run
    from townsquare.experiments.verbs import sweep as sweep
    from townsquare.humans.effects.check import check_people as check_people
    from townsquare.humans.fit.studies import fit as fit
    from townsquare.pages.protocol import protocol as protocol
    from townsquare.pages.reports import report as report
    from townsquare.record.memory import MemoryRecorder as MemoryRecorder
    from townsquare.record.run import Run as Run
    from townsquare.record.sqlite import FolderRecorder as FolderRecorder
    from townsquare.scenario.contents import Scenario as Scenario
    from townsquare.scenario.load import list_scenarios as list_scenarios
    from townsquare.scenario.load import load_scenario as load_scenario
    from townsquare.scenario.load import synthetic_scenario as synthetic_scenario
    from townsquare.scenario.settings import resolve_for as resolve_for
    from townsquare.settings.resolve import Settings as Settings
    from townsquare.settings.resolve import json_schema as json_schema
    from townsquare.simulation.run import simulate as simulate

# Names are imported when they are first used, so that the command line starts without loading the kernels.
_HOMES = {
    "FolderRecorder": "townsquare.record.sqlite",
    "MemoryRecorder": "townsquare.record.memory",
    "Scenario": "townsquare.scenario.contents",
    "Settings": "townsquare.settings.resolve",
    "TownsquareError": "townsquare.core.errors",
    "Why": "townsquare.analysis.causes.why",
    **dict.fromkeys(("attribute", "outcomes", "why"), "townsquare.analysis.verbs"),
    **dict.fromkeys(
        ("Experiment", "Run", "compare", "counterfactual", "replay", "run", "sweep"), "townsquare.experiments.verbs"
    ),
    "check_facts": "townsquare.experiments.facts",
    "check_people": "townsquare.humans.effects.check",
    "fit": "townsquare.humans.fit.studies",
    "json_schema": "townsquare.settings.resolve",
    **dict.fromkeys(("list_scenarios", "load_scenario", "synthetic_scenario"), "townsquare.scenario.load"),
    "protocol": "townsquare.pages.protocol",
    "register": "townsquare.core.registry",
    "report": "townsquare.pages.reports",
    "resolve_for": "townsquare.scenario.settings",
    "run_debate": "townsquare.debate.sweep",
    "simulate": "townsquare.simulation.run",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'townsquare' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
