"""The commands, as ``data/commands.yaml`` lists them. Each is imported when it is called, or when its help is shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, cast

from cyclopts import App, Parameter

from townsquare.core.documents import read_yaml
from townsquare.core.files import bundled_folder

app = App(
    name="townsquare",
    help="Simulate a public on a social network, with explicit beliefs and a cause on record for every change of mind.",
    version=lambda: version("townsquare"),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main() says something
    default_parameter=Parameter(negative=""),  # an option has a negative form only where it is named
)


def _add(to: App, commands: Mapping[str, Mapping[str, Any]]) -> None:
    """Add commands, and groups of commands, as ``data/commands.yaml`` has them."""
    for name, entry in commands.items():
        if "commands" in entry:
            to.command(group := App(name=name, help=entry["help"], help_format="plaintext"))
            _add(group, entry["commands"])
        else:
            to.command(f"townsquare.cli.{entry['call']}", name=name, help=entry["help"])


_add(app, cast("dict[str, Any]", read_yaml(bundled_folder() / "commands.yaml")))
app.register_install_completion_command(help="Install completion of commands and options for this shell.")
