"""``townsquare check policy``: the statistical policy compared with the people of a study."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import digits, number, picked, show, show_json

if TYPE_CHECKING:
    from townsquare.core.text_table import Format
    from townsquare.humans.policy.check import Compared, PolicyReport
    from townsquare.settings.config import Population
    from townsquare.simulation.policies.statistical_params import Params


DIGITS = 3


def policy(
    folder: Annotated[Path, Parameter(name="DIR")],
    /,
    *,
    fitted: Annotated[Path | None, Parameter(name="--policy")] = None,
    held_out: Annotated[bool, Parameter(negative="--no-held-out")] = True,
    draws: options.Positive = 1000,
    seed: options.Seed = None,
    skip_bad: options.SkipBad = False,
    as_json: options.AsJson = False,
) -> int:
    """Show the statistical policy the posts that people saw, and compare its actions with theirs.

    Also compared: language-model agents of the same people, if the folder has their actions, and one half of the
    people against the other half, the best agreement to expect.

    Parameters
    ----------
    folder
        Human actions on fixed feeds; see docs/policy-fit.md for the format.
    fitted
        Settings of the statistical policy, such as the file that `fit-policy` wrote; default: the built-in ones.
    held_out
        Also refit with people and posts held out (slow).
    draws
        Bootstrap resamples of people.
    """
    from townsquare.humans.policy.check import check_policy_against
    from townsquare.humans.policy.data import read_panel

    given = None if fitted is None else _given(fitted)
    panel = read_panel(folder, skip_bad=skip_bad)
    report = check_policy_against(panel, given=given, held_out=held_out, draws=draws, seed=1 if seed is None else seed)
    if as_json:
        facts = picked(report, "people=n", "posts", "actions", "mixes", "found=compared", "notices")
        return show_json({"event": "result", **facts, "of_people": {**report.people, "mix": report.people_mix}})
    _show(report)
    return 0


def _given(path: Path) -> tuple[Params, Population]:
    """Return the settings of the statistical policy and of the population that a configuration file gives."""
    from townsquare.core.errors import SettingError
    from townsquare.settings.layers import read_yaml
    from townsquare.settings.resolve import resolve
    from townsquare.simulation.policies.statistical_params import Params

    settings = resolve(read_yaml(path)[0])
    params = settings.params["policy"]
    if not isinstance(params, Params):
        raise SettingError(f"{path}, policy", got=settings.member("policy"), allowed="statistical")
    return params, settings.config.population


def _show(report: PolicyReport) -> None:
    from townsquare.humans.policy.check import AGENTS, BOTH_OUT, OTHERS, PEOPLE_OUT
    from townsquare.humans.policy.data import KINDS
    from townsquare.humans.policy.measures import MEASURES

    print(f"{report.n} people, {report.posts} posts, {report.actions} actions\n")
    parts = (PEOPLE_OUT, BOTH_OUT, OTHERS)
    whole = [name for name in report.compared if name not in parts]

    def listed(title: str, sets: list[str], cell: Callable[[Compared], Any], format_: Format, *more: str) -> None:
        """Return one row per measure and one column per set of actions, after that of people if there is ``more``."""
        people = [(m, [report.people[m.name]] if more else []) for m in MEASURES]
        known = [(m, own) for m, own in people if not own or math.isfinite(own[0])]
        rows = [(m.title, *own, *(cell(report.compared[name][m.name]) for name in sets)) for m, own in known]
        show(title, rows, (str, ""), (format_, *more, *sets), words=[""])

    three = digits(DIGITS)
    listed("What each set did", whole, lambda compared: compared.value, three, "people")
    mixes = [("people", *report.people_mix), *((name, *mix) for name, mix in report.mixes.items())]
    show("Action mix: share of each kind of action", mixes, (str, ""), (three, *(kind.name.lower() for kind in KINDS)))
    listed("Distance from all people, 0 = equal [from resampled people, 2.5% to 97.5%]", whole, _apart, str)
    names = [*whole, *(n for n in parts if n in report.compared)]
    listed("Mean distance from a random half of the people", names, lambda compared: compared.half, three)
    rivals = [name for name in names if not math.isnan(report.compared[name]["mix"].closer) and name != AGENTS]
    if rivals:
        title = "Share of draws in which a set is closer to people than language-model agents"
        listed(title, rivals, lambda compared: compared.closer, digits(2))
        print(f"Draws: people drawn again with replacement; for {', '.join(parts)}: random halves of the people.\n")
    for sentence in report.notices:
        print(f"- {sentence}")
    print("- Distances: Jensen-Shannon bits (mix), difference (people without actions, Gini), log difference (actions,")
    print("  dispersion, false to true), 1 − Spearman's rank correlation (ranks of posts).")
    print("- Resampling adds noise to a distance, which is never negative: brackets can lie above a small distance.")


def _apart(compared: Compared) -> str:
    from townsquare.core.words import with_interval

    return with_interval(compared.apart, compared.low, compared.high, partial(number, digits=DIGITS))
