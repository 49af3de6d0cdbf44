"""The public check of follow graphs: every registered kind passes it, and each fault it looks for fails it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.core import registry
from townsquare.core.errors import ContractError
from townsquare.scenario.graphs.block import BLOCK, BlockParams
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.graphs.file import FileParams
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import MemberParams, Population
from townsquare.testing.graph_conformance import check_graph


def arguments_of(name: str, folder: Path) -> dict[str, object]:
    """What a kind needs beside its defaults."""
    if name == "file":
        (folder / "edges.csv").write_text("0,1\n3,2\n", encoding="utf-8")
        return {"params": FileParams(path="edges.csv"), "folder": folder, "sizes": (4, 9)}
    if name == "given":
        ends = np.array([0, 2], np.int32), np.array([1, 0], np.int32)
        return {"people": replace(people_of(3), follows=ends), "sizes": (3,)}
    return {}


def people_of(n: int) -> People:
    return sample_people(0, n, Population(), ("tax",), 0)


@pytest.mark.parametrize("name", registry.names("graph"))
def test_every_registered_kind_passes(name: str, tmp_path: Path) -> None:
    check_graph(registry.get("graph", name), **arguments_of(name, tmp_path))  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["age", "political_affiliation", "stance:tax"])
def test_blocks_of_people_pass(by: str) -> None:
    check_graph(BLOCK, BlockParams(by=by, homophily=0.9))


def broken(make: Callable[[int], object], at_birth: object = 3) -> GraphKind:
    """A kind that builds what ``make`` gives for n agents."""

    def build(n: int, params: MemberParams, draws: object, **rest: object) -> object:
        return make(n)

    return GraphKind("broken", MemberParams, build, lambda params, n: at_birth)  # type: ignore[arg-type, return-value]


def edges(follower: list[int], followed: list[int], dtype: type = np.int32) -> Edges:
    return Edges(np.array(follower, dtype), np.array(followed, dtype))


CALLS = count()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda n: [(0, 1)], "build returned list"),
        (lambda n: edges([0], [1], np.int64), r"is int64 \(1,\)"),
        (lambda n: edges([0], [n]), "rows"),
        (lambda n: edges([-1], [0]), "rows -1"),
        (lambda n: edges([0, 1], [1]), "2 followers, 1 followed"),
        (lambda n: edges([1], [1]), "a follow of oneself"),
        (lambda n: edges([0, 0], [1, 1]), "a follow twice"),
        (lambda n: edges([0], [1 + next(CALLS) % 2]), "the same call twice"),
        (lambda n: 1 / 0, "build"),
    ],
)
def test_each_fault_is_found(make: Callable[[int], object], says: str) -> None:
    with raises_error(ContractError, got=says) as error:
        check_graph(broken(make), sizes=(4,))
    assert "broken" in str(error.value)


def test_newcomers_follow_a_whole_number() -> None:
    with raises_error(ContractError, got=r"follows_at_birth is 2\.5"):
        check_graph(broken(lambda n: edges([], []), 2.5))
