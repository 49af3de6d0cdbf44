"""What may stand behind an unexpected error: a recorded run, named in the command, whose files are damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from townsquare.core.errors import TownsquareError


def damage_in(words: Sequence[str]) -> TownsquareError | None:
    """What is wrong with the first run that these words of a command name and that is not as it was recorded.

    Only looked for once something has failed: reading a run checks what it reads as far as that costs nothing, and
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
