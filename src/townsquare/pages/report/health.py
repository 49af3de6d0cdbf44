"""Figure 4: whether the run can be believed."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from townsquare.analysis.beliefs import belief_course, names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import belief_movement, diagnostics, participation, refusals
from townsquare.analysis.model_calls import calls_by_server, calls_in_short, model_calls, tokens_of_turns
from townsquare.analysis.posts import per
from townsquare.core.schema import TABLES
from townsquare.core.text_table import Table, table
from townsquare.pages.report.axes import amounts_across, bars, by_proposition, course
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES
from townsquare.pages.report.words import listed, number, percent, short, small

TITLE = "Health: can this run be believed?"


def health_section(run: Reads) -> Section:
    """The figure."""
    steps = participation(run)
    if not steps.height:
        return Section("health", TITLE, ["No step was recorded."])
    moves, refused, asked = belief_movement(run), refusals(run), model_calls(run)
    spread = spread_course(belief_course(run))
    return Section(
        "health",
        TITLE,
        says=[
            " ".join(filter(None, (_activity(steps), _movement(moves), _overshoot(moves), _refused(refused, steps)))),
            *_asked(run),
        ],
        notes=[f"Lines are drawn for the first {len(SERIES)} propositions."] if names(run).height > len(SERIES) else [],
        figures=[
            *_belief_figures(moves, spread, run.last_step),
            *_action_figures(steps, refused, run.last_step),
            *_step_figures(diagnostics(run), run.last_step),
        ],
        tables=[*_tables(steps, moves, refused), *_call_tables(run, asked)],
    )


def _asked(run: Reads) -> list[str]:
    """What was asked of a language model, and whether so much of it failed that the run is not to be believed."""
    asked = calls_in_short(run)
    if not asked:
        return []
    tokens = f"{number(asked['tokens_in'])} tokens in and {number(asked['tokens_out'])} out"
    failed = f"{number(asked['failed'])} calls failed"
    sentence = f"A language model was asked {number(asked['asked'])} times ({tokens}); {failed}"
    sentence += f", which left agents silent {number(asked['silent_agents'])} times." if asked["failed"] else "."
    if asked["unhealthy"]:
        limit = percent(float(setting(run, "serving", "unhealthy_above", default=0.1)))
        sentence += f" That is {percent(asked['failed'] / asked['asked'])}, more than {limit}: the run is unhealthy."
    return [sentence, *_turns(tokens_of_turns(run))]


def _turns(turns: pl.DataFrame) -> list[str]:
    """How much agents were told."""
    if turns.is_empty():
        return []
    agents = int(turns["agents"].sum())

    def mean(name: str) -> float:
        return float((turns[name] * turns["agents"]).sum() / agents)

    sentence = (
        f"An agent was told {number(round(mean('counted')))} tokens in a step (characters by a fixed rule; at most "
    )
    sentence += f"{number(int(turns['most'].max()))})"  # type: ignore[arg-type]
    if not turns["tokens_in"].is_null().any():
        sentence += (
            f", or {number(round(mean('tokens_in')))} in and {number(round(mean('tokens_out')))} out as servers counted"
        )
    sentence += f". {small(mean('shown'))} rows of a feed stood in it"
    if out := mean("comments_out") + mean("posts_out"):
        sentence += f"; {small(out)} found no room and are no exposures"
    return [sentence + "."]


def _rounded(value: float | None) -> str:
    return number(None if value is None else round(value))


def _call_tables(run: Reads, asked: pl.DataFrame) -> list[Table]:
    if asked.is_empty():
        return []
    tables = [
        table(
            "Calls of a language model", asked, (str, "purpose", "outcome"), (number, "calls"), (percent, "share"),
            (number, "tokens in=tokens_in", "tokens out=tokens_out"),
        )
    ]  # fmt: skip
    servers, turns = calls_by_server(run), tokens_of_turns(run)
    if servers.height > 1:
        columns = (str, "server"), (number, "calls"), (percent, "share"), (number, "failed", "tried again=again")
        tables.append(table("Calls by server", servers, *columns, (small, "seconds, median=median", "95 % within=p95")))
    if turns.height:
        by_step = table(
            "What an agent was told in a step", turns, (number, "step", "agents"),
            (_rounded, "tokens, counted=counted"), (number, "most"),
            (_rounded, "in, by servers=tokens_in", "out=tokens_out"),
            (small, "rows=shown", "texts cut=shortened", "comments out=comments_out"),
        )  # fmt: skip
        tables.append(by_step)
    return tables


def spread_course(beliefs: pl.DataFrame) -> pl.DataFrame:
    """Spread left since the start, from the frame of :func:`~townsquare.analysis.beliefs.belief_course`.

    Returns
    -------
    DataFrame
        ``proposition``, ``name``, ``step``, ``kept`` (sd over that of the first step; NaN if all started alike).
    """
    first = pl.col("sd").first().over("proposition")
    left = pl.when(first > 1e-12).then(pl.col("sd") / first).otherwise(float("nan"))
    return beliefs.sort("proposition", "step").select("proposition", "name", "step", left.alias("kept"))


def _belief_figures(moves: pl.DataFrame, spread: pl.DataFrame, last: int) -> list[Figure]:
    figures = []
    if moves.height:
        caption = "Movement: mean size of a person's move in each step"
        gains = by_proposition(moves, "gain_per_person")
        figures.append(course("movement", caption, *gains, last, "stance per person"))
    if spread.height:
        half = (0.5, "half: collapse")
        caption, left = "Spread of stances kept since the start", by_proposition(spread, "kept")
        figures.append(course("kept", caption, *left, last, "sd / sd at the start", top=1.05, level=half))
    return figures


def _action_figures(steps: pl.DataFrame, refused: pl.DataFrame, last: int) -> list[Figure]:
    shares = steps.with_columns(
        (pl.col("refused") / (pl.col("refused") + pl.col("accepted"))).alias("refused_share"),
        per(pl.col("accepted"), pl.col("online")).alias("each"),
    )

    def in_percent(axes: Axes) -> None:
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))

    lines = {"silent_share": ("ink", "silent, of those online"), "refused_share": ("fourth", "refused, of actions")}
    silent, acted = "Silent people and refused actions", "Accepted actions in each step"
    figures = [
        course("silence", silent, shares, lines, last, "share", top=None, finish=in_percent),
        course("actions", acted, shares, {"each": ("ink", "")}, last, "actions per person online"),
    ]
    if refused.height > 1:
        height = max(150, 70 + 30 * refused.height)
        figures.append(Figure("refused", "Refused actions by reason", refused, _draw_refused, height=height))
    return figures


def _step_figures(steps: pl.DataFrame, last: int) -> list[Figure]:
    """A panel for each diagnostic column of the table of steps, named by its meaning and unit."""
    return [
        course(
            f"step-{column.name.replace('_', '-')}", f"{column.meaning[0].upper()}{column.meaning[1:]}",
            steps.select("step", column.name), {column.name: ("ink", "")}, last, column.unit,
        )
        for column in TABLES["steps"].recorded
        if column.since > 1 and steps[column.name].count()
    ]  # fmt: skip


def _draw_refused(axes: Axes, refused: pl.DataFrame) -> None:
    bars(axes, refused["reason"].to_list(), refused["actions"], ["fourth"] * refused.height)
    amounts_across(axes, "refused actions", whole=True)


def _activity(steps: pl.DataFrame) -> str:
    online, acting, accepted = (int(steps[name].sum()) for name in ("online", "acting", "accepted"))
    if not online:
        return "Nobody was ever online."
    if not accepted:
        return "Nobody acted: everyone online was silent in every step."
    silent, each = percent(1 - acting / online), small(accepted / online)
    return f"In an average step {silent} of those online did nothing, and there were {each} accepted actions for each."


def _movement(moves: pl.DataFrame) -> str:
    if not moves.height:
        return ""
    if not moves["gain"].sum():
        return "No belief moved."
    ends = (moves["step"].min(), moves["step"].max())
    begin, end = (small(float(str(moves.filter(pl.col("step") == step)["gain_per_person"].mean()))) for step in ends)
    return f"A stance moved by {begin} on average in the first step and by {end} in the last."


def _overshoot(moves: pl.DataFrame) -> str:
    counted = moves["overshoots"].drop_nulls()
    if not counted.len():
        return "Overshoot cannot be told: there is no trail in units of stance." if moves.height else ""
    n, moved = int(counted.sum()), int(moves["moved"].sum())
    if not n:
        return "No move went beyond what the person had seen."
    return f"{number(n)} of {number(moved)} moves overshot, that is, went beyond everything the person had seen."


def _refused(refused: pl.DataFrame, steps: pl.DataFrame) -> str:
    if not refused.height:
        return "No action was refused." if steps["accepted"].sum() else ""
    total, reasons = number(int(refused["actions"].sum())), refused.select("reason", "actions").rows()
    if len(reasons) == 1:
        return f"{total} actions were refused, all as {reasons[0][0]}."
    return f"{total} actions were refused, mostly as {listed([f'{why} ({number(n)})' for why, n in reasons[:3]])}."


def _tables(steps: pl.DataFrame, moves: pl.DataFrame, refused: pl.DataFrame) -> list[Table]:
    columns = (number, "step", "online"), (percent, "silent=silent_share"), (number, "shown=exposures", "accepted")
    tables = [table("Steps", steps, *columns, (number, "refused"))]
    for _, part in sorted(moves.group_by("proposition"), key=lambda item: item[0]):
        caption = f"{short(str(part['name'][0]))}: moves of stance"
        sizes = (small, "sum of moves=gain", "a person=gain_per_person")
        tables.append(
            table(caption, part.sort("step"), (number, "step", "moved"), sizes, (number, "overshot=overshoots"))
        )
    if refused.height:
        tables.append(table("Refused actions", refused, (str, "reason"), (number, "actions"), (percent, "share")))
    return tables
