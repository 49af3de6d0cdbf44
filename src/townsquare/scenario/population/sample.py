"""Sample people: traits, activity and initial stances.

Everything here is lasting: drawn with step 0 and keyed by the agent's row, so that a person is the same in every arm
and whenever it is born, and that one more trait or proposition changes no other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from townsquare.core import files
from townsquare.core.array_types import Float, Int16, Int64
from townsquare.core.draws import LEAST, Draws, Stage, StageDraws
from townsquare.core.errors import DataError, SettingError
from townsquare.core.registry import check_known
from townsquare.scenario.population.margins import kinds, rake_bank, rake_people
from townsquare.scenario.population.personas import Personas, read_personas
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank, Trait, bundled_bank, read_bank
from townsquare.scenario.population.survey import Survey, personas_from_survey
from townsquare.settings.config import Population, StanceStart


@dataclass(frozen=True, slots=True)
class People:
    """``n`` people, ``T`` traits, ``P`` propositions.

    Attributes
    ----------
    activity : (n,) float64
        How active each is, relative to a mean of 1; at least 0.
    traits : (n, T) int16
        Codes of their answers, see :class:`townsquare.scenario.population.question_bank.QuestionBank`; -1 for no
        answer.
    stance : (n, P) float64
        In [-1, 1].
    confidence : (n, P) float64
        In [0, 1].
    names, texts : tuple of str
        Of imported people, their ids and personas; empty for sampled ones.
    propositions : tuple of str
        Names of the P columns of ``stance`` and ``confidence``.
    taste : (n,) float64
        Taste for low-credibility sources, standard normal; NaN where people have none.
    follows : (e,) int32, (e,) int32, optional
        Follower and followed, where they came with these people.
    bank : QuestionBank
        What the codes mean.
    """

    activity: Float
    traits: Int16
    stance: Float
    confidence: Float
    taste: Float
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    propositions: tuple[str, ...] = ()
    follows: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None
    bank: QuestionBank = field(default_factory=bundled_bank)


def sample_people(
    first: int,
    n: int,
    settings: Population,
    propositions: Sequence[str],
    seed: int,
    *,
    ordinal: int | None = None,
    folder: Path | None = None,
    accounts: Personas | None = None,
) -> People:
    """Return the people with the rows ``first`` to ``first + n`` - 1.

    Parameters
    ----------
    first, n : int
        Their rows among agents, which are the keys of all draws.
    settings : Population
        Its ``file``, if set, gives traits and texts, and activity and stances where they are there; everything else
        is drawn as for sampled people. With ``margins`` too, people are drawn from the file by weights that meet them.
    propositions : sequence of str
        Names, in order.
    seed : int
        Seed of the run.
    ordinal : int, optional
        Which row of ``settings.file`` is the first to be used; ``first`` if not given. They differ where agents that
        are no persons come before.
    folder : Path, optional
        Where ``settings.file`` is looked for before the working directory.
    accounts : Personas, optional
        Who the first agents are, instead of ``settings.file``; those who join after the last of them are sampled.

    Raises
    ------
    UnknownName
        The settings name an unknown proposition, trait or answer.
    SettingError
        The margins cannot be met.
    DataError
        The file of personas is at fault, or has too few.
    """
    bank = people_bank(settings, folder)
    check_settings(settings, propositions, bank)
    draws = Draws(seed, 0)(Stage.POPULATION)
    agents = np.arange(first, first + n, dtype=np.int64)
    begin = first if ordinal is None else ordinal
    if accounts is not None:
        known = accounts.take(np.arange(begin, begin + n)) if begin < len(accounts) else None
    else:
        known = _from_file(settings, agents, begin, bank, draws, folder)
    # Newcomers of every step are drawn from the same chances: they are fitted once.
    raked = _bank_once(bank, json.dumps(settings.margins)) if settings.margins and known is None else bank
    traits = _sample_traits(agents, raked, draws) if known is None else known.traits
    taste = draws.normal("taste", agents, lasting=True) if settings.taste else np.full(n, np.nan)
    activity = _activity(agents, settings, taste, draws)
    if settings.activity_by_trait:
        factors, read = settings.activity_by_trait, survey_of(settings, folder)
        pool = accounts or (None if read is None else read.personas)
        if known is None or pool is None:
            mean = _mean_in_bank(factors, raked)
        else:
            mean = _mean_in_file(pool, settings, bank, by_weight=not accounts)
        activity = activity * _factors(factors, traits, bank) / (mean or 1.0)
    if settings.taste_by_trait:
        taste = taste + _shifts(settings.taste_by_trait, traits, bank)
    stance = np.empty((n, len(propositions)))
    confidence = np.empty((n, len(propositions)))
    for column, name in enumerate(propositions):
        start_of = settings.stance.get(name, settings.stance.get("default", StanceStart()))
        stance[:, column] = _stance(name, agents, start_of, traits, bank, draws)
        confidence[:, column] = _confidence(name, agents, settings, draws)
    drawn = People(activity, traits, stance, confidence, taste, propositions=tuple(propositions), bank=bank)
    return drawn if known is None else _with_measured(drawn, known)


def _with_measured(drawn: People, known: Personas) -> People:
    """Return people whose activity and stances are as measured where somebody did, and who have names and texts."""
    stance = drawn.stance.copy()
    for name, measured in known.stance.items():
        check_known("stance of a persona", name, drawn.propositions, nothing="no proposition, as the scenario has none")
        at = drawn.propositions.index(name)
        stance[:, at] = np.where(np.isnan(measured), stance[:, at], measured)
    activity = np.where(np.isnan(known.activity), drawn.activity, known.activity)
    return replace(drawn, activity=activity, stance=stance, names=known.ids, texts=known.texts)


def check_settings(settings: Population, propositions: Sequence[str], bank: QuestionBank) -> None:
    """Raise ``UnknownName`` if ``settings`` name a proposition, trait or answer that is not there."""
    named: dict[str, Mapping[str, Mapping[str, float]]] = {
        "population.activity_by_trait": settings.activity_by_trait,
        "population.taste_by_trait": settings.taste_by_trait,
    }
    for name, start in settings.stance.items():
        check_known("population.stance", name, [*propositions, "default"])
        named[f"population.stance.{name}.by_trait"] = start.by_trait
    for where, by_trait in named.items():
        for label, shifts in by_trait.items():
            bank.number_of(label, where)
            for answer in shifts:
                bank.span(label, answer, f"{where}.{label}")


@lru_cache(maxsize=4)
def _read_once(path: Path, mapping: Path | None, bank: QuestionBank, _changed: tuple[int, ...]) -> Survey:
    if mapping is None:
        return Survey(read_personas(path, bank), (), (), bank)
    return personas_from_survey(path, mapping, bank)


@lru_cache(maxsize=4)
def _bank_of_file(path: Path, _changed: tuple[int, int]) -> QuestionBank:
    return read_bank(path)


def question_bank(settings: Population, folder: Path | None) -> QuestionBank:
    """Return the question bank that settings name: a bundled one, or a file."""
    if settings.bank_file is None:
        return bundled_bank(settings.bank)
    path = files.find(settings.bank_file, folder)
    stat = path.stat()
    return _bank_of_file(path, (stat.st_mtime_ns, stat.st_size))


def survey_of(settings: Population, folder: Path | None) -> Survey | None:
    """Return the people of ``settings.file`` and their question bank; read once, and again if a file was changed."""
    if settings.file is None:
        if settings.mapping is not None or settings.resample:
            what = "mapping" if settings.mapping is not None else "resample"
            do = "set population.file"
            raise SettingError(f"population.{what}", got="no population.file", allowed="both, or neither", do=do)
        return None
    path = files.find(settings.file, folder)
    mapping = None if settings.mapping is None else files.find(settings.mapping, folder)
    stats = [file.stat() for file in (path, mapping) if file is not None]
    bank = question_bank(settings, folder)
    return _read_once(path, mapping, bank, tuple(part for stat in stats for part in (stat.st_mtime_ns, stat.st_size)))


def people_bank(settings: Population, folder: Path | None) -> QuestionBank:
    """Return what the answers of people mean: the question bank, or the traits of their survey."""
    read = survey_of(settings, folder)
    return question_bank(settings, folder) if read is None else read.bank


def drawn_from(settings: Population, folder: Path | None) -> tuple[str, QuestionBank, tuple[Int16, Float] | None]:
    """Return what people are drawn from: in words; a bank; codes (n, T) and weights (n,) of people in a file."""
    read, given = survey_of(settings, folder), json.dumps(settings.margins)
    raked = ", raked to the margins" if settings.margins else ""
    if read is None:
        bank = question_bank(settings, folder)
        return f"shares in the question bank{raked}", _bank_once(bank, given) if raked else bank, None
    of, weights = read.personas, np.ones(len(read.personas))
    by_weight = of.weight is not None and bool(np.ptp(of.weight)) and (bool(raked) or settings.resample)
    if raked or settings.resample:
        weights, _ = _weights_once(of, read.bank, given)
    how = ", by survey weights" if by_weight else "" if raked else ", unweighted"
    return f"shares of the people in {settings.file}{how}{raked}", read.bank, (of.traits, weights)


def people_notes(settings: Population, folder: Path | None) -> tuple[str, ...]:
    """Return what of the people's file is not used, counted by reason; nothing without a mapping."""
    read = survey_of(settings, folder)
    if read is None or settings.mapping is None:
        return ()
    used = [f"survey: {sentence}" for sentence in read.reasons]
    return (*used, *([f"survey: columns not in the mapping: {', '.join(read.unused)}"] if read.unused else ()))


