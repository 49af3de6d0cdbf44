"""Conformance check of belief rules, for anyone's rule.

It calls the rule on small random blocks and needs to know nothing of how the rule works: it holds the rule to
``BeliefRule`` (:mod:`townsquare.beliefs.contract`) and to what holds for all rules.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from townsquare.beliefs.arrays import leaves, owners, take_state
from townsquare.beliefs.checks import TOLERANCE, check_beliefs
from townsquare.beliefs.contract import BeliefRule, BeliefState, Replayed, Trail
from townsquare.beliefs.equation import STANCE_MARGIN
from townsquare.beliefs.grids import fitted_names, grid_in
from townsquare.core.array_types import Float, Int64
from townsquare.core.errors import SettingError
from townsquare.core.schema import NONE
from townsquare.humans.fit.predict import compiled, stepped
from townsquare.humans.fit.stream import replayed
from townsquare.testing.belief_calls import (
    RenamedDraws,
    Result,
    broken,
    call,
    default_draws,
    first_difference,
    run_step,
    sorted_rows,
)
from townsquare.testing.belief_cases import (
    FIRST,
    Case,
    random_inputs,
    random_params,
    shuffled_rows,
    spoken_to,
    take,
    take_params,
    with_exposures,
)
from townsquare.testing.belief_shapes import check_declaration, check_pairs, check_rows
from townsquare.testing.member_calls import equal

_AGENTS, _PROPOSITIONS = 24, 3


def check_belief_rule(rule: BeliefRule, seed: int = 0) -> None:
    """Raise if a belief rule breaks its contract.

    Checked, on random blocks with settings that differ between agents, for a fresh and for a used state: arrays are
    not written to and the same call gives the same result; shapes, dtypes and ranges; the trail names real rows and
    sums to the move, to 1e-12 in the rule's unit; who was shown nothing, or only rows of label weight 0, and stands
    at the start does not move; renaming agents or authors, cutting the block in two or (unless ``rule.ordered``)
    reordering the rows of an agent changes nothing else; a step stays in the hull if ``rule.bounded``; no agents and
    no propositions are fine; a rule with a grid can be stepped through messages, and its compiled replay, if it has
    one, ends where the steps end.

    Parameters
    ----------
    rule : BeliefRule
        Registered or not.
    seed : int
        Of the random blocks.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    rng = np.random.default_rng(seed)
    check_declaration(rule)
    fresh = _fresh_case(rule, _AGENTS, _PROPOSITIONS, rng)
    after, _ = run_step(rule, fresh)
    used = Case(after, random_inputs(rule, _AGENTS, _PROPOSITIONS, rng, fresh.inputs), fresh.params)
    for check in (check_rows, _check_pure, _check_quiet, _check_weight, _check_marks, _check_authors):
        check(rule, fresh, rng)
    check_rows(rule, used, rng)
    for case in (fresh, used):
        for check in (_check_agents, _check_order, _check_hull):
            check(rule, case, rng)
    for n, n_propositions in ((_AGENTS, 0), (0, _PROPOSITIONS), (0, 0)):
        check_rows(rule, _fresh_case(rule, n, n_propositions, rng), rng)
    if fitted_names(rule):
        _check_fit(rule, rng)


