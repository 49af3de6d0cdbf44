"""What is shown while kernels compile: a count, line by line where there is no terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

COMPILE_ONE = """
import numpy as np
from townsquare.cli.warm import show_compiling
from townsquare.simulation.world_kernels import offsets
show_compiling(lambda: offsets(np.array([0, 1, 1]), 0, 2), every=True)
"""


def shown(cache: Path, *, terminal: bool) -> str:
    """What a process shows on stderr that compiles one kernel, kept in ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", COMPILE_ONE]
    if not terminal:
        return subprocess.run(command, capture_output=True, check=True, env=environment, timeout=300).stderr.decode()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 4096):
                text += chunk
        except OSError:  # the other side was closed
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0
    return text.decode()


def test_row_18_compiling_says_how_far_it_is_line_by_line_in_a_log(tmp_path: Path) -> None:
    lines = shown(tmp_path, terminal=False)
    assert "\r" not in lines
    assert all(re.match(r"compiling kernels: kernel \d+ of \d+, ", line) for line in lines.splitlines())
    counts = [int(line.split()[3]) for line in lines.splitlines()]
    assert counts[-1] == 1
    assert counts == sorted(counts)
    assert int(lines.split()[5].rstrip(",")) > 50
    assert shown(tmp_path, terminal=False).splitlines()[-1].split()[3] == "0", "what was compiled before is not counted"


def test_row_18_on_a_terminal_a_bar_is_shown_and_gone_in_the_end(tmp_path: Path) -> None:
    text = shown(tmp_path, terminal=True)
    assert re.search(r"compiling kernels .*[01]/\d+", text)
    assert text.rstrip("\r\n").endswith("\x1b[2K"), "the line is cleared"


THE_FIRST_RUN = """
import sys
from townsquare.cli import main
from townsquare.simulation.warm import FIRST_SCENARIO, counted
with counted() as count:
    main(["run", FIRST_SCENARIO, "--steps", "5", "--out", sys.argv[1]])
print("compiled", count.compiled)
"""


@pytest.mark.slow
def test_row_18_the_command_compiles_what_the_first_run_needs_and_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    def ran(*command: str) -> str:
        done = subprocess.run([sys.executable, *command], capture_output=True, env=environment, check=True, timeout=600)
        return done.stdout.decode() + done.stderr.decode()

    printed = ran("-m", "townsquare.cli.warm")
    assert "\r" not in printed
    counts = re.findall(r"^compiling kernels: kernel (\d+), ", printed, re.MULTILINE)
    assert f"kernels are ready: {counts[-1]} compiled now" in printed
    assert re.search(r"^compiled [01]$", ran("-c", THE_FIRST_RUN, str(tmp_path / "run")), re.MULTILINE)
