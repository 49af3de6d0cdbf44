"""The words of a query, and which functions it may call: what keeps SQL over a run away from files.

Polars and PostgreSQL have functions that read files, by names that can be quoted, commented and spelled in many ways.
So a query is taken apart here into words, quoted names, texts and signs, comments are taken out of what is executed,
and a name in front of a parenthesis must be one of :data:`FUNCTIONS`, unquoted. SQLite needs no such list: it asks for
leave before it reads anything but the tables of the run.
"""

from __future__ import annotations

import re
from importlib.resources import files as package_files
from itertools import pairwise
from typing import NamedTuple

from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.registry import did_you_mean

FUNCTIONS = frozenset(package_files(__package__).joinpath("query_functions.txt").read_text(encoding="utf-8").split())
"""Functions that a query may call over Parquet parts and on a server: of numbers, texts, times, lists and groups."""
_BEFORE_PARENTHESES = """
all and any array as between by case cast char character cube decimal distinct else except exclude exists extract filter
from group having ilike in interval intersect is join lateral like limit materialized not numeric offset on or over
partition regexp rename rlike rollup row select sets similar some then to try_cast union using values varchar when where
with within
"""
_KEYWORDS = frozenset(_BEFORE_PARENTHESES.split())
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\d[\w.]*|\.\d\w*)
    | (?P<sign>[-+*/%<>=!|&~^:,.()\[\];?@\#{}])""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A part of a query: ``kind`` is ``space``, ``text``, ``quoted``, ``word``, ``number`` or ``sign``."""

    kind: str
    text: str


def tokens_of(query: str) -> list[Token]:
    """Return the tokens of a query in order; comments and blanks become single blanks.

    Raises
    ------
    SettingError
        For a character that no query needs outside of quotes, or a quote that is not closed.

    Examples
    --------
    >>> [token.text for token in tokens_of("SELECT 'a -- b' /* c */ FROM t")]
    ['SELECT', ' ', "'a -- b'", ' ', ' ', ' ', 'FROM', ' ', 't']
    """
    tokens, at = [], 0
    while at < len(query):
        match = _TOKEN.match(query, at)
        if match is None:
            got = f"the character {query[at]!r}"
            raise SettingError("query", got=got, do="close every quote; write texts as 'text'")
        kind = str(match.lastgroup)
        tokens.append(Token(kind, " " if kind == "space" else match[0]))
        at = match.end()
    return tokens


def check_functions(query: str) -> None:
    """Refuse a query that calls anything but :data:`FUNCTIONS`.

    Raises
    ------
    UnknownName
        For another name in front of a parenthesis, or a quoted one.
    SettingError
        For texts of another form than ``'text'``, such as ``E'text'``.
    """
    tokens = [Token("", ""), *tokens_of(query)]
    for (kind, text), (next_kind, _) in pairwise(tokens):
        if kind == "word" and next_kind in ("text", "quoted"):
            raise SettingError("query", got=f"a quote right after {text!r}", do="write texts as 'text'")
    words = [token for token in tokens if token.kind != "space"]
    for before, (kind, text), after in zip(words, words[1:], words[2:], strict=False):
        name = text.casefold()
        if after.text != "(" or (kind == "sign" and text not in ")]"):
            continue
        declared = before.text.casefold() in ("with", "recursive")  # a table of the query's own, and its columns
        if kind != "word" or not (name in FUNCTIONS or name in _KEYWORDS or declared):
            allowed = "the functions listed in docs/record.md, unquoted"
            raise UnknownName("function in query", got=text[:80], allowed=allowed, do=did_you_mean(name, FUNCTIONS))
