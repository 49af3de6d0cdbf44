"""What the network view is made of: follows, blocks, who saw a post, and the truth of posts seen on a claim."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from running_viewer import ask, data, record
from townsquare.core.enums import Veracity
from townsquare.pages.view.network import NOT_THERE
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    record(parent / "blocks", graph={"kind": "block", "by": "gender"})
    record(parent / "first")
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


def test_all_follows_between_agents_are_given_as_rows_of_both_ends(url: str, folder: Path) -> None:
    run = Run.open(folder / "first")
    given = np.frombuffer(ask(url, "/api/follows", run="first")[1], "<u2").reshape(-1, 2)
    changes = run.table("follows").group_by("follower", "followed").agg(pl.col("change").cast(pl.Int64).sum())
    stand = changes.filter(pl.col("change") > 0).select("follower", "followed")
    assert sorted(map(tuple, given.tolist())) == sorted(stand.rows())
    assert data(url, "/api/network", run="first")["follows"] == len(given)


def test_blocks_that_a_run_recorded_are_its_communities(url: str, folder: Path) -> None:
    blocks = data(url, "/api/network", run="blocks")["blocks"]
    run = Run.open(folder / "blocks")
    answers = run.table("traits").join(run.table("trait_values").filter(label="gender"), on=["trait", "value"])
    known = dict(answers.select("agent", "answer").rows())
    assert blocks["by"] == "gender"
    assert blocks["of"] == [known.get(agent) for agent in range(run.table("agents").height)]
    assert data(url, "/api/network", run="first")["blocks"] is None


def test_who_saw_a_post_and_who_shared_it_has_the_first_step(url: str, folder: Path) -> None:
    run = Run.open(folder / "first")
    posts = run.table("posts")
    shares = posts.filter(pl.col("root") != pl.col("post"))
    root = int(shares["root"].mode()[0])
    found = data(url, "/api/reached", run="first", post=root)
    shown = run.table("exposures").filter(root=root).group_by("agent").agg(pl.col("step").min())
    passed_on = shares.filter(root=root).group_by("author").agg(pl.col("step").min())
    assert dict(zip(found["seen"]["agent"], found["seen"]["step"], strict=True)) == dict(shown.rows())
    assert dict(zip(found["shared"]["agent"], found["shared"]["step"], strict=True)) == dict(passed_on.rows())
    assert found["author"] == posts.filter(post=root)["author"][0]


def test_the_share_of_false_posts_counts_what_was_seen_on_the_claim_so_far(url: str, folder: Path) -> None:
    run, step = Run.open(folder / "first"), 2
    on = run.table("post_stances").filter(proposition=0)["post"]
    judged = run.table("posts").filter(pl.col("post").is_in(on.implode()) & (pl.col("veracity") != Veracity.UNKNOWN))
    rows = run.table("exposures").filter(pl.col("step") <= step).join(judged.select("veracity", root="post"), on="root")
    share = rows.group_by("agent").agg((pl.col("veracity") == Veracity.FALSE).mean().alias("false"))
    status, body, _ = ask(url, "/api/false-share", run="first", step=step, proposition="vaccine_safe")
    codes = np.frombuffer(body, np.int8)
    assert status == 200
    expected = np.full(codes.size, np.nan)
    expected[share["agent"].to_numpy()] = share["false"].to_numpy()
    assert np.array_equal(np.isnan(expected), codes == NOT_THERE)
    seen = codes != NOT_THERE
    assert seen.any()
    assert (codes[seen] / 254 + 0.5) == pytest.approx(expected[seen], abs=0.003)
