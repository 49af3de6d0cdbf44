"""``check judge``: compare the embedded judges with arguments labeled by people.

Three methods. **as shipped** uses the fitted numbers as they come, which may have been fitted on the very topics of the
file: the report says on which. **in-topic** refits within the file, in five folds: each argument is judged by models
that saw others on its topic, and start from the shipped ones only on topics that those have not met. **topics held
out** refits on the other topics of the file only, so that nothing but the wording of the topic is known of it. How
texts are cut into passages is as shipped in all three.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.examples import Examples
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.humans.judges.argument_table import ArgumentTable, banks_by_topic, read_arguments
from townsquare.humans.judges.judge_folds import as_shipped, held_out, in_topic
from townsquare.humans.judges.judge_scores import Scores, baselines, score
from townsquare.humans.judges.judge_units import read_units

SHIPPED, IN_TOPIC, HELD_OUT = "as shipped", "in-topic", "topics held out"


class JudgeReport(NamedTuple):
    """Scores of judges and baselines.

    Attributes
    ----------
    place : str
        The file.
    n : int
        Arguments in it.
    topics : tuple of str
        Its topics.
    columns : dict of str to str
        Which column was read as what.
    overall : tuple of Scores
        Of each method and baseline, over all topics; correlations are pooled.
    by_topic : tuple of Scores
        Of each method on each topic.
    notices : tuple of str
        What a reader must know: which topics the judges were fitted on, what could not be done.
    """

    location: str
    n: int
    topics: tuple[str, ...]
    columns: dict[str, str]
    overall: tuple[Scores, ...]
    by_topic: tuple[Scores, ...]
    notices: tuple[str, ...]


def judge_report(path: Path, bank: Path | None = None, quality: str = "") -> JudgeReport:
    """Judge every argument of a file and compare with its labels.

    Parameters
    ----------
    path : Path
        A table of arguments; see :func:`townsquare.humans.judges.argument_table.read_arguments`.
    bank : Path, optional
        A table of other arguments on its topics, for **as shipped**.
    quality : str, optional
        The column of ratings.

    Raises
    ------
    DataError
        A table that cannot be read; a topic of the bank with an empty side.
    """
    table = read_arguments(path, quality)
    banks = banks_by_topic(read_arguments(bank)) if bank is not None else {}
    units = read_units(table)
    methods = {SHIPPED: as_shipped(table, units, banks)}
    if len(table.topics) > 1:
        methods[HELD_OUT] = held_out(table, units)
    general = methods.get(HELD_OUT)
    methods[IN_TOPIC] = in_topic(table, units, None if general is None else general.scores)
    verdicts = {name: methods[name].verdicts for name in (SHIPPED, IN_TOPIC, HELD_OUT) if name in methods}
    everything = np.arange(len(table.text), dtype=np.int64)
    methods_and_baselines = {**verdicts, **baselines(table)}
    overall = [score(name, "", table, verdict, everything) for name, verdict in methods_and_baselines.items()]
    pairs = product(table.topics, verdicts.items())
    by_topic = [score(name, topic, table, verdict, table.rows(topic)) for topic, (name, verdict) in pairs]
    head = table.location, len(table.text), table.topics, table.columns
    return JudgeReport(*head, tuple(overall), tuple(by_topic), _notices(table, banks))


def _notices(table: ArgumentTable, banks: dict[str, Examples]) -> tuple[str, ...]:
    known = fitted()
    notices = []
    for what, topics in (("polarity", known.polarity_topics), ("strength", known.strength_topics)):
        met = [topic for topic in table.topics if topic in topics]
        if met:
            which = f"{'all' if len(met) == len(table.topics) else len(met)} of the {len(table.topics)} topics"
            judge = f"the shipped {what} judge was fitted on {which} of this file"
            notices.append(f"{judge}: '{SHIPPED}' does not show how it does on new ones")
    unknown = int(np.isnan(table.side).sum())
    missing = [topic for topic in table.topics if banks and topic not in banks]
    facts = (
        (unknown, f"{unknown} of {len(table.text)} rows have no readable side: polarity is over the rest"),
        (not np.isfinite(table.quality).any(), "no column of ratings: strength is not compared"),
        (len(table.topics) == 1, "only one topic: nothing can be held out"),
        (not banks, f"without --bank, '{SHIPPED}' and '{HELD_OUT}' find claims by the words of the topic alone"),
        (missing, f"the bank has nothing on {len(missing)} topics, first {''.join(missing[:1])[:60]!r}"),
    )
    return (*notices, *(sentence for holds, sentence in facts if holds))
