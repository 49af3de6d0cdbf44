"""Interviews: agents of a recorded run answer a question, as they were after some step. Nothing of the run changes.

An agent is asked with what the record holds of it at that step: persona, stances in words, what it had in
mind, what it was shown last. Calls are recorded apart from those of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.memories import days_per_step, remembered
from townsquare.core.enums import AgentKind, MemoryKind
from townsquare.core.errors import DataError
from townsquare.models.contract import Asker, Reply, Request
from townsquare.models.prompts.bands import CONFIDENCE_BANDS, STANCE_BANDS, confidence_band, stance_band
from townsquare.models.prompts.filling import NOTHING, filled, listed, quoted
from townsquare.record.run import Run
from townsquare.scenario.population.personas import render_persona
from townsquare.scenario.population.question_bank import NO_ANSWER, bundled_bank
from townsquare.settings.config import Memory

QUESTION, TEXT, ROWS = 2000, 300, 10  # characters of a question and of a text shown; rows shown
MOST_TOKENS = 300


@dataclass(frozen=True)
class Answered:
    """One answer: ``reply.value`` is what was said, where there is an answer."""

    agent: int
    prompt: str
    reply: Reply


def interview(
    run: Run, agents: Sequence[int], question: str, asker: Asker, *, step: int | None = None, temperature: float = 1.0
) -> list[Answered]:
    """Ask agents a question.

    Parameters
    ----------
    agents : sequence of int
        Rows of persons who were there at the step.
    question : str
        At most 2,000 characters.
    step : int, optional
        After which step; the last if not given.

    Raises
    ------
    DataError
        No such step, agent or question.
    """
    at = run.last_step if step is None else step
    _check(run, agents, question, at)
    record = _Record(run, at)
    prompts = [record.prompt(agent, question) for agent in agents]
    how: dict[str, Any] = {"temperature": temperature, "max_tokens": MOST_TOKENS, "step": at}
    asked = [Request.of("interview", prompt, agent=who, **how) for who, prompt in zip(agents, prompts, strict=True)]
    return [Answered(*answer) for answer in zip(agents, prompts, asker.ask(asked), strict=True)]


def _check(run: Run, agents: Sequence[int], question: str, step: int) -> None:
    if not 0 <= step <= run.last_step:
        raise DataError("--step", got=str(step), allowed=f"0 to {run.last_step}")
    if not question.strip() or len(question) > QUESTION:
        raise DataError("--question", got=f"{len(question)} characters", allowed=f"1 to {QUESTION}")
    there = persons_at(run, step)
    unknown = sorted(set(agents) - set(there))
    if unknown or not agents:
        got = ", ".join(map(str, unknown[:5])) or "nobody"
        raise DataError("--agents", got=got, allowed=f"persons at step {step}: {len(there):,} of them")


def persons_at(run: Run, step: int) -> list[int]:
    """Return the rows of persons who were present after a step, ascending: no sources, no later newcomers."""
    there = run.table("agents").filter((pl.col("kind") == AgentKind.PERSON) & (pl.col("born") <= step))
    return sorted(there["agent"].to_list())


class _Record:
    """What the record holds at one step, read once."""

    def __init__(self, run: Run, step: int) -> None:
        self._step = step
        self._texts: list[str] = run.table("texts")["content"].to_list()
        self._propositions = run.table("propositions").sort("proposition")
        self._beliefs = run.table("beliefs", (step, step))
        self._traits, self._answered = run.table("traits"), run.table("trait_values")
        self._population = dict(run.settings.get("population", {}))
        self._personas = dict(run.table("personas").select("agent", "text").iter_rows())
        self._memories = run.table("agent_memories").filter(pl.col("step") <= step)
        self._accesses = run.table("memory_accesses").filter(pl.col("step") <= step)
        self._shown = run.table("exposures", (step, step))
        self._posts = run.table("posts")
        self._settings = Memory.model_validate(dict(run.settings.get("memory", {})))
        self._days = days_per_step(run)

    def prompt(self, agent: int, question: str) -> str:
        """Return the question as the agent gets it."""
        reflections = self._recalled(agent, MemoryKind.REFLECTION, self._settings.reflections)
        return filled(
            "interview",
            persona=" ".join(self._persona(agent).split()) or "Somebody of whom nothing is known.",
            beliefs=self._mind(agent),
            memories=listed(self._recalled(agent, MemoryKind.INTERACTION, self._settings.recalled)),
            reflections=listed([quoted(text) for text in reflections]),
            feed=self._feed(agent),
            question=" ".join(question.split()),
        )

    def _persona(self, agent: int) -> str:
        if agent in self._personas:
            return self._texts[self._personas[agent]]
        own_bank = self._population.get("bank_file") or self._population.get("bank", "mosaic") != "mosaic"
        if self._population.get("mapping") or own_bank:
            return self._answers(agent)
        bank = bundled_bank()
        codes = np.full(len(bank.traits), NO_ANSWER, np.int16)
        for trait, value in self._traits.filter(pl.col("agent") == agent).select("trait", "value").iter_rows():
            codes[trait] = value
        return render_persona(codes, bank)

    def _answers(self, agent: int) -> str:
        """Return the answers to a survey of one's own, which the record has without sentences."""
        answers = self._traits.filter(pl.col("agent") == agent).join(self._answered, on=["trait", "value"])
        rows = answers.sort("trait").select("label", "answer").iter_rows()
        return " ".join(f"{label}: {answer}." for label, answer in rows)

    def _mind(self, agent: int) -> str:
        beliefs = self._beliefs.filter(pl.col("agent") == agent).join(self._propositions, on="proposition")
        band, sure = stance_band(beliefs["stance"].to_numpy()), confidence_band(beliefs["confidence"].to_numpy())
        each = zip(beliefs["text"].to_list(), band.tolist(), sure.tolist(), strict=True)
        return listed([f"{quoted(text)}: you are {STANCE_BANDS[b]} it; {CONFIDENCE_BANDS[c]}." for text, b, c in each])

    def _recalled(self, agent: int, kind: MemoryKind, most: int) -> list[str]:
        memories = self._memories.filter((pl.col("agent") == agent) & (pl.col("kind") == kind))
        known = remembered(memories, self._accesses, self._settings.decay, self._days, self._step + 1)
        relevant = known.filter(pl.col("relevance") >= self._settings.threshold)
        best = relevant.sort(["relevance", "memory"], descending=[True, True]).head(most)
        return [self._texts[row] for row in best["text"].to_list()]

    def _feed(self, agent: int) -> str:
        rows = self._shown.filter(pl.col("agent") == agent).head(ROWS)["root"].to_list()
        text = self._posts["text"]
        lines = [quoted({"text": self._texts[text[root]][:TEXT]}) for root in rows]
        return "\n".join(lines) or NOTHING
