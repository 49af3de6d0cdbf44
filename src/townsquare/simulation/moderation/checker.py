"""The embedded fact-checker: a stated sensitivity, specificity, unverified rate and confidence, drawn by post.

Its findings are lasting draws keyed by the post, so that a post gets the same verdict at whatever step it is reviewed,
in whatever arm. It is no reader of texts: it errs at the rates it is given. Those rates are assumptions; studies of
professional checkers and of language models as checkers report anything between 0.5 and 0.95 for them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv

from townsquare.core import schema
from townsquare.core.array_types import Bool, Byte, Float, Int32
from townsquare.core.draws import StageDraws
from townsquare.core.enums import LogKind, PostKind, PostStatus, PostType, Veracity, Verdict
from townsquare.settings.config import MemberParams, Share, setting
from townsquare.simulation.moderation.log import logged
from townsquare.simulation.world import World

EXPLANATIONS = {
    Verdict.TRUE: "The embedded checker finds the central claim accurate.",
    Verdict.FALSE: "The embedded checker finds the central claim false.",
    Verdict.UNVERIFIED: "The embedded checker could not verify the central claim.",
}
SOURCES = "embedded checker: a draw at stated error rates, no source consulted"


class CheckerParams(MemberParams):
    """Settings of the fact-checker."""

    checker: Literal["embedded", "model"] = setting(
        "embedded", "the fact-checker: embedded, or a language model (section `model`)"
    )
    checker_temperature: float = setting(
        0.3, "temperature of the language model as checker (MOSAIC, appendix I.4)", ge=0, le=2
    )
    posts_per_step: int = setting(5, "posts reviewed in each step (MOSAIC: 5)", ge=0)
    sensitivity: Share = setting(0.85, "probability of the verdict `false` for a false post, unless `unverified`")
    specificity: Share = setting(0.95, "probability of the verdict `true` for a true post, unless `unverified`")
    unverified: Share = setting(0.15, "probability of the verdict `unverified` for true and false posts; 1 for others")
    confidence_right: tuple[float, float] = setting(
        (18.0, 2.0), "Beta distribution of the confidence of right verdicts (mean 0.9)"
    )
    confidence_wrong: tuple[float, float] = setting(
        (6.0, 4.0), "Beta distribution of the confidence of wrong verdicts (mean 0.6)"
    )
    takedown_at: Share = setting(0.9, "confidence in `false` from which a post is taken down")


class Findings(NamedTuple):
    """``verdict`` (n,) uint8 and ``confidence`` (n,) float64 of some posts, and n ``explanation`` and ``sources``."""

    verdict: Byte
    confidence: Float
    explanation: list[str]
    sources: list[str]


def find(world: World, posts: Int32, draws: StageDraws, params: CheckerParams) -> Findings:
    """Review ``posts``: return verdicts; posts of unknown veracity are always unverified."""
    key, veracity = world.posts["key"][posts], world.posts["veracity"][posts]
    nobody = np.zeros(posts.size, np.int64)
    gives_up = draws.uniform("unverified", nobody, key, lasting=True) < params.unverified
    u = draws.uniform("right", nobody, key, lasting=True)
    right = u < np.where(veracity == Veracity.FALSE, params.sensitivity, params.specificity)
    says_false = (veracity == Veracity.FALSE) == right
    verdict = np.where(says_false, Verdict.FALSE, Verdict.TRUE)
    verdict[gives_up | (veracity == Veracity.UNKNOWN)] = Verdict.UNVERIFIED
    c = draws.uniform("confidence", nobody, key, lasting=True)
    (a1, b1), (a0, b0) = params.confidence_right, params.confidence_wrong
    confidence = np.where(right, betaincinv(a1, b1, c), betaincinv(a0, b0, c))
    explanation = [EXPLANATIONS[Verdict(number)] for number in verdict.tolist()]
    return Findings(verdict.astype(np.uint8), confidence, explanation, [SOURCES] * posts.size)


def queue(world: World, draws: StageDraws, limit: int, *, noted_first: bool) -> Int32:
    """Return the next posts to review, each at most once: news first, then by flags, then by engagement, then by draw.

    ``noted_first`` puts posts with community notes, most notes first, before all others (hybrid).
    """
    posts = world.posts
    waiting = (posts["verdict"] == Verdict.NONE) & (posts["status"] == PostStatus.ACTIVE)
    waiting &= (posts["kind"] == PostKind.INJECTED) | (posts["kind"] == PostKind.ORIGINAL)
    rows = np.flatnonzero(waiting)
    first = rows[(posts["type"][rows] == PostType.NEWS) | ((posts["notes"][rows] > 0) & noted_first)]
    rows = first if first.size >= limit else rows  # spare the sort of all posts where the first class fills the queue
    engagement = posts["likes"][rows] + posts["shares"][rows] + posts["comments"][rows]
    news = posts["type"][rows] == PostType.NEWS
    tie = draws.uniform("queue", np.zeros(rows.size, np.int64), posts["key"][rows], lasting=True)
    notes = posts["notes"][rows] if noted_first else np.zeros(rows.size, np.int32)
    order = np.lexsort((tie, -engagement, -posts["flags"][rows], ~news, -notes))
    return rows[order][:limit].astype(np.int32)


def findings_as_rows(world: World, posts: Int32, findings: Findings, down: Bool, why: list[str]) -> schema.ByTable:
    """Return verdicts, their log, and takedowns of the posts in ``down``, each with its reason."""
    n, step = posts.size, world.step + 1
    if not n:
        return {}
    row, out = world.text_rows(findings.explanation + findings.sources)
    out["verdicts"] = schema.rows(
        "verdicts", n, post=posts, step=step, verdict=findings.verdict, confidence=findings.confidence,
        explanation=row[:n], sources=row[n:], veracity=world.posts["veracity"][posts],
    )  # fmt: skip
    reasons = [f"verdict {Verdict(int(verdict)).name.lower()}" for verdict in findings.verdict]
    taken = [reason for reason, is_down in zip(why, down, strict=True) if is_down]
    kind = np.repeat([LogKind.VERDICT, LogKind.TAKEDOWN], [n, len(taken)])
    confidence = np.r_[findings.confidence, findings.confidence[down]]
    out |= logged(world, np.r_[posts, posts[down]], kind, reasons + taken, confidence)
    return out
