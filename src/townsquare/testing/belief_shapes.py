"""Shapes, dtypes and ranges of what a belief rule gives, and whether its trail names real rows."""

from __future__ import annotations

import numpy as np

from townsquare.beliefs.contract import BeliefRule, BeliefState, Trail
from townsquare.config import MemberParams
from townsquare.pairs import PairBlock
from townsquare.schema import NONE, TABLES, TrailKind
from townsquare.testing.belief_calls import broken, equal, run_step
from townsquare.testing.belief_cases import Case, spoken_to

TOLERANCE = 1e-12
UNITS = ("stance", "log odds")
NEEDS = frozenset({"exposures", "own", "holdings", "showings"})
LOG_ODDS = "log_odds"
_DTYPES = {column.name: np.dtype(column.dtype) for column in TABLES["trail"].columns if column.name != "step"}


def check_declaration(rule: BeliefRule) -> None:
    """Unit, needs and params are of those that exist."""
    params: object = rule.params
    if rule.unit not in UNITS:
        raise broken(rule, f"unit {rule.unit!r}", " or ".join(UNITS))
    if not rule.needs <= NEEDS:
        raise broken(rule, f"needs {sorted(rule.needs)}", f"any of {sorted(NEEDS)}")
    if not (isinstance(params, type) and issubclass(params, MemberParams)):
        raise broken(rule, f"params {params!r}", "a subclass of MemberParams")


def check_result(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    """One step: the state and the trail that it gives."""
    after, trail = run_step(rule, case)
    check_state(rule, case, after)
    _check_columns(rule, case, trail)


def check_state(rule: BeliefRule, case: Case, after: BeliefState) -> None:
    """Shapes, dtypes and ranges of the state after a step."""
    before = case.state
    for name, low in (("stance", -1.0), ("confidence", 0.0)):
        array, shape = np.asarray(getattr(after, name)), before.stance.shape
        if array.dtype != np.float64 or array.shape != shape:
            raise broken(rule, f"{name} is {array.dtype} {array.shape}", f"float64 {shape}")
        if not bool(((array >= low) & (array <= 1.0)).all()):
            raise broken(rule, f"{name} leaves its range", f"{low:g} to 1 and no NaN")
    if not equal(after.start, before.start):
        raise broken(rule, "step changed start", "the stance at birth")
    check_arrays(rule, after, case.n_agents)
    check_unit(rule, after)
    had, has = _kinds(before), _kinds(after)
    if had != has:
        raise broken(rule, f"step turned arrays and pairs {had} into {has}", "the names and dtypes that init gave")


def check_unit(rule: BeliefRule, state: BeliefState) -> None:
    """A rule in log odds keeps them, and its stance is theirs."""
    if rule.unit != "log odds":
        return
    odds = state.arrays.get(LOG_ODDS)
    if odds is None or odds.shape != state.stance.shape or odds.dtype != np.float64:
        raise broken(rule, f"unit 'log odds' and arrays {sorted(state.arrays)}", "an (n, P) float64 array 'log_odds'")
    if not np.allclose(state.stance, np.tanh(odds.astype(np.float64) / 2.0), rtol=0.0, atol=TOLERANCE):
        raise broken(rule, "a stance other than that of its log odds", "2σ(L) − 1")


def _kinds(state: BeliefState) -> dict[str, str]:
    arrays = {name: str(array.dtype) for name, array in state.arrays.items()}
    return arrays | {f"pairs {name}": str(block.value.dtype) for name, block in state.pairs.items()}


def check_arrays(rule: BeliefRule, state: BeliefState, n: int) -> None:
    """What a rule keeps beside stance and confidence is by agent of the block."""
    for name, array in state.arrays.items():
        if array.shape[:1] != (n,):
            raise broken(rule, f"array {name!r} has shape {array.shape}", f"first axis {n}")
    for name, block in state.pairs.items():
        if not _is_block(block, n):
            raise broken(rule, f"pairs {name!r} are no block of {n} agents", "ascending int32 keys by agent")


def _is_block(block: PairBlock, n: int) -> bool:
    indptr, key, value = block
    if indptr.shape != (n + 1,) or key.dtype != np.int32 or not key.shape == value.shape == (int(indptr[-1]),):
        return False
    agent = np.repeat(np.arange(n), np.diff(indptr))
    same = agent[1:] == agent[:-1]
    return bool((np.diff(key.astype(np.int64))[same] > 0).all())


def _check_columns(rule: BeliefRule, case: Case, trail: Trail) -> None:
    m = trail.amount.shape
    for name, dtype in _DTYPES.items():
        column = getattr(trail, name)
        if column.dtype != np.dtype(dtype) or column.shape != m:
            raise broken(rule, f"trail.{name} is {column.dtype} {column.shape}", f"{np.dtype(dtype)} {m}")
    n, n_propositions = case.state.stance.shape
    tops = (
        ("agent", trail.agent, n),
        ("proposition", trail.proposition, n_propositions),
        ("kind", trail.kind, len(TrailKind)),
    )
    for name, column, top in tops:
        if not bool(((column >= 0) & (column < top)).all()):
            raise broken(rule, f"trail.{name} outside its range", f"0 to {top - 1}")
    if not bool((np.isnan(trail.trust) | ((trail.trust >= 0) & (trail.trust <= 1))).all()):
        raise broken(rule, "trail.trust outside its range", "0 to 1, NaN where there is none")
    _check_sources(rule, case, trail)


def _check_sources(rule: BeliefRule, case: Case, trail: Trail) -> None:
    """Rows of exposures and own posts name one that was given; others name none, or what a record came from."""
    exposures, own, holdings = case.inputs.exposures, case.inputs.own, case.inputs.holdings
    nowhere = np.full(own.post.shape, NONE)
    given: set[tuple[int, int, int, int]] = set()
    parts = (
        (exposures.rank, exposures.post),
        (nowhere, own.post),
        (holdings.changes.rank, holdings.changes.post),
        (holdings.showings.rank, holdings.showings.post),
    )
    for (agent, proposition), (rank, post) in zip(spoken_to(case), parts, strict=True):
        given.update(zip(agent.tolist(), proposition.tolist(), rank.tolist(), post.tolist(), strict=True))
    rows = zip(trail.agent.tolist(), trail.proposition.tolist(), trail.rank.tolist(), trail.post.tolist(), strict=True)
    for row, number in zip(rows, trail.kind, strict=True):
        kind, is_own = TrailKind(int(number)), row[2] == NONE
        named = row in given and is_own == (kind == TrailKind.OWN)
        known = {TrailKind.EXPOSURE: named, TrailKind.OWN: named, TrailKind.ARCHIVED: True, TrailKind.RESTORED: True}
        if not known.get(kind, row[2:] == (NONE, NONE)):
            got = f"a trail row of kind {kind.name} with rank {row[2]} and post {row[3]}"
            raise broken(rule, got, "those of a row that the agent was given for it; -1 where there is none")
