"""``townsquare sweep``: debates under settings that vary."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.debate import DEBATED, Debated, Target, hold


def sweep(
    target: Target = None,
    /,
    *,
    over: list[str] | None = None,
    once: Annotated[bool, Parameter(name="--one-at-a-time")] = False,
    debated: Debated = DEBATED,
    placed: places.Placed = places.PLACED,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Run debates for every combination of settings: one agent against a fixed opponent, unless `preset` is `pair`.

    Arms whose starts differ by more than `start.tolerance` are refused. To resume a stopped sweep, give the same
    command with its --out.

    Parameters
    ----------
    over
        A setting and its values, such as u=0.2,0.4 or topic=austerity,adopt-atheism; repeat for all combinations.
    once
        Vary one setting at a time, not all combinations.
    """
    from townsquare.core.errors import SettingError
    from townsquare.debate.resolve import resolve_debates
    from townsquare.debate.sweep import arms_over

    if not over:
        raise SettingError("--over", got="nothing", allowed="a setting and its values, as u=0.2,0.4,0.6,0.8,1.0")
    varied = options.varied(over, "--over")
    about_pairs = {"pairing", "con", "opponent", "debater"} & {key.partition(".")[0] for key in varied}
    preset = {"preset": "pair" if about_pairs else "single"}
    layers = [preset, *debated.layers(target)]
    arms = arms_over(varied, one_at_a_time=once)
    name = resolve_debates(*layers).bank.name if "topic" not in varied else "topics"
    return hold(layers, arms, f"sweep-{name}", placed, None, shown)
