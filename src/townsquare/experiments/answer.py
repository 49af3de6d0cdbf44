"""The answer of a comparison, or of a run: what happened, who moved most, what to distrust.

It is made from recorded runs alone. The command line, the pages and Python show the same sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.causes.mover import Mover, with_posts
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import CachedRun, Reads, setting
from townsquare.analysis.moderation import moderated
from townsquare.analysis.outcomes import describe, is_outcome
from townsquare.core.errors import TownsquareError
from townsquare.core.words import count, listed, number, printable, significant
from townsquare.experiments.arms import NOTHING_LEFT_OUT, RESPONSES, STRATEGIES, labels
from townsquare.experiments.cautions import ends_in_warm_up, misleading, of_moderation
from townsquare.experiments.exposed import LITTLE, TABLE, exposed_effects, exposed_sentences
from townsquare.experiments.extracts import MOVERS_EXTRACT
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.paired import beside_baseline, paired
from townsquare.experiments.primary import check_outcome, suggested
from townsquare.experiments.second_rule import Runs, under_second_rule
from townsquare.record.run import Run
from townsquare.settings.resolve import resolve
from townsquare.simulation.scenario_copy import recorded_scenario

LEVEL = 0.05
MOST_ARMS = 6
"""Arms with a sentence of their own."""
MOST_SECONDARY = 3
MOST_CAUTIONS = 3
"""Reasons to distrust that :attr:`Answer.lines` names; pages name all."""
MOST_LINES = 15
"""Of :attr:`Answer.lines`, which leave cautions out to fit, but never all."""
_SCALES = {"stance", "accuracy, 0 to 1", "proportion", "ratio", "0 or 1", "0 to 1"}
"""Units without a natural zero, or with an upper bound: differences are not given in percent of the baseline."""
_SIGNED = {"engagement_gap_per_post"}
"""Outcomes that may be negative: no percent of the baseline either."""
FEW_SEEDS = 5
_UNCORRECTED = "suggestive"
MOST_LOOKED_AT = 8
"""Arms of a first look; more make no line that one can read."""
_EFFECTS = {
    **dict.fromkeys(("role", "outcome", "title", "unit", "direction", "arm", "label"), pl.String),
    **dict.fromkeys(("base", "mean", "difference", "low", "high", "p", "p_holm"), pl.Float64),
    "pairs": pl.Int64, "verdict": pl.String,
}  # fmt: skip
_VARIED = {"moderation.strategy": "moderation strategies", "moderation.response": "responses of moderation",
           "leave_out": "what is left out"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What a comparison or a run says, for people.

    Attributes
    ----------
    title : str
        Title of the scenario.
    question : str
        What was varied, over how many seeds; of a run, its size.
    sentences : tuple of str
        The findings: the primary outcome first, arm by arm, then beliefs, then secondary outcomes.
    mover : tuple of str
        The person who moved most, and the posts behind it, one a line.
    cautions : tuple of str
        What could mislead.
    primary : str
        Name of the primary outcome; "" for a run.
    baseline : str
        What the first arm is called.
    effects : DataFrame
        One row per outcome and arm other than the baseline: ``role`` (``primary``, ``secondary``), ``outcome``,
        ``title``, ``unit``, ``direction``, ``arm``, ``label``, ``base`` and ``mean`` (over the seeds in which both are
        defined), ``difference`` with ``low``, ``high`` (paired by seed, 95% t interval), ``p``, ``p_holm`` (corrected
        among outcomes of the same role), ``pairs``, ``verdict`` (``better``, ``worse``, ``higher``, ``lower``, ``no
        detectable effect``, ``suggestive``: p < 0.05 but not with Holm's correction, ``no interval``). Without a
        ``p``, because the difference is the same with every seed, the verdict is its sign.
        The primary outcome comes first, then others by size of the effect over the width of its interval.
    exposed : DataFrame
        Effects on the beliefs of those who see most false posts:
        :func:`~townsquare.experiments.exposed.exposed_effects`.
    """

    title: str
    question: str
    sentences: tuple[str, ...]
    mover: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    primary: str = ""
    baseline: str = ""
    effects: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_EFFECTS))
    exposed: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLE))

    @property
    def lines(self) -> list[str]:
        """The answer as lines of text, untrusted names and texts included; as many cautions as fit a screen."""
        room = MOST_LINES - 1 - len(self.sentences) - len(self.mover)
        doubts = [f"Caution: {sentence}" for sentence in self.cautions[: max(1, min(room, MOST_CAUTIONS))]]
        more = len(self.cautions) - len(doubts)
        doubts[-1:] = [f"{doubts[-1]} {count(more, 'more caution')} in the report."] if more > 0 else doubts[-1:]
        return [f"{self.title}: {self.question}", *self.sentences, *self.mover, *doubts]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def answer(experiment: Experiment, outcome: str | None = None, *, rules: int = 2) -> Answer:
    """Return the answer of a comparison.

    Parameters
    ----------
    experiment : Experiment
        With at least one finished run.
    outcome : str, optional
        The primary outcome; by default the one that the comparison names, or else its runs suggest.
    rules : int
        2: the largest effect on a mean belief also under a second belief rule, executed on the recorded exposures
        (:mod:`townsquare.experiments.second_rule`); 1: under the rule of the runs alone.

    Raises
    ------
    UnknownName
        No run has such an outcome.
    """
    frame = experiment.outcomes
    short = labels(experiment.arms)
    base, seeds = short[experiment.baseline], count(len(experiment.seeds), "seed")
    runs = {(run.arm, run.seed): Run.open(experiment.folder / run.folder) for run in experiment.finished}
    first = next(iter(runs.values()))
    if experiment.baseline not in frame["arm"]:
        sentence = f"No run of the baseline {base} is finished, so nothing can be compared."
        return Answer(title_of(first), f"{seeds} per arm.", (sentence,), baseline=base)
    primary = outcome or experiment.primary or suggested(frame)
    primary = check_outcome(primary, [name for name in frame.columns if name not in ("arm", "seed")])
    by_name = {name: printable(text.removesuffix("."), 90) for name, text in statements(first).items()}
    made = effects(experiment, primary, by_name)
    what = describe(primary, by_name)
    better = [] if what.direction == "neither" else [what.direction]
    of_base = made.filter(pl.col("role") == "primary")["base"].head(1).to_list()
    level = [f"{significant(mean)}{'' if what.unit in _SCALES else f' {what.unit}'} under {base}" for mean in of_base]
    varied = listed([_VARIED.get(key, key) for key in experiment.vary])
    asked = f"{varied} compared with {base}, {seeds} per arm" if len(experiment.arms) > 1 else f"one arm, {seeds}"
    about = "; ".join([*better, *level])
    question = f"{asked}. Primary outcome: {as_noun(what.title, primary)}{f' ({about})' if about else ''}."
    exposed = exposed_effects(runs, experiment.baseline)
    second = _second(made, runs, experiment.baseline, by_name) if rules == 2 else []
    if len(experiment.arms) > 1:
        of_exposed = exposed_sentences(exposed, short, by_name, warm_up=clock_of(first).warm_up > 0)
        of_beliefs = [] if ends_in_warm_up(clock_of(first)) else _beliefs(made, base)  # shifts are then 0 by definition
        sentences = [*_primary(made), *of_beliefs, *second, *of_exposed, *_secondary(made)]
    else:
        mean = significant(frame.select(pl.col(primary).fill_nan(None).mean()).item())
        alone = "With one arm, nothing is compared: vary a setting to add arms (--vary)."
        sentences = [f"{alone} Mean over {seeds}: {mean}{'' if what.unit in _SCALES else f' {what.unit}'}."]
    doubts = tuple(_cautions(experiment, made, runs, short, second_rule=bool(second)))
    moved = _mover_lines(experiment, short)
    return Answer(title_of(first), question, tuple(sentences), moved, doubts, primary, base, made, exposed)


