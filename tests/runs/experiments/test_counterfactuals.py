"""Beliefs without something: the rule executed again equals the record, hand-fed rules, and other runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from belief_blocks import shown, wrote
from raised_errors import raises_error
from running_viewer import record
from small_worlds import run_of, settings_of
from townsquare.beliefs.contract import BeliefInputs, per_agent
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.enums import PostKind, Veracity
from townsquare.core.errors import SettingError
from townsquare.experiments.counterfactual import Removal, rerun_beliefs, without
from townsquare.experiments.counterfactual.one_step import without as without_row
from townsquare.experiments.counterfactual.rerun_simulation import leave_out_of
from townsquare.pages.view.library import Library
from townsquare.scenario.load import synthetic_scenario
from townsquare.settings.resolve import resolve

RULES = registry.names("beliefs")
EXPOSED = ["exposure", "exposure-bounded", "averaging", "bounded_confidence"]
SCENARIO = synthetic_scenario(60)
RUMOR = ts.load_scenario("health-rumor@1")


def lively(rule: str, **given: Any) -> ts.Run:
    """Newcomers, turns within a step, labels that weigh, rules that change on the way."""
    layers: dict[str, Any] = {
        "agents": 25, "steps": 5, "seed": 4, "beliefs": {"rule": rule}, "growth": {"max_per_step": 3},
        "activation": {"batches": 2}, "moderation": {"strategy": "hybrid", "posts_per_step": 20},
        "events": [{"step": 3, "set": {"beliefs.label_weight.false": 0.0}}],
    }  # fmt: skip
    return run_of(settings_of(layers, given), SCENARIO)


@pytest.mark.parametrize("rule", RULES)
def test_without_nothing_the_record_comes_out_to_the_last_bit(rule: str) -> None:
    run = lively(rule)
    again = rerun_beliefs(run, scenario=SCENARIO)
    assert again.beliefs.equals(run.table("beliefs"))
    assert again.claims.equals(run.table("veracities").select(again.claims.columns))
    assert again.rows == 0
    assert without(run, Removal(), SCENARIO).effect["affected"].sum() == 0


def injected(run: ts.Run, false: bool = True) -> int:
    """The injected post, false or true, that was shown most."""
    wanted = (pl.col("kind") == PostKind.INJECTED) & (
        pl.col("veracity") == (Veracity.FALSE if false else Veracity.TRUE)
    )
    counts = run.table("exposures").group_by("root").len()
    there = run.table("posts").filter(wanted).join(counts, left_on="post", right_on="root").sort("len", "post")
    return int(there["post"][-1])


@pytest.mark.parametrize("rule", EXPOSED)
def test_without_a_post_it_is_the_rule_fed_by_hand(rule: str) -> None:
    """The oracle takes the recorded rows one by one, without those of the post, and calls the rule itself."""
    beliefs: dict[str, Any] = {"rule": rule}
    if rule.startswith("exposure"):
        beliefs |= {"pull": 0.05, "anchor": 0.02, "own_pull": 0.1}
    run = run_of(settings_of({"agents": 12, "steps": 4, "seed": 2, "beliefs": beliefs}), SCENARIO)
    post = injected(run)
    got = without(run, Removal(posts=(post,)), SCENARIO)
    last = got.beliefs.filter(pl.col("step") == 4).sort("agent", "proposition")
    assert np.array_equal(last["without"].to_numpy().reshape(12, -1), by_hand(run, post))
    assert (got.effect["affected"] > 0).all()


def by_hand(run: ts.Run, post: int) -> np.ndarray:
    settings = resolve(run.settings)
    rule, params = settings.members["beliefs"], per_agent(settings.params["beliefs"], 12)
    start = run.table("beliefs").filter(pl.col("step") == 0).sort("agent", "proposition")
    p = run.table("propositions").height
    table = [start[name].to_numpy().reshape(12, p) for name in ("stance", "confidence")]
    state = rule.init(table[0].copy(), table[1].copy(), params)
    said: dict[int, Any] = {}
    for row in run.table("post_stances").iter_rows(named=True):
        said.setdefault(row["post"], []).append((row["proposition"], row["stance"]))
    credibility = run.table("agents")["credibility"].to_list()
    for step in range(1, 5):
        feeds: list[list[dict[str, Any]]] = [[] for _ in range(12)]
        for row in run.table("exposures", (step, step)).iter_rows(named=True):
            if row["root"] != post:
                kept = {name: row[name] for name in ("rank", "post", "author", "likes", "first_seen", "weight")}
                feeds[row["agent"]] += [
                    {**kept, "proposition": k, "stance": s, "credibility": credibility[row["author"]]}
                    for k, s in said.get(row["root"], [])
                ]
        feeds = [sorted(feed, key=lambda row: row["proposition"]) for feed in feeds]
        own: list[list[dict[str, Any]]] = [[] for _ in range(12)]
        likes, dislikes = reactions(run, step, said, p)
        wrote_ = pl.col("kind").is_in([int(PostKind.ORIGINAL), int(PostKind.COMMENT)])
        for row in run.table("posts", (step, step)).filter((pl.col("step") == step) & wrote_).iter_rows(named=True):
            own[row["author"]] += [
                {"post": row["post"], "proposition": k, "stance": s} for k, s in said.get(row["post"], [])
            ]
        own = [sorted(one, key=lambda row: (row["proposition"], row["post"])) for one in own]
        inputs = BeliefInputs(0, shown(*feeds), wrote(p, *own, likes=likes, dislikes=dislikes))
        state, _ = rule.step(state, inputs, params, StageDraws(2, Stage.BELIEF, step))
    return np.asarray(state.stance)


def reactions(run: ts.Run, step: int, said: dict[int, Any], p: int) -> tuple[np.ndarray, np.ndarray]:
    """Likes and dislikes of a step by author and proposition, counted one by one; by name of the kind."""
    likes, dislikes = np.zeros((12, p), np.int32), np.zeros((12, p), np.int32)
    author = run.table("posts")["author"].to_list()
    actions = run.words("actions", (step, step)).filter(pl.col("status") == "accepted")
    for kind, target in actions.select("kind", "target").iter_rows():
        if kind in ("like", "like_comment", "dislike") and author[target] < 12:
            for k, _ in said.get(target, []):
                (dislikes if kind == "dislike" else likes)[author[target], k] += 1
    return likes, dislikes


def quiet(rule: str, **given: Any) -> ts.Run:
    """Nobody acts and everybody is shown everything, so that a missing post changes nobody's feed but by its row."""
    layers = {"agents": 15, "steps": 5, "seed": 6, "beliefs": {"rule": rule}, "policy": "silent"}
    return run_of(settings_of(layers, {"feed": {"others": 200}}, given), RUMOR)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("what", ["post", "veracity", "author"])
