"""Settings that do not belong to a member of a family: frozen, typed, each with its range, unit and default.

Members declare ``Params`` in their own files; :mod:`townsquare.settings.resolve` joins them to these sections, layer by
layer: defaults, then the scenario's ``settings``, then a configuration file, then ``--set key=value``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from townsquare.core.registry import did_you_mean, names
from townsquare.settings.base import (
    ActionName,
    Friction,
    MemberParams,
    Section,
    Share,
    TruthWord,
    plain_address,
    variable_name,
)
from townsquare.settings.events import Event, Treatment

__all__ = [
    "ActionName",
    "Actions",
    "Activation",
    "Beliefs",
    "Budget",
    "Config",
    "Embedder",
    "Evidence",
    "Feed",
    "Graph",
    "Growth",
    "Injection",
    "LeaveOut",
    "LabelWeight",
    "MemberParams",
    "Memory",
    "Model",
    "Moderation",
    "Policy",
    "Population",
    "Record",
    "Section",
    "Serving",
    "Share",
    "StanceStart",
    "Strength",
]


class StanceStart(Section):
    """Where stances start for one proposition."""

    kind: Literal["normal", "uniform", "camps", "constant"] = "normal"
    mean: float = Field(0.0, ge=-1, le=1, description="centre of the normal or of the two camps; the constant")
    sd: float = Field(0.45, ge=0, description="standard deviation, of each camp for `camps`; clipped to [-1, 1]")
    distance: float = Field(0.5, ge=0, le=1, description="camps only: each camp stands this far from the mean")
    pro_share: Share = Field(0.5, description="camps only: share of agents in the camp that is for")
    by_trait: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="trait label -> answer -> shift added before clipping"
    )


class Population(Section):
    """Who the agents are."""

    file: str | None = Field(
        None,
        description="JSONL of personas instead of sampling the question bank",
        json_schema_extra={"file": "scenario"},
    )
    margins: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="trait label -> answer -> share of people: what answers are to add up to; see docs/populations.md",
    )
    stance: dict[str, StanceStart] = Field(
        default_factory=dict, description="start of each proposition, by its name; `default` for the others"
    )
    confidence_mean: Share = Field(0.5, description="mean starting confidence; 0.5 is SimSwarm's default")
    confidence_sd: float = Field(0.0, ge=0, description="its standard deviation, clipped to [0, 1]")
    activity_shape: float = Field(
        0.69,
        gt=0,
        description="shape of the Gamma distribution of activity (mean 1, with the silent): small is heavy-tailed",
    )
    silent_share: float = Field(0.22, ge=0, lt=1, description="share of agents that read and never act")


class Growth(Section):
    """Agents that join while the run goes on."""

    max_per_step: int = Field(
        0, ge=0, description="each step adds 0 to this many, evenly drawn", json_schema_extra={"unit": "agents"}
    )


class Activation(Section):
    """Who is online in a step, and in how many turns they act."""

    rate: Share = Field(1.0, description="chance that an agent is online in a step")
    batches: int = Field(1, ge=1, description="1: everyone at once; n: in n random groups that see what went before")


class Feed(Section):
    """Who is shown what."""

    ranker: str = Field("recent", description="member of the family `ranker`")
    followed: int = Field(15, ge=0, le=1000, description="rows from followed accounts at most")
    others: int = Field(10, ge=0, le=1000, description="rows from other accounts at most")
    newest: int = Field(8, ge=1, le=64, description="newest rows of each followed author that are looked at")
    pool: int = Field(256, ge=1, le=65536, description="roots that rows from other accounts are taken from")
    injected_window: int = Field(5, ge=1, description="steps for which injected posts take up to half of the pool")
    comments: int | None = Field(
        None, ge=0, le=3, description="comments under a post at most; unset: 3, or 0 above 100,000 agents"
    )
    show_labels: bool = Field(True, description="show verdicts and notes, and offer notes for rating")
    show_flags: bool = Field(
        False, description="show language models the flags of a row (MOSAIC, appendix E); other policies read none"
    )
    seen_cap: int = Field(
        2000, ge=1, description="roots that an agent remembers having seen; the oldest are forgotten first"
    )


class Actions(Section):
    """What agents may do."""

    enabled: list[ActionName] | None = Field(
        None, description="kinds of action allowed; unset: all, notes only where the strategy has them"
    )
    comment_length: int = Field(
        250, ge=1, le=10000, description="longest comment", json_schema_extra={"unit": "characters"}
    )
    post_length: int = Field(
        2000, ge=1, le=100000, description="longest post or note", json_schema_extra={"unit": "characters"}
    )
    friction: Friction = Field(
        default_factory=dict, description="kind of action -> chance that it is given up when asked a second time"
    )


class LabelWeight(Section):
    """How much an exposure counts for beliefs, by the label shown with it; of several, the least."""

    false: Share = Field(
        0.25, description="verdict `false` shown; `log_odds` knows 0 (archived) and not 0 only, see docs/evidence.md"
    )
    noted: Share = Field(0.5, description="a community note shown; `log_odds`: likewise")


class Beliefs(Section):
    """Which rule moves beliefs."""

    rule: str = Field("exposure-bounded", description="member of the family `beliefs`")
    label_weight: LabelWeight = Field(default_factory=LabelWeight)
    stance_scorer: str = Field(
        "declared", description="where stances of what agents write come from: their declaration, or a text scorer"
    )

    @field_validator("stance_scorer")
    @classmethod
    def _is_known(cls, name: str) -> str:
        allowed = ("declared", *names("stance"))
        if name not in allowed:
            raise ValueError(f"{did_you_mean(name, allowed)} allowed: {', '.join(allowed)}".strip())
        return name


class Evidence(Section):
    """Argument records: how claims are made from posts, and which of them count. Only some belief rules use them."""

    extractor: str = Field("given", description="member of the family `extractor`: what makes claims from posts")
    theta: float | None = Field(
        None, gt=0, le=1, description="cosine from which two claims are near-duplicates; unset: the embedder's own"
    )
    theta_self: float | None = Field(
        None, gt=0, le=1, description="the same for what an agent says itself; unset: the embedder's own"
    )
    own_claims: bool = Field(False, description="what an agent says becomes a record of its own")
    start_tolerance: float = Field(
        0.15, ge=0, description="a comparison is refused if its arms start further apart, under rules in log odds"
    )
    archive_weight: Share = Field(
        0.0,
        description="a record shown with a label weight of at most this is archived; any larger weight leaves a record "
        "as it is under `log_odds`, and multiplies its strength under `social_log_odds`",
    )


class Embedder(Section):
    """What turns claims into vectors, whose cosine finds near-duplicates."""

    name: str = Field("hashing", description="member of the family `embedder`")


class Strength(Section):
    """What estimates how strong a claim is, where nobody said."""

    judge: str = Field("constant", description="member of the family `strength`")


class Moderation(Section):
    """Which strategy moderates."""

    strategy: str = Field("none", description="member of the family `moderation`")
    takedown: bool = Field(True, description="a moderator may take posts down")


class Graph(Section):
    """Who follows whom at the start."""

    kind: str = Field("scale_free", description="member of the family `graph`")


class Policy(Section):
    """What makes agents act."""

    name: str = Field("statistical", description="member of the family `policy`")


class Injection(Section):
    """How a scenario's posts enter the run."""

    start_step: int = Field(1, ge=1, description="first step that injects", json_schema_extra={"unit": "step"})
    posts_per_step: int = Field(5, ge=0, description="posts injected a step until none are left")
    false_share: Share | None = Field(
        None, description="share of false posts in each stretch of ten; unset: as the file orders them"
    )
    order: Literal["file", "shuffled"] = Field("file", description="order of the file, or shuffled by keyed draws")
    limit: int | None = Field(None, ge=0, description="inject at most this many posts in all")


