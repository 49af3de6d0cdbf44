"""What a notebook or the command line asks of a recorded run: its outcomes, why beliefs moved, and who moved them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from townsquare.analysis.beliefs import of_proposition
from townsquare.analysis.causes import attribution
from townsquare.analysis.causes import why as causes
from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.causes.why import Why
from townsquare.analysis.outcomes import outcomes as numbers
from townsquare.core.arguments import checked
from townsquare.core.errors import SettingError
from townsquare.core.registry import did_you_mean
from townsquare.record.run import Run

MOST_SUGGESTED = 10_000


def agent_number(run: Run, given: int | str, where: str = "agent") -> int:
    """Return the number of the agent that a number or a name represents.

    Of agents drawn from one respondent, as ``R_038/17`` and ``R_038/90``, the name ``R_038`` represents the first. A
    number counts agents; one that is too large is the name of an account or a respondent.

    Raises
    ------
    SettingError
        No agent of the run has this name.
    """
    rows, text = agent_names(run), str(given)
    names = dict(rows.select("name", "agent").drop_nulls().rows())
    own = [names[text]] if text in names else [at for name, at in names.items() if name.startswith(f"{text}/")]
    if (isinstance(given, int) or given.isdecimal()) and (int(given) < rows.height or not own):
        return int(given)
    if own:
        return int(min(own))
    by_name = ", its name, or the id of a respondent" if any("/" in name for name in names) else ", or its name"
    allowed = "the number of an agent" + (by_name if names else "")
    known = names if "/" in text else dict.fromkeys(name.partition("/")[0] for name in names)
    raise SettingError(where, got=repr(given), allowed=allowed, do=did_you_mean(text, list(known)[:MOST_SUGGESTED]))


def other_meaning(run: Run, given: str) -> str:
    """Return what else a number represents: the agent of the respondent with this id; empty if there is none."""
    number = agent_number(run, given)
    names = dict(agent_names(run).select("agent", "name").drop_nulls().rows())
    own = [at for at, name in names.items() if name.startswith(f"{given}/")]
    if not given.isdecimal() or not own or number in own:
        return ""
    agent = names.get(number, f"agent {number}")
    return f"{given} is read as the number of an agent, {agent}; respondent {given} is {names[min(own)]}"


@checked
def outcomes(run: Run | Path | str) -> dict[str, float]:
    """Compute all outcomes of a run, such as reach after the warm-up, or stances at the last recorded step.

    For a comparison, ``experiment.outcomes`` has the outcomes of every run.

    Parameters
    ----------
    run : Run, Path or str
        A run, or its folder.

    Returns
    -------
    dict of str to float
        Name -> value, NaN where undefined. :func:`townsquare.analysis.describe` gives title, unit and direction.

    Raises
    ------
    RecordError
        The folder holds no run.
    """
    return numbers(Run.open(run))


@checked
def why(run: Run | Path | str, agent: int | str, *, step: int | None = None, proposition: str | None = None) -> Why:
    """Explain what changed the beliefs of one agent: which posts, by whom, and by how much.

    Parameters
    ----------
    run : Run, Path or str
        A run, or its folder. It must be recorded with the trail (the causes of belief changes), as runs are by default.
    agent : int or str
        A person: number, name (``R_038/17``), or id of a respondent (``R_038``: the first agent drawn from it).
    step : int, optional
        One step, from 1; default: all.
    proposition : str, optional
        One proposition, by name; default: all.

    Returns
    -------
    Why
        The changes of stance (``moves``), each with its causes, and totals by author (``contributors``).

    Raises
    ------
    SettingError
        There is no such agent or proposition, or the agent had not joined in this step.
    RecordError
        The folder holds no run, or a run without a trail.
    """
    recorded = Run.open(run)
    return causes.why(recorded, agent_number(recorded, agent), step, proposition)


@checked
def attribute(
    run: Run | Path | str, *, by: str = "author", agent: int | str | None = None, proposition: str | None = None
) -> pl.DataFrame:
    """Sum what each post, author or label contributed to the change of beliefs.

    Contributions are what the belief rule counted, not causal effects: see :func:`townsquare.counterfactual`.

    Parameters
    ----------
    run : Run, Path or str
        A run, or its folder.
    by : str
        ``post`` (a root with its shares), ``author`` (who posted or shared what was shown), ``writer`` (of the original
        post), ``veracity``, ``label``, ``cause`` (posts shown, own posts, return to the initial stance and others) or
        ``step``.
    agent : int or str, optional
        One person, as for :func:`townsquare.why`; default: all persons at the end of the run.
    proposition : str, optional
        One proposition, by name; default: all.

    Returns
    -------
    DataFrame
        One row per proposition and group, largest first: see
        :func:`townsquare.analysis.causes.attribution.attribution`. The values ``per_person`` of a proposition sum to
        the mean change in stance since step 0 (or since joining), warm-up included.

    Raises
    ------
    SettingError
        There is no such agent, proposition or value of ``by``.
    RecordError
        The folder holds no run, or a run without a trail.
    """
    recorded = Run.open(run)
    person = None if agent is None else agent_number(recorded, agent)
    return of_proposition(recorded, attribution.attribution(recorded, by, person), proposition)
