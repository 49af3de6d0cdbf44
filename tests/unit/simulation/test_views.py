"""What a policy can know of the world: what a reader could, and no ground truth."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import feed_of, follow, give_verdict, post, row_of, shown_to, town, views_of
from townsquare.core.enums import Veracity, Verdict
from townsquare.core.schema import NONE
from townsquare.testing.busy_world import busy_world


def test_views_hold_no_ground_truth_and_no_findings_but_those_shown() -> None:
    world = town(3, 1)
    root = post(world, 3, veracity=Veracity.FALSE)
    give_verdict(world, root, Verdict.FALSE)
    views = views_of(world, feed_of(world, show_labels=False))
    for name in ("veracity", "verdict", "note", "notes", "status"):
        with pytest.raises(KeyError, match=f"do not see {name}"):
            views.post(name)
    public = [name for name in dir(views) if not name.startswith("_")]
    assert "world" not in public
    assert "veracity" not in views.rows
    assert set(np.asarray(views.rows["verdict"]).tolist()) == {Verdict.NONE}
    assert views.post("plausibility")[root] == 0.5


def test_views_of_some_are_cut_from_those_of_all() -> None:
    views = busy_world(5).views()
    some = views.agents % 3 == 1
    part = views.only(some)
    assert part.agents.tolist() == views.agents[some].tolist()
    for place, agent in enumerate(part.agents.tolist()):
        at = views.agents.tolist().index(agent)
        rows, cut = slice(*views.indptr[at : at + 2]), slice(*part.indptr[place : place + 2])
        for name in views.rows:
            np.testing.assert_array_equal(np.asarray(part.rows[name])[cut], np.asarray(views.rows[name])[rows])
        assert (part.stance[place] == views.stance[at]).all()
    assert (part.step, part.bank, part.allowed) == (views.step, views.bank, views.allowed)


def test_views_answer_what_a_reader_can_know() -> None:
    world = town(3, 1)
    follow(world, (0, 3))
    root = post(world, 3, text="Read this.")
    feed = feed_of(world)
    views = views_of(world, feed)
    assert views.text(int(views.post("text")[root])) == "Read this."
    assert views.text(NONE) == ""
    assert (views.follows(0, 3), views.follows(0, 1)) == (True, False)
    assert views.n_texts == 1
    assert shown_to(feed, 0) == [root]
    assert row_of(feed, 0, root) == 0
    assert views.step == 1


def test_own_posts_are_the_newest_that_the_agent_wrote_itself() -> None:
    world = town(4, 1)
    first = post(world, 1, text="first")
    for author, text in ((3, "theirs"), (1, "second"), (0, "another"), (1, "third")):
        post(world, author, text=text)
    post(world, 1, share_of=first)
    views = views_of(world, feed_of(world))
    mine = {agent: views.own_posts(place, 2) for place, agent in enumerate(views.agents.tolist())}
    assert mine == {0: ["another"], 1: ["third", "second"], 2: [], 3: ["theirs"]}
    part = views.only(views.agents >= 1)
    assert [part.own_posts(place, 9) for place in range(3)] == [["third", "second", "first"], [], ["theirs"]]
    assert part.own_posts(0, 0) == []
