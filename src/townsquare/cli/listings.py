"""``townsquare scenarios`` and ``townsquare schema``: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, show_json, table


def scenarios(*, as_json: options.AsJson = False) -> int:
    """List the bundled scenarios, and the presets that reproduce published set-ups."""
    from townsquare.scenario.load import list_scenarios
    from townsquare.settings.presets import list_presets

    found, presets = list_scenarios(), list_presets()
    if as_json:
        show_json(
            [
                *({"kind": "scenario", **line._asdict()} for line in found),
                *({"kind": "preset", **line._asdict()} for line in presets),
            ]
        )
    else:
        rows = [(line.name, line.title, line.posts, line.propositions) for line in found]
        columns = ("scenario", "title", "posts", "propositions")
        console().print(table("", columns, rows, right=("posts", "propositions")))
        console().print(table("", ("preset", "title", "of scenario"), [tuple(line) for line in presets]))
    return 0


def schema(
    *, markdown: Annotated[bool, Parameter(negative="", help="As a page of the documentation instead.")] = False
) -> int:
    """Print the JSON Schema of a configuration file: every setting, its range, unit, default and meaning."""
    from townsquare.settings.page import settings_page
    from townsquare.settings.schema import json_schema

    print(settings_page() if markdown else json.dumps(json_schema(), indent=2), end="" if markdown else "\n")
    return 0
