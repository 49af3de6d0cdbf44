"""Comparisons as the viewer shows them: arms in the list of runs, outcomes, courses with bands, facts, the answer.

Every figure is that of :mod:`townsquare.experiments`, which reports and the command line show too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Measure
from townsquare.analysis.courses import COURSES, courses
from townsquare.analysis.facts.table import short_number
from townsquare.analysis.outcomes import describe, is_outcome
from townsquare.core.errors import RecordError, SettingError, TownsquareError
from townsquare.core.words import printable
from townsquare.experiments.answer import answer, effects, title_of
from townsquare.experiments.arms import labels, shown
from townsquare.experiments.courses import bands, differences
from townsquare.experiments.facts import check_facts
from townsquare.experiments.manifest import FAILED, FINISHED, WAITING, Experiment
from townsquare.experiments.paired import t_interval
from townsquare.experiments.primary import suggested
from townsquare.pages.report.comparison_page import opening
from townsquare.pages.report.files import PAGE
from townsquare.pages.view import queries
from townsquare.pages.view.agent import check_agent
from townsquare.pages.view.answers import columns, from_file
from townsquare.pages.view.library import Library
from townsquare.pages.view.query_string import Asked
from townsquare.record.run import Run

MOST_RUNS = 6
"""Runs that are drawn over one another outside a comparison."""
MOST_ARMS = 6
"""Arms in which one person is shown."""
_FORMAT = 1
_EFFECT = ("difference", "low", "high", "p_holm", "verdict")
_SIGNIFICANT = 9


def key_of(of: Experiment) -> str:
    """Return what changes whenever a run of the comparison ends."""
    return f"{_FORMAT}:" + " ".join(run.content_hash or run.state for run in of.runs)


def arm_labels(of: Experiment) -> dict[str, str]:
    """Return a short name of each arm; a single arm, in which nothing varies, has the title of the scenario."""
    only = of.arms[0]
    if len(of.arms) > 1 or only.changes:
        return labels(of.arms)
    title = "one arm"
    if of.finished:
        with suppress(TownsquareError):  # its record was pruned
            title = _title_in(of.folder / of.finished[0].folder)
    return {only.name: title}


@lru_cache(maxsize=256)
def _title_in(folder: Path) -> str:
    return title_of(Run.open(folder))


def known_outcomes(of: Experiment) -> list[str]:
    """Return names of the outcomes that a finished run has, the primary one first."""
    names = [name for name in of.outcomes.columns if name not in ("arm", "seed") and is_outcome(name)]
    first = of.primary or suggested(of.outcomes)
    return sorted(names, key=lambda name: name != first)


def summary(library: Library, name: str, of: Experiment, outcome: str = "") -> dict[str, Any]:
    """Return a comparison as the list of runs shows it, with the means of one outcome by arm; the primary by default.

    ``arms`` has ``mean`` with ``low`` and ``high`` (95% t interval over seeds), ``n``, and the difference from the
    baseline, paired by seed, with its interval and verdict.
    """
    known = known_outcomes(of)
    chosen = outcome if outcome in known else "" if outcome else next(iter(known), "")
    states = [run.state for run in of.runs]
    return {
        "id": name,
        "vary": list(of.vary),
        "baseline": of.baseline,
        "state": "finished" if set(states) == {FINISHED} else "unfinished",
        "runs": len(states),
        "finished": states.count(FINISHED),
        "failed": states.count(FAILED),
        "waiting": states.count(WAITING),
        "primary": next(iter(known), ""),
        **_outcome(of, chosen),
        "members": {library.id_of(of.folder / run.folder): _member(of, run, chosen) for run in of.runs},
    }


def has_report(of: Experiment) -> bool:
    """Return whether the page of its report was written."""
    return (of.folder / PAGE).is_file()


def _member(of: Experiment, run: Any, outcome: str) -> dict[str, Any]:
    value = run.outcomes.get(outcome, math.nan)
    return {"arm": run.arm, "label": arm_labels(of)[run.arm], "seed": run.seed, "state": run.state, "value": value}


def _outcome(of: Experiment, name: str) -> dict[str, Any]:
    """Return name, title, unit and direction of an outcome, and ``arms`` with means and differences."""
    comparable = bool(name) and of.baseline in of.outcomes["arm"]
    made = effects(of, name, {}, others=False) if comparable else pl.DataFrame(schema={"arm": pl.String})
    about = _about(describe(name, _statements(of))) if name else dict.fromkeys(("title", "unit", "direction"), "")
    return {"outcome": name, **about, "arms": _arms(of, name, made)}


def _about(what: Measure) -> dict[str, str]:
    return {"title": printable(what.title.removesuffix("."), 120), "unit": what.unit, "direction": what.direction}


def _arms(of: Experiment, name: str, made: pl.DataFrame) -> list[dict[str, Any]]:
    effect_of = {row["arm"]: row for row in made.to_dicts()}
    values: dict[str, list[float]] = {arm.name: [] for arm in of.arms}
    for run in of.finished:
        if not math.isnan(value := run.outcomes.get(name, math.nan)):
            values[run.arm].append(value)
    return [_arm(of, arm, known, effect_of.get(arm, {})) for arm, known in values.items()]


def _arm(of: Experiment, arm: str, values: Sequence[float], effect: Mapping[str, Any]) -> dict[str, Any]:
    mean, low, high = t_interval(pl.Series(values, dtype=pl.Float64).to_numpy())[:3]
    compared = {name: effect[name] for name in _EFFECT} if effect else None
    label = arm_labels(of)[arm]
    return {"arm": arm, "label": label, "n": len(values), "mean": mean, "low": low, "high": high, "effect": compared}


def _statements(of: Experiment) -> dict[str, str]:
    """Return the statement of each proposition by name, from the first finished run."""
    run = _first_run(of)
    return {} if run is None else {name: printable(text, 90) for name, text in statements(run).items()}


def _first_run(of: Experiment) -> Run | None:
    return Run.open(of.folder / of.finished[0].folder) if of.finished else None


# --- the view of one comparison ----------------------------------------------------------------------------


def comparison(library: Library, name: str, of: Experiment) -> dict[str, Any]:
    """Return arms, runs and all outcomes by arm, the clearest differences first."""
    run, known = _first_run(of), known_outcomes(of)
    comparable = of.baseline in of.outcomes["arm"]
    made = effects(of, known[0], {}) if known and comparable else pl.DataFrame(schema={"outcome": pl.String})
    by_outcome = {str(each): part for (each,), part in made.group_by("outcome", maintain_order=True)}
    texts = _statements(of)
    rows = []
    for each in dict.fromkeys([*known[:1], *by_outcome, *known]):
        what = describe(each, texts)
        arms = _arms(of, each, by_outcome.get(each, pl.DataFrame(schema={"arm": pl.String})))
        rows.append({"outcome": each, **_about(what), "main": what.main, "arms": arms})
    settings = {arm.name: [f"{key}={shown(value)}" for key, value in arm.changes.items()] for arm in of.arms}
    return {
        **summary(library, name, of),
        "heading": name if run is None else title_of(run),
        "seeds": list(of.seeds),
        "settings": settings,
        "hours": None if run is None else clock_of(run).hours,
        "agents": None if run is None else int(run.steps["agents"][-1]),
        "steps": None if run is None else run.last_step,
        "propositions": [{"name": each, "text": text} for each, text in texts.items()],
        "errors": list(of.errors),
        "outcomes": rows,
    }


def answer_of(of: Experiment) -> dict[str, Any]:
    """Return the answer of a comparison in sentences; kept in ``view-answer.json`` once all runs are finished."""

    def make() -> dict[str, Any]:
        if not of.finished:
            return {"question": "", "sentences": [], "mover": [], "cautions": []}
        made = answer(of)
        parts = {name: list(getattr(made, name)) for name in ("sentences", "mover", "cautions")}
        return {"question": opening(made.question), **parts}

    return from_file(_lasting(of), "answer", key_of(of), make)


def _lasting(of: Experiment) -> Any:
    return of.folder if len(of.finished) == len(of.runs) else None


def facts(of: Experiment, arm: str) -> dict[str, Any]:
    """Return published facts held against the runs of an arm, as ``townsquare check facts`` does; kept in a file."""
    names = [each.name for each in of.arms]
    if arm not in names:
        raise SettingError("arm", got=repr(arm), allowed=", ".join(names))

    def make() -> dict[str, Any]:
        report = check_facts(of, arm=arm)
        return {"answer": str(report), "checks": [_fact(check) for check in report.checks if check.measured]}

    return from_file(_lasting(of), f"facts-of-{names.index(arm) + 1}", key_of(of), make)


def _fact(check: Any) -> dict[str, Any]:
    fact, ends = check.fact, (check.low, check.high)
    interval = "" if any(math.isnan(end) for end in ends) else " to ".join(short_number(end) for end in ends)
    shown = {"value": short_number(check.value), "interval": interval, "inside": check.verdict}
    return {"fact": fact.id, "statement": fact.statement, "target": fact.target, "unit": fact.unit} | shown


def person(library: Library, of: Experiment, asked: Asked) -> dict[str, Any]:
    """Return one person in the finished run of each arm with one seed: the same person, since seeds share the people.

    Raises
    ------
    SettingError
        There is no such person, or no finished run with this seed.
    """
    seed, number = asked.whole("seed", of.seeds[0]), asked.whole("agent")
    of_arm = {run.arm: library.id_of(of.folder / run.folder) for run in of.finished if run.seed == seed}
    if not of_arm:
        raise SettingError("seed", got=str(seed), allowed="a seed of the comparison with a finished run")
    names, arms = arm_labels(of), []
    for arm, run in list(of_arm.items())[:MOST_ARMS]:
        snapshot = library.snapshot(run)
        who = check_agent(snapshot, number)
        if who["kind"] != "person":
            raise SettingError("agent", got=f"{number}, a source", allowed="the number of a person")
        course = columns(queries.beliefs_of(snapshot, number))
        arms.append({"arm": arm, "label": names[arm], "run": run, **who, "course": course})
    head = library.snapshot(arms[0]["run"])
    known = queries.propositions(head.cached).to_dicts()
    last = min(library.snapshot(each["run"]).last_step for each in arms)
    return {"seed": seed, "agent": number, "seeds": list(of.seeds), "arms": arms, "propositions": known,
            "last_step": last, "hours": clock_of(head.run).hours}  # fmt: skip


# --- courses over one another ------------------------------------------------------------------------------


def course_frame(library: Library, asked: Asked) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return courses by run, and names of their arms: of a comparison, or of runs side by side.

    Single runs are arms of their own, and are paired with the first as they are.
    """
    if asked.word("comparison"):
        of = library.comparison(asked.word("comparison"))
        return of.courses() if of.finished else pl.DataFrame(), arm_labels(of)
    names = asked.every("run")[:MOST_RUNS]
    if not names:
        raise SettingError("run", got="none", allowed="the id of a run, or `comparison` with that of a comparison")
    cached = {name: library.snapshot(name).cached for name in names}
    parts = [courses(run).with_columns(arm=pl.lit(name), seed=pl.lit(0, pl.Int64)) for name, run in cached.items()]
    return pl.concat(parts).select("arm", "seed", *COURSES), {name: name for name in names}


