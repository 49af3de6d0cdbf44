"""Compile kernels before the first run: those of the first scenario, or with ``--all`` every kernel.

Numba keeps what it compiled next to the package, or in ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

from townsquare.beliefs.arrays import frozen_inputs, frozen_state
from townsquare.beliefs.contract import BeliefInputs, Contents, Exposed, no_holdings, no_own, per_agent, rows_of
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Draws, Stage
from townsquare.core.pairs import empty_block, upsert
from townsquare.record.memory import MemoryRecorder
from townsquare.scenario.load import load_scenario, synthetic_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.config import Actions, MemberParams
from townsquare.settings.resolve import Settings, resolve
from townsquare.simulation.actions import resolve as resolve_actions
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.feed.rankers.contract import ReaderRanker
from townsquare.simulation.run import simulate
from townsquare.simulation.views import ProposedActions, no_declarations
from townsquare.simulation.world import World

PACKAGE = "townsquare."
FAMILIES = ("beliefs", "ranker", "policy", "graph", "moderation")
"""Families of which some members have kernels."""
FIRST_SCENARIO = "health-rumor"
"""What ``make run`` runs."""


class KernelCount(event.Listener):
    """Counts kernels of Townsquare as they are compiled; those that were compiled before are none of them."""

    def __init__(self) -> None:
        self._compiled: set[str] = set()

    def on_start(self, event: Any) -> None:
        """Do nothing: a kernel counts once it is compiled."""

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
        values = (x for module in modules for x in vars(module).values() if isinstance(x, Dispatcher))
        kernels = {id(kernel): kernel for kernel in values}
        return sum(kernel.targetoptions.get("inline") != "always" for kernel in kernels.values())


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


def warm_first_run() -> None:
    """Run the first scenario with few agents. Another process compiles the kernels that it needs late."""
    settings = resolve_with_scenario({"scenario": FIRST_SCENARIO, "agents": 40, "steps": 4})
    other = get_context("spawn").Process(target=_warm_late, args=(settings.config.beliefs.rule,))
    other.start()
    simulate(settings, MemoryRecorder(), scenario=load_scenario(FIRST_SCENARIO))
    other.join()


def _warm_late(rule: str) -> None:
    warm_beliefs(rule)
    warm_actions()
    warm_pairs()


def warm_beliefs(name: str) -> None:
    """Take one step of a belief rule: one person is shown one claim."""
    rule, start = registry.get("beliefs", name), np.zeros((1, 1))
    params = per_agent(rule.params(), 1)
    state = rule.init(start, np.full(start.shape, 0.5), params)
    contents = Contents(np.zeros(1, np.int32), np.full(1, 0.5), np.zeros(1, np.uint8), np.zeros(1, np.bool_))
    shown = rows_of(Exposed, np.array([0, 1]), proposition=0, post=0, author=0, stance=1.0)
    inputs = BeliefInputs(0, shown, no_own(1, 1), no_holdings(1), contents=contents)
    rule.step(frozen_state(state), frozen_inputs(inputs), params, Draws(1, 1)(Stage.BELIEF))


def warm_actions() -> None:
    """Judge one action in a world without people."""
    nobody, zero = np.empty(0, np.int32), np.zeros(1, np.int32)
    feed = Feed(nobody, np.zeros(1, np.int64), schema.empty("exposures"))
    kind, row = np.array([ActionKind.POST], np.uint8), np.array([schema.NONE], np.int64)
    chosen = ProposedActions(zero, kind, row, zero, zero, zero.astype(np.int8), zero, no_declarations(), ())
    resolve_actions(World(1, 1), feed, chosen, frozenset(), Actions())


def warm_pairs() -> None:
    """Add a pair to each kind of store that the first run has: reactions and seen roots."""
    indptr, keys = np.array([0, 1], np.int64), np.zeros(1, np.int32)
    for dtype in (np.uint8, np.int16):
        upsert(empty_block(1, dtype), indptr, keys, np.zeros(1, dtype))


def warm() -> None:
    """Run a few tiny simulations: every belief rule, compiled graph and kind of action, a ranker for each reader."""

    def run(settings: Settings) -> None:
        simulate(settings, MemoryRecorder(), scenario=synthetic_scenario(40))

    base = {"agents": 40, "steps": 3, "growth.max_per_step": 2, "feed.seen_cap": 5, "moderation": "hybrid"}
    for rule in registry.names("beliefs"):
        settings = resolve({**base, "beliefs": rule})
        run(settings)
    ranker = ReaderRanker(
        "warm", MemberParams, lambda view, readers, candidates, params: np.zeros(candidates.post.size)
    )
    run(replace(settings, members={**settings.members, "ranker": ranker}))
    for kind in ("random", "small_world", "block", "communities"):
        run(resolve({"agents": 40, "steps": 1, "graph": kind}))
