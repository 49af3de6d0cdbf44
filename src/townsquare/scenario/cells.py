"""From the records of a file to the columns of a scenario, cell by cell.

Every error names file, row (line) and column, what is allowed, what came and what to do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from townsquare.core.cells import name_cell, number_cell, text_cell, word_cell
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.core.schema import PostType, Veracity
from townsquare.core.tabular import Record, Records
from townsquare.scenario.contents import Arguments, Float, Posts, Proposition, Source

MAX_PROPOSITIONS = 64
DEFAULT_CREDIBILITY = 0.5
DEFAULT_PLAUSIBILITY = 0.5

POST_COLUMNS = ("text", "veracity", "plausibility", "type", "topic", "source", "step")
ALIASES = {
    "text": ("text", "headline", "content", "title", "claim"),
    "veracity": ("veracity", "is_true", "truth", "label", "real"),
}
ACCOUNT, TIME = "account", "time"
ARGUMENT_COLUMNS = ("proposition", "side", "text", "stance", "strength", "tag")

_VERACITY = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "real"), int(Veracity.TRUE)),
    **dict.fromkeys(("false", "0", "0.0", "no", "fake"), int(Veracity.FALSE)),
    **dict.fromkeys(("unknown", ""), int(Veracity.UNKNOWN)),
}
_TYPE = {"news": int(PostType.NEWS), "post": int(PostType.POST), "": int(PostType.NEWS)}
_SIDE = {"pro": 1, "con": -1, "": 0}
_PROPOSITION_NAME = re.compile(r"\w[\w-]{0,63}")


# --- cells -------------------------------------------------------------------------------------------------


# --- propositions and sources ------------------------------------------------------------------------------


def read_propositions(table: Records) -> tuple[Proposition, ...]:
    """Propositions from items with ``name`` and ``text``."""
    check_columns(table, ("name", "text"))
    check_number(table.place, len(table.records))
    out: list[Proposition] = []
    for record in table.records:
        name = proposition_name(name_cell(record, "name"), record.where("name"))
        if any(name == other.name for other in out):
            raise DataError(record.where("name"), got=f"{name!r} again", allowed="a name of its own")
        out.append(Proposition(name, text_cell(record, "text")))
    return tuple(out)


def check_number(where: str, n: int) -> None:
    """Refuse more propositions than there may be, before each is looked at."""
    if n > MAX_PROPOSITIONS:
        raise DataError(where, got=f"{n:,} propositions", allowed=f"at most {MAX_PROPOSITIONS}")


def proposition_name(name: str, where: str) -> str:
    """The name, if settings and columns can use it."""
    if not _PROPOSITION_NAME.fullmatch(name) or name == "default":
        allowed = "1 to 64 letters, digits, _ and -, and not `default`"
        raise DataError(where, got=repr(name), allowed=allowed)
    return name


def read_sources(table: Records) -> tuple[Source, ...]:
    """Sources from items with ``name`` and ``credibility``."""
    check_columns(table, ("name", "credibility"))
    out: dict[str, Source] = {}
    for record in table.records:
        name = name_cell(record, "name")
        if name in out:
            raise DataError(record.where("name"), got=f"{name!r} again", allowed="a name of its own")
        out[name] = Source(name, number_cell(record, "credibility", 0, 1, DEFAULT_CREDIBILITY))
    return tuple(out.values())


def check_columns(table: Records, allowed: Sequence[str]) -> None:
    """Refuse the first column that is none of ``allowed``."""
    for column in table.columns:
        if column not in allowed:
            record = next((item for item in table.records if column in item.cells), None)
            where = record.place if record and table.records[0] is not record else table.place
            do = did_you_mean(column, allowed)
            raise DataError(where, got=f"the column {column!r}", allowed=", ".join(allowed), do=do)


@dataclass(slots=True)
class SourceRows:
    """Rows of sources by name. Undeclared ones are created, unless the scenario declares its sources."""

    declared: tuple[Source, ...]
    fallback: str
    found: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = {source.name: row for row, source in enumerate(self.declared)}

    def row(self, record: Record) -> int:
        """The row of a post's source; a post without one has the only source, or one named by the file."""
        name = name_cell(record, "source", required=len(self.declared) > 1)
        name = name or (self.declared[0].name if self.declared else self.fallback)
        if self.declared and name not in self.found:
            allowed = ", ".join(self.found)
            do = did_you_mean(name, self.found) or "add it to `sources`"
            raise DataError(record.where("source"), got=repr(name), allowed=allowed, do=do)
        return self.found.setdefault(name, len(self.found))

    def sources(self) -> tuple[Source, ...]:
        """All sources: the declared ones, or those that posts named."""
        return self.declared or tuple(Source(name, DEFAULT_CREDIBILITY) for name in self.found)


