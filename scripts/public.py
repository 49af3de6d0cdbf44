"""Measures the flagship scenario: facts, rankers, responses of moderation, ablations. Writes ``docs/public.md``.

    python scripts/public.py [--out build/public] [--seeds 10] [--large 4] [--ablation-seeds 3]

Every part is a comparison in its own folder under ``--out``, so a second start goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import townsquare as ts
from townsquare.analysis.facts.check import FactCheck, FactReport
from townsquare.core.words import significant
from townsquare.experiments.answer import amount, answer
from townsquare.experiments.manifest import Experiment

PAGE = Path(__file__).resolve().parents[1] / "docs" / "public.md"
SCENARIO = "health-rumor"
LARGE = {"agents": 20_000, "sources.reliable.count": 40, "sources.low_credibility.count": 80}  # as `_SOURCES` says
RANKERS = ["affinity", "recent", "engagement", "bridging"]
RESPONSES = ["none", "label", "note", "takedown", "downrank"]
_NOT_WALKS = "the same for all readers, instead of posts by accounts that followed accounts follow"
ABLATIONS: dict[str, dict[str, Any]] = {
    "no taste for sources of low credibility": {"population.taste": False, "sources.low_credibility.taste_sd": 0},
    f"recommendations drawn at random from recent posts by people, {_NOT_WALKS}; injected posts reach followers only": {
        "feed.outside": "pool"
    },
    "no posts from accounts that are not followed": {"feed.others": 0},
    "60 posts examined per session on average instead of 15": {"feed.depth_mean": 60.0},
    "people hardly differ in activity and in propensity to share and post": {
        "population.activity_sd": 0.1,
        "policy.person_sd": 0.1,
        "policy.posts_sd": 0.1,
    },
    "posts hardly differ in appeal": {"policy.appeal_sd": 0.05},
    "sharing does not fall with the age of a post": {"policy.age_power": 0.0},
    "no homophily of stance and taste": {"graph.homophily": 0.0, "graph.taste_homophily": 0.0},
    "no following back, no triadic closure": {"graph.follow_back": 0.0, "graph.closure": 0.0},
    f"recommendations drawn at random from recent posts by people and injected posts, {_NOT_WALKS}": {
        "injection.audience": "everyone",
        "feed.outside": "pool",
    },
    "the belief rule `exposure-bounded` (`pull` 0.005) instead of `credence`": {
        "beliefs": {"rule": "exposure-bounded", "pull": 0.005, "anchor": 0, "likes_at_most": 5}
    },
}
QUARTERS = {"time.step_minutes": 15, "steps": 1344}
OUTCOMES = {
    "rankers": ["cross_cutting_exposure", "reach_false_mean", "exposures_false", "reshares_false"],
    "responses": [
        "reach_false_mean",
        "exposures_false",
        "exposures_false_labeled",
        "reshares_false",
        "reshares_false_per_exposure",
        "belief_in_false_claims",
        "belief_in_true_claims",
    ],
}


def main() -> None:
    """Run all parts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/public"))
    for name, seeds in (("--seeds", 10), ("--large", 4), ("--ablation-seeds", 3)):
        parser.add_argument(name, type=int, default=seeds)
    asked = parser.parse_args()
    few, out = asked.ablation_seeds, asked.out
    rankers = _compare(out / "rankers", asked.seeds, {"feed.ranker": RANKERS})
    responses = _compare(out / "responses", asked.seeds, {"moderation.response": RESPONSES})
    large = _compare(out / "large", asked.large, {}, LARGE)
    changed = {name: _compare(out / f"ablation-{n}", few, {}, to) for n, (name, to) in enumerate(ABLATIONS.items())}
    quarters = _compare(out / "quarters", few, {}, QUARTERS)
    base, with_20_000 = _facts(rankers), _facts(large)
    base_few = _facts(_compare(out / "base", few, {}))
    parts = [
        _INTRODUCTION,
        "## Facts\n",
        f"2,000 people, {asked.seeds} seeds: {base}\n",
        f"20,000 people, {asked.large} seeds, {_SOURCES}: {with_20_000}\n",
        *_fact_table({"2,000 people": base, "20,000 people": with_20_000}),
        "\n## Rankers\n",
        f"2,000 people, {asked.seeds} seeds. Differences from the ranker `{RANKERS[0]}`, that of `health-rumor`, "
        f"paired by seed. {_READING}\n",
        *_effects(rankers, OUTCOMES["rankers"]),
        "\n## Responses of moderation\n",
        f"2,000 people, {asked.seeds} seeds. {_RESPONSES}",
        *_effects(responses, OUTCOMES["responses"]),
        "\nDifferences of the mean final stance from no moderation. Groups of people: by their exposures to "
        "false posts after the warm-up, in the arm without moderation.\n",
        *_exposed(responses),
        "\n## Shorter steps, and ablations\n",
        f"2,000 people, {few} seeds.\n",
        *_fact_table({"steps of an hour": base_few, "steps of 15 minutes": _facts(quarters)}),
        f"\nWith all mechanisms and steps of an hour, {_inside(base_few)} facts of all classes are inside. Each row "
        "removes one mechanism and names what the runs have instead (settings: `scripts/public.py`). The last two "
        "columns name the facts that are inside "
        "only with it, or only without it, with their values with → without it (*none*: cannot be computed); facts "
        "from memory are named, but not counted. Totals differ where facts cannot be computed.\n",
        *_ablations(base_few, {name: _facts(experiment) for name, experiment in changed.items()}),
    ]  # fmt: skip
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


