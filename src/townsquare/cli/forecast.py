"""``townsquare forecast`` and ``townsquare prompts``: what a language model would be asked, before it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, show_json, table

Like = Annotated[Path | None, Parameter(help="A recorded run whose replies say how long replies are.")]
Sample = Annotated[int, Parameter(help="Agents a step whose questions are put together, at most.")]


def forecast(
    target: options.Target = None,
    /,
    *,
    agents: options.Agents = None,
    steps: options.Steps = None,
    seed: options.Seed = None,
    sets: options.Sets = None,
    like: Like = None,
    sample: Sample = 200,
    as_json: options.AsJson = False,
) -> int:
    """Estimate calls, tokens and cost of a run with a language model; asks none.

    The run is executed with the embedded policy, and its questions are really put together. Lengths of replies are
    assumed unless --like names a recorded run.
    """
    from dataclasses import asdict

    from townsquare.core.errors import SettingError
    from townsquare.experiments.forecast import Amount, agent_step
    from townsquare.experiments.forecast import forecast as estimate
    from townsquare.models import usage
    from townsquare.record.run import Run
    from townsquare.scenario.settings import resolve_for
    from townsquare.simulation.model_calls import asks

    scenario, file = options.split_target(target)
    settings = resolve_for(scenario, file, sets or (), agents=agents, steps=steps, seed=seed)
    if not asks(settings):
        raise SettingError(
            "policy", got=settings.member("policy"), do="no language model is asked in this run: add `--set policy=llm`"
        )
    if sample < 2:
        raise SettingError("--sample", got=str(sample), allowed="at least 2")
    found = estimate(settings, sample=sample, like=Run.open(like) if like is not None else None)
    date = usage.of(settings.config.serving.prices).date
    if as_json:
        rows = [
            asdict(one)
            | {name: getattr(one, name)._asdict() for name in ("tokens_in", "tokens_out")}
            | {"usd": one.usd._asdict() if one.usd else None}
            for one in found
        ]
        each = {name: amount._asdict() for name, amount in agent_step(found).items()}
        show_json({"model": settings.config.model.name, "prices_of": date, "purposes": rows, "agent_step": each})
        return 0

    def shown(amount: Amount | None, digits: int = 0) -> str:
        if amount is None:
            return "no price"
        return f"{amount.expected:,.{digits}f} ({amount.low:,.{digits}f} to {amount.high:,.{digits}f})"

    def total(name: str) -> Amount | None:
        amounts = [getattr(one, name) for one in found]
        return None if None in amounts else Amount(*(sum(ends) for ends in zip(*amounts, strict=True)))

    lines = [
        (one.purpose, f"{one.calls:,.0f}", shown(one.tokens_in), shown(one.tokens_out), shown(one.usd, 2))
        for one in found
    ]
    calls = sum(one.calls for one in found)
    lines.append(
        ("all", f"{calls:,.0f}", shown(total("tokens_in")), shown(total("tokens_out")), shown(total("usd"), 2))
    )
    heads = ("purpose", "calls", "tokens in", "tokens out", "USD")
    console().print(table("", heads, lines, right=heads[1:]))
    if each_step := agent_step(found):
        told, said = (shown(each_step[name]) for name in ("tokens_in", "tokens_out"))
        print(f"an agent takes its turn in a step for {told} tokens in and {said} out")
    print(f"model {settings.config.model.name}; prices of {date}; tokens by characters / 4")
    return 0


def prompts_list(*, as_json: options.AsJson = False) -> int:
    """List the prompts, and the digest that stands in a run's identity."""
    from townsquare.models.prompts.filling import templates
    from townsquare.settings.named_files import prompts_digest

    names = sorted(templates())
    if as_json:
        show_json({"prompts": names, "digest": prompts_digest()})
    else:
        print("\n".join(names))
        print(f"digest {prompts_digest()}")
    return 0


Agent = Annotated[int | None, Parameter(help="Whose question; any agent's if not given.")]
Step = Annotated[int, Parameter(help="In which step.")]


def prompts_show(
    name: str,
    target: options.Target = None,
    /,
    *,
    agent: Agent = None,
    step: Step = 3,
    agents: options.Agents = 50,
    seed: options.Seed = None,
    sets: options.Sets = None,
    raw: Annotated[bool, Parameter(negative="", help="The file itself, with its $places.")] = False,
) -> int:
    """Print a prompt, filled in as a run of a scenario would put it to the model.

    The run is executed up to the step with the embedded policy in the model's place.
    """
    from townsquare.experiments.forecast import prompt_of
    from townsquare.models.prompts.filling import template
    from townsquare.scenario.settings import resolve_for

    text = template(name)
    if raw:
        print(text.template, end="")
        return 0
    scenario, file = options.split_target(target)
    asked: tuple[str, ...] = (
        "policy=llm", "policy.posts_per_step=1", "memory.reflect_every=1", "moderation.strategy=hybrid",
    )  # fmt: skip
    asked += ("moderation.checker=model", "memory.reflection=model", "model=fake")
    settings = resolve_for(scenario, file, (*asked, *(sets or ())), agents=agents, seed=seed, steps=max(step, 1))
    found = prompt_of(settings, name, -1 if agent is None else agent, step)
    if found is None:
        complain(f"nobody is asked {name!r} in step {step} of this run; --raw prints the file", kind="note")
        return 1
    print("\n\n".join(message.content for message in found.messages))
    return 0
