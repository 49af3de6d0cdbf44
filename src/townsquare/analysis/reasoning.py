"""What agents say about their actions: tone, motives, words, and whether it goes with the post.

Only policies that give reasons, language models above all, leave any; reasoning is on record and never an input. Each
agent, kind of action and target counts once, however often it was tried: in MOSAIC's table 4 four in five shares are
one post shared again and again by the same 75 agents. Tone is VADER's compound score, as there: from 0.05 on positive,
from −0.05 down negative. It is tone of words, neither stance nor motive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns, once_a_run
from townsquare.beliefs.stance.vader import score_text
from townsquare.core.actions import ON_POSTS, WORDS
from townsquare.core.enums import ActionStatus
from townsquare.core.errors import DataError
from townsquare.core.frames import as_words, collected
from townsquare.settings.layers import read_yaml

EDGE = 0.05
"""Compound scores of this size and more are positive or negative, as VADER's authors recommend."""
TONES = ("positive", "neutral", "negative")
MOST_TEXTS = 20_000
"""Of more different actions than this, that many drawn with a fixed seed are looked at; ``n`` says how many."""
REASONS = columns("agent:row action:str target:row reasoning:str post:str")
SHARES = columns("action:str measure:str unit:str n:int value low high")
AGREEMENT = SHARES | columns("chance kappa")
_ON_POSTS = [int(kind) for kind in ON_POSTS]
_UNIT = "share of actions"


@once_a_run
def reasons(run: Reads) -> pl.DataFrame:
    """Return accepted actions with a reasoning, each agent, kind and target once: the first.

    Returns
    -------
    DataFrame
        ``agent`` (int32), ``action`` (word), ``target`` (int32), ``reasoning`` (text), ``post`` (text of the post that
        was acted on; null for other targets), by step. At most 20,000, drawn with a fixed seed.
    """
    words = {int(kind): word for kind, word in WORDS.items()}
    texts = run.table("texts")
    explained = (pl.col("status") == ActionStatus.ACCEPTED) & (pl.col("reasoning") >= 0)
    rows = run.lazy("actions").filter(explained).select("step", "agent", "kind", "target", "reasoning")
    once = rows.sort("step", maintain_order=True).unique(["agent", "kind", "target"], keep="first", maintain_order=True)
    actions = once.pipe(collected)
    actions = actions.sample(MOST_TEXTS, seed=0) if actions.height > MOST_TEXTS else actions
    posts = run.table("posts").select(pl.col("post").alias("target"), pl.col("text").alias("post_text"))
    return (
        actions.with_columns(as_words("kind", words).alias("action"))
        .join(posts, on="target", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("kind").is_in(_ON_POSTS)).then(pl.col("post_text")).alias("post_text"))
        .join(texts.rename({"text": "reasoning", "content": "words"}), on="reasoning", maintain_order="left")
        .join(texts.rename({"text": "post_text", "content": "post"}), on="post_text", how="left", maintain_order="left")
        .select("agent", "action", "target", pl.col("words").alias("reasoning"), "post")
        .cast(REASONS)
    )


def tones(texts: Sequence[str]) -> list[str]:
    """Return the tone of each text: ``positive``, ``neutral`` or ``negative``.

    >>> tones(["What a wonderful idea", "It is a table", "A horrible lie"])
    ['positive', 'neutral', 'negative']
    """
    return [TONES[0] if score >= EDGE else TONES[2] if score <= -EDGE else TONES[1] for score in compound(texts)]


def reasoning_tone(run: Reads) -> pl.DataFrame:
    """Tone of agents' reasoning by action (left half of MOSAIC's table 4).

    Returns
    -------
    DataFrame
        As :func:`tone_by_action`.
    """
    return tone_by_action(reasons(run))


def tone_by_action(frame: pl.DataFrame) -> pl.DataFrame:
    """Return actions and the tone of their reasoning.

    Parameters
    ----------
    frame : DataFrame
        ``action`` and ``reasoning``, one row per action.

    Returns
    -------
    DataFrame
        Four rows an action: ``action``, ``measure`` (``actions``, as a share of all; ``positive``, ``neutral``,
        ``negative``, as shares of the action), ``unit``, ``n`` (actions of the kind), ``value``, ``low``, ``high``
        (Wilson's interval).
    """
    toned = frame.with_columns(pl.Series("tone", tones(frame["reasoning"].to_list()), dtype=pl.String))
    rows: list[tuple[object, ...]] = []
    for (action,), actions in toned.sort("action").group_by("action", maintain_order=True):
        share = statistics.share(actions.height, frame.height)
        rows.append((action, "actions", "share of all actions", actions.height, *share))
        for tone in TONES:
            share = statistics.share(int((actions["tone"] == tone).sum()), actions.height)
            rows.append((action, tone, _UNIT, actions.height, *share))
    return statistics.tidy(rows, SHARES)


