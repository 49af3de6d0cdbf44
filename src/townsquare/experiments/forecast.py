"""What a run would ask of a language model, before anything is spent.

The run is executed with the statistical policy in the place of the model: who is online, what is in feeds and what
moderators look at are those of the simulation, and every question is really combined, of a stated sample of agents.
What agents would write differs, so tokens are an estimate, and answers are not known at all: their length is assumed,
or taken from a recorded run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from townsquare.core.draws import StageDraws
from townsquare.models import usage
from townsquare.models.client import ModelClient
from townsquare.models.contract import Outcome, Reply, Request
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.models.usage import Price, estimate
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.settings.config import MemberParams
from townsquare.settings.resolve import Settings
from townsquare.simulation.policies import llm, mix, statistical
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.statistical_params import Params as StatisticalParams
from townsquare.simulation.run import simulate
from townsquare.simulation.views import ProposedActions, Views

ASSUMED_REPLY = {"react": (15, 60, 250), "post": (30, 70, 150), "reflect": (60, 110, 200), "fact_check": (60, 130, 300)}
"""Tokens of a reply by purpose: low, expected, high. Assumptions, for lack of a recorded run."""
_OTHER = (10, 60, 250)
AGENT_STEP = ("react", "post")
"""Purposes of the questions by which an agent takes its turn in a step."""
TOKEN_RULE = (0.7, 1.35)
"""Low and high: characters / 4 is a rule of thumb for English, and agents may write less or more than assumed."""
SAMPLE = 200


class Amount(NamedTuple):
    """An estimate with the ends of its interval."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True)
class Purpose:
    """What one kind of call comes to. ``usd`` is None where the price table has no price for the model.

    ``agent_steps`` are the times that an agent for which the model speaks has its turn, for questions that belong to
    one; 0 for others.
    """

    purpose: str
    calls: float
    tokens_in: Amount
    tokens_out: Amount
    usd: Amount | None
    agent_steps: float = 0.0


@dataclass
class _Counted:
    """Questions that were combined: purpose, prompt tokens and the weight that each represents; and wanted ones.

    ``keep`` is the purpose and the agent (-1 for any) of the questions that ``matching`` collects.
    """

    keep: tuple[str, int] | None = None
    rows: list[tuple[str, int, float]] = field(default_factory=list)
    matching: list[Request] = field(default_factory=list)
    agent_steps: float = 0.0

    def add(self, requests: Sequence[Request], weight: float) -> None:
        for request in requests:
            self.rows.append((request.purpose, sum(estimate(message.content) for message in request.messages), weight))
            if self.keep and request.purpose == self.keep[0] and self.keep[1] in (-1, request.agent):
                self.matching.append(request)


def forecast(settings: Settings, *, sample: int = SAMPLE, like: Run | None = None) -> list[Purpose]:
    """Estimate calls, tokens and cost of a run by purpose.

    Parameters
    ----------
    settings : Settings
        Of the run.
    sample : int
        Agents a step whose questions are combined, at most; the others count as these.
    like : Run, optional
        A recorded run whose replies say how long replies are.
    """
    price = usage.of(settings.config.serving.prices).price(settings.config.model.name)
    counted = count(settings, sample)
    lengths = ASSUMED_REPLY if like is None else reply_lengths(like)
    names = dict.fromkeys(name for name, _, _ in counted.rows)
    return [_purpose(name, counted, lengths.get(name, _OTHER), price) for name in names]


def agent_step(purposes: Sequence[Purpose]) -> dict[str, Amount]:
    """Return ``tokens_in`` and ``tokens_out`` of one turn of an agent; empty if no model speaks for any."""
    turns = [purpose for purpose in purposes if purpose.agent_steps]
    tokens = {name: np.array([getattr(purpose, name) for purpose in turns]) for name in ("tokens_in", "tokens_out")}
    return {name: Amount(*(ends.sum(axis=0) / turns[0].agent_steps).tolist()) for name, ends in tokens.items() if turns}


def count(settings: Settings, sample: int = SAMPLE) -> _Counted:
    """Execute the run without a model and put its questions together."""
    counted = _Counted()
    client: Any = _CountingClient(counted, settings.config.seed)
    simulate(_stood_in(settings, partial(_stand, counted, sample, None)), client=client)
    return counted


