"""Checks what a moderator returned against its contract, in every step of a run and in the conformance check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import StageDraws
from townsquare.core.enums import LogKind, NoteStatus, PostStatus, Verdict
from townsquare.core.member_errors import breach, call_member, repeated
from townsquare.core.schema import NONE
from townsquare.record.batches import Batches
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.contract import Moderator, ReviewContext
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.world import World

FAMILY = "moderator"
Columns = Mapping[str, Array]
_MAY_WRITE = {"texts", "notes", "verdicts", "moderation_log", "note_scores"}


@dataclass(frozen=True, slots=True)
class ChosenModerator:
    """A moderator with its parameters, the scorer of notes, and what it may know besides the world."""

    member: Moderator
    params: Any
    scorer: ChosenNoteScorer
    context: ReviewContext = field(default_factory=ReviewContext)

    def review(self, world: World, draws: StageDraws, takedown: bool) -> Change:
        """Return what the moderator decides in step ``world.step + 1``, checked.

        Checked: rows of ``verdicts``, ``notes``, ``moderation_log``, ``note_scores`` and ``texts`` alone, of this step,
        that point at what is there; notes are on roots and have no author among the agents; a post gets one verdict
        with a confidence in [0, 1] and a row of the log for it; values are finite; notes are shown that were not and
        withdrawn that were, and their scores say the same; roots that are up are taken down, each with a reason, and
        none where ``takedown`` is off.

        Raises
        ------
        ContractError
            Names the moderator and the post.
        """
        name = self.member.name
        more: dict[str, Any] = {"scorer": self.scorer} if self.member.scores_notes else {}
        more |= {"context": self.context} if self.member.takes_context else {}
        review = partial(self.member.review, world, draws, self.params, takedown, **more)
        change: object = call_member(FAMILY, name, "review", review)
        if not isinstance(change, Change) or change.newborn is not None or change.belief:
            raise breach(FAMILY, name, f"review returned {type(change).__name__}", "a Change of rows alone")
        rows = rows_of(name, change, world.step + 1)
        _check_verdicts(name, world, rows)
        _check_notes(name, world, rows)
        _check_log(name, world, rows, takedown)
        _check_scores(name, world, rows)
        return change


def rows_of(name: str, change: Change, step: int) -> dict[str, Columns]:
    """Return the rows of a review by table, with no rows if none exist."""
    other = sorted(change.rows.keys() - _MAY_WRITE)
    if other:
        raise breach(FAMILY, name, f"rows of {other}", f"of {sorted(_MAY_WRITE)}")
    out = Batches(step)
    call_member(FAMILY, name, "review", lambda: out.add(change.rows))
    got: dict[str, Any] = {table: dict(out.get(table)) for table in sorted(_MAY_WRITE)}
    for table in sorted(_MAY_WRITE - {"texts"}):
        if (np.asarray(got[table]["step"]) != step).any():
            raise breach(FAMILY, name, f"{table} with another step", f"step {step}, the one being taken")
    return got


def _check_verdicts(name: str, world: World, rows: Mapping[str, Columns]) -> None:
    verdicts, n_texts = rows["verdicts"], len(world.texts) + len(rows["texts"]["text"])
    post, verdict, confidence, veracity = (verdicts[column] for column in ("post", "verdict", "confidence", "veracity"))
    _check_posts(name, "a verdict", post, world)
    known = np.isin(verdict, (Verdict.TRUE, Verdict.FALSE, Verdict.UNVERIFIED))
    checks = [
        (~repeated(post), "two verdicts on one post", post, "one"),
        (world.posts["verdict"][post] == Verdict.NONE, "a verdict on a post that has one", post, "one for good"),
        (world.posts["root"][post] == post, "a verdict on a share", post, "on its root, for which it counts"),
        (known, "no known verdict", verdict, "1 to 3"),
        ((confidence >= 0) & (confidence <= 1), "a confidence", confidence, "0 to 1"),
        (veracity == world.posts["veracity"][post], "another truth", veracity, "the post's"),
    ]
    for column in ("explanation", "sources"):
        text = verdicts[column]
        checks.append(((text >= NONE) & (text < n_texts), f"{column} of no text", text, "a row of texts"))
    _check_each(name, post, *checks)


def _check_notes(name: str, world: World, rows: Mapping[str, Columns]) -> None:
    notes, n_texts = rows["notes"], len(world.texts) + len(rows["texts"]["text"])
    number, post, author, text = (notes[column] for column in ("note", "post", "author", "text"))
    _check_posts(name, "a note", post, world)
    next_rows = world.notes.n + np.arange(number.size)
    checks = (
        (number == next_rows, "a note of another number", number, "the next rows of notes"),
        (world.posts["root"][post] == post, "a note on a share", post, "on its root"),
        (author == NONE, "a note with an author", author, "-1: agents write their notes themselves"),
        ((text >= 0) & (text < n_texts), "a note of no text", text, "a row of texts"),
    )
    _check_each(name, post, *checks)


def _check_log(name: str, world: World, rows: Mapping[str, Columns], takedown: bool) -> None:
    log = rows["moderation_log"]
    kind, post, value = (np.asarray(log[column]) for column in ("kind", "post", "value"))
    _check_posts(name, "a log row", post, world)
    reasons = np.array([bool(str(reason).strip()) for reason in log["reason"]], np.bool_)
    checks = (
        (kind < len(LogKind), "a log row of no known kind", kind, "kinds of LogKind"),
        (reasons, "a log row without a reason", kind, "a reason, for whoever reads the log"),
        (np.isfinite(value), "a value in the log", value, "a finite number"),
    )
    _check_each(name, post, *checks)
    if sorted(post[kind == LogKind.VERDICT]) != sorted(rows["verdicts"]["post"]):
        raise breach(FAMILY, name, "verdicts and log rows for them that differ", "one log row a verdict")
    down = post[kind == LogKind.TAKEDOWN]
    if down.size and not takedown:
        raise breach(FAMILY, name, f"a takedown of post {down[0]} where `moderation.takedown` is off", "none")
    up = (world.posts["root"][down] == down) & (world.posts["status"][down] == PostStatus.ACTIVE) & ~repeated(down)
    _check_each(name, down, (up, "a takedown of a share, or of what is down", down, "of roots that are up"))
    of_notes = np.isin(kind, (LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN))
    number, posts = value[of_notes].astype(np.int64), post[of_notes]
    note_post = np.concatenate([world.notes["post"], rows["notes"]["post"]])
    status = np.concatenate([world.notes["status"], np.full(len(rows["notes"]["post"]), NoteStatus.PENDING)])
    there = (number >= 0) & (number < note_post.size)
    _check_each(name, posts, (there, "a log row of no note", value[of_notes], "a row of notes as its value"))
    was = status[number] == NoteStatus.SHOWN
    changes = (note_post[number] == posts) & (was != (kind[of_notes] == LogKind.NOTE_SHOWN))
    allowed = "notes of the post shown that were not, and back"
    _check_each(name, posts, (changes, "a log row for a note that does not change", number, allowed))


def _check_scores(name: str, world: World, rows: Mapping[str, Columns]) -> None:
    scores, log = rows["note_scores"], rows["moderation_log"]
    note, status = scores["note"], scores["status"]
    there = (note >= 0) & (note < world.notes.n) & ~repeated(note)
    _check_each(name, note, (there, "a score of no note, or two of one", note, "one a note"), item="note")
    fresh = np.zeros(len(rows["notes"]["post"]), np.bool_)
    shown = np.concatenate([world.notes["status"] == NoteStatus.SHOWN, fresh])
    for kind in (LogKind.NOTE_WITHDRAWN, LogKind.NOTE_SHOWN):
        shown[log["value"][log["kind"] == kind].astype(np.int64)] = kind == LogKind.NOTE_SHOWN
    as_logged = (status < len(NoteStatus)) & ((status == NoteStatus.SHOWN) == shown[note])
    checks = [(as_logged, "a score with another status than the log", status, "the same")]
    for column in ("intercept", "factor"):
        checks.append((~np.isinf(scores[column]), column, scores[column], "a finite number, or NaN for none"))
    _check_each(name, note, *checks, item="note")


def _check_posts(name: str, what: str, post: Array, world: World) -> None:
    there = (post >= 0) & (post < world.posts.n)
    _check_each(name, post, (there, f"{what} on a post that is not there", post, f"rows 0 to {world.posts.n - 1}"))


def _check_each(name: str, about: Array, *checks: tuple[Array, str, Array, str], item: str = "post") -> None:
    """Raise for the first row that is not good; ``checks`` are (which are good, what, values, what is allowed)."""
    for good, what, values, allowed in checks:
        if not good.all():
            at = int(np.argmin(good))
            raise breach(FAMILY, name, f"{what}: {values[at]} ({item} {about[at]})", allowed)
