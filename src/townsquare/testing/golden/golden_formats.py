"""The four formats of golden files: one JSON object per line, made by running SimSwarm's published functions.

``update`` holds calls of its belief update, several rounds a case; ``apply`` whole rounds of a small public; ``stance``
texts with their score; ``bands`` numbers with their band. Keys that are not named here are ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field

from townsquare.core.errors import DataError
from townsquare.core.tabular import jsonl_objects
from townsquare.settings.problems import validated

Count = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class Beliefs(BaseModel):
    """Beliefs of one agent, by topic and by author; empty where it was never touched."""

    pos: dict[str, float]
    conf: dict[str, float]
    trust: dict[str, float]


class UpdateStart(Beliefs):
    """Beliefs before the first round, and the hashes of seen posts."""

    exp: list[str] = Field(default_factory=list)
    exp_gen: tuple[str, Annotated[int, Field(ge=0, le=10**6)]] | None = None


class UpdateResult(BaseModel):
    """Beliefs after a round, for the topic of the case."""

    pos: float
    conf: float
    trust: dict[str, float]
    exp_n: int
    exp_sha: str | None = None


class UpdateRound(BaseModel):
    """One call: posts as (author, hash, stance, likes), own likes and dislikes."""

    posts: list[tuple[str, str, float, Count]]
    ol: Count
    od: Count
    out: UpdateResult


class UpdateCase(BaseModel):
    """One agent over several rounds."""

    topic: str
    init: UpdateStart
    rounds: list[UpdateRound]


class ActionArguments(BaseModel):
    """Arguments of an action, as far as they matter here."""

    text: str | None = None
    content: str | None = None


class LoggedAction(BaseModel):
    """One action of the log."""

    agent_id: str
    agent_name: str
    action_type: str
    args: ActionArguments
    success: bool
    post_id: str | None


class ApplyRound(BaseModel):
    """One round: the log, (likes, dislikes) by post, and every agent's belief after it."""

    round: int
    records: list[LoggedAction]
    likes: dict[str, tuple[Count, Count]]
    out: dict[str, Beliefs]


class ApplyCase(BaseModel):
    """A small public, as (id, display name) each, over several rounds."""

    agents: list[tuple[str, str]]
    topic: str = "topic"
    rounds: list[ApplyRound]


class StanceCase(BaseModel):
    """One text and its score."""

    text: str
    stance: float


class BandsCase(BaseModel):
    """A position and a confidence (null: none held) with the numbers of their bands."""

    pos: float
    conf: float | None
    pos_band: int
    conf_band: int


FORMATS: dict[str, tuple[type[BaseModel], frozenset[str]]] = {
    "update": (UpdateCase, frozenset({"init", "rounds"})),
    "apply": (ApplyCase, frozenset({"agents", "rounds"})),
    "bands": (BandsCase, frozenset({"pos_band", "conf_band"})),
    "stance": (StanceCase, frozenset({"text", "stance"})),
}
"""Model of a line, and the keys by which the first line gives the format away."""

Case = TypeVar("Case", bound=BaseModel)


def kind_of(path: Path) -> str:
    """Return which of the four formats a file has, by its first line.

    Raises
    ------
    DataError
        If the file cannot be read, is empty, or starts with anything else.
    """
    for number, case in jsonl_objects(path):
        keys = set(case)
        for kind, (_, marks) in FORMATS.items():
            if marks <= keys:
                return kind
        wanted = "; ".join(f"{kind}: {', '.join(sorted(marks))}" for kind, (_, marks) in FORMATS.items())
        raise DataError(f"{path}, line {number}", got=f"keys {', '.join(sorted(keys))}", allowed=wanted)
    raise DataError(str(path), got="no lines", allowed="one JSON object per line")


def read(path: Path, model: type[Case]) -> list[tuple[int, Case]]:
    """Return all cases with their line numbers, counted from 1; empty lines are skipped.

    Raises
    ------
    DataError
        Naming file and line, for the first line that is no such case.
    """
    return [(number, validated(model, case, f"{path}, line {number}")) for number, case in jsonl_objects(path)]
