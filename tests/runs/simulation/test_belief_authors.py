"""What a belief rule reads of whoever passed a post on: what the author holds, ties, groups; only where it says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from small_worlds import end_step, feed_of, follow, post, run_of, settings_of, show, town
from townsquare.analysis.contract import CachedRun
from townsquare.beliefs.averaging import RULE as AVERAGING
from townsquare.beliefs.contract import Authors, BeliefInputs, BeliefRule
from townsquare.core import registry
from townsquare.core.errors import ContractError, SettingError
from townsquare.experiments.counterfactual.one_step import without
from townsquare.experiments.counterfactual.rerun_rule import rerun_beliefs
from townsquare.record.batches import Batches
from townsquare.scenario.load import synthetic_scenario
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.belief_step import InputsOfStep
from townsquare.simulation.world import World
from townsquare.testing.belief_conformance import check_belief_rule

ALL = frozenset({"exposures", "authors", "ties", "groups"})


def inputs_of(world: World, needs: frozenset[str], trait: int = -1) -> BeliefInputs:
    feed, out = feed_of(world), Batches(world.step + 1)
    out.add({"exposures": feed.exposures})
    show(world, feed)
    return next(iter(InputsOfStep(world, out, needs, trait).blocks()))[1]


def test_what_an_author_holds_and_who_follows_whom() -> None:
    world = town(4, 1, propositions=2)
    follow(world, (0, 1), (2, 1), (2, 3))
    end_step(world)
    follow(world, (2, 3), change=-1)
    stance = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8], [0.0, 0.0]])
    world.belief = [replace(world.belief[0], stance=stance)]
    for author in (1, 3, 4):
        post(world, author, stances={1: 0.9})
    inputs = inputs_of(world, ALL - {"groups"})
    rows, authors = inputs.exposures, inputs.authors
    reader = np.repeat(np.arange(5), np.diff(rows.indptr))
    assert set(rows.author.tolist()) == {1, 3, 4}
    for at in range(rows.author.size):
        author = rows.author[at]
        held = np.nan if author == 4 else stance[author, 1]
        assert np.array_equal(authors.stance[at], held, equal_nan=True)
        assert authors.tie[at] == ((int(reader[at]), int(author)) in {(0, 1), (2, 1)})
    for column in (authors.stance, authors.tie):
        assert (column.dtype, column.shape, column.flags.writeable) == (np.float64, rows.author.shape, False)


def test_nothing_is_there_that_is_not_asked_for() -> None:
    world = town(3, 1)
    post(world, 3, stances={0: 0.5})
    authors = inputs_of(world, frozenset({"exposures"})).authors
    assert authors.columns == {}
    for name, need in (("stance", "authors"), ("tie", "ties"), ("group", "groups"), ("reader_group", "groups")):
        with pytest.raises(LookupError, match=f"authors.{name} is not there: add '{need}' to the rule's needs"):
            getattr(authors, name)


# --- a rule that reads them all ------------------------------------------------------------------------------------


class Params(MemberParams):
    weight_on_others: float = setting(0.3, "weight of the mean", ge=0, le=1)
    stubbornness: float = setting(0.0, "weight of the start", ge=0, le=1)
    group_by: str = setting("age", "trait that makes groups")


def kin(authors: Authors, rows: Any) -> Any:
    """Weight of each row: more of followed authors, of one's own group and of those who hold what they say."""
    reader = np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))
    own = (authors.group >= 0) & (authors.group == authors.reader_group[reader])
    sincere = 1.0 - np.abs(np.nan_to_num(authors.stance) - rows.stance) / 2.0
    return rows.weight * (0.2 + 0.2 * authors.tie + 0.2 * own + 0.2 * sincere)


def step(state: Any, inputs: BeliefInputs, params: Any, rng: Any) -> Any:
    """Averaging of what is weighed so."""
    rows = inputs.exposures._replace(weight=kin(inputs.authors, inputs.exposures))
    return AVERAGING.step(state, replace(inputs, exposures=rows), params, rng)


KIN = replace(AVERAGING, name="kin", needs=ALL, params=Params, step=step, replay=None)


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> BeliefRule:
    monkeypatch.setitem(registry._FAMILIES, "beliefs", {**registry._FAMILIES["beliefs"], "kin": f"{__name__}:KIN"})
    monkeypatch.setattr(
        registry, "get", lambda family, name, get=registry.get: KIN if name == "kin" else get(family, name)
    )
    return KIN


def test_the_public_check_passes_it_and_catches_what_is_not_declared() -> None:
    check_belief_rule(KIN)
    for need in ("authors", "ties", "groups"):
        with raises_error(ContractError, got=f"LookupError: authors.* is not there: add '{need}' to the rule's needs"):
            check_belief_rule(replace(KIN, needs=ALL - {need}))

    def writes(state: Any, inputs: BeliefInputs, params: Any, rng: Any) -> Any:
        inputs.authors.tie[:] = 1.0
        return step(state, inputs, params, rng)

    with raises_error(ContractError, got="array it was given"):
        check_belief_rule(replace(KIN, step=writes))
    with raises_error(ContractError, got="needs groups without a setting `group_by`"):
        check_belief_rule(replace(KIN, params=type(AVERAGING.params())))
    with raises_error(ContractError, allowed="beside exposures"):
        check_belief_rule(replace(KIN, needs=frozenset({"ties"})))


def test_a_run_gives_them_and_the_rule_can_be_executed_again(rule: BeliefRule) -> None:
    scenario = synthetic_scenario(60)
    settings = settings_of(beliefs={"rule": "kin"}, growth={"max_per_step": 2}, policy={"follow": {"base": 0.2}})
    run = run_of(settings, scenario)
    again = rerun_beliefs(run, scenario=scenario).beliefs
    recorded = run.table("beliefs")
    assert again["stance"].to_list() == recorded["stance"].to_list()
    trail = run.table("trail").filter((pl.col("amount").abs() > 1e-3) & (pl.col("step") == run.last_step))
    kept = CachedRun(run)
    for row in trail.head(10).to_dicts():
        found = without(run, kept, row["agent"], row["step"], row["proposition"], row["rank"], row["post"])
        assert found.method == "exact"
    other = run_of(settings_of(beliefs={"rule": "kin", "group_by": "gender"}), scenario)
    assert other.table("beliefs")["stance"].to_list() != recorded["stance"].to_list()


def test_groups_are_answers_to_a_trait(rule: BeliefRule) -> None:
    bank = bundled_bank()
    seen: list[Any] = []

    def notes(state: Any, inputs: BeliefInputs, params: Any, rng: Any) -> Any:
        seen.append(inputs)
        return step(state, inputs, params, rng)

    settings = settings_of(beliefs={"rule": "kin", "group_by": "gender"}, steps=3)
    settings.members["beliefs"] = replace(KIN, step=notes)
    run = run_of(settings)
    trait = bank.number_of("gender")
    answers = run.table("traits").filter(pl.col("trait") == trait)
    own = dict(zip(answers["agent"].to_list(), answers["value"].to_list(), strict=True))
    *_, inputs = seen
    n = run.table("agents").height
    assert inputs.authors.reader_group.tolist() == [own.get(agent, -1) for agent in range(n)]
    assert inputs.authors.group.tolist() == [own.get(author, -1) for author in inputs.exposures.author.tolist()]
    assert set(inputs.authors.group.tolist()) >= {-1, 0, 1}  # sources have none
    with raises_error(SettingError, where=r"beliefs\.group_by"):
        run_of(settings_of(beliefs={"rule": "kin", "group_by": "shoe size"}))
