"""Do topics matter? Topics of posts, engagement by topic with tests, and the time of posting.

Topics are those a scenario gives with its posts, and those that a non-negative factorization of TF-IDF weights finds in
the texts (Lee and Seung 1999; scikit-learn's). MOSAIC used BERTopic: ``topics(run, find=bertopic_topics)``, an extra.
A test of topics can hang on one post: so each stands with and without the most engaged one in a thousand.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.engagement import KINDS, accepted_engagement, engagement_by_post
from townsquare.analysis.posts import roots
from townsquare.core.enums import PostKind
from townsquare.core.extras import library
from townsquare.core.frames import collected

MOST_TOPICS = 10
MOST_TEXTS = 20_000
"""Of more texts than this, topics are fitted to so many drawn with a fixed seed; then all are assigned."""
WORDS = 6
"""Words that name a topic."""
OUTLIERS = 0.001
"""The part of posts, at least one, that is left out of a test "without outliers": those with most engagement."""
WINDOW = 3
"""Steps of a post's life that are looked at when times of posting are compared."""
OF_POSTS = columns("root:row source:str topic:str")
BY_TOPIC = columns("source:str topic:str unit:str n:int value low high median sd most")
TESTS = columns("source:str posts:str n:int topics:int left_out:int f p_anova eta2 kruskal p_kruskal")
POSTING = columns("step:row measure:str unit:str n:int value low high p")
_UNIT = "actions per post"


def found_topics(texts: Sequence[str], most: int = MOST_TOPICS) -> tuple[np.ndarray, list[str]]:
    """Return topics of texts by a non-negative factorization of their TF-IDF weights.

    Parameters
    ----------
    texts : sequence of n str
    most : int
        Topics to find; fewer where there are not five texts for each.

    Returns
    -------
    (n,) int64 array
        The topic with the largest weight of each text; -1 for a text that shares no word with another.
    list of str
        The topics, each as its six weightiest words.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    nothing = np.full(len(texts), -1, np.int64)
    extraction, decomposition = library("sklearn.feature_extraction.text"), library("sklearn.decomposition")
    topics = min(most, len(set(texts)) // 5)
    vectorizer = extraction.TfidfVectorizer(stop_words="english", min_df=2, max_features=5000, sublinear_tf=True)
    if topics < 2:
        return nothing, []
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError:  # no word stands in two texts
        return nothing, []
    topics = min(topics, weights.shape[1])
    model = decomposition.NMF(n_components=topics, init="nndsvda", random_state=0, max_iter=400)
    chosen = np.arange(weights.shape[0])
    if chosen.size > MOST_TEXTS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen.size, MOST_TEXTS, replace=False))
    with warnings.catch_warnings(action="ignore"):  # of slow convergence: the topics serve as they are
        belongs = model.fit(weights[chosen]).transform(weights)
    words = vectorizer.get_feature_names_out()
    called = [" ".join(words[word] for word in np.argsort(-row)[:WORDS]) for row in model.components_]
    return np.where(belongs.max(axis=1) > 0, belongs.argmax(axis=1), -1), called


Find = Callable[[Sequence[str]], tuple[np.ndarray, list[str]]]
"""What finds topics in texts: :func:`found_topics`, or one of your own of the same form."""


def topics(run: Reads, find: Find = found_topics) -> pl.DataFrame:
    """Topic of each post that is neither share nor comment.

    Parameters
    ----------
    find : callable
        What finds topics; :func:`townsquare.analysis.bertopic_topics.bertopic_topics` is another.

    Returns
    -------
    DataFrame
        One row per root and source: ``root`` (int32), ``source`` (``given`` with the scenario, or ``found``), ``topic``
        (its name, or its six weightiest words). Roots without a topic have no row. Equal texts count once when
        topics are found.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    texts = run.table("texts")
    every = roots(run).filter(pl.col("kind") != PostKind.COMMENT).select("root", "text")
    named = run.table("posts").select(pl.col("post").alias("root"), pl.col("topic").alias("text"))
    given = every.select("root").join(named, on="root").join(texts, on="text").rename({"content": "topic"})
    different = every.select("text").unique().join(texts, on="text").sort("text")
    at, called = find(different["content"].to_list())
    topic_of = different.select("text").with_columns(pl.Series("at", at)).filter(pl.col("at") >= 0)
    names = pl.DataFrame({"at": np.arange(len(called)), "topic": called}, schema={"at": pl.Int64, "topic": pl.String})
    from_texts = every.join(topic_of, on="text").join(names, on="at")
    sources = {"given": given, "found": from_texts}.items()
    parts = [frame.select("root", pl.lit(source).alias("source"), "topic") for source, frame in sources]
    return pl.concat(parts).cast(OF_POSTS).sort("source", "root")


def _amounts(run: Reads) -> pl.DataFrame:
    did = engagement_by_post(run).select("root", pl.col("engagement").cast(pl.Float64).alias("value"))
    return topics(run).join(did, on="root", how="left").with_columns(pl.col("value").fill_null(0.0))


