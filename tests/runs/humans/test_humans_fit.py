"""Fits: known numbers come back in their intervals, baselines rank as they should, nothing leaks, files go round."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from raised_errors import raises_error
from synthetic_people import CHOICE, population, row
from townsquare.beliefs.grids import grid_of
from townsquare.beliefs.profiles import read_profiles
from townsquare.cli import main
from townsquare.core.errors import DataError, TownsquareError
from townsquare.humans.checked import joined
from townsquare.humans.fit.alignment import GROUPS, Thresholds, groups_of
from townsquare.humans.fit.baselines import OF_CONTROLS
from townsquare.humans.fit.calibration import CEILING, proper_scores
from townsquare.humans.fit.fit import RULE, Setup, hold_out, square_errors
from townsquare.humans.fit.fit_file import apply_fit, as_json, read_fit, saved
from townsquare.humans.fit.folds import fold_of, folds_by
from townsquare.humans.fit.kinds import KINDS, SPREADS, Mixture, fit_kinds, mixture_next
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.pooling import fit_population, people_of, places
from townsquare.humans.fit.prepared import prepare
from townsquare.humans.fit.profiles import profiles_csv
from townsquare.humans.fit.replayed import take
from townsquare.humans.fit.scores import bootstrap, score_all
from townsquare.humans.fit.study import Study, study
from townsquare.humans.trajectories import Message, Trajectories
from townsquare.pages.people.output import plain, write_study

UPTAKE, ANCHORING = 0.15, 0.6
OPTIONS = FitOptions(evidence=CHOICE)


@cache
def made() -> Trajectories:
    """Six hundred people with known numbers, and readings in between."""
    return population(600, UPTAKE, ANCHORING, readings=True)


@cache
def found() -> Study:
    """The fit of them."""
    return study(made(), OPTIONS)


def test_known_numbers_come_back() -> None:
    grid = found().certainty
    assert grid.x.low <= UPTAKE <= grid.x.high
    assert grid.y.low <= ANCHORING <= grid.y.high
    assert not grid.warnings
    finer = study(population(600, 0.12, 0.55), OPTIONS.model_copy(update={"continuous": True}))
    assert finer.certainty.x.low <= 0.12 <= finer.certainty.x.high
    assert finer.certainty.y.low <= 0.55 <= finer.certainty.y.high
    assert finer.certainty.x.high / finer.certainty.x.low < 1.5
    square = square_errors(finer.ready.spans, finer.setup)
    at = finer.ready.spans.final - finer.ready.spans.initial
    assert (at**2).mean() > square.mean(axis=0).min()


def test_intervals_stay_where_the_numbers_can_be() -> None:
    people = population(80, 0.1, 0.2, rule="averaging", messages=6, noise=0.5)
    for rule in ("averaging", "bounded_confidence"):
        again = study(people, OPTIONS.model_copy(update={"rule": rule, "continuous": True}))
        grid = again.setup.grid
        for one, (low, high) in ((again.certainty.x, grid.x_bounds), (again.certainty.y, grid.y_bounds)):
            assert low <= one.low <= one.value <= one.high <= high


@pytest.mark.parametrize(
    ("rule", "x", "y"), [("averaging", 0.1, 0.2), ("bounded_confidence", 0.15, 2.0), ("social_log_odds", 0.6, 0.6)]
)
def test_known_numbers_of_other_rules_come_back(rule: str, x: float, y: float) -> None:
    people = population(200, x, y, rule=rule, messages=8, noise=0.05)
    again = study(people, OPTIONS.model_copy(update={"rule": rule}))
    assert again.certainty.x.low <= x <= again.certainty.x.high
    assert again.certainty.y.low <= y <= again.certainty.y.high
    assert again.scored.paired["prior_only"].people.high < 0


def test_rule_and_baselines_rank_as_they_should() -> None:
    scores = found().scored.scores
    assert scores[RULE].rmse < scores["linear"].rmse < scores["no_change"].rmse
    assert scores[RULE].rmse < scores["prior_only"].rmse
    assert scores[RULE].rmse == pytest.approx(0.1, abs=0.02)  # the noise that was put in
    for name in ("no_change", "prior_only", "linear", "mean_received", "regression"):
        assert found().scored.paired[name].people.high < 0
        assert found().scored.paired[name].folds.high < 0
    assert scores[RULE].sign > scores["no_change"].sign


def test_effects_by_arm_are_calibrated_for_the_rule_that_made_them() -> None:
    calibration = found().calibration
    assert calibration.prior == "prior_only"  # no controls
    assert calibration.slope.low < 1 < calibration.slope.high
    for arm in calibration.arms:
        assert arm.rule == pytest.approx(arm.observed.value, abs=0.03), arm.arm
    scores = {score.method: score for score in calibration.scores}
    assert CEILING not in scores
    assert scores[RULE].log_score.low > scores["prior_only"].log_score.high
    assert scores[RULE].crps.high < scores["prior_only"].crps.low


def test_control_conversations_give_a_prior_of_their_own_and_a_noise_ceiling() -> None:
    """Controls keep their start with a known a and a known noise; the others' messages all say yes."""
    draw = np.random.default_rng(5)
    people = population(240, 0.3, 1.0, messages=6)
    control = np.arange(240) < 120
    kept = np.tanh(0.5 * np.arctanh(np.clip(people.initial, -0.999, 0.999))) + draw.normal(0, 0.1, 240)
    people = replace(people, control=control, final=np.where(control, np.clip(kept, -1, 1), people.final))
    again = study(people, OPTIONS)
    assert again.ready.floor.anchoring == pytest.approx(0.5, abs=0.05)
    assert again.ready.floor.spread == pytest.approx(0.1, abs=0.02)
    assert again.calibration.prior == OF_CONTROLS
    ceiling = {score.method: score for score in again.calibration.scores}[CEILING]
    assert ceiling.crps.value == pytest.approx(again.ready.floor.spread / np.sqrt(np.pi))
    said = plain(again)
    assert OF_CONTROLS in said["held_out"]["scores"]
    assert said["noise_floor"]["anchoring"] == again.ready.floor.anchoring
    assert "prior of control conversations" in "\n".join(said["sentences"])


