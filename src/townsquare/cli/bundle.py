"""``townsquare bundle`` and ``townsquare verify``: a study frozen in one file, and held against what is there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.compare import Vary
from townsquare.cli.console import complain, console, safe, show_json, table


def bundle(
    *targets: Annotated[str, Parameter(name="RUN", help="Folders of runs or comparisons; or a scenario to plan.")],
    out: Annotated[Path, Parameter(help="The file to write.")] = Path("bundle.json"),
    hypotheses: Annotated[Path | None, Parameter(help="A YAML list (outcome, arm, expect) or a text.")] = None,
    vary: Vary = None,
    seeds: Annotated[str, Parameter(help="Of planned runs: how many (10), a list (3,5,8) or a range (1-20).")] = "1",
    agents: options.Agents = None,
    steps: options.Steps = None,
    sets: options.Sets = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Freeze configuration, hypotheses, measures, versions and hashes; before the runs, it is a preregistration."""
    from townsquare.experiments.arms import parse_seeds
    from townsquare.experiments.bundle.freeze import freeze, planned, recorded
    from townsquare.scenario.settings import resolve_with_scenario
    from townsquare.settings.resolve import layers_for

    entries, baseline = [], ""
    folders = [Path(target) for target in targets if _is_recorded(Path(target))]
    for folder in folders:
        entries += recorded(folder, out.parent)
    others = [target for target in targets if Path(target) not in folders]
    planned_targets: list[str | None] = [*others] or ([] if folders else [None])
    for target in planned_targets:
        scenario, file = options.split_target(target)
        layers, origins = layers_for(scenario, file, sets or (), agents=agents, steps=steps)
        base = resolve_with_scenario(*layers, origins=origins)
        entries += planned(base, options.varied(vary or []), parse_seeds(seeds, base.config.seed))
    baseline = entries[0].arm if entries else ""
    made = freeze(entries, hypotheses, baseline)
    with options.writing(out, replace=replace):
        made.save(out)
    if as_json:
        show_json({"bundle": str(out), "digest": made.digest, "runs": len(entries), "made": made.made})
        return 0
    kind = "preregistration: nothing of it has been run" if made.preregistration else "record of runs"
    print(f"bundle   {out}\nkind     {kind}\nruns     {len(entries)}\nmade     {made.made}\ndigest   {made.digest}")
    print("Whoever has the digest can tell whether the file was changed: give it to somebody, or publish it.")
    return 0


def _is_recorded(folder: Path) -> bool:
    from townsquare.experiments.manifest import FILE
    from townsquare.experiments.run_folders import holds_run

    return folder.is_dir() and ((folder / FILE).is_file() or holds_run(folder))


def verify(
    file: Annotated[Path, Parameter(name="BUNDLE", help="A file of `townsquare bundle`.")],
    /,
    *,
    runs: Annotated[
        list[Path] | None, Parameter(negative="", help="Runs or comparisons made later, held against the plan.")
    ] = None,
    sample: Annotated[int, Parameter(converter=options.whole, help="How many runs to execute again.")] = 1,
    digest: Annotated[str | None, Parameter(help="The digest that was given out when it was made.")] = None,
    as_json: options.AsJson = False,
) -> int:
    """Check a bundle and its runs, execute a sample of them again, and say what became of the hypotheses."""
    from townsquare.core.errors import SettingError
    from townsquare.experiments.bundle.check import FAILED, Finding, check
    from townsquare.experiments.bundle.freeze import Bundle

    if sample < 0:
        raise SettingError("--sample", got=str(sample), allowed="a whole number of at least 0")
    made = Bundle.load(file)
    found = check(made, file.parent, sample, runs or (), lambda name: complain(f"executing {name}", kind="verify"))
    if digest is not None and digest != made.digest:
        found.insert(0, Finding(FAILED, "digest", f"the bundle has {made.digest}, not the one given"))
    failed = [one for one in found if one.state == FAILED]
    if as_json:
        show_json({"bundle": str(file), "digest": made.digest, "findings": [asdict(one) for one in found]})
    else:
        rows = [(one.state, one.what, safe(one.said)) for one in found]
        console().print(table(str(file), ("", "what", "found"), rows))
        print(f"{len(failed)} of {len(found)} checks failed." if failed else "No check failed.")
    return 1 if failed else 0