def topic_engagement(run: Reads) -> pl.DataFrame:
    """Engagement with posts by topic.

    Returns
    -------
    DataFrame
        As :func:`by_topic`.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    return by_topic(_amounts(run))


def by_topic(amounts: pl.DataFrame) -> pl.DataFrame:
    """Return amounts by topic.

    Parameters
    ----------
    amounts : DataFrame
        One row per post: ``root``, ``source``, ``topic``, ``value``.

    Returns
    -------
    DataFrame
        One row per source and topic: ``source``, ``topic``, ``unit``, ``n`` (posts), ``value`` (mean), ``low``,
        ``high`` (Student's interval), ``median``, ``sd``, ``most``.
    """
    rows = []
    for (source, topic), posts in amounts.group_by("source", "topic", maintain_order=True):
        x = posts["value"].to_numpy()
        sd = float(x.std(ddof=1)) if x.size > 1 else math.nan
        rows.append((source, topic, _UNIT, x.size, *statistics.mean(x), float(np.median(x)), sd, float(x.max())))
    return statistics.tidy(rows, BY_TOPIC).sort("source", "topic")


def topic_tests(run: Reads) -> pl.DataFrame:
    """Tests of whether engagement differs between topics.

    Returns
    -------
    DataFrame
        As :func:`compare_topics`.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.
    """
    return compare_topics(_amounts(run))


def compare_topics(amounts: pl.DataFrame) -> pl.DataFrame:
    """Return tests of amounts between topics, with and without the largest amounts.

    Parameters
    ----------
    amounts : DataFrame
        As for :func:`by_topic`.

    Returns
    -------
    DataFrame
        Two rows a source: ``source``, ``posts`` (``all``, or ``without outliers``: the largest amounts left out, one
        in a thousand and at least one), ``n`` (posts, of topics with two at least), ``topics``, ``left_out``; ``f``
        and ``p_anova`` (one-way analysis of variance), ``eta2`` (share of variance between topics), ``kruskal`` and
        ``p_kruskal`` (rank test of Kruskal and Wallis).
    """
    rows = []
    for (source,), amounts_of in amounts.sort("source").group_by("source", maintain_order=True):
        fewer = max(1, int(amounts_of.height * OUTLIERS))
        rest = amounts_of.sort("value", maintain_order=True).head(amounts_of.height - fewer)
        for name, part, out in (("all", amounts_of, 0), ("without outliers", rest, fewer)):
            samples = statistics.samples_of(part.sort("topic", "root"), "topic")
            rows.append((source, name, sum(x.size for x in samples), len(samples), out, *_differ(samples)))
    return statistics.tidy(rows, TESTS)


def _differ(samples: list[np.ndarray]) -> tuple[float, ...]:
    if len(samples) < 2 or np.ptp(np.concatenate(samples)) == 0:
        return (math.nan,) * 5
    every = np.concatenate(samples)
    between = sum(x.size * (x.mean() - every.mean()) ** 2 for x in samples)
    total = float(((every - every.mean()) ** 2).sum())
    with warnings.catch_warnings(action="ignore"):  # of topics whose posts have all the same amount
        anova, rank = scipy.stats.f_oneway(*samples), scipy.stats.kruskal(*samples)
    return tuple(map(float, (anova.statistic, anova.pvalue, between / total, rank.statistic, rank.pvalue)))


def time_of_posting(run: Reads) -> pl.DataFrame:
    """Early engagement with posts by step of posting.

    Returns
    -------
    DataFrame
        One row per step in which posts came (neither shares nor comments): ``step`` (int32), ``measure``
        (``engagement``), ``unit`` (actions per post in its first three steps, that of its coming included), ``n``
        (posts; those that came in the last two steps of the run, and so had fewer, are left out), ``value`` (mean),
        ``low``, ``high`` (Student's interval), ``p`` (NaN). Then one row without step: ``measure`` ``spearman``,
        the rank correlation of step and engagement over posts, with its ``p``.
    """
    in_time = pl.col("step").is_between(1, run.last_step + 1 - WINDOW)
    every = roots(run).filter(pl.col("kind") != PostKind.COMMENT, in_time)
    since = every.select("root", pl.col("step").alias("since"))
    early = accepted_engagement(run).join(since.lazy(), on="root").filter(pl.col("step") < pl.col("since") + WINDOW)
    amount = pl.sum_horizontal(list(KINDS)).sum().cast(pl.Float64).alias("value")
    did = early.group_by("root").agg(amount).pipe(collected)
    frame = since.join(did, on="root", how="left").with_columns(pl.col("value").fill_null(0.0)).sort("since", "root")
    unit = f"actions per post in its first {WINDOW} steps"
    rows: list[tuple[object, ...]] = [
        (since, "engagement", unit, posts.height, *statistics.mean(posts["value"].to_numpy()), math.nan)
        for (since,), posts in frame.group_by("since", maintain_order=True)
    ]
    if frame["since"].n_unique() > 1 and frame["value"].n_unique() > 1:
        posts = scipy.stats.spearmanr(frame["since"].to_numpy(), frame["value"].to_numpy())
        ends = (math.nan, math.nan)
        rows.append((None, "spearman", "correlation", frame.height, float(posts.statistic), *ends, float(posts.pvalue)))
    return statistics.tidy(rows, POSTING)
