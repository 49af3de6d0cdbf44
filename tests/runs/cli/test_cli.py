"""The command line, as a user meets it: results, complaints, exit codes, and stopping."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import townsquare as ts
from changed_rows import change_rows
from repository import ROOT
from townsquare import cli
from townsquare.analysis.causes.why import why
from townsquare.cli import main
from townsquare.cli.app import ROWS
from townsquare.cli.console import safe
from townsquare.core.words import significant
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

RUN = ["run", "synthetic:20", "--agents", "30", "--steps", "3"]
HOSTILE = "[bold red]Vaccines[/] \x1b[31m <script>alert(1)</script> \u202edetrever"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cli.DEBUG, raising=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; tests do not change it."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    assert main([*RUN, "--out", str(folder), "--quiet"]) == 0
    return folder


# --- what goes right -----------------------------------------------------------------------------------------


def test_a_run_shows_outcomes_and_where_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*RUN, "--set", "moderation.strategy=hybrid"]) == 0
    out, err = capsys.readouterr()
    folder = Path("runs") / "synthetic-20-seed1-1"
    assert "30 simulated people read, posted and reacted over 3 steps, with notes and fact-checking." in out
    assert "Engagement per true post" not in out
    assert str(folder) in out
    assert "step 3 of 3" in err
    run = Run.open(tmp_path / folder)
    assert run.state == "finished"
    assert run.settings["moderation"]["strategy"] == "hybrid"
    assert (tmp_path / folder / "report.html").is_file()


def test_each_run_gets_a_folder_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main([*RUN, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert [Path(line).name for line in out.splitlines()] == ["synthetic-20-seed1-1", "synthetic-20-seed1-2"]
    assert err == ""


def test_progress_and_result_as_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines][-2:] == ["progress", "result"]
    assert (lines[-2]["step"], lines[-2]["steps"]) == (3, 3)
    assert lines[-1]["outcomes"]["actions_per_agent_step"] > 0


def test_a_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("scenario: synthetic:20\nagents: 10\nsteps: 1\npolicy: silent\n")
    assert main(["run", "my.yaml", "--seed", "4", "--out", "out", "--quiet"]) == 0
    settings = Run.open(tmp_path / "out").settings
    assert (settings["seed"], settings["agents"], settings["policy"]["name"]) == (4, 10, "silent")


def test_a_run_is_a_function_of_its_configuration(recorded: Path) -> None:
    alone = MemoryRecorder()
    simulate(resolve_for("synthetic:20", agents=30, steps=3), alone)
    assert Run.of(alone).content_hash == Run.open(recorded).content_hash


def test_inspect(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(recorded), "--verify"]) == 0
    out = capsys.readouterr().out
    assert Run.open(recorded).content_hash in out
    assert "all steps and settings match their hashes" in out
    assert main(["inspect", str(recorded), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["state"], facts["bulky_tables"]) == ("finished", "packed")
    assert facts["steps"] == {"committed": 3, "wanted": 3}
    assert facts["rows"]["exposures"] == Run.open(recorded).table("exposures").height
    done = Run.open(recorded).words("actions").filter(pl.col("status") == "accepted")["kind"].value_counts()
    assert facts["health"]["actions"] == dict(done.rows())
    assert f"like {facts['health']['actions']['like']}" in out


def test_inspect_says_what_is_in_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--set", "record.parquet_above=0", "--out", "out", "--quiet"]) == 0
    assert main(["inspect", "out", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert "exposures" in facts["in_parquet"]
    assert facts["rows"]["exposures"] > 0


def test_a_finished_run_has_nothing_to_resume(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resume", str(recorded)]) == 0
    assert "already finished" in capsys.readouterr().err


def test_a_run_without_a_report_prints_its_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["run", "synthetic:20", "--agents", "20", "--steps", "1", "--no-report", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "20 simulated people" in out
    assert "Report: not written; run `townsquare report" in out
    assert not (tmp_path / "run" / "report.html").exists()


def test_reports_of_runs_and_comparisons(recorded: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["compare", "synthetic:20", "--agents", "20", "--steps", "2", "--seeds", "2", "--workers", "1"]
    assert main([*words, "--vary", "policy=statistical,silent", "--out", "both"]) == 0
    out = capsys.readouterr().out
    assert "silent cut the mean reach of a false post" in out or "silent: no detectable effect" in out
    assert "rows on other outcomes, one per outcome and arm; " in out
    (tmp_path / "both" / "report.html").unlink()
    assert main(["report", "both", str(recorded)]) == 0
    assert (tmp_path / "both" / "report.html").is_file()
    assert main(["inspect", "both", "--verify", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out.splitlines()[-1])["runs"]
    assert [run["verified"] for run in runs] == ["yes"] * 4
    assert main(["resume", "both"]) == 2
    assert "repeat the command of the comparison with `--out both`" in capsys.readouterr().err
    assert main(["why", "both", "--agent", "1"]) == 2
    assert "such as both/" in capsys.readouterr().err


def test_a_first_look_at_all_arms_comes_before_the_other_seeds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["compare", "synthetic:20", "--agents", "20", "--steps", "2", "--seeds", "3", "--workers", "1"]
    words += ["--vary", "policy=statistical,silent", "--out", "looked"]
    assert main([*words, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (place,) = [place for place, line in enumerate(lines) if line.get("event") == "note"]
    experiment = ts.Experiment.load("looked")
    first = experiment.outcomes.filter(seed=experiment.seeds[0])
    values = dict(first.select("arm", experiment.primary).iter_rows())
    text = lines[place]["text"]
    opening = (
        f"First look (seed {experiment.seeds[0]}, the first of 3 seeds, without an interval), mean reach of a false"
    )
    assert text.startswith(opening)
    assert [f"{significant(values[arm.name])} agents" in text for arm in experiment.arms] == [True, True]
    assert lines[-1]["primary"] == experiment.primary


def test_what_has_no_first_look(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("follower,followed\n0,0\n", encoding="utf-8")
    words = ["compare", "synthetic:20", "--agents", "20", "--steps", "1", "--seeds", "2", "--workers", "1"]
    failing = ["--set", "graph.path=one.csv", "--vary", "graph.kind=scale_free,file", "--out", "failing"]
    assert main([*words, *failing]) == 1
    assert "First look" not in capsys.readouterr().err
    limits = ",".join(map(str, range(5, 14)))
    assert main([*words, "--vary", f"feed.followed={limits}", "--out", "many"]) == 0
    assert "First look" not in capsys.readouterr().err
    assert main([*words, "--vary", "policy=statistical,silent", "--outcome", "notes_shown", "--out", "undefined"]) == 0
    assert "First look" not in capsys.readouterr().err


def test_one_seed_has_no_interval_and_a_failed_run_is_exit_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "one.csv").write_text("follower,followed\n0,0\n", encoding="utf-8")
    words = ["compare", "synthetic:20", "--agents", "20", "--steps", "1", "--seeds", "1", "--set", "graph.path=one.csv"]
    assert main([*words, "--vary", "graph.kind=scale_free,file", "--workers", "1", "--out", "one"]) == 1
    out, err = capsys.readouterr()
    assert "One seed only: no difference has a CI" in out
    assert "failed: 1 of 2 runs, such as kind-file/seed-1: DataError" in err


def test_listings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios"]) == 0
    assert "health-rumor@1" in capsys.readouterr().out
    assert main(["scenarios", "--json"]) == 0
    assert "health-rumor@1" in {line["name"] for line in json.loads(capsys.readouterr().out)}
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Townsquare settings"
    assert main(["schema", "--markdown"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


COMMANDS = [row["name"] for row in ROWS if row["call"] and not row["group"]]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["check"], ["check", "golden"]])
def test_help_of_every_command(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in [*COMMANDS, "check golden"] if f"townsquare {name}" not in page] == []


def test_help_needs_no_heavy_package() -> None:
    code = (
        "import sys; from townsquare.cli import main; main(['--help']);"
        "heavy = {'numba', 'polars', 'scipy', 'matplotlib', 'pydantic', 'networkx'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_golden_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = {"pos": 0.0, "conf": None, "pos_band": 0, "conf_band": 0}
    (tmp_path / "bands.jsonl").write_text(json.dumps(line))
    assert main(["check", "golden", "bands.jsonl"]) in (0, 1)
    assert "stance band" in capsys.readouterr().out
    wrong = {**line, "pos_band": 99}
    (tmp_path / "wrong.jsonl").write_text(json.dumps(wrong))
    assert main(["check", "golden", "wrong.jsonl", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["passed"] is False


# --- why -----------------------------------------------------------------------------------------------------


def test_why_sums_to_the_recorded_change(recorded: Path) -> None:
    run = Run.open(recorded)
    for agent in (0, 7, 29):
        found = why(run, agent)
        assert len(found.moves) == 3 * run.table("propositions").height
        assert found.agrees
        assert all(move.agrees for move in found.moves)
        totals = sum(total.amount for total in found.contributors)
        assert totals == pytest.approx(sum(move.change for move in found.moves))
        for name, sentence in zip(found.statements, found.sentences, strict=True):
            change = sum(move.change for move in found.moves if move.proposition == name)
            assert f"({change:+.3f})" in sentence
        for move in found.moves:
            sizes = [abs(cause.amount) for cause in move.causes]
            assert sizes == sorted(sizes, reverse=True)


def test_the_main_cause_of_a_change_has_its_direction(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moves = [move for agent in range(30) for move in why(Run.open(recorded), agent).moves if move.change]
    assert any(move.causes[0].amount * move.change < 0 for move in moves)  # the anchor, in steps that lead away from it
    for move in moves:
        cause = move.main_cause
        assert cause is not None
        along = [each.amount for each in move.causes if each.amount * move.change > 0]
        assert cause.amount == max(along, key=abs)
    assert main(["why", str(recorded), "--agent", "7"]) == 0
    largest = why(Run.open(recorded), 7).largest(1)[0].main_cause
    assert largest is not None
    assert f"{safe(largest.name, 40)} {largest.amount:+.4g}" in capsys.readouterr().out


def test_why_of_one_step_is_that_of_the_run(recorded: Path) -> None:
    run = Run.open(recorded)
    whole, part = why(run, 7), why(run, 7, step=2)
    assert part.moves == tuple(move for move in whole.moves if move.step == 2)


def test_why_tells_what_the_exposures_tell(recorded: Path) -> None:
    run = Run.open(recorded)
    exposures = {(row["step"], row["rank"], row["post"]): row for row in run.table("exposures").iter_rows(named=True)
                 if row["agent"] == 7}  # fmt: skip
    shown = [(move.step, cause) for move in why(run, 7).moves for cause in move.causes if cause.kind == "exposure"]
    assert shown
    for step, cause in shown:
        row = exposures[step, cause.rank, cause.post]
        assert (cause.author, cause.first_seen, cause.weight) == (row["author"], row["first_seen"], row["weight"])
        assert cause.text
        assert cause.stance is not None


def test_why_says_where_trail_and_beliefs_disagree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--out", "out", "--quiet"]) == 0
    moved = pl.col("stance") + 0.25 * (pl.col("agent") == 7)
    change_rows(tmp_path / "out", "beliefs", 2, lambda rows: rows.with_columns(moved))
    assert main(["why", "out", "--agent", "7", "--step", "2"]) == 0
    assert "DIFFERENCE of 0.25" in capsys.readouterr().out
    assert main(["why", "out", "--agent", "7"]) == 0
    assert "differ from the sum" in capsys.readouterr().out
    assert main(["inspect", "out", "--verify"]) == 2
    assert "step 2" in capsys.readouterr().err


def test_why_shows_the_strongest_post_first(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", str(recorded), "--agent", "7", "--step", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agrees"] is True
    assert main(["why", str(recorded), "--agent", "7", "--step", "2"]) == 0
    out = capsys.readouterr().out
    assert ": equal" in out
    first = found["moves"][0]["causes"][0]
    assert f"{first['amount']:+.6f}" in out
    assert safe(first["text"])[:30] in out


def test_text_of_posts_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    posts = [{"text": f"{HOSTILE} {n}", "author": "[red]\x1b]0;me\x07", "stance:x": 0.9} for n in range(8)]
    (tmp_path / "posts.jsonl").write_text("\n".join(json.dumps(post) for post in posts))
    assert main(["run", "posts.jsonl", "--agents", "20", "--steps", "2", "--out", "out"]) == 0
    assert main(["why", "out", "--agent", "3"]) == 0
    assert main(["why", "out", "--agent", "3", "--step", "2"]) == 0
    out, err = capsys.readouterr()
    assert "[bold red]Vaccines[/]" in out
    for letter in ("\x1b", "\x07", "\u202e"):
        assert letter not in out + err


def test_a_run_without_a_trail_has_no_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--set", "record.trail=false", "--out", "out", "--quiet"]) == 0
    assert main(["why", "out", "--agent", "3"]) == 2
    assert "record.trail" in capsys.readouterr().err


# --- what goes wrong -------------------------------------------------------------------------------------------

WRONG = [
    (["rn"], 'Did you mean "run"'),
    (["run", "--agnts", "3"], "Did you mean --agents"),
    (["run", "--agents", "x"], '"x" is not a whole number'),
    (["debate", "--trials", "1.5"], '"1.5" is not a whole number'),
    (["run", "a", "b"], "Unused Tokens"),
    (["run", "--agents", "0"], "agents\n  got: 0\n  allowed: a whole number from 1"),
    (["run", "--agents", "-5"], "agents"),
    (["run", "--steps", "0"], "steps\n  got: 0"),
    (["run", "--seed", "-1"], "seed\n  got: -1"),
    (["run", "--set", "steps"], "allowed: key=value"),
    (["run", "--set"], "requires an argument"),
    (["run", "--set", "strategy=none"], "did you mean 'moderation.strategy'"),
    (["run", "--set", "moderation.strategy=nobody"], "allowed: none, community, third_party, hybrid"),
    (["run", "--set", "feed.followed=[1"], "a value in YAML"),
    (["run", "--set", "feed.followed=1.5"], "feed.followed\n  got: 1.5\n  allowed: a whole number from 0 to 1000"),
    (["run", "--set", "steps=0", "--set", "agents=0"], "2 settings are wrong"),
    (["run", "helth-rumor"], "did you mean 'health-rumor'"),
    (["run", "nowhere.yaml"], "nowhere.yaml"),
    (["run", "broken.yaml"], "broken.yaml, line 2"),
    (["run", "wrong.yaml"], "feed.folowed (wrong.yaml, line 2)"),
    (["run", "latin.yaml"], "UTF-8"),
    (["run", "list.yaml"], "a mapping of settings"),
    (["run", "synthetic:0"], "synthetic"),
    (["run", "empty.csv"], "empty.csv"),
    (["run", "synthetic:20", "--set", "population.file=no.jsonl"], "no.jsonl"),
    (["run", "synthetic:20", "--set", "graph.kind=file", "--set", "graph.path=no.csv"], "no.csv"),
    (["run", "synthetic:20", "--set", "graph=file"], "graph.path\n  got: nothing"),
    (["run", "synthetic:20", "--out", "plain.txt"], "plain.txt\n  got: a file"),
    (["run", "synthetic:20", "--out", "other"], "other"),
    (["resume", "nowhere"], "nowhere\n  got: no such folder"),
    (["resume", "."], "a folder without run.db"),
    (["resume"], "RUN"),
    (["inspect", "nowhere"], "no such folder"),
    (["inspect", "other"], "other"),
    (["report"], "at least one folder"),
    (["report", "nowhere"], "no such folder"),
    (["why", "nowhere", "--agent", "1"], "no such folder"),
    (["why", "{run}"], "--agent"),
    (["why", "{run}", "--agent", "x"], "the number of an agent, or its name"),
    (["why", "{run}", "--agent", "999"], "agent\n  got: 999\n  allowed: a person: 0 to"),
    (["why", "{run}", "--agent", "-1"], "agent"),
    (["why", "{run}", "--agent", "30"], "a source"),
    (["why", "{run}", "--agent", "1", "--step", "0"], "allowed: 1 to 3"),
    (["why", "{run}", "--agent", "1", "--step", "4"], "allowed: 1 to 3"),
    (["why", "{run}", "--agent", "1", "--proposition", "nothing"], "proposition\n  got: 'nothing'"),
    (["run", "synthetic:20", "--out", "{run}"], "townsquare resume"),
    (["compare", "--vary", "strategy=a,b"], "did you mean 'moderation.strategy'"),
    (["compare", "--vary", "seed=1,2"], "set seeds with --seeds"),
    (["compare", "--vary", "policy"], "key=a,b,c"),
    (["compare", "--vary", "policy=blind", "--vary", "policy=silent"], "twice"),
    (["compare", "--vary", "policy=blind,blind"], "different values"),
    (["compare", "--seeds", "0"], "--seeds"),
    (["compare", "--seeds", "x"], "--seeds"),
    (["compare", "--workers", "0"], "--workers"),
    (["compare", "synthetic:20", "--out", "{run}"], "a folder with other files"),
    (["check", "golden"], "at least one golden file"),
    (["check", "golden", "nowhere.jsonl"], "nowhere.jsonl"),
    (["check", "goldn"], 'Did you mean "golden"'),
    (["schema", "x"], "Unused Tokens"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_is_wrong_is_said_in_one_message(
    words: list[str], said: str, recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("steps: 1\nsteps: 2\n")
    (tmp_path / "wrong.yaml").write_text("feed:\n  folowed: 3\n")
    (tmp_path / "latin.yaml").write_bytes("title: caf\xe9".encode("latin-1"))
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "plain.txt").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.db").write_text("this is no database, however long it may be")
    assert main([word.format(run=recorded) for word in words]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.count("error:") == 1
    assert "Traceback" not in err
    assert out == ""


def test_a_wrong_command_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "synthetic:20", "--vary", "strategy=a,b"]) == 2
    assert main(["run", "synthetic:20", "--set", "steps=0"]) == 2
    assert [path for path in tmp_path.rglob("*") if path.is_file() or path.parent.name == "runs"] == []


def test_foreign_words_in_a_complaint_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "x\x1b[2J\u202e[bold]"]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\u202e" not in err
    assert "[bold]" in err


def test_an_unexpected_error_is_short_and_can_be_looked_into(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(words: object, **options: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr("townsquare.cli.app.app", broken)
    assert main(["run"]) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: nobody thought of this" in err
    assert "TOWNSQUARE_DEBUG=1" in err
    assert "Traceback" not in err
    monkeypatch.setenv(cli.DEBUG, "1")
    assert main(["run"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_who_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m townsquare schema | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode in (0, cli.CLOSED_PIPE)
    assert done.stderr == ""
