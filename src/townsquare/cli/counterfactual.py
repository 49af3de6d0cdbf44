"""``townsquare counterfactual``: beliefs without a post, an author, an argument record, false posts or labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.compare import compared_pair
from townsquare.cli.console import complain, cut, number, picked, safe, show, show_json, signed

if TYPE_CHECKING:
    from pathlib import Path

    from townsquare.experiments.counterfactual import CounterfactualBeliefs, Removal
    from townsquare.record.run import Run

LARGEST = 10


def counterfactual(
    folder: options.Folder,
    /,
    *,
    leave_out: Annotated[list[str], Parameter(name="--without")],
    agent: options.Agent = None,
    again: Annotated[bool, Parameter(name="--run")] = False,
    seeds: str | None = None,
    out: options.Out = None,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Recompute beliefs without some posts, authors, records or labels; exposures stay fixed, except with --run.

    Parameters
    ----------
    leave_out
        post=N, author=N (or its name), record=N, veracity=false, veracity=true, label=verdict, label=note; repeatable.
    again
        Simulate again without them, so that exposures change too; only for injected posts, authors and veracity.
    seeds
        With --run: a number of seeds (10), a list (3,5) or a range (1-20); default: the seed of the run.
    """
    from townsquare.analysis.causes.attribution import check_person
    from townsquare.analysis.verbs import agent_number
    from townsquare.core.errors import SettingError
    from townsquare.experiments.counterfactual import Removal, without
    from townsquare.record.run import Run

    run = Run.open(folder)
    removal = Removal.parse(leave_out, run)
    if again:
        return _other_run(run, folder, removal, seeds, out, shown)
    for name, given in (("--seeds", seeds), ("--out", out)):
        if given is not None:
            raise SettingError(name, got=str(given), allowed="with --run")
    person = None if agent is None else agent_number(run, agent)
    check_person(run, person)
    result, exact = without(run, removal), _agrees(run)
    if shown.as_json:
        _json(run, result, person, exact=exact)
    else:
        _show(run, result, person, exact=exact)
    return 0 if exact else 1


def _agrees(run: Run) -> bool:
    """Return whether the rule, executed again with everything left in, gives what was recorded."""
    from townsquare.analysis.beliefs import person_beliefs
    from townsquare.core.frames import collected
    from townsquare.experiments.counterfactual import rerun_beliefs

    again = rerun_beliefs(run).beliefs
    return bool(person_beliefs(run).pipe(collected).equals(again))


def _json(run: Run, result: CounterfactualBeliefs, agent: int | None, *, exact: bool) -> None:
    from townsquare.experiments.counterfactual.rerun_rule import HELD_FIXED

    own = result.beliefs.filter(result.beliefs["agent"] == agent).to_dicts() if agent is not None else []
    claims = result.claims.filter(result.claims["agent"] == agent).to_dicts() if agent is not None else []
    head = {"without": result.removal.words(), "method": "rule", "says": HELD_FIXED, "reproduces_the_record": exact}
    show_json({**head, **picked(result, "rows", "effect"), "claims": result.claim_effect,
               "course": result.course(run), "agent": own, "agent_claims": claims})  # fmt: skip


def _show(run: Run, result: CounterfactualBeliefs, agent: int | None, *, exact: bool) -> None:
    import polars as pl

    from townsquare.analysis.beliefs import names
    from townsquare.experiments.counterfactual.rerun_rule import HELD_FIXED

    called = dict(names(run).select("proposition", "name").rows())
    gone = safe(result.removal.words(run))
    affected = pl.format("{} of {}", "affected", "agents").alias("affected")
    show(
        f"Mean stances at the end, as recorded and without {gone}", result.effect.with_columns(affected),
        (called.__getitem__, "proposition"),
        (signed, "recorded=mean_recorded", "without=mean_without", "effect"), (number, "mean |effect|=absolute_effect"),
        (str, "affected"), (signed, "largest effect=largest"), (number, "changed side=changed_side"),
        words=("proposition",),
    )  # fmt: skip
    if result.claims.height:
        share = "{:.1%}".format
        show(
            f"Mean belief in claims (probability) at the last exposure, as recorded and without {gone}",
            result.claim_effect,
            (str, "claims=truth"), (number, "pairs of person and claim=met"),
            (share, "recorded=believe_recorded", "without=believe_without"),
            (lambda effect: f"{100 * effect:+.1f}", "effect, percentage points=effect"),
            (number, "stopped believing=stopped", "started believing=began"), words=("claims",),
        )  # fmt: skip
    if agent is not None:
        _show_agent(run, result, called, agent)
    print(f"{result.rows:,} exposures removed or changed.")
    print(HELD_FIXED)
    if exact:
        print("Check: with nothing removed, the rule reproduces the recorded beliefs exactly.")
    else:
        complain("with nothing removed, the rule does NOT reproduce the recorded beliefs", "warning")


def _show_agent(run: Run, result: CounterfactualBeliefs, called: dict[int, str], agent: int) -> None:
    import polars as pl

    from townsquare.analysis.causes.claims import share
    from townsquare.analysis.causes.contributions import called as name_of

    who = safe(name_of(run, agent))
    last = result.beliefs.filter(pl.col("agent") == agent, pl.col("step") == pl.col("step").max())
    effects = last.with_columns((pl.col("recorded") - pl.col("without")).alias("effect"))
    columns = (called.__getitem__, "proposition"), (signed, "recorded", "without", "effect")
    show(f"Stances of {who} at the end", effects, *columns, words=("proposition",))
    moved = result.claims.filter(pl.col("agent") == agent, pl.col("recorded") != pl.col("without"))
    moved = moved.sort((pl.col("recorded") - pl.col("without")).abs(), descending=True).head(LARGEST)
    moved = moved.join(run.table("texts"), left_on="claim", right_on="text", maintain_order="left")
    if moved.height:
        show(
            f"Claims that {who} would believe otherwise, the largest differences", moved, (str, "id=claim"),
            (share, "recorded", "without"), (str, "truth"), (cut(60), "text=content"), words=("truth", "text"),
        )  # fmt: skip


def _other_run(
    run: Run, folder: Path, removal: Removal, seeds: str | None, out: options.Out, shown: options.Shown
) -> int:
    from townsquare.cli.calls import approved_settings, show_servers_of
    from townsquare.experiments.arms import parse_seeds
    from townsquare.experiments.counterfactual.rerun_simulation import FREE_TO_CHANGE, leave_out_of
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
    # Defined with and without the removed posts, which the scenario's own outcome (reach of false posts) may not be.
    outcome = f"shift.{scenario.proposition_names[0]}" if scenario.propositions else "actions_per_agent_step"
    vary = {"leave_out": [gone, before]}
    code = compared_pair(out, shown, base_layers=[base], vary=vary, seeds=listed, outcome=outcome)
    if not shown.quiet and not shown.as_json:
        print(FREE_TO_CHANGE)
    return code
