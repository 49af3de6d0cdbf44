"""The table of published facts: its form, the lot of facts that are left out, its page, and tables of users."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from raised_errors import raises_error
from repository import ROOT
from townsquare.analysis.facts.check import check
from townsquare.analysis.facts.contract import Reading
from townsquare.analysis.facts.table import read_facts
from townsquare.cli import main
from townsquare.core.errors import DataError

OWN = """facts:
- {id: mine, statement: Mine., interval: [0, 1], unit: ratio, certainty: page, source: Me, measure: retest}
"""


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "facts", "--list", "--markdown"]) == 0
    says = "run townsquare check facts --list --markdown > docs/realism.md"
    assert (ROOT / "docs" / "realism.md").read_text(encoding="utf-8") == capsys.readouterr().out, says


def test_every_fact_is_complete_and_its_value_is_inside() -> None:
    facts = read_facts()
    assert len(facts) == 50
    for fact in facts:
        assert all((fact.statement, fact.source, fact.interval_from, fact.definition, fact.reason)), fact.id
        assert fact.holds(fact.value or 0.0), fact.id
        assert fact.verify == (fact.certainty == "memory"), fact.id
    assert [fact.scope for fact in facts].count("run") == 19


@pytest.mark.parametrize(("words", "unscored"), [("certainty: page", False), ("certainty: memory", True)])
def test_facts_from_memory_are_not_scored(tmp_path: Path, words: str, unscored: bool) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace("certainty: page", words), encoding="utf-8")
    assert [fact.unscored for fact in read_facts(path)] == [unscored]


def test_the_lot_is_the_one_of_its_seed() -> None:
    facts = read_facts()
    names = sorted(fact.id for fact in facts if fact.scope == "run")
    assert sorted(random.Random(20261124).sample(names, 6)) == sorted(fact.id for fact in facts if fact.left_out)


def test_the_list_of_a_table_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    assert main(["check", "facts", "--list", "--facts", str(path), "--json"]) == 0
    (fact,) = json.loads(capsys.readouterr().out)["facts"]
    assert (fact["id"], fact["interval"], fact["scope"], fact["left_out"]) == ("mine", [0, 1], "run", False)


@pytest.mark.parametrize(
    ("before", "after", "where", "got"),
    [
        ("[0, 1]", "[1, 0]", "interval", "[1.0, 0.0]"),
        ("[0, 1]", "[0]", "interval", "[0]"),
        ("[0, 1]", "[0, .inf]", "interval.1", "inf"),
        ("id: mine", "id: Mine!", "facts.0.id", "'Mine!'"),
        ("source: Me", "source: Me, sauce: 1", "sauce", "'sauce'"),
        ("measure: retest", "measure: re_test", "fact 'mine', measure", "'re_test'"),
        ("certainty: page", "certainty: sure", "certainty", "'sure'"),
    ],
)
def test_a_wrong_table_is_refused_by_its_field(tmp_path: Path, before: str, after: str, where: str, got: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace(before, after))
    with pytest.raises(DataError) as raised:
        read_facts(path)
    assert where in raised.value.where
    assert raised.value.got == got


def test_a_fact_stands_once_in_a_table_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN + OWN.partition("\n")[2])
    with raises_error(DataError, got="the same id twice"):
        read_facts(path)
    path.write_text(OWN + "# " + "x" * 1_100_000)
    with pytest.raises(DataError):
        read_facts(path)


def test_an_interval_stays_where_values_can_be() -> None:
    """A proportion near an end, or a correlation, whose t interval would pass it."""
    names = {
        "supersharers": (0.0, 0.02),
        "stay_put": (0.99, 0.9),
        "change_not_reversion": (0.001, 0.03),
        "retest": (1, 0.9),
    }
    runs = [{name: Reading(values[at]) for name, values in names.items()} for at in range(2)]
    for each in (one for one in check(read_facts(), runs, runs=2).checks if one.measured and one.fact.measure in names):
        first, last = names[each.fact.measure]
        half = 12.706 * abs(first - last) / 2
        low = -1 if each.fact.measure == "retest" else 0
        assert each.value - half < low or each.value + half > 1
        assert low <= each.low < each.value < each.high <= 1