def _fresh_case(rule: BeliefRule, n: int, n_propositions: int, rng: np.random.Generator) -> Case:
    """Return a block of new agents, and that ``init`` made them as it should."""
    stance, confidence = rng.uniform(-1, 1, (n, n_propositions)), rng.uniform(0, 1, (n, n_propositions))
    params = random_params(rule, n, rng)
    for array in (stance, confidence, *(array for _, array in leaves(params))):
        array.flags.writeable = False
    state = call(rule, "init", lambda: rule.init(stance, confidence, params))
    if not isinstance(state, BeliefState):
        raise broken(rule, f"init returned {type(state).__name__}", "BeliefState")
    # A rule in log odds starts at the stance of its prior.
    expected = stance if rule.unit == "stance" else state.stance
    for name, array in (("stance", expected), ("confidence", confidence), ("start", expected)):
        if not equal(getattr(state, name), array):
            raise broken(rule, f"init changed the {name} it was given", f"{name} of a new agent as it was drawn")
    check_beliefs(rule, state, stance.shape)
    check_pairs(rule, state, n)
    part = np.arange(n // 2, n)
    cut = call(rule, "init", lambda: rule.init(stance[part], confidence[part], take_params(params, part)))
    if where := first_difference(leaves(cut), leaves(take_state(state, part))):
        raise broken(rule, f"init gives an agent another {where} when it is called for fewer agents", "the same")
    return Case(state, random_inputs(rule, n, n_propositions, rng), params)


def _check_pure(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    if different := _difference(run_step(rule, case), run_step(rule, case)):
        raise broken(rule, f"the same call twice gives another {different}", "a pure function of its inputs and draws")


def _difference(first: Result, second: Result) -> str:
    """Return the first array in which two steps differ, whatever the order of their rows; "" if none does."""
    (state, trail), (other, rows) = first, second
    return first_difference(leaves(state), leaves(other)) or first_difference(sorted_rows(trail), sorted_rows(rows))


def _check_agents(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    """Check that other agents of the block and an agent's place in it do not matter."""
    whole = run_step(rule, case)
    n = case.n_agents
    for agents in (np.arange(n // 2), np.arange(n // 2, n)):
        part = run_step(rule, take(case, agents, FIRST + int(agents[0])))
        _check_part(rule, "cutting the block in two", whole, agents, part)
    order = rng.permutation(n)
    draws = RenamedDraws(default_draws(), order, FIRST)
    renamed = run_step(rule, take(case, order, FIRST), draws)
    # A kernel that draws for itself cannot be told of other names.
    if not draws.asked_base:
        _check_part(rule, "renaming agents", whole, order, renamed)


def _check_part(rule: BeliefRule, what: str, whole: Result, agents: Int64, part: Result) -> None:
    state, trail = whole
    position = np.full(state.stance.shape[0], NONE)
    position[agents] = np.arange(agents.shape[0])
    in_part = position[trail.agent] != NONE
    wanted = Trail(*(column[in_part] for column in trail))
    wanted = wanted._replace(agent=position[wanted.agent].astype(np.int32))
    if different := _difference(part, (take_state(state, agents), wanted)):
        raise broken(rule, f"{what} changes {different}", "each agent's result from its own rows and draws alone")


def _check_order(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    if rule.ordered:
        return
    given, _ = run_step(rule, case)
    shuffled, _ = run_step(rule, shuffled_rows(case, rng))
    for (name, a), (_, b) in zip(leaves(given), leaves(shuffled), strict=True):
        if a.shape != b.shape or not np.allclose(a, b, rtol=0.0, atol=TOLERANCE, equal_nan=True):
            raise broken(rule, f"the order of an agent's rows changes {name}", "no change", "or declare ordered=True")


def _check_hull(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    if not rule.bounded:
        return
    # Many popular posts of one mind are what a sum of gains overshoots with.
    exposures = case.inputs.exposures
    agreed = exposures._replace(stance=np.full_like(exposures.stance, 0.3), likes=exposures.likes * np.int32(100))
    for some in (case, with_exposures(case, agreed)):
        low, high = _hull(some)
        after, _ = run_step(rule, some)
        if not bool(((after.stance >= low - TOLERANCE) & (after.stance <= high + TOLERANCE)).all()):
            got = "a stance leaves the hull of itself, its start and what was shown"
            raise broken(rule, got, do="or declare bounded=False")


def _hull(case: Case) -> tuple[Float, Float]:
    """Return bounds (n, P) of what may move each stance: itself, its start, weighted rows, own posts.

    Where the rule reads what authors hold, that of the rows that weigh too.
    """
    exposures, own, state = case.inputs.exposures, case.inputs.own, case.state
    low, high = np.minimum(state.stance, state.start), np.maximum(state.stance, state.start)
    weighs = exposures.weight > 0
    reader, proposition = owners(exposures.indptr), exposures.proposition
    seen = [(reader[weighs], proposition[weighs], exposures.stance[weighs])]
    seen.append((owners(own.indptr), own.proposition, own.stance))
    if (author_stance := case.inputs.authors.columns.get("stance")) is not None:
        known = weighs & ~np.isnan(author_stance)
        seen.append((reader[known], proposition[known], author_stance[known].astype(np.float64)))
    for agent, proposition, stance in seen:
        np.minimum.at(low, (agent, proposition), stance)
        np.maximum.at(high, (agent, proposition), stance)
    return low, high


def _check_quiet(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    after, _ = run_step(rule, case)
    touched = np.zeros(after.stance.shape, np.bool_)
    for agent, proposition in spoken_to(case):
        touched[agent, proposition] = True
    if not equal(after.stance[~touched], case.state.stance[~touched]):
        raise broken(rule, "a stance moves that nothing shown or written speaks to", "no move")


def _check_weight(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    if "exposures" not in rule.needs:
        return
    exposures = case.inputs.exposures
    weightless = with_exposures(case, exposures._replace(weight=np.zeros_like(exposures.weight)))
    after, _ = run_step(rule, weightless)
    free = np.ones(after.stance.shape, np.bool_)
    for agent, proposition in spoken_to(case)[1:]:  # all but the exposures
        free[agent, proposition] = False
    if not equal(after.stance[free], case.state.stance[free]):
        raise broken(rule, "rows of label weight 0 move a stance", "the weight scales what a row contributes")


def _check_marks(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    """Check that verdicts and notes are told apart in belief in claims: what was shown to nobody has no part in it."""
    if rule.veracities is None:
        return
    contents = case.inputs.contents
    for name, column in (("verdict", "verdict"), ("note", "noted")):
        shown = contents._replace(**{column: np.zeros_like(getattr(contents, column))})
        after, _ = run_step(rule, case._replace(inputs=replace(case.inputs, contents=shown)))
        met = rule.veracities(after, case.params)
        if np.any(getattr(met, name)) or np.any(getattr(met, f"judged_{name}")):
            raise broken(rule, f"belief in a claim has a part of a {name} that nobody was shown", "0")


def _check_authors(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    """Check on a fresh state alone, as rules may keep values by author."""
    draws = RenamedDraws(default_draws(), np.arange(case.n_agents), FIRST)
    given, _ = run_step(rule, case, draws)
    exposures, claim_exposures = case.inputs.exposures, case.inputs.holdings.claim_exposures
    names = rng.permutation(1000).astype(np.int32)
    claim_exposures = claim_exposures._replace(author=names[claim_exposures.author])
    holdings = replace(case.inputs.holdings, claim_exposures=claim_exposures)
    inputs = replace(case.inputs, exposures=exposures._replace(author=names[exposures.author]), holdings=holdings)
    renamed, _ = run_step(rule, case._replace(inputs=inputs))
    if not draws.drew and not (equal(given.stance, renamed.stance) and equal(given.confidence, renamed.confidence)):
        raise broken(rule, "renaming authors changes a stance or a confidence", "an author's number means nothing")


def _check_fit(rule: BeliefRule, rng: np.random.Generator) -> None:
    try:
        grid = grid_in(rule)
    except SettingError as error:
        raise broken(rule, error.got, error.allowed, error.do) from error
    people = _random_people(rng)
    x, y = np.array([grid.x[0], grid.x[-1]]), np.array([grid.y[0], grid.y[-1]])
    numbers = {grid.x_name: np.repeat(x, 2), grid.y_name: np.tile(y, 2)}
    ends = stepped(people, rule, STANCE_MARGIN, numbers)
    if rule.replay is None:
        return
    replay_ends = compiled(people, rule, rule.replay, STANCE_MARGIN, numbers, (2, 2))
    if not np.allclose(replay_ends.reshape(ends.shape), ends, rtol=0.0, atol=TOLERANCE):
        raise broken(rule, "its replay ends elsewhere than its steps", f"the same stances to {TOLERANCE:g}")


def _random_people(rng: np.random.Generator) -> Replayed:
    """Return eight people, the first without messages, whose records may replace others."""
    sign: list[float] = []
    back: list[int] = []
    indptr = [0]
    for person in range(8):
        active: list[int] = []
        for _ in range(person):
            replaces = rng.random() < 0.3
            if replaces:  # the oldest that counts, or one that came before the person's first event
                began = active.pop(0) if active else indptr[-1] - 1
                back.append(len(sign) - began)
                sign.append(-1.0)
            active.append(len(sign))
            back.append(0)
            sign.append(1.0)
        indptr.append(len(sign))
    n = len(sign)
    polarity, strength = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 1.0, n)
    for x in range(n):
        began = x - back[x]
        if back[x] and began >= indptr[np.searchsorted(indptr, x, side="right") - 1]:
            polarity[x], strength[x] = polarity[began], strength[began]
    author, start = rng.integers(0, 3, n), rng.uniform(-1.0, 1.0, 8)
    known = rng.choice([0.0, 0.5, 1.0], n), rng.integers(-1, 2, n), rng.integers(-1, 2, n)
    events = polarity, strength, np.array(sign), polarity, author, np.array(back)
    return replayed(start, np.array(indptr), *events, *known)
