"""What a scenario holds and where it comes from."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from repository import SHARED
from river_scenario import ARGUMENTS, POSTS, YAML, write
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import DataError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import injection_schedule, list_scenarios, load_scenario, synthetic_scenario
from townsquare.settings.config import Injection

HEADLINES = SHARED / "data" / "headlines" / "headlines_with_fact_checks.csv"


@pytest.fixture
def river(tmp_path: Path) -> Scenario:
    return load_scenario(write(tmp_path))


# --- a folder ----------------------------------------------------------------------------------------------


def test_a_folder_is_read(river: Scenario, tmp_path: Path) -> None:
    assert (river.name, river.title, river.description) == ("river", "The river", "")
    assert river.proposition_names == ("dam", "toll")
    assert [(source.name, source.credibility) for source in river.sources] == [("Gazette", 0.8), ("Rumors", 0.1)]
    assert river.injection == {"posts_per_step": 3}
    assert river.settings == {"agents": 50, "beliefs": {"pull": 0.01}}
    assert river.has_plausibility
    assert river.folder == tmp_path
    assert river.comments
    assert river.notes.text
    assert not river.notes.takes_sides


def test_posts_are_columns(river: Scenario) -> None:
    posts = river.posts
    assert posts.text == ("The dam holds, they say.", "The dam leaks!", "Nobody knows.")
    assert posts.veracity.tolist() == [Veracity.TRUE, Veracity.FALSE, Veracity.UNKNOWN]
    assert posts.plausibility.tolist() == [0.9, 0.3, 0.5]
    assert posts.type.tolist() == [PostType.NEWS, PostType.POST, PostType.NEWS]
    assert posts.topic == ("water", "", "")
    assert posts.source.tolist() == [0, 1, 0]
    assert posts.step.tolist() == [-1, 2, -1]
    nan = np.nan
    assert np.array_equal(posts.stance, [[0.5, nan], [-1, 0.25], [nan, nan]], equal_nan=True)
    assert np.array_equal(posts.strength, [[0.7, nan], [nan, 0.5], [nan, nan]], equal_nan=True)
    with pytest.raises(ValueError, match="read-only"):
        posts.stance[0, 0] = 1


def test_arguments_are_columns(river: Scenario) -> None:
    arguments = river.arguments
    assert arguments.text == ("It keeps us dry.", "It costs the poor most.")
    assert arguments.proposition.tolist() == [0, 1]
    assert arguments.stance.tolist() == [0.8, -0.7]
    assert arguments.strength.tolist() == [0.6, 0.5]


NOTES = """proposition,stance,text,source
dam,-0.5,It leaked twice.,Gazette of May
toll,0.3,Half of it is paid back.,
,,The picture is old.,
"""


def test_notes_say_something_and_end_with_their_source(river: Scenario, tmp_path: Path) -> None:
    def noted(notes: str) -> Scenario:
        return load_scenario(write(tmp_path, scenario_yaml=YAML + "notes: notes.csv\n", notes_csv=notes))

    scenario = noted(NOTES)
    notes = scenario.notes
    assert notes.text[:2] == ("It leaked twice. Source: Gazette of May.", "Half of it is paid back.")
    assert notes.proposition.tolist() == [0, 1, -1]
    assert np.array_equal(notes.stance, [-0.5, 0.3, np.nan], equal_nan=True)
    assert notes.source == ("Gazette of May", "", "")
    assert notes.takes_sides
    assert len({noted(NOTES.replace("0.3", "-0.3")).digest, scenario.digest, river.digest}) == 3
    for wrong, fields in {
        "dam,0,It is.,": {"where": "column 'stance'", "got": "dam with a stance of 0"},
        ",0.5,It is.,": {"where": "column 'stance'", "got": "no proposition with a stance of 0.5"},
        "bridge,0.5,It is.,": {"where": "column 'proposition'", "got": "'bridge'"},
    }.items():
        with raises_error(DataError, **fields):
            noted(NOTES + wrong + "\n")


def inline(folder: Path) -> Path:
    """The same scenario as one YAML file."""

    def rows(text: str) -> list[dict[str, str]]:
        return [{key: value for key, value in row.items() if value} for row in csv.DictReader(text.splitlines())]

    posts, arguments = json.dumps(rows(POSTS)), json.dumps(rows(ARGUMENTS))
    path = folder / "one.yaml"
    text = YAML.replace("posts: posts.csv", f"posts: {posts}")
    path.write_text(text.replace("arguments: arguments.csv", f"arguments: {arguments}"), encoding="utf-8")
    return path


def test_every_form_is_the_same_scenario(river: Scenario, tmp_path: Path) -> None:
    lines = []
    for row in csv.DictReader(POSTS.splitlines()):
        plain = {key: value for key, value in row.items() if ":" not in key}
        stance = {key.partition(":")[2]: float(row[key]) for key in row if key.startswith("stance:") and row[key]}
        rest = {key: row[key] for key in row if key.startswith("strength:")}
        lines.append(json.dumps({**plain, "stance": stance, **rest}))
    (tmp_path / "posts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "other.yaml").write_text(YAML.replace("posts.csv", "posts.jsonl"), encoding="utf-8")
    others = [inline(tmp_path), tmp_path / "other.yaml", tmp_path / "scenario.yaml"]
    assert {load_scenario(path).digest for path in others} == {river.digest}


@pytest.mark.parametrize(
    "change",
    [
        {"scenario_yaml": YAML.replace("0.8", "0.7")},
        {"scenario_yaml": YAML.replace("title: The", "title: A")},
        {"scenario_yaml": YAML.replace("agents: 50", "agents: 51")},
        {"scenario_yaml": YAML.replace("posts_per_step: 3", "posts_per_step: 2")},
        {"scenario_yaml": YAML + "comments: [Hm.]\n"},
        {"scenario_yaml": YAML + "notes: [Not so.]\n"},
        {"posts_csv": POSTS.replace("leaks!", "leaks?")},
        {"posts_csv": POSTS.replace("Rumors,2", "Rumors,3")},
        {"posts_csv": POSTS.replace("0.25,0.5", "0.25,")},
        {"arguments_csv": ARGUMENTS.replace("0.6", "0.61")},
    ],
)
def test_any_change_changes_the_digest(river: Scenario, tmp_path: Path, change: dict[str, str]) -> None:
    assert load_scenario(write(tmp_path, **change)).digest != river.digest


def test_where_it_lies_does_not_change_the_digest(river: Scenario, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert load_scenario(write(tmp_path / "elsewhere")).digest == river.digest


def test_comments_and_notes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("One.\n\nTwo.\n", encoding="utf-8")
    scenario = load_scenario(write(tmp_path, scenario_yaml=YAML + "comments: c.txt\nnotes: [Not so.]\n"))
    assert scenario.comments == ("One.", "Two.")
    assert scenario.notes.text == ("Not so.",)


def test_sources_are_created_where_none_are_declared(tmp_path: Path) -> None:
    yaml = "propositions: [{name: dam, text: Build.}, {name: toll, text: Pay.}]\nposts: posts.csv\n"
    scenario = load_scenario(write(tmp_path, scenario_yaml=yaml))
    assert [(source.name, source.credibility) for source in scenario.sources] == [("Gazette", 0.5), ("Rumors", 0.5)]
    assert len(scenario.arguments) == 0
    assert scenario.name == tmp_path.name


def test_a_post_without_source_has_the_only_one(tmp_path: Path) -> None:
    yaml = "sources: [{name: Gazette, credibility: 0.9}]\nposts: [{text: a}, {text: b, source: Gazette}]\n"
    scenario = load_scenario(write(tmp_path, scenario_yaml=yaml))
    assert scenario.posts.source.tolist() == [0, 0]
    assert not scenario.has_plausibility


def test_text_is_cleaned(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": " a\x00b\x1b[2J\ud800 \r\nc "}), encoding="utf-8")
    assert load_scenario(tmp_path / "a.jsonl").posts.text == ("a\ufffdb\ufffd[2J\ufffd \nc",)


def test_names_stand_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a\nb", "source": "The\n Herald", "topic": "x\ty"}))
    scenario = load_scenario(tmp_path / "a.jsonl")
    assert scenario.posts.text == ("a\nb",)
    assert (scenario.sources[0].name, scenario.posts.topic) == ("The Herald", ("x y",))


# --- bundled and made --------------------------------------------------------------------------------------


def test_bundled_scenarios_are_listed_and_loaded() -> None:
    lines = list_scenarios()
    assert "health-rumor@1" in [line.name for line in lines]
    for name, title, posts, propositions in lines:
        scenario = load_scenario(name)
        assert (scenario.name, scenario.title) == (name, title)
        assert (len(scenario.posts), len(scenario.propositions)) == (posts, propositions)
        assert scenario.origin == f"bundled:{name}"
        assert scenario.digest == load_scenario(name).digest
        injection_schedule(scenario.posts, Injection(**scenario.injection), 1)


def test_a_bundled_scenario_can_be_argued_from_both_sides() -> None:
    for line in list_scenarios():
        arguments = load_scenario(line.name).arguments
        for row in range(line.propositions):
            stance = arguments.stance[arguments.proposition == row]
            assert stance.min() < 0 < stance.max()


@settings(deadline=None, max_examples=30)
@given(
    posts=st.integers(1, 60),
    false_share=st.floats(0, 1),
    propositions=st.integers(0, 3),
    seed=st.integers(0, 2**40),
)
def test_a_made_scenario_is_a_scenario(posts: int, false_share: float, propositions: int, seed: int) -> None:
    arguments = 7 if propositions else 0
    made = synthetic_scenario(posts, false_share, propositions, arguments, seed)
    assert (len(made.posts), len(made.arguments)) == (posts, arguments)
    assert made.posts.stance.shape == made.posts.strength.shape == (posts, propositions)
    n_false = int((made.posts.veracity == Veracity.FALSE).sum())
    assert n_false == int(posts * false_share + 1e-9)
    assert ((made.posts.plausibility >= 0) & (made.posts.plausibility <= 1)).all()
    assert made.posts.source.max(initial=0) < len(made.sources)
    assert made.digest == synthetic_scenario(posts, false_share, propositions, arguments, seed).digest
    assert made.digest != synthetic_scenario(posts, false_share, propositions, arguments, seed + 1).digest


def test_made_by_name() -> None:
    assert len(load_scenario("synthetic").posts) == 500
    assert len(load_scenario("synthetic:37").posts) == 37


# --- a table alone -----------------------------------------------------------------------------------------


def check_headlines(scenario: Scenario, n: int) -> None:
    assert len(scenario.posts) == n
    assert scenario.propositions == ()
    assert [source.credibility for source in scenario.sources] == [0.5]
    assert np.all(scenario.posts.plausibility == 0.5)
    assert not scenario.has_plausibility
    assert {Veracity.TRUE, Veracity.FALSE} == set(scenario.posts.veracity.tolist())
    assert any("rate_belief_control" in notice for notice in scenario.notices)


def test_a_plausibility_of_zero_is_one(tmp_path: Path) -> None:
    (tmp_path / "posts.jsonl").write_text('{"text": "a", "plausibility": 0}\n', encoding="utf-8")
    scenario = load_scenario(tmp_path / "posts.jsonl")
    assert scenario.has_plausibility
    assert scenario.posts.plausibility.tolist() == [0.0]


def test_headlines_with_truth_alone() -> None:
    if not HEADLINES.is_file():
        pytest.skip("no shared data here: set TOWNSQUARE_SHARED to the folder that holds data/headlines")
    scenario = load_scenario(HEADLINES)
    check_headlines(scenario, 24)
    with HEADLINES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert scenario.posts.text == tuple(row["headline"].strip() for row in rows)
    assert scenario.posts.veracity.tolist() == [1 if row["is_true"] == "1" else 2 for row in rows]
    assert [source.name for source in scenario.sources] == ["headlines_with_fact_checks"]


def test_a_made_table_of_that_form(tmp_path: Path) -> None:
    text = 'headline_id,is_true,headline,rate_belief_control\n1,0,"A cat, elected",0.1\n2,1,Rain falls,0.9\n'
    (tmp_path / "news.csv").write_text(text, encoding="utf-8")
    scenario = load_scenario(tmp_path / "news.csv")
    check_headlines(scenario, 2)
    assert scenario.posts.text == ("A cat, elected", "Rain falls")
    assert (scenario.name, scenario.sources[0].name) == ("news", "news")


@pytest.mark.parametrize("text", ["headline", "Content", " title ", "CLAIM", "text"])
@pytest.mark.parametrize(
    ("truth", "yes", "no"), [("is_true", "1", "0"), ("Label", "Real", "FAKE"), ("real", "yes", "no")]
)
def test_columns_are_found_by_alias(tmp_path: Path, text: str, truth: str, yes: str, no: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{truth};{text}\n{yes};a\n{no};b\n;c\nunknown;d\n", encoding="utf-8-sig")
    posts = load_scenario(path).posts
    assert posts.text == ("a", "b", "c", "d")
    assert posts.veracity.tolist() == [1, 2, 0, 0]


def test_columns_that_mean_something_else_are_noted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "id,text,type,step,label,real,topic,plausibility\n1,a,political,soon,cats,1,x,0.4\n2,b,local,,dogs,0,y,high\n"
    )
    scenario = load_scenario(path)
    assert scenario.posts.veracity.tolist() == [1, 2]
    assert scenario.posts.plausibility.tolist() == [0.4, 0.5]
    assert (scenario.posts.step == -1).all()
    said = "; ".join(scenario.notices)
    for part in ("'type' is not the kind of post: 2 of 2", "'step' is not", "'label' is not", "1 of 2 cells", "'high'"):
        assert part in said
    assert "columns not used: id, type, step, label" in said


def test_account_and_time_of_a_table_are_noted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,account,time\na,anna,2024-05-01\nb,,\n")
    scenario = load_scenario(path)
    assert scenario.posts.account.tolist() == [-1, -1]
    assert (scenario.posts.step == -1).all()
    assert [source.name for source in scenario.sources] == ["t"]
    assert "columns not used: account, time" in scenario.notices


def test_json_lines_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a", "veracity": true, "stance": {"dam": 0.5}}\n\n{"text": "b", "veracity": 0}\n')
    scenario = load_scenario(path)
    assert scenario.posts.veracity.tolist() == [1, 2]
    assert scenario.proposition_names == ("dam",)
    assert np.array_equal(scenario.posts.stance, [[0.5], [np.nan]], equal_nan=True)
