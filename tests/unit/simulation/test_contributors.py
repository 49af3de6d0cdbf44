"""Contributors: who enrolls, what they may write about and when, what is in their queue, and how members rate it."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from small_worlds import (
    NO_BANK,
    draws_of,
    end_step,
    note,
    post,
    rate,
    react,
    run_of,
    settings_of,
    show,
    steps_of,
    town,
    views_of,
)
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.enums import ActionStatus, NoteStatus, PostKind, Rating, Reason, Veracity
from townsquare.scenario.settings import resolve_for
from townsquare.settings.config import Time
from townsquare.simulation.change import Change
from townsquare.simulation.feed.fixed import feed_of
from townsquare.simulation.moderation.contributors import ContributorParams, enrolled, feeds, may_write
from townsquare.simulation.policies.coordinated import POLICY as COORDINATED
from townsquare.simulation.policies.propensity import POLICY as PROPENSITY
from townsquare.simulation.policies.propensity_params import Params as PropensityParams
from townsquare.simulation.run import simulate
from townsquare.simulation.world import World

EVERYBODY: dict[str, Any] = {"contributors": 1.0, "ratings_per_day": 24.0 * 50, "ratings_sd": 0.0}
RUN: dict[str, Any] = {
    "moderation": {
        "strategy": "community", "note_scorer": "bridging", "contributors": 0.5, "ratings_per_day": 60,
        "takedown": False,
    },
    "policy": {"name": "propensity", "notes": 1.0, "notes_bias": 1.0, "helpful_band": 0.3}, "agents": 60, "steps": 12,
    "time": {"step_minutes": 60}, "activation": {"sessions_per_day": 24.0},
}  # fmt: skip


def noted_town(notes: int = 4) -> World:
    """A town of ten with notes by person 0 on posts of the source, all in one step."""
    world = town(10)
    for _ in range(notes):
        note(world, 0, post(world, 10, kind=PostKind.INJECTED, stances={0: 0.5}))
    end_step(world)
    return world


def pairs(world: World, kind: ActionKind, params: ContributorParams, draw: StageDraws) -> set[tuple[int, int]]:
    """Agent and root of the rows of one of the feeds."""
    feed = dict(feeds(world, params, Time(step_minutes=60), draw))[kind]
    assert np.array_equal(feed.agents, np.unique(feed.exposures["agent"]))
    return set(zip(feed.exposures["agent"].tolist(), feed.exposures["root"].tolist(), strict=True))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_enrollment_lasts_and_a_camp_can_leave(share: float) -> None:
    world = town(400)
    params = ContributorParams(contributors=share)
    first = enrolled(world, params, draws_of(world, Stage.MODERATE))
    end_step(world)
    assert np.array_equal(first, enrolled(world, params, draws_of(world, Stage.MODERATE)))
    assert abs(first[:400].mean() - share) < 0.1
    assert not first[400]  # a source
    for stance in (-0.5, 0.5):
        leaving = params.model_copy(update={"camp_leaves": "for" if stance > 0 else "against"})
        world.belief[0].stance.flags.writeable = True
        world.belief[0].stance[:200] = stance
        left = enrolled(world, leaving, draws_of(world, Stage.MODERATE))
        assert not left[:200].any()
        assert np.array_equal(left[200:], first[200:])


def test_the_queue_has_notes_of_others_that_are_not_rated_yet() -> None:
    world = noted_town()
    rate(world, 2, 3)  # by persons 0, 1 and 2
    params = ContributorParams(**EVERYBODY)
    rows = pairs(world, ActionKind.RATE_NOTE, params, draws_of(world, Stage.MODERATE))
    assert rows == {(a, r) for a in range(1, 10) for r in range(4) if not (a < 3 and r == 2)}


def test_the_queue_offers_one_note_of_a_post_and_no_more_notes_than_drawn() -> None:
    world = noted_town()
    note(world, 1, 0)
    params = ContributorParams(**(EVERYBODY | {"ratings_per_day": 24.0 * 2, "rated_for": 5.0}))
    feed = dict(feeds(world, params, Time(step_minutes=60, rhythm=0), draws_of(world, Stage.MODERATE)))[
        ActionKind.RATE_NOTE
    ]
    counts = np.diff(feed.indptr)
    assert counts.tolist() == [1] + [2] * 9  # the first wrote the others
    for k in range(feed.agents.size):
        roots = feed.exposures["root"][feed.indptr[k] : feed.indptr[k + 1]]
        assert np.unique(roots).size == roots.size
    for _ in range(6):
        end_step(world)
    assert not pairs(world, ActionKind.RATE_NOTE, params, draws_of(world, Stage.MODERATE))  # all are too old


def test_the_queue_prefers_posts_with_attention_and_notes_with_few_ratings() -> None:
    world = town(1200)
    posts = [post(world, 1200, kind=PostKind.INJECTED, stances={0: 0.5}) for _ in range(2)]
    for root in posts:
        note(world, 0, root)
    for agent in range(3):
        react(world, ActionKind.LIKE, agent, posts[1])
    end_step(world)
    params = ContributorParams(**(EVERYBODY | {"ratings_per_day": 24.0}))
    for ratings, expected in ((0, 0.8), (3, 0.5)):  # attention: 1 + likes + shares, for each of 1 + ratings
        if ratings:
            rate(world, 1, ratings)
        feed = dict(feeds(world, params, Time(step_minutes=60, rhythm=0), draws_of(world, Stage.MODERATE)))
        offered = np.asarray(feed[ActionKind.RATE_NOTE].exposures["root"])
        assert offered.size == 1199
        assert abs(np.mean(offered == posts[1]) - expected) < 0.05


@pytest.mark.parametrize(("sourced", "evidence"), [(1, 3.0), (1, 0.0), (0, 3.0)])
def test_raters_doubt_a_post_as_those_do_who_have_read_the_note(sourced: int, evidence: float) -> None:
    world = town(4000)
    root = post(world, 4000, plausibility=0.9)
    number = note(world, 4000, root)
    world.notes.write("quality")[:], world.notes.write("sourced")[:] = 0.0, sourced
    readers = np.arange(4000, dtype=np.int32)
    feed = feed_of(world, readers, np.full(4000, root), np.full(4000, number))
    params = PropensityParams(ratings=1.0, helpful_source=0.0, helpful_lenient=0.0, helpful_evidence=evidence)
    views = views_of(world, feed, allowed=frozenset({ActionKind.RATE_NOTE}))
    done = PROPENSITY.decide(views, draws_of(world, Stage.POLICY), params)
    log_odds = math.log(0.9 / 0.1) - evidence * sourced
    doubt = 1 / (1 + math.exp(log_odds)) - 0.5
    helpful = 1 / (1 + math.exp(-params.helpful_doubt * doubt))
    assert done.helpful.size == 4000
    assert abs(np.mean(done.helpful == Rating.HELPFUL) - helpful) < 0.03


def test_notes_are_written_a_drawn_delay_after_a_post_was_seen() -> None:
    world = town(40)
    posts = [post(world, 40, kind=PostKind.INJECTED, stances={0: 0.5}) for _ in range(3)]
    plain = post(world, 40, kind=PostKind.INJECTED)
    who = np.repeat(np.arange(40, dtype=np.int32), 4)
    show(world, feed_of(world, who, np.tile([*posts, plain], 40)))
    params = ContributorParams(contributors=1.0, write_delay=3.0, write_sd=0.7, unsourced=0.5)
    draw = draws_of(world, Stage.MODERATE)
    key = world.posts["key"]

    def drawn(purpose: str, agent: int, root: int) -> float:
        return float(draw.uniform(purpose, [agent], key[[root]], lasting=True)[0])

    expected: dict[int, set[tuple[int, int]]] = {}
    for agent in range(40):
        for (
            root
        ) in posts:  # the post without a stance is never noted; the source is of the post: 1%, since none is false
            delay = math.floor(3.0 * math.exp(0.7 * NormalDist().inv_cdf(drawn("write delay", agent, root))))
            if drawn("unsourced", agent, root) < 0.5 or drawn("source", 0, root) < 0.01:
                expected.setdefault(1 + delay, set()).add((agent, root))
    for _ in range(12):
        rows = pairs(world, ActionKind.ADD_NOTE, params, draws_of(world, Stage.MODERATE))
        assert rows == expected.get(world.step + 1, set())
        end_step(world)


def rated_town(seed: int) -> tuple[World, dict[tuple[int, int], tuple[float, int]], dict[int, tuple[int, int]]]:
    """A town with ratings and statuses at random steps: of (rater, note) value and step; of a note its first and last.

    Statuses are in ``world.notes``, as they are after the last step.
    """
    rng, world = np.random.default_rng(seed), town(8)
    for author in rng.integers(0, 8, 12).tolist():
        note(world, author, post(world, 8, kind=PostKind.INJECTED, stances={0: 0.5}))
    given: dict[tuple[int, int], tuple[float, int]] = {}
    settled: dict[int, tuple[int, int]] = {}
    for _ in range(6):
        now = world.step + 1
        for rater, number in rng.integers(0, (8, 12), (12, 2)).tolist():
            if (rater, number) not in given:
                value = float(rng.choice([0.0, 0.5, 1.0]))
                given[rater, number] = value, now
                row = {"note": number, "agent": rater, "step": now, "helpful": value == 1, "rating": value}
                world.append(Change({"note_ratings": schema.rows("note_ratings", 1, **row)}))
        for number in rng.integers(0, 12, 3).tolist():
            status = int(rng.integers(0, 3))
            if status != world.notes["status"][number]:
                settled[number] = settled.get(number, (now, now))[0], now
            scores = schema.rows("note_scores", 1, step=now, note=number, intercept=0.1, factor=0.0, status=status)
            world.append(Change({"note_scores": scores}))
        end_step(world)
    return world, given, settled


@pytest.mark.parametrize("seed", range(8))
def test_the_right_to_write_is_earned_by_ratings_and_lost_by_notes_not_helpful(seed: int) -> None:
    world, given, settled = rated_town(seed)
    status, author = world.notes["status"].tolist(), world.notes["author"].tolist()

    def impact(rater: int, until: int) -> int:
        total = 0
        for (who, number), (value, when) in given.items():
            if who != rater or status[number] == NoteStatus.PENDING or value == 0.5:
                continue
            if when <= settled[number][0] <= until:
                total += 1 if (value == 1) == (status[number] == NoteStatus.SHOWN) else -1
                total -= value == 1 and status[number] == NoteStatus.NOT_HELPFUL
        return total

    seen = set()
    for least in (1, 2, 5):
        for agent, may in enumerate(may_write(world, least)[:8].tolist()):
            of = {kind: [n for n in range(12) if author[n] == agent and status[n] == kind] for kind in NoteStatus}
            bad, good = of[NoteStatus.NOT_HELPFUL], of[NoteStatus.SHOWN]
            needed = least
            if len(bad) > len(good):
                last = max(settled[number][1] for number in bad)
                needed = max(impact(agent, last), 0) + least * (len(bad) - len(good))
            assert may == (impact(agent, world.step) >= needed)
            seen.add(may)
    assert False in seen


def test_writers_without_the_right_write_nothing_once_the_warm_up_is_over_and_somebody_has_it() -> None:
    world = rated_town(1)[0]
    roots = [post(world, 8, kind=PostKind.INJECTED, stances={0: 0.5}) for _ in range(3)]
    show(world, feed_of(world, np.repeat(np.arange(8, dtype=np.int32), 3), np.tile(roots, 8)))
    always = {"contributors": 1.0, "write_delay": 0.01, "write_sd": 0.0, "unsourced": 1.0}
    draw = draws_of(world, Stage.MODERATE)

    def writers(impact: int, warm_up: float, minutes: int | None = 60) -> set[int]:
        time = Time(step_minutes=minutes, warm_up_hours=warm_up)
        feed = dict(feeds(world, ContributorParams(**always, writing_impact=impact), time, draw))[ActionKind.ADD_NOTE]
        return set(feed.agents.tolist())

    some = set(np.flatnonzero(may_write(world, 1)).tolist())
    assert writers(0, 0) == writers(1, 24) == writers(1, world.step + 1) == set(range(8))
    assert writers(1, 0) == writers(1, world.step) == writers(1, 24, None) == some != set(range(8))
    world.notes.write("settled")[:] = -1
    assert writers(1, 0) == set(range(8))


def test_notes_take_the_other_side_of_their_post_and_cite_what_was_found() -> None:
    world = town(40, propositions=2)
    kinds = [(0, 0.5), (0, -0.5), (1, 0.5), None]
    roots = np.array(
        [post(world, 40, kind=PostKind.INJECTED, stances={} if kind is None else dict([kind])) for kind in kinds]
    )
    entries = [(0, 1, True), (0, 1, False), (0, -1, True), (0, -1, False), (-1, 0, True), (-1, 0, False)]
    proposition, side, cites = (np.array(column) for column in zip(*entries, strict=True))
    notes = np.arange(10, 16, dtype=np.int32)
    bank = replace(
        NO_BANK, notes=notes, note_proposition=proposition.astype(np.int16), note_side=side.astype(float),
        note_sourced=cites,
    )  # fmt: skip
    draw, agents = draws_of(world, Stage.MODERATE), np.repeat(np.arange(40), 4)
    for sourced in (None, False, True):
        found = None if sourced is None else np.full(160, sourced)
        text = bank.note_texts(world, draw, "note text", agents, np.tile(roots, 40), sourced=found).reshape(40, 4)
        for at, kind in enumerate(kinds):
            about = [k for k, (p, s, _) in enumerate(entries) if kind is not None and p == kind[0] and s * kind[1] < 0]
            fits = about or [k for k, (p, _, _) in enumerate(entries) if p == -1]
            expected = {10 + k for k in fits if sourced is None or entries[k][2] == sourced}
            assert set(text[:, at].tolist()) == expected
    assert (NO_BANK.note_texts(world, draw, "note text", agents[:4], roots) == -1).all()


def test_notes_of_contributors_cite_a_source_exactly_where_one_was_found() -> None:
    settings = resolve_for(
        "health-rumor", agents=300, steps=72, sets=["moderation.strategy=community", "policy.notes=1.0"]
    )
    run = simulate(settings)
    texts = run.table("texts")["content"]
    said = {(bool(note["sourced"]), " Source: " in texts[note["text"]]) for note in run.table("notes").to_dicts()}
    assert said == {(True, True), (False, False)}


def test_a_run_has_notes_with_quality_by_contributors_alone() -> None:
    run = run_of(settings_of(RUN))
    notes, ratings, actions = run.table("notes"), run.table("note_ratings"), run.table("actions")
    assert notes.height > 3
    assert ratings.height > 10
    assert notes["quality"].is_not_nan().all()
    assert set(notes["sourced"]) <= {0, 1}
    people = set(notes["author"]) | set(ratings["agent"])
    assert len(people) < 45
    for kind, table in ((ActionKind.ADD_NOTE, notes), (ActionKind.RATE_NOTE, ratings)):
        assert actions.filter((actions["kind"] == kind) & (actions["status"] == 0)).height == table.height
    assert (run.table("exposures")["offered"] == -1).all()
    assert run_of(settings_of(RUN)).content_hash == run.content_hash


def test_contributors_who_are_left_out_do_nothing() -> None:
    run = run_of(settings_of(RUN))
    gone = sorted(set(run.table("note_ratings")["agent"]))[:5]
    other = run_of(settings_of({**RUN, "leave_out": {"agents": gone}}))
    assert other.table("note_ratings").height
    assert not set(other.table("actions")["agent"]) & set(gone)


def test_friction_applies_to_notes_and_ratings_of_contributors() -> None:
    run = run_of(settings_of({**RUN, "actions": {"friction": {"rate_note": 1.0, "add_note": 0.5}}}))
    actions, notes = run.table("actions"), run.table("notes")
    tried = actions.filter(actions["kind"] == ActionKind.ADD_NOTE)
    refused = tried.filter(tried["status"] == ActionStatus.REFUSED)
    assert set(refused["reason"]) == {Reason.FRICTION}
    assert 0 < notes.height == tried.height - refused.height
    assert not run.table("note_ratings").height


def test_without_contributors_notes_have_no_quality() -> None:
    given = {**RUN, "moderation": {**RUN["moderation"], "contributors": 0}}
    notes = run_of(settings_of(given)).table("notes")
    assert notes.height
    assert notes["quality"].is_nan().all()
    assert (notes["sourced"] == -1).all()


def test_what_the_scorer_and_labels_do_does_not_depend_on_truth_once_sources_do_not() -> None:
    """With equal chances of a source, the truth of posts has no effect on notes and ratings."""
    equal = {**RUN["moderation"], "source_if_false": 0.5, "source_if_true": 0.5}
    seen = []
    for veracity in (Veracity.TRUE, Veracity.FALSE):
        ends = []
        for world, _ in steps_of(settings_of(RUN, {"moderation": equal})):
            world.posts.write("veracity")[:] = veracity
            ends.append((world.notes["quality"].tolist(), world.note_ratings["rating"].tolist()))
        seen.append(ends[-1])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("notes", ["attack", "praise", "ignore"])
def test_coordinated_raters_rate_notes_on_promoted_rows(notes: str) -> None:
    world = town(4)
    for stance in (0.8, -0.8):
        note(world, 0, post(world, 4, stances={0: stance}))
    feed = feed_of(world, np.repeat(np.arange(1, 4, dtype=np.int32), 2), np.tile([0, 1], 3), np.tile([0, 1], 3))
    views = views_of(world, feed, allowed=frozenset({ActionKind.RATE_NOTE}))
    draws = draws_of(world, Stage.POLICY)
    for cover, start in ((0.0, 1), (1.0, 1), (1.0, 2)):
        given = {"proposition": 0, "notes": notes, "cover": cover, "notes_from": start}
        params = COORDINATED.params.model_validate(given)
        done = COORDINATED.decide(views, draws, params)
        rated = set(zip(done.agent.tolist(), done.target.tolist(), done.helpful.tolist(), strict=True))
        rating = Rating.NOT_HELPFUL if notes == "attack" else Rating.HELPFUL
        wanted = {(a, 0, rating) for a in (1, 2, 3)} if start == 1 else set()
        wanted |= {(a, 1, Rating.HELPFUL) for a in (1, 2, 3)} if cover else set()
        assert rated == (set() if notes == "ignore" else wanted)
