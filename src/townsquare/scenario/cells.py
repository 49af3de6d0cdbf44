"""Columns of scenario tables, and their checks.

Every error names file, row (line) and column, what is allowed, what came and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.core.cells import Column, Group, Sheet, is_filled, name_cell, names, numbers, read_columns, texts, words
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records
from townsquare.scenario.contents import Arguments, NoteBank, Posts, Proposition, Source

MAX_PROPOSITIONS = 64
DEFAULT_CREDIBILITY = 0.5
NO_PROPOSITION = "none: the scenario has no propositions"
ACCOUNT, TIME = "account", "time"
MAX_NOTE = 1000

_VERACITY = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "real"), int(Veracity.TRUE)),
    **dict.fromkeys(("false", "0", "0.0", "no", "fake"), int(Veracity.FALSE)),
    **dict.fromkeys(("unknown", ""), int(Veracity.UNKNOWN)),
}
_TYPE = {"news": int(PostType.NEWS), "post": int(PostType.POST), "": int(PostType.NEWS)}
PROPOSITION_NAME = re.compile(r"\w[\w-]{0,63}")


def proposition_name(name: str, where: str) -> str:
    """Return the name if it is valid in settings and columns."""
    if not PROPOSITION_NAME.fullmatch(name) or name == "default":
        raise DataError(where, got=repr(name), allowed="1 to 64 letters, digits, _ and -, and not `default`")
    return name


def _proposition(record: Record, column: str) -> str:
    return proposition_name(name_cell(record, column), record.where(column))


PROPOSITIONS = (
    Column("name", _proposition, unique=True),
    Column("text", texts()),
    Column("veracity", words(_VERACITY), meaning="veracity of the statement"),
)
SOURCES = (Column("name", names(), unique=True), Column("credibility", numbers(0, 1, DEFAULT_CREDIBILITY)))
POSTS = (
    Column("text", texts(), ("headline", "content", "title", "claim"), needed=True),
    Column("veracity", words(_VERACITY), ("is_true", "truth", "label", "real"), meaning="veracity"),
    Column("plausibility", numbers(0, 1, 0.5), meaning="plausibility"),
    Column("type", words(_TYPE), meaning="kind of post"),
    Column("topic", names(required=False)),
    Column("source", names(required=False)),
    Column("step", numbers(1, 1_000_000, -1, whole=True), meaning="step of injection"),
)
OF_FOLDERS = (Column(ACCOUNT, names(required=False)), Column(TIME, texts(required=False)))
"""Columns of posts in scenario folders only."""
ARGUMENTS = (
    Column("proposition", names()),
    Column("side", words({"pro": 1, "con": -1, "": 0})),
    Column("text", texts()),
    Column("stance", numbers(-1, 1, None)),
    Column("strength", numbers(0, 1, 0.5)),
    Column("tag", texts()),
)

NOTES = (
    Column("proposition", names(required=False)),
    Column("stance", numbers(-1, 1)),
    Column("text", texts(limit=MAX_NOTE), needed=True),
    Column("source", names(required=False)),
)


def known_row(record: Record, column: str, rows: Mapping[str, int], allowed: str, do: str = "") -> int:
    """Return the row of what a cell names.

    Raises
    ------
    DataError
        No such name, with the nearest of the first 10,000 or with ``do``.
    """
    name = name_cell(record, column)
    if name not in rows:
        near = did_you_mean(name, list(rows)[:10_000])
        raise DataError(record.where(column), got=repr(name), allowed=allowed, do=near or do)
    return rows[name]


def account_row(record: Record, column: str, accounts: Mapping[str, int]) -> int:
    """Return the row of the account that a cell names by its id."""
    return known_row(record, column, accounts, "the `id` of an account")


# --- propositions and sources ------------------------------------------------------------------------------


def read_propositions(table: Records) -> tuple[Proposition, ...]:
    """Return propositions from items with ``name``, ``text`` and, if known, ``veracity``."""
    sheet = read_columns(table, PROPOSITIONS)
    check_number(table.location, len(table.records))
    return tuple(map(Proposition, sheet["name"], sheet["text"], map(Veracity, sheet["veracity"])))


def check_number(where: str, n: int) -> None:
    """Refuse too many propositions before reading each."""
    if n > MAX_PROPOSITIONS:
        raise DataError(where, got=f"{n:,} propositions", allowed=f"at most {MAX_PROPOSITIONS}")


def read_sources(table: Records) -> tuple[Source, ...]:
    """Return sources from items with ``name`` and ``credibility``."""
    sheet = read_columns(table, SOURCES)
    return tuple(map(Source, sheet["name"], sheet["credibility"]))


@dataclass(slots=True)
class SourceRows:
    """Rows of sources by name. Undeclared ones are created, unless the scenario declares its sources."""

    declared: tuple[Source, ...]
    fallback: str
    row_of: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.row_of = {source.name: row for row, source in enumerate(self.declared)}

    def row(self, record: Record) -> int:
        """Return the row of a post's source; a post without one has the only source, or one named by the file."""
        if len(self.declared) > 1 or (self.declared and is_filled(record, "source")):
            return known_row(record, "source", self.row_of, ", ".join(self.row_of), "add it to `sources`")
        if self.declared:
            return 0
        return self.row_of.setdefault(name_cell(record, "source", required=False) or self.fallback, len(self.row_of))

    def sources(self) -> tuple[Source, ...]:
        """Return all sources: the declared ones, or those that posts named."""
        return self.declared or tuple(Source(name, DEFAULT_CREDIBILITY) for name in self.row_of)


