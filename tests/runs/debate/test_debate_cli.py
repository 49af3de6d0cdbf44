"""``townsquare debate``, ``sweep`` and ``check expression`` as a user gives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from townsquare.cli import main
from townsquare.debate.results import DebateResults

QUICK = ["--set", "rounds=2", "--trials", "2"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_debate_of_a_topic(here, capsys):
    assert main(["debate", "austerity", *QUICK, "--set", "pairing=open/stubborn"]) == 0
    shown = capsys.readouterr().out
    assert "We should adopt an austerity regime" in shown
    assert "gap reduction" in shown
    folder = here / "runs" / "debate-austerity-1"
    assert (folder / "report.html").is_file()
    assert (folder / "all" / "transcript.html").is_file()
    assert len(DebateResults.open(folder).records(DebateResults.open(folder).arms[0])) == 2
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").is_file()


def test_a_configuration_file_and_a_bank_beside_it(here, capsys):
    pools = [(pool, side) for pool in ("seed", "debate") for side in ("pro", "con")]
    rows = [f"{pool},{side},{side} {pool} {n},0.5" for pool, side in pools for n in "abcdefgh"]
    folder = here / "mine"
    folder.mkdir()
    (folder / "bank.csv").write_text("pool,side,text,strength\n" + "\n".join(rows))
    (folder / "debate.yaml").write_text(
        "topic: bank.csv\nproposition: Tax it\nrounds: 2\ntrials: 1\nstart: {seeds: 4}\n"
    )
    assert main(["debate", "mine/debate.yaml", "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["event"] == "result"
    assert DebateResults.open(here / "out").arms[0].statement == "Tax it"


def test_a_sweep_goes_on_where_it_stopped(here, capsys):
    command = ["debate", "sweep", "--vary", "u=0.2,0.6", *QUICK, "--workers", "1", "--out", "out", "--quiet"]
    assert main(command) == 0
    assert capsys.readouterr().out.strip() == "out"
    held = DebateResults.open(here / "out")
    assert [arm.is_pair for arm in held.arms] == [False, False]
    assert held.arms[0].settings["start"]["stance"] == 0.99
    gone = held.trial_file(held.arms[0], 2)
    first = gone.read_bytes()
    gone.unlink()
    assert main(command) == 0
    assert gone.read_bytes() == first


def test_a_sweep_of_pairs_prints_a_grid(here, capsys):
    over = ["--vary", "topic=austerity,adopt-atheism", "--vary", "pairing=open/open,stubborn/stubborn"]
    assert main(["debate", "sweep", *over, *QUICK, "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "stubborn/stubborn" in shown
    assert "mean" in shown
    assert DebateResults.open(here / "runs" / "sweep-topics-1").arms[0].is_pair


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["debate", "austertiy"], "did you mean 'austerity'"),
        (["debate", "--set", "own_claim=true"], "did you mean 'evidence.own_claims'"),
        (["debate", "--set", "theta=0"], "evidence.theta"),
        (["debate", "--workers", "0"], "--workers"),
        (["debate", "sweep"], "--vary"),
        (["debate", "sweep", "--vary", "u"], "key=a,b,c"),
        (["debate", "sweep", "--vary", "u=1", "--vary", "u=2"], "twice"),
        (["debate", "sweep", "--vary", "seed=1,2"], "--trials"),
        (["debate", "sweep", "--vary", "a=0.2,1.0", "--set", "start.prior_scale=1"], "start.tolerance"),
        (["debate", "nowhere.csv"], "nothing at"),
        (["check", "expression", "--levels", "1"], "at least 2 levels"),
    ],
)
def test_what_is_wrong_is_one_message(here, capsys, words, message):
    assert main(words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err
    assert not list(here.rglob("*.json"))


def test_expression_stands_beside_the_papers_numbers(here, capsys):
    assert main(["check", "expression", "austerity", "--levels", "5", "--trials", "1", "--quiet"]) == 0
    shown = capsys.readouterr().out
    for word in ("0.967", "0.86", "slope", "intercept"):
        assert word in shown
    assert main(["check", "expression", "austerity", "--levels", "5", "--trials", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["paper"] == {"r": 0.967, "slope": 0.86}
    assert 0.5 < found["r"] <= 1


@pytest.mark.parametrize(("member", "unread"), [("speaker=llm", 1), ("judge=model", 0)])
def test_expression_asks_a_language_model_for_a_speaker_or_judge_that_is_one(here, capsys, member, unread):
    given = ["--levels", "3", "--trials", "1", "--set", member, "--set", "model=fake", "--json"]
    assert main(["check", "expression", "austerity", *given]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["texts"] == 3
    assert found["unread"] >= unread  # the judge `bank` knows no words of the fake
