"""Where finished runs go: a shared folder, and a place behind an address, here a real file server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ftp_server import ftp_server
from townsquare.cli import main
from townsquare.errors import RecordError, SettingError
from townsquare.experiment import Experiment
from townsquare.experiments.run_folders import go_on
from townsquare.experiments.scratch import scratch_folder, written_here
from townsquare.experiments.stores import INCOMING, SharedFolder, Store, is_url, store_at
from townsquare.record.run import Run
from townsquare.resolve import Settings, resolve

SETTINGS = {"scenario": "made:20", "agents": 20, "steps": 3}
COMPARE = ["made:20", "--agents", "30", "--steps", "3", "--vary", "moderation.strategy=none,hybrid"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Address of a file server, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ftp_server(folder) as address:
        yield address, folder


@pytest.fixture(params=["folder", "address"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Either kind of store, empty."""
    if request.param == "folder":
        return SharedFolder(tmp_path / "shared")
    address, _ = request.getfixturevalue("served")
    return store_at(f"{address}study")


@pytest.fixture(scope="module")
def settings() -> Settings:
    return resolve(SETTINGS)


@pytest.fixture(scope="module")
def recorded(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return go_on(tmp_path_factory.mktemp("run") / "run", settings)


# --- stores ------------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_went(store: Store, recorded: Run, tmp_path: Path) -> None:
    assert recorded.folder is not None
    assert not store.holds("arm/seed-1")
    for _ in range(2):  # the second time in place of the first
        store.put(recorded.folder, "arm/seed-1")
        assert store.holds("arm/seed-1")
    store.fetch("arm/seed-1", tmp_path / "back")
    assert Run.open(tmp_path / "back").verify() == recorded.content_hash
    assert {path.name for path in (tmp_path / "back").iterdir()} == {"run.db", "run.yaml"}


def test_a_copy_that_was_cut_short_is_no_run(recorded: Run, served: tuple[str, Path], tmp_path: Path) -> None:
    """As a process leaves it that is killed: in a folder beside the others, at an address without its last file."""
    assert recorded.folder is not None
    address, folder = served
    away = store_at(f"{address}study")
    for file in recorded.folder.iterdir():
        if file.name != "run.db":
            away.put_file(file, f"arm/seed-1/{file.name}")
    (folder / "study" / "arm" / "seed-1" / "run.db.1234.part").write_bytes(b"SQLite format 3")
    assert not away.holds("arm/seed-1")
    away.put(recorded.folder, "arm/seed-1")
    away.fetch("arm/seed-1", tmp_path / "back")
    assert Run.open(tmp_path / "back").verify() == recorded.content_hash
    assert not (tmp_path / "back" / "run.db.1234.part").exists()
    near = SharedFolder(tmp_path / "near")
    (near.root / INCOMING / "x").mkdir(parents=True)
    (near.root / INCOMING / "x" / "run.db").write_bytes(b"SQLite format 3")
    assert not near.holds("arm/seed-1")


def test_a_stopped_run_goes_to_the_store_and_on_from_there(store: Store, settings: Settings, recorded: Run) -> None:
    def stop(mark: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), written_here(store, "a/1", settings) as folder:
        go_on(folder, settings, on_step=stop)
    assert store.holds("a/1")
    with written_here(store, "a/1", settings) as folder:
        assert Run.open(folder).state == "stopped"
        run = go_on(folder, settings)
        assert run.content_hash == recorded.content_hash
    with written_here(store, "a/1", settings) as folder:
        assert Run.open(folder).state == "finished"
    assert not folder.exists()


def test_what_a_killed_process_left_on_the_machine_is_gone_on_with(settings: Settings, tmp_path: Path) -> None:
    store = SharedFolder(tmp_path / "shared")
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from townsquare.experiments.run_folders import go_on\n"
        "from townsquare.experiments.scratch import written_here\n"
        "from townsquare.experiments.stores import SharedFolder\n"
        "from townsquare.resolve import resolve\n"
        f"settings = resolve({SETTINGS!r})\n"
        "with written_here(SharedFolder(Path(sys.argv[1])), 'a/1', settings) as folder:\n"
        "    print(folder, flush=True)\n"
        "    go_on(folder, settings, on_step=lambda mark: os.kill(os.getpid(), 9) if mark.step == 2 else None)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(store.root)], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -9
    assert not store.holds("a/1")
    with written_here(store, "a/1", settings) as folder:
        assert str(folder) == killed.stdout.strip()
        assert Run.open(folder).last_step == 2
        go_on(folder, settings)
    assert store.holds("a/1")


def test_the_folder_for_the_time_being_is_nobody_elses() -> None:
    folder = scratch_folder()
    assert folder.stat().st_mode & 0o077 == 0
    assert folder.stat().st_uid == os.getuid()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("memory://study", "a memory of its own"),
        ("ftp://me:secret@127.0.0.1/study", "an address with a password"),
        ("nowhere://study", "got nowhere://"),
        ("s3://", "s3://BUCKET/PREFIX"),
    ],
)
def test_addresses_that_are_none(address: str, words: str) -> None:
    with pytest.raises(SettingError, match=words) as raised:
        store_at(address)
    assert "secret" not in str(raised.value)


