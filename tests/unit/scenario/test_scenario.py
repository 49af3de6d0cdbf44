"""What a scenario holds and where it comes from."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repository import SHARED
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import DataError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import injection_schedule, list_scenarios, load_scenario, made_scenario
from townsquare.settings.config import Injection

HEADLINES = SHARED / "data" / "headlines" / "headlines_with_fact_checks.csv"

YAML = """\
name: river
title: The river
propositions:
  - {name: dam, text: The dam should be built.}
  - {name: toll, text: The bridge should have a toll.}
sources:
  - {name: Gazette, credibility: 0.8}
  - {name: Rumors, credibility: 0.1}
posts: posts.csv
arguments: arguments.csv
injection: {posts_per_step: 3}
settings: {agents: 50, beliefs: {pull: 0.01}}
"""
POSTS = """\
text,veracity,plausibility,type,topic,source,step,stance:dam,strength:dam,stance:toll,strength:toll
"The dam holds, they say.",true,0.9,news,water,Gazette,,0.5,0.7,,
The dam leaks!,false,0.3,post,,Rumors,2,-1,,0.25,0.5
Nobody knows.,,,,,Gazette,,,,,
"""
ARGUMENTS = """\
proposition,side,text,stance,strength,tag
dam,pro,It keeps us dry.,0.8,0.6,safety
toll,con,It costs the poor most.,-0.7,,fairness
"""


def write(folder: Path, **files: str) -> Path:
    """A scenario folder: the texts above, but for those given; "" leaves a file out."""
    parts = {"scenario_yaml": YAML, "posts_csv": POSTS, "arguments_csv": ARGUMENTS} | files
    for name, text in parts.items():
        if text:
            (folder / name.replace("_", ".")).write_text(text, encoding="utf-8", newline="")
    return folder


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
    assert river.notes


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
    assert scenario.notes == ("Not so.",)


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
    assert "health-rumor" in [line.name for line in lines]
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
    made = made_scenario(posts, false_share, propositions, arguments, seed)
    assert (len(made.posts), len(made.arguments)) == (posts, arguments)
    assert made.posts.stance.shape == made.posts.strength.shape == (posts, propositions)
    n_false = int((made.posts.veracity == Veracity.FALSE).sum())
    assert n_false == int(posts * false_share + 1e-9)
    assert ((made.posts.plausibility >= 0) & (made.posts.plausibility <= 1)).all()
    assert made.posts.source.max(initial=0) < len(made.sources)
    assert made.digest == made_scenario(posts, false_share, propositions, arguments, seed).digest
    assert made.digest != made_scenario(posts, false_share, propositions, arguments, seed + 1).digest


def test_made_by_name() -> None:
    assert len(load_scenario("made").posts) == 500
    assert len(load_scenario("made:37").posts) == 37


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


def test_json_lines_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a", "veracity": true, "stance": {"dam": 0.5}}\n\n{"text": "b", "veracity": 0}\n')
    scenario = load_scenario(path)
    assert scenario.posts.veracity.tolist() == [1, 2]
    assert scenario.proposition_names == ("dam",)
    assert np.array_equal(scenario.posts.stance, [[0.5], [np.nan]], equal_nan=True)


# --- bad inputs --------------------------------------------------------------------------------------------

PROPOSITION = "propositions: [{name: a, text: A.}]\nposts: [{text: x}]\n"
FOLDERS = [
    ({"scenario_yaml": ""}, "a folder without scenario.yaml"),
    ({"scenario_yaml": " "}, "got an empty file"),
    ({"scenario_yaml": "- a\n"}, "got list; allowed: a mapping"),
    ({"scenario_yaml": "a: [\n"}, "scenario.yaml, line 2"),
    ({"scenario_yaml": "a: &x [1]\nb: *x\n"}, "line 2: got an alias"),
    ({"scenario_yaml": "posts: !!python/object/apply:os.getcwd []\n"}, "line 1"),
    ({"scenario_yaml": "name: a\nname: b\n"}, "line 2: got the key 'name' twice"),
    ({"scenario_yaml": "start_time: 2020-13-45\n"}, "no posts"),
    ({"scenario_yaml": "a: " + "[" * 5000}, "line 1: got over 100 levels"),
    ({"scenario_yaml": YAML.replace("posts:", "post:")}, "the column 'post'.*did you mean 'posts'"),
    ({"scenario_yaml": YAML.replace("posts.csv", "postz.csv")}, "no file 'postz.csv'.*did you mean 'posts.csv'"),
    ({"scenario_yaml": YAML.replace("posts.csv", "../posts.csv")}, "a file in the folder of the scenario"),
    ({"scenario_yaml": YAML.replace("posts.csv", "scenario.yaml")}, r"allowed: \.csv, \.tsv, \.jsonl"),
    ({"scenario_yaml": YAML.replace("posts: posts.csv\n", "")}, "got no posts.*add a post"),
    ({"scenario_yaml": YAML.replace("posts.csv", "[]")}, "got no posts"),
    ({"scenario_yaml": YAML.replace("posts.csv", "[3]")}, "posts, item 1: got 3"),
    ({"scenario_yaml": YAML.replace("posts.csv", "7")}, "posts: got int; allowed: a list"),
    ({"scenario_yaml": YAML.replace("name: toll", "name: dam")}, "propositions, item 2, key 'name': got 'dam' again"),
    ({"scenario_yaml": YAML.replace("name: toll", "name: 'a b'")}, "item 2, key 'name': got 'a b'"),
    ({"scenario_yaml": PROPOSITION.replace("name: a", "name: default")}, "not `default`"),
    ({"scenario_yaml": YAML.replace("text: The dam", "txet: The dam")}, "did you mean 'text'"),
    ({"scenario_yaml": YAML.replace("Rumors", "Gazette")}, "sources, item 2, key 'name': got 'Gazette' again"),
    ({"scenario_yaml": YAML.replace("0.8", "1.8")}, "key 'credibility': got 1.8; allowed: a number from 0 to 1"),
    ({"scenario_yaml": YAML.replace("0.8", ".nan")}, "key 'credibility': got nan"),
    ({"scenario_yaml": YAML.replace("0.8", "true")}, "key 'credibility': got True"),
    ({"scenario_yaml": YAML.replace("posts_per_step: 3", "post_per_step: 3")}, "did you mean 'posts_per_step'"),
    ({"scenario_yaml": YAML.replace("posts_per_step: 3", "posts_per_step: -3")}, "injection.posts_per_step: got -3"),
    ({"scenario_yaml": YAML + "comments: {a: b}\n"}, "comments: got dict"),
    ({"scenario_yaml": YAML + "notes: [[1]]\n"}, "notes, item 1.*got list; allowed: a text"),
    ({"scenario_yaml": YAML.replace("title: The river", "title: [a]")}, "key 'title': got list"),
    ({"posts_csv": ""}, "no file 'posts.csv'"),
    ({"posts_csv": "\n \n"}, "posts.csv: got an empty file"),
    ({"posts_csv": POSTS.splitlines()[0]}, "posts.csv: got no posts"),
    ({"posts_csv": POSTS.replace("text,", "words,")}, "a column `text`"),
    ({"posts_csv": POSTS.replace("topic,", "topik,")}, "the column 'topik'.*did you mean 'topic'"),
    ({"posts_csv": POSTS.replace("topic,", "type,")}, "the column 'type' twice"),
    ({"posts_csv": POSTS.replace("topic,", ",")}, "no name for column 5"),
    ({"posts_csv": POSTS.replace("stance:dam", "stance:damn")}, "got 'damn'; allowed: dam, toll; did you mean 'dam'"),
    ({"posts_csv": POSTS.replace("false", "flase")}, r"row 2 \(line 3\), column 'veracity': got 'flase'.*'false'"),
    ({"posts_csv": POSTS.replace("0.9", "1.9")}, r"row 1 \(line 2\), column 'plausibility': got '1.9'"),
    ({"posts_csv": POSTS.replace("0.9", "high")}, "column 'plausibility': got 'high'; allowed: a number from 0 to 1"),
    ({"posts_csv": POSTS.replace(",post,", ",poster,")}, "column 'type': got 'poster'.*did you mean 'post'"),
    ({"posts_csv": POSTS.replace("Rumors", "Rumor")}, "column 'source': got 'Rumor'.*did you mean 'Rumors'"),
    ({"posts_csv": POSTS.replace("Gazette", "")}, "column 'source': got nothing"),
    ({"posts_csv": POSTS.replace("Rumors,2", "Rumors,2.5")}, "column 'step': got '2.5'"),
    ({"posts_csv": POSTS.replace("Rumors,2", "Rumors,0")}, "column 'step': got '0'"),
    ({"posts_csv": POSTS.replace("-1,,0.25", "-1.01,,0.25")}, "column 'stance:dam': got '-1.01'"),
    ({"posts_csv": POSTS.replace("-1,,0.25,0.5", "-1,,,0.5")}, "column 'strength:toll': got a strength without"),
    ({"posts_csv": POSTS.replace("The dam leaks!", " ")}, "column 'text': got nothing"),
    ({"posts_csv": POSTS.replace("The dam leaks!", "x" * 10_001)}, "got 10,001 characters"),
    ({"posts_csv": POSTS.replace("leaks!", "leaks, ")}, r"row 2 \(line 3\): got 12 cells; allowed: 11 cells"),
    ({"posts_csv": POSTS.replace('they say."', "they say.")}, "line 2: got"),
    ({"posts_csv": POSTS.replace("leaks!", "x" * 200_000)}, "field larger than field limit"),
    ({"arguments_csv": ARGUMENTS.replace("toll,", "tol,")}, "column 'proposition': got 'tol'.*did you mean 'toll'"),
    ({"arguments_csv": ARGUMENTS.replace("0.8", "")}, "column 'stance': got nothing"),
    ({"arguments_csv": ARGUMENTS.replace("0.8", "-0.8")}, "column 'side': got a stance of -0.8"),
    ({"arguments_csv": ARGUMENTS.replace("dam,pro", "dam,for")}, "column 'side': got 'for'; allowed: pro, con"),
    ({"arguments_csv": ARGUMENTS.replace("tag", "tags")}, "the column 'tags'.*did you mean 'tag'"),
]


@pytest.mark.parametrize(("change", "says"), FOLDERS)
def test_a_bad_folder_says_where(tmp_path: Path, change: dict[str, str], says: str) -> None:
    with pytest.raises(DataError, match=says) as error:
        load_scenario(write(tmp_path, **change))
    assert str(error.value).startswith(str(tmp_path))


TABLES = [
    ("t.csv", b"", "an empty file"),
    ("t.csv", b"veracity,words\ntrue,a\n", "header: got columns veracity, words; allowed: a column `text`"),
    ("t.csv", b"text\n", "got no posts"),
    ("t.csv", b"text\nok\ncaf\xe9\n", "line 3: got the byte 0xe9; allowed: UTF-8"),
    ("t.csv", "text\na\n".encode("utf-16"), "UTF-8"),
    ("t.csv", b"text,label\na,maybe\n", "column 'label': got 'maybe'"),
    ("t.csv", b"text,stance:\na,1\n", "columns not used"),
    ("t.csv", b"text,stance:a b\na,1\n", "got 'a b'"),
    ("t.csv", b"text,strength:tax\na,1\n", "the scenario has no propositions"),
    ("t.jsonl", b"{}\n", "a column `text`"),
    ("t.jsonl", b'{"text": "a"}\n{"veracity": true}\n', "line 2, field 'text': got nothing"),
    ("t.jsonl", b'{"text": "a"}\nnope\n', "line 2: got no JSON"),
    ("t.jsonl", b'{"text": ["a"]}\n', "field 'text': got list"),
    ("t.jsonl", b'{"text": true}\n', "field 'text': got bool"),
    ("t.jsonl", b'{"text": "a", "text": "b"}\n', "the key 'text' twice"),
    ("t.jsonl", b'{"text": "a", "plausibility": NaN}\n', "field 'plausibility': got nan"),
    ("t.jsonl", b'{"text": "a", "stance": {"x": 0}, "stance:x": 1}\n', "the column 'stance:x' twice"),
    ("t.xlsx", b"text\na\n", r"got .xlsx; allowed: .yaml"),
    ("t", b"text\na\n", "a name without an ending"),
]


@pytest.mark.parametrize(("name", "content", "says"), TABLES)
def test_a_bad_table_says_where(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if says == "columns not used":  # a column without a proposition is none that is known
        assert any(says in notice for notice in load_scenario(path).notices)
        return
    with pytest.raises(DataError, match=says) as error:
        load_scenario(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("health-rumors", "did you mean 'health-rumor'"),
        ("nowhere/at/all.csv", "or the path of a folder, YAML, JSONL or CSV"),
        ("", "got no such scenario"),
        ("a\x00b", "got no such scenario"),
        ("x" * 5000, "got no such scenario"),
        ("made:0", "made:N with 1 to"),
        ("made:many", "made:N with 1 to"),
        ("made:", "made:N with 1 to"),
    ],
)
def test_a_scenario_that_is_not_there(name: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        load_scenario(name)


@settings(deadline=None, max_examples=150)
@given(content=st.binary(max_size=200) | st.text(alphabet='tex,:"\n[]{}&*!-01 ', max_size=80).map(str.encode))
@pytest.mark.parametrize("ending", ["csv", "jsonl", "yaml"])
def test_any_bytes_are_a_scenario_or_a_data_error(ending: str, content: bytes, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz.{ending}"
    path.write_bytes((b"text,veracity\n" if ending == "csv" else b"") + content)
    try:
        scenario = load_scenario(path)
    except DataError as error:
        said = str(error)
    else:
        said = str(path)
        assert len(scenario.posts) > 0
        assert all(text == text.strip() and text for text in scenario.posts.text)
    assert str(path) in said
