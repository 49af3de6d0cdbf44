"""The web application: one route a question, all of them read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from townsquare.analysis.outcomes import describe
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.experiments.counterfactual.one_step import without
from townsquare.experiments.manifest import Experiment
from townsquare.pages.view import agent as agents
from townsquare.pages.view import cascade as cascades
from townsquare.pages.view import comparison as comparisons
from townsquare.pages.view import debate as debates
from townsquare.pages.view import network, notes, overview, queries, tables
from townsquare.pages.view import post as posts
from townsquare.pages.view.access import OnlyWithToken
from townsquare.pages.view.answers import bytes_answer, csv_answer, error_answer, from_file, json_answer, page_answer
from townsquare.pages.view.library import Library, Snapshot
from townsquare.pages.view.live import EventStreams
from townsquare.pages.view.query_string import Asked
from townsquare.pages.view.security import OnlyFromHere
from townsquare.pages.view.tables import asks, paged

STATIC = Path(__file__).parent / "static"

Question = Callable[[Snapshot, Asked], Any]


def app(folder: Path | str, token: str = "") -> Starlette:
    """Return the viewer over a run, or over all runs below a folder. Reads only; a run may be going on meanwhile.

    Parameters
    ----------
    folder : path
        Need not hold a run yet: the page says so.
    token : str
        What a request must have to be answered; "" answers every request from this machine.

    Raises
    ------
    SettingError
        There is no such folder.
    """
    path = Path(folder)
    if not path.is_dir():
        raise SettingError(str(path), got="no such folder", allowed="a run, or a folder of runs", do="see runs/")
    library = Library(path)
    answers: dict[str, Callable[[Asked], Response]] = {
        "/api/runs": lambda asked: _listing(library, asked),
        "/api/debate": lambda asked: _debate(library, asked),
        **{f"/api/{name}": partial(_of_comparison, library, name) for name in OF_COMPARISON},
        "/api/cascade": lambda asked: json_answer(cascades.cascade(library, asked)),
        "/api/courses": lambda asked: json_answer(comparisons.overlay(library, asked)),
        "/report": lambda asked: page_answer(library.report(asked.word("of"))),
        **{f"/csv/{name}": partial(_compared_table, library, name) for name in comparisons.TABLES},
        **{f"/csv/{name}": partial(_debate_table, library, name) for name in debates.TABLES},
        **{f"/api/{name}": partial(_answer, library, name) for name in QUESTIONS},
        **{f"/csv/{name}": partial(_table, library, name) for name in tables.TABLES},
    }
    asked = [Route(path, _endpoint(answer)) for path, answer in answers.items()]
    files = Mount("/", StaticFiles(directory=STATIC, html=True))
    signed_in = [Middleware(OnlyWithToken, token=token)] if token else []
    guards = [Middleware(OnlyFromHere), *signed_in, Middleware(GZipMiddleware, minimum_size=2048, compresslevel=1)]
    return Starlette(routes=[*asked, Route("/api/events", EventStreams(library)), files], middleware=guards)


def _without(of: Snapshot, agent: int, step: int, number: int, rank: int, post: int) -> dict[str, Any]:
    left = without(of.run, of.cached, agent, step, number, rank, post)
    return {"stance": left.stance, "recorded": left.recorded, "method": left.method}


def _lasting(answer: Callable[[Snapshot], dict[str, Any]]) -> Question:
    return lambda of, _: answered(of, answer.__name__, lambda: answer(of))


QUESTIONS: Mapping[str, Question] = {
    "run": asks(overview.head),
    "beliefs": _lasting(overview.beliefs),
    "lines": _lasting(overview.lines),
    "activity": _lasting(overview.activity),
    "outcomes": lambda of, _: of.cached.once("outcomes", lambda: overview.outcomes(of)),
    "network": lambda of, _: of.cached.once("network", lambda: network.network(of)),
    "follows": lambda of, _: of.cached.once("follow ends", lambda: network.follow_ends(of)),
    "reached": asks(network.reached, "root"),
    "false-share": asks(network.false_share, "step", "number"),
    "influence": _lasting(network.influence),
    "neighbors": asks(network.neighbors, "agent"),
    "stances": asks(network.stance_codes, "step", "number"),
    "traits": lambda of, _: {"traits": queries.traits(of)},
    "agents": paged(tables.agents_asked_for),
    "agent": asks(agents.agent, "agent"),
    "agent-step": asks(agents.agent_step, "agent", "step"),
    "waterfall": asks(agents.waterfall, "agent", "step", "proposition"),
    "without": asks(_without, "agent", "step", "number", "rank", "post"),
    "claims": lambda of, asked: agents.claims(of, asked.whole("agent"), asked.whole("most", agents.MOST_CLAIMS)),
    "records": asks(agents.records, "agent", "step", "proposition"),
    "without-record": asks(agents.without_record, "agent", "step", "proposition", "claim"),
    "notes": lambda of, _: of.cached.once("notes", lambda: notes.notes(of)),
    "notes-at": asks(notes.notes_at, "step", "number"),
    "note": asks(notes.note, "note", "step"),
    "posts": paged(tables.posts_asked_for),
    "post": asks(posts.post, "post"),
}
"""What can be asked of a run, by the last part of its address; arguments are in the query string."""


def _endpoint(answer: Callable[[Asked], Response]) -> Callable[[Request], Any]:
    """Return what Starlette calls: the answer to a query string, or what is wrong with it."""

    def ask(asked: Asked) -> Response:
        try:
            return answer(asked)
        except TownsquareError as error:
            return error_answer(error)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(ask, Asked(request.query_params))

    return endpoint


def _answer(library: Library, name: str, asked: Asked) -> Response:
    answer = QUESTIONS[name](library.snapshot(asked.word("run")), asked)
    return bytes_answer(answer) if isinstance(answer, bytes) else json_answer(answer)


def _table(library: Library, name: str, asked: Asked) -> Response:
    run = asked.word("run")
    return csv_answer(tables.TABLES[name](library.snapshot(run), asked), f"{run}-{name}")


def _debate(library: Library, asked: Asked) -> Response:
    wanted = asked.word("debate")
    return json_answer(debates.debate(library.debate_results(wanted), wanted, asked))


def _debate_table(library: Library, name: str, asked: Asked) -> Response:
    wanted = asked.word("debate")
    return csv_answer(debates.TABLES[name](library.debate_results(wanted), asked), f"{wanted}-{name}")


def _of_comparison(library: Library, name: str, asked: Asked) -> Response:
    of = library.comparison(asked.word("comparison"))
    return json_answer(OF_COMPARISON[name](library, of, asked))


def _whole(library: Library, of: Experiment, asked: Asked) -> dict[str, Any]:
    made = library.once_for(of, "the whole", lambda: comparisons.comparison(library, asked.word("comparison"), of))
    return {**made, "report": comparisons.has_report(of)}


def _facts(library: Library, of: Experiment, asked: Asked) -> dict[str, Any]:
    arm = asked.word("arm")
    return library.once_for(of, f"facts of {arm}", partial(comparisons.facts, of, arm))


OF_COMPARISON: Mapping[str, Callable[[Library, Experiment, Asked], Any]] = {
    "comparison": _whole,
    "answer": lambda library, of, _: library.once_for(of, "the answer", partial(comparisons.answer_of, of)),
    "facts": _facts,
    "person": comparisons.person,
}
"""What can be asked of a comparison, by the last part of its address."""


def _compared_table(library: Library, name: str, asked: Asked) -> Response:
    return csv_answer(comparisons.TABLES[name](library, asked), f"{asked.word('comparison') or 'runs'}-{name}")


LIST_SECONDS = 0.4
"""How long a list of runs reads records; runs that are left are marked, and the page asks again."""


def _listing(library: Library, asked: Asked) -> Response:
    if asked.word("as") == "csv":
        return csv_answer(tables.run_table(library.rows(), _summaries(library, asked)), "runs")
    summaries = _summaries(library, asked)
    names = sorted({name for of in library.comparisons().values() for name in comparisons.known_outcomes(of)})
    rows = library.rows(LIST_SECONDS)
    outcomes = [{"name": name, "title": describe(name).title} for name in names]
    pending = sum(row["state"] == "pending" for row in rows)
    listing = {"folder": library.root.name, "runs": rows, "debates": list(library.debates())}
    return json_answer({**listing, "comparisons": summaries, "outcomes": outcomes, "pending": pending})


def _summaries(library: Library, asked: Asked) -> list[dict[str, Any]]:
    outcome = asked.word("outcome")
    summaries: list[dict[str, Any]] = []
    for name, of in library.comparisons().items():
        summary = library.once_for(of, outcome, partial(comparisons.summary, library, name, of, outcome))
        summaries.append({**summary, "report": comparisons.has_report(of)})
    return summaries


# Answers that take long: stored in a file next to a run that is over.


_FORMAT = 2


def answered(of: Snapshot, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what ``make`` gives for a run as it stands: from memory, from ``view-<name>.json``, or made now."""
    lasting = None if of.cached.state == "running" else of.run.folder
    key = f"{_FORMAT}:{of.run.header.version}:{of.cached.content_hash}"
    return of.cached.once(name, lambda: from_file(lasting, name, key, make))
