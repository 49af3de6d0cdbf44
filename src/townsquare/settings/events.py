"""Settings of what happens to a public while it runs: events at a step, and treatments given to some agents by chance.

An event either sets settings from its step on, injects posts at once, or sends a message. See ``docs/events.md``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from townsquare.settings.base import AnyTruthWord, Friction, Section, Share, setting

Stance = Annotated[float, Field(ge=-1.0, le=1.0)]


class Inject(Section):
    """A shock: the next posts of the injection queue that fit, all at once."""

    posts: int = setting(..., "how many; the scenario must have that many left", ge=1)
    veracity: AnyTruthWord = setting("any", "only posts of this truth")
    source: str | None = setting(None, "only posts of this source, by its name")


def _or_all(schema: dict[str, Any]) -> None:
    """The word `all` is an audience too."""
    mapping = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"const": "all", "type": "string"}, mapping]})


class Audience(Section):
    """Who is sent a message: all, those assigned to a treatment, or a share drawn for good; both: who is in both."""

    model_config = ConfigDict(json_schema_extra=_or_all)

    treatment: str | None = setting(None, "agents assigned to the treatment of this name")
    share: Share | None = setting(None, "this share of the agents, by lasting draws")

    @model_validator(mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        return {} if value == "all" else value


class Message(Section):
    """A post that is put at the top of the feeds of its audience, and reaches others only if it is passed on."""

    text: str = setting(..., "what it says", min_length=1, max_length=10_000)
    source: str = setting(..., "who sends it: the name of one of the scenario's sources")
    stance: dict[str, Stance] = setting(dict, "what it says of propositions, by their names; none: it takes no stance")
    audience: Audience = setting(Audience, "`all`, `{treatment: NAME}` or `{share: 0.3}`")
    repeat: int = setting(1, "steps in which it is shown", ge=1, unit="steps")
    plausibility: Share = setting(0.5, "how believable a lay reader finds it")


class Event(Section):
    """One thing that happens at a step: exactly one of `set`, `inject` and `message`."""

    step: int = setting(..., "when: before the feeds of this step", ge=1, unit="step")
    set: dict[str, Any] | None = setting(None, "settings from this step on, as {moderation.strategy: community}")
    inject: Inject | None = setting(None, "a shock: many posts of the queue at once")
    message: Message | None = setting(None, "a message at the top of the feeds of an audience")

    @model_validator(mode="after")
    def _one_thing(self) -> Event:
        if sum(part is not None for part in (self.set, self.inject, self.message)) != 1:
            raise ValueError("give exactly one of `set`, `inject` and `message`; write several events for several")
        return self


class Effects(Section):
    """What is different for the agents that are assigned to a treatment."""

    labels: Literal["shown", "hidden"] | None = setting(None, "verdicts and notes, instead of `feed.show_labels`")
    friction: Friction = setting(dict, "as `actions.friction`; where both say something, the larger holds")
    others: int | None = setting(None, "rows from other accounts, instead of `feed.others`", ge=0, le=1000)


_NAME = "a name of 1 to 64 letters, digits, _ and -, which does not begin with -"


class Treatment(Section):
    """A treatment that each agent gets or does not get by a lasting draw of its own, recorded in `treatments`."""

    name: str = setting(..., "name for events and analyses", pattern=r"^\w[\w-]{0,63}$", allowed=_NAME)
    share: Share = setting(0.5, "chance that an agent is assigned")
    start: int = setting(1, "first step with the effects", ge=1, unit="step")
    effects: Effects = Field(default_factory=Effects)
