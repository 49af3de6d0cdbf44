"""What is left out of a counterfactual, as a user names it, and which rows of a recorded run that means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from townsquare.analysis.causes.contributions import called
from townsquare.analysis.contract import Reads
from townsquare.analysis.verbs import agent_number
from townsquare.core.array_types import Int64
from townsquare.core.enums import PostKind, Veracity
from townsquare.core.errors import SettingError
from townsquare.record.run import Run

_ALLOWED = "post=N, author=N (or a name), record=N, veracity=false, veracity=true, label=verdict or label=note"
_NUMBERED = ("post", "author", "record")
_VERACITY = {"true": Veracity.TRUE, "false": Veracity.FALSE}
_LABELS = ("verdict", "note")


@dataclass(frozen=True, slots=True)
class Removal:
    """What to leave out; several things are left out together.

    Attributes
    ----------
    posts : tuple of int
        Rows of posts. A root goes with everybody who passed it on; a share goes alone.
    authors : tuple of int
        Rows of agents: what they wrote, and what they passed on.
    records : tuple of int
        Rows of claims: arguments that reach nobody, whoever makes them. Those that agents start with stay.
    veracities : tuple of Veracity
        Injected posts of this truth.
    labels : tuple of str
        ``verdict`` or ``note``: these are shown beside no post; the posts stay.
    """

    posts: tuple[int, ...] = ()
    authors: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    veracities: tuple[Veracity, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str], run: Run | None = None) -> Removal:
        """Read texts such as ``post=12``; with a run, authors can be given by name.

        Raises
        ------
        SettingError
            For anything else.

        >>> Removal.parse(["post=3", "author=7", "post=4", "veracity=false"]).posts
        (3, 4)
        """
        removal = cls()
        for text in texts:
            kind, _, value = (part.strip() for part in text.partition("="))
            if kind == "author" and value and run is not None:
                value = str(agent_number(run, value, "--without author"))
            if kind in _NUMBERED and re.fullmatch(r"\d{1,9}", value):
                name = f"{kind}s"
                removal = replace(removal, **{name: (*getattr(removal, name), int(value))})
            elif kind == "veracity" and value in _VERACITY:
                removal = replace(removal, veracities=(*removal.veracities, _VERACITY[value]))
            elif kind == "label" and value in _LABELS:
                removal = replace(removal, labels=(*removal.labels, value))
            else:
                raise SettingError("--without", got=repr(text), allowed=_ALLOWED)
        return removal

    @property
    def nothing(self) -> bool:
        """Whether everything stays."""
        return self == Removal()

    def words(self, run: Run | None = None) -> str:
        """Return the removal in words; with a run, authors by name.

        >>> Removal(posts=(3,), veracities=(Veracity.FALSE,)).words()
        'post 3, false posts'
        """
        of = {n: called(run, n).removeprefix("agent ") for n in self.authors} if run is not None else {}
        parts = [
            f"{kind} {of.get(n, n) if kind == 'author' else n}" for kind in _NUMBERED for n in getattr(self, f"{kind}s")
        ]
        parts += [f"{veracity.name.lower()} posts" for veracity in self.veracities]
        return ", ".join([*parts, *(f"{label}s" for label in self.labels)]) or "nothing"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What a removal means in one run.

    ``roots`` (rows of posts) speak to nothing any more; exposures whose row is one of ``rows`` or whose author is one
    of ``authors`` are taken away; ``claims`` (firsts of their kinds) reach nobody. All int64, ascending. ``labels``
    (``verdict``, ``note``) are shown beside no row.
    """

    roots: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    authors: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    claims: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Reads, removal: Removal) -> Exclusion:
        """Find the rows of a recorded run that a removal covers.

        Raises
        ------
        SettingError
            The run has no such post, agent or claim.
        """
        posts = run.table("posts")
        _check(removal.posts, posts.height, "post")
        _check(removal.authors, run.table("agents").height, "author")
        claims = run.table("claims")
        _check(removal.records, claims.height, "record")
        is_root = pl.col("root") == pl.col("post")
        named = is_root & pl.col("post").is_in(removal.posts)
        written = is_root & pl.col("author").is_in(removal.authors)
        classed = (pl.col("kind") == PostKind.INJECTED) & pl.col("veracity").is_in([int(v) for v in removal.veracities])
        return cls(
            roots=_rows(posts.filter(named | written | classed), "post"),
            rows=_rows(posts.filter(~is_root & pl.col("post").is_in(removal.posts)), "post"),
            authors=np.unique(np.array(removal.authors, np.int64)),
            claims=_rows(claims.filter(pl.col("claim").is_in(removal.records)), "same_as"),
            labels=removal.labels,
        )


def _rows(frame: pl.DataFrame, column: str) -> Int64:
    return np.unique(frame[column].to_numpy().astype(np.int64))


def _check(numbers: Sequence[int], n: int, what: str) -> None:
    for number in numbers:
        if number >= n:
            allowed = f"0 to {n - 1}" if n else f"none: this run has no {what}s"
            raise SettingError(f"--without {what}", got=str(number), allowed=allowed)
