"""Compile every kernel once, so that the first run does not wait: ``python -m townsquare.cli.warm``.

Numba keeps what it compiled beside the package, or in ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

from townsquare.core import registry
from townsquare.record.memory import MemoryRecorder
from townsquare.scenario.load import made_scenario
from townsquare.settings.config import MemberParams
from townsquare.settings.resolve import resolve
from townsquare.simulation.feed.rankers.contract import ReaderRanker
from townsquare.simulation.run import simulate

PACKAGE = "townsquare."
FAMILIES = ("beliefs", "ranker", "policy", "graph", "moderation")
"""Families of which some members have kernels."""


class KernelCount(event.Listener):
    """Counts kernels of Townsquare as they are compiled; those that were compiled before are none of them."""

    def __init__(self) -> None:
        self._compiled: set[str] = set()

    def on_start(self, event: Any) -> None:
        """Nothing: a kernel counts once it is compiled."""

    def on_end(self, event: Any) -> None:
        """Count the kernel that an event of Numba names."""
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith(PACKAGE):
            self._compiled.add(f"{function.__module__}.{function.__qualname__}")

    @property
    def compiled(self) -> int:
        """Kernels that were compiled so far."""
        return len(self._compiled)

    @property
    def total(self) -> int:
        """Kernels in the modules that are loaded; those that are inlined are compiled as parts of others."""
        modules = [module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE)]
        found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
        return sum(one.targetoptions.get("inline") != "always" for one in found.values())


@contextmanager
def counted() -> Iterator[KernelCount]:
    """Count the kernels that are compiled meanwhile."""
    count = KernelCount()
    with event.install_listener("numba:compile", count):
        yield count


def load() -> None:
    """Import every module with kernels, so that they can be counted before the first is compiled."""
    for family in FAMILIES:
        for name in registry.bundled(family):
            registry.get(family, name)


def warm() -> None:
    """Run a few tiny simulations: every belief rule, compiled graph and kind of action, a ranker for each reader."""
    for rule in registry.names("beliefs"):
        settings = resolve(
            {
                "agents": 40,
                "steps": 3,
                "growth": {"max_per_step": 2},
                "feed": {"seen_cap": 5},
                "moderation": {"strategy": "hybrid"},
                "beliefs": {"rule": rule},
            }
        )
        simulate(settings, MemoryRecorder(), scenario=made_scenario(40))
    ranker = ReaderRanker(
        "warm", MemberParams, lambda view, readers, candidates, params: np.zeros(candidates.post.size)
    )
    settings = replace(settings, members={**settings.members, "ranker": ranker})
    simulate(settings, MemoryRecorder(), scenario=made_scenario(40))
    for kind in ("random", "small_world", "block"):
        simulate(resolve({"agents": 40, "steps": 1, "graph": kind}), MemoryRecorder(), scenario=made_scenario(40))
