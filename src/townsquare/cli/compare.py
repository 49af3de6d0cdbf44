"""``townsquare compare``: arms x seeds, with paired differences to the first arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, number, picked, show, show_lines, signed
from townsquare.cli.multiverse import show_multiverse
from townsquare.cli.places import OutputLocation, Placed
from townsquare.cli.progress import show_study
from townsquare.cli.signals import OrderToEnd

if TYPE_CHECKING:
    from townsquare.experiments.answer import Answer
    from townsquare.experiments.comparison import Experiment
    from townsquare.settings.layers import Layer
    from townsquare.settings.resolve import Settings

VARY = "A setting and its values, such as moderation.strategy=none,hybrid; repeat for all combinations."
Vary = Annotated[list[str] | None, Parameter(help=VARY)]


def compare(
    target: options.Target = None,
    /,
    *,
    vary: Vary = None,
    multiverse: bool = False,
    across: list[str] | None = None,
    seeds: str = "10",
    sized: options.Sized = options.SIZED,
    placed: places.Placed = places.PLACED,
    no_copy: options.NoCopy = False,
    shown: options.Shown = options.SHOWN,
    outcome: str | None = None,
    every: Annotated[bool, Parameter(name="--all")] = False,
    brief: bool = False,
    rules: Literal["one", "two"] = "two",
) -> int:
    """Run every combination of varied settings with every seed, and compare each arm with the first.

    To resume a stopped comparison, give the same command with its --out.

    Parameters
    ----------
    multiverse
        Repeat the comparison under every combination of modeling choices.
    across
        With --multiverse: a modeling choice and its values, as for --vary; default: belief rules, rankers, policies.
    seeds
        Seeds: how many (10), a list (3,5,8) or a range (1-20).
    outcome
        The primary outcome, such as reach_false_mean; default: that of the scenario, else see docs/cli.md.
    every
        Print all outcomes, not only the primary one.
    brief
        Print the answer without a table.
    rules
        two: compute the largest effect on a mean stance under a second belief rule as well, from recorded exposures.
    """
    from townsquare.experiments.multiverse import FILE as MULTIVERSE

    layers, origins = sized.layers(target)
    contrast = options.varied(vary or [])
    choices = _choices(across, set(contrast), layers, multiverse=multiverse)

    def show_it(experiment: Experiment, location: OutputLocation) -> None:
        if multiverse and experiment.finished:
            show_multiverse(experiment, list(choices), list(contrast), location, shown)
        else:
            _show(experiment, location, shown, every=every, brief=brief, rules=2 if rules == "two" else 1)
        location.send(("report.html", MULTIVERSE))

    study = Study("compare", layers, origins, {**choices, **contrast}, seeds, sized.given(), outcome)
    return study.carry_out(placed, shown, show_it, no_copy=no_copy)


class Study(NamedTuple):
    """Arms and seeds that a command executes."""

    verb: str
    layers: list[Layer]
    origins: dict[str, str]
    vary: dict[str, list[Any]]
    seeds: str
    given: list[str]
    outcome: str | None = None
    one_at_a_time: bool = False

    def carry_out(
        self, placed: Placed, shown: options.Shown, show_it: Callable[[Experiment, OutputLocation], None], no_copy: bool
    ) -> int:
        """Execute all runs, show the result, and return the exit code."""
        from townsquare.cli.calls import show_servers_of
        from townsquare.experiments import comparison
        from townsquare.experiments.arms import arms_of
        from townsquare.experiments.cluster.ray_cluster import checked_place
        from townsquare.experiments.manifest import FILE
        from townsquare.experiments.multiverse import FILE as MULTIVERSE
        from townsquare.experiments.run_notes import unused_settings
        from townsquare.scenario.load import load_scenario
        from townsquare.scenario.settings import resolve_with_scenario
        from townsquare.simulation.scenario_copy import left_out

        base = resolve_with_scenario(*self.layers, origins=self.origins)
        arms = arms_of(self.vary, one_at_a_time=self.one_at_a_time)

        def of_arms() -> Iterator[Settings]:
            return (resolve_with_scenario(*self.layers, arm.changes, origins=self.origins) for arm in arms)

        if base.config.model.name != "none" or any(key.startswith("model") for key in self.vary):
            show_servers_of(of_arms())
        stem = f"{self.verb}-{Path(base.config.scenario).stem}"
        with places.output_location(placed.out, stem, (FILE, MULTIVERSE)) as location, OrderToEnd() as order:
            server = placed.address(location.named)
            on, with_copy = checked_place(placed.on), not no_copy
            targets = comparison.ExecutionTargets(on, location.store, server, with_copy=with_copy)
            too_large = "" if no_copy or placed.record else left_out(load_scenario(base.config.scenario), base)
            unused = unused_settings(of_arms(), self.given)
            for notice in () if shown.quiet else filter(None, (too_large, *unused)):
                complain(notice, kind="note")
            what = {"base_layers": self.layers, "vary": self.vary, "seeds": self.seeds, "outcome": self.outcome}
            how = {"workers": placed.workers, "targets": targets, "one_at_a_time": self.one_at_a_time}
            experiment = _compared(location, shown, **what, **how)
            if experiment is None:
                return _stopped(location, order.code)
            location.bring_settings(experiment.finished)
            show_it(experiment, location)
        return 1 if experiment.failed else 0


def _choices(
    across: list[str] | None, contrast: set[str], layers: list[Layer], *, multiverse: bool
) -> dict[str, list[Any]]:
    """Return modeling choices of a multiverse: those named, else the usual ones that are not the question itself."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.multiverse import choices_for

    if not multiverse:
        if across:
            raise SettingError("--across", got=across[0], allowed="with --multiverse")
        return {}
    if across:
        choices = options.varied(across, "--across")
    else:
        choices = {key: values for key, values in choices_for(layers).items() if key not in contrast}
    for key in choices.keys() & contrast:
        raise SettingError(f"--across {key}", got="also --vary", allowed="only one of the two")
    return choices


