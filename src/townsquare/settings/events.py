"""Settings of what happens to a public while it runs: events at a step, and treatments given to some agents by chance.

An event either sets settings from its step on, injects posts at once, or sends a message. See ``docs/events.md``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from townsquare.settings.base import AnyTruthWord, Friction, Section, Share, setting

Stance = Annotated[float, Field(ge=-1.0, le=1.0)]


class Inject(Section):
    """A shock: the next matching posts of the injection queue, all at once."""

    posts: int = setting(..., "number of posts, at most those that are not yet injected", ge=1)
    veracity: AnyTruthWord = setting("any", "only posts with this veracity")
    source: str | None = setting(None, "only posts of this source")


def _or_all(schema: dict[str, Any]) -> None:
    """Allow the word `all` as an audience in the schema."""
    mapping = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"const": "all", "type": "string"}, mapping]})


class Audience(Section):
    """Who is sent a message: all, those assigned to a treatment, or a share drawn for good; both: who is in both."""

    model_config = ConfigDict(json_schema_extra=_or_all)

    treatment: str | None = setting(None, "agents assigned to this treatment")
    share: Share | None = setting(None, "a random share of the agents, drawn once for each message")

    @model_validator(mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        return {} if value == "all" else value


class Message(Section):
    """A post at the top of the feeds of its audience; others see it only if it is shared."""

    text: str = setting(..., "text of the message", min_length=1, max_length=10_000)
    source: str = setting(..., "sender: one of the scenario's sources")
    stance: dict[str, Stance] = setting(dict, "stance of the message by proposition; propositions left out: no stance")
    audience: Audience = setting(
        Audience, "`all` (both keys null), `{treatment: NAME}`, `{share: 0.3}`, or both keys: agents in both"
    )
    repeat: int = setting(1, "number of steps in which it is shown", ge=1, unit="steps")
    plausibility: Share = setting(0.5, "plausibility of the text to a lay reader")


def _or_at(schema: dict[str, Any]) -> None:
    """Allow ``at`` in the place of ``step`` in the schema."""
    schema.pop("required", None)


class Event(Section):
    """An event at a step: exactly one of `set`, `inject` and `message`."""

    model_config = ConfigDict(json_schema_extra=_or_at)

    step: int = setting(
        ..., "step of the event, before the feeds of that step; required, unless `at` is set", ge=1, unit="step"
    )
    at: str | None = setting(
        None, "instead of `step`: time since the start of the run, such as 2 d 6 h; needs `time.step_minutes`",
        exclude=True,
    )  # fmt: skip
    set: dict[str, Any] | None = setting(
        None, "settings from this step on, for example {moderation.strategy: community}"
    )
    inject: Inject | None = setting(None, "posts of the scenario that are injected at once")
    message: Message | None = setting(None, "a message to an audience")

    @model_validator(mode="after")
    def _one_thing(self) -> Event:
        if sum(part is not None for part in (self.set, self.inject, self.message)) != 1:
            raise ValueError("give exactly one of `set`, `inject` and `message`; write several events for several")
        return self


class Effects(Section):
    """Effects of a treatment on its assigned agents."""

    labels: Literal["shown", "hidden"] | None = setting(
        None, "whether verdicts and notes are shown, and notes offered for rating; unset: as `feed.show_labels`"
    )
    friction: Friction = setting(dict, "as `actions.friction`; the largest value applies")
    others: int | None = setting(None, "maximum rows from other accounts; unset: as `feed.others`", ge=0, le=1000)


_NAME = "a name of 1 to 64 letters, digits, _ and -, which does not begin with -"


class Treatment(Section):
    """A treatment to which agents are randomly assigned once, recorded in `treatments`."""

    name: str = setting(..., "name for events and analyses", pattern=r"^\w[\w-]{0,63}$", allowed=_NAME)
    share: Share = setting(0.5, "probability of assignment")
    among: dict[str, tuple[str, ...]] = setting(
        dict, "trait label -> answers: only people with one of these answers take part (for each trait named)"
    )
    start: int = setting(1, "first step with the effects", ge=1, unit="step")
    effects: Effects = Field(default_factory=Effects)
