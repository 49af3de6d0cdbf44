"""A description of a study by the elements of ODD+D, as a value: parts, elements, questions and what answers them.

Source: Müller and others (2013), "Describing human decisions in agent-based models: ODD + D, an extension of the ODD
protocol", doi 10.1016/j.envsoft.2013.06.003. Elements, guiding questions and sentences are in
``data/protocol.yaml``; values, tables and descriptions of members are derived by the caller.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from townsquare.core.documents import read_yaml
from townsquare.core.files import bundled_folder
from townsquare.core.text_table import Table, as_markdown
from townsquare.core.words import printable

LONGEST = 2000
"""Characters of a text of the record that are shown."""
_CONDITION = re.compile(r"\[(!?)(\w+)\] (.*)", re.DOTALL)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


@dataclass(frozen=True, slots=True)
class Code:
    """Lines shown as they are: a formula, a query."""

    text: str


@dataclass(frozen=True, slots=True)
class Author:
    """What the program cannot derive, and the author must state."""

    text: str


Block = str | Code | Author | Table


@dataclass(frozen=True, slots=True)
class Answer:
    """A guiding question, and what answers it."""

    question: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the protocol."""

    key: str
    title: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the protocol."""

    title: str
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A description of a study: title, facts at the top, and its parts."""

    title: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]

    @property
    def elements(self) -> list[Element]:
        """Every element, in order."""
        return [element for part in self.parts for element in part.elements]

    @property
    def for_author(self) -> list[str]:
        """What the author must state, in order."""
        blocks = (block for element in self.elements for answer in element.answers for block in answer.blocks)
        return [block.text for block in blocks if isinstance(block, Author)]

    def markdown(self) -> str:
        """Return the description in Markdown; texts of the record are escaped."""
        lines = [f"# {escaped(self.title)}", "", *(f"- {name}: {escaped(value)}" for name, value in self.facts)]
        for part in self.parts:
            lines += ["", f"## {part.title}"]
            for element in part.elements:
                lines += ["", f"### {element.title}"]
                for answer in element.answers:
                    lines += ["", f"#### {answer.question}", ""]
                    lines += ["\n\n".join(map(_as_markdown, answer.blocks))]
        return "\n".join(lines) + "\n"


def _as_markdown(block: Block) -> str:
    if isinstance(block, Table):
        cells = replace(block, rows=[[escaped(cell) for cell in row] for row in block.rows])
        parts = [f"**{escaped(block.caption)}**" if block.caption else "", as_markdown(cells), escaped(block.note)]
        return "\n\n".join(filter(None, parts))
    if isinstance(block, Code):
        return "\n".join(f"    {line}" for line in block.text.splitlines())
    return f"**Author: state {escaped(block.text)}**" if isinstance(block, Author) else escaped(block)


def escaped(text: str) -> str:
    """Return text in which nothing is markup but code in backticks.

    >>> escaped("a *b* `c < d` <e>")
    'a \\\\*b\\\\* `c < d` &lt;e>'
    """
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:  # an odd backtick opens nothing
        parts = ["'".join(parts)]
    plain = [re.sub(r"([\\*\[\]])", r"\\\1", html.escape(part, quote=False).replace("&gt;", ">")) for part in parts]
    return "`".join(part if at % 2 else plain[at] for at, part in enumerate(parts))


def quoted(text: object) -> str:
    """Return a text of the record: printable, bounded, without backticks."""
    return printable(str(text), LONGEST).replace("`", "'")


def prose(doc: str) -> list[Block]:
    """Return a docstring as paragraphs and code; roles and double backticks become plain code.

    >>> prose("Move ``s``.\\n\\n    s = 1\\n\\nEnd of :mod:`a.b`.")
    ['Move `s`.', Code(text='s = 1'), 'End of `b`.']
    """
    blocks: list[Block] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(doc)):
        runs: list[tuple[bool, list[str]]] = []
        for line in paragraph.splitlines():
            indented = line.startswith("    ")
            if not runs or runs[-1][0] is not indented:
                runs.append((indented, []))
            runs[-1][1].append(line)
        for indented, lines in runs:
            whole = "\n".join(lines)
            blocks.append(Code(inspect.cleandoc(whole)) if indented else _plain(whole))
    return blocks


def _plain(text: str) -> str:
    return _ROLE.sub(r"`\1`", " ".join(text.split())).replace("``", "`").replace("::", ":")


def summary(function: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring."""
    return _plain((inspect.getdoc(function) or "").partition("\n\n")[0])


@dataclass(frozen=True, slots=True)
class Study:
    """What answers the questions.

    ``kind`` is ``run`` or ``debate``. ``values`` fill the sentences; one that is missing or empty makes the condition
    of its name false. ``blocks`` are tables and descriptions, by name, made when they are asked for.
    """

    kind: str
    values: Mapping[str, str]
    blocks: Callable[[str], Sequence[Block]]


@cache
def template() -> list[dict[str, Any]]:
    """Return the parts, elements and questions of ODD+D, from ``data/protocol.yaml``."""
    listed: Any = read_yaml(bundled_folder() / "protocol.yaml")
    return list(listed)


def describe(study: Study) -> tuple[Part, ...]:
    """Answer every guiding question of ODD+D about a study."""

    def element(given: Mapping[str, Any]) -> Element:
        return Element(given["key"], given["title"], tuple(_answers(given["questions"], study)))

    return tuple(Part(part["part"], tuple(map(element, part["elements"]))) for part in template())


def _answers(questions: Sequence[Mapping[str, Any]], study: Study) -> Iterator[Answer]:
    for question in questions:
        blocks: list[Block] = []
        for line in question.get(study.kind, question.get("all", ())):
            blocks += _blocks(line, study)
        if "author" in question:
            blocks.append(Author(question["author"]))
        yield Answer(question["ask"], tuple(blocks))


def _blocks(line: str, study: Study) -> Sequence[Block]:
    while match := _CONDITION.fullmatch(line):
        negated, name, line = match.groups()
        if bool(study.values.get(name)) is bool(negated):
            return []
    return study.blocks(line[1:]) if line.startswith("@") else [line.format_map(study.values)]
