"""The cascade view: its numbers are those of the record, arms side by side share the post, playing draws every step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import townsquare as ts
from running_viewer import Visit, ask, data, place
from townsquare.pages.view.serving import serving

pytestmark = pytest.mark.browser
ARMS = ("none", "third_party")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    vary = {"moderation.strategy": list(ARMS)}
    few = {"beliefs.rule": "credence", "policy.share.base": -2.0, "moderation.takedown": True}
    ts.compare("health-rumor@1", vary=vary, seeds=1, settings=few, agents=120, steps=6, out=parent / "arms", workers=1)
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


def run_of(folder: Path, arm: str) -> tuple[str, ts.Run]:
    name = f"arms/strategy-{arm}/seed-1"
    return name, ts.Run.open(folder / name)


def test_the_numbers_are_those_of_the_record(folder: Path, url: str) -> None:
    name, run = run_of(folder, "none")
    made = data(url, "/api/cascade", run=name)
    root = made["post"]
    seen = run.sql(
        f"SELECT agent, min(step) AS step FROM ts_exposures WHERE root = {root} GROUP BY agent ORDER BY agent"
    )
    shares = run.sql(f"SELECT post, parent, author FROM ts_posts WHERE root = {root} AND kind = 1 ORDER BY post")
    assert made["veracity"] == "false"
    assert sorted(zip(made["seen"]["agent"], made["seen"]["step"], strict=True)) == seen.rows()
    posts = made["shares"]["post"]
    assert posts == [root, *shares["post"]]
    assert [posts[at] for at in made["shares"]["parent"][1:]] == shares["parent"].to_list()
    assert shares.height > 3
    shown = run.sql(f"SELECT agent, step, author FROM ts_exposures WHERE root = {root} ORDER BY step, agent, rank")
    first = shown.unique("agent", keep="first", maintain_order=True)
    of_agent = {agent: made["shares"]["agent"][at] for agent, at in zip(made["seen"]["agent"], made["seen"]["from"], strict=True)}  # fmt: skip
    assert of_agent == dict(first.select("agent", "author").iter_rows())
    table = pl.read_csv(ask(url, "/csv/cascade", run=name, post=root)[1])
    assert table.select("agent", "step", "by").rows() == first.select("agent", "step", "author").rows()
    judged = run.sql("SELECT agent, step, claim, judged FROM ts_veracities ORDER BY step")
    claim = run.table("posts").filter(post=root)["text"][0]
    last = judged.filter(claim=claim).group_by("agent").agg(pl.col("judged").last()).with_columns(
        belief=1 / (1 + (-pl.col("judged")).exp())
    )  # fmt: skip
    both = table.join(last, on="agent")
    assert both.height == table.height
    assert both["belief_last"].to_numpy() == pytest.approx(both["belief"].to_numpy())


def test_the_same_post_is_found_in_the_other_arm(folder: Path, url: str) -> None:
    (name, run), (other, _) = (run_of(folder, arm) for arm in ARMS)
    made = data(url, "/api/cascade", run=name)
    assert [arm["run"] for arm in made["arms"]] == [name, other]
    twin = data(url, "/api/cascade", run=other, like=name, post=made["post"])
    assert (twin["content"], twin["run"]) == (made["content"], other)
    assert any(act["what"].startswith("verdict: ") for act in twin["acts"])
    assert not made["acts"]
    own = run.table("posts").filter(pl.col("kind") == 0)["post"][0]
    status, _, _ = ask(url, "/api/cascade", run=other, like=name, post=own)
    assert status in (200, 400)  # what people write is the same post only where both arms have it
    assert ask(url, "/api/cascade", run=name, post=10**8)[0] == 400


def test_all_posts_of_a_claim(folder: Path, url: str) -> None:
    name, run = run_of(folder, "none")
    made = data(url, "/api/cascade", run=name, claim=1)
    roots = [post for post, parent in zip(made["shares"]["post"], made["shares"]["parent"], strict=True) if parent < 0]
    texts = run.table("posts").filter(pl.col("post").is_in(roots))["text"]
    assert len(roots) == made["posts"]
    assert texts.n_unique() == 1
    table = pl.read_csv(ask(url, "/csv/cascade", run=name, post=made["post"], claim=1)[1])
    assert table["agent"].to_list() == made["seen"]["agent"]


def test_who_brought_a_post_into_each_community(browser: Any, folder: Path, url: str) -> None:
    name, run = run_of(folder, "none")
    root = data(url, "/api/cascade", run=name)["post"]
    visit = Visit(browser, url, place(name, "cascade") + "?show=map")
    visit.wait("document.querySelector('[data-testid=into] tbody tr') !== null")
    rows = "[...document.querySelectorAll('[data-testid=into] tbody tr')].map(row => "
    reached = sum(visit.run(rows + "Number.parseInt(row.cells[1].innerText))"))
    people = run.table("agents").filter(pl.col("kind") == 0)["agent"]
    shown = run.sql(f"SELECT agent, step, author FROM ts_exposures WHERE root = {root} ORDER BY step, agent, rank")
    first = shown.unique("agent", keep="first", maintain_order=True).filter(pl.col("agent").is_in(people.implode()))
    assert reached == first.height
    known = set(first.select("agent", "step", "author").iter_rows())
    found = visit.run(
        rows + "[row.cells[3], row.cells[2], row.cells[4]].map("
        "cell => Number(cell.innerText.match(/\\d+/)?.[0] ?? cell.querySelector('a').hash.match(/\\d+$/)[0])))"
    )
    assert {tuple(row) for row in found} <= known
    assert visit.heard == []
    visit.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_a_cascade_plays_to_its_end(browser: Any, folder: Path, url: str, width: int, scheme: str) -> None:
    (name, _), (other, _) = (run_of(folder, arm) for arm in ARMS)
    visit = Visit(browser, url, place(name, "cascade") + f"?with={other}&step=1", width, scheme)
    counts = "document.querySelectorAll('[data-testid=counts]')"
    visit.wait(f"{counts}.length === 2")
    reached = f"Number.parseInt({counts}[0].innerText)"
    before = visit.run(reached)
    canvas = visit.page.locator("canvas").first
    few = canvas.screenshot()
    visit.page.locator("[data-testid=play]").click()
    visit.wait(f"{reached} > {before}")
    visit.wait("document.querySelector('[data-testid=play]').getAttribute('aria-label') === 'Play'", 30)
    made = data(url, "/api/cascade", run=name)
    assert visit.run(reached) == len(made["seen"]["agent"])
    assert canvas.screenshot() != few
    assert "No moderation: the posts of this claim reached" in visit.run(
        "document.querySelector('[data-testid=finding]').innerText"
    )
    visit.page.locator("[data-testid=step]").focus()
    visit.page.keyboard.press("ArrowLeft")
    visit.wait("location.hash.includes('step=')")
    visit.page.locator("select").nth(1).select_option("map")
    visit.wait("[...document.querySelectorAll('.spread')].length === 2")
    assert visit.run("document.documentElement.scrollWidth") <= width
    assert visit.heard == []
    visit.close()
