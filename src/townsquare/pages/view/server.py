"""The web application: one route a question, all of them read-only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from townsquare.core.documents import read_json
from townsquare.core.errors import RecordError, SettingError, TownsquareError
from townsquare.debate.results import DebateResults
from townsquare.experiments.counterfactual.one_step import without
from townsquare.pages.view import agent as agents
from townsquare.pages.view import debate as debates
from townsquare.pages.view import network, overview, queries, tables
from townsquare.pages.view import post as posts
from townsquare.pages.view.access import OnlyWithToken
from townsquare.pages.view.answers import bytes_answer, csv_answer, error_answer, finite, json_answer
from townsquare.pages.view.library import Library, Snapshot
from townsquare.pages.view.live import EventStreams
from townsquare.pages.view.query_string import Asked
from townsquare.pages.view.security import OnlyFromHere

STATIC = Path(__file__).parent / "static"

Question = Callable[[Snapshot, Asked], Any]


def app(folder: Path | str, token: str = "") -> Starlette:
    """The viewer over a run, or over all runs below a folder. Reads only; a run may be going on meanwhile.

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
    routes = [
        Route("/api/runs", _listing(library)),
        Route("/api/events", EventStreams(library)),
        Route("/api/debate", _debate(library)),
        Route("/csv/turns", _debate(library, "turns", debates.turn_table)),
        Route("/csv/sides", _debate(library, "sides", debates.side_table)),
        Route("/csv/moves", _debate(library, "moves", debates.move_table)),
        *(Route(f"/api/{name}", _answer(library, question)) for name, question in QUESTIONS.items()),
        *(Route(f"/csv/{name}", _table(library, name, table)) for name, table in tables.TABLES.items()),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    guards = [
        Middleware(OnlyFromHere),
        *([Middleware(OnlyWithToken, token=token)] if token else []),
        Middleware(GZipMiddleware, minimum_size=2048, compresslevel=3),
    ]
    return Starlette(routes=routes, middleware=guards)


def _stances(of: Snapshot, asked: Asked) -> Any:
    number = queries.proposition_number(of.kept, asked.word("proposition"))
    return network.stance_codes(of, asked.step(of), number)


def _waterfall(of: Snapshot, asked: Asked) -> Any:
    return agents.waterfall(of, asked.whole("agent"), asked.step(of), _proposition(of, asked))


def _without(of: Snapshot, asked: Asked) -> Any:
    number = queries.proposition_number(of.kept, asked.word("proposition"))
    left = without(
        of.run, of.kept, asked.whole("agent"), asked.step(of), number, asked.whole("rank"), asked.whole("post")
    )
    return {"stance": left.stance, "recorded": left.recorded, "method": left.method}


def _without_record(of: Snapshot, asked: Asked) -> Any:
    agent, step, claim = asked.whole("agent"), asked.step(of), asked.whole("claim")
    return agents.without_record(of, agent, step, _proposition(of, asked), claim)


def _proposition(of: Snapshot, asked: Asked) -> str:
    number = queries.proposition_number(of.kept, asked.word("proposition"))
    return str(queries.propositions(of.kept).filter(pl.col("proposition") == number)["name"][0])


QUESTIONS: Mapping[str, Question] = {
    "run": lambda of, asked: overview.head(of),
    "beliefs": lambda of, asked: answered(of, "beliefs", lambda: overview.beliefs(of)),
    "activity": lambda of, asked: answered(of, "activity", lambda: overview.activity(of)),
    "network": lambda of, asked: of.once("network", lambda: network.network(of)),
    "influence": lambda of, asked: answered(of, "influence", lambda: network.influence(of)),
    "neighbors": lambda of, asked: network.neighbors(of, asked.whole("agent")),
    "stances": _stances,
    "agents": tables.page_of_agents,
    "agent": lambda of, asked: agents.agent(of, asked.whole("agent")),
    "agent-step": lambda of, asked: agents.agent_step(of, asked.whole("agent"), asked.step(of)),
    "waterfall": _waterfall,
    "without": _without,
    "records": lambda of, asked: agents.records(of, asked.whole("agent"), asked.step(of), _proposition(of, asked)),
    "without-record": _without_record,
    "posts": tables.page_of_posts,
    "post": lambda of, asked: posts.post(of, asked.whole("post")),
}
"""What can be asked of a run, by the last part of its address; arguments stand in the query string."""


def _answer(library: Library, question: Question) -> Callable[[Request], Any]:
    def ask(asked: Asked) -> Response:
        try:
            found = question(library.snapshot(asked.word("run")), asked)
        except TownsquareError as error:
            return error_answer(error)
        return bytes_answer(found) if isinstance(found, bytes) else json_answer(found)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(ask, Asked(request.query_params))

    return endpoint


def _table(library: Library, name: str, table: tables.TableOf) -> Callable[[Request], Any]:
    def ask(asked: Asked) -> Response:
        try:
            run = asked.word("run")
            return csv_answer(table(library.snapshot(run), asked), f"{run.replace('/', '-')}-{name}")
        except TownsquareError as error:
            return error_answer(error)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(ask, Asked(request.query_params))

    return endpoint


def _debate(
    library: Library, name: str = "", table: Callable[[DebateResults, Asked], pl.DataFrame] | None = None
) -> Callable[[Request], Any]:
    def ask(asked: Asked) -> Response:
        wanted = asked.word("debate")
        try:
            held = library.held(wanted)
            if table is not None:
                return csv_answer(table(held, asked), f"{wanted.replace('/', '-')}-{name}")
            return json_answer(debates.debate(held, wanted, asked))
        except TownsquareError as error:
            return error_answer(error)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(ask, Asked(request.query_params))

    return endpoint


def _listing(library: Library) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        rows = await run_in_threadpool(library.rows)
        if request.query_params.get("as") == "csv":
            return csv_answer(tables.run_table(rows), "runs")
        debates_here = await run_in_threadpool(library.debates)
        return json_answer({"folder": library.root.name, "runs": rows, "debates": list(debates_here)})

    return endpoint


# Answers that take long, kept in a file beside a run that is over: no part of the record, and free to be deleted.


_FORMAT = 1


def answered(of: Snapshot, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``make`` gives for a run as it stands, from memory, or from ``view-<name>.json``, or made now and kept.

    The file names the content that it was made from; one of other content, or one that is damaged, is made anew.
    """
    return of.once(name, lambda: _from_file(of, name, make))


def _from_file(of: Snapshot, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    folder = of.run.folder
    if folder is None or of.kept.state == "running":
        return make()
    path, key = folder / f"view-{name}.json", f"{_FORMAT}:{of.run.header.version}:{of.kept.content_hash}"
    try:
        kept = read_json(path, RecordError)
        if isinstance(kept, dict) and kept.get("key") == key and isinstance(kept.get("answer"), dict):
            return dict(kept["answer"])
    except RecordError:
        pass
    made: dict[str, Any] = finite(make())
    draft = path.with_suffix(f".{os.getpid()}.part")
    try:
        draft.write_text(json.dumps({"key": key, "answer": made}, allow_nan=False), encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
    return made
