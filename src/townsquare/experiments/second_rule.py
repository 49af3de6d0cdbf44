"""What arms do to stances under a second belief rule, executed on what people saw in the runs, a day in one step.

A statement about beliefs that holds under one rule alone is a statement about that rule. The second rule differs in
what the first assumes: under ``credence`` arguments count as far as their claims are believed, labels and notes change
that belief, and nobody is moved by likes; under ``exposure-bounded`` people move toward what they are shown, more by
what is liked and by trusted authors, and a label only weighs the showing less. Sizes are those of the same experiments:
0.02 of the gap a message (judges of debates, from answer to answer), the same part of showings read, and the same
half-life. No run is simulated anew; what people wrote themselves and argument records are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.beliefs import first_stances, last_stances, names
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import setting
from townsquare.analysis.groups import persons
from townsquare.beliefs.arrays import frozen_inputs, frozen_state, offsets_of
from townsquare.beliefs.contract import (
    UNASKED,
    BeliefInputs,
    Contents,
    Exposed,
    no_holdings,
    no_own,
    per_agent,
    rows_of,
)
from townsquare.beliefs.laboratory import RULE
from townsquare.core import registry
from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostKind
from townsquare.core.frames import collected
from townsquare.core.schema import NONE
from townsquare.core.threads import threads_for
from townsquare.core.words import count, listed, significant
from townsquare.experiments.exposed import LITTLE
from townsquare.record.run import Run

MOST_SEEDS = 3
THREADS = 2
"""Runs that are computed at a time: compiled moves and array operations leave the interpreter to others."""
PULL = 0.02
"""Share of the gap to a message that a reader closes: fitted to judges of debates, from answer to answer."""
CREDENCE, EXPOSURE = "credence", "exposure-bounded"
DAY = 24.0
LIKES = 20
"""Likes of a post that count as social proof at most."""
MOST_PEOPLE = 2_000
Runs = Mapping[tuple[str, int], Run]
"""Finished runs by arm and seed."""


class SecondRule(NamedTuple):
    """The effect of an arm on the mean final stance by the rule of the runs and by a second one.

    ``first`` and ``second`` are (value, low, high), 95% t intervals over the same seeds; NaN ends for one seed.
    """

    arm: str
    proposition: str
    rules: tuple[str, str]
    seeds: int
    first: tuple[float, float, float]
    second: tuple[float, float, float]

    @property
    def agree(self) -> bool:
        """Whether both find an effect in the same direction, or neither finds one; by sign alone for one seed."""
        return _direction(self.first) == _direction(self.second)

    def sentence(self, label: str, statement: str) -> str:
        """Return what both rules say, in one sentence."""
        sizes = []
        for rule, (value, low, high) in zip(self.rules, (self.first, self.second), strict=True):
            ends = [significant(end, 2, signed=True) for end in (low, high)]
            interval = "" if math.isnan(low) else f", 95% CI {ends[0]} to {ends[1]}"
            sizes.append(f"{significant(value, 2, signed=True)} under {rule}{interval}")
        shown = "; ".join(sizes)
        if all(abs(end) < LITTLE for effect in (self.first, self.second) for end in effect):  # NaN is not
            shown = f"95% CI within ±{LITTLE:g} under {listed(list(self.rules))}"
        finding, so = f"disagree about an effect of {label}", "; it depends on the rule"
        if self.agree:
            finding, so = f"find {'an effect' if _direction(self.first) else 'no detectable effect'} of {label}", ""
        if math.isnan(self.first[1]) and (self.first[0] or self.second[0]):
            signs = "the same sign" if self.agree else "different signs"
            finding, so = f"give differences of {signs} for {label}", "; one seed gives no CI"
        return (
            f"Two belief rules {finding} on the mean stance on “{statement}”: {shown}{so} (computed again from the "
            f"recorded exposures of {count(self.seeds, 'seed')})."
        )


def _direction(effect: tuple[float, float, float]) -> int:
    value, low, high = effect
    if not math.isnan(low) and low <= 0.0 <= high:
        return 0
    return (value > 0.0) - (value < 0.0)


def second_rule_of(run: Run) -> tuple[str, dict[str, object]]:
    """Return the rule that a run's own is held against, and its settings: ``exposure-bounded``, or else ``credence``.

    The pull and the anchor are those of a step of a day.
    """
    if setting(run, "beliefs", "rule", default="") != CREDENCE:
        return CREDENCE, {}
    given = (setting(run, "beliefs", name, default=getattr(RULE, name)) for name in ("half_life", "attention"))
    half_life, attention = map(float, given)
    anchor = 1.0 - 2.0 ** (-max(DAY, clock_of(run).hours or DAY) / (DAY * half_life))
    return EXPOSURE, {"pull": PULL * attention, "anchor": anchor, "likes_at_most": LIKES}


def under_second_rule(runs: Runs, baseline: str, arm: str, proposition: str) -> SecondRule | None:
    """Measure the effect of an arm on a mean final stance by the runs' rule and by a second one.

    Parameters
    ----------
    runs : Runs
        Finished runs by arm and seed.
    baseline, arm : str
    proposition : str
        Name of the proposition.

    Returns
    -------
    SecondRule or None
        Of the first three seeds that both arms have; None where there is none, or where what is varied is the rule.
    """
    seeds = sorted(seed for name, seed in runs if name == arm and (baseline, seed) in runs)[:MOST_SEEDS]
    pairs = [(runs[arm, seed], runs[baseline, seed]) for seed in seeds]
    rules = {str(setting(run, "beliefs", "rule", default="")) for pair in pairs for run in pair}
    if len(rules) != 1:
        return None
    key = dict(names(pairs[0][0]).select("name", "proposition").iter_rows())[proposition]
    rule, own = second_rule_of(pairs[0][0])
    first = [_mean(run, key) - _mean(base, key) for run, base in pairs]
    with ThreadPoolExecutor(THREADS) as threads:
        again = threads.map(lambda run: _again(run, key, rule, own), [run for pair in pairs for run in pair])
        second = [by_arm - next(again) for by_arm in again]
    own_effect, other_effect = (statistics.mean(values)[:3] for values in (first, second))
    return SecondRule(arm, proposition, (rules.pop(), rule), len(seeds), own_effect, other_effect)


def _again(run: Run, key: int, rule: str, own: Mapping[str, object]) -> float:
    with threads_for(MOST_PEOPLE):
        people, stance = stances_under(run, rule, own)
    return float(stance[: people.size, key].mean()) if people.size else 0.0


def _mean(run: Run, key: int) -> float:
    """Return the mean final stance of the same people by the rule of the run."""
    of_people = pl.col("agent").is_in(_people(run).tolist()) & (pl.col("proposition") == key)
    stances = collected(last_stances(run).filter(of_people))["end"].to_numpy()
    return float(stances.mean()) if stances.size else 0.0


def _people(run: Run) -> Int64:
    """Return rows of the people who are followed: all, or some drawn at random, the same in every arm."""
    agents = persons(run)["agent"].to_numpy().astype(np.int64)
    some = agents.size > MOST_PEOPLE
    return np.sort(np.random.default_rng(1).choice(agents, MOST_PEOPLE, replace=False)) if some else np.sort(agents)


def stances_under(run: Run, rule: str, own: Mapping[str, object]) -> tuple[Int64, Float]:
    """Return people (n,) and their final stances (n, P) by a rule's own ``step`` on the recorded exposures.

    Parameters
    ----------
    run : Run
    rule : str
        A registered rule that needs exposures, or their contents, alone.
    own : mapping of str to object
        Settings of the rule; others are at their defaults.
    """
    people, hours = _people(run), clock_of(run).hours or DAY
    start = np.zeros((people.size, names(run).height))
    first = collected(first_stances(run)).filter(pl.col("agent").is_in(people.tolist()))
    start[np.searchsorted(people, first["agent"].to_numpy()), first["proposition"].to_numpy()] = first["start"]
    member = registry.get("beliefs", rule)
    params = per_agent(member.params(**own), people.size)
    state = member.init(start, np.full(start.shape, UNASKED), params)
    days = max(1, math.ceil(run.last_step * hours / DAY))
    shown = _shown(run, people, hours, start.shape[1])
    ends = np.searchsorted(shown["day"], np.arange(days + 1)).tolist()
    for day, (first_row, stop) in enumerate(pairwise(ends)):
        rows = {name: values[first_row:stop] for name, values in shown.items()}
        indptr = offsets_of(np.bincount(rows["person"], minlength=people.size))
        exposed = rows_of(Exposed, indptr, **{name: rows[name] for name in Exposed._fields[1:]})
        contents = Contents(rows["claim"], rows["plausibility"], rows["verdict"], rows["note"] >= 0)
        nothing = no_own(*start.shape), no_holdings(people.size)
        inputs = BeliefInputs(0, exposed, *nothing, contents=contents, hours=max(DAY, hours))
        draws = Draws(int(setting(run, "seed", default=1)), day + 1)(Stage.BELIEF)
        state, _ = member.step(frozen_state(state), frozen_inputs(inputs), params, draws)
    return people, np.asarray(state.stance)


def _shown(run: Run, people: Int64, hours: float, n_propositions: int) -> dict[str, Array]:
    """Return exposures of some people to posts with a stance, day by day, each day in the order that rules read.

    ``person`` is a place in ``people``; other columns are those of the tables.
    """
    posts, stances = run.table("posts"), run.table("post_stances").sort("post", "proposition")
    columns = ["step", "agent", "rank", "post", "root", "author", "likes", "verdict", "note", "first_seen", "weight"]
    rows = collected(run.lazy("exposures").select(columns).filter(pl.col("agent").is_in(people.tolist())))
    step, root, person = (rows[name].to_numpy() for name in ("step", "root", "agent"))
    day = ((step - 1) * hours // DAY).astype(np.int64)
    per_post = np.bincount(stances["post"].to_numpy(), minlength=posts.height)
    per_row = per_post[root]
    at = np.repeat(np.arange(rows.height), per_row)
    nth = np.arange(at.size) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    of_stance = (np.cumsum(per_post) - per_post)[root[at]] + nth
    key = (day * people.size + np.searchsorted(people, person))[at] * n_propositions
    order = np.argsort(key + stances["proposition"].to_numpy()[of_stance], kind="stable")
    at, of_stance = at[order], of_stance[order]
    shown = {name: rows[name].to_numpy()[at] for name in columns}
    shown |= {name: stances[name].to_numpy()[of_stance] for name in ("proposition", "stance")}
    is_news = (posts["kind"] == PostKind.INJECTED).to_numpy()
    for name, column, none in (("claim", "text", NONE), ("plausibility", "plausibility", math.nan)):
        shown[name] = np.where(is_news, posts[column].fill_null(none).to_numpy(), none)[shown["root"]]
    shown["credibility"] = run.table("agents")["credibility"].fill_null(math.nan).to_numpy()[shown["author"]]
    return shown | {"person": np.searchsorted(people, shown["agent"]), "day": day[at]}
