"""``townsquare interview``, ``panel`` and ``personas rewrite``: commands that put questions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.calls import Calls
from townsquare.cli.console import complain, console, safe, show_json, table

if TYPE_CHECKING:
    from townsquare.models.client import ModelClient

Model = Annotated[str, Parameter(help="provider/model, as the setting `model`; `fake` answers without any.")]
Agents = Annotated[str, Parameter(name="--agents", help="Who: numbers and spans such as 3,17,40-49; or `all`.")]


@contextmanager
def _client(model: str, sets: list[str] | None, seed: int, path: Path | None) -> Iterator[ModelClient]:
    """The client for a command; calls are kept in ``path``, or nowhere."""
    from townsquare.cli.servers import show_servers
    from townsquare.models.open import model_client
    from townsquare.settings.resolve import parse_set, resolve

    settings = resolve({"model": model}, *map(parse_set, sets or ()))
    show_servers([settings.config])
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    with model_client(settings.config, seed, path) as client:
        yield client


def interview(
    folder: options.Folder,
    /,
    *,
    agents: Agents,
    question: Annotated[str, Parameter(help="What they are asked.")],
    model: Model,
    step: Annotated[
        int | None, Parameter(converter=options.whole, help="After which step; the last if not given.")
    ] = None,
    sets: options.Sets = None,
    as_json: options.AsJson = False,
) -> int:
    """Ask agents of a recorded run a question, as they were after a step. Nothing of the run changes.

    Calls are recorded in RUN/interviews/calls.db; a question that was put before is answered from there.
    """
    from townsquare.experiments.interview import interview as ask
    from townsquare.experiments.interview import persons_at
    from townsquare.record.run import Run

    run = Run.open(folder)
    who = persons_at(run, run.last_step if step is None else step) if agents == "all" else _spans(agents)
    with _client(model, sets, int(run.settings["seed"]), folder / "interviews" / "calls.db") as client:
        found = ask(run, who, question, client, step=step)
    failed = sum(not one.reply.ok for one in found)
    if as_json:
        rows = [
            {"agent": one.agent, "answer": one.reply.value, "outcome": one.reply.outcome.name.lower()} for one in found
        ]
        show_json({"run": str(folder), "step": run.last_step if step is None else step, "answers": rows})
    else:
        for one in found:
            print(f"agent {one.agent}: {safe(str(one.reply.value)) if one.reply.ok else f'({one.reply.error})'}\n")
    if failed:
        complain(f"{failed} of {len(found)} gave no answer", kind="note")
    return 1 if failed == len(found) else 0


def _spans(text: str) -> list[int]:
    """Numbers from ``3,17,40-49``."""
    from townsquare.core.errors import SettingError

    out: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()) or (last and int(last) - int(first) > 1_000_000):
            raise SettingError("--agents", got=repr(text), allowed="numbers and spans such as 3,17,40-49, or `all`")
        out += range(int(first), int(last or first) + 1)
    return sorted(set(out))


def panel(
    posts: Annotated[Path, Parameter(name="POSTS", help="File of posts; a column `feed` makes several feeds of it.")],
    personas: Annotated[Path | None, Parameter(name="PERSONAS", help="People, as JSON lines.")] = None,
    /,
    *,
    agents: options.Agents = None,
    policy: Annotated[str, Parameter(help="What makes them act.")] = "statistical",
    seed: options.Seed = None,
    out: options.Out = None,
    sets: options.Sets = None,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Have everybody react once to given feeds, without a network between them."""
    from townsquare.cli.servers import show_servers_of
    from townsquare.core.spreadsheets import as_cells
    from townsquare.experiments.panel import hold_panel, panel_settings, reactions, split_feeds
    from townsquare.experiments.run_folders import check_unused, folder_for
    from townsquare.scenario.population.personas import read_personas
    from townsquare.scenario.population.question_bank import bundled_bank

    people = agents or (len(read_personas(personas, bundled_bank())) if personas is not None else 100)
    runs = {}
    with folder_for(out, f"panel-{posts.stem}") as folder:
        check_unused(folder)
        feeds = split_feeds(posts, folder / "feeds")
        for number, (name, feed) in enumerate(feeds.items(), 1):
            settings = panel_settings(feed, people, personas, [f"policy={policy}", *(sets or ())], seed)
            if number == 1:
                show_servers_of([settings])
            calls = Calls(settings.config.serving.prices)
            runs[name] = hold_panel(settings, folder / f"feed-{number}", calls.add)
            if calls.note(1):
                complain(f"feed {name}: {calls.note(1)}", kind="note")
        found = reactions(runs)
        as_cells(found, safe=safe_cells).write_csv(folder / "reactions.csv")
    if as_json:
        show_json({"panel": str(folder), "people": people, "reactions": found.to_dicts()})
        return 0
    kinds = [name for name in found.columns[4:] if found[name].sum()]
    rows = [
        (row["feed"], row["position"], safe(row["text"], 60), *(f"{row[kind]:,}" for kind in kinds))
        for row in found.iter_rows(named=True)
    ]
    heads = ("feed", "position", "text", *kinds)
    console().print(table(f"{people:,} people, each shown every post of a feed once", heads, rows, right=kinds))
    print(f"panel   {folder}\ntable   {folder / 'reactions.csv'}")
    unhealthy = [run.health for run in runs.values() if run.health]
    for said in unhealthy:
        complain(said, kind="unhealthy")
    return 3 if unhealthy else 0


def rewrite(
    file: Annotated[Path, Parameter(name="FILE", help="Personas, as JSON lines.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="File of personas to write.")],
    model: Model,
    sets: options.Sets = None,
    seed: options.Seed = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Have a language model write personas anew; each is checked to keep every answer, else it stays as it was."""
    from townsquare.experiments.rewrite import rewrite as again
    from townsquare.scenario.population.personas import read_personas, write_personas
    from townsquare.scenario.population.question_bank import bundled_bank

    bank = bundled_bank()
    people = read_personas(file, bank)
    with options.writing(out, replace=replace):
        with _client(model, sets, seed or 1, out.with_suffix(".calls.db")) as client:
            made = again(people, bank, client)
        write_personas(
            out, people.traits, bank, ids=people.ids, texts=made.texts, activity=people.activity, stance=people.stance
        )
    if as_json:
        show_json({"personas": str(out), "n": len(people), "rewritten": sum(made.kept), "not": made.why})
        return 0
    print(f"{sum(made.kept):,} of {len(people):,} personas rewritten  {out}")
    for row, reason in list(made.why.items())[:5]:
        complain(f"persona {people.ids[row]}: {safe(reason)}", kind="as it was")
    return 0
