"""``townsquare check people``: belief rules compared with experiments on people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json, show_lines, show_table


def people(
    *folders: Annotated[Path, Parameter(name="DIR")],
    fit: bool = False,
    markdown: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """Compare observed and predicted effects in experiments on people, by arm.

    Parameters have the values in docs/beliefs-and-people.md. What people do without treatment is taken from the
    control arms of the data.

    Parameters
    ----------
    folders
        Folders of data, at least one, recognized by their columns; see docs/human-data.md.
    fit
        Predict each study, group, person or conversation with a parameter fitted to the others (labels: in all DIRs).
    markdown
        Print Markdown, for docs/people-results.md.
    """
    from townsquare.humans.effects.check import check_people
    from townsquare.pages.people import arms

    options.required("DIR", folders, "at least one folder of data")
    with options.Shown(quiet=as_json or markdown).progress(len(folders), "reading", "folder") as progress:
        checked = check_people(folders, fit=fit, on_progress=progress.at)
    if as_json:
        return show_json([arms.plain(arm) for arm in checked])
    if markdown:
        print(arms.as_page(checked))
        return 0
    show_lines(arms.answer(checked))
    print()
    for shown in arms.tables(checked):
        show_table(shown, with_note=True)
    return 0
