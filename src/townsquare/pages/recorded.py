"""Opens whatever was recorded in a folder: a run, a comparison, a multiverse or debates."""

from __future__ import annotations

from pathlib import Path

from townsquare.debate import results
from townsquare.debate.results import DebateResults
from townsquare.experiments import manifest, multiverse
from townsquare.experiments.manifest import Experiment
from townsquare.record.run import Run


def opened(folder: Path) -> Run | Experiment | DebateResults | multiverse.Multiverse:
    """Open whatever was recorded in a folder."""
    if (folder / results.FILE).is_file():
        return DebateResults.open(folder)
    if (folder / multiverse.FILE).is_file():
        return multiverse.Multiverse.load(folder)
    return Experiment.load(folder) if (folder / manifest.FILE).is_file() else Run.open(folder)
