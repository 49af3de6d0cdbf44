"""Which words, names and phrases are in what agents say, by action and by background.

A word is typical of a group when it is used there more than elsewhere by more than chance: log odds with the words of
all groups as prior, over their standard error (Monroe, Colaresi and Quinn 2008, *Political Analysis* 16). Names are
runs of capitalized words inside a sentence, concepts are pairs of neighboring words: simple rules that need no language
model, and miss and add some.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.groups import trait_groups
from townsquare.analysis.reasoning import reasons
from townsquare.core.extras import library

TYPICAL = 10
"""Words given of each group."""
LEAST = 5
"""Uses in all that a word must have."""
WORDS = columns("grouping:str group:str word:str n:int value elsewhere z rank:int")
TERMS = columns("action:str kind:str term:str unit:str n:int value low high")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")


def reasoning_words(run: Reads) -> pl.DataFrame:
    """Words typical of agents' reasoning, by action and by trait.

    Returns
    -------
    DataFrame
        As :func:`typical_words`; ``grouping`` is ``action`` or a trait.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    frame = reasons(run)
    by_action = frame.select(pl.lit("action").alias("grouping"), pl.col("action").alias("group"), "reasoning")
    by_trait = trait_groups(run).join(frame.select("agent", "reasoning"), on="agent")
    return typical_words(pl.concat([by_action, by_trait.select("grouping", "group", "reasoning")]))


def typical_words(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the words that set groups apart.

    Parameters
    ----------
    frame : DataFrame
        ``grouping``, ``group``, ``reasoning``: one row per text and grouping.

    Returns
    -------
    DataFrame
        Up to ten rows a group, most typical first: ``grouping``, ``group``, ``word``, ``n`` (its uses in the group),
        ``value`` and ``elsewhere`` (its uses over all words, in the group and in the others of the grouping), ``z``
        (log odds over their standard error; only those above 1.96), ``rank``. Groupings with one group have no rows.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    rows: list[tuple[object, ...]] = []
    extraction = library("sklearn.feature_extraction.text")
    for (grouping,), texts in frame.sort("grouping", maintain_order=True).group_by("grouping", maintain_order=True):
        groups = sorted(texts["group"].unique())
        if len(groups) < 2:
            continue
        counted = _counts(extraction, [texts.filter(pl.col("group") == group)["reasoning"] for group in groups])
        if counted is not None:
            rows += [(grouping, *row) for row in _typical(groups, *counted)]
    return statistics.tidy(rows, WORDS)


def _counts(extraction: Any, samples: Sequence[pl.Series]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return uses of each word, (groups, words), of words used often enough, and the words."""
    vectorizer = extraction.CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[a-zA-Z][a-zA-Z'-]+\b")
    try:
        vectorizer.fit(pl.concat([sample.unique(maintain_order=True) for sample in samples]).to_list())
    except ValueError:  # nothing but stop words
        return None
    counts = np.stack([np.asarray(vectorizer.transform(s.to_list()).sum(axis=0)).ravel() for s in samples])
    often = counts.sum(axis=0) >= LEAST
    return (counts[:, often].astype(np.float64), vectorizer.get_feature_names_out()[often]) if often.any() else None


def log_odds(counts: np.ndarray) -> np.ndarray:
    """Return z of each word in each group against the others, (groups, words); the prior is the use in all groups."""
    prior = counts.sum(axis=0)
    total, mass = counts.sum(axis=1, keepdims=True), float(prior.sum())
    rest, rest_total = prior - counts, counts.sum() - total
    here = np.log(counts + prior) - np.log(total + mass - counts - prior)
    there = np.log(rest + prior) - np.log(rest_total + mass - rest - prior)
    return np.asarray((here - there) / np.sqrt(1.0 / (counts + prior) + 1.0 / (rest + prior)))


def _typical(groups: Sequence[str], counts: np.ndarray, words: np.ndarray) -> list[tuple[object, ...]]:
    if words.size < 2:
        return []
    z, total = log_odds(counts), counts.sum(axis=1)
    rows: list[tuple[object, ...]] = []
    for at, group in enumerate(groups):
        order = [word for word in np.argsort(-z[at], kind="stable")[:TYPICAL] if z[at, word] > 1.96]
        for rank, word in enumerate(order, 1):
            uses, others = counts[at, word], counts[:, word].sum() - counts[at, word]
            elsewhere = others / max(1.0, total.sum() - total[at])
            rows.append((group, words[word], int(uses), uses / total[at], elsewhere, float(z[at, word]), rank))
    return rows


def reasoning_terms(run: Reads) -> pl.DataFrame:
    """Most frequent names and concepts in agents' reasoning, by action.

    Returns
    -------
    DataFrame
        As :func:`frequent_terms`.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    return frequent_terms(reasons(run))


def frequent_terms(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the most frequent names and concepts of texts by action.

    Parameters
    ----------
    frame : DataFrame
        ``action`` and ``reasoning``.

    Returns
    -------
    DataFrame
        Up to ten rows an action and kind: ``action``, ``kind`` (``name``: a run of capitalized words that does not
        begin a sentence; ``concept``: two neighboring words, stop words aside), ``term``, ``unit`` (share of
        actions), ``n`` (actions of the kind), ``value`` (those whose reasoning has the term), ``low``, ``high``
        (Wilson's interval). Terms of one reasoning alone are left out.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    extraction = library("sklearn.feature_extraction.text")
    pairs = extraction.CountVectorizer(stop_words="english", ngram_range=(2, 2)).build_analyzer()
    rows: list[tuple[object, ...]] = []
    for (action,), actions in frame.sort("action", maintain_order=True).group_by("action", maintain_order=True):
        texts = actions["reasoning"].to_list()
        for kind, terms_of in (("name", _NAME.findall), ("concept", pairs)):
            uses = Counter(term for text in texts for term in set(terms_of(text)))
            often = sorted((item for item in uses.items() if item[1] > 1), key=lambda item: (-item[1], item[0]))
            for term, count in often[:TYPICAL]:
                share = statistics.share(count, len(texts))
                rows.append((action, kind, term, "share of actions", len(texts), *share))
    return statistics.tidy(rows, TERMS)
