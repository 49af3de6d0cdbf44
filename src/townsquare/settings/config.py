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
    setting,
    variable_name,
)
from townsquare.settings.events import Event, Treatment

__all__ = ["ActionName", "MemberParams", "Section", "Share", "setting"]
"""Names of :mod:`townsquare.settings.base` that other rooms take from here, beside the sections."""


class StanceStart(Section):
    """Where stances start for one proposition."""

    kind: Literal["normal", "uniform", "camps", "constant"] = "normal"
    mean: float = setting(0.0, "center of the normal or of the two camps; the constant", ge=-1, le=1)
    sd: float = setting(0.45, "standard deviation, of each camp for `camps`; clipped to [-1, 1]", ge=0)
    distance: float = setting(0.5, "camps only: each camp stands this far from the mean", ge=0, le=1)
    pro_share: Share = setting(0.5, "camps only: share of agents in the camp that is for")
    by_trait: dict[str, dict[str, float]] = setting(dict, "trait label -> answer -> shift added before clipping")


class Population(Section):
    """Who the agents are."""

    file: str | None = setting(None, "JSONL of personas instead of sampling the question bank", file="scenario")
    margins: dict[str, dict[str, float]] = setting(dict, "target shares: trait label -> answer -> share of people")
    stance: dict[str, StanceStart] = setting(dict, "start of each proposition, by its name; `default` for the others")
    confidence_mean: Share = setting(0.5, "mean starting confidence; 0.5 is SimSwarm's default")
    confidence_sd: float = setting(0.0, "its standard deviation, clipped to [0, 1]", ge=0)
    activity_shape: float = setting(0.69, "shape of the Gamma distribution of activity; small: heavy-tailed", gt=0)
    silent_share: float = setting(0.22, "share of lurkers: agents that read and never act", ge=0, lt=1)


class Growth(Section):
    """Agents that join while the run goes on."""

    max_per_step: int = setting(0, "each step adds 0 to this many, evenly drawn", ge=0, unit="agents")


class Activation(Section):
    """Who is online in a step, and in how many turns they act."""

    rate: Share = setting(1.0, "chance that an agent is online in a step")
    batches: int = setting(1, "1: everyone at once; n: in n random groups that see what went before", ge=1)


MANY_AGENTS = 100_000  # above this many persons, comments are shown under posts only if `feed.comments` says so


class Feed(Section):
    """Who is shown what."""

    ranker: str = setting("recent", "member of the family `ranker`")
    followed: int = setting(15, "rows from followed accounts at most", ge=0, le=1000)
    others: int = setting(10, "rows from other accounts at most", ge=0, le=1000)
    newest: int = setting(8, "newest rows of each followed author that are looked at", ge=1, le=64)
    pool: int = setting(256, "roots that rows from other accounts are taken from", ge=1, le=65536)
    injected_window: int = setting(5, "steps for which injected posts take up to half of the pool", ge=1)
    comments: int | None = setting(None, "most comments under a post; unset: 3, or 0 above 100,000 agents", ge=0, le=3)
    show_labels: bool = setting(True, "show verdicts and notes, and offer notes for rating")
    show_flags: bool = setting(False, "show language models the flags of a row (MOSAIC, appendix E)")
    seen_cap: int = setting(2000, "roots that an agent remembers having seen; the oldest are forgotten first", ge=1)

    def comments_per_post(self, persons: int) -> int:
        """Comments under a post at most in a run of so many persons."""
        return (3 if persons <= MANY_AGENTS else 0) if self.comments is None else self.comments


class Actions(Section):
    """What agents may do."""

    enabled: list[ActionName] | None = setting(None, "kinds of action allowed; unset: all that need no `also`")
    also: tuple[ActionName, ...] = setting((), "kinds allowed in addition, such as `block`")
    comment_length: int = setting(250, "longest comment", ge=1, le=10000, unit="characters")
    post_length: int = setting(2000, "longest post or note", ge=1, le=100000, unit="characters")
    friction: Friction = setting(dict, "kind of action -> chance that it is given up when asked a second time")


class LabelWeight(Section):
    """How much an exposure counts for beliefs, by the label shown with it; of several, the least."""

    false: Share = setting(0.25, "verdict `false` shown; `log_odds` only distinguishes 0 (archived) from above 0")
    noted: Share = setting(0.5, "a community note shown; `log_odds`: likewise")


class Beliefs(Section):
    """Which rule moves beliefs."""

    rule: str = setting("exposure-bounded", "member of the family `beliefs`")
    label_weight: LabelWeight = Field(default_factory=LabelWeight)
    stance_scorer: str = setting("declared", "source of the stances of what agents write: declared, or a text scorer")

    @field_validator("stance_scorer")
    @classmethod
    def _is_known(cls, name: str) -> str:
        allowed = ("declared", *names("stance"))
        if name not in allowed:
            raise ValueError(f"{did_you_mean(name, allowed)} allowed: {', '.join(allowed)}".strip())
        return name


class Evidence(Section):
    """Argument records: how claims are made from posts, and which of them count. Only some belief rules use them."""

    extractor: str = setting("given", "member of the family `extractor`: what makes claims from posts")
    theta: float | None = setting(None, "least cosine of near-duplicates; unset: the embedder's own", gt=0, le=1)
    theta_self: float | None = setting(None, "the same for an agent's own claims; unset: likewise", gt=0, le=1)
    own_claims: bool = setting(False, "what an agent says becomes a record of its own")
    start_tolerance: float = setting(0.15, "largest gap between the starts of arms, under rules in log odds", ge=0)
    archive_weight: Share = setting(0.0, "a record shown with a label weight up to this is archived; docs/evidence.md")


