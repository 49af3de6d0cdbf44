"""Fit the embedded judges and write ``src/townsquare/data/judges/fitted.{npz,json}``.

Usage: ``python scripts/train_judges.py FOLDER``, where FOLDER holds ``ibm_kpa_arguments.csv``, ``ibm_argq_5k.csv`` and
``ukp_convarg_rank.csv``. The same files give the same numbers; it takes about a minute on one core. No text of the
data is written: weights are hashed, and topics are named by their statements.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.linear import fit_ridge, predict
from townsquare.beliefs.evidence.ngrams import PLACES, Rows
from townsquare.beliefs.evidence.passages import continuation_features
from townsquare.beliefs.evidence.polarity import GENERAL_PENALTY, fit_bank, prior
from townsquare.beliefs.evidence.polarity_features import bank_features, general_features, read_blocks
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.relevance import content
from townsquare.beliefs.evidence.strength import STRENGTH_PENALTY, strength_rows
from townsquare.beliefs.evidence.strength_features import read_strength
from townsquare.beliefs.evidence.text import sentences
from townsquare.beliefs.evidence.words import JUDGES

Float = npt.NDArray[np.float64]
TOPIC_WEIGHT = 200.0  # every topic counts as this many arguments
UKP_WEIGHT = 0.15  # of a ranked argument beside a rated one: it keeps long texts in range
FOLDS = 6
SOURCES = [
    {
        "file": "ibm_kpa_arguments.csv",
        "title": "ArgKP, arguments of the key point analysis shared task 2021 (IBM Research)",
        "from": "github.com/IBM/KPA_2021_shared_task, commit 2f5e2d5ad5a387fe731da2f00b423ce1d845c5d2",
        "license": "Apache-2.0 (repository); CDLA-Sharing-1.0 (data)",
        "used for": "polarity, relevance, continuation",
    },
    {
        "file": "ibm_argq_5k.csv",
        "title": "IBM-ArgQ-5.3kArgs (Toledo and others 2019), 7 of its 11 topics",
        "from": "github.com/CarlottaQuensel/subjective-argument-strength, 0bce30230079c225bdc72ccb1cb37b00c5abd18b",
        "license": "CC-BY-SA-3.0 as reported for IBM's argument quality sets; not verified for this one",
        "used for": "polarity, strength, relevance, continuation",
    },
    {
        "file": "ukp_convarg_rank.csv",
        "title": "UKPConvArgRank (Habernal and Gurevych 2016)",
        "from": "github.com/UKPLab/acl2016-convincing-arguments, ca9d24e41b8805ff2e1d3585d552b49bb64a65f7",
        "license": "CC-BY-4.0",
        "used for": "strength, relevance",
    },
]


class Data(NamedTuple):
    """Arguments of all files; ``side`` is 0 and ``quality`` NaN where a file has none, ``file`` counts from 0."""

    text: list[str]
    topic: npt.NDArray[np.str_]
    side: Float
    quality: Float
    file: npt.NDArray[np.int64]


def load(folder: Path) -> Data:
    """All three files. Ranks become qualities: from best to worst of a side, spread as wide as the ratings."""
    kpa, rated, ranked = (
        list(csv.DictReader((folder / source["file"]).open(encoding="utf-8", newline=""))) for source in SOURCES
    )
    quality = np.array([float(row["quality"]) for row in rated])
    sides = [row["debate"] + row["side_label"] for row in ranked]
    scores = np.array([-float(row["rank_score"]) for row in ranked])
    placed = np.zeros(len(ranked))
    for side in sorted(set(sides)):
        here = np.flatnonzero(np.array(sides) == side)
        order = np.argsort(np.argsort(scores[here], kind="stable"), kind="stable")
        placed[here] = (order + 0.5) / here.size - 0.5
    return Data(
        text=[row["argument"] for row in kpa + rated + ranked],
        topic=np.array(
            [row["topic"] for row in kpa + rated] + [row["debate"].replace("-", " ").strip() for row in ranked]
        ),
        side=np.array([float(row["side"]) for row in kpa + rated] + [0.0] * len(ranked)),
        quality=np.r_[np.full(len(kpa), np.nan), quality, quality.mean() + 2.0 * quality.std() * placed],
        file=np.repeat([0, 1, 2], [len(kpa), len(rated), len(ranked)]),
    )


def topic_weights(topic: npt.NDArray[np.str_]) -> Float:
    """A weight for each argument, so that every topic counts the same."""
    counted = Counter(topic.tolist())
    return np.array([TOPIC_WEIGHT / counted[name] for name in topic.tolist()])


def sureness(score: Float, side: Float) -> float:
    """Log odds of being right a unit of score, by maximum likelihood on a grid."""
    grid = np.round(np.arange(0.2, 12.01, 0.1), 1)
    losses = [float(np.log1p(np.exp(-scale * side * score)).mean()) for scale in grid]
    return float(grid[int(np.argmin(losses))])


def fit_polarity(data: Data) -> tuple[dict[str, object], npt.NDArray[np.int8]]:
    """The general model, and how sure its scores and those of a bank of 60 are on topics held out."""
    rows = np.flatnonzero(data.file < 2)
    side, topic = data.side[rows], data.topic[rows]
    blocks = read_blocks([data.text[row] for row in rows], [read_proposition(name) for name in topic.tolist()])
    features, weight = general_features(blocks), topic_weights(topic)
    model = fit_ridge(features, side, GENERAL_PENALTY, weight)
    held = np.zeros(rows.size)
    topics = sorted(set(topic.tolist()))
    for fold in range(FOLDS):
        out = np.isin(topic, topics[fold::FOLDS])
        held[out] = predict(fit_ridge(features[~out], side[~out], GENERAL_PENALTY, weight[~out]), features[out])
    own = bank_features(blocks)
    banked = np.full(rows.size, np.nan)
    for name in topics:
        here = np.flatnonzero(topic == name)
        bank = np.concatenate([here[side[here] == sign][:30] for sign in (-1, 1)])
        rest = np.setdiff1d(here, bank)
        banked[rest] = prior(held[rest]) + predict(fit_bank(own[bank], held[bank], side[bank]), own[rest])
    judged = np.isfinite(banked)
    slope, unit = quantize(model.slope)
    report("polarity, topics held out", np.sign(held) == side)
    report("polarity, banks of 60", np.sign(banked[judged]) == side[judged])
    about: dict[str, object] = {
        "base": model.base,
        "unit": unit,
        "general_scale": sureness(held, side),
        "bank_scale": sureness(banked[judged], side[judged]),
        "topics": topics,
    }
    return about, slope


def quantize(slope: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int8], float]:
    """Return weights as signed bytes and the size of one unit."""
    unit = float(np.abs(slope).max()) / 127 or 1.0
    return np.rint(slope / unit).astype(np.int8), unit


def fit_strength(data: Data) -> tuple[dict[str, object], npt.NDArray[np.int8]]:
    """The strength model."""
    rows = np.flatnonzero(data.file > 0)
    topic, quality = data.topic[rows], data.quality[rows]
    blocks = read_strength([data.text[row] for row in rows], [read_proposition(name) for name in topic.tolist()])
    rated = data.file[rows] == 1
    mean = blocks.counts[rated].mean(axis=0).round(6)
    spread = (blocks.counts[rated].std(axis=0) + 1e-6).round(6)
    features = strength_rows(blocks, mean, spread)
    weight = np.where(rated, 1.0, UKP_WEIGHT)
    model = fit_ridge(features, quality, STRENGTH_PENALTY, weight)
    slope, unit = quantize(model.slope)
    about: dict[str, object] = {
        "base": model.base,
        "unit": unit,
        "mean": mean.tolist(),
        "spread": spread.tolist(),
        "topics": sorted(set(topic.tolist())),
    }
    return about, slope


def background(data: Data) -> npt.NDArray[np.float16]:
    """Share of arguments with a stem, by its place: the mean over topics."""
    places = [sorted(set(content(text))) for text in data.text]
    topics = sorted(set(data.topic.tolist()))
    total = np.zeros(PLACES)
    for name in topics:
        here = np.flatnonzero(data.topic == name)
        counted = np.bincount(np.concatenate([places[row] for row in here]).astype(np.int64), minlength=PLACES)
        total += counted / here.size
    return (total / len(topics)).astype(np.float16)


def fit_continuation(data: Data) -> list[float]:
    """Weights that tell sentences of one argument (+1) from those of two (-1); both kinds count the same."""
    pairs = [pair for row in range(len(data.text)) for pair in inside(data, row)]
    apart = between(data)
    seen = Rows(np.array([features for features, _ in pairs + apart]))
    target = np.repeat([1.0, -1.0], [len(pairs), len(apart)])
    weight = np.array([one for _, one in pairs + apart])
    for sign in (1.0, -1.0):
        weight[target == sign] *= 1000.0 / weight[target == sign].sum()
    model = fit_ridge(seen, target, 1.0, weight)
    return [round(float(number), 4) for number in model.slope[:-1]] + [round(float(model.slope[-1]) + model.base, 4)]


def inside(data: Data, row: int) -> list[tuple[list[float], float]]:
    """Pairs of adjacent sentences of one argument. Ranked ones often make several points, so they weigh less."""
    text, frame = data.text[row], read_proposition(str(data.topic[row]))
    parts = [text[start:end] for start, end in sentences(text)]
    weight = 0.3 if data.file[row] == 2 else 1.0
    return [(continuation_features(a, b, frame), weight) for a, b in pairwise(parts)]


def between(data: Data) -> list[tuple[list[float], float]]:
    """Pairs of the last sentence of an argument and the first of another one on the topic, as if both were one text."""
    draw = np.random.default_rng(0)
    pairs = []
    for name in sorted(set(data.topic.tolist())):
        here = np.flatnonzero(data.topic == name)
        frame = read_proposition(name)
        for one, other in zip(draw.permutation(here), draw.permutation(here), strict=True):
            first, second = sentences(data.text[one]), sentences(data.text[other])
            if one == other or not first or not second:
                continue
            a, b = data.text[one][slice(*first[-1])], data.text[other][slice(*second[0])]
            closed = a if a[-1] in ".!?" else a + "."
            opened = b[0].upper() + b[1:] if draw.random() < 0.7 else b
            pairs.append((continuation_features(closed, opened, frame), 0.3 if data.file[one] == 2 else 1.0))
    return pairs


def report(what: str, right: npt.NDArray[np.bool_]) -> None:
    """One line on the terminal."""
    sys.stdout.write(f"{what}: {right.mean():.4f}\n")


def main(folder: Path) -> None:
    """Fit everything and write it."""
    data = load(folder)
    polarity, polarity_slope = fit_polarity(data)
    strength, strength_slope = fit_strength(data)
    continuation = {"weights": fit_continuation(data)}
    JUDGES.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        JUDGES / "fitted.npz", polarity=polarity_slope, strength=strength_slope, background=background(data)
    )
    about = {
        "about": "Hashed weights of the embedded judges, fitted by scripts/train_judges.py; docs/judges.md",
        "date": "2026-11-20",
        "sources": SOURCES,
        "polarity": polarity,
        "strength": strength,
        "continuation": continuation,
    }
    (JUDGES / "fitted.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/train_judges.py FOLDER")
    main(Path(sys.argv[1]))
