"""The files that settings name belong to their identity: a run does not go on with other ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from raised_errors import raises_error
from townsquare.core.errors import WrongVersion
from townsquare.experiments.run_folders import settings_of
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for, resolve_with_scenario
from townsquare.settings.resolve import Settings
from townsquare.simulation.run import simulate


def settings_with_files(folder: Path, *, follows: str = "0,1\n") -> Settings:
    """Settings that name two files, which are made if they are not there."""
    people, graph = folder / "people.jsonl", folder / "follows.csv"
    if not people.exists():
        people.write_text("".join(f'{{"id": "p{k}", "text": "I am {k}."}}\n' for k in range(4)), encoding="utf-8")
    graph.write_text(f"follower,followed\n{follows}", encoding="utf-8")
    file = folder / "study.yaml"
    file.write_text(f"population: {{file: {people}}}\ngraph: {{kind: file, path: {graph}}}\n", encoding="utf-8")
    return resolve_for("synthetic:5", file, agents=4, steps=2)


def test_what_is_in_named_files_belongs_to_the_identity(tmp_path: Path) -> None:
    before = settings_with_files(tmp_path)
    assert sorted(Path(path).name for path in before.file_contents) == ["follows.csv", "people.jsonl"]
    assert settings_with_files(tmp_path) == before
    after = settings_with_files(tmp_path, follows="0,1\n2,3\n")
    assert after.digest != before.digest
    with pytest.raises(WrongVersion, match=r"follows\.csv.*changed after.*restore the old file"):
        resolve_with_scenario(before.plain())
    assert resolve_with_scenario(before.plain(), {"graph": {"kind": "random"}}).member("graph") == "random"


def test_a_run_does_not_go_on_with_a_changed_file(tmp_path: Path) -> None:
    settings = settings_with_files(tmp_path)

    def stop(mark: StepSummary) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(settings, tmp_path / "run", on_step=stop)
    recorded = settings_of(Run.open(tmp_path / "run"), "run")
    assert recorded == settings
    settings_with_files(tmp_path, follows="0,1\n2,3\n")
    with raises_error(WrongVersion, where="follows"):
        simulate(recorded, tmp_path / "run")
    settings_with_files(tmp_path)
    assert simulate(recorded, tmp_path / "run").state == "finished"
