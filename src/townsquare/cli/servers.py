"""Which servers a command is going to ask, and with the key of which variable: said before the first request."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli.console import complain

if TYPE_CHECKING:
    from townsquare.models.open import Asking
    from townsquare.record.run import Run
    from townsquare.settings.resolve import Settings


def show_servers(configs: Iterable[Asking]) -> None:
    """Name each server that is asked, once, with the variable of its key; nothing where no server is asked."""
    from townsquare.models.open import destination

    for line in dict.fromkeys(destination(config.model, config.serving) for config in configs):
        if line:
            complain(line, kind="asks")


def show_servers_of(settings: Iterable[Settings]) -> None:
    """The same for runs, of which those in which nobody asks a language model are left out."""
    from townsquare.simulation.model_calls import asks

    show_servers([one.config for one in settings if asks(one)])


def approved_settings(run: Run, folder: Path, sets: list[str] | None = None) -> Settings:
    """The settings of a recorded run, if the user approved the servers, variables and files that they name."""
    from townsquare.experiments.run_folders import settings_of
    from townsquare.settings.layers import leaves, parse_set
    from townsquare.settings.trust import approve, check_approved, named_by

    settings = settings_of(run, str(folder), sets or ())
    check_approved(settings.config, folder, {path for text in sets or () for path, _ in leaves(parse_set(text))})
    approve(folder, named_by(settings.config))
    return settings
