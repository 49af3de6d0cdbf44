"""Accounts that a scenario brings, and who of them follows whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.core.cells import name_cell, number_cell, text_cell
from townsquare.core.errors import DataError, SettingError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records
from townsquare.scenario.cells import account_row
from townsquare.scenario.contents import Accounts, Scenario
from townsquare.scenario.graphs.agent_rows import check_distinct
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.personas import MAX_ACTIVITY, Int16, Personas, render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, bundled_bank
from townsquare.settings.config import Config

COLUMNS = ("id", "name", "persona", "activity")
TRAIT, STANCE = "trait:", "stance:"
FOLLOWS = ("follower", "followed")


def read_accounts(table: Records, propositions: Sequence[str]) -> tuple[Accounts, tuple[str, ...]]:
    """Accounts from records, and the columns that were not used.

    Parameters
    ----------
    table : Records
        With the column ``id``, and any of ``name``, ``persona``, ``activity``, ``trait:<label>`` and
        ``stance:<proposition>``. The k-th row becomes agent k, from 0.
    propositions : sequence of str
        Names, in order.

    Raises
    ------
    DataError
        With row and column: no id, an id twice, an unknown label, answer or proposition, a number out of range.
    """
    if not table.records:
        raise DataError(table.place, got="no accounts", allowed="at least one")
    if "id" not in table.columns:
        do = did_you_mean("id", table.columns)
        raise DataError(f"{table.place}, header", got=", ".join(table.columns)[:300], allowed="a column `id`", do=do)
    toward, spare = _check_columns(table, propositions)
    rows: dict[str, Record] = {}
    for record in table.records:
        name = name_cell(record, "id")
        if name in rows:
            raise DataError(record.where("id"), got=f"{name!r} again", allowed=f"another id than in {rows[name].place}")
        rows[name] = record
    traits = [_traits(record) for record in table.records]
    texts = [text_cell(record, "persona", required=False) for record in table.records]
    personas = Personas(
        ids=tuple(rows),
        texts=tuple(text or render_persona(codes, bundled_bank()) for text, codes in zip(texts, traits, strict=True)),
        traits=np.stack(traits),
        activity=np.array([number_cell(r, "activity", 0, MAX_ACTIVITY, np.nan) for r in table.records]),
        stance={
            name: np.array([number_cell(r, STANCE + name, -1, 1, np.nan) for r in table.records]) for name in toward
        },
    )
    shown = (name_cell(record, "name", required=False) for record in table.records)
    names = tuple(name or known for name, known in zip(shown, rows, strict=True))
    return Accounts(personas, names, None), spare


def _check_columns(table: Records, propositions: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The propositions that the table has stances toward, and the columns that stand for nothing."""
    labels = bundled_bank().labels
    toward, spare = [], []
    for column in table.columns:
        head, colon, name = column.partition(":")
        if colon and f"{head}:" in (TRAIT, STANCE):
            known = labels if f"{head}:" == TRAIT else propositions
            if name not in known:
                allowed = ", ".join(known) or "no proposition, as the scenario has none"
                do = did_you_mean(name, known)
                raise DataError(f"{table.place}, header, column {column!r}", got=repr(name), allowed=allowed, do=do)
            toward += [name] if f"{head}:" == STANCE else []
        elif column not in COLUMNS:
            spare.append(column)
    return toward, tuple(spare)


def _traits(record: Record) -> Int16:
    bank = bundled_bank()
    codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
    for column in record.cells:
        answer = text_cell(record, column, required=False) if column.startswith(TRAIT) else ""
        if answer:
            label = column.removeprefix(TRAIT)
            try:
                codes[bank.number_of(label)] = bank.code(label, answer, record.where(column))
            except UnknownName as error:
                raise DataError(error.where, got=error.got, allowed=error.allowed, do=error.do) from None
    return codes


def read_follows(table: Records, accounts: Accounts) -> tuple[Edges, tuple[str, ...]]:
    """Follows among accounts from records with ``follower`` and ``followed``, and the columns that were not used.

    Raises
    ------
    DataError
        With row and column: no such account, a follow of oneself, a follow twice.
    """
    for column in FOLLOWS:
        if column not in table.columns:
            got, do = ", ".join(table.columns)[:300], did_you_mean(column, table.columns)
            raise DataError(f"{table.place}, header", got=got, allowed="columns follower and followed", do=do)
    row_of = {name: row for row, name in enumerate(accounts.personas.ids)}
    ends = np.array([[account_row(r, column, row_of) for column in FOLLOWS] for r in table.records], np.int32)
    ends = ends.reshape(-1, 2)
    edges = Edges(np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))
    places = [record.place for record in table.records]
    check_distinct(edges, len(row_of), places.__getitem__, places.__getitem__)
    spare = tuple(column for column in table.columns if column not in FOLLOWS)
    return edges, spare


def check_accounts(scenario: Scenario, config: Config) -> None:
    """Refuse settings that say who the persons are where the scenario brings them.

    Raises
    ------
    SettingError
        Another number of agents than of accounts, a file of personas or margins beside accounts.
    """
    if scenario.accounts is None:
        return
    n = len(scenario.accounts)
    if config.agents != n:
        do = "leave `agents` out: the scenario sets it"
        raise SettingError("agents", got=f"{config.agents}", allowed=f"{n}, one for each account", do=do)
    for name in ("file", "margins"):
        if getattr(config.population, name):
            allowed, do = "none, as the scenario brings accounts", "take `accounts` out of the scenario"
            raise SettingError(f"population.{name}", got="one", allowed=allowed, do=do)