def test_where_feeds_cannot_change_both_ways_agree(rule: str, what: str) -> None:
    run = quiet(rule)
    post = injected(run)
    author = int(run.table("posts")["author"][post])
    removal = {
        "post": Removal(posts=(post,)),
        "veracity": Removal(veracities=(Veracity.FALSE,)),
        "author": Removal(authors=(author,)),
    }[what]
    by_rule = without(run, removal, RUMOR)
    leave_out = leave_out_of(run, removal, resolve(run.settings), RUMOR)
    other = quiet(rule, leave_out=leave_out)
    assert other.table("exposures").height == run.table("exposures").height - by_rule.rows
    stances = other.table("beliefs").sort("step", "agent", "proposition")["stance"]
    assert by_rule.beliefs.sort("step", "agent", "proposition")["without"].to_list() == stances.to_list()
    assert rule == "no_change" or what != "veracity" or by_rule.effect["affected"].sum() > 0


@pytest.mark.parametrize("rule", ["credence", "exposure-bounded"])
def test_without_labels_it_is_the_run_in_which_they_are_hidden(rule: str) -> None:
    moderated = {"moderation": {"strategy": "third_party", "takedown": False, "posts_per_step": 20}}
    labeled, hidden = (quiet(rule, **moderated, feed={"show_labels": shows}) for shows in (True, False))
    result = without(labeled, Removal(labels=("verdict", "note")), RUMOR)
    assert result.rows == labeled.table("exposures").filter(pl.col("verdict") != 0).height > 0
    stances = result.beliefs.select("step", "agent", "proposition", stance="without")
    assert stances.equals(hidden.table("beliefs").select(stances.columns))
    assert not stances.equals(labeled.table("beliefs").select(stances.columns))
    if rule == "credence":
        last = hidden.table("veracities").sort("step").unique(["agent", "claim"], keep="last").sort("agent", "claim")
        assert result.claims["without"].to_list() == last["judged"].to_list()
        false = result.claim_effect.row(by_predicate=pl.col("truth") == "false", named=True)
        assert false["effect"] < 0 < false["stopped"]


