"""Write the results of docs/humans-results.md anew: every rule on three sets of human data, beside its baselines.

    python scripts/human_results.py DATA [--check]

DATA is the folder that holds ``persuasiontrace_human``, ``nyu_debate_judges`` and ``delidata_groups``. ``--check``
writes nothing and exits with 1 if a table would change. Nothing of the data goes into the page but what was computed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from page_parts import replaced

from townsquare.core.text_table import Table, as_markdown
from townsquare.core.words import listed, number, percent
from townsquare.humans.fit.baselines import BASELINES
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.pooling import NEXT
from townsquare.humans.fit.study import Study, study
from townsquare.humans.read import read_humans
from townsquare.humans.trajectories import Trajectories
from townsquare.pages.people.figures import figures_of
from townsquare.pages.people.sentences import cautions
from townsquare.pages.people.tables import table_1, table_a7
from townsquare.pages.people.words import BETTER, METHODS, WORSE, estimated, kind_of

ROOT = Path(__file__).resolve().parents[1]
PAGE, IMAGES = ROOT / "docs" / "humans-results.md", ROOT / "docs" / "images"
FOLDERS = {"persuasiontrace": "persuasiontrace_human", "nyu": "nyu_debate_judges", "delidata": "delidata_groups"}
CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "persuasiontrace": {
        "sides as given, strength 0.5": {},
        "sides as given, embedded strength": {"strength": "embedded"},
        "embedded sides, strength 0.5": {"polarity": "embedded"},
        "embedded sides and strength": {"polarity": "embedded", "strength": "embedded"},
        "near-duplicates kept": {"dedup": False},
        "first of each author and side": {"uptake_filter": "first_per_author"},
    },
    "nyu": {},
    "delidata": {
        "cards listed, strength 0.5": {},
        "cards listed, embedded strength": {"strength": "embedded"},
        "cards named, strength 0.5": {"polarity": "named"},
        "embedded sides, strength 0.5": {"polarity": "embedded"},
        "embedded sides and strength": {"polarity": "embedded", "strength": "embedded"},
        "near-duplicates kept": {"dedup": False},
        "first of each author and side": {"uptake_filter": "first_per_author"},
    },
}
CHOICES["nyu"] = CHOICES["persuasiontrace"]
RULES = ("log_odds", "social_log_odds", "exposure", "bounded_confidence", "averaging")
"""Those whose results the page shows, in its order."""


class Results:
    """Fits by data set and options, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cache  # noqa: B019  # lives as long as the script
    def people(self, name: str) -> Trajectories:
        """One data set, empty conversations left out."""
        return read_humans(self.folder / FOLDERS[name], skip_bad=True)

    @cache  # noqa: B019
    def fit(self, name: str, rule: str = "log_odds", by: str = "end", evidence: str = "", **more: Any) -> Study:
        """One fit; ``evidence`` is a name in :data:`CHOICES`."""
        choice = EvidenceChoice.model_validate(CHOICES[name].get(evidence, {}))
        return study(self.people(name), FitOptions.model_validate({"rule": rule, "by": by, "evidence": choice, **more}))


def rules_table(results: Results, name: str, by: str) -> str:
    """Every rule and baseline: held-out errors, and each less prior-only."""
    fits = {rule: results.fit(name, rule, by) for rule in RULES}
    first = fits["log_odds"]
    rows = []
    for method in BASELINES:
        score = first.scored.scores[method]
        rows.append([METHODS[method], *_errors(score), "", ""])
    for rule, found in fits.items():
        grid, scored = found.setup.grid, found.scored
        values = f"{grid.x_short} {found.point[0]:g}, {grid.y_short} {found.point[1]:g}"
        less = [estimated(scored.paired[other].people, signed=True) for other in ("prior_only", "regression")]
        rows.append([f"**{rule}** ({values})", *_errors(scored.scores[RULE]), *less])
    head = ["method", "RMSE", "mean of folds", "MAE", "sign", "Δ prior only", "Δ regression"]
    return as_markdown(Table("", head, rows))


def _errors(score: Any) -> list[str]:
    return [estimated(score.people), estimated(score.folds), number(score.mae, 3), percent(score.sign)]


def verdicts(results: Results, name: str, by: str) -> str:
    """Which rules beat prior-only, in words."""
    paired = {rule: results.fit(name, rule, by).scored.paired for rule in RULES}
    parts = []
    for kind in (BETTER, WORSE):
        rules = [f"`{rule}`" for rule in RULES if kind_of(paired[rule]["prior_only"].people) == kind]
        if rules:
            parts.append(f"{listed(rules)} {'is' if len(rules) == 1 else 'are'} {kind} prior only.")
    if not any(BETTER in part for part in parts):
        parts = ["**No rule beats prior only.**", *parts]
    plain = [f"`{rule}`" for rule in RULES if kind_of(paired[rule]["regression"].people) == BETTER]
    return " ".join([*parts, f"Rules that beat the regression: {listed(plain) if plain else 'none'}."])


