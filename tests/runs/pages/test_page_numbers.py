"""Numbers that a page gives beside each other, computed again from the record: with and without a warm-up."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import townsquare as ts
from townsquare.analysis.causes.claims import claim_courses, holds_claims
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.courses import moderation_validity
from townsquare.core.enums import LogKind, Verdict
from townsquare.experiments.methods import methods
from townsquare.pages.report.moderation import moderation_section
from townsquare.pages.report.run_page import run_page
from townsquare.pages.report.stances import stance_section

RUNS = {
    "steps": ("health-rumor@1", {"agents": 80, "steps": 16, "moderation.strategy": "hybrid"}),
    "hours": ("health-rumor", {"agents": 120, "steps": 60, "time.warm_up_hours": 24, "moderation.response": "note"}),
    "within its warm-up": ("health-rumor", {"agents": 80, "steps": 40, "moderation.response": "label"}),
    "downranked": (
        "health-rumor",
        {"agents": 120, "steps": 40, "time.warm_up_hours": 0, "moderation.response": "downrank"},
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest) -> CachedRun:
    scenario, changed = RUNS[request.param]
    return CachedRun(ts.simulate(ts.resolve_for(scenario, sets=changed, seed=1)), large=True)


def acts(run: CachedRun) -> dict[str, dict[int, int]]:
    """Return the first step of each act on each root, from the logs."""
    root = dict(run.table("posts").select("post", "root").rows())
    first: dict[str, dict[int, int]] = {"label": {}, "note": {}, "down": {}, "rank": {}}
    kinds = {int(LogKind.NOTE_SHOWN): "note", int(LogKind.TAKEDOWN): "down", int(LogKind.DOWNRANKED): "rank"}
    rows = [(kinds.get(kind, ""), post, step)
            for kind, post, step in run.table("moderation_log").select("kind", "post", "step").rows()]  # fmt: skip
    verdicts = run.table("verdicts").select("verdict", "post", "step").rows()
    rows += [("label", post, step) for verdict, post, step in verdicts if verdict == Verdict.FALSE]
    for name, post, step in rows:
        if name:
            first[name][root[post]] = min(step, first[name].get(root[post], step))
    return first


def test_belief_moved_by_moderated_posts_counts_posts_of_people_and_of_the_warm_up(run: CachedRun) -> None:
    first, root = acts(run), dict(run.table("posts").select("post", "root").rows())
    touched = {post for steps in first.values() for post in steps}
    every, part = 0.0, 0.0
    stances = {
        tuple(row[:3]): row[3] for row in run.table("beliefs").select("step", "agent", "proposition", "stance").rows()
    }
    rows = run.table("trail").select("step", "agent", "proposition", "post", "amount").rows()
    total: dict[tuple[int, int, int], float] = {}
    for step, agent, proposition, _, amount in rows:
        key = step, agent, proposition
        total[key] = total.get(key, 0.0) + amount
    for step, agent, proposition, post, amount in rows:
        key = step, agent, proposition
        before = stances.get((step - 1, agent, proposition))
        if before is not None and total[key]:
            size = abs(amount * (stances[key] - before) / total[key])
            every, part = every + size, part + size * (root.get(post) in touched)
    assert moderation_validity(run)["moderated_movement"] == pytest.approx(part / every, rel=1e-4)
    assert part > 0


def test_posts_are_listed_with_what_moderation_did_to_them(run: CachedRun) -> None:
    page, first = run_page(run), acts(run)
    texts = dict(run.table("texts").rows())
    touched = {texts[text] for post, text in run.table("posts").select("post", "text").rows()
               if any(post in steps for steps in first.values())}  # fmt: skip
    shown = [*page.values["most_posts"], *page.values["false_posts"]]
    said = {post["text"] for post in shown if post["moderation"]}
    assert said <= touched
    per_post = [
        word
        for post in shown
        for word in re.findall("note shown|verdict false|downranked|taken down", post["moderation"])
    ]
    assert per_post, "some listed post was moderated"


def test_the_first_label_and_note_of_a_claim_are_those_of_the_log(run: CachedRun) -> None:
    if not holds_claims(run):
        return
    first, text = acts(run), dict(run.table("posts").select("post", "text").rows())
    for column, name in (("label_step", "label"), ("note_step", "note")):
        steps: dict[int, int] = {}
        for post, step in first[name].items():
            steps[text[post]] = min(step, steps.get(text[post], step))
        for claim, step in claim_courses(run).select("claim", column).unique().rows():
            assert step == steps.get(claim)


def test_the_sentence_on_notes_names_what_its_shares_are_of(run: CachedRun) -> None:
    says = " ".join(moderation_section(run).says)
    posts = {
        post: (kind, veracity) for post, kind, veracity in run.table("posts").select("post", "kind", "veracity").rows()
    }
    noted = {
        int(value): post
        for value, post in run.table("moderation_log").filter(kind=LogKind.NOTE_SHOWN).select("value", "post").rows()
    }
    warm_up = 24 if run.settings["time"]["step_minutes"] else 0
    born = dict(run.table("posts").select("post", "step").rows())
    known = [posts[post][1] for post in noted.values() if born[post] > warm_up and posts[post][1] > 0]
    found = re.search(r"of those on true or false posts, (\S+)% were on false posts", says)
    if not known:
        assert not found
        return
    assert found is not None
    assert float(found[1]) == pytest.approx(100 * known.count(2) / len(known), abs=0.5)


def test_methods_name_the_steps_that_were_run_and_the_warm_up(tmp_path: Path) -> None:
    made = ts.run("health-rumor", agents=30, steps=3, out=tmp_path / "run")
    assert "at the start, 3 steps." in methods(made)
    assert "leave out the warm-up, the first 72 steps" in methods(made)
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as record, record:
        for table in ("ts_steps", "ts_batches"):
            record.execute(f"DELETE FROM {table} WHERE step = 3")
    stopped = ts.Run.open(tmp_path / "run")
    assert "at the start, the first 2 of 3 steps." in methods(stopped)


def test_polarization_is_of_the_people_it_names(run: CachedRun) -> None:
    says = " ".join(stance_section(run).says)
    for statement in run.table("propositions")["proposition"]:
        for step in (0, run.last_step):
            x = run.table("beliefs").filter(step=step, proposition=statement)["stance"].to_numpy()
            apart = abs(x[:, None] - x[None, :])
            grew = run.table("agents").filter(kind=0)["born"].max() != 0
            people = rf" \(over {x.size} people\)" if grew else ""
            assert re.search(rf"{apart.var():.3f}{people}( to|\.)", says)
