"""``townsquare check theta``: which cosine means "near-duplicate" for an embedder, and how often that is right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, number, show_json, table

if TYPE_CHECKING:
    from townsquare.humans.judges.paraphrases import Calibration, Level

File = Annotated[
    Path | None,
    Parameter(
        name="FILE",
        help="CSV or JSON lines with topic, side, text, paraphrase and perhaps near_miss, kind, split; by default "
        "the pairs that come with Townsquare.",
    ),
]


def theta(file: File = None, /, *, sets: options.Sets = None, as_json: options.AsJson = False) -> int:
    """Measure the precision and recall of near-duplicates by threshold, and choose theta and theta_self.

    The embedder is chosen as in a run, as by --set embedder=given --set embedder.file=vectors.jsonl.
    """
    from townsquare.beliefs.evidence.near import Vectors
    from townsquare.humans.judges.paraphrases import bundled_pairs, calibrated, read_pairs
    from townsquare.settings.layers import parse_set
    from townsquare.settings.resolve import resolve

    settings = resolve(*(parse_set(text) for text in sets or ()))
    embedder, params = settings.members["embedder"], settings.params["embedder"]
    pairs = read_pairs(file or bundled_pairs())
    found = calibrated(pairs, Vectors(embedder, params))
    if as_json:
        show_json({"event": "result", "embedder": embedder.name, **_plain(found)})
        return 0
    same = int(pairs.same.sum())
    print(f"Embedder {embedder.name}: {same:,} pairs of paraphrases and {pairs.same.size - same:,} of others")
    _show(found)
    for name, chosen, own, why in (
        ("theta", found.theta, embedder.theta, "precision counts double"),
        ("theta_self", found.theta_self, embedder.theta_self, "recall counts double"),
    ):
        print(f"{name}: {chosen:g} by these pairs ({why}); the embedder's own is {own:g}")
    return 0


def _levels(found: Calibration) -> list[tuple[Level, Level | None]]:
    others: tuple[Level | None, ...] = found.held_out or (None,) * len(found.chosen_on)
    return list(zip(found.chosen_on, others, strict=True))


def _show(found: Calibration) -> None:
    rows = [
        (f"{here.theta:.2f}", *_cells(here), *(_cells(there) if there else ("", "", "")))
        for here, there in _levels(found)
    ]
    titles = ("precision", "recall", "pairs", "held out: precision", "held out: recall", "held out: pairs")
    console().print(table("Pairs at or above a threshold", ("theta", *titles), rows, right=("theta", *titles)))
    kinds = [(kind, number(n), number(one, 2), number(two, 2)) for kind, (n, one, two) in found.recall_by_kind.items()]
    heads = ("pairs", f"at theta {found.theta:g}", f"at theta_self {found.theta_self:g}")
    console().print(table("Recall by kind of paraphrase, all topics", ("kind", *heads), kinds, right=heads))


def _cells(level: Level) -> tuple[str, str, str]:
    precision = "" if math.isnan(level.precision) else number(level.precision, 3)
    return precision, number(level.recall, 3), number(level.reached)


def _plain(found: Calibration) -> dict[str, object]:
    def plain(levels: tuple[Level, ...]) -> list[dict[str, object]]:
        return [
            {**level._asdict(), "precision": level.precision if level.reached else None, "recall": level.recall}
            for level in levels
        ]

    return {
        "theta": found.theta,
        "theta_self": found.theta_self,
        "chosen_on": plain(found.chosen_on),
        "held_out": plain(found.held_out),
        "recall_by_kind": {
            kind: {"pairs": n, "theta": one, "theta_self": two} for kind, (n, one, two) in found.recall_by_kind.items()
        },
    }
