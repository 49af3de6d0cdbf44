"""A language model as fact-checker (MOSAIC, appendix I.4): it reads a post, reactions to it and, where asked, notes.

It errs as it errs: no rates are assumed. A call that fails leaves the post unverified, with no confidence, and says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from townsquare.core.array_types import Int32
from townsquare.core.enums import Verdict
from townsquare.core.files import clean
from townsquare.models.contract import Asker, Reply, Request, object_schema
from townsquare.models.prompts.filling import filled, quoted
from townsquare.simulation.moderation.checker import CheckerParams, Findings
from townsquare.simulation.world import World

EXPLANATION, SOURCE, SOURCES = 600, 160, 5
PERCENT = 100  # whole numbers: grammars of servers keep to their bounds, and not to those of fractions
NO_ANSWER = "The checker gave no answer that could be used."
_SCHEMA = object_schema(
    verdict={"enum": ["true", "false", "unverified"]},
    explanation={"type": "string", "maxLength": EXPLANATION},
    confidence={"type": "integer", "minimum": 0, "maximum": PERCENT},
    sources={"type": "array", "maxItems": SOURCES, "items": {"type": "string", "maxLength": SOURCE}},
)
_VERDICTS = {"true": Verdict.TRUE, "false": Verdict.FALSE, "unverified": Verdict.UNVERIFIED}


def ask_about(world: World, posts: Int32, params: CheckerParams, asker: Asker, *, with_notes: bool) -> Findings:
    """Ask the model for verdicts on ``posts``; the draw of a call belongs to the post, not to the step."""
    replies = asker.ask([_question(world, int(post), params, with_notes) for post in posts])
    return Findings(
        verdict=np.array([_VERDICTS[r.value["verdict"]] if r.ok else Verdict.UNVERIFIED for r in replies], np.uint8),
        confidence=np.array([int(r.value["confidence"]) / PERCENT if r.ok else 0.0 for r in replies], np.float64),
        explanation=[_explanation(reply) for reply in replies],
        sources=[_sources(reply) for reply in replies],
    )


def _question(world: World, post: int, params: CheckerParams, with_notes: bool) -> Request:
    columns = world.posts
    shown: dict[str, Any] = {"text": world.texts[int(columns["text"][post])]}
    shown |= {name: int(columns[name][post]) for name in ("likes", "shares", "comments")}
    if with_notes:
        at = np.flatnonzero(world.notes["post"] == post)
        notes = zip(*(world.notes[name][at].tolist() for name in ("text", "helpful", "not_helpful")), strict=True)
        shown["notes"] = [
            {"text": world.texts[text], "found_helpful": helpful, "not_helpful": not_helpful}
            for text, helpful, not_helpful in notes
        ]
    prompt, turn = filled("fact_check", post=quoted(shown)), int(columns["key"][post]) & 0x7FFFFFFF
    return Request.of("fact_check", prompt, _SCHEMA, temperature=params.checker_temperature, max_tokens=512, turn=turn)


def _explanation(reply: Reply) -> str:
    return (clean(str(reply.value["explanation"])).strip() if reply.ok else "") or NO_ANSWER


def _sources(reply: Reply) -> str:
    named = [clean(str(name)).strip() for name in reply.value["sources"]] if reply.ok else []
    return "; ".join(name for name in named if name) or "no source named"
