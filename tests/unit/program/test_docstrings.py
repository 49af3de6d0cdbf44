"""Every module of the package can be imported by itself, and the examples in its docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from repository import ROOT

SOURCE = ROOT / "src"
MODULES = sorted((SOURCE / "townsquare").rglob("*.py"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def test_every_module_can_be_imported() -> None:
    for path in MODULES:
        if path.name != "__main__.py":
            importlib.import_module(name_of(path))


@pytest.mark.parametrize("name", [name_of(path) for path in MODULES if ">>>" in path.read_text(encoding="utf-8")])
def test_examples_in_docstrings(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert (failed, tried > 0) == (0, True)
