"""What everybody does on the platform: a post every fifth step, a like each step, a follow every twentieth step.

The same calls go to camel-oasis. It is a policy like any other, registered under the name `routine`.
"""

from __future__ import annotations

import numpy as np
from contract_platform import FOLLOW_EVERY, POST_EVERY

from townsquare.core.actions import ActionKind
from townsquare.core.draws import StageDraws
from townsquare.core.schema import NONE
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, no_declarations


class Params(MemberParams):
    """None."""


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Post by turns, like a row of the feed, follow the last stranger in it by turns."""
    agents = views.agents.astype(np.int64)
    shown = np.diff(views.indptr)
    reads = np.flatnonzero(shown > 0)
    posts = np.flatnonzero((agents + views.step) % POST_EVERY == 0)
    strangers = np.flatnonzero(~views.followed_authors())
    last = np.full(agents.size, NONE, np.int64)
    last[np.repeat(np.arange(agents.size), shown)[strangers]] = strangers  # the last one of each agent stays
    follows = np.flatnonzero((last >= 0) & ((agents + views.step) % FOLLOW_EVERY == 0))
    liked = views.indptr[reads] + (7919 * agents[reads] + views.step) % shown[reads]
    place = np.r_[posts, reads, follows]
    kind = np.repeat(
        np.array([ActionKind.POST, ActionKind.LIKE, ActionKind.FOLLOW], np.uint8),
        [posts.size, reads.size, follows.size],
    )
    nothing = np.full(posts.size, NONE, np.int64)
    roots, authors = (np.asarray(views.rows[name]) for name in ("root", "author"))
    text = np.full(place.size, NONE, np.int32)
    text[: posts.size] = views.n_texts + np.arange(posts.size)
    order = np.lexsort((np.arange(place.size), place))
    return ProposedActions(
        agent=views.agents[place][order],
        kind=kind[order],
        row=np.r_[nothing, liked, last[follows]][order],
        target=np.r_[nothing, roots[liked], authors[last[follows]]].astype(np.int32)[order],
        text=text[order],
        helpful=np.full(place.size, NONE, np.int8),
        reasoning=np.full(place.size, NONE, np.int32),
        declared=no_declarations(),
        new_texts=tuple(f"Post of {agent} in step {views.step}" for agent in agents[posts].tolist()),
    )


POLICY = Policy("routine", Params, decide)
