"""``townsquare check theta``: which cosine means "near-duplicate" for an embedder, and how often that is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import digits, known, number, show, show_json

if TYPE_CHECKING:
    from townsquare.humans.judges.paraphrases import Calibration, Level


def theta(file: Path | None = None, /, *, sets: options.Sets = None, as_json: options.AsJson = False) -> int:
    """Measure the precision and recall of near-duplicates by threshold, and choose theta and theta_self.

    The embedder is chosen as in a run, as by --set embedder=given --set embedder.file=vectors.jsonl.

    Parameters
    ----------
    file
        CSV or JSON lines: topic, side, text, paraphrase, perhaps near_miss, kind, split; by default our own pairs.
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
        return show_json({"event": "result", "embedder": embedder.name, **_plain(found)})
    same = int(pairs.same.sum())
    print(f"Embedder {embedder.name}: {same:,} pairs of paraphrases and {pairs.same.size - same:,} of others")
    _show(found)
    for name, chosen, own, why in (
        ("theta", found.theta, embedder.theta, "precision counts double"),
        ("theta_self", found.theta_self, embedder.theta_self, "recall counts double"),
    ):
        print(f"{name}: {chosen:g} by these pairs ({why}); the embedder's own is {own:g}")
    return 0


def _show(found: Calibration) -> None:
    def cells(level: Level | None) -> tuple[float | None, ...]:
        return (None,) * 3 if level is None else (_precision(level), level.recall, level.reached)

    others: tuple[Level | None, ...] = found.held_out or (None,) * len(found.chosen_on)
    rows = [(here.theta, *cells(here), *cells(there)) for here, there in zip(found.chosen_on, others, strict=True)]
    titles = ("precision", "recall", "pairs", "held out: precision", "held out: recall", "held out: pairs")
    show("Pairs at or above a threshold", rows, ("{:.2f}".format, "theta"), (known(digits(3)), *titles))
    kinds = [(kind, *numbers) for kind, numbers in found.recall_by_kind.items()]
    heads = (f"at theta {found.theta:g}", f"at theta_self {found.theta_self:g}")
    columns = (str, "kind"), (number, "pairs"), (digits(2), *heads)
    show("Recall by kind of paraphrase, all topics", kinds, *columns)


def _precision(level: Level) -> float | None:
    return level.precision if level.reached else None


def _plain(found: Calibration) -> dict[str, object]:
    levels = {
        name: [{**one._asdict(), "precision": _precision(one), "recall": one.recall} for one in getattr(found, name)]
        for name in ("chosen_on", "held_out")
    }
    names = ("pairs", "theta", "theta_self")
    kinds = {kind: dict(zip(names, numbers, strict=True)) for kind, numbers in found.recall_by_kind.items()}
    return {"theta": found.theta, "theta_self": found.theta_self, **levels, "recall_by_kind": kinds}
