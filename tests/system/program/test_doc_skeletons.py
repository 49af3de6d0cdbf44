"""The members on the pages "Adding a …" are whole ones: they register, pass the public checks, run, and are found."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import townsquare as ts
from raised_errors import raises_error
from repository import ROOT
from small_worlds import run_of, settings_of
from townsquare.beliefs.stance.contract import StanceScorer
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.enums import LogKind, NoteStatus, Scorer, Verdict
from townsquare.core.errors import ContractError, UnknownName
from townsquare.settings.config import MemberParams
from townsquare.settings.schema import json_schema
from townsquare.testing.moderator_conformance import check_moderator
from townsquare.testing.note_scorer_conformance import check_note_scorer
from townsquare.testing.policy_conformance import check_policy
from townsquare.testing.ranker_conformance import check_ranker
from townsquare.testing.stance_conformance import check_stance_scorer

DOCS = ROOT / "docs"


class Page(NamedTuple):
    """A page, the file it says its block is saved as, the family and name it registers, and the public check."""

    page: str
    module: str
    family: str
    name: str
    check: Callable[[Any], None]


PAGES = {
    page.family: page
    for page in (
        Page("adding-a-ranker", "quiet_ranker", "ranker", "quiet", check_ranker),
        Page("adding-a-moderator", "flag_label", "moderation", "flag_label", check_moderator),
        Page("adding-a-note-scorer", "majority_scorer", "note_scorer", "majority", check_note_scorer),
        Page("adding-a-policy", "cautious_policy", "policy", "cautious", check_policy),
        Page("adding-a-stance-scorer", "marked_scorer", "stance", "marked", check_stance_scorer),
    )
}
OBJECTS = {
    "ranker": "RANKER",
    "moderation": "MODERATOR",
    "policy": "POLICY",
    "stance": "SCORER",
    "note_scorer": "SCORER",
}


def blocks(page: str, language: str = "python") -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python looks, with the block of every page saved under the name that the page gives."""
    for page in PAGES.values():
        block, *_ = blocks(page.page)
        assert f"`{page.module}.py`" in (DOCS / f"{page.page}.md").read_text(encoding="utf-8")
        (tmp_path / f"{page.module}.py").write_text(block, encoding="utf-8")
        # A copy, so that no other test meets a member whose file is gone.
        monkeypatch.setitem(registry._FAMILIES, page.family, {**registry._FAMILIES[page.family]})
    monkeypatch.syspath_prepend(tmp_path)
    json_schema_was = json_schema()
    yield tmp_path
    for page in PAGES.values():
        sys.modules.pop(page.module, None)
    importlib.invalidate_caches()
    assert json_schema_was


def registered(family: str) -> Any:
    page = PAGES[family]
    target = f"{page.module}:{OBJECTS[family]}"
    if family != "ranker":
        text = (DOCS / f"{page.page}.md").read_text(encoding="utf-8")
        assert f'`register("{family}", "{page.name}", "{target}")`' in text
    registry.register(family, page.name, target)
    return registry.get(family, page.name)


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("family", list(PAGES))
def test_it_passes_the_public_check(family: str) -> None:
    PAGES[family].check(registered(family))


@pytest.mark.usefixtures("saved")
def test_the_ranker_is_ten_lines_and_puts_quiet_posts_first() -> None:
    block, *_ = blocks("adding-a-ranker")
    code = [line for line in block.splitlines() if line.strip() and not line.startswith(('"""', "import", "from"))]
    assert len(code) <= 10
    ranker = registered("ranker")
    posts = {name: np.array(values) for name, values in {
        "likes": [9, 0, 0], "dislikes": [0, 0, 0], "comments": [0, 0, 0], "root": [0, 1, 0], "step": [3, 3, 4],
    }.items()}  # fmt: skip
    assert ranker.score(SimpleNamespace(posts=posts), MemberParams()).tolist() == [0.0, 3.0, 1.0]


@pytest.mark.usefixtures("saved")
def test_the_example_of_use_runs() -> None:
    (example,) = blocks("adding-a-ranker", "py")
    names: dict[str, Any] = {}
    exec(compile(example, "docs/adding-a-ranker.md", "exec"), names)  # noqa: S102 - it is our own page
    assert names["run"].settings["feed"]["ranker"] == "quiet"


@pytest.mark.usefixtures("saved")
def test_the_moderator_labels_and_takes_down() -> None:
    registered("moderation")
    flags = {"flag": {"base": 1.0}}
    run = run_of(settings_of(moderation={"strategy": "flag_label", "remove_at": 4}, policy=flags))
    assert set(run.table("verdicts")["verdict"]) == {Verdict.UNVERIFIED}
    down = run.table("moderation_log").filter(pl.col("kind") == LogKind.TAKEDOWN)
    assert down.height
    assert down["post"].is_unique().all()


@pytest.mark.usefixtures("saved")
def test_the_note_scorer_shows_what_most_find_helpful() -> None:
    registered("note_scorer")
    policy = {"name": "blind", "add_note": 0.2, "rate_note": 0.9}
    run = run_of(settings_of(moderation={"strategy": "community", "note_scorer": "majority"}, policy=policy))
    scores = run.table("note_scores")
    assert set(scores["status"]) == set(NoteStatus)
    assert (scores.filter(pl.col("status") == NoteStatus.SHOWN)["intercept"] >= 0.65).all()


