"""Say whether the effect of an arm on mean stances changes sign within the assumed ranges of the rule ``credence``.

    python scripts/belief_ranges.py COMPARISON [ARM]

COMPARISON is a folder that ``townsquare compare`` wrote. The rule is executed on the recorded exposures, one parameter
at a time at the ends of its range (docs/beliefs-and-people.md). Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from townsquare.analysis import statistics
from townsquare.analysis.beliefs import names
from townsquare.core.text_table import as_markdown, table
from townsquare.core.words import significant
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.second_rule import stances_under
from townsquare.record.run import Run

RANGES = {
    "half_life": (3.0, 60.0), "attention": (0.02, 0.1), "heed_false": (0.10, 0.45), "new": (0.05, 1.0),
    "overlap": (0.2, 1.0), "reliability": (0.03, 0.43),
}  # fmt: skip


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="Effects on mean stances at the ends of assumed ranges.")
    options.add_argument("comparison", type=Path)
    options.add_argument("arm", nargs="?")
    given = options.parse_args()
    experiment = Experiment.load(given.comparison)
    arm = given.arm or experiment.arms[-1].name
    runs = {(run.arm, run.seed): Run.open(experiment.folder / run.folder) for run in experiment.finished}
    pairs = [(run, runs[experiment.baseline, seed]) for (name, seed), run in runs.items() if name == arm]
    by_name = dict(names(pairs[0][0]).select("proposition", "name").iter_rows())
    cases = [("as shipped", {})] + [(f"{name} {end:g}", {name: end}) for name, ends in RANGES.items() for end in ends]
    rows = []
    for title, own in cases:
        means = [[stances_under(run, "credence", own)[1].mean(axis=0) for run in pair] for pair in pairs]
        for key, name in by_name.items():
            effect = statistics.mean([float(mine[key] - base[key]) for mine, base in means])
            words = [significant(value, 2, signed=True) for value in effect]
            rows.append((title, name, f"{words[0]} [{words[1]}, {words[2]}]"))
    sys.stdout.write(as_markdown(table("", rows, (str, "parameter", "proposition", "effect"))) + "\n")


if __name__ == "__main__":
    main()
