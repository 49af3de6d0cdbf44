"""Queries written for the schema of MOSAIC's appendix D, each with its rows as our own tables give them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import polars as pl

import townsquare as ts
from townsquare.core.schema import EPOCH
from townsquare.record.mosaic.views import INFLUENCE

STEPS = 6
"""Steps of the run that the queries are asked of."""


def day(step: int) -> str:
    return f"{date.fromisoformat(EPOCH) + timedelta(days=step)} 00:00:00"


def done(run: ts.Run, *kinds: str) -> pl.DataFrame:
    """Accepted actions of these kinds."""
    words = run.words("actions").with_columns(pl.col("kind", "status", "reason").cast(pl.String))
    return words.filter(pl.col("status") == "accepted", pl.col("kind").is_in(kinds) if kinds else pl.lit(True))


def truth(run: ts.Run) -> pl.DataFrame:
    """``root`` and ``news_type`` of injected posts."""
    posts = run.words("posts").with_columns(pl.col("kind", "veracity").cast(pl.String))
    kinds = {"true": "real", "false": "fake", "unknown": None}
    return posts.filter(pl.col("kind") == "injected").select(
        pl.col("post").alias("root"), "step", pl.col("veracity").replace_strict(kinds).alias("news_type")
    )


# --- queries, and what they must say -----------------------------------------------------------------------

Rows = list[tuple[Any, ...]]
CASES: dict[str, tuple[str, Callable[[ts.Run], Rows]]] = {}


def case(query: str) -> Callable[[Callable[[ts.Run], Rows]], Callable[[ts.Run], Rows]]:
    """Keep a query with the function that gives its rows from our own tables."""

    def keep(expected: Callable[[ts.Run], Rows]) -> Callable[[ts.Run], Rows]:
        CASES[expected.__name__] = (query, expected)
        return expected

    return keep


@case("SELECT news_type, COUNT(*) FROM posts WHERE is_news = 1 GROUP BY news_type ORDER BY news_type")
def news_by_type(run: ts.Run) -> Rows:
    return truth(run).group_by("news_type").len().sort("news_type").rows()


@case("""
    SELECT p.post_id, u.user_id, u.persona, p.content, p.created_at FROM posts p
    JOIN users u ON p.author_id = u.user_id WHERE p.is_news = 1 ORDER BY p.created_at, p.post_id
""")
def posts_with_their_authors(run: ts.Run) -> Rows:
    texts = dict(run.table("texts").rows())
    names = dict(run.table("agents").select("agent", "name").rows())
    posts = run.words("posts").filter(pl.col("kind") == "injected")
    rows = [
        (f"post-{row['post']}", f"user-{row['author']}", texts[names[row["author"]]], texts[row["text"]],
         day(row["step"]))
        for row in posts.iter_rows(named=True)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row[4], row[0]))


@case("""
    SELECT sm.time_step, p.news_type, AVG(sm.num_likes + sm.num_comments + sm.num_shares) AS engagement
    FROM spread_metrics sm JOIN posts p ON sm.post_id = p.post_id
    WHERE p.is_news = TRUE GROUP BY sm.time_step, p.news_type ORDER BY sm.time_step, p.news_type
""")
def engagement_over_time_by_news_type(run: ts.Run) -> Rows:
    """Distinct users, as MOSAIC counts them: who comments twice is one."""
    acts = done(run, "like", "share", "comment").group_by("target", "kind", "agent").agg(pl.col("step").min())
    rows = []
    for step in range(1, STEPS + 1):
        for kind in ("fake", "real"):
            roots = truth(run).filter(pl.col("step") <= step, pl.col("news_type") == kind)["root"]
            n = acts.filter(pl.col("step") <= step, pl.col("target").is_in(roots.implode())).height
            rows += [(step, kind, n / roots.len())] if roots.len() else []
    return rows


@case("""
    SELECT n.post_id, COUNT(*) AS notes, SUM(n.helpful_ratings) AS helpful, SUM(n.not_helpful_ratings)
    FROM community_notes n GROUP BY n.post_id ORDER BY helpful DESC, n.post_id