def _from_file(
    settings: Population, agents: Int64, start: int, bank: QuestionBank, draws: StageDraws, folder: Path | None
) -> Personas | None:
    """Return the personas of the file for some agents: in order, or drawn by weight where there are margins."""
    read = survey_of(settings, folder)
    if read is None:
        return None
    personas = read.personas
    if not (settings.margins or settings.resample):
        needed = start + agents.shape[0]
        if needed > len(personas):
            got, allowed = f"{len(personas)} personas, but {needed} are needed", "one persona for each agent"
            do = "set `population.resample=true` to draw with replacement, add personas, or lower `agents`"
            raise DataError(str(settings.file), got=got, allowed=f"{allowed}, newcomers included", do=do)
        return personas.take(np.arange(start, needed))
    weights, kind = _weights_once(personas, bank, json.dumps(settings.margins))
    order = np.arange(len(personas))
    if settings.resample:  # kind by kind, and within a kind at random: rows of a file may alternate as weights do
        order = np.lexsort((draws.bits("respondent", order, lasting=True), kind))
    ends, u = np.cumsum(weights[order]), draws.uniform("persona", agents, lasting=True)
    if settings.resample and start == 0 and agents.size > 1:
        # Systematic: one agent from each of n equal stretches of the weights, in random order. Margins then hold up to
        # rounding. Newcomers are drawn one by one.
        u = (np.argsort(np.argsort(u, kind="stable")) + u[0]) / agents.size
    chosen = personas.take(order[np.searchsorted(ends[:-1], u, side="right")])
    if settings.missing == "impute":
        chosen = _imputed(chosen, personas, weights, agents, bank, draws)
    # One person may represent many agents, and names must tell agents apart.
    ids = tuple(f"{name}/{agent}" for name, agent in zip(chosen.ids, agents.tolist(), strict=True))
    return replace(chosen, ids=ids)