# --- posts -------------------------------------------------------------------------------------------------


def post_columns(table: Records, propositions: Sequence[str], *, alone: bool) -> Sheet:
    """Return the columns of posts; of a table ``alone``, others are left out.

    Raises
    ------
    DataError
        No posts, no column of texts, an unknown column, a stance toward an unknown proposition.
    """
    groups = (Group("stance", propositions, numbers(-1, 1)), Group("strength", propositions, numbers(0, 1)))
    if not table.records:
        raise DataError(table.location, got="no posts", allowed="at least one post", do="add a post")
    columns = POSTS if alone else POSTS + OF_FOLDERS
    other = [name for name in table.columns if alone and _is_other(name, propositions)]
    table = replace(table, columns=tuple(name for name in table.columns if name not in other))
    sheet = read_columns(table, columns, groups, strict=not alone, nothing=NO_PROPOSITION)
    if not alone:
        return sheet
    sheet = _of_any_meaning(sheet)
    notices = [f"column {name!r} names no proposition" for name in other]
    return replace(sheet, spare=(*sheet.spare, *other), notices=(*sheet.notices, *notices))


def _is_other(column: str, propositions: Sequence[str]) -> bool:
    group, _, name = column.partition(":")
    return group in ("stance", "strength") and bool(name) and name not in propositions


def _of_any_meaning(sheet: Sheet) -> Sheet:
    """Return the columns of a table in which names may mean something else; ``notices`` say what is not used.

    A cell that cannot be read counts as empty. A column, such as `type`, in which none can be read is left out.
    """
    table, used, notices = sheet.table, dict(sheet.used), []
    for column in POSTS[1:]:
        for header in (name for name in (column.name, *column.aliases) if name in table.columns):
            used.pop(column.name, None)
            bad, filled = _unreadable(table, column, header), sum(is_filled(record, header) for record in table.records)
            where = f"column {header!r} is not the {column.meaning or column.name}: " if len(bad) == filled else ""
            if bad:
                shown = repr(table.records[bad[0]].cells[header])[:40]
                what = f"{len(bad):,} of {filled:,} cells cannot be read as {column.meaning or column.name}"
                notices.append(f"{where or f'column {header!r}: '}{what}, such as {shown}")
            if bad and where:
                continue
            records = list(table.records)
            for row in bad:
                records[row] = replace(records[row], cells={**records[row].cells, header: None})
            table, used[column.name] = replace(table, records=records), header
            break
    spare = tuple(name for name in table.columns if name not in used.values())
    return replace(sheet, table=table, used=used, spare=spare, notices=tuple(notices))


def _unreadable(table: Records, column: Column, header: str) -> list[int]:
    """Return the rows whose cell cannot be read."""
    out = []
    for row, record in enumerate(table.records):
        try:
            column.read(record, header)
        except DataError:
            out.append(row)
    return out


