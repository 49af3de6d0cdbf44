"""Write the findings that README.md quotes anew: the answer of the flagship comparison, and its table.

    python scripts/findings.py [FOLDER] [--check]

FOLDER holds the comparison of four responses of moderation with three seeds; without it, the comparison is run in a new
folder. ``--check`` writes nothing and exits with 1 if a text would change.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from page_parts import replaced

from townsquare.core.text_table import as_markdown, table
from townsquare.core.words import significant
from townsquare.experiments.answer import amount, answer
from townsquare.experiments.comparison import compare
from townsquare.experiments.manifest import Experiment

README = Path(__file__).resolve().parents[1] / "README.md"
RESPONSES = ("none", "label", "note", "takedown")
SEEDS = 3
OUTCOMES = {
    "reach_false_mean": "reach of a false post, agents",
    "belief_in_false_claims": "belief in false claims (credence, 0 to 1)",
}


def flagship(folder: Path) -> Experiment:
    """Run or complete the comparison in a folder."""
    return compare([{"scenario": "health-rumor"}], {"moderation.response": RESPONSES}, SEEDS, folder)


def findings(experiment: Experiment) -> dict[str, str]:
    """Return each quoted text by the name of its marker."""
    made = answer(experiment)
    rows = {(row["outcome"], row["label"]): row for row in made.effects.to_dicts()}
    labels = list(dict.fromkeys(made.effects["label"]))
    cells = [
        {"arm": label}
        | {
            f"{outcome} {what}": text
            for outcome in OUTCOMES
            for row in [rows[outcome, label]]
            for what, text in (
                ("mean", significant(row["mean"])),
                ("effect", "{} (95% CI {} to {})".format(*amount(row, sign=True))),
            )
        }
        for label in labels
    ]
    blank = {f"{name} effect": "reference" for name in OUTCOMES}
    base = {f"{name} mean": significant(rows[name, labels[0]]["base"]) for name in OUTCOMES}
    columns = [
        heading
        for name, title in OUTCOMES.items()
        for heading in (f"{title}={name} mean", f"paired difference from {made.baseline}={name} effect")
    ]
    shown = table(
        "", [{"arm": made.baseline} | base | blank, *cells], (str, "response=arm", *columns), words=("response",)
    )
    doubts = [f"- {sentence}" for sentence in made.cautions]
    return {
        "answer": "\n".join(f"- {sentence}" for sentence in made.sentences),
        "responses": as_markdown(shown),
        "cautions": "\n".join(doubts),
    }


def main() -> int:
    """Write the page, or say whether it would change; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        texts = findings(flagship(given.folder or Path(scratch) / "flagship"))
    old = new = README.read_text(encoding="utf-8")
    for name, text in texts.items():
        new = replaced(new, name, text, README.name)
    if not given.check:
        README.write_text(new, encoding="utf-8")
    return int(given.check and new != old)


if __name__ == "__main__":
    raise SystemExit(main())
