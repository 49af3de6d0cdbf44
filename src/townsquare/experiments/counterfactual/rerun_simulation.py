"""The settings of a run that goes without something, so that what people see may change as well.

The same configuration with ``leave_out`` set is the baseline: the posts never enter, the authors never come online or
publish. All draws are keyed by agent and object, so the two runs are the same up to what follows from that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from townsquare.core.documents import bundled_labels
from townsquare.core.enums import PostKind
from townsquare.core.errors import SettingError
from townsquare.experiments.counterfactual.removal import Exclusion, Removal
from townsquare.record.run import Run
from townsquare.scenario.contents import Scenario
from townsquare.settings.resolve import Settings
from townsquare.simulation.arrivals import Arrivals

FREE_TO_CHANGE: str = bundled_labels("counterfactuals")["run"]


def leave_out_of(run: Run, removal: Removal, settings: Settings, scenario: Scenario) -> dict[str, list[Any]]:
    """Return the value of the setting ``leave_out`` that removes something from a run.

    Parameters
    ----------
    run : Run
        In which the removal names its posts and authors.
    removal : Removal
        Injected posts, authors, or a class of veracity.
    settings, scenario
        Of the run.

    Raises
    ------
    SettingError
        It names a post that somebody wrote in the course of the run, or an argument record: another run may not
        have it.
    """
    Exclusion.of(run, removal)  # checks that they are there
    allowed = "posts, authors and veracities, with --run"
    if removal.records:
        do = "leave out --run: the rule alone can answer this"
        raise SettingError("--without record", got=f"record {removal.records[0]}", allowed=allowed, do=do)
    if removal.labels:
        do = "leave out --run, or compare feed.show_labels=true,false"
        raise SettingError("--without label", got=f"label={removal.labels[0]}", allowed=allowed, do=do)
    gone = settings.config.leave_out
    rows = _rows_of_scenario(run, removal, Arrivals.plan(settings, scenario))
    out: dict[str, list[Any]] = {
        "posts": sorted({*gone.posts, *rows}),
        "agents": sorted({*gone.agents, *removal.authors}),
        "veracity": sorted({*gone.veracity, *(veracity.name.lower() for veracity in removal.veracities)}),
    }
    return {name: value for name, value in out.items() if value}


def _rows_of_scenario(run: Run, removal: Removal, arrivals: Arrivals) -> list[int]:
    """Return rows of the scenario's posts, which entered in the order of the plan."""
    injected = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)["post"].to_numpy()
    wanted = np.array(removal.posts, np.int64)
    written = wanted[~np.isin(wanted, injected)]
    if written.size:
        got, allowed = f"{int(written[0])}, a post written during the run", "an injected post, with --run"
        raise SettingError("--without post", got=got, allowed=allowed, do="leave out --run, or name its author")
    return [int(row) for row in arrivals.post[np.searchsorted(injected, wanted)]]
