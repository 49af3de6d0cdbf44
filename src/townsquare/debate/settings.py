"""What can be set in a debate; defaults are those of the paper (seeds, ``belief-engine``, Table A5, Figure 2)."""

from __future__ import annotations

from typing import Any, Literal

from townsquare.beliefs.evidence.retrieval import DEFAULT_SLOTS
from townsquare.beliefs.evidence.seeds import DEFAULT_SEEDS
from townsquare.settings.base import Section, setting
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
TABLE_A5 = "published: Belief Engine, Table A5"


class Choice(Section):
    """A member of a family, and its settings."""

    name: str
    params: dict[str, Any] = setting(dict, "settings that the member declares")


class Agent(Section):
    """What is set for one of the two agents alone; unset: as for both."""

    persona: str = setting("", "description of the agent, for speakers that read it", max_length=2000)
    uptake: float | None = setting(None, "u; default: from `pairing`, else `uptake`", ge=0)
    anchoring: float | None = setting(None, "a; default: from `pairing`, else `anchoring`", ge=0)
    stance: float | None = setting(None, "S0; default: `start.stance`, negative for con", ge=-1, le=1)


class Start(Section):
    """Where stances start."""

    kind: Literal["records", "own_side", "stated"] = setting(
        "records",
        "seed records chosen to match the stance; n of its own side, whatever their sum; or a prior without records",
    )
    stance: float = setting(0.75, "S0 of pro; con starts from its negative", basis=TABLE_A5, ge=-1, le=1)
    seeds: int = setting(DEFAULT_SEEDS, "n, seed records of each agent", basis=TABLE_A5, ge=1)
    prior_scale: float | Literal["meet"] = setting(
        "meet", "factor on each seed; `meet`: 1, or with `records` the factor at which n average seeds reach S0"
    )
    tolerance: float = setting(0.05, "largest difference of initial stances at which arms are compared", ge=0, le=2)


class Evidence(Section):
    """How claims are made, compared and kept."""

    extractor: str = setting(
        DECLARED,
        "`declared`: claims given by the speaker; else a member of the family `extractor`; "
        "default `model` if the speaker gives none",
    )
    strength: Choice = setting(Choice(name="constant"), "judge of strengths that are not given")
    embedder: Choice = setting(Choice(name="hashing"), "embedder of claims")
    theta: float | None = setting(None, "lowest cosine of near-duplicates; default: the embedder's", gt=0, le=1)
    theta_self: float | None = setting(None, "the same for own claims; unset: the embedder's, not `theta`", gt=0, le=1)
    own_claims: bool = setting(False, "an agent's own claims become its evidence")
    retrieved: int = setting(DEFAULT_SLOTS, "k, records retrieved per turn", basis=TABLE_A5, ge=0, le=100)


class Debates(Section):
    """A debate, held several times."""

    preset: Literal["pair", "single"] = setting("pair", "defaults for two agents, or for one agent in a sweep")
    topic: str = setting("compulsory-voting", "a bundled topic, or a file of arguments", min_length=1)
    proposition: str = setting("", "topic of a file; the proposition, if the file has no topics")
    sides: dict[str, Literal["pro", "con"]] = setting(dict, "meaning of the labels of sides in a file")
    opponent: Literal["agent", "scripted"] = setting("agent", "con is an agent, or follows a script")
    rounds: int = setting(15, "both sides speak once per round", ge=1, le=10_000)
    trials: int = setting(3, "debates with separate random draws", ge=1, le=100_000)
    seed: int = setting(1, "of all draws", ge=0)
    first: Literal["drawn", "pro", "con"] = setting("drawn", "first speaker; drawn: random by trial")
    uptake: float = setting(0.20, "u: weight of records from the debate in log odds", basis=TABLE_A5, ge=0)
    anchoring: float = setting(0.40, "a: weight of the initial records; may exceed 1", basis=TABLE_A5, ge=0)
    confirmation: float = setting(
        0.0, "B: a record that agrees counts with u(1+B), else u(1-B)", basis=TABLE_A5, ge=0, le=1
    )
    pairing: Literal["", "open/open", "open/stubborn", "stubborn/open", "stubborn/stubborn"] = setting(
        "", "profiles of pro and con: open (0.40, 0.20), stubborn (0.10, 0.80)"
    )
    pro: Agent = Agent()
    con: Agent = Agent()
    start: Start = Start()
    evidence: Evidence = Evidence()
    dialogue: int = setting(6, "latest messages shown to a speaker", ge=0, le=1000)
    debater: Choice = setting(Choice(name="belief_engine"), "model of an agent's stance")
    speaker: Choice = setting(Choice(name="bank"), "speaker of the agents")
    scripted: Choice = setting(Choice(name="scripted"), "speaker of the opponent `scripted`")
    judge: Choice = setting(Choice(name="bank"), "judge that reads stances from texts alone")
    model: Model = Model()
    serving: Serving = Serving()

    def profile(self, side: int) -> tuple[float, float]:
        """Return (u, a) of the agent of a side: its own, else by the pairing, else the common values.

        >>> Debates(pairing="open/stubborn").profile(CON)
        (0.1, 0.8)
        """
        own = self.agent(side)
        words = self.pairing.split("/")
        uptake, anchoring = PROFILES[words[side]] if self.pairing else (self.uptake, self.anchoring)
        return (uptake if own.uptake is None else own.uptake, anchoring if own.anchoring is None else own.anchoring)

    def agent(self, side: int) -> Agent:
        """Return the settings of the agent of a side alone."""
        return self.pro if side == PRO else self.con

    def wanted(self, side: int) -> float:
        """Return the intended initial stance S0, in [-1, 1], of the agent of a side."""
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
"""Short names of settings, for ``--set`` and ``--vary``."""
