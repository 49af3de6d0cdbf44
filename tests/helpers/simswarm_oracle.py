"""The SimSwarm page, step by step and in plain Python: what the compiled rules are held against."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Believer:
    """One agent and one topic."""

    stance: float = 0.0
    confidence: float = 0.5
    trust: dict[Any, float] = field(default_factory=dict)
    seen: set[Any] = field(default_factory=set)


def clamp(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


def influences(agent: Believer, posts: list[tuple[Any, Any, float, int]]) -> list[float]:
    """Sections 1 and 2: influence of each post, given as (author, key, stance, likes); marks the keys as seen."""
    resistance = 0.3 + agent.confidence * 0.7
    found = []
    for author, key, _, likes in posts:
        novelty = 0.5 if key in agent.seen else 1.5
        agent.seen.add(key)
        social_proof = 0.3 + likes * 0.07
        found.append(agent.trust.get(author, 0.5) * social_proof * novelty / resistance)
    return found


def learn(agent: Believer, posts: list[tuple[Any, Any, float, int]], likes: int, dislikes: int) -> None:
    """Sections 4 and 5: trust of every author met, then confidence."""
    for author, _, stance, _ in posts:
        alignment = 1.0 - abs(stance - agent.stance) / 2.0
        agent.trust[author] = clamp(agent.trust.get(author, 0.5) + (alignment - 0.5) * 0.05, 0.0, 1.0)
    agent.confidence = clamp(agent.confidence + (likes * 0.005 - dislikes * 0.008), 0.0, 1.0)


def update(agent: Believer, posts: list[tuple[Any, Any, float, int]], likes: int = 0, dislikes: int = 0) -> None:
    """One call of the page: sections 1 to 5."""
    delta = 0.0
    for (_, _, stance, _), influence in zip(posts, influences(agent, posts), strict=True):
        delta += (stance - agent.stance) * influence * 0.1
    agent.stance = clamp(agent.stance + delta, -1.0, 1.0)
    learn(agent, posts, likes, dislikes)


def update_bounded(agent: Believer, posts: list[tuple[Any, Any, float, int]]) -> None:
    """The same with weights that together close the share 1 - exp(-W) of the gap at most."""
    weights = [influence * 0.1 for influence in influences(agent, posts)]
    total = math.fsum(weights)
    share = -math.expm1(-total) / total if total else 1.0
    delta = math.fsum(weight * share * (post[2] - agent.stance) for weight, post in zip(weights, posts, strict=True))
    hull = [agent.stance, *(post[2] for weight, post in zip(weights, posts, strict=True) if weight > 0)]
    agent.stance = clamp(agent.stance + delta, min(hull), max(hull))
    learn(agent, posts, 0, 0)


def rows_of(agent: Believer, posts: list[tuple[int, int, float, int]]) -> list[dict]:
    """Posts as rows of exposures: only the caller of a rule knows what was seen before."""
    seen, rows = set(agent.seen), []
    for author, key, stance, likes in posts:
        rows.append({"author": author, "stance": stance, "likes": likes, "first_seen": key not in seen})
        seen.add(key)
    return rows
