"""An import has no effect on the process; what a large run needs of it is set when the run begins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from townsquare.core.runtime import WORTH_HOLDING

STATE = """
import ctypes, json, os, signal, sys, threading
import polars  # which sets a variable of its own
asked = []
looked_up = ctypes.CDLL.__getattr__
def look_up(library, name):
    asked.append(name)
    return looked_up(library, name)
ctypes.CDLL.__getattr__ = look_up
def state():
    return {
        "environment": dict(os.environ), "threads": threading.active_count(),
        "folder": os.getcwd(), "hook": sys.excepthook,
        "signals": {one: signal.getsignal(one) for one in signal.valid_signals()},
    }
before = state()
"""
SAY = """
after = state()
print(json.dumps({"changed": [name for name in before if before[name] != after[name]], "mallopt": "mallopt" in asked}))
"""


def said(program: str) -> Any:
    """What a program prints in a process of its own that has set nothing of memory or threads."""
    unset = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "imports",
    [
        "import townsquare",
        "import townsquare\nfor name in townsquare.__all__: getattr(townsquare, name)",
        "import townsquare.cli, townsquare.experiments.workers, townsquare.core.runtime, townsquare.simulation.warm",
    ],
)
def test_row_24_an_import_changes_nothing_of_the_process(imports: str) -> None:
    assert said(f"{STATE}\n{imports}\n{SAY}") == {"changed": [], "mallopt": False}


def test_row_24_the_package_alone_does_not_load_the_c_library() -> None:
    program = "import json, sys; import townsquare; print(json.dumps('ctypes' in sys.modules))"
    assert said(program) is False


@pytest.mark.skipif(sys.platform != "linux", reason="asks the GNU C library")
@pytest.mark.parametrize(("agents", "shared"), [(WORTH_HOLDING - 1, False), (WORTH_HOLDING, True)])
def test_row_24_a_large_run_asks_for_it_as_it_begins(agents: int, shared: bool) -> None:
    held = f"from townsquare.core.runtime import held_memory\nwith held_memory({agents}): pass"
    assert said(f"{STATE}\n{held}\n{SAY}") == {"changed": [], "mallopt": shared}


@pytest.mark.skipif(sys.platform != "linux", reason="asks the GNU C library")
def test_row_24_the_command_line_takes_the_process_for_its_own() -> None:
    command = "from townsquare.cli import main\nmain(['--version'])"
    assert said(f"{STATE}\n{command}\n{SAY}") == {"changed": [], "mallopt": True}
