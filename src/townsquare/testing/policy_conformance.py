"""Conformance check of policies, for anyone's policy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from townsquare.core.actions import On, kinds_where
from townsquare.core.array_types import Array
from townsquare.core.draws import Stage
from townsquare.core.enums import Veracity
from townsquare.core.schema import NONE
from townsquare.core.threads import threads_for
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import FAMILY, ChosenPolicy, Policy
from townsquare.simulation.views import ProposedActions, Views
from townsquare.testing.busy_world import BusyWorld, busy_world
from townsquare.testing.member_calls import MemberUnderTest, snapshot

_NEED_NO_ROW = kinds_where(lambda spec: spec.on == On.NOTHING)


@threads_for(0)
def check_policy(policy: Policy, params: MemberParams | None = None, seed: int = 0) -> None:
    """Raise if a policy breaks its contract.

    One that asks a language model is given the fake to ask.

    Checked, for nobody, for people without a feed and for everybody in a busy world: ``decide`` reads and writes
    nothing, and the same call gives the same choice; dtypes, and that choices are of agents that were asked, on rows
    of their own feed, with kinds, texts and declared stances that there are; an agent examines and chooses the same
    whoever else is asked; the ground truth changes no choice.

    Parameters
    ----------
    policy : Policy
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the worlds.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of(FAMILY, policy, params)
    for steps in (0, 5):
        made = busy_world(seed, steps)
        views = made.views()
        _check_choice(test, made, views)
        _decide(test, made, views.only(np.zeros(views.agents.size, np.bool_)))
        _check_alone(test, made, views)
    _check_truth(test, seed)


def _decide(test: MemberUnderTest, made: BusyWorld, views: Views) -> ProposedActions:
    return ChosenPolicy(test.member, test.params).decide(views, made.draws(Stage.POLICY))


def _check_choice(test: MemberUnderTest, made: BusyWorld, views: Views) -> None:
    before, rows = snapshot(made.world), {name: np.array(column) for name, column in views.rows.items()}
    for column in views.rows.values():
        np.asarray(column).flags.writeable = False
    chosen = _decide(test, made, views)
    test.check_same("decide changed", before, snapshot(made.world), "a world that is only read")
    test.check_same("decide changed", rows, views.rows, "rows that are only read")
    again = _decide(test, made, views)
    for columns in (_columns, _examined):
        test.check_same("the same call twice gives other", columns(chosen, views), columns(again, views), "pure")
    agent_row = np.searchsorted(views.agents, chosen.agent)
    inside = (chosen.row >= views.indptr[agent_row]) & (chosen.row < views.indptr[agent_row + 1])
    checks = (
        (inside | (chosen.row == NONE), "row", "-1, or a row of the agent's own feed"),
        (~np.isin(chosen.kind, _NEED_NO_ROW) | (chosen.row == NONE), "row", "-1 for `post` and `ignore`"),
    )
    for good, name, allowed in checks:
        if not good.all():
            raise test.broken(f"{name} {getattr(chosen, name)[~good][0]}", allowed)


def _check_alone(test: MemberUnderTest, made: BusyWorld, views: Views) -> None:
    chosen = _decide(test, made, views)
    whole, looked = _columns(chosen, views), _examined(chosen, views)["examined"]
    for start in range(3):
        some = np.arange(views.agents.size) % 3 == start
        part = views.only(some)
        chosen = _decide(test, made, part)
        alone, rows = _columns(chosen, part), np.repeat(some, np.diff(views.indptr))
        asked = np.isin(whole["agent"], views.agents[some])
        with_others = {name: column[asked] for name, column in whole.items()}
        test.check_same("asked alone, agents choose another", with_others, alone, "the same, whoever else is asked")
        shown = {"examined": looked[rows]}
        test.check_same("asked alone, agents have other rows", shown, _examined(chosen, part), "the same rows")


def _examined(chosen: ProposedActions, views: Views) -> dict[str, Array]:
    every = np.ones(int(views.indptr[-1]), np.bool_)
    return {"examined": every if chosen.examined is None else chosen.examined}


def _columns(chosen: ProposedActions, views: Views) -> dict[str, Array]:
    """Return choices free of how rows and texts are numbered: ranks and posts for rows, contents for texts."""
    row = np.maximum(chosen.row, 0)
    out: dict[str, Array] = {name: getattr(chosen, name) for name in ("agent", "kind", "target", "helpful")}
    for name in ("rank", "post"):
        column = np.asarray(views.rows[name])
        on = (chosen.row >= 0) & (row < column.size)
        out[name] = np.full(chosen.n, NONE, np.int64)
        out[name][on] = column[row[on]]
    texts = chosen.new_texts
    for name in ("text", "reasoning"):
        numbers = [int(number) - views.n_texts for number in getattr(chosen, name)]
        known = [k for k in numbers if k < len(texts)]
        out[name] = np.array([texts[k] if k >= 0 else views.text(k + views.n_texts) for k in known], object)
    stances = [""] * chosen.n
    for action, *declared in zip(*chosen.declared, strict=True):
        stances[int(action)] += str([float(value) for value in declared])
    out["declared"] = np.array(stances, object)
    return out


def _check_truth(test: MemberUnderTest, seed: int) -> None:
    """Check that swapping true and false changes no action."""
    answers: list[Mapping[str, Array]] = []
    for turned in (False, True):
        made = busy_world(seed)
        if turned:
            veracity = made.world.posts.write("veracity")
            veracity[:] = Veracity.TRUE + Veracity.FALSE - veracity
        views = made.views()
        answers.append(_columns(_decide(test, made, views), views))
    test.check_same("the ground truth changes", answers[0], answers[1], "agents never see it")
