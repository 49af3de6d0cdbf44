"""The contents of a scenario as columns, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.core.enums import Veracity
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.personas import Personas

_INJECTED = {"veracity": "<u1", "plausibility": "<f8", "type": "<u1", "source": "<i4", "step": "<i4"}
_STANCES = {"stance": "<f8", "strength": "<f8"}
_POST_COLUMNS = {**_INJECTED, **_STANCES}
_ARGUMENT_COLUMNS = {"proposition": "<i2", **_STANCES}
"""Columns of numbers, by name, with the type of which the digest takes the bytes."""


@dataclass(frozen=True, slots=True)
class Proposition:
    """A statement of belief; stance +1 is for, -1 against. Settings and columns use the ``name``.

    ``veracity`` says whether the statement is true; only measures of accuracy use it.
    """

    name: str
    text: str
    veracity: Veracity = Veracity.UNKNOWN


@dataclass(frozen=True, slots=True)
class Source:
    """An account that only publishes; ``credibility`` in [0, 1] is its initial trust."""

    name: str
    credibility: float


@dataclass(frozen=True, slots=True, eq=False)
class Posts:
    """The ``n`` posts to inject, column by column; arrays are read-only.

    Attributes
    ----------
    text : tuple of str
        Untrusted; 1 to 10,000 characters.
    veracity : (n,) uint8
        :class:`townsquare.core.enums.Veracity`.
    plausibility : (n,) float64
        How believable a lay reader finds it, [0, 1]; 0.5 where not given.
    type : (n,) uint8
        :class:`townsquare.core.enums.PostType`.
    topic : tuple of str
        "" for none.
    source : (n,) int32
        Row of the scenario's sources; -1 for a post by an account.
    step : (n,) int32
        The step in which it enters, at least 1; -1 by injection order.
    stance, strength : (n, P) float64
        [-1, 1] and [0, 1] by proposition; NaN where the post takes no stance, or nobody said how strong it is.
    account : (n,) int32
        Row of the scenario's accounts; -1 for a post by a source, as all are if it is not given.
    """

    text: tuple[str, ...]
    veracity: npt.NDArray[np.uint8]
    plausibility: Float
    type: npt.NDArray[np.uint8]
    topic: tuple[str, ...]
    source: npt.NDArray[np.int32]
    step: npt.NDArray[np.int32]
    stance: Float
    strength: Float
    account: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def __post_init__(self) -> None:
        if not self.account.size:
            object.__setattr__(self, "account", np.full(len(self.text), -1, np.int32))
        for name in (*_POST_COLUMNS, "account"):
            getattr(self, name).flags.writeable = False

    def __len__(self) -> int:
        return len(self.text)

    @property
    def takes_stances(self) -> bool:
        """Whether any post has a stance."""
        return not bool(np.isnan(self.stance).all())

    def first(self, n: int) -> Posts:
        """Return the first ``n`` posts."""
        if n == len(self):
            return self
        columns = {name: getattr(self, name)[:n] for name in (*_POST_COLUMNS, "account")}
        return Posts(text=self.text[:n], topic=self.topic[:n], **columns)


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The ``k`` short texts from which agents speak; arrays are read-only.

    ``proposition`` (k,) int16 is a row of propositions, ``stance`` (k,) float64 in [-1, 1], ``strength`` (k,) float64
    in [0, 1].
    """

    proposition: npt.NDArray[np.int16]
    text: tuple[str, ...]
    stance: Float
    strength: Float

    def __post_init__(self) -> None:
        for name in _ARGUMENT_COLUMNS:
            getattr(self, name).flags.writeable = False

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True, eq=False)
class NoteBank:
    """What the ``k`` texts of community notes say; arrays are read-only.

    ``proposition`` (k,) int16 is a row of propositions, -1 for a note that fits any post; ``stance`` (k,) float64 in
    [-1, 1] is that of the note, which corrects posts of the other side, NaN for none; ``source`` (k,) is what it cites,
    "" for nothing. ``text`` (k,) ends with the source.
    """

    text: tuple[str, ...]
    proposition: npt.NDArray[np.int16]
    stance: Float
    source: tuple[str, ...]

    def __post_init__(self) -> None:
        self.proposition.flags.writeable = self.stance.flags.writeable = False

    @classmethod
    def plain(cls, texts: tuple[str, ...]) -> NoteBank:
        """Return texts that fit any post and cite nothing."""
        n = len(texts)
        return cls(texts, np.full(n, -1, np.int16), np.full(n, np.nan), ("",) * n)

    @property
    def takes_sides(self) -> bool:
        """Whether any note is about a proposition or cites a source."""
        return bool((self.proposition >= 0).any()) or any(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """Accounts of a scenario: the first people of a run, in this order.

    Attributes
    ----------
    personas : Personas
        Their ids, personas and traits, and activity and stances where they are known.
    names : tuple of str
        What the record calls them; the id where there is no other name.
    follows : Edges, optional
        Who of them follows whom; nothing if the scenario does not say.
    """

    personas: Personas
    names: tuple[str, ...]
    follows: Edges | None

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A scenario: propositions, posts to inject, texts that agents use, and settings.

    Attributes
    ----------
    name, title, description : str
        Short name, heading, a paragraph.
    propositions, sources : tuple
        In order of their rows.
    posts, arguments : Posts, Arguments
        Tables, as one array per column.
    comments : tuple of str
        Lines without a stance.
    notes : NoteBank
        Texts of community notes.
    injection, settings : dict
        The scenario's own settings, from the keys ``injection`` and ``settings`` of its file; ``settings`` also
        holds its events and treatments.
    has_plausibility : bool
        Whether any post has a plausibility. If not, readers cannot tell true from false posts, and F1 of
        community notes is uninformative.
    notices : tuple of str
        What an importer assumed or left out, for the user to read.
    origin : str
        Its file or bundled name.
    accounts : Accounts, optional
        The first people of a run, if the scenario defines them.
    folder : Path, optional
        The folder in which relative paths of its settings (personas, follow graph) are looked up first.
    files : tuple of Path
        The files from which it was read, starting with the one that names the others; none for a generated scenario.
    primary_outcome : str
        The primary outcome of comparisons; "" for the default of :func:`townsquare.compare`.
    step_length : float, optional
        Seconds of a step by which posts with times were assigned to steps.
    digest : str
        SHA-256 (hexadecimal) of all but ``primary_outcome``, ``step_length``, ``notices``, ``origin``, ``folder`` and
        ``files``; part of a run's identity.
    """

    name: str
    title: str
    description: str
    propositions: tuple[Proposition, ...]
    sources: tuple[Source, ...]
    posts: Posts
    arguments: Arguments
    comments: tuple[str, ...]
    notes: NoteBank
    injection: Mapping[str, Any]
    settings: Mapping[str, Any]
    has_plausibility: bool
    origin: str
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    notices: tuple[str, ...] = ()
    accounts: Accounts | None = None
    primary_outcome: str = ""
    step_length: float | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest(self))

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """Names of the propositions, in order."""
        return tuple(proposition.name for proposition in self.propositions)


def _known(veracity: Veracity) -> list[int]:
    return [int(veracity)] if veracity else []  # digests of scenarios that do not state it stay as they were


def _digest(scenario: Scenario) -> str:
    """Return SHA-256 over one JSON line a part and the little-endian bytes of each column."""
    posts, arguments = scenario.posts, scenario.arguments
    names = ("name", "title", "description", "comments", "injection", "settings", "has_plausibility")
    words: dict[str, Any] = {name: getattr(scenario, name) for name in names} | {
        "propositions": [[item.name, item.text, *_known(item.veracity)] for item in scenario.propositions],
        "sources": [[item.name, float(item.credibility)] for item in scenario.sources],
        "posts": [posts.text, posts.topic],
        "arguments": arguments.text,
        "notes": scenario.notes.text,
    }
    columns: list[tuple[str, npt.NDArray[Any]]] = [
        *((dtype, getattr(posts, name)) for name, dtype in _POST_COLUMNS.items()),
        *((dtype, getattr(arguments, name)) for name, dtype in _ARGUMENT_COLUMNS.items()),
    ]
    if scenario.notes.takes_sides:
        words["note_sources"] = scenario.notes.source
        columns += [("<i2", scenario.notes.proposition), ("<f8", scenario.notes.stance)]
    if scenario.accounts is not None:
        people, follows = scenario.accounts.personas, scenario.accounts.follows
        called = (people.ids, people.texts, scenario.accounts.names)
        words["accounts"] = [*called, list(people.stance), follows is not None]
        columns += [("<i2", people.traits), ("<f8", people.activity)]
        columns += [("<f8", stance) for stance in people.stance.values()]
        columns += [("<i4", posts.account), *(("<i4", ends) for ends in follows or ())]
    summed = hashlib.sha256()
    summed.update(json.dumps(words, sort_keys=True, default=str).encode())
    for dtype, column in columns:
        summed.update(f"\n{dtype}{column.shape}".encode())
        # One NaN has many bit patterns; adding 0 also makes -0 and 0 one value.
        value = np.where(np.isnan(column), np.nan, column + 0.0) if dtype == "<f8" else column
        summed.update(np.ascontiguousarray(value, dtype=dtype).tobytes())
    return summed.hexdigest()
