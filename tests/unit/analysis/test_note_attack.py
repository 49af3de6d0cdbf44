"""A ring of coordinated raters against shown notes: who flips, and what does not move."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import run_of, settings_of
from townsquare.experiments.note_attack import attack, smaller_side

SETTINGS = {
    "policy": {"name": "blind", "add_note": 0.05, "rate_note": 0.9, "posts_per_step": 0.0}, "agents": 60, "steps": 8,
    "moderation": {"strategy": "community", "note_scorer": "bridging", "takedown": False},
}  # fmt: skip


def test_the_threshold_flips_once_the_ring_outweighs_helpful_ratings() -> None:
    run = run_of(settings_of(SETTINGS))
    table = attack([run], (0.1, 0.5, 1.0))
    given = run.table("note_ratings")
    raters = given["agent"].n_unique()
    rows = table.filter(table["scorer"] == "threshold")
    assert rows.height
    for row in rows.iter_rows(named=True):
        values = given.filter(given["note"] == row["note"])["rating"].to_numpy()
        helpful, not_helpful = (values == 1).sum(), (values == 0).sum() + row["ring"]
        assert row["ring"] == max(1, round(row["share"] * raters))
        assert row["flipped"] == (not (helpful >= 3 and helpful > 2 * not_helpful))
    side = smaller_side(run)
    assert side is None or 0 <= side <= 0.5


def test_a_larger_ring_flips_every_note_that_a_smaller_one_flips() -> None:
    table = attack([run_of(settings_of(SETTINGS))], (0.05, 0.2, 0.6))
    for (_, _), rows in table.group_by("scorer", "note", maintain_order=True):
        assert np.all(np.diff(rows["flipped"].to_numpy().astype(int)) >= 0)


@pytest.mark.parametrize("scorer", ["threshold", "none"])
def test_without_the_bridging_scorer_there_is_no_factor(scorer: str) -> None:
    given = {"strategy": "none"} if scorer == "none" else {"strategy": "community", "note_scorer": scorer}
    assert smaller_side(run_of(settings_of({**SETTINGS, "moderation": given}))) is None
