"""Language model calls of a command: servers, keys and usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli.console import complain
from townsquare.core.words import count
from townsquare.models import usage
from townsquare.models.contract import Call
from townsquare.models.usage import Usage

if TYPE_CHECKING:
    from townsquare.models.open import Asking
    from townsquare.record.run import Run
    from townsquare.settings.resolve import Settings


class Calls:
    """Counts finished calls; ``step`` is the last finished step, ``own_prices`` is ``serving.prices``."""

    def __init__(self, own_prices: str | None) -> None:
        self.step = 0
        self._usage = Usage(usage.of(own_prices))
        self._first: int | None = None
        self._usd: defaultdict[int, float] = defaultdict(float)  # by step
        self._usd_then = 0.0

    def done(self, step: int) -> None:
        """Record that a step is finished; costs of the next step do not enter the mean."""
        self.step, self._usd_then = step, sum(usd for of, usd in self._usd.items() if of <= step)

    def add(self, call: Call) -> None:
        """Count a call that has just been answered."""
        if self._first is None:
            self._first = self.step
        before = self._usage.usd
        self._usage.add(call)
        self._usd[call.step] += self._usage.usd - before

    def note(self, total: int) -> str:
        """Return calls, tokens, cost so far and projected, and failures; "" before the first call."""
        spent = self._usage
        if not spent.calls or self._first is None:
            return ""
        parts = [count(spent.calls, "call"), f"{spent.tokens:,} tokens"]
        if spent.usd:
            done = self.step - self._first
            ahead = f", about ${self._usd_then / done * (total - self._first):.2f} in total" if done > 0 else ""
            unknown = f" without {count(spent.unpriced, 'call')} of unknown price" if spent.unpriced else ""
            parts.append(f"${spent.usd:.4f}{unknown}{ahead}")
        failed = sum(spent.failures.values())
        return ", ".join(parts + ([f"{failed:,} failed"] if failed else []))


def show_servers(configs: Iterable[Asking]) -> None:
    """Name each server that will be called, once, with the variable of its key."""
    from townsquare.models.open import destination

    for line in dict.fromkeys(destination(config.model, config.serving) for config in configs):
        if line:
            complain(line, kind="calls")


def show_servers_of(settings: Iterable[Settings]) -> None:
    """Name the servers of runs, skipping runs that call no language model."""
    from townsquare.simulation.model_calls import asks

    show_servers([each.config for each in settings if asks(each)])


def approved_settings(run: Run, folder: Path, sets: list[str] | None = None) -> Settings:
    """Return the settings of a recorded run if the user approved its servers, variables and files."""
    from townsquare.experiments.run_folders import settings_of
    from townsquare.settings.layers import leaves, parse_set
    from townsquare.settings.trust import approve, check_approved, named_by

    settings = settings_of(run, str(folder), sets or ())
    check_approved(settings.config, folder, {path for text in sets or () for path, _ in leaves(parse_set(text))})
    approve(folder, named_by(settings.config))
    return settings
