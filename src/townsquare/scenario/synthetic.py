"""Synthetic scenarios of any size, for benchmarks and tests."""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import DataError
from townsquare.scenario.contents import Arguments, NoteBank, Posts, Proposition, Scenario, Source
from townsquare.scenario.read import bundled_lines

SYNTHETIC_POSTS = 500
_SOURCES = 8
_TOPICS = ("north", "east", "south", "west")


def synthetic_scenario(
    posts: int = SYNTHETIC_POSTS, false_share: float = 0.1, propositions: int = 1, arguments: int = 20, seed: int = 0
) -> Scenario:
    """Return a scenario with randomly generated posts and arguments.

    Parameters
    ----------
    posts, propositions, arguments : int
        Numbers in the whole scenario; at least one post. Arguments are spread evenly over the propositions. A post
        takes no stance with probability 0.2, and otherwise a stance on one proposition.
    false_share : float
        Share of the posts that are false, in [0, 1], spread evenly over the scenario. False posts are less plausible
        (0.2 to 0.65 against 0.4 to 0.85) and come from the less credible half of the sources, true ones from the other
        half (assumed).
    seed : int
        Seed of the random draws; part of the name of the scenario.

    Raises
    ------
    DataError
        There are no posts, there are arguments without a proposition, or the share is outside [0, 1].
    """
    if posts < 1 or propositions < 0 or arguments < 0 or (arguments and not propositions):
        got = f"{posts} posts, {propositions} propositions, {arguments} arguments"
        allowed = "at least one post, and a proposition if there are arguments"
        raise DataError("synthetic scenario", got=got, allowed=allowed)
    if not 0 <= false_share <= 1:
        raise DataError("synthetic scenario", got=f"false_share {false_share}", allowed="a number from 0 to 1")
    return Scenario(
        name=f"synthetic-{posts}-{seed}", title=f"{posts} synthetic posts", origin="synthetic",
        description="Synthetic posts and arguments, for benchmarks and tests. Their texts carry no information.",
        propositions=tuple(Proposition(f"p{i}", f"Made proposition {i} holds.") for i in range(propositions)),
        sources=tuple(Source(f"Made source {i}", (i + 1) / (_SOURCES + 1)) for i in range(_SOURCES)),
        posts=_posts(posts, false_share, propositions, seed), arguments=_arguments(arguments, propositions, seed),
        comments=bundled_lines("comments.txt"), notes=NoteBank.plain(bundled_lines("notes.txt")),
        injection={}, settings={}, has_plausibility=True,
    )  # fmt: skip


def _uniform(purpose: str, n: int, seed: int) -> Float:
    return Draws(seed, 0)(Stage.SCENARIO).uniform(f"made:{purpose}", np.arange(n), lasting=True)


def _posts(n: int, false_share: float, n_propositions: int, seed: int) -> Posts:
    false = np.diff(np.floor(np.arange(n + 1) * false_share + 1e-9)) > 0
    half = _SOURCES // 2
    drawn = (_uniform("source", n, seed) * half).astype(np.int32)
    stance = np.full((n, n_propositions), np.nan)
    strength = np.full((n, n_propositions), np.nan)
    if n_propositions:
        speaks = np.flatnonzero(_uniform("speaks", n, seed) < 0.8)
        stance[speaks, speaks % n_propositions] = 2 * _uniform("stance", n, seed)[speaks] - 1
        strength[speaks, speaks % n_propositions] = _uniform("strength", n, seed)[speaks]
    return Posts(
        text=tuple(f"Made post {i}: something is said to have happened in place {i % 97}." for i in range(n)),
        veracity=np.where(false, int(Veracity.FALSE), int(Veracity.TRUE)).astype(np.uint8),
        plausibility=np.where(false, 0.2, 0.4) + 0.45 * _uniform("plausibility", n, seed),
        type=np.full(n, int(PostType.NEWS), np.uint8),
        topic=tuple(_TOPICS[i % len(_TOPICS)] for i in range(n)),
        source=np.where(false, drawn, drawn + half).astype(np.int32),
        step=np.full(n, -1, np.int32),
        stance=stance,
        strength=strength,
    )


def _arguments(n: int, n_propositions: int, seed: int) -> Arguments:
    size = 0.2 + 0.8 * _uniform("argument", n, seed)
    return Arguments(
        proposition=(np.arange(n) % max(1, n_propositions)).astype(np.int16),
        text=tuple(f"Made argument {i}, one more reason among many." for i in range(n)),
        # Sides alternate within each proposition, so that both have something to say.
        stance=np.where(np.arange(n) // max(1, n_propositions) % 2 == 0, size, -size),
        strength=_uniform("argument strength", n, seed),
    )
