"""A schema of a PostgreSQL server for each run of a comparison."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from townsquare.core.errors import RecordError
from townsquare.experiments.arms import short_digest
from townsquare.experiments.manifest import ArmRun
from townsquare.experiments.run_folders import check_unused_address
from townsquare.record.contract import check_same_run
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.reader import is_recorded_at
from townsquare.record.run import Run
from townsquare.settings.resolve import Settings
from townsquare.simulation.run import header

LONGEST = 63
"""Characters of a name in PostgreSQL."""


def schemas_for(base: Address, runs: Sequence[ArmRun]) -> dict[str, Address]:
    """Return the address of each run by its folder: the schema of ``base``, then arm and seed.

    Names that are too long, or that two runs would share, end in a digest of the run's folder instead.

    >>> runs = [ArmRun("strategy=none", 1, "strategy-none/seed-1", "")]
    >>> schemas_for(Address.parse("postgresql:///db", "study"), runs)["strategy-none/seed-1"].schema
    'study_strategy_none_seed_1'
    """
    plain = {run.folder: f"{base.schema}_{re.sub(r'[^a-z0-9]+', '_', run.folder.lower())}" for run in runs}
    shared = Counter(plain.values())
    fits = {folder: len(name) <= LONGEST and shared[name] == 1 for folder, name in plain.items()}
    cut = {folder: f"{name[: LONGEST - 9]}_{short_digest(folder)}" for folder, name in plain.items()}
    return {folder: replace(base, schema=name if fits[folder] else cut[folder]) for folder, name in plain.items()}


def check_schemas(addresses: Mapping[str, Address], settings: Mapping[str, Settings], *, is_new: bool) -> None:
    """Refuse schemas that hold something else than a comparison's own runs; of a new comparison, any run.

    Raises
    ------
    RecordError
        The server cannot be asked, or a schema holds a run that this comparison did not begin, or that is written now.
    WrongVersion
        It holds a run of other settings.
    """
    for folder, address in addresses.items():
        if is_new:
            check_unused_address(address)
        elif is_recorded_at(address):
            run = Run.open(str(address))
            check_same_run(str(address), run.header, header(settings[folder]))
            if run.state == "running":
                raise RecordError(str(address), got="a run that another process is writing", do="wait until it ends")
