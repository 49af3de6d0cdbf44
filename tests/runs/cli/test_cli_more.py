"""Commands around a run: personas, export of graphs, a first scenario, the doctor, completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import networkx as nx
import numpy as np
import pytest

from repository import ROOT
from townsquare import cli
from townsquare.cli import console, main
from townsquare.cli.app import ROWS, app
from townsquare.cli.doctor import State, examine, fits, in_units
from townsquare.cli.options import whole
from townsquare.cli.progress import ProgressDisplay
from townsquare.experiments.size import planned_size
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario
from townsquare.scenario.population.personas import read_personas
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.sample import sample_people
from townsquare.scenario.settings import resolve_for

RUN = ["run", "synthetic:20", "--agents", "30", "--steps", "3", "--quiet"]
Capture = pytest.CaptureFixture[str]
COMMANDS = [row["name"] for row in ROWS if row["call"] and not row["group"]]
PERSONAS = [row["name"] for row in ROWS if row["group"] == "personas"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cli.DEBUG, raising=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    assert main([*RUN, "--out", str(folder)]) == 0
    return folder


def test_no_option_rounds_what_should_be_whole() -> None:
    """Cyclopts rounds 1.5 to 2 unless an option has a converter (or a part of one); Pydantic checks its own options."""
    rounded = [
        f"{row['group']} {row['name']} {argument.names[0]}".strip()
        for row in ROWS
        if row["call"]
        for argument in (app[row["group"]] if row["group"] else app)[row["name"]].assemble_argument_collection()
        for converter in [argument.parameter.converter]
        if int in (argument.hint, *get_args(argument.hint)) and getattr(converter, "func", converter) is not whole
    ]
    assert rounded == ["fit --n-folds", "fit --kinds"]
    assert main(["fit", "nowhere.csv", "--kinds", "1.5"]) == 2


def told(capsys: Capture, *words: str, code: int = 0) -> dict:
    """What a command prints with --json."""
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def refused(capsys: Capture, *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


# --- personas ----------------------------------------------------------------------------------------------


def test_sampled_personas_are_those_of_a_run(capsys: Capture) -> None:
    assert main(["personas", "sample", "--n", "50", "--seed", "1", "--out", "people.jsonl"]) == 0
    assert "50 personas  people.jsonl" in capsys.readouterr().out
    bank = bundled_bank()
    written = read_personas(Path("people.jsonl"), bank)
    config = resolve_for("synthetic:20", seed=1).config
    assert np.array_equal(written.traits, sample_people(0, 50, config.population, (), 1).traits)
    assert main([*RUN, "--set", "population.file=people.jsonl", "--out", "one"]) == 0
    assert main([*RUN, "--out", "two"]) == 0
    one, two = (Run.open(Path(name)).table("traits") for name in ("one", "two"))
    assert one.equals(two)


def test_margins_are_settings_of_a_sample(capsys: Capture) -> None:
    margins = "population.margins={gender: {Female: 1.0}}"
    facts = told(capsys, "personas", "sample", "--n", "40", "--set", margins, "--out", "people.jsonl")
    assert facts == {"personas": "people.jsonl", "n": 40}
    counts = told(capsys, "personas", "describe", "people.jsonl")
    gender = next(one for one in counts["traits"] if one["trait"] == "gender")
    assert {one["answer"]: one["count"] for one in gender["answers"]}["Female"] == 40
    assert gender["p"] < 1e-6


def test_describe_reads_a_file_by_the_bank_that_is_set(capsys: Capture) -> None:
    bank = ["--set", "population.bank=parliamentary"]
    told(capsys, "personas", "sample", "--n", "300", "--seed", "1", *bank, "--out", "people.jsonl")
    counts = told(capsys, "personas", "describe", "people.jsonl", *bank)
    assert counts == told(capsys, "personas", "describe", "--n", "300", "--seed", "1", *bank)
    assert not any(one["missing"] for one in counts["traits"])


def test_describe_counts_beside_what_is_stated(capsys: Capture) -> None:
    assert main(["personas", "describe", "--n", "2000", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    for word in ("political_affiliation", "Spiritual but not religious", "45-54", "20.0%", "chi-square"):
        assert word in shown
    facts = told(capsys, "personas", "describe", "--n", "2000", "--seed", "3")
    assert facts["n"] == 2000
    assert len(facts["traits"]) == 19
    assert sum(one["p"] < 0.05 for one in facts["traits"]) <= 3
    assert all(sum(a["count"] for a in one["answers"]) == 2000 for one in facts["traits"])


SURVEY = ["population.file=answers.csv", "population.mapping=map.yaml"]
MARGIN = "population.margins={gender: {Male: 0.2, Female: 0.8}}"


@pytest.mark.parametrize(
    ("sets", "words", "male"),
    [
        ([MARGIN], "shares in the question bank, raked to the margins", 0.2),
        ([*SURVEY, MARGIN], "shares of the people in answers.csv, by survey weights, raked to the margins", 0.2),
        ([*SURVEY, "population.resample=true"], "shares of the people in answers.csv, by survey weights", 0.75),
        (SURVEY, "shares of the people in answers.csv, unweighted", 0.5),
    ],
)
def test_expected_shares_are_those_people_are_drawn_from(
    sets: list[str], words: str, male: float, capsys: Capture
) -> None:
    """Half of the respondents are male, with three times the weight; one in ten did not say."""
    rows = [f"r{i},{3 if i < 200 else 1},{'mf'[i >= 200] if i % 20 > 1 else ''},Union" for i in range(400)]
    Path("answers.csv").write_text("\n".join(["who,w,sex,party", *rows]), encoding="utf-8")
    columns = "party: {trait: party, kind: categorical}\n  sex: {trait: gender, values: {m: Male, f: Female}}"
    Path("map.yaml").write_text(f"id: who\nweight: w\ncolumns:\n  {columns}\n", encoding="utf-8")
    asked = ["personas", "describe", "--n", "400", "--seed", "3", *(word for one in sets for word in ("--set", one))]
    facts = told(capsys, *asked)
    assert facts["expected"] == words
    gender = next(one for one in facts["traits"] if one["trait"] == "gender")
    expected = {one["answer"]: one["stated"] for one in gender["answers"]}
    assert (expected["Male"], expected["Female"]) == pytest.approx((male, 1 - male))
    assert gender["p"] > 0.05
    assert main(asked) == 0
    assert f"Expected: {words}." in capsys.readouterr().out


def test_a_survey_becomes_personas(capsys: Capture) -> None:
    Path("answers.csv").write_text("who,sex,other\na,m,1\nb,x,2\nc,f,3\n", encoding="utf-8")
    Path("map.yaml").write_text(
        "id: who\ncolumns:\n  sex: {trait: gender, values: {m: Male, f: Female}}\n", encoding="utf-8"
    )
    words = ["personas", "from-survey", "answers.csv", "--mapping", "map.yaml", "--out", "people.jsonl"]
    assert "answers.csv, row 2 (line 3), column 'sex'" in refused(capsys, *words)
    assert not Path("people.jsonl").exists()
    assert main([*words, "--skip-bad"]) == 0
    out, err = capsys.readouterr()
    assert "2 personas" in out
    assert "left out: answers.csv, row 2 (line 3), column 'sex'" in err
    assert "note: columns not in the mapping: other" in err
    facts = told(capsys, *words, "--skip-bad", "--replace")
    assert (facts["n"], facts["columns_not_used"]) == (2, ["other"])
    assert len(facts["left_out"]) == 1


def test_nothing_is_written_over_unasked(capsys: Capture) -> None:
    Path("answers.csv").write_text("precious", encoding="utf-8")
    err = refused(capsys, "personas", "sample", "--n", "3", "--out", "answers.csv")
    assert "already exists" in err
    assert "--replace" in err
    assert Path("answers.csv").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["personas", "sample", "--out", "x"], "--n"),
        (["personas", "sample", "--n", "0", "--out", "x"], "from 1 to"),
        (["personas", "sample", "--n", "3", "--out", "no/such/folder/x"], "No such file"),
        (["personas", "describe"], "got: neither"),
        (["personas", "describe", "people.jsonl", "--n", "3"], "got: no such scenario"),
        (["personas", "describe", "people.jsonl"], "people.jsonl"),
        (["personas", "from-survey", "no.csv", "--mapping", "no.yaml", "--out", "x"], "no.yaml"),
        (["export-graph", "nowhere"], "nowhere"),
        (["init", "/dev/null/x"], "allowed: a folder that can be written"),
        (["doctor", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_words_have_one_message(words: list[str], says: str, capsys: Capture) -> None:
    assert says in refused(capsys, *words)


# --- graphs ------------------------------------------------------------------------------------------------


def test_a_graph_is_exported(recorded: Path, capsys: Capture) -> None:
    words = ["export-graph", str(recorded), "--step", "2", "--out", "after.graphml"]
    assert main(words) == 0
    assert "follows after step 2" in capsys.readouterr().out
    graph = nx.read_graphml("after.graphml")
    assert graph.number_of_nodes() == Run.open(recorded).table("agents").height
    assert "already exists" in refused(capsys, *words)
    facts = told(capsys, "export-graph", str(recorded), "--to", "csv", "--out", "g.csv")
    assert (facts["step"], facts["files"]) == (3, ["g.csv", "g-nodes.csv"])
    assert "allowed: 0 to 3" in refused(capsys, "export-graph", str(recorded), "--step", "9", "--out", "x")


# --- a first scenario --------------------------------------------------------------------------------------


def test_a_first_scenario_runs_as_it_is(capsys: Capture) -> None:
    facts = told(capsys, "init", "town")
    assert facts["run"] == "townsquare run ./town"
    assert [Path(file).name for file in facts["files"]] == ["scenario.yaml", "posts.csv", "arguments.csv"]
    assert main(["run", "./town", "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    run = Run.open(Path("out"))
    assert (run.state, run.last_step) == ("finished", 12)
    assert run.settings["agents"] == 200
    assert result["outcomes"]["spread_kept.car_free"] > 0.5
    assert result["outcomes"]["actions_per_agent_step"] > 0
    assert "already exists" in refused(capsys, "init", "town")


def test_a_first_scenario_never_joins_a_recording(recorded: Path, capsys: Capture) -> None:
    before = sorted(recorded.iterdir())
    said = refused(capsys, "init", str(recorded))
    assert "got: a folder that holds a recorded run" in said
    assert "name another folder, new or empty" in said
    assert sorted(recorded.iterdir()) == before
    Path("compared").mkdir()
    Path("compared/experiment.json").write_text("{}", encoding="utf-8")
    assert "a comparison" in refused(capsys, "init", "compared")


def test_a_first_scenario_explains_itself() -> None:
    assert main(["init", "town"]) == 0
    text = Path("town/scenario.yaml").read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if "#" in line]
    assert len(comments) > 12
    scenario = load_scenario("./town")
    assert (len(scenario.posts), len(scenario.arguments)) == (12, 12)
    assert scenario.has_plausibility
    assert scenario.notices == ()


def test_what_an_importer_assumed_is_said(capsys: Capture) -> None:
    Path("posts.csv").write_text("headline,is_true,mood\nThe bridge is open.,1,glad\n", encoding="utf-8")
    words = ["run", "posts.csv", "--agents", "5", "--steps", "1"]
    assert main(words) == 0
    err = capsys.readouterr().err
    assert "note: 'headline' is read as the text" in err
    assert "note: columns not used: mood" in err
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


# --- the doctor --------------------------------------------------------------------------------------------


def test_the_doctor_finds_this_installation_whole(capsys: Capture) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for word in ("Python", "package numba", "compiled kernels", "processors", "memory", "disk"):
        assert word in shown
    facts = told(capsys, "doctor")
    assert facts["ok"]
    assert facts["planned"] is None
    assert {one["state"] for one in facts["findings"]} <= {"ok", "absent"}


def test_the_doctor_knows_what_a_run_needs(capsys: Capture) -> None:
    facts = told(capsys, "doctor", "health-rumor@1", "--agents", "1000", "--steps", "10")
    assert facts["planned"]["exposures"] >= 1000 * 10 * 25
    assert any(one["what"] == "memory for the run" for one in facts["findings"])
    facts = told(capsys, "doctor", "--agents", "200000000", "--steps", "1000", code=1)
    states = {one["what"]: one["state"] for one in facts["findings"]}
    assert states["disk for the run"] == "missing"
    assert not facts["ok"]


def test_a_missing_package_comes_with_its_command(tmp_path: Path) -> None:
    """A package whose metadata ask for what is not here, as an installation that is broken would."""
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(
        "Metadata-Version: 2.4\nName: broken\nVersion: 1.0\n"
        "Requires-Dist: numpy>=999\nRequires-Dist: no-such-thing>=2\n"
        "Requires-Dist: absent-thing; extra == 'gpu'\nRequires-Dist: numpy; extra == 'fast'\n"
        "Provides-Extra: gpu\nProvides-Extra: fast\n",
        encoding="utf-8",
    )
    code = (
        "import sys, json; from pathlib import Path; from townsquare.cli.doctor import examine;"
        "print(json.dumps([[f.what, f.state.value, f.do] for f in examine(Path('.'), 'broken')]))"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    found = {what: (state, do) for what, state, do in json.loads(done.stdout)}
    assert found["package numpy"] == ("missing", "python -m pip install 'numpy>=999'")
    assert found["package no-such-thing"] == ("missing", "python -m pip install 'no-such-thing>=2'")
    assert found["extra gpu"] == ("absent", "python -m pip install 'broken[gpu]'")
    assert found["extra fast"] == ("ok", "")


def test_findings_without_a_fault_ask_for_nothing(tmp_path: Path) -> None:
    for one in examine(tmp_path / "not" / "there"):
        assert (one.state == State.OK) == (one.do == "")


@pytest.mark.parametrize("parquet_above", [0, 10_000_000])
def test_estimates_are_upper_ends_of_what_a_run_takes(parquet_above: int) -> None:
    sets = [f"record.parquet_above={parquet_above}"]
    settings = resolve_for("health-rumor@1", None, sets, agents=400, steps=12)
    size = planned_size(settings.config, load_scenario("health-rumor@1"))
    words = ["run", "health-rumor@1", "--agents", "400", "--steps", "12", "--set", *sets, "--out", "run", "--quiet"]
    assert main(words) == 0
    run = Run.open(Path("run"))
    taken = sum(path.stat().st_size for path in Path("run").rglob("*") if path.is_file())
    assert 0.25 * size.disk < taken < 1.05 * size.disk
    assert 0.4 * size.exposures < run.counts["exposures"] <= size.exposures
    assert 0.4 * size.trail < run.counts["trail"] <= size.trail
    assert run.counts["beliefs"] == pytest.approx(size.beliefs, rel=0.05)
    assert size.in_parquet == (parquet_above == 0)
    assert all(one.state == State.OK for one in fits(size, Path()))


@pytest.mark.parametrize(
    ("scenario", "agents", "steps", "measured"),
    [
        ("health-rumor", 2000, 336, 820e6),
        ("health-rumor", 6000, 336, 1538e6),
        ("health-rumor@1", 10_000, 6, 1276e6),
        ("synthetic:60", 20_000, 6, 1748e6),
    ],
)
def test_the_estimate_of_memory_covers_the_report(scenario: str, agents: int, steps: int, measured: float) -> None:
    settings = resolve_for(scenario, agents=agents, steps=steps)
    assert measured <= planned_size(settings.config, load_scenario(scenario)).memory < 2 * measured


def test_the_estimate_of_memory_grows_with_steps_beyond_what_agents_remember() -> None:
    """Posts, ratings and trust are kept, however few seen roots are."""
    scenario = load_scenario("synthetic:20")
    sets = ["feed.comments=0", "feed.seen_cap=100"]
    first, second, third = (
        planned_size(resolve_for("synthetic:20", None, sets, agents=1000, steps=steps).config, scenario).memory
        for steps in (10, 20, 30)
    )
    assert third - second == pytest.approx(second - first)


def test_bytes_in_words() -> None:
    assert [in_units(size) for size in (0, 999, 1000, 1.5e6, 2e12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2,000.0 GB",
    ]


def test_a_narrow_table_cuts_no_word(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(console, "PIPE_WIDTH", 24)
    console.show("", [("engagement_true_per_post", 12345.0)], (str, "outcome"), (console.number, "value"))
    assert "".join(line.split()[0] for line in capsys.readouterr().out.splitlines()[3:] if line.split()) == (
        "engagement_true_per_post"
    )


# --- all commands ------------------------------------------------------------------------------------------


def test_every_command_that_prints_results_has_json(capsys: Capture) -> None:
    commands = [*([name] for name in COMMANDS), *(["personas", name] for name in PERSONAS)]
    without = []
    for command in commands:
        assert main([*command, "--help"]) == 0
        if "--json" not in capsys.readouterr().out:
            without.append(" ".join(command))
    assert set(without) <= {"schema", "view"}  # one prints nothing but JSON, one serves pages


def test_help_of_a_command_is_its_docstring_without_the_parameters(capsys: Capture) -> None:
    for words, text in (
        (["resume"], "Resume a stopped run; its recorded steps are executed again and compared. --set changes only"),
        (["debate", "sweep"], "Run debates for every combination of settings. One agent debates"),
        (["check", "people"], "Parameters have the values in docs/beliefs-and-people.md."),
    ):
        assert main([*words, "--help"]) == 0
        before, _, listed = capsys.readouterr().out.partition("╭")
        assert text in " ".join(before.split())
        assert "----" not in before
        assert "--json" in listed


def test_every_option_has_a_help_text() -> None:
    """Help texts stand in docstrings, where one is easily forgotten."""
    apps = [app[name] for name in COMMANDS] + [app[row["group"]][row["name"]] for row in ROWS if row["group"]]
    arguments = [argument for one in apps for argument in one.assemble_argument_collection(parse_docstring=True)]
    assert len(arguments) > 150
    helps = {argument.name: argument.parameter.help or "" for argument in arguments if argument.show}
    assert [name for name, text in helps.items() if not text or "\n" in text] == []


def test_reports_as_json(recorded: Path, capsys: Capture) -> None:
    assert told(capsys, "report", str(recorded)) == {"reports": [str(recorded / "report.html")]}


@pytest.mark.parametrize("name", PERSONAS)
def test_commands_of_personas_have_help_and_are_documented(name: str, capsys: Capture) -> None:
    assert main(["personas", name, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out
    assert f"townsquare personas {name}" in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_completion_can_be_installed(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    code = "import sys; from townsquare.cli import main; sys.exit(main(['--install-completion', '--shell', 'bash']))"
    subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    scripts = [path for path in tmp_path.rglob("*") if path.is_file() and "townsquare" in path.name]
    assert scripts
    text = scripts[0].read_text(encoding="utf-8")
    assert "export-graph" in text
    subprocess.run(["bash", "-n", str(scripts[0])], check=True)


def test_the_time_left_leaves_out_the_first_step_in_which_the_program_compiles(capsys: Capture) -> None:
    display = ProgressDisplay(100, "json", "running")
    display.at(0)
    time.sleep(0.5)
    display.at(1)
    display.at(100)
    assert json.loads(capsys.readouterr().out)["rate"] > 100 / 0.5