def _imputed(
    chosen: Personas, personas: Personas, weights: Float, agents: Int64, bank: QuestionBank, draws: StageDraws
) -> Personas:
    """Return people with each missing answer and stance drawn from those who gave one, by weight (hot deck)."""
    traits, texts, stance = chosen.traits.copy(), list(chosen.texts), dict(chosen.stance)

    def drawn(label: str, lacks: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]) -> tuple[Int64, Int64]:
        """Return rows of those who lack an answer, and of the respondent that gives it to each."""
        lacking, donors = np.flatnonzero(lacks), np.flatnonzero(known & (weights > 0))
        if not (lacking.size and donors.size):
            return donors[:0], donors[:0]
        ends = np.cumsum(weights[donors])
        u = ends[-1] * draws.uniform(f"impute:{label}", agents[lacking], lasting=True)
        return lacking, donors[np.searchsorted(ends[:-1], u, "right")]

    for number, trait in enumerate(bank.traits):
        to, of = drawn(trait.label, traits[:, number] == NO_ANSWER, personas.traits[:, number] != NO_ANSWER)
        traits[to, number] = personas.traits[of, number]
        for row in to.tolist():
            texts[row] = f"{texts[row]} {bank.sentence(number, int(traits[row, number]))}".strip()
    for name, measured in personas.stance.items():
        to, of = drawn(f"stance:{name}", np.isnan(stance[name]), ~np.isnan(measured))
        stance[name] = stance[name].copy()
        stance[name][to] = measured[of]
    return replace(chosen, traits=traits, texts=tuple(texts), stance=stance)


