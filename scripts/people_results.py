"""Write the results of docs/people-results.md anew: the shipped rules held against eleven experiments on people.

    python scripts/people_results.py DATA [--check]

DATA is the folder that holds the folders named below. ``--check`` writes nothing and exits with 1 if the page would
change. It writes what ``townsquare check people DIR... --markdown`` prints, and the kinds of people that
``townsquare fit`` finds; nothing of the data goes into the page but what was computed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from page_parts import replaced

from townsquare.core.text_table import Table, as_markdown
from townsquare.core.words import percent, three
from townsquare.humans.effects.check import check_people
from townsquare.humans.fit.calibration import CEILING
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.kinds import KINDS, KINDS_NEXT, SPREADS
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.study import Study, study
from townsquare.humans.read import read_humans
from townsquare.pages.people.arms import as_page
from townsquare.pages.people.words import signed_interval

PAGE = Path(__file__).resolve().parents[1] / "docs" / "people-results.md"
FOLDERS = (
    "label_experiments", "headlines", "truth_effect", "partisan_crowds", "known_evidence_groups", "opinion_panel",
    "cross_partisan_exposure", "video_recommender", "persuasiontrace_human", "nyu_debate_judges", "delidata_groups",
)  # fmt: skip

KINDS_IN: dict[str, dict[str, str]] = {
    "partisan_crowds": {"rule": "averaging"},
    "persuasiontrace_human": {"rule": "log_odds"},
    "persuasiontrace_human, answer to answer": {"rule": "log_odds", "by": "step"},
    "nyu_debate_judges": {"rule": "log_odds"},
    "nyu_debate_judges, answer to answer": {"rule": "log_odds", "by": "step"},
    "delidata_groups": {"rule": "averaging"},
}
"""Fits with kinds of people, by folder and rows."""


def kinds_table(data: Path) -> str:
    """Return the held-out gain of two kinds of people over one profile, on every set."""
    head = [
        "data", "rule", "two kinds: share, parameters, spread", "log score minus that of one profile: kinds",
        "spreads alone", "kinds, from earlier answers", "CRPS: one profile", "CRPS: kinds", "CRPS: noise ceiling",
    ]  # fmt: skip
    rows = []
    for name, options in KINDS_IN.items():
        fitted = study(read_humans(data / name.split(",")[0], skip_bad=True), FitOptions.model_validate(options))
        scores = {score.method: score for score in fitted.calibration.scores}
        gains = (signed_interval(scores[method].gain) for method in (KINDS, SPREADS, KINDS_NEXT))
        crps = (three(scores[method].crps.value) if method in scores else "" for method in (RULE, KINDS, CEILING))
        rows.append([name, f"`{options['rule']}`", _described(fitted), *gains, *crps])
    return as_markdown(Table("", head, rows))


def _described(fitted: Study) -> str:
    kinds, grid = fitted.people.kinds, fitted.setup.grid
    assert kinds is not None
    parts = zip(kinds.share.tolist(), kinds.cell.tolist(), kinds.error.tolist(), strict=True)
    numbers = ((percent(share), *grid.cell(cell), error) for share, cell, error in parts)
    names = grid.x_short, grid.y_short
    return "; ".join(f"{share}: {names[0]} {x:g}, {names[1]} {y:g}, sd {sd:.2f}" for share, x, y, sd in numbers)


def main() -> int:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description="Write the results of docs/people-results.md anew.")
    options.add_argument("data", type=Path, help="folder with the data sets")
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page would change")
    given = options.parse_args()
    arms = check_people([given.data / name for name in FOLDERS])
    before = PAGE.read_text(encoding="utf-8")
    page = replaced(before, "people", as_page(arms), PAGE.name)
    page = replaced(page, "kinds", kinds_table(given.data), PAGE.name)
    if given.check:
        return int(page != before)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
