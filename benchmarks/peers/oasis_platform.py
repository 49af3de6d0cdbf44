"""camel-oasis without a language model: its environment with ManualAction, and its Platform called directly.

The environment is the documented way. The Platform alone, without agent objects and without the channel between them,
is the most that OASIS can do: the same methods write the same SQLite file. It makes ./log when it is imported, so that
its process is started in a scratch folder.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import oasis
from camel.models import ModelFactory
from camel.types import ModelPlatformType, ModelType
from contract import FEED_FOLLOWED, FEED_OTHERS, Problem, Running
from contract_platform import FOLLOW_EVERY, POST_EVERY, UNMEASURED
from oasis import ActionType, AgentGraph, ManualAction, Platform, SocialAgent, UserInfo
from oasis.social_platform.channel import Channel

logging.disable(logging.CRITICAL)  # a line for every action, which is kept out of what is measured

PACKAGES = ["camel-oasis", "camel-ai", "torch"]
USED = [ActionType.REFRESH, ActionType.CREATE_POST, ActionType.LIKE_POST, ActionType.FOLLOW]


class Both(Running):
    """What the two ways share: the platform, who follows whom, and what is done in a step."""

    def __init__(self, problem: Problem) -> None:
        self.loop = asyncio.new_event_loop()
        self.agents, self.number, self.counted = problem.agents, 0, Counter()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.db"
        self.platform = Platform(
            str(self.path),
            channel=Channel(),
            recsys_type="random",
            refresh_rec_post_count=FEED_OTHERS,
            max_rec_post_len=FEED_OTHERS,
            following_post_count=FEED_FOLLOWED,
        )
        self.loop.run_until_complete(self.sign_up())
        follows = zip(problem.reader().tolist(), problem.followed.tolist(), [0] * problem.followed.size, strict=True)
        command = "INSERT INTO follow (follower_id, followee_id, created_at) VALUES (?, ?, ?)"
        self.platform.pl_utils._execute_many_db_command(command, follows, commit=True)
        for number in range(UNMEASURED):
            self.prepare(number - UNMEASURED)
            self.step()
        self.counted = self.rows()

    async def sign_up(self) -> None:
        """Everybody gets an account."""
        raise NotImplementedError

    def prepare(self, step: int) -> None:
        """Posts, likes and follows of the step, as (agent, what it is about)."""
        self.number += 1
        newest = self.platform.db_cursor.execute("SELECT COALESCE(MAX(post_id), 0) FROM post").fetchone()[0]
        fresh = max(1, self.agents // POST_EVERY)  # the posts of the step before
        everybody = range(self.agents)
        self.posts = [
            (i, f"Post of {i} in step {self.number}") for i in everybody if (i + self.number) % POST_EVERY == 0
        ]
        self.likes = [(i, newest - (7919 * i + self.number) % min(fresh, newest)) for i in everybody] if newest else []
        self.follows = [
            (i, (i + 1 + 7919 * self.number) % self.agents) for i in everybody if (i + self.number) % FOLLOW_EVERY == 0
        ]

    def rows(self) -> Counter[str]:
        """Actions that the record has, by kind."""
        found = self.platform.db_cursor.execute("SELECT action, COUNT(*) FROM trace GROUP BY action").fetchall()
        return Counter(dict(found))

    def timed(self, steps: int, seconds: float) -> Any:
        taken = 0
        for took in super().timed(steps, seconds):
            taken += 1
            yield took
        self.taken = taken

    def facts(self) -> dict[str, Any]:
        new = self.rows() - self.counted
        words = {"posts": "create_post", "likes": "like_post", "follows": "follow", "feeds": "refresh"}
        return {word: new[kind] / self.taken for word, kind in words.items()} | {
            "MiB": self.path.stat().st_size / 2**20
        }

    def close(self) -> None:
        self.platform.db.close()
        self.loop.close()
        self.folder.cleanup()


class Direct(Both):
    """The methods of Platform, one after the other."""

    async def sign_up(self) -> None:
        for i in range(self.agents):
            await self.platform.sign_up(i, (f"user{i}", f"name{i}", "A person."))

    def step(self) -> None:
        self.loop.run_until_complete(self.everything())

    async def everything(self) -> None:
        """Recommendations, then each agent's feed, then what they do."""
        platform = self.platform
        await platform.update_rec_table()
        for i in range(self.agents):
            await platform.refresh(i)
        for i, post in self.likes:
            await platform.like_post(i, post)
        for i, text in self.posts:
            await platform.create_post(i, text)
        for i, other in self.follows:
            await platform.follow(i, other)
        platform.sandbox_clock.time_step += 1


class Environment(Both):
    """`oasis.make`, `reset`, and `step` with lists of ManualAction; the model behind the agents is camel's stub."""

    async def sign_up(self) -> None:
        model = ModelFactory.create(model_platform=ModelPlatformType.OPENAI, model_type=ModelType.STUB)
        graph = AgentGraph()
        for i in range(self.agents):
            user = UserInfo(f"user{i}", f"name{i}", "A person.", profile=None, recsys_type="twitter")
            graph.add_agent(SocialAgent(i, user, agent_graph=graph, model=model, available_actions=USED))
        self.env = oasis.make(agent_graph=graph, platform=self.platform, database_path=str(self.path))
        await self.env.reset()
        self.people = [agent for _, agent in graph.get_agents()]

    def step(self) -> None:
        self.loop.run_until_complete(self.env.step(self.wanted))

    def prepare(self, step: int) -> None:
        super().prepare(step)
        self.wanted = {person: [ManualAction(ActionType.REFRESH, {})] for person in self.people}
        for i, post in self.likes:
            self.wanted[self.people[i]].append(ManualAction(ActionType.LIKE_POST, {"post_id": post}))
        for i, text in self.posts:
            self.wanted[self.people[i]].append(ManualAction(ActionType.CREATE_POST, {"content": text}))
        for i, other in self.follows:
            self.wanted[self.people[i]].append(ManualAction(ActionType.FOLLOW, {"followee_id": other}))

    def close(self) -> None:
        self.loop.run_until_complete(self.env.close())
        self.loop.close()
        self.folder.cleanup()


FORMS = {"direct": Direct, "environment": Environment}
