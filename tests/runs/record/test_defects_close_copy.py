"""A run folder goes on elsewhere: copies of scenarios; and nobody else reads what is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

import townsquare as ts
from townsquare.cli import main
from townsquare.core import schema
from townsquare.core.errors import SettingError
from townsquare.core.files import bundled_folder
from townsquare.record.sqlite import SCENARIO_COPY
from townsquare.simulation import scenario_copy

EDGES = ["--set", "graph.path=edges.csv"]
QUICK = ["--quiet", "--agents", "12", "--steps", "3"]
POSTS = "text,source,stance:park,veracity\nThe park is good.,Paper,0.5,true\nThe park is bad.,Blog,-0.5,false\n"


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a scenario that leaves the file of the graph to the user."""
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "park"
    scenario.mkdir()
    (scenario / "posts.csv").write_text(POSTS)
    (tmp_path / "edges.csv").write_text("follower,followed\n0,1\n1,2\n2,0\n")
    (scenario / "scenario.yaml").write_text(
        "posts: posts.csv\npropositions: [{name: park, text: The park is good.}]\nsettings: {graph: {kind: file}}\n"
    )
    return tmp_path


def moved_away(town: Path, monkeypatch: pytest.MonkeyPatch, *folders: str) -> Path:
    """Another machine: only these folders are there, and the working directory is another one."""
    away = town / "away"
    away.mkdir()
    for folder in folders:
        shutil.copytree(town / folder, away / folder)
        shutil.rmtree(town / folder)
    shutil.rmtree(town / "park")
    (town / "edges.csv").unlink()
    monkeypatch.chdir(away)
    return away


def stopped(folder: Path) -> str:
    """Take the last step and the end from a run, as a kill would; its content hash as it was."""
    content = ts.Run.open(folder).content_hash
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        last = connection.execute("SELECT max(step) FROM ts_steps").fetchone()[0]
        for name, rows in connection.execute("SELECT name, rows FROM ts_batches WHERE step = ?", (last,)).fetchall():
            if not schema.TABLES[name].packed:
                query = f"DELETE FROM ts_{name} WHERE rowid > (SELECT max(rowid) - ? FROM ts_{name})"
                connection.execute(query, (rows,))
        for table in ("ts_packed", "ts_batches"):
            connection.execute(f"DELETE FROM {table} WHERE step = ?", (last,))
        connection.execute("UPDATE ts_run SET value = 'running' WHERE key = 'state'")
    return content


def test_row_22_a_run_goes_on_in_another_folder(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["run", "park", *EDGES, *QUICK, "--out", "run"]) == 0
    content = stopped(Path("run"))
    moved_away(town, monkeypatch, "run")
    assert main(["resume", "run", "--quiet"]) == 0
    assert ts.Run.open("run").content_hash == content
    assert main(["replay", "run", "--quiet"]) == 0
    assert main(["branch", "run", "--at", "2", "--set", "feed.followed=1", "--out", "new", "--quiet"]) == 0
    assert main(["replay", "new", "--quiet"]) == 0
    assert main(["why", "run", "--agent", "1"]) == 0


