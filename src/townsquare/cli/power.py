"""``townsquare power``: how many seeds a comparison needs, from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import digits, number, show, show_json


def power(
    folder: Annotated[Path, Parameter(name="PILOT")],
    /,
    *,
    outcome: list[str] | None = None,
    effect: float | None = None,
    chance: Annotated[float, Parameter(name="--power")] = 0.8,
    level: float = 0.05,
    tests: options.Positive = 1,
    as_json: options.AsJson = False,
) -> int:
    """Compute how many seeds detect an effect, from the SD of paired differences in a pilot comparison.

    Parameters
    ----------
    folder
        Folder of the pilot comparison.
    outcome
        An outcome, such as shift.vaccine_safe; repeatable. Default: the pilot's primary outcome.
    effect
        Smallest difference to detect, in the outcome's unit; default: the pilot's difference.
    chance
        Statistical power.
    level
        Two-sided significance level.
    tests
        Number of tests that share the level (Bonferroni).
    """
    from townsquare.experiments.arms import labels
    from townsquare.experiments.manifest import Experiment
    from townsquare.experiments.power import seeds_needed
    from townsquare.experiments.primary import check_outcome, suggested

    pilot = Experiment.load(folder)
    known = [name for name in pilot.outcomes.columns if name not in ("arm", "seed")]
    names = [check_outcome(name, known) for name in outcome or (pilot.primary or suggested(pilot.outcomes),)]
    needed = seeds_needed(pilot.outcomes, pilot.baseline, names, effect, chance, level / tests)
    if as_json:
        facts = {"power": chance, "level": level / tests, "needed": needed.to_dicts()}
        return show_json({"pilot": str(folder), **facts})
    short = labels(pilot.arms)
    show(
        f"Seeds needed for {100 * chance:g}% power: paired t test, two-sided α = {level / tests:.3g}", needed,
        (str, "outcome"), (short.get, "arm"), (str, "pairs"),
        (digits(3, sign=True), "pilot difference=difference"), (digits(3), "SD=sd"),
        (digits(3, sign=True), "effect to detect=effect"),
        (number, "seeds", "cautious seeds=seeds_cautious"),
    )  # fmt: skip
    for (arm, note), part in needed.filter(needed["note"] != "").group_by("arm", "note", maintain_order=True):
        print(f"{short[str(arm)]}: {note} ({', '.join(part['outcome'])})")
    print("A small pilot estimates the SD poorly: cautious seeds use its upper 80% confidence limit.")
    if effect is None:
        print("Effects are the pilot's, which tend to be too large: set the smallest effect of interest with --effect.")
    return 0