# --- posts -------------------------------------------------------------------------------------------------


def resolve_post_columns(
    table: Records, names: Sequence[str], *, strict: bool, more: Sequence[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Which column of a file stands for which column of :class:`Posts`, and which are not used.

    Parameters
    ----------
    table : Records
        The posts.
    names : sequence of str
        Propositions that there are.
    strict : bool
        Refuse columns that are not known, instead of leaving them out.
    more : sequence of str
        Columns beside the usual ones that are known here.

    Raises
    ------
    DataError
        No column of texts, an unknown column, a stance toward an unknown proposition.
    """
    used: dict[str, str] = {}
    for wanted in (*POST_COLUMNS, *more):
        found = next((name for name in ALIASES.get(wanted, (wanted,)) if name in table.columns), None)
        if found is not None:
            used[wanted] = found
    if "text" not in used:
        allowed = "a column `text` (or " + ", ".join(ALIASES["text"][1:]) + ")"
        got = "columns " + ", ".join(table.columns)[:300]
        raise DataError(f"{table.place}, header", got=got, allowed=allowed, do="rename the column that holds the texts")
    spare = []
    for column in table.columns:
        head, _, name = column.partition(":")
        if head in ("stance", "strength") and name:
            _check_proposition(table, column, name, names)
            used[column] = column
        elif column not in used.values():
            spare.append(column)
    known = [*POST_COLUMNS, *more, *(f"{head}:{name}" for name in names for head in ("stance", "strength"))]
    if strict and spare:
        do = did_you_mean(spare[0], known)
        raise DataError(f"{table.place}, header", got=f"the column {spare[0]!r}", allowed=", ".join(known), do=do)
    return used, spare


def _check_proposition(table: Records, column: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        allowed = ", ".join(names) or "no proposition, as the scenario has none"
        do = did_you_mean(name, names)
        raise DataError(f"{table.place}, header, column {column!r}", got=repr(name), allowed=allowed, do=do)


def read_posts(
    table: Records,
    used: Mapping[str, str],
    names: Sequence[str],
    sources: SourceRows,
    *,
    accounts: Mapping[str, int] | None = None,
    steps: Sequence[int] | None = None,
) -> Posts:
    """Posts from records whose columns are resolved.

    Parameters
    ----------
    table : Records
        At least one record.
    used : mapping
        From :func:`resolve_post_columns`.
    names : sequence of str
        Propositions, in order.
    sources : SourceRows
        Learns the sources that posts name, if none are declared.
    accounts : mapping of id to row, optional
        Accounts, one of which the column ``account`` may name instead of a source.
    steps : sequence of int, optional
        Steps that follow from times, -1 for none; they go before the column ``step``.
    """
    records = table.records
    if not records:
        raise DataError(table.place, got="no posts", allowed="at least one post", do="an empty scenario cannot be run")
    text, truth = used["text"], used.get("veracity", "veracity")
    stance, strength = (_by_proposition(records, head, low, names) for head, low in (("stance", -1), ("strength", 0)))
    _check_strengths(records, stance, strength, names)
    account = [_account(record, accounts) for record in records]
    with _read_as(truth, "what is true"):
        veracity = [word_cell(record, truth, _VERACITY) for record in records]
    with _read_as("plausibility", "how believable a post is"):
        plausibility = [number_cell(record, "plausibility", 0, 1, DEFAULT_PLAUSIBILITY) for record in records]
    with _read_as("type", "the kind of post"):
        kind = [word_cell(record, "type", _TYPE) for record in records]
    with _read_as("step", "the step in which a post enters"):
        step = _steps(records, steps)
    return Posts(
        text=tuple(text_cell(record, text) for record in records),
        veracity=np.array(veracity, np.uint8),
        plausibility=np.array(plausibility),
        type=np.array(kind, np.uint8),
        topic=tuple(name_cell(record, "topic", required=False) for record in records),
        source=np.array([-1 if a >= 0 else sources.row(r) for a, r in zip(account, records, strict=True)], np.int32),
        step=np.array(step, np.int32),
        stance=stance,
        strength=strength,
        account=np.array(account, np.int32),
    )


@contextmanager
def _read_as(column: str, meaning: str) -> Iterator[None]:
    """Say, where a cell cannot be read, what its column is read for: a file may mean something else by the name."""
    try:
        yield
    except DataError as error:
        hint = f"Townsquare reads a column {column!r} for {meaning}: rename the column if it holds something else"
        raise DataError(error.where, got=error.got, allowed=error.allowed, do=error.do or hint) from None


def _account(record: Record, accounts: Mapping[str, int] | None) -> int:
    """Row of the account that wrote a post; -1 for a post by a source."""
    if accounts is None:
        if str(record.cells.get(ACCOUNT) or "").strip():
            do = "name them under `accounts:` in the scenario"
            raise DataError(record.where(ACCOUNT), got="a post by an account", allowed="posts by sources", do=do)
        return -1
    row = account_row(record, ACCOUNT, accounts, required=False)
    if row >= 0 and str(record.cells.get("source") or "").strip():
        raise DataError(record.where("source"), got="a source and an account", allowed="one of them")
    return row


def account_row(record: Record, column: str, accounts: Mapping[str, int], *, required: bool = True) -> int:
    """Row of the account that a cell names by its id; -1 for an empty cell that may be empty."""
    name = name_cell(record, column, required=required)
    if not name:
        return -1
    if name not in accounts:
        do = did_you_mean(name, list(accounts)[:10_000])
        raise DataError(record.where(column), got=repr(name), allowed="the `id` of an account", do=do)
    return accounts[name]


def _steps(records: Sequence[Record], timed: Sequence[int] | None) -> list[int]:
    own = [_step(record) for record in records]
    return own if timed is None else [step if step > 0 else time for step, time in zip(own, timed, strict=True)]


def _by_proposition(records: Sequence[Record], head: str, low: float, names: Sequence[str]) -> Float:
    """(n, P) numbers of the columns ``head:name``, NaN where empty."""
    out = np.full((len(records), len(names)), np.nan)
    for column, name in enumerate(names):
        out[:, column] = [number_cell(record, f"{head}:{name}", low, 1, math.nan) for record in records]
    return out


def _check_strengths(records: Sequence[Record], stance: Float, strength: Float, names: Sequence[str]) -> None:
    for row, column in np.argwhere(np.isnan(stance) & ~np.isnan(strength))[:1].tolist():
        where = records[row].where(f"strength:{names[column]}")
        raise DataError(
            where, got="a strength without a stance", allowed=f"both, or neither, of stance:{names[column]}"
        )


def _step(record: Record) -> int:
    number = number_cell(record, "step", 1, 1_000_000, -1)
    if number != int(number):
        raise DataError(record.where("step"), got=repr(number), allowed="a whole number of at least 1, or nothing")
    return int(number)


# --- arguments ---------------------------------------------------------------------------------------------


def read_arguments(table: Records, names: Sequence[str]) -> Arguments:
    """Arguments from records with proposition, text, stance, strength; ``side`` is checked, ``tag`` is not used."""
    check_columns(table, ARGUMENT_COLUMNS)
    rows = {name: row for row, name in enumerate(names)}
    proposition, stance = [], []
    for record in table.records:
        name = name_cell(record, "proposition")
        if name not in rows:
            allowed = ", ".join(names) or "no proposition, as the scenario has none"
            raise DataError(record.where("proposition"), got=repr(name), allowed=allowed, do=did_you_mean(name, names))
        proposition.append(rows[name])
        stance.append(_argument_stance(record))
    return Arguments(
        proposition=np.array(proposition, np.int16),
        text=tuple(text_cell(record, "text") for record in table.records),
        stance=np.array(stance, np.float64),
        strength=np.array([number_cell(record, "strength", 0, 1, 0.5) for record in table.records], np.float64),
    )


def _argument_stance(record: Record) -> float:
    stance = number_cell(record, "stance", -1, 1, math.nan)
    if math.isnan(stance):
        raise DataError(record.where("stance"), got="nothing", allowed="a number from -1 to 1")
    if stance * word_cell(record, "side", _SIDE) < 0:
        allowed = "pro with a stance above 0, con with one below"
        raise DataError(record.where("side"), got=f"a stance of {stance:g}", allowed=allowed)
    return stance
