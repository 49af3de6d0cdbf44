"""``given``: the follows that came with the accounts of a scenario."""

from __future__ import annotations

from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.population.sample import People
from townsquare.settings.config import MemberParams


def _build(n: int, params: MemberParams, draws: StageDraws, *, people: People | None = None, **_: object) -> Edges:
    if people is None or people.follows is None:
        do = "give the scenario `accounts` and `follows`, or choose another kind"
        raise SettingError("graph.kind", got="'given', but the scenario gives no follows", do=do)
    return Edges(*people.follows)


GIVEN = GraphKind("given", MemberParams, _build)
