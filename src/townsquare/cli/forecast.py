"""``townsquare forecast`` and ``townsquare prompts``: what a language model would be asked, before it is asked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import answer, complain, show, show_json


def forecast(
    target: options.Target = None,
    /,
    *,
    chosen: options.SeededSize = options.SEEDED,
    like: Path | None = None,
    sample: Annotated[int, Parameter(converter=partial(options.whole, least=2))] = 200,
    as_json: options.AsJson = False,
) -> int:
    """Estimate calls, tokens and cost of a run with a language model, without calling one.

    The settings must name the model, as in `--set policy=llm --set model=NAME`. The run is simulated
    with the statistical policy in place of the model, and its prompts are built. Reply lengths are
    assumed unless --like names a recorded run.

    Parameters
    ----------
    like
        A recorded run whose reply lengths are used.
    sample
        Maximum number of agents per step whose prompts are built.
    """

    from townsquare.core.errors import SettingError
    from townsquare.experiments.forecast import Amount, agent_step
    from townsquare.experiments.forecast import forecast as estimate
    from townsquare.models import usage
    from townsquare.record.run import Run
    from townsquare.simulation.model_calls import asks

    settings = chosen.settings(target)
    if not asks(settings):
        do = "this run calls no language model: add `--set policy=llm`"
        raise SettingError("policy", got=settings.member("policy"), do=do)
    purposes = estimate(settings, sample=sample, like=Run.open(like) if like is not None else None)
    date = usage.of(settings.config.serving.prices).date
    amounts = ("tokens_in", "tokens_out", "usd")
    if as_json:
        facts = {"model": settings.config.model.name, "prices_of": date}
        return show_json({**facts, "purposes": purposes, "agent_step": agent_step(purposes)})

    def shown(amount: Amount | None, digits: int = 0) -> str:
        if amount is None:
            return "no price"
        return f"{amount.expected:,.{digits}f} ({amount.low:,.{digits}f} to {amount.high:,.{digits}f})"

    def total(name: str) -> Amount | None:
        each = [getattr(purpose, name) for purpose in purposes]
        return None if None in each else Amount(*(sum(ends) for ends in zip(*each, strict=True)))

    lines = [(purpose.purpose, purpose.calls, *(getattr(purpose, name) for name in amounts)) for purpose in purposes]
    lines.append(("all", sum(purpose.calls for purpose in purposes), *(total(name) for name in amounts)))
    show(
        "", lines, (str, "purpose"), ("{:,.0f}".format, "calls"), (shown, "tokens in", "tokens out"),
        (partial(shown, digits=2), "USD"),
    )  # fmt: skip
    if each_step := agent_step(purposes):
        tokens_in, tokens_out = (shown(each_step[name]) for name in ("tokens_in", "tokens_out"))
        turn = "agent and step" if settings.config.time.step_minutes is None else "session"
        print(f"tokens per {turn}: {tokens_in} in, {tokens_out} out")
    print(f"model {settings.config.model.name}; prices of {date}; tokens = characters / 4")
    print("In parentheses: low and high estimates.")
    return 0


def prompts_list(*, as_json: options.AsJson = False) -> int:
    """List the prompts, and their digest, which is part of a run's identity."""
    from townsquare.models.prompts.filling import templates
    from townsquare.settings.named_files import prompts_digest

    names = sorted(templates())
    facts = {"prompts": names, "digest": prompts_digest()}
    return answer(facts, *names, f"digest {prompts_digest()}", as_json=as_json)


_WITH_EVERY_PROMPT = (
    "policy=llm", "policy.posts_per_step=1", "memory.reflect_every=1", "moderation.strategy=hybrid",
    "moderation.checker=model", "memory.reflection=model", "model=fake",
)  # fmt: skip


def prompts_show(
    name: str,
    target: options.Target = None,
    /,
    *,
    agent: options.Whole | None = None,
    step: options.Whole = 3,
    agents: options.Agents = 50,
    seed: options.Seed = None,
    sets: options.Sets = None,
    raw: bool = False,
) -> int:
    """Print a prompt as a run of a scenario would send it to the model.

    The run is simulated up to the step with the statistical policy in place of the model.

    Parameters
    ----------
    name
        A name from `townsquare prompts list`.
    agent
        The agent's number; default: any agent.
    step
        The step.
    raw
        Print the template itself, with its $placeholders.
    """
    from townsquare.experiments.forecast import prompt_of
    from townsquare.models.prompts.filling import template

    text = template(name)
    if raw:
        print(text.template, end="")
        return 0
    given = [*_WITH_EVERY_PROMPT, *(sets or ())]
    settings = options.SeededSize(agents=agents, steps=max(step, 1), seed=seed, sets=given).settings(target)
    request = prompt_of(settings, name, -1 if agent is None else agent, step)
    if request is None:
        complain(f"no agent gets the prompt {name!r} in step {step}; --raw prints the template", kind="note")
        return 1
    print("\n\n".join(message.content for message in request.messages))
    return 0
