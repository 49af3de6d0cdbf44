"""What a fit means, in sentences, each with the number behind it."""

from __future__ import annotations

from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.pooling import NEXT
from townsquare.humans.fit.study import Study
from townsquare.humans.fit.uncertainty import Certainty
from townsquare.pages.people.words import BETTER, METHODS, kind_of, verdict, with_interval
from townsquare.pages.report.words import count, number, percent


def sentences(found: Study) -> list[str]:
    """What was fitted, whether it beats each baseline, and what the data cannot tell."""
    return [*_what(found), *_against(found), *_people(found), *cautions(found)]


def _what(found: Study) -> list[str]:
    grid, ready = found.setup.grid, found.ready
    folds = len(found.held.chosen)
    unit = "answer to answer" if found.options.by == "step" else "first to last answer"
    said = [
        f"{count(len(ready.people), 'trajectory', 'trajectories')} of {count(len(ready.persons), 'person', 'people')}, "
        f"{unit}: {count(ready.spans.final.size, 'row')}; {folds} folds by {found.options.folds}, "
        f"seed {found.options.seed}.",
        f"One profile for all: {_pair(found.certainty, (grid.x_short, grid.y_short))}.",
    ]
    if ready.people.left_out:
        said.append(f"{count(len(ready.people.left_out), 'row')} left out as bad.")
    return said


def _pair(found: Certainty, names: tuple[str, str]) -> str:
    return ", ".join(f"{name} = {_number(one)}" for name, one in zip(names, (found.x, found.y), strict=True))


def _number(one: tuple[float, float, float]) -> str:
    value, low, high = (f"{part:.3g}" for part in one)
    return f"{value} [{low}, {high}]" if low != "nan" else value


def _against(found: Study) -> list[str]:
    rule = found.setup.grid.rule
    said = [
        f"{rule} is {verdict(found.scored.paired[name].people, METHODS[name])}."
        for name in ("no_change", "prior_only", "linear", "mean_received", "regression")
    ]
    if kind_of(found.scored.paired["prior_only"].people) != BETTER:
        said.append(f"So, as {rule} reads them, the messages add nothing to the start: it does not beat prior only.")
    floor = found.ready.floor
    if floor.n:
        words = f"with {count(floor.n, 'control conversation')} about something else, people moved by an RMSE of "
        said.append(f"Noise floor: {words}{number(floor.rmse, 3)} (mean |Δ| {number(floor.mean_change, 3)}).")
    return said


def _people(found: Study) -> list[str]:
    people = found.people
    said = [
        f"Own numbers for each person are told apart for {percent(people.share_told('both'))} of "
        f"{count(len(people.people), 'person', 'people')}."
    ]
    if people.known is not None:
        paired = people.known.paired[RULE].people
        said.append(
            f"Where a person had answered before, numbers of its own are {verdict(paired, 'one profile for all')}, "
            f"over {count(people.known.n, 'row')}; RMSE {with_interval(people.known.scores[NEXT].people)}."
        )
    else:
        said.append("Too few people answered more than once to try numbers of their own on later answers.")
    return said


def cautions(found: Study) -> list[str]:
    """What a reader must mind."""
    grid = found.setup.grid
    said = [f"Caution: {words}." for words in found.certainty.warnings]
    if found.people.share_told("both") < 0.5:
        said.append(
            f"Caution: for most people {grid.x_short} and {grid.y_short} cannot be told apart; use the population's "
            "shares, not single people's numbers."
        )
    if len(found.held.chosen) < found.options.n_folds:
        said.append(f"Caution: only {len(found.held.chosen)} folds, as there are no more groups.")
    sizes = [int((found.held.fold == number).sum()) for number in range(len(found.held.chosen))]
    if max(sizes) > 2 * min(sizes):
        said.append(
            f"Caution: folds are of unlike size ({min(sizes)} to {max(sizes)} rows): one {found.options.folds} is "
            "most of the data."
        )
    return said
