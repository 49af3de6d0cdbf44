"""Published facts held against recorded runs: one run, or the runs of one arm of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from townsquare.analysis.facts.check import FactReport, Readings, check, read_once, readings_of
from townsquare.analysis.facts.measures import BESIDE_ANOTHER_FEED, BESIDE_NO_NOTES, OF_A_SITTING, OF_NOTES
from townsquare.analysis.facts.rules import OF_A_RULE, rule_readings
from townsquare.analysis.facts.table import read_facts
from townsquare.analysis.moderation import moderated
from townsquare.core.arguments import checked
from townsquare.core.errors import RecordError, SettingError
from townsquare.core.registry import check_known
from townsquare.experiments.arms import labels
from townsquare.experiments.manifest import FILE, Experiment
from townsquare.experiments.sitting import sitting_readings
from townsquare.record.run import Run


class _Arm(NamedTuple):
    """The finished runs of an arm by seed, what varies in it, and whether its first run has moderation and notes."""

    name: str
    changes: dict[str, object]
    runs: dict[int, Run]
    is_moderated: bool
    has_notes: bool


@checked
def check_facts(
    target: Run | Experiment | Path | str, *, arm: str | None = None, facts: Path | str | None = None
) -> FactReport:
    """Compare a run, or the runs of a comparison, with published facts about people and platforms.

    Parameters
    ----------
    target : Run, Experiment, Path or str
        A run or a comparison, or the folder of one.
    arm : str, optional
        An arm of the comparison, by name (``moderation.response=label``) or as the report calls it (``labels``);
        default: the arm without moderation, or the first arm if there is none.
    facts : Path or str, optional
        A table of facts in YAML; default: the bundled one, see docs/realism.md.

    Returns
    -------
    FactReport
        ``answer`` says how many facts lie in their published range; ``checks`` has each fact with its value and its
        interval over runs. Facts about belief rules are computed with ``credence`` and ``averaging``, not with the rule
        of the runs.

    Raises
    ------
    SettingError, UnknownName
        There is no such arm, or an arm is given for a single run.
    DataError
        The table of facts is wrong, or one of its facts names a measure that does not exist.
    RecordError
        The folder holds neither a run nor a comparison, or the comparison has no finished run.
    """
    listed = read_facts(None if facts is None else Path(facts))
    names = [fact.measure for fact in listed]
    experiment = _experiment(target)
    if experiment is None:
        if arm is not None:
            do = "leave it out for a single run"
            raise SettingError("arm", got=repr(arm), allowed="an arm of a comparison", do=do)
        assert not isinstance(target, Experiment)
        return check(listed, [_readings(Run.open(target), names), _of_rules(names)])
    arms = _arms(experiment)
    chosen = _chosen(arms, arm, experiment)
    readings: list[Readings] = [_readings(run, names) for run in chosen.runs.values()]
    if not chosen.has_notes:
        readings = [{name: reading for name, reading in each.items() if name not in OF_NOTES} for each in readings]
    readings += _beside(chosen, arms, names)
    return check(listed, [*readings, _of_rules(names)], len(chosen.runs), chosen.name)


def _of_rules(names: list[str]) -> Readings:
    """Return what the shipped belief rules show, if any of it is asked for."""
    return rule_readings() if set(names) & set(OF_A_RULE) else {}


def _readings(run: Run, names: list[str]) -> Readings:
    """Return what one run shows, with the sittings of its people."""
    sittings = sitting_readings(run) if set(names) & set(OF_A_SITTING) else {}
    return {**readings_of(run, names), **sittings}


def _experiment(target: Run | Experiment | Path | str) -> Experiment | None:
    """Return a comparison; None for a run."""
    if isinstance(target, Run | Experiment):
        return target if isinstance(target, Experiment) else None
    return Experiment.load(target) if (Path(target) / FILE).is_file() else None


def _arms(experiment: Experiment) -> list[_Arm]:
    """Return the arms with a finished run, in their order."""
    arms = []
    for arm in experiment.arms:
        finished = [run for run in experiment.finished if run.arm == arm.name]
        runs = {run.seed: Run.open(experiment.folder / run.folder) for run in finished}
        if runs:
            first = next(iter(runs.values()))
            arms.append(_Arm(arm.name, dict(arm.changes), runs, moderated(first), first.table("notes").height > 0))
    if not arms:
        raise RecordError(str(experiment.folder), got="no finished run", do="finish the comparison first")
    return arms


def _chosen(arms: list[_Arm], name: str | None, experiment: Experiment) -> _Arm:
    by_name = {arm.name: arm for arm in arms}
    if name is not None:
        names = {label: arm_name for arm_name, label in labels(experiment.arms).items()}
        name = names.get(name, name)
        check_known("arm", name, [arm.name for arm in experiment.arms])
        if name not in by_name:
            raise RecordError(f"arm {name!r}", got="no finished run", do="finish the comparison first")
        return by_name[name]
    return next((arm for arm in arms if not arm.is_moderated), arms[0])


def _beside(chosen: _Arm, arms: list[_Arm], names: list[str]) -> Iterator[Readings]:
    """Yield what pairs of runs show: notes beside no moderation, and another feed beside that of the chosen arm."""

    with_notes = chosen if chosen.has_notes else next((arm for arm in arms if arm.has_notes), None)
    if with_notes is not None:
        without = next((arm for arm in arms if not arm.is_moderated and _differs(arm, with_notes, "moderation")), None)
        for seed, run in with_notes.runs.items():
            if with_notes is not chosen:
                yield readings_of(run, set(names) & OF_NOTES.keys())
            if without is not None and seed in without.runs:
                pair = read_once(run), read_once(without.runs[seed])
                yield {name: BESIDE_NO_NOTES[name](*pair) for name in names if name in BESIDE_NO_NOTES}
    other = next((arm for arm in arms if _differs(arm, chosen, "feed")), None)
    for seed, run in (other.runs if other else {}).items():
        if seed in chosen.runs:
            pair = read_once(run), read_once(chosen.runs[seed])
            yield {name: BESIDE_ANOTHER_FEED[name](*pair) for name in names if name in BESIDE_ANOTHER_FEED}


def _differs(arm: _Arm, other: _Arm, section: str) -> bool:
    """Return whether two arms differ, and in settings of one section alone."""
    keys = arm.changes.keys() | other.changes.keys()
    differ = [key for key in keys if arm.changes.get(key) != other.changes.get(key)]
    return bool(differ) and all(key.partition(".")[0] == section for key in differ)
