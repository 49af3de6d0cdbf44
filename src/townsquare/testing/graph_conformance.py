"""Conformance check of follow graphs, for anyone's graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from townsquare.core.draws import Draws, Stage
from townsquare.core.member_errors import check_array
from townsquare.core.threads import threads_for
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import MemberParams, Population
from townsquare.testing.member_calls import MemberUnderTest

SIZES = (1, 2, 7, 60)


@threads_for(0)
def check_graph(
    kind: GraphKind,
    params: MemberParams | None = None,
    *,
    seed: int = 0,
    sizes: tuple[int, ...] = SIZES,
    folder: Path | None = None,
    people: People | None = None,
) -> None:
    """Raise if a kind of graph breaks its contract.

    Checked, for publics of several sizes: int32 rows of agents that are there; no follow of oneself and none twice;
    the same call gives the same graph; a newcomer follows a whole number of accounts, at least 0.

    Parameters
    ----------
    kind : GraphKind
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the draws and of the people.
    sizes : tuple of int
        Numbers of agents.
    folder : Path, optional
        Where files that the settings name lie.
    people : People, optional
        Instead of sampled ones, for a kind that takes its follows from them; then ``sizes`` must fit.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of("graph", kind, params)
    for n in sizes:
        public = people or sample_people(0, n, Population(), ("tax",), seed)
        first, second = (_build(test, n, seed, folder, public) for _ in range(2))
        test.check_same("the same call twice gives other", first._asdict(), second._asdict(), "a pure function")
        _check_edges(test, first, n)
        born: object = kind.follows_at_birth(test.params, n)
        if not isinstance(born, int) or born < 0:
            raise test.broken(f"follows_at_birth is {born!r}", "a whole number of at least 0")


def _build(test: MemberUnderTest, n: int, seed: int, folder: Path | None, people: People) -> Edges:
    draws, given = Draws(seed, 0)(Stage.GRAPH), {"folder": folder, "names": people.names, "people": people}
    built: object = test.call("build", lambda: test.member.build(n, test.params, draws, **given))
    if not isinstance(built, Edges):
        raise test.broken(f"build returned {type(built).__name__}", "Edges")
    return built


def _check_edges(test: MemberUnderTest, edges: Edges, n: int) -> None:
    for name, column in edges._asdict().items():
        check_array(test.family, test.name, name, column, np.int32, (None,), entry="one a follow")
        if column.size and not 0 <= column.min() <= column.max() < n:
            raise test.broken(f"{name} holds rows {column.min()} to {column.max()}", f"rows of agents, 0 to {n - 1}")
    follower, followed = edges
    if follower.shape != followed.shape:
        raise test.broken(f"{follower.size} followers, {followed.size} followed", "as many of both")
    if (follower == followed).any():
        raise test.broken("a follow of oneself", "none")
    if np.unique(follower.astype(np.int64) * n + followed).size != follower.size:
        raise test.broken("a follow twice", "each once")
