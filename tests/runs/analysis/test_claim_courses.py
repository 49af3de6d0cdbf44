"""Who believes which claim day by day, against plain Python on a recorded run, and the section of its report."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import townsquare as ts
from changed_rows import change_rows
from raised_errors import raises_error
from townsquare.analysis.causes.claims import (
    PARTS,
    ClaimAttribution,
    belief_parts,
    claim_attribution,
    claim_beliefs,
    claim_courses,
    claims_of,
)
from townsquare.analysis.courses import courses
from townsquare.cli import main
from townsquare.core.errors import SettingError
from townsquare.experiments.courses import bands
from townsquare.pages.report.claims import claim_section
from townsquare.pages.report.run_page import write_report

SETTINGS = {
    "beliefs.rule": "credence",
    "time.step_minutes": 60,
    "moderation.strategy": "hybrid",
    "moderation.takedown": False,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ts.Run:
    out = tmp_path_factory.mktemp("claims") / "run"
    return ts.run("health-rumor@1", agents=60, steps=60, seed=1, settings=SETTINGS, out=out)


def test_belief_in_a_claim_day_by_day(run: ts.Run) -> None:
    last: dict[tuple[int, int, int], tuple[int, float]] = {}
    for step, agent, claim, judged in run.table("veracities").select("step", "agent", "claim", "judged").iter_rows():
        day = min(math.ceil(step / 24) * 24, 60)
        key = claim, day, agent
        if key not in last or step > last[key][0]:
            last[key] = step, judged
    shares: dict[tuple[int, int], list[float]] = {}
    for (claim, day, _), (_, judged) in last.items():
        shares.setdefault((claim, day), []).append(1 / (1 + math.exp(-judged)))
    measured = claim_courses(run)
    assert measured.height == len(shares) > 0
    for row in measured.iter_rows(named=True):
        people = shares[row["claim"], row["step"]]
        assert (row["people"], row["believe"]) == (len(people), pytest.approx(sum(people) / len(people)))
        assert 0 <= row["labeled"] <= 1
        assert 0 <= row["noted"] <= 1
        assert row["people_in_all"] >= row["people"]
    met = measured["people_in_all"].to_list()
    assert met == sorted(met, reverse=True)


def test_belief_in_a_claim_at_the_first_and_last_exposure_of_each_person(run: ts.Run) -> None:
    met: dict[tuple[int, int], list[float]] = {}
    for agent, claim, judged in run.table("veracities").sort("step").select("agent", "claim", "judged").iter_rows():
        met.setdefault((claim, agent), []).append(1 / (1 + math.exp(-judged)))
    measured = claim_beliefs(run)
    assert measured.height == len({claim for claim, _ in met}) > 0
    for claim, first, last in measured.select("claim", "believe_first", "believe_last").iter_rows():
        people = [shares for (of, _), shares in met.items() if of == claim]
        assert first == pytest.approx(sum(shares[0] for shares in people) / len(people))
        assert last == pytest.approx(sum(shares[-1] for shares in people) / len(people))


def test_comparisons_draw_who_believes_false_and_true_claims(run: ts.Run) -> None:
    claims, drawn = claim_courses(run), courses(run)
    for truth in ("false", "true"):
        course, periods = drawn.filter(course=f"believe.{truth}"), claims.filter(truth=truth)
        assert course["unit"].unique().to_list() == ["probability"]
        high = course.with_columns(value=pl.lit(0.9), arm=pl.lit("a"))
        assert bands(pl.concat([high, high.with_columns(value=pl.lit(1.0))]))["high"].max() == 1.0  # as shares are
        assert course["at"].to_list() == sorted(set(periods["step"]))  # in hours: the run is short
        for hour, value in course.select("at", "value").iter_rows():
            rows = periods.filter(pl.col("step") == round(hour))
            assert value == pytest.approx((rows["believe"] * rows["people"]).sum() / rows["people"].sum())


def test_the_report_says_who_believes_false_claims(run: ts.Run, tmp_path: Path) -> None:
    section = claim_section(run)
    assert section is not None
    assert any("false claim" in sentence for sentence in section.says)
    assert len(section.figures) == 4
    assert re.search("stopped believing it|would have believed it, but did not", section.says[-1])
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("% probability, mean") >= 4
    other = ts.run("health-rumor@1", agents=30, steps=2, seed=1)
    assert claim_section(other) is None, "a rule that does not hold it"


def test_parts_sum_to_what_was_judged_and_labels_and_notes_count_in_full_or_not_at_all(run: ts.Run) -> None:
    shown, recorded = belief_parts(run), run.table("veracities").sort("agent", "claim", "step")
    assert shown["judged"].to_list() == recorded["judged"].to_list()
    assert shown.select(pl.sum_horizontal(*PARTS)).to_series().to_list() == pytest.approx(shown["judged"].to_list())
    alone = {"verdict true": {(3.0, 0.0)}, "verdict false": {(-3.0, 0.0)}, "verdict true, note": {(0.0, -3.0)}}
    both = {"verdict false, note": {(-1.5, -1.5)}, "verdict unverified, note": {(0.0, -3.0)}}
    for label, counts in (alone | both).items():
        found = shown.filter(shown_label=label).select("label", "note").unique().rows()
        assert set(found) == counts | {(0.0, 0.0)}, label
    bare = shown.filter(pl.col("shown_label").is_in(["none", "verdict unverified"]))
    assert bare.select(pl.col("label", "note").abs().max()).row(0) < (3.0, 3.0), "what is remembered"
    first = shown.unique(["agent", "claim"], keep="first", maintain_order=True)
    assert first.filter(pl.col("sources") != 0).is_empty()
    assert first["readings"].abs().max() < 1e-9  # type: ignore[operator]
    column = pl.col("veracity") - pl.col("source") - pl.col("verdict") - pl.col("note") - pl.col("repetition")
    prior = recorded.select(left=column - column.first().over("agent", "claim"))
    assert prior["left"].abs().max() < 1e-12, "the four parts in memory and a prior that stays"  # type: ignore[operator]


@pytest.mark.parametrize(("response", "has", "lacks"), [("label", "verdict", "note"), ("note", "note", "verdict")])
def test_labels_and_notes_are_recorded_apart(response: str, has: str, lacks: str) -> None:
    settings = {"moderation.response": response, "moderation.takedown": False, "moderation.delay_median": 2.0}
    made = ts.run("health-rumor", agents=150, steps=60, seed=1, settings=settings)
    shown, met = made.table("exposures"), made.table("veracities")
    assert shown.filter(pl.col("note") >= 0).height > 0 or response == "label"
    assert (met.select(lacks, f"judged_{lacks}") == 0).to_numpy().all()
    for name in (has, f"judged_{has}"):
        assert met[name].min() < 0, name  # type: ignore[operator]
    said = " ".join(" ".join(belief.sentences) for belief in claims_of(made, met.filter(pl.col(has) != 0)["agent"][0]))
    assert ("community note shown with it" in said, "label shown with it" in said) == (
        response == "note",
        response == "label",
    )


def test_an_older_record_has_notes_in_the_part_of_labels(run: ts.Run, tmp_path: Path) -> None:
    def older(rows: pl.DataFrame) -> pl.DataFrame:
        unknown = pl.lit(math.nan)
        return rows.with_columns(
            verdict=pl.col("verdict") + pl.col("note"), note=unknown, judged_verdict=unknown, judged_note=unknown
        )

    shutil.copytree(run.folder, tmp_path / "run")
    for step in run.table("veracities")["step"].unique():
        change_rows(tmp_path / "run", "veracities", step, older)
    before = ts.Run.open(tmp_path / "run")
    parts, now = belief_parts(before), belief_parts(run)
    assert parts.select(pl.sum_horizontal(*PARTS)).to_series().to_list() == pytest.approx(parts["judged"].to_list())
    assert parts["start"].to_list() == pytest.approx(now["start"].to_list(), abs=1e-12)
    assert (parts["note"] == 0).all()
    noted = parts.filter(pl.col("shown_label").str.contains("note"))
    assert noted["label"].min() < -2.9  # type: ignore[operator]
    assert (claim_courses(before)["noted"] == 0).all()
    assert claim_courses(run)["noted"].max() > 0  # type: ignore[operator]


@pytest.fixture(scope="module")
def found(run: ts.Run) -> ClaimAttribution:
    """What moved belief in the claim that most people stopped believing."""
    last = belief_parts(run).unique(["agent", "claim"], keep="last", maintain_order=True)
    left = last.filter(pl.col("start") > 0, pl.col("judged") <= 0)["claim"].value_counts()
    (claim, stopped) = left.sort("count", "claim").row(-1)
    attribution = claim_attribution(run, claim)
    assert len(attribution.stopped) == stopped
    return attribution


def test_why_somebody_stopped_believing_a_claim(run: ts.Run, found: ClaimAttribution) -> None:
    assert found.parts["mean"].sum() == pytest.approx(found.judged, abs=1e-12)
    met = [belief for agent in found.stopped for belief in claims_of(run, agent) if belief.claim == found.claim]
    for belief in met:
        assert belief.last.start > 0 >= belief.last.judged
        assert belief.turned is not None
        said = " ".join(belief.sentences)
        later = belief.turned is not belief.meetings[0]
        assert (f"stopped believing it (50% or less) in step {belief.turned.step} (" in said) == later
        assert ("would have believed it, but did not when" in said) != later
        assert "log odds" in said
    assert {belief.turned is belief.meetings[0] for belief in met} == {True, False}
    with raises_error(SettingError, where="claim", got="999999"):
        claim_attribution(run, 999_999)


def test_the_commands_on_a_claim(run: ts.Run, found: ClaimAttribution, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(run.folder)
    named = ["--claim", str(found.claim)]
    assert main(["attribute", folder, *named]) == 0
    assert f"--agent {found.stopped[0]} --claim {found.claim}" in capsys.readouterr().out
    assert main(["attribute", folder, *named, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["people"] == found.people
    assert main(["why", folder, "--agent", str(found.stopped[0]), *named]) == 0
    assert re.search("stopped believing it|would have believed it", capsys.readouterr().out)
    assert main(["why", folder, "--agent", str(found.stopped[0]), *named, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["meetings"][-1]["judged"] <= 0
    for ignored in (["attribute", folder, "--agent", "3"], ["why", folder, "--agent", "3", "--step", "2"]):
        assert main([*ignored, *named]) == 2
        assert "allowed: without --claim" in capsys.readouterr().err
