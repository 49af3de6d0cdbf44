"""Core settings: frozen, typed, each with its range, unit and default.

Members declare ``Params`` in their own files; :mod:`townsquare.settings.resolve` joins them to these sections, layer by
layer: defaults, then the scenario's ``settings``, then a configuration file, then ``--set key=value``.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from townsquare.core.registry import did_you_mean, names
from townsquare.settings.base import (
    ASSUMED,
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
from townsquare.settings.population import Population, StanceStart

__all__ = ["ASSUMED", "ActionName", "MemberParams", "Population", "Section", "Share", "StanceStart", "setting"]
"""Names of :mod:`townsquare.settings.base` and `population` that other rooms import from here."""


class Growth(Section):
    """Agents that join during the run."""

    max_per_step: int = setting(
        0, "maximum agents that join in a step; the number is drawn uniformly from 0 to this", ge=0, unit="agents"
    )


class Time(Section):
    """Length of a step. If unset, a step counts as an hour unless a setting says otherwise; the others are ignored."""

    step_minutes: int | None = setting(None, "length of a step", ge=1, le=1440, unit="min")
    start_hour: float = setting(0.0, "hour of the day at which step 1 begins", ge=0, lt=24, unit="h")
    rhythm: Share = setting(
        0.8, "amplitude of the daily rhythm: rates of sessions, publishing and note ratings are multiplied by 1 + "
        "rhythm cos(2 pi (hour - peak_hour)/24)",
    )  # fmt: skip
    peak_hour: float = setting(19.0, "hour of the day with the most sessions", ge=0, lt=24, unit="h")
    warm_up_hours: float = setting(
        0.0, "first hours of the run, recorded but excluded from outcomes and `check facts`", ge=0, unit="h"
    )

    @property
    def step_hours(self) -> float:
        """The length of a step in hours; 1 where a step has no length."""
        return 1.0 if self.step_minutes is None else self.step_minutes / 60

    def rhythm_of(self, step: int) -> float:
        """Return the rate of a step relative to the mean of a day, from the hour in the middle of the step."""
        hour = self.start_hour + (step - 0.5) * self.step_hours
        return 1 + self.rhythm * math.cos(2 * math.pi * (hour - self.peak_hour) / 24)


class Activation(Section):
    """Which agents are online in a step, and in how many batches they act."""

    rate: Share = setting(1.0, "probability that an agent is online in a step, if `time.step_minutes` is unset")
    sessions_per_day: float = setting(
        3.0, "with `time.step_minutes`: sessions of an agent with activity 1, and of a lurker; proportional to "
        "activity, at most one in a step (assumed)", gt=0, le=1000, unit="1/day",
    )  # fmt: skip
    batches: int = setting(
        1, "1: all agents act at once; n: n random groups act in turn, later ones seeing what earlier ones did", ge=1
    )


MANY_AGENTS = 100_000  # above this many persons, comments are shown under posts only if `feed.comments` says so


class Feed(Section):
    """Feeds: which posts an agent is shown."""

    ranker: str = setting("recent", "member of the family `ranker`")
    followed: int = setting(15, "maximum rows from followed accounts", ge=0, le=1000)
    others: int = setting(10, "maximum rows from other accounts", ge=0, le=1000)
    newest: int = setting(8, "newest rows of each followed author that are candidates", ge=1, le=64)
    pool: int = setting(256, "roots in the pool for rows from other accounts; one pool for all agents", ge=1, le=65536)
    injected_window: int = setting(5, "number of latest steps whose injected posts may fill half of the pool", ge=1)
    comments: int | None = setting(
        None, "maximum comments under a post; unset: 3, or 0 above 100,000 agents", ge=0, le=3
    )
    show_labels: bool = setting(True, "show verdicts and notes in feeds, and offer notes for rating")
    show_flags: bool = setting(False, "show the number of flags of a row to agents with a language model")
    seen_cap: int = setting(2000, "maximum seen roots that an agent remembers; the oldest are forgotten first", ge=1)
    repeat: bool = setting(True, "a root may be shown again; false: each agent is shown a root once")
    window_hours: float | None = setting(
        None, "maximum age of a row, in steps without `time.step_minutes`; twice this for the root of a share and for "
        "rows from the pool; unset: none", gt=0, unit="h",
    )  # fmt: skip
    outside: Literal["pool", "walks"] = setting(
        "pool", "rows from other accounts: a pool for everybody, or walks to accounts that followed accounts follow"
    )
    walks: int = setting(100, "with `outside: walks`: number of walks for each feed", ge=1, le=10_000)
    depth_mean: float | None = setting(
        None, "mean number of rows examined in a step, if the feed has as many (geometric); unset: all rows", ge=1
    )
    outside_share: Share = setting(
        0.3, "with `depth_mean`: share of rows from other accounts, while both kinds are left (assumed)"
    )
    error: float = setting(
        0.0, "scale of a logistic error added to the score of each reader and root, constant during a run", ge=0
    )
    downrank: float = setting(0.0, "scores of rows whose root has the verdict `false` are lower by this", ge=0)

    @property
    def is_for_each_reader(self) -> bool:
        """Whether candidates, scores or lengths differ from reader to reader, whatever the ranker does."""
        by_reader = not self.repeat or self.outside == "walks" or self.error > 0 or self.depth_mean is not None
        return by_reader or self.window_hours is not None or self.downrank > 0

    def comments_per_post(self, persons: int) -> int:
        """Return the maximum number of comments under a post in a run with this many persons."""
        return (3 if persons <= MANY_AGENTS else 0) if self.comments is None else self.comments


class Actions(Section):
    """Which actions agents may take."""

    enabled: list[ActionName] | None = setting(
        None, "allowed kinds of action; unset: all but `block`. Notes also need the strategy `community` or `hybrid`"
    )
    also: tuple[ActionName, ...] = setting((), "additional allowed kinds, such as `block`")
    comment_length: int = setting(250, "maximum length of a comment", ge=1, le=10000, unit="characters")
    post_length: int = setting(2000, "maximum length of a post or note", ge=1, le=100000, unit="characters")
    friction: Friction = setting(dict, "kind of action -> probability that a prompt to reconsider stops it")


class LabelWeight(Section):
    """Weight of an exposure in belief updates, by its label; with several labels, the smallest weight."""

    false: Share = setting(
        0.25, "weight with the verdict `false`; `credence` only distinguishes 0 (no effect) from above 0; `log_odds` "
        "only archives records with a weight up to `evidence.archive_weight`",
    )  # fmt: skip
    noted: Share = setting(0.5, "weight with a community note; `log_odds` and `credence`: likewise")


class Answers(Section):
    """Survey answers, computed from stances. They never change stances."""

    noise: float = setting(
        0.20, "sd of an answer around the stance, on the scale from -1 to 1 (fitted to panels: 0.10 to 0.27)", ge=0
    )
    repeat: Share = setting(
        0.30,
        "probability of the same answer as last time, if the stance changed by less than 0.05 (fitted: 0.15 to 0.5)",
    )


class Beliefs(Section):
    """The belief rule."""

    rule: str = setting("exposure-bounded", "member of the family `beliefs`")
    label_weight: LabelWeight = Field(default_factory=LabelWeight)
    stance_scorer: str = setting("declared", "stance of agents' texts: declared by the agent, or scored from the text")
    answers: Answers = Field(default_factory=Answers)

    @field_validator("stance_scorer")
    @classmethod
    def _is_known(cls, name: str) -> str:
        allowed = ("declared", *names("stance"))
        if name not in allowed:
            raise ValueError(f"{did_you_mean(name, allowed)} allowed: {', '.join(allowed)}".strip())
        return name


class Evidence(Section):
    """Argument records: claims extracted from posts, used by some belief rules."""

    extractor: str = setting("given", "member of the family `extractor`: extracts claims from posts")
    theta: float | None = setting(
        None, "minimum cosine similarity of two claims that count as near-duplicates; unset: the embedder's default",
        gt=0, le=1,
    )  # fmt: skip
    theta_self: float | None = setting(None, "the same for own claims; unset: the embedder's, not `theta`", gt=0, le=1)
    own_claims: bool = setting(False, "an agent's own claims become records")
    start_tolerance: float = setting(
        0.15, "maximum mean difference of initial stances between arms, else `compare` stops (log-odds rules)", ge=0
    )
    archive_weight: Share = setting(0.0, "records with a label weight up to this are archived; see docs/evidence.md")


class Embedder(Section):
    """The embedder, whose vectors detect near-duplicate claims."""

    name: str = setting("hashing", "member of the family `embedder`")


class Strength(Section):
    """The judge of the strength of claims without a given strength."""

    judge: str = setting("constant", "member of the family `strength`")


class Moderation(Section):
    """The moderation strategy."""

    strategy: str = setting("none", "member of the family `moderation`")
    note_scorer: str = setting("threshold", "member of the family `note_scorer`: decides which notes are shown")
    takedown: bool = setting(True, "moderators may take posts down")


class Graph(Section):
    """The initial follow graph."""

    kind: str = setting("scale_free", "member of the family `graph`")


class Policy(Section):
    """The policy by which agents act."""

    name: str = setting("statistical", "member of the family `policy`")


class Injection(Section):
    """How the scenario's posts enter the run."""

    start_step: int = setting(1, "first step of the queue, or of posts published at a rate", ge=1, unit="step")
    posts_per_step: int = setting(5, "posts of the queue injected per step", ge=0)
    false_share: Share | None = setting(None, "share of false posts in the queue, evenly spread; unset: as in the file")
    order: Literal["file", "shuffled"] = setting("file", "order of the file, or random order")
    limit: int | None = setting(None, "maximum number of injected posts, except posts published at a rate", ge=0)
    audience: Literal["everyone", "followers"] = setting(
        "everyone", "who can be shown injected posts: everyone, by the pool (needs `feed.outside: pool`), or followers "
        "of the author and of sharers, with `feed.outside: walks` also followers of these followers",
    )  # fmt: skip


