"""Mistaken calls of the Python surface: each gives one Townsquare error that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import townsquare as ts


class Made(NamedTuple):
    """What the calls are about."""

    run: ts.Run
    compared: ts.Experiment


SMALL: dict[str, Any] = {"agents": 8, "steps": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    run = ts.run("synthetic:20", **SMALL, seed=1, out=folder / "run")
    vary = {"moderation.strategy": ["none", "hybrid"]}
    compared = ts.compare("synthetic:20", **SMALL, vary=vary, seeds=1, workers=1, out=folder / "compared")
    return Made(run, compared)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


NO_NUMBER = ["three", "2.5", 2.5, None.__class__, [3], {"n": 3}, True, b"3", object]
NO_SCENARIO = [
    "",
    "nowhere",
    "health-rumer",
    "./gone/",
    "gone.yaml",
    "gone.csv",
    3,
    3.5,
    ["health-rumor@1"],
    {},
    b"a",
    True,
]
NO_SETTINGS = [
    "moderation.strategy=none", ["moderation.strategy=none"], 3, {3: 4}, {"moderation": 3},
    {"moderation.strategy": "nune"}, {"moderation.strateggy": "none"}, {"agnts": 3},
    {"agents": "many"}, {"agents": -1}, {"": 1}, {"a..b": 1},
    {"steps": 2.5}, {"feed": 3}, {"beliefs.pull": "x"}, {"beliefs.rule": 3}, {"seed": -1}, {"scenario": "nowhere"},
]  # fmt: skip
NO_VARY = [
    {"beliefs.pull": [object(), 0.2]},
    None, {}.keys, 3, "moderation.strategy=none", ["moderation.strategy"], {"moderation.strategy": "none"},
    {"moderation.strategy": 3}, {"moderation.strategy": []}, {"moderation.strategy": ["none", "none"]},
    {"moderation.strategy": ["none", "nune"]}, {"moderation.strateggy": ["none"]}, {"seed": [1, 2]}, {3: [1]},
    {"agents": [0, 5]}, {"agents": ["a"]}, {"steps": [[1]]}, {"": ["a"]}, {"moderation.strategy": {"none"}},
    {"moderation.strategy": None}, {"beliefs.pull": [-1.0]},
]  # fmt: skip
NO_SEEDS = ["", "a", "3-1", "1,1", "-3", -3, 0, 2.5, None, [], [1, 1], ["a"], [1.5], {1: 2}, [-1], True, [True], {1, 2}]
NO_RUN = ["", "nowhere", 3, None, ["x"], b"x", 2.5, {}, pl.DataFrame, True]
NO_AGENT = ["nobody", 99, -1, 2.5, None, ["0"], b"0", "", " ", True, {}]
NO_TABLE = ["belief", "", 3, None, ["beliefs"], "ts_beliefs", b"beliefs", {}]
NO_QUERY = [
    "", 3, None, "select", "drop table ts_steps", "select * from nowhere", "select nothing from steps",
    "select 1; select 2", ["select 1"], "select * from posts where text = 1", "pragma user_version",
    "insert into steps", "select (", "select nofunction(step) from steps",
]  # fmt: skip
NO_REMOVAL = [
    "",
    "post",
    "post=",
    "post=x",
    "post=99999",
    "author=nobody",
    "veracity=maybe",
    3,
    None,
    {},
    ["pst=1"],
    [3],
]


def compared(verb: Any, **wrong: Any) -> object:
    small = {**SMALL, "vary": {"moderation.strategy": ["none", "hybrid"]}, "seeds": 1, "workers": 1, "out": "out"}
    return verb("synthetic:20", **{**small, **wrong})


def debated(topic: Any = "austerity", **wrong: Any) -> object:
    return ts.run_debate(topic, **{"trials": 1, "out": "out", **wrong})


def ran(**wrong: Any) -> object:
    return ts.run("synthetic:20", **{**SMALL, **wrong})


CALLS: dict[str, tuple[list[Any], Callable[[Made, Any], object]]] = {
    "run(scenario)": (NO_SCENARIO, lambda made, x: ts.run(x, **SMALL)),
    "run(settings)": (NO_SETTINGS, lambda made, x: ts.run("synthetic:20", settings=x)),
    "run(agents)": (NO_NUMBER, lambda made, x: ran(agents=x)),
    "run(steps)": (NO_NUMBER, lambda made, x: ran(steps=x)),
    "run(seed)": (NO_NUMBER, lambda made, x: ran(seed=x)),
    "run(out)": ([3, ["x"], b"x", {}], lambda made, x: ran(out=x)),
    "run(on_step)": ([3, "print"], lambda made, x: ran(on_step=x)),
    "run(no such)": (["sceanrio", "sets", "moderation"], lambda made, x: ran(**{x: 1})),
    "compare(vary)": (NO_VARY, lambda made, x: compared(ts.compare, vary=x)),
    "compare(seeds)": (NO_SEEDS, lambda made, x: compared(ts.compare, seeds=x)),
    "compare(workers)": ([0, -1, "many", 1.5, True], lambda made, x: compared(ts.compare, workers=x)),
    "compare(outcome)": (["reach", 3, ["reach_false_mean"]], lambda made, x: compared(ts.compare, outcome=x)),
    "compare(out)": ([3, ["x"]], lambda made, x: compared(ts.compare, out=x)),
    "compare(no such)": (["vari", "seed", "sets"], lambda made, x: compared(ts.compare, **{x: 1})),
    "sweep(vary)": (NO_VARY, lambda made, x: compared(ts.sweep, vary=x)),
    "sweep(seeds)": (NO_SEEDS, lambda made, x: compared(ts.sweep, seeds=x)),
    "why(run)": (NO_RUN, lambda made, x: ts.why(x, 0)),
    "why(agent)": (NO_AGENT, lambda made, x: ts.why(made.run, x)),
    "why(step)": ([99, 0, -1, "two", 1.5, True], lambda made, x: ts.why(made.run, 0, step=x)),
    "why(proposition)": (["vaccine", "", 3, ["p0"]], lambda made, x: ts.why(made.run, 0, proposition=x)),
    "attribute(run)": (NO_RUN, lambda made, x: ts.attribute(x)),
    "attribute(by)": (["", "authors", 3, None, ["author"]], lambda made, x: ts.attribute(made.run, by=x)),
    "attribute(agent)": ([x for x in NO_AGENT if x is not None], lambda made, x: ts.attribute(made.run, agent=x)),
    "counterfactual(run)": (NO_RUN, lambda made, x: ts.counterfactual(x, without="post=1")),
    "counterfactual(without)": (NO_REMOVAL, lambda made, x: ts.counterfactual(made.run, without=x)),
    "outcomes(run)": (NO_RUN, lambda made, x: ts.outcomes(x)),
    "report(recorded)": (NO_RUN, lambda made, x: ts.report(x)),
    "report(out)": ([3, ["x"]], lambda made, x: ts.report(made.run, out=x)),
    "replay(run)": (NO_RUN, lambda made, x: ts.replay(x)),
    "Run.open": (NO_RUN, lambda made, x: ts.Run.open(x)),
    "Run.table": (NO_TABLE, lambda made, x: made.run.table(x)),
    "Run.table(columns)": ([["stanc"], "stance", 3, [3]], lambda made, x: made.run.table("beliefs", columns=x)),
    "Run.table(steps)": ([3, "1", (1,), (1, 2, 3), ("a", "b")], lambda made, x: made.run.table("beliefs", x)),
    "Run.words": (NO_TABLE, lambda made, x: made.run.words(x)),
    "Run.lazy": (NO_TABLE, lambda made, x: made.run.lazy(x)),
    "Run.sql": (NO_QUERY, lambda made, x: made.run.sql(x)),
    "Run.rows_where": (["stanc", "agnt"], lambda made, x: made.run.rows_where("beliefs", **{x: 1})),
    "Experiment.table": (NO_TABLE, lambda made, x: made.compared.table(x)),
    "Experiment.load": (NO_RUN, lambda made, x: ts.Experiment.load(x)),
    "Experiment.paired": (["nune", 3, ["x"]], lambda made, x: made.compared.paired(x)),
    "Experiment.effects_by_group": (["nune", 3, ["x"]], lambda made, x: made.compared.effects_by_group(x)),
    "run_debate(topic)": (["austertiy", "nowhere.csv", "", 3, ["austerity"]], lambda made, x: debated(x)),
    "run_debate(settings)": (
        [{"own_claim": True}, {"theta": 0}, "u=1", {"u": "a"}],
        lambda made, x: debated(settings=x),
    ),
    "run_debate(vary)": ([{"u": 1}, {"u": []}, {"seed": [1, 2]}, ["u"], "u"], lambda made, x: debated(vary=x)),
    "run_debate(trials)": ([0, -1, "a", 1.5], lambda made, x: debated(trials=x)),
    "fit(data)": (["nowhere", "", 3, None, ["x"]], lambda made, x: ts.fit(x)),
    "fit(rule)": (["log_ods", "", 3], lambda made, x: ts.fit(".", rule=x)),
    "fit(options)": (
        [{"n_fold": 2}, {"n_folds": 1}, "x", {"by": "steps"}, {"evidence": 3}],
        lambda made, x: ts.fit(".", options=x),
    ),
    "fit(form)": (["plane", 3], lambda made, x: ts.fit(".", form=x)),
    "Run": (["runs/1", Path("runs")], lambda made, x: ts.Run(x)),
    "resolve_for(scenario)": (["nowhere", 3, ["x"]], lambda made, x: ts.resolve_for(x)),
    "resolve_for(sets)": (["a=3", ["a"], 3, {"agnts": 3}], lambda made, x: ts.resolve_for("synthetic:20", sets=x)),
    "load_scenario": (["nowhere", "", "synthetic:x", "gone.yaml"], lambda made, x: ts.load_scenario(x)),
}
CASES = [
    pytest.param(call, x, id=f"{name} {re.sub(' at 0x.*', '', repr(x)):.40}")  # every process names a case alike
    for name, (wrong, call) in CALLS.items()
    for x in wrong
]


def test_there_are_enough() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize(("call", "wrong"), CASES)
def test_a_mistaken_call_gives_one_clear_error(
    call: Callable[[Made, Any], object], wrong: Any, made: Made, here: Path
) -> None:
    with pytest.raises(ts.TownsquareError) as caught:
        call(made, wrong)
    error = caught.value
    assert error.where
    assert error.got or error.allowed or error.do
    assert len(str(error)) < 2500
    assert not any(here.iterdir()), "a mistaken call leaves nothing behind"
