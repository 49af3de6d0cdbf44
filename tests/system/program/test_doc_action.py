"""The kind of action on the page "Adding a kind of action" is a whole one: one entry, and all else follows."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reference_runs import RUNS
from repository import ROOT
from townsquare.core import actions

PAGE = (ROOT / "docs" / "adding-an-action.md").read_text(encoding="utf-8")
SOURCE = Path(actions.__file__)
PROGRAM = """
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("townsquare.core.actions", sys.argv[1])
sys.modules["townsquare.core.actions"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

sys.path.append(sys.argv[4])
import polars as pl
import townsquare as ts
from describe_record import kinds, tables, views
from townsquare.models.client import ModelClient
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.pages.view.library import Library
from townsquare.pages.view.queries import actions_of
from townsquare.settings.page import settings_page

same, folder, also = json.loads(sys.argv[2]), sys.argv[3], ["actions.also=[bookmark]", "memory.enabled=true"]
out = {"hash": ts.simulate(ts.resolve_for("health-rumor@1", seed=7, sets=same)).content_hash}
sets = [*same, *also, "memory.reflect_every=4", "policy.bookmark.base=-2", "actions.friction={bookmark: 0.5}"]
run = ts.simulate(ts.resolve_for("health-rumor@1", seed=7, sets=sets), folder + "/run")
done = run.words("actions").filter(pl.col("kind") == "bookmark")
out["reasons"] = sorted(done["reason"].unique().to_list())
done = done.filter(pl.col("status") == "accepted")
out["targets"] = [f"post-{target}" for target in done["target"]]
out["view"] = run.sql("SELECT target_id FROM user_actions WHERE action_type = 'bookmark_post'")["target_id"].to_list()
out["memories"] = run.sql("SELECT content FROM agent_memories").get_column("content").to_list()
step, agent = done.select("step", "agent").row(0)
rows = actions_of(Library(__import__("pathlib").Path(folder)).snapshot("run"), agent, step).to_dicts()
out["viewer"] = [row for row in rows if row["kind"] == "bookmark"][0]
out["settings"], out["record"] = settings_page(), kinds() + tables() + views()
store = MemoryCalls()
with ModelClient(FakeModel(), store, 1, concurrency=4) as client:
    sets = [*also, "policy=llm", "model=fake", "agents=20", "steps=3"]
    said = ts.simulate(ts.resolve_for("health-rumor@1", sets=sets), client=client).words("actions")
out["asked"] = [json.loads(call.request) for call in store if call.purpose == "react"]
out["answered"] = said.filter(pl.col("kind") == "bookmark").height
blind = ["policy=blind", "policy.bookmark=0.5", *also, "agents=20", "steps=2"]
out["blind"] = ts.simulate(ts.resolve_for("health-rumor@1", sets=blind)).words("actions")["kind"].value_counts().rows()
script = "policy.script=[{step: 1, agent: 0, action: bookmark, rank: 0}]"
scripted = ts.resolve_for("health-rumor@1", sets=["policy=scripted", script, *also, "agents=20", "steps=1"])
out["scripted"] = ts.simulate(scripted).words("actions").select("kind", "status").rows()
print(json.dumps(out, default=str))
"""


def example(name: str) -> str:
    (block,) = re.findall(rf"^<!-- example: {name} -->\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process says whose table of actions has the two blocks of the page."""
    folder = tmp_path_factory.mktemp("bookmark")
    text, table = (SOURCE.with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".py", ".toml"))
    last = max(actions.ActionKind)
    number = f"    {last.name} = {last:d}\n"
    assert text.count(number) == 1
    (folder / "actions.py").write_text(text.replace(number, number + example("number")), encoding="utf-8")
    (folder / "actions.toml").write_text(f"{table}\n{example('entry')}", encoding="utf-8")
    sets, _ = RUNS["statistical policy, hybrid moderation"]
    command = [sys.executable, "-c", PROGRAM, str(folder / "actions.py"), json.dumps(sets), str(folder)]
    command.append(str(ROOT / "scripts"))
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def test_the_page_says_what_every_field_is_for() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert told == [field.name for field in dataclasses.fields(actions.ActionSpec)]


def test_a_kind_that_is_off_changes_no_content_hash(found: dict[str, Any]) -> None:
    assert found["hash"] == RUNS["statistical policy, hybrid moderation"][1]


def test_agents_do_it_and_are_refused(found: dict[str, Any]) -> None:
    assert len(found["targets"]) > 50
    assert {"friction", "none", "repeated"} <= set(found["reasons"])
    assert dict(found["blind"])["bookmark"] > 50
    assert found["scripted"] == [["bookmark", "accepted"]]


def test_words_follow_in_settings_prompts_memories_views_and_pages(found: dict[str, Any]) -> None:
    assert found["view"] == found["targets"]
    assert any(text.startswith("I kept what ") for text in found["memories"])
    assert any("kept posts for later (" in text for text in found["memories"] if text.startswith("Lately I "))
    assert (found["viewer"]["on"], found["viewer"]["root"]) == ("post", found["viewer"]["target"])
    for line in (
        "| statistical | coefficients of a bookmark (assumed; mean probability 0.02) |",
        "| `0.02` | blind | probability, per shown row at activity 1, of a bookmark |",
    ):
        assert line in found["settings"]
    for words in ("13 bookmark", "`bookmark_post`", "| `bookmark` | 13 | post | yes |"):
        assert words in found["record"]
    assert len(found["asked"]) > 30
    assert found["answered"] > 0
    for request in found["asked"]:
        assert "- bookmark (p...): keep it for later; nobody sees it" in request["messages"][-1]["content"]
        assert "bookmark" in json.dumps(request["schema"])
