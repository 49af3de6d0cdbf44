"""A member that breaks its contract stops the run at that step, with its name, the step, the agent and the value."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import townsquare as ts
from repository import ROOT
from townsquare.beliefs.contract import BeliefRule, BeliefState
from townsquare.beliefs.stance.contract import StanceScorer
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.enums import LogKind
from townsquare.core.errors import ContractError
from townsquare.core.schema import NONE, rows
from townsquare.debate.contract import Claim, Debater, Move, Speaker, Utterance
from townsquare.record.run import Run
from townsquare.settings.base import MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.feed.rankers.contract import Ranker, ReaderRanker, Retrieved
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, no_declarations
from townsquare.testing.belief_conformance import check_belief_rule

PAGE = ROOT / "docs" / "adding-a-belief-rule.md"
AT = 3
"""The step from which on the members here break their contract."""
FAMILIES = ("beliefs", "ranker", "policy", "moderation", "stance", "speaker", "debater", "strength")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for modules of members; what is registered is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    for family in FAMILIES:
        monkeypatch.setitem(registry._FAMILIES, family, {**registry._FAMILIES[family]})
    (tmp_path / "page_rule.py").write_text(
        re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0], "utf-8"
    )
    yield tmp_path
    for name in ("page_rule", "bad_member"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def use(home: Path, family: str, member: Any) -> None:
    """Register a member of a test as ``bad``."""
    (home / "bad_member.py").write_text("MEMBER = None\n", encoding="utf-8")
    importlib.invalidate_caches()
    importlib.import_module("bad_member").MEMBER = member  # type: ignore[attr-defined]
    registry.register(family, "bad", "bad_member:MEMBER")


def stopped(home: Path, *sets: str, at: int = AT, **config: Any) -> ContractError:
    """The error with which a run ends in step ``at``; the steps before it are safe and the run is stopped."""
    settings = ts.resolve_for("synthetic:40", agents=30, steps=6, sets=list(sets), **config)
    with pytest.raises(ContractError) as caught:
        ts.simulate(settings, home / "run")
    assert f"step {at}" in caught.value.where
    assert "'bad'" in caught.value.where
    if not at:
        return caught.value  # nothing was recorded
    run = Run.open(home / "run")
    assert run.state == "stopped"
    assert run.steps["step"].to_list() == list(range(at))
    return caught.value


# --- belief rules -------------------------------------------------------------------------------------------


def cell(array: Any, value: float, agent: int = 4) -> Any:
    out = np.array(array)
    out[agent, 0] = value
    return out


def first_of_trail(trail: Any, name: str, value: float) -> Any:
    column = np.array(getattr(trail, name))
    column[0] = value
    return trail._replace(**{name: column})


def mutated(state: BeliefState) -> BeliefState:
    state.stance[0] = 0.5
    return state


Break = Callable[[BeliefState, BeliefState, Any], Any]
BREAKS: dict[str, tuple[Break, str]] = {
    "nan": (lambda s, a, t: (replace(a, stance=cell(a.stance, np.nan)), t), "nan"),
    "seven": (lambda s, a, t: (replace(a, stance=cell(a.stance, 7.0)), t), "7.0"),
    "infinity": (lambda s, a, t: (replace(a, stance=cell(a.stance, -np.inf)), t), "-inf"),
    "confidence nan": (lambda s, a, t: (replace(a, confidence=cell(a.confidence, np.nan)), t), "nan"),
    "confidence two": (lambda s, a, t: (replace(a, confidence=cell(a.confidence, 2.0)), t), "2.0"),
    "shape": (lambda s, a, t: (replace(a, stance=a.stance[:-1]), t), "stance is float64"),
    "flat": (lambda s, a, t: (replace(a, stance=a.stance.ravel()), t), "stance is float64"),
    "dtype": (lambda s, a, t: (replace(a, stance=a.stance.astype(np.float32)), t), "float32"),
    "list": (lambda s, a, t: (replace(a, stance=a.stance.tolist()), t), "list"),
    "objects": (lambda s, a, t: (replace(a, stance=a.stance.astype(object)), t), "object"),
    "start": (lambda s, a, t: (replace(a, start=a.start * 0.5), t), "start"),
    "array added": (lambda s, a, t: (replace(a, arrays={"mood": np.zeros(len(a.stance))}), t), "mood"),
    "no trail": (lambda s, a, t: a, "BeliefState"),
    "nothing": (lambda s, a, t: None, "NoneType"),
    "trail nan": (lambda s, a, t: (a, first_of_trail(t, "amount", np.nan)), "nan"),
    "trail infinity": (lambda s, a, t: (a, first_of_trail(t, "amount", np.inf)), "inf"),
    "trail sum": (lambda s, a, t: (a, first_of_trail(t, "amount", 0.25)), "sum to the move"),
    "trail unknown agent": (lambda s, a, t: (a, first_of_trail(t, "agent", 10**6)), "trail.agent"),
    "trail agent below": (lambda s, a, t: (a, first_of_trail(t, "agent", -1)), "trail.agent"),
    "trail unknown proposition": (lambda s, a, t: (a, first_of_trail(t, "proposition", 9)), "trail.proposition"),
    "trail unknown kind": (lambda s, a, t: (a, first_of_trail(t, "kind", 200)), "trail.kind"),
    "trail unknown post": (lambda s, a, t: (a, first_of_trail(t, "post", 10**6)), "trail.post"),
    "trail trust": (lambda s, a, t: (a, first_of_trail(t, "trust", 4.0)), "trail.trust"),
    "trail dtype": (lambda s, a, t: (a, t._replace(agent=t.agent.astype(np.int64))), "trail.agent is int64"),
    "trail shape": (lambda s, a, t: (a, t._replace(post=t.post[1:])), "trail.post"),
    "writes": (lambda s, a, t: (mutated(s), t), "writes into an array"),
    "fails": (lambda s, a, t: (a.stance[10**6], t), "IndexError"),
}


def bad_rule(home: Path, broken: Break, since: int = AT) -> BeliefRule:
    """The rule of the page, which breaks its contract from step ``since`` on."""
    rule: BeliefRule = importlib.import_module("page_rule").RULE

    def step(state: Any, inputs: Any, params: Any, rng: Any) -> Any:
        after, trail = rule.step(state, inputs, params, rng)
        return broken(state, after, trail) if rng.step >= since else (after, trail)

    return replace(rule, name="bad", step=step)


@pytest.mark.parametrize("name", BREAKS)
def test_row_02_a_belief_rule_stops_the_run_at_that_step(name: str, home: Path) -> None:
    broken, said = BREAKS[name]
    use(home, "beliefs", bad_rule(home, broken))
    error = stopped(home, "beliefs.rule=bad")
    assert error.where.startswith("belief rule 'bad'")
    assert "agent 4" in error.where or name not in {"nan", "seven", "confidence nan"}
    assert said in error.got


@pytest.mark.parametrize("name", BREAKS)
def test_row_02_the_conformance_check_says_the_same(name: str, home: Path) -> None:
    broken, said = BREAKS[name]
    if name == "trail unknown post":
        said = "trail row of kind"  # a block has no posts: the check knows those that were shown
    with pytest.raises(ContractError) as caught:
        check_belief_rule(bad_rule(home, broken, since=0))
    assert said in caught.value.got or name.startswith("trail")


def test_row_02_a_rule_that_is_not_recorded_is_checked_too(home: Path) -> None:
    use(home, "beliefs", bad_rule(home, BREAKS["trail nan"][0]))
    assert "nan" in stopped(home, "beliefs.rule=bad", "record.trail=false").got


def test_row_02_the_state_itself_may_be_returned(home: Path) -> None:
    def same(state: Any, after: Any, trail: Any) -> Any:
        return state, trail._replace(amount=np.zeros_like(trail.amount))

    use(home, "beliefs", bad_rule(home, same))
    run = ts.simulate(ts.resolve_for("synthetic:40", agents=30, steps=4, sets=["beliefs.rule=bad"]))
    assert run.state == "finished"


def test_row_02_one_array_for_every_step_is_caught(home: Path) -> None:
    room: list[Any] = []

    def reuse(state: Any, after: Any, trail: Any) -> Any:
        if not room:
            room.append(np.array(after.stance))
        room[0][:] = after.stance
        return replace(after, stance=room[0]), trail

    use(home, "beliefs", bad_rule(home, reuse))
    assert "writes into an array" in stopped(home, "beliefs.rule=bad", at=AT + 1).got


def test_row_02_new_agents_of_a_rule(home: Path) -> None:
    rule = importlib.import_module("page_rule").RULE

    def init(stance: Any, confidence: Any, params: Any) -> BeliefState:
        return BeliefState(cell(stance, np.nan), confidence.copy(), stance.copy())

    use(home, "beliefs", replace(rule, name="bad", init=init))
    assert "nan" in stopped(home, "beliefs.rule=bad", at=0).got


def test_row_02_the_command_says_who_and_ends_with_2(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(home, "beliefs", bad_rule(home, BREAKS["seven"][0]))
    words = ["run", "synthetic:40", "--agents", "30", "--steps", "6", "--set", "beliefs.rule=bad"]
    assert main([*words, "--out", str(home / "r"), "--quiet"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert all(word in message for word in ("belief rule 'bad'", "agent 4", "step 3", "7.0", "-1 to 1"))


# --- other members ------------------------------------------------------------------------------------------


def score_of(value: Any) -> Callable[..., Any]:
    def score(view: Any, *rest: Any) -> Any:
        out = np.zeros(view.posts.n if len(rest) == 1 else rest[1].post.size)
        if view.step < AT:
            return out
        if callable(value):
            return value(out)
        out[2] = value
        return out

    return score


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "nan of post 2"),
        (np.inf, "inf of post 2"),
        (lambda out: out[:-1], "float64"),
        (lambda out: out.astype(np.float32), "float32"),
        (lambda out: out.tolist(), "list"),
        (lambda out: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_row_02_a_ranker(value: Any, said: str, home: Path) -> None:
    use(home, "ranker", Ranker("bad", MemberParams, score_of(value)))
    error = stopped(home, "feed.ranker=bad")
    assert error.where.startswith("ranker 'bad'")
    assert said in error.got


@pytest.mark.parametrize(
    ("value", "said"),
    [(-np.inf, "-inf of post"), (lambda out: out[:-1], "float64"), (lambda out: out.tolist(), "list")],
)
def test_row_02_a_ranker_that_scores_for_each_reader(value: Any, said: str, home: Path) -> None:
    use(home, "ranker", ReaderRanker("bad", MemberParams, score_of(value)))
    error = stopped(home, "feed.ranker=bad")
    assert error.where.startswith("ranker 'bad', agent 0, step 3" if said == "-inf of post" else "ranker 'bad', step 3")
    assert said in error.got


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (lambda roots, k: Retrieved(np.arange(k + 1), np.full(k, 10**6, np.int32)), "of no live root: 1000000"),
        (lambda roots, k: Retrieved(2 * np.arange(k + 1), np.full(2 * k, roots[0])), "twice"),
        (lambda roots, k: Retrieved(np.arange(k), np.full(k, roots[0])), "retrieved indptr"),
        (lambda roots, k: Retrieved(np.arange(k + 1), np.full(k, int(roots[0]))), "root is int64"),
        (lambda roots, k: roots, "ndarray"),
    ],
)
def test_row_02_a_ranker_that_retrieves(found: Any, said: str, home: Path) -> None:
    def retrieve(view: Any, readers: Any, params: Any) -> Any:
        nothing = Retrieved(np.zeros(readers.size + 1, np.int64), np.empty(0, np.int32))
        return nothing if view.step < AT else found(view.live_roots, readers.size)

    use(home, "ranker", Ranker("bad", MemberParams, lambda view, params: np.zeros(view.posts.n), retrieve))
    assert said in stopped(home, "feed.ranker=bad").got


def policy_of(**changes: Any) -> Policy:
    """Everybody likes the first row; from ``AT`` on with other columns."""

    def decide(views: Any, draws: Any, params: Any) -> Any:
        has = np.diff(views.indptr) > 0
        row = views.indptr[:-1][has].astype(np.int64)
        n = row.size
        none = np.full(n, NONE, np.int32)
        chosen = ProposedActions(
            agent=views.agents[has],
            kind=np.ones(n, np.uint8),
            row=row,
            target=np.asarray(views.rows["post"])[row].astype(np.int32),
            text=none,
            helpful=none.astype(np.int8),
            reasoning=none,
            declared=no_declarations(),
        )
        if views.step < AT:
            return chosen
        return replace(chosen, **{name: change(chosen) for name, change in changes.items()})

    return Policy("bad", MemberParams, decide)


def declared(stance: float, strength: float = 0.5) -> Callable[[Any], Any]:
    return lambda chosen: (np.zeros(1, np.int64), np.zeros(1, np.int16), np.array([stance]), np.array([strength]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"declared": declared(np.nan)}, "declared stance nan"),
        ({"declared": declared(3.0)}, "declared stance 3.0"),
        ({"declared": declared(0.5, np.inf)}, "declared strength inf"),
        ({"agent": lambda c: c.agent + np.int32(900)}, "agent 9"),
        ({"agent": lambda c: c.agent[::-1].copy()}, "apart from each other"),
        ({"agent": lambda c: c.agent.astype(np.float64)}, "agent is float64"),
        ({"kind": lambda c: c.kind + np.uint8(90)}, "kind 91"),
        ({"row": lambda c: c.row + 10**6}, "row 100"),
        ({"row": lambda c: c.row - 10**6}, "row -"),
        ({"row": lambda c: c.row[1:]}, "row"),
        ({"text": lambda c: c.text + np.int32(10**6)}, "text 999999"),
        ({"reasoning": lambda c: c.reasoning + np.int32(10**6)}, "reasoning 999999"),
        ({"helpful": lambda c: c.helpful + np.int8(9)}, "helpful 8"),
        ({"examined": lambda c: np.ones(3, np.bool_)}, "examined is bool (3,)"),
        ({"new_texts": lambda c: (3,)}, "texts"),
        ({"prompt_stats": lambda c: {"agent": c.agent}}, "prompt_stats"),
    ],
)
def test_row_02_a_policy(changes: dict[str, Any], said: str, home: Path) -> None:
    use(home, "policy", policy_of(**changes))
    error = stopped(home, "policy.name=bad")
    assert error.where.startswith("policy 'bad'")
    assert said in error.got


def test_row_02_a_policy_in_a_mix(home: Path) -> None:
    use(home, "policy", policy_of(row=lambda c: c.row + 10**6))
    assert "row" in stopped(home, 'policy={"name": "mix", "members": [{"name": "bad", "share": 1.0}]}').got


def test_row_02_an_action_on_another_row_is_refused_still(home: Path) -> None:
    use(home, "policy", policy_of(row=lambda c: c.row[::-1].copy()))
    assert ts.simulate(ts.resolve_for("synthetic:40", agents=30, steps=4, sets=["policy.name=bad"])).state == "finished"


def verdict(world: Any, **changes: Any) -> Change:
    """A verdict on the first root that has none, and its row of the log."""
    post = np.flatnonzero((world.posts["verdict"] == 0) & (world.posts["root"] == np.arange(world.posts.n)))[:1]
    given = {"confidence": 0.5, "value": 0.5, "verdict": 3, "post": post, "kind": LogKind.VERDICT, **changes}
    found = rows(
        "verdicts", post.size, post=given["post"], step=world.step + 1, verdict=given["verdict"],
        confidence=given["confidence"], explanation=NONE, sources=NONE, veracity=world.posts["veracity"][post],
    )  # fmt: skip
    log = rows(
        "moderation_log", post.size, step=world.step + 1, post=given["post"], kind=given["kind"], reason="looked",
        value=given["value"],
    )  # fmt: skip
    return Change({"verdicts": found, "moderation_log": log})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"confidence": np.nan}, "confidence: nan"),
        ({"confidence": 3.0}, "confidence: 3.0"),
        ({"value": np.nan}, "log: nan"),
        ({"verdict": 9}, "verdict: 9"),
        ({"post": 10**6}, "not there: 1000000"),
        ({"kind": 99}, "99"),
        ({"kind": LogKind.TAKEDOWN}, "differ"),
    ],
)
def test_row_02_a_moderator(changes: dict[str, Any], said: str, home: Path) -> None:
    def review(world: Any, draws: Any, params: Any, takedown: bool) -> Change:
        return verdict(world, **changes) if world.step + 1 >= AT else Change()

    use(home, "moderation", Moderator("bad", MemberParams, frozenset(), review))
    error = stopped(home, "moderation.strategy=bad")
    assert error.where.startswith("moderator 'bad'")
    assert said in error.got
    assert main(["inspect", str(home / "run")]) != 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda out: np.full_like(out, np.inf), "inf for proposition 0"),
        (lambda out: np.full_like(out, -7.0), "-7.0"),
        (lambda out: out[:, :0], "float64"),
        (lambda out: out.astype(np.int64), "int64"),
        (lambda out: out.tolist(), "list"),
    ],
)
def test_row_02_a_stance_scorer(change: Callable[[Any], Any], said: str, home: Path) -> None:
    calls: list[int] = []

    def score(texts: Any, propositions: Any) -> Any:
        calls.append(len(texts))
        out = np.zeros((len(texts), len(propositions)))
        return change(out) if len(calls) >= AT else out

    use(home, "stance", StanceScorer("bad", MemberParams, score))
    error = stopped(home, "beliefs.stance_scorer=bad", "policy.posts_per_step=3")
    assert error.where.startswith("stance scorer 'bad'")
    assert said in error.got
    assert main(["inspect", str(home / "run")]) != 1


@pytest.mark.parametrize(
    ("family", "key", "member"),
    [
        ("beliefs", "beliefs.rule", lambda home: bad_rule(home, BREAKS["nan"][0])),
        ("ranker", "feed.ranker", lambda home: Ranker("bad", MemberParams, score_of(np.nan))),
        ("policy", "policy.name", lambda home: policy_of(row=lambda c: c.row[1:])),
    ],
)
def test_row_02_a_stopped_run_can_be_inspected(family: str, key: str, member: Any, home: Path) -> None:
    use(home, family, member(home))
    stopped(home, f"{key}=bad")
    assert main(["inspect", str(home / "run"), "--verify"]) == 0


# --- debates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [np.inf, 7.0, -0.5])
def test_row_02_a_speaker(strength: float, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = Claim("Voting is a duty.", 1, strength)
    use(home, "speaker", Speaker("bad", MemberParams, lambda turn, floor, params: Utterance("So it is.", (claim,))))
    words = ["debate", "--set", "speaker=bad", "--set", "rounds=2", "--set", "trials=1", "--out", str(home / "d")]
    assert main(words) != 0
    message = " ".join(capsys.readouterr().err.split())
    assert "speaker 'bad'" in message
    assert "round 1" in message


class Restless:
    """A mind that every message moves to where no stance is."""

    def __init__(self, stance: float, amount: float) -> None:
        self.stance, self._goes, self._amount = 0.1, stance, amount

    def retrieve(self, heard: str, k: int) -> tuple[Any, ...]:
        return ()

    def take(self, heard: Any) -> tuple[Move, ...]:
        self.stance = self._goes
        return (Move(None, -1, -1, self._amount),)


@pytest.mark.parametrize(("stance", "amount"), [(np.nan, 0.0), (3.0, 0.0), (0.5, np.nan)])
def test_row_02_a_debater(stance: float, amount: float, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(home, "debater", Debater("bad", MemberParams, lambda *_: Restless(stance, amount), has_records=False))
    words = ["debate", "--set", "debater=bad", "--set", "rounds=2", "--set", "trials=1", "--out", str(home / "d")]
    assert main(words) != 0
    message = " ".join(capsys.readouterr().err.split())
    assert "debater 'bad'" in message
    assert "round 1" in message
