"""``desk``: a fact-checking desk that rules on a share of the false posts, each after a delay.

It knows which posts are false, as a record does and no real desk can: the share it catches and its delay stand for the
work of finding and checking. Whether and when a post is ruled on are lasting draws keyed by the post, so that labels,
notes, takedowns and downranking hit the same posts; those that share a delay do so in the same steps.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Int32
from townsquare.core.draws import StageDraws
from townsquare.core.enums import LogKind, PostKind, PostStatus, Veracity, Verdict
from townsquare.core.schema import NONE
from townsquare.settings.base import Share, setting
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.moderation.checker import Findings, findings_as_rows
from townsquare.simulation.moderation.contract import Moderator, ReviewContext
from townsquare.simulation.moderation.log import joined, logged
from townsquare.simulation.world import World

DELAY, NOTE_DELAY = 8.0, 15.0
"""Median delays where `delay_median` is unset; assumed, that of notes from memory of published figures."""
EXPLANATION = "The fact-checking desk finds the central claim false."
SOURCES = "fact-checking desk: a draw at a stated rate, no source consulted"
NOTE = "A fact check found the central claim of this post false."


class Params(MemberParams):
    """Settings of the strategy `desk`."""

    response: Literal["none", "label", "note", "takedown", "downrank"] = setting(
        "label", "what follows a ruling: nothing, the verdict is shown, a note is shown, the post is taken down, or "
        "feeds put it lower and show nothing",
    )  # fmt: skip
    caught: Share = setting(0.6, "probability that a false post is ruled on at all (assumed)")
    false_alarms: Share = setting(0.0, "probability that a true post is ruled false (assumed)")
    delay_median: float | None = setting(
        None,
        "median delay of rulings: hours with `time.step_minutes`, else steps; unset: 8, and 15 for notes (assumed)",
        gt=0,
    )
    delay_sd: float = setting(0.8, "standard deviation of the logarithm of the delay (assumed)", ge=0)
    desk_confidence: Share = setting(0.9, "confidence recorded with each verdict; it affects no draw (assumed)")
    downrank: float = setting(
        3.0,
        "with `response: downrank`: the score of a post in feeds is lower by this, in the unit of the ranker (assumed)",
        gt=0,
    )

    @property
    def median(self) -> float:
        """The median delay in hours, or in steps where a step has no length."""
        usual = NOTE_DELAY if self.response == "note" else DELAY
        return usual if self.delay_median is None else self.delay_median


def review(world: World, draws: StageDraws, params: Params, takedown: bool, *, context: ReviewContext) -> Change:
    """Rule on the posts whose time has come; a post is published at the begin of its step.

    A post that is down, or that has been ruled on, is not ruled on again.
    """
    posts = _due(world, draws, params, context.step_hours)
    if not posts.size or params.response == "none":
        return NOTHING
    if params.response == "note":
        return Change(_noted(world, draws, posts, context))
    if params.response == "downrank":
        reasons = [f"ruled false, score less {params.downrank:g}"] * posts.size
        return Change(logged(world, posts, LogKind.DOWNRANKED, reasons, np.full(posts.size, params.downrank)))
    n = posts.size
    verdict, confidence = np.full(n, Verdict.FALSE, np.uint8), np.full(n, params.desk_confidence)
    findings = Findings(verdict, confidence, [EXPLANATION] * n, [SOURCES] * n)
    down = np.full(n, params.response == "takedown" and takedown)
    return Change(findings_as_rows(world, posts, findings, down, ["ruled false"] * n))


def _due(world: World, draws: StageDraws, params: Params, step_hours: float) -> Int32:
    """Return roots that are ruled on in this step, ascending."""
    posts = world.posts
    open_case = (posts["kind"] == PostKind.INJECTED) | (posts["kind"] == PostKind.ORIGINAL)
    open_case &= (posts["status"] == PostStatus.ACTIVE) & (posts["verdict"] == Verdict.NONE) & (posts["downrank"] == 0)
    chances = np.zeros(len(Veracity))
    chances[Veracity.FALSE], chances[Veracity.TRUE] = params.caught, params.false_alarms
    open_case &= chances[posts["veracity"]] > 0
    open_case[world.notes["post"][world.notes["author"] == NONE]] = False
    rows = np.flatnonzero(open_case).astype(np.int32)
    key, nobody = posts["key"][rows], np.zeros(rows.size, np.int64)
    ruled = draws.uniform("ruled on", nobody, key, lasting=True) < chances[posts["veracity"][rows]]
    delay = params.delay_sd * draws.normal("delay", nobody, key, lasting=True)
    after = np.floor(params.median * np.exp(delay) / step_hours)
    due: Int32 = rows[ruled & (posts["step"][rows] + after <= world.step + 1)]
    return due


def _noted(world: World, draws: StageDraws, posts: Int32, context: ReviewContext) -> schema.ByTable:
    """Return a note on each post, shown at once; its writers are no agents of the run."""
    n, bank = posts.size, context.bank
    out: schema.ByTable = {}
    if bank is not None and bank.notes.size:
        nobody, sourced = np.zeros(n, np.int64), np.ones(n, np.bool_)
        text: Any = bank.note_texts(world, draws, "note text", nobody, posts, sourced=sourced, lasting=True)
    else:
        text, out = world.text_rows([NOTE] * n)
    number = world.notes.n + np.arange(n)
    out["notes"] = schema.rows("notes", n, note=number, post=posts, author=NONE, step=world.step + 1, text=text)
    reasons = ["written and found helpful outside the simulated public"] * n
    return joined(out, logged(world, posts, LogKind.NOTE_SHOWN, reasons, number.astype(np.float64)))


MODERATOR = Moderator("desk", Params, frozenset(), review, takes_context=True)