class SourceClass(Section):
    """Sources of one class. `followed`, `taste_sd`, `side` and `tail` need `injection.audience: followers`."""

    count: int | None = setting(
        None, "number of sources: the scenario's first, then generated ones; unset: the scenario's", ge=0, le=10_000
    )
    posts_per_day: float = setting(
        0.0, "posts of each source; 0 in both classes: posts enter as `injection` says", ge=0, le=1000, unit="1/day"
    )
    topical: Share = setting(1.0, "share of posts with a stance; the others are everyday news")
    false_share: Share = setting(0.0, "share of false posts among posts with a stance")
    followed: float = setting(
        0.0, "mean follow rate of a person, summed over sources; a source is followed with probability 1 - exp(-rate)",
        ge=0, unit="sources",
    )  # fmt: skip
    taste_sd: float = setting(
        0.0, "effect of taste z: follow rates are multiplied by exp(taste_sd z - taste_sd^2/2)", ge=0
    )
    side: float = setting(
        0.0, "effect of the stance S on the first proposition: follow rates are multiplied by exp(side S) for sources "
        "in favor, exp(-side S) for sources against, divided by the mean over people", ge=0,
    )  # fmt: skip
    tail: float = setting(1.0, "follow rates of the k-th source listed are 1/k^tail of those of the first", ge=0)


