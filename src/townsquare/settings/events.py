"""Settings of what happens to a public while it runs: events at a step, and treatments given to some agents by chance.

An event either sets settings from its step on, injects posts at once, or sends a message. See ``docs/events.md``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from townsquare.settings.base import AnyTruthWord, Friction, Section, Share

_STEP: JsonDict = {"unit": "step"}
Stance = Annotated[float, Field(ge=-1.0, le=1.0)]


class Inject(Section):
    """A shock: the next posts of the injection queue that fit, all at once."""

    posts: int = Field(ge=1, description="how many; the scenario must have that many left")
    veracity: AnyTruthWord = Field("any", description="only posts of this truth")
    source: str | None = Field(None, description="only posts of this source, by its name")


def _or_all(schema: dict[str, Any]) -> None:
    """The word `all` is an audience too."""
    mapping = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"const": "all", "type": "string"}, mapping]})


class Audience(Section):
    """Who is sent a message: all, those assigned to a treatment, or a share drawn for good; both: who is in both."""

    model_config = ConfigDict(json_schema_extra=_or_all)

    treatment: str | None = Field(None, description="agents assigned to the treatment of this name")
    share: Share | None = Field(None, description="this share of the agents, by lasting draws")

    @model_validator(mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        return {} if value == "all" else value


class Message(Section):
    """A post that is put at the top of the feeds of its audience, and reaches others only if it is passed on."""

    text: str = Field(min_length=1, max_length=10_000, description="what it says")
    source: str = Field(description="who sends it: the name of one of the scenario's sources")
    stance: dict[str, Stance] = Field(
        default_factory=dict, description="what it says of propositions, by their names; none: it takes no stance"
    )
    audience: Audience = Field(default_factory=Audience, description="`all`, `{treatment: NAME}` or `{share: 0.3}`")
    repeat: int = Field(1, ge=1, description="steps in which it is shown", json_schema_extra={"unit": "steps"})
    plausibility: Share = Field(0.5, description="how believable a lay reader finds it")


class Event(Section):
    """One thing that happens at a step: exactly one of `set`, `inject` and `message`."""

    step: int = Field(ge=1, description="when: before the feeds of this step", json_schema_extra=_STEP)
    set: dict[str, Any] | None = Field(
        None, description="settings that hold from this step on, as {moderation.strategy: community}"
    )
    inject: Inject | None = Field(None, description="a shock: many posts of the queue at once")
    message: Message | None = Field(None, description="a message at the top of the feeds of an audience")

    @model_validator(mode="after")
    def _one_thing(self) -> Event:
        if sum(part is not None for part in (self.set, self.inject, self.message)) != 1:
            raise ValueError("give exactly one of `set`, `inject` and `message`; write several events for several")
        return self


class Effects(Section):
    """What is different for the agents that are assigned to a treatment."""

    labels: Literal["shown", "hidden"] | None = Field(
        None, description="show or hide verdicts and notes, whatever `feed.show_labels` says"
    )
    friction: Friction = Field(
        default_factory=dict, description="as `actions.friction`; where both say something, the larger holds"
    )
    others: int | None = Field(None, ge=0, le=1000, description="rows from other accounts, instead of `feed.others`")


class Treatment(Section):
    """A treatment that each agent gets or does not get by a lasting draw of its own, recorded in `treatments`."""

    name: str = Field(
        pattern=r"^\w[\w-]{0,63}$",
        description="by which events and analyses call it",
        json_schema_extra={"allowed": "a name of 1 to 64 letters, digits, _ and -, which does not begin with -"},
    )
    share: Share = Field(0.5, description="chance that an agent is assigned")
    start: int = Field(1, ge=1, description="first step with the effects", json_schema_extra=_STEP)
    effects: Effects = Field(default_factory=Effects)