def _stood_in(settings: Settings, stand: Callable[..., ProposedActions]) -> Settings:
    """Return the settings with ``stand`` in place of the policy `llm`, also as a member of a mix."""
    policy = Policy("llm", llm.POLICY.params, stand, reads=llm.POLICY.reads)
    name = settings.member("policy")
    if name == "mix":
        policy = replace(mix.POLICY, decide=partial(mix.decide, instead={"llm": policy}), bind=None)
    elif name != "llm":
        return settings
    return replace(settings, members={**settings.members, "policy": policy})


def prompt_of(settings: Settings, purpose: str, agent: int, step: int) -> Request | None:
    """Return the question of an agent in a step as the run would ask it (``agent`` -1: any agent); None for none."""
    counted = _Counted((purpose, agent))
    cut = replace(settings, config=settings.config.model_copy(update={"steps": max(1, step)}))
    client: Any = _CountingClient(counted, settings.config.seed)

    def on_step(summary: StepSummary) -> None:
        if summary.step < step:
            counted.matching.clear()  # questions of earlier steps

    simulate(_stood_in(cut, partial(_stand, counted, None, step)), client=client, on_step=on_step)
    return counted.matching[0] if counted.matching else None


def _stand(
    counted: _Counted, sample: int | None, step: int | None, views: Views, draws: StageDraws, params: MemberParams
) -> ProposedActions:
    """Act by the statistical policy in place of the model's, and count the model's questions.

    ``step`` is the only one in which they are combined, ``sample`` the most agents of whom they are.
    """
    n = views.agents.size
    if n and step in (None, views.step):
        taken = np.ones(n, np.bool_)
        if sample is not None and n > sample:
            first = np.argsort(draws.uniform("forecast", views.agents), kind="stable")[:sample]
            taken = np.isin(np.arange(n), first)
        asked = [request for request, _ in llm.Questions(views.only(taken), draws, params)]  # type: ignore[arg-type]
        counted.add(asked, n / int(taken.sum()))
        counted.agent_steps += len({question.agent for question in asked}) * n / int(taken.sum())
    return statistical.decide(views, draws, StatisticalParams())


class _CountingClient(ModelClient):
    """Counts what is asked, and answers as ``fake`` does, so that a mix of policies and moderators go on."""

    def __init__(self, counted: _Counted, seed: int) -> None:
        super().__init__(FakeModel(), MemoryCalls(), seed, concurrency=1)  # so no step is taken before on_step
        self._counted = counted

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        requests = list(requests)
        self._counted.add(requests, 1.0)
        return super().ask(requests)


def reply_lengths(run: Run) -> Mapping[str, tuple[float, float, float]]:
    """Return tokens of replies in a recorded run by purpose: 5th percentile, mean and 95th percentile."""
    calls = run.table("model_calls")
    out = {}
    for (purpose,), rows in calls.group_by("purpose"):
        answered = rows.filter((rows["outcome"] == Outcome.OK) & (rows["tokens_out"] >= 0))["tokens_out"].to_numpy()
        if answered.size:
            low, high = np.percentile(answered, [5, 95])
            out[str(purpose)] = (float(low), float(answered.mean()), float(high))
    return out


def _purpose(name: str, counted: _Counted, reply: tuple[float, float, float], price: Price | None) -> Purpose:
    tokens, weights = np.array([row[1:] for row in counted.rows if row[0] == name], np.float64).T
    calls = float(weights.sum())
    total = float((tokens * weights).sum())
    spread = 1.96 * float(tokens.std(ddof=1)) / np.sqrt(tokens.size) * calls if tokens.size > 1 else 0.0
    if (weights == 1).all():
        spread = 0.0  # every question was put together: nothing is sampled
    low, high = TOKEN_RULE
    tokens_in = Amount(max(0.0, total - spread) * low, total, (total + spread) * high)
    tokens_out = Amount(*(calls * each for each in reply))
    both = zip(tokens_in, tokens_out, strict=True)
    usd = None if price is None else Amount(*((price.tokens_in * i + price.tokens_out * o) / 1e6 for i, o in both))
    return Purpose(name, calls, tokens_in, tokens_out, usd, counted.agent_steps if name in AGENT_STEP else 0.0)
