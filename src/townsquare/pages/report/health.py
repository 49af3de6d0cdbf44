"""Figure 4: whether the run can be believed."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import participation, refusals
from townsquare.analysis.model_calls import calls_by_server, model_calls, tokens_of_turns
from townsquare.analysis.posts import per
from townsquare.pages.report.axes import NICE, from_zero, line, over_steps, reference
from townsquare.pages.report.section import Format, Panel, Section, Table, table_of
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import SERIES, colour
from townsquare.pages.report.words import listed, number, percent, small

TITLE = "Health: can this run be believed?"


def health_section(run: Reads, course: pl.DataFrame, moves: pl.DataFrame) -> Section:
    """The figure, from a run, its ``belief_course`` and its ``belief_movement``."""
    steps = participation(run)
    if not steps.height:
        return Section("health", TITLE, ["No step was recorded."])
    refused, spread, asked = refusals(run), spread_course(course), model_calls(run)
    return Section(
        "health",
        TITLE,
        says=[
            " ".join(filter(None, (_activity(steps), _movement(moves), _overshoot(moves), _refused(refused, steps)))),
            *_asked(run, asked),
        ],
        notes=[f"Lines are drawn for the first {len(SERIES)} propositions."] if names(run).height > len(SERIES) else [],
        panels=[*_belief_panels(moves, spread, run.last_step), *_action_panels(steps, refused, run.last_step)],
        tables=[*_tables(steps, moves, refused), *_call_tables(run, asked)],
    )


def _asked(run: Reads, asked: pl.DataFrame) -> list[str]:
    """What was asked of a language model, and whether so much of it failed that the run is not to be believed."""
    if asked.is_empty():
        return []
    calls = int(asked["calls"].sum())
    failed = asked.filter(pl.col("outcome") != "ok")
    lost = int(failed["calls"].sum())
    silent = int(failed.filter(pl.col("purpose").is_in(["react", "post"]))["agents"].sum())
    tokens = f"{number(int(asked['tokens_in'].sum()))} tokens in and {number(int(asked['tokens_out'].sum()))} out"
    said = f"A language model was asked {number(calls)} times ({tokens}); {number(lost)} calls failed"
    said += f", which left agents silent {number(silent)} times." if lost else "."
    limit = float(setting(run, "serving", "unhealthy_above", default=0.1))
    if lost > limit * calls:
        said += f" That is {percent(lost / calls)}, more than {percent(limit)}: the run is unhealthy."
    return [said, *_turns(tokens_of_turns(run))]


def _turns(turns: pl.DataFrame) -> list[str]:
    """How much agents were told."""
    if turns.is_empty():
        return []
    agents = int(turns["agents"].sum())

    def mean(name: str) -> float:
        return float((turns[name] * turns["agents"]).sum() / agents)

    said = f"An agent was told {number(round(mean('counted')))} tokens in a step (characters by a fixed rule; at most "
    said += f"{number(int(turns['most'].max()))})"  # type: ignore[arg-type]
    if not turns["tokens_in"].is_null().any():
        said += (
            f", or {number(round(mean('tokens_in')))} in and {number(round(mean('tokens_out')))} out as servers counted"
        )
    said += f". {small(mean('shown'))} rows of a feed stood in it"
    if out := mean("comments_out") + mean("posts_out"):
        said += f"; {small(out)} found no room and are no exposures"
    return [said + "."]


def _rounded(value: float | None) -> str:
    return number(None if value is None else round(value))


def _call_tables(run: Reads, asked: pl.DataFrame) -> list[Table]:
    if asked.is_empty():
        return []
    columns: list[tuple[str, str, Format]] = [
        ("purpose", "purpose", str),
        ("outcome", "outcome", str),
        ("calls", "calls", number),
        ("share", "share", percent),
        ("tokens in", "tokens_in", number),
        ("tokens out", "tokens_out", number),
    ]
    tables = [table_of("Calls of a language model", asked, columns, words=2)]
    servers = calls_by_server(run)
    if servers.height > 1:
        by_server: list[tuple[str, str, Format]] = [
            ("server", "server", str),
            ("calls", "calls", number),
            ("share", "share", percent),
            ("failed", "failed", number),
            ("tried again", "again", number),
            ("seconds, median", "median", small),
            ("95 % within", "p95", small),
        ]
        tables.append(table_of("Calls by server", servers, by_server))
    turns = tokens_of_turns(run)
    if turns.height:
        told: list[tuple[str, str, Format]] = [
            ("step", "step", number),
            ("agents", "agents", number),
            ("tokens, counted", "counted", _rounded),
            ("most", "most", number),
            ("in, by servers", "tokens_in", _rounded),
            ("out", "tokens_out", _rounded),
            ("rows", "shown", small),
            ("texts cut", "shortened", small),
            ("comments out", "comments_out", small),
        ]
        tables.append(table_of("What an agent was told in a step", turns, told, words=0))
    return tables


def spread_course(course: pl.DataFrame) -> pl.DataFrame:
    """Spread left since the start, from the frame of :func:`~townsquare.analysis.beliefs.belief_course`.

    Returns
    -------
    DataFrame
        ``proposition``, ``name``, ``step``, ``kept`` (sd over that of the first step; NaN if all started alike).
    """
    first = pl.col("sd").first().over("proposition")
    kept = pl.when(first > 1e-12).then(pl.col("sd") / first).otherwise(float("nan"))
    return course.sort("proposition", "step").select("proposition", "name", "step", kept.alias("kept"))


def _belief_panels(moves: pl.DataFrame, spread: pl.DataFrame, last: int) -> list[Panel]:
    def movement(axes: Axes) -> None:
        _by_proposition(axes, moves, "gain_per_person")
        from_zero(axes, moves["gain_per_person"].to_list())
        over_steps(axes, last, "stance per person")

    def kept(axes: Axes) -> None:
        _by_proposition(axes, spread, "kept")
        reference(axes, 0.5, "half: collapse")
        from_zero(axes, [*spread["kept"], 1.05])
        over_steps(axes, last, "sd / sd at the start")

    panels = []
    if moves.height:
        caption = "Movement: mean size of a person's move in each step"
        panels.append(Panel(caption, panel(movement, "movement", caption)))
    if spread.height:
        caption = "Spread of stances kept since the start"
        panels.append(Panel(caption, panel(kept, "kept", caption)))
    return panels


def _action_panels(steps: pl.DataFrame, refused: pl.DataFrame, last: int) -> list[Panel]:
    shares = steps.with_columns(
        (pl.col("refused") / (pl.col("refused") + pl.col("accepted"))).alias("refused_share"),
        per(pl.col("accepted"), pl.col("online")).alias("each"),
    )

    def silence(axes: Axes) -> None:
        line(axes, shares, "silent_share", "ink", "silent, of those online")
        line(axes, shares, "refused_share", "fourth", "refused, of actions", dashed=True)
        over_steps(axes, last, "share")
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))

    def actions(axes: Axes) -> None:
        line(axes, shares, "each", "ink")
        from_zero(axes, shares["each"].to_list())
        over_steps(axes, last, "actions per person online")

    silent, acted = "Silent people and refused actions", "Accepted actions in each step"
    panels = [Panel(silent, panel(silence, "silence", silent)), Panel(acted, panel(actions, "actions", acted))]
    if refused.height > 1:
        panels.append(Panel("Refused actions by reason", _refusal_panel(refused)))
    return panels


def _by_proposition(axes: Axes, frame: pl.DataFrame, column: str) -> None:
    """A line for each of the first propositions, as many as there are colours."""
    parts = sorted(frame.group_by("proposition"), key=lambda item: item[0])
    for i, (role, (_, part)) in enumerate(zip(SERIES, parts, strict=False)):
        name = clean(str(part["name"][0]), 22)
        line(axes, part.sort("step"), column, role, name if len(parts) > 1 else "", dashed=i % 2 == 1)


def _refusal_panel(refused: pl.DataFrame) -> str:
    def bars(axes: Axes) -> None:
        shown = refused.reverse()
        axes.barh(shown["reason"].to_list(), shown["actions"].to_numpy(), color=colour("fourth"), height=0.62)
        axes.set_xlabel("refused actions")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=NICE))
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.tick_params(axis="y", length=0)

    return panel(bars, "refused", "Refused actions by reason", height=max(150, 70 + 30 * refused.height))


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
    first, last = (moves.filter(pl.col("step") == step)["gain_per_person"].mean() for step in _ends(moves))
    if not moves["gain"].sum():
        return "No belief moved."
    begin, end = small(_float(first)), small(_float(last))
    return f"A stance moved by {begin} on average in the first step and by {end} in the last."


def _ends(moves: pl.DataFrame) -> list[Any]:
    return [moves["step"].min(), moves["step"].max()]


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _overshoot(moves: pl.DataFrame) -> str:
    told = moves["overshoots"].drop_nulls()
    if not told.len():
        return "Overshoot cannot be told: there is no trail in units of stance." if moves.height else ""
    n, moved = int(told.sum()), int(moves["moved"].sum())
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
    tables = [
        table_of(
            "Steps",
            steps,
            [
                ("step", "step", number),
                ("online", "online", number),
                ("silent", "silent_share", percent),
                ("shown", "exposures", number),
                ("accepted", "accepted", number),
                ("refused", "refused", number),
            ],
            words=0,
        )
    ]
    tables += [_movement_table(part) for _, part in sorted(moves.group_by("proposition"), key=lambda item: item[0])]
    if refused.height:
        reasons: list[tuple[str, str, Format]] = [
            ("reason", "reason", str),
            ("actions", "actions", number),
            ("share", "share", percent),
        ]
        tables.append(table_of("Refused actions", refused, reasons))
    return tables


def _movement_table(moves: pl.DataFrame) -> Table:
    columns: list[tuple[str, str, Format]] = [
        ("step", "step", number),
        ("moved", "moved", number),
        ("sum of moves", "gain", small),
        ("a person", "gain_per_person", small),
        ("overshot", "overshoots", number),
    ]
    return table_of(f"{clean(str(moves['name'][0]), 40)}: moves of stance", moves.sort("step"), columns, words=0)
