"""What events do to a run: settings that change, shocks, messages, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from raised_errors import raises_error
from repository import ROOT
from small_worlds import run_of, settings_of
from townsquare.analysis import outcomes
from townsquare.analysis.moderation import strategy
from townsquare.core.enums import PostKind, Slot, Verdict
from townsquare.core.errors import SettingError
from townsquare.core.schema import TABLES
from townsquare.experiments.arms import parse_vary
from townsquare.pages.report import write_report
from townsquare.record.contract import StepSummary
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.load import synthetic_scenario
from townsquare.scenario.settings import resolve_for
from townsquare.settings.event_checks import FIXED
from townsquare.settings.resolve import Settings, resolve
from townsquare.simulation.feed.build import put_on_top
from townsquare.simulation.feed.rank_kernels import FEED_ROW, Ranked
from townsquare.simulation.run import simulate

SMALL = {"agents": 30, "steps": 5, "graph": {"m": 4}, "feed": {"followed": 6, "others": 4}}
SOURCE = "Made source 7"
EVERYTHING: dict[str, Any] = {
    "growth": {"max_per_step": 2},
    "actions": {"friction": {"like": 0.3}},
    "treatments": [{"name": "warned", "effects": {"labels": "hidden", "friction": {"share": 0.9}, "others": 2}}],
    "events": [
        {"step": 2, "set": {"moderation.strategy": "hybrid", "feed": {"ranker": "engagement"}}},
        {"step": 2, "inject": {"posts": 4, "veracity": "false"}},
        {"step": 2, "message": {"text": "Look twice.", "source": SOURCE, "audience": {"treatment": "warned"}}},
        {"step": 3, "message": {"text": "It is false.", "source": SOURCE, "stance": {"p0": 0.9}, "repeat": 2}},
        {"step": 4, "set": {"policy": "blind"}},
    ],
}


def small(*layers: Mapping[str, Any], **given: Any) -> Settings:
    return settings_of(SMALL, *layers, given)


def until(run: Run, step: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every table as it stood after a step; tables without a step are those of the start only."""
    for name, table in TABLES.items():
        columns = [column.name for column in table.recorded if column.hashed]
        if "step" in columns and name != "steps":
            yield name, run.table(name).select(columns).filter(pl.col("step") <= step)


def sent(run: Run) -> pl.DataFrame:
    """Rows of feeds that are messages, with whether their readers are assigned to the first treatment."""
    rows = run.table("exposures").filter(pl.col("slot") == Slot.SENT)
    return rows.join(run.table("treatments").filter(pl.col("treatment") == 0), on="agent", how="left")


# --- settings that change ----------------------------------------------------------------------------------


def test_what_an_event_sets_holds_from_its_step_on() -> None:
    found = small(events=[{"step": 3, "set": {"feed.ranker": "engagement", "feed": {"others": 0}}}])
    assert [found.at(step).member("ranker") for step in (0, 2, 3, 9)] == ["recent", "recent", *["engagement"] * 2]
    run, plain = run_of(found), run_of(small())
    for (name, one), (_, other) in zip(until(run, 2), until(plain, 2), strict=True):
        assert one.equals(other, null_equal=True), name
    others = run.table("exposures").filter(pl.col("slot") == Slot.OTHER)
    assert set(others["step"]) == {1, 2}


def test_a_strategy_that_is_switched_keeps_what_it_found() -> None:
    events = [
        {"step": 2, "set": {"moderation": {"strategy": "third_party", "unverified": 0.0, "takedown_at": 1.0}}},
        {"step": 4, "set": {"moderation.strategy": "none"}},
    ]
    run = run_of(small(events=events))
    assert set(run.table("verdicts")["step"]) == {2, 3}
    shown = run.table("exposures").filter(pl.col("verdict") != Verdict.NONE)
    assert set(shown["step"]) == {3, 4, 5}


def test_only_the_strategy_in_force_lets_agents_write_notes() -> None:
    changed = {"moderation": {"strategy": "community"}, "policy": {"add_note": {"base": 3.0}}}
    run = run_of(small(events=[{"step": 3, "set": changed}, {"step": 4, "set": {"moderation.strategy": "none"}}]))
    assert set(run.table("notes")["step"]) == {3}


