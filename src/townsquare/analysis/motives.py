"""Motives as stated lists of words: reading them, and finding them in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from townsquare.errors import DataError
from townsquare.settings.layers import read_yaml

Motives = Mapping[str, Sequence[str]]
"""Words and phrases by motive; ``*`` at the end of a word stands for any ending."""


def read_motives(path: Path) -> Motives:
    """The lists of a YAML file: motive to words.

    Raises
    ------
    DataError
        The file is none, or holds anything else.
    """
    found, _ = read_yaml(path)
    for name, words in found.items():
        if (
            not isinstance(words, list)
            or not words
            or not all(isinstance(word, str) and word.strip("* ") for word in words)
        ):
            raise DataError(f"{path}: {name}", got=repr(words)[:80], allowed="a list of words and phrases")
    return {str(name): list(words) for name, words in found.items()}


@cache
def bundled_motives() -> Motives:
    """The lists that come with Townsquare, ``data/motives.yaml``.

    >>> sorted(bundled_motives())[:2]
    ['agreement', 'disagreement']
    """
    return read_motives(Path(str(files("townsquare"))) / "data" / "motives.yaml")


def pattern(words: Sequence[str]) -> str:
    """One regular expression for a list: whole words, whatever the case.

    >>> pattern(["agree*", "well said"])
    '(?i)\\\\b(?:agree\\\\w*|well\\\\ said)\\\\b'
    """
    parts = [re.escape(word.strip().rstrip("*")) + (r"\\w*" if word.strip().endswith("*") else "") for word in words]
    return r"(?i)\b(?:" + "|".join(part.replace(r"\\w", r"\w") for part in parts) + r")\b"


def motives_of(texts: pl.Series, motives: Motives) -> pl.DataFrame:
    """Which motives each text has: a column of bool a motive."""
    return pl.DataFrame({name: texts.str.contains(pattern(words)) for name, words in motives.items()})
