"""Note scorers of another package, in `community` and `hybrid`, from the command line to the viewer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from raised_errors import raises_error
from repository import HELPERS
from running_viewer import Visit, data, place
from small_worlds import draws_of, end_step, moderator_of, note, post, rate, run_of, settings_of, town
from townsquare.analysis.moderation import added_kinds
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import ActionStatus, LogKind, NoteStatus
from townsquare.core.errors import ContractError, SettingError
from townsquare.pages.report.moderation import moderation_section
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.scenario.load import synthetic_scenario
from townsquare.settings.config import MemberParams
from townsquare.settings.resolve import resolve
from townsquare.simulation.moderation.note_scorers.contract import (
    ChosenNoteScorer,
    NoteRatings,
    NoteScorer,
    NoteScores,
)
from townsquare.simulation.moderation.notes import rated_notes, scores_before
from townsquare.simulation.step import allowed_kinds
from townsquare.testing.moderator_conformance import check_moderator
from townsquare.testing.note_scorer_conformance import check_note_scorer

RATED = {
    "policy": {"name": "blind", "add_note": 0.2, "rate_note": 0.9, "posts_per_step": 0.0},
    "moderation": {"note_scorer": "factors", "ratings_at_least": 4, "shown_at": 0.25},
    "agents": 60, "steps": 5, "growth": {"max_per_step": 0},
}  # fmt: skip
MODERATOR = '''"""Notes, flags and blocking, which only this strategy gives to agents."""

from dataclasses import replace

from townsquare.core.actions import ActionKind
from townsquare.simulation.moderation.community import MODERATOR as COMMUNITY

MODERATOR = replace(COMMUNITY, name="notes_and_flags", adds=COMMUNITY.adds | {ActionKind.FLAG, ActionKind.BLOCK})
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a note scorer in one file, and a moderator in another, as pip leaves it: found by entry points."""
    site = tmp_path / "site"
    info = site / "note_factors-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: note-factors\nVersion: 1.0\n")
    points = ("note_scorer.factors = note_factors:SCORER", "moderation.notes_and_flags = notes_and_flags:MODERATOR")
    (info / "entry_points.txt").write_text("\n".join(["[townsquare.members]", *points, ""]))
    shutil.copy(HELPERS / "note_factors.py", site)
    (site / "notes_and_flags.py").write_text(MODERATOR)
    monkeypatch.syspath_prepend(site)
    for family in ("note_scorer", "moderation"):
        monkeypatch.setitem(registry._FAMILIES, family, {**registry._FAMILIES[family]})
    registry.add_installed.cache_clear()
    yield site
    registry.add_installed.cache_clear()
    for module in ("note_factors", "notes_and_flags"):
        sys.modules.pop(module, None)


def rated(strategy: str, **more: Any) -> ts.Settings:
    return settings_of(RATED, {"moderation": {"strategy": strategy, **more}}, seed=3)


def last_scores(run: Run) -> pl.DataFrame:
    return run.table("note_scores").group_by("note").last().sort("note")


# --- another package ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("strategy", ["community", "hybrid"])
def test_a_scorer_of_another_package_scores_the_notes(strategy: str) -> None:
    run = run_of(rated(strategy))
    scores = run.table("note_scores")
    assert scores.height > 30
    numbers = scores.select("intercept", "factor").drop_nans()
    assert numbers.height > 20
    assert numbers.select(pl.all().is_finite().all()).row(0) == (True, True)
    assert set(scores["status"]) == {NoteStatus.PENDING, NoteStatus.SHOWN, NoteStatus.NOT_HELPFUL}
    acts = run.table("moderation_log").filter(pl.col("kind").is_in([LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN]))
    logged = acts.sort("step").group_by(pl.col("value").cast(pl.Int32).alias("note")).last()
    both = logged.join(last_scores(run), on="note")
    assert both.height == logged.height > 3
    assert ((both["kind"] == LogKind.NOTE_SHOWN) == (both["status"] == NoteStatus.SHOWN)).all()
    assert acts["reason"].str.contains(r"intercept -?\d\.\d\d").all()


@pytest.mark.usefixtures("installed")
def test_a_row_of_scores_is_a_change_and_the_last_ones_are_those_of_all_ratings() -> None:
    run = run_of(rated("community"))
    scores = run.table("note_scores")
    by_note = scores.sort("note", "step").with_columns(
        pl.col("status", "intercept", "factor").shift().over("note").name.prefix("was_")
    )
    again = [f"was_{name}" for name in ("status", "intercept", "factor")]
    same = pl.all_horizontal(pl.col(one).eq_missing(pl.col(one.removeprefix("was_"))) for one in again)
    assert by_note.filter(same).height == 0
    notes, given = run.table("notes"), run.table("note_ratings")
    note, rating = (given[name].to_numpy() for name in ("note", "rating"))
    counted = (np.bincount(note[rating == value], minlength=notes.height).astype(np.int32) for value in (1, 0))
    ratings = NoteRatings(  # type: ignore[call-arg]  # of columns that a loop gives
        *(given[name].to_numpy() for name in ("note", "agent", "rating", "step")),
        *(notes[name].to_numpy() for name in ("author", "step")), *np.full((2, notes.height), -1, np.int32), *counted,
        run.last_step,
    )  # fmt: skip
    before = NoteScores(np.zeros(notes.height, np.uint8), *np.full((2, notes.height), np.nan))
    member = registry.get("note_scorer", "factors")
    found = ChosenNoteScorer(member, member.params(ratings_at_least=4, shown_at=0.25)).scores(ratings, before)
    at = last_scores(run)["note"].to_numpy()
    for name in ("status", "intercept", "factor"):
        assert np.array_equal(last_scores(run)[name].to_numpy(), getattr(found, name)[at], equal_nan=name != "status")
    assert np.isnan(np.delete(found.intercept, at)).all()


