"""``townsquare check expression``: whether what a speaker says shows the stance that it says it from."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import number, picked, show, show_json


def expression(
    *topics: Annotated[str, Parameter(name="TOPIC")],
    levels: options.Whole = 21,
    trials: options.Whole = 3,
    sets: options.DebateSets = None,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Vary the stance of a speaker, judge only the text, and regress the judged on the given stance.

    Correlation r and slope are printed beside those of the Belief Engine paper, which reports no intercept.

    Parameters
    ----------
    levels
        Number of stances, evenly spaced from -1 to 1.
    trials
        Texts per stance and topic.
    topics
        Bundled topics or files of arguments; default: all ten.
    """
    from townsquare.beliefs.evidence.bank_files import bundled_topics
    from townsquare.cli.calls import show_servers
    from townsquare.core.words import with_interval
    from townsquare.debate import expression as check
    from townsquare.debate.resolve import resolve_debates
    from townsquare.debate.start import asks
    from townsquare.settings.layers import parse_set

    listed = list(topics) or [topic.slug for topic in bundled_topics()]
    layers = [parse_set(text) for text in sets or ()]
    resolved = resolve_debates(*layers, {"topic": listed[0]})
    show_servers([resolved.settings] if asks(resolved) else [])
    with shown.progress(len(listed), "judging texts, topic by topic") as progress:
        result = check.expression(layers, listed, levels, trials, progress.at)
    line = result.line
    if shown.as_json:
        facts = picked(line, "r", "p", "slope", "slope_low=low", "slope_high=high", "intercept")
        facts |= {"topics": listed, "texts": line.n + result.unscored, "unread": result.unscored}
        return show_json({"event": "result", **facts, "paper": {"r": check.PAPER_R, "slope": check.PAPER_SLOPE}})
    slope = with_interval(line.slope, line.low, line.high, partial(number, digits=3))
    rows = [
        ("r", number(line.r, 3), f"{check.PAPER_R:g}"),
        ("slope", slope, f"{check.PAPER_SLOPE:g}"),
        ("intercept", number(line.intercept, 2), "not reported"),
        ("texts", number(line.n), "not reported"),
        ("texts without a stance", number(result.unscored), "not reported"),
    ]
    show("", rows, (str, "", "here", "paper"), words=[""])
    print("The paper's speakers and judge are language models. The default judge knows the arguments of the bank and")
    print("checks whether a text fits the stance; --set judge=embedded uses a judge that has not seen them.")
    return 0