def test_given_parameters_stay_when_a_member_is_switched_and_defaults_do_not() -> None:
    base = {"moderation": {"strategy": "third_party", "posts_per_step": 9}, "policy": {"posts_per_step": 0.2}}
    found = resolve(base, {"events": [{"step": 2, "set": {"moderation.strategy": "hybrid", "policy": "blind"}}]})
    then = found.at(2)
    assert then.params["moderation"].model_dump()["posts_per_step"] == 9
    assert then.params["policy"].model_dump()["posts_per_step"] == 0.2
    assert then.params["policy"].model_dump()["like"] == 0.1


def test_later_events_build_on_earlier_ones_whatever_their_order_in_the_list() -> None:
    events = [{"step": 5, "set": {"policy.like": 0.3}}, {"step": 2, "set": {"policy": "blind"}}]
    found = resolve({"events": events})
    assert [found.at(step).member("policy") for step in (1, 2, 5)] == ["statistical", "blind", "blind"]
    assert found.at(5).params["policy"].model_dump()["like"] == 0.3


def test_the_plain_form_gives_the_same_changes() -> None:
    found = small(EVERYTHING)
    again = resolve(json.loads(json.dumps(found.plain())))
    assert again == found
    assert [(step, then.plain()) for step, then in again.changes] == [(s, t.plain()) for s, t in found.changes]


@pytest.mark.parametrize(
    "layer",
    [
        {"agents": 5}, {"steps": 9}, {"seed": 2}, {"scenario": "synthetic"}, {"population": {"confidence_mean": 0.1}},
        {"graph.m": 3}, {"beliefs": {"rule": "averaging"}}, {"feed": {"newest": 3}}, {"record.trail": False},
        {"injection.posts_per_step": 1}, {"events": []}, {"treatments": []}, {"policy": {"members": []}},
        {"beliefs.stance_scorer": "vader"}, {"version": "1"}, {"evidence": {"own_claims": True}},
    ],
)  # fmt: skip
def test_what_cannot_change_during_a_run_is_refused(layer: dict[str, Any]) -> None:
    with raises_error(SettingError, where=r"event 2 \(step 3\), set, ", do=" cannot change during a run: "):
        resolve({"events": [{"step": 1, "set": {"feed.others": 1}}, {"step": 3, "set": layer}]})


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (
            [{"step": 0, "set": {}}],
            {"where": r"event 1 \(step 0\), step", "got": "0", "allowed": "a whole number of at least 1"},
        ),
        ([{"step": 2}], {"where": r"event 1 \(step 2\)", "do": "exactly one of `set`, `inject` and `message`"}),
        ([{"step": 2, "set": {}, "inject": {"posts": 1}}], {"do": "exactly one of"}),
        ([{"step": 2, "inject": {"posts": 0}}], {"where": r"event 1 \(step 2\), inject, posts", "got": "0"}),
        ([{"step": 2, "inject": {"posts": 1, "veracity": "maybe"}}], {"allowed": "any, true, false"}),
        (
            [{"step": 2, "set": {"feed.ranker": "hott"}}],
            {"where": r"event 1 \(step 2\), set, feed\.ranker", "do": r"did you mean 'hot'\?"},
        ),
        ([{"step": 2, "set": {"feed.folowed": 2}}], {"do": "did you mean 'feed.followed'"}),
        (
            [{"step": 2, "set": {"feed.followed": -2}}],
            {"where": r"event 1 \(step 2\), set, feed\.followed", "got": "-2"},
        ),
        ([{"step": 2, "set": {"policy": "mix"}}], {"do": "drawn once, at the start"}),
        ([{"stp": 2, "set": {}}], {"where": "event 1, stp: got 2.*did you mean 'step'"}),
        ([7], {"where": "event 1", "got": "7"}),
        ({"step": 1}, {"where": "events", "allowed": "a list"}),
        ([{"step": 1, "message": {"text": "", "source": SOURCE}}], {"where": "message, text"}),
        ([{"step": 1, "message": {"text": "hi"}}], {"where": "message, source", "got": "nothing"}),
        (
            [{"step": 1, "message": {"text": "hi", "source": SOURCE, "stance": {"p0": 2}}}],
            {"where": "message, stance, p0", "got": "2"},
        ),
        (
            [{"step": 1, "message": {"text": "hi", "source": SOURCE, "audience": "some"}}],
            {"allowed": "all, or a mapping"},
        ),
        (
            [{"step": 1, "message": {"text": "hi", "source": SOURCE, "audience": {"treatment": "warn"}}}],
            {"where": "audience, treatment", "got": "'warn'", "allowed": "no treatment"},
        ),
        (
            [{"step": 1, "message": {"text": "hi", "source": SOURCE}}] * 2,
            {"where": r"event 2 \(step 1\)", "allowed": "once per step"},
        ),
    ],
)
def test_a_wrong_event_is_named(events: Any, says: dict[str, str]) -> None:
    with raises_error(SettingError, **says):
        resolve({"events": events})


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (
            {"inject": {"posts": 99}},
            {"where": r"event 1 \(step 2\), inject", "got": "99 posts", "allowed": r"the \d+ left"},
        ),
        (
            {"inject": {"posts": 1, "source": "Made source 9"}},
            {"where": "inject, source", "do": "did you mean 'Made source"},
        ),
        (
            {"message": {"text": "hi", "source": "Nobody"}},
            {"where": "message, source", "got": "'Nobody'", "allowed": "Made source 0"},
        ),
        (
            {"message": {"text": "hi", "source": SOURCE, "stance": {"q": 1}}},
            {"where": "message, stance", "got": "'q'", "allowed": "p0"},
        ),
    ],
)
def test_an_event_is_checked_against_the_scenario_before_the_run(event: dict[str, Any], says: dict[str, str]) -> None:
    with raises_error(SettingError, **says):
        resolve_for("synthetic:60", sets=[f"events={json.dumps([{'step': 2, **event}])}"])


