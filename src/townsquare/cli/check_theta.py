"""``townsquare check theta``: which cosine means "near-duplicate" for an embedder, and how often that is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import digits, number, picked, show, show_json

if TYPE_CHECKING:
    from townsquare.humans.judges.paraphrases import Calibration


def theta(file: Path | None = None, /, *, sets: options.EmbedderSets = None, as_json: options.AsJson = False) -> int:
    """Measure precision and recall of near-duplicates by threshold, and choose theta and theta_self.

    Choose the embedder as in a run, such as --set embedder=given --set embedder.file=vectors.jsonl.

    Parameters
    ----------
    file
        CSV or JSON lines with topic, side, text, paraphrase and optionally near_miss, kind, split; default: bundled.
    """
    from townsquare.beliefs.evidence.near import Vectors
    from townsquare.humans.judges.paraphrases import bundled_pairs, calibrated, read_pairs
    from townsquare.settings.layers import parse_set
    from townsquare.settings.resolve import resolve

    settings = resolve(*(parse_set(text) for text in sets or ()))
    embedder, params = settings.members["embedder"], settings.params["embedder"]
    pairs = read_pairs(file or bundled_pairs())
    calibration = calibrated(pairs, Vectors(embedder, params))
    if as_json:
        return show_json({"event": "result", "embedder": embedder.name, **_plain(calibration)})
    same = int(pairs.same.sum())
    print(f"Embedder {embedder.name}: {same:,} pairs of paraphrases and {pairs.same.size - same:,} of others")
    _show(calibration)
    for name, chosen, own, why in (
        ("theta", calibration.theta, embedder.theta, "precision weighted double"),
        ("theta_self", calibration.theta_self, embedder.theta_self, "recall weighted double"),
    ):
        print(f"{name}: {chosen:g} on these pairs ({why}); the embedder's default is {own:g}")
    return 0


def _show(calibration: Calibration) -> None:
    names = ("precision", "recall", "pairs=reached")
    for title, levels in (("", calibration.chosen_on), (", held out", calibration.held_out)):
        if levels:
            show(f"Pairs at or above a threshold{title}", levels, ("{:.2f}".format, "theta"), (digits(3), *names))
    kinds = [(kind, *numbers) for kind, numbers in calibration.recall_by_kind.items()]
    heads = (f"at theta {calibration.theta:g}", f"at theta_self {calibration.theta_self:g}")
    columns = (str, "kind"), (number, "pairs"), (digits(2), *heads)
    show("Recall by kind of paraphrase, all topics", kinds, *columns)


def _plain(calibration: Calibration) -> dict[str, object]:
    columns = ("theta", "reached", "right", "paraphrases", "precision", "recall")
    sets = picked(calibration, "chosen_on", "held_out")
    levels = {name: [picked(level, *columns) for level in of_set] for name, of_set in sets.items()}
    names = ("pairs", "theta", "theta_self")
    kinds = {kind: dict(zip(names, numbers, strict=True)) for kind, numbers in calibration.recall_by_kind.items()}
    return {"theta": calibration.theta, "theta_self": calibration.theta_self, **levels, "recall_by_kind": kinds}
