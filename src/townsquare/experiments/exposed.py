"""What arms do to the beliefs of those who see false posts: most people see none, so a mean over everyone hides it.

Who sees most false posts is decided in the baseline, seed by seed, so that the people compared are the same in every
arm.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.facts.contract import window_of
from townsquare.analysis.groups import persons
from townsquare.analysis.posts import roots
from townsquare.core.frames import collected
from townsquare.core.words import listed, percent, significant
from townsquare.experiments.by_group import changes, final_stances, over_seeds

GROUPS = {"all people": 1.0, "most exposed tenth": 0.1, "most exposed hundredth": 0.01}
"""Groups of people by their exposures to false posts in the baseline, and the proportion of people in each."""
_WHO = dict(zip(GROUPS, ("all people", "the 10% most exposed to false posts", "the 1% most exposed"), strict=True))
LITTLE = 0.001
"""Effect on a stance, with its interval, below which no digits are given."""
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
        exposure to a false post in the baseline). A group is left out where fewer people saw one, with any seed. Empty
        where half of the people or more see a false post, and where nobody does, with any seed.
    """
    parts = []
    for seed in sorted(seed for arm, seed in runs if arm == baseline):
        base = runs[baseline, seed]
        before, seen = final_stances(base), _false_exposures(base)
        without = seen.filter(n=0).height / max(seen.height, 1)
        if not MOST_WITHOUT < without < 1:
            return pl.DataFrame(schema=TABLE)
        most = {group: seen.head(max(1, round(share * seen.height))) for group, share in GROUPS.items()}
        groups = pl.concat(
            people.select("agent", group=pl.lit(group))
            for group, people in most.items()
            if people["n"].min() or GROUPS[group] == 1  # else fewer people saw a false post
        )
        parts += [
            changes(before, final_stances(run), groups).with_columns(arm=pl.lit(arm), without=pl.lit(without))
            for (arm, at), run in runs.items()
            if at == seed and arm != baseline
        ]
    if not parts:
        return pl.DataFrame(schema=TABLE)
    made = over_seeds(pl.concat(parts), ["arm", "proposition", "group"], ["agents", "without"])
    in_every_seed = made.filter(pl.col("seeds") == pl.col("seeds").max().over("arm", "proposition"))
    return in_every_seed.rename({"agents": "people"}).select(list(TABLE))


def exposed_sentences(
    effects: pl.DataFrame, short: Mapping[str, str], statements: Mapping[str, str], *, warm_up: bool
) -> list[str]:
    """Say what the arm with the clearest effect on the most exposed tenth does to them; nothing without rows."""
    after, period = (" after the warm-up", " over the whole run") if warm_up else ("", "")
    rows = effects.filter(pl.col("group") == "most exposed tenth", pl.col("high") > pl.col("low"))
    if not rows.height:
        return []
    half = (pl.col("high") - pl.col("low")) / 2
    best = rows.sort(pl.col("value").abs() / half, descending=True, maintain_order=True).row(0, named=True)
    about = effects.filter(arm=best["arm"], proposition=best["proposition"]).to_dicts()
    opening = (
        f"In the baseline, {percent(best['without'])} of people see no false post{after}. "
        f"Effect of {short[best['arm']]}{period} on the final stance on “{statements[best['proposition']]}”, "
        f"by exposure{after} in the baseline (not corrected for several tests): "
    )
    little, larger = [], []
    for row in about:
        value, low, high = (row[name] for name in ("value", "low", "high"))
        if max(abs(value), abs(low), abs(high)) < LITTLE:
            little.append(_WHO[row["group"]])
        else:
            digits = [significant(number, 2, signed=True) for number in (value, low, high)]
            larger.append(f"{digits[0]} in {_WHO[row['group']]} (95% CI {digits[1]} to {digits[2]})")
    within = [f"95% CI within ±{LITTLE:g} in {listed(little)}"] if little else []
    return [f"{opening}{'; '.join([*within, *larger])}."]


def _false_exposures(run: Reads) -> pl.DataFrame:
    """Return the exposures of each person to injected false posts after the warm-up, most first: ``agent``, ``n``."""
    false = roots(run).filter(pl.col("injected"), pl.col("veracity") == "false")["root"]
    of_false = pl.col("root").is_in(false.implode()) & (pl.col("step") >= window_of(run).first)
    shown = run.lazy("exposures").filter(of_false).group_by("agent").agg(n=pl.len())
    frame = persons(run).join(collected(shown), on="agent", how="left").with_columns(pl.col("n").fill_null(0))
    return frame.sort(["n", "agent"], descending=[True, False])
