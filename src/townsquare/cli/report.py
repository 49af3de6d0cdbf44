"""``townsquare report``: pages of runs and comparisons that are recorded already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json


def report(
    *folders: Annotated[Path, Parameter(name="RUN", help="Folders of runs, comparisons or debates.")],
    as_json: options.AsJson = False,
) -> int:
    """Write report.html into each folder."""
    from townsquare.debate.held import FILE as DEBATES
    from townsquare.debate.held import HeldDebates
    from townsquare.debate.page import write_pages
    from townsquare.errors import SettingError
    from townsquare.experiments.manifest import FILE, Experiment
    from townsquare.record.run import Run
    from townsquare.experiments.multiverse import FILE as MULTIVERSE
    from townsquare.experiments.multiverse import Multiverse
    from townsquare.report import write_comparison, write_report
    from townsquare.report.multiverse_page import write_multiverse

    if not folders:
        raise SettingError("RUN", got="nothing", allowed="at least one folder of a run, a comparison or debates")
    for folder in folders:
        page = folder / "report.html"
        if (folder / MULTIVERSE).is_file():
            write_multiverse(Multiverse.load(folder), page)
        elif (folder / FILE).is_file():
            write_comparison(Experiment.load(folder), page)
        elif (folder / DEBATES).is_file():
            write_pages(HeldDebates.open(folder))
        else:
            write_report(Run.open(folder), page)
        if not as_json:
            print(page)
    if as_json:
        show_json({"reports": [str(folder / "report.html") for folder in folders]})
    return 0
