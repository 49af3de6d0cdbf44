"""Every measure of a fact against plain Python, on records made by chance; and what a record must hold for it."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

import numpy as np
import polars as pl
import pytest

from fact_records import (
    COMMENT,
    FOLLOWED,
    INJECTED,
    LAST,
    ORIGINAL,
    PEOPLE,
    SHARE,
    TIME,
    WARM,
    Rows,
    record,
    run_of,
)
from handwritten_runs import FrameRun, settings
from townsquare.analysis.beliefs import answers_to
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.facts.check import check, check_run, readings_of
from townsquare.analysis.facts.contract import Reading, change, window_of
from townsquare.analysis.facts.measures import BESIDE_ANOTHER_FEED, BESIDE_NO_NOTES, OF_A_RUN, OF_A_SITTING, OF_NOTES
from townsquare.analysis.facts.sitting import Sitting
from townsquare.analysis.facts.table import read_facts
from townsquare.core.enums import LogKind, Slot, Veracity

# --- plain Python ------------------------------------------------------------------------------------------


def cascades_of(seed: int) -> list[dict[str, Any]]:
    """Cascades after the warm-up that can be followed for 48 hours: shares with steps since the root and depth."""
    posts = record(seed)["posts"]
    out = []
    for root in posts:
        if root["kind"] in (SHARE, COMMENT) or not WARM < root["step"] <= LAST - FOLLOWED:
            continue
        depth = {root["post"]: 0}
        after = []
        for row in posts:
            if row["kind"] == SHARE and row["root"] == root["post"]:
                depth[row["post"]] = depth[row["parent"]] + 1
                after.append(row["step"] - root["step"])
        out.append({**root, "depths": depth, "after": sorted(after), "size": len(depth), "tree": tree(posts, depth)})
    return out


def conversations_of(seed: int) -> list[dict[str, Any]]:
    """The same roots with everything below them, comments too."""
    posts, out = record(seed)["posts"], []
    below: dict[int, list[int]] = defaultdict(list)
    for row in posts:
        below[row.get("parent", -1)].append(row["post"])
    for root in posts:
        if root["kind"] in (SHARE, COMMENT) or not WARM < root["step"] <= LAST - FOLLOWED:
            continue
        depth = {root["post"]: 0}
        for node in (walk := [root["post"]]):
            for child in below[node]:
                depth[child] = depth[node] + 1
                walk.append(child)
        after = sorted(posts[node]["step"] - root["step"] for node in depth if depth[node])
        out.append({**root, "depths": depth, "after": after, "size": len(depth), "tree": tree(posts, depth)})
    return out


CLASSES = {
    "structural_virality": {10: 2.07, 20: 2.58, 40: 2.97, 80: 2.88, 160: 3.8},
    "conversation_depth": {10: 2, 20: 4, 40: 5, 80: 5, 160: 11.5},
    "conversation_half_life": {10: 4.06, 20: 3.42, 40: 3.91, 80: 9.49, 160: 8.81},
}


def beside(name: str, size: int) -> float:
    """The published median of conversations of this size."""
    return CLASSES[name][max(start for start in CLASSES[name] if start <= size)]


def tree(posts: Rows, nodes: Mapping[int, int]) -> dict[int, set[int]]:
    links: dict[int, set[int]] = {node: set() for node in nodes}
    for node, depth in nodes.items():
        if depth:
            links[node].add(posts[node]["parent"])
            links[posts[node]["parent"]].add(node)
    return links


def mean_distance(links: Mapping[int, set[int]]) -> float:
    """Mean links between two nodes, by a walk from each."""
    total = 0
    for start in links:
        far, edge = {start: 0}, [start]
        for node in edge:
            for other in links[node] - far.keys():
                far[other] = far[node] + 1
                edge.append(other)
        total += sum(far.values())
    return total / (len(links) * (len(links) - 1))


def gini(values: list[int]) -> float:
    n = len(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * n * sum(values))


def smallest(amounts: list[int]) -> float:
    total, so_far = sum(amounts), 0
    for n, amount in enumerate(sorted(amounts, reverse=True), 1):
        so_far += amount
        if so_far >= 0.8 * total:
            return n / len(amounts)
    raise AssertionError


def top(amounts: list[int], people: float) -> float:
    most = max(1, round(people * len(amounts)))
    return sum(sorted(amounts, reverse=True)[:most]) / sum(amounts)


def per_person(who: list[int]) -> list[int]:
    counts = Counter(who)
    return [counts[agent] for agent in range(PEOPLE)]


def correlation(x: list[float], y: list[float]) -> float:
    a, b = fmean(x), fmean(y)
    up = sum((p - a) * (q - b) for p, q in zip(x, y, strict=True))
    return up / math.sqrt(sum((p - a) ** 2 for p in x) * sum((q - b) ** 2 for q in y))


def moves(seed: int) -> list[tuple[list[float], list[float]]]:
    at = {(row["proposition"], row["agent"], row["step"]): row["stance"] for row in record(seed)["beliefs"]}
    return [([at[p, a, WARM] for a in range(PEOPLE)], [at[p, a, LAST] for a in range(PEOPLE)]) for p in range(2)]


def spread(values: list[float]) -> float:
    return math.sqrt(fmean((value - fmean(values)) ** 2 for value in values))


def coefficient_of_false(large: list[dict[str, Any]], outcome: list[float], amount: list[float]) -> float:
    """The coefficient by Frisch and Waugh: residuals of false on the other covariate, then a slope."""
    false, logs = [float(one["veracity"] == Veracity.FALSE) for one in large], [math.log(each) for each in amount]

    def rest(values: list[float]) -> list[float]:
        m, n = fmean(logs), fmean(values)
        slope = sum((x - m) * (y - n) for x, y in zip(logs, values, strict=True)) / sum((x - m) ** 2 for x in logs)
        return [y - n - slope * (x - m) for x, y in zip(logs, values, strict=True)]

    of_false, of_outcome = rest(false), rest(outcome)
    return sum(a * b for a, b in zip(of_false, of_outcome, strict=True)) / sum(a * a for a in of_false)


def standing(seed: int) -> set[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    for row in record(seed)["follows"]:
        counts[row["follower"], row["followed"]] += row["change"]
    return {pair for pair, change in counts.items() if change > 0}


def oracle(seed: int) -> dict[str, float]:
    tables = record(seed)
    posts, every = tables["posts"], cascades_of(seed)
    talks = conversations_of(seed)
    early = [1 + sum(after <= FOLLOWED for after in one["after"]) for one in talks]
    large_talks = [one for one in talks if one["size"] >= 10]
    own = [one for one in every if one["kind"] == ORIGINAL]
    large = [one for one in every if one["size"] >= 10]
    known = [one for one in large if one["kind"] == INJECTED and one["veracity"] != Veracity.UNKNOWN]
    sizes = {truth: median(one["size"] for one in known if one["veracity"] == truth) for truth in (1, 2)}
    false_roots = {row["post"] for row in posts if row["kind"] == INJECTED and row["veracity"] == Veracity.FALSE}
    late = [row for row in posts if row["step"] > WARM]
    shown = [row for row in tables["exposures"] if row["step"] > WARM]
    false_shown = [row for row in shown if row["root"] in false_roots]
    news = [row for row in shown if posts[row["root"]]["kind"] == INJECTED]
    links = {(a, b) for a, b in standing(seed) if b < PEOPLE}
    return {
        "unshared_posts": fmean(not any(after <= FOLLOWED for after in one["after"]) for one in own),
        "conversation_size_gini": gini([size for size in early if size >= 10]),
        "structural_virality": median(
            mean_distance(one["tree"]) - beside("structural_virality", one["size"]) for one in large_talks
        ),
        "conversation_depth": median(
            max(one["depths"].values()) - beside("conversation_depth", one["size"]) for one in large_talks
        ),
        "conversation_half_life": median(
            one["after"][(one["size"] - 1) // 2] - beside("conversation_half_life", one["size"]) for one in large_talks
        ),
        "impression_half_life": median(half_of_views(shown, one) for one in own if views_of(shown, one)),
        "false_size_ratio": sizes[2] / sizes[1],
        "false_structure_at_equal_size": coefficient_of_false(
            known, [float(max(one["depths"].values())) for one in known], [one["size"] for one in known]
        ),
        "supersharers": smallest(
            per_person([row["author"] for row in late if row["kind"] == SHARE and row["root"] in false_roots])
        ),
        "exposure_concentration": smallest(per_person([row["agent"] for row in false_shown])),
        "false_share_of_diet": len(false_shown) / len(news),
        "activity_concentration": top(per_person([row["author"] for row in late if row["kind"] != INJECTED]), 0.1),
        "cross_cutting_friends": fmean(across(links, end) for _, end in moves(seed)),
        "reciprocity": fmean((b, a) in links for a, b in links),
        "stay_put": fmean(fmean(abs(b - a) <= 0.1 for a, b in zip(*each, strict=True)) for each in moves(seed)),
        "change_not_reversion": fmean(
            correlation(start, [b - a for a, b in zip(start, end, strict=True)]) ** 2 for start, end in moves(seed)
        ),
        "spread_stays": fmean(spread(end) / spread(start) for start, end in moves(seed)),
        "retest": fmean(correlation(*each) for each in moves(seed)),
        **oracle_of_notes(seed),
    }


def views_of(shown: Rows, one: Mapping[str, Any]) -> list[int]:
    first = [row["step"] - one["step"] for row in shown if row["root"] == one["post"] and row["first_seen"]]
    return sorted(after for after in first if after <= FOLLOWED)


def half_of_views(shown: Rows, one: Mapping[str, Any]) -> float:
    views = views_of(shown, one)
    return 60.0 * next(after - 0.5 for after in views if 2 * sum(other <= after for other in views) >= len(views))


def across(links: set[tuple[int, int]], stance: list[float], cut: float = 0.25, *, every: bool = True) -> float:
    friends = defaultdict(list)
    for a, b in links:
        if abs(stance[a]) > 0.25 and stance[b] != 0 and (every or abs(stance[b]) > cut):
            friends[a].append(stance[a] * stance[b] < 0 and abs(stance[b]) > cut)
    return fmean(fmean(each) for each in friends.values())


def oracle_of_notes(seed: int) -> dict[str, float]:
    tables = record(seed)
    late = {row["post"] for row in tables["posts"] if row["step"] > WARM}
    by_people = {row["note"] for row in tables["notes"] if row["author"] >= 0 and row["post"] in late}
    shown_ever = {row["value"]: row["post"] for row in tables["moderation_log"] if row["kind"] == LogKind.NOTE_SHOWN}
    shown = {note: post for note, post in shown_ever.items() if note in by_people}
    truths = [tables["posts"][post]["veracity"] for post in shown.values()]
    known = [truth for truth in truths if truth != Veracity.UNKNOWN]
    return {
        "few_notes_are_shown": len(shown) / len(by_people),
        "notes_are_right": fmean(truth == Veracity.FALSE for truth in known),
    }


# --- tests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_measures_agree_with_plain_python(seed: int) -> None:
    readings = readings_of(run_of(seed), [*OF_A_RUN, *OF_NOTES])
    expected = oracle(seed)
    assert readings.keys() == expected.keys()
    for name, value in expected.items():
        assert readings[name].value == pytest.approx(value, abs=1e-9), (name, readings[name])
    assert {name for name, one in readings.items() if one.reason} == set()


@pytest.mark.parametrize("seed", range(3))
def test_further_readings_agree_with_plain_python(seed: int) -> None:
    readings = readings_of(run_of(seed), OF_A_RUN)
    large = [one for one in cascades_of(seed) if one["size"] >= 10]
    talks = [one for one in conversations_of(seed) if one["size"] >= 10]
    direct = [sum(depth == 1 for depth in one["depths"].values()) / (one["size"] - 1) for one in talks]
    assert readings["conversation_depth"].also["proportion of answers to the root, median"] == pytest.approx(
        median(direct)
    )
    early = [1 + sum(after <= FOLLOWED for after in one["after"]) for one in talks]
    small = readings["conversation_size_gini"].also["the same, of conversations of 10 to 39 posts"]
    assert small == pytest.approx(gini([size for size in early if 10 <= size < 40]))
    false = {
        row["post"] for row in record(seed)["posts"] if row["kind"] == INJECTED and row["veracity"] == Veracity.FALSE
    }
    rows = [row for row in record(seed)["exposures"] if row["step"] > WARM and row["root"] in false]
    followed = [row["agent"] for row in rows if row["slot"] == Slot.FOLLOWED and row["post"] == row["root"]]
    also = readings["exposure_concentration"].also
    assert also["proportion of exposures to false posts that the top 1% of people have"] == pytest.approx(
        top(per_person([row["agent"] for row in rows]), 0.01)
    )
    assert also["the same, of exposures directly from followed sources"] == pytest.approx(
        smallest(per_person(followed))
    )
    links = {(a, b) for a, b in standing(seed) if b < PEOPLE}
    friends = readings["cross_cutting_friends"].also
    assert friends["the same, with any stance of the other sign"] == pytest.approx(
        fmean(across(links, end, 0) for _, end in moves(seed))
    )
    among = fmean(across(links, end, every=False) for _, end in moves(seed))
    assert friends["the same, among followed people with a side"] == pytest.approx(among)
    followers = Counter(b for _, b in standing(seed))
    known = [one for one in large if one["kind"] == INJECTED and one["veracity"] != Veracity.UNKNOWN]
    matched = coefficient_of_false(
        known, [math.log(one["size"]) for one in known], [1.0 + followers[one["author"]] for one in known]
    )
    assert readings["false_size_ratio"].also["at equal followers"] == pytest.approx(math.exp(matched))


@pytest.mark.parametrize("seed", range(3))
def test_effects_of_notes_are_those_of_the_paired_run(seed: int) -> None:
    posts, log = record(seed)["posts"], record(seed)["moderation_log"]
    chance = random.Random(seed)
    gone = {row["post"] for row in posts if row["kind"] == SHARE and chance.random() < 0.3}
    fewer = [row for row in posts if row["post"] not in gone]
    first: dict[int, int] = {}
    for row in log:
        if row["kind"] == LogKind.NOTE_SHOWN and posts[row["post"]]["step"] > WARM:
            first[row["post"]] = min(first.get(row["post"], LAST + 1), row["step"])

    def shares(rows: Rows, since: float, until: float) -> int:
        after = [row["step"] - first[row["root"]] for row in rows if row["kind"] == SHARE and row["root"] in first]
        return sum(since < steps <= until for steps in after)

    pair = CachedRun(run_of(seed, posts=fewer)), CachedRun(run_of(seed))
    for name, span in {"note_effect_life": (-math.inf, math.inf), "note_effect_after": (0, FOLLOWED)}.items():
        expected = shares(fewer, *span) / shares(posts, *span) - 1
        assert BESIDE_NO_NOTES[name](*pair).value == pytest.approx(expected)


def test_another_feed_moves_attitudes_by_the_largest_difference() -> None:
    rows = record(0)["beliefs"]
    moved = [{**row, "stance": row["stance"] + 0.05 * row["proposition"] * (row["step"] == LAST)} for row in rows]
    (measure,) = BESIDE_ANOTHER_FEED.values()
    start = moves(0)[1][0]
    other = FrameRun({**record(0), "beliefs": moved}, run_of(0).settings, last_step=LAST)
    assert measure(other, run_of(0)).value == pytest.approx(0.05 / spread(start))


def test_answers_have_the_stated_noise_and_repeat_themselves() -> None:
    n = 20_000
    stances = pl.DataFrame({"agent": np.arange(n, dtype=np.int32), "proposition": np.zeros(n, np.int16)})
    stances = stances.with_columns(start=pl.lit(0.1), end=pl.when(pl.col("agent") < n // 2).then(0.12).otherwise(0.3))
    said = answers_to(FrameRun({}, settings(), last_step=1), stances)
    start, end = said["start"].to_numpy(), said["end"].to_numpy()
    assert (start.mean(), start.std()) == pytest.approx((0.1, 0.2), abs=0.01)
    assert (end == start)[: n // 2].mean() == pytest.approx(0.3, abs=0.02)  # hardly moved
    assert not (end == start)[n // 2 :].any()
    assert end[n // 2 :].mean() == pytest.approx(0.3, abs=0.01)
    assert said.equals(answers_to(FrameRun({}, settings(), last_step=1), stances))


def test_facts_of_panels_are_of_answers_and_also_say_what_stances_do() -> None:
    plain = readings_of(run_of(0), OF_A_RUN)["retest"].value
    asked = readings_of(run_of(0, beliefs={"rule": "exposure-bounded"}), OF_A_RUN)["retest"]
    assert asked.also == {"the same, of stances instead of answers": pytest.approx(plain)}
    assert asked.value != pytest.approx(plain)


def test_the_facts_of_a_sitting() -> None:
    chance = np.random.default_rng(1)
    n, m = 200, 12
    ready = chance.beta(0.4, 2, (n, 1))
    sides = chance.choice([-1.0, 0.0, 1.0], (2, n, m))
    false, true = (chance.random((n, m)) < ready * (0.6 + 0.3 * side) for side in sides)
    acted = chance.random(n) < 0.6
    sittings = [Sitting(false, true, sides[0], sides[1], acted)]
    readings = {name: measure(sittings) for name, measure in OF_A_SITTING.items()}
    counts = [int(row.sum()) for row in false]
    halves = [[row[0::2].mean(), row[1::2].mean()] for row in false]

    def odds(shared: Any, side: Any, sign: float) -> float:
        of_side = [bool(s) for s, at in zip(shared.ravel(), side.ravel(), strict=True) if at == sign]
        return math.log(sum(of_side) / (len(of_side) - sum(of_side)))

    expected = {
        "share_ratio_false_true": sum(counts) / int(true.sum()),
        "share_concordance": odds(true, sides[1], 1) - odds(true, sides[1], -1),
        "false_share_top10_survey": top(counts, 0.1),
        "sharing_is_a_trait": correlation([float(a) for a, _ in halves], [float(b) for _, b in halves]),
        "silent_in_a_sitting": 1 - fmean(map(bool, acted)),
    }
    assert {name: reading.value for name, reading in readings.items()} == pytest.approx(expected)
    nobody = Sitting(*(np.zeros((n, m), np.bool_),) * 2, sides[0], sides[1], acted)
    reasons = {name: measure([nobody]).reason for name, measure in OF_A_SITTING.items()}
    assert reasons.pop("silent_in_a_sitting") == ""
    assert all(reasons.values())


def test_an_empty_run_says_what_it_lacks() -> None:
    bare = FrameRun({"agents": record(0)["agents"]}, settings(time=TIME), last_step=LAST)
    readings = readings_of(bare, [*OF_A_RUN, *OF_NOTES])
    assert {name for name, one in readings.items() if one.measured} == set()
    assert all(one.reason for one in readings.values())
    for pair in (BESIDE_NO_NOTES, BESIDE_ANOTHER_FEED):
        assert all(measure(bare, bare).reason for measure in pair.values())


def test_without_a_length_of_steps_nothing_is_said_of_hours() -> None:
    readings = readings_of(run_of(0, {"step_minutes": None}), OF_A_RUN)
    timed = {"unshared_posts", "conversation_half_life", "impression_half_life"}
    assert {name for name, one in readings.items() if "time.step_minutes" in one.reason} == timed
    assert check_run(run_of(0, {"step_minutes": None})) is None
    assert check_run(run_of(0)) is not None


@pytest.mark.parametrize(
    ("minutes", "warm_up", "first", "steps"), [(60, 24.0, 25, 48), (30, 1.0, 3, 96), (90, 1.0, 2, 32), (60, 0.0, 1, 48)]
)
def test_the_window_leaves_out_the_warm_up(minutes: int, warm_up: float, first: int, steps: int) -> None:
    window = window_of(run_of(0, {"step_minutes": minutes, "warm_up_hours": warm_up}))
    assert (window.first, window.last, window.steps(48)) == (first, LAST, steps)


def test_the_answer_counts_what_is_measured_and_not_from_memory() -> None:
    facts = read_facts()
    readings = {"retest": Reading(0.9), "stay_put": Reading(0.99), "reciprocity": Reading(0.36)}
    report = check(facts, [readings, {"retest": Reading(0.94), "spread_stays": Reading(1.0)}], runs=2)
    assert report.answer == "2 of 3 facts of runs inside the published range; outside: stay_put."
    assert report.left_out == "1 of 1 facts not used for defaults inside the published range."
    by_id = {one.fact.id: one for one in report.checks}
    retest = by_id["retest"]
    assert (retest.value, retest.runs, retest.inside) == (pytest.approx(0.92), 2, True)
    assert retest.low < 0.9 < 0.94 < retest.high
    assert (by_id["reciprocity"].scored, by_id["reciprocity"].inside) == (False, True)
    assert (by_id["supersharers"].inside, by_id["supersharers"].measured) == (None, False)


def test_counts_of_changes_are_added_up_over_runs() -> None:
    (fact,) = (fact for fact in read_facts() if fact.id == "note_effect_after")
    counts = [(4.0, 9.0), (3.0, 8.0), (6.0, 11.0)]
    pairs = [change(*pair, "shares of noted posts") for pair in counts]
    assert not any(reading.measured for reading in pairs)
    (pooled,) = check([fact], [{fact.measure: reading} for reading in pairs], runs=3).checks
    left = [(13 - a) / (28 - b) - 1 for a, b in counts]
    half = 4.302652729911275 * math.sqrt(2 / 3 * sum((value - fmean(left)) ** 2 for value in left))
    assert (pooled.value, pooled.runs) == (pytest.approx(13 / 28 - 1), 3)
    assert (pooled.low, pooled.high) == (pytest.approx(pooled.value - half), pytest.approx(pooled.value + half))
    (too_few,) = check([fact], [{fact.measure: reading} for reading in pairs[:2]], runs=2).checks
    assert too_few.reason == "too few shares of noted posts: 9, and 20 are needed in all runs together; 2 runs have 17"
