"""The check that every moderator passes, and that anyone can run on a moderator of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.change import Change
from townsquare.config import MemberParams
from townsquare.draws import Stage
from townsquare.moderation.contract import Moderator
from townsquare.record.batches import Batches
from townsquare.schema import NONE, ActionKind, LogKind, NoteStatus, PostStatus, Verdict
from townsquare.testing.busy_world import BusyWorld, busy_world
from townsquare.testing.fake_asker import with_fake
from townsquare.testing.member_calls import Suspect, snapshot
from townsquare.threads import threads_for
from townsquare.world import World

Columns = Mapping[str, npt.NDArray[Any]]
_ROUNDS = 4
_MAY_WRITE = {"texts", "verdicts", "moderation_log"}


@threads_for(0)
def check_moderator(moderator: Moderator, params: MemberParams | None = None, seed: int = 0) -> None:
    """Raise if a moderator breaks its contract.

    Checked, on a world without posts and, review by review, on a busy one: ``review`` reads and writes nothing, and the
    same call gives the same rows; they are rows of ``verdicts``, ``moderation_log`` and ``texts`` that point at what is
    there; a post gets one verdict, the same in whatever step it is reviewed, and a row of the log for it; notes are
    shown that were not and withdrawn that were; roots that are up are taken down, each with a reason, and none where
    ``takedown`` is off.

    Parameters
    ----------
    moderator : Moderator
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the worlds.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    moderator = with_fake(moderator)
    suspect = Suspect("moderator", moderator.name)
    settings = suspect.check_params(moderator.params) if params is None else params
    if not moderator.adds <= set(ActionKind):
        raise suspect.broken(f"adds {sorted(moderator.adds)}", "kinds of action")
    for takedown in (True, False):
        _check_review(suspect, moderator, settings, busy_world(seed, 0), takedown)
        made = busy_world(seed)
        for _ in range(_ROUNDS):
            rows = _check_review(suspect, moderator, settings, made, takedown)
            made.world.append(Change(rows))
            made.world.finish(made.world.step + 1, 2000, made.draws(Stage.FEED))


def _check_review(
    suspect: Suspect, moderator: Moderator, params: MemberParams, made: BusyWorld, takedown: bool
) -> Mapping[str, schema.Columns]:
    world, before = made.world, snapshot(made.world)

    def review(later: int = 0, may: bool = takedown) -> dict[str, Columns]:
        draws = made.draws(Stage.MODERATE, later)
        change = suspect.call("review", lambda: moderator.review(world, draws, params, may))
        return _rows(suspect, world, change)

    rows = review()
    suspect.check_same("review changed", before, snapshot(world), "a world that is only read")
    for name, again in review().items():
        suspect.check_same(f"the same review twice gives other {name}", rows[name], again, "a pure function")
    _check_verdicts(suspect, world, rows)
    _check_log(suspect, world, rows, takedown)
    for other in (review(later=7), review(may=not takedown)):
        _check_lasting(suspect, rows["verdicts"], other["verdicts"])
    return {name: part for name, part in rows.items() if len(next(iter(part.values())))}


def _rows(suspect: Suspect, world: World, change: object) -> dict[str, Columns]:
    if not isinstance(change, Change) or change.newborn is not None or change.belief:
        raise suspect.broken(f"review returned {type(change).__name__}", "a Change of rows alone")
    if not change.rows.keys() <= _MAY_WRITE:
        raise suspect.broken(f"rows of {sorted(change.rows.keys() - _MAY_WRITE)}", f"of {sorted(_MAY_WRITE)}")
    out = Batches(world.step + 1)
    suspect.call("review", lambda: out.add(change.rows))
    got = {name: dict(out.get(name)) for name in sorted(_MAY_WRITE)}
    for name in ("verdicts", "moderation_log"):
        if (np.asarray(got[name]["step"]) != world.step + 1).any():
            raise suspect.broken(f"{name} with another step", f"step {world.step + 1}, the one being taken")
    return got  # type: ignore[return-value]


def _check_verdicts(suspect: Suspect, world: World, rows: Mapping[str, Columns]) -> None:
    verdicts, n_texts = rows["verdicts"], len(world.texts) + len(rows["texts"]["text"])
    post, found = verdicts["post"], verdicts["verdict"]
    if not bool(((post >= 0) & (post < world.posts.n)).all()):
        raise suspect.broken("a verdict on a post that is not there", f"rows 0 to {world.posts.n - 1}")
    checks = (
        (np.unique(post).size == post.size, "two verdicts on one post", "one"),
        ((world.posts["verdict"][post] == Verdict.NONE).all(), "a verdict on a post that has one", "one for good"),
        ((world.posts["root"][post] == post).all(), "a verdict on a share", "on its root, for which it counts"),
        (np.isin(found, (Verdict.TRUE, Verdict.FALSE, Verdict.UNVERIFIED)).all(), "no known verdict", "1 to 3"),
        (((verdicts["confidence"] >= 0) & (verdicts["confidence"] <= 1)).all(), "a confidence", "0 to 1"),
        ((verdicts["veracity"] == world.posts["veracity"][post]).all(), "another truth than the post's", "the same"),
        *(
            (((verdicts[name] >= NONE) & (verdicts[name] < n_texts)).all(), f"{name} of no text", "a row of texts")
            for name in ("explanation", "sources")
        ),
    )
    for good, got, allowed in checks:
        if not good:
            raise suspect.broken(got, allowed)


def _check_log(suspect: Suspect, world: World, rows: Mapping[str, Columns], takedown: bool) -> None:
    log = rows["moderation_log"]
    kind, post, value = (np.asarray(log[name]) for name in ("kind", "post", "value"))
    if not bool(((kind < len(LogKind)) & (post >= 0) & (post < world.posts.n)).all()):
        raise suspect.broken("a log row of no known kind or post", "kinds of LogKind and rows of posts")
    if not all(str(reason).strip() for reason in log["reason"]):
        raise suspect.broken("a log row without a reason", "a reason, for whoever reads the log")
    if sorted(post[kind == LogKind.VERDICT]) != sorted(rows["verdicts"]["post"]):
        raise suspect.broken("verdicts and log rows for them that differ", "one log row a verdict")
    down = post[kind == LogKind.TAKEDOWN]
    if down.size and not takedown:
        raise suspect.broken("a takedown where `moderation.takedown` is off", "none")
    up = (world.posts["root"][down] == down) & (world.posts["status"][down] == PostStatus.ACTIVE)
    if np.unique(down).size != down.size or not up.all():
        raise suspect.broken("a takedown of a share, or of what is down", "of roots that are up, once")
    of_notes = np.isin(kind, (LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN))
    number = value[of_notes].astype(np.int64)
    if not bool(((number >= 0) & (number < world.notes.n)).all()):
        raise suspect.broken("a log row of no note", "a row of notes as its value")
    was = world.notes["status"][number] == NoteStatus.SHOWN
    if (world.notes["post"][number] != post[of_notes]).any() or (was == (kind[of_notes] == LogKind.NOTE_SHOWN)).any():
        raise suspect.broken("a log row for a note that does not change", "notes shown that were not, and back")


def _check_lasting(suspect: Suspect, one: Columns, two: Columns) -> None:
    """Posts that both reviews looked at got the same."""
    _, at, other = np.intersect1d(one["post"], two["post"], return_indices=True)
    for name in ("verdict", "confidence"):
        if not np.array_equal(one[name][at], two[name][other], equal_nan=True):
            allowed = "what a post gets whenever it is reviewed, takedowns or not"
            raise suspect.broken(f"another {name} in another step", allowed, "draw with lasting=True")
