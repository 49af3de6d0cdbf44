"""Write the tables of docs/debates-compared.md anew: the experiments of the Belief Engine with embedded speakers.

    python scripts/debate_tables.py [--out FOLDER] [--workers N] [--check]

Debates that are recorded in FOLDER already are not held again. ``--check`` writes nothing and exits with 1 if a table
would change. Numbers of the paper are from its text (sections 4.1, 4.2, Tables A2 and A8).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from page_parts import replaced

from townsquare.beliefs.evidence.bank_files import bundled_topics
from townsquare.beliefs.evidence.hashing import EMBEDDER
from townsquare.core.words import number
from townsquare.debate.expression import PAPER_R, PAPER_SLOPE, expression
from townsquare.debate.measures import Estimate, steps_between
from townsquare.debate.results import DebateResults
from townsquare.debate.settings import LEVELS, PRO
from townsquare.debate.sweep import arms_over, hold_debates
from townsquare.pages.debates.tables import shown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "debates-compared.md"
PAIRINGS = ("open/open", "open/stubborn", "stubborn/open", "stubborn/stubborn")
TOPICS = [topic.slug for topic in bundled_topics()]
FIVE = ("social-media-harm", "subsidize-journalism", "compulsory-voting", "adopt-atheism", "adopt-libertarianism")
DEBATERS = ("belief_engine", "prompt_self_update", "rag_self_update")

FIGURE_2 = {"u": {0.2: "+0.81", 1.0: "−0.49; −0.96; −0.99"}, "a": {0.2: "−0.37", 1.0: "+0.80"}}
"""Final stances that section 4.1 states: GPT-4o-mini; where three are given, Qwen and Gemma follow."""
TABLE_A2 = {
    ("social-media-harm", "belief_engine"): "0.14 to 0.89",
    ("social-media-harm", "prompt_self_update"): "0.31",
    ("social-media-harm", "rag_self_update"): "0.68",
    ("subsidize-journalism", "belief_engine"): "0.14 to 0.39",
    ("subsidize-journalism", "prompt_self_update"): "1.07",
    ("subsidize-journalism", "rag_self_update"): "0.85",
    ("compulsory-voting", "belief_engine"): "0.22 to 0.29",
    ("compulsory-voting", "prompt_self_update"): "0.61",
    ("compulsory-voting", "rag_self_update"): "0.53",
    ("adopt-atheism", "belief_engine"): "0.07 to 0.50",
    ("adopt-atheism", "prompt_self_update"): "0.63",
    ("adopt-atheism", "rag_self_update"): "0.85",
    ("adopt-libertarianism", "belief_engine"): "0.23 to 0.76",
    ("adopt-libertarianism", "prompt_self_update"): "1.11",
    ("adopt-libertarianism", "rag_self_update"): "0.90",
}
"""Final gaps: for the engine the least and the largest of four base models."""
TABLE_A8 = {
    "social-media-harm": (1.255, 1.010, 1.399, 0.330),
    "homeopathy-harm": (0.515, 0.279, 0.360, 0.099),
    "legalize-entrapment": (0.611, 0.537, 0.334, 0.215),
    "zero-tolerance-schools": (1.091, 1.119, 1.021, 0.407),
    "compulsory-voting": (1.305, 1.167, 0.774, 0.357),
    "austerity": (1.436, 1.386, 0.860, 0.447),
    "legalize-sex-selection": (0.736, 0.951, 0.566, 0.221),
    "adopt-atheism": (1.286, 1.238, 0.675, 0.317),
    "subsidize-journalism": (1.289, 0.842, 1.287, 0.333),
    "adopt-libertarianism": (1.313, 1.291, 1.336, 0.577),
}
OWN = {
    "not evidence (default)": {},
    f"evidence, θ_self {EMBEDDER.theta_self:g} (the embedder's)": {"evidence.own_claims": True},
}

Hold = Callable[..., DebateResults]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; all columns but the first are aligned right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def levels_table(hold: Hold, key: str, name: str, **settings: object) -> str:
    """Start, end and step of each level of u or a, beside what the paper states."""
    held = hold(f"{name}-{key}", {key: list(LEVELS)}, {"preset": "single", **settings})
    values = np.array([held.stances(arm)[:, -1, PRO] for arm in held.arms])
    steps = [shown("shift", one) for _, _, one in steps_between(np.array(LEVELS), values)]
    rows = []
    for at, (level, arm) in enumerate(zip(LEVELS, held.arms, strict=True)):
        found = held.measures(arm)
        start, end = shown("initial", found["initial"]), shown("final", found["final"])
        rows.append([f"{level:g}", start, end, steps[at - 1] if at else "", FIGURE_2[key].get(level, "")])
    return markdown([key, "start", "end", "change from the row above", "end in the paper"], rows)


def baselines_table(hold: Hold) -> str:
    """Final gaps with and without the engine, on five topics, kept and judged, beside the paper's."""
    held = hold("baselines", {"topic": list(FIVE), "debater": list(DEBATERS)}, {})
    rows = []
    for arm in held.arms:
        kept, judged = held.measures(arm), held.measures(arm, judged=True)
        key = (arm.changes["topic"], arm.changes["debater"])
        ends = ", ".join(number(kept[name].mean, signed=True) for name in ("final_pro", "final_con"))
        cells = [shown(name, kept[name]) for name in ("final_gap", "gap_reduction", "center_shift")]
        cells += [shown("crossing", kept["crossing"]), shown("final_gap", judged["final_gap"])]
        rows.append([*key, ends, *cells, TABLE_A2[key]])
    head = ["topic", "debater", "ends", "final gap", "gap reduction", "center shift", "crossing", "final gap, judged"]
    return markdown([*head, "final gap in the paper"], rows)


