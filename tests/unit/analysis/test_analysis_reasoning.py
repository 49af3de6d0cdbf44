"""What agents say, people beside agents, and what moderation changed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy

from handwritten_runs import FrameRun, injected, settings
from raised_errors import raises_error
from townsquare.analysis import people
from townsquare.analysis.moderation_effects import (
    implied_truth,
    moderation_by_group,
    moderation_effects,
    moderation_effects_by_group,
    time_to_moderation,
)
from townsquare.analysis.reasoning import (
    motives_by_action,
    motives_of,
    read_motives,
    reasoning_agreement,
    reasoning_motives,
    reasoning_tone,
    reasons,
    tone_agreement,
    tones,
)
from townsquare.analysis.vocabulary import frequent_terms, log_odds, reasoning_words, typical_words
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, LogKind, Veracity, Verdict
from townsquare.core.errors import DataError, RecordError

K = ActionKind
GOOD, BAD, PLAIN = "A wonderful, helpful idea", "A terrible and harmful lie", "A table with four legs"


def talking() -> FrameRun:
    """Two agents: one likes the same post twice with a reason, one flags it; a refused action has a reason too."""
    acts: list[dict[str, Any]] = [
        {"agent": 0, "kind": K.LIKE, "target": 0, "reasoning": 1},
        {"agent": 0, "kind": K.LIKE, "target": 0, "reasoning": 1, "step": 2},
        {"agent": 1, "kind": K.FLAG, "target": 0, "reasoning": 2},
        {"agent": 1, "kind": K.FOLLOW, "target": 0, "reasoning": 3},
        {"agent": 1, "kind": K.SHARE, "target": 0, "reasoning": 1, "status": ActionStatus.REFUSED},
        {"agent": 1, "kind": K.SHARE, "target": 0},
    ]
    texts = [GOOD, GOOD, BAD, PLAIN]
    return FrameRun(
        {
            "texts": [{"text": at, "content": text} for at, text in enumerate(texts)],
            "posts": [injected(0, Veracity.TRUE)],
            "actions": acts,
        },
        settings(),
    )


def test_each_action_counts_once() -> None:
    found = reasons(talking())
    assert found.select("agent", "action").rows() == [(0, "like"), (1, "flag"), (1, "follow")]
    assert found["post"].to_list() == [GOOD, GOOD, None], "whom one follows is no post"


def test_tone_by_action() -> None:
    found = reasoning_tone(talking())
    share = {(row["action"], row["measure"]): row["value"] for row in found.to_dicts()}
    assert share["like", "positive"] == share["flag", "negative"] == share["follow", "neutral"] == 1.0
    assert share["like", "actions"] == pytest.approx(1 / 3)


def test_agreement_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    said = np.array([GOOD, BAD, PLAIN])
    frame = pl.DataFrame(
        {"action": rng.choice(["like", "flag"], 90), "reasoning": rng.choice(said, 90), "post": rng.choice(said, 90)}
    )
    row = tone_agreement(frame).filter(pl.col("action") == "all").row(0, named=True)
    one, other = tones(frame["reasoning"].to_list()), tones(frame["post"].to_list())
    assert row["kappa"] == pytest.approx(cohen_kappa_score(one, other))
    assert row["value"] == pytest.approx(np.mean(np.array(one) == np.array(other)))
    assert reasoning_agreement(talking()).filter(pl.col("action") == "flag")["value"].item() == 0.0


def test_motives_are_whole_words_with_any_ending_where_said(tmp_path: Path) -> None:
    lists = {"agreement": ["agree*", "well said"], "news": ["new"]}
    texts = pl.Series(["I AGREED at once", "disagree", "Well said, new!", "renewal"])
    found = motives_of(texts, lists)
    assert found["agreement"].to_list() == [True, False, True, False]
    assert found["news"].to_list() == [False, False, True, False]
    path = tmp_path / "lists.yaml"
    path.write_text("agreement: [agree*]\nfun: joke\n")
    with raises_error(DataError, where="fun"):
        read_motives(path)


def test_a_text_without_motive_is_none() -> None:
    found = motives_by_action(pl.DataFrame({"action": ["like"] * 2, "reasoning": ["I agree", "Blue."]}))
    share = dict(found.select("measure", "value").iter_rows())
    assert (share["agreement"], share["none"]) == (0.5, 0.5)
    assert set(reasoning_motives(talking())["action"]) == {"like", "flag", "follow"}


def test_words_that_are_typical() -> None:
    frame = pl.DataFrame(
        {
            "grouping": "action",
            "group": ["flag"] * 40 + ["share"] * 40,
            "reasoning": ["misinformation here today"] * 40 + ["community here today"] * 40,
        }
    )
    found = typical_words(frame)
    assert found.select("group", "word").rows() == [("flag", "misinformation"), ("share", "community")]
    assert found["z"].min() > 1.96


def test_log_odds_are_those_of_the_formula() -> None:
    counts = np.array([[8.0, 2.0], [3.0, 7.0]])
    prior, total = counts.sum(axis=0), counts.sum(axis=1)
    mass = prior.sum()

    def odds(count: float, words: float, alpha: float) -> float:
        return math.log((count + alpha) / (words + mass - count - alpha))

    expected = (odds(8, 10, 11) - odds(3, 10, 11)) / math.sqrt(1 / (8 + 11) + 1 / (3 + 11))
    assert log_odds(counts)[0, 0] == pytest.approx(expected)
    assert total.tolist() == [10, 10]


def test_names_and_concepts() -> None:
    texts = ["I follow Marlow Bay news, city council votes", "Because Marlow Bay matters, city council acts"]
    found = frequent_terms(pl.DataFrame({"action": ["like", "like"], "reasoning": texts}))
    assert found.select("kind", "term").rows() == [
        ("name", "Marlow Bay"),
        ("concept", "city council"),
        ("concept", "marlow bay"),
    ]
    assert reasoning_words(talking()).height == 0


# --- people --------------------------------------------------------------------------------------------------


def test_tests_of_means_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.poisson(3, 40), rng.poisson(2, 40)
    rows = {row["test"]: row for row in people.compare_means(a, b).to_dicts()}
    assert rows["pooled"]["p"] == pytest.approx(scipy.stats.ttest_ind(a, b).pvalue)
    assert rows["Welch"]["p"] == pytest.approx(scipy.stats.ttest_ind(a, b, equal_var=False).pvalue)
    assert rows["paired"]["p"] == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue)
    assert rows["permutation"]["p"] == pytest.approx(rows["pooled"]["p"], abs=0.02)
    assert rows["paired permutation"]["p"] == pytest.approx(rows["paired"]["p"], abs=0.02)
    assert set(people.compare_means(a, b[:-1])["test"]) == {"pooled", "Welch", "permutation"}
    assert people.compare_means([1.0], [1.0])["p"].is_nan().all()


def acts(rows: list[tuple[int, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"person": pl.Int32, "post": pl.Int32, "action": pl.String}, orient="row")


def test_likeness_is_found_where_agents_copy_their_person() -> None:
    rng = np.random.default_rng(0)
    human = acts([(p, q, "like") for p in range(40) for q in range(10) if rng.random() < 0.3])
    other = acts([(p, q, "like") for p in range(40) for q in range(10) if rng.random() < 0.3])
    ids = list(range(40)), list(range(10))
    copies = people.likeness(human, human, *ids).filter(pl.col("measure") == "overlap").row(0, named=True)
    strangers = people.likeness(human, other, *ids).filter(pl.col("measure") == "overlap").row(0, named=True)
    assert (copies["value"], copies["p"]) == (human.height, pytest.approx(1 / 1001))
    assert strangers["low"] <= strangers["value"] <= strangers["high"]


def test_who_did_nothing_counts_as_nothing() -> None:
    found = people.people_and_agents(acts([(0, 0, "like")]), acts([]), [0, 1, 2, 3], [0, 1], ["like"])
    row = found.filter((pl.col("per") == "person") & (pl.col("test") == "paired")).row(0, named=True)
    assert row["value"] == 0.25
    groups = pl.DataFrame({"person": [0, 1, 2, 3], "grouping": "color", "group": ["red", "red", "blue", "blue"]})
    table = people.differences_by_group(acts([(0, 0, "like")]), acts([]), groups.cast({"person": pl.Int32}), ["like"])
    assert table.select("group", "n", "value").rows() == [("blue", 2, 0.0), ("red", 2, 0.5)]


def test_what_persons_of_a_run_did() -> None:
    assert people.acted(talking()).rows() == [(0, 0, "like"), (1, 0, "share")]


# --- moderation ----------------------------------------------------------------------------------------------


def moderated(
    shown: dict[int, int],
    verdicts: dict[int, int],
    likes: dict[int, int] | None = None,
    downranked: dict[int, int] | None = None,
) -> FrameRun:
    """Posts 0 to 3, the last two false, all injected in step 1; exposures, steps of events and likes by post."""
    exposures = [
        {
            "step": 1 + at % 4,
            "agent": at,
            "post": post,
            "root": post,
            "first_seen": True,
            "verdict": Verdict.FALSE if verdicts.get(post, 9) < 1 + at % 4 else Verdict.NONE,
        }
        for post, n in shown.items()
        for at in range(n)
    ]
    return FrameRun(
        {
            "agents": [{"agent": at} for at in range(40)],
            "posts": [
                injected(at, Veracity.FALSE if at > 1 else Veracity.TRUE, key=100 + at, author=39) for at in range(4)
            ],
            "exposures": exposures,
            "verdicts": [{"post": post, "step": step, "verdict": Verdict.FALSE} for post, step in verdicts.items()],
            "moderation_log": [
                {"post": post, "step": step, "kind": kind, "reason": ""}
                for kind, steps in ((LogKind.VERDICT, verdicts), (LogKind.DOWNRANKED, downranked or {}))
                for post, step in steps.items()
            ],
            "actions": [
                {"step": 1, "agent": at, "kind": K.LIKE, "target": post}
                for post, n in (likes or {}).items()
                for at in range(n)
            ],
        },
        settings("third_party"),
        last_step=4,
    )


WITH = moderated({0: 20, 1: 20, 2: 10, 3: 20}, {2: 1, 1: 3}, {2: 1, 3: 10})
WITHOUT = moderated({0: 20, 1: 22, 2: 30, 3: 20}, {}, {2: 15, 3: 5})


def test_effects_are_paired_by_post() -> None:
    rows = {(row["measure"], row["veracity"]): row for row in moderation_effects(WITH, WITHOUT).to_dicts()}
    assert rows["exposures", "false"]["value"] == -10.0
    assert rows["exposures", "false"]["p_paired"] == pytest.approx(scipy.stats.ttest_rel([10, 20], [30, 20]).pvalue)
    assert rows["prevented", "false"]["value"] == 20
    assert rows["harmed", "true"]["value"] == 1
    assert rows["missed", "false"]["value"] == 1


def test_downranked_posts_are_not_missed() -> None:
    with_downranks = moderated({0: 20, 1: 20, 2: 10, 3: 20}, {}, downranked={0: 2, 3: 2})
    rows = {(row["measure"], row["veracity"]): row for row in moderation_effects(with_downranks, WITHOUT).to_dicts()}
    assert rows["harmed", "true"]["value"] == 1
    assert rows["missed", "false"]["value"] == 1


def test_runs_that_are_no_pair_are_refused() -> None:
    other = FrameRun({**WITHOUT.tables, "posts": [injected(0, Veracity.TRUE, key=1)]}, WITHOUT.settings, 4)
    with raises_error(RecordError, got="none of the same injected posts"):
        moderation_effects(WITH, other)


def test_implied_truth_looks_at_posts_without_a_label() -> None:
    row = implied_truth(WITH, WITHOUT).filter((pl.col("veracity") == "false") & (pl.col("measure") == "likes"))
    assert row.select("n", "without", "with", "value").row(0) == (1, 0.25, 0.5, 0.25)


def test_time_to_a_verdict_is_that_of_statsmodels() -> None:
    from statsmodels.duration.survfunc import SurvfuncRight

    rng = np.random.default_rng(0)
    posts = [injected(at, Veracity.FALSE, int(step)) for at, step in enumerate(rng.integers(1, 9, 40))]
    marked = {at: int(posts[at]["step"] + rng.integers(0, 5)) for at in range(40) if rng.random() < 0.6}
    marked = {at: step for at, step in marked.items() if step <= 10}
    run = FrameRun(
        {
            "posts": posts,
            "verdicts": [{"post": at, "step": step, "verdict": Verdict.FALSE} for at, step in marked.items()],
        },
        settings("third_party"),
        last_step=10,
    )
    found = time_to_moderation(run).filter(pl.col("event") == "verdict")
    time = np.array([marked.get(at, 10) - posts[at]["step"] for at in range(40)])
    other = SurvfuncRight(time, np.array([at in marked for at in range(40)]))
    expected = dict(zip(other.surv_times.tolist(), (1 - other.surv_prob).tolist(), strict=True))
    assert found["value"].to_list() == pytest.approx([expected[at] for at in found["steps"]])


def test_what_moderation_changed_for_whom() -> None:
    found = moderation_effects_by_group(WITH, WITHOUT)
    row = found.filter((pl.col("group") == "all") & (pl.col("measure") == "false_exposures")).row(0, named=True)
    before, after = np.zeros(40), np.zeros(40)
    before[:30], after[:10] = 1, 1
    before[:20], after[:20] = before[:20] + 1, after[:20] + 1
    assert row["value"] == pytest.approx((after - before).mean())
    assert row["p"] == pytest.approx(scipy.stats.ttest_rel(after, before).pvalue)


def test_whom_moderation_meets() -> None:
    found = moderation_by_group(WITH)
    rows = {row["measure"]: row["value"] for row in found.filter(pl.col("group") == "all").to_dicts()}
    assert rows["false_exposures"] == 30 / 40
    assert rows["labeled_exposures"] == WITH.table("exposures").filter(pl.col("verdict") == Verdict.FALSE).height / 40
    assert rows["own_labeled"] == 2 / 40
