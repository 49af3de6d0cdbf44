"""The answer of one run: what happened, who moved most, what to distrust."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.causes.mover import largest_change, with_posts
from townsquare.analysis.clock import clock_of, in_words
from townsquare.analysis.contract import Reads, section_over_time, setting
from townsquare.analysis.facts.check import check_run
from townsquare.analysis.moderation import moderated, moderation
from townsquare.analysis.posts import measured_roots
from townsquare.core.enums import AgentKind
from townsquare.core.words import count, number, percent, printable, significant
from townsquare.experiments.answer import Answer, title_of
from townsquare.experiments.arms import RESPONSES, STRATEGIES
from townsquare.experiments.cautions import ends_in_warm_up, misleading, of_moderation, warnings

OTHER_FACTS = "“townsquare check facts” adds facts of sittings, in which people are asked as in a survey."
"""Which facts the answer does not count."""


def answer_run(run: Reads, outcome: Mapping[str, float]) -> Answer:
    """Return the answer of one run.

    Parameters
    ----------
    run : Reads
        Best a :class:`~townsquare.analysis.contract.CachedRun`.
    outcome : mapping
        Of :func:`~townsquare.analysis.outcomes.outcomes`.
    """
    moved = largest_change(run) if run.last_step > 0 else None
    doubts = [*warnings(run, outcome), *(misleading(run) if run.last_step > 0 else [])]
    doubts += of_moderation(run) if run.last_step > 0 and moderated(run) else []
    doubts.append("This is one run: compare arms over several seeds with “townsquare compare”.")
    mover = () if moved is None else tuple(with_posts(run, moved).lines())
    question = f"one run, seed {setting(run, 'seed', default='–')}"
    return Answer(title_of(run), question, tuple(_happened(run, outcome)), mover, tuple(doubts))


def _happened(run: Reads, outcome: Mapping[str, float]) -> list[str]:
    """Return what was run, engagement, moderation, belief change."""
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)
    people, first = persons.height, persons.filter(pl.col("born") == 0).height
    phases = map(_moderated_by, section_over_time(run, "moderation", "strategy"))
    how = f"with {', then '.join(words for words, _ in groupby(phases))}"
    who, clock = count(people, "simulated person", "simulated people"), clock_of(run)
    who += f" ({number(first)} at the start)" if first < people else ""
    steps = count(clock.last, "step")
    lasted = steps if clock.hours is None else f"{in_words(clock.last * clock.hours)} ({steps})"
    sentences = [f"{who[0].upper()}{who[1:]} read, posted and reacted over {lasted}, {how}."]
    if ends_in_warm_up(clock):
        warm_up = in_words(clock.warm_up * (clock.hours or 0.0))
        return [*sentences, f"Outcomes and published facts cover the time after the warm-up of {warm_up}: none here."]
    sentences += [_injected(run), _engagement(outcome), _marked(run), _moved(run, outcome)]
    facts = check_run(run) if run.last_step > 0 else None
    sentences += [f"Published facts: {facts.answer} {OTHER_FACTS}"] if facts else []
    return [sentence for sentence in sentences if sentence]


def _moderated_by(phase: Mapping[str, object]) -> str:
    name, response = str(phase.get("strategy", "none")), str(phase.get("response"))
    if name != "desk" or response not in RESPONSES:
        return STRATEGIES.get(name, name)
    return STRATEGIES["none"] if response == "none" else f"{RESPONSES[response]} by {STRATEGIES[name]}"


def _injected(run: Reads) -> str:
    injected = measured_roots(run).filter("injected")
    if not injected.height:
        return "No posts were injected."
    false = injected.filter(pl.col("veracity") == "false")
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)["agent"]
    by_people = false.filter(pl.col("author").is_in(persons.implode())).height
    from_whom = f" ({number(by_people)} from people, the others from sources)" if 0 < by_people < false.height else ""
    were, clock = "was" if injected.height == 1 else "were", clock_of(run)
    after = f" after the warm-up of {in_words(clock.warm_up * clock.hours)}" if clock.warm_up and clock.hours else ""
    return f"{count(injected.height, 'post')} {were} injected{after}, {number(false.height)} of them false{from_whom}."


def _engagement(outcome: Mapping[str, float]) -> str:
    true, false = outcome["engagement_true_per_post"], outcome["engagement_false_per_post"]
    if math.isnan(true) or math.isnan(false):
        return ""
    compared = "more engagement than" if false > true else "less engagement than"
    compared = compared if false != true else "as much engagement as"
    reached = [significant(outcome[f"reach_{word}_mean"], 2) for word in ("false", "true")]
    return (
        f"On average, a false post drew {compared} a true post ({significant(false, 2)} vs. {significant(true, 2)} "
        f"actions) and reached {reached[0]} vs. {reached[1]} people."
    )


def _marked(run: Reads) -> str:
    row = moderation(run).row(0, named=True)
    known = [(word, row[f"{word}_posts"]) for word in ("false", "true") if row[f"{word}_posts"]]
    if not moderated(run) or not known:
        return ""
    positive = {"false": row["tp"], "true": row["fp"]}
    marked = " and ".join(f"{percent(positive[word] / posts)} of the {word} posts" for word, posts in known)
    down = " and ".join(f"{row[f'{word}_removed']:,} of {posts:,} {word} posts" for word, posts in known)
    how = "verdict “false”, a shown note, or downranking"
    return f"Moderation marked {marked} as misleading ({how}) and took down {down}."


def _moved(run: Reads, outcome: Mapping[str, float]) -> str:
    sizes = {statement: outcome[f"absolute_shift.{name}"] for name, statement in statements(run).items()}
    known = {statement: size for statement, size in sizes.items() if not math.isnan(size)}
    if not known:
        return ""
    statement = max(known, key=lambda text: known[text])
    which = ", largest for" if len(known) > 1 else " for"
    shift = f"{significant(known[statement], 2)} on the scale from −1 to +1"
    return f"Belief change{which} “{printable(statement, 90)}”: a mean absolute shift of {shift}."
