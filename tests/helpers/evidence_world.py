"""Hand-made worlds in which posts argue, for tests of evidence: who was shown what, and which records that leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from small_worlds import town
from townsquare.beliefs.evidence.contract import Embedder, Extractor, StrengthJudge, Topics
from townsquare.beliefs.evidence.given import EXTRACTOR
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core import schema
from townsquare.core.enums import AgentKind, HoldingChange, Origin, PostKind, PostType, Scorer, Slot, Veracity
from townsquare.core.schema import NONE
from townsquare.record.batches import Batches
from townsquare.settings.config import Evidence, MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.evidence import claims, holdings
from townsquare.simulation.evidence.claims import Judges
from townsquare.simulation.world import World

NO_BANK = Topics(("p0", "p1"), (), np.empty(0, np.int16), np.empty(0), np.empty(0))


class NoParams(MemberParams):
    """Nothing to set."""


def given_vectors(vectors: Mapping[str, Sequence[float]]) -> Embedder:
    """An embedder that was told every vector; a text that it was not told is near nothing."""
    d = len(next(iter(vectors.values()), [0.0]))

    def embed(texts: Sequence[str], params: NoParams) -> np.ndarray:
        return np.array([vectors.get(text, [0.0] * d) for text in texts], np.float64).reshape(len(texts), d)

    return Embedder("given vectors", NoParams, embed, 0.8, 0.5)


def judges_of(
    vectors: Mapping[str, Sequence[float]] | None = None,
    theta: float = 0.8,
    theta_self: float = 0.5,
    extractor: Extractor = EXTRACTOR,
    strength: float = 0.5,
    topics: Topics = NO_BANK,
) -> Judges:
    """Judges over given vectors; claims whose strength nobody gave get ``strength``."""

    def estimate(texts: Sequence[str], statements: Sequence[str], params: NoParams) -> np.ndarray:
        return np.full(len(texts), strength)

    embedder = given_vectors(vectors or {})
    judge = StrengthJudge("test", NoParams, estimate)
    return Judges(
        (extractor, extractor.params()), (judge, NoParams()), Vectors(embedder, NoParams()), topics, theta, theta_self
    )


def argue(
    world: World,
    author: int,
    text: str,
    stance: float | None = None,
    strength: float = np.nan,
    *,
    proposition: int = 0,
    scorer: Scorer = Scorer.DECLARED,
    share_of: int | None = None,
) -> int:
    """Add a post in the step being taken; returns its row."""
    row = world.posts.n
    kind = PostKind.ORIGINAL if world.agents["kind"][author] == AgentKind.PERSON else PostKind.INJECTED
    rows: dict[str, Any] = {
        "posts": schema.rows(
            "posts", 1, post=row, key=row, kind=PostKind.SHARE if share_of is not None else kind, author=author,
            root=row if share_of is None else share_of, parent=NONE, step=world.step + 1,
            text=world.text_row.get(text, len(world.texts)), type=PostType.POST, topic=NONE,
            veracity=Veracity.UNKNOWN, plausibility=0.5,
        )
    }  # fmt: skip
    if text not in world.text_row:
        rows["texts"] = schema.rows("texts", 1, text=len(world.texts), content=[text])
    if stance is not None and share_of is None:
        rows["post_stances"] = schema.rows(
            "post_stances", 1, post=row, proposition=proposition, stance=stance, strength=strength, scorer=scorer
        )
    world.append(Change(rows))
    return row


def shown(world: World, *rows: tuple[int, int], weights: Sequence[float] | None = None, **columns: Any) -> Batches:
    """A step so far in which agents were shown posts: (agent, post) in feed order, agents ascending."""
    out = Batches(world.step + 1)
    if rows:
        agent, post = (np.array(column) for column in zip(*rows, strict=True))
        rank = [[a for a, _ in rows[:at]].count(rows[at][0]) for at in range(len(rows))]
        out.add(
            {
                "exposures": schema.rows(
                    "exposures", len(rows), step=world.step + 1, agent=agent, rank=rank, post=post,
                    root=world.posts["root"][post], author=world.posts["author"][post], under=NONE,
                    slot=Slot.OTHER, likes=columns.get("likes", 0), dislikes=0, shares=0, comments=0, flags=0,
                    verdict=0, note=NONE, offered=NONE, first_seen=columns.get("first_seen", True),
                    weight=1.0 if weights is None else list(weights),
                )
            }
        )  # fmt: skip
    return out


def take_in(world: World, out: Batches, judges: Judges, **settings: Any) -> list[dict[str, Any]]:
    """Both stages of evidence, applied; the rows of holdings in words."""
    out.add(world.append(claims.make(world, judges)))
    rows = world.append(holdings.update(world, out, judges, Evidence(**settings)))
    out.add(rows)
    return events_of(rows.get("holdings", schema.empty("holdings")))


def events_of(rows: schema.Columns) -> list[dict[str, Any]]:
    """Rows of holdings as (agent, claim, change, origin, by, post, rank, agreed)."""
    columns = {name: np.asarray(column).tolist() for name, column in rows.items()}
    return [
        {
            "agent": agent,
            "claim": claim,
            "change": HoldingChange(change).name.lower(),
            "origin": Origin(origin).name.lower(),
            "by": by,
            "post": post,
            "rank": rank,
            "agreed": agreed,
        }
        for agent, claim, change, origin, by, post, rank, agreed in zip(
            *(columns[name] for name in ("agent", "claim", "change", "origin", "by", "post", "rank", "agreed")),
            strict=True,
        )
    ]


def end_step(world: World) -> None:
    """Close the step without a feed."""
    world.step_starts.append(world.posts.n)
    world.step += 1


def square(persons: int = 3, propositions: int = 2) -> World:
    """A world of a few persons and one source, who is the last agent."""
    return town(persons, 1, propositions=propositions)


def with_stance(world: World, stance: Sequence[Sequence[float]]) -> None:
    """Set everybody's stances: (n_agents, P)."""
    (block,) = world.belief
    world.append(Change({}, belief=(replace(block, stance=np.array(stance, np.float64)),)))
