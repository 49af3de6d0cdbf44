"""Results of a golden check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TOLERANCE = 1e-12


@dataclass(slots=True)
class GoldenReport:
    """Comparison of one file of recorded inputs and outputs with Townsquare's.

    Attributes
    ----------
    kind : {"update", "apply", "stance", "bands"}
        What the file holds.
    path : Path
        The file.
    cases, rounds : int
        Lines, and calls among them; equal where a line is one call.
    largest_difference : dict of str to float
        For each quantity compared, the largest absolute difference; infinite where one side lacks a value.
    failures : list of str
        One sentence for each value that is further off than its tolerance.
    """

    kind: str
    path: Path
    cases: int = 0
    rounds: int = 0
    largest_difference: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Return whether every value is within its tolerance, and there was at least one."""
        return not self.failures and self.cases > 0

    def compare(self, quantity: str, where: str, got: float, recorded: float, tolerance: float = TOLERANCE) -> None:
        """Compare one value; two NaN are equal."""
        apart = 0.0 if got == recorded or (math.isnan(got) and math.isnan(recorded)) else abs(got - recorded)
        apart = math.inf if math.isnan(apart) else apart
        self.largest_difference[quantity] = max(self.largest_difference.get(quantity, 0.0), apart)
        if apart > tolerance:
            self.failures.append(f"{where}: {quantity} is {got!r}, recorded {recorded!r}")

    def compare_all(self, quantity: str, where: str, got: Mapping[str, float], recorded: Mapping[str, float]) -> None:
        """Compare a whole dictionary: a key that only one side has is a failure."""
        for key in sorted(set(got) ^ set(recorded)):
            side = "not recorded" if key in got else "missing"
            self.largest_difference[quantity] = math.inf
            self.failures.append(f"{where}: {quantity} of {key!r} is {side}")
        for key in got.keys() & recorded.keys():
            self.compare(quantity, f"{where}, {key!r}", got[key], recorded[key])