def overlay(library: Library, asked: Asked) -> dict[str, Any]:
    """Return each course by arm, with bands over seeds, and less the baseline: the first arm."""
    if not asked.word("comparison"):
        return _overlay(library, asked)
    of = library.comparison(asked.word("comparison"))
    return library.once_for(of, "the courses", lambda: _overlay(library, asked))


def _overlay(library: Library, asked: Asked) -> dict[str, Any]:
    frame, names = course_frame(library, asked)
    baseline = next(iter(names))
    made = {"level": bands(frame), "difference": differences(frame, baseline)} if frame.height else {}
    rows: dict[str, dict[str, Any]] = {}
    for kind, drawn in made.items():
        for (course, title, unit, over), part in drawn.group_by("course", "title", "unit", "over", maintain_order=True):
            about = {"course": course, "title": printable(str(title), 160), "unit": unit, "over": over}
            rows.setdefault(str(course), about)[kind] = [
                {"arm": arm, **columns(of_arm.select("at", "value", "low", "high", "seeds").sort("at"), _SIGNIFICANT)}
                for (arm,), of_arm in part.group_by("arm", maintain_order=True)
            ]
    arms = [{"arm": arm, "label": label} for arm, label in names.items()]
    empty: dict[str, Any] = {"level": [], "difference": []}
    return {"baseline": baseline, "arms": arms, "courses": [empty | row for row in rows.values()]}


