"""Sentences about a fit, each with its numbers."""

from __future__ import annotations

from townsquare.core.words import count, number, percent, with_interval
from townsquare.humans.fit.baselines import OF_CONTROLS
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.pooling import NEXT
from townsquare.humans.fit.study import Study
from townsquare.humans.fit.uncertainty import Certainty
from townsquare.pages.people.words import BETTER, METHODS, estimated, kind_of, verdict


def sentences(study: Study) -> list[str]:
    """Return what was fitted, whether it beats each baseline, and what the data cannot identify."""
    return [*_what(study), *_against(study), *_people(study), *cautions(study)]


def _what(study: Study) -> list[str]:
    grid, ready = study.setup.grid, study.ready
    folds = len(study.held_out.chosen)
    unit = "answer to answer" if study.options.by == "step" else "first to last answer"
    of = f"{count(len(ready.people), 'trajectory', 'trajectories')} of {count(len(ready.persons), 'person', 'people')}"
    by = f"{folds} folds by {study.options.folds}, seed {study.options.seed}"
    profile = _pair(study.certainty, (grid.x_short, grid.y_short))
    lines = [f"{of}, {unit}: {count(ready.spans.final.size, 'row')}; {by}.", f"One profile for everybody: {profile}."]
    if ready.people.left_out:
        lines.append(f"{count(len(ready.people.left_out), 'row')} excluded as invalid.")
    return lines


def _pair(certainty: Certainty, names: tuple[str, str]) -> str:
    pairs = zip(names, (certainty.x, certainty.y), strict=True)
    return ", ".join(f"{name} = {with_interval(*interval, '{:.3g}'.format)}" for name, interval in pairs)


def _against(study: Study) -> list[str]:
    rule = study.setup.grid.rule
    names = ("no_change", "prior_only", "linear", "mean_received", "regression")
    lines = [f"{rule} is {verdict(study.scored.paired[name].people, METHODS[name])}." for name in names]
    if kind_of(study.scored.paired["prior_only"].people) != BETTER:
        improve = f"the messages, as {rule} uses them, improve the prediction"
        lines.append(f"{rule} does not beat prior only: we find no evidence that {improve}.")
    floor = study.ready.floor
    if floor.n:
        rmse = f"the RMSE of change was {number(floor.rmse, 3)} (mean absolute change {number(floor.mean_change, 3)})"
        lines.append(f"Noise floor: in {count(floor.n, 'control conversation')}, {rmse}.")
    if OF_CONTROLS in study.scored.paired:
        lines.append(f"{rule} is {verdict(study.scored.paired[OF_CONTROLS].people, METHODS[OF_CONTROLS])}.")
    return lines


def _people(study: Study) -> list[str]:
    people = study.people
    share, of = percent(people.share_identified("both")), count(len(people.people), "person", "people")
    later = "Too few people answered more than once to test individual parameters on later answers."
    if people.known is not None:
        better = verdict(people.known.paired[RULE].people, "one profile for all")
        rows, rmse = count(people.known.n, "row"), estimated(people.known.scores[NEXT].people)
        later = f"For people with earlier answers, individual parameters are {better}, over {rows}; RMSE {rmse}."
    return [f"Both individual parameters are identified for {share} of {of}.", later]


def cautions(study: Study) -> list[str]:
    """Return cautions about a fit."""
    grid = study.setup.grid
    lines = [f"Caution: {words}." for words in study.certainty.warnings]
    if study.people.share_identified("both") < 0.5:
        not_apart = f"for most people {grid.x_short} and {grid.y_short} are not separately identified"
        lines.append(f"Caution: {not_apart}; use the distribution in the population, not individual estimates.")
    if len(study.held_out.chosen) < study.options.n_folds:
        lines.append(f"Caution: only {len(study.held_out.chosen)} folds, because there are no more groups.")
    sizes = [int((study.held_out.fold == number).sum()) for number in range(len(study.held_out.chosen))]
    if max(sizes) > 2 * min(sizes):
        most = f"one {study.options.folds} holds most of the data"
        lines.append(f"Caution: folds differ in size ({min(sizes)} to {max(sizes)} rows): {most}.")
    return lines
