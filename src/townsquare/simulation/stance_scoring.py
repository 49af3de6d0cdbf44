"""Scores the stances of what agents write from the text, in place of declared ones (``beliefs.stance_scorer``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.beliefs.stance.contract import StanceScorer, scores
from townsquare.core import registry, schema
from townsquare.core.enums import PostKind, Scorer
from townsquare.settings.config import Beliefs
from townsquare.simulation.change import Change
from townsquare.simulation.world import World


def scored(change: Change, world: World, beliefs: Beliefs, propositions: Sequence[str]) -> Change:
    """Return the same rows with stances by a text scorer for originals and comments; unchanged if stances are declared.

    Parameters
    ----------
    change : Change
        What comes of the actions of a step; not applied yet.
    world : World
        As it was before.
    beliefs : config.Beliefs
        Its ``stance_scorer`` names the scorer.
    propositions : sequence of str
        Their statements, in order.

    Raises
    ------
    ContractError
        The scorer gives no (n, P) float64 in [-1, 1] or NaN.
    """
    if beliefs.stance_scorer == "declared" or "posts" not in change.rows:
        return change
    posts = {name: np.asarray(change.rows["posts"][name]) for name in ("post", "kind", "text")}
    wrote = np.isin(posts["kind"], (PostKind.ORIGINAL, PostKind.COMMENT))
    fresh = change.rows.get("texts", {"content": []})["content"]
    contents = [*world.texts, *(str(text) for text in fresh)]
    texts = [contents[row] for row in posts["text"][wrote].tolist()]
    scorer: StanceScorer = registry.get("stance", beliefs.stance_scorer)
    stance = scores(scorer, texts, list(propositions))
    at, proposition = np.nonzero(~np.isnan(stance))
    rows = schema.rows(
        "post_stances", at.size, post=posts["post"][wrote][at], proposition=proposition,
        stance=stance[at, proposition], strength=np.nan, scorer=scorer_code(beliefs.stance_scorer),
    )  # fmt: skip
    return Change({**change.rows, "post_stances": rows}, change.newborn, change.belief)


def scorer_code(name: str) -> int:
    """Return the number by which a text scorer is recorded: from ``TEXT`` on for bundled ones, ``OUTSIDE`` for others.

    >>> scorer_code("vader") == Scorer.TEXT
    True
    """
    bundled = registry.bundled("stance")
    return Scorer.TEXT + bundled.index(name) if name in bundled else int(Scorer.OUTSIDE)
