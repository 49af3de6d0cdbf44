"""Write the results of docs/beliefs-and-people.md anew: the shipped rules held against eleven experiments on people.

    python scripts/people_results.py DATA [--check]

DATA is the folder that holds the folders named below. ``--check`` writes nothing and exits with 1 if the page would
change. It writes what ``townsquare check people DIR... --markdown`` prints; nothing of the data goes into the page but
what was computed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from page_parts import replaced

from townsquare.humans.effects.check import check_people
from townsquare.pages.people.arms import as_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "beliefs-and-people.md"
FOLDERS = (
    "label_experiments", "headlines", "truth_effect", "partisan_crowds", "known_evidence_groups", "opinion_panel",
    "cross_partisan_exposure", "video_recommender", "persuasiontrace_human", "nyu_debate_judges", "delidata_groups",
)  # fmt: skip


def main() -> int:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description="Write the results of docs/beliefs-and-people.md anew.")
    options.add_argument("data", type=Path, help="folder with the data sets")
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page would change")
    given = options.parse_args()
    arms = check_people([given.data / name for name in FOLDERS])
    before = PAGE.read_text(encoding="utf-8")
    page = replaced(before, "people", as_page(arms), PAGE.name)
    if given.check:
        return int(page != before)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