def test_events_and_treatments_of_a_scenario(tmp_path: Path) -> None:
    text = """
name: river
propositions: [{name: dam, text: Build it.}]
sources: [{name: Gazette}]
posts: [{text: one}, {text: two, step: 3}, {text: three, step: 1}]
events:
  - {step: 2, set: {moderation.strategy: community}}
  - {step: 2, message: {text: Mind the gap., source: Gazette, audience: all}}
treatments: [{name: calm, share: 0.25}]
"""
    (tmp_path / "scenario.yaml").write_text(text)
    found = resolve_for(str(tmp_path))
    assert (len(found.config.events), found.config.treatments[0].share) == (2, 0.25)
    assert found.at(2).member("moderation") == "community"
    assert resolve_for(str(tmp_path), sets=["events=[]"]).config.events == ()
    (tmp_path / "scenario.yaml").write_text(text.replace("step: 2, set", "step: 0, set"))
    with raises_error(SettingError, where=r"event 1 \(step 0\), step \(settings of scenario .*\)", got="0"):
        resolve_for(str(tmp_path))


def test_posts_with_a_step_of_their_own_enter_then(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text("text,step\nfirst,\nthird,3\nsecond,2\nalso third,3\nlater,9\n")
    found = resolve_for(str(tmp_path / "posts.csv"), agents=8, steps=4, sets=["injection.posts_per_step=1"])
    run = simulate(found)
    posts = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED).join(run.table("texts"), on="text")
    assert posts.sort("post").select("step", "content").rows() == [
        (1, "first"), (2, "second"), (3, "third"), (3, "also third"),
    ]  # fmt: skip


# --- a run with events is a run ----------------------------------------------------------------------------


def test_a_run_with_everything_resumes_to_the_same_hash() -> None:
    whole = run_of(small(EVERYTHING))
    recorder = MemoryRecorder()

    def stop(mark: StepSummary) -> None:
        if mark.step == 2:
            raise KeyboardInterrupt

    for on_step in (stop, None):
        try:
            simulate(resolve(small(EVERYTHING).plain()), recorder, scenario=synthetic_scenario(60), on_step=on_step)
        except KeyboardInterrupt:
            assert Run.of(recorder).last_step == 2
    assert Run.of(recorder).content_hash == whole.content_hash
    assert Run.of(recorder).verify() == whole.content_hash


@pytest.mark.parametrize(
    "layer",
    [
        {"events": []},
        {"events": [{"step": 99, "inject": {"posts": 3}}, {"step": 3, "set": {"feed.followed": 6}}]},
        {"events": [{"step": 6, "message": {"text": "too late", "source": SOURCE}}]},
        {"events": [{"step": 1, "message": {"text": "to nobody", "source": SOURCE, "audience": {"share": 0}}}]},
        {"actions": {"friction": {"share": 0.0}}},
    ],
)
def test_events_that_do_nothing_change_nothing(layer: dict[str, Any]) -> None:
    run, plain = run_of(small(layer, moderation="hybrid")), run_of(small(moderation="hybrid"))
    if layer.get("events") and "message" in layer["events"][0] and layer["events"][0]["step"] == 1:
        assert sent(run).height == 0
    else:
        assert run.content_hash == plain.content_hash


