"""Load scenarios, and schedule the injection of their posts.

What a scenario holds is in :mod:`townsquare.scenario.contents`, how files are read in
:mod:`townsquare.scenario.read`; both are reached from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core import files
from townsquare.core.array_types import Int32, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import Veracity
from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import bundled_folder
from townsquare.core.former_names import FORMER_NAMES, current_name
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import TABLE_KINDS
from townsquare.scenario.contents import Posts, Scenario
from townsquare.scenario.read import (
    SCENARIO_FILE,
    YAML_KINDS,
    read_scenario_folder,
    read_scenario_yaml,
    read_table_scenario,
)
from townsquare.scenario.shocks import Shock, with_shocks
from townsquare.scenario.synthetic import SYNTHETIC_POSTS, synthetic_scenario
from townsquare.settings.config import Config, Injection
from townsquare.settings.presets import preset_names

__all__ = ["ScenarioLine", "injection_schedule", "list_scenarios", "load_scenario", "queued", "synthetic_scenario"]


class ScenarioLine(NamedTuple):
    """One line of the list of scenarios; ``posts`` and ``propositions`` are counts."""

    name: str
    title: str
    posts: int
    propositions: int


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Return a scenario by bundled name or from a file.

    Parameters
    ----------
    name_or_path : str or Path
        A bundled name; ``synthetic`` or ``synthetic:500`` (see :func:`synthetic_scenario`); a folder with
        ``scenario.yaml``; a YAML file; a CSV or JSONL file of posts. A bundled name has precedence over a folder of
        that name: write ``./name`` for the folder.

    Raises
    ------
    DataError
        There is no such scenario, or its files have an error, with file, row and column.

    >>> load_scenario("health-rumor").proposition_names
    ('vaccine_safe', 'campaign_worthwhile')
    """
    asked = str(name_or_path)
    name, colon, posts = asked.partition(":")
    former = FORMER_NAMES["scenario"].get(name)
    if former is not None:
        return _as_formerly(load_scenario(current_name("scenario", name) + colon + posts), former, name)
    if name == "synthetic":
        return _load_synthetic(asked)
    if asked in _bundled_names():
        return read_scenario_yaml(_bundled_names()[asked], f"bundled:{asked}", asked)
    path = Path(asked)
    if asked and files.is_folder(path):
        return read_scenario_folder(path, asked)
    if not files.is_file(path):
        names, presets = [*_bundled_names(), "synthetic"], preset_names()
        files_too = "or the path of a folder, YAML, JSONL or CSV"
        allowed = f"one of {', '.join(names)}, one of the presets {', '.join(presets)}, {files_too}"
        do = did_you_mean(asked, [*names, *presets])
        raise DataError(f"scenario {asked!r}", got="no such scenario", allowed=allowed, do=do)
    ending = path.suffix.lower()
    if ending in YAML_KINDS:
        return read_scenario_yaml(path, asked, path.resolve().parent.name if path.name == SCENARIO_FILE else path.stem)
    if ending not in TABLE_KINDS:
        raise DataError(asked, got=ending or "a name without an ending", allowed=", ".join(YAML_KINDS + TABLE_KINDS))
    return read_table_scenario(path, asked)


def _as_formerly(scenario: Scenario, name: str, former: str) -> Scenario:
    """Return a scenario with the texts of earlier versions, so that runs recorded then keep their digest."""
    if name == "synthetic":
        title = scenario.title.replace(name, former)
        described = "Posts and arguments made by draws, to try out sizes; they say nothing about the world."
    else:
        title, described = (text.replace("rumor", "rumour") for text in (scenario.title, scenario.description))
    return replace(scenario, name=scenario.name.replace(name, former), title=title, description=described)


def _load_synthetic(asked: str) -> Scenario:
    _, colon, posts = asked.partition(":")
    if colon and not (posts.isdecimal() and 1 <= len(posts) <= 7 and int(posts) > 0):
        allowed = "synthetic, or synthetic:N with 1 to 9,999,999 posts"
        raise DataError(f"scenario {asked!r}", got=repr(posts), allowed=allowed, do="an empty scenario cannot be run")
    return synthetic_scenario(posts=int(posts) if colon else SYNTHETIC_POSTS)


def _bundled_names() -> dict[str, Path]:
    """Return the YAML file of each name; ``scenario@1.yaml`` in the folder ``name`` is ``name@1``, an earlier form."""
    files_of_scenarios = (bundled_folder() / "scenarios").glob("*/scenario*.yaml")
    return {path.parent.name + path.stem.removeprefix("scenario"): path for path in sorted(files_of_scenarios)}


