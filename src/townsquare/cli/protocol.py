"""``townsquare protocol``: the description of a study for reviewers, by ODD+D, and the PIMMUR checklist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json


def protocol(
    folder: Annotated[Path, Parameter(name="RUN")],
    /,
    *,
    out: Path | None = None,
    people: Annotated[tuple[Path, ...], Parameter(show_default=False)] = (),
    as_json: options.AsJson = False,
) -> int:
    """Describe a run, comparison or debates by ODD+D, with the PIMMUR checklist, as Markdown and HTML.

    Parameters
    ----------
    folder
        The folder of a run, a comparison or debates.
    out
        The file to write, .md or .html; both are written. Default: protocol.md in the folder.
    people
        A folder of experiments with people, as for `townsquare check people`; repeatable.
    """
    from townsquare.core.words import count
    from townsquare.pages.protocol import MARKDOWN, write_protocol
    from townsquare.pages.protocol import protocol as described

    document = described(folder, people=people)
    files = [str(file) for file in write_protocol(document, folder / MARKDOWN if out is None else out)]
    if as_json:
        elements = [element.key for element in document.elements]
        return show_json({"files": files, "elements": elements, "author": document.for_author})
    left = count(len(document.for_author), "statement")
    print(*files, f"{count(len(document.elements), 'element')}; {left} left to the author", sep="\n")
    return 0
