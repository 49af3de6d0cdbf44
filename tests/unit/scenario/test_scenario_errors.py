"""What is wrong with a scenario is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from river_scenario import ARGUMENTS, POSTS, YAML, write
from townsquare.core.errors import DataError
from townsquare.scenario.load import load_scenario

PROPOSITION = "propositions: [{name: a, text: A.}]\nposts: [{text: x}]\n"
FOLDERS = [
    ({"scenario_yaml": ""}, {"got": "a folder without scenario.yaml"}),
    ({"scenario_yaml": " "}, {"got": "an empty file"}),
    ({"scenario_yaml": "- a\n"}, {"got": "list", "allowed": "a mapping"}),
    ({"scenario_yaml": "a: [\n"}, {"where": "scenario.yaml, line 2"}),
    ({"scenario_yaml": "a: &x [1]\nb: *x\n"}, {"where": "line 2", "got": "an alias"}),
    ({"scenario_yaml": "posts: !!python/object/apply:os.getcwd []\n"}, {"where": "line 1"}),
    ({"scenario_yaml": "name: a\nname: b\n"}, {"where": "line 2", "got": "the key 'name' twice"}),
    ({"scenario_yaml": "start_time: 2020-13-45\n"}, {"got": "no posts"}),
    ({"scenario_yaml": "a: " + "[" * 5000}, {"where": "line 1", "got": "over 100 levels"}),
    ({"scenario_yaml": YAML.replace("posts:", "post:")}, {"got": "the column 'post'", "do": "did you mean 'posts'"}),
    (
        {"scenario_yaml": YAML.replace("posts.csv", "postz.csv")},
        {"got": "no file 'postz.csv'", "do": "did you mean 'posts.csv'"},
    ),
    ({"scenario_yaml": YAML.replace("posts.csv", "../posts.csv")}, {"allowed": "a file in the folder of the scenario"}),
    ({"scenario_yaml": YAML.replace("posts.csv", "scenario.yaml")}, {"allowed": r"\.csv, \.tsv, \.jsonl"}),
    ({"scenario_yaml": YAML.replace("posts: posts.csv\n", "")}, {"got": "no posts", "do": "add a post"}),
    ({"scenario_yaml": YAML.replace("posts.csv", "[]")}, {"got": "no posts"}),
    ({"scenario_yaml": YAML.replace("posts.csv", "[3]")}, {"where": "posts, item 1", "got": "3"}),
    ({"scenario_yaml": YAML.replace("posts.csv", "7")}, {"where": "posts", "got": "int", "allowed": "a list"}),
    (
        {"scenario_yaml": YAML.replace("name: toll", "name: dam")},
        {"where": "propositions, item 2, key 'name'", "got": "'dam' again"},
    ),
    ({"scenario_yaml": YAML.replace("name: toll", "name: 'a b'")}, {"where": "item 2, key 'name'", "got": "'a b'"}),
    ({"scenario_yaml": PROPOSITION.replace("name: a", "name: default")}, {"allowed": "not `default`"}),
    ({"scenario_yaml": YAML.replace("text: The dam", "txet: The dam")}, {"do": "did you mean 'text'"}),
    (
        {"scenario_yaml": YAML.replace("Rumors", "Gazette")},
        {"where": "sources, item 2, key 'name'", "got": "'Gazette' again"},
    ),
    (
        {"scenario_yaml": YAML.replace("0.8", "1.8")},
        {"where": "key 'credibility'", "got": "1.8", "allowed": "a number from 0 to 1"},
    ),
    ({"scenario_yaml": YAML.replace("0.8", ".nan")}, {"where": "key 'credibility'", "got": "nan"}),
    ({"scenario_yaml": YAML.replace("0.8", "true")}, {"where": "key 'credibility'", "got": "True"}),
    ({"scenario_yaml": YAML.replace("posts_per_step: 3", "post_per_step: 3")}, {"do": "did you mean 'posts_per_step'"}),
    (
        {"scenario_yaml": YAML.replace("posts_per_step: 3", "posts_per_step: -3")},
        {"where": "injection.posts_per_step", "got": "-3"},
    ),
    ({"scenario_yaml": YAML + "comments: {a: b}\n"}, {"where": "comments", "got": "dict"}),
    ({"scenario_yaml": YAML + "notes: [[1]]\n"}, {"where": "notes, item 1", "got": "list", "allowed": "a text"}),
    ({"scenario_yaml": YAML.replace("title: The river", "title: [a]")}, {"where": "key 'title'", "got": "list"}),
    ({"posts_csv": ""}, {"got": "no file 'posts.csv'"}),
    ({"posts_csv": "\n \n"}, {"where": "posts.csv", "got": "an empty file"}),
    ({"posts_csv": POSTS.splitlines()[0]}, {"where": "posts.csv", "got": "no posts"}),
    ({"posts_csv": POSTS.replace("text,", "words,")}, {"allowed": "a column `text`"}),
    ({"posts_csv": POSTS.replace("topic,", "topik,")}, {"got": "the column 'topik'", "do": "did you mean 'topic'"}),
    ({"posts_csv": POSTS.replace("topic,", "type,")}, {"got": "the column 'type' twice"}),
    ({"posts_csv": POSTS.replace("topic,", ",")}, {"got": "no name for column 5"}),
    (
        {"posts_csv": POSTS.replace("stance:dam", "stance:damn")},
        {"got": "'damn'", "allowed": "dam, toll", "do": "did you mean 'dam'"},
    ),
    (
        {"posts_csv": POSTS.replace("false", "flase")},
        {"where": r"row 2 \(line 3\), column 'veracity'", "got": "'flase'", "do": "'false'"},
    ),
    ({"posts_csv": POSTS.replace("0.9", "1.9")}, {"where": r"row 1 \(line 2\), column 'plausibility'", "got": "'1.9'"}),
    (
        {"posts_csv": POSTS.replace("0.9", "high")},
        {"where": "column 'plausibility'", "got": "'high'", "allowed": "a number from 0 to 1"},
    ),
    (
        {"posts_csv": POSTS.replace(",post,", ",poster,")},
        {"where": "column 'type'", "got": "'poster'", "do": "did you mean 'post'"},
    ),
    (
        {"posts_csv": POSTS.replace("Rumors", "Rumor")},
        {"where": "column 'source'", "got": "'Rumor'", "do": "did you mean 'Rumors'"},
    ),
    ({"posts_csv": POSTS.replace("Gazette", "")}, {"where": "column 'source'", "got": "nothing"}),
    ({"posts_csv": POSTS.replace("Rumors,2", "Rumors,2.5")}, {"where": "column 'step'", "got": "'2.5'"}),
    ({"posts_csv": POSTS.replace("Rumors,2", "Rumors,0")}, {"where": "column 'step'", "got": "'0'"}),
    ({"posts_csv": POSTS.replace("-1,,0.25", "-1.01,,0.25")}, {"where": "column 'stance:dam'", "got": "'-1.01'"}),
    (
        {"posts_csv": POSTS.replace("-1,,0.25,0.5", "-1,,,0.5")},
        {"where": "column 'strength:toll'", "got": "a strength without"},
    ),
    ({"posts_csv": POSTS.replace("The dam leaks!", " ")}, {"where": "column 'text'", "got": "nothing"}),
    ({"posts_csv": POSTS.replace("The dam leaks!", "x" * 10_001)}, {"got": "10,001 characters"}),
    (
        {"posts_csv": POSTS.replace("leaks!", "leaks, ")},
        {"where": r"row 2 \(line 3\)", "got": "12 cells", "allowed": "11 cells"},
    ),
    ({"posts_csv": POSTS.replace('they say."', "they say.")}, {"where": "line 2"}),
    ({"posts_csv": POSTS.replace("leaks!", "x" * 200_000)}, {"got": "field larger than field limit"}),
    (
        {"arguments_csv": ARGUMENTS.replace("toll,", "tol,")},
        {"where": "column 'proposition'", "got": "'tol'", "do": "did you mean 'toll'"},
    ),
    ({"arguments_csv": ARGUMENTS.replace("0.8", "")}, {"where": "column 'stance'", "got": "nothing"}),
    ({"arguments_csv": ARGUMENTS.replace("0.8", "-0.8")}, {"where": "column 'side'", "got": "a stance of -0.8"}),
    (
        {"arguments_csv": ARGUMENTS.replace("dam,pro", "dam,for")},
        {"where": "column 'side'", "got": "'for'", "allowed": "pro, con"},
    ),
    ({"arguments_csv": ARGUMENTS.replace("tag", "tags")}, {"got": "the column 'tags'", "do": "did you mean 'tag'"}),
]


@pytest.mark.parametrize(("change", "says"), FOLDERS)
def test_a_bad_folder_says_where(tmp_path: Path, change: dict[str, str], says: dict[str, str]) -> None:
    with raises_error(DataError, **says) as error:
        load_scenario(write(tmp_path, **change))
    assert str(error.value).startswith(str(tmp_path))


TABLES = [
    ("t.csv", b"", {"got": "an empty file"}),
    (
        "t.csv",
        b"veracity,words\ntrue,a\n",
        {"where": "header", "got": "columns veracity, words", "allowed": "a column `text`"},
    ),
    ("t.csv", b"text\n", {"got": "no posts"}),
    ("t.csv", b"text\nok\ncaf\xe9\n", {"where": "line 3", "got": "the byte 0xe9", "allowed": "UTF-8"}),
    ("t.csv", "text\na\n".encode("utf-16"), {"allowed": "UTF-8"}),
    ("t.jsonl", b"{}\n", {"allowed": "a column `text`"}),
    ("t.jsonl", b'{"text": "a"}\n{"veracity": true}\n', {"where": "line 2, field 'text'", "got": "nothing"}),
    ("t.jsonl", b'{"text": "a"}\nnope\n', {"where": "line 2", "got": "invalid JSON"}),
    ("t.jsonl", b'{"text": ["a"]}\n', {"where": "field 'text'", "got": "list"}),
    ("t.jsonl", b'{"text": true}\n', {"where": "field 'text'", "got": "bool"}),
    ("t.jsonl", b'{"text": "a", "text": "b"}\n', {"got": "the key 'text' twice"}),
    ("t.jsonl", b'{"text": "a", "stance": {"x": 0}, "stance:x": 1}\n', {"got": "the column 'stance:x' twice"}),
    ("t.xlsx", b"text\na\n", {"got": ".xlsx", "allowed": ".yaml"}),
    ("t", b"text\na\n", {"got": "a name without an ending"}),
]


@pytest.mark.parametrize(("name", "content", "says"), TABLES)
def test_a_bad_table_says_where(tmp_path: Path, name: str, content: bytes, says: dict[str, str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with raises_error(DataError, **says) as error:
        load_scenario(path)
    assert str(error.value).startswith(str(path))


def test_a_column_without_a_proposition_is_none_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"text,stance:,stance:a b,strength:tax\na,1,2,x\n")
    scenario = load_scenario(path)
    assert scenario.proposition_names == ()
    assert "columns not used: stance:, stance:a b, strength:tax" in scenario.notices
    assert "column 'stance:a b' names no proposition" in scenario.notices


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("health-rumors", {"do": "did you mean 'health-rumor'"}),
        ("nowhere/at/all.csv", {"allowed": "or the path of a folder, YAML, JSONL or CSV"}),
        ("", {"got": "no such scenario"}),
        ("a\x00b", {"got": "no such scenario"}),
        ("x" * 5000, {"got": "no such scenario"}),
        ("synthetic:0", {"allowed": "synthetic:N with 1 to"}),
        ("made:many", {"allowed": "synthetic:N with 1 to"}),
        ("made:", {"allowed": "synthetic:N with 1 to"}),
    ],
)
def test_a_scenario_that_is_not_there(name: str, says: dict[str, str]) -> None:
    with raises_error(DataError, **says):
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
