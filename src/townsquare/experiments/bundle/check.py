"""Checking a bundle: that nobody changed it, that its runs are those it names, and that they come out again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from townsquare.analysis.outcomes import outcomes
from townsquare.core.errors import TownsquareError
from townsquare.core.identity import settings_digest
from townsquare.experiments.bundle.freeze import PACKAGES, Bundle, Entry, environment, recorded
from townsquare.experiments.paired import paired
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.contents import Scenario
from townsquare.settings.resolve import current_version, resolve
from townsquare.simulation.run import simulate
from townsquare.simulation.scenario_copy import recorded_scenario

OK, FAILED, NOTE = "ok", "FAILED", "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked: ``state`` is ``ok``, ``FAILED`` or ``note`` (worth knowing, no fault)."""

    state: str
    what: str
    result: str


def check(
    bundle: Bundle,
    parent: Path,
    sample: int = 1,
    runs: Sequence[Path] = (),
    on_run: Callable[[str], None] = lambda name: None,
) -> list[Finding]:
    """Check a bundle.

    Parameters
    ----------
    bundle : Bundle
    parent : Path
        Its folder.
    sample : int
        Runs that are executed again and compared by content hash; which ones follows from the bundle's digest.
    runs : sequence of Path
        Folders of runs and comparisons that were made after it, to be held against what was planned.
    on_run : callable
        Called with the name of each run before it is executed again.
    """
    findings = [_unchanged(bundle), _settings(bundle), _versions(bundle)]
    scenarios = {(str(entry.settings["scenario"]), entry.scenario_digest): entry for entry in bundle.entries}
    for (name, _), entry in sorted(scenarios.items(), key=lambda item: item[0]):
        findings.append(_or_error(f"scenario {name}", partial(_scenario, entry, parent)))
    there = [entry for entry in bundle.entries if entry.folder]
    findings += [_or_error(_name(entry), partial(_stored, entry, parent)) for entry in there]
    later = [entry for folder in runs for entry in recorded(folder, parent)]
    if later or bundle.preregistration:
        findings += _against_plan(bundle, later)
    for entry in _sample(there + later, sample, bundle.digest):
        on_run(_name(entry))
        findings.append(_or_error(f"{_name(entry)}, executed again", partial(_again, entry, parent)))
    return findings + _hypotheses(bundle, there + later, parent)


def _verdict(same: bool, what: str, yes: str, no: str) -> Finding:
    return Finding(OK, what, yes) if same else Finding(FAILED, what, no)


def _or_error(what: str, look: Callable[[], Finding]) -> Finding:
    """Return what looking gives; an error on purpose is a failed check."""
    try:
        return look()
    except TownsquareError as error:
        return Finding(FAILED, what, str(error))


def _unchanged(bundle: Bundle) -> Finding:
    message = f"as it was made on {bundle.made}: {bundle.digest}"
    return _verdict(bundle.computed_digest() == bundle.digest, "bundle", message, "it was changed after it was made")


def _settings(bundle: Bundle) -> Finding:
    """Check that the configurations in a bundle have the digests that it states."""
    other = [_name(entry) for entry in bundle.entries if not _has_its_digest(entry)]
    message = f"not those of their digest: {_listed(other)}"
    return _verdict(not other, "settings", "all have the digest that is named", message)


def _has_its_digest(entry: Entry) -> bool:
    with suppress(AttributeError, ValueError):  # no mapping, or NaN in it
        return settings_digest(entry.settings) == entry.settings_digest
    return False


def _versions(bundle: Bundle) -> Finding:
    now = {"townsquare": current_version(), **environment()}
    then = {"townsquare": bundle.version, **bundle.environment}
    other = [f"{name} {then.get(name)}, here {now[name]}" for name in now if then.get(name) != now[name]]
    if not other:
        return Finding(OK, "versions", f"townsquare, python and {len(PACKAGES)} packages are those of the bundle")
    return Finding(NOTE, "versions", f"{', '.join(other)}: hashes may differ in the last digits of numbers")


def _scenario(entry: Entry, parent: Path) -> Finding:
    what = f"scenario {entry.settings['scenario']}"
    if not entry.scenario_digest:
        return Finding(NOTE, what, "made by the program; it has no files")
    same = _scenario_of(entry, parent).digest == entry.scenario_digest
    return _verdict(same, what, "unchanged", "its files changed")


def _scenario_of(entry: Entry, parent: Path) -> Scenario:
    return recorded_scenario(resolve(entry.settings), parent / entry.folder if entry.folder else None)


