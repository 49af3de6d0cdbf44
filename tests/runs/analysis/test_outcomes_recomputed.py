"""Outcomes of small runs computed again from the record in plain Python, and identities between them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

import townsquare as ts
from townsquare.analysis import participation, refusals
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.health import activity
from townsquare.cli.inspect import _health
from townsquare.core.actions import ActionKind
from townsquare.core.enums import LogKind, PostKind, Veracity, Verdict
from townsquare.experiments.run_answer import answer_run

EVENTS = [{"step": 3, "set": {"moderation": "hybrid"}}, {"step": 6, "set": {"feed.seen_cap": 3}}]
HIDDEN = [{"name": "hidden", "effects": {"labels": "hidden"}}]
DESK = {"agents": 80, "steps": 40, "time.warm_up_hours": 8, "moderation.false_alarms": 0.5}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "events": ("health-rumor@1", {"agents": 60, "steps": 12, "moderation.strategy": "none", "events": EVENTS,
                                  "treatments": HIDDEN}),
    "takedown": ("health-rumor", {**DESK, "moderation.response": "takedown"}),
    "downrank": ("health-rumor", {**DESK, "moderation.response": "downrank"}),
    "contributors": ("health-rumor", {"agents": 80, "steps": 40, "time.warm_up_hours": 8,
                                      "moderation.strategy": "community", "moderation.contributors": 0.5}),
    "no attempt": ("compulsory-voting", {"agents": 20, "steps": 2, "policy": "silent"}),
}  # fmt: skip
ENGAGED = {ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.LIKE_COMMENT}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest) -> ts.Run:
    scenario, changed = RUNS[request.param]
    return ts.simulate(ts.resolve_for(scenario, sets=changed, seed=1))


@pytest.fixture(scope="module")
def values(run: ts.Run) -> dict[str, float]:
    return ts.outcomes(run)


def rows(run: ts.Run, table: str) -> list[dict[str, Any]]:
    return run.table(table).to_dicts()


def known_posts(run: ts.Run) -> dict[str, set[int]]:
    """Return injected posts after the warm-up, by veracity."""
    warm_up = clock_of(run).warm_up
    posts = [post for post in rows(run, "posts") if post["kind"] == PostKind.INJECTED and post["step"] > warm_up]
    return {word.name.lower(): {post["post"] for post in posts if post["veracity"] == word} for word in Veracity}


def same(value: float, part: float, whole: float) -> bool:
    return math.isnan(value) if not whole else value == pytest.approx(part / whole)


def test_reach_counts_people_and_engagement_counts_actions(run: ts.Run, values: dict[str, float]) -> None:
    shown = run.table("exposures").select("root", "agent")
    exposures, met = Counter(shown["root"]), Counter(root for root, _ in set(shown.rows()))
    people = run.table("agents").filter(kind=0).height
    root = {post["post"]: post["root"] for post in rows(run, "posts")}
    acts = [(root[act["target"]], act["kind"]) for act in rows(run, "actions")
            if act["status"] == 0 and act["kind"] in ENGAGED]  # fmt: skip
    for word in ("true", "false"):
        posts = known_posts(run)[word]
        assert all(met[post] <= min(people, exposures[post]) for post in posts)
        assert same(values[f"reach_{word}_mean"], sum(met[post] for post in posts), len(posts))
        assert values[f"exposures_{word}"] == sum(exposures[post] for post in posts)
        assert same(values[f"engagement_{word}_per_post"], sum(post in posts for post, _ in acts), len(posts))
    shared = sum(kind == ActionKind.SHARE and post in known_posts(run)["false"] for post, kind in acts)
    assert same(values["reshares_false"], shared, 1 if known_posts(run)["false"] else 0)


def test_the_answer_says_of_which_posts_moderation_marked_and_removed_how_many(
    run: ts.Run, values: dict[str, float]
) -> None:
    root = {post["post"]: post["root"] for post in rows(run, "posts")}
    acts: dict[int, set[int]] = defaultdict(set)
    for entry in rows(run, "moderation_log"):
        acts[entry["kind"]].add(root[entry["post"]])
    ruled = {root[entry["post"]] for entry in rows(run, "verdicts") if entry["verdict"] == Verdict.FALSE}
    marked = ruled | acts[LogKind.NOTE_SHOWN] | acts[LogKind.DOWNRANKED]
    answer = str(answer_run(CachedRun(run, large=True), values))
    assert not run.settings["events"] or "with no moderation, then notes and fact-checking." in answer
    said = re.search(r"Moderation marked .*", answer)
    posts = known_posts(run)
    assert bool(said) == bool(posts["false"])
    for word in ("true", "false"):
        removed = posts[word] & acts[LogKind.TAKEDOWN]
        assert values[f"{word}_removed"] == len(removed)
        if said:
            found = re.search(rf"(\S+)% of the {word} posts", said[0])
            assert found is not None
            assert float(found[1]) == pytest.approx(100 * len(posts[word] & marked) / len(posts[word]), abs=0.5)
            assert f"{len(removed)} of {len(posts[word])} {word} posts" in said[0]
    assert math.isnan(values["recall"]) or same(
        values["precision"], len(posts["false"] & marked), len((posts["false"] | posts["true"]) & marked)
    )


def test_shares_of_activity_agree_wherever_they_are_given(run: ts.Run, values: dict[str, float]) -> None:
    steps, health = participation(run), _health(run)
    whole, late = activity(steps), activity(steps.filter(steps["step"] > clock_of(run).warm_up))
    assert all(values[name] == pytest.approx(value, nan_ok=True) for name, value in late.items())
    for name in ("silent_share", "refused_share"):
        assert health[name] == pytest.approx(whole[name], nan_ok=True)
    tried = [act for act in rows(run, "actions") if act["kind"] != ActionKind.IGNORE]
    assert same(whole["refused_share"], sum(act["status"] for act in tried), len(tried))
    assert refusals(run)["share"].sum() == pytest.approx(0.0 if not tried else whole["refused_share"])


def test_accuracy_and_change_of_stance_agree(run: ts.Run, values: dict[str, float]) -> None:
    for name, veracity in run.table("propositions").select("name", "veracity").rows():
        assert abs(values[f"shift.{name}"]) <= values[f"absolute_shift.{name}"] + 1e-12
        if veracity is not None:
            side = 1 if veracity == Veracity.TRUE else -1
            ends = run.table("beliefs").filter(step=run.last_step, proposition=0)["stance"]
            assert values[f"accuracy.{name}"] == pytest.approx((1 + side * float(ends.to_numpy().mean())) / 2)
            assert values[f"accuracy_shift.{name}"] == pytest.approx(side * values[f"shift.{name}"] / 2)
