"""``python -m townsquare.cli.warm``: compile every kernel, and show progress; ``make setup`` calls it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from townsquare.cli.progress import ProgressDisplay, mode

POLLED_EVERY = 0.5  # seconds


def show_compiling(work: Callable[[], None]) -> int:
    """Do work, show how many kernels are compiled meanwhile, and return that number."""
    from townsquare.simulation.warm import counted

    display = mode(quiet=False, as_json=False)
    with counted() as count, ThreadPoolExecutor(1) as pool:
        with ProgressDisplay(count.total, display, "compiling kernels", "kernel") as progress:
            working = pool.submit(work)
            while not wait([working], POLLED_EVERY).done:
                progress.at(count.compiled)
            progress.at(count.compiled, last=True)
        working.result()
        return count.compiled


def main() -> None:
    """Compile every kernel that is not compiled yet."""
    from townsquare.core.runtime import take_over

    take_over()
    began = time.monotonic()
    print("compiling kernels: loading", flush=True)

    from townsquare.simulation.warm import load, warm

    load()
    compiled = show_compiling(warm)
    print(f"kernels are ready: {compiled} compiled now, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
