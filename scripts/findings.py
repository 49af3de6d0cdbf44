"""Write the findings that README.md quotes anew: the answer of the flagship comparison, and two tables.

    python scripts/findings.py [FOLDER] [--check]

FOLDER holds the comparison of four responses of moderation with three seeds; without it, the comparison is run in a new
folder. The table of other tools is of what ``make bench-peers`` measured last. ``--check`` writes nothing and exits
with 1 if a text would change.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

from page_parts import replaced

from townsquare.core.text_table import as_markdown, table
from townsquare.core.words import significant
from townsquare.experiments.answer import amount, answer
from townsquare.experiments.comparison import compare
from townsquare.experiments.manifest import Experiment

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PEERS = ROOT / "benchmarks" / "peers" / "figures.json"
RESPONSES = ("none", "label", "note", "takedown")
SEEDS = 3
OUTCOMES = {
    "reach_false_mean": "reach of a false post, agents",
    "belief_in_false_claims": "false claims believed (proportion of the false claims that people saw)",
}


class Peer(NamedTuple):
    """A row on another tool: the cells of ``make bench-peers`` that are compared, and when to choose the tool."""

    tool: str
    choose: str
    model: str = ""
    form: str = ""
    ours: str = "townsquare_1"
    agents: int = 100_000


TASKS = {
    "": "none in common",
    "platform": "feeds, posts, likes and follows",
    "bounded_confidence": "bounded confidence on a graph",
}
ROWS = (
    Peer("OASIS", "every agent is a language model", "platform", "direct", "townsquare", 1_000),
    Peer("Mesa", "the model is not a social network", "bounded_confidence", "mesa"),
    Peer("mesa-frames", "as Mesa, and **faster than Townsquare**", "bounded_confidence", "frames", "townsquare"),
    Peer("NumPy, a few lines", "stances suffice, without causes: **faster**", "bounded_confidence", "numpy"),
    Peer("NDlib", "the model is an epidemic (SI, SIR), which Townsquare lacks", "bounded_confidence", "ndlib"),
    Peer("Concordia", "a language model is to decide what happens"),
)


def peers() -> str:
    """Return the table of other tools."""
    measured = json.loads(PEERS.read_text(encoding="utf-8")).values()
    rates = {
        (cell["model"], cell["form"], cell["agents"]): f"{cell['agents'] / cell['figures']['seconds']:,.0f}"
        for model in measured
        for cell in model["cells"]
        if not cell["why_not"]
    }
    rows = [
        row._asdict()
        | {"task": TASKS[row.model] + (f", {row.agents:,} agents" if row.model else "")}
        | {name: rates.get((row.model, form, row.agents), "") for name, form in (("it", row.form), ("us", row.ours))}
        for row in ROWS
    ]
    columns = ("tool", "task", "agents × steps a second=it", "Townsquare=us", "choose it if=choose")
    return as_markdown(table("", rows, (str, *columns), words=("tool", "task", "choose it if")))


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
        texts = findings(flagship(given.folder or Path(scratch) / "flagship")) | {"peers": peers()}
    old = new = README.read_text(encoding="utf-8")
    for name, text in texts.items():
        new = replaced(new, name, text, README.name)
    if not given.check:
        README.write_text(new, encoding="utf-8")
    return int(given.check and new != old)


if __name__ == "__main__":
    raise SystemExit(main())