def test_arms_share_their_draws_up_to_and_beyond_an_event() -> None:
    """A message that takes no stance and that nobody can act on changes nothing but the rows that show it."""
    frozen = {"actions": {"enabled": ["ignore"]}, "feed": {"comments": 0}}
    event = {"step": 2, "message": {"text": "Hello.", "source": SOURCE, "repeat": 3}}
    run, plain = run_of(small(frozen, events=[event])), run_of(small(frozen))
    rows = [one.table("exposures").drop("post", "root", "rank") for one in (run, plain)]
    rest = rows[0].filter(pl.col("slot") != Slot.SENT)
    assert rows[0].height - rest.height == 3 * 30
    assert rest.sort("step", "agent", maintain_order=True).equals(rows[1])
    assert run.table("beliefs").equals(plain.table("beliefs"))


# --- messages ----------------------------------------------------------------------------------------------


def test_a_message_stands_at_the_top_of_the_feeds_of_its_audience_and_nowhere_else() -> None:
    run = run_of(small(EVERYTHING))
    rows, posts = sent(run), run.table("posts").filter(pl.col("kind") == PostKind.MESSAGE)
    assert posts["step"].to_list() == [2, 3]
    first, second = posts["post"].to_list()
    assert rows.filter(pl.col("post") == first)["assigned"].all()
    online = run.table("beliefs").filter(pl.col("proposition") == 0).select("step", "agent")
    born = run.table("agents").select("agent", "born")
    readers = online.join(born, on="agent").filter(pl.col("born") < pl.col("step"))
    for post, steps in ((first, [2]), (second, [3, 4])):
        shown = rows.filter(pl.col("post") == post)
        wanted = readers.filter(pl.col("step").is_in(steps))
        if post == first:
            wanted = wanted.join(run.table("treatments").filter("assigned"), on="agent")
        assert shown.select("step", "agent").rows() == wanted.sort("step", "agent").select("step", "agent").rows()
        assert (shown["rank"] == 0).all()
        assert shown.filter("first_seen").select("step", "agent").rows() == [
            row for n, row in enumerate(shown.select("step", "agent").rows()) if row[1] not in shown["agent"][:n]
        ]
    others = run.table("exposures").filter(pl.col("root").is_in([first, second]) & (pl.col("slot") != Slot.SENT))
    assert set(others.join(run.table("posts"), on="post")["kind"]) <= {PostKind.SHARE, PostKind.COMMENT}
    assert run.table("exposures").select("step", "agent", "root").is_duplicated().sum() == 0


def test_a_message_moves_the_beliefs_of_its_audience_by_the_rule() -> None:
    message = {"text": "So it is.", "source": SOURCE, "stance": {"p0": 1}, "audience": {"share": 0.5}}
    event = {"step": 1, "message": message}
    even = {"population": {"stance": {"p0": {"kind": "constant", "mean": 0.2}}}}
    quiet = {"policy": "silent", "injection": {"posts_per_step": 0}, "steps": 1, **even}
    run = run_of(small(quiet, events=[event]))
    start, end = (run.table("beliefs").filter(pl.col("step") == step)["stance"].to_numpy() for step in (0, 1))
    readers = set(sent(run)["agent"])
    assert 5 < len(readers) < 25
    assert {agent for agent in range(30) if end[agent] != start[agent]} == readers
    assert set(run.table("trail")["agent"]) == readers


def test_an_audience_is_drawn_by_message_for_good() -> None:
    event = {"step": 1, "message": {"text": "One.", "source": SOURCE, "audience": {"share": 0.4}, "repeat": 3}}
    alone = sent(run_of(small(events=[event])))
    per_step = alone.group_by("step").agg(pl.col("agent").sort()).sort("step")["agent"].to_list()
    assert per_step[0] == per_step[1] == per_step[2]
    more = [{"step": 1, "message": {"text": "Two.", "source": SOURCE, "audience": {"share": 0.4}}}, event]
    run = run_of(small(events=more, agents=40))
    one, two = (sent(run).filter(pl.col("post") == post)["agent"].to_list() for post in (6, 5))
    assert [agent for agent in one[: len(set(one))] if agent < 30] == per_step[0]
    assert set(one) != set(two)