@pytest.mark.usefixtures("saved")
def test_the_policy_likes_what_it_agrees_with() -> None:
    registered("policy")
    run = run_of(settings_of(policy={"name": "cautious", "like": 1.0}, steps=3))
    liked = run.table("actions").filter(pl.col("status") == 0)
    assert set(liked["kind"]) == {ActionKind.LIKE}
    said = run.table("post_stances").select(target="post", said="stance")
    own = run.table("beliefs").select("agent", pl.col("step") + 1, own="stance")
    joined = liked.join(said, on="target").join(own, on=["agent", "step"])
    assert joined.height == liked.height > 50
    assert (joined["said"] * joined["own"] > 0).all()


@pytest.mark.usefixtures("saved")
def test_the_scorer_reads_what_is_marked() -> None:
    registered("stance")
    lines = [
        {"step": 1, "agent": 3, "action": "post", "text": "I say yes. [+0.75]", "stance": {0: -1}},
        {"step": 1, "agent": 4, "action": "post", "text": "I say nothing.", "stance": {0: 1}},
    ]
    policy = {"name": "scripted", "script": lines}
    run = run_of(settings_of(policy=policy, beliefs={"stance_scorer": "marked"}, steps=1))
    scored = run.table("post_stances").filter(pl.col("scorer") != Scorer.GIVEN)
    assert scored.select("stance", "scorer").rows() == [(0.75, Scorer.OUTSIDE)]


# --- text scorers that break their contract ----------------------------------------------------------------


def half(texts: Any, propositions: Any) -> npt.NDArray[np.float64]:
    return np.full((len(texts), len(propositions)), 0.5)


def test_every_registered_scorer_keeps_the_contract() -> None:
    for name in registry.names("stance"):
        check_stance_scorer(registry.get("stance", name))
    check_stance_scorer(StanceScorer("half", MemberParams, half))


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (lambda t, p: half(t, p) * 3, {"got": "outside its range"}),
        (lambda t, p: half(t, p).astype(np.float32), {"got": "float32"}),
        (lambda t, p: half(t, p)[:, :1], {"allowed": "one number a text and statement"}),
        (lambda t, p: half(t, p).tolist(), {"got": "scores is list"}),
        (lambda t, p: half(t, p) * np.linspace(0, 1, len(t))[:, None], {"got": "other scores"}),
        (lambda t, p: half(t, p) / max(1, len(t)), {"got": "beside them"}),
        (lambda t, p: t["no such key"], {"got": "raised TypeError"}),
    ],
)
def test_scorers_that_break_the_contract(score: Callable[..., Any], says: dict[str, str]) -> None:
    with raises_error(ContractError, **says):
        check_stance_scorer(StanceScorer("mine", MemberParams, score))


# --- members of installed packages -------------------------------------------------------------------------


@pytest.fixture
def installed(saved: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Lay a package with these entry points where Python looks."""

    def install(points: Mapping[str, str]) -> None:
        folder = saved / "quiet_town-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: quiet-town\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in points.items()]
        (folder / "entry_points.txt").write_text("\n".join([f"[{registry.ENTRY_POINTS}]", *lines]) + "\n")
        importlib.invalidate_caches()
        registry.add_installed.cache_clear()

    yield install
    registry.add_installed.cache_clear()


def test_a_member_of_an_installed_package_is_known_without_being_imported(
    installed: Callable[[Mapping[str, str]], None],
) -> None:
    assert '"ranker.quiet" = "quiet_ranker:RANKER"' in (DOCS / "adding-a-ranker.md").read_text(encoding="utf-8")
    installed({"ranker.quiet": "quiet_ranker:RANKER", "stance.marked": "marked_scorer:SCORER"})
    assert "quiet" in registry.names("ranker")
    assert registry.bundled("stance") == ("vader",)
    assert "quiet_ranker" not in sys.modules
    found = ts.resolve_for(
        "synthetic:20", sets=["feed.ranker=quiet", "beliefs.stance_scorer=marked"], agents=10, steps=2
    )
    assert found.members["ranker"].name == "quiet"
    assert ts.simulate(found).last_step == 2


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ({"quiet": "quiet_ranker:RANKER"}, {"where": "entry point 'quiet' of quiet-town", "allowed": r"family\.name"}),
        ({"rankers.quiet": "quiet_ranker:RANKER"}, {"allowed": "with a family of beliefs, ranker"}),
        (
            {"ranker.recent": "quiet_ranker:RANKER"},
            {"got": "a name taken by townsquare.simulation.feed.rankers.recent:RANKER"},
        ),
    ],
)
def test_an_entry_point_that_cannot_be_a_member_is_refused(
    installed: Callable[[Mapping[str, str]], None], points: Mapping[str, str], says: dict[str, str]
) -> None:
    installed(points)
    with raises_error(UnknownName, **says):
        registry.names("ranker")
