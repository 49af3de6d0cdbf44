"""Checks of events and treatments; every problem names its event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from townsquare.core.documents import bundled_labels
from townsquare.core.registry import did_you_mean
from townsquare.core.words import seconds_of
from townsquare.settings.config import Config
from townsquare.settings.events import Message
from townsquare.settings.layers import leaves
from townsquare.settings.problems import Problem, shown

FIXED = {path: why for why, paths in bundled_labels("fixed_settings").items() for path in paths.split()}
"""Dotted path of a setting, or of a whole section, that no event can set -> why."""


def event_name(number: int, step: Any) -> str:
    """Return how messages call an event: its place in the list, from 1, and its step.

    >>> event_name(2, 8)
    'event 2 (step 8)'
    """
    return f"event {number} (step {step})" if isinstance(step, int) else f"event {number}"


def named(problem: Problem, events: Any) -> Problem:
    """Return the same problem; one inside the list of events says of which."""
    path = problem.path
    if len(path) < 2 or path[0] != "events" or not isinstance(path[1], int) or not isinstance(events, list | tuple):
        return problem
    event = events[path[1]]
    name = event_name(path[1] + 1, event.get("step") if isinstance(event, Mapping) else None)
    prefix, where = f"events.{path[1]}", ", ".join([name, *map(str, path[2:])])
    allowed = problem.allowed.replace(f"a setting of {prefix}", "a key of an event")
    return replace(problem, where=where, allowed=allowed, do=problem.do.replace(f"{prefix}.", ""))


def with_steps(merged: Mapping[str, Any], problems: list[Problem]) -> Any:
    """Return the events of settings, with the step of each time ``at``; what cannot be one becomes a problem."""
    events, time = merged.get("events"), merged.get("time")
    if not isinstance(events, list | tuple):
        return events
    minutes = time.get("step_minutes") if isinstance(time, Mapping) else None
    out = []
    for number, event in enumerate(events):
        if not isinstance(event, Mapping) or event.get("at") is None:
            out.append(event)
            continue
        path, at = ("events", number, "at"), event["at"]
        seconds, step = seconds_of(str(at)), 1
        if "step" in event:
            problems.append(Problem(path, "a time and a step", "one of them"))
        elif not isinstance(minutes, int) or minutes < 1:
            do = "set time.step_minutes, such as 60, or give the step"
            problems.append(Problem(path, shown(at), "a time where steps have a length", do))
        elif seconds is None:
            problems.append(Problem(path, shown(at), "a time since the start of the run, such as 2 d 6 h or 90 min"))
        else:
            step = int(seconds // (60 * minutes)) + 1
        out.append({"step": step, **{key: value for key, value in event.items() if key != "at"}})
    return out


def problems_of(config: Config) -> Iterator[Problem]:
    """Yield what does not fit together in the clock, and in checked events and treatments."""
    days, known = config.memory.days_per_step, config.time.step_hours / 24
    if config.time.step_minutes is not None and days not in (1.0, known):
        do = "leave it out: time.step_minutes is the clock of memory too"
        yield Problem(("memory", "days_per_step"), shown(days), f"{known:.4g}, the length of a step in days", do)
    names = [treatment.name for treatment in config.treatments]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield Problem(("treatments", number, "name"), repr(name), "a unique name")
    sent: set[tuple[int, str]] = set()
    for number, event in enumerate(config.events):
        if event.set is not None:
            yield from _fixed(number, event.set)
        if event.message is not None:
            yield from _audience(number, event.message, names)
            if (event.step, event.message.text) in sent:
                path = ("events", number, "message", "text")
                yield Problem(path, shown(event.message.text), "each message once per step")
            sent.add((event.step, event.message.text))


def _fixed(number: int, layer: Mapping[str, Any]) -> Iterator[Problem]:
    for path, value in leaves(layer):
        for fixed, why in FIXED.items():
            if f"{path}.".startswith(f"{fixed}."):
                do = f"{fixed} cannot change during a run: {why}"
                yield Problem(("events", number, "set", path), shown(value), do=do)


def _audience(number: int, message: Message, names: list[str]) -> Iterator[Problem]:
    name = message.audience.treatment
    if name is not None and name not in names:
        path = ("events", number, "message", "audience", "treatment")
        allowed = ", ".join(names) or "no treatment, as `treatments` has none"
        yield Problem(path, repr(name), allowed, did_you_mean(name, names))
