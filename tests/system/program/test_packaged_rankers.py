"""The rankers of the page "Adding a ranker", as a package of its own: what its commands do with them, and to whom."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from repository import ROOT
from running_viewer import data
from small_worlds import draws_of, equal_columns, settings_of, steps_of
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Array
from townsquare.core.draws import Stage
from townsquare.core.enums import Slot
from townsquare.core.threads import limited
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.settings.config import Feed as FeedSettings
from townsquare.settings.config import LabelWeight
from townsquare.simulation.feed import rank
from townsquare.simulation.feed.build import Feed, build
from townsquare.simulation.feed.options import uniform_options
from townsquare.simulation.feed.rankers.contract import ChosenRanker
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.world import World
from townsquare.testing.ranker_conformance import check_ranker

NAMES = ("quiet", "near", "both_sides")
SMALL = ["health-rumor@1", "--agents", "60", "--steps", "4", "--seed", "3", "--set", "feed.followed=4"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder where Python looks, with the three rankers of the page and the entry points of a package."""
    folder = tmp_path_factory.mktemp("site")
    page = (ROOT / "docs" / "adding-a-ranker.md").read_text(encoding="utf-8")
    for name, block in re.findall(r"^`(\w+)\.py`:\n\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (folder / f"{name}.py").write_text(block, encoding="utf-8")
    info = folder / "bridges-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bridges\nVersion: 1.0\n")
    points = "\n".join(f"ranker.{name} = {name}_ranker:RANKER" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\n{points}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        registry.add_installed.cache_clear()
        yield folder
        for name in NAMES:
            sys.modules.pop(f"{name}_ranker", None)
    importlib.invalidate_caches()
    registry.add_installed.cache_clear()


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract(name: str) -> None:
    check_ranker(registry.get("ranker", name))


def command(package: Path, *words: str) -> None:
    """One command in a process of its own, which finds the package as it would an installed one."""
    path = os.pathsep.join([str(package), str(ROOT / "src")])
    subprocess.run([sys.executable, "-m", "townsquare", *words], env={**os.environ, "PYTHONPATH": path}, check=True)


@pytest.mark.parametrize("name", ["near", "both_sides"])
def test_commands_and_the_viewer_use_it(name: str, package: Path, tmp_path: Path) -> None:
    ranker = ["--set", f"feed.ranker={name}"]
    command(package, "run", *SMALL, *ranker, "--out", str(tmp_path / "whole"), "--quiet")
    whole = Run.open(tmp_path / "whole")
    assert whole.settings["feed"]["ranker"] == name

    def stop(mark: object) -> None:
        if mark.step == 2:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    settings = ts.resolve_for("health-rumor@1", agents=60, steps=4, seed=3, sets=[SMALL[-1], ranker[-1]])
    with pytest.raises(KeyboardInterrupt):
        ts.simulate(settings, tmp_path / "parts", on_step=stop)
    assert Run.open(tmp_path / "parts").last_step == 2
    assert main(["resume", str(tmp_path / "parts"), "--quiet"]) == 0
    assert Run.open(tmp_path / "parts").content_hash == whole.content_hash
    assert main(["replay", str(tmp_path / "whole"), "--quiet"]) == 0

    with serving(tmp_path) as url:
        assert {row["id"] for row in data(url, "/api/runs")["runs"]} == {"whole", "parts"}
        assert data(url, "/api/agent-step", run="whole", agent=7, step=3)

    recent = ts.simulate(ts.resolve_for("health-rumor@1", agents=60, steps=4, seed=3, sets=SMALL[-1:]))
    keys = ["step", "agent", "root"]
    shown, other = (run.table("exposures").filter(pl.col("slot") <= Slot.OTHER).select(keys) for run in (whole, recent))
    share = shown.join(other, on=keys, how="anti").height / shown.height
    assert share > 0.05, f"{name}: {share:.0%} of the rows are others than those of recent"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["near", "both_sides"])
def test_parts_of_readers_and_threads_change_nothing(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = feed_by(world, name)
    monkeypatch.setattr(rank, "PART", 7)
    for threads in (1, 2):
        with limited(threads, least=1):
            assert equal_columns(feed_by(world, name).exposures, whole.exposures)


# --- on one and the same world: who is shown what -----------------------------------------------------------


@pytest.fixture(scope="module")
def world() -> World:
    """The world after some steps of a run under ``recent``."""
    *_, (world, _) = steps_of(settings_of(agents=200, steps=6, graph={"m": 12}))
    return world


def feed_by(world: World, name: str) -> Feed:
    member = registry.get("ranker", name)
    persons = np.flatnonzero(world.persons()).astype(np.int32)
    options = uniform_options(persons, FeedSettings(comments=0, followed=5), LabelWeight())
    return build(world, ChosenRanker(member, member.params()), options, draws_of(world, Stage.FEED))


def rows_of(feed: Feed, slot: Slot) -> tuple[Array, Array]:
    """Agents and roots of the rows of a slot."""
    columns = {name: np.asarray(feed.exposures[name]) for name in ("agent", "root", "slot")}
    return columns["agent"][columns["slot"] == slot], columns["root"][columns["slot"] == slot]


def share_of_others(one: Feed, two: Feed, slot: Slot) -> float:
    """Share of the rows of the first that the second has not."""
    shown, other = (set(zip(*(column.tolist() for column in rows_of(feed, slot)), strict=True)) for feed in (one, two))
    return len(shown - other) / len(shown)


@pytest.mark.usefixtures("package")
def test_near_shows_followed_authors_with_stances_like_the_readers_own(world: World) -> None:
    near, recent = feed_by(world, "near"), feed_by(world, "recent")
    view = RankingView(world)

    def distance(feed: Feed) -> float:
        agent, root = rows_of(feed, Slot.FOLLOWED)
        return float(np.abs(view.stance[agent] - view.stance[world.posts["author"][root]]).mean())

    share = share_of_others(near, recent, Slot.FOLLOWED)
    assert share > 0.2
    assert distance(near) < 0.8 * distance(recent)
    assert share_of_others(near, recent, Slot.OTHER) < 0.2  # these are drawn from the pool


@pytest.mark.usefixtures("package")
def test_both_sides_shows_what_both_sides_liked(world: World) -> None:
    bridging, recent = feed_by(world, "both_sides"), feed_by(world, "recent")
    likes: dict[int, list[set[int]]] = {}
    view = RankingView(world)
    for kind in (ActionKind.LIKE, ActionKind.SHARE):
        for agent, root in zip(*(column.tolist() for column in view.reacted(kind)), strict=True):
            sides = likes.setdefault(root, [set(), set()])
            sides[int(view.stance[agent, 0] > 0)].add(agent)

    def bridged(feed: Feed) -> float:
        _, root = rows_of(feed, Slot.OTHER)
        return float(np.mean([min(map(len, likes.get(one, [(), ()]))) for one in root.tolist()]))

    share = share_of_others(bridging, recent, Slot.OTHER)
    assert share > 0.5
    assert bridged(bridging) > 1.5 * bridged(recent)
