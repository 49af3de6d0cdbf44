"""No word of `tests/retired_identifiers.txt` names anything in the package or in the viewer; prose may use them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

from repository import ROOT, TESTS

LIST = TESTS / "retired_identifiers.txt"
STRING_OR_COMMENT = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | `(?:\\.|[^`\\])*`""", re.VERBOSE | re.DOTALL
)
TEXT_OF_A_PAGE = re.compile(r"(?<=[>}])[^<>{};=()]*(?=[<{])")
"""Between two tags, or a tag and braces."""
NAMES_OF_LIBRARIES = frozenset({"np", "math", "Math"})


class Retired(NamedTuple):
    word: str
    replacement: str
    stays: tuple[str, ...]


class Use(NamedTuple):
    name: str
    line: int


def retired(text: str) -> list[Retired]:
    rows = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    cells = ([*map(str.strip, row.split("|")), ""] for row in rows)
    return [Retired(word, instead, tuple(stays.split())) for word, instead, stays, *_ in cells]


def python_names(text: str) -> Iterator[Use]:
    """Every name that a module binds or uses, but for attributes of NumPy and of the standard library's `math`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield Use(name, node.lineno)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield Use(name, node.lineno)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Use(name, node.lineno)
            case ast.Attribute(value=ast.Name(id=owner)) if owner in NAMES_OF_LIBRARIES:
                pass
            case ast.Attribute(attr=name):
                yield Use(name, node.end_lineno or node.lineno)
            case ast.alias(name=name, asname=other):
                yield Use(other or name.rpartition(".")[2], node.lineno)


def typescript_names(text: str) -> Iterator[Use]:
    """Every word of a program that stands in no comment, string or text of a page; values in templates count."""
    blank = STRING_OR_COMMENT.sub(_values_of_template, text)
    blank = TEXT_OF_A_PAGE.sub(lambda match: "\n" * match.group().count("\n"), blank)
    for match in re.finditer(r"(?<![\w$.])(\w+)|\.(\w+)", blank):
        if not (match[2] and blank[: match.start()].endswith(tuple(NAMES_OF_LIBRARIES))):
            yield Use(match[1] or match[2], blank.count("\n", 0, match.start()) + 1)


def _values_of_template(match: re.Match[str]) -> str:
    values = re.findall(r"\$\{([^}]*)\}", match.group()) if match.group().startswith("`") else []
    return " + ".join(["0", *values]) + "\n" * match.group().count("\n")


def files() -> Iterator[tuple[str, Iterator[Use]]]:
    for path in sorted((ROOT / "src" / "townsquare").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), python_names(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "viewer" / "src").rglob("*.ts*")):
        yield path.relative_to(ROOT).as_posix(), typescript_names(path.read_text(encoding="utf-8"))


def test_no_retired_identifier_is_used() -> None:
    words = {row.word: row for row in retired(LIST.read_text(encoding="utf-8"))}
    rows = [
        f"{path}:{use.line}: {use.name}, write: {words[use.name].replacement}"
        for path, uses in files()
        for use in uses
        if use.name in words and not any(fnmatchcase(path, pattern) for pattern in words[use.name].stays)
    ]
    assert not rows, f"{len(rows)} uses of retired identifiers:\n  " + "\n  ".join(rows)


def test_the_list_is_sorted_and_each_word_has_its_replacement() -> None:
    rows = retired(LIST.read_text(encoding="utf-8"))
    assert [row.word for row in rows] == sorted({row.word for row in rows})
    assert all(row.word.isidentifier() and row.replacement for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "def found(): pass",
        "def f(found): pass",
        "class found: pass",
        "f(found=1)",
        "a.found",
        "import a.found",
        "from a import b as found",
        "match a:\n    case [*found]: pass",
        "try: pass\nexcept E as found: pass",
    ],
)
def test_python_names_are_seen_wherever_they_stand(text: str) -> None:
    assert "found" in [use.name for use in python_names(text)]


def test_prose_and_names_of_libraries_are_not_seen() -> None:
    text = '"""What was found."""\n# found\nnp.found(math.found, "found")'
    assert {use.name for use in python_names(text)} == {"np", "math"}


def test_typescript_names_are_seen_and_prose_is_not() -> None:
    text = """
      // found
      const rows = found.map((row) => `found ${kept} found`);  /* found */
      return <p className="found">none was found {Math.floor(rows)} found</p>;
    """
    names = [use.name for use in typescript_names(text)]
    assert names.count("found") == 1
    assert "kept" in names
    assert not {"floor", "none", "was"} & set(names)
