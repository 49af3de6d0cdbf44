"""The commands, by name. Each is imported when it is called, or when its help is shown."""

from __future__ import annotations

from importlib.metadata import version

from cyclopts import App

app = App(
    name="townsquare",
    help="Simulate a public on a social network, with explicit beliefs and a cause on record for every change of mind.",
    version=lambda: version("townsquare"),
    help_format="plaintext",
)
check = App(name="check", help="Check this installation against recorded numbers.", help_format="plaintext")

app.command("townsquare.cli.run:run", name="run")
app.command("townsquare.cli.run:resume", name="resume")
app.command("townsquare.cli.compare:compare", name="compare")
app.command("townsquare.cli.why:why", name="why")
app.command("townsquare.cli.inspect:inspect", name="inspect")
app.command("townsquare.cli.report:report", name="report")
app.command("townsquare.cli.listings:scenarios", name="scenarios")
app.command("townsquare.cli.listings:schema", name="schema")
check.command("townsquare.cli.check:golden", name="golden")
app.command(check)
