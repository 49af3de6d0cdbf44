"""The trail of a run in units of stance, each row with who and what caused it: the ground under attribution.

Rules in stance record contributions that sum to the move. Rules in log odds do so in log odds L: there a contribution
c of L is c·ΔS/ΔL in stance, which sums to ΔS as well. Where ΔL is a rounding error, the slope of
S = 2σ(L) − 1 at the stance before, (1 − S²)/2, represents ΔS/ΔL, whose digits would be noise; where ΔL is exactly 0 the
contributions are 0 in stance.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import belief_moves, first_stances, last_stances
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.posts import roots
from townsquare.core import registry
from townsquare.core.enums import TrailKind, Verdict
from townsquare.core.errors import RecordError
from townsquare.core.frames import collected
from townsquare.core.schema import NONE

CAUSES = {
    int(TrailKind.EXPOSURE): "shown",
    int(TrailKind.OWN): "own posts",
    int(TrailKind.ANCHOR): "anchor",
    int(TrailKind.ARCHIVED): "shown",
    int(TrailKind.RESTORED): "shown",
    int(TrailKind.CLIP): "bounds",
    int(TrailKind.RETRACTED): "taken back",
}
"""What each kind of the trail is called; a record that was archived was so by what was shown."""
LEAST_LOG_ODDS = 1e-9
"""Sum of contributions below which a change of stance over it is noise; the slope of stance in log odds is used."""
_BELIEF = ["step", "agent", "proposition"]


def unit_of(run: Reads) -> str:
    """Return the unit of the trail: ``stance`` or ``log odds``; ``stance`` for a rule that is not registered here."""
    rule = str(setting(run, "beliefs", "rule", default=""))
    return str(registry.get("beliefs", rule).unit) if rule in registry.names("beliefs") else "stance"


def check_trail(run: Reads) -> None:
    """Raise ``RecordError`` for a run that did not record why beliefs moved."""
    if not setting(run, "record", "trail", default=True):
        got = "a run recorded with `record.trail: false`"
        raise RecordError("trail", got=got, do="repeat it with record.trail: true")


def agent_names(run: Reads) -> pl.DataFrame:
    """Return what each agent is called: ``agent``, ``name`` (untrusted; null for persons without one)."""
    agents = run.table("agents").select("agent", pl.col("name").alias("text"))
    return agents.join(run.table("texts").rename({"content": "name"}), on="text", how="left").select("agent", "name")


def called(run: Reads, agent: int) -> str:
    """Return the name of an agent (untrusted), or ``agent 17`` for persons without one."""
    of_agent = agent_names(run).filter(agent=agent)["name"].drop_nulls()
    return str(of_agent[0]) if of_agent.len() else f"agent {agent}"


def changes(run: Reads) -> pl.DataFrame:
    """Return how far each belief moved from the step its owner was born in to the last.

    Returns
    -------
    DataFrame
        One row per person and proposition: ``agent``, ``proposition``, ``start``, ``end``, ``change`` (stance).
    """
    both = first_stances(run).drop("born").join(last_stances(run), on=["agent", "proposition"])
    change = (pl.col("end") - pl.col("start")).alias("change")
    return both.with_columns(change).sort("agent", "proposition").pipe(collected)


def contributions(run: Reads, agent: int | None = None, *, shown: bool = True) -> pl.LazyFrame:
    """Return every row of the trail after its owner joined, in stance, with its cause.

    Parameters
    ----------
    run : Reads
    agent : int, optional
        Only this person's.
    shown : bool
        With what was shown, ``author`` and ``label``; without them exposures need not be read, which in a large run
        takes most of the time.

    Returns
    -------
    LazyFrame
        ``step``, ``agent``, ``proposition``, ``kind`` (:class:`~townsquare.core.enums.TrailKind`), ``cause``
        (``shown``, ``own posts``, ``anchor``, ``bounds``, ``taken back``), ``amount`` (stance), ``recorded`` (in the
        rule's unit);
        ``root`` (post that was passed on; -1 for none), ``author`` (who passed it on, or the person itself; -1),
        ``writer`` (author of the root; -1), ``veracity`` (of the root, ``true``, ``false``, ``unknown``; null),
        ``label`` (shown with it, ``none`` without; null where nothing was shown).

    Raises
    ------
    RecordError
        The run was recorded without a trail.
    """
    check_trail(run)
    of_agent = pl.lit(True) if agent is None else pl.col("agent") == agent
    born = run.table("agents").lazy().select("agent", pl.col("born").cast(pl.Int32))
    joined = run.lazy("trail").filter(of_agent).join(born, on="agent", maintain_order="left")
    trail = joined.filter(pl.col("step") > pl.col("born"))
    trail = trail.select(*_BELIEF, "kind", "rank", "post", pl.col("amount").alias("recorded"))
    rows = _in_stance(run, trail, of_agent)
    if shown:
        columns = "step", "agent", "rank", "post", pl.col("author").alias("passed_on"), label_of().alias("label")
        seen = run.lazy("exposures").filter(of_agent).select(columns)
        rows = rows.join(seen, on=["step", "agent", "rank", "post"], how="left", maintain_order="left")
    return _with_causes(run, rows, shown=shown)


def stance_per_log_odds(total: float, before: float, change: float) -> float:
    """Return what one log odds moved a stance in a step whose contributions sum to ``total``.

    >>> stance_per_log_odds(0.2, 0.0, 0.1), stance_per_log_odds(1e-17, 0.6, 0.0)
    (0.5, 0.32)
    """
    if abs(total) < LEAST_LOG_ODDS:
        return (1.0 - before**2) / 2.0 if total else 0.0
    return change / total


def _in_stance(run: Reads, trail: pl.LazyFrame, of_agent: pl.Expr) -> pl.LazyFrame:
    if unit_of(run) == "stance":
        return trail.with_columns(pl.col("recorded").alias("amount"))
    total = pl.col("recorded").sum().over(_BELIEF)
    slope = (1.0 - pl.col("before") ** 2) / 2.0
    scale = (
        pl.when(total == 0.0).then(0.0)
        .when(total.abs() < LEAST_LOG_ODDS).then(slope)
        .otherwise((pl.col("stance") - pl.col("before")) / total)
    )  # fmt: skip
    rows = trail.join(belief_moves(run).filter(of_agent), on=_BELIEF, maintain_order="left")
    return rows.with_columns((pl.col("recorded") * scale).alias("amount")).drop("stance", "before")


def _with_causes(run: Reads, trail: pl.LazyFrame, *, shown: bool) -> pl.LazyFrame:
    of_root = roots(run).lazy().select("root", pl.col("author").alias("writer"), "veracity")
    rows = trail.join(run.table("posts").lazy().select("post", "root"), on="post", how="left", maintain_order="left")
    cause = pl.col("kind").replace_strict(CAUSES, default="other", return_dtype=pl.String).alias("cause")
    who = pl.when(pl.col("kind") == TrailKind.OWN).then("agent").otherwise("passed_on").fill_null(NONE).alias("author")
    root, writer = pl.col("root").fill_null(NONE), pl.col("writer").fill_null(NONE)
    passed_on, label = ([who], ["label"]) if shown else ([], [])
    columns = [*_BELIEF, "kind", cause, "amount", "recorded", root, *passed_on, writer, "veracity", *label]
    rows = rows.join(of_root, on="root", how="left", maintain_order="left")
    return rows.select(columns)


def label_of() -> pl.Expr:
    """Return what was shown with an exposure, in words: the verdict, ``note``, both, or ``none``.

    A verdict that has no word is its number, as text.
    """
    code = 2 * pl.col("verdict").cast(pl.Int16) + (pl.col("note") >= 0)
    return code.replace_strict(_LABELS, return_dtype=pl.String)


_VERDICTS = {int(verdict): f"verdict {verdict.name.lower()}" if verdict else "" for verdict in Verdict}
_LABELS = {
    2 * verdict + noted: ", ".join(filter(None, (_VERDICTS.get(verdict, str(verdict)), "note" * noted))) or "none"
    for verdict in range(256)
    for noted in (False, True)
}
"""Words by twice the verdict, and 1 more with a note: looking them up takes a tenth of the time of joining texts."""
