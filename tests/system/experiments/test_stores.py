"""Where finished runs go: a shared folder, and a place behind an address, here a real file server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ftp_server import ftp_server
from raised_errors import raises_error
from s3_server import s3_server
from townsquare.cli import main
from townsquare.core.errors import RecordError, RunBusy, SettingError
from townsquare.experiments.cluster.scratch import scratch_folder, written_here
from townsquare.experiments.cluster.stores import ObjectStore, is_url, shared_folder, store_at
from townsquare.experiments.comparison import ExecutionTargets, Experiment, Progress, compare
from townsquare.experiments.run_folders import go_on
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.settings.resolve import Settings, resolve

SETTINGS = {"scenario": "synthetic:20", "agents": 20, "steps": 3}
COMPARE = ["synthetic:20", "--agents", "30", "--steps", "3", "--vary", "moderation.strategy=none,hybrid"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Address of a file server, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ftp_server(folder) as address:
        yield address, folder


@pytest.fixture(params=["folder", "address"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """Either kind of store, empty."""
    if request.param == "folder":
        return shared_folder(tmp_path / "shared")
    address, _ = request.getfixturevalue("served")
    return store_at(f"{address}study")


@pytest.fixture(scope="module")
def settings() -> Settings:
    return resolve(SETTINGS)


@pytest.fixture(scope="module")
def recorded(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return go_on(tmp_path_factory.mktemp("run") / "run", settings)


# --- stores ------------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_went(store: ObjectStore, recorded: Run, tmp_path: Path) -> None:
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
    near = shared_folder(tmp_path / "near")
    (tmp_path / "near" / "arm" / "seed-1").mkdir(parents=True)
    (tmp_path / "near" / "arm" / "seed-1" / "run.db.1234.part").write_bytes(b"SQLite format 3")
    assert not near.holds("arm/seed-1")


def test_a_stopped_run_goes_to_the_store_and_on_from_there(
    store: ObjectStore, settings: Settings, recorded: Run
) -> None:
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
    store = shared_folder(tmp_path / "shared")
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from townsquare.experiments.run_folders import go_on\n"
        "from townsquare.experiments.cluster.scratch import written_here\n"
        "from townsquare.experiments.cluster.stores import shared_folder\n"
        "from townsquare.settings.resolve import resolve\n"
        f"settings = resolve({SETTINGS!r})\n"
        "with written_here(shared_folder(Path(sys.argv[1])), 'a/1', settings) as folder:\n"
        "    print(folder, flush=True)\n"
        "    go_on(folder, settings, on_step=lambda mark: os.kill(os.getpid(), 9) if mark.step == 2 else None)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, store.where], capture_output=True, text=True, check=False)
    assert killed.returncode == -9
    assert not store.holds("a/1")
    with written_here(store, "a/1", settings) as folder:
        assert str(folder) == killed.stdout.strip()
        assert Run.open(folder).last_step == 2
        go_on(folder, settings)
    assert store.holds("a/1")


def _stopping_at(step: int) -> Callable[[StepSummary], None]:
    def stop(mark: StepSummary) -> None:
        if mark.step == step:
            raise KeyboardInterrupt

    return stop


def test_a_run_goes_on_from_where_it_came_furthest(store: ObjectStore, settings: Settings, tmp_path: Path) -> None:
    """Killed on this machine after one step, then stopped on another after two, or the other way round."""
    with written_here(store, "a/1", settings) as folder:
        pass
    for here, there in ((1, 2), (2, 1)):
        shutil.rmtree(tmp_path / "there", ignore_errors=True)
        for place, step in ((folder, here), (tmp_path / "there", there)):
            with pytest.raises(KeyboardInterrupt):
                go_on(place, settings, on_step=_stopping_at(step))
        store.put(tmp_path / "there", "a/1")
        with written_here(store, "a/1", settings) as found:
            assert found == folder
            assert Run.open(folder).last_step == 2
        assert [path.name for path in scratch_folder().iterdir() if path.name.startswith(folder.name)] == []


def test_one_run_twice_on_a_machine(store: ObjectStore, settings: Settings) -> None:
    """Two commands with one address: the second neither takes away nor copies what the first is writing."""
    with written_here(store, "a/1", settings) as folder:
        go_on(folder, settings)
        with pytest.raises(RunBusy, match="a/1: got process"), written_here(store, "a/1", settings):
            pass
        assert not store.holds("a/1")
        assert Run.open(folder).state == "finished"
    assert store.holds("a/1")


def test_a_run_arrives_while_others_do(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.db").write_bytes(b"x")
    store = shared_folder(tmp_path / "shared")
    names = [f"a/{number}" for number in range(300)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: store.put(tmp_path / "run", name), names))
    assert all(store.holds(name) for name in names)
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["a"]


def test_a_copy_leaves_nothing_of_an_earlier_one(store: ObjectStore, recorded: Run, tmp_path: Path) -> None:
    assert recorded.folder is not None
    shutil.copytree(recorded.folder, tmp_path / "before")
    (tmp_path / "before" / "run.db-wal").write_bytes(b"of before")
    store.put(tmp_path / "before", "arm/seed-1")
    store.put(recorded.folder, "arm/seed-1")
    store.fetch("arm/seed-1", tmp_path / "back")
    assert not (tmp_path / "back" / "run.db-wal").exists()


def test_a_store_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    """Else finished runs would be executed again, and their calls paid again."""
    with ftp_server(tmp_path) as address:
        store = store_at(f"{address}study")
        assert store.is_empty()
        assert not store.has("experiment.json")
        assert store.names("") == []
    for ask in (store.is_empty, lambda: store.has("experiment.json"), lambda: store.names("")):
        with raises_error(RecordError, where="ftp://"):
            ask()


def test_the_folder_for_the_time_being_is_nobody_elses() -> None:
    folder = scratch_folder()
    assert folder.stat().st_mode & 0o077 == 0
    assert folder.stat().st_uid == os.getuid()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("memory://study", "its own memory"),
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
    assert "other files" in capsys.readouterr().err


def test_a_manifest_that_cannot_be_written_for_a_moment(served: tuple[str, Path], tmp_path: Path) -> None:
    """Here a folder has its name; runs that go on meanwhile are not lost, and the last time writes all."""
    address, folder = served
    manifest = folder / "study" / "experiment.json"

    def on_progress(far: Progress) -> None:
        if far.runs_done == 0 and manifest.is_file():
            manifest.unlink()
            (manifest / "x").mkdir(parents=True)
        elif far.runs_done > 0 and manifest.is_dir():
            shutil.rmtree(manifest)

    base = {"scenario": "synthetic:20", "agents": 30, "steps": 3}
    store = store_at(f"{address}study")
    found = compare([base], {"moderation.strategy": ["none", "hybrid"]}, [1], tmp_path / "out", 1, on_progress,
                    ExecutionTargets(store=store))  # fmt: skip
    assert len(found.finished) == 2
    assert manifest.read_bytes() == (tmp_path / "out" / "experiment.json").read_bytes()


def test_debates_at_an_address(served: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, folder = served
    sweep = ["debate", "sweep", "--vary", "u=0.2,0.6", "--workers", "2", "--quiet"]
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


def test_fetching_into_the_folder_of_something_else(
    served: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another comparison, and runs that went on after they were copied: nothing there is overwritten."""
    address, folder = served
    for name, more in (("one", []), ("other", ["--set", "feed.followed=4"])):
        assert main(["compare", *COMPARE, "--seeds", "1", "--out", f"{address}{name}", "--quiet", *more]) == 0
    back = tmp_path / "back"
    assert main(["fetch", f"{address}one", "--out", str(back), "--quiet"]) == 0
    before = (back / "experiment.json").read_bytes()
    capsys.readouterr()
    assert main(["fetch", f"{address}other", "--out", str(back)]) == 2
    assert "a comparison other than that of" in capsys.readouterr().err
    assert (back / "experiment.json").read_bytes() == before

    run = sorted(path.parent.relative_to(folder / "one") for path in (folder / "one").rglob("run.db"))[0]
    shutil.rmtree(back / run)
    with pytest.raises(KeyboardInterrupt):
        go_on(back / run, resolve(Run.open(folder / "one" / run).settings), on_step=_stopping_at(1))
    assert main(["fetch", f"{address}one", "--out", str(back)]) == 2
    assert "an older copy" in capsys.readouterr().err


