"""Exports of platforms become scenarios: by a mapping of columns, and by an importer of another package."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raised_errors import raises_error
from repository import ROOT
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.errors import ContractError, DataError
from townsquare.core.tabular import Record
from townsquare.record.run import Run
from townsquare.scenario.importers.contract import Imported, Importer, import_scenario, importer
from townsquare.scenario.importers.tables import Mapped
from townsquare.scenario.load import load_scenario
from townsquare.settings.config import MemberParams
from townsquare.testing.importer_conformance import check_importer

STATUSES = """id,content,user_id,created_at,parent,reblog,likes,lang
s1,Build it,u1,2024-05-01T10:00Z,,,4,en
s2,"No, never",u2,2024-05-01T11:10Z,s1,,0,en
s3,,u3,2024-05-01T12:00Z,,s1,,en
s4,=cmd(),u1,2024-05-01T13:00Z,,,1,en
"""
USERS = "user_id,handle\nu1,Ann\nu2,Ben\nu3,Cy\n"
EDGES = '{"source": "u2", "target": "u1"}\n{"source": "u3", "target": "u1"}\n'
MAPPING = """
posts:
  file: statuses.csv
  columns: {text: content, account: user_id, time: created_at, reply_to: parent, reshare_of: reblog, likes: likes}
accounts: {file: users.csv, columns: {id: user_id, name: handle}}
follows: {file: edges.jsonl, columns: {follower: source, followed: target}}
step_length: 1h
"""
DUMP = [
    {"uri": "a", "author": "did:1", "handle": "ann", "record": {"text": "Hello", "createdAt": "2024-05-01T10:00Z"}},
    {"uri": "b", "author": "did:2", "record": {"text": "Hi", "createdAt": "2024-05-01T12:30Z", "reply": "a"}},
]


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """An export in three files, with a mapping beside it, in the working directory."""
    monkeypatch.chdir(tmp_path)
    texts = {"statuses.csv": STATUSES, "users.csv": USERS, "edges.jsonl": EDGES, "mapping.yaml": MAPPING}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return [Path(name) for name in ("statuses.csv", "users.csv", "edges.jsonl")]


def mapped(**changed: Any) -> Mapped:
    columns = {"text": "content", "account": "user_id", "reshare_of": "reblog"}
    return Mapped.model_validate({"posts": {"file": "statuses.csv", "columns": columns}, **changed})


# --- by a mapping of columns -------------------------------------------------------------------------------


def test_an_export_becomes_a_scenario_that_runs(export: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in export]
    assert main(["import", "tables", *files, "--mapping", "mapping.yaml", "--into", "town"]) == 0
    said = capsys.readouterr()
    assert "3 posts, 3 accounts, 2 follows" in said.out
    for notice in ("1 reshares omitted", "1 replies become posts", "likes omitted", "posts not used: id, lang"):
        assert notice in said.err
    scenario = load_scenario("town")
    assert scenario.posts.text == ("Build it", "No, never", "=cmd()")
    assert scenario.posts.step.tolist() == [1, 2, 4]
    assert scenario.posts.account.tolist() == [0, 1, 0]
    assert scenario.accounts is not None
    assert scenario.accounts.names == ("Ann", "Ben", "Cy")
    assert main(["run", "./town", "--steps", "4", "--out", "run", "--quiet"]) == 0
    injected = Run.open("run").table("posts").filter(pl.col("kind") == 3)
    assert injected.select("author", "step").rows() == [(0, 1), (1, 2), (0, 4)]


def test_what_is_checked_is_what_is_written(export: list[Path]) -> None:
    params = mapped(follows={"file": "edges.jsonl", "columns": {"follower": "source", "followed": "target"}})
    scenario, _ = import_scenario(importer("tables"), export, params, Path("town"))
    assert load_scenario("town").digest == scenario.digest
    assert scenario.accounts is not None
    assert scenario.accounts.names == ("u1", "u2", "u3")  # from posts, then from follows
    check_importer(importer("tables"), export, params)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("file: statuses.csv", "file: ../statuses.csv", "allowed: statuses.csv, users.csv, edges.jsonl"),
        ("text: content", "text: contents", "did you mean 'content'?"),
        ("text: content", "words: content", "allowed: a column `text`"),
        ("step_length: 1h", "step_length: soon", "30 min, 1h, 1 day"),
        ("step_length: 1h", "speed: 1h", "speed"),
        ("account: user_id", "account: id", "statuses.csv, row 1 (line 2), column 'account'"),
    ],
)
def test_errors_name_the_place_and_nothing_is_written(
    old: str, new: str, says: str, export: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mapping.yaml").write_text(MAPPING.replace(old, new), encoding="utf-8")
    before = sorted(Path().iterdir())
    assert main(["import", "tables", *map(str, export), "--mapping", "mapping.yaml", "--into", "town"]) == 2
    assert says in capsys.readouterr().err
    assert sorted(Path().iterdir()) == before


def test_commands_that_cannot_be_followed(export: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in export]
    Path("town").mkdir()
    for words, says in (
        (["table", *files, "--into", "new"], "did you mean 'tables'?"),
        (["tables", "--into", "new"], "the files that the platform exported"),
        (["tables", *files, "--into", "new"], "posts"),
        (["tables", *files, "--mapping", "mapping.yaml", "--into", "town"], "already exists"),
    ):
        assert main(["import", *words]) == 2
        assert says in capsys.readouterr().err


# --- an importer of another package ------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The block of the page as an installed package."""
    page = (ROOT / "docs" / "adding-an-importer.md").read_text(encoding="utf-8")
    site, info = tmp_path / "site", tmp_path / "site" / "sky-1.0.dist-info"
    info.mkdir(parents=True)
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (points,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (site / "sky_importer.py").write_text(block, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sky\nVersion: 1.0\n")
    lines = [line.replace('"', "") for line in points.splitlines()[1:]]
    (info / "entry_points.txt").write_text("\n".join(["[townsquare.members]", *lines]) + "\n")
    monkeypatch.setitem(registry._FAMILIES, "importer", {**registry._FAMILIES["importer"]})
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    registry.add_installed.cache_clear()
    Path("dump.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in DUMP), encoding="utf-8")
    yield site
    sys.modules.pop("sky_importer", None)
    registry.add_installed.cache_clear()
    importlib.invalidate_caches()


@pytest.mark.usefixtures("installed")
def test_the_command_line_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    check_importer(importer("sky"), [Path("dump.jsonl")])
    assert main(["import", "sky", "dump.jsonl", "--into", "town", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["posts"], told["accounts"]) == (2, 2)
    assert "1 replies become separate posts" in told["notices"]
    assert main(["run", "./town", "--steps", "3", "--out", "run", "--quiet"]) == 0
    assert Run.open("run").table("posts").filter(pl.col("kind") == 3)["step"].to_list() == [1, 3]


# --- importers that break their contract -------------------------------------------------------------------


class NoSettings(MemberParams):
    """No settings."""


def plain(files: Any, params: Any) -> Imported:
    return Imported([Record("dump.csv, row 1", {"text": "Hello"})])


def writes(files: Any, params: Any) -> Imported:
    files[0].write_text(files[0].read_text() + "x")
    return plain(files, params)


COUNT = iter(range(1000))


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda files, params: [], {"got": "a list"}),
        (lambda files, params: files["none"], {"got": "raised TypeError"}),
        (
            lambda files, params: replace(plain(files, params), head={"posts": "posts.csv"}),
            {"allowed": "rows, not names of files"},
        ),
        (lambda files, params: Imported([Record("row", {"text": f"post {next(COUNT)}"})]), {"got": "other rows"}),
        (lambda files, params: Imported([Record("", {"text": "Hello"})]), {"got": "posts with a Record"}),
        (writes, {"got": "a changed file"}),
    ],
)
def test_importers_that_break_the_contract(read: Callable[..., Any], says: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "dump.csv"
    file.write_text("text\nHello\n")
    check_importer(Importer("mine", NoSettings, plain), [file])
    with raises_error(ContractError, **says):
        check_importer(Importer("mine", NoSettings, read), [file])


def test_rows_that_no_scenario_may_hold_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "dump.csv"
    file.write_text("text\nHello\n")
    bad = [Record("dump.csv, row 7", {"text": ""})]
    with raises_error(DataError, where=r"dump\.csv, row 7"):
        check_importer(Importer("mine", NoSettings, lambda files, params: Imported(bad)), [file])
