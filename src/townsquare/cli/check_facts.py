"""``townsquare check facts``: published facts about people and platforms, and what a run shows of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show, show_json


def facts(
    *,
    file: Annotated[Path | None, Parameter(name="--facts")] = None,
    list_them: Annotated[bool, Parameter(name="--list")] = False,
    markdown: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """List published facts about people and platforms, with intervals and sources.

    Parameters
    ----------
    file
        A table of facts of your own (YAML); default: the bundled one, see docs/realism.md.
    list_them
        List the facts.
    markdown
        With --list: print the page docs/realism.md.
    """
    from townsquare.analysis.facts.table import facts_page, read_facts

    listed = read_facts(file)
    if as_json:
        return show_json({"facts": [fact.model_dump() for fact in listed]})
    if markdown:
        print(facts_page(listed))
    else:
        rows = [(fact.id, fact.scope, fact.statement, fact.target, fact.unit, fact.certainty) for fact in listed]
        show("", rows, (str, "fact", "scope", "statement", "interval", "unit", "certainty"))
    return 0
