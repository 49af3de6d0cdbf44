"""``townsquare check policy``: the embedded policy beside the people of a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, number, show_json, table

if TYPE_CHECKING:
    from townsquare.humans.policy.check import Compared, PolicyReport

Folder = Annotated[
    Path, Parameter(name="DIR", help="People's actions on fixed feeds; docs/policy-fit.md says in what form.")
]
Draws = Annotated[int, Parameter(converter=options.whole, help="Resamples of people, for intervals.")]
Refit = Annotated[bool, Parameter(negative="--no-held-out", help="Also refit, with people and posts held out: slow.")]
SkipBad = Annotated[bool, Parameter(negative="", help="Leave out rows that are wrong, and count them.")]
DIGITS = 3


def policy(
    folder: Folder,
    /,
    *,
    held_out: Refit = True,
    draws: Draws = 1000,
    seed: options.Seed = None,
    skip_bad: SkipBad = False,
    as_json: options.AsJson = False,
) -> int:
    """Show the embedded policy the posts that people were shown, and compare what both did.

    Beside it: language-model agents made of the same people, where the folder has their actions, and one half of the
    people against the other, which is as near as anything can be expected to come.
    """
    from townsquare.core.errors import SettingError
    from townsquare.humans.policy.check import check_policy_against
    from townsquare.humans.policy.data import read_panel

    if draws < 1:
        raise SettingError("--draws", got=str(draws), allowed="at least 1")
    panel = read_panel(folder, skip_bad=skip_bad)
    found = check_policy_against(panel, held_out=held_out, draws=draws, seed=1 if seed is None else seed)
    if as_json:
        show_json({"event": "result", **_plain(found)})
    else:
        _show(found)
    return 0


def _plain(found: PolicyReport) -> dict[str, object]:
    return {
        "people": found.n,
        "posts": found.posts,
        "actions": found.actions,
        "of_people": {**found.people, "mix": list(found.people_mix)},
        "mixes": {name: list(shares) for name, shares in found.mixes.items()},
        "found": {name: {m: asdict(one) for m, one in by.items()} for name, by in found.found.items()},
        "notices": list(found.notices),
    }


def _show(found: PolicyReport) -> None:
    from townsquare.humans.policy.check import AGENTS, BOTH_OUT, OTHERS, PEOPLE_OUT
    from townsquare.humans.policy.data import KINDS
    from townsquare.humans.policy.measures import MEASURES

    print(f"{found.n} people, {found.posts} posts, {found.actions} actions\n")
    parts = (PEOPLE_OUT, BOTH_OUT, OTHERS)
    whole = [name for name in found.found if name not in parts]
    rows = [
        (m.title, _or_dash(found.people[m.name]), *(_value(found.found[n][m.name]) for n in whole)) for m in MEASURES
    ]
    _print("What each set did", ("", "people", *whole), [row for row in rows if row[1] != "–"])
    shares = [("people", *(number(x, DIGITS) for x in found.people_mix))]
    shares += [(name, *(number(x, DIGITS) for x in mix)) for name, mix in found.mixes.items()]
    _print("Action mix: shares of the kinds", ("", *(kind.name.lower() for kind in KINDS)), shares)
    far = [(m.title, *(_apart(found.found[n][m.name]) for n in whole)) for m in MEASURES]
    _print("How far from all people, 0 is alike [95 % over people]", ("", *whole), far)
    names = [*whole, *(n for n in parts if n in found.found)]
    half = [(m.title, *(number(found.found[n][m.name].half, DIGITS) for n in names)) for m in MEASURES]
    _print("How far from a half of the people, on average", ("", *names), half)
    rivals = [name for name in names if not math.isnan(found.found[name]["mix"].closer) and name != AGENTS]
    if rivals:
        nearer = [(m.title, *(number(found.found[n][m.name].closer, 2) for n in rivals)) for m in MEASURES]
        _print("Share of draws in which it is nearer to people than gpt-4o's agents", ("", *rivals), nearer)
    for sentence in found.notices:
        print(f"- {sentence}")
    print("- distances: Jensen-Shannon bits (mix), difference (silent share, Gini), difference of logarithms (actions,")
    print("  dispersion, false to true), 1 less Spearman's rank correlation (ranks of posts)")


def _print(title: str, columns: tuple[str, ...], rows: Sequence[Sequence[object]]) -> None:
    console().print(table(title, columns, rows, right=columns[1:]))


def _or_dash(value: float) -> str:
    return number(value, DIGITS)


def _value(one: Compared) -> str:
    return number(one.value, DIGITS)


def _apart(one: Compared) -> str:
    return f"{number(one.apart, DIGITS)} [{number(one.low, DIGITS)}, {number(one.high, DIGITS)}]"