def compared_pair(out: Path | None, shown: options.Shown, **what: Any) -> int:
    """Run a recorded run and a change of its settings as arms, and show what differs; the exit code.

    ``what`` is as of :func:`_compared`.
    """
    from townsquare.experiments.run_folders import folder_for

    with folder_for(out, "counterfactual") as folder, OrderToEnd() as order:
        location = OutputLocation(folder)
        experiment = _compared(location, shown, **what)
        if experiment is None:
            return _stopped(location, order.code)
    _show(experiment, location, shown, every=False, brief=False, rules=2)
    return 1 if experiment.failed else 0


def _compared(location: OutputLocation, shown: options.Shown, **what: Any) -> Experiment | None:
    """Execute the runs of a comparison and show progress and failures; None if it was interrupted.

    ``what`` are arguments of :func:`townsquare.experiments.comparison.compare`.
    """
    from townsquare.core.errors import RunsFailed
    from townsquare.experiments import comparison
    from townsquare.experiments.answer import first_look

    looks: list[str] = []

    def look(experiment: Experiment) -> None:
        if not looks and (text := first_look(experiment)):
            looks.append(text)
            progress.say(text)

    try:
        with shown.progress(0, f"comparing in {location.shown()}") as progress:
            at = partial(show_study, progress, runs="runs")
            made = comparison.compare(**what, out=location.folder, on_progress=at, on_result=look)
    except KeyboardInterrupt:
        return None
    except RunsFailed:
        made = comparison.Experiment.load(location.folder)
    for error in made.errors:
        complain(error, kind="failed")
    return made


def _stopped(location: OutputLocation, code: int) -> int:
    from townsquare.experiments.manifest import FILE, Experiment

    if not (location.folder / FILE).is_file():
        complain("nothing is recorded yet; give the same command again", kind="stopped")
        return code
    experiment = Experiment.load(location.folder)
    done = f"{len(experiment.finished)} of {len(experiment.runs)} runs are finished and saved"
    complain(f"{done}. To resume, give the same command with:\n  --out {location.shown()}", kind="stopped")
    return code


def _show(
    experiment: Experiment, location: OutputLocation, shown: options.Shown, *, every: bool, brief: bool, rules: int
) -> None:
    from townsquare.experiments.answer import answer
    from townsquare.pages.report import Comparison, write_comparison

    is_compared = any(run.arm == experiment.baseline for run in experiment.finished)
    made = answer(experiment, rules=rules) if is_compared else None
    compared = Comparison.of(experiment, made) if experiment.finished else None
    page = location.shown("report.html") if compared else None
    if compared:
        write_comparison(compared, location.folder / "report.html")

    facts = {
        "comparison": location.shown(),
        "report": page,
        "baseline": experiment.baseline,
        "answer": made.lines if made else [],
        "primary": experiment.primary,
        "runs": [picked(run, "arm", "seed", "state", "error", "folder") for run in experiment.runs],
        "outcomes": experiment.outcomes,
        "exposed": made.exposed if made else [],
        "effects_by_group": compared.by_group if compared else [],
        "paired": experiment.paired() if experiment.finished else [],
    }
    if shown.is_told(location.shown(), facts):
        return
    if made is None:
        complain(f"no run of the baseline {experiment.baseline} is finished, so nothing can be compared", kind="note")
    else:
        show_lines(made.lines)
        if not brief:
            _show_effects(experiment, made, every=every)
    print(f"Report: {page}" if page else f"Comparison: {location.shown()}")


def _show_effects(experiment: Experiment, made: Answer, *, every: bool) -> None:
    """Print the primary outcome arm by arm, with its course over time; or every outcome."""
    from townsquare.core.words import chance, count
    from townsquare.experiments.courses import bands, sparklines

    rows = [row for row in made.effects.to_dicts() if every or row["role"] == "primary"]
    columns = (
        (number, "mean"), (_signed, "difference"), (str, "95% CI=interval"), (chance, "p (Holm)=p_holm"),
        (str, "verdict"),
    )  # fmt: skip
    for row in rows:
        row["interval"] = "" if math.isnan(row["low"]) else f"{signed(row['low'], 3)} to {signed(row['high'], 3)}"
    if every:
        title = "All outcomes, the largest difference relative to its 95% CI first"
        show(title, rows, (str, "outcome=title", "unit", "arm=label"), *columns)
        return
    lines = sparklines(bands(experiment.courses()), made.primary)
    if rows:
        base = {"arm": experiment.baseline, "label": made.baseline, "mean": rows[0]["base"], "verdict": "baseline"}
        base |= {"difference": math.nan, "interval": "", "p_holm": math.nan}
        shown = [row | {"course": lines.of_arm.get(row["arm"], "")} for row in (base, *rows)]
        title = f"{rows[0]['title']}, {rows[0]['unit']}"
        show(title, shown, (str, "arm=label"), *columns, (str, f"{lines.title}=course"))
    others = made.effects.height - len(rows)
    if others:
        untested = made.effects.filter(role="secondary")["p"].is_nan().sum()
        without = f"; {untested} without a test, since the seeds give no spread" if untested else ""
        print(f"Option --all lists {count(others, 'row')} on other outcomes, one per outcome and arm{without}.")


def _signed(value: float) -> str:
    return "" if math.isnan(value) else signed(value, 3)
