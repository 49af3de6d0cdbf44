"""Check a belief rule's declaration, and results that are too slow to check in every step of a run."""

from __future__ import annotations

import numpy as np

from townsquare.beliefs.checks import FAMILY
from townsquare.beliefs.contract import NEEDS, BeliefRule, BeliefState, Trail
from townsquare.core.enums import TrailKind
from townsquare.core.pairs import PairBlock
from townsquare.core.schema import NONE
from townsquare.testing.belief_calls import broken, run_step
from townsquare.testing.belief_cases import Case, spoken_to
from townsquare.testing.member_calls import MemberUnderTest

UNITS = ("stance", "log odds")


def check_declaration(rule: BeliefRule) -> None:
    """Check that unit, needs and params exist."""
    if rule.unit not in UNITS:
        raise broken(rule, f"unit {rule.unit!r}", " or ".join(UNITS))
    if not rule.needs <= NEEDS:
        raise broken(rule, f"needs {sorted(rule.needs)}", f"any of {sorted(NEEDS)}")
    if rule.needs & {"authors", "contents", "ties", "groups"} and "exposures" not in rule.needs:
        allowed = "authors, contents, ties and groups beside exposures, whose rows they are of"
        raise broken(rule, f"needs {sorted(rule.needs)}", allowed)
    if "claim_exposures" in rule.needs and "holdings" not in rule.needs:
        raise broken(rule, f"needs {sorted(rule.needs)}", "claim_exposures beside holdings, whose records they name")
    if "groups" in rule.needs and getattr(rule.params, "model_fields", {}).get("group_by") is None:
        raise broken(rule, "needs groups without a setting `group_by`", "one that names the trait which makes groups")
    MemberUnderTest.of(FAMILY, rule)  # of wrong params, there are no defaults


def check_rows(rule: BeliefRule, case: Case, rng: np.random.Generator) -> None:
    """Check one step: ordered blocks of pairs, and a trail that names given rows."""
    after, trail = run_step(rule, case)
    check_pairs(rule, after, case.n_agents)
    _check_sources(rule, case, trail)


def check_pairs(rule: BeliefRule, state: BeliefState, n: int) -> None:
    """Check the order of pairs, which takes too long for every step of a run."""
    for name, block in state.pairs.items():
        if not _is_block(block, n):
            raise broken(rule, f"pairs {name!r} are no block of {n} agents", "ascending int32 keys by agent")


def _is_block(block: PairBlock, n: int) -> bool:
    indptr, key, value = block
    if indptr.shape != (n + 1,) or key.dtype != np.int32 or not key.shape == value.shape[:1] == (int(indptr[-1]),):
        return False
    agent = np.repeat(np.arange(n), np.diff(indptr))
    same = agent[1:] == agent[:-1]
    return bool((np.diff(key.astype(np.int64))[same] > 0).all())


def _check_sources(rule: BeliefRule, case: Case, trail: Trail) -> None:
    """Check that rows of exposures and own posts name a given row; others name none, or a record's source."""
    exposures, own, holdings = case.inputs.exposures, case.inputs.own, case.inputs.holdings
    nowhere = np.full(own.post.shape, NONE)
    given: set[tuple[int, int, int, int]] = set()
    parts = (
        (exposures.rank, exposures.post),
        (nowhere, own.post),
        (holdings.changes.rank, holdings.changes.post),
        (holdings.claim_exposures.rank, holdings.claim_exposures.post),
    )
    for (agent, proposition), (rank, post) in zip(spoken_to(case), parts, strict=True):
        given.update(zip(agent.tolist(), proposition.tolist(), rank.tolist(), post.tolist(), strict=True))
    rows = zip(trail.agent.tolist(), trail.proposition.tolist(), trail.rank.tolist(), trail.post.tolist(), strict=True)
    for row, number in zip(rows, trail.kind, strict=True):
        kind, is_own = TrailKind(int(number)), row[2] == NONE
        named = row in given and is_own == (kind == TrailKind.OWN)
        known = dict.fromkeys((TrailKind.EXPOSURE, TrailKind.OWN, TrailKind.RETRACTED), named)
        known |= dict.fromkeys((TrailKind.ARCHIVED, TrailKind.RESTORED), True)
        if not known.get(kind, row[2:] == (NONE, NONE)):
            got = f"a trail row of kind {kind.name} with rank {row[2]} and post {row[3]}"
            raise broken(rule, got, "those of a row that the agent was given for it; -1 where there is none")
