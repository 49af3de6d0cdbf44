"""Waves of a survey: what the same people answered later, beside what a run's rule says of them.

A respondent is represented by its agents, whose mean stance is compared. A baseline that expects no change stands
beside the rule. What respondents really read between waves is not in a survey: the messages of a trajectory are those
that its first agent was shown in the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import names, person_beliefs
from townsquare.analysis.statistics import correlation
from townsquare.core.array_types import Float
from townsquare.core.errors import SettingError
from townsquare.core.frames import collected
from townsquare.core.text_table import csv_text
from townsquare.record.run import Run
from townsquare.scenario.population.sample import survey_of
from townsquare.scenario.population.survey import Survey
from townsquare.settings.config import Population
from townsquare.settings.resolve import Settings
from townsquare.simulation.scenario_copy import recorded_scenario

LEAST = 3  # respondents for a correlation
PLAIN = ("participant", "conversation", "proposition", "initial", "final", "author", "side", "strength", "text",
         "reading")  # fmt: skip


@dataclass(frozen=True, slots=True)
class WaveCheck:
    """One proposition at one wave, over the respondents who answered it then and at first.

    Attributes
    ----------
    proposition, wave, step, respondents
        What was asked, when, and by how many it was answered.
    measured, simulated : float
        Mean change of stance since the first wave, of respondents and of their agents, -2 to 2.
    error, error_still : float
        Root mean squared error of the rule, and of no change, in stance.
    correlation : float
        Of measured and simulated change over respondents; NaN where one of them does not vary.
    """

    proposition: str
    wave: int
    step: int
    respondents: int
    measured: float
    simulated: float
    error: float
    error_still: float
    correlation: float


@dataclass(frozen=True, slots=True)
class Waves:
    """Waves of the survey of a run: stances of respondents (n,) by wave and proposition; the first wave is 1."""

    survey: Survey
    stance: Mapping[tuple[int, str], Float]
    agents: Mapping[int, list[int]]
    """Row of a respondent -> its agents."""

    def step(self, wave: int) -> int:
        """Return the step of a run in which a wave was asked; 0 for the first."""
        return self.survey.steps.get(wave, 0)


def waves_of(run: Run, settings: Settings) -> Waves:
    """Return the waves of the survey from which a run drew its people.

    Raises
    ------
    SettingError
        The people of the run are of no survey, or of one that was asked once.
    """
    population: Population = settings.config.population
    survey = survey_of(population, recorded_scenario(settings, run.folder).folder)
    if survey is None or not survey.waves:
        got = "a run without a survey" if survey is None or population.mapping is None else "a survey with one wave"
        do = "add a column with `wave: 2`, and `waves: {2: STEP}`, to the mapping"
        raise SettingError("population.mapping", got=got, allowed="a survey with at least two waves", do=do)
    row_of = {name: row for row, name in enumerate(survey.personas.ids)}
    texts = run.table("texts")["content"]
    agents: dict[int, list[int]] = {}
    for agent, name in run.table("agents").select("agent", "name").iter_rows():
        called = texts[name] if name >= 0 else ""
        row = row_of.get(called, row_of.get(called.rpartition("/")[0], -1))
        if row >= 0:
            agents.setdefault(row, []).append(agent)
    first = {(1, name): stance for name, stance in survey.personas.stance.items()}
    return Waves(survey, first | dict(survey.waves), agents)


def check_waves(run: Run, waves: Waves) -> list[WaveCheck]:
    """Return each proposition at each later wave that the run has reached, by wave."""
    number = dict(names(run).select("name", "proposition").iter_rows())
    out = []
    for (wave, name), again in sorted(waves.survey.waves.items()):
        start, step = waves.stance.get((1, name)), waves.step(wave)
        if start is None or name not in number or step > run.last_step:
            continue
        simulated = _simulated(run, waves, number[name], step)
        use = ~np.isnan(start) & ~np.isnan(again) & ~np.isnan(simulated)
        if not use.any():
            continue
        measured, moved = (again - start)[use], (simulated - start)[use]
        r = correlation(measured, moved) if measured.size >= LEAST and moved.std() > 1e-12 else float("nan")
        error, still = (float(np.sqrt(np.mean(wrong**2))) for wrong in (moved - measured, measured))
        means = (float(measured.mean()), float(moved.mean()))
        out.append(WaveCheck(name, wave, step, int(use.sum()), means[0], means[1], error, still, r))
    return out


def _simulated(run: Run, waves: Waves, proposition: int, step: int) -> Float:
    """Return the mean stance of each respondent's agents after a step, (n,); NaN for those without one."""
    rows = person_beliefs(run).filter((pl.col("step") == step) & (pl.col("proposition") == proposition))
    stance = dict(collected(rows.select("agent", "stance")).iter_rows())
    out = np.full(len(waves.survey.personas), np.nan)
    for row, agents in waves.agents.items():
        known = [stance[agent] for agent in agents if agent in stance]
        out[row] = np.mean(known) if known else np.nan
    return out


def trajectories_csv(run: Run, waves: Waves) -> str:
    """Return the respondents as trajectories in the plain form, which ``townsquare fit`` reads.

    ``initial`` is the first wave and ``final`` the last; waves between are ``reading``s. Messages are the posts with a
    stance on the proposition that the respondent's first agent was shown. Respondents without both ends or without a
    message are left out.
    """
    rows = (_of_proposition(run, waves, int(number), name, text) for number, name, text in names(run).iter_rows())
    return csv_text([PLAIN, *chain.from_iterable(rows)])


def _of_proposition(run: Run, waves: Waves, number: int, name: str, text: str) -> Iterator[tuple[object, ...]]:
    later = sorted(wave for wave, of in waves.stance if of == name and wave > 1 and waves.step(wave) <= run.last_step)
    start = waves.stance.get((1, name))
    if start is None or not later:
        return
    stances = run.table("post_stances").filter(pl.col("proposition") == number).select("post", "stance", "strength")
    of_first = pl.col("agent").is_in([agents[0] for agents in waves.agents.values()])
    shown = run.lazy("exposures").filter(of_first, pl.col("step") <= waves.step(later[-1]))
    met = collected(shown.select("step", "agent", "rank", "post", "root", "author")).with_columns(post=pl.col("root"))
    met = met.join(stances, on="post").sort("agent", "step", "rank", "post")
    texts = run.table("texts")["content"]
    text_of = dict(run.table("posts").select("post", "text").iter_rows())
    by_agent = {key[0]: part for key, part in met.group_by("agent")}
    for row, agents in waves.agents.items():
        first, last = start[row], waves.stance[later[-1], name][row]
        messages = by_agent.get(agents[0])
        if np.isnan(first) or np.isnan(last) or messages is None:
            continue
        readings = _readings(messages["step"].to_numpy(), waves, later[:-1], name, row)
        who = waves.survey.personas.ids[row]
        sent = messages.select("post", "stance", "strength", "author").iter_rows()
        for at, (post, side, strength, author) in enumerate(sent):
            quality = "" if strength is None or np.isnan(strength) else strength
            content = texts[text_of[post]]
            yield who, who, text, first, last, f"agent {author}", side, quality, content, readings.get(at, "")


def _readings(steps: np.ndarray, waves: Waves, between: list[int], name: str, row: int) -> dict[int, float]:
    """Return stances of waves between the ends, by the message after which they were asked."""
    out = {}
    for wave in between:
        stance = waves.stance[wave, name][row]
        before = int(np.searchsorted(steps, waves.step(wave), side="right")) - 1
        if not np.isnan(stance) and 0 <= before < steps.size - 1:
            out[before] = float(stance)
    return out
