"""The rankers `affinity` and `bridging` against plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from small_worlds import post, react, settings_of, steps_of, town
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.enums import AgentKind, PostKind
from townsquare.simulation.feed.rankers.contract import ChosenRanker, ReaderCandidates
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.world import World
from townsquare.testing.ranker_conformance import check_ranker

K = ActionKind


def busy() -> World:
    """A world of many reactions, in which half of the sources are of low credibility and most people have a taste."""
    policy = {"name": "blind", "like": 0.3, "share": 0.1, "comment": 0.05}
    *_, (world, _) = steps_of(settings_of(agents=80, steps=5, policy=policy, seed=4))
    draw = np.random.default_rng(3)
    persons = world.agents["kind"] == AgentKind.PERSON
    world.agents.write("taste")[:] = np.where(
        persons & (draw.random(persons.size) < 0.8), draw.normal(size=persons.size), np.nan
    )
    world.agents.write("credibility")[:] = np.where(
        persons, np.nan, np.where(draw.random(persons.size) < 0.5, 0.2, 0.9)
    )
    return world


def candidates_of(world: World, readers: list[int], each: int = 40) -> ReaderCandidates:
    """Any posts and shares, as if gathered: a third of them from others."""
    draw, posts = np.random.default_rng(5), world.posts
    rows = np.flatnonzero(posts["kind"] != PostKind.COMMENT)
    post_ = np.concatenate([draw.choice(rows, each) for _ in readers]).astype(np.int32)
    followed = draw.random(post_.size) < 0.66
    columns = np.repeat(readers, each).astype(np.int32), post_, posts["root"][post_], posts["author"][post_]
    return ReaderCandidates(np.arange(len(readers) + 1, dtype=np.int64) * each, *columns, followed)


def scores(world: World, name: str, candidates: ReaderCandidates, hours: float = 0.5, **params: Any) -> list[float]:
    member = registry.get("ranker", name)
    view = RankingView(world, hours)
    chosen, readers = ChosenRanker(member, member.params(**params)), np.unique(candidates.reader)
    return [float(x) for x in chosen.scores_of(view, readers, candidates, np.zeros(view.posts.n))]


def plain(world: World, name: str, candidates: ReaderCandidates, hours: float, one_sided: float = 0.1) -> list[float]:
    """The formulas of docs/adding-a-ranker.md, row by row."""
    posts, stance = world.posts, world.stance()
    did: dict[tuple[int, int], int] = {}
    for kind, weight in ((K.LIKE, 1), (K.SHARE, 2)):
        for agent, root in zip(*(column.tolist() for column in RankingView(world).reacted(kind)), strict=True):
            did[agent, root] = did.get((agent, root), 0) + weight
    close = {*zip(*(c.tolist() for c in RankingView(world).reacted(K.LIKE, K.SHARE, K.LIKE_COMMENT)), strict=True)}
    out = []
    for i, row, root, author, followed in zip(*(column.tolist() for column in candidates[1:]), strict=True):
        says = {
            int(world.post_stances["proposition"][k]): float(world.post_stances["stance"][k])
            for k in range(posts["stances"][root], posts["stances"][root] + posts["n_stances"][root])
        }
        engaged = float(posts["likes"][root] + 2 * posts["shares"][root])
        if name == "bridging" and says:
            first = next(iter(says))
            sides = [sum(w for (a, r), w in did.items() if r == root and stance[a, first] * s > 0) for s in (-1, 1)]
            engaged = 2 * min(sides) + one_sided * (engaged - 2 * min(sides))
        age = (world.step + 1 - int(posts["step"][row if followed else root])) * hours
        score = -1.8 * math.log(1 + age / 2) + math.log(1 + engaged)
        if followed:
            score += math.log(1 + sum(a == i and posts["author"][r] == author for a, r in close))
        if name == "affinity":
            if says:
                score += 2 * (0.5 - sum(abs(stance[i, p] - x) for p, x in says.items()) / len(says) / 2)
            z = float(world.agents["taste"][i])
            if not followed and world.agents["credibility"][posts["author"][root]] < 0.5 and not math.isnan(z):
                score -= 3.5 * max(0.0, 2.5 - z)
        out.append(score)
    return out


@pytest.mark.parametrize("name", ["affinity", "bridging"])
def test_scores_are_those_of_the_formula(name: str) -> None:
    world = busy()
    candidates = candidates_of(world, [3, 11, 40, 12])
    got = scores(world, name, candidates)
    assert got == pytest.approx(plain(world, name, candidates, 0.5), abs=1e-9)
    assert len(set(got)) > 50
    assert got != pytest.approx(scores(world, name, candidates, hours=2.0))


@pytest.mark.parametrize("name", ["affinity", "bridging"])
@pytest.mark.parametrize("seed", [1, 2])
def test_they_keep_the_contract(name: str, seed: int) -> None:
    check_ranker(registry.get("ranker", name), seed=seed)


def test_reactions_by_side_are_those_of_people_now_for_and_against() -> None:
    world = town(6, 1)
    topical = post(world, 6, kind=PostKind.INJECTED, stances={0: -0.5})
    plain_post = post(world, 6, kind=PostKind.INJECTED)
    react(world, K.LIKE, 0, topical)
    react(world, K.SHARE, 1, topical)
    react(world, K.LIKE, 2, topical)
    react(world, K.LIKE, 3, topical)
    react(world, K.LIKE, 0, plain_post)
    stance = world.stance().copy()
    stance[:4, 0] = 0.3, -0.2, -0.9, 0.0
    view = RankingView(world)
    view.__dict__["stance"] = stance
    assert view.reactions_by_side.tolist() == [[3, 1], [0, 0]]


def test_one_sided_applause_counts_little_under_bridging() -> None:
    world = busy()
    candidates = candidates_of(world, [3, 11])
    alike = scores(world, "bridging", candidates, one_sided=1.0)
    assert alike == pytest.approx(scores(world, "affinity", candidates, match=0.0, taste=0.0), abs=1e-12)
    apart = np.array(scores(world, "bridging", candidates)) - alike
    speaks = world.posts["n_stances"][candidates.root] > 0
    assert (apart[speaks] <= 1e-12).all()
    assert (apart[speaks] < -0.1).any()
    assert (apart[~speaks] == 0).all()