def test_by_command_line_resume_replay_report_and_viewer(installed: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    sets = ["moderation=hybrid", "moderation.note_scorer=factors", "moderation.ratings_at_least=4",
            "moderation.shown_at=0.25", "policy=blind", "policy.add_note=0.2", "policy.rate_note=0.9"]  # fmt: skip
    whole_folder, folder = tmp_path / "runs" / "whole", tmp_path / "runs" / "stopped"
    words = ["run", "health-rumor@1", "--agents", "50", "--steps", "4", "--quiet", "--out", str(whole_folder)]
    words += [word for one in sets for word in ("--set", one)]
    subprocess.run([sys.executable, "-m", "townsquare", *words], env=env, check=True, capture_output=True)
    whole = Run.open(whole_folder)
    assert whole.settings["moderation"]["note_scorer"] == "factors"
    assert whole.table("note_scores")["intercept"].drop_nans().len() > 5
    assert whole.verify() == whole.content_hash

    def stop(mark: Any) -> None:
        if mark.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ts.simulate(ts.resolve_for("health-rumor@1", agents=50, steps=4, sets=sets), folder, on_step=stop)
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert main(["replay", str(folder), "--quiet"]) == 0
    assert Run.open(folder).content_hash == whole.content_hash
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Last recorded scores of notes" in page
    best = float(last_scores(whole)["intercept"].drop_nans().max())  # type: ignore[arg-type]
    assert f"{best:.3f}" in page
    scored = whole.table("note_scores").join(whole.table("notes").select("note", "post"), on="note")
    number, root, intercept, factor = (
        scored.group_by("note", "post").last().drop_nans("intercept").sort("note")
        .select("note", "post", "intercept", "factor").row(0)
    )  # fmt: skip
    with serving(folder.parent) as url:
        notes = data(url, "/api/post", run="stopped", post=root)["notes"]
    (shown,) = [one for one in notes if one["note"] == number]
    assert (shown["intercept"], shown["factor"]) == (intercept, factor)
    assert shown["status"] in ("pending", "shown", "not_helpful")


@pytest.mark.browser
@pytest.mark.usefixtures("installed")
def test_the_viewer_shows_what_was_found_of_a_note(browser: Any, tmp_path: Path) -> None:
    run = ts.simulate(rated("community"), tmp_path / "runs" / "one")
    shown = last_scores(run).filter(pl.col("status") == NoteStatus.SHOWN).join(run.table("notes"), on="note")
    root, intercept = shown.select("post", "intercept").row(0)
    with serving(tmp_path / "runs") as url:
        visit = Visit(browser, url, place("one", f"post/{root}"))
        assert f"intercept +{intercept:.3f}" in visit.page.locator("[data-testid=notes]").inner_text()
        assert visit.heard == []
        visit.close()


@pytest.mark.usefixtures("installed")
def test_it_passes_the_public_checks_and_serves_the_strategies() -> None:
    scorer = registry.get("note_scorer", "factors")
    check_note_scorer(scorer)
    for strategy in ("community", "hybrid"):
        check_moderator(registry.get("moderation", strategy), scorer=scorer)


@pytest.mark.usefixtures("installed")
def test_what_a_moderator_adds_is_what_is_allowed_and_reported() -> None:
    own = {ActionKind.FLAG, ActionKind.BLOCK, ActionKind.ADD_NOTE, ActionKind.RATE_NOTE}
    events = [{"step": 3, "set": {"moderation.strategy": "notes_and_flags"}}]
    policy = {"name": "blind", "flag": 0.3, "add_note": 0.2, "block": 0.1}
    settings = settings_of({"policy": policy, "events": events}, steps=4)
    assert not own & allowed_kinds(settings, 2)
    assert own <= allowed_kinds(settings, 3)
    assert own & allowed_kinds(settings_of(), 1) == {ActionKind.FLAG}, "what nobody named here adds is everybody's"
    run = run_of(settings)
    done = run.table("actions").filter((pl.col("status") == ActionStatus.ACCEPTED) & pl.col("kind").is_in(own))
    assert done["step"].min() == 3
    assert set(done["kind"]) == own
    assert added_kinds(run) == own
    assert added_kinds(run_of(settings_of(steps=1))) == frozenset()
    posts = replace(synthetic_scenario(60).posts, plausibility=np.full(60, 0.5))  # nobody can tell true from false
    for strategy, cautions in (("notes_and_flags", 1), ("third_party", 0)):
        blurred = run_of(
            settings_of(policy=policy, moderation=strategy, steps=2), replace(synthetic_scenario(60), posts=posts)
        )
        assert len(moderation_section(blurred).notes) == cautions


# --- statuses and settings ---------------------------------------------------------------------------------


def constant(status: NoteStatus, number: float = np.nan) -> NoteScorer:
    def score(ratings: NoteRatings, previous: NoteScores, params: MemberParams) -> NoteScores:
        numbers = np.full(ratings.n_notes, number)
        return NoteScores(np.full(ratings.n_notes, status, np.uint8), numbers, numbers)

    return NoteScorer("constant", MemberParams, score)


def test_a_status_changes_with_its_step_and_the_threshold_writes_no_scores() -> None:
    world = town(20, 1)
    number = note(world, 5, post(world, 20))
    rate(world, number, 3)
    community = moderator_of("community")
    change = community.review(world, draws_of(world, Stage.MODERATE), takedown=True)
    assert set(change.rows) == {"moderation_log"}
    world.append(change)
    assert rated_notes(world).decided.tolist() == [1]
    statuses = []
    for status, intercept in ((NoteStatus.SHOWN, 0.5), (NoteStatus.NOT_HELPFUL, -0.2), (NoteStatus.PENDING, np.nan)):
        end_step(world)
        scored = replace(community, scorer=ChosenNoteScorer(constant(status, intercept), MemberParams()))
        change = scored.review(world, draws_of(world, Stage.MODERATE), takedown=True)
        world.append(change)
        statuses.append(
            (sorted(change.rows), int(rated_notes(world).decided[0]), float(scores_before(world).intercept[0]))
        )
    assert [rows for rows, *_ in statuses] == [["note_scores"], ["moderation_log", "note_scores"], ["note_scores"]]
    assert [decided for _, decided, _ in statuses] == [1, 3, 4]
    assert [numbers for *_, numbers in statuses][:2] == [0.5, -0.2]
    assert world.notes["status"][number] == NoteStatus.PENDING


@pytest.mark.usefixtures("installed")
def test_one_section_holds_the_settings_of_both() -> None:
    found = resolve(
        {"moderation": {"strategy": "hybrid", "note_scorer": "factors", "shown_at": 0.3, "takedown_at": 0.8}}
    )
    assert (found.params["note_scorer"].shown_at, found.params["moderation"].takedown_at) == (0.3, 0.8)  # type: ignore[attr-defined]
    assert resolve(found.plain()) == found
    kept = resolve(found.plain(), {"moderation": {"strategy": "none", "note_scorer": "threshold"}})
    assert kept.plain()["moderation"]["unused"]["shown_at"] == 0.3
    assert resolve({"moderation": "community"}).member("moderation") == "community"
    with raises_error(SettingError, where="shown_at"):
        resolve({"moderation": {"note_scorer": "factors", "shown_at": "high"}})
    with raises_error(SettingError, where=r"moderation\.note_scorer", do="threshold"):
        resolve({"moderation.note_scorer": "treshold"})


# --- scorers that break the contract -----------------------------------------------------------------------


def counts(ratings: NoteRatings) -> Any:
    return np.bincount(ratings.note, minlength=ratings.n_notes).astype(np.float64)


def scores(ratings: NoteRatings, intercept: Any) -> NoteScores:
    return NoteScores(np.zeros(ratings.n_notes, np.uint8), intercept, np.full(ratings.n_notes, np.nan))


calls = iter(range(10**6))


def writes(ratings: NoteRatings, previous: NoteScores, params: MemberParams) -> NoteScores:
    previous.status[:] = NoteStatus.SHOWN
    return previous


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda ratings, previous, params: None, "returned NoneType"),
        (lambda ratings, previous, params: scores(ratings, counts(ratings)[1:]), "one a note"),
        (lambda ratings, previous, params: scores(ratings, counts(ratings).astype(np.float32)), "float32"),
        (lambda ratings, previous, params: scores(ratings, counts(ratings) + np.inf), "intercept inf of note 0"),
        (lambda ratings, previous, params: replace(previous, status=previous.status + np.uint8(3)), "status 3 of"),
        (lambda ratings, previous, params: scores(ratings, counts(ratings) + next(calls)), "the same call twice"),
        (lambda ratings, previous, params: scores(ratings, np.arange(float(ratings.n_notes))), "other numbers"),
        (
            lambda ratings, previous, params: scores(ratings, counts(ratings) + float(ratings.rater[:1].sum())),
            "another order",
        ),
        (writes, "writes into an array"),
    ],
)  # fmt: skip
def test_scorers_that_break_the_contract(score: Callable[..., Any], message: str) -> None:
    with pytest.raises(ContractError, match=message) as caught:
        check_note_scorer(NoteScorer("mine", MemberParams, score))
    assert "note_scorer 'mine'" in str(caught.value)