class LeaveOut(Section):
    """What a run goes without, so that it can be compared with one that has it; all else is drawn alike."""

    posts: tuple[int, ...] = Field(
        (), description="rows of the scenario's posts, from 0, that never enter", json_schema_extra={"names": "posts"}
    )
    veracity: tuple[TruthWord, ...] = Field((), description="scenario's posts of this truth never enter")
    agents: tuple[int, ...] = Field(
        (),
        description="persons that never come online, sources that never publish",
        json_schema_extra={"names": "agents"},
    )


_OPENAI = re.compile(r"(?:chat)?gpt-?\w|o[1-9]\b")
"""How names of OpenAI's models begin."""


def _how_to_name(name: str, provider: str, allowed: tuple[str, ...]) -> str:
    """What to write instead of a model without a provider, or of a provider that is not known."""
    if "/" not in name and _OPENAI.match(name):
        return f"did you mean 'openai/{name}'?"
    hint = did_you_mean(provider, allowed)
    if not hint and "/" in name:
        other = f"`server/{name.partition('/')[2]}` with model.base_url"
        hint = f"{other} reaches any server that speaks OpenAI's chat completions;"
    elif not hint:
        hint = f"write a provider before it, such as 'ollama/{name}';"
    return f"{hint} allowed: {', '.join(allowed)}"


