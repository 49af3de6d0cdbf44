"""Who believes which claim day by day, against plain Python on a recorded run, and the section of its report."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import townsquare as ts
from townsquare.analysis.causes.claims import claim_courses
from townsquare.pages.report.claims import claim_section
from townsquare.pages.report.run_page import write_report

SETTINGS = {"beliefs.rule": "credence", "time.step_minutes": 60, "moderation.strategy": "hybrid"}


@pytest.fixture(scope="module")
def run() -> ts.Run:
    return ts.run("health-rumor@1", agents=60, steps=60, seed=1, settings=SETTINGS)


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
    courses = claim_courses(run)
    assert courses.height == len(shares) > 0
    for row in courses.iter_rows(named=True):
        people = shares[row["claim"], row["step"]]
        assert (row["people"], row["believe"]) == (len(people), pytest.approx(sum(people) / len(people)))
        assert 0 <= row["labeled"] <= 1
        assert row["people_in_all"] >= row["people"]
    met = courses["people_in_all"].to_list()
    assert met == sorted(met, reverse=True)


def test_the_report_says_who_believes_false_claims(run: ts.Run, tmp_path: Path) -> None:
    section = claim_section(run)
    assert section is not None
    assert any("false claim" in sentence for sentence in section.says)
    assert len(section.figures) == 4
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("% who call it true") >= 4
    other = ts.run("health-rumor@1", agents=30, steps=2, seed=1)
    assert claim_section(other) is None, "a rule that does not hold it"
