"""The rule ``exposure`` against the page in plain Python, and the decisions that the page leaves open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belief_blocks import new, shown, step, total, trust, wrote
from simswarm_oracle import Believer, rows_of, update
from townsquare.beliefs.contract import BeliefInputs, per_agent
from townsquare.beliefs.exposure import RULE
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.enums import TrailKind

STANCE = st.floats(-1, 1, allow_nan=False)
POST = st.tuples(st.integers(0, 5), st.integers(0, 8), STANCE, st.integers(0, 200))
ROUND = st.tuples(st.lists(POST, max_size=12), st.integers(0, 300), st.integers(0, 300))
PERSON = st.tuples(STANCE, st.floats(0, 1, allow_nan=False), st.lists(ROUND, max_size=3))


@settings(deadline=None, max_examples=40)
@given(st.lists(PERSON, min_size=1, max_size=3))
def test_equal_to_the_page_to_the_last_bit(people: list) -> None:
    agents = [Believer(stance, confidence) for stance, confidence, _ in people]
    state = new(RULE, [[a.stance] for a in agents], [[a.confidence] for a in agents])
    for turn in range(3):
        calls = [rounds[turn] if turn < len(rounds) else ([], 0, 0) for _, _, rounds in people]
        exposures = shown(*(rows_of(agent, posts) for agent, (posts, _, _) in zip(agents, calls, strict=True)))
        own = wrote(1, *([()] * len(agents)), likes=[[c[1]] for c in calls], dislikes=[[c[2]] for c in calls])
        before = state.stance
        state, trail = step(RULE, state, exposures, own)
        for agent, (posts, likes, dislikes) in zip(agents, calls, strict=True):
            update(agent, posts, likes, dislikes)
        assert state.stance[:, 0].tolist() == [a.stance for a in agents]
        assert state.confidence[:, 0].tolist() == [a.confidence for a in agents]
        assert [trust(state, i) for i in range(len(agents))] == [a.trust for a in agents]
        np.testing.assert_allclose(total(trail, before.shape), state.stance - before, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("stance", "confidence", "known"), [(-1.7, -0.2, 1.4), (1.5, 2.0, -0.3), (3.0, 0.5, 0.5)])
def test_values_outside_the_ranges_do_what_the_page_does(stance: float, confidence: float, known: float) -> None:
    posts = [(0, 0, 1.2, 6), (1, 1, -3.0, 0), (0, 0, 0.4, -10)]
    agent = Believer(stance, confidence, {0: known, 9: known})
    state, _ = step(RULE, new(RULE, [[0.0]]), shown([{"author": 0}, {"author": 9}]))
    block = state.pairs["trust"]
    given_trust = block._replace(value=np.full(2, known))
    state = type(state)(np.array([[stance]]), np.array([[confidence]]), state.start, pairs={"trust": given_trust})
    rows = rows_of(agent, posts)
    update(agent, posts, 3, 1)
    state, trail = step(RULE, state, shown(rows), wrote(1, (), likes=3, dislikes=1))
    assert (state.stance.item(), state.confidence.item()) == (agent.stance, agent.confidence)
    assert trust(state, 0) == agent.trust
    assert total(trail, (1, 1)).item() == pytest.approx(agent.stance - stance, abs=1e-12)


def test_a_stance_outside_the_range_is_clipped_without_any_row() -> None:
    state, trail = step(RULE, new(RULE, [[3.0, 0.5]]), shown([]))
    assert state.stance.tolist() == [[1.0, 0.5]]
    assert (trail.kind.tolist(), trail.amount.tolist()) == ([TrailKind.CLIP], [-2.0])


def test_trust_is_read_before_any_row_and_steps_by_proposition_then_feed_order() -> None:
    rows = [
        {"author": 4, "stance": 1.0, "proposition": 0},
        {"author": 4, "stance": 0.5, "proposition": 0},
        {"author": 4, "stance": -1.0, "proposition": 1},
    ]
    start = new(RULE, [[0.2, 0.3]])
    state, trail = step(RULE, start, shown(rows))
    assert trail.trust.tolist() == [0.5, 0.5, 0.5]
    expected = 0.5
    for row in rows:
        resulting = state.stance[0, row["proposition"]]
        expected += ((1.0 - abs(row["stance"] - resulting) / 2.0) - 0.5) * 0.05
    assert trust(state, 0) == {4: expected}
    _, trail = step(RULE, state, shown(rows))
    assert trail.trust.tolist() == [expected] * 3


def test_every_step_of_trust_is_clipped_on_its_own() -> None:
    settings_ = {"trust_start": 0.99, "trust_rate": 1.0, "pull": 0.0}
    rows = [{"author": 1, "stance": 1.0}, {"author": 1, "stance": -1.0}]
    state, _ = step(RULE, new(RULE, [[1.0]]), shown(rows), **settings_)
    assert trust(state, 0) == {1: 0.5}


def test_unknown_authors_start_at_their_credibility() -> None:
    rows = [{"author": 1, "credibility": 0.9}, {"author": 2}]
    _, trail = step(RULE, new(RULE, [[0.0]]), shown(rows), trust_start=0.2)
    assert trail.trust.tolist() == [0.9, 0.2]


def test_label_weight_scales_the_move_and_leaves_trust_alone() -> None:
    full, full_trail = step(RULE, new(RULE, [[0.0]]), shown([{"author": 1, "stance": 0.8}]), trust_rate=0.05)
    half, half_trail = step(RULE, new(RULE, [[0.0]]), shown([{"author": 1, "stance": 0.8, "weight": 0.5}]))
    none, _ = step(RULE, new(RULE, [[0.0]]), shown([{"author": 1, "stance": 0.8, "weight": 0.0}]))
    assert half_trail.amount[0] == full_trail.amount[0] / 2
    assert none.stance.item() == 0.0
    # The step of trust sees the label only through the stance that results.
    for state in (full, half, none):
        gap = abs(0.8 - state.stance.item())
        assert trust(state, 0) == {1: 0.5 + ((1.0 - gap / 2.0) - 0.5) * 0.05}


def test_own_posts_pull_only_when_asked_to() -> None:
    own = wrote(2, [{"proposition": 1, "post": 31, "stance": 0.8}])
    state, trail = step(RULE, new(RULE, [[0.1, 0.1]]), shown([]), own)
    assert state.stance.tolist() == [[0.1, 0.1]]
    assert len(trail.amount) == 0
    state, trail = step(RULE, new(RULE, [[0.1, 0.1]]), shown([]), own, own_pull=0.25)
    assert state.stance.tolist() == [[0.1, 0.1 + 0.25 * (0.8 - 0.1)]]
    row = (trail.kind[0], trail.proposition[0], trail.rank[0], trail.post[0], trail.amount[0])
    assert row == (TrailKind.OWN, 1, -1, 31, 0.25 * (0.8 - 0.1))


def test_the_anchor_pulls_to_the_start() -> None:
    moved, _ = step(RULE, new(RULE, [[0.5]]), shown([{"author": 1, "stance": -1.0}]))
    state, trail = step(RULE, moved, shown([]), anchor=0.1)
    assert trail.kind.tolist() == [TrailKind.ANCHOR]
    assert state.stance.item() == moved.stance.item() + 0.1 * (0.5 - moved.stance.item())


def test_the_clip_row_says_what_the_bound_took_off() -> None:
    rows = [{"author": n, "stance": 1.0, "likes": 200, "rank": n, "post": n} for n in range(10)]
    state, trail = step(RULE, new(RULE, [[0.9]]), shown(rows))
    assert state.stance.item() == 1.0
    assert trail.kind.tolist() == [TrailKind.EXPOSURE] * 10 + [TrailKind.CLIP]
    assert trail.amount.sum() == pytest.approx(0.1, abs=1e-12)


def test_confidence_follows_own_engagement_alone() -> None:
    rows = [{"author": 1, "stance": 1.0}]
    own = wrote(3, (), likes=[[10, 0, 300]], dislikes=[[5, 100, 0]])
    state, _ = step(RULE, new(RULE, [[0.0, 0.0, 0.0]]), shown(rows), own)
    assert state.confidence.tolist() == [[0.5 + (10 * 0.005 - 5 * 0.008), 0.0, 1.0]]


def test_a_long_feed_overshoots_and_then_diverges() -> None:
    """The documented weakness: from 58 posts a step at trust 0.5, each step ends further off than the one before."""
    rows = [{"author": n, "stance": 0.3} for n in range(58)]
    state = new(RULE, [[0.0]])
    gaps = []
    for _ in range(4):
        state, _ = step(RULE, state, shown(rows), trust_rate=0.0)
        gaps.append(abs(state.stance.item() - 0.3))
    assert gaps == sorted(gaps)
    assert gaps[0] > 0.3


def test_settings_may_differ_between_agents() -> None:
    feed = [{"author": 1, "stance": 1.0, "likes": 2}]
    together = shown(feed, feed, feed)
    pulls = np.array([0.0, 0.05, 0.1])
    state = new(RULE, [[0.0], [0.0], [0.0]])
    params = per_agent(RULE.params(), 3)
    inputs = BeliefInputs(0, together, wrote(1, (), (), ()))
    mixed, _ = RULE.step(state, inputs, {**params, "pull": pulls}, StageDraws(1, Stage.BELIEF, 1))
    for i, pull in enumerate(pulls):
        alone, _ = step(RULE, new(RULE, [[0.0]]), shown(feed), pull=pull)
        assert mixed.stance[i].item() == alone.stance.item()


def test_an_old_state_stays_as_it_was() -> None:
    first, _ = step(RULE, new(RULE, [[0.0]]), shown([{"author": 1, "stance": 1.0}]))
    kept = trust(first, 0)
    step(RULE, first, shown([{"author": 1, "stance": 1.0}, {"author": 2, "stance": 1.0}]))
    assert trust(first, 0) == kept
