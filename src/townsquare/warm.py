"""Compile every kernel once, so that the first run does not wait: ``python -m townsquare.warm``.

Numba keeps what it compiled beside the package, or in ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

from townsquare import registry
from townsquare.record.memory import MemoryRecorder
from townsquare.resolve import resolve
from townsquare.scenario import made_scenario
from townsquare.simulation import simulate


def warm() -> None:
    """Run a few tiny simulations, one for each belief rule and compiled graph, with every kind of action in use."""
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
    for kind in ("random", "small_world", "block"):
        simulate(resolve({"agents": 40, "steps": 1, "graph": kind}), MemoryRecorder(), scenario=made_scenario(40))


if __name__ == "__main__":
    warm()
