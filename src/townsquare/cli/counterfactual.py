"""``townsquare counterfactual``: beliefs without a post, an author, a record, or all posts of a truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.compare import compared_pair
from townsquare.cli.console import complain, console, show_json, signed, table

if TYPE_CHECKING:
    from pathlib import Path

    from townsquare.experiments.counterfactual import Removal, Without
    from townsquare.record.run import Run


def counterfactual(
    folder: options.Folder,
    /,
    *,
    leave_out: Annotated[
        list[str],
        Parameter(name="--without", negative="", help="post=N, author=N, record=N or veracity=false. Repeated: all."),
    ],
    agent: Annotated[int | None, Parameter(converter=options.whole, help="Show one person beside the mean.")] = None,
    again: Annotated[
        bool, Parameter(name="--run", negative="", help="Simulate without it, so that what people see changes too.")
    ] = False,
    seeds: Annotated[str | None, Parameter(help="With --run: how many (10), a list (3,5) or a range (1-20).")] = None,
    out: options.Out = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Compute beliefs again without something, with what people saw held fixed, or in another run."""
    from townsquare.analysis.causes.attribution import check_person
    from townsquare.core.errors import SettingError
    from townsquare.experiments.counterfactual import Removal, without
    from townsquare.record.run import Run

    run, removal = Run.open(folder), Removal.parse(leave_out)
    if again:
        return _other_run(run, folder, removal, seeds, out, quiet=quiet, as_json=as_json)
    for name, given in (("--seeds", seeds), ("--out", out)):
        if given is not None:
            raise SettingError(name, got=str(given), allowed="with --run")
    check_person(run, agent)
    found, exact = without(run, removal), _agrees(run)
    if as_json:
        _json(run, found, agent, exact=exact)
    else:
        _show(run, found, agent, exact=exact)
    return 0 if exact else 1


def _agrees(run: Run) -> bool:
    """Whether the rule, executed again with everything left in, gives what was recorded."""
    from townsquare.analysis.beliefs import person_beliefs
    from townsquare.core.frames import collected
    from townsquare.experiments.counterfactual import beliefs_again

    again, _ = beliefs_again(run)
    return bool(person_beliefs(run).pipe(collected).equals(again))


def _json(run: Run, found: Without, agent: int | None, *, exact: bool) -> None:
    from townsquare.experiments.counterfactual.again import HELD_FIXED

    mine = found.beliefs.filter(found.beliefs["agent"] == agent).to_dicts() if agent is not None else []
    show_json(
        {
            "without": found.removal.words(),
            "method": "rule",
            "says": HELD_FIXED,
            "reproduces_the_record": exact,
            "rows": found.rows,
            "effect": found.effect.to_dicts(),
            "course": found.course(run).to_dicts(),
            "agent": mine,
        }
    )


def _show(run: Run, found: Without, agent: int | None, *, exact: bool) -> None:
    from townsquare.analysis.beliefs import names
    from townsquare.experiments.counterfactual.again import HELD_FIXED

    called = dict(names(run).select("proposition", "name").rows())
    rows = [
        (called[one["proposition"]], signed(one["mean_recorded"]), signed(one["mean_without"]), signed(one["effect"]),
         signed(one["absolute_effect"]), f"{one['affected']:,} of {one['agents']:,}", signed(one["largest"]),
         f"{one['changed_side']:,}")
        for one in found.effect.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("proposition", "recorded", "without", "effect", "mean size", "affected", "largest", "other side")
    title = f"Mean stances at the end, without {found.removal.words()}"
    console().print(table(title, columns, rows, right=columns[1:]))
    if agent is not None:
        _show_agent(found, called, agent)
    print(f"{found.rows:,} exposures counted no more. The effect is recorded less without.")
    print(HELD_FIXED)
    if exact:
        print("With everything left in, the rule gives the recorded beliefs to the last bit.")
    else:
        complain("with everything left in, the rule does NOT give the recorded beliefs: trust none of this", "warning")


def _show_agent(found: Without, called: dict[int, str], agent: int) -> None:
    import polars as pl

    last = found.beliefs.filter(pl.col("agent") == agent, pl.col("step") == pl.col("step").max())
    rows = [
        (called[proposition], signed(recorded), signed(without), signed(recorded - without))
        for proposition, recorded, without in last.select("proposition", "recorded", "without").rows()
    ]
    columns = ("proposition", "recorded", "without", "effect")
    console().print(table(f"Agent {agent} at the end", columns, rows, right=columns[1:]))


def _other_run(
    run: Run,
    folder: Path,
    removal: Removal,
    seeds: str | None,
    out: options.Out,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    from townsquare.cli.servers import approved_settings, show_servers_of
    from townsquare.experiments.arms import parse_seeds
    from townsquare.experiments.counterfactual.other_run import FREE_TO_CHANGE, leave_out_of
    from townsquare.settings.resolve import IDENTITY
    from townsquare.simulation.scenario_copy import recorded_scenario

    settings = approved_settings(run, folder)
    show_servers_of([settings])
    scenario = recorded_scenario(settings, run.folder)
    gone = leave_out_of(run, removal, settings, scenario)
    base = {key: value for key, value in run.settings.items() if key not in {*IDENTITY, "leave_out"}}
    if scenario.files and not scenario.origin.startswith("bundled:"):
        base["scenario"] = scenario.origin  # of the copy, where that is what is left
    own = settings.config.leave_out.model_dump(mode="json")
    before = {key: value for key, value in own.items() if value}
    first = settings.config.seed
    listed = parse_seeds(seeds, first) if seeds else [first]
    code = compared_pair(base, {"leave_out": [before, gone]}, listed, out, quiet=quiet, as_json=as_json)
    if not quiet and not as_json:
        print(FREE_TO_CHANGE)
    return code