@lru_cache(maxsize=2)
def _weights_once(personas: Personas, bank: QuestionBank, margins: str) -> tuple[Float, Int64]:
    """Return weights of people, which sum to 1, and the number of the answers of each to margins."""
    given, n = json.loads(margins), len(personas)
    own = np.ones(n) if personas.weight is None else personas.weight
    return rake_people(personas, bank, given) if given else own / own.sum(), kinds(personas, bank, given)


@lru_cache(maxsize=4)
def _bank_once(bank: QuestionBank, margins: str) -> QuestionBank:
    return rake_bank(bank, json.loads(margins))


# --- traits ------------------------------------------------------------------------------------------------


def _sample_traits(agents: Int64, bank: QuestionBank, draws: StageDraws) -> Int16:
    traits = np.empty((agents.shape[0], len(bank.traits)), np.int16)
    for number, trait in enumerate(bank.traits):
        purpose = f"trait:{trait.label}"
        if trait.number and trait.chances.size:
            traits[:, number] = trait.low + _choose(trait, None, draws.uniform(purpose, agents, lasting=True))
        elif trait.number:
            of = trait.number
            drawn = np.trunc(of.mean + of.sd * draws.normal(purpose, agents, lasting=True))
            traits[:, number] = np.clip(drawn, of.low, of.high)
        else:
            given = traits[:, trait.given] if trait.given >= 0 else None
            traits[:, number] = _choose(trait, given, draws.uniform(purpose, agents, lasting=True))
    return traits


def _choose(trait: Trait, given: Int16 | None, u: Float) -> Int16:
    """Return the answer whose stretch of the summed chances holds ``u``."""
    out = np.empty(u.shape[0], np.int16)
    for row, chances in enumerate(trait.chances):
        who = slice(None) if given is None else given == row
        possible = np.flatnonzero(chances)
        # The last sum is left out: rounding must not put a draw beyond the last answer.
        out[who] = possible[np.searchsorted(np.cumsum(chances[possible])[:-1], u[who], side="right")]
    return out


# --- activity and beliefs ----------------------------------------------------------------------------------


def _activity(agents: Int64, settings: Population, taste: Float, draws: StageDraws) -> Float:
    """Draw activities with mean 1: lognormal, or 0 for the silent share and a Gamma for the others."""
    if settings.activity_sd is not None:
        z = draws.normal("log activity", agents, lasting=True)
        if settings.taste:
            z = settings.taste_activity * taste + math.sqrt(1 - settings.taste_activity**2) * z
        return np.asarray(np.exp(settings.activity_sd * z - settings.activity_sd**2 / 2))
    shape, silent = settings.activity_shape, settings.silent_share
    u = np.maximum(draws.uniform("activity", agents, lasting=True), LEAST)
    return np.asarray(gammaincinv(shape, np.maximum((u - silent) / (1.0 - silent), 0.0)) / (shape * (1.0 - silent)))