def test_fetching_one_run_into_this_folder(
    served: tuple[str, Path], recorded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = served
    assert recorded.folder is not None
    store_at(f"{address}study").put(recorded.folder, "run")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["fetch", f"{address}study/run", "--out", ".", "--quiet"]) == 0
    assert Run.open(tmp_path / "here").verify() == recorded.content_hash


# --- buckets -----------------------------------------------------------------------------------------------


def test_a_bucket_is_never_made(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is misspelled is refused before anything runs, and costs nothing."""
    with s3_server(monkeypatch) as files:
        files.mkdir("there")
        study = ["compare", *COMPARE, "--seeds", "1", "--quiet", "--out"]
        assert main([*study, "s3://there/study"]) == 0
        assert main([*study, "s3://there/study2"]) == 0
        assert main([*study, "s3://their/study"]) == 2
        assert "s3://their/study" in capsys.readouterr().err
        files.invalidate_cache()
        assert files.ls("") == ["there"]
        assert len(store_at("s3://there/study").names("run.db")) == 2


def test_names_that_lead_out_of_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with s3_server(monkeypatch) as files:
        files.mkdir("open")
        files.pipe_file("open/study/../../evil.txt", b"x")
        assert main(["fetch", "s3://open/study", "--out", str(tmp_path / "a" / "back")]) == 2
        assert "a path outside its folder" in capsys.readouterr().err
    assert not list(tmp_path.rglob("evil.txt"))
