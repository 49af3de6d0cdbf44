"""Follow graphs as igraph has them, and random graphs to compare them with.

A number of a network says little alone: where a few accounts have most followers, many follows join equals by chance.
So each stands against a *null model*: graphs in which every account keeps its numbers of followers and of followed, and
nothing else. They are drawn by swapping the ends of pairs of follows (Maslov and Sneppen 2002, *Science* 296).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.core.array_types import Int64
from townsquare.core.enums import AgentKind
from townsquare.core.errors import SettingError
from townsquare.core.extras import library
from townsquare.core.frames import as_words, collected
from townsquare.core.registry import check_known
from townsquare.core.spreadsheets import as_cells

MOST_NULL_FOLLOWS = 500_000
"""Above this many follows no null model is drawn: ``draws`` is 0 and what needs it is NaN."""
SWAPS_IN_ALL = 2_000_000
"""Draws are as many as come to about this many follows, between 10 and 100."""
MOST_STEPS = 6
"""Measures over time are taken at this many steps at most, evenly spread, first and last included."""


@dataclass(frozen=True, slots=True)
class FollowGraph:
    """Who followed whom after a step.

    Attributes
    ----------
    step : int
    agents : (n,) int64 array
        Accounts that had joined, in order; nodes are their places.
    person : (n,) bool array
        Whether each is a person.
    follower, followed : (m,) int64 arrays
        Ends of each follow, as places in ``agents``.
    """

    step: int
    agents: Int64
    person: npt.NDArray[np.bool_]
    follower: Int64
    followed: Int64

    def directed(self) -> Any:
        """Return the graph as a directed graph of igraph."""
        edges = np.stack([self.follower, self.followed], axis=1)
        return library("igraph").Graph(n=self.agents.size, edges=edges, directed=True)

    def of_persons(self) -> FollowGraph:
        """Return persons and the follows between them."""
        new_row = np.cumsum(self.person) - 1
        between = self.person[self.follower] & self.person[self.followed]
        ends = (new_row[self.follower[between]], new_row[self.followed[between]])
        return FollowGraph(self.step, self.agents[self.person], self.person[self.person], *ends)


def standing_follows(run: Reads, step: int) -> pl.DataFrame:
    """Return the follows that stood after a step, sorted: ``follower``, ``followed``, ``since`` (int32, a step)."""
    since = pl.col("step").filter(pl.col("change") > 0).max().alias("since")
    pairs = run.lazy("follows").filter(pl.col("step") <= step).group_by("follower", "followed")
    standing = pairs.agg(pl.col("change").cast(pl.Int64).sum(), since).filter(pl.col("change") > 0).drop("change")
    return standing.sort("follower", "followed").pipe(collected)


def follow_graph(run: Reads, step: int | None = None) -> FollowGraph:
    """Return the follow graph after ``step``, by default the last."""
    step = run.last_step if step is None else step
    accounts = run.table("agents").filter(pl.col("born") <= step).sort("agent")
    agents = accounts["agent"].to_numpy().astype(np.int64)
    pairs = standing_follows(run, step).filter(pl.all_horizontal(pl.col("follower", "followed").is_in(agents)))
    ends = [np.searchsorted(agents, pairs[name].to_numpy()) for name in ("follower", "followed")]
    return FollowGraph(step, agents, (accounts["kind"] == AgentKind.PERSON).to_numpy(), *ends)


def measured_steps(run: Reads, most: int = MOST_STEPS) -> list[int]:
    """Return steps at which networks are measured: all from 0 to the last, or ``most`` evenly spread ones.

    >>> class Long:
    ...     last_step = 10
    >>> measured_steps(Long(), 3)
    [0, 5, 10]
    """
    if run.last_step < 0:
        return []
    return sorted({int(step) for step in np.linspace(0, run.last_step, min(most, run.last_step + 1)).round()})


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Seed the generator of igraph for the calls inside the context."""
    igraph = library("igraph")
    igraph.set_random_number_generator(random.Random(seed))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)