""")
def notes_by_helpfulness(run: ts.Run) -> Rows:
    ratings = (
        run.table("note_ratings")
        .group_by("note")
        .agg(pl.col("helpful").sum().alias("yes"), (~pl.col("helpful")).sum().alias("no"))
    )
    notes = run.table("notes").join(ratings, on="note", how="left").with_columns(pl.col("yes", "no").fill_null(0))
    rows = notes.group_by("post").agg(pl.len(), pl.col("yes").sum(), pl.col("no").sum()).rows()
    return sorted([(f"post-{post}", *counts) for post, *counts in rows], key=lambda row: (-row[2], row[0]))


@case("""
    SELECT fc.verdict, fc.groundtruth, COUNT(*), ROUND(AVG(fc.confidence), 6) FROM fact_checks fc
    JOIN posts p ON p.post_id = fc.post_id WHERE fc.groundtruth IS NOT NULL AND fc.groundtruth = p.news_type
    GROUP BY fc.verdict, fc.groundtruth ORDER BY fc.verdict, fc.groundtruth
""")
def fact_checks_against_ground_truth(run: ts.Run) -> Rows:
    checks = run.words("verdicts").with_columns(pl.col("verdict", "veracity").cast(pl.String))
    counted = checks.filter(pl.col("veracity") != "unknown").group_by("verdict", "veracity")
    rows = counted.agg(pl.len(), pl.col("confidence").mean().round(6)).rows()
    return sorted((verdict, {"true": "real", "false": "fake"}[truth], *more) for verdict, truth, *more in rows)


@case("""
    SELECT user_id, influence_score, follower_count FROM users WHERE follower_count > 0
    ORDER BY influence_score DESC, user_id LIMIT 10
""")
def top_influencers(run: ts.Run) -> Rows:
    follows = run.table("follows").group_by("follower", "followed").agg(pl.col("change").sum())
    followers = dict(follows.filter(pl.col("change") > 0).group_by("followed").len().rows())
    authors = dict(run.table("posts").select("post", "author").rows())
    got: dict[str, dict[int, int]] = {"followers": followers, "likes": {}, "shares": {}, "comments": {}}
    for row in done(run, "like", "share", "comment").iter_rows(named=True):
        to = got[f"{row['kind']}s"]
        to[authors[row["target"]]] = to.get(authors[row["target"]], 0) + 1
    score = {
        agent: round(sum(w * got[what].get(agent, 0) / max(got[what].values()) for what, w in INFLUENCE.items()), 3)
        for agent in followers
    }
    rows = [(f"user-{agent}", score[agent], followers[agent]) for agent in followers]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:10]


@case("SELECT action_type, COUNT(*) FROM user_actions GROUP BY action_type ORDER BY action_type")
def what_people_do(run: ts.Run) -> Rows:
    of_users = {"follow": "follow_user", "unfollow": "unfollow_user"}
    of_posts = {kind: f"{kind}_post" for kind in ("like", "dislike", "share", "comment", "flag")}
    words = of_users | of_posts
    return sorted((words.get(kind, kind), n) for kind, n in done(run).group_by("kind").len().rows())


@case("""
    SELECT ua.user_id, COUNT(*) AS n FROM user_actions ua JOIN posts p ON ua.target_id = p.post_id
    WHERE p.news_type = 'fake' AND ua.action_type = 'share_post' GROUP BY ua.user_id ORDER BY n DESC, ua.user_id
""")
def who_shares_what_is_false(run: ts.Run) -> Rows:
    false = truth(run).filter(pl.col("news_type") == "fake")["root"]
    shares = done(run, "share").filter(pl.col("target").is_in(false.implode())).group_by("agent").len().rows()
    return sorted(((f"user-{agent}", n) for agent, n in shares), key=lambda row: (-row[1], row[0]))


@case("""
    SELECT fe.time_step, COUNT(DISTINCT fe.user_id), COUNT(*) FROM feed_exposures fe
    JOIN posts p ON fe.post_id = p.post_id WHERE p.is_news = 1 GROUP BY fe.time_step ORDER BY fe.time_step
