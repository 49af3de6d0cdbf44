"""Sources: how many, who follows them, and what they publish when."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy

from raised_errors import raises_error
from townsquare.core.draws import Draws, Stage, text_key
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import load_scenario
from townsquare.scenario.population.sample import People, sample_people
from townsquare.scenario.settings import resolve_for
from townsquare.scenario.sources.audiences import Audiences, sides_of
from townsquare.scenario.sources.expand import everyday_texts, expanded, rows_of_class
from townsquare.scenario.sources.publishing import Publications, poisson, published
from townsquare.settings.config import Config

TOWN = load_scenario("health-rumor@1")
PUBLISHING = {
    "reliable": {"count": 15, "posts_per_day": 8, "topical": 0.25, "followed": 3},
    "low_credibility": {
        "count": 40, "posts_per_day": 8, "false_share": 0.7, "followed": 0.2, "taste_sd": 3.6, "side": 1, "tail": 0.5
    },
}  # fmt: skip


def config_of(sources: object = PUBLISHING, **more: object) -> Config:
    given = {"time": {"step_minutes": 60}, "steps": 336, "agents": 4000, "sources": sources} | more
    return Config.model_validate(given)


def people_of(n: int = 4000) -> People:
    population = Config.model_validate(
        {"population": {"taste": True, "stance": {"default": {"mean": 0.15, "sd": 0.5}}}}
    ).population
    return sample_people(0, n, population, TOWN.proposition_names, 3)


def all_published(config: Config, given: Scenario = TOWN) -> tuple[Scenario, Publications]:
    scenario = expanded(given, config)
    return scenario, published(given, scenario, config)


# --- how many ----------------------------------------------------------------------------------------------


def test_unset_counts_leave_the_scenario_as_it_is() -> None:
    assert expanded(TOWN, Config()) is TOWN
    assert expanded(TOWN, config_of({"reliable": {"count": 4}, "low_credibility": {"count": 4}})) is TOWN


def test_further_sources_come_after_those_of_the_scenario() -> None:
    more = expanded(TOWN, config_of())
    assert more.sources[:8] == TOWN.sources
    assert len({source.name for source in more.sources}) == 55
    assert rows_of_class(more, config_of(), "reliable").size == 15
    assert rows_of_class(more, config_of(), "low_credibility").size == 40
    credibility = [source.credibility for source in more.sources[8:]]
    assert all(0.55 <= value <= 0.8 for value in credibility[:11])
    assert all(0.1 <= value <= 0.45 for value in credibility[11:])
    assert more.digest == TOWN.digest
    assert np.array_equal(more.posts.source[: len(TOWN.posts)], TOWN.posts.source)


def test_further_sources_are_the_same_for_every_seed_and_number() -> None:
    few, many = (
        expanded(TOWN, config_of({"low_credibility": {"count": count}}, seed=count)).sources for count in (9, 700)
    )
    assert few == many[: len(few)]
    assert len({source.name for source in many}) == len(many) == 704


def test_fewer_sources_are_the_first_ones() -> None:
    fewer = expanded(TOWN, config_of({"reliable": {"count": 1}, "low_credibility": {"count": 2}}))
    assert [source.name for source in fewer.sources] == [TOWN.sources[k].name for k in (0, 4, 5)]
    for old, new in ((0, 0), (1, -1), (4, 1), (5, 2), (7, -1)):
        assert set(fewer.posts.source[TOWN.posts.source == old].tolist()) == {new}
    assert fewer.digest == TOWN.digest


def test_a_scenario_without_sources_of_a_class_gets_some_from_the_middle() -> None:
    alone = replace(TOWN, sources=TOWN.sources[:4], posts=replace(TOWN.posts, source=TOWN.posts.source.clip(0, 3)))
    sources = expanded(alone, config_of({"low_credibility": {"count": 30}})).sources[4:]
    assert all(0.1 <= source.credibility <= 0.4 for source in sources)


def test_everyday_posts_come_after_those_of_the_scenario() -> None:
    more = expanded(TOWN, config_of())
    new = slice(len(TOWN.posts), None)
    assert more.posts.text[: len(TOWN.posts)] == TOWN.posts.text
    assert more.posts.text[new] == everyday_texts()
    assert np.isnan(more.posts.stance[new]).all()
    assert set(more.posts.veracity[new].tolist()) == {Veracity.TRUE}
    assert set(more.posts.type[new].tolist()) == {PostType.NEWS}
    assert set(more.posts.plausibility[new].tolist()) == {0.62}
    assert len(expanded(TOWN, config_of({"low_credibility": {"posts_per_day": 8}})).posts) == len(TOWN.posts)


def test_publishing_needs_the_length_of_a_step() -> None:
    with raises_error(SettingError, where="sources.reliable.posts_per_day", do="set time.step_minutes"):
        expanded(TOWN, config_of(time={}))


# --- audiences ---------------------------------------------------------------------------------------------


def audiences_of(people: People, sources: object = PUBLISHING, **more: object) -> tuple[Scenario, Audiences]:
    given: dict[str, object] = {"injection": {"audience": "followers"}, "population": {"taste": True}}
    config = config_of(sources, **(given | more))
    scenario = expanded(TOWN, config)
    return scenario, Audiences.plan(scenario, config, people)


def test_chances_agree_with_the_formula() -> None:
    people = people_of(200)
    scenario, audiences = audiences_of(people)
    sides = sides_of(scenario, config_of())
    ranks = {"reliable": [*range(4), *range(8, 19)], "low_credibility": [*range(4, 8), *range(19, 55)]}
    for public in audiences.publics:
        name = "reliable" if public.row in ranks["reliable"] else "low_credibility"
        chosen, rank = PUBLISHING[name], ranks[name].index(public.row)
        tail, sd, side = (float(chosen.get(key, other)) for key, other in (("tail", 1), ("taste_sd", 0), ("side", 0)))
        share = (rank + 1) ** -tail / sum((k + 1) ** -tail for k in range(int(chosen["count"])))
        agree = [math.exp(side * s * sides[public.row]) for s in people.stance[:, 0]]
        expected = [
            1 - math.exp(-chosen["followed"] * share * math.exp(sd * z - sd * sd / 2) * e / (sum(agree) / 200))
            for z, e in zip(people.taste, agree, strict=True)
        ]
        assert audiences.chances(public, people) == pytest.approx(expected, rel=1e-9)


def test_follows_are_keyed_by_person_and_source() -> None:
    people = people_of()
    _, audiences = audiences_of(people)
    edges = audiences.follows(np.arange(4000), people)
    pairs = set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    assert len(pairs) == edges.follower.size
    assert edges.followed.min() >= 4000
    draw = Draws(1, 0)(Stage.GRAPH)
    for public in audiences.publics[::9]:
        u = draw.uniform(
            "audience of a source", np.arange(4000), np.array([text_key(public.name)], np.uint64), lasting=True
        )
        mine = np.flatnonzero(u < audiences.chances(public, people))
        assert {(int(i), 4000 + public.row) for i in mine} == {pair for pair in pairs if pair[1] == 4000 + public.row}


def test_reliable_sources_have_audiences_by_size() -> None:
    people = people_of()
    _, audiences = audiences_of(people)
    edges = audiences.follows(np.arange(4000), people)
    size = np.bincount(edges.followed - 4000, minlength=55)[[*range(4), *range(8, 19)]] / 4000
    share = 1 / np.arange(1, 16)
    assert size == pytest.approx(1 - np.exp(-3 * share / share.sum()), abs=0.03)


def test_taste_concentrates_the_audience_of_low_credibility_sources() -> None:
    people = people_of()
    _, audiences = audiences_of(people)
    edges = audiences.follows(np.arange(4000), people)
    low = edges.followed - 4000 >= 19
    per_person = np.sort(np.bincount(edges.follower[low], minlength=4000))[::-1]
    assert per_person[:40].sum() > 0.5 * per_person.sum()
    assert people.taste[edges.follower[low]].mean() > 1.5
    assert abs(people.taste[edges.follower[~low & (edges.followed < 4004)]].mean()) < 0.05


def test_side_draws_people_of_that_side() -> None:
    people = people_of()
    sources = {"low_credibility": {"followed": 2, "side": 3}}
    scenario, audiences = audiences_of(people, sources)
    edges, sides = audiences.follows(np.arange(4000), people), sides_of(scenario, config_of())
    assert sides[7] == -1
    assert people.stance[edges.follower[edges.followed == 4007], 0].mean() < -0.2


def test_drawn_sides_have_the_share_of_the_posts_of_the_class() -> None:
    config = config_of({"low_credibility": {"count": 2000}})
    sides = sides_of(expanded(TOWN, config), config)[8:]
    low = TOWN.posts.stance[TOWN.posts.source >= 4, 0]
    low = low[~np.isnan(low) & (low != 0)]
    assert set(sides.tolist()) == {-1, 1}
    assert (sides < 0).mean() == pytest.approx((low < 0).mean(), abs=0.04)


def test_everyone_follows_no_source() -> None:
    people = people_of(50)
    _, audiences = audiences_of(people, injection={"audience": "everyone"})
    assert audiences.follows(np.arange(50), people).follower.size == 0


def test_audiences_that_cannot_be_are_refused() -> None:
    people = people_of(50)
    with raises_error(SettingError, where="injection.audience", got="followers, but nobody follows a source"):
        audiences_of(people, {})
    with raises_error(SettingError, where="sources.low_credibility.taste_sd", do="set population.taste=true"):
        audiences_of(people, population={})
    with raises_error(SettingError, where="injection.audience", got="everyone", do="or feed.outside=pool"):
        resolve_for("health-rumor", None, ["injection.audience=everyone"])
    assert resolve_for("health-rumor", None, ["injection.audience=everyone", "feed.outside=pool"])


# --- publishing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.3, 2.0, 30.0, 1800.0])
def test_poisson_numbers_are_the_inverse_of_the_distribution(mean: float) -> None:
    u = np.r_[0.0, (np.arange(4000) + 0.5) / 4000, 1 - 2.0**-53]
    drawn = poisson(u, np.full(u.size, mean))
    assert np.array_equal(drawn[1:-1], scipy.stats.poisson.ppf(u[1:-1], mean).clip(0).astype(int))
    assert drawn[0] == 0 or mean > 500
    assert drawn[1:-1].mean() == pytest.approx(mean, rel=0.02, abs=1e-2)


def test_rates_and_shares_of_what_is_published() -> None:
    config = config_of()
    scenario, found = all_published(config)
    reliable = np.isin(found.source, rows_of_class(scenario, config, "reliable"))
    everyday = np.isnan(scenario.posts.stance[found.post]).all(axis=1)
    false = scenario.posts.veracity[found.post] == Veracity.FALSE
    assert reliable.sum() / (15 * 14) == pytest.approx(8, rel=0.06)
    assert (~reliable).sum() / (40 * 14) == pytest.approx(8, rel=0.04)
    assert everyday[reliable].mean() == pytest.approx(0.75, abs=0.04)
    assert not everyday[~reliable].any()
    assert not false[reliable].any()
    assert false[~reliable].mean() == pytest.approx(0.7, abs=0.03)


def test_more_is_published_at_the_peak_of_the_day() -> None:
    config = config_of()
    _, found = all_published(config)
    hour = ((found.step - 0.5) % 24).astype(int)
    rhythm = np.array([config.time.rhythm_of(step) for step in range(1, 25)])
    assert np.bincount(hour, minlength=24) / found.step.size == pytest.approx(rhythm / 24, abs=0.008)
    flat = config_of(time={"step_minutes": 720, "rhythm": 0}, steps=400)
    _, found = all_published(flat)
    counts = np.bincount(found.source * 401 + found.step, minlength=55 * 401).reshape(55, 401)[:, 1:]
    assert counts.mean() == pytest.approx(4, rel=0.02)
    assert counts.var() == pytest.approx(4, rel=0.06)


def test_low_credibility_sources_publish_posts_of_their_side() -> None:
    config = config_of()
    scenario, found = all_published(config)
    sides, stance = sides_of(scenario, config)[found.source], scenario.posts.stance[found.post, 0]
    low = np.isin(found.source, rows_of_class(scenario, config, "low_credibility"))
    false = scenario.posts.veracity[found.post] == Veracity.FALSE
    assert (np.sign(stance[low & false & (sides < 0)]) == -1).all()
    assert (np.nan_to_num(stance[low & ~false]) * sides[low & ~false] >= 0).all()


def test_publications_are_in_order_with_keys_of_their_own() -> None:
    _, found = all_published(config_of())
    assert np.unique(found.key).size == found.key.size
    assert (np.diff(found.step * 100 + found.source) >= 0).all()
    assert found.step.min() >= 1
    assert found.step.max() <= 336
    again = all_published(config_of())[1]
    assert all(np.array_equal(*pair) for pair in zip(found, again, strict=True))
    later = all_published(config_of(injection={"start_step": 100}))[1]
    assert np.array_equal(later.key, found.key[found.step >= 100])
    shorter = all_published(config_of(steps=50))[1]
    assert np.array_equal(shorter.key, found.key[found.step <= 50])
    assert not np.isin(all_published(config_of(seed=2))[1].key, found.key).all()


def test_more_sources_do_not_change_what_others_publish() -> None:
    fewer = {name: chosen | {"count": 6} for name, chosen in PUBLISHING.items()}
    _, found = all_published(config_of())
    _, some = all_published(config_of(fewer))
    assert np.array_equal(some.key[some.source < 8], found.key[found.source < 8])


def test_a_scenario_without_posts_of_a_kind_is_refused() -> None:
    unknown = load_scenario("compulsory-voting")
    config = config_of({"reliable": {"posts_per_day": 8, "false_share": 0.5}})
    with raises_error(SettingError, where="sources.reliable.posts_per_day", got="false posts"):
        all_published(config, unknown)