def first_look(experiment: Experiment) -> str:
    """Return the primary outcome of each arm with the first seed; "" with one seed or many arms, or if one has none."""
    seeds, primary = experiment.seeds, experiment.primary
    by_arm = {run.arm: run.outcomes.get(primary, math.nan) for run in experiment.finished if run.seed == seeds[0]}
    by_arm = {arm: value for arm, value in by_arm.items() if not math.isnan(value)}
    if len(seeds) == 1 or not len(by_arm) == len(experiment.arms) <= MOST_LOOKED_AT:
        return ""
    what, short = describe(primary), labels(experiment.arms)  # runs may stand on another machine: no file is read
    unit = "" if what.unit in _SCALES else f" {what.unit}"
    values = [f"{significant(by_arm[arm.name])}{unit} under {short[arm.name]}" for arm in experiment.arms]
    about = f"First look (seed {seeds[0]}, the first of {len(seeds)} seeds, without an interval)"
    return f"{about}, {as_noun(what.title, primary)}: {listed(values)}."


def title_of(run: Reads) -> str:
    """Return the title of a run's scenario, with the steps if these are fewer than the scenario's; else its name."""
    try:
        scenario = recorded_scenario(resolve(run.settings), getattr(run, "folder", None))
        steps, own = setting(run, "steps", default=0), scenario.settings.get("steps", 0)
        return printable(scenario.title, 80) + (f" (the first {steps} of {own} steps)" if 0 < steps < own else "")
    except TownsquareError:
        return printable(str(setting(run, "scenario", default="a run")).rpartition("/")[2], 80)


