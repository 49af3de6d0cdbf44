"""Settings that do not belong to a member of a family: frozen, typed, each with its range, unit and default.

Members declare ``Params`` in their own files; :mod:`townsquare.resolve` joins them to these sections, layer by layer:
defaults, then the scenario's ``settings``, then a configuration file, then ``--set key=value``.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from townsquare.events.settings import Event, Treatment
from townsquare.registry import did_you_mean, names
from townsquare.settings.base import ActionName, Friction, MemberParams, Section, Share

__all__ = [
    "ActionName",
    "Actions",
    "Activation",
    "Beliefs",
    "Config",
    "Embedder",
    "Evidence",
    "Feed",
    "Graph",
    "Growth",
    "Injection",
    "LabelWeight",
    "MemberParams",
    "Moderation",
    "Policy",
    "Population",
    "Record",
    "Section",
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

    file: str | None = Field(None, description="JSONL of personas instead of sampling the question bank")
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
        0.35,
        gt=0,
        description="shape of the Gamma distribution of activity (mean 1): small is heavy-tailed, many silent",
    )


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

    false: Share = Field(0.25, description="verdict `false` shown")
    noted: Share = Field(0.5, description="a community note shown")


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
    archive_weight: Share = Field(0.0, description="a record shown with a label weight of at most this is archived")


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
    feed: Feed = Field(default_factory=Feed)
    actions: Actions = Field(default_factory=Actions)
    policy: Policy = Field(default_factory=Policy)
    moderation: Moderation = Field(default_factory=Moderation)
    beliefs: Beliefs = Field(default_factory=Beliefs)
    evidence: Evidence = Field(default_factory=Evidence)
    embedder: Embedder = Field(default_factory=Embedder)
    strength: Strength = Field(default_factory=Strength)
    record: Record = Field(default_factory=Record)
    events: tuple[Event, ...] = Field((), description="what happens at a step; see docs/events.md")
    treatments: tuple[Treatment, ...] = Field((), description="what some agents get by chance; see docs/events.md")

    def plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return self.model_dump(mode="json")
