"""Messages that events send: posts that are at the top of the feeds of an audience, and in no other feed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Array, Bool, Int32
from townsquare.core.draws import U64, Draws, Stage, bits_oracle, text_key
from townsquare.core.enums import PostKind, PostStatus, PostType, Scorer, Veracity
from townsquare.core.schema import NONE
from townsquare.scenario.contents import Scenario
from townsquare.settings.config import Config
from townsquare.settings.events import Audience, Message
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.events.treatments import given_to
from townsquare.simulation.world import World


def send(world: World, config: Config, scenario: Scenario) -> Change:
    """Return posts, stances and new texts of the messages that are first sent in step ``world.step + 1``."""
    step = world.step + 1
    due = [event.message for event in config.events if event.message is not None and event.step == step]
    if not due:
        return NOTHING
    n, sources = len(due), [source.name for source in scenario.sources]
    row, new = world.text_rows(message.text for message in due)
    stances = [
        (k, scenario.proposition_names.index(name), stance)
        for k, message in enumerate(due)
        for name, stance in sorted(message.stance.items(), key=lambda item: scenario.proposition_names.index(item[0]))
    ]
    ids = world.posts.n + np.arange(n)
    rows: schema.ByTable = {
        "posts": schema.rows(
            "posts", n, post=ids, key=np.array([_key(step, message) for message in due], U64), kind=PostKind.MESSAGE,
            author=[config.agents + sources.index(message.source) for message in due], root=ids, parent=NONE,
            step=step, text=row,
            type=PostType.POST, topic=NONE, veracity=Veracity.UNKNOWN,
            plausibility=[message.plausibility for message in due],
        ),
        "post_stances": schema.rows(
            "post_stances", len(stances), post=[ids[k] for k, _, _ in stances], proposition=[p for _, p, _ in stances],
            stance=[stance for _, _, stance in stances], strength=np.nan, scorer=Scorer.GIVEN,
        ),
    }  # fmt: skip
    return Change(rows | new)


def sent_to(world: World, agents: Array, config: Config) -> Int32:
    """Return the messages at the top of each feed in step ``world.step + 1``: (n, m) rows of posts, -1 for none.

    A column a message that is sent in this step, in the order of the events; one that was taken down is sent no more,
    and one by an author that an agent has hidden is not sent to that agent.
    """
    columns = []
    for post, message in _running(world, config):
        if world.posts["status"][post] == PostStatus.ACTIVE:
            meant = in_audience(world, agents, message.audience, config, world.posts["key"][post])
            meant &= ~world.has(world.hidden, agents, np.full(agents.size, world.posts["author"][post]))
            columns.append(np.where(meant, post, NONE).astype(np.int32))
    return np.stack(columns, axis=1) if columns else np.empty((agents.shape[0], 0), np.int32)


def in_audience(world: World, agents: Array, audience: Audience, config: Config, key: U64) -> Bool:
    """Return whether each agent is in an audience; ``key`` is that of the message."""
    out = np.ones(agents.shape[0], np.bool_)
    for number, treatment in enumerate(config.treatments):
        if treatment.name == audience.treatment:
            out &= given_to(world, agents, config, number)
    if audience.share is not None:
        draw = Draws(config.seed, 0)(Stage.ARRIVE)
        out &= draw.uniform("audience", agents, key, lasting=True) < audience.share
    return out


def _running(world: World, config: Config) -> Iterator[tuple[int, Message]]:
    """Messages that are sent in this step, with their rows of posts."""
    step, keys = world.step + 1, world.posts["key"][world.message_rows]
    for event in config.events:
        if event.message is not None and event.step <= step < event.step + event.message.repeat:
            for post in world.message_rows[keys == _key(event.step, event.message)]:
                if int(world.posts["author"][post]) not in config.leave_out.agents:
                    yield int(post), event.message


def _key(step: int, message: Message) -> U64:
    """Made of step and text alone, so that a message keeps its draws whatever other events there are."""
    text = np.array([text_key(message.text)], U64)
    return U64(bits_oracle(U64(text_key("message")), np.array([step], np.int64), text)[0])