""")
def who_is_shown_news(run: ts.Run) -> Rows:
    injected = run.words("posts").filter(pl.col("kind") == "injected")["post"]
    shown = run.table("exposures").filter(pl.col("post").is_in(injected.implode()))
    return shown.group_by("step").agg(pl.col("agent").n_unique(), pl.len()).sort("step").rows()


@case("""
    SELECT c.comment_id, c.content, p.content, c.num_likes FROM comments c JOIN posts p ON c.post_id = p.post_id
    ORDER BY c.num_likes DESC, c.comment_id LIMIT 5
""")
def top_comments(run: ts.Run) -> Rows:
    texts, likes = dict(run.table("texts").rows()), dict(done(run, "like_comment").group_by("target").len().rows())
    posts = {row["post"]: row for row in run.words("posts").iter_rows(named=True)}
    rows = [
        (f"comment-{post}", texts[row["text"]], texts[posts[row["parent"]]["text"]], likes.get(post, 0))
        for post, row in posts.items() if row["kind"] == "comment"
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row[3], row[0]))[:5]


@case("""
    SELECT p.post_id, p.status, p.takedown_timestamp, p.takedown_reason, m.timestamp FROM posts p
    JOIN moderation_logs m ON m.post_id = p.post_id AND m.action_type = 'takedown' ORDER BY p.post_id
""")
def what_was_taken_down(run: ts.Run) -> Rows:
    log = run.words("moderation_log").filter(pl.col("kind") == "takedown")
    rows = [
        (f"post-{r['post']}", "taken_down", day(r["step"]), r["reason"], day(r["step"]))
        for r in log.iter_rows(named=True)
    ]
    assert rows, "a run in which nothing comes down shows nothing"
    return sorted(rows)


@case("""
    SELECT s.status, o.status, COUNT(*) FROM posts s JOIN posts o ON s.original_post_id = o.post_id
    GROUP BY s.status, o.status ORDER BY s.status, o.status
""")
def shares_come_down_with_their_root(run: ts.Run) -> Rows:
    down = run.words("moderation_log").filter(pl.col("kind") == "takedown")["post"]
    shares = run.words("posts").filter(pl.col("kind") == "share")
    n_down = shares.filter(pl.col("root").is_in(down.implode())).height
    return [("active", "active", shares.height - n_down), ("taken_down", "taken_down", n_down)]


@case("""
    SELECT post_id, MAX(views), MAX(diffusion_depth), MAX(num_shares), MAX(total_interactions) FROM spread_metrics
    WHERE time_step <= 4 GROUP BY post_id ORDER BY post_id
""")
def how_far_each_post_came(run: ts.Run) -> Rows:
    posts = {row["post"]: row for row in run.words("posts").filter(pl.col("step") <= 4).iter_rows(named=True)}
    shown = run.table("exposures").filter(pl.col("step") <= 4, pl.col("under") < 0).group_by("root")
    views = dict(shown.agg(pl.col("agent").n_unique()).rows())
    acts = done(run).filter(pl.col("step") <= 4)
    notes = dict(run.table("notes").select("note", "post").rows())
    raters = {(notes[note], agent) for note, agent in
              run.table("note_ratings").filter(pl.col("step") <= 4).select("note", "agent").rows()}  # fmt: skip
    rows = []
    for post, row in posts.items():
        if row["kind"] not in ("original", "injected"):
            continue
        users = {
            kind: acts.filter(pl.col("kind") == kind, pl.col("target") == post)["agent"].n_unique()
            for kind in ("like", "share", "flag", "comment", "add_note")
        }
        rated = sum(root == post for root, _ in raters)
        total = sum(users.values()) + rated
        rows.append((f"post-{post}", views.get(post, 0), longest_chain(posts, post), users["share"], total))
    return sorted(rows)


def longest_chain(posts: dict[int, dict[str, Any]], post: int) -> int:
    shares = [key for key, row in posts.items() if row["kind"] == "share" and row["parent"] == post]
    return max((1 + longest_chain(posts, share) for share in shares), default=0)


@case("""
    SELECT json_extract(u.background_labels, '$.gender') AS gender, COUNT(*), AVG(follower_count) FROM users u
    WHERE json_extract(u.background_labels, '$.gender') IS NOT NULL GROUP BY gender ORDER BY gender
