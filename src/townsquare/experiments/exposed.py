"""What arms do to the beliefs of those who see false posts: most people see none, so a mean over everyone hides it.

Who sees most false posts is decided in the baseline, seed by seed, so that the people compared are the same in every
arm.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.beliefs import last_stances, names
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.facts.contract import window_of
from townsquare.analysis.groups import persons
from townsquare.analysis.posts import roots
from townsquare.core.frames import collected
from townsquare.core.words import listed, percent, significant

GROUPS = {"all people": 1.0, "most exposed tenth": 0.1, "most exposed hundredth": 0.01}
"""Groups of people by their exposures to false posts in the baseline, and the proportion of people in each."""
_WHO = dict(
    zip(GROUPS, ("all people", "the tenth most exposed to false posts", "the hundredth most exposed"), strict=True)
)
MOST_WITHOUT = 0.5
"""Proportion of people without an exposure to a false post above which the groups are reported."""
TABLE = columns("arm:str proposition:str group:str people value low high seeds:int without")


def exposed_effects(runs: Mapping[tuple[str, int], Reads], baseline: str) -> pl.DataFrame:
    """Measure the effect of each arm on final stances, of all people and of those most exposed to false posts.

    Parameters
    ----------
    runs : mapping of (str, int) to Reads
        Runs by arm and seed.
    baseline : str
        The arm in which exposures are counted.

    Returns
    -------
    DataFrame
        One row per arm other than the baseline, proposition and group of :data:`GROUPS`: ``arm``, ``proposition``,
        ``group``, ``people`` (mean number per seed), ``value`` (mean stance in the arm less that in the baseline) with
        ``low`` and ``high`` (95% t interval over seeds), ``seeds``, ``without`` (proportion of people without an
        exposure to a false post in the baseline). A group is left out where fewer people saw one. Empty where half of
        the people or more see a false post, and where nobody does.
    """
    seeds = sorted(seed for arm, seed in runs if arm == baseline)
    rows, by_name = [], None
    for seed in seeds:
        base = runs[baseline, seed]
        seen = _false_exposures(base)
        without = seen.filter(n=0).height / max(seen.height, 1)
        if not MOST_WITHOUT < without < 1:
            return pl.DataFrame(schema=TABLE)
        start, by_name = collected(last_stances(base)), dict(names(base).select("proposition", "name").iter_rows())
        for arm in dict.fromkeys(arm for arm, at in runs if at == seed and arm != baseline):
            both = start.join(collected(last_stances(runs[arm, seed])), on=["agent", "proposition"], suffix="_arm")
            for group, share in GROUPS.items():
                people = seen.head(max(1, round(share * seen.height)))
                if share < 1 and not people["n"].min():
                    continue  # fewer people saw a false post
                change = (
                    both.join(people, on="agent")
                    .group_by("proposition")
                    .agg((pl.col("end_arm") - pl.col("end")).mean().alias("change"))
                )
                rows += [(arm, by_name[p], group, people.height, without, value) for p, value in change.iter_rows()]
    made = pl.DataFrame(rows, schema=columns("arm:str proposition:str group:str people without change"), orient="row")
    out = [
        (*key, each["people"].mean(), *statistics.mean(each["change"].to_numpy()), each.height, each["without"].mean())
        for key, each in made.group_by("arm", "proposition", "group", maintain_order=True)
    ]
    return statistics.tidy(out, TABLE)


def exposed_sentences(effects: pl.DataFrame, short: Mapping[str, str], statements: Mapping[str, str]) -> list[str]:
    """Say what the arm with the clearest effect on the most exposed tenth does to them; nothing without rows."""
    rows = effects.filter(pl.col("group") == "most exposed tenth", pl.col("high") > pl.col("low"))
    if not rows.height:
        return []
    half = (pl.col("high") - pl.col("low")) / 2
    best = rows.sort(pl.col("value").abs() / half, descending=True, maintain_order=True).row(0, named=True)
    about = effects.filter(arm=best["arm"], proposition=best["proposition"]).to_dicts()
    by_group = []
    for row in about:
        value, low, high = (significant(row[name], 2, signed=True) for name in ("value", "low", "high"))
        by_group.append(f"{value} in {_WHO[row['group']]} (95% CI {low} to {high})")
    return [
        f"{percent(best['without'])} of people see no false post. Effect of {short[best['arm']]} on the stance on "
        f"“{statements[best['proposition']]}”: {listed(by_group)}."
    ]


def _false_exposures(run: Reads) -> pl.DataFrame:
    """Return the exposures of each person to injected false posts after the warm-up, most first: ``agent``, ``n``."""
    false = roots(run).filter(pl.col("injected"), pl.col("veracity") == "false")["root"]
    of_false = pl.col("root").is_in(false.implode()) & (pl.col("step") >= window_of(run).first)
    shown = run.lazy("exposures").filter(of_false).group_by("agent").agg(n=pl.len())
    frame = persons(run).join(collected(shown), on="agent", how="left").with_columns(pl.col("n").fill_null(0))
    return frame.sort(["n", "agent"], descending=[True, False])
