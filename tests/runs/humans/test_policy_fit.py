"""`fit-policy` and `check policy`: reading, recovery of known people, measures, labels, and the people of MOSAIC."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from raised_errors import raises_error
from repository import SHARED
from townsquare.cli import main
from townsquare.core.errors import DataError
from townsquare.humans.policy import measures
from townsquare.humans.policy.check import AGENTS, GIVEN, OTHERS, SHIPPED, check_policy_against
from townsquare.humans.policy.content import covariates_of, fit_policy
from townsquare.humans.policy.crowd import Crowd, fit_crowd
from townsquare.humans.policy.data import KINDS, Panel, read_panel
from townsquare.humans.policy.folds import splits
from townsquare.humans.policy.labels import read_labels
from townsquare.humans.policy.settings import as_settings, params_of, population_of
from townsquare.humans.policy.views import simulated
from townsquare.settings.config import Population
from townsquare.settings.resolve import resolve
from townsquare.simulation.policies.statistical_params import Params
from townsquare.simulation.policies.text_features import FEATURES, feature_table

TEXTS = (
    "Parents and children of the village meet the nurses of Holm Bridge",
    "You can save 20 on 3 of our lamps until May 5",
    "Minister Ann Gray And Sir Paul Stone Open The Long Hall",
    "the river rose by 4 meters over 2 nights and 30 roads are shut",
    "a quiet week on the markets",
    "We asked your friends what people near you read",
)


def made_panel(people: int = 400, posts: int = 24, seed: int = 3) -> Panel:
    """Posts of two feeds, a third and two thirds of them, every fourth false; nobody has done anything yet."""
    feed = (np.arange(posts) >= posts // 3).astype(np.int64)
    false = (np.arange(posts) % 4 == 3).astype(float)
    return Panel(
        tuple(f"person {k}" for k in range(people)),
        tuple(f"post {k}" for k in range(posts)),
        feed,
        tuple(f"{TEXTS[k % len(TEXTS)]}, item {k // len(TEXTS)}" for k in range(posts)),
        false,
        np.full(posts, np.nan),
        np.zeros(posts, np.uint8),
        np.zeros((people, posts, len(KINDS)), np.bool_),
        None,
    )


def acted(panel: Panel, params: Params | None = None, population: Population | None = None, seed: int = 5) -> Panel:
    """The same after agents of the policy have acted as its people."""
    plausibility = covariates_of(panel).plausibility + 0.5
    did = simulated(
        panel, plausibility, params or Params(), population or Population(), agents=panel.n, seed=seed
    )  # fmt: skip
    return replace(panel, did=did)


def write_folder(folder: Path, panel: Panel) -> Path:
    """The files of such a study."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submissions.json").write_text(json.dumps(list(panel.people)), encoding="utf-8")
    posts = [
        {"post_id": name, "feed": f"feed {panel.feed[j]}", "is_false": int(panel.false[j]), "text": panel.text[j]}
        for j, name in enumerate(panel.posts)
    ]
    write(folder / "feed_posts.csv", posts)
    words = ("like", "share", "comment", "add-note")
    for file, did in (("human_actions_rule_parsed.csv", panel.did), ("agent_actions_normalised.csv", panel.agents)):
        if did is not None:
            rows = [
                {"submission": panel.people[i], "action": words[k], "post_id": panel.posts[j]}
                for i, j, k in np.argwhere(did).tolist()
            ]
            write(folder / file, rows)
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture(scope="module")
def town() -> Panel:
    """People who act by the shipped policy, and agents made of them who act as one another."""
    panel = acted(made_panel(60, 12))
    even = Population(activity_shape=200.0, silent_share=0.0)
    return replace(panel, agents=acted(made_panel(60, 12), Params(), even, seed=9).did)


# --- reading -----------------------------------------------------------------------------------------------


def test_a_folder_is_read_as_it_was_written(town: Panel, tmp_path: Path) -> None:
    again = read_panel(write_folder(tmp_path, town))
    np.testing.assert_array_equal(again.did, town.did)
    np.testing.assert_array_equal(again.agents, town.agents)
    np.testing.assert_array_equal(again.false, town.false)
    assert (again.people, again.posts, again.text) == (town.people, town.posts, town.text)
    assert again.feed.tolist() == town.feed.tolist()
    assert not again.left_out