class Model(Section):
    """Which language model answers; nothing asks one unless a member that does is chosen (`policy: llm`)."""

    name: str = Field("none", description="`none`, or provider/model such as openai/gpt-4o-mini; see docs/models.md")
    base_url: tuple[str, ...] = Field(
        (), description="addresses of servers that speak OpenAI's chat completions; unset: the provider's own"
    )
    temperature: float = Field(
        1.0, ge=0, le=2, description="of posts and reactions; judges and checkers have their own"
    )
    max_tokens: int = Field(1024, ge=16, le=131072, description="longest answer", json_schema_extra={"unit": "tokens"})

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        provider = name.partition("/")[0]
        allowed = ("none", *names("model"))
        if provider not in allowed:
            raise ValueError(_how_to_name(name, provider, allowed))
        return name

    @field_validator("base_url", mode="before")
    @classmethod
    def _one_or_several(cls, urls: Any) -> Any:
        if isinstance(urls, str):
            return (urls,)
        return tuple(urls) if isinstance(urls, list) else urls

    @field_validator("base_url")
    @classmethod
    def _is_plain(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(plain_address(url) for url in urls)


class Serving(Section):
    """How a language model is reached. No part of a run's identity: may differ when a run goes on."""

    concurrency: int = Field(
        64, ge=1, le=100_000, description="calls in flight a server at most", json_schema_extra={"unit": "calls"}
    )
    limits: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = Field(
        (),
        description="calls in flight at most at each server of `model.base_url`, in that order; unset: `concurrency`",
        json_schema_extra={"unit": "calls"},
    )
    timeout: float = Field(120.0, gt=0, description="longest wait for one answer", json_schema_extra={"unit": "s"})
    tries: int = Field(6, ge=1, le=100, description="requests sent for one call at most")
    key_env: str | None = Field(
        None, description="environment variable (or line of .env) that holds the key; unset: the provider's usual one"
    )
    prices: str | None = Field(
        None, description="file of your own prices; unset: those that come along; see docs/models.md"
    )
    calls: str | None = Field(
        None, description="folder of a run, or a calls.db: calls that it recorded are used, and copied, not asked again"
    )
    unhealthy_above: Share = Field(0.1, description="share of failed calls from which a run is marked unhealthy")

    @field_validator("key_env")
    @classmethod
    def _is_a_variable(cls, name: str | None) -> str | None:
        return None if name is None else variable_name(name)


class Budget(Section):
    """What a run may spend; it pauses after the step that reaches a limit. No part of a run's identity."""

    usd: float | None = Field(None, gt=0, description="cost, by the price table", json_schema_extra={"unit": "USD"})
    tokens: int | None = Field(None, gt=0, description="tokens in and out", json_schema_extra={"unit": "tokens"})
    calls: int | None = Field(None, gt=0, description="calls sent to servers", json_schema_extra={"unit": "calls"})


class Memory(Section):
    """What agents remember: for policies that read it, and for the record (MOSAIC, appendices E.1 and G)."""

    enabled: bool | None = Field(None, description="agents remember; unset: where the policy reads memories")
    decay: float = Field(
        0.1, ge=0, description="decay lost a day since the last access", json_schema_extra={"unit": "1/day"}
    )
    days_per_step: float = Field(1.0, gt=0, description="how long a step lasts", json_schema_extra={"unit": "days"})
    threshold: Share = Field(0.3, description="a memory whose relevance is below is not recalled")
    recalled: int = Field(5, ge=0, le=1000, description="interactions that are recalled at once at most")
    reflections: int = Field(1, ge=0, le=100, description="reflections that are recalled at once at most")
    reflect_every: int = Field(
        5, ge=0, description="steps between reflections; 0: never", json_schema_extra={"unit": "steps"}
    )
    reflection: Literal["embedded", "model"] | None = Field(
        None, description="who words reflections; unset: the model if the policy asks one, else embedded"
    )


class Record(Section):
    """What is written, and where to."""

    parquet_above: int = Field(
        1_000_000, ge=0, description="bulky tables go to Parquet when agents x feed rows x steps exceed this"
    )
    trail: bool = Field(True, description="record why beliefs moved")


class Config(BaseModel):
    """All settings of a run. Sections that name a member also hold that family's parameters, in ``params``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    scenario: str = Field("health-rumour", description="bundled name, or path of a scenario folder, YAML, JSONL or CSV")
    seed: int = Field(1, ge=0, le=2**63 - 1, description="of every draw: another seed is another run of the same")
    agents: int = Field(300, ge=1, le=200_000_000, description="persons at the start")
    steps: int = Field(20, ge=1, le=1_000_000, description="steps to simulate; step 0 is the start")
    population: Population = Field(default_factory=Population)
    graph: Graph = Field(default_factory=Graph)
    growth: Growth = Field(default_factory=Growth)
    activation: Activation = Field(default_factory=Activation)
    injection: Injection = Field(default_factory=Injection)
    leave_out: LeaveOut = Field(default_factory=LeaveOut)
    feed: Feed = Field(default_factory=Feed)
    actions: Actions = Field(default_factory=Actions)
    policy: Policy = Field(default_factory=Policy)
    moderation: Moderation = Field(default_factory=Moderation)
    beliefs: Beliefs = Field(default_factory=Beliefs)
    evidence: Evidence = Field(default_factory=Evidence)
    embedder: Embedder = Field(default_factory=Embedder)
    strength: Strength = Field(default_factory=Strength)
    model: Model = Field(default_factory=Model)
    serving: Serving = Field(default_factory=Serving)
    budget: Budget = Field(default_factory=Budget)
    memory: Memory = Field(default_factory=Memory)
    record: Record = Field(default_factory=Record)
    events: tuple[Event, ...] = Field((), description="what happens at a step; see docs/events.md")
    treatments: tuple[Treatment, ...] = Field((), description="what some agents get by chance; see docs/events.md")

    def plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return self.model_dump(mode="json")