@pytest.mark.parametrize("rule", ["log_odds", "social_log_odds"])
def test_without_a_record_nobody_is_given_it(rule: str) -> None:
    run = lively(rule)
    claims = run.table("claims")
    held = run.table("holdings").filter((pl.col("rank") >= 0) & (pl.col("change") == 0))["claim"]
    claim = int(held.mode().min())  # type: ignore[arg-type]
    got = without(run, Removal(records=(claim,)), SCENARIO)
    assert got.effect["affected"].sum() > 0
    same = claims.filter(pl.col("same_as") == claim)["claim"].to_list()
    assert without(run, Removal(records=(same[-1],)), SCENARIO).beliefs.equals(got.beliefs)


def test_a_share_goes_alone_and_a_root_with_its_shares() -> None:
    run = lively("exposure-bounded")
    posts, exposures = run.table("posts"), run.table("exposures")
    seen = exposures.filter(pl.col("post") != pl.col("root")).group_by("post", "root").len().sort("len", "post")
    share, root, times = seen.row(-1)
    assert without(run, Removal(posts=(share,)), SCENARIO).rows == times
    assert without(run, Removal(posts=(root,)), SCENARIO).rows == exposures.filter(pl.col("root") == root).height
    author = int(posts["author"][share])
    gone = exposures.join(posts.select(pl.col("post").alias("root"), pl.col("author").alias("writer")), on="root")
    wanted = gone.filter((pl.col("author") == author) | (pl.col("writer") == author)).height
    assert without(run, Removal(authors=(author,)), SCENARIO).rows == wanted


def test_an_author_left_out_never_acts_and_others_keep_their_draws() -> None:
    base = {"agents": 20, "steps": 3, "seed": 9}
    run, other = (run_of(settings_of(base, {"leave_out": {"agents": gone}}), SCENARIO) for gone in ([], [4]))
    assert other.table("exposures").filter(pl.col("agent") == 4).is_empty()
    assert other.table("posts").filter(pl.col("author") == 4).is_empty()
    first = [one.table("exposures", (1, 1)).filter(pl.col("agent") != 4) for one in (run, other)]
    assert first[0].equals(first[1])


def test_a_source_left_out_sends_no_message() -> None:
    message = {"text": "Look twice.", "source": SCENARIO.sources[0].name, "stance": {SCENARIO.proposition_names[0]: 1}}
    given: dict[str, Any] = {"agents": 10, "steps": 2, "events": [{"step": 1, "message": message}]}
    sent, unsent = (
        run_of(settings_of(given, {"leave_out": {"agents": gone}}), SCENARIO).words("exposures") for gone in ([], [10])
    )
    assert (sent["slot"] == "sent").sum() == 10
    assert (unsent["slot"] == "sent").sum() == 0


@pytest.mark.parametrize("rule", EXPOSED)
def test_the_viewer_says_the_same_of_one_step(tmp_path: Path, rule: str) -> None:
    """In a run of one step, that of the viewer and that of the whole run ask one question."""
    library = Library(record(tmp_path / rule, agents=40, steps=1, beliefs={"rule": rule}))
    of = library.snapshot(library.locations()[0].id)
    row = of.run.table("trail").filter((pl.col("agent") == 7) & (pl.col("rank") >= 0)).row(0, named=True)
    one = without_row(of.run, of.cached, 7, 1, row["proposition"], row["rank"], row["post"])
    root = int(of.run.table("posts")["root"][row["post"]])
    whole = without(of.run, Removal(posts=(root,))).beliefs
    mine = whole.filter((pl.col("step") == 1) & (pl.col("agent") == 7) & (pl.col("proposition") == row["proposition"]))
    assert mine["without"].item() == pytest.approx(one.stance, abs=1e-15)


