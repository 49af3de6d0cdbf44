"""People compared with agents: how alike are the actions of persons and of agents that represent them?

MOSAIC compares numbers of actions per post with a pooled t-test of two independent samples. The same posts were shown
to both, and each agent represents one person: so the pairs are known, and a paired test of either sees much more. A
difference that is not significant is no evidence of likeness; intervals say how large it may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.posts import accepted
from townsquare.core.actions import WORDS
from townsquare.core.frames import as_words, collected

TESTS = columns("test:str statistic n_one:int n_other:int value low high p")
BY_ACTION = columns("action:str per:str unit:str") | TESTS
BY_GROUP = columns("grouping:str group:str action:str unit:str n:int value low high p")
ACTED = columns("person:row post:row action:str")


def compare_means(
    first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, seed: int = 0
) -> pl.DataFrame:
    """Compare the means of two samples by four tests.

    Parameters
    ----------
    first, second : arrays
        If they have the same length, the paired tests treat values at the same position as pairs.

    Returns
    -------
    DataFrame
        ``test``: ``pooled`` (Student's), ``Welch``, ``permutation`` (of two samples), ``paired`` (Student's) and
        ``paired permutation`` (signs); the last two only for equal lengths. ``statistic`` (t; of permutations the
        difference), ``n_one``, ``n_other``, ``value`` (mean of ``first`` minus mean of ``second``) with ``low`` and
        ``high`` (NaN for permutations), ``p`` (two-sided; 9,999 permutations from a generator with this seed). NaN
        where a sample has fewer than two values or nothing differs.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    value = float(a.mean() - b.mean()) if a.size and b.size else math.nan
    names = ["pooled", "Welch", "permutation"] + (["paired", "paired permutation"] if a.size == b.size else [])
    blank = statistics.TTest(math.nan, value, math.nan, math.nan, math.nan)
    is_defined = min(a.size, b.size) >= 2 and np.ptp(np.concatenate([a, b])) > 0
    rows = []
    for name in names:
        if not is_defined or (name == "paired" and not statistics.varies(a - b)):
            tested = blank
        elif "permutation" in name:
            tested = blank._replace(statistic=value, p=_permuted(a, b, paired=name.startswith("paired"), seed=seed))
        elif name == "paired":
            test = scipy.stats.ttest_rel(a, b)
            low, high = map(float, test.confidence_interval(statistics.LEVEL))
            tested = statistics.TTest(float(test.statistic), value, low, high, float(test.pvalue))
        else:
            tested = statistics.t_test(a, b, pooled=name == "pooled")
        rows.append((name, tested.statistic, a.size, b.size, *tested[1:]))
    return statistics.tidy(rows, TESTS)