def convergence(held: DebateResults) -> dict[tuple[str, str], Estimate]:
    """Convergence by topic and pairing."""
    return {(arm.changes["topic"], arm.changes["pairing"]): held.measures(arm)["gap_reduction"] for arm in held.arms}


def pairings_table(hold: Hold) -> str:
    """Convergence of ten topics and four pairings (Table A8), beside the paper's."""
    found = convergence(hold("pairings", {"topic": TOPICS, "pairing": list(PAIRINGS)}, {}))
    rows = []
    for topic in TOPICS:
        cells = [f"{found[topic, pairing].mean:.2f} ({TABLE_A8[topic][at]:.2f})" for at, pairing in enumerate(PAIRINGS)]
        rows.append([topic, *cells])
    means = [Estimate.of([found[topic, pairing].mean for topic in TOPICS]) for pairing in PAIRINGS]
    theirs = np.mean([TABLE_A8[topic] for topic in TOPICS], axis=0)
    cells = [f"{shown('', one)} ({paper:.2f})" for one, paper in zip(means, theirs, strict=True)]
    rows.append(["**mean of topics**", *cells])
    apart = [Estimate.of([found[t, p].mean - found[t, PAIRINGS[0]].mean for t in TOPICS]) for p in PAIRINGS]
    rows.append(["difference from open/open, by topic", "", *(shown("shift", one) for one in apart[1:])])
    return markdown(["topic", *PAIRINGS], rows)


def own_claims_table(hold: Hold) -> str:
    """Mean convergence over ten topics where what an agent says is evidence for itself, or not."""
    rows = []
    for at, (name, settings) in enumerate(OWN.items()):
        folder = "pairings" if not settings else f"own-{at}"
        found = convergence(hold(folder, {"topic": TOPICS, "pairing": list(PAIRINGS)}, settings))
        means = [Estimate.of([found[topic, pairing].mean for topic in TOPICS]) for pairing in PAIRINGS]
        rows.append([name, *(shown("", one) for one in means)])
    theirs = np.mean(list(TABLE_A8.values()), axis=0)
    rows.append(["the paper", *(f"{one:.2f}" for one in theirs)])
    return markdown(["own claims", *PAIRINGS], rows)


def expression_table() -> str:
    """r, slope and intercept of judged on assigned stance, by two judges, beside the paper's."""
    rows = []
    for name, words in (("bank", "`bank`: knows the arguments"), ("embedded", "`embedded`: has never seen them")):
        line = expression([{"judge": name}], TOPICS).line
        slope = shown("", Estimate(line.slope, line.low, line.high, ()))
        rows.append([words, f"{line.r:.3f}", slope, number(line.intercept, signed=True), f"{line.n:,}"])
    rows.append(["the paper: a language model", f"{PAPER_R:g}", f"{PAPER_SLOPE:g}", "not given", "not given"])
    return markdown(["judge", "r", "slope", "intercept", "texts"], rows)


def tables(hold: Hold) -> dict[str, Callable[[], str]]:
    """How each table of the page is made, by the name in its marker."""
    own_side = {"start.kind": "own_side", "start.tolerance": 2.0}
    return {
        "uptake": lambda: levels_table(hold, "u", "meet"),
        "anchoring": lambda: levels_table(hold, "a", "own-side", **own_side),
        "anchoring-alike": lambda: levels_table(hold, "a", "meet"),
        "baselines": lambda: baselines_table(hold),
        "pairings": lambda: pairings_table(hold),
        "own-claims": lambda: own_claims_table(hold),
        "expression": expression_table,
    }


def main() -> int:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description="Write the tables of docs/debates-compared.md anew.")
    options.add_argument("--out", type=Path, help="folder of the debates; by default a temporary one")
    options.add_argument("--workers", type=int, default=1, help="processes at a time")
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table would change")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)

        def hold(name: str, over: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]) -> DebateResults:
            held = hold_debates([settings], arms_over(over), out / name, given.workers)
            if held.failed:
                raise SystemExit(f"{name}: {held.failed[0]}")
            return held

        before = page = PAGE.read_text(encoding="utf-8")
        for name, make in tables(hold).items():
            page = replaced(page, name, make(), PAGE.name)
    if given.check:
        return int(page != before)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
