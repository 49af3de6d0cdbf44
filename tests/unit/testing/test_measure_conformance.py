"""Each registered measure and section keeps its contract, and the checks catch those that do not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.analysis.contract import Measure, measure
from townsquare.core import registry
from townsquare.core.errors import ContractError
from townsquare.core.text_table import Table
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.testing.measure_conformance import check_measure, check_section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLS = count()
PLAIN = Measure("mine", "agents", "neither", "A number.", number=lambda run: float(run.last_step))


@pytest.mark.parametrize("name", registry.names("measure"))
def test_every_registered_measure_keeps_the_contract(name: str) -> None:
    check_measure(measure(name))


@pytest.mark.parametrize("name", registry.names("section"))
def test_every_registered_section_keeps_the_contract(name: str) -> None:
    check_section(name, registry.get("section", name))


def test_what_keeps_the_contract_passes() -> None:
    check_measure(PLAIN)
    check_section("mine", lambda run: WHOLE)
    check_section("mine", lambda run: None)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "no name"}, {"got": "a name with other characters"}),
        ({"unit": ""}, {"got": "unit ''"}),
        ({"direction": "up"}, {"got": "direction 'up'"}),
        ({"definition": "no sentence"}, {"got": "the definition 'no sentence'"}),
        ({"number": None}, {"got": "neither a number nor a table"}),
        ({"number": lambda run: math.inf}, {"got": "mine is inf"}),
        ({"number": lambda run: math.nan}, {"got": "mine is NaN"}),
        ({"number": lambda run: next(CALLS)}, {"allowed": "the same for the same run"}),
        ({"number": lambda run: "many"}, {"got": "a str"}),
        ({"number": lambda run: run.no_such_thing}, {"got": "raised AttributeError"}),
        ({"number": None, "by_proposition": lambda run: {"other": 1.0}}, {"allowed": "one for each proposition"}),
        ({"table": lambda run: [1]}, {"got": "a list"}),
        ({"table": lambda run: pl.DataFrame({"a": [random.random()]})}, {"got": "another table"}),
        ({"table": lambda run: pl.DataFrame({f"a{run.last_step}": [1]})}, {"allowed": "the same columns"}),
    ],
)
def test_measures_that_break_the_contract(changed: dict[str, Any], says: dict[str, str]) -> None:
    with raises_error(ContractError, **says):
        check_measure(replace(PLAIN, **changed))


def draw(axes: Axes, data: pl.DataFrame) -> None:
    axes.plot(data["step"], data["step"])


FIGURE = Figure("mine", "A line", pl.DataFrame({"step": [0, 1]}), draw)
TABLE = Table("Steps", ["step"], [["0"]])
WHOLE = Section("mine", "Mine", ["A sentence."], figures=[FIGURE], tables=[TABLE])


@pytest.mark.parametrize(
    ("section", "says"),
    [
        (lambda run: replace(WHOLE, title=""), {"got": "title ''"}),
        (lambda run: replace(WHOLE, key="a b"), {"got": "key 'a b'"}),
        (lambda run: replace(WHOLE, figures=[FIGURE, FIGURE]), {"allowed": "each once"}),
        (lambda run: replace(WHOLE, tables=[]), {"got": "figures without a table"}),
        (lambda run: replace(WHOLE, tables=[replace(TABLE, rows=[["0", "1"]])]), {"allowed": "as many cells"}),
        (lambda run: replace(WHOLE, figures=[replace(FIGURE, caption="")]), {"got": "without a caption"}),
        (lambda run: replace(WHOLE, says=[str(next(CALLS))]), {"got": "other sentences"}),
        (lambda run: "a section", {"got": "raised AttributeError"}),
        (lambda run: run.settings["no such key"], {"got": "raised KeyError"}),
    ],
)
def test_sections_that_break_the_contract(section: Callable[[Any], Any], says: dict[str, str]) -> None:
    with raises_error(ContractError, **says):
        check_section("mine", section)