def _name(entry: Entry) -> str:
    return f"run {entry.arm or 'alone'}, seed {entry.seed}"


def _stored(entry: Entry, parent: Path) -> Finding:
    """Check that the recorded rows still have the hash that the bundle states."""
    run = Run.open(parent / entry.folder)
    got = run.verify()
    if run.header.settings_hash != entry.settings_digest:
        return Finding(FAILED, _name(entry), "it was made with other settings")
    same = got == entry.content_hash and entry.run_hash in ("", run.run_hash)
    return _verdict(same, _name(entry), f"content {got[:16]}", "its content is another")


def _sample(entries: Sequence[Entry], n: int, digest: str) -> list[Entry]:
    """Choose the runs to execute again by the digest, so that the author of the runs cannot choose."""
    ordered = sorted(entries, key=lambda entry: (digest[:32] + entry.settings_digest)[::-1])
    return [entry for entry in ordered if entry.content_hash][:n]


def _again(entry: Entry, parent: Path) -> Finding:
    what = f"{_name(entry)}, executed again"
    settings = resolve(entry.settings)
    if settings.config.model.name != "none":
        return Finding(NOTE, what, "a language model answers in it: `townsquare resume` replays its recorded calls")
    recorder = MemoryRecorder()
    simulate(settings, recorder, scenario=_scenario_of(entry, parent), on_step=lambda summary: None)
    got = Run.of(recorder).content_hash
    return _verdict(got == entry.content_hash, what, "equal, to the last bit", f"content {got[:16]} instead")


def _against_plan(bundle: Bundle, later: Sequence[Entry]) -> list[Finding]:
    """Check that every planned run was executed, and no other."""
    plan = {entry.settings_digest: entry for entry in bundle.entries if entry.state == "planned"}
    if not later:
        many = f"{len(plan)} runs are planned; name what was made of them with --runs"
        return [Finding(NOTE, "plan", many)] if plan else []
    made = {entry.settings_digest: entry for entry in later if entry.state == "finished"}
    missing = [_name(entry) for digest, entry in plan.items() if digest not in made]
    extra = [_name(entry) for digest, entry in made.items() if digest not in plan]
    findings = [Finding(FAILED, "plan", f"not run as planned: {_listed(missing)}")] if missing else []
    findings += [Finding(NOTE, "plan", f"run, but not planned: {_listed(extra)}")] if extra else []
    return findings or [Finding(OK, "plan", f"all {len(plan)} planned runs were made, and no other")]


def _listed(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def _hypotheses(bundle: Bundle, entries: Sequence[Entry], parent: Path) -> list[Finding]:
    """Return the outcome of each hypothesis; none while there are no runs."""
    rows = [
        {"arm": entry.arm, "seed": entry.seed, **outcomes(Run.open(parent / entry.folder))}
        for entry in entries
        if bundle.hypotheses and entry.folder and entry.state == "finished"
    ]
    if not rows:
        return []
    first = bundle.baseline or bundle.entries[0].arm
    frame = pl.DataFrame(rows, infer_schema_length=None)
    named = {hypothesis["outcome"]: None for hypothesis in bundle.hypotheses}
    compared = paired(frame, first, [name for name in named if name in frame.columns])
    return [_outcome_of(hypothesis, compared) for hypothesis in bundle.hypotheses]


def _outcome_of(hypothesis: Mapping[str, str], compared: pl.DataFrame) -> Finding:
    what = f"hypothesis: {hypothesis['outcome']} of {hypothesis['arm']}, {hypothesis['expect']}"
    rows = compared.filter((pl.col("outcome") == hypothesis["outcome"]) & (pl.col("arm") == hypothesis["arm"]))
    if rows.is_empty() or not math.isfinite(rows["low"][0]):
        return Finding(NOTE, what, "cannot be told: there is no interval")
    row = rows.row(0, named=True)
    seen = "higher" if row["low"] > 0 else "lower" if row["high"] < 0 else "no difference"
    verdict = "as expected" if seen == hypothesis["expect"] else f"NOT as expected: {seen}"
    result = f"{row['difference']:+.4g} [{row['low']:+.4g}, {row['high']:+.4g}], p {row['p']:.2g}"
    result += f" (Holm over {len(compared.filter(pl.col('p').is_not_nan()))}: {row['p_holm']:.2g})"
    return Finding(NOTE, what, f"{verdict}: {result}")