@pytest.mark.parametrize("parts", [[(1.0, 0.0, 0.4)], [(0.3, -0.2, 0.1), (0.7, 0.5, 0.6)]])
def test_proper_scores_of_normal_mixtures_by_integration(parts: list[tuple[float, float, float]]) -> None:
    final, grid = 0.7, np.linspace(-8, 8, 400_001)
    density = sum(w * np.exp(-0.5 * ((grid - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for w, m, s in parts)
    below = np.cumsum(density) * (grid[1] - grid[0])
    crps = float((((grid >= final) - below) ** 2).sum() * (grid[1] - grid[0]))
    log_score, said = proper_scores(np.array([final]), Mixture(*np.array(parts).T[:, None, :]))
    assert said[0] == pytest.approx(crps, abs=1e-4)
    assert log_score[0] == pytest.approx(np.log(np.interp(final, grid, density)), abs=1e-6)


def test_nothing_leaks_shuffled_evidence_gains_nothing() -> None:
    """Streams of other people: what is left of the rule is the start."""
    ready = prepare(made(), OPTIONS)
    order = np.random.default_rng(1).permutation(len(ready.people))
    theirs = take(ready.stream.rows, order)
    columns = ("indptr", "polarity", "strength", "sign", "shown", "author", "back")
    rows = ready.spans.rows._replace(**{name: getattr(theirs, name) for name in columns})
    spans = ready.spans._replace(rows=rows)
    setup = Setup(grid_of("log_odds"), CHOICE.stance_margin)
    fold = fold_of(ready.people, "group")
    held = hold_out(spans, setup, fold, square_errors(spans, setup))
    scored = score_all(spans.final, held.predicted, fold, ready.group, RULE, 42)
    assert abs(scored.paired["prior_only"].value) < 0.01
    assert scored.paired["prior_only"].people.high > -0.001
    assert found().scored.paired["prior_only"].people.high < -0.1


def test_what_is_held_out_does_not_reach_the_fit() -> None:
    """Other final stances in one fold change nothing that is said of it."""
    ready = prepare(made(), OPTIONS)
    setup, fold = Setup(grid_of("log_odds"), CHOICE.stance_margin), fold_of(ready.people, "group")
    other = ready.spans._replace(final=np.where(fold == 2, -ready.spans.final, ready.spans.final))
    one = hold_out(ready.spans, setup, fold, square_errors(ready.spans, setup))
    two = hold_out(other, setup, fold, square_errors(other, setup))
    for name in one.predicted:
        assert np.array_equal(one.predicted[name][fold == 2], two.predicted[name][fold == 2]), name


# --- folds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["group", "topic"])
def test_folds_hold_out_whole_groups(kind: str) -> None:
    people = made()
    fold = fold_of(people, kind)
    names = people.conversation if kind == "group" else people.topic
    assert len(set(zip(names, fold.tolist(), strict=True))) == len(set(names))
    assert sorted(set(fold.tolist())) == [0, 1, 2, 3, 4]
    assert np.ptp(np.bincount(fold)) <= max(np.unique(names, return_counts=True)[1])
    turned = fold_of(people.take(np.arange(len(people))[::-1]), kind)
    assert np.array_equal(turned[::-1], fold)  # not by the order of the file
    assert not np.array_equal(fold_of(people, kind, seed=7), fold)


def test_folds_need_two_groups() -> None:
    with raises_error(DataError, do="give --folds group"):
        folds_by(["a", "a"], "topic", "made")


# --- groups and people ------------------------------------------------------------------------------------------


def test_groups_of_table_a4_partition_the_people() -> None:
    masks = groups_of(found().ready.spans, Thresholds())
    assert tuple(masks) == GROUPS
    assert (sum(mask.astype(int) for mask in masks.values()) == 1).all()
    rows = {line.group: line for line in found().groups}
    assert rows["all"].n == 600
    assert rows["all"].rule == pytest.approx(found().scored.scores[RULE].rmse)
    assert rows["evidence-aligned"].gain > 0
    assert [line.split for line in found().robust] == ["group", "topic"]
    # Knowing the outcome always helps: that is why the rows carry a warning.
    assert found().robust[0].less_global.value < 0


def test_controls_are_the_noise_floor_and_not_fitted() -> None:
    people = made()
    some = replace(people, control=np.arange(len(people)) % 10 == 0)
    ready = prepare(some, OPTIONS)
    assert len(ready.people) == 540
    assert ready.floor.n == 60
    assert ready.floor.rmse == pytest.approx(float(np.sqrt(((some.final - some.initial)[some.control] ** 2).mean())))
    assert prepare(some, OPTIONS.model_copy(update={"by": "step"})).floor.rmse < ready.floor.rmse


def test_by_step_predicts_each_answer_from_the_one_before() -> None:
    steps = study(made(), OPTIONS.model_copy(update={"by": "step"}))
    assert steps.scored.n == 1200
    assert steps.people.known is not None
    assert steps.people.known.n == 600
    assert steps.scored.scores["no_change"].rmse < found().scored.scores["no_change"].rmse


def test_a_population_of_two_kinds_is_told_from_one_point() -> None:
    """Partial pooling: people who answer often get numbers of their own, others those of the population."""
    grid, draw = grid_of("log_odds"), np.random.default_rng(0)
    cells = np.array([grid.cell(number) for number in range(169)])
    at = places(grid)
    kinds = [int(np.flatnonzero((cells == pair).all(axis=1))[0]) for pair in ((0.02, 1.0), (0.6, 0.2))]
    person = np.repeat(np.arange(60), 12)
    truth = np.array(kinds)[np.arange(60) % 2]
    said = draw.uniform(-0.6, 0.6, (person.size, 2)) @ ((at - at.mean(axis=0)) / at.std(axis=0)).T
    final = said[np.arange(person.size), truth[person]] + draw.normal(0, 0.1, person.size)
    square = (said - final[:, None]) ** 2
    found_population = fit_population(square, person, grid)
    assert found_population.error == pytest.approx(0.1, abs=0.03)
    assert found_population.share.sum() == pytest.approx(1)
    people = people_of(square, person, tuple(f"p{k}" for k in range(60)), grid, found_population)
    inside = [
        one.x[1] <= cells[truth[k], 0] <= one.x[2] and one.y[1] <= cells[truth[k], 1] <= one.y[2]
        for k, one in enumerate(people)
    ]
    assert np.mean(inside) > 0.85
    assert np.mean([one.separable for one in people]) > 0.5
    # With one answer each, nothing is known of anybody.
    alone = np.arange(person.size)
    few = people_of(np.full_like(square, 0.01), alone, tuple(map(str, alone)), grid, found_population)
    assert not any(one.x_identified or one.separable for one in few)


def two_kinds() -> tuple[Trajectories, np.ndarray]:
    """A third are keepers, with no uptake and little noise, the others updaters; and who is a keeper."""
    keepers, updaters = (
        population(480, *point, noise=noise) for point, noise in (((0.005, 1.0), 0.03), ((0.3, 0.3), 0.15))
    )
    keeps = np.arange(480) % 3 == 0
    return replace(updaters, final=np.where(keeps, keepers.final, updaters.final)), keeps


def test_kinds_of_people_come_back_and_predict_others_better_than_one_profile() -> None:
    people, keeps = two_kinds()
    fitted = study(people, OPTIONS)
    kinds = fitted.people.kinds
    assert kinds is not None
    assert kinds.share.tolist() == pytest.approx([keeps.mean(), 1 - keeps.mean()], abs=0.06)
    first, second = (fitted.setup.grid.cell(cell) for cell in kinds.cell.tolist())
    assert first == pytest.approx((0.005, 1.0), abs=0.04)
    assert second == pytest.approx((0.3, 0.3), abs=0.11)
    assert kinds.error.tolist() == pytest.approx([0.05, 0.15], abs=0.03)  # no kind is narrower than 0.05
    scores = {score.method: score for score in fitted.calibration.scores}
    assert scores[KINDS].gain.low > scores[SPREADS].gain.high > 0
    assert scores[KINDS].crps.value < scores[SPREADS].crps.value
    assert scores[RULE].gain.value == 0
    assert KINDS in fitted.scored.scores
    said = plain(fitted)["people"]["kinds"]
    assert [kind["share"] for kind in said] == kinds.share.tolist()
    assert set(said[0]) == {"share", "uptake", "anchoring", "error"}


def test_one_kind_is_one_profile_and_two_of_one_kind_gain_nothing() -> None:
    one = study(made(), OPTIONS.model_copy(update={"kinds": 1}))
    assert one.people.kinds is None
    assert KINDS not in one.scored.scores
    assert one.point == found().point
    gain = {score.method: score.gain for score in found().calibration.scores}[KINDS]
    assert gain.low < 0 < gain.high


def test_earlier_answers_tell_the_kind_of_a_person_and_nobody_else_does() -> None:
    square = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    person = np.array([7, 7, 3, 7])
    kinds = fit_kinds(square, person, square[:, 0], 2)
    assert kinds.cell.tolist() == [0, 1]
    weight = mixture_next(square, square, person, kinds).weight
    assert weight[[0, 2]] == pytest.approx(np.tile(kinds.share, (2, 1)))  # nothing is known yet
    assert (weight[[1, 3], 0] > 0.99).all()


def test_where_starts_are_zero_anchoring_cannot_be_told() -> None:
    people = made()
    flat = replace(people, initial=np.zeros(len(people)))
    again = study(flat, OPTIONS)
    assert any("a is poorly identified" in words or "a = " in words for words in again.certainty.warnings)
    beyond = study(flat, OPTIONS.model_copy(update={"continuous": True}))
    assert any("not separately identified" in words for words in beyond.certainty.warnings)


def test_the_bootstrap_draws_conversations_not_rows() -> None:
    draw = np.random.default_rng(2)
    error = np.repeat(draw.normal(0, 1, 50), 8) ** 2  # eight rows of one conversation are alike
    rows, groups = (
        bootstrap(error[:, None], group, 1).std() for group in (np.arange(400), np.repeat(np.arange(50), 8))
    )
    assert groups > 2 * rows


# --- files ------------------------------------------------------------------------------------------------------


def test_a_saved_fit_says_the_same_and_is_not_fitted_again(tmp_path: Path) -> None:
    file = tmp_path / "fit.json"
    file.write_text(as_json(saved(found())), encoding="utf-8")
    fit = read_fit(file)
    assert fit == saved(found())
    others = population(200, 0.6, 1.2, seed=9)  # another population: a fit of its own would do better
    applied, own = apply_fit(fit, others), study(others, OPTIONS)
    assert applied.scores[RULE].rmse > own.scored.scores[RULE].rmse + 0.05
    same = apply_fit(fit, made())
    spans, square = found().ready.spans, (found().predicted - found().ready.spans.final[:, None]) ** 2
    rmse_of_cells = np.sqrt(square.mean(axis=0))
    point = found().setup.grid.cell(int(np.argmin(rmse_of_cells)))
    assert found().point == point
    assert same.scores[RULE].rmse == pytest.approx(float(rmse_of_cells.min()))
    assert same.scores["no_change"].rmse == pytest.approx(float(np.sqrt(((spans.final - spans.initial) ** 2).mean())))


def test_what_is_no_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fit.json"
    for text, said in (
        ("{", {"got": "invalid JSON"}),
        ('{"format": "x"}', {"where": "data"}),
        ("[]", {"where": "fit"}),
    ):
        file.write_text(text, encoding="utf-8")
        with raises_error(DataError, **said):
            read_fit(file)
    values = saved(found()).model_dump() | {"population": [1.0]}
    file.write_text(json.dumps(values), encoding="utf-8")
    with raises_error(DataError, allowed="169, one per cell"):
        read_fit(file)


def test_the_folder_of_a_fit(tmp_path: Path) -> None:
    names = {path.name for path in write_study(found(), tmp_path / "fit")}
    assert {
        "fit.json",
        "summary.txt",
        "people.csv",
        "profiles.csv",
        "scores.csv",
        "table-1.csv",
        "table-a7.csv",
    } <= names
    stems = ("scores", "groups", "surfaces", "traces")
    assert {f"{stem}.{ending}" for stem in stems for ending in ("svg", "png")} <= names
    summary = (tmp_path / "fit" / "summary.txt").read_text(encoding="utf-8")
    assert "conditioned on the outcome" in summary
    assert "log_odds is better than prior only" in summary
    with (tmp_path / "fit" / "people.csv").open(encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file))
    assert len(people) == 600
    assert float(people[0]["u_low"]) <= float(people[0]["u"]) <= float(people[0]["u_high"])
    assert json.dumps(plain(found()))
    with raises_error(TownsquareError, allowed="a folder that can be written"):
        write_study(found(), tmp_path / "fit" / "fit.json")


@pytest.mark.parametrize("kind", ["one", "groups", "people"])
def test_profiles_can_be_used_by_a_run(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "profiles.csv"
    file.write_text(profiles_csv(found(), kind), encoding="utf-8")  # type: ignore[arg-type]
    read = read_profiles(file)
    assert sum(read.share) == pytest.approx(1, abs=1e-3)
    if kind == "one":
        assert (read.uptake[0], read.anchoring[0]) == found().point


def test_too_few_people_are_refused() -> None:
    people = joined(
        "made", [row(participant=f"p{k}", conversation=f"g{k}", messages=[Message("q", 1.0)]) for k in range(9)]
    )
    with raises_error(DataError, got="9 trajectories"):
        study(people, OPTIONS)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, data = population(60, messages=6), tmp_path / "made.jsonl"
    lines = [
        {
            "participant": people.participant[k], "conversation": people.conversation[k],
            "proposition": people.proposition[k], "initial": people.initial[k], "final": people.final[k],
            "messages": [
                {"author": people.authors[people.author[m]], "side": people.side[m], "strength": people.strength[m]}
                for m in range(people.indptr[k], people.indptr[k + 1])
            ],
        }
        for k in range(60)
    ]  # fmt: skip
    lines.append({**lines[0], "participant": "bad", "final": 3})
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["fit", str(data)]) == 2
    assert "line 61" in capsys.readouterr().err
    out, profiles = tmp_path / "out", tmp_path / "profiles.csv"
    command = ["fit", str(data), "--skip-bad", "--out", str(out), "--no-figures", "--profiles", str(profiles)]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["left_out"] == 1
    assert set(said["held_out"]["scores"]) >= {"rule", "no_change", "prior_only", "linear", "mean_received"}
    assert main(command) == 2  # a fit is not written over
    assert "--replace" in capsys.readouterr().err
    assert main(["fit", str(data), "--skip-bad", "--apply", str(out)]) == 0
    assert "without fitting" in capsys.readouterr().out
    assert main(["fit", str(data), "--skip-bad", "--folds", "topic", "--by", "step"]) == 0
    shown = capsys.readouterr().out
    assert "Held-out error of the rule and its baselines" in shown
    assert "conditioned on the outcome" in shown
    for wrong in (["--rule", "logodds"], ["--theta", "2"], ["--format", "nyuu"], ["--polarity", "listed"]):
        assert main(["fit", str(data), "--skip-bad", *wrong]) == 2
    run = ["run", "--agents", "20", "--steps", "1", "--set", "beliefs.rule=log_odds", "--out", str(tmp_path / "run")]
    assert main([*run, "--set", f"beliefs.profiles={profiles}", "--quiet"]) == 0