_SOURCES = "40 reliable sources and 80 of low credibility (else 15 and 40)"
_INTRODUCTION = """# The public of Marlow Bay

This page reports results of `health-rumor`, without moderation (`moderation.response=none`) except in
*Responses of moderation*. `make public` writes it: about 130 runs, half an hour on two processors.

- [Realism](realism.md) defines each fact, its unit and the source of its published range. A value inside the range is
  **bold**. Square brackets: 95% CI over runs or, for facts of belief rules, the range over the fitted interval of the
  rule's parameter. An empty cell: not computed at this size.
- *Not used for defaults*: no default was set to meet this fact [since its random
  choice](realism.md#what-the-numbers-are-worth). *From memory*: not looked up, and not counted.
- Classes: *runs* are computed from the simulated platform, *sittings* from survey sessions simulated with its people,
  and *rules* from experiments simulated with the rules `credence` and `averaging`.
- `feed_changes_move_attitudes_little` compares the ranker `recent` with `affinity`.
"""
_READING = """A percentage is relative to the mean of the first
arm (third column). *Mean shift*: mean change of stance since the end of the warm-up. Holm's correction is over the arms
for the primary outcome (*Mean reach of a false post*); for the other rows, it is over all other outcomes and arms,
including outcomes that are not shown. [All measures](measure-list.md) defines the outcomes, and [Adding a
ranker](adding-a-ranker.md#embedded-rankers-for-readers) the rankers."""
_RESPONSES = """A fact-checking desk rules on the same false posts in every arm, after a median delay of 8 hours
(notes: 15 hours). Otherwise, the arms differ only in the response to a ruling. Differences,
percentages and p-values are as above.

Published effects:

- **Label** (the verdict *false* is shown). In 21 experiments, labels cut the sharing of false posts by 25% and belief
  in them by 28%, among those who see a label (Martel and Rand 2024). Half of the desk's labels come more than 8 hours
  after the post, when most people who will see it have seen it. *Labeled exposures* show this verdict or a note.
- **Note.** On X, notes cut reposts by 46% after they are shown and by 11% over the life of a post. With 2,000
  people, few shares follow a note; [Community notes](community-notes.md) has notes by contributors, also for
  20,000 people.
- **Takedown.** The desk takes down 56% of the false posts, most of them after most of their views.
  (It rules on 60%, some after the end of the run.)
- **Downranking** (of scores by 3, the default). We know of no published effect size.
- **Beliefs.** On Facebook, a third less like-minded content for three months changed no attitude (Nyhan et al. 2023).
"""


