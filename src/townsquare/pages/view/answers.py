"""Answers as the browser takes them: JSON without NaN, and CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from starlette.responses import Response

from townsquare.core.documents import finite, read_json
from townsquare.core.errors import RecordError, SettingError, TownsquareError
from townsquare.core.spreadsheets import as_cells
from townsquare.pages.view.library import error_parts

_FRESH = {"Cache-Control": "no-store"}


def columns(frame: pl.DataFrame, digits: int | None = None) -> dict[str, list[Any]]:
    """Return a frame as columns, reals rounded to ``digits``: for charts, which need no more."""
    rounded = frame if digits is None else frame.with_columns(pl.selectors.float().round(digits))
    return rounded.to_dict(as_series=False)


def json_answer(value: Any, status: int = 200) -> Response:
    """Return JSON that is not stored anywhere: a run may have grown at the next request."""
    text = json.dumps(finite(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Response(text, status, {**_FRESH, "Content-Type": "application/json; charset=utf-8"})


def csv_answer(frame: pl.DataFrame, name: str) -> Response:
    """Return a frame as a file to save, UTF-8 with a header; no text of it is a formula to a spreadsheet that opens it.

    What a name of a file may not hold becomes ``-``.
    """
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in name)
    headers = {**_FRESH, "Content-Disposition": f'attachment; filename="{plain}.csv"'}
    return Response(as_cells(frame, safe=True).write_csv(), 200, {**headers, "Content-Type": "text/csv; charset=utf-8"})


def bytes_answer(value: bytes) -> Response:
    """Return raw bytes."""
    return Response(value, 200, {**_FRESH, "Content-Type": "application/octet-stream"})


def page_answer(path: Path) -> Response:
    """Return a report as a page that runs nothing and asks for nothing, whoever wrote the file."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox"
    headers = {**_FRESH, "Content-Security-Policy": policy, "Content-Type": "text/html; charset=utf-8"}
    return Response(path.read_bytes(), 200, headers)


def error_answer(error: TownsquareError) -> Response:
    """Return the error as JSON: 400 for a wrong request, 404 for a run that cannot be read, else 500."""
    status = 400 if isinstance(error, SettingError) else 404 if isinstance(error, RecordError) else 500
    return json_answer({"error": error_parts(error)}, status)


def from_file(folder: Path | None, name: str, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer in ``view-<name>.json``, or else what ``make`` gives, and write that for the next time.

    The file is no part of the record and may be deleted. One of another key, or one that is damaged, is made again; a
    folder that cannot be written is left as it is, and None represents no folder at all.
    """
    if folder is None:
        return make()
    path = folder / f"view-{name}.json"
    try:
        stored = read_json(path, RecordError)
        if isinstance(stored, dict) and stored.get("key") == key and isinstance(stored.get("answer"), dict):
            return dict(stored["answer"])
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
