"""``townsquare bundle`` and ``townsquare verify``: a study frozen in one file, and held against what is there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.compare import Vary
from townsquare.cli.console import answer, complain, picked, show, show_json


def bundle(
    *targets: Annotated[str, Parameter(name="RUN")],
    out: Path = Path("bundle.json"),
    hypotheses: Path | None = None,
    vary: Vary = None,
    seeds: str = "1",
    sized: options.Sized = options.SIZED,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Freeze settings, hypotheses, measures, versions and hashes in one file; before the runs, it is a preregistration.

    Parameters
    ----------
    out
        Output file.
    hypotheses
        A YAML file with a list `hypotheses` of {outcome, arm, expect} (see docs/comparisons.md), or a plain text.
    seeds
        Seeds of planned runs: how many (10), a list (3,5,8) or a range (1-20).
    targets
        Folders of runs or comparisons, or a scenario to plan; default: health-rumor.
    """
    from townsquare.experiments.arms import parse_seeds
    from townsquare.experiments.bundle.freeze import freeze, planned, recorded

    entries = []
    folders = [Path(target) for target in targets if _is_recorded(Path(target))]
    for folder in folders:
        entries += recorded(folder, out.parent)
    others = [target for target in targets if Path(target) not in folders]
    planned_targets: list[str | None] = [*others] or ([] if folders else [None])
    for target in planned_targets:
        base, (layers, _) = sized.settings(target), sized.layers(target)
        entries += planned(base, options.varied(vary or []), parse_seeds(seeds, base.config.seed), layers)
    made = freeze(entries, hypotheses, entries[0].arm if entries else "")
    with options.writing(out, replace=replace):
        made.save(out)
    kind = "preregistration: nothing has been run yet" if made.preregistration else "record of runs"
    facts = {"bundle": str(out), "digest": made.digest, "runs": len(entries), "made": made.made}
    text = f"bundle   {out}\nkind     {kind}\nruns     {len(entries)}\nmade     {made.made}\ndigest   {made.digest}"
    return answer(facts, text, "Publish the digest so others can verify the file is unchanged.", as_json=as_json)


def _is_recorded(folder: Path) -> bool:
    from townsquare.experiments.manifest import FILE
    from townsquare.experiments.run_folders import holds_run

    return folder.is_dir() and ((folder / FILE).is_file() or holds_run(folder))


def verify(
    file: Annotated[Path, Parameter(name="BUNDLE")],
    /,
    *,
    runs: list[Path] | None = None,
    sample: Annotated[int, Parameter(converter=partial(options.whole, least=0))] = 1,
    digest: str | None = None,
    as_json: options.AsJson = False,
) -> int:
    """Check a bundle and its runs, re-run a sample, and report the outcome of each hypothesis.

    Parameters
    ----------
    file
        A file written by `townsquare bundle`.
    runs
        Later runs or comparisons to check against the plan.
    sample
        Number of runs to re-run.
    digest
        The published digest of the bundle.
    """
    from townsquare.experiments.bundle.check import FAILED, Finding, check
    from townsquare.experiments.bundle.freeze import Bundle

    made = Bundle.load(file)
    findings = check(made, file.parent, sample, runs or (), lambda name: complain(f"re-running {name}", kind="verify"))
    if digest is not None and digest != made.digest:
        findings.insert(0, Finding(FAILED, "digest", f"the bundle has {made.digest}, not the one given"))
    failed = [finding for finding in findings if finding.state == FAILED]
    if as_json:
        listed = [picked(finding, "state", "what", "said=result") for finding in findings]
        show_json({"bundle": str(file), "digest": made.digest, "findings": listed})
    else:
        show(str(file), findings, (str, "=state", "what", "found=result"))
        print(f"{len(failed)} of {len(findings)} checks failed." if failed else "All checks passed.")
    return 1 if failed else 0