class Embedder(Section):
    """What turns claims into vectors, whose cosine finds near-duplicates."""

    name: str = setting("hashing", "member of the family `embedder`")


class Strength(Section):
    """What estimates how strong a claim is, where nobody said."""

    judge: str = setting("constant", "member of the family `strength`")


class Moderation(Section):
    """Which strategy moderates."""

    strategy: str = setting("none", "member of the family `moderation`")
    note_scorer: str = setting("threshold", "member of the family `note_scorer`: which notes are shown")
    takedown: bool = setting(True, "a moderator may take posts down")


class Graph(Section):
    """Who follows whom at the start."""

    kind: str = setting("scale_free", "member of the family `graph`")


class Policy(Section):
    """What makes agents act."""

    name: str = setting("statistical", "member of the family `policy`")


class Injection(Section):
    """How a scenario's posts enter the run."""

    start_step: int = setting(1, "first step that injects", ge=1, unit="step")
    posts_per_step: int = setting(5, "posts injected a step until none are left", ge=0)
    false_share: Share | None = setting(None, "share of false posts, evenly spread; unset: as the file orders them")
    order: Literal["file", "shuffled"] = setting("file", "order of the file, or shuffled by keyed draws")
    limit: int | None = setting(None, "inject at most this many posts in all", ge=0)


class LeaveOut(Section):
    """What a run goes without, so that it can be compared with one that has it; all else is drawn alike."""

    posts: tuple[int, ...] = setting((), "rows of the scenario's posts, from 0, that never enter", names="posts")
    veracity: tuple[TruthWord, ...] = setting((), "scenario's posts of this truth never enter")
    agents: tuple[int, ...] = setting((), "persons that never come online, sources that never publish", names="agents")


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

    name: str = setting("none", "`none`, or provider/model such as openai/gpt-4o-mini; see docs/models.md")
    base_url: tuple[str, ...] = setting((), "addresses of servers (OpenAI's chat completions); unset: the provider's")
    temperature: float = setting(1.0, "of posts and reactions; judges and checkers have their own", ge=0, le=2)
    max_tokens: int = setting(1024, "longest answer", ge=16, le=131072, unit="tokens")

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

    concurrency: int = setting(64, "calls in flight a server at most", ge=1, le=100_000, unit="calls")
    limits: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = setting(
        (), "`concurrency` of each server of `model.base_url`, in that order; unset: all alike", unit="calls"
    )
    timeout: float = setting(120.0, "longest wait for one answer", gt=0, unit="s")
    tries: int = setting(6, "requests sent for one call at most", ge=1, le=100)
    key_env: str | None = setting(None, "environment variable, or line of .env, with the key; unset: the provider's")
    prices: str | None = setting(None, "file of your own prices; unset: those that come along; see docs/models.md")
    calls: str | None = setting(None, "folder of a run, or a calls.db: its recorded calls are copied, not asked again")
    unhealthy_above: Share = setting(0.1, "share of failed calls from which a run is marked unhealthy")

    @field_validator("key_env")
    @classmethod
    def _is_a_variable(cls, name: str | None) -> str | None:
        return None if name is None else variable_name(name)


class Budget(Section):
    """What a run may spend; it pauses after the step that reaches a limit. No part of a run's identity."""

    usd: float | None = setting(None, "cost, by the price table", gt=0, unit="USD")
    tokens: int | None = setting(None, "tokens in and out", gt=0, unit="tokens")
    calls: int | None = setting(None, "calls sent to servers", gt=0, unit="calls")


class Memory(Section):
    """What agents remember: for policies that read it, and for the record (MOSAIC, appendices E.1 and G)."""

    enabled: bool | None = setting(None, "agents remember; unset: where the policy reads memories")
    decay: float = setting(0.1, "decay lost a day since the last access", ge=0, unit="1/day")
    days_per_step: float = setting(1.0, "how long a step lasts", gt=0, unit="days")
    threshold: Share = setting(0.3, "a memory whose relevance is below is not recalled")
    recalled: int = setting(5, "interactions that are recalled at once at most", ge=0, le=1000)
    reflections: int = setting(1, "reflections that are recalled at once at most", ge=0, le=100)
    reflect_every: int = setting(5, "steps between reflections; 0: never", ge=0, unit="steps")
    reflection: Literal["embedded", "model"] | None = setting(None, "author of reflections; unset: as the policy")


class Record(Section):
    """What is written, and where to."""

    parquet_above: int = setting(1_000_000, "agents x feed rows x steps above which bulky tables go to Parquet", ge=0)
    trail: bool = setting(True, "record why beliefs moved")


class Config(BaseModel):
    """All settings of a run. Sections that name a member also hold that family's parameters, in ``params``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    scenario: str = setting("health-rumor", "bundled name, or path of a scenario folder, YAML, JSONL or CSV")
    seed: int = setting(1, "of every draw: another seed is another run of the same", ge=0, le=2**63 - 1)
    agents: int = setting(300, "persons at the start", ge=1, le=200_000_000)
    steps: int = setting(20, "steps to simulate; step 0 is the start", ge=1, le=1_000_000)
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
    events: tuple[Event, ...] = setting((), "what happens at a step; see docs/events.md")
    treatments: tuple[Treatment, ...] = setting((), "what some agents get by chance; see docs/events.md")

    def plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return self.model_dump(mode="json")