def test_what_is_not_there_is_refused() -> None:
    run = lively("exposure-bounded")
    for texts in (["post"], ["post=x"], ["veracity=maybe"], ["agents=3"]):
        with raises_error(SettingError, where="--without"):
            Removal.parse(texts)
    for removal in (Removal(posts=(10**6,)), Removal(authors=(10**6,)), Removal(records=(0,))):
        with raises_error(SettingError, where="--without"):
            without(run, removal, SCENARIO)
    written = int(run.table("posts").filter(pl.col("kind") == PostKind.ORIGINAL)["post"][0])
    with raises_error(SettingError, do="author"):
        leave_out_of(run, Removal(posts=(written,)), resolve(run.settings), SCENARIO)
    with raises_error(SettingError, where="record"):
        leave_out_of(lively("log_odds"), Removal(records=(0,)), resolve(run.settings), SCENARIO)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    ts.simulate(ts.resolve_for("health-rumor@1", agents=15, steps=2, seed=1), folder)
    assert main(["counterfactual", str(folder), "--without", "veracity=false", "--agent", "3"]) == 0
    said = capsys.readouterr().out
    assert "held fixed" in said
    assert "reproduces the recorded beliefs exactly" in said
    assert "Stances of agent 3 at the end" in said
    assert main(["counterfactual", str(folder), "--without", "post=0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reproduces_the_record"] is True
    assert found["method"] == "rule"
    assert len(found["effect"]) == 2
    assert main(["counterfactual", str(folder), "--without", "post=0", "--seeds", "2"]) == 2


def test_both_ways_give_the_effect_of_a_post_the_same_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody acts and everybody sees everything, so that both ways give one number, and neither is 0."""
    quiet = {"policy": "silent", "feed": {"others": 200}, "beliefs": {"rule": "exposure", "pull": 0.05}}
    folder, without_it = tmp_path / "run", tmp_path / "pair"
    ts.simulate(ts.resolve_for("health-rumor@1", agents=15, steps=2, seed=1, sets=quiet), folder)
    given = ["counterfactual", str(folder), "--without", f"post={injected(ts.Run.open(folder))}", "--json"]
    assert main(given) == 0
    by_rule = json.loads(capsys.readouterr().out)
    effect = {row["name"]: row["effect"] for row in by_rule["course"] if row["step"] == 2}
    assert main([*given, "--run", "--out", str(without_it)]) == 0
    pair = json.loads(capsys.readouterr().out.splitlines()[-1])
    again = {row["outcome"]: row["difference"] for row in pair["paired"] if row["arm"] != pair["baseline"]}
    assert pair["baseline"].startswith('leave_out={"posts"')
    assert pair["primary"] == "shift.vaccine_safe"
    assert min(abs(value) for value in effect.values()) > 1e-4
    assert {name: again[f"shift.{name}"] for name in effect} == pytest.approx(effect)


def test_without_propositions_the_outcome_is_defined_without_the_removed_posts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "posts.csv").write_text("text,veracity\nIt will rain.,false\nIt rained.,true\n", encoding="utf-8")
    ts.run(tmp_path / "posts.csv", agents=15, steps=2, out=tmp_path / "run")
    given = ["counterfactual", str(tmp_path / "run"), "--without", "veracity=false", "--run", "--json"]
    assert main([*given, "--out", str(tmp_path / "pair")]) == 0
    pair = json.loads(capsys.readouterr().out.splitlines()[-1])
    of_primary = [row["difference"] for row in pair["paired"] if row["outcome"] == pair["primary"]]
    assert None not in of_primary


@pytest.mark.slow
def test_the_command_with_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "run", tmp_path / "pair"
    ts.simulate(ts.resolve_for("health-rumor@1", agents=15, steps=2, seed=1), folder)
    given = ["counterfactual", str(folder), "--without", "veracity=false", "--run", "--seeds", "2", "--out", str(out)]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [run["state"] for run in found["runs"]] == ["finished"] * 4
    assert (out / "report.html").is_file()
