"""Libraries of the extra ``analysis``: imported when a measure needs one, so that all others work without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from townsquare.errors import TownsquareError


class MissingExtra(TownsquareError):
    """A measure needs a library that is not installed."""


def library(name: str) -> Any:
    """A module of the extra.

    Raises
    ------
    MissingExtra
        It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise MissingExtra(
            f"analysis with {name}", got="not installed", do="pip install 'townsquare[analysis]'"
        ) from None
