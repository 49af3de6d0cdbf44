"""Every registered belief rule passes the public check, and the check catches a broken rule of each sort."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.beliefs.averaging import RULE as AVERAGING
from townsquare.beliefs.averaging import Params as AveragingParams
from townsquare.beliefs.contract import BeliefRule, BeliefState, Exposed, Trail
from townsquare.beliefs.exposure import RULE as EXPOSURE
from townsquare.beliefs.trail import no_trail
from townsquare.core import registry
from townsquare.core.enums import TrailKind
from townsquare.core.errors import ContractError
from townsquare.settings.config import MemberParams, setting
from townsquare.testing.belief_conformance import check_belief_rule

RULES = registry.names("beliefs")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", RULES)
def test_registered_rules(name: str, seed: int) -> None:
    rule = registry.get("beliefs", name)
    assert rule.name == name
    check_belief_rule(rule, seed)


def broken(step=None, rule: BeliefRule = AVERAGING, **changes) -> BeliefRule:
    """``rule`` with another step, which is handed what the rule itself gives as well."""
    if step is None:
        return replace(rule, name="broken", **changes)

    def wrapped(state, inputs, params, rng):
        return step(*rule.step(state, inputs, params, rng), state, inputs, params, rng)

    return replace(rule, name="broken", step=wrapped, replay=None, **changes)


def moved_by(state: BeliefState, trail: Trail, move: np.ndarray) -> tuple[BeliefState, Trail]:
    """An honest further move: put into the trail as an anchor."""
    agent, proposition = np.nonzero(move)
    n = len(agent)
    rows = Trail(
        agent.astype(np.int32),
        proposition.astype(np.int16),
        np.full(n, TrailKind.ANCHOR, np.uint8),
        np.full(n, -1, np.int16),
        np.full(n, -1, np.int32),
        move[agent, proposition],
        np.full(n, np.nan),
    )
    both = Trail(*(np.concatenate(pair) for pair in zip(trail, rows, strict=True)))
    return replace(state, stance=state.stance + move), both


def toward(state: BeliefState, share: np.ndarray | float) -> np.ndarray:
    """A move by a share of the way to 0, which stays in [-1, 1]."""
    return -state.stance * share


def count(exposed: Exposed) -> np.ndarray:
    return np.diff(exposed.indptr)


def heard(state: BeliefState, exposed: Exposed) -> np.ndarray:
    """Which stances were spoken to by a row that weighs anything, (n, P)."""
    out = np.zeros(state.stance.shape, np.bool_)
    weighs = exposed.weight > 0
    out[np.repeat(np.arange(len(out)), count(exposed))[weighs], exposed.proposition[weighs]] = True
    return out


def writes_to_inputs(after, trail, state, inputs, params, rng):
    state.stance[:] = 0.0
    return after, trail


def writes_in_spite_of_the_flag(after, trail, state, inputs, params, rng):
    state.confidence.flags.writeable = True
    np.multiply(state.confidence, 0.5, out=state.confidence)
    return after, trail


@cache
def calls() -> list[int]:
    return []


def remembers(after, trail, state, inputs, params, rng):
    calls().append(1)
    return moved_by(after, trail, toward(after, 0.001 * (len(calls()) % 7)))


def draws_without_keys(after, trail, state, inputs, params, rng):
    return moved_by(after, trail, toward(after, np.random.default_rng().uniform(0, 0.1)))


def draws_by_place(after, trail, state, inputs, params, rng):
    u = rng.uniform("mood", np.arange(len(after.stance)))[:, None]
    return moved_by(after, trail, toward(after, 0.1 * u) * heard(state, inputs.exposures))


def narrows_the_dtype(after, trail, state, inputs, params, rng):
    return replace(after, stance=after.stance.astype(np.float32)), trail


def loses_an_agent(after, trail, state, inputs, params, rng):
    return replace(after, stance=after.stance[1:]), trail


def leaves_the_range(after, trail, state, inputs, params, rng):
    return moved_by(after, trail, (2.5 - after.stance) * (count(inputs.exposures) > 20)[:, None])


def turns_nan(after, trail, state, inputs, params, rng):
    return replace(after, confidence=np.full_like(after.confidence, np.nan)), trail


def forgets_the_start(after, trail, state, inputs, params, rng):
    return replace(after, start=after.stance), trail


def adds_an_array(after, trail, state, inputs, params, rng):
    return replace(after, arrays={"mood": np.zeros(len(after.stance))}), trail


def shortens_a_column(after, trail, state, inputs, params, rng):
    return after, trail._replace(post=trail.post[1:])


def widens_a_column(after, trail, state, inputs, params, rng):
    return after, trail._replace(post=trail.post.astype(np.int64))


def names_no_agent(after, trail, state, inputs, params, rng):
    return after, trail._replace(agent=trail.agent + np.int32(10_000))


def names_a_post_not_shown(after, trail, state, inputs, params, rng):
    return after, trail._replace(post=trail.post + np.int32(5_000_000))


def trusts_beyond_one(after, trail, state, inputs, params, rng):
    return after, trail._replace(trust=np.full_like(trail.amount, 1.5))


def leaves_no_trail(after, trail, state, inputs, params, rng):
    return after, no_trail()


def rounds_the_trail(after, trail, state, inputs, params, rng):
    return after, trail._replace(amount=np.round(trail.amount, 6))


def moves_the_quiet(after, trail, state, inputs, params, rng):
    return moved_by(after, trail, toward(after, 0.01))


def ignores_labels(after, trail, state, inputs, params, rng):
    plain = inputs.exposures._replace(weight=np.ones_like(inputs.exposures.weight))
    return AVERAGING.step(state, replace(inputs, exposures=plain), params, rng)


def follows_the_crowd(after, trail, state, inputs, params, rng):
    mean = np.broadcast_to(state.stance.mean() if state.stance.size else 0.0, after.stance.shape)
    return moved_by(after, trail, 0.1 * (mean - after.stance) * heard(state, inputs.exposures))


def likes_low_numbers(after, trail, state, inputs, params, rng):
    exposures = inputs.exposures
    agent = np.repeat(np.arange(len(after.stance)), count(exposures))
    lowest = np.full(after.stance.shape, 1000.0)
    np.minimum.at(lowest, (agent, exposures.proposition), exposures.author)
    return moved_by(after, trail, np.where(heard(state, exposures), toward(after, 0.0005 * lowest), 0.0))


def hears_the_last_row_only(after, trail, state, inputs, params, rng):
    exposures = inputs.exposures
    agent = np.repeat(np.arange(len(after.stance)), count(exposures))
    cell = agent * after.stance.shape[1] + exposures.proposition
    last = np.append(cell[1:] != cell[:-1], True)[: len(cell)]
    return AVERAGING.step(
        state, replace(inputs, exposures=exposures._replace(weight=exposures.weight * last)), params, rng
    )


def uses_one_agent_s_settings(after, trail, state, inputs, params, rng):
    same = {name: np.repeat(value[:1], len(value)) for name, value in params.items()}
    return AVERAGING.step(state, inputs, same, rng)


def fails_without_agents(after, trail, state, inputs, params, rng):
    state.stance[0]
    return after, trail


def returns_the_state_alone(after, trail, state, inputs, params, rng):
    return after


def init_flattens(stance, confidence, params):
    return BeliefState(np.zeros_like(stance), confidence.copy(), stance.copy())


def init_knows_its_neighbors(stance, confidence, params):
    mood = np.full(len(stance), stance.sum())
    return BeliefState(stance.copy(), confidence.copy(), stance.copy(), arrays={"mood": mood})


BROKEN = [
    (writes_to_inputs, "array it was given"),
    (writes_in_spite_of_the_flag, "which it was given"),
    (remembers, "same call twice"),
    (draws_without_keys, "same call twice"),
    (draws_by_place, "cutting the block in two"),
    (narrows_the_dtype, "stance is float32"),
    (loses_an_agent, r"stance is float64 \(23, 3\)"),
    (leaves_the_range, "stance leaves its range"),
    (turns_nan, "confidence leaves its range"),
    (forgets_the_start, "changed start"),
    (adds_an_array, "arrays and pairs"),
    (shortens_a_column, "trail.post"),
    (widens_a_column, "trail.post is int64"),
    (names_no_agent, "trail.agent outside"),
    (names_a_post_not_shown, "trail row of kind EXPOSURE"),
    (trusts_beyond_one, "trail.trust outside"),
    (leaves_no_trail, "does not sum to the move"),
    (rounds_the_trail, "does not sum to the move"),
    (moves_the_quiet, "nothing shown or written speaks to"),
    (ignores_labels, "hull|label weight 0"),
    (follows_the_crowd, "cutting the block in two"),
    (likes_low_numbers, "renaming authors"),
    (hears_the_last_row_only, "order of an agent's rows"),
    (uses_one_agent_s_settings, "cutting the block in two"),
    (fails_without_agents, "IndexError"),
    (returns_the_state_alone, "returned BeliefState"),
]


@pytest.mark.parametrize(("step", "said"), BROKEN, ids=[step.__name__ for step, _ in BROKEN])
def test_a_broken_step_is_caught(step, said: str) -> None:
    with raises_error(ContractError, got=said) as caught:
        check_belief_rule(broken(step))
    assert caught.value.where.startswith("belief rule 'broken'")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unit": "miles"}, {"got": "unit 'miles'"}),
        ({"needs": frozenset({"gossip"})}, {"got": "needs"}),
        ({"needs": frozenset({"contents"})}, {"allowed": "beside exposures"}),
        ({"needs": frozenset({"claim_exposures"})}, {"allowed": "beside holdings"}),
        ({"params": dict}, {"got": "params"}),
        ({"init": init_flattens}, {"got": "init changed the stance"}),
        ({"init": init_knows_its_neighbors}, {"got": "when it is called for fewer agents"}),
        ({"unit": "log odds"}, {"allowed": "log_odds"}),
    ],
)
def test_a_broken_declaration_is_caught(changes: dict, said: dict[str, str]) -> None:
    with raises_error(ContractError, **said):
        check_belief_rule(broken(**changes))


def halves_the_ends(part, rows, cells, out):
    AVERAGING.replay.run(part, rows, cells, out)
    out *= 0.5


class UnevenParams(AveragingParams):
    stubbornness: float = setting(0.0, "weight of the start", ge=0, le=1, grid=(0.2, 0.1))


class OneNumberParams(MemberParams):
    weight_on_others: float = setting(0.1, "weight of the mean", ge=0, le=1, grid=(0.1, 0.2))
    stubbornness: float = setting(0.0, "weight of the start", ge=0, le=1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"replay": AVERAGING.replay._replace(run=halves_the_ends)},
            {"got": "its replay ends elsewhere than its steps"},
        ),
        (
            {"params": UnevenParams},
            {"got": r"stubbornness, grid=\(0\.2, 0\.1\)", "allowed": "two or more ascending values"},
        ),
        (
            {"params": OneNumberParams},
            {"got": "a grid on weight_on_others", "do": "in its Params write stubbornness as setting"},
        ),
    ],
)
def test_what_a_fit_reads_is_checked(changes: dict, said: dict[str, str]) -> None:
    with raises_error(ContractError, **said):
        check_belief_rule(broken(**changes))


def test_ignoring_labels_is_caught_without_the_hull_too() -> None:
    with raises_error(ContractError, got="label weight 0"):
        check_belief_rule(broken(ignores_labels, bounded=False))


def test_what_is_not_promised_is_not_asked_for() -> None:
    check_belief_rule(broken(hears_the_last_row_only, ordered=True))


def test_trust_in_feed_order_is_ordered() -> None:
    with raises_error(ContractError, got=r"order of an agent's rows changes pairs\.trust"):
        check_belief_rule(broken(None, EXPOSURE, ordered=False))


def test_the_exact_rule_is_not_bounded() -> None:
    with raises_error(ContractError, got="hull"):
        check_belief_rule(broken(None, EXPOSURE, bounded=True))


class LogOddsParams(MemberParams):
    uptake: float = 0.3


def log_odds_step(state, inputs, params, rng):
    exposures = inputs.exposures
    agent = np.repeat(np.arange(len(state.stance)), count(exposures))
    amount = exposures.stance * exposures.weight * params["uptake"][agent]
    odds = state.arrays["log_odds"].copy()
    np.add.at(odds, (agent, exposures.proposition), amount)
    stance = np.where(odds == state.arrays["log_odds"], state.stance, np.tanh(odds / 2))
    trail = Trail(
        agent.astype(np.int32),
        exposures.proposition,
        np.full(len(agent), TrailKind.EXPOSURE, np.uint8),
        exposures.rank,
        exposures.post,
        amount,
        np.full(len(agent), np.nan),
    )
    return replace(state, stance=stance, arrays={"log_odds": odds}), trail


def log_odds_init(stance, confidence, params):
    held = {"log_odds": 2 * np.arctanh(np.clip(stance, -0.999, 0.999))}
    return BeliefState(stance.copy(), confidence.copy(), stance.copy(), arrays=held)


LOG_ODDS = BeliefRule("mine", frozenset({"exposures"}), LogOddsParams, log_odds_init, log_odds_step, unit="log odds")


def test_a_rule_in_log_odds_passes_and_its_trail_is_held_to_log_odds() -> None:
    check_belief_rule(LOG_ODDS)
    with raises_error(ContractError, got="does not sum to the move"):
        check_belief_rule(broken(leaves_no_trail, LOG_ODDS))


def test_the_stance_of_log_odds_is_theirs() -> None:
    def detached(after, trail, state, inputs, params, rng):
        return replace(after, stance=after.stance * 0.9), trail

    with raises_error(ContractError, got="other than that of its log odds"):
        check_belief_rule(broken(detached, LOG_ODDS))


def records_step(state, inputs, params, rng):
    """L is the sum of the polarities of the active records; each change is a row."""
    records, changes = inputs.holdings.records, inputs.holdings.changes
    owner = np.repeat(np.arange(len(state.stance)), np.diff(records.indptr))
    odds = np.zeros(state.stance.shape)
    np.add.at(odds, (owner[records.active], records.proposition[records.active]), records.polarity[records.active])
    agent = np.repeat(np.arange(len(state.stance)), np.diff(changes.indptr))
    record = records.indptr[:-1][agent] + changes.record
    sign = np.array([1.0, -1.0, 1.0, 0.0])[changes.kind]
    own = np.where(changes.rank < 0, TrailKind.OWN, TrailKind.EXPOSURE)
    kind = np.choose(changes.kind, [own, TrailKind.ARCHIVED, TrailKind.RESTORED, own]).astype(np.uint8)
    trail = Trail(
        agent.astype(np.int32),
        records.proposition[record],
        kind,
        changes.rank,
        changes.post,
        sign * records.polarity[record],
        np.full(len(agent), np.nan),
    )
    return replace(state, stance=np.tanh(odds / 2), arrays={"log_odds": odds}), trail


def records_init(stance, confidence, params):
    zero = np.zeros_like(stance)
    return BeliefState(zero, confidence.copy(), zero.copy(), arrays={"log_odds": zero.copy()})


def test_a_rule_over_argument_records_passes() -> None:
    needs = frozenset({"holdings", "claim_exposures"})
    rule = BeliefRule("records", needs, LogOddsParams, records_init, records_step, unit="log odds")
    for seed in range(3):
        check_belief_rule(rule, seed)
    with raises_error(ContractError, got="does not sum to the move"):
        check_belief_rule(broken(leaves_no_trail, rule))
    with raises_error(ContractError, got="trail row of kind"):
        check_belief_rule(broken(names_a_post_not_shown, rule))


def test_a_fit_gives_a_rule_the_contents_that_it_needs() -> None:
    def reads(after, trail, state, inputs, params, rng):
        assert inputs.contents.claim.shape == inputs.contents.noted.shape == inputs.exposures.post.shape
        return after, trail

    check_belief_rule(broken(reads, needs=frozenset({"exposures", "contents"})))


def test_a_keyed_draw_by_agent_passes() -> None:
    def moody(after, trail, state, inputs, params, rng):
        agents = inputs.first + np.arange(len(after.stance))
        u = rng.uniform("mood", agents)[:, None] if len(agents) else np.zeros((0, 1))
        return moved_by(after, trail, toward(after, 0.1 * u) * heard(state, inputs.exposures))

    check_belief_rule(broken(moody, bounded=False))