@pytest.mark.parametrize(
    ("file", "line", "where"),
    [
        ("human_actions_rule_parsed.csv", "nobody,like,post 1", "row 1 (line 2), column 'submission'"),
        ("human_actions_rule_parsed.csv", "person 1,like,post 99", "row 1 (line 2), column 'post_id'"),
        ("human_actions_rule_parsed.csv", "person 1,hug,post 1", "row 1 (line 2), column 'action'"),
    ],
)
def test_a_wrong_row_is_named_or_left_out_and_counted(
    town: Panel, tmp_path: Path, file: str, line: str, where: str
) -> None:
    folder = write_folder(tmp_path, town)
    header, rest = (folder / file).read_text(encoding="utf-8").split("\n", 1)
    (folder / file).write_text(f"{header}\n{line}\n{rest}", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_panel(folder)
    assert where in str(caught.value)
    left = read_panel(folder, skip_bad=True)
    np.testing.assert_array_equal(left.did, town.did)
    assert len(left.left_out) == 1
    assert "1 rows left out" in left.left_out[0]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("submissions.json", "[]", "a JSON list"),
        ("submissions.json", '["a", "a"]', "'a' twice"),
        ("feed_posts.csv", "post_id,text\na,b\n", "a column `feed`"),
        ("feed_posts.csv", "post_id,feed,text\na,1,b\na,1,c\n", "'a' again"),
        ("feed_posts.csv", "post_id,feed,text,is_false\na,1,b,2\n", "from 0 to 1"),
        ("human_actions_rule_parsed.csv", "submission,action\na,b\n", "a column `post_id`"),
    ],
)
def test_files_that_cannot_be_read(town: Panel, tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = write_folder(tmp_path, town)
    (folder / file).write_text(text, encoding="utf-8")
    with raises_error(DataError, allowed=".") as caught:
        read_panel(folder)
    assert message in str(caught.value)


def test_verdicts_that_were_shown_are_read(town: Panel, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, town)
    rows = [
        {"post_id": name, "feed": 1, "text": "x", "fact_check_shown": said}
        for name, said in zip(
            town.posts, ["FACT CHECK: TRUE (Confidence: 95%)", "", "unverified: not false"] * 4, strict=True
        )
    ]
    write(folder / "feed_posts.csv", rows)
    assert read_panel(folder).verdict[:3].tolist() == [1, 0, 3]


# --- fitting -----------------------------------------------------------------------------------------------


def test_people_who_act_by_the_policy_are_recovered() -> None:
    """The crowd, bases and slopes of a made public, within what 1,500 people on 48 posts can tell."""
    panel = acted(made_panel(1500, 48), population=Population(activity_shape=0.7, silent_share=0.3))
    fit = fit_policy(panel.did, covariates_of(panel), 1.0)
    shipped = Params()
    assert fit.crowd.lurkers == pytest.approx(0.3, abs=0.06)
    assert fit.crowd.shape == pytest.approx(0.7, abs=0.2)
    for k, kind in enumerate(KINDS):
        known = getattr(shipped, kind.name.lower())
        assert fit.crowd.taste[k] == pytest.approx(known.taste, abs=0.25)
        assert fit.content.plausibility[k] == pytest.approx(known.plausibility, abs=1.0)
    weights = dict(zip(FEATURES, fit.content.appeal, strict=True))
    assert weights["people"] > 0 > weights["names"]
    expected, done = fit.rates(covariates_of(panel)).sum(0), panel.did.mean(0).sum(0)
    np.testing.assert_allclose(expected, done, rtol=0.03)


def test_rates_by_quadrature_are_those_of_simulated_agents() -> None:
    panel = made_panel(2, 12)
    fit = fit_policy(acted(made_panel(300, 12)).did, covariates_of(panel), 10.0)
    plausibility = covariates_of(panel).plausibility + 0.5
    did = simulated(panel, plausibility, params_of(fit), population_of(fit), agents=20_000)
    np.testing.assert_allclose(did.mean(0), fit.rates(covariates_of(panel)), atol=0.01)


def test_names_and_order_of_posts_do_not_matter(town: Panel) -> None:
    """Only what an agent can see of a post is an input: the same posts under other ids, in another order, fit alike."""
    order = np.random.default_rng(0).permutation(len(town.posts))
    other = replace(
        town,
        posts=tuple(f"other {k}" for k in order),
        feed=town.feed[order],
        text=tuple(town.text[k] for k in order),
        false=town.false[order],
        did=town.did[:, order],
    )
    one, two = (fit_policy(p.did, covariates_of(p), 10.0).rates(covariates_of(p)) for p in (town, other))
    np.testing.assert_allclose(one[order], two, rtol=2e-3)


def test_without_anybody_silent_no_silent_class_is_found() -> None:
    draw = np.random.default_rng(1)
    counts = draw.poisson(draw.gamma(4.0, 1.0, (300, 1)) * [1.0, 0.5]).astype(float)
    crowd, _ = fit_crowd(np.minimum(counts, 20), np.zeros((20, 2)))
    assert crowd.lurkers < 0.08
    assert crowd.shape > 2


def test_a_crowd_has_mean_activity_one() -> None:
    crowd = Crowd(0.7, 0.2, np.array([0.5]))
    assert 0.8 * np.exp(crowd.log_activity()).mean() == pytest.approx(1)
    assert crowd.tastes(0).mean() == pytest.approx(0, abs=1e-9)
    eta = np.array([-3.0, -2.0])
    rate, slope = crowd.rate(0, eta)
    np.testing.assert_allclose(slope, (crowd.rate(0, eta + 1e-5)[0] - rate) / 1e-5, rtol=1e-3)


def test_held_out_people_and_posts_are_not_seen(town: Panel) -> None:
    """A change in what the held-out half does to the held-out posts, or to any other, changes no fit of them."""
    posts = covariates_of(town)
    first = next(splits(town, posts, (10.0,), repeats=1))
    changed = town.did.copy()
    changed[first.people] = ~changed[first.people]
    changed[:, first.posts] = ~changed[:, first.posts]
    again = next(splits(replace(town, did=changed), posts, (10.0,), repeats=1))
    np.testing.assert_array_equal(again.fits[0].rates(posts), first.fits[0].rates(posts))
    assert 0 < first.posts.size < len(town.posts)
    assert first.people.size == 30


# --- text --------------------------------------------------------------------------------------------------


def test_features_of_texts() -> None:
    read = dict(zip(FEATURES, feature_table(list(TEXTS)).T, strict=True))
    assert read["people"].argmax() == 0
    assert set(np.flatnonzero(read["address"])) == {1, 5}
    assert read["names"].argmax() == 2
    assert set(np.flatnonzero(read["numbers"])) == {1, 3}
    assert feature_table(["", "[NEWS] a quiet week"])[:, 2].tolist() == [0.0, 0.0]


# --- measures ----------------------------------------------------------------------------------------------


def test_measures_of_hand_worked_sets() -> None:
    false = np.array([0.0, 1.0])
    did = np.zeros((4, 2, 4), np.bool_)
    did[0, 0, 0] = did[0, 1, 1] = did[1, 1, 1] = did[1, 0, 3] = True  # 2, 2, 0, 0 actions
    assert measures.mix(did, false).tolist() == [0.25, 0.5, 0.0, 0.25]
    assert float(measures.lurkers(did, false)) == 0.5
    assert float(measures.gini(did, false)) == 0.5
    assert float(measures.dispersion(did, false)) == pytest.approx(4 / 3)
    assert float(measures.false_to_true(did, false)) == 5.0  # 2.5 against 0.5
    assert measures.per_post(did, false).tolist() == [0.5, 0.5]
    assert measures.spearman_apart(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(2.0)
    assert measures.jensen_shannon(np.array([0.5, 0.5]), np.array([0.5, 0.5])) == 0.0


# --- labels ------------------------------------------------------------------------------------------------


def headlines(path: Path) -> Path:
    rows = []
    for k in range(8):
        true = k % 2
        row: dict[str, Any] = {"is_true": true, "ai_verdict": ("false", "true", "unsure", "unsure")[k % 4]}
        for condition, move in (("control", 0.0), ("forced", 0.02), ("human_fc", 0.1 * true), ("optional", 0.0)):
            row |= {
                f"rate_belief_{condition}": 0.3 + 0.3 * true + move,
                f"rate_share_{condition}": 0.4 + 0.1 * true + move,
            }
        rows.append(row)
    write(path, rows)
    return path


def test_effects_of_labels_on_made_headlines(tmp_path: Path) -> None:
    found = read_labels(headlines(tmp_path / "headlines.csv"))
    assert found.verdict_false == 0.0
    assert found.verdict_true == pytest.approx(np.log(0.6 / 0.4))
    assert found.unsure == pytest.approx(0.0, abs=1e-12)
    assert sum(one.headlines for one in found.effects if one.condition == "forced" and one.question == "share") == 8


def test_a_share_outside_its_range_names_the_row(tmp_path: Path) -> None:
    path = headlines(tmp_path / "headlines.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("0.42", "1.42", 1), encoding="utf-8")
    with raises_error(DataError, where=r"row 1 .*rate_share_forced"):
        read_labels(path)


# --- commands ----------------------------------------------------------------------------------------------


def test_a_fitted_policy_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folder(tmp_path / "study", acted(made_panel(25, 5)))
    table, out = headlines(tmp_path / "headlines.csv"), tmp_path / "policy.yaml"
    command = ["fit-policy", str(folder), "--headlines", str(table), "--out", str(out), "--repeats", "1"]
    command += ["--penalty", "100", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    settings = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert settings == found["settings"]
    assert [one["penalty"] for one in found["tried"]] == [100.0]
    resolved = resolve(settings)
    assert resolved.config.population.silent_share == settings["population"]["silent_share"]
    assert resolved.params["policy"].share.verdict_true == pytest.approx(np.log(0.6 / 0.4), abs=1e-3)  # type: ignore[attr-defined]


def test_check_policy_prints_what_it_found(town: Panel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folder(tmp_path, town)
    command = ["check", "policy", str(folder), "--no-held-out", "--draws", "20"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["found"]) == {SHIPPED, "truth unseen", AGENTS, OTHERS}
    assert found["people"] == 60
    assert main(command) == 0
    shown = capsys.readouterr().out
    for measure in measures.MEASURES:
        assert measure.title in shown


def test_people_who_act_by_the_policy_are_near_to_it(town: Panel) -> None:
    """And its agents without silence or dispersion are not."""
    found = check_policy_against(town, held_out=False, draws=50, halves=20).compared
    for name in ("silent", "dispersion", "gini"):
        assert found[SHIPPED][name].apart < found[AGENTS][name].apart
        assert found[SHIPPED][name].closer > 0.9


def test_a_policy_of_a_file_is_checked_in_place_of_the_default(
    town: Panel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = write_folder(tmp_path / "study", town), tmp_path / "policy.yaml"
    command = ["check", "policy", str(folder), "--policy", str(file), "--no-held-out", "--draws", "10", "--json"]
    file.write_text("policy: {name: statistical, share: {base: -20}}\n", encoding="utf-8")
    assert main(command) == 0
    made = json.loads(capsys.readouterr().out)
    assert SHIPPED not in made["found"]
    assert made["mixes"][GIVEN][[kind.name for kind in KINDS].index("SHARE")] == 0.0
    file.write_text("policy: silent\n", encoding="utf-8")
    assert main(command) == 2


@pytest.mark.parametrize("arguments", [["--penalty", "0"], ["--repeats", "0"]])
def test_wrong_options_are_refused(arguments: list[str], tmp_path: Path) -> None:
    assert main(["fit-policy", str(tmp_path), *arguments]) == 2


# --- the people of MOSAIC ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mosaic() -> Panel:
    folder = next((f for f in (SHARED / "mosaic", SHARED / "data" / "mosaic") if f.is_dir()), None)
    if folder is None:
        pytest.skip(f"MOSAIC's human study is not here: put it in {SHARED / 'data'} or set TOWNSQUARE_SHARED")
    return read_panel(folder)


def test_the_shipped_policy_is_nearer_to_people_than_agents_made_of_them(mosaic: Panel) -> None:
    found = check_policy_against(mosaic, held_out=False, draws=20, halves=20).compared
    for measure in measures.MEASURES:
        assert found[SHIPPED][measure.name].apart < found[AGENTS][measure.name].apart, measure.title


def test_the_shipped_numbers_are_those_that_the_fit_gives(mosaic: Panel) -> None:
    """At the penalty that `fit-policy` chooses on these people; rounded to two digits."""
    fit = fit_policy(mosaic.did, covariates_of(mosaic), 10.0)
    given, shipped = as_settings(fit)["policy"], Params().model_dump()
    for kind in KINDS:
        name = kind.name.lower()
        for column in ("base", "plausibility", "taste"):
            assert given[name][column] == pytest.approx(shipped[name][column], abs=0.03), (name, column)
    for name in FEATURES:
        assert given["appeal"][name] == pytest.approx(shipped["appeal"][name], abs=0.02)
    assert given["attention"] == pytest.approx(shipped["attention"], abs=0.02)
    assert population_of(fit).silent_share == pytest.approx(Population().silent_share, abs=0.02)
    assert population_of(fit).activity_shape == pytest.approx(Population().activity_shape, abs=0.03)
