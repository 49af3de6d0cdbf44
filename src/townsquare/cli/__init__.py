"""The command line: one file per command group. Only this room prints, and only this room catches all errors.

Heavy imports stand inside the commands, so that ``townsquare --help`` does not wait for them. What every command needs
is imported inside :func:`main`, so that Ctrl-C is answered there too.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from townsquare.cli.console import complain, explain
from townsquare.cli.signals import no_interrupt_lost
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.core.former_names import FormerName
from townsquare.core.private_files import private_umask
from townsquare.core.runtime import take_over

OK, UNEXPECTED, WRONG, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
DEBUG = "TOWNSQUARE_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: success; 1: failures (of runs, of a check), or an unexpected error; 2: wrong input;
    130, 143, 129: interrupted (by Ctrl-C, SIGTERM, SIGHUP); recorded steps are saved.

    It takes over the process, see :func:`townsquare.core.runtime.take_over`.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the program name; default: those of this process.
    """
    take_over()
    try:
        with no_interrupt_lost(), _former_names_as_notes():
            return _called(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        complain("interrupted; recorded steps are saved", kind="stopped")
        return INTERRUPTED


@contextmanager
def _former_names_as_notes() -> Iterator[None]:
    """Show each former name once, as a note on stderr, and any other warning as Python does."""
    with warnings.catch_warnings():
        others = warnings.showwarning
        noted = set()

        def show(message: Warning | str, category: type[Warning], *source: Any, **more: Any) -> None:
            if not issubclass(category, FormerName):
                others(message, category, *source, **more)
            elif str(message) not in noted:
                noted.add(str(message))
                complain(str(message), kind="note")

        warnings.showwarning = show
        yield


def _called(words: list[str]) -> int:
    from cyclopts import CycloptsError

    from townsquare.cli.app import app, explain_in_full

    if "--help" in words or "-h" in words:
        explain_in_full(words)
    if words[:1] == ["sweep"] and any(word.split("=")[0] == "--over" for word in words):
        moved = "`sweep --over` is now `debate sweep --vary`; the old name still works, but use the new one"
        complain(moved, kind="note")
        words = ["debate", *words]
    try:
        with private_umask():
            code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        from pydantic import ValidationError

        if isinstance(error.__cause__, ValidationError):  # of a group of options that is a model
            problem = error.__cause__.errors()[0]
            option = str(problem["loc"][-1]).replace("_", "-")
            allowed = problem["msg"].removeprefix("Input should be ")
            explain(SettingError(f"--{option}", got=str(problem["input"]), allowed=allowed))
        else:
            complain(f"{error}\nSee `townsquare --help`, or --help after a command.")
        return WRONG
    except TownsquareError as error:
        explain(error)
        return WRONG
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain again when it flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except OSError as error:
        # A disk that is full, a folder that may not be written: nothing that a traceback would help with.
        if not error.filename or not error.strerror:
            return _unexpected(error)
        complain(f"{error.filename}\n  got: {error.strerror}")
        return WRONG
    except Exception as error:
        if KeyboardInterrupt.__name__ in str(error):  # Polars makes one of its own errors of it
            raise KeyboardInterrupt from error
        damage = _damage_in(words)
        if damage is None:
            return _unexpected(error)
        explain(damage)
        return WRONG
    return code if isinstance(code, int) else OK


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    else:
        text = f"This is probably a bug in Townsquare, not in your input.\nSet {DEBUG}=1 to see the traceback."
        complain(f"{type(error).__name__}: {error}\n{text}", kind="unexpected error")
    return UNEXPECTED


def _damage_in(words: Sequence[str]) -> TownsquareError | None:
    """Return what is wrong with the first damaged run that a command names.

    Called only after a failure: reading a run checks what is cheap to check, and
    this checks everything.
    """
    from townsquare.record.run import Run
    from townsquare.settings.resolve import check_version

    for folder in _runs(words):
        try:
            run = Run.open(folder)
            check_version(run.settings, str(folder))
            run.verify()
        except TownsquareError as error:
            return error
        except Exception:  # it cannot be told what is wrong, so that the error that led here says more
            return None
    return None


def _runs(words: Sequence[str]) -> Iterator[Path]:
    from townsquare.record.places import record_file

    for word in words:
        with suppress(OSError, ValueError):
            if record_file(Path(word)).is_file():
                yield Path(word)