def test_an_address_where_nobody_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *COMPARE, "--seeds", "1", "--out", "ftp://127.0.0.1:9/study"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ftp://127.0.0.1:9/study")
    assert "credentials" in said
    assert is_url("ftp://127.0.0.1:9/study")


# --- comparisons and debates at an address -----------------------------------------------------------------


def test_a_comparison_at_an_address(
    served: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its runs are those of a folder; what is finished is not run again; all of it comes back."""
    address, folder = served
    study = ["compare", *COMPARE, "--out", f"{address}study", "--workers", "2"]
    assert main([*study, "--seeds", "1", "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == f"{address}study"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("run.db")}
    assert len(before) == 2
    assert main([*study, "--seeds", "2", "--json"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert said[-1]["report"] == f"{address}study/report.html"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(folder.rglob("run.db"))) == 4
    assert "<html" in (folder / "study" / "report.html").read_text(encoding="utf-8")

    assert main(["compare", *COMPARE, "--seeds", "2", "--out", str(tmp_path / "near"), "--quiet"]) == 0
    back = tmp_path / "back"
    assert main(["fetch", f"{address}study", "--out", str(back), "--quiet"]) == 0
    assert main(["fetch", f"{address}study", "--out", str(back), "--quiet"]) == 0  # nothing is left to do
    near, again = Experiment.load(tmp_path / "near"), Experiment.load(back)
    assert [run.content_hash for run in near.finished] == [run.content_hash for run in again.finished]
    for run in again.finished:
        assert Run.open(back / run.folder).verify() == run.content_hash
    assert main(["report", str(back)]) == 0
    assert main(["inspect", str(back)]) == 0


def test_other_settings_and_other_things_at_an_address(
    served: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    address, folder = served
    study = ["compare", *COMPARE, "--seeds", "1", "--out", f"{address}study", "--quiet"]
    assert main(study) == 0
    assert main([*study, "--set", "feed.followed=4"]) == 2
    assert "a run of other settings" in capsys.readouterr().err
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("mine")
    assert main(["compare", *COMPARE, "--seeds", "1", "--out", f"{address}other"]) == 2
    assert "holds other things" in capsys.readouterr().err


def test_debates_at_an_address(served: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, folder = served
    sweep = ["sweep", "--over", "u=0.2,0.6", "--workers", "2", "--quiet"]
    assert main([*sweep, "--trials", "1", "--out", f"{address}study"]) == 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("trial-*.json")}
    assert len(before) == 2
    assert main([*sweep, "--trials", "2", "--out", f"{address}study"]) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert main([*sweep, "--trials", "2", "--out", str(tmp_path / "near")]) == 0
    for path in (tmp_path / "near").rglob("trial-*.json"):
        assert (folder / "study" / path.relative_to(tmp_path / "near")).read_bytes() == path.read_bytes()
    assert (folder / "study" / "report.html").is_file()
    assert main(["fetch", f"{address}study", "--out", str(tmp_path / "back"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "back")]) == 0
    capsys.readouterr()


def test_fetching_nothing(served: tuple[str, Path], tmp_path: Path) -> None:
    address, _ = served
    assert main(["fetch", f"{address}none", "--out", str(tmp_path / "back")]) == 2
    assert not (tmp_path / "back").exists()
    with pytest.raises(RecordError):
        store_at(f"{address}none").fetch("run", tmp_path / "back")