def list_scenarios() -> list[ScenarioLine]:
    """Return the bundled scenarios, by name.

    >>> [line.name for line in list_scenarios()]
    ['compulsory-voting', 'health-rumor', 'health-rumor@1']
    """
    loaded = [load_scenario(name) for name in _bundled_names()]
    return [ScenarioLine(item.name, item.title, len(item.posts), len(item.propositions)) for item in loaded]


# --- injection ---------------------------------------------------------------------------------------------


def injection_schedule(
    posts: Posts, injection: Injection, seed: int, shocks: Sequence[Shock] = ()
) -> tuple[Int64, Int32]:
    """Return which post enters in which step.

    Posts with a step of their own enter then. The others form a queue, of which ``posts_per_step`` enter a step from
    ``start_step`` on. The queue is in the order of the file, or shuffled by draws keyed by the row of the post. With a
    ``false_share`` s, the k-th of the queue (from 0) is false if floor((k + 1)s) > floor(ks), so that false posts are
    evenly spread; false ones and all others each keep their order. The queue then ends when the kind that is due is
    used up, since going on with the other kind would change the share. Shocks take from the queue, and from what it
    leaves out (:func:`townsquare.scenario.shocks.with_shocks`).

    Parameters
    ----------
    posts : Posts
        Of the scenario.
    injection : Injection
        Settings; ``limit`` cuts the whole.
    seed : int
        Seed of the run.
    shocks : sequence of Shock
        By step.

    Returns
    -------
    rows : (k,) int64
        Rows of ``posts`` as they enter, each at most once; within a step, those with a step of their own come first,
        then those of shocks.
    steps : (k,) int32
        The step of each, ascending.

    Raises
    ------
    SettingError
        ``false_share`` asks for a kind of post that the scenario does not have, or a shock for more than are left.
    """
    queue = _queue(posts, injection, seed) if injection.posts_per_step else np.empty(0, np.int64)
    own = np.flatnonzero(posts.step >= 0)
    turn = injection.start_step + np.arange(queue.shape[0]) // max(1, injection.posts_per_step)
    if shocks:
        every = _queue(posts, injection.model_copy(update={"false_share": None}), seed)
        queue, turn = with_shocks(posts, queue, every[~np.isin(every, queue)], injection, list(shocks))
    rows = np.concatenate([own, queue])
    steps = np.concatenate([posts.step[own].astype(np.int64), turn])
    first = np.argsort(steps, kind="stable")[: injection.limit]
    return rows[first], steps[first].astype(np.int32)


def queued(posts: Posts, config: Config) -> tuple[Posts, Injection]:
    """Return posts and settings of the schedule of a run.

    Posts without an author (everyday posts, and those of sources that are left out) enter after its end. Where sources
    publish at a rate, the queue has no turn, and only shocks take from it.
    """
    has_author = (posts.source >= 0) | (posts.account >= 0)
    injection = config.injection
    if config.sources.publish:
        injection = injection.model_copy(update={"posts_per_step": 0})
    return replace(posts, step=np.where(has_author, posts.step, config.steps + 1)), injection


def _queue(posts: Posts, injection: Injection, seed: int) -> Int64:
    rows = np.flatnonzero(posts.step < 0)
    if injection.order == "shuffled":
        bits = Draws(seed, 0)(Stage.SCENARIO).bits("order", rows, lasting=True)
        rows = rows[np.argsort(bits, kind="stable")]
    if injection.false_share is None or not rows.size:
        return rows
    return _with_share(rows, posts.veracity[rows] == int(Veracity.FALSE), injection.false_share)


def _with_share(rows: Int64, false: npt.NDArray[np.bool_], share: float) -> Int64:
    """Take false ones and others in turn; see :func:`injection_schedule`."""
    if (share > 0 and not false.any()) or (share < 1 and false.all()):
        kind = "no false posts" if share > 0 and not false.any() else "only false posts"
        do = "unset it to keep the order of posts"
        raise SettingError("injection.false_share", got=f"{share:g}, but the scenario has {kind}", do=do)
    # The sliver keeps products such as 100 x 0.29 from falling below the whole number that they represent.
    due = np.diff(np.floor(np.arange(rows.shape[0] + 1) * share + 1e-9)) > 0
    n_false, n_other = np.cumsum(due), np.cumsum(~due)
    ends = (n_false > np.count_nonzero(false)) | (n_other > np.count_nonzero(~false))
    size = int(np.argmax(ends)) if ends.any() else rows.shape[0]
    out = np.empty(size, np.int64)
    for which, there in ((due[:size], false), (~due[:size], ~false)):
        out[which] = rows[there][: np.count_nonzero(which)]
    return out