def test_row_22_a_table_of_posts_is_copied_too(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile("park/posts.csv", "letters.csv")
    assert main(["run", "letters.csv", *QUICK, "--out", "run"]) == 0
    (town / "letters.csv").unlink()
    moved_away(town, monkeypatch, "run")
    assert main(["replay", "run", "--quiet"]) == 0


def test_row_22_the_recorded_path_goes_first_and_changed_files_do_not_count(town: Path) -> None:
    assert main(["run", "park", *EDGES, *QUICK, "--out", "run"]) == 0
    shutil.move(f"run/{SCENARIO_COPY}", "aside")
    assert main(["replay", "run", "--quiet"]) == 0
    (town / "park" / "posts.csv").write_text(POSTS.replace("good", "fine"))
    assert main(["replay", "run", "--quiet"]) == 2
    shutil.move("aside", f"run/{SCENARIO_COPY}")
    assert main(["replay", "run", "--quiet"]) == 0
    (town / "edges.csv").write_text("follower,followed\n0,1\n")
    assert main(["replay", "run", "--quiet"]) == 0


def test_row_22_a_changed_copy_is_refused(
    town: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "park", *EDGES, *QUICK, "--out", "run"]) == 0
    moved_away(town, monkeypatch, "run")
    edges = next(Path("run", SCENARIO_COPY).rglob("*/named-by-settings/*.csv"))
    before = edges.read_text()
    edges.write_text("follower,followed\n0,1\n")
    assert main(["replay", "run", "--quiet"]) == 2
    edges.write_text(before)
    next(Path("run", SCENARIO_COPY).rglob("posts.csv")).write_text(POSTS.replace("good", "fine"))
    assert main(["replay", "run", "--quiet"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_row_22_no_copy_where_none_is_wanted_needed_or_allowed(
    town: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "park", *EDGES, *QUICK, "--no-copy", "--out", "without"]) == 0
    assert main(["run", "health-rumor@1", *QUICK, "--out", "bundled"]) == 0
    assert main(["run", "synthetic:20", *QUICK, "--out", "made"]) == 0
    monkeypatch.setattr(scenario_copy, "MOST", 150)
    assert main(["run", "park", *EDGES, *QUICK[1:], "--out", "large"]) == 0
    assert "copy them with the folder of the run" in capsys.readouterr().err
    for folder in ("without", "bundled", "made", "large"):
        assert not Path(folder, SCENARIO_COPY).exists(), folder
    hashes = {ts.Run.open(folder).header.settings_hash for folder in ("without", "large")}
    assert len(hashes) == 1


@pytest.mark.slow
def test_row_22_a_comparison_has_one_copy(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--vary", "moderation.strategy=none,hybrid", "--seeds", "2", "--out", "both", "--workers", "2"]
    assert main(["compare", "park", *EDGES, *QUICK, *words]) == 0
    assert len(list(Path("both").rglob("posts.csv"))) == 1
    runs = sorted(path.parent for path in Path("both").rglob("run.db"))
    assert len(runs) == 4
    content = stopped(runs[0])
    moved_away(town, monkeypatch, "both")
    assert main(["replay", str(runs[1]), "--quiet"]) == 0
    assert main(["resume", str(runs[0]), "--quiet"]) == 0
    assert ts.Run.open(runs[0]).content_hash == content


# --- who may read it -------------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, str]:
    """Modes of all that stands in a folder, and of itself."""
    return {str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.rglob("*"))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "of_folder", "of_file", "mask"), [("", 0o700, 0o600, 0o022), ("group", 0o750, 0o640, 0o077)]
)
def test_row_06_what_commands_write_is_for_the_user(
    town: Path, monkeypatch: pytest.MonkeyPatch, share: str, of_folder: int, of_file: int, mask: int
) -> None:
    monkeypatch.setenv("TOWNSQUARE_SHARE", share)
    shutil.copytree(bundled_folder() / "scenarios" / "health-rumor", "rumor")
    before = os.umask(mask)
    try:
        asked = ["--agents", "25", "--set", "policy=llm", "--set", "model=fake", "--set", "record.parquet_above=0"]
        assert main(["run", "rumor", "--quiet", "--steps", "4", *asked, "--out", "deep/run"]) == 0
        assert main(["report", "deep/run", "--out", "deep/report"]) == 0
        assert main(["export", "deep/run", "--to", "csv", "--out", "deep/csv", "--quiet"]) == 0
        assert main(["bundle", "deep/run", "--out", "deep/bundle.json"]) == 0
        assert os.umask(mask) == mask, "the umask of the process is as it was"
    finally:
        os.umask(before)
    found = modes(Path("deep"))
    names = {Path(name).name for name in found}
    assert {"run.db", "calls.db", "run.yaml", "run.lock", "report.html", "bundle.json", "posts.csv"} <= names
    for name, mode in found.items():
        assert mode == oct(of_folder if Path(name).is_dir() else of_file), name


def test_row_06_what_the_library_writes_is_for_the_user(town: Path) -> None:
    before = os.umask(0o022)
    try:
        Path("mine").mkdir()
        Path("mine").chmod(0o755)
        wanted = ts.resolve_for("synthetic:20", None, ["policy=llm", "model=fake"], agents=12, steps=2)
        ts.simulate(wanted, "mine")
        ts.simulate(wanted, "new/run")
    finally:
        os.umask(before)
    found = modes(Path("mine"))
    assert found.pop("mine") == "0o755", "the mode of a folder that was there before stays"
    assert {"mine/run.db", "mine/calls.db", "mine/run.yaml", "mine/run.lock"} <= found.keys()
    assert set(found.values()) == {"0o600"}
    assert {modes(Path("new"))[name] for name in ("new", "new/run")} == {"0o700"}


def test_row_06_another_word_for_the_group_is_refused(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWNSQUARE_SHARE", "everyone")
    assert main(["run", "synthetic:20", *QUICK, "--out", "run"]) == 2
    with pytest.raises(SettingError) as caught:
        ts.simulate(ts.resolve_for("synthetic:20", agents=12, steps=2), "run")
    assert (caught.value.where, caught.value.allowed) == ("TOWNSQUARE_SHARE", "owner, group")
    assert not Path("run").exists()
