"""Topics by BERTopic, as MOSAIC found them: clusters of embedded texts, named by their words.

BERTopic (Grootendorst 2022) is the extra ``topics``. Its usual embeddings come from a transformer fetched from a
hub: give such vectors yourself, or have texts placed by TF-IDF and a truncated singular value decomposition, which
needs nothing from outside and knows words, not meaning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from townsquare.core.extras import library

MOST_TOPICS = 10
DIMENSIONS = 50
FEWEST = 30
"""Texts below which no clusters are sought."""
WORDS = 6
SEED = 0


def bertopic_topics(
    texts: Sequence[str], most: int = MOST_TOPICS, vectors: npt.NDArray[np.float64] | None = None
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return topics of texts by BERTopic, in place of :func:`townsquare.analysis.topics.found_topics`.

    Parameters
    ----------
    texts : sequence of n str
    most : int
        Topics at most.
    vectors : (n, d) float64, optional
        Embeddings of the texts; by TF-IDF and 50 dimensions if not given.

    Returns
    -------
    (n,) int64 array
        The topic of each text; -1 for one that belongs to no cluster.
    list of str
        The topics, each as its six weightiest words.

    Raises
    ------
    MissingExtra
        BERTopic or scikit-learn is not installed.
    """
    bertopic, umap = library("bertopic"), library("umap")
    extraction = library("sklearn.feature_extraction.text")
    if len(texts) < FEWEST:
        return np.full(len(texts), -1, np.int64), []
    placed = _placed(texts) if vectors is None else np.asarray(vectors, np.float64)
    neighbors = min(15, len(texts) - 1)
    model = bertopic.BERTopic(
        embedding_model=bertopic.backend.BaseEmbedder(),
        umap_model=umap.UMAP(n_neighbors=neighbors, n_components=5, metric="cosine", random_state=SEED),
        vectorizer_model=extraction.CountVectorizer(stop_words="english"),
        nr_topics=most + 1,  # the cluster of those that belong to none counts as one
        min_topic_size=max(5, len(texts) // 100),
    )
    with warnings.catch_warnings(action="ignore"):
        labels, _ = model.fit_transform(list(texts), embeddings=placed)
    topic_of = np.asarray(labels, np.int64)
    names = [" ".join(word for word, _ in model.get_topic(k)[:WORDS] if word) for k in range(int(topic_of.max()) + 1)]
    return topic_of, names


def _placed(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    extraction, decomposition = library("sklearn.feature_extraction.text"), library("sklearn.decomposition")
    weights = extraction.TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(texts)
    dimensions = max(2, min(DIMENSIONS, weights.shape[1] - 1, len(texts) - 1))
    return np.asarray(decomposition.TruncatedSVD(dimensions, random_state=SEED).fit_transform(weights), np.float64)
