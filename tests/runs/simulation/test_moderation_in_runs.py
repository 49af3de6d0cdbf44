"""Moderation in whole runs: what is recorded of it, and that arms are paired."""

from __future__ import annotations

from small_worlds import (
    run_of,
    settings_of,
)
from townsquare.core.enums import LogKind


def test_verdicts_are_recorded_with_their_reasons_and_the_truth_beside_them() -> None:
    run = run_of(settings_of(moderation={"strategy": "third_party", "posts_per_step": 4}, steps=8))
    verdicts, logged = run.table("verdicts"), run.table("moderation_log")
    assert verdicts.height == 32
    assert verdicts["post"].n_unique() == 32
    texts = run.table("texts")["content"]
    assert all("checker" in texts[row] for name in ("explanation", "sources") for row in verdicts[name])
    posts = run.table("posts")
    assert verdicts["veracity"].to_list() == [posts["veracity"][row] for row in verdicts["post"]]
    of_verdicts = logged.filter(logged["kind"] == LogKind.VERDICT)
    assert of_verdicts["post"].to_list() == verdicts["post"].to_list()
    assert of_verdicts["step"].to_list() == verdicts["step"].to_list()
    assert of_verdicts["value"].to_list() == verdicts["confidence"].to_list()


def test_the_arms_find_the_same_of_the_same_posts() -> None:
    """A fact-checker that meets a post earlier or later, with notes or without, says the same."""
    base = {"policy": "blind", "moderation.takedown": False, "feed.show_labels": False, "steps": 12}
    found: list[dict[int, tuple[int, float]]] = []
    for strategy, per_step in (("third_party", 2), ("third_party", 5), ("hybrid", 5)):
        settings = settings_of(base, moderation={"strategy": strategy, "posts_per_step": per_step})
        verdicts = run_of(settings).table("verdicts")
        rows = verdicts.select("post", "verdict", "confidence").iter_rows()
        found.append({row: (verdict, confidence) for row, verdict, confidence in rows})
    for one, two in ((0, 1), (1, 2)):
        common = found[one].keys() & found[two].keys()
        assert len(common) >= 20
        assert all(found[one][row] == found[two][row] for row in common)
