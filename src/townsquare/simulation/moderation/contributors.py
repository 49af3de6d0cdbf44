"""Contributors of community notes: people who enroll, write notes after they saw a post, and rate from a queue.

Contributors have two feeds of their own in a step. The first has posts that they saw a delay ago: there they may write
a note. The second is a queue of notes that need ratings: notes on posts that they saw come first, then new notes with
few ratings on posts that got much attention. What they do with these rows is up to their policy, as in any feed.
Neither feed is an exposure. Feeds of everybody else offer no notes.

A note has a quality: a lasting skill of its writer and an effort for this note, both drawn. Its writer also looks for a
source that contradicts the post. There is one for most false posts and few true ones, which is how the truth comes in,
and all who look find the same; who finds none mostly drops the note. What raters make of quality, source and their own
side is up to their policy. Note scorers see ratings alone.

The right to write is earned and can be lost, much as on Community Notes (its ``contributor_state.py``, commit 273c895).
The rating impact of contributors is their number of ratings that agree with the later status of the note, minus those
that do not; a helpful rating of a note that is found not helpful counts twice. Who has more notes found not helpful
than shown has to gain the impact anew. The right follows from ratings and statuses as they are, so it is also lost when
the impact falls. Left out: the number of earlier locks, the lock after three of the last five notes, the advantage of
top writers, and the window of 48 hours for ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Array, Bool, Int32, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.enums import NoteStatus, PostKind, PostStatus, Veracity
from townsquare.core.pairs import spans
from townsquare.settings.base import MemberParams, Share, setting
from townsquare.settings.config import Time
from townsquare.simulation.change import Change
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.feed.fixed import feed_of
from townsquare.simulation.views import Bank
from townsquare.simulation.world import World

_LATEST = 72.0  # hours after which nobody writes a note on a post
_FRESH = 6.0  # hours after which a note is half as likely to be taken from the queue


class ContributorParams(MemberParams):
    """Who writes and rates notes, and how often."""

    contributors: Share = setting(
        0.0, "share of people who are contributors: they alone write and rate notes, outside feeds; 0: all do, in feeds"
    )
    ratings_per_day: float = setting(
        2.0, "mean notes of the queue offered to a contributor; `propensity` rates all; without `time.step_minutes`, a "
        "step is an hour (assumed)", ge=0, unit="1/day",
    )  # fmt: skip
    ratings_sd: float = setting(1.0, "sd of the log of a contributor's lasting rate of ratings (assumed)", ge=0)
    write_delay: float = setting(
        2.0, "median time from seeing a post to a note on it: hours with `time.step_minutes`, else steps (assumed)",
        gt=0,
    )  # fmt: skip
    write_sd: float = setting(1.0, "sd of the log of the time from view to note (assumed)", ge=0)
    rated_for: float = setting(
        72.0, "age up to which notes are in the queue, in the unit of `write_delay` (assumed)", gt=0
    )
    notes_of_post: int = setting(5, "number of notes on a post at which nobody writes another (assumed)", ge=1)
    source_if_false: Share = setting(0.75, "share of false posts against which there is a source to find (assumed)")
    source_if_true: Share = setting(
        0.01, "share of posts that are true, or of unknown veracity, against which there is a source to find (assumed)"
    )
    writing_impact: int = setting(
        0, "rating impact that a contributor needs to write notes; 5 on Community Notes. At 0, in the warm-up, and "
        "while nobody has that impact, all contributors may", ge=0,
    )  # fmt: skip
    unsourced: Share = setting(0.3, "probability that a writer who finds no source writes the note anyway (assumed)")
    skill: Share = setting(0.5, "share of the variance of note quality that is the writer's lasting skill (assumed)")
    camp_leaves: Literal["for", "against"] | None = setting(
        None, "contributors neither write nor rate while their stance on the first proposition is on this side"
    )


def enrolled(world: World, params: ContributorParams, draw: StageDraws) -> Bool:
    """Return which agents are contributors now, (n_agents,): a lasting draw, without a camp that has left."""
    agents = np.arange(world.n_agents)
    out = world.persons() & (draw.uniform("enrolled", agents, lasting=True) < params.contributors)
    if params.camp_leaves is not None and world.n_propositions:
        out &= np.sign(world.stance()[:, 0]) != (1 if params.camp_leaves == "for" else -1)
    return np.asarray(out)


def feeds(
    world: World, params: ContributorParams, time: Time, draw: StageDraws, left_out: Sequence[int] = ()
) -> Iterator[tuple[ActionKind, Feed]]:
    """Yield the feed in which contributors may write notes, and that in which they may rate notes.

    Agents of ``left_out`` do neither.
    """
    people = enrolled(world, params, draw)
    people[[agent for agent in left_out if agent < people.size]] = False
    warm_up, writers = 0.0 if time.step_minutes is None else time.warm_up_hours, people
    if params.writing_impact and world.step * time.step_hours >= warm_up:
        earned = people & may_write(world, params.writing_impact)
        writers = earned if earned.any() else people
    yield ActionKind.ADD_NOTE, _to_write_about(world, params, time, writers, draw)
    yield ActionKind.RATE_NOTE, _queue(world, params, time, people, draw)


def may_write(world: World, least: int) -> Bool:
    """Return who has earned the right to write notes, (n_agents,): a rating impact of ``least``, more after bad notes.

    Ratings count that say helpful or not helpful, about a note that has a status now and first had one no earlier. For
    authors with more notes found not helpful than shown, the impact needed is that of notes settled by the step in
    which the last of these got its status (at least 0), plus ``least`` for each note by which they are more.
    """
    notes, given = world.notes, world.note_ratings
    note, rater, value = given["note"], given["agent"], given["rating"]
    status, settled = notes["status"][note], notes["settled"][note]
    counts = (status != NoteStatus.PENDING) & (value != 0.5) & (given["step"] <= settled)
    misled = (value == 1) & (status == NoteStatus.NOT_HELPFUL)
    gain = np.where((value == 1) == (status == NoteStatus.SHOWN), 1, -1) - misled
    by, n = notes["author"], world.n_agents
    bad, good = ((notes["status"] == of) & (by >= 0) for of in (NoteStatus.NOT_HELPFUL, NoteStatus.SHOWN))
    more = np.maximum(np.bincount(by[bad], minlength=n) - np.bincount(by[good], minlength=n), 0)
    locked = np.full(n, -1, np.int32)
    np.maximum.at(locked, by[bad], notes["decided"][bad])
    before = counts & (settled <= locked[rater])
    now, then = (np.bincount(rater[of], gain[of], minlength=n) for of in (counts, before))
    return np.asarray(now >= np.where(more > 0, np.maximum(then, 0) + least * more, least))


def with_quality(world: World, done: Change, params: ContributorParams, draw: StageDraws, bank: Bank) -> Change:
    """Return what contributors did, with quality (mean 0, standard deviation 1) and source of what they wrote.

    Who writes from the bank and found a source cites one; a note in a writer's own words stays as it is.
    """
    if "notes" not in done.rows:
        return done
    notes = done.rows["notes"]
    author, post = np.asarray(notes["author"]), np.asarray(notes["post"])
    lasting = draw.normal("skill", author, lasting=True)
    effort = draw.normal("effort", author, world.posts["key"][post], lasting=True)
    quality = np.sqrt(params.skill) * lasting + np.sqrt(1 - params.skill) * effort
    sourced = _sourced(world, params, post, draw)
    text, of_bank = np.array(notes["text"]), np.isin(notes["text"], bank.notes)
    writer, root, cited = author[of_bank], post[of_bank], sourced[of_bank]
    text[of_bank] = bank.note_texts(world, draw, "note text", writer, root, sourced=cited, lasting=True)
    more = {"quality": quality, "sourced": sourced.astype(np.int8), "text": text}
    return Change({**done.rows, "notes": {**notes, **more}})


def _sourced(world: World, params: ContributorParams, root: Array, draw: StageDraws) -> Bool:
    """Return for which posts there is a source that contradicts them: a lasting draw of the post."""
    false = world.posts["veracity"][root] == Veracity.FALSE
    chance = np.where(false, params.source_if_false, params.source_if_true)
    nobody = np.zeros(root.size, np.int64)
    return np.asarray(draw.uniform("source", nobody, world.posts["key"][root], lasting=True) < chance)


def _to_write_about(world: World, params: ContributorParams, time: Time, people: Bool, draw: StageDraws) -> Feed:
    """Return posts with a stance that contributors saw a delay ago, by agent; a noted post needs no other note."""
    now, posts = world.step + 1, world.posts
    agent, root, since = _seen(world, people, now - int(_LATEST / time.step_hours))
    key = posts["key"][root]
    spread = params.write_sd * draw.normal("write delay", agent, key, lasting=True)
    delay = np.floor(params.write_delay * np.exp(spread) / time.step_hours)
    kind = posts["kind"][root]
    due = (since + delay == now) & (posts["status"][root] == PostStatus.ACTIVE) & (posts["n_stances"][root] > 0)
    due &= (kind == PostKind.INJECTED) | (kind == PostKind.ORIGINAL)
    due &= (posts["note"][root] < 0) & (posts["notes"][root] < params.notes_of_post) & (posts["author"][root] != agent)
    agent, root = agent[due], root[due]
    goes_on = draw.uniform("unsourced", agent, key[due], lasting=True) < params.unsourced
    writes = goes_on | _sourced(world, params, root, draw)
    return feed_of(world, agent[writes], root[writes])


def _seen(world: World, people: Bool, oldest: int) -> tuple[Int32, Int32, Int32]:
    """Return agent, root and step of what contributors first saw from step ``oldest`` on, by agent."""
    parts = []
    for number, first, stop in spans(world.n_agents):
        block = world.seen.blocks[number]
        agent = np.repeat(np.arange(first, stop, dtype=np.int32), np.diff(block.indptr))
        at = np.flatnonzero((np.asarray(block.value, np.int64) >= oldest) & people[agent])
        parts.append((agent[at], block.key[at], block.value[at].astype(np.int32)))
    agent, root, since = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return agent, root, since


def _queue(world: World, params: ContributorParams, time: Time, people: Bool, draw: StageDraws) -> Feed:
    """Return the notes that contributors rate in this step, by agent and one a post; those on posts seen come first.

    The others are drawn by chance, more often if their post has many likes and shares, and if they are new and have few
    ratings. The queue and the alerts of Community Notes prefer the same (its guide, "Needs Your Help ranking").
    """
    now, notes = world.step + 1, world.notes
    rate = params.ratings_per_day * time.step_hours / 24
    rate *= 1.0 if time.step_minutes is None else time.rhythm_of(now)
    agents = np.flatnonzero(people).astype(np.int32)
    eager = np.exp(params.ratings_sd * draw.normal("eager", agents, lasting=True) - params.ratings_sd**2 / 2)
    count = np.floor(rate * eager + draw.uniform("ratings", agents)).astype(np.int64)
    agents, count = agents[count > 0], count[count > 0]
    recent = now - notes["step"] <= params.rated_for / time.step_hours
    up = world.posts["status"][notes["post"]] == PostStatus.ACTIVE
    notes_open = recent & up & (notes["author"] >= 0) & (notes["status"] != NoteStatus.NOT_HELPFUL)
    note = np.flatnonzero(notes_open).astype(np.int32)
    agent, offered = np.repeat(agents, note.size), np.tile(note, agents.size)
    most = np.repeat(count, note.size)
    free = (notes["author"][offered] != agent) & ~world.has(world.ratings, agent, offered)
    agent, offered, most = agent[free], offered[free], most[free]
    root = notes["post"][offered]
    u = draw.uniform("queue", agent, world.posts["key"][root] ^ notes["author"][offered].astype(np.uint64))
    age = (now - notes["step"][offered]) * time.step_hours
    rated = notes["helpful"] + notes["somewhat"] + notes["not_helpful"]
    attention = 1 + world.posts["likes"][root] + world.posts["shares"][root]
    wait = -np.log1p(-u) * (1 + age / _FRESH) * (1 + rated[offered]) / attention
    order = np.lexsort((wait, ~world.has(world.seen, agent, root), agent))
    order = order[_first_of_each(agent[order], root[order])]
    ordinal = np.arange(order.size) - np.searchsorted(agent[order], agent[order])
    order = order[ordinal < most[order]]
    return feed_of(world, agent[order], root[order], offered[order])


def _first_of_each(agent: Int32, root: Int32) -> Int64:
    """Return the positions of the first row of each agent and root, ascending."""
    _, first = np.unique(agent.astype(np.int64) << 32 | root, return_index=True)
    return np.sort(first)
