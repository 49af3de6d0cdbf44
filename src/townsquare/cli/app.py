"""The commands, as ``data/commands.csv`` lists them. Each is imported when it is called, or when its help is shown."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cyclopts import App, Parameter


def _version() -> str:
    from importlib.metadata import version  # an eighth of the time of --help

    return version("townsquare")


app = App(
    name="townsquare",
    help="Simulate a social network of agents with explicit beliefs, and record the cause of every belief change.",
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main() says something
    default_parameter=Parameter(negative=""),  # an option has a negative form only where it is named
)


with (Path(__file__).parents[1] / "data" / "commands.csv").open(encoding="utf-8", newline="") as _file:
    ROWS = list(csv.DictReader(_file))
"""The commands: ``group``, ``name``, ``call`` (empty for a group) and ``help``."""

_GROUPS = {"": app}
for _row in ROWS:
    if _row["call"]:
        _GROUPS[_row["group"]].command(f"townsquare.cli.{_row['call']}", name=_row["name"], help=_row["help"])
    else:
        _GROUPS[_row["name"]] = App(name=_row["name"], help=_row["help"], help_format="plaintext")
        app.command(_GROUPS[_row["name"]])
app.register_install_completion_command(help="Install completion of commands and options for this shell.")


def explain_in_full(words: Sequence[str]) -> None:
    """Let ``--help`` after a command show all of its docstring but the parameters, which are listed below it."""
    command = app
    for word in words:
        with suppress(KeyError):
            command = command if word.startswith("-") else command[word]
    if command.default_command is not None:
        text = inspect.getdoc(command.default_command) or ""
        paragraphs = text.partition("\n\nParameters\n---")[0].split("\n\n")
        command.help = "\n\n".join(each if "\n " in each else " ".join(each.split()) for each in paragraphs)