""")
def followers_by_background(run: ts.Run) -> Rows:
    follows = run.table("follows").group_by("follower", "followed").agg(pl.col("change").sum())
    counts = follows.filter(pl.col("change") > 0).group_by(pl.col("followed").alias("agent")).len("n")
    gender = run.table("trait_values").filter(pl.col("label") == "gender")
    people = run.table("traits").join(gender, on=["trait", "value"]).join(counts, on="agent", how="left")
    of = people.group_by("answer").agg(pl.len(), pl.col("n").fill_null(0).mean())
    return of.sort("answer").rows()


@case("""
    SELECT COUNT(*) FROM users u JOIN follows f ON f.follower_id = u.user_id JOIN users v ON f.followed_id = v.user_id
    WHERE json_extract(u.background_labels, '$.political_affiliation')
        = json_extract(v.background_labels, '$.political_affiliation')
""")
def homophily_of_follows(run: ts.Run) -> Rows:
    trait = run.table("trait_values").filter(pl.col("label") == "political_affiliation")["trait"][0]
    answers = dict(run.table("traits").filter(pl.col("trait") == trait).select("agent", "value").rows())
    follows = run.table("follows").group_by("follower", "followed").agg(pl.col("change").sum())
    pairs = follows.filter(pl.col("change") > 0).select("follower", "followed").rows()
    return [(sum(a in answers and answers.get(a) == answers.get(b) for a, b in pairs),)]


@case("""
    WITH RECURSIVE chain(post_id, root, depth) AS (
      SELECT post_id, post_id, 0 FROM posts WHERE is_news
      UNION ALL
      SELECT p.post_id, c.root, c.depth + 1 FROM posts p JOIN chain c ON p.original_post_id = c.post_id
    )
    SELECT c.root, MAX(c.depth), (SELECT MAX(diffusion_depth) FROM spread_metrics s WHERE s.post_id = c.root)
    FROM chain c GROUP BY c.root ORDER BY c.root
""")
def diffusion_depth_by_recursion(run: ts.Run) -> Rows:
    posts = {row["post"]: row for row in run.words("posts").iter_rows(named=True)}
    deep = {root: longest_chain(posts, root) for root in truth(run)["root"].to_list()}
    assert max(deep.values()) > 1
    return sorted((f"post-{root}", depth, depth) for root, depth in deep.items())


@case("""
    SELECT r.user_id, r.rating, n.author_id FROM note_ratings r JOIN community_notes n ON r.note_id = n.note_id
    WHERE r.created_at >= '2025-01-05' ORDER BY r.user_id, n.note_id
""")
def late_ratings(run: ts.Run) -> Rows:
    joined = run.table("note_ratings").filter(pl.col("step") >= 4).join(run.table("notes"), on="note")
    rows = [
        (f"user-{r['agent']}", f"note-{r['note']}", "helpful" if r["helpful"] else "not_helpful", f"user-{r['author']}")
        for r in joined.iter_rows(named=True)
    ]
    return [(user, rating, author) for user, _, rating, author in sorted(rows)]


@case("SELECT COUNT(*), MAX(importance_score) FROM agent_memories WHERE memory_type = 'reflection'")
def no_memories_yet(run: ts.Run) -> Rows:
    return [(0, None)]
