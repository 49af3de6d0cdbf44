"""Each registered measure and section keeps its contract, and the checks catch those that do not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import polars as pl
import pytest
from matplotlib.axes import Axes

from townsquare.analysis.contract import Measure, measure
from townsquare.core import registry
from townsquare.core.errors import ContractError
from townsquare.core.text_table import Table
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.testing.measure_conformance import check_measure, check_section

CALLS = count()
PLAIN = Measure("mine", "agents", "neither", "A number.", number=lambda run: float(run.last_step))


@pytest.mark.parametrize("name", registry.names("measure"))
def test_every_registered_measure_keeps_the_contract(name: str) -> None:
    check_measure(measure(name))


@pytest.mark.parametrize("name", registry.names("section"))
def test_every_registered_section_keeps_the_contract(name: str) -> None:
    check_section(name, registry.get("section", name))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "no name"}, "a name with other characters"),
        ({"unit": ""}, "unit ''"),
        ({"direction": "up"}, "direction 'up'"),
        ({"definition": "no sentence"}, "the definition 'no sentence'"),
        ({"number": None}, "neither a number nor a table"),
        ({"number": lambda run: math.inf}, "mine is inf"),
        ({"number": lambda run: math.nan}, "mine is NaN"),
        ({"number": lambda run: next(CALLS)}, "the same for the same run"),
        ({"number": lambda run: "many"}, "a str"),
        ({"number": lambda run: run.no_such_thing}, "raised AttributeError"),
        ({"number": None, "by_proposition": lambda run: {"other": 1.0}}, "one for each proposition"),
        ({"table": lambda run: [1]}, "a list"),
        ({"table": lambda run: pl.DataFrame({"a": [random.random()]})}, "another table"),
        ({"table": lambda run: pl.DataFrame({f"a{run.last_step}": [1]})}, "the same columns"),
    ],
)
def test_measures_that_break_the_contract(changed: dict[str, Any], says: str) -> None:
    check_measure(PLAIN)
    with pytest.raises(ContractError, match=says):
        check_measure(replace(PLAIN, **changed))


def draw(axes: Axes, data: pl.DataFrame) -> None:
    axes.plot(data["step"], data["step"])


FIGURE = Figure("mine", "A line", pl.DataFrame({"step": [0, 1]}), draw)
TABLE = Table("Steps", ["step"], [["0"]])
WHOLE = Section("mine", "Mine", ["A sentence."], figures=[FIGURE], tables=[TABLE])


@pytest.mark.parametrize(
    ("section", "says"),
    [
        (lambda run: replace(WHOLE, title=""), "title ''"),
        (lambda run: replace(WHOLE, key="a b"), "key 'a b'"),
        (lambda run: replace(WHOLE, figures=[FIGURE, FIGURE]), "each once"),
        (lambda run: replace(WHOLE, tables=[]), "figures without a table"),
        (lambda run: replace(WHOLE, tables=[replace(TABLE, rows=[["0", "1"]])]), "as many cells"),
        (lambda run: replace(WHOLE, figures=[replace(FIGURE, caption="")]), "without a caption"),
        (lambda run: replace(WHOLE, says=[str(next(CALLS))]), "other sentences"),
        (lambda run: "a section", "raised AttributeError"),
        (lambda run: run.settings["no such key"], "raised KeyError"),
    ],
)
def test_sections_that_break_the_contract(section: Callable[[Any], Any], says: str) -> None:
    check_section("mine", lambda run: WHOLE)
    check_section("mine", lambda run: None)
    with pytest.raises(ContractError, match=says):
        check_section("mine", section)