def read_posts(
    sheet: Sheet,
    propositions: Sequence[str],
    sources: SourceRows,
    *,
    accounts: Mapping[str, int] | None = None,
    steps: npt.NDArray[np.int32] | None = None,
) -> Posts:
    """Return posts from records whose columns are known.

    Parameters
    ----------
    sheet : Sheet
        From :func:`post_columns`.
    propositions : sequence of str
        Their names, in order.
    sources : SourceRows
        Learns the sources that posts name, if none are declared.
    accounts : mapping of id to row, optional
        Accounts, one of which the column ``account`` may name instead of a source.
    steps : (n,) int32, optional
        Steps that follow from times, -1 for none; the column ``step`` goes before them.
    """
    records = sheet.table.records
    stance, strength = (_by_proposition(sheet, group, propositions) for group in ("stance", "strength"))
    _check_strengths(records, stance, strength, propositions)
    account = [_account(record, accounts) for record in records]
    own = sheet["step"]
    return Posts(
        text=tuple(sheet["text"]), veracity=np.array(sheet["veracity"], np.uint8),
        type=np.array(sheet["type"], np.uint8), topic=tuple(sheet["topic"]),
        plausibility=np.array(sheet["plausibility"]),
        source=np.array([-1 if a >= 0 else sources.row(r) for a, r in zip(account, records, strict=True)], np.int32),
        step=np.array(own if steps is None else np.where(np.array(own) > 0, own, steps), np.int32),
        stance=stance, strength=strength, account=np.array(account, np.int32),
    )  # fmt: skip


def _account(record: Record, accounts: Mapping[str, int] | None) -> int:
    """Return row of the account that wrote a post; -1 for a post by a source."""
    if not is_filled(record, ACCOUNT):
        return -1
    if accounts is None:
        do = "name them under `accounts:` in the scenario"
        raise DataError(record.where(ACCOUNT), got="a post by an account", allowed="posts by sources", do=do)
    row = account_row(record, ACCOUNT, accounts)
    if is_filled(record, "source"):
        raise DataError(record.where("source"), got="a source and an account", allowed="one of them")
    return row


def _by_proposition(sheet: Sheet, group: str, propositions: Sequence[str]) -> Float:
    """Return (n, P) numbers of the columns ``group:name``, NaN where empty."""
    out = np.full((len(sheet.table.records), len(propositions)), np.nan)
    for column, name in enumerate(propositions):
        out[:, column] = sheet[f"{group}:{name}"]
    return out


def _check_strengths(records: Sequence[Record], stance: Float, strength: Float, propositions: Sequence[str]) -> None:
    for row, column in np.argwhere(np.isnan(stance) & ~np.isnan(strength))[:1].tolist():
        where, allowed = f"strength:{propositions[column]}", f"both, or neither, of stance:{propositions[column]}"
        raise DataError(records[row].where(where), got="a strength without a stance", allowed=allowed)


# --- arguments ---------------------------------------------------------------------------------------------


def read_arguments(table: Records, propositions: Sequence[str]) -> Arguments:
    """Read arguments from records with proposition, text, stance, strength; ``side`` is checked, ``tag`` unused."""
    sheet = read_columns(table, ARGUMENTS)
    rows = {name: row for row, name in enumerate(propositions)}
    allowed = ", ".join(rows) or NO_PROPOSITION
    proposition = [known_row(record, "proposition", rows, allowed) for record in table.records]
    for record, stance, side in zip(table.records, sheet["stance"], sheet["side"], strict=True):
        if stance * side < 0:
            allowed = "pro with a stance above 0, con with one below"
            raise DataError(record.where("side"), got=f"a stance of {stance:g}", allowed=allowed)
    stance, strength = (np.array(sheet[column], np.float64) for column in ("stance", "strength"))
    return Arguments(np.array(proposition, np.int16), tuple(sheet["text"]), stance, strength)


# --- notes -------------------------------------------------------------------------------------------------


def read_notes(table: Records, propositions: Sequence[str]) -> NoteBank:
    """Read community notes from records with proposition, stance, text, source; both of the first, or neither."""
    sheet = read_columns(table, NOTES)
    rows = {name: row for row, name in enumerate(propositions)}
    allowed, stance = ", ".join(rows) or NO_PROPOSITION, np.array(sheet["stance"], np.float64)
    proposition = np.full(stance.size, -1, np.int16)
    for at, (record, name) in enumerate(zip(table.records, sheet["proposition"], strict=True)):
        if bool(name) == bool(np.isnan(stance[at]) or stance[at] == 0):
            got = f"{name or 'no proposition'} with a stance of {stance[at]:g}"
            raise DataError(record.where("stance"), got=got, allowed="a proposition with a stance not 0, or neither")
        if name:
            proposition[at] = known_row(record, "proposition", rows, allowed)
    cited = zip(sheet["text"], sheet["source"], strict=True)
    text = tuple(f"{note} Source: {source}." if source else note for note, source in cited)
    return NoteBank(text, proposition, stance, tuple(sheet["source"]))
