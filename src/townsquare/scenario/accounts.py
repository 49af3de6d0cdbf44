"""Accounts of a scenario, and the follows among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from townsquare.core.cells import Column, Group, names, numbers, read_columns, texts
from townsquare.core.errors import DataError, SettingError
from townsquare.core.tabular import Records
from townsquare.scenario.cells import NO_PROPOSITION, account_row
from townsquare.scenario.contents import Accounts, Scenario
from townsquare.scenario.graphs.agent_rows import check_distinct
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.personas import MAX_ACTIVITY, Personas, render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank
from townsquare.settings.config import Config, Population
from townsquare.settings.problems import validated

ACCOUNTS = (
    Column("id", names(), needed=True, unique=True),
    Column("name", names(required=False)),
    Column("persona", texts(required=False)),
    Column("activity", numbers(0, MAX_ACTIVITY)),
)
FOLLOWS = ("follower", "followed")
BANK = ("bank", "bank_file")


def accounts_population(settings: Mapping[str, Any]) -> Population:
    """Return the question bank that the settings of a scenario name, in which its accounts answered."""
    nested = settings.get("population")
    own = dict(nested) if isinstance(nested, Mapping) else {}
    own |= {name: settings[f"population.{name}"] for name in BANK if f"population.{name}" in settings}
    return validated(Population, {name: own[name] for name in BANK if name in own}, "settings.population")


def read_accounts(table: Records, propositions: Sequence[str], bank: QuestionBank) -> tuple[Accounts, tuple[str, ...]]:
    """Return accounts from records, and the columns that were not used.

    Parameters
    ----------
    table : Records
        With the column ``id``, and any of ``name``, ``persona``, ``activity``, ``trait:<label>`` and
        ``stance:<proposition>``. The k-th row becomes agent k, from 0.
    propositions : sequence of str
        Names, in order.
    bank : QuestionBank
        What labels and answers there are.

    Raises
    ------
    DataError
        With row and column: no id, an id twice, an unknown label, answer or proposition, a number out of range.
    """
    if not table.records:
        raise DataError(table.location, got="no accounts", allowed="at least one")
    groups = (Group("trait", bank.labels, texts(required=False)), Group("stance", propositions, numbers(-1, 1)))
    sheet = read_columns(table, ACCOUNTS, groups, strict=False, nothing=NO_PROPOSITION)
    traits = np.full((len(table.records), len(bank.traits)), NO_ANSWER, np.int16)
    for label, answers in sheet.group("trait").items():
        number = bank.number_of(label)
        for row, answer in enumerate(answers):
            if answer:
                traits[row, number] = bank.code(label, answer, table.records[row].where(f"trait:{label}"), DataError)
    ids = tuple(sheet["id"])
    personas = Personas(
        ids=ids,
        texts=tuple(text or render_persona(codes, bank) for text, codes in zip(sheet["persona"], traits, strict=True)),
        traits=traits,
        activity=np.array(sheet["activity"]),
        stance={name: np.array(stances) for name, stances in sheet.group("stance").items()},
    )
    shown = tuple(name or known for name, known in zip(sheet["name"], ids, strict=True))
    return Accounts(personas, shown, None), sheet.spare


def read_follows(table: Records, accounts: Accounts) -> tuple[Edges, tuple[str, ...]]:
    """Read follows among accounts from ``follower`` and ``followed``; return them and the unused columns.

    Raises
    ------
    DataError
        With row and column: no such account, a follow of oneself, a follow twice.
    """
    rows = {name: row for row, name in enumerate(accounts.personas.ids)}
    read = partial(account_row, accounts=rows)
    sheet = read_columns(table, [Column(name, read, needed=True) for name in FOLLOWS], strict=False)
    edges = Edges(*(np.array(sheet[name], np.int32) for name in FOLLOWS))
    places = [record.location for record in table.records]
    check_distinct(edges, len(rows), places.__getitem__, places.__getitem__)
    return edges, sheet.spare


def check_accounts(scenario: Scenario, config: Config) -> None:
    """Refuse settings about people if the scenario has accounts.

    Raises
    ------
    SettingError
        Another number of agents than of accounts, a file of personas or margins beside accounts.
    """
    if scenario.accounts is None:
        return
    n = len(scenario.accounts)
    if config.agents != n:
        do = "remove `agents`: the scenario sets it"
        raise SettingError("agents", got=f"{config.agents}", allowed=f"{n}, one for each account", do=do)
    for name in ("file", "margins"):
        if getattr(config.population, name):
            allowed, do = "none, as the scenario has accounts", "remove `accounts` from the scenario"
            raise SettingError(f"population.{name}", got="one", allowed=allowed, do=do)
    own = accounts_population(scenario.settings)
    for name in BANK:
        if getattr(config.population, name) != getattr(own, name):
            got, do = str(getattr(config.population, name)), "set it under `settings` of the scenario"
            allowed = f"{getattr(own, name)}, in which the accounts of the scenario answered"
            raise SettingError(f"population.{name}", got=got, allowed=allowed, do=do)