def effects(experiment: Experiment, primary: str, by_name: Mapping[str, str], *, others: bool = True) -> pl.DataFrame:
    """Return :attr:`Answer.effects`, or those on the primary outcome alone; not of measures that are not installed."""
    frame, short = experiment.outcomes, labels(experiment.arms)
    names = [name for name in frame.columns if name not in ("arm", "seed", primary) and is_outcome(name)]
    rows = []
    for role, asked in (("primary", [primary]), ("secondary", names if others else [])):
        compared = paired(frame, experiment.baseline, asked)
        values = {(name, arm): both for name, arm, *both in beside_baseline(frame, experiment.baseline, asked)}
        for row in compared.filter(pl.col("arm") != experiment.baseline).drop_nans("difference").to_dicts():
            what = describe(row["outcome"], by_name)
            about = {"role": role, "title": what.title, "unit": what.unit, "direction": what.direction}
            here, base = values[row["outcome"], row["arm"]]
            means = (math.fsum(arm[seed] for seed in here.keys() & base) / row["pairs"] for arm in (base, here))
            named = {"label": short[row["arm"]], **dict(zip(("base", "mean"), means, strict=True))}
            rows.append({**row, **about, **named, "verdict": _verdict(row, what.direction), "size": _size(row)})
    made = pl.DataFrame(rows, schema={**_EFFECTS, "size": pl.Float64})
    importance = pl.col("size").max().over("outcome")
    ordered = made.sort(pl.col("role") != "primary", importance, descending=[False, True], maintain_order=True)
    return ordered.drop("size")


def _size(row: Mapping[str, Any]) -> float:
    """Return the difference over half the width of its interval: above 1 where the interval excludes zero."""
    half = (row["high"] - row["low"]) / 2
    return abs(row["difference"]) / half if half > 0 else 0.0


def _verdict(row: Mapping[str, Any], direction: str) -> str:
    if math.isnan(row["low"]):
        return "no interval"
    if row["low"] <= 0 <= row["high"]:
        return "no detectable effect"
    if row["p_holm"] >= LEVEL:
        return _UNCORRECTED
    higher = row["difference"] > 0
    if direction == "neither":
        return "higher" if higher else "lower"
    return "better" if higher == (direction == "higher is better") else "worse"


def as_noun(title: str, outcome: str) -> str:
    """Return the title of an outcome as part of a sentence.

    >>> as_noun("Mean shift: Vaccines are safe", "shift.safe"), as_noun("F1 of moderation", "f1")
    ('mean shift on “Vaccines are safe”', 'F1 of moderation')
    """
    head, _, statement = title.partition(": ") if "." in outcome else (title, "", "")
    head = head[0].lower() + head[1:] if head[1:2].islower() else head
    return f"{head} on “{statement}”" if statement else head


def amount(row: Mapping[str, Any], *, sign: bool = False) -> tuple[str, str, str]:
    """Return a difference and the ends of its interval in words: in percent of the baseline where that has a meaning.

    >>> amount({"unit": "agents", "base": 200.0, "difference": -20.0, "low": -30.0, "high": -10.0}, sign=True)
    ('−10%', '−15%', '−5.0%')
    """
    relative = row["unit"] not in _SCALES and row["base"] > 0 and row.get("outcome") not in _SIGNED
    scale = 100 / row["base"] if relative else 1.0
    values = [scale * row[name] for name in ("difference", "low", "high")]
    if not sign and values[0] < 0:
        values = [-values[0], -values[2], -values[1]]
    if relative:
        size, low, high = (f"{number(value, _places(value), signed=sign)}%" for value in values)
    else:
        size, low, high = (significant(value, 2, signed=sign or value < 0) for value in values)
    return size, low, high


def _places(percent: float) -> int:
    """Return the decimal places of a percentage: enough to tell it from zero."""
    if not 0 < abs(percent) < 0.05:  # NaN as well
        return 0 if abs(percent) >= 9.95 else 1
    return max(2, min(9, -math.floor(math.log10(abs(percent)))))


