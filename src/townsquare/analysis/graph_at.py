"""The follow graph as it stood after a step, with what was known of each account then, for other tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.errors import SettingError
from townsquare.lazy_rows import collected
from townsquare.registry import did_you_mean
from townsquare.schema import AgentKind

FORMATS = ("graphml", "gexf", "csv")


@dataclass(frozen=True, slots=True)
class GraphAt:
    """A follow graph after ``step``.

    Attributes
    ----------
    step : int
        Follows of steps up to this one are in it, this one included.
    nodes : DataFrame
        One row an account that had joined: ``agent`` (int32, its id), ``name`` ("" for none), ``kind`` (person or
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
    """The follow graph after ``step``; after the last one recorded if it is not given.

    Raises
    ------
    SettingError
        The run has no such step.
    """
    last = run.last_step
    step = last if step is None else step
    if not 0 <= step <= last:
        raise SettingError("step", got=str(step), allowed=f"0 to {last}, the steps that are recorded")
    events = run.lazy("follows").filter(pl.col("step") <= step)
    pair = ["follower", "followed"]
    # The last event of a pair says whether it stands; within a step, events stay in the order of the record.
    standing = (
        events.sort("step", maintain_order=True)
        .group_by(pair)
        .agg(pl.col("change").last(), pl.col("step").last().alias("since"))
    )
    follows = standing.filter(pl.col("change") > 0).drop("change").sort(pair).pipe(collected)
    return GraphAt(step, _nodes(run, step, follows), follows)


def _nodes(run: Reads, step: int, follows: pl.DataFrame) -> pl.DataFrame:
    texts = run.table("texts").select(pl.col("text").alias("name"), pl.col("content"))
    kinds = {int(kind): kind.name.lower() for kind in AgentKind}
    nodes = (
        run.table("agents")
        .filter(pl.col("born") <= step)
        .select("agent", "name", "kind", "born")
        .join(texts, on="name", how="left")
        .with_columns(name=pl.col("content").fill_null(""), kind=pl.col("kind").replace_strict(kinds))
        .drop("content")
    )
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
    held = run.lazy("beliefs").filter(pl.col("step") == step).pipe(collected).join(names, on="proposition")
    parts = [
        held.filter(pl.col("name") == name).select(
            "agent", pl.col("stance").alias(f"stance:{name}"), pl.col("confidence").alias(f"confidence:{name}")
        )
        for name in names["name"]
    ]
    wide = parts[0] if parts else held.select("agent")
    for part in parts[1:]:
        wide = wide.join(part, on="agent", how="left")
    return wide


def write_graph(graph: GraphAt, path: Path, format: str) -> list[Path]:
    """Write a graph for other tools, and return the files.

    Parameters
    ----------
    path : Path
        Replaced if it is there. For ``csv`` it is the edge list, and the nodes go beside it, into ``<name>-nodes.csv``.
    format : str
        ``graphml`` or ``gexf`` (through networkx: some 2 KB of memory a follow, so for up to a few million follows),
        or ``csv``.

    Raises
    ------
    SettingError
        For another format.
    """
    if format not in FORMATS:
        raise SettingError("--to", got=repr(format), allowed=", ".join(FORMATS), do=did_you_mean(format, FORMATS))
    if format == "csv":
        beside = path.with_name(f"{path.stem}-nodes{path.suffix}")
        graph.follows.write_csv(path)
        graph.nodes.write_csv(beside)
        return [path, beside]
    import networkx

    made = networkx.DiGraph(step=graph.step)
    made.add_nodes_from(_attributes(graph.nodes))
    made.add_edges_from((str(a), str(b), {"since": since}) for a, b, since in graph.follows.iter_rows())
    write = networkx.write_graphml if format == "graphml" else networkx.write_gexf
    write(made, path)
    return [path]


def _attributes(nodes: pl.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Id and attributes of each node. Empty ones are left out; a name is its label, as viewers of graphs expect."""
    for row in nodes.iter_rows(named=True):
        known = {name: _printable(value) for name, value in row.items() if value is not None and name != "agent"}
        yield str(row["agent"]), {"label": known.pop("name") or str(row["agent"]), **known}


def _printable(value: Any) -> Any:
    """Text without the control characters that XML cannot hold, however they are written."""
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() or letter in "\t\n" else "\ufffd" for letter in value)
