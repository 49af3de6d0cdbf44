"""``townsquare debate``: hold debates of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, console, show_json, table
from townsquare.cli.places import OutputLocation
from townsquare.cli.progress import ProgressDisplay, mode, show_study
from townsquare.cli.signals import OrderToEnd

if TYPE_CHECKING:
    from townsquare.debate.results import DebateResults
    from townsquare.experiments.arms import Arm
    from townsquare.settings.layers import Layer

Target = Annotated[
    str | None,
    Parameter(help="A bundled topic, a file of arguments, or a configuration file (YAML or JSON)."),
]
Trials = Annotated[int | None, Parameter(help="Debates of each arm, with draws of their own.")]
Workers = Annotated[int | None, Parameter(help="Processes at a time.")]
MOST_COLUMNS = 9


def debate(
    target: Target = None,
    /,
    *,
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
    """Let two agents debate a proposition, and record every turn with what moved whom.

    A command that was stopped goes on when it is given again with its --out.
    """
    from townsquare.debate.resolve import layers_for_debates, resolve_debates
    from townsquare.experiments.arms import arms_of

    layers = layers_for_debates(target, sets or (), trials=trials, seed=seed)
    stem = f"debate-{resolve_debates(*layers).bank.name}"
    processes = workers if workers is not None or on else 1
    return hold(layers, arms_of({}), out, stem, processes, on, (record, record_schema), quiet=quiet, as_json=as_json)


def hold(
    layers: Sequence[Layer],
    arms: Sequence[Arm],
    out: str | None,
    stem: str,
    workers: int | None,
    on: str,
    record: tuple[str | None, str | None],
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Hold the debates of some arms, write the pages, and print what they come to.

    ``workers`` of None is as many as a cluster has processors; ``record`` are the options of that name and its schema.
    """
    from townsquare.cli.servers import show_servers
    from townsquare.core.errors import SettingError
    from townsquare.debate.resolve import resolve_debates
    from townsquare.debate.results import FILE
    from townsquare.debate.start import asks
    from townsquare.debate.sweep import hold_debates
    from townsquare.experiments.execution import ExecutionTargets
    from townsquare.models.store import FILE as CALLS

    if workers is not None and workers < 1:
        raise SettingError("--workers", got=str(workers), allowed="a whole number of at least 1")
    varies = any(key.startswith("model") for arm in arms for key in arm.changes)
    if varies or resolve_debates(*layers, arms[0].changes).settings.model.name != "none":
        found = (resolve_debates(*layers, arm.changes) for arm in arms)
        show_servers([one.settings for one in found if asks(one)])
    with places.output_location(out, stem, (FILE, CALLS)) as place, OrderToEnd() as order:
        targets = ExecutionTargets(on, place.store, places.server_for(*record, place))
        if place.store is not None:
            for name in place.store.names(".json"):
                place.store.fetch_file(name, place.folder / name)
        try:
            with ProgressDisplay(0, mode(quiet=quiet, as_json=as_json), f"debating in {place.shown()}") as progress:
                held = hold_debates(
                    layers, arms, place.folder, workers, lambda far: show_study(progress, far, "debates"), targets
                )
        except KeyboardInterrupt:
            how = f"Go on by giving the same command with:\n  --out {place.shown()}"
            complain(f"recorded debates are safe. {how}", kind="stopped")
            return order.code
        _show(held, place, quiet=quiet, as_json=as_json)
        place.send([path.relative_to(place.folder).as_posix() for path in place.folder.rglob("*.html")])
    return 1 if held.failed else 0


def _show(held: DebateResults, place: OutputLocation, *, quiet: bool, as_json: bool) -> None:
    from townsquare.pages.debates.page import write_pages

    page = place.shown(write_pages(held).name)
    for arm, trial, error in held.failed:
        complain(f"trial {trial} of {arm}: {error}", kind="failed")
    if as_json:
        measures = held.measures_frame().to_dicts() if any(held.records(arm) for arm in held.arms) else []
        show_json({"event": "result", "debates": place.shown(), "report": page, "measures": measures})
    elif quiet:
        print(place.shown())
    else:
        _show_tables(held)
        print(f"debates     {place.shown()}\nreport      {page}\ntranscripts {place.shown()}/<arm>/transcript.html")


def _show_tables(held: DebateResults) -> None:
    from townsquare.pages.debates.tables import cross_table

    if len(held.arms) == 1:
        _show_one(held)
        return
    crossed: Any = cross_table(held, "gap_reduction") or cross_table(held, "final")
    if crossed is not None:
        console().print(table(crossed.caption, tuple(crossed.head), crossed.rows, right=tuple(crossed.head[1:])))
    else:
        _show_arms(held)
    print("95 % intervals are Student's t over trials; kept stances, not judged ones. More: the report.")


def _show_one(held: DebateResults) -> None:
    from townsquare.pages.debates.tables import measure_table

    if not held.records(held.arms[0]):
        return
    found = measure_table(held, held.arms[0])
    print(held.arms[0].statement)
    console().print(table("", tuple(found.head), found.rows, right=("kept", "judged")))
    print("Kept: the debaters' own stances. Judged: read from their last messages. 95 % intervals are over trials.")


def _show_arms(held: DebateResults) -> None:
    from townsquare.pages.debates.tables import arms_table

    for is_pair in (True, False):
        arms = [arm for arm in held.arms if arm.is_pair is is_pair and held.records(arm)]
        if arms:
            found = arms_table(held, arms)
            head = tuple(found.head[:MOST_COLUMNS])
            rows = [row[:MOST_COLUMNS] for row in found.rows]
            console().print(table("", head, rows, right=head[1:]))
