"""The cascade view: the life of one post, or of all posts of its claim: who saw it from whom, shared it, believed it.

Arms of a comparison share their posts: a post is found in another arm by its key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import CachedRun
from townsquare.core.enums import AgentKind, PostKind
from townsquare.core.errors import SettingError
from townsquare.core.frames import collected
from townsquare.pages.view import post_queries, queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.comparison import arm_labels
from townsquare.pages.view.library import Library, Snapshot
from townsquare.pages.view.post import root_of
from townsquare.pages.view.query_string import Asked

MOST_LISTED = 30
"""Posts that can be chosen from a list: those with the most shares, injected posts first."""
_DIGITS = 3
_ACTS = ("note_shown", "note_withdrawn", "takedown", "downranked")


def cascade(library: Library, asked: Asked) -> dict[str, Any]:
    """Return the life of a post as columns; by default of the most shared post of the most shared false claim.

    With ``claim``, all posts that make the same claim count. With ``like``, ``post`` is one of the run ``like``, and
    the same post of this run is returned.

    Raises
    ------
    SettingError
        The run has no such post, or no post at all.
    """
    of, other = library.snapshot(asked.word("run")), asked.word("like")
    listed = of.cached.once("most shared claims", lambda: most_shared(of))
    if not listed.height:
        raise SettingError("post", got=f"a run without posts: {of.id}", allowed="a run in which somebody wrote")
    number = asked.whole("post", int(listed["root"][0]))
    root = root_of(of, number) if not other else _same_post(library.snapshot(other), number, of)
    roots = _counted(of, root, asked)
    life = of.cached.once(f"cascade {root} of {len(roots)}", lambda: _life(of, root, roots))
    return life | {"listed": listed.to_dicts(), "arms": _arms(library, of.id)}


def _life(of: Snapshot, root: int, roots: list[int]) -> dict[str, Any]:
    """Return what does not depend on other runs."""
    text = queries.post_texts(of.cached).filter(pl.col("post") == root)
    seen = _first_seen(of, roots)
    return {
        "run": of.id,
        "post": root,
        "posts": len(posts_of_claim(of, root)),
        "content": text["content"][0],
        "veracity": text["veracity"][0],
        "last": of.last_step,
        "hours": clock_of(of.run).hours,
        "people": int((of.cached.table("agents")["kind"] == AgentKind.PERSON).sum()),
        "shares": columns(_shares(of, roots)),
        "seen": columns(seen),
        "beliefs": columns(_beliefs(of.cached, root).filter(pl.col("agent").is_in(seen["agent"].implode())), _DIGITS),
        "acts": _acts(of.cached, roots).to_dicts(),
    }


def _counted(of: Snapshot, root: int, asked: Asked) -> list[int]:
    """Return the posts that count: one, or with ``claim`` all that make the same claim."""
    return posts_of_claim(of, root) if asked.word("claim") else [root]


def cascade_table(of: Snapshot, asked: Asked) -> pl.DataFrame:
    """Return everybody who saw a post, or with ``claim`` one of all that make the same claim.

    Columns are ``agent``, ``who``, ``step`` of the first exposure, ``by`` (the agent whose post or share was shown),
    ``shared`` (step, or null), and belief in the claim at the first and the last showing (0 to 1).
    """
    root = root_of(of, asked.whole("post"))
    roots = _counted(of, root, asked)
    shares = _shares(of, roots)
    by = shares.select(pl.int_range(pl.len(), dtype=pl.Int32).alias("from"), pl.col("agent").alias("by"))
    passed_on = shares.filter(pl.col("parent") >= 0).unique("agent", keep="first")
    shared = passed_on.select("agent", pl.col("step").alias("shared"))
    seen = queries.joined(_first_seen(of, roots), "from", by)
    ends = [pl.col("judged").first().alias("belief_first"), pl.col("judged").last().alias("belief_last")]
    beliefs = _beliefs(of.cached, root).group_by("agent").agg(ends)
    seen = queries.joined(seen, "agent", queries.agent_names(of.cached).select("agent", "who"), shared, beliefs)
    return seen.select("agent", "who", "step", "by", "shared", "belief_first", "belief_last")


def most_shared(of: Snapshot) -> pl.DataFrame:
    """Return the claims with the most shares: ``root`` (the most shared post), ``veracity``, ``shares``, ``content``.

    False ones come first. Posts with the same text make the same claim.
    """
    rank = pl.col("veracity").replace_strict({"false": 0, "true": 1}, default=2, return_dtype=pl.Int8)
    made = pl.col("kind") == PostKind.SHARE
    shares = of.cached.table("posts").group_by("root").agg(made.sum().alias("shares"))
    roots = pl.col("post") == pl.col("root"), pl.col("root_kind") != "comment"
    posts = queries.post_texts(of.cached).filter(*roots).join(shares, on="root")
    posts = posts.sort("shares", "root", descending=[True, False])
    counts = pl.col("root").first(), pl.col("shares").sum()
    claims = posts.group_by("content", "veracity", maintain_order=True).agg(*counts)
    order = claims.sort(rank, pl.col("shares"), "root", descending=[False, True, False])
    return order.head(MOST_LISTED).select("root", "veracity", "shares", "content")


def _same_post(other: Snapshot, number: int, of: Snapshot) -> int:
    """Return the root in ``of`` that is the same post as one of another run."""
    keys = other.cached.table("posts").filter(pl.col("post") == root_of(other, number))["key"]
    same = of.cached.table("posts").filter(pl.col("key") == keys[0], pl.col("kind") != PostKind.SHARE)
    if not same.height:
        allowed = "posts that both runs share: injected ones, in arms of one comparison with the same seed"
        raise SettingError("post", got=f"post {number}, which {of.id} does not have", allowed=allowed)
    return int(same["post"][0])


def posts_of_claim(of: Snapshot, root: int) -> list[int]:
    """Return the injected posts with the text of an injected post, and the post itself where it is another."""
    posts = of.cached.table("posts").filter(pl.col("kind") == PostKind.INJECTED, pl.col("step") <= of.last_step)
    texts = posts.filter(pl.col("post") == root)["text"]
    return posts.filter(pl.col("text") == texts[0])["post"].to_list() if texts.len() else [root]


def _shares(of: Snapshot, roots: list[int]) -> pl.DataFrame:
    """Return roots and their shares in order: ``post``, ``parent`` (row here; -1 of a root), ``step``, ``agent``,
    ``who``.
    """
    here = pl.col("post").is_in(roots) | (pl.col("root").is_in(roots) & (pl.col("kind") == PostKind.SHARE))
    posts = of.cached.table("posts").filter(here, pl.col("step") <= of.last_step).sort("post")
    rows, parent, root = (posts[name].to_numpy() for name in ("post", "parent", "root"))
    known = np.where(np.isin(parent, rows), parent, root)
    parent = np.where(posts["kind"] == PostKind.SHARE, np.searchsorted(rows, known), -1)
    columns = "post", pl.Series("parent", parent, pl.Int32), "step", pl.col("author").alias("agent"), "who"
    return queries.with_who(posts, of.cached).select(columns)


def _first_seen(of: Snapshot, roots: list[int]) -> pl.DataFrame:
    """Return who saw one of the roots: ``agent``, ``step`` of the first exposure, ``from`` (row of shares)."""
    rows = of.cached.lazy("exposures").filter(pl.col("root").is_in(roots)).select("agent", "step", "rank", "post")
    first = rows.pipe(collected).sort("step", "agent", "rank").unique("agent", keep="first", maintain_order=True)
    row = _shares(of, roots).select("post", pl.int_range(pl.len(), dtype=pl.Int32).alias("from"))
    seen = queries.joined(first, "post", row)
    return seen.select("agent", "step", pl.col("from").fill_null(0))


def _beliefs(run: CachedRun, root: int) -> pl.DataFrame:
    """Return how far people believed the claim of a root at each showing: ``agent``, ``step``, ``judged`` (0 to 1)."""
    claim = int(run.table("posts").filter(pl.col("post") == root)["text"][0])
    rows = run.lazy("veracities").filter(pl.col("claim") == claim).select("agent", "step", "judged").pipe(collected)
    judged = (1 / (1 + (-pl.col("judged")).exp())).alias("judged")
    return rows.drop_nans("judged").sort("step", "agent").with_columns(judged)


def _acts(run: CachedRun, roots: list[int]) -> pl.DataFrame:
    """Return ``step`` and ``what`` of verdicts, notes shown or withdrawn, and takedowns of some roots, in order."""
    verdict = ("verdict: " + pl.col("verdict")).alias("what")
    verdicts = post_queries.verdicts(run).filter(pl.col("root").is_in(roots)).select("step", verdict)
    acts = post_queries.moderation_of(run, roots).filter(pl.col("what").is_in(_ACTS)).select("step", "what")
    return pl.concat([verdicts, acts]).sort("step", maintain_order=True)


def _arms(library: Library, run: str) -> list[dict[str, str]]:
    """Return the runs of the comparison of a run that have its seed, with the labels of their arms; else none."""
    for of in library.comparisons().values():
        ids = {library.id_of(of.folder / each.folder): each for each in of.finished}
        if run in ids:
            names = arm_labels(of)
            return [{"run": id_, "label": names[each.arm]} for id_, each in ids.items() if each.seed == ids[run].seed]
    return []
