"""``townsquare import``: a scenario of a platform's export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, show_json


def import_files(
    name: str,
    /,
    *files: Annotated[Path, Parameter(name="FILE")],
    into: Path,
    mapping: Path | None = None,
    as_json: options.AsJson = False,
) -> int:
    """Create a scenario in a new folder from a platform's accounts, follows and posts.

    Parameters
    ----------
    name
        The importer: `tables` for any CSV, JSON lines or Parquet, or one from another package.
    files
        Files exported from the platform.
    into
        Output folder of the scenario.
    mapping
        YAML that maps the columns, if the importer needs one; see docs/platform-data.md.
    """
    from townsquare.core.documents import read_yaml
    from townsquare.scenario.importers.contract import import_scenario, importer
    from townsquare.settings.problems import validated

    member = importer(name)
    options.required("FILE", files, "the files that the platform exported")
    given = {} if mapping is None else read_yaml(mapping)
    scenario, notices = import_scenario(member, files, validated(member.params, given, mapping or "--mapping"), into)
    accounts = 0 if scenario.accounts is None else len(scenario.accounts)
    follows = 0 if scenario.accounts is None or scenario.accounts.follows is None else scenario.accounts.follows[0].size
    facts = {"scenario": str(into), "posts": len(scenario.posts), "accounts": accounts, "follows": follows}
    notes = [*notices, *scenario.notices]
    if as_json:
        return show_json({**facts, "notices": notes})
    print(f"{facts['posts']:,} posts, {accounts:,} accounts, {follows:,} follows  {into}")
    for sentence in notes:
        complain(sentence, kind="note")
    target = into if into.is_absolute() or len(into.parts) > 1 else f"./{into}"
    print(f"run it   townsquare run {target}")
    return 0
