"""Resolve settings together with the scenario that they name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from townsquare.core.arguments import checked
from townsquare.core.errors import DataError, SettingError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.event_checks import check_against
from townsquare.scenario.load import load_scenario
from townsquare.scenario.sources.expand import expanded
from townsquare.settings.config import Config
from townsquare.settings.layers import Layer, merge
from townsquare.settings.named_files import check_contents, file_contents
from townsquare.settings.population import Population
from townsquare.settings.presets import preset_names, read_preset
from townsquare.settings.references import Nameable, check_references
from townsquare.settings.resolve import Settings, _normal, _paths, layers_for, resolve, sections_of
from townsquare.settings.trust import check_inside, check_scenario


def resolve_with_scenario(
    *layers: Layer, origins: Mapping[str, str] | None = None, scenario: Scenario | None = None
) -> Settings:
    """Resolve layers like :func:`resolve`, with the scenario's own settings and injection below them.

    Where the layers name a preset as their scenario, the settings of the preset, its scenario among them, stand
    between. ``scenario`` is what the name represents, where that is known already.

    Raises
    ------
    DataError
        The scenario cannot be read, or is no longer what a layer with a ``scenario_digest`` was resolved from.
    SettingError
        As :func:`resolve`; or the scenario's own settings name a server, a variable or a file outside its folder.
    """
    merged = merge(*(_normal(layer) for layer in layers))
    if merged.get("scenario") in preset_names():
        values, places = read_preset(merged.pop("scenario"))
        given = set(_paths(merged))
        origins = {path: line for path, line in places.items() if path not in given} | dict(origins or {})
        merged = merge(_normal(values), merged)
    name = merged.get("scenario", Config.model_fields["scenario"].default)
    if not isinstance(name, str):
        return resolve(merged, origins=origins)
    scenario = scenario or load_scenario(name)
    before = merged.get("scenario_digest")
    if before and before != scenario.digest:
        do = "restore its files, or remove `scenario_digest`"
        raise DataError(f"scenario {name}", got="files that changed later", do=do)
    below = merge({"injection": scenario.injection}, _normal(scenario.settings))
    given = set(_paths(merged))
    check_scenario(below, given, name)
    places = {path: f"settings of scenario {name}" for path in _paths(below) if path not in given}
    settings = resolve(below, merged, {"scenario_digest": scenario.digest}, origins=places | dict(origins or {}))
    check_against(expanded(scenario, settings.config), settings.config)
    _check_missing(settings.config.population)  # a recorded run that set it in vain can be replayed
    check_fits(scenario, settings)
    check_inside(sections_of(settings), places, scenario.folder)
    now = contents_now(settings, scenario.folder)
    check_contents(settings.file_contents, now)
    return replace(settings, file_contents=now)


def check_fits(scenario: Scenario, settings: Settings) -> None:
    """Refuse settings that a run of the scenario cannot have.

    Raises
    ------
    SettingError
        A setting names a post, an agent, a source or a proposition that is not there, gives steps another length than
        the one by which posts with times were assigned to steps, or shows posts of sources to nobody.
    """
    _check_length(settings.config.time.step_minutes, scenario.step_length)
    scenario = expanded(scenario, settings.config)
    stages = [settings, *(later for _, later in settings.changes)]
    if settings.config.injection.audience == "everyone" and (scenario.posts.source >= 0).any():
        for stage in stages:
            _check_outside(stage)
    there = Nameable(
        posts=len(scenario.posts), persons=settings.config.agents, propositions=scenario.proposition_names,
        newcomers=max(stage.config.growth.max_per_step for stage in stages) * settings.config.steps,
        sources=[source.name for source in scenario.sources],
        accounts=scenario.accounts.names if scenario.accounts else (),
    )  # fmt: skip
    for stage in stages:
        check_references(there, sections_of(stage))


def _check_length(minutes: float | None, length: float | None) -> None:
    if minutes is not None and length is not None and not math.isclose(minutes * 60.0, length):
        allowed = f"{length / 60.0:g}, as `step_length` in the scenario, by which times of posts became steps"
        raise SettingError("time.step_minutes", got=f"{minutes:g}", allowed=allowed, do="change both, or neither")


def _check_missing(people: Population) -> None:
    if people.missing == "impute" and not (people.file and (people.resample or people.margins)):
        got = "impute, but people are not drawn from a file: no answer would be imputed"
        do = "set population.file and population.resample=true, or leave population.missing unset"
        raise SettingError("population.missing", got=got, do=do)


def _check_outside(settings: Settings) -> None:
    """Refuse walks along follows where nobody follows a source; a ranker may retrieve posts in another way."""
    if settings.config.feed.outside == "walks" and settings.members["ranker"].retrieve is None:
        got = "everyone, but with feed.outside=walks nobody is shown the posts of sources, which have no followers"
        raise SettingError("injection.audience", got=got, do="set injection.audience=followers, or feed.outside=pool")


def contents_now(settings: Settings, folder: Path | None) -> dict[str, str]:
    """Return what :attr:`Settings.file_contents` would be now; ``folder`` is the scenario's.

    Raises
    ------
    DataError
        A file is not there or cannot be read.
    """
    return file_contents([section for _, section in sections_of(settings)], folder)


@checked
def resolve_for(
    scenario: str | Path | None = None,
    file: Path | str | None = None,
    sets: Mapping[str, Any] | Sequence[str] = (),
    *,
    agents: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
) -> Settings:
    """Check the settings of a run, and return them all.

    Parameters
    ----------
    scenario : str or Path, optional
        A bundled scenario or preset, a scenario file or folder; default: that of ``file``, or ``health-rumor``.
    file : Path or str, optional
        A configuration file (YAML or JSON); all other arguments override it.
    sets : mapping or list of str
        Settings by dotted name, such as ``{"feed.followed": 10}``, or texts such as ``"feed.followed=10"``; they
        override ``agents``, ``steps`` and ``seed``.
    agents, steps, seed : int, optional
        Number of people at the start (at least 1), number of steps (at least 1), random seed (at least 0).

    Raises
    ------
    DataError, SettingError, UnknownName
        A setting, a name or a file is wrong.
    """
    name = None if scenario is None else str(scenario)
    config = None if file is None else Path(file)
    layers, origins = layers_for(name, config, sets, agents=agents, steps=steps, seed=seed)
    return resolve_with_scenario(*layers, origins=origins)
