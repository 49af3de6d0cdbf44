"""``townsquare scenarios`` and ``townsquare schema``: what there is to choose from."""

from __future__ import annotations

import json

from townsquare.cli import options
from townsquare.cli.console import show, show_json


def scenarios(*, as_json: options.AsJson = False) -> int:
    """List the bundled scenarios and the presets that reproduce published setups."""
    from townsquare.scenario.load import list_scenarios
    from townsquare.settings.presets import list_presets

    listed, presets = list_scenarios(), list_presets()
    if as_json:
        kinds = (("scenario", listed), ("preset", presets))
        return show_json([{"kind": kind, **line._asdict()} for kind, lines in kinds for line in lines])
    show("", listed, (str, "scenario=name", "title", "posts", "propositions"))
    show("", [tuple(line) for line in presets], (str, "preset", "title", "scenario"))
    return 0


def schema(*, markdown: bool = False, record: bool = False) -> int:
    """Print the JSON Schema of a configuration file: every setting, its range, unit, default and meaning.

    Parameters
    ----------
    markdown
        Print the settings page of the documentation instead.
    record
        Print the code book of recorded runs instead, as CSV: every table and column.
    """
    from townsquare.record.code_book import code_book
    from townsquare.settings.page import settings_page
    from townsquare.settings.schema import json_schema

    if record:
        print(code_book().write_csv(), end="")
        return 0
    print(settings_page() if markdown else json.dumps(json_schema(), indent=2), end="" if markdown else "\n")
    return 0
