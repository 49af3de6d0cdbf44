"""``townsquare interview``, ``panel`` and ``personas rewrite``: commands that put questions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.calls import Calls
from townsquare.cli.console import MOST_SHOWN, answer, complain, cut, number, picked, safe, show, show_json

if TYPE_CHECKING:
    from townsquare.models.client import ModelClient
    from townsquare.record.run import Run


@contextmanager
def _client(model: str, sets: list[str] | None, seed: int, path: Path | None) -> Iterator[ModelClient]:
    """Open the client for a command; calls are kept in ``path``, or nowhere."""
    from townsquare.cli.calls import show_servers
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
    agents: str,
    question: str,
    model: str,
    step: options.Whole | None = None,
    sets: options.ModelSets = None,
    as_json: options.AsJson = False,
) -> int:
    """Ask agents of a recorded run a question, as they were after a step. The run does not change.

    Calls are recorded in RUN/interviews/calls.db; repeated questions are answered from there.

    Parameters
    ----------
    agents
        People: numbers, names or ids of respondents, such as 3,40-49,R_038/17,R_038, or `all`.
    question
        The question.
    model
        provider/model, as in the setting `model`; `fake` needs no model.
    step
        The step; default: the last.
    """
    from townsquare.experiments.interview import interview as ask
    from townsquare.experiments.interview import persons_at
    from townsquare.record.run import Run

    run = Run.open(folder)
    who = persons_at(run, run.last_step if step is None else step) if agents == "all" else _spans(run, agents)
    with _client(model, sets, int(run.settings["seed"]), folder / "interviews" / "calls.db") as client:
        answers = ask(run, who, question, client, step=step)
    failed = sum(not answer.reply.ok for answer in answers)
    if as_json:
        rows = [{"agent": a.agent, "answer": a.reply.value, "outcome": a.reply.outcome.name.lower()} for a in answers]
        show_json({"run": str(folder), "step": run.last_step if step is None else step, "answers": rows})
    else:
        for answer in answers:
            text = safe(str(answer.reply.value)) if answer.reply.ok else f"({answer.reply.error})"
            print(f"agent {answer.agent}: {text}\n")
    if failed:
        complain(f"{failed} of {len(answers)} did not answer", kind="note")
    return 1 if failed == len(answers) else 0


def _spans(run: Run, text: str) -> list[int]:
    """Return the numbers of agents from ``3,R_038,40-49``."""
    from townsquare.analysis.verbs import agent_number

    numbers: list[int] = []
    for part in map(str.strip, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and last.isdecimal() and int(last) - int(first) <= 1_000_000:
            numbers += range(int(first), int(last) + 1)
        else:
            numbers.append(agent_number(run, part, "--agents"))
    return sorted(set(numbers))


def panel(
    posts: Path,
    personas: Path | None = None,
    /,
    *,
    agents: options.Whole | None = None,
    policy: str = "statistical",
    seed: options.Seed = None,
    out: options.Out = None,
    sets: options.Sets = None,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Show given feeds to people once, without a network, and record their reactions.

    Parameters
    ----------
    posts
        File of posts. In a CSV file, a column `feed` defines several feeds; each person sees all of them.
    personas
        Personas as JSON lines.
    agents
        Number of people; default: one per persona, else 100.
    policy
        The policy of the people.
    """
    from townsquare.cli.calls import show_servers_of
    from townsquare.core.spreadsheets import as_cells
    from townsquare.experiments.panel import panel_settings, reactions, split_feeds
    from townsquare.experiments.run_folders import check_unused, folder_for
    from townsquare.scenario.population.personas import read_personas
    from townsquare.simulation.run import simulate

    people = agents or (len(read_personas(personas, options.bank_of(sets))) if personas is not None else 100)
    runs = {}
    with folder_for(out, f"panel-{posts.stem}") as folder:
        check_unused(folder)
        feeds = split_feeds(posts, folder / "feeds")
        for nth, (name, feed) in enumerate(feeds.items(), 1):
            settings = panel_settings(feed, people, personas, [f"policy={policy}", *(sets or ())], seed)
            if nth == 1:
                show_servers_of([settings])
            calls = Calls(settings.config.serving.prices)
            runs[name] = simulate(settings, folder / f"feed-{nth}", on_call=calls.add)
            if calls.note(1):
                complain(f"feed {name}: {calls.note(1)}", kind="note")
        table = reactions(runs)
        as_cells(table, safe=safe_cells).write_csv(folder / "reactions.csv")
    if as_json:
        return show_json({"panel": str(folder), "people": people, "reactions": table.to_dicts()})
    kinds = [name for name in table.columns[4:] if table[name].sum()]
    columns = (str, "feed", "position"), (cut(60), "text"), (number, *kinds)
    show(f"{people:,} people, each shown every post of a feed once", table, *columns)
    print(f"panel   {folder}\ntable   {folder / 'reactions.csv'}")
    unhealthy = [run.health for run in runs.values() if run.health]
    for problem in unhealthy:
        complain(problem, kind="unhealthy")
    return 3 if unhealthy else 0


def rewrite(
    file: Path,
    /,
    *,
    out: Path,
    model: str,
    sets: options.ModelSets = None,
    seed: options.Seed = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Rewrite personas with a language model; a rewrite that loses an answer is discarded.

    Personas are read by the question bank of --set population.bank.

    Parameters
    ----------
    file
        Personas as JSON lines.
    out
        Output file of personas.
    model
        provider/model, as in the setting `model`; `fake` needs no model.
    """
    from townsquare.experiments.rewrite import rewrite as again
    from townsquare.scenario.population.personas import read_personas, write_personas

    bank = options.bank_of(sets)
    people = read_personas(file, bank)
    with options.writing(out, replace=replace):
        with _client(model, sets, seed or 1, out.with_suffix(".calls.db")) as client:
            made = again(people, bank, client)
        known = picked(people, "ids", "activity", "stance")
        write_personas(out, people.traits, bank, texts=made.texts, **known)
    facts = {"personas": str(out), "n": len(people), "rewritten": sum(made.accepted), "not": made.why}
    text = f"{sum(made.accepted):,} of {len(people):,} personas rewritten  {out}"
    answer(facts, text, as_json=as_json)
    for row, reason in () if as_json else list(made.why.items())[:MOST_SHOWN]:
        complain(f"persona {people.ids[row]}: {safe(reason)}", kind="not rewritten")
    return 0