def test_a_message_that_is_taken_down_is_sent_no_more() -> None:
    event = {"step": 1, "message": {"text": "Rude.", "source": SOURCE, "repeat": 4}}
    flags = {"policy": {"flag": {"base": 9.0}}, "moderation": {"strategy": "community", "takedown_flags": 1}}
    run = run_of(small(flags, events=[event]))
    assert set(sent(run)["step"]) == {1}
    log = run.table("moderation_log")
    post = run.table("posts").filter(pl.col("kind") == PostKind.MESSAGE)["post"][0]
    assert log.filter(pl.col("post") == post).select("step", "reason").rows()[0][0] == 1


def test_messages_stand_above_and_what_passes_them_on_is_left_out() -> None:
    root = np.array([0, 1, 2, 3, 2, 5, -1, -1, -1, -1], np.int32)  # post 4 is a share of 2
    posts = np.array([[5, 4, 1, 9], [0, 9, 9, 9], [4, 3, 5, 1]], np.int32)
    sent = np.array([[2, -1], [-1, -1], [3, 2]], np.int32)

    def rows_of(posts: npt.NDArray[np.int32], authors: npt.NDArray[np.int32], slot: int) -> npt.NDArray[Any]:
        out = np.empty(posts.shape, FEED_ROW)
        out["post"], out["root"], out["author"], out["slot"] = posts, root[posts], authors, slot
        return out

    ranked = Ranked(rows_of(posts, 10 + posts, 0), np.array([3, 1, 4]))
    out = put_on_top(rows_of(sent, np.full_like(sent, 20), Slot.SENT), ranked)

    def used(name: str) -> list[list[int]]:
        return [out.rows[name][k, :n].tolist() for k, n in enumerate(out.counts)]

    assert used("post") == [[2, 5, 1], [0], [3, 2, 5, 1]]
    assert used("root") == [[2, 5, 1], [0], [3, 2, 5, 1]]
    assert used("author") == [[20, 15, 11], [10], [20, 20, 15, 11]]
    assert used("slot") == [[Slot.SENT, 0, 0], [0], [Slot.SENT, Slot.SENT, 0, 0]]


# --- what is told of it ------------------------------------------------------------------------------------


def test_outcomes_and_reports_know_of_events(tmp_path: Path) -> None:
    events = [{"step": 2, "set": {"moderation": {"strategy": "third_party", "unverified": 0.0}}}]
    run = run_of(small(events=events, treatments=[{"name": "calm"}]))
    assert strategy(run) == "none, then third_party"
    assert strategy(run_of(small(moderation="hybrid"))) == "hybrid"
    assert outcomes(run)["recall"] > 0
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "step 2: set" in page
    assert "calm (50%)" in page


def test_the_page_on_events_is_true(tmp_path: Path) -> None:
    """Its configuration runs, its query gives what it says, and its policy is one."""
    text = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    configuration, policy = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (query,) = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "config.yaml"
    file.write_text(configuration, encoding="utf-8")
    run = simulate(resolve_for(None, file, agents=60))
    assert sent(run)["assigned"].all()
    names: dict[str, Any] = {"run": run}
    exec(compile(query, "docs/events.md", "exec"), names)  # noqa: S102 - it is our own page
    moved = names["moved"].group_by("assigned").agg(pl.len())
    first = run.table("treatments").filter(pl.col("agent") < 60)
    counts = first.group_by("assigned").len().sort("assigned")["len"].to_list()
    assert moved.sort("assigned")["len"].to_list() == [2 * n for n in counts]
    file.write_text(policy, encoding="utf-8")
    members = resolve_for("health-rumor@1", file).params["policy"].model_dump()["members"]
    assert [member["name"] for member in members] == ["statistical", "coordinated"]
    for setting in FIXED:
        if setting not in (
            "steps",
            "version",
            "scenario_digest",
            "file_contents",
            "prompts_digest",
            "events",
            "treatments",
        ):
            assert f"`{setting}`" in text, setting


def test_events_can_be_varied_between_arms() -> None:
    key, values = parse_vary("events=[],[{step: 4, inject: {posts: 10}}]")
    assert (key, values) == ("events", [[], [{"step": 4, "inject": {"posts": 10}}]])
    assert [len(resolve({key: value}).config.events) for value in values] == [0, 1]
