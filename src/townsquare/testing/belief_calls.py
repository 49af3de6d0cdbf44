"""Call a belief rule under check on read-only copies, and report its mistakes as breaches of the contract."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import leaves
from townsquare.beliefs.checks import FAMILY, check_result
from townsquare.beliefs.contract import BeliefRule, BeliefState, Trail
from townsquare.core.array_types import Int64
from townsquare.core.draws import U64, Stage, StageDraws
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member
from townsquare.testing.belief_cases import Case, take
from townsquare.testing.member_calls import equal

Result = tuple[BeliefState, Trail]


def broken(rule: BeliefRule, got: str, allowed: str = "", do: str = "") -> ContractError:
    """Return the error to raise."""
    return breach(FAMILY, rule.name, got, allowed, do)


def call(rule: BeliefRule, what: str, function: Callable[[], object]) -> object:
    """Return what ``function`` returns; any mistake that it makes becomes a ContractError that says ``what`` did it."""
    return call_member(FAMILY, rule.name, what, function)


def run_step(rule: BeliefRule, case: Case, draws: StageDraws | None = None) -> Result:
    """Return one step on read-only copies: these stayed as they were, and the result is one that a run would take."""
    case = take(case, np.arange(case.n_agents), case.inputs.first)
    before = [(name, array.copy()) for name, array in leaves(case)]
    for _, array in leaves(case):
        array.flags.writeable = False
    rng = draws or default_draws()
    result = call(rule, "step", lambda: rule.step(case.state, case.inputs, case.params, rng))
    if where := first_difference(before, leaves(case)):
        raise broken(rule, f"step changed {where}, which it was given", do="return new arrays")
    return check_result(rule, case.state, result, case.inputs.first)


def default_draws() -> StageDraws:
    """Return the draws of the belief stage of some step."""
    return StageDraws(1, Stage.BELIEF, 1)


def first_difference(a: list[tuple[str, npt.NDArray[np.generic]]], b: list[tuple[str, npt.NDArray[np.generic]]]) -> str:
    """Return name of the first array that differs, or nothing."""
    if [name for name, _ in a] != [name for name, _ in b]:
        return "set of arrays"
    return next((name for (name, x), (_, y) in zip(a, b, strict=True) if not equal(x, y)), "")


def sorted_rows(trail: Trail) -> list[tuple[str, npt.NDArray[np.generic]]]:
    """Return the columns of a trail in an order that depends on nothing but their values."""
    order = np.lexsort(tuple(reversed(trail)))
    return [(f"trail.{name}", column[order]) for name, column in trail._asdict().items()]


class RenamedDraws(StageDraws):
    """Draws by which agent ``first + j`` gets what ``first + order[j]`` gets otherwise; notes what was asked for."""

    __slots__ = ("asked_base", "drew", "first", "order")

    def __init__(self, source: StageDraws, order: Int64, first: int) -> None:
        super().__init__(source.seed, source.stage, source.step)
        self.order, self.first, self.asked_base, self.drew = order, first, False, False

    def base(self, purpose: str, *, lasting: bool = False) -> U64:
        """Return as it is; a kernel that draws with it cannot be told of other names."""
        self.asked_base = self.drew = True
        return super().base(purpose, lasting=lasting)

    def bits(
        self, purpose: str, agents: npt.ArrayLike, keys: npt.ArrayLike = 0, *, lasting: bool = False
    ) -> npt.NDArray[U64]:
        """Return the 64 bits that the other agent would get."""
        self.drew = True
        asked = np.asarray(agents, dtype=np.int64)
        offset = asked - self.first
        ours = (offset >= 0) & (offset < len(self.order))
        renamed = np.where(ours, self.order[np.where(ours, offset, 0)] + self.first, asked)
        return StageDraws(self.seed, self.stage, self.step).bits(purpose, renamed, keys, lasting=lasting)
