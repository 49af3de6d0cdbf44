"""The table of published facts: a data file, bundled or given."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from townsquare.analysis.facts.measures import NAMES
from townsquare.core.documents import bundled_labels, read_yaml
from townsquare.core.errors import DataError
from townsquare.core.files import bundled_folder
from townsquare.core.registry import check_known
from townsquare.core.text_table import as_markdown, table
from townsquare.core.words import MISSING
from townsquare.settings.problems import validated

LARGEST_FILE = 1024 * 1024
MOST_FACTS = 500
Scope = Literal["run", "sitting", "notes", "rule", "input", "unattainable"]
SCOPES: dict[str, dict[str, str]] = bundled_labels("scopes_of_facts")
"""Scopes in their order: the heading of each and what it means."""
MINUS = "\u2212"
MEASURED = ("run", "notes")
"""Scopes whose facts name a measure."""
Text = Annotated[str, Field(max_length=1000)]
Number = Annotated[float, Field(allow_inf_nan=False)]


def short_number(value: float | None) -> str:
    """Return a number with at most three significant digits; whole digits are kept.

    >>> short_number(0.0015), short_number(-0.7132), short_number(1020.0)
    ('0.0015', '−0.713', '1,020')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", MINUS)


class Fact(BaseModel):
    """One published fact, with the interval in which a run should lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    statement: Text
    interval: Annotated[list[Number], Field(min_length=2, max_length=2)]
    unit: Text
    certainty: Literal["computed", "page", "memory"]
    source: Text
    value: Number | None = None
    interval_from: Text = ""
    direction: Literal["within", "at least", "at most"] = "within"
    verify: bool = False
    left_out: bool = False
    scope: Scope = "run"
    reason: Text = ""
    definition: Text = ""
    drives: Text = ""
    measure: Text = ""

    @property
    def target(self) -> str:
        """The interval in words."""
        low, high = map(short_number, self.interval)
        return {"at least": f"at least {low}", "at most": f"at most {high}"}.get(self.direction, f"{low} to {high}")

    @property
    def unscored(self) -> bool:
        """Whether the interval is from memory, or marked as still to verify."""
        return self.verify or self.certainty == "memory"

    def holds(self, value: float) -> bool:
        """Return whether a measured value is inside."""
        low, high = self.interval
        return (self.direction == "at most" or value >= low) and (self.direction == "at least" or value <= high)


class _File(BaseModel):
    """The form of a file of facts."""

    model_config = ConfigDict(extra="forbid")

    facts: Annotated[list[Fact], Field(min_length=1, max_length=MOST_FACTS)]


def read_facts(path: Path | None = None) -> list[Fact]:
    """Read a table of facts; by default the bundled one.

    Raises
    ------
    DataError
        The file is too large, no YAML, has another form, an interval upside down, a fact twice, or a measure that does
        not exist.
    """
    path = path or bundled_folder() / "facts.yaml"
    facts = validated(_File, read_yaml(path, limit=LARGEST_FILE), path).facts
    seen: set[str] = set()
    for fact in facts:
        where = f"{path}, fact {fact.id!r}"
        if fact.interval[0] > fact.interval[1]:
            raise DataError(f"{where}, interval", got=str(fact.interval), allowed="the lower end first")
        if fact.id in seen:
            raise DataError(where, got="the same id twice", allowed="each id once")
        seen.add(fact.id)
        if fact.measure or fact.scope in MEASURED:
            check_known(f"{where}, measure", fact.measure, NAMES, DataError)
    return facts


def facts_page(facts: list[Fact]) -> str:
    """Return the page ``docs/realism.md``."""
    parts = [(bundled_folder() / "facts_page.md").read_text(encoding="utf-8")]
    for scope in get_args(Scope):
        listed = [fact for fact in facts if fact.scope == scope]
        if not listed:
            continue
        rows = []
        for fact in listed:
            name = f"`{fact.id}`"
            name += " (not used for defaults)" if fact.left_out else ""
            name += " (not scored)" if fact.unscored else ""
            published = f"{short_number(fact.value)} ({fact.target}), {fact.unit}"
            basis = f"{fact.certainty}; {fact.interval_from}"
            rows.append((name, fact.statement, published, basis, fact.definition, fact.reason))
        columns = ("fact", "statement", "published (target range)", "certainty; origin of range", "measure", "note")
        shown, about = as_markdown(table("", rows, (str, *columns))), SCOPES[scope]
        parts.append(f"## {about['title']}\n\n{about['meaning']}\n\n{shown}\n")
    sources = "\n".join(f"- `{fact.id}`: {fact.source}." for fact in facts)
    return "\n".join([*parts, f"## Sources\n\nRead or computed on 2026-11-22.\n\n{sources}"])
