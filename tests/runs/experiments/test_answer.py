"""The answer of a comparison: every number of its text, computed again from rows of the record alone."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import scipy

import townsquare as ts
from raised_errors import raises_error
from townsquare import Experiment
from townsquare.analysis.courses import validity
from townsquare.core.errors import RecordError, UnknownName
from townsquare.experiments.answer import Answer, answer
from townsquare.experiments.arms import Arm
from townsquare.experiments.comparison import compare
from townsquare.experiments.manifest import FAILED, ArmRun
from townsquare.experiments.methods import methods
from townsquare.experiments.primary import primary_outcome
from townsquare.pages.report import write_comparison

ARMS = ("none", "community", "third_party", "hybrid")
SEEDS = (1, 2)
LABELS = {"community": "Community notes", "third_party": "Fact-checking", "hybrid": "Notes and fact-checking"}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    layers = [{"scenario": "health-rumor@1", "agents": 40, "steps": 6}]
    folder = tmp_path_factory.mktemp("answer") / "runs"
    return compare(layers, {"moderation.strategy": ARMS}, SEEDS, folder, workers=1)


@pytest.fixture(scope="module")
def made(experiment: Experiment) -> Answer:
    return answer(experiment)


def opened(experiment: Experiment, arm: str, seed: int) -> ts.Run:
    return ts.Run.open(experiment.folder / f"strategy-{arm}" / f"seed-{seed}")


def reach_of_false_posts(run: ts.Run) -> float:
    shown = run.sql(
        "SELECT p.root AS root, e.agent AS agent FROM ts_exposures e JOIN ts_posts p ON p.post = e.post "
        "JOIN ts_posts r ON r.post = p.root WHERE r.kind = 3 AND r.veracity = 2 GROUP BY p.root, e.agent"
    )
    posts = run.sql("SELECT count(*) AS n FROM ts_posts WHERE kind = 3 AND veracity = 2")["n"][0]
    return shown.height / int(posts)


def mean_shift(run: ts.Run, proposition: int) -> float:
    rows = run.sql(
        "SELECT b.agent AS agent, b.step AS step, b.stance AS stance FROM ts_beliefs b JOIN ts_agents a "
        f"ON a.agent = b.agent WHERE b.proposition = {proposition} AND (b.step = a.born OR b.step = 6)"
    ).rows()
    first, last = ({}, {})  # type: tuple[dict[int, float], dict[int, float]]
    for agent, step, stance in sorted(rows, key=lambda row: row[1]):
        first.setdefault(agent, stance)
        if step == 6:
            last[agent] = stance
    return statistics.fmean(last[agent] - first[agent] for agent in last)


def interval(values: list[float]) -> tuple[float, float, float]:
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    margin = float(scipy.stats.t.ppf(0.975, len(values) - 1)) * error
    return mean, mean - margin, mean + margin


def numbers(sentence: str) -> list[float]:
    return [float(text.replace("−", "-").replace(",", "")) for text in re.findall(r"[+−]?\d[\d,]*(?:\.\d+)?", sentence)]


def test_the_primary_sentences_hold_what_the_rows_say(experiment: Experiment, made: Answer) -> None:
    reach = {(arm, seed): reach_of_false_posts(opened(experiment, arm, seed)) for arm in ARMS for seed in SEEDS}
    base = statistics.fmean(reach["none", seed] for seed in SEEDS)
    for arm, label in LABELS.items():
        (sentence,) = [text for text in made.sentences if text.startswith(f"{label}")][:1]
        size, low, high = (
            100 * end / base for end in interval([reach[arm, seed] - reach["none", seed] for seed in SEEDS])
        )
        stated = [number for number in numbers(sentence) if number != 95]
        if low <= 0 <= high:
            assert "no detectable effect" in sentence
            expected = [size, low, high]
        else:
            assert sentence.endswith("better." if size < 0 else "worse.")
            ends = [abs(size), *sorted((abs(low), abs(high)))]
            expected = [*ends, base, statistics.fmean(reach[arm, seed] for seed in SEEDS)]
        assert stated == pytest.approx(expected, abs=0.51, rel=0.01)


def test_the_sentence_on_beliefs_holds_what_the_rows_say(experiment: Experiment, made: Answer) -> None:
    (sentence,) = [text for text in made.sentences if text.startswith("Mean change of stances")]
    ends = [
        interval(
            [mean_shift(opened(experiment, arm, s), p) - mean_shift(opened(experiment, "none", s), p) for s in SEEDS]
        )
        for arm in LABELS
        for p in (0, 1)
    ]
    largest = max(ends, key=lambda each: abs(each[0]))
    stated = numbers(sentence.rpartition("difference ")[2])
    assert [stated[0], *stated[2:4]] == pytest.approx(largest, rel=0.06, abs=1e-9)


def test_the_person_who_moved_most_and_the_posts_are_in_the_rows(experiment: Experiment, made: Answer) -> None:
    changes = {}
    for run in experiment.finished:
        rows = ts.Run.open(experiment.folder / run.folder).sql(
            "SELECT b.agent AS agent, b.proposition AS p, b.step AS step, b.stance AS stance FROM ts_beliefs b "
            "JOIN ts_agents a ON a.agent = b.agent WHERE a.kind = 0 AND (b.step = a.born OR b.step = 6) ORDER BY b.step"
        )
        by_person: dict[tuple[int, int], list[float]] = {}
        for agent, p, _, stance in rows.rows():
            by_person.setdefault((agent, p), []).append(stance)
        changes |= {(run.arm, run.seed, *key): ends[-1] - ends[0] for key, ends in by_person.items()}
    arm, seed, agent, p = max(changes, key=lambda key: abs(changes[key]))
    assert f"agent {agent} (" in made.mover[0]
    assert f", seed {seed})" in made.mover[0]
    assert numbers(made.mover[0].partition("to ")[2])[1] == pytest.approx(changes[arm, seed, agent, p], rel=0.06)
    texts = {
        row[0] for row in opened(experiment, arm.partition("=")[2], seed).sql("SELECT content FROM ts_texts").rows()
    }
    for line in made.mover[1:]:
        start = line.partition("“")[2].partition("”")[0].removesuffix("…")
        assert any(text.startswith(start) for text in texts)


def test_the_answer_fits_a_terminal_and_names_what_could_mislead(made: Answer) -> None:
    assert len(made.lines) <= 15
    assert made.primary == "reach_false_mean"
    assert any("step in which it is published" in caution for caution in made.cautions)
    assert any("--multiverse" in caution for caution in made.cautions)
    assert made.cautions[-1].startswith("The 95% CIs cover chance differences between seeds")


def test_another_outcome_can_be_primary(experiment: Experiment) -> None:
    other = answer(experiment, "shift.vaccine_safe")
    assert other.effects.filter(role="primary")["outcome"].unique().to_list() == ["shift.vaccine_safe"]
    with raises_error(UnknownName, where="--outcome", got="'reach'", allowed="reach_false_mean"):
        answer(experiment, "reach")


def test_scenarios_say_their_primary_outcome(tmp_path: Path) -> None:
    assert primary_outcome(ts.load_scenario("compulsory-voting")) == "polarization.compulsory_voting"
    assert primary_outcome(ts.load_scenario("synthetic:20")) == "reach_false_mean"
    for name in ("posts.csv", "scenario.yaml"):
        (tmp_path / name).write_text(
            "text,veracity\nThe bridge is closed.,true\n"
            if name == "posts.csv"
            else "posts: posts.csv\nprimary_outcome: reech\n"
        )
    with raises_error(UnknownName, got="'reech'", allowed="reach_true_mean"):
        primary_outcome(ts.load_scenario(tmp_path))


def with_outcomes(experiment: Experiment, change: Callable[[ArmRun], Mapping[str, float]]) -> Experiment:
    """The comparison with other outcomes of its runs."""
    return replace(
        experiment, runs=tuple(replace(run, outcomes={**run.outcomes, **change(run)}) for run in experiment.runs)
    )


def test_percentages_refer_to_the_seeds_in_which_both_arms_have_a_value(experiment: Experiment) -> None:
    values = {("none", 1): 100.0, ("none", 2): 1000.0, ("community", 1): 50.0, ("community", 2): math.nan}
    changed = with_outcomes(
        experiment, lambda run: {"reach_false_mean": values.get((run.arm.partition("=")[2], run.seed), 1.0)}
    )
    row = answer(changed).effects.row(0, named=True)
    assert (row["base"], row["mean"], row["difference"], row["pairs"]) == (100.0, 50.0, -50.0, 1)
    assert (
        answer(changed).sentences[0].startswith("Community notes: −50% in the mean reach of a false post with one seed")
    )


def test_an_effect_that_holms_correction_does_not_uphold_is_not_called_better(experiment: Experiment) -> None:
    gain = {("hybrid", 1): -10.0, ("hybrid", 2): -11.0, ("community", 1): 5.0, ("community", 2): -5.0}
    changed = with_outcomes(
        experiment, lambda run: {"reach_false_mean": 100.0 + gain.get((run.arm.partition("=")[2], run.seed), 0.0)}
    )
    (row,) = [row for row in answer(changed).effects.to_dicts()[:3] if row["arm"].endswith("hybrid")]
    assert row["high"] < 0
    assert row["p"] < 0.05 < row["p_holm"]
    assert row["verdict"] == "suggestive"
    (sentence,) = [text for text in answer(changed).sentences if text.startswith(LABELS["hybrid"])][:1]
    assert sentence.endswith("after Holm's correction for several arms.")


def test_an_outcome_that_may_be_negative_has_units_and_no_percent(experiment: Experiment) -> None:
    changed = with_outcomes(
        experiment, lambda run: {"engagement_gap_per_post": (0.01 if "none" in run.arm else 1.0) + 0.001 * run.seed**2}
    )
    sentence = answer(replace(changed, primary="engagement_gap_per_post")).sentences[1]
    assert "%" not in sentence.replace("95% CI", "")
    assert "actions per post" in sentence


def test_beliefs_other_than_the_primary_one_do_not_hide_it(experiment: Experiment) -> None:
    changed = with_outcomes(
        experiment,
        lambda run: {
            "shift.vaccine_safe": 0.5 * ("hybrid" in run.arm) + 0.001 * run.seed * ("none" in run.arm),
            "shift.campaign_worthwhile": 0.0,
        },
    )
    sentences = answer(changed, "shift.vaccine_safe").sentences
    assert sentences[2].startswith("Notes and fact-checking raised the mean shift on “The seasonal flu vaccine is safe")
    assert sentences[2].endswith("to 0.500.")
    (beliefs,) = [text for text in sentences if text.startswith("Mean change of stances")]
    assert "differs most from no moderation under notes and fact-checking" in beliefs


def test_values_of_settings_are_written_as_they_are(experiment: Experiment) -> None:
    rules = ("log_odds", "bounded", "exposure", "none")
    arms = tuple(
        Arm(arm.name, arm.slug, {"beliefs.rule": rule, "beliefs.pull": 0.1})
        for arm, rule in zip(experiment.arms, rules, strict=True)
    )
    made = answer(replace(experiment, arms=arms, vary={"beliefs.rule": rules, "beliefs.pull": [0.1]}))
    assert made.question.startswith("beliefs.rule and beliefs.pull compared with log_odds, pull=0.1, 2 seeds per arm.")
    assert made.sentences[1].startswith("bounded, pull=0.1")
    assert not any("assumed parameter" in caution for caution in made.cautions)


def test_one_arm_or_none_finished_is_no_comparison(experiment: Experiment, tmp_path: Path) -> None:
    first = tuple(run for run in experiment.runs if run.arm == experiment.baseline)
    alone = replace(experiment, arms=experiment.arms[:1], runs=first, vary={})
    reach = statistics.fmean(run.outcomes["reach_false_mean"] for run in first)
    assert (
        str(alone)
        .splitlines()[0]
        .endswith("one arm, 2 seeds. Primary outcome: mean reach of a false post (lower is better).")
    )
    assert answer(alone).sentences[0].startswith("With one arm, nothing is compared: ")
    assert "Mean over 2 seeds: " in answer(alone).sentences[0]
    assert not any("arm:" in caution or "CI" in caution for caution in answer(alone).cautions)
    assert numbers(answer(alone).sentences[0])[1] == pytest.approx(reach, rel=0.01)
    assert "Effects are" not in methods(alone)
    failed = [replace(run, state=FAILED, error="E: no", outcomes={}) for run in experiment.runs]
    without = replace(experiment, runs=(*failed[:2], *experiment.runs[2:]))
    assert (
        "No run of the baseline no moderation is finished" in write_comparison(without, tmp_path / "a.html").read_text()
    )
    finished = len(without.finished)
    assert f"{finished} of {len(without.runs)} runs are finished" in methods(without)
    with raises_error(RecordError, got="no finished run"):
        write_comparison(replace(experiment, runs=tuple(failed)), tmp_path / "b.html")


def test_reach_near_its_ceiling_is_of_people(experiment: Experiment) -> None:
    run = opened(experiment, "none", 1)
    people = run.words("agents")["kind"].to_list().count("person")
    assert people < run.table("agents").height
    assert validity(run)["reached"] == pytest.approx(reach_of_false_posts(run) / people)


def test_one_seed_gives_no_interval(experiment: Experiment) -> None:
    one = replace(experiment, seeds=(1,), runs=tuple(run for run in experiment.runs if run.seed == 1))
    equal = {"reach_false_mean": 5.0, "shift.vaccine_safe": 0.25, "shift.campaign_worthwhile": 0.0}
    made = answer(with_outcomes(one, lambda _: equal))
    none = "Community notes: no difference in the mean reach of a false post with one seed, which gives no CI."
    assert made.sentences[0] == none
    assert made.sentences[3] == "Mean stances moved as with no moderation in every arm."
    assert made.cautions[0] == "One seed only: no difference has a CI, and each may be chance."
    assert "95%" not in "".join(made.sentences)
    assert "without confidence intervals" in methods(one)


def test_a_comparison_within_its_warm_up_says_nothing_of_changes_since(tmp_path: Path) -> None:
    base = {"scenario": "synthetic:20", "agents": 20, "steps": 2, "time": {"step_minutes": 60, "warm_up_hours": 6}}
    said = str(answer(compare([base], {"policy": ["statistical", "silent"]}, SEEDS, tmp_path / "out", workers=1)))
    assert "ends within its warm-up" in said
    assert "Mean stances moved" not in said


def test_seeds_without_a_primary_outcome_are_a_caution(experiment: Experiment) -> None:
    def undefined(run: ArmRun) -> dict[str, float]:
        return {experiment.primary: math.nan} if (run.arm.endswith("hybrid"), run.seed) == (True, 2) else {}

    said = "The primary outcome is undefined in some runs: some differences are measured with only 1 of 2 seeds."
    assert said in answer(with_outcomes(experiment, undefined)).cautions
    assert said not in answer(experiment).cautions


def test_runs_that_are_not_finished_are_a_caution_and_no_undefined_outcome(experiment: Experiment) -> None:
    *runs, last = experiment.runs
    stopped = replace(experiment, runs=(*runs, replace(last, state="stopped", outcomes={})))
    cautions = answer(stopped).cautions
    assert cautions[0] == "1 run is not finished and left out."
    assert not any("undefined" in sentence for sentence in cautions)