class Sources(Section):
    """Sources with audiences and a rate of publishing; see docs/populations.md."""

    low_below: Share = setting(0.5, "sources below this credibility are of low credibility, in this section only")
    reliable: SourceClass = Field(default_factory=SourceClass)
    low_credibility: SourceClass = Field(default_factory=SourceClass)
    rumors_per_day: float = setting(
        0.0, "false posts of the scenario that 1,000 people publish per day (assumed)", ge=0, le=1e6, unit="1/day"
    )

    @property
    def publish(self) -> bool:
        """Whether sources publish at a rate, instead of the queue of `injection`."""
        return self.reliable.posts_per_day > 0 or self.low_credibility.posts_per_day > 0


class LeaveOut(Section):
    """What a run leaves out, for comparison with a run that includes it; all other draws stay equal."""

    posts: tuple[int, ...] = setting((), "rows of the scenario's posts, from 0, that are not injected", names="posts")
    veracity: tuple[TruthWord, ...] = setting((), "posts with this veracity (everyday news too) are not injected")
    agents: tuple[int, ...] = setting(
        (), "numbers of people never online, and of sources that never publish", names="agents"
    )


_OPENAI = re.compile(r"(?:chat)?gpt-?\w|o[1-9]\b")
"""Prefixes of OpenAI model names."""


def _how_to_name(name: str, provider: str, allowed: tuple[str, ...]) -> str:
    """Return what to write instead of a model without a provider, or of a provider that is not known."""
    if "/" not in name and _OPENAI.match(name):
        return f"did you mean 'openai/{name}'?"
    hint = did_you_mean(provider, allowed)
    if not hint and "/" in name:
        other = f"`server/{name.partition('/')[2]}` with model.base_url"
        hint = f"{other} reaches any server with OpenAI's chat completions API;"
    elif not hint:
        hint = f"write a provider before it, such as 'ollama/{name}';"
    return f"{hint} allowed: {', '.join(allowed)}"


