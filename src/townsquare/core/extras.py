"""Libraries outside the base installation: imported when first used, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from townsquare.core.errors import TownsquareError

EXTRAS = {
    "aiohttp": "models", "jsonschema_rs": "models", "pyarrow": "parquet", "networkx": "graphs",
    "igraph": "analysis", "powerlaw": "analysis", "sklearn": "analysis", "bertopic": "topics", "umap": "topics",
    "psycopg": "postgresql", "fsspec": "cluster", "ray": "cluster", "torch": "quality", "transformers": "quality",
}  # fmt: skip
"""Each library by the name that Python imports, and the extra of ``pyproject.toml`` that installs it."""


class MissingExtra(TownsquareError):
    """A library of an extra is not installed."""


def library(name: str, purpose: str = "") -> Any:
    """Import a library of an extra, or a module of it.

    Parameters
    ----------
    name : str
        As Python imports it: ``pyarrow.parquet``.
    purpose : str, optional
        What needs the library; opens the error message.

    Raises
    ------
    MissingExtra
        The library is not installed.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        do = f"pip install 'townsquare[{EXTRAS[package]}]'"
        raise MissingExtra(purpose or f"library {package}", got=f"{package} is not installed", do=do) from None