def null_draws(follows: int) -> int:
    """Return how many null graphs are drawn for a graph of so many follows.

    >>> null_draws(3_000), null_draws(40_000), null_draws(10**6), null_draws(0)
    (100, 50, 0, 0)
    """
    if not 1 < follows <= MOST_NULL_FOLLOWS:
        return 0
    return int(np.clip(SWAPS_IN_ALL // follows, 10, 100))


def rewired(graph: Any, draws: int, seed: int = 0) -> Iterator[Any]:
    """Yield random graphs with the degrees of ``graph``; each is valid until the next is requested.

    Ten swaps a follow are tried before the first, and one between one and the next.
    """
    changed = graph.copy()
    for at in range(draws):
        with seeded(seed * 1_000_003 + at):
            changed.rewire(n=(10 if at == 0 else 1) * max(1, changed.ecount()))
        yield changed


def against(value: float, null: list[float]) -> tuple[float, float, float, float, float]:
    """Return a value next to those of null graphs: mean, 2.5% and 97.5% of them, distance in their sd, two-sided p.

    p is the part of null graphs, the value itself counted among them, whose distance from their mean is as large.
    """
    drawn = np.array(null, np.float64)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 2 or np.isnan(value):
        return (float("nan"),) * 5
    center, spread = float(drawn.mean()), float(drawn.std(ddof=1))
    low, high = np.quantile(drawn, [0.025, 0.975])
    further = int((np.abs(drawn - center) >= abs(value - center) - 1e-12).sum())
    z = (value - center) / spread if spread > 0 else float("nan")
    return center, float(low), float(high), z, (1 + further) / (1 + drawn.size)


# The follow graph as it stood after a step, with what was known of each account then, for other tools.


FORMATS = ("graphml", "gexf", "csv")


@dataclass(frozen=True, slots=True)
class GraphAt:
    """A follow graph after ``step``.

    Attributes
    ----------
    step : int
        Follows of steps up to this one are in it, this one included.
    nodes : DataFrame
        One row per account that had joined: ``agent`` (int32, its id), ``name`` ("" for none), ``kind`` (person or
        source), ``born`` (step), ``followers`` and ``followed`` (counts), a column for each trait (null where not
        answered), and ``stance:<proposition>`` and ``confidence:<proposition>`` (null for sources).
    follows : DataFrame
        ``follower`` sees the posts of ``followed``, both int32, ``since`` the step of the follow; by follower and
        followed.
    """

    step: int
    nodes: pl.DataFrame
    follows: pl.DataFrame


def graph_at(run: Reads, step: int | None = None) -> GraphAt:
    """Return the follow graph after ``step``; after the last one recorded if it is not given.

    Raises
    ------
    SettingError
        The run has no such step.
    """
    last = run.last_step
    step = last if step is None else step
    if not 0 <= step <= last:
        raise SettingError("step", got=str(step), allowed=f"0 to {last}, the steps that are recorded")
    follows = standing_follows(run, step)
    return GraphAt(step, _nodes(run, step, follows), follows)


def _nodes(run: Reads, step: int, follows: pl.DataFrame) -> pl.DataFrame:
    texts = run.table("texts").select(pl.col("text").alias("name"), pl.col("content"))
    kinds = {int(kind): kind.name.lower() for kind in AgentKind}
    there = run.table("agents").filter(pl.col("born") <= step).select("agent", "name", "kind", "born")
    named = there.join(texts, on="name", how="left")
    nodes = named.with_columns(name=pl.col("content").fill_null(""), kind=as_words("kind", kinds)).drop("content")
    for end, called in (("followed", "followers"), ("follower", "followed")):
        counts = follows.group_by(pl.col(end).alias("agent")).len(called)
        nodes = nodes.join(counts, on="agent", how="left").with_columns(pl.col(called).fill_null(0).cast(pl.Int64))
    for columns in (_traits(run), _beliefs(run, step)):
        if columns.height:
            nodes = nodes.join(columns, on="agent", how="left")
    return nodes.sort("agent")


def _traits(run: Reads) -> pl.DataFrame:
    values = run.table("trait_values")
    answers = run.table("traits").join(values, on=["trait", "value"]).select("agent", "label", "answer")
    order = ["agent", *values["label"].unique(maintain_order=True)]
    wide = answers.pivot(on="label", index="agent", values="answer")
    return wide.select([name for name in order if name in wide.columns])


def _beliefs(run: Reads, step: int) -> pl.DataFrame:
    names = run.table("propositions").select("proposition", pl.col("name"))
    beliefs = run.lazy("beliefs").filter(pl.col("step") == step).pipe(collected).join(names, on="proposition")
    wide = beliefs.select("agent").unique()
    for name in names["name"]:
        columns = [pl.col(column).alias(f"{column}:{name}") for column in ("stance", "confidence")]
        wide = wide.join(beliefs.filter(pl.col("name") == name).select("agent", *columns), on="agent", how="left")
    return wide


def write_graph(graph: GraphAt, path: Path, format: str, *, safe_cells: bool = False) -> list[Path]:
    """Write a graph for other tools, and return the files.

    Parameters
    ----------
    path : Path
        Replaced if it is there. For ``csv`` it is the edge list, and the nodes go beside it, into ``<name>-nodes.csv``.
    format : str
        ``graphml`` or ``gexf`` (through networkx: some 2 KB of memory a follow, so for up to a few million follows),
        or ``csv``.
    safe_cells : bool
        Put an apostrophe before texts that a spreadsheet would run as a formula. Of ``csv`` only.

    Raises
    ------
    SettingError
        For another format.
    """
    check_known("--to", format, FORMATS, SettingError)
    if format == "csv":
        nodes_path = path.with_name(f"{path.stem}-nodes{path.suffix}")
        kinds = graph.nodes.select(followed="agent", followed_kind="kind")
        follows = graph.follows.join(kinds, on="followed", how="left", maintain_order="left")
        as_cells(follows, safe=safe_cells).write_csv(path)
        as_cells(graph.nodes, safe=safe_cells).write_csv(nodes_path)
        return [path, nodes_path]
    networkx = library("networkx", f"a follow graph as {format}")

    made = networkx.DiGraph(step=graph.step)
    made.add_nodes_from(_attributes(graph.nodes))
    made.add_edges_from((str(a), str(b), {"since": since}) for a, b, since in graph.follows.iter_rows())
    write = networkx.write_graphml if format == "graphml" else networkx.write_gexf
    write(made, path)
    return [path]


def _attributes(nodes: pl.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield id and attributes of each node without empty ones; a name becomes the label."""
    for row in nodes.iter_rows(named=True):
        known = {name: _printable(value) for name, value in row.items() if value is not None and name != "agent"}
        yield str(row["agent"]), {"label": known.pop("name") or str(row["agent"]), **known}


def _printable(value: Any) -> Any:
    """Return text without the control characters that XML cannot hold, however they are written."""
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() or letter in "\t\n" else "\ufffd" for letter in value)