def reasoning_motives(run: Reads, motives: Motives | None = None) -> pl.DataFrame:
    """Motives in agents' reasoning by action, from the keyword lists in ``data/motives.yaml``.

    Returns
    -------
    DataFrame
        One row per action and motive: ``action``, ``measure`` (the motive; ``none`` for texts without any), ``unit``
        (share of actions), ``n`` (actions of the kind), ``value``, ``low``, ``high`` (Wilson's interval). A text can
        have several motives, so that shares may sum to more than 1.
    """
    return motives_by_action(reasons(run), motives)


def motives_by_action(frame: pl.DataFrame, motives: Motives | None = None) -> pl.DataFrame:
    """Return :func:`reasoning_motives` of a frame with ``action`` and ``reasoning``."""
    lists = bundled_motives() if motives is None else motives
    marked = motives_of(frame["reasoning"], lists)
    marked = marked.with_columns((~pl.any_horizontal(pl.all())).alias("none"), frame["action"])
    rows = [
        (action, name, _UNIT, actions.height, *statistics.share(int(actions[name].sum()), actions.height))
        for (action,), actions in marked.sort("action", maintain_order=True).group_by("action", maintain_order=True)
        for name in [*lists, "none"]
    ]
    return statistics.tidy(rows, SHARES)


def reasoning_agreement(run: Reads) -> pl.DataFrame:
    """Agreement between the tone of a reasoning and the tone of its post.

    Returns
    -------
    DataFrame
        As :func:`tone_agreement`.
    """
    return tone_agreement(reasons(run))


def tone_agreement(frame: pl.DataFrame) -> pl.DataFrame:
    """Return agreement in tone of reasoning and post.

    Parameters
    ----------
    frame : DataFrame
        ``action``, ``reasoning`` and ``post`` (texts); rows without a post are left out.

    Returns
    -------
    DataFrame
        One row per action, and one for ``all``: ``action``, ``measure`` (``same tone``), ``unit``, ``n``, ``value``
        with ``low`` and ``high`` (Wilson's interval), ``chance`` (what the shares of tones alone would give) and
        ``kappa`` (Cohen's: 0 chance, 1 always the same; NaN where chance is 1).
    """
    known = frame.filter(pl.col("post").is_not_null())
    of_post, says = (pl.Series(tones(known[name].to_list()), dtype=pl.String) for name in ("post", "reasoning"))
    both = pl.DataFrame({"action": known["action"], "post": of_post, "says": says})
    parts = [((action,), pairs) for (action,), pairs in both.sort("action").group_by("action", maintain_order=True)]
    rows: list[tuple[object, ...]] = []
    for (action,), pairs in [*parts, (("all",), both)] if both.height else []:
        same = int((pairs["post"] == pairs["says"]).sum())
        both_at_random = sum(int((pairs["post"] == tone).sum()) * int((pairs["says"] == tone).sum()) for tone in TONES)
        chance = both_at_random / pairs.height**2
        kappa = (same / pairs.height - chance) / (1 - chance) if chance < 1 else math.nan
        rows.append((action, "same tone", _UNIT, pairs.height, *statistics.share(same, pairs.height), chance, kappa))
    return statistics.tidy(rows, AGREEMENT)


def compound(texts: Sequence[str]) -> np.ndarray:
    """Return VADER's compound score of each text, −1 to 1."""
    once = {text: score_text(text) for text in set(texts)}
    return np.array([once[text] for text in texts], np.float64)


# Motives as stated lists of words: reading them, and finding them in texts.


Motives = Mapping[str, Sequence[str]]
"""Words and phrases by motive; ``*`` at the end of a word represents any ending."""


def read_motives(path: Path) -> Motives:
    """Return the lists of a YAML file: motive to words.

    Raises
    ------
    DataError
        The file is none, or holds anything else.
    """
    lists, _ = read_yaml(path)
    for name, words in lists.items():
        listed = words if isinstance(words, list) else []
        if not listed or not all(isinstance(word, str) and word.strip("* ") for word in listed):
            raise DataError(f"{path}: {name}", got=repr(words)[:80], allowed="a list of words and phrases")
    return {str(name): list(words) for name, words in lists.items()}


@cache
def bundled_motives() -> Motives:
    """Return the lists that come with Townsquare, ``data/motives.yaml``.

    >>> sorted(bundled_motives())[:2]
    ['agreement', 'disagreement']
    """
    return read_motives(Path(str(files("townsquare"))) / "data" / "motives.yaml")


def pattern(words: Sequence[str]) -> str:
    """Return one regular expression for a list: whole words, regardless of the case.

    >>> pattern(["agree*", "well said"])
    '(?i)\\\\b(?:agree\\\\w*|well\\\\ said)\\\\b'
    """
    parts = [re.escape(word.strip().rstrip("*")) + (r"\\w*" if word.strip().endswith("*") else "") for word in words]
    return r"(?i)\b(?:" + "|".join(part.replace(r"\\w", r"\w") for part in parts) + r")\b"


def motives_of(texts: pl.Series, motives: Motives) -> pl.DataFrame:
    """Return which motives each text has: a column of bool a motive."""
    return pl.DataFrame({name: texts.str.contains(pattern(words)) for name, words in motives.items()})