def _compare(
    folder: Path, seeds: int, vary: Mapping[str, Sequence[Any]], settings: Mapping[str, Any] | None = None
) -> Experiment:
    began = time.perf_counter()
    made = ts.compare(
        SCENARIO,
        vary=dict(vary),
        seeds=seeds,
        settings={"moderation.response": "none"} | dict(settings or {}),
        out=folder,
    )
    sys.stdout.write(f"{folder.name}: {len(made.finished)} runs, {time.perf_counter() - began:.0f} s\n")
    return made


def _facts(experiment: Experiment) -> FactReport:
    return ts.check_facts(experiment)


def _fact_table(reports: Mapping[str, FactReport]) -> Iterable[str]:
    """Yield a row for each fact that a report measures, with its interval and a column for each report."""
    yield f"| fact | published range | unit | {' | '.join(reports)} |"
    yield "|---|---|---|" + "---:|" * len(reports)
    for checks in zip(*(report.checks for report in reports.values()), strict=True):
        fact = checks[0].fact
        if any(check.measured for check in checks):
            marks = ["not used for defaults"] * fact.left_out + ["from memory"] * fact.verify
            named = f"{fact.statement} {', '.join([f'`{fact.id}`', *marks])}"
            yield f"| {named} | {fact.target} | {fact.unit} | {' | '.join(map(_cell, checks))} |"


def _cell(check: FactCheck) -> str:
    """Return the value of a fact with its interval, bold where it is inside."""
    if not check.measured:
        return ""
    value = f"**{significant(check.value)}**" if check.inside else significant(check.value)
    return value if math.isnan(check.low) else f"{value} [{significant(check.low)}, {significant(check.high)}]"


def _ablations(base: FactReport, changed: Mapping[str, FactReport]) -> Iterable[str]:
    """Yield a row for each ablation: facts that are inside with the mechanism alone, and those without it alone."""
    yield "| what the runs have instead | facts inside without it | inside only with it | inside only without it |"
    yield "|---|---|---|---|"
    for name, report in changed.items():
        pairs = list(zip(base.checks, report.checks, strict=True))
        lost, won = (
            ", ".join(
                f"`{one.fact.id}` {' → '.join(significant(of.value) if of.measured else 'none' for of in (one, other))}"
                for one, other in pairs
                if (bool(one.inside), bool(other.inside)) == (inside, not inside)
            )
            for inside in (True, False)
        )
        yield f"| {name} | {_inside(report)} | {lost} | {won} |"


def _inside(report: FactReport) -> str:
    scored = [check for check in report.checks if check.scored]
    return f"{sum(bool(check.inside) for check in scored)} of {len(scored)}"


def _effects(experiment: Experiment, names: Sequence[str]) -> Iterable[str]:
    made = answer(experiment)
    rows = made.effects.to_dicts()
    yield f"| outcome | unit | {made.baseline} | arm | difference | 95% CI | p (Holm) |"
    yield "|---|---|---:|---|---:|---|---:|"
    for name in [*names, *dict.fromkeys(row["outcome"] for row in rows if row["outcome"].startswith("shift."))]:
        for row in rows:
            if row["outcome"] == name:
                value, low, high = amount(row, sign=True)
                cells = (
                    row["title"], row["unit"], significant(row["base"]), row["label"], value, f"{low} to {high}",
                    significant(row["p_holm"], 2),
                )  # fmt: skip
                yield f"| {' | '.join(cells)} |"


def _exposed(experiment: Experiment) -> Iterable[str]:
    yield "| effect on the stance, by group | proposition | arm | difference | 95% CI |"
    yield "|---|---|---|---:|---|"
    made = answer(experiment)
    arms = dict(made.effects.select("arm", "label").iter_rows())
    for row in made.exposed.to_dicts():
        low, high = (significant(row[name], 2, signed=True) for name in ("low", "high"))
        value = significant(row["value"], 2, signed=True)
        yield f"| {row['group']} | `{row['proposition']}` | {arms[row['arm']]} | {value} | {low} to {high} |"


if __name__ == "__main__":
    main()
