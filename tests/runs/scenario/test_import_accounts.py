"""Accounts, follows and timed posts of others, from CSV and Parquet, into a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.core.enums import AgentKind, PostKind
from townsquare.core.errors import DataError, SettingError
from townsquare.record.run import Run
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import load_scenario
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

HEAD = """
propositions:
  - {name: dam, text: The dam should be built.}
posts: posts.csv
"""
ACCOUNTS = """id,name,persona,activity,trait:age,trait:gender,stance:dam,joined
u1,Ann,I fish.,2.5,44,Female,0.5,2019
u2,,,,,,,2020
u3,Cy,,0,30,Male,-1,2021
"""
FOLLOWS = "follower,followed\nu1,u3\nu2,u1\n"
POSTS = """text,account,source,time,veracity,stance:dam
Build it.,u1,,2024-05-01T10:30Z,unknown,0.9
The dam was built in secret,,Gazette,2024-05-01T12:00+01:00,false,
Fish will die,u3,,2024-05-01T13:05,unknown,-0.8
Some day,u3,,,unknown,
"""
TIMED = HEAD + "accounts: accounts.csv\nfollows: follows.csv\nstep_length: 1h\n"
RUN = {"steps": 4, "policy": "silent"}


def folder(path: Path, yaml: str = TIMED, **files: str) -> Path:
    for name, text in {"accounts": ACCOUNTS, "follows": FOLLOWS, "posts": POSTS, **files}.items():
        (path / f"{name}.csv").write_text(text, encoding="utf-8")
    (path / "scenario.yaml").write_text(yaml, encoding="utf-8")
    return path


def load(path: Path, yaml: str = TIMED, **files: str) -> Scenario:
    return load_scenario(folder(path, yaml, **files))


def run(path: Path, *sets: str) -> Run:
    return simulate(resolve_for(str(path), None, ["policy=silent", *sets], steps=4))


# --- what is read ------------------------------------------------------------------------------------------


def test_accounts_follows_and_steps_of_times(tmp_path: Path) -> None:
    scenario = load(tmp_path)
    accounts = scenario.accounts
    assert accounts is not None
    assert accounts.personas.ids == ("u1", "u2", "u3")
    assert accounts.names == ("Ann", "u2", "Cy")
    assert accounts.personas.texts == ("I fish.", "", accounts.personas.texts[2])
    assert "30 years old" in accounts.personas.texts[2]
    assert accounts.personas.traits[0, :2].tolist() == [44, bundled_bank().code("gender", "Female")]
    assert accounts.personas.activity.tolist()[::2] == [2.5, 0.0]
    assert np.isnan(accounts.personas.activity[1])
    assert [ends.tolist() for ends in accounts.follows or ()] == [[0, 1], [2, 0]]
    assert scenario.posts.account.tolist() == [0, -1, 2, 2]
    assert scenario.posts.source.tolist() == [-1, 0, -1, -1]
    assert scenario.posts.step.tolist() == [1, 1, 3, -1]  # an hour a step, from the first post on
    assert scenario.notices == ("columns of accounts not used: joined",)
    assert scenario.settings == {"agents": 3, "graph": {"kind": "given"}}


def test_a_start_time_shifts_the_steps(tmp_path: Path) -> None:
    yaml = TIMED + "start_time: 2024-05-01T10:00\n"
    assert load(tmp_path, yaml).posts.step.tolist() == [1, 2, 4, -1]


def test_seconds_since_1970_are_times(tmp_path: Path) -> None:
    posts = "text,account,time\na,u1,1000\nb,u1,1060\nc,u2,1119.5\n"
    yaml = TIMED.replace("1h", "60")
    assert load(tmp_path, yaml, posts=posts).posts.step.tolist() == [1, 2, 2]


def test_parquet_is_the_same_as_csv(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    csv = folder(tmp_path / "one")
    other = tmp_path / "two"
    texts = {"infer_schema": True, "try_parse_dates": True}
    for name in ("accounts", "follows", "posts"):
        frame = pl.read_csv(csv / f"{name}.csv", **texts)
        if name == "posts":
            assert frame["time"].dtype != pl.Float64
        frame.write_parquet(other / f"{name}.parquet")
    (other / "scenario.yaml").write_text(("name: one\n" + TIMED).replace(".csv", ".parquet"), encoding="utf-8")
    assert load_scenario(other).digest == load_scenario(csv).digest


def test_posts_alone_may_be_parquet(tmp_path: Path) -> None:
    path = tmp_path / "posts.parquet"
    frame = pl.DataFrame({"headline": ["a", "b"], "is_true": [True, False], "stance": [{"dam": 0.5}, {"dam": None}]})
    frame.write_parquet(path)
    posts = load_scenario(path).posts
    assert posts.veracity.tolist() == [1, 2]
    assert posts.stance[0].tolist() == [0.5]
    assert np.isnan(posts.stance[1, 0])


def test_a_scenario_may_hold_them_as_lists(tmp_path: Path) -> None:
    yaml = """
    accounts: [{id: a, stance: {}, trait: {age: 20}}, {id: b}]
    follows: [{follower: a, followed: b}]
    posts: [{text: hello, account: a, step: 2}]
    """
    scenario = load(tmp_path, yaml)
    assert scenario.accounts is not None
    assert len(scenario.accounts) == 2
    assert scenario.sources == ()
    assert simulate(resolve_for(str(tmp_path), steps=3)).table("posts")["author"][0] == 0


def test_only_what_is_there_is_in_the_digest(tmp_path: Path) -> None:
    first = load(tmp_path).digest
    assert load(tmp_path, accounts=ACCOUNTS.replace("2019", "1999")).digest == first
    for change in (
        {"accounts": ACCOUNTS.replace("2.5", "2.6")},
        {"accounts": ACCOUNTS.replace("I fish.", "I sail.")},
        {"follows": FOLLOWS + "u3,u1\n"},
        {"posts": POSTS.replace("Build it.,u1", "Build it.,u2")},
    ):
        assert load(tmp_path, **change).digest != first


# --- a run -------------------------------------------------------------------------------------------------


def test_a_run_of_imported_people(tmp_path: Path) -> None:
    done = run(folder(tmp_path))
    agents = done.table("agents")
    words = done.table("texts")["content"]
    assert [words[row] for row in agents["name"]] == ["Ann", "u2", "Cy", "Gazette"]
    assert agents["kind"].to_list() == [AgentKind.PERSON] * 3 + [AgentKind.SOURCE]
    assert (agents["activity"][0], agents["activity"][2]) == (2.5, 0.0)
    assert done.table("follows").select("follower", "followed").rows() == [(0, 2), (1, 0)]
    start = done.table("beliefs", (0, 0))["stance"].to_list()
    assert (start[0], start[2]) == (0.5, -1.0)
    posts = done.table("posts")
    assert posts["kind"].unique().to_list() == [PostKind.INJECTED]
    by_step = posts.select("step", "author").rows()
    assert sorted(by_step) == [(1, 0), (1, 2), (1, 3), (3, 2)]
    shown = done.table("exposures")
    assert shown.filter(pl.col("agent") == pl.col("author")).height == 0  # nobody is shown what is their own
    assert (0, 2) in shown.filter(pl.col("slot") == 0).select("agent", "author").rows()


def test_newcomers_are_sampled(tmp_path: Path) -> None:
    done = run(folder(tmp_path), "growth.max_per_step=2", "seed=3")
    agents = done.table("agents").filter(pl.col("born") > 0)
    assert agents.height > 0
    assert agents["name"].to_list() == [-1] * agents.height
    traits = done.table("traits").group_by("agent").len()
    assert set(traits.filter(pl.col("agent").is_in(agents["agent"].to_list()))["len"]) == {19}


def test_another_graph_may_be_chosen(tmp_path: Path) -> None:
    done = run(folder(tmp_path), "graph.kind=random", "graph.p=1")
    assert done.table("follows").height == 6


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["agents=5"], {"where": "agents", "got": "5", "allowed": "3, one for each account"}),
        (["population.file=x.jsonl"], {"where": "population.file", "got": "one", "allowed": "none"}),
        (["population.margins={gender: {Male: 1}}"], {"where": "population.margins"}),
    ],
)
def test_settings_that_say_otherwise_are_refused(tmp_path: Path, sets: list[str], says: dict[str, str]) -> None:
    where = folder(tmp_path)
    (where / "x.jsonl").write_text('{"id": "x", "text": "I am x."}\n', encoding="utf-8")
    with raises_error(SettingError, **says):
        run(where, *sets)


def test_no_follows_are_given_without_accounts() -> None:
    with raises_error(SettingError, got="the scenario gives no follows"):
        simulate(resolve_for("synthetic:20", None, ["graph.kind=given"], agents=5, steps=1))


# --- what is refused ---------------------------------------------------------------------------------------

BAD = [
    ({"accounts": "name\nAnn\n"}, {"where": "accounts.csv, header", "got": "columns name", "allowed": "a column `id`"}),
    ({"accounts": "id\n"}, {"where": "accounts.csv", "got": "no accounts"}),
    ({"accounts": "id\nu1\nu1\n"}, {"where": r"accounts.csv, row 2 \(line 3\), column 'id'", "got": "'u1' again"}),
    (
        {"accounts": "id,trait:agee\nu1,4\n"},
        {"where": "column 'trait:agee'", "got": "'agee'", "do": "did you mean 'age'"},
    ),
    (
        {"accounts": "id,trait:gender\nu1,Femal\n"},
        {"where": r"row 1 \(line 2\), column 'trait:gender'", "got": "'Femal'"},
    ),
    (
        {"accounts": "id,stance:dan\nu1,1\n"},
        {"where": "header, column 'stance:dan'", "got": "'dan'", "allowed": "dam", "do": "did you mean"},
    ),
    (
        {"accounts": "id,stance:dam\nu1,2\n"},
        {"where": "column 'stance:dam'", "got": "'2'", "allowed": "a number from -1 to 1"},
    ),
    ({"accounts": "id,activity\nu1,-1\n"}, {"where": "column 'activity'", "got": "'-1'"}),
    ({"follows": "follower,folowed\n"}, {"where": "follows.csv, header", "do": "did you mean 'folowed'"}),
    ({"follows": FOLLOWS + "u9,u1\n"}, {"where": r"follows.csv, row 3 \(line 4\), column 'follower'", "got": "'u9'"}),
    ({"follows": FOLLOWS + "u1,u1\n"}, {"where": r"row 3 \(line 4\)", "got": "an agent that follows itself"}),
    (
        {"follows": FOLLOWS + "u2,u1\n"},
        {"where": r"row 3 \(line 4\)", "got": r"the follow of .*row 2 \(line 3\) again"},
    ),
    (
        {"posts": "text,account\na,u11\n"},
        {"where": r"posts.csv, row 1 \(line 2\), column 'account'", "got": "'u11'", "do": "did you mean"},
    ),
    ({"posts": "text,account,source\na,u1,G\n"}, {"where": "column 'source'", "got": "a source and an account"}),
    (
        {"posts": "text,account,time\na,u1,noon\n"},
        {"where": "column 'time'", "got": "'noon'", "allowed": "a time such as"},
    ),
    ({"posts": "text,time,step\na,2024-01-01,3\n"}, {"where": "column 'time'", "got": "a time and a step"}),
    (
        {"posts": "text,time\na,2024-01-01\nb,4024-01-01\n"},
        {"where": "column 'time'", "got": "step ", "allowed": "times in steps 1 to 1,000,000"},
    ),
]


@pytest.mark.parametrize(("files", "says"), BAD)
def test_errors_name_file_row_and_column(tmp_path: Path, files: dict[str, str], says: dict[str, str]) -> None:
    with raises_error(DataError, **says):
        load(tmp_path, **files)


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        (HEAD + "follows: follows.csv\n", {"where": "follows", "got": "follows without accounts"}),
        (
            HEAD + "step_length: 1h\n",
            {"where": "column 'account'", "got": "a post by an account", "allowed": "posts by sources"},
        ),
        (
            TIMED.replace("step_length: 1h\n", ""),
            {"where": "column 'time'", "allowed": "times together with `step_length`"},
        ),
        (TIMED.replace("1h", "1 fortnight"), {"where": "step_length", "got": "'1 fortnight'", "allowed": "30 min, 1h"}),
        (TIMED.replace("1h", "0"), {"where": "step_length", "got": "0"}),
        (TIMED + "start_time: 2024-06-01\n", {"where": "column 'time'", "got": "a time before `start_time`"}),
        (TIMED + "start_time: soon\n", {"where": "start_time", "got": "'soon'"}),
    ],
)
def test_a_scenario_that_does_not_fit_is_refused(tmp_path: Path, yaml: str, says: dict[str, str]) -> None:
    with raises_error(DataError, **says):
        load(tmp_path, yaml)


def test_steps_have_the_length_by_which_posts_got_their_steps(tmp_path: Path) -> None:
    posts = folder(tmp_path)
    assert resolve_for(str(posts), None, ["time.step_minutes=60"]).config.time.step_minutes == 60
    with raises_error(SettingError, where="time.step_minutes", got="15", allowed="60, as `step_length`"):
        resolve_for(str(posts), None, ["time.step_minutes=15"])


def test_what_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "posts.parquet"
    path.write_text("text\nhello\n", encoding="utf-8")
    with raises_error(DataError, got="an unreadable Parquet file"):
        load_scenario(path)
    pl.DataFrame({"text": ["a"], "account": [["u1"]]}).write_parquet(path)
    (tmp_path / "scenario.yaml").write_text("accounts: [{id: u1}]\nposts: posts.parquet\n", encoding="utf-8")
    with raises_error(DataError, where="posts.parquet, row 1, column 'account'", got="list"):
        load_scenario(tmp_path)
