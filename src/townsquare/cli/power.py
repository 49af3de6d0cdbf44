"""``townsquare power``: how many seeds a comparison needs, from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.compare import HEADLINES, short_arm
from townsquare.cli.console import console, number, show_json, signed, table


def power(
    folder: Annotated[Path, Parameter(name="PILOT", help="The folder of a comparison.")],
    /,
    *,
    outcome: Annotated[
        list[str] | None, Parameter(negative="", help="An outcome, such as shift.vaccine_safe; may be repeated.")
    ] = None,
    effect: Annotated[
        float | None, Parameter(help="Smallest difference to find, in the outcome's unit; else the pilot's own.")
    ] = None,
    chance: Annotated[float, Parameter(name="--power", help="Chance to find it.")] = 0.8,
    level: Annotated[float, Parameter(help="Two-sided level of the test.")] = 0.05,
    tests: Annotated[int, Parameter(converter=options.whole, help="How many tests share the level (Bonferroni).")] = 1,
    as_json: options.AsJson = False,
) -> int:
    """Say how many seeds find a given effect, by the spread of differences in a pilot comparison."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.manifest import Experiment
    from townsquare.experiments.power import seeds_needed

    if tests < 1:
        raise SettingError("--tests", got=str(tests), allowed="a whole number of at least 1")
    pilot = Experiment.load(folder)
    known = [name for name in pilot.outcomes.columns if name not in ("arm", "seed")]
    names = outcome or [name for name in known if name.partition(".")[0] in HEADLINES]
    found = seeds_needed(pilot.outcomes, pilot.baseline, names, effect, chance, level / tests)
    if as_json:
        show_json({"pilot": str(folder), "power": chance, "level": level / tests, "needed": found.to_dicts()})
        return 0
    arms = [arm.name for arm in pilot.arms]
    rows = [
        (row["outcome"], short_arm(row["arm"], arms), str(row["pairs"]), signed(row["difference"], 3),
         number(row["sd"], 3), signed(row["effect"], 3), *(_many(row[name]) for name in ("seeds", "seeds_cautious")),
         row["note"])
        for row in found.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("outcome", "arm", "pairs", "pilot", "sd", "effect", "seeds", "cautious", "")
    title = f"Seeds that find the effect with a chance of {chance:g}, two-sided at {level / tests:.3g}"
    console().print(table(title, columns, rows, right=columns[2:8]))
    print("The cautious number takes the upper 80% bound of the spread, which a small pilot knows badly.")
    if effect is None:
        print("Effects are the pilot's own, which run large by chance: say --effect, the smallest that would matter.")
    return 0


def _many(seeds: int | None) -> str:
    return "–" if seeds is None else f"{seeds:,}"