class Model(Section):
    """The language model, used by members that call one (such as `policy: llm`)."""

    name: str = setting("none", "`none`, or provider/model such as openai/gpt-4o-mini; see docs/models.md")
    base_url: tuple[str, ...] = setting((), "server addresses (OpenAI chat completions API); unset: the provider's")
    temperature: float = setting(
        1.0, "temperature for posts and reactions; judges and checkers have their own", ge=0, le=2
    )
    max_tokens: int = setting(1024, "maximum length of an answer", ge=16, le=131072, unit="tokens")

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
    """How language models are called. `townsquare resume` may change these settings."""

    concurrency: int = setting(64, "maximum concurrent calls per server", ge=1, le=100_000, unit="calls")
    limits: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = setting(
        (), "`concurrency` of each server, in the order of `model.base_url`; unset: `concurrency`", unit="calls"
    )
    timeout: float = setting(120.0, "maximum wait for one answer", gt=0, unit="s")
    tries: int = setting(6, "maximum requests per call", ge=1, le=100)
    key_env: str | None = setting(None, "environment variable, or line of .env, with the key; unset: the provider's")
    prices: str | None = setting(None, "file of prices; unset: the bundled prices; see docs/models.md")
    calls: str | None = setting(None, "folder of a run, or a calls.db, whose recorded calls are reused")
    unhealthy_above: Share = setting(0.1, "share of failed calls above which a run is marked unhealthy")

    @field_validator("key_env")
    @classmethod
    def _is_a_variable(cls, name: str | None) -> str | None:
        return None if name is None else variable_name(name)


class Budget(Section):
    """Limits of a run, which pauses after the step that reaches one. `townsquare resume` may change them."""

    usd: float | None = setting(None, "cost by the price table", gt=0, unit="USD")
    tokens: int | None = setting(None, "tokens in and out", gt=0, unit="tokens")
    calls: int | None = setting(None, "calls sent to servers or reused (`serving.calls`)", gt=0, unit="calls")


class Memory(Section):
    """Memory of agents, for policies that read it and for the record (MOSAIC, appendices E.1 and G)."""

    enabled: bool | None = setting(None, "agents have memories; unset: if the policy reads memories")
    decay: float = setting(0.1, "strength (0 to 1) lost since the last access", ge=0, unit="1/day")
    days_per_step: float = setting(
        1.0, "length of a step without `time.step_minutes`, for memories and for the rule `credence`", gt=0, unit="days"
    )
    threshold: Share = setting(0.3, "minimum relevance (importance x strength) of a recalled memory")
    recalled: int = setting(5, "maximum memories recalled at once, reflections not counted", ge=0, le=1000)
    reflections: int = setting(1, "maximum reflections recalled at once", ge=0, le=100)
    reflect_every: int = setting(5, "hours between reflections, or steps without `time.step_minutes`; 0: never", ge=0)
    reflection: Literal["embedded", "model"] | None = setting(
        None, "author of reflections; unset: `model` if the run calls a language model, else `embedded`"
    )


class Record(Section):
    """What is recorded, and where."""

    parquet_above: int = setting(
        1_000_000, "rows of feeds in a run, without comments, above which bulky tables go to Parquet: the expected "
        "number with `time.step_minutes`, else agents x (`feed.followed` + `feed.others`) x steps", ge=0,
    )  # fmt: skip
    trail: bool = setting(True, "record the causes of belief changes")


class Config(BaseModel):
    """All settings of a run. Sections that name a member also hold that family's parameters, in ``params``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    scenario: str = setting("health-rumor", "bundled name, preset, or path: scenario folder, YAML, table of posts")
    seed: int = setting(1, "seed of all random draws", ge=0, le=2**63 - 1)
    agents: int = setting(300, "number of people at the start, without sources", ge=1, le=200_000_000)
    steps: int = setting(20, "number of steps; step 0 is the initial state", ge=1, le=1_000_000)
    population: Population = Field(default_factory=Population)
    graph: Graph = Field(default_factory=Graph)
    growth: Growth = Field(default_factory=Growth)
    time: Time = Field(default_factory=Time)
    activation: Activation = Field(default_factory=Activation)
    injection: Injection = Field(default_factory=Injection)
    sources: Sources = Field(default_factory=Sources)
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
    events: tuple[Event, ...] = setting((), "events at a step; see docs/events.md")
    treatments: tuple[Treatment, ...] = setting((), "treatments of randomly assigned agents; see docs/events.md")

    @property
    def feed_rows(self) -> float:
        """Rows of feeds in a step, without comments: expected ones where steps have a length, else the maximum."""
        rows = float(self.feed.followed + self.feed.others)
        if self.time.step_minutes is None:
            return self.agents * rows
        sessions = min(1.0, self.activation.sessions_per_day * self.population.sessions * self.time.step_hours / 24)
        return self.agents * sessions * (rows if self.feed.depth_mean is None else min(rows, self.feed.depth_mean))

    @property
    def belief_hours(self) -> float:
        """The length of a step for beliefs, in hours: a step without a length stands for ``memory.days_per_step``."""
        return self.memory.days_per_step * 24 if self.time.step_minutes is None else self.time.step_hours

    def plain(self) -> dict[str, Any]:
        """Return all settings as JSON-able values."""
        return self.model_dump(mode="json")
