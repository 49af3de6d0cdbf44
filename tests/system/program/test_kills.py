"""Kills of real commands: every run goes on to the hash of an unbroken one, and no process is left.

``TOWNSQUARE_KILLS`` is how many the slow test does in all: a tenth of them of ``compare``, the others in equal parts.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

import postgres_server
from killed_commands import KINDS, Kills

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look for processes")

IN_ALL = 20
SLOW_IN_ALL = int(os.environ.get("TOWNSQUARE_KILLS", "300"))
SEED = 20_261_122


def share(name: str, kills: int) -> int:
    """Return how many of the kills are of this kind: a comparison starts workers anew and takes ten times as long."""
    compared = kills // 10
    if name == "compare":
        return compared
    others = [each for each in KINDS if each != "compare"]
    each, more = divmod(kills - compared, len(others))
    return each + (others.index(name) < more)


def kill(name: str, folder: Path, kills: int, seed: int) -> None:
    kind = KINDS[name]
    if name == "postgresql":
        server = postgres_server.new_address("kills").url
        kind = replace(kind, words=[*kind.words, "--record", server])
    done = Kills(kind, folder, random.Random(f"{name} {seed}")).run(kills)
    assert done.wrong == []
    assert done.kills == kills
    assert done.runs >= 1
    assert all(len(content) == 64 for content in done.hashes.values()), "the unbroken run is not finished"


@pytest.mark.parametrize("name", KINDS)
def test_killed_commands_lose_nothing(name: str, tmp_path: Path) -> None:
    kill(name, tmp_path, share(name, IN_ALL), SEED)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_killed_commands_lose_nothing(name: str, tmp_path: Path) -> None:
    kill(name, tmp_path, share(name, SLOW_IN_ALL), SEED + 1)