def _permuted(a: np.ndarray, b: np.ndarray, *, paired: bool, seed: int) -> float:
    def apart(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(np.mean(x, axis=axis) - np.mean(y, axis=axis))

    test = scipy.stats.permutation_test(
        (a, b), apart, permutation_type="samples" if paired else "independent", vectorized=True, n_resamples=9999,
        batch=max(1, 2_000_000 // (a.size + b.size)), rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(test.pvalue)


def acted(run: Reads, actions: Sequence[str] = ("like", "share", "comment", "add_note")) -> pl.DataFrame:
    """Likes, shares, comments and notes of persons, each person, root and action once.

    Returns
    -------
    DataFrame
        ``person`` (int32, the agent), ``post`` (int32, the root), ``action`` (word).
    """
    kinds = {int(kind): word for kind, word in WORDS.items() if word in actions}
    posts = run.table("posts").select(pl.col("post").alias("target"), pl.col("root"))
    rows = accepted(run, kinds).join(posts.lazy(), on="target")
    columns = pl.col("agent").alias("person"), pl.col("root").alias("post"), as_words("kind", kinds).alias("action")
    return rows.select(columns).unique().sort("person", "post", "action").pipe(collected).cast(ACTED)


def counts(frame: pl.DataFrame, per: str, everyone: Sequence[object], action: str) -> np.ndarray:
    """Return how often an action was done by each person, or to each post, in the order given; 0 where never.

    Parameters
    ----------
    frame : DataFrame
        ``person``, ``post``, ``action``: one row per action.
    per : str
        ``person`` or ``post``.
    everyone : sequence
        All persons or posts there were, those without an action included.
    """
    return _totals(frame.filter(pl.col("action") == action), per, everyone)


def people_and_agents(
    people: pl.DataFrame,
    agents: pl.DataFrame,
    persons: Sequence[object],
    posts: Sequence[object],
    actions: Sequence[str],
) -> pl.DataFrame:
    """Return differences between people and the agents that represent them, per post and per person.

    Parameters
    ----------
    people, agents : DataFrame
        ``person``, ``post``, ``action``, one row each; an agent has the name of its person.
    persons, posts : sequence
        All there were.
    actions : sequence of str
        Kinds to compare.

    Returns
    -------
    DataFrame
        ``action``, ``per`` (``post`` or ``person``), ``unit``, then as :func:`compare_means`: ``n_one`` counts people,
        and a ``value`` above 0 means that people did it more often.
    """
    parts = []
    for action in actions:
        for per, everyone in (("post", posts), ("person", persons)):
            tests = compare_means(counts(people, per, everyone, action), counts(agents, per, everyone, action))
            words = {"action": action, "per": per, "unit": f"actions per {per}"}
            parts.append(tests.select(*(pl.lit(word).alias(name) for name, word in words.items()), pl.all()))
    return pl.concat(parts) if parts else statistics.tidy([], BY_ACTION)


def differences_by_group(
    people: pl.DataFrame, agents: pl.DataFrame, groups: pl.DataFrame, actions: Sequence[str]
) -> pl.DataFrame:
    """Return paired differences between people and their agents in each group, with correction for their number.

    Parameters
    ----------
    people, agents : DataFrame
        As for :func:`people_and_agents`.
    groups : DataFrame
        ``person``, ``grouping``, ``group``.
    actions : sequence of str

    Returns
    -------
    DataFrame
        One row per group and action: ``grouping``, ``group``, ``action``, ``unit``, ``n`` (persons), ``value`` (mean of
        people less agents) with ``low`` and ``high`` (Student's interval of pairs), ``p`` (paired t-test; NaN for
        fewer than two persons or no difference at all), ``p_corrected`` (Benjamini and Hochberg over all rows).
    """
    rows: list[tuple[object, ...]] = []
    ordered = groups.sort("grouping", "group", "person")
    for (grouping, group), members in ordered.group_by("grouping", "group", maintain_order=True):
        for action in actions:
            first, second = (counts(frame, "person", members["person"].to_list(), action) for frame in (people, agents))
            apart = first - second
            p = float(scipy.stats.ttest_rel(first, second).pvalue) if statistics.varies(apart) else math.nan
            rows.append((grouping, group, action, "actions per person", apart.size, *statistics.mean(apart), p))
    return statistics.with_corrected(statistics.tidy(rows, BY_GROUP))


ALIKE = columns("measure:str unit:str n:int value low high chance p")


def likeness(
    people: pl.DataFrame, agents: pl.DataFrame, persons: Sequence[object], posts: Sequence[object], seed: int = 0
) -> pl.DataFrame:
    """Return whether an agent does what its own person did, and whether posts get what they got from people.

    Parameters
    ----------
    people, agents, persons, posts
        As for :func:`people_and_agents`.

    Returns
    -------
    DataFrame
        ``measure``: ``overlap`` (person, post and action that both have) and ``same post`` (person and post), each
        against ``chance``: the mean over 1,000 shuffles of who represents whom, of which ``low`` and ``high`` hold
        95%, and ``p`` the part with as much or more; ``posts`` (rank correlation over posts of actions received);
        ``inactive people`` and ``inactive agents`` (share without any action, Wilson's interval); ``gini people``
        and ``gini agents`` (of actions per person); ``unit``, ``n``, ``value``.
    """
    rows: list[tuple[object, ...]] = []
    row_of = {person: at for at, person in enumerate(persons)}
    for measure, keys in (("overlap", ("post", "action")), ("same post", ("post",))):
        sets = [frame.select("person", *keys).unique() for frame in (people, agents)]
        rows_of = pl.concat(sets).select(keys).unique(maintain_order=True).sort(keys).rows()
        column_of = {key: at for at, key in enumerate(rows_of)}
        first, second = (_matrix(frame, keys, row_of, column_of) for frame in sets)
        drawn = np.random.default_rng(seed)
        shuffled = [float((first * second[drawn.permutation(len(row_of))]).sum()) for _ in range(statistics.RESAMPLES)]
        value = float((first * second).sum())
        low, high = np.quantile(shuffled, [0.025, 0.975]) if column_of else (math.nan, math.nan)
        p = (1 + sum(drawn >= value for drawn in shuffled)) / (1 + len(shuffled))
        rows.append((measure, "pairs", len(row_of), value, float(low), float(high), float(np.mean(shuffled)), p))
    totals = [_totals(frame, "post", posts) for frame in (people, agents)]
    if all(x.size > 2 and np.ptp(x) > 0 for x in totals):
        test = scipy.stats.spearmanr(totals[0], totals[1])
        ends = (float(test.statistic), *[math.nan] * 3, float(test.pvalue))
        rows.append(("posts", "rank correlation", len(posts), *ends))
    for name, frame in (("people", people), ("agents", agents)):
        each = _totals(frame, "person", persons)
        share, gini = statistics.share(int((each == 0).sum()), each.size), statistics.bootstrap(each, statistics.gini)
        rows.append((f"inactive {name}", "share of persons", each.size, *share, math.nan, math.nan))
        rows.append((f"gini {name}", "0 to 1", each.size, *gini, math.nan, math.nan))
    return statistics.tidy(rows, ALIKE)


def _matrix(
    frame: pl.DataFrame, keys: tuple[str, ...], row_of: dict[object, int], column_of: dict[tuple[object, ...], int]
) -> np.ndarray:
    matrix = np.zeros((len(row_of), max(1, len(column_of))))
    for person, *key in frame.select("person", *keys).iter_rows():
        matrix[row_of[person], column_of[tuple(key)]] = 1.0
    return matrix


def _totals(frame: pl.DataFrame, per: str, everyone: Sequence[object]) -> np.ndarray:
    keys = pl.DataFrame({per: list(everyone)}, schema={per: frame.schema[per]})
    counted = keys.join(frame.group_by(per).len("n"), on=per, how="left", maintain_order="left")
    return counted["n"].fill_null(0).to_numpy().astype(np.float64)
