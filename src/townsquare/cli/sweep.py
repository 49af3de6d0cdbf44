"""``townsquare sweep``: debates under settings that vary."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.debate import Target, Trials, Workers, hold

Over = Annotated[
    list[str] | None,
    Parameter(
        name="--over",
        negative="",
        help="A setting and its values, as u=0.2,0.4 or topic=austerity,adopt-atheism. Repeated: all combinations.",
    ),
]
Once = Annotated[
    bool,
    Parameter(name="--one-at-a-time", negative="", help="Vary one setting after the other, not all combinations."),
]


def sweep(
    target: Target = None,
    /,
    *,
    over: Over = None,
    once: Once = False,
    trials: Trials = None,
    seed: options.Seed = None,
    out: places.Out = None,
    workers: Workers = None,
    on: places.On = "",
    record: options.Record = None,
    record_schema: places.RecordSchema = None,
    sets: options.Sets = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Hold debates for every combination of settings: one agent against a fixed opponent, unless `preset` is `pair`.

    Arms that start further apart than `start.tolerance` are refused. A sweep that was stopped goes on when the same
    command is given with its --out.
    """
    from townsquare.core.errors import SettingError
    from townsquare.debate.resolve import layers_for_debates, resolve_debates
    from townsquare.debate.sweep import arms_over

    if not over:
        raise SettingError("--over", got="nothing", allowed="a setting and its values, as u=0.2,0.4,0.6,0.8,1.0")
    varied = options.varied(over, "--over")
    about_pairs = {"pairing", "con", "opponent", "debater"} & {key.partition(".")[0] for key in varied}
    preset = {"preset": "pair" if about_pairs else "single"}
    layers = [preset, *layers_for_debates(target, sets or (), trials=trials, seed=seed)]
    arms = arms_over(varied, one_at_a_time=once)
    name = resolve_debates(*layers).bank.name if "topic" not in varied else "topics"
    return hold(layers, arms, out, f"sweep-{name}", workers, on, (record, record_schema), quiet=quiet, as_json=as_json)