def overlay_table(library: Library, asked: Asked) -> pl.DataFrame:
    """Return what :func:`overlay` draws, for the CSV: one ``course`` if asked for, ``show`` a level or difference."""
    frame, names = course_frame(library, asked)
    show = asked.one_of("show", ("level", "difference"))
    drawn = bands(frame) if show == "level" else differences(frame, next(iter(names)))
    return drawn.filter(course=asked.word("course")) if asked.word("course") else drawn


def effect_table(library: Library, asked: Asked) -> pl.DataFrame:
    """Return every outcome by arm with its difference from the baseline, for the CSV."""
    of = library.comparison(asked.word("comparison"))
    if of.baseline not in of.outcomes["arm"]:
        raise RecordError("the comparison", got="no finished run of the baseline", do="wait for one")
    return effects(of, known_outcomes(of)[0], _statements(of))


def person_table(library: Library, asked: Asked) -> pl.DataFrame:
    """Return the beliefs of one person by arm, for the CSV."""
    shown_in = person(library, library.comparison(asked.word("comparison")), asked)["arms"]
    parts = [pl.DataFrame(each["course"]).select(pl.lit(each["arm"]).alias("arm"), pl.all()) for each in shown_in]
    return pl.concat(parts)


def fact_table(library: Library, asked: Asked) -> pl.DataFrame:
    """Return the facts of all arms that have a finished run, for the CSV."""
    of = library.comparison(asked.word("comparison"))
    arms = dict.fromkeys(run.arm for run in of.finished)
    checks = [{"arm": arm, **check} for arm in arms for check in facts(of, arm)["checks"]]
    return pl.DataFrame(checks, infer_schema_length=None)


TABLES: Mapping[str, Callable[[Library, Asked], pl.DataFrame]] = {
    "courses": overlay_table,
    "effects": effect_table,
    "facts": fact_table,
    "person": person_table,
}
"""The table behind each part of the view, by the last part of its address."""