def _primary(made: pl.DataFrame) -> list[str]:
    rows = made.filter(pl.col("role") == "primary").to_dicts()
    sentences = [*_headline(rows), *(_effect(row) for row in rows[:MOST_ARMS])]
    if len(rows) > MOST_ARMS:
        sentences.append(f"{len(rows) - MOST_ARMS} more arms are in the report.")
    nothing = "The primary outcome cannot be compared: no seed has a value in the baseline and in another arm."
    return sentences or [nothing]


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which of several arms is best on the primary outcome, or that none is clearly better than the baseline."""
    if len(rows) < 2 or rows[0]["direction"] == "neither" or any(math.isnan(row["low"]) for row in rows):
        return []
    noun = as_noun(rows[0]["title"], rows[0]["outcome"])
    better = sorted((row for row in rows if row["verdict"] == "better"), key=lambda row: -abs(row["difference"]))
    if not better:
        return [f"No arm is clearly better than the baseline on the {noun}."]
    best, *others = better
    near = [row["label"] for row in others if row["low"] <= best["high"] and row["high"] >= best["low"]]
    doubt = f"; its CI overlaps that of {listed(near)}" if near else ""
    size, low, high = amount(best, sign=True)
    return [f"Best arm on the {noun}: {best['label']} ({size}, 95% CI {low} to {high}){doubt}."]


def _effect(row: Mapping[str, Any]) -> str:
    label, noun, verdict = _capital(row["label"]), as_noun(row["title"], row["outcome"]), row["verdict"]
    unit = "" if row["unit"] in _SCALES else f" {row['unit']}"
    if verdict == "no interval" and row["difference"] == 0:
        return f"{label}: no difference in the {noun} with one seed, which gives no CI."
    size, low, high = amount(row, sign=verdict in ("no interval", "no detectable effect", _UNCORRECTED))
    interval, its_unit = f"95% CI {low} to {high}", "" if "%" in size else unit
    if verdict == "no interval":
        return f"{label}: {size}{its_unit} in the {noun} with one seed, which gives no CI and may be chance."
    if verdict == "no detectable effect":
        return f"{label}: no detectable effect on the {noun} ({size}, {interval}{its_unit})."
    if verdict == _UNCORRECTED:
        chance = f"p = {significant(row['p_holm'], 2)} after Holm's correction for several arms"
        return f"{label}: {size} in the {noun} ({interval}{its_unit}), suggestive, not clear: {chance}."
    verb = "raised" if row["difference"] > 0 else "cut"
    start, end = _ends(row["base"], row["mean"])
    judged = f": {verdict}" if verdict in ("better", "worse") else ""
    return f"{label} {verb} the {noun} by {size} ({interval}), from {start} to {end}{unit}{judged}."


def _ends(base: float, mean: float) -> tuple[str, str]:
    """Return two means with digits enough to show their difference.

    >>> _ends(181.9, 155.67), _ends(0.15931, 0.15551)
    (('182', '156'), ('0.1593', '0.1555'))
    """
    for digits in range(3, 7):
        start, end = (float(f"{value:.{digits}g}") for value in (base, mean))
        if math.isclose(end - start, mean - base, rel_tol=0.1):
            break
    return significant(base, digits), significant(mean, digits)


def _capital(text: str) -> str:
    """Begin a sentence with an arm; the values of settings stay as they are."""
    words = {*STRATEGIES.values(), *RESPONSES.values(), NOTHING_LEFT_OUT}
    return text[0].upper() + text[1:] if text.partition(", ")[0] in words else text


def _beliefs(made: pl.DataFrame, base: str) -> list[str]:
    """Say how much mean beliefs differ from the baseline at most."""
    shifts = made.filter(pl.col("outcome").str.starts_with("shift."))
    if "secondary" not in shifts["role"]:
        return []
    rows = shifts.to_dicts()
    most = max(rows, key=lambda row: abs(row["difference"]))
    if all(row[end] == 0 or math.isnan(row[end]) for row in rows for end in ("difference", "low", "high")):
        return [f"Mean stances moved as with {base} in every arm."]
    largest = max(math.inf if math.isnan(row[end]) else abs(row[end]) for row in rows for end in ("low", "high"))
    scale = ", on the scale −1 to +1"
    where = "in every arm" if shifts["arm"].n_unique() > 1 else f"under {most['label']}"
    moved = f"Mean change of stances on each proposition: {where}, the 95% CI of the difference"
    within = f"{moved} from {base} lies within ±"
    if largest < LITTLE:
        return [f"{within}{LITTLE:g}{scale}."]
    size, low, high = amount(most, sign=True)
    detail = f"difference {size}{'' if math.isnan(most['low']) else f', 95% CI {low} to {high}'}{scale}"
    if largest > 0.1:
        which = f"{base} under {most['label']}: {as_noun(most['title'], most['outcome'])}"
        return [f"Mean change of stances differs most from {which} ({detail})."]
    power = 10.0 ** math.floor(math.log10(largest))
    least = math.floor(largest / power + 1) * power
    return [f"{within}{least:g} (largest {detail})."]


def _second(made: pl.DataFrame, runs: Runs, baseline: str, by_name: Mapping[str, str]) -> list[str]:
    """Say what a second belief rule makes of the largest difference in a mean belief."""
    shifts = made.filter(pl.col("outcome").str.starts_with("shift."), pl.col("difference") != 0)
    if not shifts.height:
        return []
    most = shifts.sort(pl.col("difference").abs(), descending=True, maintain_order=True).row(0, named=True)
    name = most["outcome"].partition(".")[2]
    both = under_second_rule(runs, baseline, most["arm"], name)
    return [] if both is None else [both.sentence(most["label"], by_name[name])]


def _secondary(made: pl.DataFrame) -> list[str]:
    """Name the clearest secondary outcomes; those that only exist with moderation only where they are costs."""
    tests = made.filter(pl.col("role") == "secondary", pl.col("p_holm").is_not_nan())
    if not tests.height:
        return []
    clear = tests.filter(pl.col("p_holm") < LEVEL)
    main = [name for name in clear["outcome"].unique() if describe(name).main]
    cost, gain = pl.col("verdict") == "worse", (pl.col("verdict") == "better") & (pl.col("base") != 0)
    judged = clear.filter(cost | gain, pl.col("outcome").is_in(main))
    chosen = judged if judged.height else clear
    named = [
        f"{as_noun(row['title'], row['outcome'])} {amount(row, sign=True)[0]} under {row['label']} "
        f"({row['verdict'] if row['verdict'] in ('better', 'worse') or row['base'] else '0 in the baseline'})"
        for row in chosen.unique("outcome", keep="first", maintain_order=True).head(MOST_SECONDARY).to_dicts()
    ]
    of = f"{clear.height} of {count(tests.height, 'test')} with p < {LEVEL:g} after Holm's correction"
    among = "" if not named else ": " if len(named) == clear.height else ", such as "
    return [f"Secondary outcomes: {of}{among}{listed(named)}."]


def _mover_lines(experiment: Experiment, short: Mapping[str, str]) -> tuple[str, ...]:
    """Return lines on the person who moved most in any run, with the arm and the seed of that run."""
    extracts = experiment.extracts(MOVERS_EXTRACT)
    moved = [(run, Mover(*row)) for run in experiment.finished for row in extracts[run.content_hash].rows()]
    if not moved:
        return ()
    run, mover = max(moved, key=lambda each: abs(each[1].change))
    which = f" ({short[run.arm]}, seed {run.seed})" if len(short) > 1 else f" (seed {run.seed})"
    return tuple(with_posts(Run.open(experiment.folder / run.folder), mover).lines(which))


def _cautions(
    experiment: Experiment, made: pl.DataFrame, runs: Runs, short: Mapping[str, str], *, second_rule: bool
) -> Iterable[str]:
    failed, seeds = len(experiment.failed), len(experiment.seeds)
    unfinished = len(experiment.runs) - len(experiment.finished) - failed
    fewest = min(made.filter(role="primary")["pairs"], default=seeds)
    if failed:
        yield f"{count(failed, 'run')} failed and {'is' if failed == 1 else 'are'} left out."
    if unfinished:
        yield f"{count(unfinished, 'run')} {'is' if unfinished == 1 else 'are'} not finished and left out."
    elif fewest < seeds and not failed:
        only = f"some differences are measured with only {fewest} of {seeds} seeds"
        yield f"The primary outcome is undefined in some runs: {only}."
    several = len(short) > 1
    if several and seeds < 2:
        yield "One seed only: no difference has a CI, and each may be chance."
    elif several and seeds < FEW_SEEDS:
        yield f"Only {seeds} seeds per arm: effects that are not large cannot be told from chance."
    seed = min(seed for arm, seed in runs if arm == experiment.baseline)
    base = CachedRun(runs[experiment.baseline, seed], large=True)
    of_seed = [f"seed {seed}"] if seeds > 1 else []
    named = {arm: ", ".join([*([f"arm: {label}"] if several else []), *of_seed]) for arm, label in short.items()}
    which = {arm: f" ({words})" if words else "" for arm, words in named.items()}
    yield from misleading(base, which[experiment.baseline], experiment.vary, second_rule=second_rule)
    moderating = [(arm, run) for (arm, at), run in runs.items() if at == seed and moderated(run)]
    for arm, run in moderating[-1:]:
        yield from of_moderation(CachedRun(run, large=True), which[arm])
    if several:
        yield "The 95% CIs cover chance differences between seeds (repeated runs) only, not errors of the model."
