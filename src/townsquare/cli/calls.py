"""What a command asks of language models: which servers, with the keys of which variables, and what it comes to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli.console import complain
from townsquare.models import usage
from townsquare.models.contract import Call
from townsquare.models.usage import Usage

if TYPE_CHECKING:
    from townsquare.models.open import Asking
    from townsquare.record.run import Run
    from townsquare.settings.resolve import Settings


class Calls:
    """Counts calls as they end; ``step`` is the last step that is done, ``own_prices`` is ``serving.prices``."""

    def __init__(self, own_prices: str | None) -> None:
        self.step = 0
        self._usage = Usage(usage.of(own_prices))
        self._first: int | None = None
        self._usd: defaultdict[int, float] = defaultdict(float)  # by step
        self._usd_then = 0.0

    def done(self, step: int) -> None:
        """A step is done; what calls of the next one cost is no part of the mean."""
        self.step, self._usd_then = step, sum(usd for of, usd in self._usd.items() if of <= step)

    def add(self, call: Call) -> None:
        """Count one that has just been answered."""
        if self._first is None:
            self._first = self.step
        before = self._usage.usd
        self._usage.add(call)
        self._usd[call.step] += self._usage.usd - before

    def note(self, total: int) -> str:
        """Calls, tokens, cost so far and at the end if it goes on like this, failures; "" before the first call."""
        spent = self._usage
        if not spent.calls or self._first is None:
            return ""
        parts = [f"{spent.calls:,} calls", f"{spent.tokens:,} tokens"]
        if spent.usd:
            done = self.step - self._first
            ahead = f", about ${self._usd_then / done * (total - self._first):.2f} at the end" if done > 0 else ""
            parts.append(f"${spent.usd:.4f}{ahead}")
        failed = sum(spent.failures.values())
        return ", ".join(parts + ([f"{failed:,} failed"] if failed else []))


def show_servers(configs: Iterable[Asking]) -> None:
    """Name each server that is asked, once, with the variable of its key; nothing where no server is asked."""
    from townsquare.models.open import destination

    for line in dict.fromkeys(destination(config.model, config.serving) for config in configs):
        if line:
            complain(line, kind="asks")


def show_servers_of(settings: Iterable[Settings]) -> None:
    """The same for runs, of which those in which nobody asks a language model are left out."""
    from townsquare.simulation.model_calls import asks

    show_servers([each.config for each in settings if asks(each)])


def approved_settings(run: Run, folder: Path, sets: list[str] | None = None) -> Settings:
    """The settings of a recorded run, if the user approved the servers, variables and files that they name."""
    from townsquare.experiments.run_folders import settings_of
    from townsquare.settings.layers import leaves, parse_set
    from townsquare.settings.trust import approve, check_approved, named_by

    settings = settings_of(run, str(folder), sets or ())
    check_approved(settings.config, folder, {path for text in sets or () for path, _ in leaves(parse_set(text))})
    approve(folder, named_by(settings.config))
    return settings
