"""``python -m townsquare.cli.warm``: compile the kernels of the first run, and show how far that is.

``make run`` calls it. With ``--all``, as ``make setup`` and ``make test`` have it, every kernel is compiled; without,
others are compiled when first used.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from townsquare.cli.progress import ProgressDisplay, mode

POLLED_EVERY = 0.5  # seconds


def show_compiling(work: Callable[[], None], *, every: bool = False) -> int:
    """Do work, show how many kernels are compiled meanwhile, and return that number.

    How many there will be is known where it is ``every`` kernel of the modules that are loaded.
    """
    from townsquare.simulation.warm import counted

    display = mode(quiet=False, as_json=False)
    with counted() as count, ThreadPoolExecutor(1) as pool:
        with ProgressDisplay(count.total if every else None, display, "compiling kernels", "kernel") as progress:
            working = pool.submit(work)
            while not wait([working], POLLED_EVERY).done:
                progress.at(count.compiled)
            progress.at(count.compiled, last=True)
        working.result()
        return count.compiled


def main(arguments: Sequence[str]) -> None:
    """Compile the kernels of the first run that are not compiled yet; with ``--all``, every kernel."""
    from townsquare.core.runtime import take_over

    take_over()
    began = time.monotonic()
    print("compiling kernels: loading (once after an installation; about two minutes)", flush=True)

    from townsquare.simulation.warm import load, warm, warm_first_run

    if "--all" in arguments:
        load()
        compiled = show_compiling(warm, every=True)
    else:
        compiled = show_compiling(warm_first_run)
    print(f"kernels are ready: {compiled} compiled now, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
