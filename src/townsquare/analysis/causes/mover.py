"""Who moved most, and the posts behind it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from townsquare.analysis.beliefs import names, statements
from townsquare.analysis.causes.contributions import agent_names, called, changes, contributions
from townsquare.analysis.contract import Reads, columns, setting
from townsquare.core.enums import TrailKind
from townsquare.core.frames import ORDERED, collected
from townsquare.core.schema import NONE
from townsquare.core.words import count, printable, significant

MOST_POSTS = 3
LONGEST_POST = 66


class MovingPost(NamedTuple):
    """A text that moved somebody: the sum of its contributions in stance, times shown, who wrote it. Untrusted."""

    text: str
    amount: float
    shown: int
    by: str


class Mover(NamedTuple):
    """The person whose stance changed most between its first and its last step.

    ``called`` is its name, ``statement`` what the stance is about. ``posts`` are the texts that moved it most in the
    direction of the change, largest first; empty where the run recorded no trail. Names and texts are untrusted.
    """

    agent: int
    called: str
    statement: str
    start: float
    end: float
    posts: tuple[MovingPost, ...] = ()

    @property
    def change(self) -> float:
        """The recorded change of stance."""
        return self.end - self.start

    def lines(self, where: str = "") -> list[str]:
        """Return the person whose stance changed most, and the posts that changed it, one per line."""
        start, end, change = (significant(value, 2, signed=True) for value in (self.start, self.end, self.change))
        about = f"“{printable(self.statement.removesuffix('.'), 80)}”"
        who = f"{printable(self.called, 60)}{where}"
        head = f"Largest change of stance: {who}, over the whole run from {start} to {end} ({change}) on {about}"
        posts = [
            f"  {significant(post.amount, 2, signed=True)} by {count(post.shown, 'exposure')} to posts with the text “"
            f"{printable(post.text, LONGEST_POST)}” by {printable(post.by, 40)}"
            for post in self.posts
        ]
        return [f"{head}{'. Largest contributions (stance) of posts in its direction:' if posts else '.'}", *posts]


def largest_change(run: Reads) -> Mover | None:
    """Return the person who moved most, without the posts behind it; None if nobody moved."""
    size = pl.col("change").abs()
    moved = changes(run).filter(pl.col("change") != 0).sort(size, descending=True, maintain_order=True)
    if not moved.height:
        return None
    row = moved.row(0, named=True)
    name = dict(names(run).select("proposition", "name").rows())[row["proposition"]]
    return Mover(row["agent"], called(run, row["agent"]), statements(run)[name], row["start"], row["end"])


MOVERS = columns("agent:int called:str statement:str start end")


def movers(run: Reads) -> pl.DataFrame:
    """Return :func:`largest_change` as a row of :class:`Mover` without posts; none if nobody moved."""
    moved = largest_change(run)
    return pl.DataFrame([moved[: len(MOVERS)]] if moved else [], MOVERS, orient="row")


def with_posts(run: Reads, moved: Mover) -> Mover:
    """Return the same person with the posts that moved it most, equal texts taken together."""
    if not setting(run, "record", "trail", default=True):
        return moved
    number = next(number for number, name, text in names(run).rows() if moved.statement in (text, name))
    shown = (pl.col("kind") == TrailKind.EXPOSURE).sum().cast(pl.Int64).alias("shown")
    of_posts = pl.col("cause") == "shown", pl.col("proposition") == number, pl.col("root") != NONE
    rows = contributions(run, moved.agent, shown=False).filter(*of_posts)
    sums = rows.group_by("root", "writer").agg(pl.col("amount").sum(), shown).pipe(collected, ORDERED)
    texts = run.table("posts").select(pl.col("post").alias("root"), "text").join(run.table("texts"), on="text")
    by = pl.coalesce("name", pl.format("agent {}", "agent")).alias("by")
    writers = agent_names(run).select(pl.col("agent").alias("writer"), by)
    named = sums.join(texts, on="root").join(writers, on="writer", how="left")
    several = pl.format("{} agents", pl.n_unique("writer"))
    by = pl.when(pl.n_unique("writer") == 1).then(pl.first("by")).otherwise(several)
    by_text = named.group_by("content").agg(pl.sum("amount"), pl.sum("shown"), by)
    sign = 1.0 if moved.change > 0 else -1.0
    toward = by_text.filter(sign * pl.col("amount") > 0)
    most = toward.sort(pl.col("amount").abs(), "content", descending=[True, False]).head(MOST_POSTS)
    return moved._replace(posts=tuple(map(MovingPost._make, most.select("content", "amount", "shown", "by").rows())))
