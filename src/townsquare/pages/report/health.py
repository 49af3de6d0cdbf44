"""Figure: checks of the run: activity, belief change, refused actions, calls of a language model."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import belief_course, names
from townsquare.analysis.clock import Clock, clock_of, over_whole_run
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import REASONS, belief_movement, diagnostics, participation, refusals
from townsquare.analysis.model_calls import calls_by_server, calls_in_short, model_calls, tokens_of_turns
from townsquare.analysis.posts import per
from townsquare.core.schema import TABLES
from townsquare.core.text_table import Table, table
from townsquare.core.words import capital, listed, number, percent, short, small
from townsquare.pages.report.axes import amounts_across, bars, by_proposition, course
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section, with_statements
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES

TITLE = "Health: checks of this run"


def health_section(run: Reads) -> Section:
    """Return the section on the health of a run."""
    steps = participation(run)
    if not steps.height:
        return Section("health", TITLE, ["No step was recorded."])
    moves, asked = with_statements(run, belief_movement(run)), model_calls(run)
    refused = refusals(run).with_columns(pl.col("reason").replace(REASONS))
    spread = spread_course(with_statements(run, belief_course(run)))
    clock = clock_of(run)
    sentences = _activity(steps, clock), _movement(moves), _overshoot(moves), _refused(refused, steps)
    figures = [*_belief_figures(moves, spread, clock), *_action_figures(steps, refused, clock)]
    return Section(
        "health", TITLE, says=[" ".join(filter(None, sentences)), *_asked(run)],
        notes=[f"Figures show the first {len(SERIES)} propositions."] if names(run).height > len(SERIES) else [],
        figures=[*figures, *_step_figures(diagnostics(run), clock)],
        tables=[*_tables(steps, moves, refused), *_call_tables(run, asked)],
    )  # fmt: skip


def _asked(run: Reads) -> list[str]:
    """Return how many calls a language model got, and whether too many of them failed."""
    asked = calls_in_short(run)
    if not asked:
        return []
    tokens = f"{number(asked['tokens_in'])} tokens in and {number(asked['tokens_out'])} out"
    failed = f"{number(asked['failed'])} failed"
    sentence = f"{number(asked['asked'])} language model calls ({tokens}); {failed}"
    sentence += f", so agents missed {number(asked['silent_agents'])} turns." if asked["failed"] else "."
    if asked["unhealthy"]:
        limit = percent(float(setting(run, "serving", "unhealthy_above", default=0.1)))
        rate = percent(asked["failed"] / asked["asked"])
        sentence += f" The failure rate of {rate} exceeds {limit}: do not rely on this run."
    return [sentence, *_turns(tokens_of_turns(run))]


def _turns(turns: pl.DataFrame) -> list[str]:
    """Return how long the prompts of agents were."""
    if turns.is_empty():
        return []
    agents = int(turns["agents"].sum())

    def mean(name: str) -> float:
        return float((turns[name] * turns["agents"]).sum() / agents)

    sentence = f"A prompt had {number(round(mean('counted')))} tokens on average (estimated from characters; maximum "
    sentence += f"{number(int(turns['most'].max()))})"  # type: ignore[arg-type]
    if not turns["tokens_in"].is_null().any():
        into, out_of = (number(round(mean(name))) for name in ("tokens_in", "tokens_out"))
        sentence += f", or {into} tokens in and {out_of} out as counted by servers"
    sentence += f". The prompt contained {small(mean('shown'))} rows of the feed"
    if out := mean("comments_out") + mean("posts_out"):
        sentence += f"; {small(out)} did not fit and do not count as exposures"
    return [sentence + "."]


def _rounded(value: float | None) -> str:
    return number(None if value is None else round(value))


def _call_tables(run: Reads, asked: pl.DataFrame) -> list[Table]:
    if asked.is_empty():
        return []
    calls, tokens = ((number, "calls"), (percent, "share")), (number, "tokens in=tokens_in", "tokens out=tokens_out")
    tables = [table("Language model calls", asked, (str, "purpose", "outcome"), *calls, tokens)]
    servers, turns = calls_by_server(run), tokens_of_turns(run)
    if servers.height > 1:
        more = (number, "failed", "retries=again"), (small, "median seconds=median", "95th percentile=p95")
        tables.append(table("Calls by server", servers, (str, "server"), *calls, *more))
    if turns.height:
        tables.append(table(
            "Prompts of agents by step", turns, (number, "step", "agents"),
            (_rounded, "tokens, estimated=counted"), (number, "maximum=most"),
            (_rounded, "tokens in, by server=tokens_in", "tokens out=tokens_out"),
            (small, "feed rows=shown", "texts truncated=shortened", "comments omitted=comments_out"),
        ))  # fmt: skip
    return tables


def spread_course(beliefs: pl.DataFrame) -> pl.DataFrame:
    """Return SD of stances over initial SD, from the frame of :func:`~townsquare.analysis.beliefs.belief_course`.

    Returns
    -------
    DataFrame
        ``proposition``, ``name``, ``step``, ``kept`` (sd over that of the first step; NaN if all started alike).
    """
    first = pl.col("sd").first().over("proposition")
    left = pl.when(first > 1e-12).then(pl.col("sd") / first).otherwise(float("nan"))
    return beliefs.sort("proposition", "step").select("proposition", "name", "step", left.alias("kept"))


def _belief_figures(moves: pl.DataFrame, spread: pl.DataFrame, clock: Clock) -> list[Figure]:
    figures = []
    if moves.height:
        caption = "Belief change: mean absolute change of stance per step"
        gains = by_proposition(moves, "gain_per_person")
        figures.append(course("movement", caption, *gains, clock, "mean |change of stance|"))
    if spread.height:
        half = (0.5, "half of the initial SD")
        caption, left = "SD of stances ÷ initial SD", by_proposition(spread, "kept")
        figures.append(course("kept", caption, *left, clock, "SD ÷ initial SD", top=1.05, level=half))
    return figures


def _action_figures(steps: pl.DataFrame, refused: pl.DataFrame, clock: Clock) -> list[Figure]:
    refused_share = pl.col("refused") / (pl.col("refused") + pl.col("accepted"))
    shares = steps.with_columns(refused_share=refused_share, each=per(pl.col("accepted"), pl.col("online")))

    def in_percent(axes: Chart) -> None:
        axes.set(ylim=(-0.02, 1.02))
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")

    lines = {
        "silent_share": ("ink", "people online without an action"),
        "refused_share": ("fourth", "refused among actions attempted"),
    }
    silent, acted = "People without an action, refused actions", "Accepted actions per step"
    figures = [
        course("silence", silent, shares, lines, clock, "proportion", top=None, finish=in_percent),
        course("actions", acted, shares, {"each": ("ink", "")}, clock, "actions per person online"),
    ]
    if refused.height > 1:
        height = max(150, 70 + 30 * refused.height)
        figures.append(Figure("refused", "Refused actions by reason", refused, _draw_refused, height=height))
    return figures


def _step_figures(steps: pl.DataFrame, clock: Clock) -> list[Figure]:
    """Return a panel for each diagnostic column of the table of steps, named by its meaning and unit."""
    return [
        course(
            f"step-{column.name.replace('_', '-')}", capital(column.meaning),
            steps.select("step", column.name), {column.name: ("ink", "")}, clock, column.unit,
        )
        for column in TABLES["steps"].recorded
        if column.since > 1 and steps[column.name].count()
    ]  # fmt: skip


def _draw_refused(axes: Chart, refused: pl.DataFrame) -> None:
    bars(axes, refused["reason"].to_list(), refused["actions"], ["fourth"] * refused.height)
    amounts_across(axes, "refused actions", whole=True)


def _activity(steps: pl.DataFrame, clock: Clock) -> str:
    online, acting, accepted = (int(steps[name].sum()) for name in ("online", "acting", "accepted"))
    if not online:
        return "Nobody was ever online."
    if not accepted:
        return "Nobody took an action in any step."
    silent, each = percent(1 - acting / online), small(accepted / online)
    share = f"in {silent} of all turns (a person online in a step), the person took no action"
    return capital(f"{over_whole_run(clock)}{share}; there were {each} accepted actions per turn.")


def _movement(moves: pl.DataFrame) -> str:
    if not moves.height:
        return ""
    if not moves["gain"].sum():
        return "No belief changed."
    ends = (moves["step"].min(), moves["step"].max())
    begin, end = (small(float(str(moves.filter(pl.col("step") == step)["gain_per_person"].mean()))) for step in ends)
    return f"The mean absolute change of stance was {begin} in the first step and {end} in the last."


def _overshoot(moves: pl.DataFrame) -> str:
    counted = moves["overshoots"].drop_nulls()
    if not counted.len():
        unknown = "Whether changes overshot the posts shown is unknown: contributions are recorded in log odds."
        return unknown if moves.height else ""
    n, moved = int(counted.sum()), int(moves["moved"].sum())
    if not n:
        return "No posts shown moved a person beyond its previous stance and all stances shown."
    beyond = "the posts shown moved the person beyond its previous stance and all stances shown"
    return f"{number(n)} of {number(moved)} belief changes overshot: {beyond}."


def _refused(refused: pl.DataFrame, steps: pl.DataFrame) -> str:
    if not refused.height:
        return "No action was refused." if steps["accepted"].sum() else ""
    total, reasons = number(int(refused["actions"].sum())), refused.select("reason", "actions").rows()
    if len(reasons) == 1:
        return f"{total} actions were refused, all for the reason “{reasons[0][0]}”."
    most = listed([f"{why} ({number(n)})" for why, n in reasons[:3]])
    return f"{total} actions were refused. Most frequent reasons: {most}."


def _tables(steps: pl.DataFrame, moves: pl.DataFrame, refused: pl.DataFrame) -> list[Table]:
    columns = (number, "step", "online"), (percent, "without an action=silent_share"), (number, "exposures", "accepted")
    tables = [table("Steps", steps, *columns, (number, "refused"))]
    for _, part in sorted(moves.group_by("proposition"), key=lambda item: item[0]):
        caption = f"{short(str(part['name'][0]))}: changes of stance"
        sizes = (small, "sum of |changes|=gain", "mean |change|=gain_per_person"), (number, "overshot=overshoots")
        tables.append(table(caption, part.sort("step"), (number, "step", "changed=moved"), *sizes))
    if refused.height:
        tables.append(table("Refused actions", refused, (str, "reason"), (number, "actions"), (percent, "share")))
    return tables