def choices_table(results: Results, name: str) -> str:
    """How judges of the messages change what `log_odds` makes of them."""
    rows = []
    base = results.fit(name).scored
    for words in CHOICES[name]:
        found = results.fit(name, evidence=words)
        scored, counts = found.scored, found.ready.stream.counts
        change = scored.scores[RULE].rmse - base.scores[RULE].rmse
        rows.append(
            [
                words, f"{counts['accepted']:,.0f} from {counts['messages']:,.0f}", percent(counts["share_for"]),
                number(counts["mean_strength"], 2), number(scored.scores[RULE].rmse, 3),
                estimated(scored.paired["prior_only"].people, signed=True), number(change, 3, signed=True),
                f"{found.point[0]:g}, {found.point[1]:g}",
            ]
        )  # fmt: skip
    for words, more in (("folds by topic", {"folds": "topic"}), ("search beyond the grid", {"continuous": True})):
        found = results.fit(name, **more)
        scored, change = found.scored, found.scored.scores[RULE].rmse - base.scores[RULE].rmse
        less = estimated(scored.paired["prior_only"].people, signed=True)
        point = f"{found.point[0]:.3g}, {found.point[1]:.3g}"
        error = [number(scored.scores[RULE].rmse, 3), less, number(change, 3, signed=True), point]
        rows.append([f"first row, {words}", "", "", "", *error])
    head = [
        "source of evidence",
        "claims, from messages",
        "for",
        "strength",
        "RMSE",
        "Δ prior only",
        "change",
        "u, a",
    ]
    return as_markdown(Table("", head, rows)) + "\n\n" + text_words(results, name)


def text_words(results: Results, name: str) -> str:
    """How many variants with sides or strengths read from the text beat prior only."""
    read = [words for words, choice in CHOICES[name].items() if "embedded" in choice.values()]
    paired = [results.fit(name, evidence=words).scored.paired["prior_only"].people for words in read]
    better = sum(kind_of(one) == BETTER for one in paired)
    return f"{better} of the {len(read)} variants with embedded sides or strength beat prior only."


def people_table(results: Results) -> str:
    """One profile for all against numbers of one's own, on answers of people who had answered before."""
    rows = []
    for name in FOLDERS:
        for by in ("end", "step"):
            found = results.fit(name, "log_odds", by)
            pooled = found.people
            told = percent(pooled.share_identified("both"))
            if pooled.known is None:
                rows.append([name, by, f"{len(pooled.people):,}", told, "too few", "", "", ""])
                continue
            known = pooled.known
            rows.append(
                [
                    name, by, f"{len(pooled.people):,}", told, f"{known.n:,}", number(known.scores[RULE].rmse, 3),
                    number(known.scores[NEXT].rmse, 3), estimated(known.paired[RULE].people, signed=True),
                ]
            )  # fmt: skip
    head = ["data", "by", "people", "(u, a) identified", "later answers", "one profile", "individual", "difference"]
    return as_markdown(Table("", head, rows, frozenset({0, 1})))


def groups_tables(results: Results, name: str) -> str:
    """Tables 1, A6 and A7 of one data set."""
    found = results.fit(name)
    return as_markdown(table_1(found.groups, "log_odds", ("u", "a"))) + "\n\n" + as_markdown(table_a7(found.robust))


def cautions_of(results: Results, name: str) -> str:
    """What a reader of one data set must mind, and its noise floor."""
    said = []
    for by, words in (("end", "first to last"), ("step", "answer to answer")):
        found = results.fit(name, "log_odds", by)
        floor = found.ready.floor
        if floor.n:
            said.append(
                f"- Noise floor, {words}: in {floor.n} control conversations on another topic, the RMSE of change was "
                f"{number(floor.rmse, 3)} (mean absolute change {number(floor.mean_change, 3)})."
            )
        about = f"- {words[0].upper()}{words[1:]}, `log_odds`: "
        said += [about + line.removeprefix("Caution: ") for line in cautions(found)]
    return "\n".join(said)


def tables(results: Results) -> dict[str, Callable[[], str]]:
    """How each part of the page is made, by the name in its marker."""
    out: dict[str, Callable[[], str]] = {"people": lambda: people_table(results)}
    for name in FOLDERS:
        for by in ("end", "step"):
            out[f"{name}-{by}"] = lambda name=name, by=by: (  # type: ignore[misc]
                f"{rules_table(results, name, by)}\n\n{verdicts(results, name, by)}"
            )
        out[f"{name}-choices"] = lambda name=name: choices_table(results, name)  # type: ignore[misc]
        out[f"{name}-groups"] = lambda name=name: groups_tables(results, name)  # type: ignore[misc]
        out[f"{name}-cautions"] = lambda name=name: cautions_of(results, name)  # type: ignore[misc]
    return out


def draw(results: Results) -> Iterator[Path]:
    """Write the figures of the page."""
    for name in FOLDERS:
        for stem, figure in figures_of(results.fit(name)).items():
            path = IMAGES / f"humans-{name}-{stem}.png"
            path.write_bytes(figure.drawn("png")[0])
            yield path


def main() -> int:
    """Write the page and its figures, or check the page."""
    options = argparse.ArgumentParser(description="Write the results of docs/humans-results.md anew.")
    options.add_argument("data", type=Path, help="folder with the three data sets")
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table would change")
    given = options.parse_args()
    results = Results(given.data)
    before = page = PAGE.read_text(encoding="utf-8")
    for name, make in tables(results).items():
        page = replaced(page, name, make(), PAGE.name)
    if given.check:
        return int(page != before)
    PAGE.write_text(page, encoding="utf-8")
    for path in draw(results):
        sys.stderr.write(f"{path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
