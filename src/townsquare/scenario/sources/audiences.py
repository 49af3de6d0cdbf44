"""Audiences: who follows which source from the start, ``injection.audience: followers``.

A person with stance s and taste z follows the k-th source of a class with the chance

    1 - exp(-followed x share_k x LN(taste_sd; z) x exp(side x s x side_k) / mean),

where share_k is 1/k^tail over its sum, LN(sd; z) = exp(sd z - sd^2/2), side_k is -1, 0 or 1, and the mean is that of
the exponential over people. Stances are those on the first proposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import U64, Draws, Stage, text_key
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.sample import People
from townsquare.scenario.sources.expand import CLASSES, class_of, rows_of_class
from townsquare.settings.config import Config

SAMPLE = 10_000
"""People at the start over whom the mean of the formula is taken, at most."""


class Public(NamedTuple):
    """The audience of one source: its name, row of sources, its factors, and the mean by which it is divided."""

    name: str
    row: int
    rate: float
    taste_sd: float
    pull: float
    mean: float


@dataclass(frozen=True, slots=True)
class Audiences:
    """Who follows sources, whose first row of agents is ``first``; empty where everyone is shown their posts."""

    seed: int
    first: int
    publics: tuple[Public, ...]

    @classmethod
    def plan(cls, scenario: Scenario, config: Config, people: People) -> Audiences:
        """Plan audiences of the sources of an expanded scenario.

        Parameters
        ----------
        people : People
            Some of those at the start, over whom means are taken.

        Raises
        ------
        SettingError
            Nobody would follow any source, or follows depend on taste, which people do not have.
        """
        if config.injection.audience == "everyone":
            return cls(config.seed, config.agents, ())
        sides = sides_of(scenario, config)
        stance = _stance(people)
        publics = []
        for name in CLASSES:
            chosen, rows = class_of(config, name), rows_of_class(scenario, config, name)
            if chosen.followed > 0 and chosen.taste_sd > 0 and not config.population.taste:
                got = f"{chosen.taste_sd:g}, but people without taste"
                raise SettingError(f"sources.{name}.taste_sd", got=got, do="set population.taste=true, or 0 here")
            size = np.arange(1, rows.size + 1, dtype=np.float64) ** -chosen.tail
            for row, share in zip(rows.tolist(), size / size.sum() if rows.size else size, strict=True):
                pull = chosen.side * float(sides[row])
                mean = float(np.exp(pull * stance).mean()) if stance.size else 1.0
                rate = chosen.followed * float(share)
                publics.append(Public(scenario.sources[row].name, row, rate, chosen.taste_sd, pull, mean))
        if publics and not any(public.rate for public in publics):
            do = "set sources.reliable.followed or sources.low_credibility.followed"
            raise SettingError("injection.audience", got="followers, but nobody follows a source", do=do)
        return cls(config.seed, config.agents, tuple(publics))

    def chances(self, public: Public, people: People) -> Float:
        """Return the chance that each person follows a source, (n,)."""
        rate = public.rate * np.exp(public.pull * _stance(people)) / public.mean
        if public.taste_sd:
            rate = rate * np.exp(public.taste_sd * people.taste - public.taste_sd**2 / 2)
        return np.asarray(-np.expm1(-rate))

    def follows(self, agents: Int64, people: People) -> Edges:
        """Return follows from people, whose rows of agents are ``agents``, to sources; by source, then person."""
        draw, at = Draws(self.seed, 0)(Stage.GRAPH), []
        for public in self.publics:
            u = draw.uniform("audience of a source", agents, np.array([text_key(public.name)], U64), lasting=True)
            at.append(np.flatnonzero(u < self.chances(public, people)))
        if not at:
            return Edges(np.empty(0, np.int32), np.empty(0, np.int32))
        followed = np.repeat([self.first + public.row for public in self.publics], [part.size for part in at])
        return Edges(agents[np.concatenate(at)].astype(np.int32), followed.astype(np.int32))


def _stance(people: People) -> Float:
    """Return stances on the first proposition, (n,); 0 where there is none."""
    return people.stance[:, 0] if people.stance.shape[1] else np.zeros(people.stance.shape[0])


def sides_of(scenario: Scenario, config: Config) -> Float:
    """Return the side of each source towards the first proposition, (S,): -1, 0 or 1.

    A source has the sign of the mean stance of its posts. One without stances is drawn -1 with the share of posts
    against among the posts of its class that take a side, else 1; 0 where there are none.
    """
    sides = np.zeros(len(scenario.sources))
    if not scenario.propositions:
        return sides
    stance, source = scenario.posts.stance[:, 0], scenario.posts.source
    for name in CLASSES:
        rows = rows_of_class(scenario, config, name)
        of_class = stance[np.isin(source, rows)]
        takes = of_class[np.nan_to_num(of_class) != 0]
        against = np.mean(takes < 0) if takes.size else np.nan
        keys = np.array([text_key(scenario.sources[row].name) for row in rows], U64)
        u = Draws(config.seed, 0)(Stage.SCENARIO).uniform("side", 0, keys, lasting=True) if rows.size else np.empty(0)
        for row, drawn in zip(rows.tolist(), u.tolist(), strict=True):
            own = stance[source == row]
            known = own[~np.isnan(own)]
            if known.size and known.mean() != 0:
                sides[row] = np.sign(known.mean())
            elif not np.isnan(against):
                sides[row] = -1.0 if drawn < against else 1.0
    return sides
