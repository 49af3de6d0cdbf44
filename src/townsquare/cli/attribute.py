"""``townsquare attribute``: who and what changed minds, by the sums of the trail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import exact, known, number, picked, safe, show, show_json

if TYPE_CHECKING:
    import polars as pl

    from townsquare.record.run import Run

LARGEST = 12
LONGEST_TEXT = 60


def attribute(
    folder: options.Folder,
    /,
    *,
    by: str = "author",
    agent: options.Agent = None,
    proposition: str | None = None,
    claim: options.Whole | None = None,
    every: Annotated[bool, Parameter(name="--all")] = False,
    as_json: options.AsJson = False,
) -> int:
    """Show how much each post, author, veracity or label contributed to belief change.

    Parameters
    ----------
    by
        Group by post, author (who posted or shared it), writer (of the original post), veracity, label, cause or step.
    proposition
        Only this proposition.
    claim
        A claim, by an id that `why` lists (`credence`): contributions to belief in it, and who stopped believing it.
    every
        Print all groups, not only the largest.
    """
    from townsquare.analysis.beliefs import of_proposition, statements
    from townsquare.analysis.causes.attribution import attribution_error
    from townsquare.analysis.causes.contributions import changes
    from townsquare.analysis.verbs import agent_number
    from townsquare.analysis.verbs import attribute as attributed
    from townsquare.record.run import Run

    run = Run.open(folder)
    if claim is not None:
        others = {"--agent": agent, "--proposition": proposition, "--all": every or None}
        options.alone("--claim", others | {"--by": None if by == "author" else by})
        return _show_claim(run, claim, str(folder), as_json=as_json)
    person = None if agent is None else agent_number(run, agent)
    groups = attributed(run, by=by, agent=person, proposition=proposition)
    moved = of_proposition(run, changes(run), proposition)
    moved = moved if person is None else moved.filter(moved["agent"] == person)
    apart, texts = attribution_error(run), statements(run)
    if as_json:
        return show_json({"by": by, "agent": person, "largest_difference": apart, "groups": groups.to_dicts()})
    for name, part in groups.group_by("name", maintain_order=True):
        here = moved.filter(moved["proposition"] == part["proposition"][0])
        _show(texts[str(name[0])], by, part, here, every=every)
    if not groups.height:
        print("No contributions: no belief changed.")
    print("Movement is the sum of the sizes of all contributions, so that opposite ones do not cancel.")
    print(f"Contributions sum to each person's recorded change (largest difference {apart:.1e}).")
    print("Contributions are what the belief rule counted, not causal effects: see `townsquare counterfactual`.")
    return 0


def _show_claim(run: Run, claim: int, folder: str, *, as_json: bool) -> int:
    """Print the parts of belief in one claim, as means over the people who saw it."""
    from townsquare.analysis.causes.claims import claim_attribution
    from townsquare.core.words import count, percent

    summed = claim_attribution(run, claim)
    if as_json:
        return show_json(picked(summed, *summed.__dataclass_fields__))
    print(f"“{safe(summed.text)}” ({summed.truth}): {count(summed.people, 'person', 'people')} saw this claim.")
    ends = f"{percent(summed.believe_before)} before they saw it, {percent(summed.believe_last)} at their last exposure"
    print(f"Mean probability of being true that people give it: {ends}.")
    sums = ("sum", summed.parts["mean"].sum(), None), ("recorded", summed.judged, None)
    rows = [*summed.parts.select("meaning", "mean", "gross").iter_rows(), *sums]
    show(
        "Parts of the belief at the last exposure, mean log odds per person", rows, (str, "part"),
        (exact, "mean"), (known(number), "mean absolute"),
    )  # fmt: skip
    for words, people in (("stopped believing it", summed.stopped), ("started believing it", summed.began)):
        many = count(len(people), "person", "people") if people else "Nobody"
        print(f"{many} {words} by their last exposure.")
        if people:
            print(f"  For example: townsquare why {folder} --agent {people[0]} --claim {claim}")
    print("The parts are what the belief rule counted. For causal effects: `townsquare counterfactual`, `compare`.")
    return 0


def _show(statement: str, by: str, part: pl.DataFrame, moved: pl.DataFrame, *, every: bool) -> None:
    listed, total = part if every else part.head(LARGEST), float(part["gross"].sum()) or math.nan
    rows: list[tuple[Any, ...]] = [
        (_key(row), _what(row), row["rows"], row["per_person"], row["gross"] / total) for row in listed.to_dicts()
    ]
    rest = part.tail(part.height - listed.height)
    if rest.height:
        share = float(rest["gross"].sum()) / total
        rows.append(("", f"{rest.height} more groups", None, rest["per_person"].sum(), share))
    rows.append(("", "sum", None, part["per_person"].sum(), 1.0))
    mean = float(sum(moved["change"].to_list()) / max(1, moved.height))
    rows.append(("", "recorded change", None, mean, None))
    mean_change = "change" if moved.height == 1 else "mean change"
    many = f"mean over {moved.height} people" if moved.height != 1 else "one person"
    show(
        f"Contributions to the change in stance on “{statement}” ({many})", rows, (str, by, ""),
        (known(number), "contributions"), (exact, mean_change), (known("{:.1%}".format), "share of all movement"),
    )  # fmt: skip


def _key(row: dict[str, Any]) -> str:
    return "" if row["key"] < 0 or row["what"] == f"step {row['key']}" else str(row["key"])


def _what(row: dict[str, Any]) -> str:
    from townsquare.analysis.causes.attribution import CAUSES

    if row["what"] == f"step {row['key']}":  # rows of posts and of other causes, such as the anchor, are apart
        return f"{row['what']} ({'posts' if row['cause'] == 'shown' else row['cause']})"
    what = row["what"] if row["cause"] in ("shown", row["what"]) else f"{row['what']} ({row['cause']})"
    what = what if row["cause"] == "shown" else CAUSES.get(what, what)
    return safe(what, LONGEST_TEXT)
