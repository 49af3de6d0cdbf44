"""``townsquare debate``: hold debates of one kind, or of several under settings that vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, show_table
from townsquare.cli.places import OutputLocation, Placed
from townsquare.cli.progress import show_study
from townsquare.cli.signals import OrderToEnd
from townsquare.core.text_table import Table

if TYPE_CHECKING:
    from townsquare.debate.results import DebateResults
    from townsquare.experiments.arms import Arm
    from townsquare.settings.layers import Layer

TARGET = "A bundled topic, a file of arguments, or a configuration (YAML or JSON); else compulsory-voting."
Target = Annotated[str | None, Parameter(help=TARGET)]
MOST_COLUMNS = 9


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Debated:
    """Options of debates."""

    trials: options.Whole | None = None
    """Debates per arm; default: the setting `trials`, which is 3 unless a preset or file sets it."""
    seed: options.Seed = None
    sets: options.DebateSets = None

    def layers(self, target: str | None) -> list[Layer]:
        """Return layers of settings for a target."""
        from townsquare.debate.resolve import layers_for_debates

        return [*layers_for_debates(target, self.sets or (), trials=self.trials, seed=self.seed)]


DEBATED = Debated()
app = App(name="debate", help="Let two agents debate a proposition and record every turn.")


@app.default
def debate(
    target: Target = None,
    /,
    *,
    debated: Debated = DEBATED,
    placed: places.Placed = places.PLACED,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Let two agents debate a proposition, and record every turn with its effect on beliefs.

    To resume a stopped command, give it again with its --out.
    """
    from townsquare.debate.resolve import resolve_debates
    from townsquare.experiments.arms import arms_of

    layers = debated.layers(target)
    return hold(layers, arms_of({}), f"debate-{resolve_debates(*layers).bank.name}", placed, 1, shown)


@app.command
def sweep(
    target: Target = None,
    /,
    *,
    vary: Annotated[list[str] | None, Parameter(name=("--vary", "--over"))] = None,
    once: options.Once = False,
    debated: Debated = DEBATED,
    placed: places.Placed = places.PLACED,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Run debates for every combination of settings.

    One agent debates a fixed opponent, unless `preset` is `pair`, or --vary names `pairing`, `con`, `opponent` or
    `debater`.

    Arms whose initial stances differ by more than `start.tolerance` are refused. To resume a stopped sweep, give the
    same command with its --out.

    Parameters
    ----------
    vary
        A setting and its values, such as u=0.2,0.4 or topic=austerity,adopt-atheism; repeat for all combinations.
    """
    from townsquare.debate.resolve import resolve_debates
    from townsquare.debate.sweep import arms_over, sweep_layers

    vary = options.required("--vary", vary, "a setting and its values, such as u=0.2,0.4,0.6,0.8,1.0")
    varied = options.varied(vary)
    layers = sweep_layers(debated.layers(target), varied)
    name = resolve_debates(*layers).bank.name if "topic" not in varied else "topics"
    return hold(layers, arms_over(varied, one_at_a_time=once), f"sweep-{name}", placed, None, shown)


def hold(
    layers: Sequence[Layer], arms: Sequence[Arm], stem: str, placed: Placed, processes: int | None, shown: options.Shown
) -> int:
    """Run the debates of some arms, write the pages, and print the results.

    ``processes`` are those of this machine where no number is asked for; None is one a processor, as on a cluster.
    """
    from townsquare.cli.calls import show_servers
    from townsquare.debate.resolve import resolve_debates
    from townsquare.debate.results import FILE
    from townsquare.debate.start import asks
    from townsquare.debate.sweep import hold_debates
    from townsquare.experiments.execution import ExecutionTargets
    from townsquare.models.store import FILE as CALLS

    workers = placed.workers or (None if placed.on else processes)
    varies = any(key.startswith("model") for arm in arms for key in arm.changes)
    if varies or resolve_debates(*layers, arms[0].changes).settings.model.name != "none":
        settings = (resolve_debates(*layers, arm.changes) for arm in arms)
        show_servers([resolved.settings for resolved in settings if asks(resolved)])
    with places.output_location(placed.out, stem, (FILE, CALLS)) as location, OrderToEnd() as order:
        targets = ExecutionTargets(placed.on, location.store, placed.address(location.named))
        if location.store is not None:
            for name in location.store.names(".json"):
                location.store.fetch_file(name, location.folder / name)
        try:
            with shown.progress(0, f"debating in {location.shown()}") as progress:
                at = partial(show_study, progress, runs="debates")
                results = hold_debates(layers, arms, location.folder, workers, at, targets)
        except KeyboardInterrupt:
            how = f"To resume, give the same command with:\n  --out {location.shown()}"
            complain(f"recorded debates are saved. {how}", kind="stopped")
            return order.code
        _show(results, location, shown)
        location.send([path.relative_to(location.folder).as_posix() for path in location.folder.rglob("*.html")])
    return 1 if results.failed else 0


def _show(results: DebateResults, location: OutputLocation, shown: options.Shown) -> None:
    from townsquare.pages.debates.page import write_pages

    where, page = location.shown(), location.shown(write_pages(results).name)
    for arm, trial, error in results.failed:
        complain(f"trial {trial} of {arm}: {error}", kind="failed")
    measures: Any = results.measures_frame() if any(results.records(arm) for arm in results.arms) else []
    if not shown.is_told(where, {"debates": where, "report": page, "measures": measures}):
        _show_tables(results)
        print(f"debates     {where}\nreport      {page}\ntranscripts {where}/<arm>/transcript.html")


def _show_tables(results: DebateResults) -> None:
    from townsquare.pages.debates.tables import PAIR_MEASURES, arms_table, cross_table, measure_table

    if len(results.arms) == 1:
        if results.records(results.arms[0]):
            print(results.arms[0].statement)
            show_table(replace(measure_table(results, results.arms[0]), caption=""))
            print("Reported: the debaters' own stances. Judged: stances that a judge infers from their last messages.")
            if results.arms[0].is_pair:
                print(PAIR_MEASURES)
            print("95% CIs: Student's t over trials.")
        return
    crossed = cross_table(results, "gap_reduction") or cross_table(results, "final")
    if crossed is not None:
        show_table(crossed)
    for is_pair in () if crossed is not None else (True, False):
        arms = [arm for arm in results.arms if arm.is_pair is is_pair and results.records(arm)]
        if arms:
            table = arms_table(results, arms)
            show_table(Table("", table.head[:MOST_COLUMNS], [row[:MOST_COLUMNS] for row in table.rows]))
    print("95% CIs: Student's t over trials, for reported stances. See the report for more.")
