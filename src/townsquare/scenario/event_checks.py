"""Check that what events name exists in the scenario."""

from __future__ import annotations

from townsquare.core.errors import SettingError
from townsquare.core.registry import check_known
from townsquare.scenario.contents import Scenario
from townsquare.scenario.load import injection_schedule, queued
from townsquare.scenario.shocks import shocks_of
from townsquare.settings.config import Config
from townsquare.settings.event_checks import event_name


def check_against(scenario: Scenario, config: Config) -> None:
    """Refuse events that name what a scenario does not have.

    Raises
    ------
    SettingError
        A message's source or proposition, or the source of a shock, is unknown; or too few posts are left for one.
    """
    sources = [source.name for source in scenario.sources]
    for number, event in enumerate(config.events, 1):
        where = event_name(number, event.step)
        if event.message is not None:
            check_known(f"{where}, message, source", event.message.source, sources, SettingError)
            for name in event.message.stance:
                check_known(f"{where}, message, stance", name, scenario.proposition_names, SettingError)
        if event.inject is not None and event.inject.source is not None:
            check_known(f"{where}, inject, source", event.inject.source, sources, SettingError)
    if shocks := shocks_of(config, scenario):
        posts, injection = queued(scenario.posts, config)
        injection_schedule(posts, injection, config.seed, shocks)
