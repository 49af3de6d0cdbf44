"""Settings that do nothing, tone taken for stance, and answers that are noise: said on screen and in the report."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from handwritten_runs import FrameRun, settings
from townsquare.cli import main
from townsquare.experiments.run_notes import answer_notes, facts_of_run, setting_notes, unused_settings
from townsquare.record.run import Run
from townsquare.settings.resolve import resolve

RUN = ["run", "synthetic:20", "--agents", "10", "--steps", "2"]


def notes_of(folder: Path) -> list[str]:
    """What is to be said of a recorded run."""
    facts = facts_of_run(Run.open(folder))
    return [*answer_notes(facts), *setting_notes(facts)]


def page_of(folder: Path) -> str:
    return html.unescape((folder / "report.html").read_text(encoding="utf-8"))


def personas(folder: Path) -> str:
    file = folder / "people.jsonl"
    said = [{"id": f"R{k}", "text": "Votes for nobody.", "labels": {}} for k in range(10)]
    file.write_text("".join(json.dumps(one) + "\n" for one in said), encoding="utf-8")
    return f"population.file={file}"


@pytest.mark.parametrize("which", ["model", "personas", "tone"])
def test_row_17_a_setting_without_the_effect_of_its_name_is_said_once_on_screen_and_in_the_report(
    which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"model": "model=fake", "personas": personas(tmp_path), "tone": "beliefs.stance_scorer=vader"}
    assert main([*RUN, "--set", sets[which], "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    (note,) = notes_of(tmp_path / "run")
    words = {"model": "model fake has no effect", "personas": "people.jsonl have no effect", "tone": "measured by tone"}
    assert words[which] in note
    assert said.count(f"note: {note}\n") == said.count("note: ") == 1
    assert page_of(tmp_path / "run").count(note) == 1


@pytest.mark.parametrize(
    "sets", [[], ["policy=llm", "model=fake"], ["moderation.strategy=hybrid", "moderation.checker=model", "model=fake"]]
)
def test_row_17_settings_that_act_are_not_noted(
    sets: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for one in sets for word in ("--set", one)]
    assert main([*RUN, *words, "--out", str(tmp_path / "run")]) == 0
    assert "note: " not in capsys.readouterr().err
    assert setting_notes(facts_of_run(Run.open(tmp_path / "run"))) == []


def test_row_17_texts_of_personas_that_a_language_model_reads_are_not_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", personas(tmp_path), "--set", "policy=llm", "--set", "model=fake"]
    assert main([*RUN, *words, "--out", str(tmp_path / "run")]) == 0
    assert "no effect" not in capsys.readouterr().err + page_of(tmp_path / "run")


@pytest.mark.parametrize("model", ["fake", "faulty/0.0"])
def test_row_17_a_run_that_asked_a_fake_model_says_that_its_answers_are_noise(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*RUN, "--set", "policy=llm", "--set", f"model={model}", "--out"]
    assert main([*words, str(tmp_path / "plain")]) == 0
    (note,) = notes_of(tmp_path / "plain")
    assert "pseudo-random" in note
    assert capsys.readouterr().out.count(note) == 1
    assert page_of(tmp_path / "plain").count(note) == 1
    assert main([*words, str(tmp_path / "json"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["notes"] == [note]


def test_row_17_nothing_is_claimed_of_a_run_that_has_not_begun() -> None:
    run = FrameRun({}, settings(model={"name": "fake"}, population={"file": "people.jsonl"}), last_step=-1)
    facts = facts_of_run(run)
    assert answer_notes(facts) == setting_notes(facts) == []


def test_row_17_a_scorer_that_is_not_installed_and_a_name_that_steers_the_page_do_no_harm() -> None:
    steering = {"name": "fake/\x1b[31m\n" + "x" * 500}
    run = FrameRun({}, settings(model=steering, beliefs={"stance_scorer": "of-somebody"}), last_step=2)
    (note,) = setting_notes(facts_of_run(run))
    assert note.isprintable()
    assert len(note) < 300


def test_a_given_setting_that_no_chosen_member_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "beliefs.rule=credence", "--set", "beliefs.pull=0.2", "--set", "beliefs.cap=0.5"]
    assert main([*RUN, *sets, "--no-report", "--out", str(tmp_path / "run")]) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note:")]
    assert "`beliefs.pull`" in note


@pytest.mark.parametrize(
    ("arms", "unused"), [(["credence"], ["pull"]), (["credence", "exposure"], []), (["exposure"], ["cap"])]
)
def test_a_setting_that_one_arm_has_is_not_named(arms: list[str], unused: list[str]) -> None:
    of_arms = [resolve({"beliefs": {"rule": rule, "pull": 0.2, "cap": 0.5}}) for rule in arms]
    notes = unused_settings(of_arms, ["beliefs.pull", "beliefs.cap", "seed"])
    assert [name for name in ("pull", "cap") if any(f"`beliefs.{name}`" in note for note in notes)] == unused
