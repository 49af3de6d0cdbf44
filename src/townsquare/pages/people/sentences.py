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
    lines = [
        f"{count(len(ready.people), 'trajectory', 'trajectories')} of {count(len(ready.persons), 'person', 'people')}, "
        f"{unit}: {count(ready.spans.final.size, 'row')}; {folds} folds by {study.options.folds}, "
        f"seed {study.options.seed}.",
        f"One profile for everybody: {_pair(study.certainty, (grid.x_short, grid.y_short))}.",
    ]
    if ready.people.left_out:
        lines.append(f"{count(len(ready.people.left_out), 'row')} excluded as invalid.")
    return lines


def _pair(certainty: Certainty, names: tuple[str, str]) -> str:
    pairs = zip(names, (certainty.x, certainty.y), strict=True)
    return ", ".join(f"{name} = {_number(interval)}" for name, interval in pairs)


def _number(interval: tuple[float, float, float]) -> str:
    return with_interval(*interval, "{:.3g}".format)


def _against(study: Study) -> list[str]:
    rule = study.setup.grid.rule
    lines = [
        f"{rule} is {verdict(study.scored.paired[name].people, METHODS[name])}."
        for name in ("no_change", "prior_only", "linear", "mean_received", "regression")
    ]
    if kind_of(study.scored.paired["prior_only"].people) != BETTER:
        lines.append(
            f"{rule} does not beat prior only: we find no evidence that the messages, as {rule} uses them, "
            "improve the prediction."
        )
    floor = study.ready.floor
    if floor.n:
        words = f"in {count(floor.n, 'control conversation')}, the RMSE of change was "
        lines.append(
            f"Noise floor: {words}{number(floor.rmse, 3)} (mean absolute change {number(floor.mean_change, 3)})."
        )
    if OF_CONTROLS in study.scored.paired:
        lines.append(f"{rule} is {verdict(study.scored.paired[OF_CONTROLS].people, METHODS[OF_CONTROLS])}.")
    return lines


def _people(study: Study) -> list[str]:
    people = study.people
    lines = [
        f"Both individual parameters are identified for {percent(people.share_identified('both'))} of "
        f"{count(len(people.people), 'person', 'people')}."
    ]
    if people.known is not None:
        paired = people.known.paired[RULE].people
        lines.append(
            f"For people with earlier answers, individual parameters are {verdict(paired, 'one profile for all')}, "
            f"over {count(people.known.n, 'row')}; RMSE {estimated(people.known.scores[NEXT].people)}."
        )
    else:
        lines.append("Too few people answered more than once to test individual parameters on later answers.")
    return lines


def cautions(study: Study) -> list[str]:
    """Return cautions about a fit."""
    grid = study.setup.grid
    lines = [f"Caution: {words}." for words in study.certainty.warnings]
    if study.people.share_identified("both") < 0.5:
        lines.append(
            f"Caution: for most people {grid.x_short} and {grid.y_short} are not separately identified; use the "
            "distribution in the population, not individual estimates."
        )
    if len(study.held_out.chosen) < study.options.n_folds:
        lines.append(f"Caution: only {len(study.held_out.chosen)} folds, because there are no more groups.")
    sizes = [int((study.held_out.fold == number).sum()) for number in range(len(study.held_out.chosen))]
    if max(sizes) > 2 * min(sizes):
        lines.append(
            f"Caution: folds differ in size ({min(sizes)} to {max(sizes)} rows): one {study.options.folds} holds "
            "most of the data."
        )
    return lines
