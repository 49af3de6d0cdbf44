"""Content hashes of three runs. A change of the code that changes what is computed changes one of them.

A commit that changes a hash on purpose says why. The hashes hold for one kind of machine and one lock file.
"""

from __future__ import annotations

import pytest

import townsquare as ts
from reference_runs import RUNS


@pytest.mark.parametrize("name", RUNS)
def test_a_reference_run_keeps_its_content_hash(name: str) -> None:
    sets, expected = RUNS[name]
    run = ts.simulate(ts.resolve_for("health-rumor@1", seed=7, sets=sets))
    assert run.counts["actions"] > 100
    assert run.content_hash == expected