def _stance(
    name: str, agents: Int64, start: StanceStart, traits: Int16, bank: QuestionBank, draws: StageDraws
) -> Float:
    """Return stances (n,) toward one proposition, shifted by traits and clipped to [-1, 1]."""
    if start.kind == "uniform":
        stance = 2.0 * draws.uniform(f"stance:{name}", agents, lasting=True) - 1.0
    elif start.kind == "constant":
        stance = np.full(agents.shape[0], start.mean)
    else:
        stance = start.mean + start.sd * draws.normal(f"stance:{name}", agents, lasting=True)
    if start.kind == "camps":
        pro = draws.uniform(f"camp:{name}", agents, lasting=True) < start.pro_share
        stance += np.where(pro, start.distance, -start.distance)
    return np.clip(stance + _shifts(start.by_trait, traits, bank), -1.0, 1.0)


def _confidence(name: str, agents: Int64, settings: Population, draws: StageDraws) -> Float:
    if settings.confidence_sd == 0:
        return np.full(agents.shape[0], settings.confidence_mean)
    spread = settings.confidence_sd * draws.normal(f"confidence:{name}", agents, lasting=True)
    return np.clip(settings.confidence_mean + spread, 0.0, 1.0)


def _factors(by_trait: Mapping[str, Mapping[str, float]], traits: Int16, bank: QuestionBank) -> Float:
    """Return product of the factors (n,) that a person's answers bring."""
    logs = {
        label: {answer: math.log(f) if f else -math.inf for answer, f in factors.items()}
        for label, factors in by_trait.items()
    }
    return np.exp(_shifts(logs, traits, bank))


def _mean_in_bank(by_trait: Mapping[str, Mapping[str, float]], bank: QuestionBank) -> float:
    """Return the expected factor of a person drawn from the bank."""
    below, mean = [np.ones(trait.table.shape[1]) for trait in bank.traits], 1.0
    for label, factors in by_trait.items():
        number = bank.number_of(label)
        answers = np.zeros((below[number].size, len(bank.traits)), np.int16)
        answers[:, number] = bank.traits[number].low + np.arange(below[number].size)
        below[number] = _factors({label: factors}, answers, bank)
    for number in reversed(range(len(bank.traits))):  # a trait comes after the one it depends on
        trait = bank.traits[number]
        expected = trait.table @ below[number]
        if trait.given >= 0:
            below[trait.given] = below[trait.given] * expected
        else:
            mean *= float(expected[0])
    return mean


def _mean_in_file(personas: Personas, settings: Population, bank: QuestionBank, *, by_weight: bool) -> float:
    """Return the expected factor of a person of the file whose activity is not measured; 0 where there is none.

    With ``by_weight``, people count by the weights that agents are drawn by, if they are; else equal.
    """
    n, drawn = len(personas), by_weight and bool(settings.margins or settings.resample)
    weight = _weights_once(personas, bank, json.dumps(settings.margins))[0] if drawn else np.full(n, 1.0 / n)
    product = np.where(np.isnan(personas.activity), weight, 0.0)
    total = product.sum()
    for label, factors in settings.activity_by_trait.items():
        factor = _factors({label: factors}, personas.traits, bank)
        answered = (personas.traits[:, bank.number_of(label)] != NO_ANSWER) & (weight > 0)
        if drawn and settings.missing == "impute" and answered.any():
            factor[~answered] = np.average(factor[answered], weights=weight[answered])
        product *= factor
    return float(product.sum() / (total or 1.0))


def _shifts(by_trait: Mapping[str, Mapping[str, float]], traits: Int16, bank: QuestionBank) -> Float:
    """Return sum of the shifts (n,) that a person's answers bring."""
    total = np.zeros(traits.shape[0])
    for label, shifts in by_trait.items():
        codes = traits[:, bank.number_of(label)]
        for answer, shift in shifts.items():
            low, high = bank.span(label, answer)
            total += np.where((codes >= low) & (codes <= high), shift, 0.0)
    return total
