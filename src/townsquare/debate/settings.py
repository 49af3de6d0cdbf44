"""What can be set in a debate; defaults are those of the paper (seeds, ``belief-engine``, Table A5, Figure 2)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from townsquare.beliefs.evidence.retrieval import DEFAULT_SLOTS
from townsquare.beliefs.evidence.seeds import DEFAULT_SEEDS
from townsquare.settings.base import Section
from townsquare.settings.config import Model, Serving

PRO, CON = 0, 1
SIDES = ("pro", "con")
SIGN = (1, -1)
"""Sides of a debate, their names, and the sign of the stance that each starts with."""

PROFILES = {"open": (0.40, 0.20), "stubborn": (0.10, 0.80)}
"""(u, a) of the paper's Open-minded and Stubborn agents."""
LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Levels of u and a in the paper's sweeps."""
DECLARED = "declared"


class Choice(Section):
    """A member of a family, and its settings."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict, description="settings that the member declares")


class Agent(Section):
    """What is set for one of the two agents alone; unset: as for both."""

    persona: str = Field("", max_length=2000, description="who it is, in words, for speakers that read it")
    uptake: float | None = Field(None, ge=0, description="u; unset: by `pairing`, else `uptake`")
    anchoring: float | None = Field(None, ge=0, description="a; unset: by `pairing`, else `anchoring`")
    stance: float | None = Field(None, ge=-1, le=1, description="S0; unset: `start.stance`, negative for con")


class Start(Section):
    """Where stances start."""

    kind: Literal["records", "own_side", "stated"] = Field(
        "records",
        description="seed records chosen to meet the stance; n of its own side, come to what they may; or a prior "
        "without records",
    )
    stance: float = Field(0.75, ge=-1, le=1, description="S0 of pro; con starts from its negative")
    seeds: int = Field(DEFAULT_SEEDS, ge=1, description="n, seed records of each agent")
    prior_scale: float | Literal["meet"] = Field(
        "meet",
        description="factor on what each seed adds; `meet`: 1, or with `records` what lets n average seeds meet S0",
    )
    tolerance: float = Field(
        0.05, ge=0, le=2, description="arms whose attained starts lie further apart are not compared"
    )


class Evidence(Section):
    """How claims are made, compared and kept."""

    extractor: str = Field(
        DECLARED,
        description="`declared`: the claims that the speaker gives; else a member of the family `extractor`; "
        "`model` where the speaker gives none and nothing is set",
    )
    strength: Choice = Field(Choice(name="constant"), description="judge of strengths that nobody gave")
    embedder: Choice = Field(Choice(name="hashing"), description="what vectors of claims are made by")
    theta: float | None = Field(None, gt=0, le=1, description="near-duplicates from this cosine; unset: the embedder's")
    theta_self: float | None = Field(None, gt=0, le=1, description="the same for what an agent said itself")
    own_claims: bool = Field(False, description="what an agent says becomes evidence for itself")
    retrieved: int = Field(DEFAULT_SLOTS, ge=0, le=100, description="k, records at hand in a turn")


class Debates(Section):
    """A debate, held several times."""

    preset: Literal["pair", "single"] = Field("pair", description="defaults of two agents, or of one in a sweep")
    topic: str = Field("compulsory-voting", min_length=1, description="a bundled topic, or a file of arguments")
    proposition: str = Field("", description="which topic of a file; for one without topics, the proposition")
    sides: dict[str, Literal["pro", "con"]] = Field(
        default_factory=dict, description="what a file's own labels of sides mean"
    )
    opponent: Literal["agent", "scripted"] = Field("agent", description="con is an agent, or says what is fixed")
    rounds: int = Field(15, ge=1, le=10_000, description="in each, both speak once")
    trials: int = Field(3, ge=1, le=100_000, description="debates with draws of their own")
    seed: int = Field(1, ge=0, description="of all draws")
    first: Literal["drawn", "pro", "con"] = Field("drawn", description="who speaks first; drawn: by trial")
    uptake: float = Field(0.20, ge=0, description="u: how far records of the debate move the log odds")
    anchoring: float = Field(0.40, ge=0, description="a: how strongly the start is held; may exceed 1")
    confirmation: float = Field(0.0, ge=0, le=1, description="B: a record that agrees counts with u(1+B), else u(1-B)")
    pairing: Literal["", "open/open", "open/stubborn", "stubborn/open", "stubborn/stubborn"] = Field(
        "", description="profiles of pro and con: open (0.40, 0.20), stubborn (0.10, 0.80)"
    )
    pro: Agent = Agent()
    con: Agent = Agent()
    start: Start = Start()
    evidence: Evidence = Evidence()
    dialogue: int = Field(6, ge=0, le=1000, description="latest messages that a speaker is given")
    debater: Choice = Field(Choice(name="belief_engine"), description="what keeps and moves a stance")
    speaker: Choice = Field(Choice(name="bank"), description="what says something in line with a stance")
    scripted: Choice = Field(Choice(name="scripted"), description="what the opponent `scripted` says")
    judge: Choice = Field(Choice(name="bank"), description="what reads stances from texts alone")
    model: Model = Model()
    serving: Serving = Serving()

    def profile(self, side: int) -> tuple[float, float]:
        """(u, a) of the agent of a side: its own, else by the pairing, else as for both.

        >>> Debates(pairing="open/stubborn").profile(CON)
        (0.1, 0.8)
        """
        own = self.agent(side)
        words = self.pairing.split("/")
        uptake, anchoring = PROFILES[words[side]] if self.pairing else (self.uptake, self.anchoring)
        return (
            uptake if own.uptake is None else own.uptake,
            anchoring if own.anchoring is None else own.anchoring,
        )

    def agent(self, side: int) -> Agent:
        """What is set for the agent of a side alone."""
        return self.pro if side == PRO else self.con

    def wanted(self, side: int) -> float:
        """S0 in [-1, 1] that the agent of a side should start with."""
        own = self.agent(side).stance
        return SIGN[side] * self.start.stance if own is None else own

    @property
    def agents(self) -> tuple[int, ...]:
        """Sides of agents, who have a stance."""
        return (PRO, CON) if self.opponent == "agent" else (PRO,)


PRESETS: dict[str, dict[str, Any]] = {
    "pair": {},
    "single": {
        "opponent": "scripted", "trials": 5, "uptake": 0.40, "anchoring": 0.70, "start": {"stance": 0.99},
    },
}  # fmt: skip
"""What each preset sets, below everything that is given: Table A5's two-agent debates, and its sweeps of one agent."""

ALIASES = {"u": "uptake", "a": "anchoring", "theta": "evidence.theta", "theta_self": "evidence.theta_self"}
"""Short names of settings, for ``--set`` and ``--over``."""
